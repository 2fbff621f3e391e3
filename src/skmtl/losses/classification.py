"""Losses for labels -1 and +1."""

import numpy as np
from scipy.special import expit, xlogy

from skmtl._linalg import Array, Mask
from skmtl.losses.base import ROUNDING, Loss, per_weight
from skmtl.losses.corners import Ramps


class Logistic(Loss):
    r"""The negative log-likelihood of a label.

    .. math:: V(y, f) = \log(1 + e^{-yf})

    It gives probabilities: that of the label +1 is :math:`1 / (1 + e^{-f})`.

    See Also
    --------
    SquaredHinge : Does not count labels that are right by a margin.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Logistic
    >>> round(Logistic().value(np.array([1.0, -1.0]), np.array([3.0, 3.0]), np.ones(2)), 3)
    3.097
    """

    name = "logistic"
    tex = r"\log(1 + e^{-yf})"
    for_classification = gives_probabilities = True

    def unbounded(self, lowest: Array, highest: Array) -> Mask:
        # Labels of one class.
        return lowest == highest

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

    See Also
    --------
    Hinge : The distance itself, which counts outliers less.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0, -1.0]), np.array([3.0, 3.0]), np.ones(2))
    16.0
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

    See Also
    --------
    SquaredHinge : Smooth, and quicker to minimize.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Hinge
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([3.0, 3.0]), np.ones(2))
    4.0
    """

    name = "hinge"
    tex = r"\max(0, 1 - yf)"
    for_classification = has_corner = True

    def ramps(self, Y: Array) -> Ramps:
        return Ramps(0.0, -Y[None], np.full((1, *Y.shape), -1.0))

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * np.maximum(1.0 - Y * F, 0.0)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return -weight * Y * (Y * F < 1.0)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        p = _dual_probability(Y, U, weight)
        return np.inf if p is None else float(-np.sum(weight * p))


def _dual_probability(Y: Array, U: Array, weight: Array, largest: float = 1.0) -> Array | None:
    """p = -y u / w; None when it leaves [0, largest] by more than rounding."""
    p = -Y * per_weight(U, weight)
    if np.any(p < -ROUNDING) or np.any(p > largest * (1.0 + ROUNDING)):
        return None
    return np.maximum(p, 0.0)
