"""The inverse of Newton's Hessian in G, from a factor of the size of the features or of the labels."""

from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import linalg

from skmtl._linalg import TINY, Array, cholesky
from skmtl.solvers.curvature import LabelCurvature
from skmtl.solvers.entries import Entries
from skmtl.solvers.whitening import Whitening

# Up to this many unknowns a factor, of 0.1 s at most, is made of all of them.
MAX_FACTOR = 1500
# Labels make the shorter factor where they are no more than this share of the features times the tasks: it takes about
# 2.3 times their number to the third, and that of the features a third of theirs and the sum of the tasks' matrices.
FEW = 0.5
# Directions that labels feel are found in four times features, tasks and squared labels, where this bounds the product:
# a second for each structure.
LONGEST = 1e9
# Steps of conjugate gradients that mend a factor's rounding, and that make up for labels that it leaves out.
FEW_STEPS, MANY_STEPS = 3, 100


class Inverse(Protocol):
    """V -> (H + 2 alpha I)^-1 V for the Hessian H of the data term in G, as a preconditioner for so many steps."""

    @property
    def max_steps(self) -> int: ...

    def __call__(self, V: Array) -> Array: ...


class Inverses:
    """The inverses for one structure: Hessians differ in the curvatures of the labels.

    Parameters
    ----------
    n, alpha : float
        The data term is divided by n, and alpha is that of the penalty.
    """

    def __init__(self, entries: Entries, basis: Whitening, n: float, alpha: float) -> None:
        self.entries, self.basis, self.n, self.alpha = entries, basis, n, alpha
        self._size = entries.n_features * basis.R.shape[1]

    def make(self, curvature: LabelCurvature, h: Array) -> Inverse:
        """That of a Hessian from the curvatures h of the labels, by the shortest of three roads."""
        if self._by_span:
            return SpanInverse(self._span, h / self.n, self.alpha)
        if self._size > MAX_FACTOR:
            return LabelInverse(self.entries, h, self.basis, 2.0 * self.n * self.alpha, self.alpha)
        H = curvature.matrix(self.basis.R) / self.n
        H[np.diag_indices_from(H)] += 2.0 * self.alpha
        return FeatureInverse(H)

    def felt(self, G: Array) -> Array:
        """G without what no label feels, of which the best G has nothing, where a factor is of the others alone."""
        if not self._by_span:
            return G
        Q = self._span.Q
        return np.asarray(Q @ (Q.T @ G.ravel())).reshape(G.shape)

    @property
    def _by_span(self) -> bool:
        n_labels = len(self.entries)
        return n_labels <= FEW * self._size and self._size * n_labels**2 <= LONGEST

    @cached_property
    def _span(self) -> "LabelSpan":
        return LabelSpan(self.entries, self.basis)


class LabelSpan:
    """The directions in G that labels feel: an orthonormal basis, and the scores of each of them, (n_labels, m).

    Scores are B G, of B' = QF' the columns of Q are the directions, and F are their scores.
    """

    def __init__(self, entries: Entries, basis: Whitening) -> None:
        self.entries = entries
        B = entries.rows()[:, :, None] * basis.R[entries.task][:, None, :]
        # Directions from large to small, so that small ones are not lost in the rounding of large ones.
        self.Q, F, order = linalg.qr(
            B.reshape(len(entries), -1).T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False
        )
        self.F = np.empty((len(entries), len(F)))
        self.F[order] = F.T


class SpanInverse:
    """That of a matrix of the size of the labels, for V in their span.

    Beside it the Hessian is 2 alpha, and so small that rounding of what it is divided by would outweigh the labels.
    """

    max_steps = FEW_STEPS

    def __init__(self, span: LabelSpan, h: Array, alpha: float) -> None:
        self._Q = span.Q
        F = span.entries.without_means(span.F, h)
        H = F.T @ (h[:, None] * F)
        H[np.diag_indices_from(H)] += 2.0 * alpha
        self._inside = FeatureInverse(H)

    def __call__(self, V: Array) -> Array:
        return np.asarray(self._Q @ self._inside(self._Q.T @ V.ravel())).reshape(V.shape)


class FeatureInverse:
    """That of a matrix of the size of the features times the tasks."""

    max_steps = FEW_STEPS

    def __init__(self, H: Array) -> None:
        # Features of different sizes are brought to one, so that none is lost in the rounding of another.
        self._scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
        H *= self._scale[:, None]
        H *= self._scale
        self._factor = cholesky(lambda: H.copy(order="F"), lower=True)

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
