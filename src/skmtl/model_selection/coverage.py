"""Do intervals cover as often as they say? Looked at on rows held out."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GroupKFold, KFold

from skmtl._linalg import Array
from skmtl.estimators.clean import clean
from skmtl.estimators.uncertainty import count_units, find_evidence, units_needed
from skmtl.targets import Labels

COVERAGES = (0.5, 0.8, 0.9, 0.95)
# Relative to a label, by how much sums in double precision may be wrong.
ROUNDING = 1e-12


def interval_coverage(
    estimator: Any,
    X: Any,
    Y: Any,
    *,
    tasks: Any = None,
    groups: Any = None,
    coverages: Sequence[float] = COVERAGES,
    n_folds: int = 5,
    random_state: Any = 0,
) -> pd.DataFrame:
    """Predict every label, with intervals, by a fit to other rows.

    The structure, and a metric, are learned anew in every fold; other parameters are those of the estimator.

    Parameters
    ----------
    estimator : MultiTaskRegressor
        With square loss; its parameters are taken as they are.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of one group are in one fold, and intervals are for new groups.
    coverages : sequence of float, default=(0.5, 0.8, 0.9, 0.95)
        What intervals are to cover; those for which a fold has too few labels, or groups, are left out.
    n_folds : int, default=5
        The number of folds.
    random_state : int, RandomState instance or None, default=0
        For the folds.

    Returns
    -------
    DataFrame
        A row per label and coverage: ``task``, ``coverage``, ``observed``, ``predicted``, ``low``, ``high`` and
        ``covered``.

    See Also
    --------
    skmtl.MultiTaskRegressor.predict_interval : Makes the intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import interval_coverage
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> found = interval_coverage(MultiTaskRegressor(alpha=1.0), X, Y, coverages=[0.5, 0.8])
    >>> found.groupby("coverage")["covered"].mean().round(1).tolist()
    [0.6, 0.8]
    """
    if not is_regressor(estimator):
        raise ValueError(f"intervals are those of a regressor with loss='square', not of {estimator!r:.60}.")
    data = clean(estimator, X, Y, tasks=tasks, groups=groups)
    folds = (KFold if groups is None else GroupKFold)(n_folds, shuffle=True, random_state=random_state)
    parts = []
    for train, test in folds.split(np.arange(data.labels.n_rows), groups=data.groups):
        if _counts(data.labels.take(train)).min() == 0:
            # Nothing can be learned of a task whose labels are all in this fold.
            continue
        model, rows = clone(estimator).set_params(callback=None), data.take(train)
        with warnings.catch_warnings():
            # A fold that is not solved to the last digit tells as much about intervals.
            warnings.simplefilter("ignore")
            _fit(model, rows)
        held_out, n_units = data.labels.take(test), count_units(find_evidence(model, data.X)).min()
        possible = [c for c in coverages if n_units >= units_needed(c)]
        parts += [_judge(model, data.X[test], held_out, data.task_names, c) for c in possible]
    columns = ["task", "coverage", "observed", "predicted", "low", "high", "covered"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _counts(labels: Labels) -> Any:
    """How many labels each task has."""
    return labels.sums((labels.weight > 0.0).astype(float))


def _fit(model: Any, data: Any) -> None:
    labels = data.labels
    y, weight = labels.in_rows(labels.y), labels.in_rows(labels.weight)
    if labels.long:
        model.fit(data.X, y, sample_weight=weight, tasks=labels.tasks, groups=data.groups)
    else:
        model.fit(data.X, np.where(weight > 0.0, y, np.nan), sample_weight=weight, groups=data.groups)


def _judge(model: Any, X: Any, labels: Labels, names: Any, coverage: float) -> pd.DataFrame:
    """What the intervals of one fold say of its labels."""
    low, high = model.predict_interval(X, coverage=coverage)
    predicted = model.predict(X)
    y, weight = labels.in_rows(labels.y), labels.in_rows(labels.weight)
    row, task = np.nonzero(weight.reshape(len(y), -1) > 0.0)
    observed = y.reshape(len(y), -1)[row, task]
    task = labels.tasks[row] if labels.long else task
    ends = [np.asarray(part).reshape(len(y), -1)[row, task] for part in (predicted, low, high)]
    return pd.DataFrame(
        {
            "task": names[task],
            "coverage": coverage,
            "observed": observed,
            "predicted": ends[0],
            "low": ends[1],
            "high": ends[2],
            "covered": covers(ends[1], ends[2], observed),
        }
    )


def covers(low: Array, high: Array, observed: Array) -> NDArray[np.bool_]:
    """Which labels lie within their intervals, but for rounding; that of labels that are all the same is one value."""
    slack = ROUNDING * np.abs(observed)
    return (low - slack <= observed) & (observed <= high + slack)
