"""Numbers as a user passes them: what NumPy would take for numbers without a word is refused, or a gap."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skmtl._linalg import Array
from skmtl._parameters import LARGEST, SMALLEST

# What to do with text.
NO_TEXT = {
    "X": "encode it, for example with OneHotEncoder, or let skmtl.tables prepare the table",
    "y": "classes are for MultiTaskClassifier",
    "sample_weight": "pass a number for each row",
}
TOO_FAR = "X reaches {:.3g}, beyond what products in double precision can hold; change its unit."


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
    return np.ma.filled(as_float(name, values.astype, np.float64), np.nan)


def read_numbers(name: str, values: Any) -> Array:
    """Values as a new array of float64, of any shape."""
    check_plain(name, values)
    if sparse.issparse(values):
        raise ValueError(f"{name} is a sparse matrix, and must be an array; pass {name}.toarray().")
    return np.asarray(as_float(name, np.array, as_float(name, numbers_in, values), dtype=np.float64))


def check_sparse(name: str, X: Any) -> Any:
    """Sparse rows as a float CSR array in order, where kernels of scikit-learn may read entries one by one.

    No place has two entries, and indices have 32 bits wherever these are enough. Rows that are in order already are
    not copied; others are, for scikit-learn would order those of the user in place.
    """
    if np.iscomplexobj(X):
        raise ValueError(f"Complex data not supported: {name} has complex numbers.")
    _check_indices(name, X)
    rows = X.tocsr()
    if rows is not X:
        # What forms without indices of their own say of places shows here.
        _check_indices(name, rows)
    index = np.int32 if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max else np.int64
    places = (part.astype(index, copy=False) for part in (rows.indices, rows.indptr))
    # An array of our own, which does not believe what SciPy noted about the user's before it was changed.
    data = as_float(name, rows.data.astype, np.float64, copy=False)
    rows = sparse.csr_array((data, *places), shape=rows.shape)
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


def as_float(name: str, convert: Any, *arguments: Any, **options: Any) -> Any:
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
    """A block of numbers in double precision, NaN at gaps, with a sentence for what is none."""
    check_plain(name, values)
    return np.asarray(as_float(name, np.asarray, as_float(name, numbers_in, values), dtype=np.float64))


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


def check_size(size: float) -> None:
    """Refuse rows whose largest feature is so small that all their products would vanish."""
    if 0.0 < size < SMALLEST:
        raise ValueError(TOO_FAR.format(size))


def check_finite(values: NDArray[Any], columns: NDArray[Any] | None, names: Sequence[str] | None) -> float:
    """The largest size; NaN and infinity are refused, and so are infinite products.

    ``columns`` are those of the stored values of a sparse matrix.
    """
    # Twice over the numbers, and without a copy of them.
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if size <= LARGEST:
        return size
    if np.isfinite(size):
        raise ValueError(TOO_FAR.format(size))
    bad = ~np.isfinite(values)
    column = int(columns[bad].min()) if columns is not None else int(np.flatnonzero(bad.any(axis=0))[0])
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise ValueError(
        f"X has {int(bad.sum())} NaN or infinite values, the first of them in {where}; impute or drop them."
    )
