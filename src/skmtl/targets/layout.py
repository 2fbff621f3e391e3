"""Labels in memory: a table with gaps, or one label per row."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import TINY, Array
from skmtl.targets.base import Labels
from skmtl.targets.scaling import Scaling, TaskStats

Index = NDArray[np.intp]


class _InMemory:
    """What labels in memory do alike, whatever their layout."""

    in_blocks = False
    long = False

    def stats(self) -> TaskStats:
        return self._stats

    @cached_property
    def _stats(self: Any) -> TaskStats:
        # Every score of every candidate asks for them.
        return TaskStats.from_labels(self)

    def scaled(self: Any, scaling: Scaling) -> Any:
        return self.with_labels(scaling.apply(self), self.weight)

    def reweighted(self: Any, factor: Array) -> Any:
        return self.with_labels(self.y, self.weight * self.spread(factor))

    @property
    def tasks(self) -> Index:
        raise AttributeError("rows of a table have labels of several tasks.")

    def means(self: Any, U: Array) -> Array:
        total = self.sums(self.weight)
        return np.divide(self.sums(self.weight * U), total, out=np.full(self.n_tasks, np.nan), where=total > 0.0)


class TableLabels(_InMemory):
    """One row of labels per row of X, of shape (n_rows, n_tasks)."""

    def __init__(self, y: Array, weight: Array) -> None:
        self.y, self.weight = np.where(weight > 0.0, y, 0.0), weight
        self.n_tasks = y.shape[1]

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight)

    def take(self, rows: Index) -> Self:
        return type(self)(self.y[rows], self.weight[rows])

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def part(self, tasks: Index) -> tuple["TableLabels", Index]:
        rows = np.flatnonzero((self.weight[:, tasks] > 0.0).any(axis=1))
        return TableLabels(self.y[np.ix_(rows, tasks)], self.weight[np.ix_(rows, tasks)]), rows

    def complete(self) -> bool:
        return bool(np.all(self.weight == self.weight[:, :1]))

    def row_weight(self) -> Array:
        return self.weight.mean(axis=1)

    def design_weight(self) -> Array:
        largest, known = self.weight.max(axis=1), self.weight > 0.0
        few_gaps = 2 * np.count_nonzero(known) > known.size
        uniform = few_gaps and bool(np.all(~known | (self.weight == largest[:, None])))
        return np.asarray(largest) if uniform else self.row_weight()

    def arrange(self, rows: Array) -> Array:
        return rows

    def in_rows(self, U: Array) -> Array:
        return U

    def scores(self, Phi: Array, W: Array) -> Array:
        return Phi @ W

    def adjoint(self, Phi: Array, U: Array) -> Array:
        return Phi.T @ U

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        # Tasks first: BLAS is quicker so, for few of them.
        h = np.ascontiguousarray(h.T)
        U = W.T @ Phi.T
        U *= h
        if center:
            U -= h * (U.sum(axis=1) / np.maximum(h.sum(axis=1), np.finfo(h.dtype).tiny))[:, None]
        return np.asarray(U @ Phi).T

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        return np.array([_gram(Phi, column, center=center) for column in h.T])

    def sums(self, U: Array) -> Array:
        return U.sum(axis=-2)

    def maxima(self, U: Array) -> Array:
        return np.max(U, axis=-2, where=self.weight > 0.0, initial=-np.inf)

    def of_task(self, U: Array, t: int) -> Array:
        return U[self.weight[:, t] > 0.0, t]

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        return v[..., None, :]


class TaskOrder:
    """Rows sorted by their task, so that each task is one slice.

    Parameters
    ----------
    tasks : ndarray of int, of shape (n_rows,)
        The task of each row, from 0.
    n_tasks : int
        A task may have no row.
    """

    def __init__(self, tasks: Index, n_tasks: int) -> None:
        self.tasks, self.n_tasks = tasks, n_tasks
        self.order = np.argsort(tasks, kind="stable")
        self.counts = np.bincount(tasks, minlength=n_tasks)
        ends = np.cumsum(self.counts)
        self.starts = ends - self.counts
        self.slices = [slice(start, end) for start, end in zip(self.starts, ends, strict=True)]

    def in_rows(self, U: Array) -> Array:
        """Values in the order of the tasks, back in that of the rows."""
        result = np.empty_like(U)
        result[self.order] = U
        return result

    def scores(self, Phi: Any, W: Array) -> Array:
        """Phi w_t for the rows of each task t; ``Phi``, which may be sparse, is in the order of the tasks."""
        F = np.empty(Phi.shape[0])
        for rows, w in zip(self.slices, np.ascontiguousarray(W.T), strict=True):
            F[rows] = Phi[rows] @ w
        return F

    def reduce(self, ufunc: np.ufunc, U: Array, empty: float) -> Array:
        """``ufunc`` over the values of each task, along the last axis; ``empty`` for a task without rows."""
        result = np.full((*U.shape[:-1], self.n_tasks), empty)
        present = np.flatnonzero(self.counts)
        if len(present):
            # reduceat takes an empty slice for one element, so that empty tasks are left out.
            result[..., present] = ufunc.reduceat(U, self.starts[present], axis=-1)
        return result


class LongLabels(_InMemory):
    """One label per row of X; entries are kept task by task, so that memory is what the labels need.

    Parameters
    ----------
    y, weight : ndarray of shape (n_rows,)
        In the order of the tasks.
    order : TaskOrder
        Of the rows of X.
    """

    long = True

    def __init__(self, y: Array, weight: Array, order: TaskOrder) -> None:
        self.y, self.weight, self.order, self.n_tasks = y, weight, order, order.n_tasks

    @classmethod
    def from_rows(cls, y: Array, weight: Array, tasks: Index, n_tasks: int) -> Self:
        """Labels and weights in the order of the rows of X."""
        order = TaskOrder(tasks, n_tasks)
        return cls(np.where(weight > 0.0, y, 0.0)[order.order], weight[order.order], order)

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight, self.order)

    def part(self, tasks: Index) -> tuple["LongLabels", Index]:
        slices = self.order.slices
        rows = np.concatenate([np.arange(slices[t].start, slices[t].stop) for t in tasks])
        own = np.repeat(np.arange(len(tasks)), self.order.counts[tasks])
        return LongLabels(self.y[rows], self.weight[rows], TaskOrder(own, len(tasks))), rows

    def take(self, rows: Index) -> Self:
        y, weight = self.in_rows(self.y)[rows], self.in_rows(self.weight)[rows]
        return type(self).from_rows(y, weight, self.order.tasks[rows], self.n_tasks)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def tasks(self) -> Index:
        return self.order.tasks

    def complete(self) -> bool:
        return self.n_tasks == 1

    def row_weight(self) -> Array:
        return self.in_rows(self.weight) / self.n_tasks

    def design_weight(self) -> Array:
        return self.row_weight()

    def arrange(self, rows: Array) -> Array:
        return rows[self.order.order]

    def in_rows(self, U: Array) -> Array:
        return self.order.in_rows(U)

    def scores(self, Phi: Array, W: Array) -> Array:
        return self.order.scores(Phi, W)

    def adjoint(self, Phi: Array, U: Array) -> Array:
        result = np.empty((self.n_tasks, Phi.shape[1]))
        for t, rows in enumerate(self.order.slices):
            np.dot(U[rows], Phi[rows], out=result[t])
        return result.T

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        result = np.empty((self.n_tasks, Phi.shape[1]), dtype=Phi.dtype)
        # Both products of a task while its rows are in the cache.
        for t, (rows, w) in enumerate(zip(self.order.slices, np.ascontiguousarray(W.T), strict=True)):
            block, weight = Phi[rows], h[rows]
            u = weight * (block @ w)
            if center:
                u -= weight * (u.sum() / np.maximum(weight.sum(), np.finfo(h.dtype).tiny))
            np.dot(u, block, out=result[t])
        return result.T

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        return np.array([_gram(Phi[rows], h[rows], center=center) for rows in self.order.slices])

    def sums(self, U: Array) -> Array:
        return self.order.reduce(np.add, U, 0.0)

    def maxima(self, U: Array) -> Array:
        return self.order.reduce(np.maximum, np.where(self.weight > 0.0, U, -np.inf), -np.inf)

    def of_task(self, U: Array, t: int) -> Array:
        rows = self.order.slices[t]
        return U[rows][self.weight[rows] > 0.0]

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(v, self.order.counts, axis=-1)


def _gram(Phi: Array, h: Array, *, center: bool) -> Array:
    """Phi' diag(h) Phi, of rows centered by their mean weighted by h."""
    if center:
        Phi = Phi - (h @ Phi) / np.maximum(h.sum(), TINY)
    return (Phi * h[:, None]).T @ Phi


def make_labels(Y: Array, weight: Array) -> Labels:
    """Labels from a table of shape (n_rows, n_tasks) with weight zero at its gaps."""
    given = weight > 0.0
    if Y.shape[1] > 1 and np.all(np.count_nonzero(given, axis=1) <= 1):
        # Every row speaks of one task: the same labels in long format cost less.
        tasks = given.argmax(axis=1)
        rows = np.arange(len(Y))
        return LongLabels.from_rows(Y[rows, tasks], weight[rows, tasks], tasks, Y.shape[1])
    return TableLabels(Y, weight)
