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
from skmtl._parameters import LARGEST, SMALLEST

# What names of tasks may be; a fraction, say, is a number too, but becomes its text.
PLAIN = (str, int, float, np.integer, np.floating, np.bool_)
NO_TARGET = "this estimator requires y to be passed, but the target y is None."
# What to do with text.
NO_TEXT = {
    "X": "encode it, for example with OneHotEncoder, or let skmtl.tables prepare the table",
    "y": "classes are for MultiTaskClassifier",
    "sample_weight": "pass a number for each row",
}
# Halves of characters beyond 16 bits, and bytes that could not be read; UTF-8 has neither.
SURROGATES = re.compile("[\ud800-\udfff]")
TOO_FAR = "X reaches {:.3g}, beyond what products in double precision can hold; change its unit."
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
    X = _as_float(
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
    if sparse.issparse(X):
        check_finite(X.data, X.indices, names)
        _check_vanishing(X.data)
        return X
    check_finite(X, None, names)
    _check_vanishing(X)
    return np.asarray(X)


def check_columns(X: Any, name: str = "X") -> None:
    """Refuse a data frame with two columns of one name: nobody could say which of them is meant."""
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        column = X.columns[X.columns.duplicated()].tolist()[0]
        raise ValueError(f"{name} has two columns called {column!r}; their names must differ.")


def check_plain(name: str, values: Any) -> None:
    """Refuse what NumPy would turn into numbers without a word: hidden entries and dates."""
    check_unmasked(name, values)
    if isinstance(values, pd.DataFrame):
        dtypes = set(values.dtypes)
    elif isinstance(values, np.ndarray | np.generic | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        dtypes = {values.dtype}
    else:
        # Arrays of other libraries answer for themselves when they are converted.
        dtypes = {np.dtype(complex)} if isinstance(values, complex) else set()
    # Categories become what they are called.
    for dtype in {dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype for dtype in dtypes}:
        if dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} has complex numbers.")
        if dtype.kind in ("M", "m"):
            raise ValueError(f"{name} has dates or durations ({dtype}); turn them into numbers first.")


def check_unmasked(name: str, values: Any) -> None:
    """Refuse hidden entries, which NumPy would show without a word."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {int(np.ma.getmaskarray(values).sum())} masked values; fill or drop them."
        )


def gaps_of_mask(name: str, values: Any) -> Any:
    """A masked array as float64, NaN where it is masked, for what is masked is not known; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    check_plain(name, np.ma.getdata(values))
    return np.ma.filled(_as_float(name, values.astype, np.float64), np.nan)


def read_numbers(name: str, values: Any) -> Array:
    """Values as a new array of float64, of any shape."""
    check_plain(name, values)
    if sparse.issparse(values):
        raise ValueError(f"{name} is a sparse matrix, and must be an array; pass {name}.toarray().")
    return np.asarray(_as_float(name, np.array, _as_float(name, numbers_in, values), dtype=np.float64))


def check_sparse(name: str, X: Any) -> Any:
    """Sparse rows as a float CSR array in order, where kernels of scikit-learn may read entries one by one.

    No place has two entries, and indices have 32 bits wherever these are enough. Rows that are in order already are
    not copied; others are, for scikit-learn would order those of the user in place.
    """
    if np.iscomplexobj(X):
        raise ValueError(f"Complex data not supported: {name} has complex numbers.")
    _check_indices(name, X)
    rows = X.tocsr()
    index = np.int32 if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max else np.int64
    places = (part.astype(index, copy=False) for part in (rows.indices, rows.indptr))
    # An array of our own, which does not believe what SciPy noted about the user's before it was changed.
    rows = sparse.csr_array((rows.data.astype(np.float64, copy=False), *places), shape=rows.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _check_indices(name: str, X: Any) -> None:
    """Refuse a sparse matrix whose entries are at places that it does not have: SciPy would read memory of others."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse {name} of {X.ndim} dimensions instead.")
    if X.format == "coo":
        pairs = [(X.row, X.shape[0]), (X.col, X.shape[1])]
    elif X.format in ("csr", "csc"):
        n_entries = len(X.indices)
        pairs = [(X.indices, X.shape[X.format == "csr"]), (X.indptr, n_entries + 1), (np.diff(X.indptr), n_entries + 1)]
    else:
        return
    if any(len(index) and (index.min() < 0 or index.max() >= size) for index, size in pairs):
        raise ValueError(
            f"{name} is a sparse matrix of shape {X.shape} ({X.format}) with entries at places that it does not have; "
            "make it again from its entries."
        )


def _as_float(name: str, convert: Any, *arguments: Any, **options: Any) -> Any:
    """What a conversion gives, with a sentence for what is no number, and for numbers that no float can hold."""
    try:
        # What overflows is infinite, and refused where that is looked for.
        with np.errstate(over="ignore"):
            return convert(*arguments, **options)
    except OverflowError as error:
        raise ValueError(f"{name} has numbers beyond what double precision can hold.") from error
    except TypeError as error:
        if "float() argument" not in str(error):
            raise
        raise TypeError(f"{name} cannot be read as numbers: {error}; pass an array of numbers.") from error
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"{name} has rows of different lengths; pass a table.") from error
        text = re.search("could not convert string to float: (.*)", str(error))
        if text is None:
            raise
        advice = NO_TEXT.get(name, "pass an array of numbers")
        raise ValueError(f"{name} holds text such as {text[1]} where numbers are needed; {advice}.") from error


def float_array(name: str, values: Any) -> Array:
    """A block of numbers in double precision, with a sentence for what is none."""
    check_plain(name, values)
    return np.asarray(_as_float(name, np.asarray, values, dtype=np.float64))


def _check_vanishing(values: NDArray[Any]) -> None:
    """Refuse features whose products vanish altogether."""
    size = float(np.abs(values).max(initial=0.0))
    if 0.0 < size < SMALLEST:
        raise ValueError(TOO_FAR.format(size))


def check_targets(Y: Any, n_rows: int) -> tuple[Array, bool]:
    """Numeric Y of shape (n, T), NaN where a label is missing, and whether it came as one column of shape (n,)."""
    if Y is None:
        raise ValueError(NO_TARGET)
    if isinstance(Y, pd.DataFrame):
        plain_names(list(Y.columns))
    Y = gaps_of_mask("y", Y)
    check_plain("y", Y)
    array = _as_float(
        "y",
        check_array,
        _as_float("y", numbers_in, Y),
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


def numbers_in(y: Any) -> Any:
    """Numbers among Python's objects and pandas' nullable types as float64, NaN at gaps; anything else as it is."""
    table: Any = y
    if isinstance(y, np.ndarray) and y.dtype.kind == "O" and y.ndim in (1, 2):
        table = pd.DataFrame(y)
    if isinstance(table, pd.Series):
        table = table.to_frame()
    if not isinstance(table, pd.DataFrame):
        return y
    if all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in table.dtypes):
        return y
    try:
        values = table.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return y
    return values.reshape(np.shape(y))


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
        return np.array(labels.tolist())
    if kind != "string":
        raise ValueError(f"y has classes of several types, or of none that is known ({kind}); write them as text.")
    return labels


def check_rows(values: Any, n_rows: int, name: str = "y") -> None:
    """As many values as rows of X."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        given = type(values.item()).__name__
        raise ValueError(
            f"{name} is of type {given}, and must be an array with {n_rows} rows, like X; pass the toarray() of a "
            "sparse matrix, the list of a generator."
        )
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {len(values)}; they must match.")


def check_weight(weight: Any, X: Any, n_tasks: int | None = None) -> Array:
    """Weights of the rows, (n,), or of their labels, (n, n_tasks) where there are columns; none below zero."""
    if weight is not None:
        check_plain("sample_weight", weight)
        values = np.asarray(weight)
        if values.size and values.dtype.kind in "biuf" and not values.any():
            raise ValueError("sample_weight is zero everywhere; some rows need a weight above zero.")
    if weight is not None and np.asarray(weight).ndim >= 2:
        shape, n_rows = np.asarray(weight).shape, X.shape[0]
        if shape != (n_rows, n_tasks):
            expected = f"({n_rows},)" + (f" or ({n_rows}, {n_tasks})" if n_tasks is not None else "")
            raise ValueError(f"sample_weight has shape {shape}; it must be {expected}.")
        weight = _as_float("sample_weight", check_array, weight, dtype=np.float64, input_name="sample_weight")
    else:
        if weight is not None and np.asarray(weight).ndim == 1:
            check_rows(np.asarray(weight), X.shape[0], "sample_weight")
        weight = np.asarray(_as_float("sample_weight", _check_sample_weight, weight, X, dtype=np.float64))
    check_weight_sizes(weight)
    return np.asarray(weight)


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


def check_tasks(tasks: Any, n_rows: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
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
    check_rows(raw, len(raw) if n_rows is None else n_rows, "tasks")
    codes = pd.Index(names.tolist(), dtype=object).get_indexer(raw)
    if (codes < 0).any():
        unknown = raw[codes < 0][0]
        known = ", ".join(repr(name) for name in names.tolist()[:10]) + (", ..." if len(names) > 10 else "")
        raise ValueError(f"task {unknown!r} was not there when the model was fitted; known tasks are {known}.")
    return np.asarray(codes, dtype=np.intp)


def check_task_names(Y: Any, n_tasks: int) -> NDArray[Any]:
    """The names of the tasks: columns of a data frame of pandas or Dask, or y0, y1, ..."""
    if hasattr(Y, "columns"):
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
    return array if array.tolist() == plain else np.array(plain, dtype=object)


def _plain(name: Any) -> Any:
    """A string, bool, int or float of Python itself; an enumeration, say, gives its value if that is what it is."""
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, bool | np.bool_):
        return bool(name)
    if isinstance(name, PLAIN):
        return int(name) if isinstance(name, Integral) else float(name)
    return str(name)


def check_finite(values: NDArray[Any], columns: NDArray[Any] | None, names: Sequence[str] | None) -> None:
    """Refuse NaN, infinity and infinite products; ``columns`` are those of the stored values of a sparse matrix."""
    bad = ~np.isfinite(values)
    if not bad.any():
        if (size := float(np.abs(values).max(initial=0.0))) > LARGEST:
            raise ValueError(TOO_FAR.format(size))
        return
    column = int(columns[bad].min()) if columns is not None else int(np.flatnonzero(bad.any(axis=0))[0])
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise ValueError(
        f"X has {int(bad.sum())} NaN or infinite values, the first of them in {where}; impute or drop them."
    )
