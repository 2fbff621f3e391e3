"""Losses for numbers, beside the squared error."""

import numpy as np

from skmtl._linalg import Array
from skmtl._parameters import is_number
from skmtl.losses.base import ROUNDING, Loss, per_weight


class Huber(Loss):
    r"""The squared error near zero, the absolute error far from it.

    .. math:: V(y, f) = r^2 / 2 \text{ if } |r| \le \delta, \; \delta |r| - \delta^2 / 2 \text{ else}, \; r = y - f

    Parameters
    ----------
    delta : float, default=1.0
        Where the loss turns linear, in units of the scaled target.

    See Also
    --------
    Square : The same without a linear part, and without the factor one half.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Huber
    >>> Huber(delta=1.0).value(np.array([1.0, 2.0]), np.array([1.0, 5.0]), np.ones(2))
    2.5
    """

    name = "huber"
    tex = r"r^2/2 \text{ for } |r| \le \delta,\; \delta|r| - \delta^2/2 \text{ beyond}"
    for_regression = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def check(self) -> None:
        if not (is_number(self.delta) and self.delta > 0.0):
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
        u = per_weight(U, weight)
        if np.any(np.abs(u) > self.delta * (1.0 + ROUNDING)):
            return np.inf
        return float(np.sum(U * Y + 0.5 * U * u))
