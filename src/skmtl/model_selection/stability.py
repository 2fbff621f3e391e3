"""How often each edge of the task graph is found again on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl._parameters import check_count, check_jobs, check_positive
from skmtl.estimators.base import make_effort, make_settings
from skmtl.estimators.clean import clean
from skmtl.losses.base import check_loss
from skmtl.model_selection.folds import Callback, Progress, TrainingSource, keep_finished
from skmtl.model_selection.path import along_path, settle
from skmtl.solvers.training import Settings
from skmtl.targets import Labels

INTERVAL = (0.05, 0.95)
# An edge in more than this share of the halves counts as stable.
STABLE = 0.9
MUS = np.linspace(0.1, 1.0, 19)


def edge_stability(
    estimator: Any,
    X: ArrayLike,
    Y: ArrayLike,
    n_resamples: int = 100,
    *,
    max_false: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    sample_weight: ArrayLike | None = None,
    tasks: Any = None,
    groups: Any = None,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Learn the graph on random halves of the rows, and count how often each edge is found.

    Halves come in complementary pairs (Shah and Samworth, 2013); in long format every task is halved. An edge in most
    halves does not hang on a few rows, or groups of rows; that it means something about the tasks is not proved by it.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        Its parameters are held. Of a CV estimator, those it chooses on all rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    n_resamples : int, default=100
        How many halves.
    max_false : float, optional
        How many of the edges in more than nine tenths of the halves may be false, in expectation. Then mu is not the
        estimator's: it is the largest for which the bound q^2 / (0.8 p) of Meinshausen and Buehlmann on q edges per
        half, out of p pairs, allows no more. The stable edges are then a graph to look at; the one that predicts best
        has more of them as a rule. The bound takes it that false edges are as likely as one another, and is of no use
        for the one pair of two tasks. There, and by default, mu is held, and nothing is said about false edges.
    n_jobs : int, optional
        Halves learned in parallel, through joblib.
    callback : callable, optional
        Called with ``{"done": k, "total": n_resamples, "remaining": seconds}`` after every half.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
        Weights, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of one group are in the same half. Halves have as many groups as one another, and not always as many rows.
    random_state : int or Generator, default=0
        For drawing the halves.

    Returns
    -------
    DataFrame
        A row per pair of tasks related at least once, the most frequent first, equal ones by steadiness: ``task_a``,
        ``task_b``, ``frequency`` (the share of halves), and over all halves ``weight`` (the median), ``weight_low``,
        ``weight_high`` (the interval that holds nine tenths of them) and ``steadiness`` (the size of the mean over the
        standard deviation). Weights are entries of ``structure_``. ``stable`` says whether the edge is in more than
        nine tenths of the halves, and ``mu``, which ``attrs["mu"]`` has too, at which mu all this was found;
        with ``max_false``, ``attrs["false_bound"]`` is how many stable edges may be false, in expectation.

    See Also
    --------
    structure_path : The graph along mu.
    MultiTaskRegressor.relations : The relations of one fit.

    References
    ----------
    Meinshausen, Buehlmann. Stability selection. JRSS B 2010.
    Shah, Samworth. Variable selection with error control: another look at stability selection. JRSS B 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, edge_stability
    >>> from skmtl.penalties import Sparse
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> table = edge_stability(MultiTaskRegressor(Sparse(mu=0.5), alpha=0.1), X, Y, n_resamples=10)
    >>> table.loc[0, ["task_a", "task_b"]].tolist()
    ['Weight', 'Waist']
    """
    total = check_count("n_resamples", n_resamples)
    estimator = settle(estimator, X, Y, sample_weight=sample_weight, tasks=tasks, groups=groups)
    loss = check_loss(estimator.loss, purpose=estimator.purpose)
    data = clean(estimator, X, Y, sample_weight, tasks, groups)
    n_rows, n_tasks = data.labels.n_rows, data.labels.n_tasks
    n_apart = n_rows if data.groups is None else len(np.unique(data.groups))
    if n_apart < 4:
        what = "rows" if data.groups is None else "groups of rows"
        raise ValueError(f"there are {n_apart} {what} with labels; halves of them need at least 4.")
    if isinstance(estimator.landmarks, str) and (estimator.n_components or 0) >= -(-n_rows // 2):
        # All rows of a half would be landmarks; the exact kernel is the same, in half of the time.
        estimator = clone(estimator).set_params(n_components=None)
    path, most_edges = [make_settings(estimator, n_tasks)], np.inf
    if max_false is not None and n_tasks > 2:
        check_positive("max_false", max_false)
        path = [one.settings for one in along_path(estimator, MUS, n_tasks)]
        # A little more, for rounding: the bounds decide.
        most_edges = (1.0 + 1e-9) * total * edges_allowed(max_false, n_tasks)
    source, room = TrainingSource(estimator, data, loss), _Room(len(path), most_edges)
    halves = _halves(data.labels, total, np.random.default_rng(random_state), data.groups)
    # All others start from what the first one found.
    first = room.take(_learn_half(source, path, next(halves), room.left))
    jobs = (delayed(_learn_half)(source, path, half, room.left, first[0]) for half in halves)
    rest = map(room.take, Parallel(n_jobs=check_jobs(n_jobs), return_as="generator")(jobs))
    found = keep_finished(chain([first], rest), Progress(callback, total), "halves")
    along = np.array([one[: len(room.left)] for one in found])
    bounds = _bound_false(along)
    chosen = 0 if len(path) == 1 else _allow_false(bounds, max_false)
    structures = along[:, chosen]
    if n_tasks > 2 and np.all(structures != 0.0):
        advice = "dense; use the sparse penalty with a smaller mu." if len(path) == 1 else "dense at any mu."
        warnings.warn(
            "every pair of tasks is related on every half of the rows, so frequencies say nothing: this structure is "
            f"{advice}",
            UserWarning,
            stacklevel=2,
        )
    parameter = path[chosen].penalty.path_parameter
    mu = np.nan if parameter is None else float(path[chosen].penalty.get_params()[parameter])
    table = _summarize(structures, data.task_names).assign(mu=mu)
    table.attrs.update(mu=mu, false_bound=float(bounds[chosen]) if len(path) > 1 else np.nan)
    return table


def _halves(
    labels: Labels, count: int, rng: np.random.Generator, groups: NDArray[np.intp] | None = None
) -> Iterator[NDArray[np.intp]]:
    """Random halves of the rows and their complements, of every task in long format; groups of rows stay whole."""
    groups = np.arange(labels.n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    strata = _strata(labels, groups)
    for k in range(count):
        if k % 2 == 0:
            shuffled = rng.permutation(len(strata))
            order = shuffled[np.argsort(strata[shuffled], kind="stable")]
        # Every other group of the shuffled strata.
        yield np.flatnonzero(np.isin(groups, order[k % 2 :: 2]))


def _strata(labels: Labels, groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """What to halve evenly: in long format the task that most rows of a group are of."""
    tasks = labels.tasks if labels.long else np.zeros(labels.n_rows, dtype=np.intp)
    counts = np.zeros((groups.max() + 1, labels.n_tasks))
    np.add.at(counts, (groups, tasks), 1.0)
    return counts.argmax(axis=1)


class _Room:
    """How many more edges halves may have at each mu, in ``left``, before its graph is not chosen whatever follows.

    Graphs with many edges are most of the work, and the first that has too many ends the search.
    """

    def __init__(self, n_graphs: int, most_edges: float) -> None:
        self.left = np.full(n_graphs, most_edges)

    def take(self, structures: list[Array]) -> list[Array]:
        """The structures of another half, of which the edges are counted."""
        n_edges = [np.count_nonzero(np.triu(one, 1)) for one in structures[: len(self.left)]]
        left = self.left[: len(n_edges)] - n_edges
        # The graph with the fewest edges is there, if no other is.
        self.left = left if np.all(left >= 0.0) else left[: max(int(np.argmax(left < 0.0)), 1)]
        return structures


def _learn_half(
    source: TrainingSource, path: Sequence[Settings], half: NDArray[np.intp], room: Array, start: Array | None = None
) -> list[Array]:
    """The structures along a path that are learned from a half of the rows, until there is no room for their edges."""
    training, effort, found = source.training(half), make_effort(source.model), list[Array]()
    for settings, most in zip(path, room, strict=False):
        found.append(training.solve(settings, effort, start=found[-1] if found else start).structure)
        if np.count_nonzero(np.triu(found[-1], 1)) > most:
            break
    return found


def edges_allowed(max_false: float, n_tasks: int) -> float:
    """With so many edges on a half, on average, no more stable ones than ``max_false`` are expected to be false."""
    return float(np.sqrt(max_false * (2.0 * STABLE - 1.0) * max(n_tasks * (n_tasks - 1) // 2, 1)))


def _bound_false(structures: Array) -> Array:
    """How many stable edges may be false, in expectation, for each of the graphs along a path.

    ``structures`` has shape (n_halves, n_graphs, n_tasks, n_tasks).
    """
    n_tasks = structures.shape[-1]
    per_half = np.count_nonzero(np.triu(structures, 1), axis=(2, 3)).mean(axis=0)
    return np.asarray((per_half / edges_allowed(1.0, n_tasks)) ** 2)


def _allow_false(bounds: Array, max_false: Any) -> int:
    """The last of the graphs, from few edges to many, whose stable edges are not expected to be false too often."""
    allowed = bounds <= max_false
    if not allowed[0]:
        warnings.warn(
            f"even at mu={MUS[0]:g} so many pairs of tasks are related that more of the stable edges may be false than "
            f"max_false={max_false:g}.",
            UserWarning,
            stacklevel=3,
        )
    # Edges come with mu, nearly always; the first excess ends the search.
    return len(allowed) - 1 if allowed.all() else max(int(np.argmin(allowed)) - 1, 0)


def _summarize(structures: Array, names: NDArray[Any]) -> pd.DataFrame:
    a, b = np.nonzero(np.triu(np.any(structures != 0.0, axis=0), 1))
    weights = structures[:, a, b]
    low, high = np.quantile(weights, INTERVAL, axis=0)
    spread = np.std(weights, axis=0)
    steadiness = np.divide(np.abs(np.mean(weights, axis=0)), spread, out=np.full(len(a), np.inf), where=spread > 0.0)
    table = pd.DataFrame(
        {
            "task_a": names[a],
            "task_b": names[b],
            "frequency": np.mean(weights != 0.0, axis=0),
            "weight": np.median(weights, axis=0),
            "weight_low": low,
            "weight_high": high,
            "steadiness": steadiness,
            "stable": np.mean(weights != 0.0, axis=0) > STABLE,
        }
    )
    order = np.lexsort((-np.abs(table["weight"]), -table["steadiness"], -table["frequency"]))
    return table.iloc[order].reset_index(drop=True)
