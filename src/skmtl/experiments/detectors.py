"""Detectors of many attributes for a whole grid: the rows decomposed once, each fit started from the one before."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skmtl._linalg import Array
from skmtl.estimators import MultiTaskClassifier
from skmtl.estimators.base import train
from skmtl.estimators.clean import clean
from skmtl.experiments.selection import METHODS, Params, matches, stable_structure
from skmtl.losses import Square
from skmtl.objective import Problem
from skmtl.penalties import PENALTIES, Sparse, StructurePenalty
from skmtl.solvers import Solution, Training, auto_eps, solve
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows

Examples = list[tuple[Array, NDArray[np.int8]]]
"""Rows and labels of each attribute."""


def average_precision(y: NDArray[np.int8], score: Array) -> float:
    """The area under the precision-recall curve, without interpolation."""
    # scikit-learn's functions check their input for a hundred times as long as they compute, and here they would be
    # called 5,000 times for each repetition.
    order = np.argsort(-score, kind="stable")
    # Rows of one score are found together.
    last = np.append(np.diff(score[order]) != 0.0, True)
    hits, found = np.cumsum(y[order], dtype=int)[last], np.flatnonzero(last) + 1
    return float(np.sum(np.diff(hits, prepend=0) * hits / found) / hits[-1])


def area_under_roc(y: NDArray[np.int8], score: Array) -> float:
    """The share of pairs of a positive and a negative row that the scores order rightly; ties count one half."""
    n_positive, n_negative = np.count_nonzero(y == 1), np.count_nonzero(y == 0)
    ranks = rankdata(score)[y == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(ranks / (n_positive * n_negative))


MEASURES = {"precision": average_precision, "auc": area_under_roc}


class Detectors(NamedTuple):
    """One candidate, fitted: a linear detector for each attribute."""

    params: Params
    coef: Array
    intercept: Array
    solution: Solution

    def score(self, examples: Examples, measure: str = "precision") -> Array:
        """The measure for each attribute; NaN where its examples are of one class."""
        values = np.full(len(examples), np.nan)
        for t, (X, y) in enumerate(examples):
            if 0 < y.sum() < len(y):
                values[t] = MEASURES[measure](y, X @ self.coef[:, t] + self.intercept[t])
        return values


class Grid:
    """All candidates: every penalty of the methods with every mu of its own, at the same alphas for all.

    Alphas are multiples of the mean squared distance of the rows from their mean.
    """

    def __init__(self, examples: Examples, settings: Params, *, shared: bool) -> None:
        self._training, rows = _make_training(examples, shared=shared)
        self._observed = None if shared else _observe(self._training)
        self._size, self._settings = _mean_square(rows), settings
        self._penalties = make_shapes(settings["mus"])

    def fit(self) -> Iterator[Detectors]:
        """The candidates, as exact as comparing them needs."""
        last: list[Array | None] = [None] * len(self._penalties)
        for alpha in sorted(self._settings["alphas"], reverse=True):
            step = self._supervised(alpha * self._size)
            for k, (params, _) in enumerate(self._penalties):
                # From the alpha before, and at the first one from the penalty before.
                start = last[k] if k == 0 or last[k] is not None else last[k - 1]
                found = self._solve({**params, "alpha": alpha}, step, start, certify=False)
                last[k] = found.solution.structure
                yield found

    def certify(self, found: Detectors) -> Detectors:
        """A candidate to its tolerance, with proof."""
        step = self._supervised(found.params["alpha"] * self._size)
        proved = self._solve(found.params, step, found.solution.structure, certify=True)
        if not proved.solution.converged:
            warnings.warn(proved.solution.status, ConvergenceWarning, stacklevel=2)
        return proved

    def _supervised(self, alpha: float) -> tuple[Any, float]:
        """The supervised step and eps at one alpha."""
        if self._observed is None:
            return self._training.supervised(alpha)
        # A certificate of three digits needs no factor of the kernel between all labels: at 4250 of them a fit by
        # iterations takes a second, and by factors half a minute.
        step = MissingLabelRidge(self._observed, alpha, road="iterative")
        return step, auto_eps(step)

    def _solve(self, params: Params, step: Any, start: Array | None, *, certify: bool) -> Detectors:
        penalty = next(made for wanted, made in self._penalties if matches(wanted, params))
        solution = solve(Problem(step[0], penalty, step[1]), start=start, tol=self._settings["tol"], certify=certify)
        return Detectors(params, *self._training.model(solution), solution)


def stable_graph(examples: Examples, params: Params, n_halves: int, *, shared: bool) -> tuple[Array, float]:
    """The graph to be looked at beside the one of a candidate of ``sparse``, and its mu."""
    X, y, tasks = _stack(examples, shared=shared)
    model = MultiTaskClassifier(Sparse(params["mu"]), alpha=params["alpha"] * _mean_square(X))
    return stable_structure(model.fit(X, y, tasks=tasks), X, y, n_halves, tasks)


def make_shapes(mus: Sequence[float]) -> list[tuple[Params, StructurePenalty]]:
    """The penalties that the methods choose from, by their parameters."""
    if 1.0 not in mus:
        raise ValueError(f"mus={list(mus)} has no 1, where SKMTL is MTRL; add it.")
    shapes: list[tuple[Params, StructurePenalty]] = []
    for name in dict.fromkeys(wanted["penalty"] for wanted in METHODS.values()):
        made = PENALTIES[name]()
        along = made.path_parameter
        values = [{}] if along is None else [{along: value} for value in sorted(mus, reverse=True)]
        shapes += [({"penalty": name, **own}, clone(made).set_params(**own)) for own in values]
    return shapes


def candidates_of(method: str, fits: Sequence[Detectors]) -> list[Detectors]:
    """Those of the candidates that a method chooses from."""
    return [fit for fit in fits if matches(METHODS[method], fit.params)]


def _make_training(examples: Examples, *, shared: bool) -> tuple[Training, Array]:
    """A table with all labels, or a column with one task per row."""
    estimator = MultiTaskClassifier()
    X, y, tasks = _stack(examples, shared=shared)
    return train(estimator, clean(estimator, X, y, None, tasks), Square()), X


def _stack(examples: Examples, *, shared: bool) -> tuple[Array, NDArray[np.int8], NDArray[np.intp] | None]:
    """Rows, labels and the task of each row as estimators take them; no tasks where all have the same rows."""
    if shared:
        return examples[0][0], np.stack([y for _, y in examples], axis=1), None
    X, y = np.concatenate([X for X, _ in examples]), np.concatenate([y for _, y in examples])
    return X, y, np.repeat(np.arange(len(examples)), [len(y) for _, y in examples])


def _observe(training: Training) -> ObservedRows:
    """The rows of each task, for every alpha of the grid."""
    labels, design = training.labels, training.design
    return ObservedRows(labels.arrange(design.rows()), design.values, labels, intercept=True)


def _mean_square(rows: Array) -> float:
    """The mean squared distance of rows from their mean."""
    return float(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)))
