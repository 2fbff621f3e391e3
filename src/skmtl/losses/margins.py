"""Losses for numbers with corners: quantiles, and errors that count beyond a margin only."""

import numpy as np

from skmtl._linalg import Array
from skmtl._validation import is_number
from skmtl.losses.base import ROUNDING, Loss, per_weight
from skmtl.losses.corners import barrier, bend, ramp, shares, split


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

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        return float(np.sum(U * Y)) if self._inside(per_weight(U, weight)) else np.inf

    def _inside(self, u: Array) -> bool:
        return not (np.any(u < -self.level - ROUNDING) or np.any(u > 1.0 - self.level + ROUNDING))


class SmoothedQuantile(Quantile):
    r"""The loss of a quantile with its corner rounded.

    .. math:: V(y, f) = \max_{0 \le b \le 1} (1 - q - b)(f - y) + \tfrac{w}{2} (\log b + \log(1 - b))

    Parameters
    ----------
    level : float in (0, 1)
        The level q.
    width : float
        The width w > 0; dual points are within w / 2 of those of the quantile.

    See Also
    --------
    Quantile : The limit of width zero. Newton's method solves a few widths on the way to it.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Quantile
    >>> smooth = Quantile(level=0.5).smoothed(0.01)
    >>> [round(smooth.gradient(np.zeros(1), np.array([f]), np.ones(1)).item(), 3) for f in (0.0, 0.5, 2.0)]
    [0.0, 0.49, 0.498]
    """

    has_corner = False

    def __init__(self, level: float, width: float) -> None:
        super().__init__(level)
        self.width = width

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * ((1.0 - self.level) * (F - Y) + ramp(Y - F, 0.5 * self.width))))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        # b and 1 - b, so that what is near zero stays exact.
        b, rest = shares(Y - F, 0.5 * self.width)
        return weight * np.where(b < rest, 1.0 - self.level - b, rest - self.level)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * bend(Y - F, 0.5 * self.width)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        b = 1.0 - self.level - per_weight(U, weight)
        return super().conjugate(Y, U, weight) + float(np.sum(weight * barrier(b, 0.5 * self.width)))


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

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        if np.any(np.abs(per_weight(U, weight)) > 1.0 + ROUNDING):
            return np.inf
        return float(np.sum(U * Y + self.epsilon * np.abs(U)))


class SmoothedEpsilonInsensitive(EpsilonInsensitive):
    r"""The error beyond a margin with its corners rounded: two ramps, one for errors of either sign.

    .. math::

        V(y, f) = h(f - y - \epsilon) + h(y - f - \epsilon), \quad
        h(z) = \max_{0 \le b \le 1} b z + \tfrac{w}{2} (\log b + \log(1 - b))

    Parameters
    ----------
    epsilon : float
        The margin, >= 0.
    width : float
        The width w > 0; dual points are within w of those without rounding.

    See Also
    --------
    EpsilonInsensitive : The limit of width zero. Newton's method solves a few widths on the way to it.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import EpsilonInsensitive
    >>> smooth = EpsilonInsensitive(epsilon=0.5).smoothed(0.01)
    >>> [round(smooth.gradient(np.zeros(1), np.array([f]), np.ones(1)).item(), 3) for f in (0.0, 0.5, 2.0)]
    [0.0, 0.495, 0.995]
    """

    has_corner = False

    def __init__(self, epsilon: float, width: float) -> None:
        super().__init__(epsilon)
        self.width = width

    def _ramps(self, Y: Array, F: Array) -> tuple[Array, Array]:
        return F - Y - self.epsilon, Y - F - self.epsilon

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * sum(ramp(z, 0.5 * self.width) for z in self._ramps(Y, F))))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        above, below = (shares(z, 0.5 * self.width)[0] for z in self._ramps(Y, F))
        return weight * (above - below)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        above, below = (bend(z, 0.5 * self.width) for z in self._ramps(Y, F))
        return weight * (above + below)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        base, m = super().conjugate(Y, U, weight), 0.5 * self.width
        if not np.isfinite(base):
            return base
        u = np.minimum(np.abs(per_weight(U, weight)), 1.0)
        b = split(u, self.epsilon, m)
        return base + float(np.sum(weight * (2.0 * self.epsilon * b + barrier(b + u, m) + barrier(b, m))))
