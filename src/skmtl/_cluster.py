"""Rows of Dask collections: the same blocks, taken by whatever scheduler the user has connected."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skmtl._numbers import check_size
from skmtl._rows import MemoryRows, merge_sized
from skmtl._validation import check_tasks, is_dask, match_tasks

S = TypeVar("S")
# How many results are merged at a time, on the worker that has most of them.
FAN_IN = 4


class DaskRows:
    """Rows of a Dask array; nothing of it is gathered but what is asked for.

    Parameters
    ----------
    X : dask array of shape (n, d)
        Each block has all its columns.
    columns : mapping of str to dask array
        With the same blocks of rows.
    names : sequence of str, optional
        Names of the features, for messages.
    features : bool
        Whether blocks bring the rows of X; without, they bring None.
    """

    def __init__(
        self, X: Any, columns: Mapping[str, Any], names: Sequence[str] | None = None, *, features: bool = True
    ) -> None:
        self._X, self._columns, self._names, self._features = X, dict(columns), names, features
        self.shape: tuple[int, int] = X.shape

    @classmethod
    def from_collections(
        cls, X: Any, columns: Mapping[str, Any], names: Sequence[str] | None = None, *, lengths: bool = True
    ) -> "DaskRows":
        """Arrays and data frames, with known lengths and the same blocks of rows; the columns may be in memory."""
        import dask.array as da

        arrays = _to_arrays([X, *columns.values()], lengths=lengths)
        X = arrays[0].rechunk({1: -1})
        if X.shape[0] == 0:
            raise ValueError("X has no rows.")
        aligned = {}
        for name, column in zip(columns, arrays[1:], strict=True):
            if column.ndim == 0:
                # One weight for all rows.
                column = da.broadcast_to(column, X.shape[:1])
            if column.shape[0] != X.shape[0] and lengths:
                raise ValueError(f"X has {X.shape[0]} rows but {name} has {column.shape[0]}; they must match.")
            chunks = {0: X.chunks[0], 1: -1} if column.ndim == 2 else {0: X.chunks[0]}
            aligned[name] = da.rechunk(column, chunks) if lengths else column
        return cls(X, aligned, names)

    def columns_only(self) -> "DaskRows":
        return DaskRows(self._X, self._columns, self._names, features=False)

    def take(self, indices: NDArray[np.intp]) -> Any:
        return MemoryRows(self._X[indices].compute(), names=self._names).take(np.arange(len(indices)))

    def some(self, indices: NDArray[np.intp]) -> "DaskRows":
        columns = {name: column[indices] for name, column in self._columns.items()}
        return DaskRows(self._X[indices], columns, self._names)

    def reduce(self, leaf: Callable[..., S], merge: Callable[[S, S], S], *, width: int) -> S:
        from dask import delayed

        # A node of the graph, so that it travels to a worker once.
        job = delayed(_Reduce(leaf, merge, width, self._names, self.shape[1]), pure=False, traverse=False)
        task = delayed(_reduce_block, pure=False)
        lengths = np.array(self._X.chunks[0])
        starts = (np.cumsum(lengths) - lengths).astype(int).tolist()
        blocks = self._X.to_delayed()[:, 0] if self._features else [None] * len(starts)
        columns = {name: column.to_delayed().ravel() for name, column in self._columns.items()}
        # Where rows were chosen, blocks may be left without any.
        parts = [
            task(job, starts[i], blocks[i], {name: column[i] for name, column in columns.items()})
            for i in np.flatnonzero(lengths)
        ]
        join = delayed(_merge, pure=False)
        while len(parts) > 1:
            parts = [join(merge, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        total: S
        total, size = parts[0].compute()
        check_size(size)
        return total

    def map(self, function: Callable[..., NDArray[Any]], *, width: int) -> Any:
        import dask.array as da
        from dask import delayed

        example = function(np.ones((1, self.shape[1])), **{k: np.zeros(1, c.dtype) for k, c in self._columns.items()})
        names = list(self._columns)
        arrays = [self._X, *(column[:, None] for column in self._columns.values())]
        shape = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (self._X.chunks[0], (example.shape[1],))}
        return da.map_blocks(
            _map_block,
            *arrays,
            function=delayed(function, pure=False, traverse=False),
            names=names,
            width=width,
            labels=self._names,
            empty=example[:0],
            dtype=example.dtype,
            meta=example[:0],
            **shape,
        )


class _Reduce(NamedTuple):
    """What to do with a block of a collection."""

    leaf: Callable[..., Any]
    merge: Callable[..., Any]
    width: int
    names: Sequence[str] | None
    n_features: int


def _reduce_block(job: _Reduce, start: int, X: Any, columns: dict[str, Any]) -> Any:
    if X is None:
        # Nobody looks at these rows, but their number counts.
        length = len(next(iter(columns.values())))
        rows = MemoryRows(None, columns, start=start, shape=(length, job.n_features))
    else:
        rows = MemoryRows(_dense(X), columns, start=start, names=job.names)
    return rows.reduce_sized(job.leaf, job.merge, width=job.width)


def _dense(X: Any) -> Any:
    """A block of rows as it is; Dask does not say of all its collections what their blocks are."""
    if sparse.issparse(X):
        raise ValueError("X has sparse blocks; make them dense with X.map_blocks(lambda block: block.toarray()).")
    return X


def _merge(merge: Callable[[S, S], S], parts: list[tuple[S, float]]) -> tuple[S, float]:
    return reduce(partial(merge_sized, merge), parts)


def _map_block(
    X: NDArray[Any],
    *columns: NDArray[Any],
    function: Any,
    names: list[str],
    width: int,
    labels: Any,
    empty: NDArray[Any],
) -> NDArray[Any]:
    if len(_dense(X)) == 0:
        return empty
    given = {name: column[:, 0] for name, column in zip(names, columns, strict=True)}
    return MemoryRows(X, given, names=labels).map(function, width=width)


def one_column(values: Any) -> Any:
    """A table of one column as that column; anything else as it is."""
    if values.ndim != 2 or values.shape[1] != 1:
        return values
    return values.iloc[:, 0] if hasattr(values, "columns") else values[:, 0]


def match_on_cluster(tasks: Any, names: NDArray[Any] | None) -> tuple[Any, NDArray[Any]]:
    """The number of each row's task as a Dask array, and the names of the tasks; None: those that occur."""
    import dask
    from dask import delayed

    (values,) = _to_arrays([one_column(tasks)], lengths=False)
    if names is None:
        found = dask.compute(*(delayed(_task_names)(block) for block in values.to_delayed().ravel()))
        names = _task_names([name for part in found for name in part.tolist()])
    return values.map_blocks(match_tasks, names=names, dtype=np.intp, meta=np.empty(0, dtype=np.intp)), names


def _task_names(tasks: Any) -> NDArray[Any]:
    return check_tasks(tasks)[1]


def _to_arrays(collections: Sequence[Any], *, lengths: bool) -> list[Any]:
    """Dask arrays of arrays in memory, Dask arrays and data frames; unknown lengths are computed together."""
    import dask
    import dask.array as da
    from dask import delayed
    from dask.dataframe.dispatch import make_meta

    # Partitions count once the graph is made: Dask joins Parquet files of which it needs few columns.
    parts = [one.to_delayed() if hasattr(one, "to_dask_array") else [] for one in collections]
    counts: Any = [[np.nan] * len(some) for some in parts]
    if lengths:
        (counts,) = dask.compute([[delayed(len)(part) for part in some] for some in parts])
    arrays = []
    for one, some, lengths_of in zip(collections, parts, counts, strict=True):
        if some:
            # An empty frame says what its arrays are like.
            meta = make_meta(one).to_numpy()
            blocks = [
                da.from_delayed(delayed(np.asarray)(part), (count, *meta.shape[1:]), dtype=meta.dtype)
                for part, count in zip(some, lengths_of, strict=True)
            ]
            one = da.concatenate(blocks, allow_unknown_chunksizes=True)
        elif not is_dask(one):
            # In one piece, for Dask cannot tell how large objects are.
            one = da.from_array(np.asarray(one), chunks=-1)
        elif lengths and np.isnan(one.shape[0]):
            one = one.copy().compute_chunk_sizes()
        arrays.append(one)
    return arrays
