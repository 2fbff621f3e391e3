"""What square loss needs of rows and labels that are read a block at a time, and not kept."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.solvers.cost import gram_product
from skmtl.solvers.entries import CompletedRows, Entries
from skmtl.solvers.observed import TaskBasis, decompose, times_grams


@dataclass(frozen=True)
class ObservedMoments:
    """An :class:`~skmtl.solvers.observed.Observed` from sums over the rows.

    ``stacked`` are the G_t, or empty where they would be too large: then ``read``, which is ``curve``, passes over the
    rows once more.
    """

    n: float
    n_labels: int
    values: Array
    shares: Array
    cross: Array
    squares: Array
    target_mean: Array
    shift: Array
    stacked: Array
    read: Callable[[Array], Array]

    has_entries, n_missing = False, None

    @property
    def has_grams(self) -> bool:
        return len(self.stacked) > 0

    @property
    def n_rows(self) -> int:
        return self.n_labels

    @property
    def product_cost(self) -> float:
        # A pass over all rows is dearer than anything else, but there is nothing else then.
        return gram_product(*self.cross.shape) if len(self.stacked) else 1.0

    def curve(self, W: Array) -> Array:
        return times_grams(self.stacked, W) if len(self.stacked) else self.read(W)

    def curve_roughly(self, W: Array) -> Array:
        return self.curve(W)

    def grams(self) -> Array:
        return self.stacked

    @property
    def by_grams(self) -> bool:
        return len(self.stacked) > 0

    @cached_property
    def _gram_bases(self) -> tuple[Array, Array]:
        return decompose(self.stacked)

    def gram_bases(self) -> tuple[Array, Array]:
        return self._gram_bases

    @cached_property
    def _bases(self) -> list[TaskBasis]:
        return [TaskBasis.from_gram(G, b) for G, b in zip(self.stacked, self.cross.T, strict=True)]

    def bases(self) -> list[TaskBasis]:
        return self._bases

    # Rows have gone by when these could be asked: whoever does so without asking ``has_entries`` or ``n_missing`` first
    # is wrong, and learns it here rather than from empty labels.

    def entries(self) -> Entries:
        raise NotImplementedError("labels that are read in blocks are not kept.")

    def dual_products(self, c: Array) -> Array:
        raise NotImplementedError("labels that are read in blocks are not kept.")

    def completed(self) -> CompletedRows:
        raise NotImplementedError("labels that are read in blocks are not kept.")

    def part(self, tasks: NDArray[np.intp]) -> "ObservedMoments":
        def read(W: Array) -> Array:
            whole = np.zeros_like(self.cross)
            whole[:, tasks] = W
            return self.read(whole)[:, tasks]

        return replace(
            self,
            shares=self.shares[tasks],
            cross=self.cross[:, tasks],
            squares=self.squares[tasks],
            target_mean=self.target_mean[tasks],
            shift=self.shift[:, tasks],
            stacked=self.stacked[tasks] if len(self.stacked) else self.stacked,
            read=read,
        )
