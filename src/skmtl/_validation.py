"""Cleaning the user's input at the door, with messages that help."""

import importlib
import re
import reprlib
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from skmtl._linalg import Array
from skmtl._numbers import (
    as_float,
    check_finite,
    check_plain,
    check_size,
    check_sparse,
    float_array,
    gaps_of_mask,
    numbers_in,
)
from skmtl._parameters import LARGEST, SMALLEST

# What names of tasks may be; a fraction, say, is a number too, but becomes its text.
PLAIN = (str, int, float, np.integer, np.floating, np.bool_)
NO_TARGET = "this estimator requires y to be passed, but the target y is None."
NO_WEIGHT = "sample_weight is zero everywhere; some rows need a weight above zero."
# Halves of characters beyond 16 bits, and bytes that could not be read; UTF-8 has neither.
SURROGATES = re.compile("[\ud800-\udfff]")
NO_TASKS = "tasks={} does not say which task each row is of; pass a column with a string or a number for each row."
MANY_COLUMNS = "y has {} columns; in long format it has one, and tasks says which task it is of."


def import_extra(module: str, extra: str = "app") -> Any:
    """A module of a package that only an extra installs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(
            f"this needs {package}, which is not installed; install it, or everything of its kind with "
            f'pip install ".[{extra}]" in the folder of skmtl.'
        ) from error


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask itself is not imported."""
    return hasattr(X, "__dask_graph__")


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a finite float array of shape (n, d), or a CSR matrix where the estimator takes one."""
    check_plain("X", X)
    check_columns(X)
    if sparse.issparse(X):
        X = check_sparse("X", X)
    X = as_float(
        "X",
        validate_data,
        estimator,
        X,
        reset=reset,
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
        accept_sparse="csr" if get_tags(estimator).input_tags.sparse else False,
    )
    names = getattr(estimator, "feature_names_in_", None)
    in_order = sparse.issparse(X)
    check_size(check_finite(X.data if in_order else X, X.indices if in_order else None, names))
    return X if in_order else np.asarray(X)


def check_columns(X: Any, name: str = "X") -> None:
    """Refuse a table without columns, and two of one name in a data frame: nobody could say which of them is meant."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if shape[1:] == (0,):
        # An example of a collection stands for n rows.
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({shape[0] or 'n'}, 0)) while a minimum of 1 is required."
        )
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        column = X.columns[X.columns.duplicated()].tolist()[0]
        raise ValueError(f"{name} has two columns called {column!r}; their names must differ.")


def check_targets(Y: Any, n_rows: int) -> tuple[Array, bool]:
    """Numeric Y of shape (n, T), NaN where a label is missing, and whether it came as one column of shape (n,)."""
    if Y is None:
        raise ValueError(NO_TARGET)
    if isinstance(Y, pd.DataFrame):
        plain_names(list(Y.columns))
    Y = gaps_of_mask("y", Y)
    check_plain("y", Y)
    array = as_float(
        "y",
        check_array,
        as_float("y", numbers_in, Y),
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="y",
        ensure_min_features=0,
    )
    if array.ndim > 2:
        raise ValueError(f"y has shape {array.shape}; it must be (n,) for one task or (n, n_tasks).")
    flat = array.ndim == 1
    array = array[:, None] if flat else array
    check_rows(array, n_rows)
    if array.shape[1] == 0:
        raise ValueError("y has no columns; there must be at least one task.")
    if np.isinf(array).any():
        count, names = int(np.isinf(array).sum()), check_task_names(Y, array.shape[1]).tolist()
        # A single column may hold the labels of several tasks, and its name says nothing of them.
        where = f", the first of them of task {names[np.isinf(array).any(axis=0).argmax()]!r}" if len(names) > 1 else ""
        raise ValueError(f"y has {count} infinite values (inf){where}; drop them or replace them by NaN.")
    return array, flat


def check_classes(y: Any) -> NDArray[Any]:
    """Class labels of any type as an array, without gaps."""
    if y is None:
        raise ValueError(NO_TARGET)
    if isinstance(y, np.ma.MaskedArray):
        check_plain("y", y)
    labels = np.asarray(y)
    missing = int(np.count_nonzero(pd.isna(labels)))
    if labels.dtype.kind != "f" and missing:
        raise ValueError(f"y has {missing} missing values; drop those rows.")
    if labels.dtype.kind == "O":
        labels = _classes_of_objects(labels)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError(f"y has {int((~np.isfinite(labels)).sum())} NaN or infinite values; drop those rows.")
    check_classification_targets(labels)
    return labels


def _classes_of_objects(labels: NDArray[Any]) -> NDArray[Any]:
    """Python's objects of one kind as an array of that kind; text as it is."""
    kind = pd.api.types.infer_dtype(labels.ravel(), skipna=False)
    if kind in ("integer", "boolean", "floating"):
        numbers = np.array(labels.tolist())
        if kind == "integer" and numbers.dtype.kind not in "iu":
            raise ValueError("y has classes that are whole numbers of more than 64 bits; write them as text.")
        return numbers
    if kind != "string":
        raise ValueError(f"y has classes of several types, or of none that is known ({kind}); write them as text.")
    return labels


def check_rows(values: Any, n_rows: int | None, name: str = "y") -> None:
    """As many values as rows of X; with None, which counts no rows yet, an array."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        given, like = type(values.item()).__name__, "rows" if n_rows is None else f"{n_rows} rows"
        raise ValueError(
            f"{name} is of type {given}, and must be an array with {like}, like X; pass the toarray() of a "
            "sparse matrix, the list of a generator."
        )
    if n_rows is not None and len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {len(values)}; they must match.")


def check_weight(weight: Any, X: Any, n_tasks: int | None = None) -> Array:
    """Weights of the rows, (n,), or of their labels, (n, n_tasks) where there are columns; none below zero."""
    if weight is not None:
        check_plain("sample_weight", weight)
        values = np.asarray(weight)
        if values.size and values.dtype.kind in "biuf" and not values.any():
            raise ValueError(NO_WEIGHT)
    if weight is not None and np.asarray(weight).ndim >= 2:
        shape, n_rows = np.asarray(weight).shape, X.shape[0]
        if shape != (n_rows, n_tasks):
            expected = f"({n_rows},)" + (f" or ({n_rows}, {n_tasks})" if n_tasks is not None else "")
            raise ValueError(f"sample_weight has shape {shape}; it must be {expected}.")
        weight = as_float("sample_weight", check_array, weight, dtype=np.float64, input_name="sample_weight")
    else:
        if weight is not None and np.asarray(weight).ndim == 1:
            check_rows(np.asarray(weight), X.shape[0], "sample_weight")
        weight = np.asarray(as_float("sample_weight", _check_sample_weight, weight, X, dtype=np.float64))
    check_weight_sizes(weight)
    return np.asarray(weight)


def read_weight(weight: Any, n_rows: int) -> Array:
    """The weights of a block of rows, or of their labels, as they came; ones where there are none."""
    given = np.ones(n_rows) if weight is None else float_array("sample_weight", weight)
    check_weight_sizes(given)
    return given


def check_weight_sizes(weight: Array) -> None:
    """Refuse weights below zero, or missing, or of a size whose products are no numbers."""
    least, largest = weight.min(initial=np.inf), weight.max(initial=0.0)
    if not least >= 0.0:
        raise ValueError(f"sample_weight has a negative or missing entry, {least:.3g}; weights must be >= 0.")
    least = weight.min(initial=np.inf, where=weight > 0.0)
    if largest > LARGEST or least < SMALLEST:
        size = largest if largest > LARGEST else least
        raise ValueError(
            f"sample_weight has an entry of {size:.3g}, and must lie between {SMALLEST} and {LARGEST}, or be 0; "
            "all of them divided by one number mean the same."
        )


def check_tasks(tasks: Any, n_rows: int | None = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The task of each row as a number from 0, and the names of the tasks in sorted order where they have one."""
    raw = _plain_tasks(tasks)
    check_rows(raw, n_rows, "tasks")
    codes, names = pd.factorize(raw, use_na_sentinel=True)
    if (codes < 0).any():
        raise ValueError(f"tasks has {int((codes < 0).sum())} missing values; every row needs a task.")
    if len({isinstance(name, str) for name in names}) == 1:
        order = np.argsort(np.array(names.tolist(), dtype=object), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        codes, names = rank[codes], names[order]
    return codes.astype(np.intp), plain_names(names.tolist())


def match_tasks(tasks: Any, names: NDArray[Any], n_rows: int | None = None) -> NDArray[np.intp]:
    """The number of the task of each row, for tasks that are known."""
    raw = _plain_tasks(tasks)
    check_rows(raw, n_rows, "tasks")
    codes = pd.Index(names.tolist(), dtype=object).get_indexer(raw)
    if (codes < 0).any():
        unknown = raw[codes < 0][0]
        known = ", ".join(repr(name) for name in names.tolist()[:10]) + (", ..." if len(names) > 10 else "")
        raise ValueError(f"task {unknown!r} was not there when the model was fitted; known tasks are {known}.")
    return np.asarray(codes, dtype=np.intp)


def check_task_names(Y: Any, n_tasks: int) -> NDArray[Any]:
    """The names of the tasks: columns of a data frame of pandas or Dask, or y0, y1, ..."""
    # A series of Dask has columns, too.
    if hasattr(Y, "columns") and np.ndim(Y) == 2:
        return plain_names(list(Y.columns))
    # A series has an index beside its name.
    if hasattr(Y, "index") and getattr(Y, "name", None) is not None:
        return plain_names([Y.name])
    return np.array([f"y{t}" for t in range(n_tasks)])


def _plain_tasks(tasks: Any) -> NDArray[Any]:
    """The task of each row as a string, a number or None; anything else becomes its text."""
    try:
        if isinstance(tasks, np.ndarray) and tasks.dtype in (np.dtype("M8[ns]"), np.dtype("m8[ns]")):
            # As Python's objects they are integers; as timestamps they are those of a series.
            tasks = pd.DataFrame(tasks)
        column = np.asarray(tasks.tolist() if hasattr(tasks, "tolist") else tasks, dtype=object)
        # A table of one column is a column.
        column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
        different = set(pd.unique(pd.Series(column, dtype=object)))
    except (TypeError, ValueError):
        raise ValueError(NO_TASKS.format(" ".join(reprlib.repr(tasks).split()))) from None
    if all(isinstance(value, PLAIN) for value in different):
        return column
    missing = pd.isna(column)
    return np.array([None if gap else _plain(value) for value, gap in zip(column, missing, strict=True)], dtype=object)


def plain_names(names: Sequence[Any]) -> NDArray[Any]:
    """Names as strings or numbers, all different; anything else becomes its text."""
    plain = [_plain(name) for name in names]
    repeated = pd.Index(plain, dtype=object).duplicated()
    if repeated.any():
        raise ValueError(f"two tasks are called {plain[int(np.argmax(repeated))]!r}; task names must differ.")
    for name in plain:
        if isinstance(name, str) and SURROGATES.search(name):
            raise ValueError(f"the task name {name!r} has half of a character, which no file can hold; rename it.")
    array = np.array(plain)
    # Arrays of text end at the last character that is not NUL, and those of floats round large integers.
    kept = all(one == name or name != name for one, name in zip(array.tolist(), plain, strict=True))
    return array if kept else np.array(plain, dtype=object)


def _plain(name: Any) -> Any:
    """A string, bool, int or float of Python itself; an enumeration, say, gives its value if that is what it is."""
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, bool | np.bool_):
        return bool(name)
    if isinstance(name, PLAIN):
        return int(name) if isinstance(name, Integral) else float(name)
    return str(name)
