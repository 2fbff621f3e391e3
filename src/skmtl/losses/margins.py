"""Losses for numbers with corners: quantiles, and errors that count beyond a margin only."""

import numpy as np

from skmtl._linalg import Array
from skmtl._validation import is_number
from skmtl.losses.base import ROUNDING, Loss, per_weight


class Quantile(Loss):
    r"""The loss of a quantile, also called pinball loss.

    .. math:: V(y, f) = \max(q (y - f), (q - 1)(y - f))

    Its minimizer over constants is the quantile of level q; the level one half is the median.

    Parameters
    ----------
    level : float in (0, 1), default=0.5
        The level q.

    See Also
    --------
    EpsilonInsensitive : Does not count small errors.
    Huber : Smooth, and quicker to minimize.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Quantile
    >>> Quantile(level=0.75).value(np.array([1.0, 2.0]), np.array([0.0, 6.0]), np.ones(2))
    1.75
    """

    name = "quantile"
    tex = r"\max(q\,(y - f), (q - 1)(y - f))"
    for_regression = has_corner = True

    def __init__(self, level: float = 0.5) -> None:
        self.level = level

    def check(self) -> None:
        if not (is_number(self.level) and 0.0 < self.level < 1.0):
            raise ValueError(f"level={self.level!r} of Quantile must lie between 0 and 1.")

    def smoothed(self, width: float) -> "SmoothedQuantile":
        return SmoothedQuantile(self.level, width)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        r = Y - F
        return float(np.sum(weight * np.maximum(self.level * r, (self.level - 1.0) * r)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * np.where(F > Y, 1.0 - self.level, np.where(F < Y, -self.level, 0.0))

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        raise NotImplementedError("the loss of a quantile has no curvature; use smoothed(width).")

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        return float(np.sum(U * Y)) if self._inside(per_weight(U, weight)) else np.inf

    def _inside(self, u: Array) -> bool:
        return not (np.any(u < -self.level - ROUNDING) or np.any(u > 1.0 - self.level + ROUNDING))


class SmoothedQuantile(Quantile):
    r"""The loss of a quantile whose corner is a parabola of the given width.

    .. math:: V(y, f) = \max_{-q \le u \le 1 - q} u (f - y) - w u^2 / 2

    Parameters
    ----------
    level : float in (0, 1)
        The level q.
    width : float
        The width w > 0 of the parabola; the loss is at most w / 2 below that of the quantile.

    See Also
    --------
    Quantile : The limit of width zero. Newton's method solves a few widths on the way to it.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Quantile
    >>> smooth = Quantile(level=0.5).smoothed(1.0)
    >>> [smooth.value(np.zeros(1), np.array([f]), np.ones(1)) for f in (0.0, 0.5, 2.0)]
    [0.0, 0.125, 0.875]
    """

    has_corner = False

    def __init__(self, level: float, width: float) -> None:
        super().__init__(level)
        self.width = width

    def _u(self, Y: Array, F: Array) -> Array:
        return np.clip((F - Y) / self.width, -self.level, 1.0 - self.level)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        u = self._u(Y, F)
        return float(np.sum(weight * (u * (F - Y) - 0.5 * self.width * u**2)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * self._u(Y, F)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        # On the straight parts that of a parabola through the same point with the same slope, so that a label is seen
        # before its corner is reached.
        return weight / np.maximum(self.width, np.abs(F - Y) / max(self.level, 1.0 - self.level))

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        u = per_weight(U, weight)
        return float(np.sum(U * Y + 0.5 * self.width * U * u)) if self._inside(u) else np.inf


class EpsilonInsensitive(Loss):
    r"""The error beyond a margin: the loss of support vector regression.

    .. math:: V(y, f) = \max(0, |y - f| - \epsilon)

    Parameters
    ----------
    epsilon : float, default=0.1
        The margin, >= 0, in units of the scaled target. Zero gives the absolute error.

    See Also
    --------
    Quantile : With ``level=0.5`` half the absolute error.
    Huber : Smooth, and quicker to minimize.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(np.array([1.0, 2.0]), np.array([1.25, 5.0]), np.ones(2))
    2.5
    """

    name = "epsilon_insensitive"
    tex = r"\max(0, |y - f| - \epsilon)"
    for_regression = has_corner = True

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def check(self) -> None:
        if not (is_number(self.epsilon) and 0.0 <= self.epsilon < np.inf):
            raise ValueError(f"epsilon={self.epsilon!r} of EpsilonInsensitive must be a number >= 0.")

    def smoothed(self, width: float) -> "SmoothedEpsilonInsensitive":
        return SmoothedEpsilonInsensitive(self.epsilon, width)

    def _excess(self, Y: Array, F: Array) -> Array:
        return np.maximum(np.abs(F - Y) - self.epsilon, 0.0)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * self._excess(Y, F)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * np.sign(F - Y) * (self._excess(Y, F) > 0.0)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        raise NotImplementedError("errors beyond a margin have no curvature; use smoothed(width).")

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        if np.any(np.abs(per_weight(U, weight)) > 1.0 + ROUNDING):
            return np.inf
        return float(np.sum(U * Y + self.epsilon * np.abs(U)))


class SmoothedEpsilonInsensitive(EpsilonInsensitive):
    r"""The error beyond a margin, its corners parabolas of the given width.

    .. math:: V(y, f) = \max_{|u| \le 1} u (f - y) - \epsilon |u| - w u^2 / 2

    Parameters
    ----------
    epsilon : float
        The margin, >= 0.
    width : float
        The width w > 0 of the parabolas; the loss is at most w / 2 below that without them.

    See Also
    --------
    EpsilonInsensitive : The limit of width zero. Newton's method solves a few widths on the way to it.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import EpsilonInsensitive
    >>> smooth = EpsilonInsensitive(epsilon=0.5).smoothed(0.5)
    >>> [smooth.value(np.zeros(1), np.array([f]), np.ones(1)) for f in (0.5, 1.0, 2.0)]
    [0.0, 0.25, 1.25]
    """

    has_corner = False

    def __init__(self, epsilon: float, width: float) -> None:
        super().__init__(epsilon)
        self.width = width

    def _size(self, Y: Array, F: Array) -> Array:
        return np.minimum(self._excess(Y, F) / self.width, 1.0)

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        size = self._size(Y, F)
        return float(np.sum(weight * size * (self._excess(Y, F) - 0.5 * self.width * size)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * np.sign(F - Y) * self._size(Y, F)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        # As for a smoothed hinge: a parabola that lies above the straight part.
        excess = self._excess(Y, F)
        return weight * (excess > 0.0) / np.maximum(excess, self.width)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        return super().conjugate(Y, U, weight) + 0.5 * self.width * float(np.sum(U * per_weight(U, weight)))
