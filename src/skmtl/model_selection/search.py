"""Search: every candidate on every fold, the best one fitted to all rows."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.metrics import get_scorer

from skmtl._linalg import SMALL_DECOMPOSITION, Array, has_threads, single_threaded
from skmtl.estimators.base import assign, make_effort, make_settings, publish
from skmtl.features import KERNELS, check_kernel
from skmtl.losses import Loss
from skmtl.model_selection.candidates import (
    ALPHAS,
    COMMONS,
    EPS_FACTORS,
    LONG_COMMONS,
    Answer,
    Candidate,
    CandidateScores,
    candidate_estimator,
    check_grid,
    check_rule,
    choose,
    count_edges,
    default_gammas,
    make_candidates,
    make_penalties,
    row_means,
)
from skmtl.model_selection.folds import Fold, Progress, Split, TrainingSource, keep_finished, make_splits
from skmtl.model_selection.loo import check_loo, search_loo
from skmtl.model_selection.scores import SCORES, own_score, score_name
from skmtl.solvers.training import Effort, Training
from skmtl.targets import Labels, TaskData

# Candidates are compared to no more accuracy than this, relative to the objective.
SEARCH_ACCURACY = 1e-3

S = TypeVar("S")
# The score of an answer that was learned on the training rows of a fold, and of its predictions at the test rows.
Evaluate = Callable[[Fold, Answer, Array], float]
# Scores candidates on the training sets of a source.
Run = Callable[[TrainingSource, Sequence[Candidate]], CandidateScores]


class Selection(NamedTuple):
    """The candidates of a search, their scores, the number of the chosen one, and an estimator fitted with it."""

    candidates: list[Candidate]
    outcome: CandidateScores
    chosen: int
    best_estimator: Any


def select(search: Any, model: Any, data: TaskData, loss: Loss) -> Selection:
    """Score the candidates of a search on data, choose one, and fit it to all rows.

    ``search`` has the grids, ``cv``, ``scoring``, ``rule`` and ``n_jobs``; ``model`` is an estimator with all that is
    not searched over.
    """
    rule = check_rule(search.rule)
    progress = Progress(search.callback)
    splits = None if is_loo(search.cv) else make_splits(search.cv, data)
    run = make_run(model, data, loss, splits, scoring=search.scoring, n_jobs=search.n_jobs, progress=progress)
    open_source = partial(TrainingSource, model, data, loss)
    n_parts = 1 if splits is None else len(splits)
    candidates, outcome, source = _score_grid(search, data, open_source, run, progress, n_parts)
    index = choose(outcome, rule)
    best = candidates[index]
    source = source if best.gamma == source.gamma else open_source(best.gamma)
    return Selection(candidates, outcome, index, _fit_best(source, best))


def _score_grid(
    search: Any,
    data: TaskData,
    open_source: Callable[[float | None], TrainingSource],
    run: Run,
    progress: Progress,
    n_parts: int,
) -> tuple[list[Candidate], CandidateScores, TrainingSource]:
    """The candidates, what became of them, and the source that was used last.

    First the kernel's gamma is chosen, with independent tasks, then the rest.
    """
    variants = make_penalties(search.penalty, search.mus, data.labels.n_tasks)
    gammas = _gammas(search, data)
    eps_factors = check_grid("eps_factors", search.eps_factors, EPS_FACTORS, zero=False)
    commons = check_grid("commons", search.commons, LONG_COMMONS if data.labels.long else COMMONS)
    commons = commons if data.labels.n_tasks > 1 else [0.0]
    source = open_source(gammas[0])
    alphas = check_grid("alphas", search.alphas, source.size() * ALPHAS, zero=False)
    grid = partial(make_candidates, alphas=alphas, eps_factors=eps_factors, commons=commons)
    if len(gammas) == 1:
        progress.total = n_parts
        candidates = grid(variants, gamma=gammas[0])
        return candidates, run(source, candidates), source
    progress.total = n_parts * (len(gammas) + bool(variants[1:]))
    tried: list[Candidate] = []
    outcomes: list[CandidateScores] = []
    for gamma in gammas:
        candidates = grid(variants[:1], gamma=gamma)
        source = source if gamma == source.gamma else open_source(gamma)
        tried += candidates
        outcomes.append(run(source, candidates))
        if not outcomes[-1].finished:
            # Interrupted: what is there has to do.
            return tried, CandidateScores.join(outcomes), source
    gamma = tried[choose(CandidateScores.join(outcomes), "best")].gamma
    source = source if gamma == source.gamma else open_source(gamma)
    candidates = grid(variants[1:], gamma=gamma)
    if candidates:
        tried += candidates
        outcomes.append(run(source, candidates))
    return tried, CandidateScores.join(outcomes), source


def _gammas(search: Any, data: TaskData) -> list[float | None]:
    if search.gammas is None:
        return default_gammas(search.kernel, data.X)
    if "gamma" not in check_kernel(search.kernel).parameters:
        known = ", ".join(name for name, facts in KERNELS.items() if "gamma" in facts.parameters)
        raise ValueError(f"gammas was given, but kernel={search.kernel!r} has no gamma; kernels that do are {known}.")
    return list(check_grid("gammas", search.gammas, zero=False))


def _fit_best(source: TrainingSource, best: Candidate) -> Any:
    """The estimator of the best candidate, fitted to all rows."""
    training, settings = source.whole(), best.settings
    model = candidate_estimator(source.model, best)
    if settings.eps is None and settings.eps_factor != 1.0:
        model.set_params(eps=training.problem(settings).eps)
    settings = make_settings(model, source.data.labels.n_tasks)
    solution = training.solve(settings, make_effort(model), callback=model.callback)
    return publish(model, training, settings, solution)


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
        own = own_score(SCORES[name], data)
        return partial(_leave_one_out, own, progress)
    evaluate = _own_evaluate(name, data) if name in SCORES else _scorer_evaluate(scoring, model, data)
    return partial(search_folds, splits=splits, evaluate=evaluate, n_jobs=n_jobs, progress=progress)


def _own_evaluate(name: str, data: TaskData) -> Evaluate:
    """One of our scores, which needs no model but its predictions."""
    score = own_score(SCORES[name], data)
    return lambda fold, answer, F: score(fold.labels, F)


def _scorer_evaluate(scoring: Any, model: Any, data: TaskData) -> Evaluate:
    """A scorer of scikit-learn, which asks a fitted model."""
    scorer = get_scorer(scoring)
    if data.labels.long:
        raise ValueError(
            f"scoring={scoring!r} cannot tell predict which task a row is of; in long format choose one of "
            f"{', '.join(SCORES)}."
        )
    if np.any(data.labels.weight == 0.0):
        raise ValueError(
            f"scoring={scoring!r} knows nothing of missing labels and of weights of zero; with them choose "
            f"one of {', '.join(SCORES)}."
        )
    y = data.coding.predictions(data.labels.y)

    def evaluate(fold: Fold, answer: Answer, F: Array) -> float:
        candidate, solution = answer
        fitted = assign(candidate_estimator(model, candidate), fold.training, candidate.settings, solution)
        return float(scorer(fitted, data.features(fold.test, fold.train), y[fold.test]))

    return evaluate


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
        with single_threaded(n_rows, SMALL_DECOMPOSITION), closing(_one_ahead(ahead)) as opened:
            results = keep(score(fold) for fold in islice(opened, len(splits)))
    else:
        results = keep(score(source.fold(split)) for split in splits)
    scores, edges = (np.array(part).T for part in zip(*results, strict=True))
    return CandidateScores(scores, edges, row_means(scores), finished=len(results) == len(splits))


def _leave_one_out(
    score: Callable[[Labels, Array], float],
    progress: Callable[[], None],
    source: TrainingSource,
    candidates: Sequence[Candidate],
) -> CandidateScores:
    """Score every candidate on rows left out in turn, with the structure learned on all rows."""
    with single_threaded(source.data.labels.n_rows, SMALL_DECOMPOSITION):
        training = source.whole()
        outcome = search_loo(training, _by_alpha(training, candidates, search_effort(source.model)), score)
    progress()
    return outcome


def search_effort(model: Any) -> Effort:
    """Only as much work as comparing candidates needs."""
    effort = make_effort(model)
    return replace(effort, tol=max(effort.tol, SEARCH_ACCURACY))


def _score_fold(
    candidates: Sequence[Candidate], evaluate: Evaluate, effort: Effort, fold: Fold
) -> tuple[list[float], list[float]]:
    """Scores and numbers of edges of the candidates."""
    scores, edges = [], []
    with single_threaded(len(fold.train), SMALL_DECOMPOSITION):
        for _, answers in _by_alpha(fold.training, candidates, effort):
            for answer, F in zip(answers, _predict(fold, answers), strict=True):
                scores.append(evaluate(fold, answer, F))
                edges.append(float(count_edges(answer[1].structure)))
    return scores, edges


def _predict(fold: Fold, answers: Sequence[Answer]) -> list[Array]:
    """Predictions of several candidates at the test rows, laid out like their labels, in the units of y."""
    predictors = [fold.training.predictor(solution) for _, solution in answers]
    labels, read = fold.labels, fold.training.loss.inverse_link
    if labels.long:
        Phi = labels.arrange(fold.Phi)
        return [read(labels.scores(Phi, coef) + labels.spread(constant)) for coef, constant in predictors]
    # One large product is quicker than many narrow ones.
    scores = fold.Phi @ np.hstack([coef for coef, _ in predictors])
    parts = np.split(scores, len(predictors), axis=1)
    return [read(F + constant) for F, (_, constant) in zip(parts, predictors, strict=True)]


def _open_and_score(open_fold: Callable[..., Any], score: Callable[..., Any], split: Split) -> Any:
    return score(open_fold(split))


def _one_ahead(jobs: Iterable[Callable[[], S]]) -> Generator[S, None, None]:
    """Results of the jobs; while the caller works on one, a thread does the next."""
    with ThreadPoolExecutor(1) as pool:
        coming: Future[S] | None = None
        for job in jobs:
            coming, ready = pool.submit(job), coming
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()


def _by_alpha(
    training: Training, candidates: Sequence[Candidate], effort: Effort
) -> Iterator[tuple[float, list[Answer]]]:
    """What the candidates learned, those in a row with the same alpha together."""
    answers = _learn_all(training, candidates, effort)
    for alpha, some in groupby(answers, key=lambda answer: answer[0].settings.alpha):
        yield alpha, list(some)


def _learn_all(training: Training, candidates: Sequence[Candidate], effort: Effort) -> Iterator[Answer]:
    """Learn the candidates in order, each from its neighbour at the same alpha, or from itself at the last one."""
    last: dict[Any, Array] = {}
    for candidate in candidates:
        here, along_alpha = candidate.all_but_own(), candidate.all_but_alpha()
        start = last.get(here, last.get(along_alpha))
        # A known structure needs no solver, and not every one can be asked for.
        chosen = replace(effort, solver="auto") if candidate.penalty.known else effort
        solution = training.solve(candidate.settings, chosen, start=start, certify=False)
        last[here] = last[along_alpha] = solution.structure
        yield candidate, solution
