"""Labels in memory: a table with gaps, or one label per row."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.targets.base import Labels, positive
from skmtl.targets.scaling import Scaling, TaskStats


class _InMemory:
    """What labels in memory do alike, whatever their layout."""

    in_blocks = False

    def stats(self: Any) -> TaskStats:
        return TaskStats.from_labels(self)

    def scaled(self: Any, scaling: Scaling) -> Any:
        return self.with_labels(scaling.apply(self), self.weight)

    def reweighted(self: Any, factor: Array) -> Any:
        return self.with_labels(self.y, self.weight * self.spread(factor))


class Table(_InMemory):
    """One row of labels per row of X, of shape (n_rows, n_tasks)."""

    def __init__(self, y: Array, weight: Array) -> None:
        self.y, self.weight = np.where(weight > 0.0, y, 0.0), weight
        self.n_tasks = y.shape[1]

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight)

    def part(self, tasks: NDArray[np.intp]) -> tuple["Table", NDArray[np.intp]]:
        rows = np.flatnonzero((self.weight[:, tasks] > 0.0).any(axis=1))
        return Table(self.y[np.ix_(rows, tasks)], self.weight[np.ix_(rows, tasks)]), rows

    def complete(self) -> bool:
        return bool(np.all(self.weight == self.weight[:, :1]))

    def row_weight(self) -> Array:
        return self.weight.mean(axis=1)

    def arrange(self, rows: Array) -> Array:
        return rows

    def scores(self, Phi: Array, W: Array) -> Array:
        return Phi @ W

    def adjoint(self, Phi: Array, U: Array) -> Array:
        return Phi.T @ U

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        U = h * (Phi @ W)
        if center:
            U -= h * (U.sum(axis=0) / positive(h.sum(axis=0)))
        return Phi.T @ U

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        return np.array([_gram(Phi, column, center=center) for column in h.T])

    def sums(self, U: Array) -> Array:
        return U.sum(axis=0)

    def maxima(self, U: Array) -> Array:
        return np.max(U, axis=0, where=self.weight > 0.0, initial=-np.inf)

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        return v[None, :]


class Grouped(_InMemory):
    """One label per row of X; entries are kept task by task, so memory is what the labels need.

    Parameters
    ----------
    y, weight : ndarray of shape (n_rows,)
        In the order of ``tasks`` sorted by task.
    tasks : ndarray of int, of shape (n_rows,)
        The task of each row of X, from 0; every task has at least one row.
    """

    def __init__(self, y: Array, weight: Array, tasks: NDArray[np.intp], n_tasks: int) -> None:
        self.y, self.weight, self.n_tasks = y, weight, n_tasks
        self._tasks = tasks
        self._order = np.argsort(tasks, kind="stable")
        self._counts = np.bincount(tasks, minlength=n_tasks)
        ends = np.cumsum(self._counts)
        self._starts = ends - self._counts
        self._slices = [slice(start, end) for start, end in zip(self._starts, ends, strict=True)]

    @classmethod
    def from_rows(cls, y: Array, weight: Array, tasks: NDArray[np.intp], n_tasks: int) -> Self:
        """Labels and weights in the order of the rows of X."""
        order = np.argsort(tasks, kind="stable")
        return cls(np.where(weight > 0.0, y, 0.0)[order], weight[order], tasks, n_tasks)

    def in_rows(self, U: Array) -> Array:
        """Entries back in the order of the rows of X."""
        result = np.empty_like(U)
        result[self._order] = U
        return result

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight, self._tasks, self.n_tasks)

    def part(self, tasks: NDArray[np.intp]) -> tuple["Grouped", NDArray[np.intp]]:
        rows = np.concatenate([np.arange(self._slices[t].start, self._slices[t].stop) for t in tasks])
        own = np.repeat(np.arange(len(tasks)), self._counts[tasks])
        return Grouped(self.y[rows], self.weight[rows], own, len(tasks)), rows

    def complete(self) -> bool:
        return self.n_tasks == 1

    def row_weight(self) -> Array:
        return self.in_rows(self.weight) / self.n_tasks

    def arrange(self, rows: Array) -> Array:
        return rows[self._order]

    def scores(self, Phi: Array, W: Array) -> Array:
        F = np.empty(len(Phi))
        for rows, w in zip(self._slices, np.ascontiguousarray(W.T), strict=True):
            np.dot(Phi[rows], w, out=F[rows])
        return F

    def adjoint(self, Phi: Array, U: Array) -> Array:
        result = np.empty((self.n_tasks, Phi.shape[1]))
        for t, rows in enumerate(self._slices):
            np.dot(U[rows], Phi[rows], out=result[t])
        return result.T

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        result = np.empty((self.n_tasks, Phi.shape[1]))
        # Both products of a task while its rows are in the cache.
        for t, (rows, w) in enumerate(zip(self._slices, np.ascontiguousarray(W.T), strict=True)):
            block, weight = Phi[rows], h[rows]
            u = weight * (block @ w)
            if center:
                u -= weight * (u.sum() / positive(weight.sum()))
            np.dot(u, block, out=result[t])
        return result.T

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        return np.array([_gram(Phi[rows], h[rows], center=center) for rows in self._slices])

    def sums(self, U: Array) -> Array:
        return np.add.reduceat(U, self._starts)

    def maxima(self, U: Array) -> Array:
        return np.maximum.reduceat(np.where(self.weight > 0.0, U, -np.inf), self._starts)

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(v, self._counts)


def _gram(Phi: Array, h: Array, *, center: bool) -> Array:
    """Phi' diag(h) Phi, of rows centred by their mean weighted by h."""
    if center:
        Phi = Phi - (h @ Phi) / positive(h.sum())
    return (Phi * h[:, None]).T @ Phi


def make_labels(Y: Array, weight: Array) -> Labels:
    """Labels from a table of shape (n_rows, n_tasks) with weight zero at its gaps."""
    given = weight > 0.0
    if Y.shape[1] > 1 and np.all(np.count_nonzero(given, axis=1) <= 1):
        # Every row speaks of one task: the same labels in long format cost less.
        tasks = given.argmax(axis=1)
        rows = np.arange(len(Y))
        return Grouped.from_rows(Y[rows, tasks], weight[rows, tasks], tasks, Y.shape[1])
    return Table(Y, weight)
