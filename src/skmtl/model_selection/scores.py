"""Scores of predictions that cover known labels only, task by task and over all tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from skmtl._linalg import Array, Mask, mean_known
from skmtl._parameters import is_function
from skmtl._validation import check_rows, check_targets, check_task_names, check_weight
from skmtl.estimators.publish import assign, set_at_once
from skmtl.model_selection.candidates import Answer, candidate_estimator, row_means
from skmtl.model_selection.folds import Fold, Split, test_labels
from skmtl.model_selection.ranking import average_precision, roc_auc
from skmtl.targets import ErrorSums, Labels, TableLabels, TaskData

# A class that has less than this share of the labels is rare: accuracy would call it a success to never predict it.
RARE = 0.2

# Of labels, predictions laid out like them, and a spread per task or None for that of the labels themselves.
PerTask = Callable[[Labels, Array, Array | None], Array]
# The same for all tasks at once; the last says whether every row has one class.
Overall = Callable[[Labels, Array, bool], float]

# The score of an answer that was learned on the training rows of a fold, and of its predictions at the test rows.
Evaluate = Callable[[Fold, Answer, Array], float]


@dataclass(frozen=True)
class Score:
    """A score of every task, and of all together.

    Attributes
    ----------
    per_task : callable
        A value per task, NaN where it is not defined.
    overall : callable, optional
        One value for all tasks; by default the mean over tasks.
    sign : float
        +1 where more is better, -1 where less is.
    for_classes : bool
        Whether labels are -1 and +1, and predictions their scores.
    of_order : bool
        Whether it sees nothing of predictions but their order.
    of_errors : bool
        Whether it is the mean over tasks of what squared errors add up to, so that many predictions are scored at once.
    """

    per_task: PerTask
    overall: Overall | None = None
    sign: float = 1.0
    for_classes: bool = False
    of_order: bool = False
    of_errors: bool = False

    def signed(self, labels: Labels, F: Array, spread: Array | None = None) -> Array:
        """The score of each task, more is better; NaN for tasks whose labels are all the same, where others are not."""
        values = self.sign * self.per_task(labels, F, spread)
        if spread is None or not np.any(spread > 0.0):
            return values
        # Whoever predicts a constant target is right, and means would count that as a success.
        return np.where(spread > 0.0, values, np.nan)

    def signed_total(self, labels: Labels, F: Array, spread: Array | None, *, one_class: bool) -> float:
        """The score of all tasks, more is better."""
        if self.overall is not None:
            return self.sign * self.overall(labels, F, one_class)
        return mean_known(self.signed(labels, F, spread))


def _nmse(labels: Labels, F: Array, spread: Array | None) -> Array:
    return ErrorSums.from_labels(labels, F).nmse(spread)


def _rrmse(labels: Labels, F: Array, spread: Array | None) -> Array:
    return np.sqrt(_nmse(labels, F, spread))


def _pooled_r2(labels: Labels, F: Array, spread: Array | None) -> Array:
    return 1.0 - _nmse(labels, F, spread)


def _r2(labels: Labels, F: Array, spread: Array | None) -> Array:
    return ErrorSums.from_labels(labels, F).r2()


def _r2_as_scored(labels: Labels, F: Array, one_class: bool) -> float:
    """As ``score`` of a regressor has it: in long format over all rows at once."""
    if labels.long:
        labels, F = TableLabels(labels.y[:, None], labels.weight[:, None]), F[:, None]
    return mean_known(ErrorSums.from_labels(labels, F).r2())


def _accuracy(labels: Labels, F: Array, spread: Array | None) -> Array:
    return labels.means(((F > 0.0) == (labels.y > 0.0)).astype(float))


def _accuracy_as_scored(labels: Labels, F: Array, one_class: bool) -> float:
    """As ``score`` of a classifier has it: rows whose class, or whose known labels, are all right."""
    if one_class:
        right, weight = F.argmax(axis=1) == labels.y.argmax(axis=1), labels.weight[:, 0]
    elif labels.long:
        right, weight = (F > 0.0) == (labels.y > 0.0), labels.weight
    else:
        known = labels.weight > 0.0
        right, weight = np.all(((F > 0.0) == (labels.y > 0.0)) | ~known, axis=1), labels.weight.max(axis=1)
    return float(np.average(right, weights=weight)) if weight.sum() > 0.0 else float("nan")


def _average_precision(labels: Labels, F: Array, spread: Array | None) -> Array:
    return _ranked(average_precision, labels, F)


def _roc_auc(labels: Labels, F: Array, spread: Array | None) -> Array:
    return _ranked(roc_auc, labels, F)


def _ranked(score: Callable[[Mask, Array, Array], float], labels: Labels, F: Array) -> Array:
    """A score of the order that predictions give to rows, which needs both classes."""
    values = np.full(labels.n_tasks, np.nan)
    for t in range(labels.n_tasks):
        positive = labels.of_task(labels.y, t) > 0.0
        if positive.any() and not positive.all():
            values[t] = score(positive, labels.of_task(F, t), labels.of_task(labels.weight, t))
    return values


SCORES: dict[str, Score] = {
    "pooled_r2": Score(_pooled_r2, of_errors=True),
    "r2": Score(_r2, _r2_as_scored),
    "nmse": Score(_nmse, sign=-1.0, of_errors=True),
    "arrmse": Score(_rrmse, sign=-1.0, of_errors=True),
    "task_accuracy": Score(_accuracy, for_classes=True),
    "accuracy": Score(_accuracy, _accuracy_as_scored, for_classes=True),
    "average_precision": Score(_average_precision, for_classes=True, of_order=True),
    "roc_auc": Score(_roc_auc, for_classes=True, of_order=True),
}


def target_scores(
    Y: ArrayLike, F: ArrayLike, scoring: str = "r2", *, sample_weight: ArrayLike | None = None
) -> pd.Series[float]:
    r"""The score of each task over its known labels, and their mean.

    With the errors :math:`r = y - f` and the variance of the labels themselves, ``"nmse"`` is
    :math:`\overline{r^2} / \operatorname{var}(y)`, ``"arrmse"`` its root, and ``"pooled_r2"`` one minus it. ``"r2"`` is
    the same, but not defined for a task with one label. A task whose known labels are all equal has nmse 0 when
    predicted exactly, else 1. ``"accuracy"``, which is ``"task_accuracy"`` here, and ``"average_precision"`` take
    labels 0 and 1 (or -1 and +1) and scores whose sign decides; precision, and ``"roc_auc"``, the area under the curve
    of true against false positives, are not defined for one class.

    Parameters
    ----------
    Y : array-like of shape (n,) or (n, n_tasks)
        Labels, NaN where one is not known.
    F : array-like of the shape of Y
        Predictions; for classes the decision function.
    scoring : str, default="r2"
        One of ``SCORES``.
    sample_weight : array-like of shape (n,) or (n, n_tasks), optional
        Weights of the rows, or of the labels.

    Returns
    -------
    Series
        A value per task, NaN where it is not defined, and under ``"mean"`` the mean of the others.

    See Also
    --------
    compare_methods : Scores of several methods, with intervals.

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
    weight = check_weight(sample_weight, table, table.shape[1])
    check_rows(weight, len(table), "sample_weight")
    if score.for_classes:
        _check_signs(table)
    labels = TableLabels(table, np.where(np.isnan(table), 0.0, weight if weight.ndim == 2 else weight[:, None]))
    known = np.where(labels.weight > 0.0, prediction.reshape(table.shape), 0.0)
    values = score.per_task(labels, known, None)
    names = check_task_names(Y, table.shape[1]).tolist()
    return pd.Series([*values, mean_known(values)], index=[*names, "mean"], name=scoring)


def check_score(scoring: Any) -> Score:
    """A score from its name."""
    if not isinstance(scoring, str) or scoring not in SCORES:
        raise ValueError(f"scoring={scoring!r} is not known here; choose one of {', '.join(SCORES)}.")
    return SCORES[scoring]


def score_name(scoring: Any, data: TaskData) -> str:
    """The name of a score; None is the one that suits the data."""
    if scoring is not None:
        return scoring if isinstance(scoring, str) else "score"
    if data.coding.classes is None:
        return "pooled_r2"
    if 0.0 < _rarest_share(data) < RARE:
        return "roc_auc"
    return "accuracy" if data.coding.one_vs_all or data.labels.n_tasks == 1 else "task_accuracy"


def _rarest_share(data: TaskData) -> float:
    """The share of labels that are not of the largest class; of several targets the smallest, constant ones apart."""
    share = data.labels.means((data.labels.y > 0.0).astype(float))
    if data.coding.one_vs_all:
        return 1.0 - float(share.max())
    other = np.minimum(share, 1.0 - share)
    return float(np.min(other, where=other > 0.0, initial=0.5))


def sees_order(scoring: Any) -> bool:
    """Whether a score, which may be named, sees nothing of predictions but their order."""
    return isinstance(scoring, str) and scoring in SCORES and SCORES[scoring].of_order


def own_score(score: Score, data: TaskData) -> Callable[[Labels, Array], float]:
    """One of our scores over all tasks; each task is measured by its spread over all rows."""
    if score.for_classes and data.coding.classes is None:
        name = next(name for name, one in SCORES.items() if one is score)
        possible = ", ".join(name for name, one in SCORES.items() if not one.for_classes)
        raise ValueError(f"scoring={name!r} is for classes; choose one of {possible}.")
    spread, one_class = data.labels.stats().spread, data.coding.one_vs_all

    def evaluate(test: Labels, F: Array) -> float:
        return score.signed_total(test, F, spread, one_class=one_class)

    return evaluate


def own_scores(score: Score, data: TaskData) -> Callable[[Labels, Array], Array]:
    """The same for several predictions of the same labels, along the first axis."""
    one, spread = own_score(score, data), data.labels.stats().spread

    def evaluate(test: Labels, F: Array) -> Array:
        if score.of_errors:
            return row_means(score.signed(test, F, spread))
        return np.array([one(test, some) for some in F])

    return evaluate


def constant_predictions(data: TaskData, train: NDArray[np.intp], labels: Labels) -> Array:
    """The mean of the training labels of each task, laid out like the labels of test rows."""
    some = data.labels.take(train)
    means = np.nan_to_num(some.means(some.y))
    return np.zeros_like(labels.y) + labels.spread(means)


def constant_score(name: str, data: TaskData, splits: Sequence[Split]) -> float | None:
    """The mean over folds of the score of a constant, of all tasks together; None where the score has none."""
    if name not in SCORES:
        return None
    score, labels = own_score(SCORES[name], data), data.labels
    tests = [(train, test_labels(labels, train, test)) for train, test in splits]
    values = np.array([score(some, constant_predictions(data, train, some)) for train, some in tests])
    return None if np.isnan(values).all() else float(np.nanmean(values))


def _check_signs(Y: Array) -> None:
    """Labels of two classes, the positive one above zero."""
    other = Y[~np.isin(Y, (-1.0, 0.0, 1.0)) & ~np.isnan(Y)]
    if len(other):
        raise ValueError(f"Y holds {other[0]:g}; for this score its labels must be 0 and 1, or -1 and +1.")


def own_evaluate(name: str, data: TaskData) -> Evaluate:
    """One of our scores, which needs no model but its predictions."""
    score = own_score(SCORES[name], data)
    return lambda fold, answer, F: score(fold.labels, F)


def scorer_evaluate(scoring: Any, model: Any, data: TaskData) -> Evaluate:
    """A scorer of scikit-learn, which asks a fitted model."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise ValueError(
            f"scoring={scoring!r} is not known; choose one of {', '.join(SCORES)}, or a scorer of scikit-learn "
            "(sklearn.metrics.get_scorer_names())."
        )
    if not isinstance(scoring, str) and not is_function(scoring):
        raise ValueError(f"scoring={scoring!r:.50} is no score; pass a name, or a scorer that make_scorer makes.")
    scorer = get_scorer(scoring)
    if data.labels.long:
        raise ValueError(
            f"scoring={scoring!r} cannot tell predict which task a row is of; in long format choose one of "
            f"{', '.join(SCORES)}."
        )
    if np.any(data.labels.weight == 0.0):
        raise ValueError(
            f"scoring={scoring!r} knows nothing of missing labels and of weights of zero; with them choose "
            f"one of {', '.join(SCORES)}."
        )
    y, as_passed = data.coding.predictions(data.labels.y), _frame_maker(data)

    def evaluate(fold: Fold, answer: Answer, F: Array) -> float:
        candidate, solution = answer
        fitted = assign(candidate_estimator(model, candidate), fold.training, candidate.settings, solution)
        X = data.features(fold.test, fold.train)
        if data.feature_names is not None:
            # A data frame came, and a scorer that asks for its columns finds them.
            set_at_once(fitted, {"feature_names_in_": data.feature_names})
            X = pd.DataFrame(X, columns=data.feature_names)
        return float(scorer(fitted, X, as_passed(y[fold.test])))

    return evaluate


def _frame_maker(data: TaskData) -> Callable[[Any], Any]:
    """Labels as they came: in a data frame, where their columns had names of their own."""
    names = data.task_names.tolist()
    plain = data.coding.classes is not None or names == [f"y{t}" for t in range(len(names))]
    return lambda y: y if plain or y.ndim == 1 else pd.DataFrame(y, columns=names)
