"""Labels: a table with gaps or one label per row, centred and scaled so that one alpha and one eps serve all tasks."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array

# Sums of squares of numbers beyond these lose their meaning in double precision.
LARGEST, SMALLEST = 1e75, 1e-75
# A task that varies by no more than this, relative to its size, is constant.
ROUNDING = 16.0 * float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


class Labels(Protocol):
    """Labels y with weights, zero where a label is missing. Arrays of entries have the layout of ``y``.

    ``Phi`` stands for features of the rows as ``arrange`` returns them, and W of shape (r, T) for predictors.
    """

    y: Array
    weight: Array
    n_tasks: int

    def with_labels(self, y: Array, weight: Array) -> Self:
        """Other labels and weights in the same layout."""

    def complete(self) -> bool:
        """Whether every row has a label for every task, with one weight."""

    def row_weight(self) -> Array:
        """The share of each row in the total weight, which is n, of shape (n_rows,)."""

    def arrange(self, rows: Array) -> Array:
        """Rows, of shape (n_rows, r), in the order that ``scores`` and ``adjoint`` expect."""

    def scores(self, Phi: Array, W: Array) -> Array:
        """Phi W at the entries."""

    def adjoint(self, Phi: Array, U: Array) -> Array:
        """Phi' U, of shape (r, T)."""

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        """Phi' H Phi W, H = diag(h), of shape (r, T); with ``center`` after subtracting means weighted by h."""

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        """The matrices that ``normal`` applies to each task, of shape (T, r, r)."""

    def sums(self, U: Array) -> Array:
        """The sum of the entries of each task, of shape (T,)."""

    def maxima(self, U: Array) -> Array:
        """The largest entry of each task among those with a label, of shape (T,)."""

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        """A value per task, of shape (T,), as something to combine with entries."""


class Table:
    """One row of labels per row of X, of shape (n_rows, n_tasks)."""

    def __init__(self, y: Array, weight: Array) -> None:
        self.y, self.weight = np.where(weight > 0.0, y, 0.0), weight
        self.n_tasks = y.shape[1]

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight)

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
            U -= h * (U.sum(axis=0) / _positive(h.sum(axis=0)))
        return Phi.T @ U

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        return np.array([_gram(Phi, column, center=center) for column in h.T])

    def sums(self, U: Array) -> Array:
        return U.sum(axis=0)

    def maxima(self, U: Array) -> Array:
        return np.max(U, axis=0, where=self.weight > 0.0, initial=-np.inf)

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        return v[None, :]


class Grouped:
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
        return cls(y[order], weight[order], tasks, n_tasks)

    def in_rows(self, U: Array) -> Array:
        """Entries back in the order of the rows of X."""
        result = np.empty_like(U)
        result[self._order] = U
        return result

    def with_labels(self, y: Array, weight: Array) -> Self:
        return type(self)(y, weight, self._tasks, self.n_tasks)

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
                u -= weight * (u.sum() / _positive(weight.sum()))
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


def _positive(total: Any) -> Any:
    """A total of weights by which one may divide."""
    return np.maximum(total, TINY)


def _gram(Phi: Array, h: Array, *, center: bool) -> Array:
    """Phi' diag(h) Phi, of rows centred by their mean weighted by h."""
    if center:
        Phi = Phi - (h @ Phi) / _positive(h.sum())
    return (Phi * h[:, None]).T @ Phi


@dataclass(frozen=True)
class Standardized:
    """Labels ``(y - mean) / scale``, with mean and scale of shape (n_tasks,)."""

    labels: Labels
    mean: Array
    scale: Array


def standardize(labels: Labels, *, center: bool, scale: bool) -> Standardized:
    """Subtract the weighted mean of each task, and divide by the root mean square of what is left."""
    size = np.maximum(labels.maxima(np.abs(labels.y)), 0.0)
    if not scale and (size.max() > LARGEST or 0.0 < size.max() < SMALLEST):
        raise ValueError(
            f"the targets reach {size.max():.3g}, beyond what squares in double precision can hold; "
            "set scale_targets=True or change their unit."
        )
    # In units of the largest label nothing overflows.
    unit = np.where(size > 0.0, size, 1.0)
    y = labels.y / labels.spread(unit)
    total = _positive(labels.sums(labels.weight))
    mean = np.zeros(labels.n_tasks)
    if center:
        highest, lowest = labels.maxima(y), -labels.maxima(-y)
        # A constant is its own mean, without rounding.
        constant = highest - lowest <= ROUNDING
        mean = np.where(constant, np.where(np.isfinite(highest), highest, 0.0), labels.sums(labels.weight * y) / total)
        y = np.where(labels.spread(constant), 0.0, y - labels.spread(mean))
    spread = np.sqrt(labels.sums(labels.weight * y**2) / total)
    factor = np.where(spread > 0.0, spread, 1.0) if scale else 1.0 / unit
    return Standardized(labels.with_labels(y / labels.spread(factor), labels.weight), mean * unit, factor * unit)


def balance(labels: Labels) -> Labels:
    """Give every task the same total weight."""
    totals = labels.sums(labels.weight)
    factor = np.divide(totals.mean(), totals, out=np.zeros_like(totals), where=totals > 0.0)
    return labels.with_labels(labels.y, labels.weight * labels.spread(factor))


def make_labels(Y: Array, weight: Array) -> Labels:
    """Labels from a table of shape (n_rows, n_tasks) with weight zero at its gaps."""
    given = weight > 0.0
    if Y.shape[1] > 1 and np.all(np.count_nonzero(given, axis=1) <= 1):
        # Every row speaks of one task: the same labels in long format cost less.
        tasks = given.argmax(axis=1)
        rows = np.arange(len(Y))
        return Grouped.from_rows(Y[rows, tasks], weight[rows, tasks], tasks, Y.shape[1])
    return Table(Y, weight)
