"""One loss over all classes of a row."""

import numpy as np
from scipy.special import logsumexp, xlogy

from skmtl._linalg import TINY, Array, Mask
from skmtl.losses.base import ROUNDING, Loss, per_weight
from skmtl.losses.classification import Logistic


class Softmax(Loss):
    r"""The negative log-likelihood of the class of a row.

    .. math:: V(y, f) = \log \sum_t e^{f_t} - f_c

    Here :math:`c` is the class of the row, the one entry of y that is +1. Probabilities of the classes are
    :math:`e^{f_t} / \sum_s e^{f_s}`. Entries of a row belong together, so that arrays are tables, of shape
    (n, n_classes), in which the entries of a row have one weight; a class of weight zero is left out. Two classes are
    one column, and their loss is that of :class:`Logistic`.

    See Also
    --------
    Logistic : Each class against all others, and several labels per row.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Softmax
    >>> Y, F = np.array([[1.0, -1.0, -1.0]]), np.log(np.array([[2.0, 1.0, 1.0]]))
    >>> round(float(np.exp(-Softmax().value(Y, F, np.ones((1, 3))))), 3)
    0.5
    """

    name = "softmax"
    tex = r"\log \sum_t e^{f_t} - f_c, \; c \text{ the class}"
    for_classification = gives_probabilities = couples_tasks = True

    def unbounded(self, lowest: Array, highest: Array) -> Mask:
        # A class that no row has, and one that every row has: the one gets no constant, the other none that is finite.
        return lowest == highest

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        if F.shape[1] == 1:
            return Logistic().value(Y, F, weight)
        scores = np.where(weight > 0.0, F, -np.inf)
        given = weight.max(axis=1) > 0.0
        total = logsumexp(scores[given], axis=1)
        chosen = np.where(Y[given] > 0.0, F[given], 0.0).sum(axis=1)
        return float(np.sum(weight[given].max(axis=1) * (total - chosen)))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        if F.shape[1] == 1:
            return Logistic().gradient(Y, F, weight)
        return weight * (_probabilities(F, weight) - (Y > 0.0))

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        if F.shape[1] == 1:
            return Logistic().curvature(Y, F, weight)
        # The Hessian of a row is diag(p) - p p'.
        return weight * _probabilities(F, weight)

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        if U.shape[1] == 1:
            return Logistic().conjugate(Y, U, weight)
        # V*(u) = sum_t p_t log p_t for probabilities p = u + e_c.
        p = per_weight(U, weight) + ((Y > 0.0) & (weight > 0.0))
        sums = p.sum(axis=1)[weight.max(axis=1) > 0.0]
        if np.any(p < -ROUNDING) or np.any(np.abs(sums - 1.0) > len(p.T) * ROUNDING):
            return np.inf
        p = np.maximum(p, 0.0)
        return float(np.sum(weight * xlogy(p, p)))

    def balanced(self, Y: Array, U: Array, weight: Array) -> Array:
        # Probabilities whose sums over the rows are the numbers of the classes, as those of a model of constants are:
        # the same is added to each row, and a mixture with that model brings what is now below zero back to it.
        one = (Y > 0.0) & (weight > 0.0)
        total = np.maximum(weight.sum(axis=0), TINY)
        shares = (weight * one).sum(axis=0) / total
        p = per_weight(U, weight) + one - np.where(weight > 0.0, U.sum(axis=0) / total, 0.0)
        below = p < 0.0
        far = np.divide(-p, shares - p, out=np.zeros_like(p), where=below)
        theta = float(far.max(initial=0.0))
        return weight * ((1.0 - theta) * p + theta * shares - one)


def _probabilities(F: Array, weight: Array) -> Array:
    """Softmax over the entries of a row that have a weight; zero elsewhere."""
    scores = np.where(weight > 0.0, F, -np.inf)
    largest = scores.max(axis=1, keepdims=True)
    P = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    return np.asarray(P / np.maximum(P.sum(axis=1, keepdims=True), TINY))
