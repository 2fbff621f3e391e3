"""The supervised step for losses other than square, and any pattern of labels: Newton with conjugate gradients."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from skmtl._linalg import Array, cholesky, conjugate_gradients, symmetric_part
from skmtl.losses import Loss
from skmtl.solvers.curvature import Curvature, LabelCurvature, RowCurvature
from skmtl.solvers.whitening import Whitening
from skmtl.targets import Labels

MAX_NEWTON_STEPS, FEWEST_NEWTON_STEPS, MAX_CG_STEPS = 60, 6, 500
MAX_BACKTRACKS = 30
# A loss without curvature is rounded over widths that shrink by this factor, down to a smallest one.
NARROWER, NARROWEST, STAGE_GAP = 0.2, 1e-13, 1e-4
# So many stages lead from the widest to the narrowest; more only follow a value that sinks without end.
MAX_STAGES = 25
# Conjugate gradients can reach gaps that rounding hides from the values themselves.
SMALLEST_GAP, ROUNDING = 1e-18, 1e-16
# An entry without curvature counts as if it had this much, so that intercepts always have a direction. Where the slope
# of a loss vanishes with its curvature, as of exponentials, little is much. Where it does not, as far on the wrong side
# of a margin, Newton would move a score without end: by so much at most.
LEAST_CURVATURE, FARTHEST = 1e-12, 1e6
# The curvature of narrow corners differs by orders of magnitude, and conjugate gradients creep. Up to this many
# unknowns a factor, of 0.1 s at most, is cheaper than their steps, and its directions are worth two of theirs. Losses
# without corners seldom need it: not before this many steps.
MAX_FACTOR, FEW_CG_STEPS = 1500, 40
# The least along a direction, where there are corners: the longest step, how often the slope is asked for, and what is
# left of it.
LONGEST_STEP, LINE_SEARCHES, LINE_TOL = 1024.0, 12, 0.05
# How much a Newton step on a curved loss must reduce the squared residual, and of what its slope promises, the share
# that it must gain.
FORCING, ENOUGH_GAIN = 1e-4, 1e-4


class _Point(NamedTuple):
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
        self._width, self._max_steps = 1.0, MAX_NEWTON_STEPS

    @property
    def n_tasks(self) -> int:
        return self.labels.n_tasks

    def with_alpha(self, alpha: float) -> "NewtonStep":
        """The same rows and labels at another alpha, from where this one is."""
        other = copy(self)
        other.alpha, other._width, other._max_steps = alpha, 1.0, MAX_NEWTON_STEPS
        return other

    def diagonal_energy(self, a: Array, *, tol: float = 1e-8) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        return np.diag(self.solve(np.diag(a), tol=tol).energy(np.diag(a)))

    def solve(self, A: Array, *, tol: float = 1e-8) -> "NewtonFit":
        """The best f for the structure A, its dual coefficients as exact as ``tol`` asks, relative to their size.

        The value is then exact to the square of that, except for what rounding the corner of a loss costs: up to a
        few times ``tol``, relative to the value.
        """
        basis = Whitening(A)
        point = _Point(basis.whiten(self._W), self._b)
        exact = max(tol**2, SMALLEST_GAP)
        if self.loss.has_corner:
            fit = self._narrow(point, basis, tol, exact)
        else:
            fit = self._newton(self.loss, point, basis, exact)
        self._W, self._b = fit.coefficients(), fit.intercept
        return fit

    def _narrow(self, point: _Point, basis: Whitening, tol: float, exact: float) -> "NewtonFit":
        """Round the corner of the loss over shrinking widths; a width costs at most its half per label and corner."""
        fit = NewtonFit(self, self.loss.smoothed(self._width), point, basis)
        # A point that is far off, perhaps that of another structure, first gets a width that costs as much as it does.
        self._width = max(self._width, min(1.0, fit.smooth_gap * abs(fit.smooth_value) / self.n_tasks))
        for _ in range(MAX_STAGES):
            fit = NewtonFit(self, self.loss.smoothed(self._width), point, basis)
            narrow_enough = max(5.0 * tol * fit.value / self.n_tasks, NARROWEST)
            if self._width <= narrow_enough:
                break
            point = self._newton(fit.loss, point, basis, STAGE_GAP).point
            self._width = max(NARROWER * self._width, min(narrow_enough, self._width))
        return self._newton(self.loss.smoothed(self._width), point, basis, exact)

    def _newton(self, loss: Loss, point: _Point, basis: Whitening, tol: float) -> "NewtonFit":
        """Newton for one smooth loss until its own gap is at most ``tol``."""
        fit = NewtonFit(self, loss, point, basis)
        for _ in range(self._max_steps):
            if fit.smooth_gap <= tol:
                self._max_steps = MAX_NEWTON_STEPS
                break
            better = self._backtrack(fit, self._direction(fit, tol))
            if better is None:
                break
            stalled = fit.smooth_value - better.smooth_value <= ROUNDING * abs(fit.smooth_value)
            fit = better
            if stalled:
                break
        else:
            # Steps that did not suffice seldom do the next time; where they lead somewhere, the next solution goes on.
            self._max_steps = max(self._max_steps // 2, FEWEST_NEWTON_STEPS)
        return fit

    def _direction(self, fit: "NewtonFit", tol: float) -> _Point:
        """Newton's direction in G and b; the intercepts are eliminated exactly."""
        basis, alpha = fit.basis, self.alpha
        h = self._least_curvature(fit)
        kind = RowCurvature if self.loss.couples_tasks and self.n_tasks > 1 else LabelCurvature
        curvature: Curvature = kind(self.labels, self.Phi, h, intercept=self.intercept)
        slope = basis.whiten_gradient(self.labels.adjoint(self.Phi, curvature.without_intercepts(fit.gradient)))
        residual = -(slope / self.n + 2.0 * alpha * fit.point.G)
        # The gap of the supervised step is |residual|^2 / (4 alpha); Newton on a curved loss need not be exact.
        enough = 2.0 * alpha * tol * abs(fit.smooth_value)
        if not fit.loss.quadratic:
            enough = max(enough, FORCING * float(np.sum(residual**2)))
        average = float(h.sum()) / self.n_tasks
        diagonal = 2.0 * alpha + (average / self.n) * self._mean_values[:, None] * basis.squares
        D = self._solve(curvature, basis, residual, diagonal, enough)
        moved = self.labels.scores(self.Phi, basis.unwhiten(D))
        return _Point(D, curvature.intercepts(fit.gradient + curvature.times(moved)))

    def _least_curvature(self, fit: "NewtonFit") -> Array:
        """That of the losses in the scores, laid out like them; nowhere nothing."""
        weight = self.labels.weight
        h = np.maximum(fit.loss.curvature(self.labels.y, fit.scores, weight), LEAST_CURVATURE * weight)
        return h if self.loss.has_corner else np.maximum(h, np.abs(fit.gradient) / FARTHEST)

    def _solve(self, curvature: Curvature, basis: Whitening, residual: Array, diagonal: Array, enough: float) -> Array:
        """The step in G that leaves a squared residual of at most ``enough``, or the exact one."""

        def apply(direction: Array) -> Array:
            curved = basis.whiten_gradient(curvature.normal(basis.unwhiten(direction)))
            return curved / self.n + 2.0 * self.alpha * direction

        small = residual.size <= MAX_FACTOR
        D = np.zeros_like(residual)
        if not (small and self.loss.has_corner):
            D = conjugate_gradients(
                apply,
                residual,
                lambda r: r / diagonal,
                lambda r, _: float(np.sum(r**2)) <= enough,
                max_steps=FEW_CG_STEPS if small else MAX_CG_STEPS,
            )
            if not small or float(np.sum((residual - apply(D)) ** 2)) <= 2.0 * enough:
                return D
        H = curvature.matrix(basis.R) / self.n
        H[np.diag_indices_from(H)] += 2.0 * self.alpha
        factor = cholesky(H.copy, lower=True), True
        return np.asarray(cho_solve(factor, residual.ravel(), check_finite=False)).reshape(residual.shape)

    def _backtrack(self, fit: "NewtonFit", direction: _Point) -> "NewtonFit | None":
        """The first step along the direction that gains enough; None when rounding leaves nothing to gain."""
        moved = self.labels.scores(self.Phi, fit.basis.unwhiten(direction.G)) + self.labels.spread(direction.b)

        def slope(step: float) -> float:
            gradient = fit.loss.gradient(self.labels.y, fit.scores + step * moved, self.labels.weight)
            G = fit.point.G + step * direction.G
            return 2.0 * self.alpha * float(np.sum(G * direction.G)) + float(np.sum(gradient * moved)) / self.n

        at_once = slope(0.0)
        # Between corners the curvature changes at once, and steps of Newton's end far from the least along them.
        step = _zero_of_rising(slope, at_once) if self.loss.has_corner else 1.0
        for _ in range(MAX_BACKTRACKS):
            point = _Point(fit.point.G + step * direction.G, fit.point.b + step * direction.b)
            trial = NewtonFit(self, fit.loss, point, fit.basis)
            if trial.smooth_value <= fit.smooth_value + ENOUGH_GAIN * step * at_once:
                return trial
            step *= 0.5
        return None


def _zero_of_rising(function: Callable[[float], float], at_zero: float) -> float:
    """Where a rising function that is negative at zero has its zero, roughly; 1 where that is not to be found."""
    low, high, below, above = 0.0, 1.0, at_zero, function(1.0)
    while above < 0.0 and high < LONGEST_STEP:
        low, high, below, above = high, 2.0 * high, above, function(2.0 * high)
    if not below < 0.0 <= above:
        return 1.0
    for _ in range(LINE_SEARCHES):
        # False position, halved where it creeps up from one side.
        middle = low + (high - low) * min(max(below / (below - above), 0.1), 0.9) if above > 0.0 else high
        value = function(middle)
        if abs(value) <= LINE_TOL * abs(at_zero):
            return middle
        if value < 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return high


class NewtonFit:
    """A predictor with its dual coefficients, for a loss or for the smooth one that stands for it."""

    # Nothing cancels in its sums.
    dual_error: ClassVar[float] = 0.0

    def __init__(self, problem: NewtonStep, loss: Loss, point: _Point, basis: Whitening) -> None:
        self._problem, self.loss, self.point, self.basis = problem, loss, point, basis
        labels = problem.labels
        self.scores = labels.scores(problem.Phi, basis.unwhiten(point.G)) + labels.spread(point.b)
        self._penalty = problem.alpha * float(np.sum(point.G**2))
        self.smooth_value = loss.value(labels.y, self.scores, labels.weight) / problem.n + self._penalty

    @cached_property
    def value(self) -> float:
        """(1/n) sum w V + alpha ||f||^2 for the loss that was asked for."""
        problem, labels = self._problem, self._problem.labels
        return problem.loss.value(labels.y, self.scores, labels.weight) / problem.n + self._penalty

    @cached_property
    def gradient(self) -> Array:
        """The derivative of the losses in the scores."""
        labels = self._problem.labels
        return self.loss.gradient(labels.y, self.scores, labels.weight)

    @cached_property
    def _dual_gradient(self) -> Array:
        """-2 n alpha C: the gradient, moved to where the entries of each task sum to zero if there are intercepts."""
        labels, gradient = self._problem.labels, self.gradient
        if not self._problem.intercept:
            return gradient
        if self.loss.free_dual:
            mean = labels.sums(gradient) / np.maximum(labels.sums(labels.weight), np.finfo(float).tiny)
            return gradient - labels.weight * labels.spread(mean)
        if self.loss.couples_tasks and labels.n_tasks > 1:
            return self.loss.balanced(labels.y, gradient, labels.weight)
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

    def _dual(self, loss: Loss, scale: float) -> float:
        labels = self._problem.labels
        return -loss.conjugate(labels.y, scale * self._dual_gradient, labels.weight) / self._problem.n

    def dual(self, scale: float) -> float:
        """-(1/n) sum w V*(y, -2 n alpha scale c / w)."""
        return self._dual(self._problem.loss, scale)

    @cached_property
    def _dual_norm(self) -> float:
        return self._problem.alpha * float(np.sum(self.basis.A * self.Q))

    @cached_property
    def smooth_gap(self) -> float:
        """Relative gap of the supervised step for the smooth loss."""
        return (self.smooth_value - self._dual(self.loss, 1.0) + self._dual_norm) / max(abs(self.smooth_value), 1e-300)

    @property
    def intercept(self) -> Array:
        return self.point.b

    def coefficients(self) -> Array:
        """W, of shape (r, n_tasks)."""
        return self.basis.unwhiten(self.point.G)

    def energy(self, A: Array) -> Array:
        return self.basis.energy(self.point.G, A)
