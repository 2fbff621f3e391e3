"""Every candidate on every fold, with one decomposition per fold and gamma."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import get_scorer

from skmtl._linalg import SMALL_DECOMPOSITION, Array, has_threads, single_threaded
from skmtl.estimators.base import assign, make_effort, make_map, train
from skmtl.losses import Loss
from skmtl.model_selection.folds import Split, make_splits, test_labels
from skmtl.model_selection.grid import Candidate, candidate_estimator
from skmtl.model_selection.loo import LeaveOneOut
from skmtl.model_selection.scores import SCORES, own_score, score_name
from skmtl.objective import predictor_structure
from skmtl.solvers.design import check_square_and_symmetric
from skmtl.solvers.solve import Solution
from skmtl.solvers.training import Effort, Training
from skmtl.targets import Labels, TaskData

# Candidates are compared to no more accuracy than this, relative to the objective.
SEARCH_ACCURACY = 1e-3
# Leaving one out gives one score; its error is judged from this many groups of rows.
LOO_GROUPS = 10

S = TypeVar("S")
Index = NDArray[np.intp]
Answer = tuple[Candidate, Solution]


@dataclass(frozen=True)
class Fold:
    """Training rows with their decomposition, and test rows: Phi and labels are theirs."""

    training: Training
    Phi: Array
    labels: Labels
    train: Index
    test: Index


# The score of an answer that was learned on the training rows of a fold, and of its predictions at the test rows.
Evaluate = Callable[[Fold, Answer, Array], float]


@dataclass(frozen=True)
class CandidateScores:
    """Scores of the candidates, of shape (n_candidates, n_folds); the same of edges; and mean scores."""

    scores: Array
    edges: Array
    means: Array

    @staticmethod
    def join(parts: Sequence["CandidateScores"]) -> "CandidateScores":
        """Those of several searches on the same folds, one after the other."""
        names = ("scores", "edges", "means")
        return CandidateScores(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class TrainingSource:
    """Training sets cut out of one table at one gamma: the kernel matrix of all rows is computed once.

    Parameters
    ----------
    model : estimator
        Gives the kernel and all else that is not searched over.
    data : TaskData
    loss : Loss
    gamma : float or None
        The inverse width of the kernel.
    """

    def __init__(self, model: Any, data: TaskData, loss: Loss, gamma: float | None) -> None:
        self.model, self.data, self.loss, self.gamma = clone(model).set_params(gamma=gamma), data, loss, gamma
        self._kernel: Array | None = None
        self._whole: Training | None = None
        feature_map = make_map(self.model)
        if feature_map.on_rows:
            self._kernel = feature_map.fit(data.X).transform(data.X)
            if not feature_map.fresh:
                check_square_and_symmetric(self._kernel)

    def training(self, rows: Index) -> Training:
        """Some rows as a training set of its own."""
        kernel = None if self._kernel is None else self._kernel[np.ix_(rows, rows)]
        return train(self.model, self.data.take(rows), self.loss, kernel=kernel)

    def whole(self) -> Training:
        """All rows as a training set, decomposed once."""
        if self._whole is None:
            kernel = None if self._kernel is None else self._kernel.copy()
            self._whole = train(self.model, self.data, self.loss, kernel=kernel)
        return self._whole

    def fold(self, split: Split) -> Fold:
        """Training rows decomposed, and test rows in their basis."""
        rows, test = split
        with single_threaded(len(rows), SMALL_DECOMPOSITION):
            training = self.training(rows)
            Z = self._kernel[np.ix_(test, rows)] if self._kernel is not None else self._transform(training, test)
            return Fold(training, training.basis(Z), test_labels(self.data.labels, rows, test), rows, test)

    def _transform(self, training: Training, rows: Index) -> Array:
        return training.feature_map.transform(self.data.X[rows])

    def size(self) -> float:
        """The mean of the diagonal of the kernel; of features about their mean."""
        if self._kernel is not None:
            return float(np.mean(np.diag(self._kernel))) or 1.0
        return make_map(self.model).size(self.data.X, center=self.model.fit_intercept) or 1.0


# Scores candidates on the training sets of a source.
Run = Callable[[TrainingSource, Sequence[Candidate]], CandidateScores]


def make_run(model: Any, data: TaskData, loss: Loss, *, cv: Any, scoring: Any, n_jobs: int | None) -> Run:
    """A function that scores candidates, by folds or by leaving one row out."""
    name = score_name(scoring, data)
    if isinstance(cv, str) and cv == "loo":
        _check_loo(data, loss, name)
        own = own_score(SCORES[name], data)
        return lambda source, candidates: search_loo(source, candidates, own)
    splits = make_splits(cv, data)
    evaluate = _own_evaluate(name, data) if name in SCORES else _scorer_evaluate(scoring, model, data)
    return lambda source, candidates: search_folds(source, candidates, splits, evaluate, n_jobs=n_jobs)


def _check_loo(data: TaskData, loss: Loss, score: str) -> None:
    labels = data.labels
    if not loss.quadratic:
        raise ValueError(f'cv="loo" needs loss="square", not {loss.name!r}; use cv=5.')
    if not labels.complete():
        gaps = int(np.count_nonzero(labels.weight == 0.0)) if not labels.long else "most"
        raise ValueError(f'cv="loo" needs every label of every row, with one weight; {gaps} are missing. Use cv=5.')
    if score not in SCORES:
        raise ValueError(f'scoring={score!r} is not possible with cv="loo"; choose one of {", ".join(SCORES)}.')


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
) -> CandidateScores:
    """Score every candidate on every fold, the structure learned anew in each."""
    n_rows = source.data.labels.n_rows
    score = partial(_score_fold, candidates, evaluate, search_effort(source.model))
    if effective_n_jobs(n_jobs) > 1:
        results = Parallel(n_jobs=n_jobs)(delayed(_open_and_score)(source.fold, score, split) for split in splits)
    elif n_rows <= SMALL_DECOMPOSITION and has_threads():
        jobs: list[Callable[[], Any]] = [partial(source.fold, split) for split in splits]
        if not all(candidate.penalty.known for candidate in candidates):
            # Structures are learned at the last gamma only, at which all rows come next.
            jobs.append(source.whole)
        with single_threaded(n_rows, SMALL_DECOMPOSITION), closing(_one_ahead(jobs)) as opened:
            results = [score(fold) for fold in islice(opened, len(splits))]
    else:
        results = [score(source.fold(split)) for split in splits]
    scores, edges = (np.array(part).T for part in zip(*results, strict=True))
    return CandidateScores(scores, edges, _row_means(scores))


def search_effort(model: Any) -> Effort:
    """Only as much work as comparing candidates needs."""
    effort = make_effort(model)
    return replace(effort, tol=max(effort.tol, SEARCH_ACCURACY))


def count_edges(structure: Array) -> int:
    """The number of related pairs of tasks."""
    return int(np.count_nonzero(np.triu(structure, 1)))


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
    labels = fold.labels
    if labels.long:
        Phi = labels.arrange(fold.Phi)
        return [labels.scores(Phi, coef) + labels.spread(constant) for coef, constant in predictors]
    # One large product is quicker than many narrow ones.
    scores = fold.Phi @ np.hstack([coef for coef, _ in predictors])
    parts = np.split(scores, len(predictors), axis=1)
    return [F + constant for F, (_, constant) in zip(parts, predictors, strict=True)]


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


def search_loo(
    source: TrainingSource, candidates: Sequence[Candidate], score: Callable[[Labels, Array], float]
) -> CandidateScores:
    """Score every candidate on rows left out in turn, with the structure learned on all rows."""
    labels = source.data.labels
    n_rows = labels.n_rows
    with single_threaded(n_rows, SMALL_DECOMPOSITION):
        training = source.whole()
        scaled = training.labels
        leave_out = LeaveOneOut(
            training.design, scaled.y.reshape(n_rows, -1), scaled.row_weight(), intercept=training.intercept
        )
        groups = [np.arange(n_rows)[k::LOO_GROUPS] for k in range(min(LOO_GROUPS, n_rows))]
        scores, edges, means = [], [], []
        for alpha, answers in _by_alpha(training, candidates, search_effort(source.model)):
            structures = [
                predictor_structure(solution.structure, candidate.settings.common) for candidate, solution in answers
            ]
            for (_, solution), F in zip(answers, leave_out.predict(structures, alpha), strict=True):
                F = np.add(*training.scaling.undo(F, np.zeros(labels.n_tasks))).reshape(labels.y.shape)
                means.append(score(labels, F))
                scores.append([_score_group(score, labels, F, group) for group in groups])
                edges.append([float(count_edges(solution.structure))])
    return CandidateScores(np.array(scores), np.array(edges), np.array(means))


def _score_group(score: Callable[[Labels, Array], float], labels: Labels, F: Array, group: Index) -> float:
    some = labels.take(group)
    return score(some, some.arrange(labels.in_rows(F)[group]))


def _row_means(scores: Array) -> Array:
    """Means over the folds where a score is defined; NaN where there is none."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(scores), np.nan), where=count > 0)
