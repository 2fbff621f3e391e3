"""Tables that are read a block at a time: large arrays, memory maps, Dask arrays and data frames."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from skmtl._cluster import DaskRows, match_on_cluster, one_column
from skmtl._numbers import as_float, check_plain, check_sparse, check_unmasked, gaps_of_mask, numbers_in, read_numbers
from skmtl._rows import LARGE, MemoryRows, Rows
from skmtl._validation import (
    MANY_COLUMNS,
    NO_TARGET,
    NO_WEIGHT,
    check_columns,
    check_features,
    check_rows,
    check_task_names,
    check_tasks,
    check_weight,
    is_dask,
    match_tasks,
)
from skmtl.targets import (
    BlockLabels,
    ClassCoding,
    Coding,
    LabelReader,
    Labels,
    NumberCoding,
    TaskData,
    as_numbers,
)
from skmtl.targets.coding import MANY_CLASSES, find_classes, make_coding, merge_classes, signs

# What has a shape, and more that an array would not keep.
TABLES = (pd.DataFrame, pd.Series, np.ma.MaskedArray)


def is_large(X: Any, n_functions: int) -> bool:
    """Whether an array has, or becomes, more numbers than should be handled at once."""
    # With more basis functions than rows there is nothing to gain: their products are larger than they are.
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] * max(shape[1], n_functions) > LARGE and shape[0] >= n_functions


class OpenTable(NamedTuple):
    """Rows with the columns ``y``, as it came, ``weight`` and ``tasks`` where they were given.

    ``names`` are those of the columns of y, or of the tasks in long format.
    """

    rows: Rows
    names: NDArray[Any]
    flat: bool


def clean_blocks(witness: Any, X: Any, y: Any, sample_weight: Any, tasks: Any) -> tuple[TaskData, int]:
    """The record of a table that is read a block at a time, and how many of its rows have no label.

    ``witness`` is told the number and the names of the features.
    """
    given = witness, X, y, sample_weight, tasks
    table = open_on_cluster(*given, reset=True) if is_dask(X) else _open_memory(*given)
    read = _read_classes if is_classifier(witness) else _read_numbers
    coding, names, encode = read(table, long=tasks is not None)
    labels = BlockLabels.from_rows(table.rows, LabelReader(len(names), encode))
    data = TaskData(
        table.rows,
        cast(Labels, labels),
        coding,
        names,
        n_features=witness.n_features_in_,
        feature_names=getattr(witness, "feature_names_in_", None),
        rows=None,
        n_given=table.rows.shape[0],
    )
    return data, labels.summary.unlabelled


def _read_numbers(table: OpenTable, *, long: bool) -> tuple[Coding, NDArray[Any], Any]:
    return NumberCoding(table.flat or long), table.names, as_numbers


def _read_classes(table: OpenTable, *, long: bool) -> tuple[Coding, NDArray[Any], Any]:
    if not (table.flat or long):
        return ClassCoding.of_indicators(), table.names, signs
    # One pass over y alone: the classes of the first block need not be all.
    coding = make_coding(table.rows.columns_only().reduce(find_classes, merge_classes, width=8))
    if long and coding.one_vs_all:
        raise ValueError(MANY_CLASSES.format(len(coding.classes)))
    return coding, table.names if long else coding.task_names(), coding.encode_column


def open_on_cluster(estimator: Any, X: Any, y: Any, sample_weight: Any, tasks: Any, *, reset: bool) -> OpenTable:
    """The table of Dask collections; with ``reset`` the estimator is told its features and tasks, else asked."""
    _check_features(estimator, X, reset=reset)
    columns = {"y": (labels := _labels(estimator, y, long=tasks is not None))}
    if sample_weight is not None:
        # Accuracy is of rows, not of their labels.
        n_columns = None if is_classifier(estimator) and not reset else _weight_columns(estimator, labels, tasks)
        columns["weight"] = _weight(sample_weight, n_columns)
    if tasks is None:
        names = check_task_names(y, labels.shape[1] if labels.ndim == 2 else 1)
    else:
        columns["tasks"], names = _codes(tasks, None if reset else estimator.task_names_)
    rows = DaskRows.from_collections(X, columns, getattr(estimator, "feature_names_in_", None))
    return OpenTable(rows, names, labels.ndim == 1)


def _labels(estimator: Any, y: Any, *, long: bool) -> Any:
    """Labels as they are read: an array, or a Dask collection as long as it is one.

    A table of one column of classes is that column; any other has numbers, NaN where they are masked.
    """
    if y is None:
        raise ValueError(NO_TARGET)
    table = y if is_dask(y) or isinstance(y, TABLES) else as_float("y", np.asarray, y)
    if not is_dask(y):
        check_rows(table, None)
    shape: tuple[int, ...] = table.shape
    if long and len(shape) == 2 and shape[1] != 1:
        raise ValueError(MANY_COLUMNS.format(shape[1]))
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] == 0):
        raise ValueError(f"y has shape {shape}; it must be (n,) for one task or (n, n_tasks).")
    if is_classifier(estimator) and shape[1:] in ((), (1,)):
        _check_example(check_unmasked, "y", y)
        column = one_column(table)
        return column if is_dask(y) else np.asarray(column)
    return _numbers(table)


def _numbers(y: Any) -> Any:
    if not is_dask(y):
        y = gaps_of_mask("y", y)
        check_plain("y", y)
        return np.asarray(as_float("y", numbers_in, y))
    check_plain("y", example := _example(y))
    if not isinstance(example, np.ma.MaskedArray):
        return y
    return y.map_blocks(partial(gaps_of_mask, "y"), dtype=np.float64, meta=np.empty((0,) * y.ndim))


def _weight_columns(estimator: Any, labels: Any, tasks: Any) -> int | None:
    """How many columns weights of labels have; None where they are weights of rows."""
    if tasks is not None or (is_classifier(estimator) and labels.ndim == 1):
        return None
    return labels.shape[1] if labels.ndim == 2 else 1


def _weight(weight: Any, n_columns: int | None) -> Any:
    """Weights beside rows on a cluster, whose values are looked at with their block."""
    if is_dask(weight):
        _check_example(check_plain, "sample_weight", weight)
    else:
        weight = read_numbers("sample_weight", weight)
        if weight.size and not weight.any():
            raise ValueError(NO_WEIGHT)
    columns = weight.shape[1:]
    if columns not in ((), (n_columns,)):
        given, more = ", ".join(map(str, columns)), "" if n_columns is None else f" or (n, {n_columns})"
        raise ValueError(f"sample_weight has shape (n, {given}); it must be (n,){more}.")
    return weight


def _check_example(check: Callable[[str, Any], None], name: str, values: Any) -> Any:
    """An example of the values, if ``check`` takes it; what a masked Dask array hides is known once it is read."""
    check(name, example := _example(values))
    if is_dask(values) and isinstance(example, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked Dask array; fill it with dask.array.ma.filled, or drop those rows.")
    return example


def _example(values: Any) -> Any:
    """An empty part of a Dask collection, which tells its types; anything else as it is."""
    if not is_dask(values):
        return values
    from dask.dataframe.dispatch import make_meta

    return make_meta(values)


def open_rows(
    estimator: Any, X: Any, tasks: Any, n_functions: int, columns: Mapping[str, NDArray[Any]] | None = None
) -> Rows:
    """Rows to predict, with the numbers of their tasks where they were given, and more columns of rows in memory."""
    names, known = getattr(estimator, "feature_names_in_", None), estimator.task_names_
    if is_dask(X):
        _check_features(estimator, X, reset=False)
        codes = {} if tasks is None else {"tasks": _codes(tasks, known)[0]}
        # Only columns that must line up need the lengths of the blocks, which cost a pass.
        return DaskRows.from_collections(X, codes, names, lengths=tasks is not None)
    if is_large(X, n_functions):
        _check_features(estimator, X, reset=False)
        X = _array(X)
    else:
        X = check_features(estimator, X, reset=False)
    own = {} if tasks is None else {"tasks": match_tasks(tasks, known, X.shape[0])}
    return MemoryRows(X, {**own, **(columns or {})}, names=names)


def _open_memory(estimator: Any, X: Any, y: Any, sample_weight: Any, tasks: Any) -> OpenTable:
    _check_features(estimator, X, reset=True)
    array, labels = _array(X), _labels(estimator, y, long=tasks is not None)
    check_rows(labels, array.shape[0])
    columns = {"y": labels}
    if sample_weight is not None:
        columns["weight"] = check_weight(sample_weight, array, _weight_columns(estimator, labels, tasks))
    if tasks is None:
        names = check_task_names(y, labels.shape[1] if labels.ndim == 2 else 1)
    else:
        columns["tasks"], names = check_tasks(tasks, array.shape[0])
    rows = MemoryRows(array, columns, names=getattr(estimator, "feature_names_in_", None))
    return OpenTable(rows, names, labels.ndim == 1)


def _codes(tasks: Any, names: NDArray[Any] | None) -> tuple[Any, NDArray[Any]]:
    """The number of each row's task beside rows on a cluster, and the names of the tasks; None: those that occur."""
    _check_example(check_unmasked, "tasks", tasks)
    if is_dask(tasks):
        return match_on_cluster(tasks, names)
    return check_tasks(tasks) if names is None else (match_tasks(tasks, names), names)


def _check_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """The number, the names and the types of the features, without a look at the rows."""
    example = _check_example(check_plain, "X", X)
    if is_dask(X):
        # An empty frame or array says the same of the columns.
        X = example if hasattr(X, "columns") else np.empty((0, *X.shape[1:]))
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got an X of {len(X.shape)} dimensions instead.")
    check_columns(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def _array(X: Any) -> Any:
    """The array of a data frame; anything else as it is."""
    if isinstance(X, pd.DataFrame):
        return np.asarray(numbers_in(X))
    return check_sparse("X", X) if sparse.issparse(X) else X
