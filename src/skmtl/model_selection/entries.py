"""The labels of a table or of a column, row by row, so that they can be split into folds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.targets import Grouped, Labels, Table


@dataclass(frozen=True)
class Entries:
    """Labels in the order of the rows, weight zero where there is none.

    Attributes
    ----------
    y, weight : ndarray of shape (n_rows, n_tasks), or (n_rows,) in long format
    tasks : ndarray of int, of shape (n_rows,), or None
        Long format: the task of each row.
    n_tasks : int
    """

    y: Array
    weight: Array
    tasks: NDArray[np.intp] | None
    n_tasks: int

    @classmethod
    def from_labels(cls, labels: Labels) -> "Entries":
        """The entries of labels, whatever their layout."""
        if labels.y.ndim == 2:
            return cls(labels.y, labels.weight, None, labels.n_tasks)
        grouped: Any = labels
        tasks = grouped.in_rows(labels.spread(np.arange(labels.n_tasks)))
        return cls(grouped.in_rows(labels.y), grouped.in_rows(labels.weight), tasks, labels.n_tasks)

    @property
    def long(self) -> bool:
        return self.tasks is not None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.intp]) -> "Entries":
        """Some of the rows."""
        return replace(
            self, y=self.y[rows], weight=self.weight[rows], tasks=None if self.tasks is None else self.tasks[rows]
        )

    def to_labels(self) -> Labels:
        """The same labels as the solvers want them; in long format every task must have a row."""
        if self.tasks is None:
            return Table(self.y, self.weight)
        return Grouped.from_rows(self.y, self.weight, self.tasks, self.n_tasks)

    def sums(self, U: Array) -> Array:
        """The sum over each task of values given per entry, of shape (n_tasks,)."""
        if self.tasks is None:
            return U.sum(axis=0)
        return np.asarray(np.bincount(self.tasks, weights=U, minlength=self.n_tasks), dtype=float)

    def spread(self, v: Array) -> Array:
        """A value per task as something to combine with entries."""
        return v if self.tasks is None else v[self.tasks]

    def of_task(self, U: Array, t: int) -> Array:
        """Values of the entries of one task that have a label."""
        if self.tasks is None:
            return U[self.weight[:, t] > 0.0, t]
        return U[(self.tasks == t) & (self.weight > 0.0)]

    def means(self, U: Array) -> Array:
        """The weighted mean over each task; NaN where a task has no label."""
        total = self.sums(self.weight)
        return np.divide(self.sums(self.weight * U), total, out=np.full(self.n_tasks, np.nan), where=total > 0.0)

    def variances(self) -> Array:
        """The weighted variance of the labels of each task, exactly zero for a constant; NaN without a label."""
        deviation = self.y - self.spread(np.nan_to_num(self.means(self.y)))
        noise = (1e-14 * np.abs(self.y)) ** 2
        variance = self.means(deviation**2)
        return np.where(variance <= self.means(noise), 0.0 * variance, variance)
