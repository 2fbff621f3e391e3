"""The supervised step for square loss where each task has rows and weights of its own, from sums over the rows."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from skmtl._linalg import Array, conjugate_gradients, symmetric_part
from skmtl.solvers.whitening import Whitening

MAX_ROUNDS, MAX_CG_STEPS = 10, 500
SMALLEST_GAP, ROUNDING = 1e-18, 1e-16


class MissingLabelRidge:
    """min over f of (1/n) sum_t (w_t' G_t w_t - 2 w_t' b_t + s_t) + alpha ||f||_A^2.

    Each solution starts from the one before it.

    Parameters
    ----------
    values : ndarray of shape (r,)
        Eigenvalues of the mean of the G_t, which is diagonal, or nearly so: the preconditioner.
    curve : callable
        W -> (G_t w_t), of shape (r, n_tasks): sums of products of the features about their means in each task.
    cross, squares : ndarray of shape (r, n_tasks), (n_tasks,)
        b and s: sums of products of features and targets, and of squares of targets, about their means.
    shift : ndarray of shape (r, n_tasks)
        Means of the features in each task, about their mean over all rows.
    n : float
        Sum of all weights over the number of tasks.
    """

    eliminable = False

    def __init__(
        self,
        values: Array,
        curve: Callable[[Array], Array],
        cross: Array,
        squares: Array,
        shift: Array,
        n: float,
        alpha: float,
    ) -> None:
        self.values, self.curve, self.cross, self.squares, self.shift = values, curve, cross, squares, shift
        self.n, self.alpha = n, alpha
        self._W = np.zeros_like(cross)

    @property
    def n_tasks(self) -> int:
        return self.cross.shape[1]

    def with_alpha(self, alpha: float) -> "MissingLabelRidge":
        """The same at another alpha; solutions start where the last one was."""
        step = MissingLabelRidge(self.values, self.curve, self.cross, self.squares, self.shift, self.n, alpha)
        step._W = self._W
        return step

    def diagonal_energy(self, a: Array, *, tol: float = 1e-8) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        return np.diag(self.solve(np.diag(a), tol=tol).energy(np.diag(a)))

    def solve(self, A: Array, *, tol: float = 1e-8) -> "MissingLabelFit":
        """The best f for the structure A, its dual coefficients as exact as ``tol`` asks, relative to their size."""
        basis = Whitening(A)
        exact = max(tol**2, SMALLEST_GAP)
        fit = MissingLabelFit(self, basis.whiten(self._W), basis)
        for _ in range(MAX_ROUNDS):
            if fit.gap <= exact:
                break
            better = MissingLabelFit(self, fit.G + self._direction(fit, exact), basis)
            stalled = better.value >= fit.value * (1.0 - ROUNDING)
            fit = min(fit, better, key=lambda one: one.value)
            if stalled:
                break
        self._W = fit.coefficients()
        return fit

    def _direction(self, fit: "MissingLabelFit", tol: float) -> Array:
        basis, alpha = fit.basis, self.alpha
        residual = 2.0 * alpha * (basis.whiten_gradient(fit.PhiC) - fit.G)
        diagonal = 2.0 * (alpha + self.values[:, None] * basis.root**2 / self.n)

        def apply(direction: Array) -> Array:
            return 2.0 * (basis.whiten_gradient(self.curve(basis.unwhiten(direction))) / self.n + alpha * direction)

        # The gap is |residual|^2 / (4 alpha).
        enough = 2.0 * alpha * tol * fit.value
        return conjugate_gradients(
            apply, residual, lambda r: r / diagonal, lambda r, _: float(np.sum(r**2)) <= enough, max_steps=MAX_CG_STEPS
        )


class MissingLabelFit:
    """A predictor W, and C with c_it = w_it (y_it - f_t(x_i)) / (n alpha)."""

    def __init__(self, problem: MissingLabelRidge, G: Array, basis: Whitening) -> None:
        self._problem, self.G, self.basis = problem, G, basis
        W = self.coefficients()
        curved = problem.curve(W)
        # Phi'C of the rows about their means in each task.
        self.PhiC = (problem.cross - curved) / (problem.n * problem.alpha)
        # <C, Y> and the squared errors, both over n.
        self._YC = (float(problem.squares.sum()) - float(np.sum(W * problem.cross))) / problem.n
        self._errors = self._YC - float(np.sum(W * (problem.cross - curved))) / problem.n
        self.value = self._errors + problem.alpha * float(np.sum(G**2))

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.PhiC.T @ self.PhiC)

    def dual(self, scale: float) -> float:
        """2 alpha s <C, Y> - n alpha^2 s^2 sum c^2 / w."""
        return 2.0 * scale * self._YC - scale**2 * self._errors

    @cached_property
    def gap(self) -> float:
        """Relative gap of the supervised step."""
        norm = self._problem.alpha * float(np.sum(self.basis.A * self.Q))
        return (self.value - self.dual(1.0) + norm) / max(abs(self.value), 1e-300)

    @property
    def intercept(self) -> Array:
        """What each task's own mean of the rows adds to the mean of all."""
        return -np.sum(self._problem.shift * self.coefficients(), axis=0)

    def coefficients(self) -> Array:
        """W, of shape (r, n_tasks)."""
        return self.basis.unwhiten(self.G)

    def energy(self, A: Array) -> Array:
        return self.basis.energy(self.G, A)
