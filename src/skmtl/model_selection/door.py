"""An estimator stopped at the door: its rows and labels cleaned, nothing fitted yet."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import Loss
from skmtl.model_selection.base import SearchEstimator
from skmtl.model_selection.cv import MultiTaskClassifierCV, MultiTaskRegressorCV
from skmtl.model_selection.entries import Entries
from skmtl.model_selection.grid import Candidate, has_mu
from skmtl.penalties import check_penalty
from skmtl.targets import Labels


class _Stop(SearchEstimator):
    """Keeps what ``fit`` hands on instead of fitting it."""

    def _fit(self, X: Array, labels: Labels, loss: Loss, *, scale: bool) -> Self:
        self._given = X, labels, loss, scale
        self.intercept_ = np.zeros(labels.n_tasks)
        return self


class _StoppedRegressor(_Stop, MultiTaskRegressorCV):
    pass


class _StoppedClassifier(_Stop, MultiTaskClassifierCV):
    pass


DOORS = ((MultiTaskRegressor, _StoppedRegressor), (MultiTaskClassifier, _StoppedClassifier))


@dataclass(frozen=True)
class Prepared:
    """Rows and labels as an estimator cleaned them, and a search that knows their tasks and classes."""

    search: Any
    X: Array
    entries: Entries
    loss: Loss
    scale: bool


def prepare(estimator: Any, X: Any, y: Any, *, sample_weight: Any, tasks: Any, **options: Any) -> Prepared:
    """Clean rows and labels as ``fit`` of the estimator would; ``options`` are parameters of the search."""
    door = next((stopped for cls, stopped in DOORS if isinstance(estimator, cls)), None)
    if door is None:
        raise TypeError(
            f"estimator={estimator!r} is not known here; pass a MultiTaskRegressor, a MultiTaskClassifier, or one of "
            "the two with CV at the end."
        )
    given = clone(estimator).get_params(deep=False)
    shared = {name: value for name, value in given.items() if name in door._get_param_names()}
    search = door(**{**shared, **options}).fit(X, y, sample_weight=sample_weight, tasks=tasks)
    rows, labels, loss, scale = search._given
    return Prepared(search, rows, Entries.from_labels(labels), loss, scale)


def settle(estimator: Any, X: Any, y: Any, *, sample_weight: Any, tasks: Any) -> Any:
    """An estimator without search: itself, or what a search chooses on all rows."""
    if not hasattr(estimator, "to_estimator"):
        return estimator
    return clone(estimator).fit(X, y, sample_weight=sample_weight, tasks=tasks).to_estimator()


def candidate_of(estimator: Any, n_tasks: int) -> Candidate:
    """The parameters of an estimator without search as a candidate."""
    penalty = check_penalty(estimator.penalty, n_tasks)
    eps = None if estimator.eps == "auto" else float(estimator.eps)
    return Candidate(penalty, estimator.alpha, common=estimator.common, gamma=estimator.gamma, eps=eps)


def vary_mu(candidate: Candidate, mus: Iterable[float], n_tasks: int) -> list[Candidate]:
    """The candidate at other thresholds on correlations."""
    if not has_mu(candidate.penalty):
        raise ValueError(
            f"penalty={candidate.penalty.name!r} has no mu to follow; use an estimator with penalty='sparse'."
        )
    shapes = [clone(candidate.penalty).set_params(mu=float(mu)) for mu in mus]
    for shape in shapes:
        shape.check(n_tasks)
    return [replace(candidate, penalty=shape, own={"mu": shape.mu}) for shape in shapes]
