"""Labels one by one, and the complete table that they are a part of."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.targets import Labels

TINY = float(np.finfo(float).tiny)


class Entries:
    """Labels one by one, task by task, with their rows and weights."""

    def __init__(self, Phi: Array, labels: Labels, *, intercept: bool) -> None:
        self._Phi, self._labels, self.intercept = Phi, labels, intercept
        task = np.broadcast_to(labels.spread(np.arange(labels.n_tasks)), labels.y.shape)
        known = np.nonzero(labels.weight > 0.0)
        order = np.argsort(task[known], kind="stable")
        # Where each label stands in arrays laid out like the labels.
        self.place = tuple(index[order] for index in known)
        self.row, self.task = self.place[0], task[self.place]
        self.y, self.inverse_weight = labels.y[self.place], 1.0 / labels.weight[self.place]
        self.counts = np.bincount(self.task, minlength=labels.n_tasks)
        ends = np.cumsum(self.counts)
        self.slices = [slice(end - count, end) for end, count in zip(ends, self.counts, strict=True)]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_features(self) -> int:
        return self._Phi.shape[1]

    @cached_property
    def _row_kernel(self) -> tuple[Array, NDArray[np.intp]]:
        """The kernel between the rows that have a label, and which of them is each label's."""
        rows, place = np.unique(self.row, return_inverse=True)
        Phi = self._Phi[rows]
        return Phi @ Phi.T, place

    def scaled_kernel(self, A: Array) -> Array:
        """K_ii' A_tt' between labels on and below the diagonal, in Fortran's order, which LAPACK overwrites."""
        K, place = self._row_kernel
        M = np.empty((len(self), len(self)), order="F")
        for t, own in enumerate(self.slices):
            # Columns of M are rows of its transpose, contiguous like those of the kernel.
            below = K[place[own]][:, place[own.start :]]
            np.multiply(below, np.repeat(A[t, t:], self.counts[t:]), out=M.T[own, own.start :])
        return M

    def kernel_between(self, chosen: NDArray[np.intp], A: Array) -> Array:
        """K_ii' A_tt' between some of the labels."""
        K, place = self._row_kernel
        row, task = place[chosen], self.task[chosen]
        return np.asarray(K[np.ix_(row, row)] * A[np.ix_(task, task)])

    def largest(self, h: Array, A: Array) -> float:
        """The largest h K_ii A_tt."""
        K, place = self._row_kernel
        return float(np.max(h * np.diag(K)[place] * np.diag(A)[self.task], initial=0.0))

    def task_kernel(self, t: int) -> Array:
        """K_ii' between the labels of one task."""
        return self._gather_task(t) if self._task_kernels is None else self._task_kernels[t]

    @cached_property
    def _task_kernels(self) -> list[Array] | None:
        """Those of all tasks, where they take no more memory than the kernel between the rows."""
        few = float(np.sum(self.counts.astype(float) ** 2)) <= self._row_kernel[0].size
        return [self._gather_task(t) for t in range(len(self.counts))] if few else None

    def _gather_task(self, t: int) -> Array:
        K, place = self._row_kernel
        own = place[self.slices[t]]
        return np.asarray(K[np.ix_(own, own)])

    def mixed(self, c: Array, A: Array) -> Array:
        """The sum of K_ii' A_tt' c over all labels, at each label."""
        if self._labels.y.ndim == 1 or len(self._Phi) > 2 * self._Phi.shape[1]:
            return self.scores(self.adjoint(c) @ A)
        # Of a table, one product with the kernel is shorter than two with the features.
        K, place = self._row_kernel
        C = np.zeros((len(K), len(A)))
        C[place, self.task] = c
        return np.asarray((K @ C @ A)[place, self.task])

    def rows(self) -> Array:
        """The features of each label's row, of shape (n_labels, r)."""
        return self._Phi[self.row]

    def at_rows(self, P: Array) -> Array:
        """Phi P at the row of each label, of shape (n_labels, n_tasks)."""
        return np.asarray((self._Phi @ P)[self.row])

    def scores(self, W: Array) -> Array:
        """Phi W at the labels, of shape (n_labels,)."""
        return self._labels.scores(self._Phi, W)[self.place]

    def task_sums(self, U: Array) -> Array:
        """Sums of (n_labels, k) values over the labels of each task, of shape (n_tasks, k)."""
        sums = np.zeros((len(self.counts), U.shape[1]))
        known = np.flatnonzero(self.counts)
        if len(known):
            sums[known] = np.add.reduceat(U, [self.slices[t].start for t in known], axis=0)
        return sums

    def centred(self, u: Array) -> Array:
        """Values u of the labels about each task's mean, where there are intercepts."""
        return u - self._means(u / self.inverse_weight) if self.intercept else u

    def without_sums(self, c: Array) -> Array:
        """Dual coefficients that sum to zero in each task, where there are intercepts: the bound rests on that."""
        return c - self._means(c) / self.inverse_weight if self.intercept else c

    def _means(self, sums: Array) -> Array:
        """The sum over the labels of each task, over that of their weights, at each label."""
        total = np.bincount(self.task, sums, minlength=len(self.counts))
        return np.asarray((total / np.maximum(self._totals, TINY))[self.task])

    @cached_property
    def _totals(self) -> Array:
        return np.asarray(np.bincount(self.task, 1.0 / self.inverse_weight, minlength=len(self.counts)), dtype=float)

    def adjoint(self, u: Array) -> Array:
        """Phi'U for values u of the labels, of shape (r, n_tasks)."""
        U = np.zeros(self._labels.y.shape)
        U[self.place] = u
        return self._labels.adjoint(self._Phi, U)


class CompletedRows:
    """All rows with a weight each, decomposed: D^{1/2} H K H' D^{1/2} = V diag(k) V'.

    Parameters
    ----------
    Phi : ndarray of shape (n, r)
        About their weighted mean, where there are intercepts.
    values : ndarray of shape (r,)
        k, which is Phi' D Phi: the rows were decomposed with the weights that all labels have.
    weight : ndarray of shape (n, n_tasks)
        Zero where a label is missing, else the weight of the row.
    """

    def __init__(self, Phi: Array, values: Array, weight: Array, *, intercept: bool) -> None:
        self.root = np.sqrt(weight.max(axis=1))
        # The direction that centring takes away.
        self.constant = self.root / np.linalg.norm(self.root) if intercept else np.zeros(len(Phi))
        self.missing = [np.flatnonzero(column == 0.0) for column in weight.T]
        self.k, self.V = values, self.root[:, None] * Phi / np.sqrt(values)

    def fill(self, entries: Entries, y: Array) -> Array:
        """Values of the labels, weighted, in a table with zeros where one is missing."""
        Y = np.zeros((len(self.root), len(self.missing)))
        Y[entries.row, entries.task] = self.root[entries.row] * y
        return Y
