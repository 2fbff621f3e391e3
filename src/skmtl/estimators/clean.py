"""From what a user passes to a record of rows and labels; nothing is kept on the estimator on the way."""

import reprlib
import warnings
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier

from skmtl._linalg import Array
from skmtl._numbers import check_unmasked
from skmtl._parameters import check_count
from skmtl._validation import (
    MANY_COLUMNS,
    check_features,
    check_rows,
    check_targets,
    check_task_names,
    check_tasks,
    check_weight,
    is_dask,
)
from skmtl.estimators.blocks import clean_blocks, is_large
from skmtl.features import check_kernel
from skmtl.losses import Loss
from skmtl.targets import ClassCoding, Coding, Labels, LongLabels, NumberCoding, TaskData, make_labels
from skmtl.targets.coding import MANY_CLASSES, code_column, is_indicator


class _Targets(NamedTuple):
    """Labels as numbers: a table of shape (n, n_tasks) with NaN at gaps, or with ``codes`` a column, (n,)."""

    coding: Coding
    names: NDArray[Any]
    values: Array
    codes: NDArray[np.intp] | None


def clean(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    tasks: Any = None,
    groups: Any = None,
    *,
    blocks: bool = False,
) -> TaskData:
    """Rows and labels of X, y and what goes with them, checked and named, as the parameters of an estimator ask.

    ``groups`` name, for each row that is passed, the rows that folds keep together. With ``blocks`` rows stay where
    they are, and are read a block at a time.
    """
    # Scikit-learn's checks write what they see on the estimator: here on a copy, which is thrown away.
    witness = copy(estimator)
    if blocks:
        data, unlabelled = clean_blocks(witness, X, y, sample_weight, tasks)
    else:
        data, unlabelled = _clean_memory(witness, X, y, sample_weight, tasks)
    # Such a task would be fitted to nothing, and its predictions would look like any others.
    for t in np.flatnonzero(data.labels.stats().total == 0.0):
        name = data.task_names.tolist()[t]
        raise ValueError(f"task {name!r} has no label at all (all are NaN or of weight zero); leave it out.")
    if unlabelled:
        which = "1 row has no label and is" if unlabelled == 1 else f"{unlabelled:,} rows have no label and are"
        warnings.warn(f"{which} left out.", UserWarning, stacklevel=3)
    return data if groups is None else replace(data, groups=_check_groups(groups, data))


def reads_blocks(estimator: Any, X: Any, loss: Loss) -> bool:
    """Whether X is read a block at a time: Dask, or features too many to be held; square loss needs no more."""
    check_kernel(estimator.kernel)
    landmarks = has_landmarks(estimator)
    if is_dask(X):
        if estimator.kernel != "linear" and not landmarks:
            raise ValueError(
                f"kernel={estimator.kernel!r} on Dask collections needs n_components, the number of landmarks on which "
                "it is approximated; an exact kernel would have to gather all rows."
            )
        if not loss.quadratic:
            raise ValueError(f"loss={loss.name!r} needs all rows in memory; Dask collections need loss='square'.")
        return True
    if not loss.quadratic or not (landmarks or estimator.kernel == "linear"):
        return False
    # Sparse rows are small as they are; what they become on landmarks is not.
    return (landmarks or not sparse.issparse(X)) and is_large(X, estimator.n_components or 1)


def has_landmarks(estimator: Any) -> bool:
    """Whether the kernel is approximated on landmarks."""
    if estimator.n_components is not None:
        check_count("n_components", estimator.n_components)
    return estimator.n_components is not None or not isinstance(estimator.landmarks, str)


def _check_groups(groups: Any, data: TaskData) -> NDArray[np.intp]:
    """The group of each row of the data as a number."""
    check_unmasked("groups", groups)
    try:
        codes, _ = pd.factorize(np.asarray(groups, dtype=object).ravel())
    except TypeError:
        given = " ".join(reprlib.repr(groups).split())
        raise ValueError(
            f"groups={given} does not say which rows belong together; name a group for each row."
        ) from None
    if len(codes) != data.n_given:
        raise ValueError(f"groups has {len(codes)} entries but X has {data.n_given} rows; name a group for each row.")
    if np.any(codes < 0):
        raise ValueError("groups has missing values; name a group for each row.")
    return codes if data.rows is None else codes[data.rows]


def _clean_memory(witness: Any, X: Any, y: Any, sample_weight: Any, tasks: Any) -> tuple[TaskData, int]:
    X = check_features(witness, X, reset=True)
    read = _read_classes if is_classifier(witness) else _read_numbers
    targets = read(X, y, sample_weight, tasks)
    rows, labels = _make_labels(targets, X, sample_weight, keep_all=has_landmarks(witness))
    # Rows without a label teach nothing; of a kernel matrix their columns go too, and come back with coefficients zero.
    pairwise = witness.kernel == "precomputed"
    n_given = len(targets.values)
    if len(rows) < n_given:
        X = X[np.ix_(rows, rows)] if pairwise else X[rows]
    data = TaskData(
        X,
        labels,
        targets.coding,
        targets.names,
        n_features=witness.n_features_in_,
        feature_names=getattr(witness, "feature_names_in_", None),
        rows=rows,
        n_given=n_given,
        pairwise=pairwise,
    )
    unlabelled = 0 if targets.codes is not None else int(np.isnan(targets.values).all(axis=1).sum())
    return data, unlabelled


def _read_numbers(X: Array, y: Any, sample_weight: Any, tasks: Any) -> _Targets:
    Y, flat = check_targets(y, X.shape[0])
    if tasks is None:
        return _Targets(NumberCoding(flat), check_task_names(y, Y.shape[1]), Y, None)
    codes, names = check_tasks(tasks, X.shape[0])
    if Y.shape[1] != 1:
        raise ValueError(MANY_COLUMNS.format(Y.shape[1]))
    if np.isnan(Y).any():
        raise ValueError(f"y has {int(np.isnan(Y).sum())} NaN values; in long format drop the rows without a label.")
    return _Targets(NumberCoding(flat=True), names, Y[:, 0], codes)


def _read_classes(X: Array, y: Any, sample_weight: Any, tasks: Any) -> _Targets:
    if tasks is None and is_indicator(y):
        Y, _ = check_targets(y, X.shape[0])
        return _Targets(ClassCoding.of_indicators(), check_task_names(y, Y.shape[1]), 2.0 * Y - 1.0, None)
    # A class that occurs with weight zero only is no class to learn.
    weight = check_weight(sample_weight, X)
    if y is not None:
        check_rows(np.asarray(y), X.shape[0])
    coding, column = code_column(y, weight)
    if tasks is None:
        return _Targets(coding, coding.task_names(), coding.encode_column(column), None)
    if coding.one_vs_all:
        raise ValueError(MANY_CLASSES.format(len(coding.classes)))
    codes, names = check_tasks(tasks, X.shape[0])
    return _Targets(coding, names, coding.encode(column), codes)


def _make_labels(targets: _Targets, X: Array, sample_weight: Any, *, keep_all: bool) -> tuple[NDArray[np.intp], Labels]:
    """The rows that have labels, and the labels."""
    values, codes = targets.values, targets.codes
    everything = np.arange(len(values))
    if codes is not None:
        weight = check_weight(sample_weight, X)
        return everything, LongLabels.from_rows(values, weight, codes, len(targets.names))
    missing = np.isnan(values)
    weight = check_weight(sample_weight, X, values.shape[1])
    weight = np.where(missing, 0.0, weight if weight.ndim == 2 else weight[:, None])
    # Any row may become a landmark; what has no weight counts for nothing else.
    rows = everything if keep_all else np.flatnonzero(~missing.all(axis=1))
    return rows, make_labels(values[rows], weight[rows])
