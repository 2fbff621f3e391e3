"""Does sharing help my tasks? Every method on the same folds, against independent tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib import hash as hash_of
from numpy.typing import ArrayLike
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl._parameters import check_jobs
from skmtl.estimators.clean import clean
from skmtl.estimators.predict import predict_scores
from skmtl.losses.base import Loss, check_loss
from skmtl.model_selection.base import MultiTaskSearch
from skmtl.model_selection.folds import Callback, Progress, Split, keep_finished, make_splits, test_labels, test_share
from skmtl.model_selection.held_out import compare_scores, score_constant, score_tasks
from skmtl.model_selection.regressor_cv import MultiTaskRegressorCV
from skmtl.model_selection.scores import Score, check_score, own_score, score_name
from skmtl.model_selection.search import select
from skmtl.penalties import PENALTIES, Independent, check_penalty
from skmtl.targets import TaskData


def compare_methods(
    X: ArrayLike,
    Y: ArrayLike,
    methods: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    estimator: Any = None,
    cv: Any = 5,
    scoring: str | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    tasks: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> pd.DataFrame:
    """Compare methods with independent tasks, task by task, hyper-parameters chosen within every training fold.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    methods : list of penalties, or dict of name to penalty, optional
        By default every penalty that learns a structure, those apart that need to be told something or that stand for
        another one. Their own parameters, such as mu, are searched.
    estimator : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        How a method is fitted: its grids, kernel and inner folds. By default ``MultiTaskRegressorCV()``. A method may
        choose independent tasks, as it may when it is used.
    cv : int, splitter or iterable of index pairs, default=5
        The outer folds.
    scoring : str, optional
        One of ``SCORES``; by default that of the estimator. More is better: errors count as negative.
    level : float, default=0.95
        Level of the confidence intervals.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
        Weights, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of a group stay together in the outer and the inner folds.
    n_jobs : int, optional
        Folds and methods in parallel, through joblib.
    verbose : int, default=0
        Above zero, every fit of a method to a fold is a line on the screen.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "remaining": seconds}`` after every fit of a method to a fold.

    Returns
    -------
    DataFrame
        A row per method and task, and one for all tasks together: ``method``, ``task``, ``scoring`` (the name of the
        score), ``score``, ``independent`` (the score of independent tasks, which have nothing in common), ``constant``
        (that of the mean of the training labels), ``difference`` of the first two with its interval ``low`` and
        ``high``, ``verdict``: "helps", "hurts", "too close to call", "changes nothing" where all of the interval lies
        within a two-thousandth of the score, "no better than a constant" where neither is, or "not judged" where there
        is no score, for all labels held out are the same; and ``predictable``: whether the method or independent tasks
        are beyond the constant by two standard errors, or on every fold of five or more.
        Intervals are those of the corrected paired t-test over the folds.

    See Also
    --------
    describe_comparison : The same in one sentence.
    MultiTaskRegressorCV : Chooses parameters, with independent tasks among the candidates.
    edge_stability : Which relations come back on other rows.

    References
    ----------
    Nadeau, Bengio. Inference for the generalization error. Machine Learning 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV, compare_methods
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(alphas=[0.1, 1.0], mus=[0.9], cv=3)
    >>> table = compare_methods(X, Y, ["sparse"], estimator=search, cv=3)
    >>> table["task"].tolist()
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} must lie between 0 and 1, such as 0.95.")
    search = MultiTaskRegressorCV() if estimator is None else estimator
    if not isinstance(search, MultiTaskSearch):
        raise TypeError(f"estimator={estimator!r} does not choose its parameters; pass one with CV at the end.")
    model = search.model()
    loss = check_loss(search.loss, purpose=model.purpose)
    data = clean(model, X, Y, sample_weight, tasks, groups)
    name_of_score = score_name(search.scoring if scoring is None else scoring, data)
    score = check_score(name_of_score)
    own_score(score, data)  # refuses a score of classes for numbers, before the work starts
    splits = make_splits(cv, data)
    named = {Independent.name: Independent(), **_check_methods(methods)}
    fold = partial(_score_fold, search, data, loss, score)
    # Fold by fold, so that an interruption leaves folds on which all methods can be compared.
    jobs = (delayed(fold)(penalty, split) for split in splits for penalty in named.values())
    values = keep_finished(
        Parallel(n_jobs=check_jobs(n_jobs), return_as="generator")(jobs),
        Progress(callback, len(splits) * len(named), verbose=verbose),
        "fits",
        at_least=len(named),
    )
    n_folds = len(values) // len(named)
    scores = np.array(values[: n_folds * len(named)]).reshape(n_folds, len(named), -1).swapaxes(0, 1)
    constant = score_constant(score, data, splits[:n_folds])
    shared = {"tasks": data.task_names.tolist(), "ratio": test_share(splits), "level": level, "scoring": name_of_score}
    tables = [
        compare_scores(name, one, scores[0], constant, **shared)
        for name, one in zip(list(named)[1:], scores[1:], strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def _check_methods(methods: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Methods by name; independent tasks, with which all are compared, left out."""
    if methods is None:
        methods = [name for name, cls in PENALTIES.items() if cls.by_default and not cls.known]
    if isinstance(methods, str):
        methods = [methods]
    named = dict(methods) if isinstance(methods, Mapping) else {_name(method): method for method in methods}
    if len(named) < len(methods):
        raise ValueError("two methods have the same name; give them names, as a dict of name to penalty.")
    searched = {hash_of(_held(method)): name for name, method in named.items()}
    if len(searched) < len(named):
        same = [name for name in named if name not in searched.values()]
        raise ValueError(
            f"{', '.join(map(repr, same))}: the same as another method, for the parameters of a penalty, such as mu, "
            "are searched; for one value of mu pass an estimator with mus=[...]."
        )
    named = {name: method for name, method in named.items() if name != Independent.name}
    if not named:
        raise ValueError(f"there is no method to compare with independent tasks; choose from {', '.join(PENALTIES)}.")
    return named


def _held(method: Any) -> tuple[str, dict[str, Any]]:
    """The name of a penalty, and those of its parameters that no search changes."""
    penalty = PENALTIES[method]() if method in tuple(PENALTIES) else method
    if isinstance(penalty, str):
        return penalty, {}
    searched = {penalty.path_parameter, *penalty.grid()}
    return penalty.name, {name: value for name, value in penalty.get_params().items() if name not in searched}


def _name(method: Any) -> str:
    return method if isinstance(method, str) else str(method.name)


def _score_fold(search: Any, data: TaskData, loss: Loss, score: Score, penalty: Any, split: Split) -> Array:
    """Scores of every task, and of all together, of one method on one fold; more is better."""
    train, test = split
    chosen = clone(search).set_params(penalty=penalty, callback=None, verbose=0)
    if isinstance(penalty, Independent):
        # Nothing in common, whatever the methods may have.
        chosen.set_params(commons=[0.0])
    if check_penalty(penalty, data.labels.n_tasks).path_parameter != "mu":
        chosen.set_params(mus=None)
    fitted = select(chosen, chosen.model(), data.take(train), loss).best_estimator
    labels = test_labels(data.labels, train, test)
    F = predict_scores(fitted, data.features(test, train), read=fitted.loss_.inverse_link)
    if labels.long:
        # Of every row its own task.
        F = labels.arrange(F[np.arange(len(F)), labels.tasks])
    return score_tasks(score, data, labels, F)
