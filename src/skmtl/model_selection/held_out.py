"""Scores on rows held out, task by task, and the paired differences between two models."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.model_selection.candidates import standard_error
from skmtl.model_selection.folds import Split, test_labels
from skmtl.model_selection.scores import Score, constant_predictions, own_score
from skmtl.model_selection.verdict import (
    ALL_TASKS,
    NOT_JUDGED,
    UNCHANGED,
    WORSE,
    PairedScores,
    column_means,
    describe_alone,
    describe_verdict,
    judge_interval,
    paired_interval,
)
from skmtl.penalties import Independent
from skmtl.targets import Labels, TaskData

# Where a comparison has why the model that is kept was taken, which is said where the other one is ahead.
WHY_KEPT = "why kept"
# Gains in each of so many folds are no chance.
SEVERAL_FOLDS = 5


def score_tasks(score: Score, data: TaskData, labels: Labels, F: Array) -> Array:
    """The score of every task and of all together, of predictions laid out like the labels of test rows."""
    per_task = score.signed(labels, F, data.labels.stats().spread)
    return np.append(per_task, own_score(score, data)(labels, F))


def score_constant(score: Score, data: TaskData, splits: Sequence[Split]) -> Array:
    """Scores of the constant on every fold, of shape (n_folds, n_tasks + 1)."""
    rows = [(train, test_labels(data.labels, train, test)) for train, test in splits]
    return np.array(
        [score_tasks(score, data, labels, constant_predictions(data, train, labels)) for train, labels in rows]
    )


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
    """Paired differences over folds, of shape (n_folds, n_tasks + 1), with intervals and verdicts.

    A task whose labels are all the same on the rows held out has no score, and is not judged.
    """
    low, high = paired_interval(scores - alone, ratio, level)
    above = np.maximum(column_means(scores - constant), column_means(alone - constant)) > 0.0
    sure = _beyond(scores - constant) | _beyond(alone - constant)
    means = column_means(scores), column_means(alone)
    words = np.array([judge_interval(*four) for four in zip(low, high, *means, strict=True)])
    judged = ~np.isnan(means[0])
    return pd.DataFrame(
        {
            "method": method,
            "task": [*tasks, ALL_TASKS],
            "scoring": scoring,
            "score": means[0],
            "independent": means[1],
            "constant": column_means(constant),
            "difference": column_means(scores - alone),
            "low": low,
            "high": high,
            "verdict": np.where(judged, np.where(above | sure, words, WORSE), NOT_JUDGED).tolist(),
            "predictable": sure & judged,
        }
    )


def _beyond(gains: Array) -> NDArray[np.bool_]:
    """Which columns are beyond zero by two standard errors, or in every one of several folds; all that have no entry.

    The interval of ``paired_interval`` would be too wide here: what a constant leaves differs much from fold to fold,
    and tasks that are predicted nearly perfectly would be doubted. So would two standard errors be where a single fold
    gains far more than the others: noise gains in all of five folds once in 32 times.
    """
    known = np.sum(~np.isnan(gains), axis=0)
    always = (known >= SEVERAL_FOLDS) & (np.sum(gains > 0.0, axis=0) == known)
    return (known == 0) | always | (column_means(gains) > 2.0 * standard_error(gains.T))


def describe_comparison(comparison: pd.DataFrame, method: str | None = None, *, kept: str | None = None) -> str:
    """The verdict of a comparison with independent tasks, in one sentence.

    Parameters
    ----------
    comparison : DataFrame
        What :func:`compare_methods` returns.
    method : str, optional
        Which of the methods compared; by default the first.
    kept : str, optional
        The method of a model that is kept, where the comparison judges one.

    Returns
    -------
    str
        It begins with "Sharing helps", "Sharing hurts" or "Too close to call", as the interval of the difference over
        all tasks says, or with "Sharing changes nothing", or next to nothing, where there is none to speak of; with
        "Worse than a constant" where that is so, for then nothing else matters.

    See Also
    --------
    compare_methods : Makes the comparison.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV, compare_methods
    >>> from skmtl.model_selection import describe_comparison
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(kernel="linear", alphas=[0.1, 1.0], mus=[0.9], cv=3)
    >>> describe_comparison(compare_methods(X, Y, ["sparse"], estimator=search, cv=3))[:22]
    'Worse than a constant:'
    """
    known = list(dict.fromkeys(comparison["method"]))
    name = known[0] if method is None else method
    if name not in known:
        raise ValueError(f"method={name!r} was not compared; choose one of {', '.join(map(str, known))}.")
    rows = comparison[comparison["method"] == name]
    row: dict[Any, Any] = rows[rows["task"] == ALL_TASKS].iloc[-1].to_dict()
    scoring, constant = str(row["scoring"]), _known(row["constant"])
    if not is_shared(rows):
        return describe_alone(scoring, row["score"], constant, len(rows) - 1)
    paired = _paired(row, constant)
    return describe_verdict(paired, kept=kept, note=comparison.attrs.get(WHY_KEPT, "") if _behind(paired, kept) else "")


def _behind(paired: PairedScores, kept: str | None) -> bool:
    """Whether the model that is kept does not do as well as the other."""
    gain = paired.difference if kept == Independent.name else -paired.difference
    return kept is not None and gain > 0.0 and paired.word != UNCHANGED


def is_shared(rows: pd.DataFrame) -> bool:
    """Whether a method, of which these are the rows of a comparison, shares anything between several tasks."""
    # The last row is that of all tasks.
    return len(rows) > 2 and rows["method"].iloc[0] != Independent.name


def _paired(row: dict[Any, Any], constant: float | None) -> PairedScores:
    numbers = {name: float(row[name]) for name in ("score", "independent", "difference", "low", "high")}
    return PairedScores(str(row["method"]), str(row["scoring"]), constant=constant, **numbers)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
