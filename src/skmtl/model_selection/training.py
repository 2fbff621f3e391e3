"""One training set with its decomposition, shared by a whole grid of candidates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skmtl._linalg import SMALL_DECOMPOSITION, Array, single_threaded
from skmtl._validation import check_positive
from skmtl.features import FeatureMap, PrecomputedMap
from skmtl.losses import Loss
from skmtl.model_selection.entries import Entries
from skmtl.model_selection.grid import Candidate
from skmtl.objective import Problem, Supervised
from skmtl.solvers import Solution, auto_eps, make_design, make_supervised, solve
from skmtl.targets import balance, standardize

# The search needs no more accuracy than this, relative to the objective.
SEARCH_ACCURACY = 1e-3


@dataclass(frozen=True)
class Learned:
    """What one candidate learned: coefficients in the basis of the design, constants and structure."""

    coef: Array
    intercept: Array
    structure: Array

    @property
    def n_edges(self) -> int:
        return int(np.count_nonzero(np.triu(self.structure, 1)))


class SlicedKernel(PrecomputedMap):
    """A kernel matrix cut out of a larger one, which may be overwritten."""

    fresh = True


class Training:
    """Rows, standardized labels and decomposition of a training set.

    Parameters
    ----------
    model : estimator
        Gives the intercept, the balance of tasks, the solver and its limits.
    feature_map : FeatureMap
    rows : ndarray
        What the map takes; of a sliced kernel the square matrix of the training rows, which is overwritten.
    entries : Entries
        The labels of the rows; in long format every task has a row.
    """

    def __init__(
        self,
        model: Any,
        feature_map: FeatureMap,
        rows: Array,
        entries: Entries,
        loss: Loss,
        *,
        scale: bool,
    ) -> None:
        self.model, self.loss = model, loss
        self._tol = check_positive("tol", model.tol)
        self.intercept = bool(model.fit_intercept)
        labels = entries.to_labels()
        single = np.zeros(entries.n_tasks, dtype=bool)
        if loss.needs_both_classes and self.intercept:
            single = labels.maxima(labels.y) == -labels.maxima(-labels.y)
        # Without a minimiser a task is a constant, as in the estimator.
        self._single = single
        self._constant = np.nan_to_num(labels.maxima(labels.y)) * np.log1p(labels.sums(labels.weight))
        if single.any() and not single.all():
            labels = labels.with_labels(labels.y, labels.weight * labels.spread((~single).astype(float)))
        self.targets = standardize(
            balance(labels) if model.balance_tasks else labels,
            center=self.intercept and loss.for_regression,
            scale=scale,
        )
        self.weight = self.targets.labels.row_weight()
        self.feature_map, self._on_rows = feature_map, feature_map.on_rows
        with single_threaded(rows.shape[0], SMALL_DECOMPOSITION):
            self.design = make_design(
                feature_map,
                feature_map.transform(rows),
                self.weight,
                intercept=self.intercept,
                overwrite=feature_map.fresh,
            )
        self._step: Supervised | None = None
        self._auto = np.nan

    def supervised(self, alpha: float) -> tuple[Supervised, float]:
        """The supervised step and the automatic eps at one alpha; the last ones are kept."""
        if self._step is None:
            self._step = make_supervised(self.design, self.targets.labels, self.loss, alpha, intercept=self.intercept)
            self._auto = auto_eps(self._step)
        elif alpha != self._step.alpha:
            self._step = self._step.with_alpha(alpha)
            self._auto = auto_eps(self._step)
        return self._step, self._auto

    def solve(self, candidate: Candidate, start: Array | None = None) -> Solution:
        """Predictors and structure for one candidate, certified to the model's tolerance."""
        problem = self._problem(candidate)
        return solve(problem, solver=self.model.solver, start=start, tol=self._tol, max_iter=self.model.max_iter)

    def follow(self, candidates: Iterable[Candidate], start: Array | None = None) -> list[Solution]:
        """The same for several, each from the one before."""
        solutions: list[Solution] = []
        for candidate in candidates:
            solutions.append(self.solve(candidate, solutions[-1].structure if solutions else start))
        return solutions

    def learn(self, candidate: Candidate, start: Array | None = None) -> Learned:
        """The same only as well as a comparison with other candidates needs."""
        if self._single.all():
            n_tasks = len(self._single)
            return Learned(np.zeros((len(self.design.values), n_tasks)), np.zeros(n_tasks), np.eye(n_tasks))
        problem = self._problem(candidate)
        solution = solve(
            problem,
            solver=self.model.solver,
            start=start,
            tol=max(self._tol, SEARCH_ACCURACY),
            max_iter=self.model.max_iter,
            certify=False,
        )
        return Learned(solution.coef, solution.intercept, solution.structure)

    def _problem(self, candidate: Candidate) -> Problem:
        supervised, auto = self.supervised(candidate.alpha)
        eps = candidate.epsilon * auto if candidate.eps is None else candidate.eps
        return Problem(supervised, candidate.penalty, eps, candidate.common)

    def basis(self, Z: Array) -> Array:
        """New rows Z of the feature map in the basis of the design, of shape (n, r)."""
        if not self._on_rows:
            lifted = self.design.lift(np.eye(len(self.design.values)))
            return Z @ lifted - self.design.center @ lifted
        # The same for a kernel, D^{1/2} H' V diag(k)^{-1/2} from the right, without a product of the size of K by K.
        root = np.sqrt(self.weight)
        Z = (Z - self.design.center) * root
        if self.intercept:
            Z -= np.outer(Z @ root, root / self.weight.sum())
        return self.design.project(Z.T).T / np.sqrt(self.design.values)

    def predict(self, learned: Sequence[Learned], Phi: Array, entries: Entries) -> list[Array]:
        """Predictions of several candidates, laid out like the entries, in units of the labels."""
        if entries.tasks is None:
            # One large product is quicker than many narrow ones.
            scores = np.split(Phi @ np.hstack([one.coef for one in learned]), len(learned), axis=1)
        else:
            scores = [np.einsum("ir,ir->i", Phi, one.coef.T[entries.tasks]) for one in learned]
        return [self._in_units(F, one, entries) for F, one in zip(scores, learned, strict=True)]

    def _in_units(self, F: Array, learned: Learned, entries: Entries) -> Array:
        F = entries.spread(self.targets.scale) * (F + entries.spread(learned.intercept))
        F += entries.spread(self.targets.mean)
        return np.where(entries.spread(self._single), entries.spread(self._constant), F)
