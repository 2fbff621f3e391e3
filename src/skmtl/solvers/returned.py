"""The model that is returned, asked once more: its own objective, and what rounding may make of it.

The certificate speaks of coordinates in which the rows are centered and whitened. On the way back to the feature map
digits can be lost, for example where features are large beside their spread and the kernel is a polynomial.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, eigh, without_rounding
from skmtl.solvers.solution import Solution
from skmtl.solvers.training import Model, Settings, Training

# How often a model is refined whose objective is not the one that was certified.
REFINEMENTS = 4
# Numbers that rows may become at a time where nothing but their values is kept: 64 MB.
BLOCK_ENTRIES = 2**23
# How wrong sums of many errors may be, in deviations of their own.
TWO_DEVIATIONS = 2.0


def prove_returned(training: Training, settings: Settings, solution: Solution, tol: float) -> tuple[Model, Solution]:
    """The model that is returned, and the solution with objective and gap of that very model."""
    returned = ReturnedModel(training, settings, solution, training.model(solution))
    if training.labels.in_blocks:
        # For the objective of this very model another pass over all rows would be needed.
        return returned.model, solution.returned(solution.objective, tol, rounding=returned.rounding_in_blocks())
    for _ in range(REFINEMENTS):
        if solution.agrees(returned.objective, tol):
            break
        refined = returned.refined()
        if not abs(refined.objective - solution.objective) < 0.5 * abs(returned.objective - solution.objective):
            break
        returned = refined
    return returned.model, solution.returned(returned.objective, tol, rounding=returned.rounding())


class Values(NamedTuple):
    """Z coef at the training rows and |Z| |coef|, the size of what is summed up, both of shape (n, n_tasks)."""

    sums: Array
    sizes: Array


class ReturnedModel:
    """A model on the feature map that stands for a solution, at the training rows."""

    def __init__(self, training: Training, settings: Settings, solution: Solution, model: Model) -> None:
        self._training, self._settings, self._solution, self.model = training, settings, solution, model

    @cached_property
    def values(self) -> Values:
        """What the coefficients make of the rows."""
        X, coef = self._training.data.X, self.model.coef
        step = max(BLOCK_ENTRIES // len(coef), 1)
        blocks = (self._training.feature_map.transform(X[i : i + step]) for i in range(0, X.shape[0], step))
        sums, sizes = zip(*((Z @ coef, abs(Z) @ abs(coef)) for Z in blocks), strict=True)
        return Values(np.concatenate(sums), np.concatenate(sizes))

    @cached_property
    def objective(self) -> float:
        """The objective of the model, from its ``values`` and its norm."""
        training = self._training
        squares = training.feature_map.squared_norms(self._whitened(self.model.coef), self._whitened(self.values.sums))
        cost = float(np.sum(squares)) + training.problem(self._settings).structure_cost(self._solution.structure)
        return training.share * self._loss + training.loss_apart + self._settings.alpha * cost

    def rounding(self) -> float:
        """How far the objective may be from its value without rounding, where coefficients cancel."""
        return self._rounding_of_norms() + self._training.share * self._rounding_of_losses()

    def rounding_in_blocks(self) -> float:
        """The same for square loss without the rows, from how large what is summed up is in the mean."""
        training = self._training
        error, sizes = training.feature_map.relative_error(), training.design.sizes @ abs(self.model.coef)
        away, total = error * sizes / training.scaling.scale, training.labels.stats().total
        squares = float(np.sum(total / total.mean() * away**2))
        # Of errors r + a the mean of 2 r a is at most 2 sqrt(r^2 a^2), and r^2 is no more than the whole objective.
        losses = 2.0 * np.sqrt(squares * abs(self._solution.objective)) + squares
        return self._rounding_of_norms() + losses

    def refined(self) -> "ReturnedModel":
        """The model with what its values miss of the solution's fitted once more."""
        training, design, model = self._training, self._training.design, self.model
        coef, constant = training.predictor(self._solution)
        root = np.sqrt(training.labels.design_weight())[:, None]
        missed = design.scores(coef) + constant - self.values.sums - model.intercept
        middle = np.average(missed, axis=0, weights=root[:, 0] ** 2) if training.intercept else np.zeros_like(constant)
        change = design.project(root * (missed - middle)) / np.sqrt(design.values)[:, None]
        lifted = design.lift(change)
        better = Model(model.coef + lifted, model.intercept + middle - design.center @ lifted)
        return ReturnedModel(training, self._settings, self._solution, better)

    def _whitened(self, numbers: Array) -> Array:
        """Numbers of the tasks, (.., n_tasks), in the units of the fit and where the structure of predictors is I."""
        return numbers / self._training.scaling.scale @ self._tasks

    @cached_property
    def _tasks(self) -> Array:
        return whitened_tasks(self._solution.structure, self._settings.common)

    @cached_property
    def _scores(self) -> Array:
        """Scores for standardized labels, laid out like them."""
        F = self._arranged(self.values.sums + self.model.intercept)
        return self._training.scaling.scaled(self._training.labels, F)

    @cached_property
    def _loss(self) -> float:
        return self._mean_loss(self._scores)

    def _rounding_of_norms(self) -> float:
        return self._settings.alpha * self._training.feature_map.rounding_of_norms(self._whitened(self.model.coef))

    def _rounding_of_losses(self) -> float:
        """What the mean loss may gain where scores are rounded, each by itself, as sums of such sizes are."""
        training, labels, F = self._training, self._training.labels, self._scores
        away = training.feature_map.relative_error() * self._arranged(self.values.sizes / training.scaling.scale)
        slope = training.loss.gradient(labels.y, F, labels.weight)
        along = np.abs(slope) * away
        # Each score is as wrong as it can be in the direction in which its loss grows, and in both where it is flat.
        worst = max(self._mean_loss(F + np.where(up, away, -away)) for up in (slope > 0.0, slope >= 0.0))
        # Along slopes errors of different rows cancel as those of sums do; what losses bend upwards adds up.
        bent = worst - self._loss - self._per_row(float(along.sum()))
        # That of BLAS, of which squares do not overflow.
        deviation = float(linalg.norm(along.ravel(), check_finite=False))
        return TWO_DEVIATIONS * self._per_row(deviation) + max(bent, 0.0)

    def _arranged(self, F: Array) -> Array:
        """Numbers of rows and tasks, (n, n_tasks), laid out like the labels."""
        labels = self._training.labels
        return np.asarray(labels.arrange(F[np.arange(len(F)), labels.tasks] if labels.long else F))

    def _mean_loss(self, F: Array) -> float:
        """(1/n) sum w V(y, f) for scores of standardized labels, laid out like them."""
        labels = self._training.labels
        return self._per_row(self._training.loss.value(labels.y, F, labels.weight))

    def _per_row(self, total: float) -> float:
        """A weighted sum over labels divided by n."""
        labels = self._training.labels
        return total * labels.n_tasks / float(labels.weight.sum())


def whitened_tasks(A: Array, common: float) -> Array:
    """V, of shape (T, r), with VV' the pseudoinverse of A + c 11', the structure of predictors."""
    # In the eigenbasis, so that directions in which the structure is small are not lost beside the others.
    a, U = eigh(A)
    if common and without_rounding(a)[0] > 0.0:
        # A may be lost in the sum A + c 11', and is not in VV' = A^-1, of which the direction V'1 is shortened.
        V = U / np.sqrt(a)
        ones = V.sum(axis=0)
        length = float(np.linalg.norm(ones))
        shorter = 1.0 / np.hypot(1.0, np.sqrt(common) * length)
        return np.asarray(V - (1.0 - shorter) * np.outer(V @ (ones / length), ones / length))
    if common:
        a, U = eigh(A + common)
    there = without_rounding(a) > 0.0
    return np.asarray(U[:, there] / np.sqrt(a[there]))
