r"""The system of the labels with what joins the tasks left out, but for tasks with labels at the same rows.

Without it, M of :mod:`skmtl.solvers.systems` falls into blocks, one for each panel of such tasks and one for every
other task t. The second are :math:`A_{tt} K_t + n \alpha \operatorname{diag}(1 / w)`, factorized. The first are
those of a complete table, :math:`K \otimes A + n \alpha \operatorname{diag}(1 / w)`: with the kernel between the
rows decomposed once, they are diagonal for every structure.

Where alpha is small a task hears little of the others at its own labels, so that conjugate gradients with these blocks
for a preconditioner take few steps: between the extreme eigenvalues of A relative to its blocks lie those of M relative
to its own.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, cholesky, eigh
from skmtl.solvers.cost import WAIT
from skmtl.solvers.entries import Entries, Panel
from skmtl.solvers.observed import Observed
from skmtl.solvers.systems import MeanSystem, label_products


class TaskFactor:
    """The blocks of M with their borders, factorized; ``A`` is the structure within the blocks."""

    def __init__(self, entries: Entries, A: Array, ridge: float) -> None:
        self.A, self.ridge, self._entries = within_blocks(entries, A), ridge, entries
        self.exact = np.count_nonzero(A) == np.count_nonzero(self.A)
        counts = entries.counts[entries.single_tasks].astype(float)
        # A panel is decomposed once, and its products are those of matrices.
        joined = float(sum(4 * panel.common.size * len(panel.common) for panel in entries.panels))
        self.cost, self.step_cost = float(np.sum(counts**3)) / 3.0, 2.0 * WAIT * float(np.sum(counts**2)) + joined
        self._panels = [PanelFactor(panel, A, ridge) for panel in entries.panels]
        self._factors = [self._factorize(int(t), float(A[t, t])) for t in entries.single_tasks]

    def _factorize(self, t: int, a: float) -> tuple[slice, Array, Array]:
        """The labels of a task, the factor L of its block, and L^-1 times its constant direction, of length one."""
        own = self._entries.slices[t]

        def block() -> Array:
            # In Fortran's order, which LAPACK overwrites: it is symmetric.
            M = (a * self._entries.task_kernel(t)).T
            M[np.diag_indices_from(M)] += self.ridge * self._entries.inverse_weight[own]
            return M

        L = cholesky(block, lower=True)
        border = linalg.blas.dtrsv(L, np.full(len(L), float(self._entries.intercept)), lower=1)
        return own, L, border / (np.linalg.norm(border) or 1.0)

    def solve(self, y: Array) -> Array:
        """c = N y without what joins the blocks, of shape (n_labels,)."""
        c = np.empty_like(y)
        for own, L, border in self._factors:
            z = linalg.blas.dtrsv(L, y[own], lower=1)
            c[own] = linalg.blas.dtrsv(L, z - (border @ z) * border, lower=1, trans=1)
        for panel in self._panels:
            panel.solve(y, c)
        return c


class PanelFactor:
    """The block of a panel with its borders, for one structure: in the eigenbases of kernel and structure.

    The few labels that its tasks have beside the common rows are eliminated (Schur).
    """

    def __init__(self, panel: Panel, A: Array, ridge: float) -> None:
        self._panel, entries = panel, panel.entries
        values, self._Q, self._rows = panel.decomposition
        a, self._U = eigh(A[np.ix_(panel.tasks, panel.tasks)])
        self._inverse = 1.0 / (ridge + np.outer(values, np.maximum(a, 0.0)))
        # A label beside the common rows meets those by the kernel between the rows, times the structure.
        self._place = np.searchsorted(panel.tasks, entries.task[panel.beside])
        self._tasks = (self._U * a)[self._place]
        self._schur = cholesky(lambda: self._schur_complement(A, ridge), lower=True)
        self._constant = self._Q.T @ panel.root
        self._corner = self._factor_of_border() if entries.intercept else None

    def _schur_complement(self, A: Array, ridge: float) -> Array:
        """M of the labels beside, less what the common rows explain of it."""
        entries, beside = self._panel.entries, self._panel.beside
        S = entries.kernel_between(beside, A)
        S[np.diag_indices_from(S)] += ridge * entries.inverse_weight[beside]
        for inverse, task in zip(self._inverse.T, self._tasks.T, strict=True):
            seen = np.sqrt(inverse)[:, None] * self._rows * task
            S -= seen.T @ seen
        return S

    def _factor_of_border(self) -> Array:
        """The factor of E' M^-1 E, of shape (p, p)."""
        columns = [self._sums(*self._solve(*self._constants(task))) for task in np.eye(len(self._U))]
        return cholesky(lambda: np.stack(columns), lower=True)

    def _constants(self, values: Array) -> tuple[Array, Array]:
        """E b: one value for all labels of a task, at the common rows and beside them."""
        return np.outer(self._constant, values @ self._U), values[self._place]

    def _sums(self, Z: Array, beside: Array) -> Array:
        """E'c: sums over the labels of each task."""
        return self._U @ (self._constant @ Z) + np.bincount(self._place, beside, minlength=len(self._U))

    def _solve(self, Z: Array, beside: Array) -> tuple[Array, Array]:
        """M^-1 of values at the common rows and beside them."""
        if len(beside):
            left = beside - np.sum((self._rows.T @ (Z * self._inverse)) * self._tasks, axis=1)
            beside = linalg.cho_solve((self._schur, True), left, check_finite=False)
            Z = Z - self._rows @ (beside[:, None] * self._tasks)
        return Z * self._inverse, beside

    def solve(self, y: Array, c: Array) -> None:
        """Write N y to c, at the labels of the panel."""
        panel = self._panel
        Z, beside = (self._Q.T @ (panel.root[:, None] * y[panel.common])) @ self._U, y[panel.beside]
        if self._corner is not None:
            sums = self._sums(*self._solve(Z, beside))
            off, off_beside = self._constants(linalg.cho_solve((self._corner, True), sums, check_finite=False))
            Z, beside = Z - off, beside - off_beside
        Z, beside = self._solve(Z, beside)
        c[panel.common] = panel.root[:, None] * (self._Q @ (Z @ self._U.T))
        c[panel.beside] = beside


def within_blocks(entries: Entries, A: Array) -> Array:
    """The structure with what joins the blocks left out."""
    near = np.diag(np.diag(A))
    for panel in entries.panels:
        own = np.ix_(panel.tasks, panel.tasks)
        near[own] = A[own]
    return near


class TaskSystem(MeanSystem):
    """How P moves with the structure, from the blocks and from the mean of all tasks, at least half of the first.

    The first hears nothing of tasks in other blocks, the second thinks that all tasks have labels everywhere. The fewer
    labels other blocks have at the same rows, the nearer is the first to the truth.
    """

    def __init__(self, factor: TaskFactor, observed: Observed, A: Array, ridge: float) -> None:
        super().__init__(observed, A, ridge)
        self._factor = factor

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D, nearly."""
        entries = self._observed.entries()
        by_mean, by_blocks = super().along(P), label_products(self._factor, entries, P)
        own = self._factor.exact and self._factor.ridge == self._ridge and np.array_equal(self._factor.A, self._white.A)
        mean = 0.0 if own else 0.5 * entries.density * (1.0 - entries.joined_share)
        return lambda D: mean * by_mean(D) + (1.0 - mean) * by_blocks(D)
