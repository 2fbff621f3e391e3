"""The supervised step for square loss where labels are missing, weighted, or each of a row of its own."""

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array, eigh, is_diagonal
from skmtl.solvers.completed import CompletedFactor
from skmtl.solvers.cost import (
    choose_road,
    factor_cost,
    road_after,
    roughly_cheaper,
    tasks_apart,
    worth_refactorizing,
)
from skmtl.solvers.missing_fit import MissingLabelFit
from skmtl.solvers.observed import Observed
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.systems import (
    FeatureSystem,
    IterativeSystem,
    LabelFactor,
    Predictors,
    SeparateSystem,
    dual_coefficients,
)
from skmtl.solvers.task_blocks import SINGULAR, TaskBlockSystem
from skmtl.solvers.task_factors import TaskFactor, TaskSystem, within_blocks

Factor = LabelFactor | CompletedFactor | TaskFactor

SMALLEST_GAP = 1e-18
# A gap that is good enough for a start, and for nothing else.
ROUGH_GAP = 1e-4
# A start need not be more exact than this.
START_TOL, SIZE_ROUNDS = 1e-2, 10


class MissingLabelRidge:
    """min over f of (1/n) sum_t (w_t' G_t w_t - 2 w_t' b_t + s_t) + alpha ||f||_A^2, its intercepts eliminated.

    Parameters
    ----------
    road : {"labels", "tasks", "completed", "features", "iterative"}, optional
        Which linear system is solved, and how; by default the cheapest.
    """

    eliminable = True
    quick = False

    def __init__(self, observed: Observed, alpha: float, road: str | None = None) -> None:
        self.observed, self.alpha = observed, alpha
        self.road = choose_road(observed, alpha) if road is None else road
        self._apart = tasks_apart(observed, alpha, self.road)
        self._rough = self.road != "tasks"
        # Where iterations start: predictors, dual coefficients, and the last factor, which serves near structures.
        self._start = Predictors(np.zeros_like(observed.cross), np.zeros_like(observed.cross))
        self._factor: tuple[Factor, Array] | None = None
        # The last structure, the gap of its fit, and the fit.
        self._last: tuple[Array, float, MissingLabelFit] | None = None

    @property
    def n_tasks(self) -> int:
        return self.observed.cross.shape[1]

    @property
    def exact_curvature(self) -> bool:
        """Whether the second derivative is that of the labels that are there."""
        return self.road not in ("iterative", "tasks")

    @property
    def ridge(self) -> float:
        """n alpha."""
        return self.observed.n * self.alpha

    def with_alpha(self, alpha: float) -> "MissingLabelRidge":
        """The same rows and labels at another alpha, from where this one is."""
        other = MissingLabelRidge(self.observed, alpha)
        other._start = self._start
        if other.road == self.road:
            other._factor = self._factor
        return other

    def surrogate(self) -> Ridge | None:
        """The closed form for complete labels that is near; None where the tasks apart are a better start."""
        if self.road in ("labels", "features"):
            return None
        near = None
        if self.road == "iterative":
            # The mean of the G_t for each of them.
            values = self.observed.values * float(np.mean(self.observed.shares))
            near = self.closed_form(values, self.observed.cross / np.sqrt(values)[:, None])
        return near or self._surrogate_of_sizes()

    def _surrogate_of_sizes(self) -> Ridge | None:
        """From tasks apart, which have small systems: once to find their sizes, and once at these."""
        alone, a = self.solve(np.eye(self.n_tasks), tol=START_TOL).surrogate(), np.ones(self.n_tasks)
        for _ in range(SIZE_ROUNDS):
            a = np.sqrt(alone.diagonal_energy(a)) if alone else a
        return self.solve(np.diag(a), tol=START_TOL).surrogate()

    def closed_form(self, values: Array, targets: Array) -> Ridge | None:
        """The step for complete labels with these targets; None where they explain more than there is."""
        rest = float(self.observed.squares.sum()) - float(np.sum(targets**2))
        return Ridge(values, targets, rest, self.observed.n, self.alpha) if rest > 0.0 else None

    def part(self, tasks: NDArray[np.intp]) -> "MissingLabelRidge":
        """The problem of some of the tasks, in that order; n is still that of all."""
        other = MissingLabelRidge(self.observed.part(tasks), self.alpha)
        other._start = Predictors(self._start.W[:, tasks], self._start.curved[:, tasks])
        return other

    def solve(self, A: Array, *, tol: float = 0.0) -> MissingLabelFit:
        """The best f for the structure A, or one whose dual coefficients are as exact as ``tol`` asks."""
        gap = max(tol**2, SMALLEST_GAP)
        if self._last is None or self._last[1] > gap or not np.array_equal(self._last[0], A):
            fit, exact = self._solve(A, gap)
            self._last = A.copy(), 0.0 if exact else gap, fit
        return self._last[2]

    def _solve(self, A: Array, gap: float) -> tuple[MissingLabelFit, bool]:
        """The fit, and whether it is exact rather than of this relative gap."""
        observed, ridge = self.observed, self.ridge
        apart = self._apart if is_diagonal(A) else ""
        if apart == "decomposed":
            system = SeparateSystem(observed, np.diag(A), ridge)
            self._start = Predictors(system.W, system.curved)
            return MissingLabelFit.from_predictors(self, A, system), True
        if apart == "factorized":
            factor = TaskFactor(observed.entries(), A, ridge)
            return self._from_labels(A, factor, factor.solve(observed.entries().y)), True
        if self.road == "features":
            return MissingLabelFit.from_predictors(self, A, FeatureSystem(observed, A, ridge)), True
        if self.road == "iterative":
            return self._iterate(A, gap), False
        return self._solve_for_labels(A, gap)

    def _solve_for_labels(self, A: Array, gap: float) -> tuple[MissingLabelFit, bool]:
        """By a factor of this structure or of another."""
        observed, ridge, entries = self.observed, self.ridge, self.observed.entries()
        near = within_blocks(entries, A) if self.road == "tasks" else A
        # Rounds of surrogates, which lead to a start, ask for no second derivative.
        curved = gap < ROUGH_GAP or self.road == "labels"
        renew = self._factor is None or worth_refactorizing(
            self._factor[0], near, ridge, gap, observed.product_cost, curved=curved
        )
        if renew and self._rough and gap >= ROUGH_GAP and roughly_cheaper(observed, self.alpha, gap, self.road):
            return self._iterate(A, gap), False
        factor = self._factorize(A) if self._factor is None or renew else self._factor[0]
        if renew and factor.exact:
            c = factor.solve(entries.y)
        else:
            start = factor.solve(entries.y) if self._factor is None else self._factor[1]
            c = dual_coefficients(factor, entries, A, ridge, start, gap)
        self._factor = factor, c
        return self._from_labels(A, factor, c), renew and factor.exact

    def _from_labels(self, A: Array, factor: Factor, c: Array) -> MissingLabelFit:
        system = TaskSystem(factor, self.observed, A, self.ridge) if isinstance(factor, TaskFactor) else factor
        return MissingLabelFit.from_labels(self, A, system, c)

    def _iterate(self, A: Array, gap: float) -> MissingLabelFit:
        system: TaskBlockSystem | IterativeSystem | None = None
        if self.observed.by_grams:
            a, U = eigh(A)
            if a[0] > SINGULAR * a[-1]:
                system = TaskBlockSystem(self.observed, a, U, self.ridge, self._start, gap)
        system = system or IterativeSystem(self.observed, A, self.ridge, self._start, gap)
        self._start = Predictors(system.W, system.curved)
        # Where steps turn out to be many, they are not tried again.
        self._rough = system.steps * self.observed.product_cost < factor_cost(self.observed, self.road)
        if self.road == "iterative":
            self.road = road_after(self.observed, self.alpha, gap, system.steps)
        return MissingLabelFit.from_predictors(self, A, system)

    def _factorize(self, A: Array) -> Factor:
        observed = self.observed
        if self.road == "labels":
            return LabelFactor(observed.entries(), A, self.ridge)
        if self.road == "tasks":
            return TaskFactor(observed.entries(), A, self.ridge)
        return CompletedFactor(observed.completed(), observed.entries(), A, self.ridge)

    def diagonal_energy(self, a: Array, *, tol: float = 1e-2) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        if self._apart == "decomposed":
            W = SeparateSystem(self.observed, a, self.ridge).W
        else:
            W = self.solve(np.diag(a), tol=tol).coefficients()
        return np.asarray(np.sum(W**2, axis=0))
