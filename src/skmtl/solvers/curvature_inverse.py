"""The inverse of Newton's Hessian in G, from a factor of the size of the features or of the labels."""

from typing import Protocol

import numpy as np
from scipy import linalg

from skmtl._linalg import TINY, Array, cholesky
from skmtl.solvers.curvature import LabelCurvature
from skmtl.solvers.entries import Entries
from skmtl.solvers.whitening import Whitening

# Up to this many unknowns a factor, of 0.1 s at most, is made of all of them.
MAX_FACTOR = 1500
# The features have more digits than the labels, where both are so many: a difference may lose this much of them.
FEW, LOST_DIGITS = 0.5, 1e10
# Steps of conjugate gradients that mend a factor's rounding, and that make up for labels that it leaves out.
FEW_STEPS, MANY_STEPS = 3, 100


class Inverse(Protocol):
    """V -> (H + 2 alpha I)^-1 V for the Hessian H of the data term in G, as a preconditioner for so many steps."""

    @property
    def max_steps(self) -> int: ...

    def __call__(self, V: Array) -> Array: ...


def make_inverse(
    entries: Entries, curvature: LabelCurvature, h: Array, basis: Whitening, n: float, alpha: float
) -> Inverse:
    """That of a Hessian from the curvatures h of the labels, by the shorter of two roads."""
    size, ridge = entries.n_features * basis.R.shape[1], 2.0 * n * alpha
    few_labels = len(entries) <= FEW * size and entries.largest(h, basis.A) <= LOST_DIGITS * ridge
    if size > MAX_FACTOR or few_labels:
        return LabelInverse(entries, h, basis, ridge, alpha)
    H = curvature.matrix(basis.R) / n
    H[np.diag_indices_from(H)] += 2.0 * alpha
    return FeatureInverse(H)


class FeatureInverse:
    """That of a matrix of the size of the features times the tasks."""

    max_steps = FEW_STEPS

    def __init__(self, H: Array) -> None:
        # Features of different sizes are brought to one, so that none is lost in the rounding of another.
        self._scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
        H *= self._scale[:, None]
        H *= self._scale
        self._factor = cholesky(H.copy, lower=True)

    def __call__(self, V: Array) -> Array:
        solved = linalg.cho_solve((self._factor, True), self._scale * V.ravel(), check_finite=False)
        return np.asarray(self._scale * solved).reshape(V.shape)


class LabelInverse:
    """(1 / 2 alpha) (V - B' N B V), where B takes G to scores, and N is the inverse of BB' + ridge / h with its border.

    Of more labels than a factor can have, those of the largest curvature: the others are far from their corners.
    """

    def __init__(self, entries: Entries, h: Array, basis: Whitening, ridge: float, alpha: float) -> None:
        self._entries, self._basis, self._alpha = entries, basis, alpha
        chosen = np.sort(np.argsort(h)[-MAX_FACTOR:])
        self.max_steps = FEW_STEPS if len(chosen) == len(h) else MANY_STEPS
        self._chosen, self._root = chosen, np.sqrt(h[chosen])

        def scaled_kernel() -> Array:
            M = entries.kernel_between(chosen, basis.A) * (self._root[:, None] * self._root)
            M[np.diag_indices_from(M)] += ridge
            return M

        self._L = cholesky(scaled_kernel, lower=True)
        # What the constants of the tasks explain is left out.
        tasks = np.unique(entries.task[chosen]) if entries.intercept else np.zeros(0, dtype=np.intp)
        border = self._root[:, None] * (entries.task[chosen, None] == tasks)
        self._border = np.linalg.qr(linalg.solve_triangular(self._L, border, lower=True, check_finite=False))[0]

    def __call__(self, V: Array) -> Array:
        scores = self._entries.scores(self._basis.unwhiten(V))[self._chosen]
        z = linalg.blas.dtrsv(self._L, self._root * scores, lower=1)
        z = z - self._border @ (self._border.T @ z)
        c = np.zeros(len(self._entries))
        c[self._chosen] = self._root * linalg.blas.dtrsv(self._L, z, lower=1, trans=1)
        return np.asarray(V - self._basis.whiten_gradient(self._entries.adjoint(c))) / (2.0 * self._alpha)
