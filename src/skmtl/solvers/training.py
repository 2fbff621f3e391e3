"""One training set: labels standardized, rows decomposed once, and shared by every fit that is made of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skmtl._linalg import SMALL_DECOMPOSITION, Array, Mask, single_threaded
from skmtl.features import FeatureMap
from skmtl.losses import Loss
from skmtl.objective import Problem, Supervised
from skmtl.penalties import StructurePenalty
from skmtl.solvers.blocks import BlockDesign
from skmtl.solvers.design import Basis, check_square_and_symmetric, make_design
from skmtl.solvers.interior_point import InteriorPointStep
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.solution import Interrupted, Solution
from skmtl.solvers.solve import solve
from skmtl.targets import TaskData, balance, standardize

Callback = Callable[[dict[str, float]], None]
# eps="auto" is this share of the mean squared norm of the independent tasks' predictors, which need not be exact.
AUTO_EPS, AUTO_EPS_TOL = 1e-2, 1e-4
# Rows from which constants are read where the kernel came from elsewhere.
CONSTANT_ROWS = 64


@dataclass(frozen=True)
class Settings:
    """The hyper-parameters of one fit, checked; ``eps=None`` is ``eps_factor`` times the automatic one."""

    penalty: StructurePenalty
    alpha: float
    common: float = 0.0
    eps: float | None = None
    eps_factor: float = 1.0


@dataclass(frozen=True)
class Effort:
    """How a problem is solved: by which solver, to which relative gap, within how many iterations."""

    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 200


class Model(NamedTuple):
    """Coefficients on the basis functions of a feature map, (D, n_tasks), and constants, (n_tasks,), in units of y."""

    coef: Array
    intercept: Array


class Training:
    """Rows, standardized labels and decomposition of a training set.

    Parameters
    ----------
    data : TaskData
    feature_map : FeatureMap
        Not fitted, and nobody else's.
    loss : Loss
    intercept, scale, balanced : bool
        Whether each task has a constant; whether tasks are brought to unit variance, and to the same total weight.
    kernel : ndarray of shape (n, n), optional
        The basis functions of the map at the rows, where they are known already; overwritten.
    """

    def __init__(
        self,
        data: TaskData,
        feature_map: FeatureMap,
        loss: Loss,
        *,
        intercept: bool,
        scale: bool,
        balanced: bool,
        kernel: Array | None = None,
    ) -> None:
        self.data, self.loss, self.intercept = data, loss, intercept
        labels = balance(data.labels) if balanced else data.labels
        self._single = single_tasks(labels, loss, intercept=intercept)
        self._single_constant = np.zeros(labels.n_tasks)
        # The share of the weights that is left without single tasks, and what these add to the objective.
        self.share, self.loss_apart = 1.0, 0.0
        if self._single.any():
            # A free intercept would run away with such a task. It gets the log-odds of one more label of the other
            # class, or the logarithm of the mean with one more label, of one.
            sign = np.where(labels.maxima(labels.y) > 0.0, 1.0, -1.0)
            self._single_constant = sign * np.log1p(labels.sums(labels.weight))
            everything, labels = labels, _without(labels, self._single)
            # Without these labels n would be smaller, and alpha mean another thing to the other tasks.
            self.share = float(labels.weight.sum() / everything.weight.sum())
            apart = everything.reweighted(self._single.astype(float))
            F = np.zeros_like(apart.y) + apart.spread(self._single_constant)
            n = float(everything.weight.sum()) / labels.n_tasks
            self.loss_apart = loss.value(apart.y, F, apart.weight) / n
        self.labels, self.scaling = standardize(
            labels,
            center=intercept and loss.for_regression and loss.standardizes,
            scale=scale and loss.standardizes,
        )
        self.feature_map = feature_map.fit(data.X)
        self._kernel_given = kernel is not None
        self.design: Any = self._decompose(kernel)
        self._step: Supervised | None = None
        self._auto = np.nan

    def _decompose(self, kernel: Array | None) -> Basis:
        """The rows in a good basis: from memory, or from sums over their blocks."""
        if self.labels.in_blocks:
            blocks: Any = self.labels
            return BlockDesign(self.feature_map, blocks, intercept=self.intercept)
        with single_threaded(self.data.X.shape[0], SMALL_DECOMPOSITION):
            fresh = kernel is not None or self.feature_map.fresh
            Z = self.feature_map.transform(self.data.X) if kernel is None else kernel
            if self.feature_map.on_rows and not fresh:
                # A kernel matrix that the user computed.
                check_square_and_symmetric(Z)
            weight = self.labels.design_weight()
            return make_design(self.feature_map, Z, weight, intercept=self.intercept, overwrite=fresh)

    def supervised(self, alpha: float) -> tuple[Supervised, float]:
        """The supervised step and the automatic eps at one alpha; the last ones are kept."""
        alpha = alpha / self.share
        if self._step is None:
            self._step = make_supervised(self.design, self.labels, self.loss, alpha, intercept=self.intercept)
            self._auto = auto_eps(self._step)
        elif alpha != self._step.alpha:
            self._step = self._step.with_alpha(alpha)
            self._auto = auto_eps(self._step)
        return self._step, self._auto

    def problem(self, settings: Settings) -> Problem:
        """The whole problem for one choice of hyper-parameters."""
        supervised, auto = self.supervised(settings.alpha)
        eps = settings.eps_factor * auto if settings.eps is None else settings.eps
        return Problem(supervised, settings.penalty, eps, settings.common, self.design.rounding)

    def solve(
        self,
        settings: Settings,
        effort: Effort,
        *,
        start: Array | None = None,
        callback: Callback | None = None,
        certify: bool = True,
    ) -> Solution:
        """Predictors and structure, in the basis of the design and for standardized labels.

        Without ``certify`` nothing is proved: the solution is as good as comparing it with others needs.
        """
        try:
            solution = solve(
                self.problem(settings),
                solver=effort.solver,
                start=start,
                tol=effort.tol,
                max_iter=effort.max_iter,
                callback=callback,
                certify=certify,
            )
        except Interrupted as stop:
            raise Interrupted(self._with_single_tasks(stop.solution)) from None
        return self._with_single_tasks(solution)

    def _with_single_tasks(self, solution: Solution) -> Solution:
        """The same with the tasks that were set apart, where there are any."""
        return solution.with_task_apart(self.share, self.loss_apart) if self._single.any() else solution

    def follow(self, path: Iterable[Settings], effort: Effort, start: Array | None = None) -> list[Solution]:
        """Certified solutions along a path, each started from the one before."""
        solutions: list[Solution] = []
        for settings in path:
            start = solutions[-1].structure if solutions else start
            solutions.append(self.solve(settings, effort, start=start))
        return solutions

    def predictor(self, solution: Solution) -> tuple[Array, Array]:
        """Coefficients in the basis of the design, (r, n_tasks), and constants, (n_tasks,), in the units of y."""
        coef, constant = self.scaling.undo(solution.coef, solution.intercept)
        # Where a loss has no minimizer for labels of one class, the task is a constant.
        return np.where(self._single, 0.0, coef), np.where(self._single, self._single_constant, constant)

    def model(self, solution: Solution) -> Model:
        """The same on the basis functions of the feature map: (D, n_tasks) and (n_tasks,), for rows not centered."""
        coef, constant = self.predictor(solution)
        lifted = self.design.lift(coef)
        if not self._kernel_given:
            return Model(lifted, constant - self.design.center @ lifted)
        # The kernel may have been seen from another origin: the constants make the scores of some rows what they are.
        rows = np.flatnonzero(self.labels.row_weight() > 0.0)[:CONSTANT_ROWS]
        away = self.design.scores(coef)[rows] - self.feature_map.transform(self.data.X[rows]) @ lifted
        return Model(lifted, constant + away.mean(axis=0))

    def hides_directions(self, alpha: float) -> bool:
        """Whether independent tasks could use directions of the kernel that are below rounding, so small is alpha."""
        return bool(self.design.rounding.inside > alpha / self.share * self.labels.stats().total.mean())

    def basis(self, Z: Array) -> Array:
        """Basis functions Z of the feature map at new rows in the basis of the design, of shape (n, r)."""
        return np.asarray(self.design.locate(Z))


def single_tasks(labels: Any, loss: Loss, *, intercept: bool) -> Mask:
    """Tasks whose labels are all of one class, or all zero, of shape (n_tasks,), where the loss has no minimizer."""
    if not intercept:
        return np.zeros(labels.n_tasks, dtype=bool)
    stats = labels.stats()
    return loss.unbounded(stats.lowest, stats.highest)


def _without(labels: Any, single: Mask) -> Any:
    """The labels without those of single tasks."""
    if single.all():
        # Nothing is left to learn, and labels of zero say so.
        return labels.with_labels(np.zeros_like(labels.y), labels.weight)
    return labels.with_labels(labels.y, labels.weight * labels.spread((~single).astype(float)))


def make_supervised(design: Any, labels: Any, loss: Loss, alpha: float, *, intercept: bool) -> Supervised:
    """The supervised step: closed form for square loss and labels that are complete or few, else Newton."""
    if labels.in_blocks:
        return design.supervised(alpha)
    if loss.quadratic and labels.complete():
        weight = labels.row_weight()
        targets = np.sqrt(weight)[:, None] * labels.y.reshape(len(weight), -1)
        projected = design.project(targets)
        explained = design.unproject(projected)
        return Ridge.from_targets(design.values, projected, targets, float(weight.sum()), alpha, explained)
    if loss.quadratic:
        rows = labels.arrange(design.rows())
        return MissingLabelRidge(ObservedRows(rows, design.values, labels, intercept=intercept), alpha)
    if loss.has_corner:
        return InteriorPointStep(design.rows(), labels, loss, alpha, intercept=intercept)
    return NewtonStep(design.rows(), design.values, labels, loss, alpha, intercept=intercept)


def auto_eps(supervised: Supervised) -> float:
    """The eps that suits the scale of the problem; 1e-2 where there is nothing to learn."""
    energy = supervised.diagonal_energy(np.ones(supervised.n_tasks), tol=AUTO_EPS_TOL)
    return AUTO_EPS * (float(np.mean(energy)) or 1.0)
