"""The supervised step for curved losses, and any pattern of labels: Newton with conjugate gradients."""

from copy import copy
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_solve

from skmtl._linalg import TINY, Array, cholesky, conjugate_gradients, symmetric_part
from skmtl.losses import Loss
from skmtl.solvers.curvature import Curvature, LabelCurvature, RowCurvature
from skmtl.solvers.whitening import Whitening
from skmtl.targets import Labels

MAX_NEWTON_STEPS, FEWEST_NEWTON_STEPS, MAX_CG_STEPS = 60, 6, 500
MAX_BACKTRACKS = 30
# Conjugate gradients can reach gaps that rounding hides from the values themselves.
SMALLEST_GAP, ROUNDING = 1e-18, 1e-16
# An entry without curvature counts as if it had this much, so that intercepts always have a direction. Where the slope
# of a loss vanishes with its curvature, as of exponentials, little is much. Where it does not, as far on the wrong side
# of a margin, Newton would move a score without end: by so much at most.
LEAST_CURVATURE, FARTHEST = 1e-12, 1e6
# Up to this many unknowns a factor, of 0.1 s at most, is cheaper than more than so many steps of conjugate gradients.
# Steps that did not suffice seldom do the next time, which gets half of them, down to so many.
MAX_FACTOR, FEW_CG_STEPS, FEWEST_CG_STEPS = 1500, 40, 10
# How much a Newton step on a curved loss must reduce the squared residual, and of what its slope promises, the share
# that it must gain.
FORCING, ENOUGH_GAIN = 1e-4, 1e-4


class Point(NamedTuple):
    """A predictor W = G diag(root) U' with intercepts b."""

    G: Array
    b: Array


class NewtonStep:
    """min over f and the intercepts of (1/n) sum w V(y, f) + alpha ||f||_A^2.

    With A = U diag(a) U' and W = G diag(a)^{1/2} U' the penalty is alpha ||G||^2, and were all labels there the Hessian
    in G would be diagonal: that is the preconditioner. Each solution starts from the one before it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, r)
        The rows in an orthonormal basis of functions.
    values : ndarray of shape (r,)
        Eigenvalues of the rows' covariance, weighted as ``labels.design_weight`` says, which is diagonal in that basis.
    """

    eliminable = False

    def __init__(
        self, rows: Array, values: Array, labels: Labels, loss: Loss, alpha: float, *, intercept: bool
    ) -> None:
        self.alpha = alpha
        self.labels, self.Phi = labels, labels.arrange(rows)
        self.loss, self.intercept = loss, intercept
        self.n = float(labels.weight.sum()) / labels.n_tasks
        self._mean_values = values / float(labels.design_weight().sum())
        self._W = np.zeros((len(values), labels.n_tasks))
        self._b = np.zeros(labels.n_tasks)
        self._max_steps, self._cg_steps = MAX_NEWTON_STEPS, FEW_CG_STEPS

    @property
    def n_tasks(self) -> int:
        return self.labels.n_tasks

    def with_alpha(self, alpha: float) -> "NewtonStep":
        """The same rows and labels at another alpha, from where this one is."""
        other = copy(self)
        other.alpha, other._max_steps, other._cg_steps = alpha, MAX_NEWTON_STEPS, FEW_CG_STEPS
        return other

    def diagonal_energy(self, a: Array, *, tol: float = 1e-8) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        return np.diag(self.solve(np.diag(a), tol=tol).energy(np.diag(a)))

    def solve(self, A: Array, *, tol: float = 1e-8) -> "NewtonFit":
        """The best f for the structure A, its dual coefficients as exact as ``tol`` asks, relative to their size.

        The value is then exact to the square of that.
        """
        basis = Whitening(A)
        point = Point(basis.whiten(self._W), self._b)
        fit = self._newton(point, basis, max(tol**2, SMALLEST_GAP))
        self._W, self._b = fit.coefficients(), fit.intercept
        return fit

    def _newton(self, point: Point, basis: Whitening, tol: float) -> "NewtonFit":
        """Newton until the gap of the supervised step is at most ``tol``."""
        fit = NewtonFit(self, point, basis)
        for _ in range(self._max_steps):
            if fit.gap <= tol:
                self._max_steps = MAX_NEWTON_STEPS
                break
            better = self._backtrack(fit, self._direction(fit, tol))
            if better is None:
                break
            stalled = fit.value - better.value <= ROUNDING * abs(fit.value)
            fit = better
            if stalled:
                break
        else:
            # Steps that did not suffice seldom do the next time; where they lead somewhere, the next solution goes on.
            self._max_steps = max(self._max_steps // 2, FEWEST_NEWTON_STEPS)
        return fit

    def _direction(self, fit: "NewtonFit", tol: float) -> Point:
        """Newton's direction in G and b; the intercepts are eliminated exactly."""
        basis, alpha = fit.basis, self.alpha
        h = self._least_curvature(fit)
        kind = RowCurvature if self.loss.couples_tasks and self.n_tasks > 1 else LabelCurvature
        curvature: Curvature = kind(self.labels, self.Phi, h, intercept=self.intercept)
        slope = basis.whiten_gradient(self.labels.adjoint(self.Phi, curvature.without_intercepts(fit.gradient)))
        residual = -(slope / self.n + 2.0 * alpha * fit.point.G)
        # The gap of the supervised step is |residual|^2 / (4 alpha); Newton on a curved loss need not be exact.
        enough = 2.0 * alpha * tol * abs(fit.value)
        if not self.loss.quadratic:
            enough = max(enough, FORCING * float(np.sum(residual**2)))
        average = float(h.sum()) / self.n_tasks
        diagonal = 2.0 * alpha + (average / self.n) * self._mean_values[:, None] * basis.squares
        D = self._solve(curvature, basis, residual, diagonal, enough)
        moved = self.labels.scores(self.Phi, basis.unwhiten(D))
        return Point(D, curvature.intercepts(fit.gradient + curvature.times(moved)))

    def _least_curvature(self, fit: "NewtonFit") -> Array:
        """That of the losses in the scores, laid out like them; nowhere nothing."""
        weight = self.labels.weight
        h = np.maximum(self.loss.curvature(self.labels.y, fit.scores, weight), LEAST_CURVATURE * weight)
        return np.maximum(h, np.abs(fit.gradient) / FARTHEST)

    def _solve(self, curvature: Curvature, basis: Whitening, residual: Array, diagonal: Array, enough: float) -> Array:
        """The step in G that leaves a squared residual of at most ``enough``, or the exact one."""

        def apply(direction: Array) -> Array:
            curved = basis.whiten_gradient(curvature.normal(basis.unwhiten(direction)))
            return curved / self.n + 2.0 * self.alpha * direction

        small = residual.size <= MAX_FACTOR
        D = conjugate_gradients(
            apply,
            residual,
            lambda r: r / diagonal,
            lambda r, _: float(np.sum(r**2)) <= enough,
            max_steps=self._cg_steps if small else MAX_CG_STEPS,
        )
        if not small or float(np.sum((residual - apply(D)) ** 2)) <= 2.0 * enough:
            self._cg_steps = FEW_CG_STEPS
            return D
        self._cg_steps = max(self._cg_steps // 2, FEWEST_CG_STEPS)
        H = curvature.matrix(basis.R) / self.n
        H[np.diag_indices_from(H)] += 2.0 * self.alpha
        factor = cholesky(H.copy, lower=True), True
        return np.asarray(cho_solve(factor, residual.ravel(), check_finite=False)).reshape(residual.shape)

    def _backtrack(self, fit: "NewtonFit", direction: Point) -> "NewtonFit | None":
        """The first step along the direction that gains enough; None when rounding leaves nothing to gain."""
        moved = self.labels.scores(self.Phi, fit.basis.unwhiten(direction.G)) + self.labels.spread(direction.b)
        slope = float(np.sum(fit.gradient * moved)) / self.n
        slope += 2.0 * self.alpha * float(np.sum(fit.point.G * direction.G))
        step = 1.0
        for _ in range(MAX_BACKTRACKS):
            point = Point(fit.point.G + step * direction.G, fit.point.b + step * direction.b)
            trial = NewtonFit(self, point, fit.basis)
            if trial.value <= fit.value + ENOUGH_GAIN * step * slope:
                return trial
            step *= 0.5
        return None


class Solved(Protocol):
    """The problem of a fit."""

    alpha: float
    n: float
    labels: Labels
    Phi: Array
    loss: Loss
    intercept: bool


class NewtonFit:
    """A predictor with its dual coefficients: those of the slopes of the loss, or of others that are ``given``."""

    # Nothing cancels in its sums.
    dual_error: ClassVar[float] = 0.0

    def __init__(self, problem: Solved, point: Point, basis: Whitening, given: Array | None = None) -> None:
        self._problem, self.point, self.basis, self._given = problem, point, basis, given
        labels = problem.labels
        self.scores = labels.scores(problem.Phi, basis.unwhiten(point.G)) + labels.spread(point.b)
        penalty = problem.alpha * float(np.sum(point.G**2))
        # (1/n) sum w V + alpha ||f||^2.
        self.value = problem.loss.value(labels.y, self.scores, labels.weight) / problem.n + penalty

    @cached_property
    def gradient(self) -> Array:
        """The derivative of the losses in the scores, or a subgradient near it."""
        if self._given is not None:
            return self._given
        labels = self._problem.labels
        return self._problem.loss.gradient(labels.y, self.scores, labels.weight)

    @cached_property
    def _dual_gradient(self) -> Array:
        """-2 n alpha C: the gradient, moved to where the entries of each task sum to zero if there are intercepts."""
        labels, gradient = self._problem.labels, self.gradient
        if not self._problem.intercept:
            return gradient
        if self._problem.loss.free_dual:
            mean = labels.sums(gradient) / np.maximum(labels.sums(labels.weight), TINY)
            return gradient - labels.weight * labels.spread(mean)
        if self._problem.loss.couples_tasks and labels.n_tasks > 1:
            return self._problem.loss.balanced(labels.y, gradient, labels.weight)
        # Scaling down the heavier sign keeps every entry in the domain of the conjugate.
        up, down = labels.sums(np.maximum(gradient, 0.0)), labels.sums(np.maximum(-gradient, 0.0))
        least = np.minimum(up, down)
        up_scale = np.divide(least, up, out=np.zeros_like(up), where=up > 0.0)
        down_scale = np.divide(least, down, out=np.zeros_like(down), where=down > 0.0)
        return gradient * np.where(gradient > 0.0, labels.spread(up_scale), labels.spread(down_scale))

    @cached_property
    def factor(self) -> Array:
        """Phi'C, of shape (r, n_tasks), with inner products Q."""
        factor = -2.0 * self._problem.n * self._problem.alpha
        return self._problem.labels.adjoint(self._problem.Phi, self._dual_gradient) / factor

    @property
    def beyond(self) -> Array:
        """The sum of c^2 over the weights of rows, which are at least those of labels over the number of tasks."""
        weight = self._problem.labels.weight
        squares = np.divide(self._dual_gradient**2, weight, out=np.zeros_like(weight), where=weight > 0.0)
        size = self.point.b.size * float(squares.sum()) / (2.0 * self._problem.n * self._problem.alpha) ** 2
        return size * np.eye(self.point.b.size)

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.factor.T @ self.factor)

    def dual(self, scale: float) -> float:
        """-(1/n) sum w V*(y, -2 n alpha scale c / w)."""
        labels = self._problem.labels
        conjugate = self._problem.loss.conjugate(labels.y, scale * self._dual_gradient, labels.weight)
        return -conjugate / self._problem.n

    @cached_property
    def gap(self) -> float:
        """Relative gap of the supervised step."""
        norm = self._problem.alpha * float(np.sum(self.basis.A * self.Q))
        return (self.value - self.dual(1.0) + norm) / max(abs(self.value), TINY)

    @property
    def intercept(self) -> Array:
        return self.point.b

    def coefficients(self) -> Array:
        """W, of shape (r, n_tasks)."""
        return self.basis.unwhiten(self.point.G)

    def energy(self, A: Array) -> Array:
        return self.basis.energy(self.point.G, A)
