"""Searching by leaving one row out in closed form, with the structure held at the one learned on all rows."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import SMALL_DECOMPOSITION, Array, single_threaded
from skmtl.losses import Loss
from skmtl.model_selection.candidates import (
    Answer,
    Candidate,
    CandidateScores,
    count_edges,
    learn_by_alpha,
    search_effort,
)
from skmtl.model_selection.folds import TrainingSource
from skmtl.model_selection.scores import SCORES
from skmtl.objective import predictor_structure
from skmtl.solvers.leave_one_out import make_leave_one_out
from skmtl.solvers.training import Training
from skmtl.targets import Labels

# Leaving one out gives one score; its error is judged from this many groups of rows.
LOO_GROUPS = 10


def check_loo(loss: Loss, score: str) -> None:
    """Refuse what the closed form cannot do."""
    if not loss.quadratic:
        raise ValueError(f'cv="loo" needs loss="square", not {loss.name!r}; use cv=5.')
    if score not in SCORES:
        raise ValueError(f'scoring={score!r} is not possible with cv="loo"; choose one of {", ".join(SCORES)}.')


def search_loo(
    score: Callable[[Labels, Array], float],
    progress: Callable[[], None],
    source: TrainingSource,
    candidates: Sequence[Candidate],
) -> CandidateScores:
    """Score every candidate on rows left out in turn, with the structure learned on all rows."""
    if source.model.metric_rounds:
        raise ValueError("metric_rounds needs folds: a metric that has seen a row cannot be judged by it. Use cv=5.")
    with single_threaded(source.data.labels.n_rows, SMALL_DECOMPOSITION):
        training = source.whole()
        outcome = _score_answers(training, learn_by_alpha(training, candidates, search_effort(source.model)), score)
    progress()
    return outcome


def _score_answers(
    training: Training,
    answers: Iterable[tuple[float, Sequence[Answer]]],
    score: Callable[[Labels, Array], float],
) -> CandidateScores:
    """Score answers, which come alpha by alpha, on rows left out in turn."""
    labels = training.data.labels
    n_rows = labels.n_rows
    leave_out = make_leave_one_out(training.design, training.labels, intercept=training.intercept)
    groups = [(group, labels.take(group)) for _, group in loo_splits(n_rows)]
    scores, edges, means = [], [], []
    for alpha, some in answers:
        structures = [predictor_structure(solution.structure, one.settings.common) for one, solution in some]
        for (_, solution), F in zip(some, leave_out.predict(structures, alpha), strict=True):
            F = training.scaling.restore(labels, F)
            means.append(score(labels, F))
            by_rows = labels.in_rows(F)
            scores.append([score(some, some.arrange(by_rows[group])) for group, some in groups])
            edges.append([float(count_edges(solution.structure))])
    return CandidateScores(np.array(scores), np.array(edges), np.array(means))


def loo_splits(n_rows: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The groups of rows whose scores are compared, each after the rest."""
    numbers = np.arange(n_rows)
    groups = [numbers[k::LOO_GROUPS] for k in range(min(LOO_GROUPS, n_rows))]
    return [(np.setdiff1d(numbers, group), group) for group in groups]
