"""Labels that stay beside their rows and are read a block at a time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._numbers import float_array
from skmtl._rows import Rows
from skmtl._validation import read_weight
from skmtl.targets.layout import TableLabels
from skmtl.targets.scaling import Scaling, TaskStats

Encode = Callable[[NDArray[Any]], Array]


def as_numbers(y: NDArray[Any]) -> Array:
    """Targets as they are, of shape (b, n_tasks)."""
    return float_array("y", y).reshape(len(y), -1)


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

    def __call__(
        self, y: NDArray[Any], weight: Array | None = None, tasks: NDArray[np.intp] | None = None
    ) -> TableLabels:
        values = self.encode(y)
        given = read_weight(weight, len(values))
        if tasks is not None:
            # One label in each row of a table.
            spread = tasks[:, None] == np.arange(self.n_tasks)
            values, given = np.where(spread, values.reshape(-1, 1), np.nan), np.where(spread, given[:, None], 0.0)
        if np.isinf(values).any():
            raise ValueError(f"y has {int(np.isinf(values).sum())} infinite values (inf); drop them or make them NaN.")
        given = np.where(np.isnan(values), 0.0, given if given.ndim == 2 else given[:, None])
        labels = TableLabels(values, given if self.factor is None else given * self.factor)
        return labels if self.scaling is None else labels.scaled(self.scaling)


@dataclass(frozen=True)
class BlockSummary:
    """What is known of labels once their blocks were read.

    ``complete`` says whether every row has every label with one weight, ``unlabelled`` counts rows without any.
    """

    stats: TaskStats
    complete: bool
    unlabelled: int

    def merge(self, other: "BlockSummary") -> "BlockSummary":
        """The summary of both sets of rows."""
        return BlockSummary(
            self.stats.merge(other.stats), self.complete and other.complete, self.unlabelled + other.unlabelled
        )


@dataclass(frozen=True)
class BlockLabels:
    """Labels of rows that are taken a block at a time: square loss needs no more of them than sums.

    Attributes
    ----------
    rows : Rows
        With the columns that the reader reads.
    reader : LabelReader
    summary : BlockSummary
    """

    rows: Rows
    reader: LabelReader
    summary: BlockSummary

    in_blocks = True
    long = False

    @classmethod
    def from_rows(cls, rows: Rows, reader: LabelReader) -> "BlockLabels":
        """Labels whose blocks are read once, to know what they hold."""
        summarize = _SummarizeBlock(reader)
        return cls(rows, reader, rows.columns_only().reduce(summarize, BlockSummary.merge, width=8 * reader.n_tasks))

    @property
    def n_tasks(self) -> int:
        return self.reader.n_tasks

    def drawn(self, most: int) -> "BlockLabels":
        """Labels of as many of the rows, drawn at random, always the same; of all, where there are no more."""
        n_rows = self.rows.shape[0]
        if n_rows <= most:
            return self
        # At random, for every k-th row may be the same hour of every day.
        chosen = np.random.default_rng(0).choice(n_rows, most, replace=False)
        return BlockLabels.from_rows(self.rows.some(np.sort(chosen)), self.reader)

    def stats(self) -> TaskStats:
        return self.summary.stats

    def complete(self) -> bool:
        return self.summary.complete

    def scaled(self, scaling: Scaling) -> "BlockLabels":
        # The summary keeps the units of the labels as they came: nobody asks for it again after scaling.
        return replace(self, reader=replace(self.reader, scaling=scaling))

    def reweighted(self, factor: Array) -> "BlockLabels":
        stats = replace(self.stats(), total=self.stats().total * factor)
        complete = self.complete() and bool(np.all(factor == factor[0]))
        summary = replace(self.summary, stats=stats, complete=complete)
        return replace(self, reader=replace(self.reader, factor=factor), summary=summary)


@dataclass(frozen=True)
class _SummarizeBlock:
    """The summary of one block."""

    reader: LabelReader

    def __call__(self, start: int, X: Any, **columns: Any) -> BlockSummary:
        labels = self.reader(**columns)
        unlabelled = int(np.count_nonzero(~(labels.weight > 0.0).any(axis=1)))
        return BlockSummary(labels.stats(), labels.complete(), unlabelled)
