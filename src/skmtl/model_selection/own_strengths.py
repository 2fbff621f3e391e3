"""Independent tasks with a strength of the regularization for each of them, as folds find it best."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skmtl._linalg import Array
from skmtl.model_selection.candidates import Candidate, CandidateScores, Scored
from skmtl.model_selection.folds import Fold, Split, TrainingSource
from skmtl.model_selection.scores import SCORES, own_score, score_name
from skmtl.penalties import Independent
from skmtl.solvers.training import Effort, Settings
from skmtl.targets import ErrorSums


def score_own_strengths(
    source: TrainingSource,
    best: Candidate,
    alphas: Sequence[float],
    splits: Sequence[Split] | None,
    *,
    scoring: Any,
    effort: Effort,
) -> Scored:
    """A candidate whose independent tasks have strengths of their own, and its score.

    Every task takes the alpha with the smallest squared errors over all folds. On each fold the candidate is scored
    with the alphas that are best on folds of other rows, for else it would be flattered by choosing among so many.
    """
    name = score_name(scoring, source.data)
    if name not in SCORES or splits is None:
        raise ValueError(f'alphas="own" needs folds, and for scoring one of {", ".join(SCORES)}.')
    score = own_score(SCORES[name], source.data)
    alphas = sorted(alphas, reverse=True)
    common = best.settings.common
    folds = [source.fold(split) for split in splits]
    predictions = [_predict(fold, alphas, common, effort) for fold in folds]
    roots = np.array([_root_errors(fold, parts) for fold, parts in zip(folds, predictions, strict=True)])
    # Relative to the largest of each task: squares themselves may be beyond the range of numbers.
    largest = roots.max(axis=(0, 1))
    errors = (roots / np.where(largest > 0.0, largest, 1.0)) ** 2
    elsewhere = np.tensordot(_on_other_rows(splits), errors, axes=1)
    scores = [
        score(fold.labels, _assemble(fold, parts, np.argmin(left, axis=0)))
        for fold, parts, left in zip(folds, predictions, elsewhere, strict=True)
    ]
    chosen = np.array(alphas)[np.argmin(errors.sum(axis=0), axis=0)]
    alpha = float(np.exp(np.mean(np.log(chosen))))
    penalty = Independent(strengths=(chosen / alpha).tolist())
    candidate = replace(best, settings=Settings(penalty, alpha, common), own={})
    return [candidate], CandidateScores(np.array([scores]), np.zeros((1, len(folds))), np.array([np.nanmean(scores)]))


def _on_other_rows(splits: Sequence[Split]) -> Array:
    """One where two folds have no test row in common, of shape (n_folds, n_folds); else at least where they differ."""
    n_folds = len(splits)
    apart = [[not np.intersect1d(one, other).size for _, other in splits] for _, one in splits]
    return np.where(np.any(apart, axis=1)[:, None], apart, 1.0 - np.eye(n_folds))


def _predict(fold: Fold, alphas: Sequence[float], common: float, effort: Effort) -> list[Array]:
    """Predictions of independent tasks at the test rows, for every alpha."""
    solve = fold.training.solve
    return fold.predict([solve(Settings(Independent(), alpha, common), effort, certify=False) for alpha in alphas])


def _root_errors(fold: Fold, predictions: Sequence[Array]) -> Array:
    """Roots of the sums of squared errors, of shape (n_alphas, n_tasks)."""
    return np.array([ErrorSums.from_labels(fold.labels, F).roots for F in predictions])


def _assemble(fold: Fold, predictions: Sequence[Array], chosen: Any) -> Array:
    """The predictions of each task at the alpha that was chosen for it, an index of shape (n_tasks,)."""
    return np.asarray(sum(F * fold.labels.spread(chosen == a) for a, F in enumerate(predictions)))
