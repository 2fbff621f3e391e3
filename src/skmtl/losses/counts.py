"""The loss for counts."""

import numpy as np
from scipy.special import xlogy

from skmtl._linalg import Array, Mask
from skmtl.losses.base import ROUNDING, Loss, per_weight

# Its exponential is beyond all counts, and sums of such are still finite.
LARGEST_SCORE = 500.0


class Poisson(Loss):
    r"""Half the deviance of a Poisson distribution with mean :math:`e^f`, for counts and rates.

    .. math:: V(y, f) = e^f - y f + y \log y - y

    Scores are logarithms of means, and what is predicted are the means. The last two terms do not depend on f; with
    them the loss is zero where :math:`e^f = y`, so that a relative gap has a meaning. Targets must not be negative, and
    are neither centered nor scaled: their unit is that of the counts.

    See Also
    --------
    Square : For numbers of either sign.
    sklearn.linear_model.PoissonRegressor : Independent tasks, and features in place of a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Poisson
    >>> loss = Poisson()
    >>> round(loss.value(np.array([0.0, 3.0]), np.array([0.0, 0.0]), np.ones(2)), 3)
    2.296
    >>> loss.inverse_link(np.array([0.0, np.log(3.0)])).round(3)
    array([1., 3.])
    """

    name = "poisson"
    tex = r"e^f - y f + y \log y - y"
    for_regression = nonnegative_targets = True
    standardizes = False

    def inverse_link(self, F: Array) -> Array:
        # A step of Newton's that is far too long must not overflow, for it is taken back.
        return np.exp(np.minimum(F, LARGEST_SCORE))

    def unbounded(self, lowest: Array, highest: Array) -> Mask:
        # The mean of zeros is e^f for no f.
        return highest == 0.0

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * (self.inverse_link(F) - Y * F + xlogy(Y, Y) - Y)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * (self.inverse_link(F) - Y)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return weight * self.inverse_link(F)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        # V*(u) = m log m - m - (y log y - y) for the mean m = y + u >= 0.
        m = Y + per_weight(U, weight)
        if np.any(m < -ROUNDING * np.maximum(Y, 1.0)):
            return np.inf
        m = np.maximum(m, 0.0)
        return float(np.sum(weight * (xlogy(m, m) - m - xlogy(Y, Y) + Y)))
