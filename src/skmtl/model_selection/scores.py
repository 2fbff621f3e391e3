"""Scores of predictions that cover known labels only, task by task and averaged over tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score

from skmtl._linalg import Array
from skmtl._validation import check_rows, check_targets, check_task_names, check_weight
from skmtl.model_selection.entries import Entries


@dataclass(frozen=True)
class Score:
    """A score per task.

    Attributes
    ----------
    per_task : callable
        Takes entries, predictions laid out like them, and a variance per task; returns a value per task, NaN where
        it is not defined.
    sign : float
        +1 where more is better, -1 where less is.
    for_classes : bool
        Whether labels are -1 and +1, and predictions their scores.
    """

    per_task: Callable[[Entries, Array, Array], Array]
    sign: float = 1.0
    for_classes: bool = False

    def __call__(self, entries: Entries, F: Array, variance: Array | None = None) -> Array:
        """The score of each task; the variance is that of the entries unless given."""
        return self.per_task(entries, F, entries.variances() if variance is None else variance)


def _nmse(entries: Entries, F: Array, variance: Array) -> Array:
    error = entries.means((entries.y - F) ** 2)
    # Of a constant nothing can be explained: 0 where it is predicted exactly, else 1.
    constant = np.where(error > 0.0, 1.0, 0.0) + 0.0 * error
    return np.divide(error, variance, out=constant, where=variance > 0.0)


def _rrmse(entries: Entries, F: Array, variance: Array) -> Array:
    return np.sqrt(_nmse(entries, F, variance))


def _r2(entries: Entries, F: Array, variance: Array) -> Array:
    return 1.0 - _nmse(entries, F, variance)


def _accuracy(entries: Entries, F: Array, variance: Array) -> Array:
    return entries.means(((F > 0.0) == (entries.y > 0.0)).astype(float))


def _average_precision(entries: Entries, F: Array, variance: Array) -> Array:
    values = np.full(entries.n_tasks, np.nan)
    for t in range(entries.n_tasks):
        positive = entries.of_task(entries.y, t) > 0.0
        if positive.any() and not positive.all():
            weight = entries.of_task(entries.weight, t)
            values[t] = average_precision_score(positive, entries.of_task(F, t), sample_weight=weight)
    return values


SCORES: dict[str, Score] = {
    "r2": Score(_r2),
    "nmse": Score(_nmse, sign=-1.0),
    "arrmse": Score(_rrmse, sign=-1.0),
    "accuracy": Score(_accuracy, for_classes=True),
    "average_precision": Score(_average_precision, for_classes=True),
}


def mean_score(values: Array) -> float:
    """The mean over tasks for which a score is defined; NaN where there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def target_scores(
    Y: ArrayLike, F: ArrayLike, scoring: str = "r2", *, sample_weight: ArrayLike | None = None
) -> "pd.Series[float]":
    r"""The score of each task over its known labels, and their mean.

    With the errors :math:`r = y - f` and the variance of the labels themselves, ``"nmse"`` is
    :math:`\overline{r^2} / \operatorname{var}(y)`, ``"arrmse"`` its root, and ``"r2"`` one minus it. A task whose
    known labels are all equal has nmse 0 when predicted exactly, else 1. ``"accuracy"`` and ``"average_precision"``
    take labels 0 and 1 (or -1 and +1) and scores whose sign decides; precision is not defined for one class.

    Parameters
    ----------
    Y : array-like of shape (n,) or (n, n_tasks)
        Labels, NaN where one is not known.
    F : array-like of the shape of Y
        Predictions; for classes the decision function.
    scoring : {"r2", "nmse", "arrmse", "accuracy", "average_precision"}, default="r2"
    sample_weight : array-like of shape (n,) or (n, n_tasks), optional

    Returns
    -------
    Series
        A value per task, NaN where it is not defined, and under ``"mean"`` the mean of the others.

    Examples
    --------
    >>> from skmtl.model_selection import target_scores
    >>> target_scores([[1.0, 2.0], [3.0, float("nan")], [5.0, 4.0]], [[1, 2], [3, 9], [5, 2]], "r2").tolist()
    [1.0, -1.0, 0.0]
    """
    score = check_score(scoring)
    prediction = np.asarray(F, dtype=float)
    table, _ = check_targets(Y, len(prediction))
    if prediction.size != table.size:
        raise ValueError(f"Y has shape {table.shape} but F has {prediction.shape}; they must match.")
    entries = make_entries(table, sample_weight)
    if score.for_classes:
        _check_signs(table)
    values = score(entries, np.where(entries.weight > 0.0, prediction.reshape(table.shape), 0.0))
    names = check_task_names(Y, table.shape[1]).tolist()
    return pd.Series([*values, mean_score(values)], index=[*names, "mean"], name=scoring)


def check_score(scoring: Any) -> Score:
    """A score from its name."""
    if not isinstance(scoring, str) or scoring not in SCORES:
        raise ValueError(f"scoring={scoring!r} is not known here; choose one of {', '.join(SCORES)}.")
    return SCORES[scoring]


def make_entries(Y: Array, sample_weight: Any) -> Entries:
    """Entries of a table with NaN at its gaps."""
    weight = check_weight(sample_weight, Y, Y.shape[1])
    weight = np.where(np.isnan(Y), 0.0, weight if weight.ndim == 2 else weight[:, None])
    check_rows(weight, len(Y), "sample_weight")
    return Entries(np.where(weight > 0.0, Y, 0.0), weight, None, Y.shape[1])


def _check_signs(Y: Array) -> None:
    """Labels of two classes, the positive one above zero."""
    other = Y[~np.isin(Y, (-1.0, 0.0, 1.0)) & ~np.isnan(Y)]
    if len(other):
        raise ValueError(f"Y holds {other[0]:g}; for this score its labels must be 0 and 1, or -1 and +1.")
