"""Labels that stay beside their rows and are read a block at a time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._rows import Rows
from skmtl.targets.layout import Table
from skmtl.targets.scaling import Scaling, TaskStats

Encode = Callable[[NDArray[Any]], Array]


def numbers(y: NDArray[Any]) -> Array:
    """Targets as they are, of shape (b, n_tasks)."""
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)


@dataclass(frozen=True)
class LabelReader:
    """Reads a block of the columns ``y``, ``weight`` and ``tasks`` as labels.

    Attributes
    ----------
    n_tasks : int
    encode : callable
        Turns a block of y, of any type, into numbers of shape (b, n_tasks), NaN at gaps; (b,) with ``tasks``.
    scaling : Scaling, optional
    factor : ndarray of shape (n_tasks,), optional
        By which the weights of each task are multiplied.
    """

    n_tasks: int
    encode: Encode
    scaling: Scaling | None = None
    factor: Array | None = None

    def __call__(self, y: NDArray[Any], weight: Array | None = None, tasks: NDArray[np.intp] | None = None) -> Table:
        values = self.encode(y)
        given = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
        if tasks is not None:
            # One label in each row of a table.
            spread = tasks[:, None] == np.arange(self.n_tasks)
            values, given = np.where(spread, values.reshape(-1, 1), np.nan), np.where(spread, given[:, None], 0.0)
        if np.isinf(values).any():
            raise ValueError(f"y has {int(np.isinf(values).sum())} infinite values (inf); drop them or make them NaN.")
        if given.size and not given.min() >= 0.0:
            raise ValueError(f"sample_weight has a negative or missing entry, {given.min():.3g}; weights must be >= 0.")
        given = np.where(np.isnan(values), 0.0, given if given.ndim == 2 else given[:, None])
        labels = Table(values, given if self.factor is None else given * self.factor)
        return labels if self.scaling is None else labels.scaled(self.scaling)


class _Seen(NamedTuple):
    """Statistics of the tasks, whether every row has every label with one weight, and rows without any."""

    tasks: TaskStats
    complete: bool
    unlabelled: int

    def merge(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.tasks.merge(other.tasks), self.complete and other.complete, self.unlabelled + other.unlabelled
        )


@dataclass(frozen=True)
class BlockLabels:
    """Labels of rows that are taken a block at a time: square loss needs no more of them than sums.

    Attributes
    ----------
    rows : Rows
        With the columns that the reader reads.
    reader : LabelReader
    """

    rows: Rows
    reader: LabelReader

    in_blocks = True

    @property
    def n_tasks(self) -> int:
        return self.reader.n_tasks

    @cached_property
    def _seen(self) -> _Seen:
        leaf = _Look(self.reader)
        return self.rows.columns_only().reduce(leaf, _Seen.merge, width=8 * self.n_tasks)

    def stats(self) -> TaskStats:
        return self._seen.tasks

    def complete(self) -> bool:
        return self._seen.complete

    @property
    def unlabelled(self) -> int:
        """The number of rows without a label."""
        return self._seen.unlabelled

    def scaled(self, scaling: Scaling) -> "BlockLabels":
        return self._with(replace(self.reader, scaling=scaling), self._seen)

    def reweighted(self, factor: Array) -> "BlockLabels":
        tasks = replace(self.stats(), total=self.stats().total * factor)
        complete = self.complete() and bool(np.all(factor == factor[0]))
        return self._with(replace(self.reader, factor=factor), self._seen._replace(tasks=tasks, complete=complete))

    def _with(self, reader: LabelReader, seen: _Seen) -> "BlockLabels":
        """Other labels of the same rows, of which all is known that has to be looked for."""
        labels = replace(self, reader=reader)
        labels.__dict__["_seen"] = seen
        return labels


@dataclass(frozen=True)
class _Look:
    """Statistics of a block."""

    reader: LabelReader

    def __call__(self, start: int, X: Any, **columns: Any) -> _Seen:
        labels = self.reader(**columns)
        unlabelled = int(np.count_nonzero(~(labels.weight > 0.0).any(axis=1)))
        return _Seen(labels.stats(), labels.complete(), unlabelled)
