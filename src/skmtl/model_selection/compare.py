"""Does sharing help my tasks? Every method on the same folds, against independent tasks."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib import hash as hash_of
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl.model_selection.cv import MultiTaskRegressorCV
from skmtl.model_selection.door import Prepared, prepare
from skmtl.model_selection.entries import Entries
from skmtl.model_selection.folds import Split, every_task, make_splits
from skmtl.model_selection.grid import has_mu, is_known
from skmtl.model_selection.scores import Score, check_score
from skmtl.penalties import PENALTIES, Independent, check_penalty

ALL_TASKS = "(all tasks)"
Index = NDArray[np.intp]


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
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Compare methods with independent tasks, task by task, hyper-parameters chosen within every training fold.

    Parameters
    ----------
    X, Y, sample_weight, tasks
        As for ``fit``.
    methods : list of penalties, or dict of name to penalty, optional
        By default every penalty that learns a structure. Their own parameters, such as mu, are searched.
    estimator : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        How a method is fitted: its grids, kernel and inner folds. By default ``MultiTaskRegressorCV()``. A method may
        choose independent tasks, as it may when it is used.
    cv : int, splitter or iterable of index pairs, default=5
        The outer folds.
    scoring : {"r2", "nmse", "arrmse", "accuracy", "average_precision"}, optional
        By default r2 for regression and accuracy for classes. More is better: errors count as negative.
    level : float, default=0.95
        Level of the confidence intervals.
    n_jobs : int, optional
        Folds and methods in parallel, through joblib.

    Returns
    -------
    DataFrame
        A row per method and task, and one for all tasks together: ``method``, ``task``, ``score``, ``independent``
        (the score of independent tasks, which have nothing in common), ``difference`` with its interval ``low`` and
        ``high``, and ``verdict``: "helps", "hurts" or "no evidence". Intervals are those of the corrected paired t-test
        over the folds.

    References
    ----------
    Nadeau, Bengio. Inference for the generalization error. Machine Learning 2003.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} must lie between 0 and 1, such as 0.95.")
    estimator = MultiTaskRegressorCV() if estimator is None else estimator
    if not hasattr(estimator, "to_estimator"):
        raise TypeError(f"estimator={estimator!r} does not choose its parameters; pass one with CV at the end.")
    prepared = prepare(estimator, X, Y, sample_weight=sample_weight, tasks=tasks)
    search, entries = prepared.search, prepared.entries
    score = check_score(search._score_name() if scoring is None else scoring)
    search._own_score(score, entries)
    splits = make_splits(cv, prepared.X, entries, search._rows, search._n_given, classes=search._for_classes)
    named = {"independent": Independent(), **_check_methods(methods)}
    jobs = [(penalty, split) for penalty in named.values() for split in splits]
    values = Parallel(n_jobs=n_jobs)(delayed(_score_fold)(estimator, prepared, *job, score) for job in jobs)
    scores = np.array(values).reshape(len(named), len(splits), -1)
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    tables = [
        _compare(name, one, scores[0], search.task_names_.tolist(), ratio, level)
        for name, one in zip(list(named)[1:], scores[1:], strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def _check_methods(methods: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Methods by name; independent tasks, with which all are compared, left out."""
    if methods is None:
        methods = [name for name, cls in PENALTIES.items() if not is_known(cls())]
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
    searched = {"mu", *penalty.grid()}
    return penalty.name, {name: value for name, value in penalty.get_params().items() if name not in searched}


def _name(method: Any) -> str:
    return method if isinstance(method, str) else str(method.name)


def _score_fold(estimator: Any, prepared: Prepared, penalty: Any, split: Split, score: Score) -> Array:
    """Scores of every task, and their mean, of one method on one fold; more is better."""
    train, chosen = every_task(prepared.entries, split[0])
    test = prepared.entries.take(split[1])
    has_labels = (chosen.sums(chosen.weight) > 0.0).astype(float)
    test = Entries(test.y, test.weight * test.spread(has_labels), test.tasks, test.n_tasks)
    F = _predict(_fit(estimator, prepared, penalty, train, chosen), prepared, train, split[1], test)
    per_task = score.sign * score(test, F, prepared.entries.variances())
    return np.append(per_task, prepared.search._own_score(score, prepared.entries)(test, F, None))


def _fit(estimator: Any, prepared: Prepared, penalty: Any, train: Index, entries: Entries) -> Any:
    """The estimator with one penalty, its parameters chosen and fitted on training rows."""
    model = clone(estimator).set_params(penalty=penalty)
    if isinstance(penalty, Independent):
        # Nothing in common, whatever the methods may have.
        model.set_params(commons=[0.0])
    if not has_mu(check_penalty(penalty, entries.n_tasks)):
        model.set_params(mus=None)
    for name, value in vars(prepared.search).items():
        if name in ("_flat", "_coding", "classes_", "task_names_"):
            setattr(model, name, value)
    precomputed = model.kernel == "precomputed"
    model._rows, model._n_given = np.arange(len(train)), len(train)
    model.n_features_in_ = len(train) if precomputed else prepared.X.shape[1]
    rows = prepared.X[np.ix_(train, train)] if precomputed else prepared.X[train]
    if not model._for_classes:
        return model._fit(rows, entries.to_labels(), prepared.loss, scale=prepared.scale)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*of one class")
        return model._fit_both_classes(rows, entries.to_labels(), prepared.loss)


def _predict(model: Any, prepared: Prepared, train: Index, test: Index, entries: Entries) -> Array:
    """Predictions at the test rows, laid out like their entries."""
    new = prepared.X[np.ix_(test, train)] if model.kernel == "precomputed" else prepared.X[test]
    F = model.feature_map_.transform(new) @ model._coef + model.intercept_
    return F if entries.tasks is None else F[np.arange(len(F)), entries.tasks]


def _compare(name: str, scores: Array, alone: Array, tasks: list[Any], ratio: float, level: float) -> pd.DataFrame:
    """Paired differences over folds, of shape (n_folds, n_tasks + 1), with intervals and verdicts."""
    low, high = paired_interval(scores - alone, ratio, level)
    return pd.DataFrame(
        {
            "method": name,
            "task": [*tasks, ALL_TASKS],
            "score": _column_means(scores),
            "independent": _column_means(alone),
            "difference": _column_means(scores - alone),
            "low": low,
            "high": high,
            "verdict": np.where(low > 0.0, "helps", np.where(high < 0.0, "hurts", "no evidence")),
        }
    )


def paired_interval(differences: Array, ratio: float, level: float) -> tuple[Array, Array]:
    """The interval of the mean of each column over folds that share training rows; all numbers for a single fold.

    ``ratio`` is the number of test rows to that of training rows: folds are not independent, and the variance of
    their mean is (1/K + ratio) times that of one.
    """
    known = ~np.isnan(differences)
    count = known.sum(axis=0)
    mean = _column_means(differences)
    squares = np.where(known, (differences - mean) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1) * (1.0 / np.maximum(count, 1) + ratio)
    quantile = stats.t.ppf(0.5 + 0.5 * level, np.maximum(count - 1, 1))
    width = np.where(count > 1, quantile * np.sqrt(variance), np.inf)
    return mean - width, mean + width


def _column_means(values: Array) -> Array:
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0)
