r"""Losses :math:`V(y, f)`, with what Newton's method and the certificate need of them.

Arrays hold one entry per observed label. With weights w, ``value`` is :math:`\sum w V(y, f)`, ``gradient`` and
``curvature`` are its derivatives in f, and ``conjugate`` is :math:`\sum w V^*(y, u / w)`, so that a gradient is a point
at which the conjugate is finite.
"""

import numpy as np
from scipy.special import expit, xlogy
from sklearn.base import BaseEstimator

from skmtl._linalg import Array


class Loss(BaseEstimator):
    """A convex loss on real scores. Losses of classifiers read y as -1 or +1."""

    name = ""
    tex = ""
    # Which estimators may use it, and whether scores turn into probabilities by a sigmoid.
    for_regression = False
    for_classification = False
    gives_probabilities = False
    # Whether a task with labels of one class and a free intercept has no best predictor.
    needs_both_classes = False
    # Whether the conjugate is finite everywhere, so that dual points may be moved freely.
    free_dual = False
    # Whether the curvature does not depend on the scores: one Newton step is exact.
    quadratic = False

    def check(self) -> None:
        """Raise ``ValueError`` when a parameter makes no sense."""

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        """The weighted sum of losses."""
        raise NotImplementedError

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        """Derivative of ``value`` in F."""
        raise NotImplementedError

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        """Second derivative of ``value`` in each entry of F, or a bound that serves in its place."""
        raise NotImplementedError

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        """The weighted sum of conjugates; infinite outside the domain. Entries of weight zero must have u = 0."""
        raise NotImplementedError


class Square(Loss):
    r"""The squared error.

    .. math:: V(y, f) = (y - f)^2
    """

    name = "square"
    tex = r"(y - f)^2"
    for_regression = for_classification = True
    free_dual = quadratic = True

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * (Y - F) ** 2))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return 2.0 * weight * (F - Y)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return 2.0 * weight

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        # V*(u) = u y + u^2 / 4.
        return float(np.sum(U * Y + 0.25 * U * _per_weight(U, weight)))


class Huber(Loss):
    r"""The squared error near zero, the absolute error far from it.

    .. math:: V(y, f) = r^2 / 2 \text{ if } |r| \le \delta, \; \delta |r| - \delta^2 / 2 \text{ else}, \; r = y - f

    Parameters
    ----------
    delta : float, default=1.0
        Where the loss turns linear, in units of the scaled target.
    """

    name = "huber"
    tex = r"r^2/2 \text{ for } |r| \le \delta,\; \delta|r| - \delta^2/2 \text{ beyond}"
    for_regression = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def check(self) -> None:
        if not self.delta > 0.0:
            raise ValueError(f"delta={self.delta!r} of Huber must be > 0.")

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        size = np.abs(Y - F)
        linear = self.delta * (size - 0.5 * self.delta)
        return float(np.sum(weight * np.where(size <= self.delta, 0.5 * size**2, linear)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * np.clip(F - Y, -self.delta, self.delta)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * (np.abs(Y - F) <= self.delta)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        u = _per_weight(U, weight)
        if np.any(np.abs(u) > self.delta * (1.0 + ROUNDING)):
            return np.inf
        return float(np.sum(U * Y + 0.5 * U * u))


class Logistic(Loss):
    r"""The negative log-likelihood of a label.

    .. math:: V(y, f) = \log(1 + e^{-yf})
    """

    name = "logistic"
    tex = r"\log(1 + e^{-yf})"
    for_classification = gives_probabilities = needs_both_classes = True

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * np.logaddexp(0.0, -Y * F)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return -weight * Y * expit(-Y * F)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * expit(F) * expit(-F)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        p = _dual_probability(Y, U, weight)
        if p is None:
            return np.inf
        p = np.minimum(p, 1.0)
        return float(np.sum(weight * (xlogy(p, p) + xlogy(1.0 - p, 1.0 - p))))


class SquaredHinge(Loss):
    r"""The square of how far a label is from a margin of one.

    .. math:: V(y, f) = \max(0, 1 - yf)^2
    """

    name = "squared_hinge"
    tex = r"\max(0, 1 - yf)^2"
    for_classification = True

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * np.maximum(1.0 - Y * F, 0.0) ** 2))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return -2.0 * weight * Y * np.maximum(1.0 - Y * F, 0.0)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return 2.0 * weight * (Y * F < 1.0)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        p = _dual_probability(Y, U, weight, largest=np.inf)
        return np.inf if p is None else float(np.sum(weight * (0.25 * p**2 - p)))


class Hinge(Loss):
    r"""How far a label is from a margin of one: the loss of support vector machines.

    .. math:: V(y, f) = \max(0, 1 - yf)
    """

    name = "hinge"
    tex = r"\max(0, 1 - yf)"
    for_classification = True

    def relaxed(self, width: float) -> "SmoothedHinge":
        """A hinge with its corner rounded over ``width``, at most width / 2 below it."""
        return SmoothedHinge(width)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * np.maximum(1.0 - Y * F, 0.0)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return -weight * Y * (Y * F < 1.0)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        raise NotImplementedError("the hinge has no curvature; use relaxed(width).")

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        p = _dual_probability(Y, U, weight)
        return np.inf if p is None else float(-np.sum(weight * p))


class SmoothedHinge(Hinge):
    r"""A hinge whose corner is a parabola of the given width.

    .. math:: V(y, f) = \max_{0 \le p \le 1} p (1 - yf) - w p^2 / 2
    """

    def __init__(self, width: float) -> None:
        self.width = width

    def _p(self, Y: Array, F: Array) -> Array:
        return np.clip((1.0 - Y * F) / self.width, 0.0, 1.0)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        p = self._p(Y, F)
        return float(np.sum(weight * (p * (1.0 - Y * F) - 0.5 * self.width * p**2)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return -weight * Y * self._p(Y, F)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        # On the straight part too: the parabola through the same point with the same slope, which lies above the loss.
        # Without it, labels just left of the corner would not be seen coming.
        return weight * (Y * F < 1.0) / np.maximum(1.0 - Y * F, self.width)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        p = _dual_probability(Y, U, weight)
        return np.inf if p is None else float(np.sum(weight * (0.5 * self.width * p**2 - p)))


ROUNDING = 1e-12
LOSSES: dict[str, type[Loss]] = {cls.name: cls for cls in (Square, Huber, Logistic, Hinge, SquaredHinge)}


def check_loss(loss: str | Loss, *, purpose: str) -> Loss:
    """A loss from its name or itself; ``purpose`` is "regression" or "classification"."""
    possible = sorted(name for name, cls in LOSSES.items() if getattr(cls, f"for_{purpose}"))
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is not known; choose one of {', '.join(possible)}, or pass a Loss.")
        loss = LOSSES[loss]()
    if not hasattr(loss, "curvature"):
        raise TypeError(f"loss={loss!r} is neither a name nor a Loss.")
    if not getattr(loss, f"for_{purpose}"):
        raise ValueError(f"loss={loss.name!r} is not for {purpose}; choose one of {', '.join(possible)}.")
    loss.check()
    return loss


def _per_weight(U: Array, weight: Array) -> Array:
    """u / w, zero where the weight is zero."""
    return np.divide(U, weight, out=np.zeros_like(U), where=weight > 0.0)


def _dual_probability(Y: Array, U: Array, weight: Array, largest: float = 1.0) -> Array | None:
    """p = -y u / w; None when it leaves [0, largest] by more than rounding."""
    p = -Y * _per_weight(U, weight)
    if np.any(p < -ROUNDING) or np.any(p > largest * (1.0 + ROUNDING)):
        return None
    return np.maximum(p, 0.0)
