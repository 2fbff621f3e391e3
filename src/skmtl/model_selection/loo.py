"""Searching by leaving one row out in closed form, with the structure held at the one learned on all rows."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import SMALL_DECOMPOSITION, Array, single_threaded
from skmtl.losses import Loss
from skmtl.model_selection.candidates import (
    Candidate,
    CandidateScores,
    count_edges,
    learn_all,
    search_effort,
)
from skmtl.model_selection.folds import TrainingSource
from skmtl.model_selection.scores import SCORES
from skmtl.objective import predictor_structure
from skmtl.solvers.leave_one_out import make_leave_one_out
from skmtl.solvers.training import Effort, Training
from skmtl.targets import Labels

# Leaving one out gives one score; its error is judged from this many groups of rows.
LOO_GROUPS = 10
# Numbers of predictions at a time: products of that many are quick, and their 1 MB stay near the processor.
BATCH_ENTRIES = 2**17


def check_loo(loss: Loss, score: str) -> None:
    """Refuse what the closed form cannot do."""
    if not loss.quadratic:
        raise ValueError(f'cv="loo" needs loss="square", not {loss.name!r}; use cv=5.')
    if score not in SCORES:
        raise ValueError(f'scoring={score!r} is not possible with cv="loo"; choose one of {", ".join(SCORES)}.')


def search_loo(
    score: Callable[[Labels, Array], Array],
    progress: Callable[[], None],
    source: TrainingSource,
    candidates: Sequence[Candidate],
) -> CandidateScores:
    """Score every candidate on rows left out in turn, with the structure learned on all rows.

    ``score`` is that of several predictions of the same labels, along the first axis.
    """
    if source.model.metric_rounds:
        raise ValueError("metric_rounds needs folds: a metric that has seen a row cannot be judged by it. Use cv=5.")
    with single_threaded(source.data.labels.n_rows, SMALL_DECOMPOSITION):
        training = source.whole()
        structures = list(_learn_structures(training, candidates, search_effort(source.model)))
        scores, means = _score_structures(training, candidates, structures, score)
    progress()
    edges = np.array([[float(count_edges(A))] for A in structures])
    return CandidateScores(scores, edges, means)


def _learn_structures(training: Training, candidates: Sequence[Candidate], effort: Effort) -> Iterator[Array]:
    """The structure of each candidate; one that is known needs no fit."""
    learned = learn_all(training, [one for one in candidates if not one.penalty.known], effort)
    for one in candidates:
        yield one.penalty.structure(training.labels.n_tasks) if one.penalty.known else next(learned)[1].structure


def _score_structures(
    training: Training,
    candidates: Sequence[Candidate],
    structures: Sequence[Array],
    score: Callable[[Labels, Array], Array],
) -> tuple[Array, Array]:
    """Scores on groups of rows, (n_candidates, n_groups), and on all rows, (n_candidates,), each row left out."""
    labels = training.data.labels
    leave_out = make_leave_one_out(training.design, training.labels, intercept=training.intercept)
    groups = [(some := labels.take(rows), _places(labels, some, rows)) for rows in _groups(labels.n_rows)]
    fits = [
        (predictor_structure(A, one.settings.common), one.settings.alpha)
        for one, A in zip(candidates, structures, strict=True)
    ]
    scores, means, step = [], [], max(BATCH_ENTRIES // labels.y.size, 1)
    for start in range(0, len(fits), step):
        F = training.scaling.restore(labels, leave_out.predict(fits[start : start + step]))
        means.append(score(labels, F))
        scores.append([score(some, F[:, places]) for some, places in groups])
    return np.concatenate([np.transpose(part) for part in scores]), np.concatenate(means)


def _places(labels: Labels, some: Labels, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the entries of the labels of some rows are among those of all."""
    numbers = labels.in_rows(np.arange(labels.n_rows, dtype=float))
    return some.arrange(numbers[rows]).astype(np.intp)


def _groups(n_rows: int) -> list[NDArray[np.intp]]:
    return [np.arange(k, n_rows, LOO_GROUPS) for k in range(min(LOO_GROUPS, n_rows))]


def loo_splits(n_rows: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The groups of rows whose scores are compared, each after the rest."""
    return [(np.delete(np.arange(n_rows), rows), rows) for rows in _groups(n_rows)]
