r"""The system of the labels by way of the complete table, where few labels are missing.

Were all labels there, ``M_f = A (x) K + n alpha I`` would be inverted in two eigenbases. The dual coefficients of the
labels that are there are those of a complete table whose missing entries z make the coefficients vanish there:

.. math:: (M_f^{-1})_{NN}\, z = -(M_f^{-1} y_0)_N,

a system of the size of what is missing, N. With intercepts the inverse is that of the centred rows, and coefficients of
a task sum to zero. Rows may have weights, the same for all tasks.
"""

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, eigh
from skmtl.solvers.cost import WAIT
from skmtl.solvers.entries import CompletedRows, Entries
from skmtl.solvers.systems import Unformed


class CompletedFactor(Unformed):
    """The inverse of M with its border, from the complete table and a factor of the size of what is missing."""

    def __init__(self, rows: CompletedRows, entries: Entries, A: Array, ridge: float) -> None:
        self.A, self.ridge, self._rows, self._entries = A, ridge, rows, entries
        a, self._U = eigh(A)
        # 1 / (k a + n alpha) is 1 / (n alpha), for all of the table, and this on the range of the kernel.
        self._inner = 1.0 / (rows.k[:, None] * np.maximum(a, 0.0) + ridge) - 1.0 / ridge
        ends = np.cumsum([len(own) for own in rows.missing])
        self._slices = [slice(end - len(own), end) for end, own in zip(ends, rows.missing, strict=True)]
        self._task = np.repeat(np.arange(len(A)), [len(own) for own in rows.missing])
        self._row = np.concatenate(rows.missing)
        size, inner = float(len(self._row)), rows.V.size * len(A)
        self.cost, self.step_cost = size**2 * len(rows.k) + size**3 / 3.0, 2.0 * WAIT * size**2 + 8.0 * inner
        # Tasks apart have factors of their own.
        apart = np.count_nonzero(A) == len(A)
        blocks = [[t] for t in range(len(A)) if len(rows.missing[t])] if apart else [list(range(len(A)))]
        self._factors = [self._factorize(tasks) for tasks in blocks]

    def _factorize(self, tasks: list[int]) -> tuple[slice, Array]:
        """Where the missing labels of some tasks in a row are, and the factor of (M_f^-1)_NN there."""
        rows = self._rows
        first = self._slices[tasks[0]].start
        place = slice(first, self._slices[tasks[-1]].stop)
        row, slices = (
            self._row[place],
            [slice(self._slices[t].start - first, self._slices[t].stop - first) for t in tasks],
        )
        V = rows.V[row]
        # On and below the diagonal, task by task: the sum over the eigenbasis of A is taken first.
        M = np.zeros((len(row), len(row)), order="F")
        for i, (t, own) in enumerate(zip(tasks, slices, strict=True)):
            for s, other in zip(tasks[: i + 1], slices[: i + 1], strict=True):
                M[own, other] = (V[own] * (self._inner @ (self._U[t] * self._U[s]))) @ V[other].T
            e = rows.constant[row[own]]
            M[own, own] += (np.eye(len(e)) - np.outer(e, e)) / self.ridge
        return place, linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)

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
            C += self._complete(filled)
        return rows.root[entries.row] * C[entries.row, entries.task]

    def respond(self, E: Array) -> Array:
        """Phi' M^-1 Phi E, of shape (r, n_tasks)."""
        return self._entries.adjoint(self.solve(self._entries.scores(E)))
