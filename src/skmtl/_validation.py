"""Cleaning the user's input at the door, with messages that help."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from skmtl._linalg import Array


def check_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """A finite number above zero, or not below it."""
    allowed = ">= 0" if zero else "> 0"
    number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name}={value!r} must be a number {allowed}.")
    return float(value)


def check_count(name: str, value: Any) -> int:
    """A whole number of at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    return int(value)


def check_features(estimator: Any, X: Any, *, reset: bool) -> Array:
    """X as a finite float array of shape (n, d)."""
    X = validate_data(
        estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2 if reset else 1
    )
    bad = ~np.isfinite(X)
    if bad.any():
        column = int(np.flatnonzero(bad.any(axis=0))[0])
        names = getattr(estimator, "feature_names_in_", None)
        where = f"column {column}" if names is None else f"column {names[column]!r}"
        raise ValueError(
            f"X has {int(bad.sum())} NaN or infinite values, the first of them in {where}; impute or drop them."
        )
    return X


def check_targets(Y: Any, n_rows: int) -> tuple[Array, bool]:
    """Numeric Y as a finite array of shape (n, T), and whether it came as one column of shape (n,)."""
    if Y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    if isinstance(Y, pd.DataFrame):
        plain_names(list(Y.columns))
    array = check_array(
        Y, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name="y", ensure_min_features=0
    )
    if array.ndim > 2:
        raise ValueError(f"y has shape {array.shape}; it must be (n,) for one task or (n, n_tasks).")
    flat = array.ndim == 1
    array = array[:, None] if flat else array
    check_rows(array, n_rows)
    if array.shape[1] == 0:
        raise ValueError("y has no columns; there must be at least one task.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"y has {int((~np.isfinite(array)).sum())} NaN or infinite values; drop those rows.")
    return array, flat


def check_classes(y: Any) -> NDArray[Any]:
    """Class labels of any type as an array, without NaN or infinity."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError(f"y has {int((~np.isfinite(labels)).sum())} NaN or infinite values; drop those rows.")
    check_classification_targets(y)
    return labels


def check_rows(Y: Any, n_rows: int) -> None:
    """As many targets as rows of X."""
    if len(Y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(Y)}; they must match.")


def check_weight(weight: Any, X: Array) -> Array:
    """Weights of the rows, of shape (n,), none below zero."""
    weight = np.asarray(_check_sample_weight(weight, X, dtype=np.float64))
    if weight.min() < 0.0:
        raise ValueError(f"sample_weight has a negative entry, {weight.min():.3g}; weights must be >= 0.")
    return weight


def check_task_names(Y: Any, n_tasks: int) -> NDArray[Any]:
    """The names of the tasks: columns of a data frame, or y0, y1, ..."""
    columns: Sequence[Any] | None = None
    if isinstance(Y, pd.DataFrame):
        columns = list(Y.columns)
    elif isinstance(Y, pd.Series) and Y.name is not None:
        columns = [Y.name]
    if columns is None:
        return np.array([f"y{t}" for t in range(n_tasks)])
    return plain_names(columns)


def plain_names(names: Sequence[Any]) -> NDArray[Any]:
    """Names as strings or numbers, all different; anything else becomes its text."""
    plain = [name if isinstance(name, str | Real) else str(name) for name in names]
    repeated = [name for name in plain if plain.count(name) > 1]
    if repeated:
        raise ValueError(f"two tasks are called {repeated[0]!r}; task names must differ.")
    one_kind = len({isinstance(name, str) for name in plain}) == 1
    return np.array(plain) if one_kind else np.array(plain, dtype=object)
