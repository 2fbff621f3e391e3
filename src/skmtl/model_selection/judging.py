"""A model with the parameters that it has, beside independent tasks and a constant, on rows held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl._parameters import check_jobs
from skmtl.estimators.base import make_effort, make_settings
from skmtl.estimators.clean import clean
from skmtl.losses.base import check_loss
from skmtl.model_selection.base import MultiTaskSearch
from skmtl.model_selection.folds import (
    Callback,
    Fold,
    Progress,
    Split,
    TrainingSource,
    keep_finished,
    make_splits,
    test_share,
)
from skmtl.model_selection.held_out import compare_scores, describe_comparison, score_tasks
from skmtl.model_selection.path import settle
from skmtl.model_selection.scores import Score, check_score, constant_predictions, own_score, score_name
from skmtl.model_selection.verdict import ALONE, NOT_JUDGED, WORSE, method_name
from skmtl.penalties import Independent, check_penalty
from skmtl.solvers.training import Settings
from skmtl.targets import TaskData

# A picture of predictions needs no more rows than these.
MOST_ROWS = 1000
# What candidates that share a kernel may differ in.
OWN = ("penalty", "alpha", "eps_factor", "common")


@dataclass(frozen=True)
class Judgement:
    """What :func:`judge_model` found.

    Attributes
    ----------
    comparison : DataFrame
        As :func:`compare_methods` returns it, for one method.
    verdict : str
        The same in one sentence.
    predictions : DataFrame
        ``task``, ``row``, ``observed`` and ``predicted``: labels on rows held out, and what the model makes of them;
        of classes -1 and +1 and their scores. Of many rows, some.

    See Also
    --------
    judge_model : Makes one.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import judge_model
    >>> judgement = judge_model(MultiTaskRegressor(alpha=1.0), *load_linnerud(return_X_y=True, as_frame=True))
    >>> judgement.predictions.columns.tolist()
    ['task', 'row', 'observed', 'predicted']
    """

    comparison: pd.DataFrame
    verdict: str
    predictions: pd.DataFrame


def judge_model(
    estimator: Any,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    rival: Mapping[str, Any] | None = None,
    cv: Any = 5,
    scoring: str | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    tasks: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Judgement:
    """Judge a model, with the parameters that it has, beside independent tasks and a constant.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        Its parameters are held. Of a CV estimator, those it chooses on all rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    rival : dict, optional
        Parameters in which the other model differs: independent tasks beside a shared model, a shared model beside
        independent tasks. By default independent tasks with the same alpha, and none beside independent tasks; of a CV
        estimator, the best of its candidates.
    cv : int, splitter or iterable of index pairs, default=5
        The folds.
    scoring : str, optional
        One of ``SCORES``; by default the one that suits the labels. More is better: errors count as negative.
    level : float, default=0.95
        Level of the intervals.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
        Weights, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of a group stay together in the folds.
    n_jobs : int, optional
        Folds in parallel, through joblib.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "remaining": seconds}`` after every fold.

    Returns
    -------
    Judgement
        Scores task by task, the verdict, and predictions of rows held out. Where the parameters were chosen on the
        same rows, all scores are a little too good.

    See Also
    --------
    compare_methods : Several methods, their parameters chosen within every training fold.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import judge_model
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> judge_model(MultiTaskRegressor(alpha=1.0), X, Y).comparison["task"].tolist()
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """
    if isinstance(estimator, MultiTaskSearch):
        estimator = clone(estimator).fit(X, Y, sample_weight=sample_weight, tasks=tasks, groups=groups)
        rival = best_rival(estimator, estimator.best_index_) if rival is None else rival
        estimator = estimator.best_estimator_
    model = settle(estimator, X, Y, sample_weight=sample_weight, tasks=tasks, groups=groups)
    loss = check_loss(model.loss, purpose=model.purpose)
    data = clean(model, X, Y, sample_weight, tasks, groups)
    name = score_name(scoring, data)
    score = check_score(name)
    own_score(score, data)  # refuses a score of classes for numbers, before the work starts
    splits = make_splits(cv, data)
    settings = _settings(model, rival, data.labels.n_tasks)
    source = TrainingSource(model, data, loss)
    jobs = (delayed(_judge_fold)(source, settings, score, split, len(splits)) for split in splits)
    progress = Progress(callback, len(splits))
    done = keep_finished(Parallel(n_jobs=check_jobs(n_jobs), return_as="generator")(jobs), progress, "folds")
    scores = np.array([one for one, _ in done]).swapaxes(0, 1)
    # The model first, then its rival, where it has one, then the constant.
    ours, other, constant = scores[0], scores[-2], scores[-1]
    shared, alone = (other, ours) if is_apart(settings[0]) else (ours, other)
    sharing = settings[-1] if is_apart(settings[0]) else settings[0]
    comparison = compare_scores(
        method_name(sharing.penalty.name, sharing.common),
        shared,
        alone,
        constant,
        tasks=data.task_names.tolist(),
        ratio=test_share(splits),
        level=level,
        scoring=name,
    )
    if len(settings) == 1:
        comparison["verdict"] = comparison["verdict"].where(comparison["verdict"].isin([WORSE, NOT_JUDGED]), ALONE)
    kept = method_name(settings[0].penalty.name, settings[0].common)
    predictions = pd.concat([part for _, part in done], ignore_index=True)
    predictions["task"] = data.task_names[predictions["task"]]
    return Judgement(comparison, describe_comparison(comparison, kept=kept), predictions)


def _settings(model: Any, rival: Mapping[str, Any] | None, n_tasks: int) -> list[Settings]:
    """Those of the model, and of its rival, where it has one."""
    ours = make_settings(model, n_tasks)
    if rival is None:
        if is_apart(ours) or n_tasks == 1:
            return [ours]
        rival = {"penalty": Independent(), "common": 0.0, "eps": "auto"}
    penalty = check_penalty(rival.get("penalty", model.penalty), n_tasks)
    changed = {"solver": "auto"} if penalty.known else {}
    return [ours, make_settings(clone(model).set_params(**{**rival, **changed}), n_tasks)]


def best_rival(search: Any, index: int) -> dict[str, Any] | None:
    """The best candidate of a fitted search that shares where this one does not, or the other way about."""
    params = search.cv_results_["params"]
    chosen = params[index]
    apart = np.array([row["penalty"].name == Independent.name and row["common"] == 0.0 for row in params])
    # With the kernel and the width of the chosen one; alpha and what follows it are the penalty's.
    rows_alike = [all(row[name] == chosen[name] for name in row if name not in OWN) for row in params]
    others = (apart != apart[index]) & np.array(rows_alike)
    if not others.any():
        return None
    means = np.where(np.isnan(search.cv_results_["mean_test_score"]), -np.inf, search.cv_results_["mean_test_score"])
    return parameters_of(search, int(np.argmax(np.where(others, means, -np.inf))))


def graph_model(estimator: Any, rival: Mapping[str, Any] | None) -> Any:
    """The model whose graph is looked at: the estimator or, where its tasks are independent, its rival, which shares.

    The alpha that suits independent tasks is no alpha for a learned structure, which has a size of its own.
    """
    if rival is None or not is_apart(estimator):
        return estimator
    return clone(estimator).set_params(**rival, solver="auto")


def parameters_of(search: Any, index: int) -> dict[str, Any]:
    """Parameters of an estimator for a candidate of a fitted search, kernel and width apart."""
    chosen = search.cv_results_["params"][index]
    return {"penalty": chosen["penalty"], "alpha": chosen["alpha"], "common": chosen["common"], "eps": "auto"}


def is_apart(settings: Any) -> bool:
    """Whether tasks share nothing, of settings or of an estimator whose penalty is an object."""
    return bool(settings.penalty.name == Independent.name and settings.common == 0.0)


def _judge_fold(
    source: TrainingSource, settings: Sequence[Settings], score: Score, split: Split, n_folds: int
) -> tuple[list[Array], pd.DataFrame]:
    """Scores of the models and of the constant on one fold, and predictions of the first model."""
    fold, effort = source.fold(split), make_effort(source.model)
    found = [fold.training.solve(one, effort, certify=False) for one in settings]
    scores = [*fold.predict(found), constant_predictions(source.data, fold.train, fold.labels)]
    return [score_tasks(score, source.data, fold.labels, F) for F in scores], _predictions(
        source.data, fold, scores[0], n_folds
    )


def _predictions(data: TaskData, fold: Fold, F: Array, n_folds: int) -> pd.DataFrame:
    """Labels of test rows, tasks by number, and what was predicted."""
    labels = fold.labels
    observed, predicted, weight = (labels.in_rows(values) for values in (labels.y, F, labels.weight))
    rows = np.arange(len(fold.test))
    if labels.long:
        picked = np.flatnonzero(weight > 0.0)
        at, tasks = picked, labels.tasks[picked]
    else:
        # Every few rows, so that sorted tables are seen from end to end.
        some = rows[:: -(-len(rows) * n_folds // MOST_ROWS)]
        at, tasks = (part.ravel() for part in np.meshgrid(some, np.arange(labels.n_tasks), indexing="ij"))
        kept = weight[at, tasks] > 0.0
        at, tasks = at[kept], tasks[kept]
    entries = at if labels.long else (at, tasks)
    given = np.asarray(data.rows)[fold.test[at]]
    return pd.DataFrame({"task": tasks, "row": given, "observed": observed[entries], "predicted": predicted[entries]})
