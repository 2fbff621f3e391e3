"""The graph of the tasks along mu, with the score of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl.estimators.base import MultiTaskEstimator, make_effort, make_settings
from skmtl.estimators.clean import clean
from skmtl.losses.base import check_loss
from skmtl.model_selection.base import MultiTaskSearch
from skmtl.model_selection.candidates import Candidate, Geometry, check_grid, standard_error
from skmtl.model_selection.folds import Callback, Progress, TrainingSource, make_splits
from skmtl.model_selection.run import is_loo, make_run
from skmtl.model_selection.scores import score_name

DEFAULT_MUS = np.linspace(0.3, 1.0, 15)


@dataclass(frozen=True)
class StructurePath:
    """Structures along mu.

    Attributes
    ----------
    mus : ndarray of shape (n_mus,)
        Ascending: from few relations to all.
    structures : ndarray of shape (n_mus, n_tasks, n_tasks)
    scores : ndarray of shape (n_mus,)
        Mean cross-validated scores, more is better; NaN without ``cv``.
    errors : ndarray of shape (n_mus,)
        Standard errors of the scores over the folds.
    gaps : ndarray of shape (n_mus,)
        How far each fit may be from its optimum, relative to the objective.
    task_names : ndarray of shape (n_tasks,)
        Names of the tasks.
    scoring : str
        The name of the score.

    See Also
    --------
    structure_path : Makes one.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, structure_path
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> path = structure_path(MultiTaskRegressor(alpha=0.1), X, Y, [0.2, 0.9], cv=None)
    >>> path.to_frame().columns.tolist()
    ['mu', 'n_edges', 'score', 'error', 'gap']
    """

    mus: Array
    structures: Array
    scores: Array
    errors: Array
    gaps: Array
    task_names: NDArray[Any]
    scoring: str = "score"

    @property
    def n_edges(self) -> NDArray[np.intp]:
        """The number of related pairs at each mu."""
        upper = np.triu(np.ones(self.structures.shape[1:], dtype=bool), 1)
        return np.count_nonzero(self.structures[:, upper], axis=1)

    def edges(self) -> pd.DataFrame:
        """One row per edge and mu: ``mu``, ``task_a``, ``task_b``, ``weight``."""
        k, a, b = np.nonzero(np.triu(self.structures, 1))
        return pd.DataFrame(
            {
                "mu": self.mus[k],
                "task_a": self.task_names[a],
                "task_b": self.task_names[b],
                "weight": self.structures[k, a, b],
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per mu: ``mu``, ``n_edges``, ``score``, ``error``, ``gap``."""
        return pd.DataFrame(
            {"mu": self.mus, "n_edges": self.n_edges, "score": self.scores, "error": self.errors, "gap": self.gaps}
        )


def structure_path(
    estimator: Any,
    X: ArrayLike,
    Y: ArrayLike,
    mus: ArrayLike | None = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: ArrayLike | None = None,
    tasks: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> StructurePath:
    """The learned graph for every mu, each solution started from the one before, and its cross-validated score.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        Its penalty has a ``mu``; all its other parameters are held. Of a CV estimator, those it chooses on all rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    mus : array-like, optional
        By default 15 from 0.3 to 1.
    cv : int, splitter, iterable of index pairs or None, default=5
        Folds for the scores; None leaves them out.
    scoring : str or callable, optional
        As for :class:`MultiTaskRegressorCV`.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
        Weights, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of one group stay together in folds.
    n_jobs : int, optional
        Folds in parallel, through joblib.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "remaining": seconds}`` after every fold.

    Returns
    -------
    StructurePath
        Structures, scores and gaps along mu.

    See Also
    --------
    edge_stability : Which relations come back on other rows.
    skmtl.plotting.PathDisplay : Draws the path.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, structure_path
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> path = structure_path(MultiTaskRegressor(alpha=0.1), X, Y, [0.2, 0.9], cv=None)
    >>> path.n_edges.tolist()
    [1, 3]
    """
    estimator = settle(estimator, X, Y, sample_weight=sample_weight, tasks=tasks, groups=groups)
    loss = check_loss(estimator.loss, purpose=estimator.purpose)
    data = clean(estimator, X, Y, sample_weight, tasks, groups)
    candidates = along_path(estimator, sorted(check_grid("mus", mus, DEFAULT_MUS)), data.labels.n_tasks)
    source = TrainingSource(estimator, data, loss)
    solutions = source.whole().follow([one.settings for one in candidates], make_effort(estimator))
    scores = errors = np.full(len(candidates), np.nan)
    if cv is not None:
        splits = None if is_loo(cv) else make_splits(cv, data)
        progress = Progress(callback, None if splits is None else len(splits))
        run = make_run(estimator, data, loss, splits, scoring=scoring, n_jobs=n_jobs, progress=progress)
        outcome = run(source, candidates)
        scores, errors = outcome.means, standard_error(outcome.scores)
    return StructurePath(
        np.array([next(iter(one.own.values())) for one in candidates]),
        np.array([one.structure for one in solutions]),
        scores,
        errors,
        np.array([one.gap for one in solutions]),
        data.task_names,
        score_name(scoring, data),
    )


def settle(estimator: Any, X: Any, y: Any, *, sample_weight: Any, tasks: Any, groups: Any = None) -> Any:
    """An estimator without search, not fitted: itself, or what a search chooses on all rows."""
    if isinstance(estimator, MultiTaskSearch):
        fitted = clone(estimator).fit(X, y, sample_weight=sample_weight, tasks=tasks, groups=groups)
        return clone(fitted.best_estimator_)
    if isinstance(estimator, MultiTaskEstimator):
        return clone(estimator)
    raise TypeError(
        f"estimator={estimator!r} is not known here; pass a MultiTaskRegressor, a MultiTaskClassifier, or one of "
        "the two with CV at the end."
    )


def along_path(estimator: Any, values: Iterable[float], n_tasks: int) -> list[Candidate]:
    """The parameters of an estimator at other values of its penalty's path parameter."""
    settings = make_settings(estimator, n_tasks)
    name = settings.penalty.path_parameter
    if name is None:
        raise ValueError(
            f"penalty={settings.penalty.name!r} has no mu to follow; use an estimator with penalty='sparse'."
        )
    variants = [clone(settings.penalty).set_params(**{name: float(value)}) for value in values]
    for variant in variants:
        variant.check(n_tasks)
    geometry = Geometry.from_estimator(estimator)
    return [
        Candidate(replace(settings, penalty=variant), geometry, {name: variant.get_params()[name]})
        for variant in variants
    ]
