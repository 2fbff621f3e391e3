r"""The system of the labels with what joins the tasks left out.

Without it, M of :mod:`skmtl.solvers.systems` falls into one block per task, :math:`A_{tt} K_t + n \alpha
\operatorname{diag}(1 / w)`, and the blocks are small. Where alpha is small a task hears little of the others at its own
labels, so that conjugate gradients with these blocks for a preconditioner take few steps: between the extreme
eigenvalues of A relative to its diagonal lie those of M relative to the blocks.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from skmtl._linalg import Array
from skmtl.solvers.cost import WAIT
from skmtl.solvers.entries import Entries
from skmtl.solvers.observed import Observed
from skmtl.solvers.systems import MeanSystem, label_products


class TaskFactor:
    """The blocks of M with their borders, factorized; ``A`` is the diagonal of the structure."""

    def __init__(self, entries: Entries, A: Array, ridge: float) -> None:
        self.A, self.ridge, self._entries = np.diag(np.diag(A)), ridge, entries
        self.exact = np.count_nonzero(A) == np.count_nonzero(self.A)
        counts = entries.counts.astype(float)
        self.cost, self.step_cost = float(np.sum(counts**3)) / 3.0, 2.0 * WAIT * float(np.sum(counts**2))
        self._factors = [self._factorize(int(t), float(A[t, t])) for t in np.flatnonzero(counts)]

    def _factorize(self, t: int, a: float) -> tuple[slice, Array, Array]:
        """The labels of a task, the factor L of its block, and L^-1 times its constant direction, of length one."""
        own = self._entries.slices[t]
        # In Fortran's order, which LAPACK overwrites: it is symmetric.
        M = (a * self._entries.task_kernel(t)).T
        M[np.diag_indices_from(M)] += self.ridge * self._entries.inverse_weight[own]
        L = linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)
        border = np.full(len(M), float(self._entries.intercept))
        border = linalg.blas.dtrsv(L, border, lower=1)
        return own, L, border / (np.linalg.norm(border) or 1.0)

    def solve(self, y: Array) -> Array:
        """c = N y without what joins the tasks, of shape (n_labels,)."""
        c = np.empty_like(y)
        for own, L, border in self._factors:
            z = linalg.blas.dtrsv(L, y[own], lower=1)
            c[own] = linalg.blas.dtrsv(L, z - (border @ z) * border, lower=1, trans=1)
        return c


class TaskSystem(MeanSystem):
    """How P moves with the structure, from the tasks apart and from the mean of all, half of each.

    The first hears nothing of the other tasks, the second thinks that all tasks have labels everywhere.
    """

    def __init__(self, factor: TaskFactor, observed: Observed, A: Array, ridge: float) -> None:
        super().__init__(observed, A, ridge)
        self._factor = factor

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D, nearly."""
        by_mean, apart = super().along(P), label_products(self._factor, self._observed.entries(), P)
        return lambda D: 0.5 * (by_mean(D) + apart(D))
