"""Scores of predictions for tables that are read a block at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.targets import LabelReader
from skmtl.targets.scaling import TaskStats


@dataclass(frozen=True)
class ErrorSums:
    """Statistics of the targets, weighted squared errors and numbers of labels, each of shape (n_tasks,)."""

    stats: TaskStats
    squares: Array
    counts: NDArray[np.intp]

    def merge(self, other: "ErrorSums") -> "ErrorSums":
        return ErrorSums(self.stats.merge(other.stats), self.squares + other.squares, self.counts + other.counts)

    def r2(self) -> float:
        """R squared, averaged over tasks with more than one label; a constant that is hit exactly scores 1."""
        total = self.stats.total * self.stats.spread**2
        ratio = np.divide(self.squares, total, out=(self.squares > 0.0).astype(float), where=total > 0.0)
        scores = 1.0 - ratio[self.counts > 1]
        return float(np.mean(scores)) if len(scores) else float("nan")


@dataclass(frozen=True)
class Errors:
    """The errors of predictions on a block of rows."""

    predict: Callable[..., Array]
    reader: LabelReader

    def __call__(self, start: int, X: Any, *, tasks: Any = None, **columns: Any) -> ErrorSums:
        labels = self.reader(**columns)
        F = self.predict(X) if tasks is None else self.predict(X, tasks)
        squares = np.sum(labels.weight * (labels.y - F) ** 2, axis=0)
        return ErrorSums(labels.stats(), squares, np.count_nonzero(labels.weight, axis=0))


@dataclass(frozen=True)
class Hits:
    """The weight of rows whose known labels are all right, and of all rows, of a block."""

    predict: Callable[..., NDArray[Any]]

    def __call__(self, start: int, X: Any, *, y: Any, weight: Any = None, tasks: Any = None) -> Array:
        prediction = self.predict(X) if tasks is None else self.predict(X, tasks)
        right = prediction == y
        if prediction.ndim == 2:
            right = np.all(right | np.isnan(y), axis=1)
        given = np.ones(len(right)) if weight is None else np.asarray(weight, dtype=np.float64)
        return np.array([given @ right, given.sum()])
