"""Statistics of labels: centering and scaling, so that one alpha and one eps serve all tasks; sums of errors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import TINY, Array
from skmtl._parameters import LARGEST, SMALLEST
from skmtl.targets.base import Labels

# A task that varies by no more than this, relative to its size, is constant.
ROUNDING = 16.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class TaskStats:
    """What standardizing needs to know of the labels of each task; arrays of shape (n_tasks,).

    ``total`` are sums of weights, ``spread`` is the root mean square of the deviations from ``mean``, and a task
    without labels has ``lowest`` infinite.
    """

    total: Array
    lowest: Array
    highest: Array
    mean: Array
    spread: Array

    @classmethod
    def from_labels(cls, labels: Labels) -> "TaskStats":
        highest, lowest = labels.maxima(labels.y), -labels.maxima(-labels.y)
        total = labels.sums(labels.weight)
        # In units of the largest label nothing overflows.
        unit = _unit(lowest, highest)
        y = labels.y / labels.spread(unit)
        mean = labels.sums(labels.weight * y) / np.maximum(total, TINY)
        # A constant is its own mean, without rounding.
        constant = highest / unit - lowest / unit <= ROUNDING
        mean = np.where(constant & (total > 0.0), highest / unit, mean)
        squares = labels.sums(labels.weight * (y - labels.spread(mean)) ** 2)
        spread = np.where(constant, 0.0, np.sqrt(squares / np.maximum(total, TINY)))
        return cls(total, lowest, highest, mean * unit, spread * unit)

    def merge(self, other: "TaskStats") -> "TaskStats":
        """The statistics of both sets of labels."""
        total = self.total + other.total
        one, two = self.total / np.maximum(total, TINY), other.total / np.maximum(total, TINY)
        # Roots throughout, so that squares of large labels do not overflow.
        within = np.hypot(np.sqrt(one) * self.spread, np.sqrt(two) * other.spread)
        between = np.sqrt(one * two) * np.abs(self.mean - other.mean)
        return TaskStats(
            total,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            one * self.mean + two * other.mean,
            np.hypot(within, between),
        )

    def scaling(self, *, center: bool, scale: bool) -> "Scaling":
        """Subtract the weighted mean of each task, and divide by the root mean square of what is left."""
        unit = _unit(self.lowest, self.highest)
        largest = np.abs(np.where(self.total > 0.0, unit, 0.0)).max()
        if not scale and (largest > LARGEST or 0.0 < largest < SMALLEST):
            raise ValueError(
                f"the targets reach {largest:.3g}, beyond what squares in double precision can hold; "
                "set scale_targets=True or change their unit."
            )
        constant = (self.highest / unit - self.lowest / unit <= ROUNDING) & center
        mean = np.where(constant & (self.total > 0.0), self.highest, self.mean) if center else np.zeros_like(unit)
        spread = np.where(constant, 0.0, self.spread if center else np.hypot(self.spread, self.mean))
        factor = np.where(spread > 0.0, spread, unit) if scale else np.ones_like(unit)
        return Scaling(mean, factor, unit, constant)


@dataclass(frozen=True)
class Scaling:
    """y becomes ``(y - mean) / scale``, computed in ``unit``, and zero where a task is ``constant``; all (n_tasks,).

    Nobody else knows the way back.
    """

    mean: Array
    scale: Array
    unit: Array
    constant: NDArray[np.bool_]

    def apply(self, labels: Labels) -> Array:
        """The labels scaled, laid out like ``labels.y``."""
        return np.where(labels.spread(self.constant), 0.0, self.scaled(labels, labels.y))

    def scaled(self, labels: Labels, F: Array) -> Array:
        """Scores in the unit of the labels, laid out like them, for scaled labels; those of a constant may vary."""
        shifted = F / labels.spread(self.unit) - labels.spread(self.mean / self.unit)
        return np.asarray(shifted / labels.spread(self.scale / self.unit))

    def restore(self, labels: Labels, F: Array) -> Array:
        """Scores of scaled labels, laid out like ``labels.y``, in the unit of the labels; undoes ``scaled``."""
        return np.asarray(F * labels.spread(self.scale) + labels.spread(self.mean))

    def undo(self, coef: Array, constant: Array) -> tuple[Array, Array]:
        """The same of predictors: coefficients, (D, n_tasks), and constants, (n_tasks,)."""
        return coef * self.scale, self.mean + self.scale * constant


def _unit(lowest: Array, highest: Array) -> Array:
    """The size of the largest label of each task; 1 where there is none."""
    size = np.maximum(np.abs(lowest), np.abs(highest))
    return np.where(np.isfinite(size) & (size > 0.0), size, 1.0)


def standardize(labels: Labels, *, center: bool, scale: bool) -> tuple[Labels, Scaling]:
    """Subtract the weighted mean of each task, and divide by the root mean square of what is left."""
    scaling = labels.stats().scaling(center=center, scale=scale)
    return labels.scaled(scaling), scaling


def balance(labels: Labels) -> Labels:
    """Give every task the same total weight."""
    totals = labels.stats().total
    return labels.reweighted(np.divide(totals.mean(), totals, out=np.zeros_like(totals), where=totals > 0.0))


@dataclass(frozen=True)
class ErrorSums:
    """Statistics of the labels, weighted sums of squared errors and numbers of labels, each of shape (n_tasks,).

    The sums of several predictions may stand in one array, with tasks along its last axis. They are in squares of a
    ``unit``, in which those of huge or tiny labels and errors are numbers; a power of two, which costs no digits.
    """

    stats: TaskStats
    unit: Array
    squares: Array
    counts: NDArray[np.intp]

    @classmethod
    def from_labels(cls, labels: Labels, F: Array) -> "ErrorSums":
        """The errors of predictions F, laid out like the labels; what F is at gaps does not matter."""
        known = labels.weight > 0.0
        errors = np.where(known, labels.y - F, 0.0)
        # Where all is zero, or no label known, it is the least, so that other rows have the say.
        largest = np.maximum(labels.maxima(np.maximum(np.abs(labels.y), np.abs(errors))), TINY)
        unit = np.ldexp(1.0, np.frexp(largest)[1] - 1)
        errors = errors / labels.spread(unit)
        counts = labels.sums(known.astype(float)).astype(np.intp)
        return cls(labels.stats(), unit, labels.sums(labels.weight * errors**2), counts)

    @property
    def roots(self) -> Array:
        """Roots of the sums, in the unit of the labels."""
        return self.unit * np.sqrt(self.squares)

    def merge(self, other: "ErrorSums") -> "ErrorSums":
        """The sums over both sets of rows."""
        unit = np.maximum(self.unit, other.unit)
        squares = self.squares * (self.unit / unit) ** 2 + other.squares * (other.unit / unit) ** 2
        return ErrorSums(self.stats.merge(other.stats), unit, squares, self.counts + other.counts)

    def nmse(self, spread: Array | None = None) -> Array:
        """Mean squared error over the square of ``spread``, by default that of the labels; NaN without a label.

        Of a constant nothing can be explained: 0 where it is predicted exactly, else 1.
        """
        total, known = self.stats.total, self.stats.total > 0.0
        error = np.divide(self.squares, total, out=np.full(self.squares.shape, np.nan), where=known)
        spread = np.where(known, self.stats.spread if spread is None else spread, 0.0)
        constant = np.where(np.isnan(error), np.nan, error > 0.0)
        varies = spread > 0.0
        # A spread counts as no smaller than squares of the result can hold.
        ratio = self.unit / np.where(varies, np.maximum(spread, SMALLEST * self.unit), self.unit)
        return np.where(varies, error * ratio**2, constant)

    def r2(self) -> Array:
        """R squared of each task, as scikit-learn has it; NaN for a task with fewer than two labels."""
        return np.where(self.counts > 1, 1.0 - self.nmse(), np.nan)
