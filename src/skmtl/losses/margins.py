"""Losses for numbers with corners: quantiles, and errors that count beyond a margin only."""

import numpy as np

from skmtl._linalg import Array
from skmtl._parameters import is_number
from skmtl.losses.base import ROUNDING, Loss, per_weight
from skmtl.losses.corners import Ramps


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

    def ramps(self, Y: Array) -> Ramps:
        return Ramps(1.0 - self.level, np.full((1, *Y.shape), -1.0), -Y[None])

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        r = Y - F
        return float(np.sum(weight * np.maximum(self.level * r, (self.level - 1.0) * r)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * np.where(F > Y, 1.0 - self.level, np.where(F < Y, -self.level, 0.0))

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        return float(np.sum(U * Y)) if self._inside(per_weight(U, weight)) else np.inf

    def _inside(self, u: Array) -> bool:
        return not (np.any(u < -self.level - ROUNDING) or np.any(u > 1.0 - self.level + ROUNDING))


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

    def ramps(self, Y: Array) -> Ramps:
        sign = np.stack([np.ones_like(Y), -np.ones_like(Y)])
        return Ramps(0.0, sign, sign * Y + self.epsilon)

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
