"""Folds that suit the labels, training sets cut out of one table, and going through them with progress."""

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from skmtl._linalg import SMALL_DECOMPOSITION, Array, single_threaded
from skmtl._parameters import NO_NUMBERS, check_callback, check_verbose
from skmtl.estimators.base import make_map, train
from skmtl.features.kernels import check_finite_kernel
from skmtl.losses import Loss
from skmtl.solvers.design import check_square_and_symmetric
from skmtl.solvers.solution import Solution
from skmtl.solvers.training import Training
from skmtl.targets import Labels, TaskData

# With few labels of each task a score is noise, and more so if a fifth of them is held back. Twice the folds cost twice
# the time, of which there is enough for so few rows; with gaps a fit costs the cube of the labels, or of the gaps.
N_FOLDS, MORE_FOLDS = 5, 10
FEW_LABELS, FEW_ROWS, FEW_IN_GAPS = 250, 1000, 700
# Which rows come together in a fold is chance, and of few rows that is most of what candidates differ by: the mean over
# several deals of them is not. As many deals cost as many times the time, which is seconds for so few rows.
N_DEALS, ROWS_TO_DEAL_AGAIN = 3, 150

# What has a ``split`` of another kind, or none of its own.
NO_SPLITTERS = (str, bytes, bytearray, type)
Index = NDArray[np.intp]
Split = tuple[Index, Index]
Callback = Callable[[dict[str, Any]], None]
S = TypeVar("S")


def deal_again(data: TaskData) -> list[Split]:
    """The folds of :func:`make_splits` without a ``cv`` and, of a small table of numbers, those of further deals."""
    few = has_few_labels(data) and data.labels.n_rows <= ROWS_TO_DEAL_AGAIN
    again = few and data.groups is None and data.coding.classes is None
    orders = [np.random.default_rng(k).permutation(data.labels.n_rows) for k in range(1, N_DEALS if again else 1)]
    deals = [[(order[train], order[test]) for train, test in make_splits(None, data.take(order))] for order in orders]
    return [*make_splits(None, data), *(split for deal in deals for split in deal)]


def make_splits(cv: Any, data: TaskData) -> list[Split]:
    """Pairs of training and test rows of the data.

    ``cv`` is a number of folds, None for :func:`count_folds`, a splitter, or pairs of indices into the rows that the
    user passed, of which those without labels are left out. Whole numbers spread classes, and tasks in long format or
    with missing labels, evenly over the folds, and keep groups of rows together where there are some.
    """
    n_rows = data.labels.n_rows
    cv = count_folds(data) if cv is None else cv
    if isinstance(cv, Integral) and not isinstance(cv, NO_NUMBERS):
        pairs: Any = _dealt(data, int(cv))
    elif hasattr(cv, "split") and not isinstance(cv, NO_SPLITTERS):
        # Duck typing, as scikit-learn has it: whatever splits is a splitter.
        pairs = cv.split(data.X, _column(data.labels), data.groups)
    elif np.iterable(cv) and not isinstance(cv, NO_SPLITTERS):
        pairs = _positions(cv, data)
    else:
        raise ValueError(f'cv={cv!r:.50} is not known; pass a number of folds, "loo", a splitter, or pairs of indices.')
    splits = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in pairs]
    if not splits or any(len(train) == 0 or len(test) == 0 for train, test in splits):
        raise ValueError("cv gives no folds, or a fold without training or test rows; use other folds.")
    if max(int(part.max()) for split in splits for part in split) >= n_rows:
        raise ValueError(
            f"cv splits more rows than the {n_rows} that have labels; drop the others, or pass pairs of indices."
        )
    return splits


def test_share(splits: Sequence[Split]) -> float:
    """The number of test rows to that of training rows."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))


def count_folds(data: TaskData) -> int:
    """Five folds; ten of a small table of numbers with few labels of each task."""
    n_apart = data.labels.n_rows if data.groups is None else len(np.unique(data.groups))
    # Of rare classes a smaller fold may hold none.
    more = has_few_labels(data) and n_apart >= 2 * MORE_FOLDS and data.coding.classes is None
    return MORE_FOLDS if more else N_FOLDS


def has_few_labels(data: TaskData) -> bool:
    """Whether the table is small and has few labels of each task."""
    labels = data.labels
    n_labels, n_missing = int(np.count_nonzero(labels.weight)), int(np.count_nonzero(labels.weight == 0.0))
    small = labels.n_rows <= FEW_ROWS and min(n_labels, n_missing) <= FEW_IN_GAPS
    return small and n_labels <= FEW_LABELS * labels.n_tasks


def test_labels(labels: Labels, train: NDArray[np.intp], test: NDArray[np.intp]) -> Labels:
    """The labels of test rows, except of tasks without any among the training rows: nobody can predict them."""
    some = labels.take(train)
    return labels.take(test).reweighted((some.sums(some.weight) > 0.0).astype(float))


def _dealt(data: TaskData, n_folds: int) -> Iterator[Split]:
    """As many folds as a user asks for."""
    if data.groups is not None:
        return _grouped(data.groups, n_folds)
    n_rows = data.labels.n_rows
    if n_folds < 2:
        raise ValueError(f'cv={n_folds} must be at least 2 folds; cv="loo" leaves one row out.')
    if n_rows < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows with labels, here are {n_rows} samples.")
    return _spread(data, n_folds)


def _grouped(groups: Index, n_folds: int) -> Iterator[Split]:
    """Folds that keep groups together, as equal in rows as these allow."""
    n_groups = len(np.unique(groups))
    if n_folds < 2 or n_groups < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least 2 folds and {n_folds} groups, here are {n_groups} groups.")
    yield from GroupKFold(n_folds).split(groups, groups=groups)


def _strata(data: TaskData) -> NDArray[np.intp] | None:
    """What to spread evenly over folds: tasks in long format, and classes where a row has one."""
    labels = data.labels
    classes = data.coding.classes is not None
    positive = labels.in_rows(labels.y) > 0.0
    if labels.long:
        return np.asarray(2 * labels.tasks + (positive if classes else 0), dtype=np.intp)
    if classes and np.all(labels.weight == labels.weight[:, :1]):
        if labels.n_tasks == 1:
            return positive[:, 0].astype(np.intp)
        if np.all(positive.sum(axis=1) == 1):
            return positive.argmax(axis=1)
    return None


def _spread(data: TaskData, n_folds: int) -> Iterator[Split]:
    """Folds with even shares of each class, of each task, or of the rows where these have everything."""
    strata, labels = _strata(data), data.labels
    if strata is not None:
        return _stratified(strata, n_folds)
    known = labels.weight > 0.0
    if labels.long or known.all():
        return KFold(n_folds).split(data.X)
    return _as_splits(_deal_labels(known, n_folds), n_folds)


def _deal_labels(known: NDArray[np.bool_], n_folds: int) -> Index:
    """The fold of each row: in turn the one that has fewest labels of the tasks that the row knows.

    Rows that know most come first, for those that know less fit in anywhere; ``known`` has shape (n_rows, n_tasks).
    """
    fold = np.empty(len(known), dtype=np.intp)
    counts, sizes = np.zeros((n_folds, known.shape[1])), np.zeros(n_folds)
    for row in np.argsort(-known.sum(axis=1), kind="stable"):
        # Among equals the fold with fewest rows; there are less than a million of them.
        k = int(np.argmin(counts @ known[row] + 1e-6 * sizes))
        fold[row] = k
        counts[k] += known[row]
        sizes[k] += 1.0
    return fold


def _stratified(strata: NDArray[np.intp], n_folds: int) -> Iterator[Split]:
    """Deal the rows of each stratum to the folds in turn, so that folds and strata come out even."""
    fold = np.empty(len(strata), dtype=np.intp)
    fold[np.argsort(strata, kind="stable")] = np.arange(len(strata)) % n_folds
    return _as_splits(fold, n_folds)


def _as_splits(fold: Index, n_folds: int) -> Iterator[Split]:
    """Training and test rows of each fold."""
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _column(labels: Labels) -> Array:
    """Something for a splitter to stratify by: the class, or the labels."""
    y = labels.in_rows(labels.y)
    if not labels.long and labels.n_tasks > 1 and np.all((y > 0.0).sum(axis=1) == 1):
        return y.argmax(axis=1)
    return y[:, 0] if y.ndim == 2 and labels.n_tasks == 1 else y


def _index_pair(pair: Any) -> Split:
    """Training and test rows of a fold, given as indices or as a truth value for each row."""
    try:
        train, test = (np.asarray(part) for part in pair)
        known = all(part.ndim == 1 and (part.dtype.kind in "biu" or part.size == 0) for part in (train, test))
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(f"cv has {pair!r:.50} for a fold; pass pairs of indices, of training and of test rows.")
    train, test = (np.flatnonzero(part) if part.dtype == bool else part.astype(np.intp) for part in (train, test))
    return train, test


def _positions(pairs: Any, data: TaskData) -> Iterator[Split]:
    """Indices into the user's rows as positions among those with labels."""
    rows, n_given = np.asarray(data.rows), data.n_given
    for pair in pairs:
        train, test = _index_pair(pair)
        for part in (train, test):
            if len(part) and not 0 <= part.min() <= part.max() < n_given:
                raise ValueError(f"cv has indices from {part.min()} to {part.max()}; rows are 0 to {n_given - 1}.")
        train, test = (np.searchsorted(rows, part[np.isin(part, rows)]) for part in (train, test))
        yield train, test


@dataclass(frozen=True)
class Fold:
    """Training rows with their decomposition, and test rows: Phi and labels are theirs."""

    training: Training
    Phi: Array
    labels: Labels
    train: Index
    test: Index

    def predict(self, solutions: Sequence[Solution]) -> list[Array]:
        """What solutions of the training rows predict at the test rows, laid out like their labels, in units of y."""
        predictors = [self.training.predictor(solution) for solution in solutions]
        labels, read = self.labels, self.training.loss.inverse_link
        if labels.long:
            Phi = labels.arrange(self.Phi)
            return [read(labels.scores(Phi, coef) + labels.spread(constant)) for coef, constant in predictors]
        # One large product is quicker than many narrow ones.
        scores = self.Phi @ np.hstack([coef for coef, _ in predictors])
        parts = np.split(scores, len(predictors), axis=1)
        return [read(F + constant) for F, (_, constant) in zip(parts, predictors, strict=True)]


class TrainingSource:
    """Training sets cut out of one table with one kernel, whose matrix on all rows is computed once.

    Where a metric is learned, every training set learns its own, and has a kernel of its own.

    Parameters
    ----------
    model : estimator
        Gives the kernel and all else that is not searched over.
    data : TaskData
    loss : Loss
    """

    def __init__(self, model: Any, data: TaskData, loss: Loss) -> None:
        self.model, self.data, self.loss = model, data, loss
        self._kernel: Array | None = None
        self._whole: Training | None = None
        feature_map = make_map(self.model)
        if feature_map.on_rows and not model.metric_rounds:
            self._kernel = check_finite_kernel(feature_map.fit(data.X).transform(data.X))
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


class Progress:
    """Counts finished parts of some work and tells a callback, with an estimate of the seconds that are left.

    Parameters
    ----------
    callback : callable or None
        Called with ``{"done": k, "total": n, "remaining": seconds}`` after every part.
    total : int, optional
        The number of parts, where it is known already.
    verbose : int
        Above zero, every part is a line on the screen, too.
    """

    def __init__(self, callback: Callback | None, total: int | None = None, *, verbose: int = 0) -> None:
        self._callback, self._done, self._start = check_callback(callback), 0, time.monotonic()
        self.total, self._verbose = total, check_verbose(verbose)

    def __call__(self) -> None:
        """One more part is finished."""
        self._done += 1
        if self._callback is None and not self._verbose:
            return
        # Parts are taken for equal; after the first this is a guess, and it gets better.
        each = (time.monotonic() - self._start) / self._done
        remaining = None if self.total is None else each * (self.total - self._done)
        if self._verbose:
            left = "" if remaining is None else f", about {remaining:.0f} s left"
            total = "?" if self.total is None else self.total
            print(f"{self._done} of {total} fits and scores of a fold{left}", flush=True)
        if self._callback is not None:
            self._callback({"done": self._done, "total": self.total, "remaining": remaining})


def keep_finished(results: Iterable[S], progress: Callable[[], None], parts: str, *, at_least: int = 1) -> list[S]:
    """All results or, where the user interrupts the work, those that are finished, with a warning.

    With fewer than ``at_least`` of them there is nothing to keep, and the interruption goes on.
    """
    finished: list[S] = []
    try:
        for result in results:
            finished.append(result)
            progress()
    except KeyboardInterrupt:
        if len(finished) < at_least:
            raise
        warnings.warn(f"interrupted: the result rests on the {len(finished)} {parts} that were finished.", stacklevel=3)
    return finished


def one_ahead(jobs: Iterable[Callable[[], S]]) -> Generator[S, None, None]:
    """Results of the jobs; while the caller works on one, a thread does the next."""
    with ThreadPoolExecutor(1) as pool:
        coming: Future[S] | None = None
        for job in jobs:
            coming, ready = pool.submit(job), coming
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()
