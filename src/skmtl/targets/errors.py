"""Squared errors of predictions, in sums that can be merged over blocks of rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.targets.base import Labels
from skmtl.targets.scaling import TaskStats


@dataclass(frozen=True)
class ErrorSums:
    """Statistics of the labels, weighted sums of squared errors and numbers of labels, each of shape (n_tasks,)."""

    stats: TaskStats
    squares: Array
    counts: NDArray[np.intp]

    @classmethod
    def from_labels(cls, labels: Labels, F: Array) -> "ErrorSums":
        """The errors of predictions F, laid out like the labels; what F is at gaps does not matter."""
        known = labels.weight > 0.0
        errors = np.where(known, labels.y - F, 0.0)
        counts = labels.sums(known.astype(float)).astype(np.intp)
        return cls(labels.stats(), labels.sums(labels.weight * errors**2), counts)

    def merge(self, other: "ErrorSums") -> "ErrorSums":
        """The sums over both sets of rows."""
        return ErrorSums(self.stats.merge(other.stats), self.squares + other.squares, self.counts + other.counts)

    def nmse(self, variance: Array | None = None) -> Array:
        """Mean squared error over ``variance``, by default that of the labels themselves; NaN without a label.

        Of a constant nothing can be explained: 0 where it is predicted exactly, else 1.
        """
        error = np.divide(
            self.squares, self.stats.total, out=np.full(len(self.squares), np.nan), where=self.stats.total > 0.0
        )
        variance = self.stats.spread**2 if variance is None else variance
        constant = np.where(error > 0.0, 1.0, 0.0) + 0.0 * error
        return np.divide(error, variance, out=constant, where=variance > 0.0)

    def r2(self) -> Array:
        """R squared of each task, as scikit-learn has it; NaN for a task with fewer than two labels."""
        return np.where(self.counts > 1, 1.0 - self.nmse(), np.nan)
