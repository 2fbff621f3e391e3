"""Scores on rows held out, task by task, and the paired differences between two models."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skmtl._linalg import Array
from skmtl.model_selection.candidates import standard_error
from skmtl.model_selection.folds import Split, test_labels
from skmtl.model_selection.scores import Score, own_score
from skmtl.model_selection.verdict import ALL_TASKS, WORSE, judge_interval
from skmtl.targets import Labels, TaskData


def score_tasks(score: Score, data: TaskData, labels: Labels, F: Array) -> Array:
    """The score of every task and of all together, of predictions laid out like the labels of test rows."""
    per_task = score.signed(labels, F, data.labels.stats().spread ** 2)
    return np.append(per_task, own_score(score, data)(labels, F))


def constant_predictions(data: TaskData, train: NDArray[np.intp], labels: Labels) -> Array:
    """The mean of the training labels of each task, laid out like the labels of test rows."""
    some = data.labels.take(train)
    means = np.nan_to_num(some.means(some.y))
    return np.zeros_like(labels.y) + labels.spread(means)


def score_constant(score: Score, data: TaskData, splits: Sequence[Split]) -> Array:
    """Scores of the constant on every fold, of shape (n_folds, n_tasks + 1)."""
    rows = [(train, test_labels(data.labels, train, test)) for train, test in splits]
    return np.array(
        [score_tasks(score, data, labels, constant_predictions(data, train, labels)) for train, labels in rows]
    )


def test_share(splits: Sequence[Split]) -> float:
    """The number of test rows to that of training rows."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))


def compare_scores(
    method: str,
    scores: Array,
    alone: Array,
    constant: Array,
    *,
    tasks: list[object],
    ratio: float,
    level: float,
    scoring: str,
) -> pd.DataFrame:
    """Paired differences over folds, of shape (n_folds, n_tasks + 1), with intervals and verdicts."""
    low, high = paired_interval(scores - alone, ratio, level)
    above = np.maximum(column_means(scores - constant), column_means(alone - constant)) > 0.0
    sure = _beyond(scores - constant) | _beyond(alone - constant)
    words = [judge_interval(*ends) for ends in zip(low, high, strict=True)]
    return pd.DataFrame(
        {
            "method": method,
            "task": [*tasks, ALL_TASKS],
            "scoring": scoring,
            "score": column_means(scores),
            "independent": column_means(alone),
            "constant": column_means(constant),
            "difference": column_means(scores - alone),
            "low": low,
            "high": high,
            "verdict": [word if better else WORSE for word, better in zip(words, above | sure, strict=True)],
            "predictable": sure,
        }
    )


def _beyond(gains: Array) -> NDArray[np.bool_]:
    """Which columns are beyond zero by two standard errors, as far as there are some; all that have no entry.

    The interval of ``paired_interval`` would be too wide here: what a constant leaves differs much from fold to fold,
    and tasks that are predicted nearly perfectly would be doubted.
    """
    return np.isnan(gains).all(axis=0) | (column_means(gains) > 2.0 * standard_error(gains.T))


def paired_interval(differences: Array, ratio: float, level: float) -> tuple[Array, Array]:
    """The interval of the mean of each column over folds that share training rows; all numbers for a single fold.

    ``ratio`` is the number of test rows to that of training rows: folds are not independent, and the variance of
    their mean is (1/K + ratio) times that of one.
    """
    known = ~np.isnan(differences)
    count = known.sum(axis=0)
    mean = column_means(differences)
    squares = np.where(known, (differences - mean) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1) * (1.0 / np.maximum(count, 1) + ratio)
    quantile = stats.t.ppf(0.5 + 0.5 * level, np.maximum(count - 1, 1))
    width = np.where(count > 1, quantile * np.sqrt(variance), np.inf)
    return mean - width, mean + width


def column_means(values: Array) -> Array:
    """Means over the folds where a score is defined; NaN where there is none."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0)
