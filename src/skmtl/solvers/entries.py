"""Labels one by one, the complete table that they are a part of, and tasks that have them at the same rows."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import TINY, Array, eigh_in_place
from skmtl.targets import Labels

# Tasks make a panel where this share of their labels is at rows that all of them have.
COMMON = 0.95


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
        """The kernel between rows that have a label, in the order of the labels, and which of them is each label's."""
        rows, first, place = np.unique(self.row, return_index=True, return_inverse=True)
        order = np.argsort(first)
        Phi = self._Phi[rows[order]]
        return Phi @ Phi.T, np.argsort(order)[place]

    def scaled_kernel(self, A: Array) -> Array:
        """K_ii' A_tt' between labels on and below the diagonal, in Fortran's order, which LAPACK overwrites."""
        K, place = self._row_kernel
        M = np.empty((len(self), len(self)), order="F")
        # Where every label has a row of its own, the kernel is in the order of the labels.
        long = len(K) == len(self)
        for t, own in enumerate(self.slices):
            # Columns of M are rows of its transpose, contiguous like those of the kernel.
            below = K[own, own.start :] if long else K[place[own]][:, place[own.start :]]
            np.multiply(below, np.repeat(A[t, t:], self.counts[t:]), out=M.T[own, own.start :])
        return M

    def kernel_of_rows(self, chosen: NDArray[np.intp]) -> Array:
        """K_ii' between the rows of some of the labels."""
        K, place = self._row_kernel
        return np.asarray(K[np.ix_(place[chosen], place[chosen])])

    def kernel_between(self, chosen: NDArray[np.intp], A: Array) -> Array:
        """K_ii' A_tt' between some of the labels."""
        task = self.task[chosen]
        return self.kernel_of_rows(chosen) * A[np.ix_(task, task)]

    @cached_property
    def panels(self) -> list["Panel"]:
        """Tasks with labels at the same rows."""
        return find_panels(self)

    @cached_property
    def density(self) -> float:
        """The share of labels that are there, of rows that have any."""
        return len(self) / max(len(np.unique(self.row)) * len(self.counts), 1)

    @property
    def joined_share(self) -> float:
        """The share of pairs of tasks that are in one panel."""
        n_tasks = len(self.counts)
        joined = sum(len(panel.tasks) * (len(panel.tasks) - 1) for panel in self.panels)
        return joined / max(n_tasks * (n_tasks - 1), 1)

    @cached_property
    def single_tasks(self) -> NDArray[np.intp]:
        """Tasks with labels that are in no panel."""
        single = self.counts > 0
        for panel in self.panels:
            single[panel.tasks] = False
        return np.flatnonzero(single)

    def task_kernel(self, t: int) -> Array:
        """K_ii' between the labels of one task."""
        return self._gather_task(t) if self._task_kernels is None else self._task_kernels[t]

    @cached_property
    def _task_kernels(self) -> list[Array] | None:
        """Those of all tasks, where they take no more memory than the kernel between the rows."""
        few = float(np.sum(self.counts.astype(float) ** 2)) <= self._row_kernel[0].size
        return [self._gather_task(t) for t in range(len(self.counts))] if few else None

    def _gather_task(self, t: int) -> Array:
        own = self.slices[t]
        return self.kernel_of_rows(np.arange(own.start, own.stop))

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

    def without_means(self, F: Array, h: Array) -> Array:
        """Values F of the labels, (n_labels, k), about each task's mean with weights h, where there are intercepts."""
        if not self.intercept:
            return F
        total = np.maximum(self.task_sums(h[:, None]), TINY)
        return np.asarray(F - (self.task_sums(h[:, None] * F) / total)[self.task])

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


class Panel:
    """Tasks with labels at the same rows, as where some assays were run on these samples and others on those.

    Parameters
    ----------
    tasks : ndarray of shape (p,)
        Which tasks they are, ascending.
    common : ndarray of shape (m, p)
        Their labels at the common rows, which have one weight each.
    beside : ndarray of shape (k,)
        Their other labels.
    """

    def __init__(
        self, entries: Entries, tasks: NDArray[np.intp], common: NDArray[np.intp], beside: NDArray[np.intp]
    ) -> None:
        self.entries, self.tasks, self.common, self.beside = entries, tasks, common, beside
        self.root = 1.0 / np.sqrt(entries.inverse_weight[common[:, 0]])

    @cached_property
    def decomposition(self) -> tuple[Array, Array, Array]:
        """Eigenvalues and eigenvectors of the kernel between the common rows, times the roots of their weights.

        And, in that basis, the kernel between them and the rows of the labels beside, of shape (m, k).
        """
        m = len(self.common)
        K = self.entries.kernel_of_rows(np.concatenate([self.common[:, 0], self.beside]))
        K[:m] *= self.root[:, None]
        values, Q = eigh_in_place(K[:m, :m] * self.root)
        return np.maximum(values, 0.0), Q, Q.T @ K[:m, m:]


def find_panels(entries: Entries) -> list[Panel]:
    """Panels of two tasks or more; no task is in two of them."""
    if np.bincount(entries.row).max(initial=0) <= 1:
        # In a long table every label has a row of its own, and a table of rows by tasks may be huge.
        return []
    n_tasks = len(entries.counts)
    place = np.full((int(entries.row.max(initial=-1)) + 1, n_tasks), -1, dtype=np.intp)
    place[entries.row, entries.task] = np.arange(len(entries))
    known = (place >= 0).astype(float)
    shared, left, panels = known.T @ known, entries.counts > 0, []
    while left.any():
        first = int(np.argmax(left))
        alike = shared[first] >= COMMON * np.maximum(entries.counts, entries.counts[first])
        tasks = np.flatnonzero(left & alike)
        left[tasks] = False
        own = place[:, tasks]
        common = own[(own >= 0).all(axis=1)]
        weights = entries.inverse_weight[common]
        if len(tasks) > 1 and common.size >= COMMON * np.sum(own >= 0) and np.all(weights == weights[:, :1]):
            panels.append(Panel(entries, tasks, common, np.setdiff1d(own[own >= 0], common)))
    return panels


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
