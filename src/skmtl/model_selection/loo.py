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


class LeftOut:
    """Scores of rows left out in turn: of all of them, and of groups, from which their error is judged.

    Parameters
    ----------
    labels : Labels
        Of all rows, in the units of y.
    score : callable
        Of labels and several predictions of them, along the first axis.
    """

    def __init__(self, labels: Labels, score: Callable[[Labels, Array], Array]) -> None:
        self._labels, self._score = labels, score
        self._groups = [(some := labels.take(rows), _places(labels, some, rows)) for rows in _groups(labels.n_rows)]

    def evaluate(self, training: Training, fits: Sequence[tuple[Array, float]]) -> tuple[Array, Array]:
        """Scores of structures and alphas on the groups, (n_fits, n_groups), and on all rows, (n_fits,)."""
        leave_out = make_leave_one_out(training.design, training.labels, intercept=training.intercept)
        scores, means, step = [], [], max(BATCH_ENTRIES // self._labels.y.size, 1)
        for start in range(0, len(fits), step):
            F = training.scaling.restore(self._labels, leave_out.predict(fits[start : start + step]))
            means.append(self._score(self._labels, F))
            scores.append(np.transpose([self._score(some, F[:, places]) for some, places in self._groups]))
        return np.concatenate(scores), np.concatenate(means)


def search_loo(
    left_out: LeftOut, progress: Callable[[], None], source: TrainingSource, candidates: Sequence[Candidate]
) -> CandidateScores:
    """Score every candidate on rows left out in turn, with the structure learned on all rows."""
    if source.model.metric_rounds:
        raise ValueError("metric_rounds needs folds: a metric that has seen a row cannot be judged by it. Use cv=5.")
    with single_threaded(source.data.labels.n_rows, SMALL_DECOMPOSITION):
        training = source.whole()
        structures = list(_learn_structures(training, candidates, search_effort(source.model)))
        fits = [
            (predictor_structure(A, one.settings.common), one.settings.alpha)
            for one, A in zip(candidates, structures, strict=True)
        ]
        scores, means = left_out.evaluate(training, fits)
    progress()
    return CandidateScores(scores, np.array([[float(count_edges(A))] for A in structures]), means)


def _learn_structures(training: Training, candidates: Sequence[Candidate], effort: Effort) -> Iterator[Array]:
    """The structure of each candidate; one that is known needs no fit."""
    learned = learn_all(training, [one for one in candidates if not one.penalty.known], effort)
    for one in candidates:
        yield one.penalty.structure(training.labels.n_tasks) if one.penalty.known else next(learned)[1].structure


def _places(labels: Labels, some: Labels, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the entries of the labels of some rows are among those of all."""
    numbers = labels.in_rows(np.arange(labels.n_rows, dtype=float))
    return some.arrange(numbers[rows]).astype(np.intp)


def _groups(n_rows: int) -> list[NDArray[np.intp]]:
    return [np.arange(k, n_rows, LOO_GROUPS) for k in range(min(LOO_GROUPS, n_rows))]


def loo_splits(n_rows: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The groups of rows whose scores are compared, each after the rest."""
    return [(np.delete(np.arange(n_rows), rows), rows) for rows in _groups(n_rows)]
