r"""Conjugate gradients where the products G_t of every task are at hand.

The best predictors solve :math:`G_t w_t + n \alpha (W A^{-1})_t = b_t`. A task with many labels hardly hears the
others, so that :math:`G_t + n \alpha (A^{-1})_{tt}`, one small matrix per task, is nearly all of it. What is far from
that is what many tasks share: predictors :math:`g u'` along the leading eigenvectors u of A, for which the system is
small. The preconditioner is the sum of both inverses (domain decomposition of two levels).
"""

from functools import cached_property

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, cholesky, conjugate_gradients, symmetric_part
from skmtl.solvers.observed import Observed
from skmtl.solvers.systems import MAX_ROUNDS, MAX_STEPS, ROUNDING, MeanSystem, Predictors, Unformed

# Leading eigenvectors of the structure that are solved for together, and the size that their system may have.
N_SHARED, LARGEST_SHARED = 10, 400
# Structures nearer to singular than this have no inverse to work with.
SINGULAR = 1e-9


class TaskBlockSystem(Unformed):
    """Predictors W, of shape (r, n_tasks), and their norm, to a gap relative to alpha ||f||_A^2.

    Parameters
    ----------
    a, U : ndarray of shapes (n_tasks,), (n_tasks, n_tasks)
        Eigenvalues, of which none is nearly zero, and eigenvectors of the structure A.
    """

    def __init__(self, observed: Observed, a: Array, U: Array, ridge: float, start: Predictors, gap: float) -> None:
        self._observed, self._ridge, self.steps = observed, ridge, 0
        self._root = U * np.sqrt(a)
        self._inverse = (U / a) @ U.T
        self._g, self._X = observed.gram_bases()
        self._apart = 1.0 / (self._g + ridge * np.diag(self._inverse)[:, None])
        self._share(a, U)
        (W, curved), cross = start, observed.cross
        rounding = ROUNDING**2 * float(np.sum((cross @ self._root) ** 2))
        for _ in range(MAX_ROUNDS):
            left = cross - curved - self._ridge * (W @ self._inverse)
            # The gap is at most the squared norm of what is left, whitened, over n alpha.
            norm = self._norm(W) or self._norm(self._precondition(cross))
            enough = max(ridge**2 * gap * norm, rounding)
            if float(np.sum((left @ self._root) ** 2)) <= enough:
                break
            W = W + self._solve(left, enough)
            curved = observed.curve(W)
        self.W, self.curved, self.norm = W, curved, self._norm(W)

    def _share(self, a: Array, U: Array) -> None:
        """The system of predictors along the leading eigenvectors of A, factorized."""
        grams = self._observed.grams()
        n_tasks, r, _ = grams.shape
        q = max(min(N_SHARED, LARGEST_SHARED // r, n_tasks), 1)
        self._shared = U[:, -q:]
        pairs = (self._shared[:, :, None] * self._shared[:, None, :]).reshape(n_tasks, -1)
        S = (pairs.T @ grams.reshape(n_tasks, -1)).reshape(q, q, r, r).swapaxes(1, 2).reshape(q * r, q * r)
        S[np.diag_indices_from(S)] += np.repeat(self._ridge / a[-q:], r)
        self._factor = cholesky(S.copy, lower=True), True

    def _norm(self, W: Array) -> float:
        return float(np.vdot(W, W @ self._inverse))

    def _apply(self, W: Array) -> Array:
        self.steps += 1
        return self._observed.curve(W) + self._ridge * (W @ self._inverse)

    def _precondition(self, left: Array) -> Array:
        turned = self._apart * np.matmul(left.T[:, None, :], self._X)[:, 0, :]
        apart = np.matmul(self._X, turned[:, :, None])[:, :, 0].T
        shared = linalg.cho_solve(self._factor, (left @ self._shared).T.ravel(), check_finite=False)
        return np.asarray(apart + (self._shared @ shared.reshape(-1, len(left))).T)

    def _solve(self, left: Array, enough: float) -> Array:
        def finished(r: Array, _: float) -> bool:
            return float(np.sum((r @ self._root) ** 2)) <= enough

        return conjugate_gradients(self._apply, left, self._precondition, finished, max_steps=MAX_STEPS)

    @cached_property
    def _mean(self) -> MeanSystem:
        return MeanSystem(self._observed, symmetric_part(self._root @ self._root.T), self._ridge)

    def respond(self, E: Array) -> Array:
        """Phi' M^-1 Phi E with the mean of all G_t, times the share of each task, of shape (r, n_tasks)."""
        return self._mean.respond(E)
