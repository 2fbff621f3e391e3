r"""The system of the labels by way of the complete table, where few labels are missing.

Were all labels there, ``M_f = A (x) K + n alpha I`` would be inverted in two eigenbases. The dual coefficients of the
labels that are there are those of a complete table whose missing entries z make the coefficients vanish there:

.. math:: (M_f^{-1})_{NN}\, z = -(M_f^{-1} y_0)_N,

a system of the size of what is missing, N. With intercepts the inverse is that of the centred rows, and coefficients of
a task sum to zero. Rows may have weights, the same for all tasks.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from skmtl._linalg import Array, cholesky, eigh, is_diagonal
from skmtl.solvers.cost import WAIT
from skmtl.solvers.entries import CompletedRows, Entries
from skmtl.solvers.systems import label_products, pairs


class CompletedFactor:
    """The inverse of M with its border, from the complete table and a factor of the size of what is missing."""

    exact = True

    def __init__(self, rows: CompletedRows, entries: Entries, A: Array, ridge: float) -> None:
        self.A, self.ridge, self._rows, self._entries = A, ridge, rows, entries
        a, self._U = eigh(A)
        # 1 / (k a + n alpha) is 1 / (n alpha), for all of the table, and this on the range of the kernel.
        self._inner = 1.0 / (rows.k[:, None] * np.maximum(a, 0.0) + ridge) - 1.0 / ridge
        ends = np.cumsum([len(own) for own in rows.missing])
        self._slices = [slice(end - len(own), end) for end, own in zip(ends, rows.missing, strict=True)]
        self._task = np.repeat(np.arange(len(A)), [len(own) for own in rows.missing])
        self._row = np.concatenate(rows.missing)
        size, inner, n_pairs = float(len(self._row)), rows.V.size * len(A), len(A) * (len(A) + 1) / 2.0
        self.cost, self.step_cost = size**2 * len(rows.k) + size**3 / 3.0, 2.0 * WAIT * size**2 + 8.0 * inner
        within = 2.0 * rows.V.size * len(A) ** 2 + n_pairs * len(rows.k) * len(A) * (n_pairs + 2.0 * len(A))
        self.curvature_cost = within + n_pairs * (2.0 * size * len(rows.k) + size**2)
        # Tasks apart have factors of their own.
        apart = [[t] for t in range(len(A)) if len(rows.missing[t])]
        blocks = apart if is_diagonal(A) else [list(range(len(A)))]
        self._factors = [self._factorize(tasks) for tasks in blocks]

    def _factorize(self, tasks: list[int]) -> tuple[slice, Array]:
        """Where the missing labels of some tasks in a row are, and the factor of (M_f^-1)_NN there."""
        first = self._slices[tasks[0]].start
        place = slice(first, self._slices[tasks[-1]].stop)
        slices = [slice(self._slices[t].start - first, self._slices[t].stop - first) for t in tasks]
        return place, cholesky(lambda: self._system(tasks, self._row[place], slices), lower=True)

    def _system(self, tasks: list[int], row: NDArray[np.intp], slices: list[slice]) -> Array:
        """(M_f^-1)_NN for missing labels in these rows, on and below the diagonal."""
        rows = self._rows
        V = rows.V[row]
        # Task by task: the sum over the eigenbasis of A is taken first.
        M = np.zeros((len(row), len(row)), order="F")
        for i, (t, own) in enumerate(zip(tasks, slices, strict=True)):
            for s, other in zip(tasks[: i + 1], slices[: i + 1], strict=True):
                # Transposed, so that what is copied lies in memory as M does.
                M.T[other, own] = (V[other] * (self._inner @ (self._U[t] * self._U[s]))) @ V[own].T
            e = rows.constant[row[own]]
            M[own, own] += (np.eye(len(e)) - np.outer(e, e)) / self.ridge
        return M

    def _complete(self, Y: Array) -> Array:
        """M_f^-1 Y with its border, for weighted targets of a complete table."""
        rows = self._rows
        inner = rows.V @ (((rows.V.T @ Y @ self._U) * self._inner) @ self._U.T)
        return np.asarray((Y - np.outer(rows.constant, rows.constant @ Y)) / self.ridge + inner)

    def solve(self, y: Array) -> Array:
        """c, of shape (n_labels,)."""
        rows, entries = self._rows, self._entries
        C = self._complete(rows.fill(entries, y))
        if len(self._row):
            filled = np.zeros_like(C)
            z = C[self._row, self._task]
            for place, L in self._factors:
                z[place] = linalg.cho_solve((L, True), z[place], check_finite=False)
            filled[self._row, self._task] = -z
            # Where rounding left nothing of the system, there is no number; whoever asks for eps says so.
            with np.errstate(over="ignore", invalid="ignore"):
                C += self._complete(filled)
        return rows.root[entries.row] * C[entries.row, entries.task]

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' N Phi P D."""
        return label_products(self, self._entries, P)

    def curvature(self, P: Array) -> Array:
        """<P D, Phi' N Phi P D'> for all ``pairs`` D and D' at once.

        D = ts moves the scores of task t by those of P in task s, and those of s by P's in t. With U_D for that table,
        zero where labels are missing, it is <U_D, M_f^-1 U_D'> less the same through the missing entries.
        """
        rows, entries, n_tasks = self._rows, self._entries, len(self.A)
        t, s = pairs(n_tasks)
        place = np.empty((n_tasks, n_tasks), dtype=np.intp)
        place[t, s] = place[s, t] = np.arange(len(t))
        known = rows.fill(entries, np.ones(len(entries)))
        scores = np.zeros_like(known)
        scores[entries.row] = entries.at_rows(P)
        H = np.zeros((len(t), len(t)))
        inside, means = np.empty((n_tasks, len(rows.k), n_tasks)), np.empty((n_tasks, n_tasks))
        for task in range(n_tasks):
            moved = known[:, task, None] * scores
            inside[task], means[task] = rows.V.T @ moved, rows.constant @ moved
            H[np.ix_(place[task], place[task])] += (moved.T @ moved - np.outer(means[task], means[task])) / self.ridge
        other = (t != s)[:, None]
        # V'U_D in the eigenbasis of A, of shape (pairs, n_tasks, r).
        first, second = inside[t, :, s], inside[s, :, t] * other
        turned = self._U[t][:, :, None] * first[:, None, :] + self._U[s][:, :, None] * second[:, None, :]
        answered = turned * self._inner.T
        H += answered.reshape(len(t), -1) @ turned.reshape(len(t), -1).T
        gaps = np.empty((len(self._row), len(t)), order="F")
        for task, own in enumerate(self._slices):
            gaps[own] = rows.V[self._row[own]] @ np.tensordot(self._U[task], answered, axes=(0, 1)).T
            mean = np.where(t == task, means[t, s], 0.0) + np.where((s == task) & (t != s), means[s, t], 0.0)
            gaps[own] -= np.outer(rows.constant[self._row[own]], mean) / self.ridge
        for own, L in self._factors:
            Z = linalg.blas.dtrsm(1.0, L, gaps[own], lower=1)
            H -= Z.T @ Z
        return H
