"""The graph of the tasks along mu, with the score of each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skmtl._linalg import Array
from skmtl.model_selection.choice import standard_error
from skmtl.model_selection.door import candidate_of, prepare, settle, vary_mu
from skmtl.model_selection.grid import check_grid
from skmtl.model_selection.search import Rows

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
    """

    mus: Array
    structures: Array
    scores: Array
    errors: Array
    gaps: Array
    task_names: NDArray[Any]

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
    n_jobs: int | None = None,
) -> StructurePath:
    """The learned graph for every mu, each solution started from the one before, and its cross-validated score.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        Its penalty has a ``mu``; all its other parameters are held. Of a CV estimator, those it chooses on all rows.
    X, Y, sample_weight, tasks
        As for ``fit``.
    mus : array-like, optional
        By default 15 from 0.3 to 1.
    cv : int, splitter, iterable of index pairs or None, default=5
        Folds for the scores; None leaves them out.
    scoring, n_jobs
        As for :class:`MultiTaskRegressorCV`.

    Returns
    -------
    StructurePath
    """
    estimator = settle(estimator, X, Y, sample_weight=sample_weight, tasks=tasks)
    prepared = prepare(estimator, X, Y, sample_weight=sample_weight, tasks=tasks, cv=cv, scoring=scoring, n_jobs=n_jobs)
    n_tasks = prepared.entries.n_tasks
    candidates = vary_mu(candidate_of(estimator, n_tasks), sorted(check_grid("mus", mus, DEFAULT_MUS)), n_tasks)
    search = prepared.search
    rows = Rows.from_model(search._model(gamma=estimator.gamma), prepared.X)
    training = rows.whole(search._model(), prepared.entries, prepared.loss, scale=prepared.scale)
    learned = training.follow(candidates)
    scores = errors = np.full(len(candidates), np.nan)
    if cv is not None:
        run = search._make_search(prepared.X, prepared.entries, prepared.loss, prepared.scale)
        outcome = run(candidates, rows)
        scores, errors = outcome.means, standard_error(outcome.scores)
    return StructurePath(
        np.array([candidate.own["mu"] for candidate in candidates]),
        np.array([one.structure for one in learned]),
        scores,
        errors,
        np.array([one.gap for one in learned]),
        search.task_names_,
    )
