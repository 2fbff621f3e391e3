"""The supervised step for square loss where labels are missing, weighted, or each of a row of its own."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array, eigh, symmetric_part
from skmtl.solvers.completed import CompletedFactor
from skmtl.solvers.cost import (
    choose_road,
    factor_cost,
    roughly_cheaper,
    tasks_apart,
    worth_forming_curvature,
    worth_leaving,
    worth_refactorizing,
)
from skmtl.solvers.observed import Observed
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.systems import (
    FeatureSystem,
    IterativeSystem,
    LabelFactor,
    SeparateSystem,
    dual_coefficients,
    pairs,
)
from skmtl.solvers.task_blocks import SINGULAR, TaskBlockSystem
from skmtl.solvers.task_factors import TaskFactor, TaskSystem

Factor = LabelFactor | CompletedFactor | TaskFactor

SMALLEST_GAP = 1e-18
# A gap that is good enough for a start, and for nothing else.
ROUGH_GAP = 1e-4
# A start need not be more exact than this.
START_TOL, SIZE_ROUNDS = 1e-2, 10
# Sums of many numbers are wrong by about this, relative to their size.
ROUNDING = 4.0 * float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


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
        self._W = np.zeros_like(observed.cross)
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
        other._W = self._W
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
        other._W = self._W[:, tasks]
        return other

    def solve(self, A: Array, *, tol: float = 0.0) -> "MissingLabelFit":
        """The best f for the structure A, or one whose dual coefficients are as exact as ``tol`` asks."""
        gap = max(tol**2, SMALLEST_GAP)
        if self._last is None or self._last[1] > gap or not np.array_equal(self._last[0], A):
            fit, exact = self._solve(A, gap)
            self._last = A.copy(), 0.0 if exact else gap, fit
        return self._last[2]

    def _solve(self, A: Array, gap: float) -> "tuple[MissingLabelFit, bool]":
        """The fit, and whether it is exact rather than of this relative gap."""
        observed, ridge = self.observed, self.ridge
        if np.count_nonzero(A) == len(A) and self._apart == "decomposed":
            apart = SeparateSystem(observed, np.diag(A), ridge)
            self._W = apart.W
            return MissingLabelFit.from_predictors(self, A, apart), True
        if np.count_nonzero(A) == len(A) and self._apart == "factorized":
            factor = TaskFactor(observed.entries(), A, ridge)
            return self._from_labels(A, factor, factor.solve(observed.entries().y)), True
        if self.road == "features":
            return MissingLabelFit.from_predictors(self, A, FeatureSystem(observed, A, ridge)), True
        if self.road == "iterative":
            return self._iterate(A, gap), False
        return self._solve_for_labels(A, gap)

    def _solve_for_labels(self, A: Array, gap: float) -> "tuple[MissingLabelFit, bool]":
        """By a factor of this structure or of another."""
        observed, ridge, entries = self.observed, self.ridge, self.observed.entries()
        near = np.diag(np.diag(A)) if self.road == "tasks" else A
        renew = self._factor is None or worth_refactorizing(self._factor[0], near, ridge, gap, observed.product_cost)
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

    def _from_labels(self, A: Array, factor: Factor, c: Array) -> "MissingLabelFit":
        system = TaskSystem(factor, self.observed, A, self.ridge) if isinstance(factor, TaskFactor) else factor
        return MissingLabelFit.from_labels(self, A, system, c)

    def _iterate(self, A: Array, gap: float) -> "MissingLabelFit":
        system: TaskBlockSystem | IterativeSystem | None = None
        if self.observed.by_grams:
            a, U = eigh(A)
            if a[0] > SINGULAR * a[-1]:
                system = TaskBlockSystem(self.observed, a, U, self.ridge, self._W, gap)
        system = system or IterativeSystem(self.observed, A, self.ridge, self._W, gap)
        self._W = system.W
        # Where steps turn out to be many, they are not tried again.
        self._rough = system.steps * self.observed.product_cost < factor_cost(self.observed, self.road)
        if self.road == "iterative" and worth_leaving(self.observed, self.alpha, gap, system.steps):
            self.road = choose_road(self.observed, self.alpha, tried=("iterative",))
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
        return np.sum(self.solve(np.diag(a), tol=tol).coefficients() ** 2, axis=0)


class Response(Protocol):
    """A linear system that was solved: how P = Phi'C moves when the structure does."""

    # What a product ``along`` a direction and ``curvature`` cost.
    step_cost: float
    curvature_cost: float

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D, or near that, for changes D of the structure."""

    def curvature(self, P: Array) -> Array:
        """<P D, Phi' M^-1 Phi P D'> for all ``pairs`` D and D' at once."""


class PredictorSystem(Response, Protocol):
    """One that was solved for predictors W, and their squared norm."""

    W: Array
    norm: float


class MissingLabelFit:
    """Predictors W with value and dual coefficients, both as they are: they need not be exact.

    Parameters
    ----------
    P : ndarray of shape (r, n_tasks)
        Phi'C.
    YC, CC : float
        alpha <C, Y>, and n alpha^2 sum c^2 / w.
    """

    def __init__(
        self,
        problem: MissingLabelRidge,
        A: Array,
        system: Response,
        *,
        value: float,
        W: Array,
        intercept: Array,
        P: Array,
        YC: float,
        CC: float,
    ) -> None:
        self._problem, self._A, self._system = problem, A, system
        self.value, self._W, self.intercept = value, W, intercept
        self.factor, self._YC, self._CC = P, YC, CC

    @classmethod
    def from_labels(cls, problem: MissingLabelRidge, A: Array, system: "Response", c: Array) -> "MissingLabelFit":
        """From the dual coefficients of the labels, whose predictors are W = Phi'C A."""
        observed, entries, alpha = problem.observed, problem.observed.entries(), problem.alpha
        P = entries.adjoint(c)
        W = P @ A
        left = entries.y - entries.scores(W)
        intercept = observed.target_mean - np.sum(observed.shift * W, axis=0)
        left -= intercept[entries.task]
        return cls(
            problem,
            A,
            system,
            value=float(np.sum(left**2 / entries.inverse_weight)) / observed.n + alpha * float(np.sum(W * P)),
            W=W,
            intercept=intercept,
            P=P,
            YC=alpha * float(entries.y @ c),
            CC=problem.ridge * alpha * float(np.sum(c**2 * entries.inverse_weight)),
        )

    @classmethod
    def from_predictors(cls, problem: MissingLabelRidge, A: Array, system: PredictorSystem) -> "MissingLabelFit":
        """From predictors W, with dual coefficients c_it = w_it (y_it - f_t(x_i)) / (n alpha)."""
        observed, W = problem.observed, system.W
        left = observed.cross - observed.curve(W)
        YC = (float(observed.squares.sum()) - float(np.sum(W * observed.cross))) / observed.n
        errors = YC - float(np.sum(W * left)) / observed.n
        return cls(
            problem,
            A,
            system,
            value=errors + problem.alpha * system.norm,
            W=W,
            intercept=observed.target_mean - np.sum(observed.shift * W, axis=0),
            P=left / problem.ridge,
            YC=YC,
            CC=errors,
        )

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.factor.T @ self.factor)

    def dual(self, scale: float) -> float:
        """2 alpha s <C, Y> - n alpha^2 s^2 sum c^2 / w."""
        return 2.0 * scale * self._YC - scale**2 * self._CC

    @property
    def beyond(self) -> Array:
        """C'C of the part of C outside the range of the kernel, or more, in the basis of weighted rows."""
        problem, observed = self._problem, self._problem.observed
        if not observed.has_entries:
            # Weights of rows are at least those of labels over the number of tasks.
            return problem.n_tasks * self._CC / (problem.ridge * problem.alpha) * np.eye(problem.n_tasks)
        entries = observed.entries()
        left = entries.y - entries.scores(self._W) - self.intercept[entries.task]
        within = self.factor / np.sqrt(observed.values)[:, None]
        whole = observed.dual_products(left / (entries.inverse_weight * problem.ridge))
        a, U = eigh(symmetric_part(whole - within.T @ within))
        return symmetric_part((U * np.maximum(a, 0.0)) @ U.T)

    @property
    def dual_error(self) -> float:
        """The rounding of sums of squares of the labels."""
        return ROUNDING * float(self._problem.observed.squares.sum()) / self._problem.observed.n

    @property
    def gap(self) -> float:
        """Relative gap of the supervised step."""
        norm = self._problem.alpha * float(np.sum(self._A * self.Q))
        return (self.value - self.dual(1.0) + norm) / max(abs(self.value), TINY)

    def energy(self, A: Array) -> Array:
        """A Q A, the inner products of the parts g_t = sum_s A_ts (KC)_s."""
        return symmetric_part(A @ self.Q @ A)

    def coefficients(self) -> Array:
        """W."""
        return self._W

    @cached_property
    def _curvature(self) -> Array | None:
        """Half the second derivative over all pairs of tasks, where forming it pays."""
        worth = worth_forming_curvature(self._system.curvature_cost, self._system.step_cost, len(self._A))
        return self._system.curvature(self.factor) if worth else None

    @cached_property
    def _along(self) -> Callable[[Array], Array]:
        return self._system.along(self.factor)

    def hessian(self, D: Array) -> Array:
        """Second derivative of ``value`` / alpha in the direction D of the structure: 2 sym(P' Phi' M^-1 Phi P D)."""
        if self._curvature is None:
            return 2.0 * symmetric_part(self._along(D))
        t, s = pairs(len(D))
        H = np.zeros_like(D)
        H[t, s] = self._curvature @ D[t, s]
        return H + H.T

    def surrogate(self) -> Ridge | None:
        """The closed form for complete labels that has the same predictors for this structure.

        Where labels of a table are missing, it has the predictions in their place, and its value is nowhere less: it is
        the step of expectation and maximization.
        """
        problem, observed = self._problem, self._problem.observed
        if problem.road in ("labels", "features"):
            return None
        targets = (observed.values[:, None] * self._W + problem.ridge * self.factor) / np.sqrt(observed.values)[:, None]
        rest = max(float(observed.squares.sum()) - float(np.sum(targets**2)), 0.0)
        return Ridge(observed.values, targets, rest, observed.n, problem.alpha)

    @cached_property
    def stiffness(self) -> float:
        """<A, H[A]> / <A, 2 Q> for the second derivative H: one where f is held, less where it is refitted."""
        full = 2.0 * float(np.vdot(self._A, self.Q))
        return float(np.vdot(self._A, self.hessian(self._A))) / full if full > 0.0 else 1.0
