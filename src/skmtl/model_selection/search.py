"""Every candidate on every fold: scores, graphs and their accuracy, with one decomposition per fold and width."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone

from skmtl._linalg import SMALL_DECOMPOSITION, Array, has_threads, single_threaded
from skmtl.features import FeatureMap
from skmtl.losses import Loss
from skmtl.model_selection.entries import Entries
from skmtl.model_selection.folds import Split, every_task
from skmtl.model_selection.grid import Candidate, is_known
from skmtl.model_selection.loo import LeaveOneOut
from skmtl.model_selection.training import Learned, SlicedKernel, Training
from skmtl.objective import predictor_structure
from skmtl.solvers.design import check_square_and_symmetric

# Leaving one out gives one score; its error is judged from this many groups of rows.
LOO_GROUPS = 10

S = TypeVar("S")
Answer = tuple[Candidate, Learned]
# The score of predictions for test entries; of a fold also what was learned on its rows.
Evaluate = Callable[[Entries, Array, "tuple[Fold, Answer] | None"], float]


@dataclass(frozen=True)
class Fold:
    """Training rows with their decomposition, and test rows: Phi and labels are theirs."""

    training: Training
    Phi: Array
    labels: Entries
    train: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True)
class Outcome:
    """Scores of the candidates, of shape (n_candidates, n_folds); the same of edges; and mean scores."""

    scores: Array
    edges: Array
    means: Array


@dataclass
class Rows:
    """The rows of the whole table as one width of the kernel sees them: features, or the kernel matrix.

    Attributes
    ----------
    X : ndarray of shape (n, d), or the kernel matrix of shape (n, n)
    feature_map : FeatureMap
        The map for features; for a kernel matrix one that takes slices of it.
    sliced : bool
        Whether X is a kernel matrix.
    gamma : float or None
        The width.
    """

    X: Array
    feature_map: FeatureMap
    sliced: bool
    gamma: float | None
    _whole: Training | None = field(default=None, repr=False)

    @classmethod
    def from_model(cls, model: Any, X: Array) -> "Rows":
        """Compute the kernel once for all folds."""
        feature_map = model._make_feature_map()
        if not feature_map.on_rows:
            return cls(X, feature_map, False, model.gamma)
        K = feature_map.fit(X).transform(X)
        if not feature_map.fresh:
            check_square_and_symmetric(K)
        return cls(K, SlicedKernel(), True, model.gamma)

    def train(self, rows: NDArray[np.intp]) -> tuple[FeatureMap, Array]:
        """The fitted map, and training rows that are nobody else's."""
        if self.sliced:
            return self.feature_map, self.X[np.ix_(rows, rows)]
        # A map of its own for each fold: folds may be searched in threads.
        return clone(self.feature_map).fit(self.X[rows]), self.X[rows]

    def test(self, feature_map: FeatureMap, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Test rows of the fitted map."""
        return self.X[np.ix_(test, train)] if self.sliced else feature_map.transform(self.X[test])

    def whole(self, model: Any, entries: Entries, loss: Loss, *, scale: bool) -> Training:
        """All rows as a training set, decomposed once."""
        if self._whole is None:
            self._whole = Training(model, *self.train(np.arange(len(entries))), entries, loss, scale=scale)
        return self._whole

    def size(self, *, center: bool) -> float:
        """The mean of the diagonal of the kernel; of features about their mean."""
        if self.sliced:
            return float(np.mean(np.diag(self.X))) or 1.0
        return self.feature_map.size(self.X, center=center) or 1.0


def search_folds(
    model: Any,
    rows: Rows,
    entries: Entries,
    loss: Loss,
    candidates: Sequence[Candidate],
    splits: Sequence[Split],
    evaluate: Evaluate,
    *,
    scale: bool,
    n_jobs: int | None,
) -> Outcome:
    """Score every candidate on every fold, the structure learned anew in each."""
    open_one = partial(_open_fold, model, rows, entries, loss, scale)
    score = partial(_score_fold, candidates, evaluate)
    if effective_n_jobs(n_jobs) > 1:
        results = Parallel(n_jobs=n_jobs)(delayed(_open_and_score)(open_one, score, split) for split in splits)
    elif len(entries) <= SMALL_DECOMPOSITION and has_threads():
        jobs: list[Callable[[], Any]] = [partial(open_one, split) for split in splits]
        if not all(is_known(candidate.penalty) for candidate in candidates):
            # Structures are learned at the last width only, at which all rows come next.
            jobs.append(partial(rows.whole, model, entries, loss, scale=scale))
        with single_threaded(len(entries), SMALL_DECOMPOSITION), closing(_one_ahead(jobs)) as opened:
            results = [score(fold) for fold in islice(opened, len(splits))]
    else:
        results = [score(open_one(split)) for split in splits]
    scores, edges = (np.array(part).T for part in zip(*results, strict=True))
    return Outcome(scores, edges, _row_means(scores))


def _open_fold(model: Any, rows: Rows, entries: Entries, loss: Loss, scale: bool, split: Split) -> Fold:
    with single_threaded(len(split[0]), SMALL_DECOMPOSITION):
        train, labels = every_task(entries, split[0])
        test = entries.take(split[1])
        # A task without a training label cannot be predicted.
        has_labels = (labels.sums(labels.weight) > 0.0).astype(float)
        test = Entries(test.y, test.weight * test.spread(has_labels), test.tasks, test.n_tasks)
        feature_map, Z = rows.train(train)
        training = Training(model, feature_map, Z, labels, loss, scale=scale)
        Phi = training.basis(rows.test(feature_map, train, split[1]))
    return Fold(training, Phi, test, train, split[1])


def _score_fold(candidates: Sequence[Candidate], evaluate: Evaluate, fold: Fold) -> tuple[list[float], list[float]]:
    """Scores and numbers of edges of the candidates."""
    scores, edges = [], []
    with single_threaded(len(fold.train), SMALL_DECOMPOSITION):
        for _, some in by_alpha(fold.training, candidates):
            predictions = fold.training.predict([learned for _, learned in some], fold.Phi, fold.labels)
            for answer, F in zip(some, predictions, strict=True):
                scores.append(evaluate(fold.labels, F, (fold, answer)))
                edges.append(float(answer[1].n_edges))
    return scores, edges


def _open_and_score(open_one: Callable[..., Any], score: Callable[..., Any], split: Split) -> Any:
    return score(open_one(split))


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


def by_alpha(training: Training, candidates: Sequence[Candidate]) -> Iterator[tuple[float, list[Answer]]]:
    """What the candidates learned, those in a row with the same alpha together."""
    for alpha, answers in groupby(learn_all(training, candidates), key=lambda answer: answer[0].alpha):
        yield alpha, list(answers)


def learn_all(training: Training, candidates: Sequence[Candidate]) -> Iterator[Answer]:
    """Learn the candidates in order, each from its neighbour at the same alpha, or from itself at the last one."""
    last: dict[Any, Array] = {}
    for candidate in candidates:
        learned = training.learn(candidate, last.get(candidate.family(), last.get(candidate.track())))
        last[candidate.family()] = last[candidate.track()] = learned.structure
        yield candidate, learned


def search_loo(
    model: Any,
    rows: Rows,
    entries: Entries,
    loss: Loss,
    candidates: Sequence[Candidate],
    evaluate: Evaluate,
    *,
    scale: bool,
) -> Outcome:
    """Score every candidate on rows left out in turn, with the structure learned on all rows."""
    everything = np.arange(len(entries))
    with single_threaded(len(entries), SMALL_DECOMPOSITION):
        training = rows.whole(model, entries, loss, scale=scale)
        targets = training.targets
        Y = targets.labels.y.reshape(len(entries), -1)
        leave_out = LeaveOneOut(training.design, Y, training.weight, intercept=training.intercept)
        groups = [everything[k::LOO_GROUPS] for k in range(min(LOO_GROUPS, len(entries)))]
        scores, edges, means = [], [], []
        for alpha, some in by_alpha(training, candidates):
            structures = [predictor_structure(learned.structure, candidate.common) for candidate, learned in some]
            for (_, learned), F in zip(some, leave_out.predict(structures, alpha), strict=True):
                F = (F * targets.scale + targets.mean).reshape(entries.y.shape)
                means.append(evaluate(entries, F, None))
                scores.append([evaluate(entries.take(group), F[group], None) for group in groups])
                edges.append([float(learned.n_edges)])
    return Outcome(np.array(scores), np.array(edges), np.array(means))


def _row_means(scores: Array) -> Array:
    """Means over the folds where a score is defined; NaN where there is none."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(scores), np.nan), where=count > 0)
