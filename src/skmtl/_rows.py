"""Rows of a table, taken a block at a time, so that what is made of them never exists all at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skmtl._numbers import check_finite, check_size, float_array

# Numbers in double precision that a block of rows may become: 64 MB.
BLOCK_ENTRIES = 2**23
# Tables whose features are more numbers than this are not handled at once.
LARGE = 2**25

S = TypeVar("S")


class Rows(Protocol):
    """The rows of X with columns that go with them, such as labels and weights."""

    shape: tuple[int, int]

    def columns_only(self) -> "Rows":
        """The same rows whose blocks have None for X, where nobody needs to read it."""

    def take(self, indices: NDArray[np.intp]) -> Any:
        """Some rows of X, in memory and in double precision; indices ascend."""

    def some(self, indices: NDArray[np.intp]) -> "Rows":
        """Some of the rows, with their columns; indices ascend."""

    def reduce(self, leaf: Callable[..., S], merge: Callable[[S, S], S], *, width: int) -> S:
        """``leaf(start, X, **columns)`` of every block, merged; ``width`` numbers are made of each row.

        ``start`` is the position of the block's first row.
        """

    def map(self, function: Callable[..., NDArray[Any]], *, width: int) -> Any:
        """``function(X, **columns)`` of every block, an entry or a row of its result for each row, in their order."""


class MemoryRows:
    """Rows of an array in memory or of a memory map, dense or sparse.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Of any type of numbers. Blocks are float64, and are checked to be finite when they are taken.
    columns : mapping of str to ndarray
        Arrays with an entry or a row for every row of X.
    start : int
        The position of the first row in a larger table.
    names : sequence of str, optional
        Names of the features, for messages.
    shape : tuple of int, optional
        Where X is None, because nobody needs to read it.
    """

    def __init__(
        self,
        X: Any,
        columns: Mapping[str, Any] | None = None,
        *,
        start: int = 0,
        names: Sequence[str] | None = None,
        shape: tuple[int, int] | None = None,
    ) -> None:
        self._X, self._columns, self._start, self._names = X, dict(columns or {}), start, names
        self.shape: tuple[int, int] = X.shape if shape is None else shape

    def columns_only(self) -> "MemoryRows":
        return MemoryRows(None, self._columns, start=self._start, shape=self.shape)

    def take(self, indices: NDArray[np.intp]) -> Any:
        return self._check(self._X[indices])[0]

    def some(self, indices: NDArray[np.intp]) -> "MemoryRows":
        columns = {name: column[indices] for name, column in self._columns.items()}
        return MemoryRows(self._X[indices], columns, names=self._names)

    def reduce(self, leaf: Callable[..., S], merge: Callable[[S, S], S], *, width: int) -> S:
        total, size = self.reduce_sized(leaf, merge, width=width)
        check_size(size)
        return total

    def reduce_sized(self, leaf: Callable[..., S], merge: Callable[[S, S], S], *, width: int) -> tuple[S, float]:
        """The same, and how large X is: of a larger table, these rows may be tiny."""
        parts = ((leaf(self._start + rows.start, X, **columns), size) for rows, X, columns, size in self._blocks(width))
        return reduce(partial(merge_sized, merge), parts)

    def map(self, function: Callable[..., NDArray[Any]], *, width: int) -> NDArray[Any]:
        result: NDArray[Any] | None = None
        for rows, X, columns, _ in self._blocks(width):
            part = function(X, **columns)
            if len(part) == self.shape[0]:
                return part
            if result is None:
                result = np.empty((self.shape[0], *part.shape[1:]), dtype=part.dtype)
            result[rows] = part
        assert result is not None
        return result

    def _blocks(self, width: int) -> Iterator[tuple[slice, Any, dict[str, Any], float]]:
        n = self.shape[0]
        step = max(BLOCK_ENTRIES // max(width, 1), 64)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            X, size = (None, 0.0) if self._X is None else self._check(self._X[rows])
            yield rows, X, {name: column[rows] for name, column in self._columns.items()}, size

    def _check(self, X: Any) -> tuple[Any, float]:
        """A block in double precision, refused where it is not finite, and how large it is."""
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=np.float64)
            return X, check_finite(X.data, X.indices, self._names)
        X = float_array("X", X)
        return X, check_finite(X, None, self._names)


def merge_sized(merge: Callable[[S, S], S], one: tuple[S, float], other: tuple[S, float]) -> tuple[S, float]:
    """What is known of the rows of both, and how large they are."""
    return merge(one[0], other[0]), max(one[1], other[1])


def as_rows(X: Any) -> Rows:
    """Rows as they are, or those of an array."""
    return MemoryRows(X) if isinstance(X, np.ndarray) or sparse.issparse(X) else X
