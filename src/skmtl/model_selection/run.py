"""Running candidates: on every fold, the structure learned anew, or leaving one row out at a time."""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skmtl._linalg import SMALL_DECOMPOSITION, has_threads, single_threaded
from skmtl._parameters import check_jobs
from skmtl.losses import Loss
from skmtl.model_selection.candidates import (
    Candidate,
    CandidateScores,
    count_edges,
    learn_by_alpha,
    row_means,
    search_effort,
)
from skmtl.model_selection.folds import Fold, Split, TrainingSource, keep_finished, one_ahead
from skmtl.model_selection.loo import LeftOut, check_loo, search_loo
from skmtl.model_selection.scores import SCORES, Evaluate, own_evaluate, own_scores, score_name, scorer_evaluate
from skmtl.solvers.training import Effort
from skmtl.targets import TaskData

# Scores candidates on the training sets of a source.
Run = Callable[[TrainingSource, Sequence[Candidate]], CandidateScores]


def is_loo(cv: Any) -> bool:
    """Whether one row is left out at a time, in closed form."""
    return isinstance(cv, str) and cv == "loo"


def make_run(
    model: Any,
    data: TaskData,
    loss: Loss,
    splits: Sequence[Split] | None,
    *,
    scoring: Any,
    n_jobs: int | None,
    progress: Callable[[], None],
) -> Run:
    """A function that scores candidates by folds, or without ``splits`` by leaving one row out."""
    name = score_name(scoring, data)
    if splits is None:
        check_loo(loss, name)
        return partial(search_loo, LeftOut(data.labels, own_scores(SCORES[name], data)), progress)
    evaluate = own_evaluate(name, data) if name in SCORES else scorer_evaluate(scoring, model, data)
    return partial(search_folds, splits=splits, evaluate=evaluate, n_jobs=check_jobs(n_jobs), progress=progress)


def search_folds(
    source: TrainingSource,
    candidates: Sequence[Candidate],
    splits: Sequence[Split],
    evaluate: Evaluate,
    *,
    n_jobs: int | None,
    progress: Callable[[], None],
) -> CandidateScores:
    """Score every candidate on every fold, the structure learned anew in each."""
    keep = partial(keep_finished, progress=progress, parts="folds")
    n_rows = source.data.labels.n_rows
    score = partial(_score_fold, candidates, evaluate, search_effort(source.model))
    if effective_n_jobs(n_jobs) > 1:
        jobs = (delayed(_open_and_score)(source.fold, score, split) for split in splits)
        results = keep(Parallel(n_jobs=n_jobs, return_as="generator")(jobs))
    elif n_rows <= SMALL_DECOMPOSITION and has_threads():
        ahead: list[Callable[[], Any]] = [partial(source.fold, split) for split in splits]
        if not all(candidate.penalty.known for candidate in candidates):
            # Structures are learned at the last gamma only, at which all rows come next.
            ahead.append(source.whole)
        with single_threaded(n_rows, SMALL_DECOMPOSITION), closing(one_ahead(ahead)) as opened:
            results = keep(score(fold) for fold in islice(opened, len(splits)))
    else:
        results = keep(score(source.fold(split)) for split in splits)
    scores, edges = (np.array(part).T for part in zip(*results, strict=True))
    return CandidateScores(scores, edges, row_means(scores), finished=len(results) == len(splits))


def _score_fold(
    candidates: Sequence[Candidate], evaluate: Evaluate, effort: Effort, fold: Fold
) -> tuple[list[float], list[float]]:
    """Scores and numbers of edges of the candidates."""
    scores, edges = [], []
    with single_threaded(len(fold.train), SMALL_DECOMPOSITION):
        for _, answers in learn_by_alpha(fold.training, candidates, effort):
            for answer, F in zip(answers, fold.predict([one for _, one in answers]), strict=True):
                scores.append(evaluate(fold, answer, F))
                edges.append(float(count_edges(answer[1].structure)))
    return scores, edges


def _open_and_score(open_fold: Callable[..., Any], score: Callable[..., Any], split: Split) -> Any:
    return score(open_fold(split))
