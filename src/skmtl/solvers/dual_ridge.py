r"""The supervised step for square loss and few labels, in closed form in the space of the labels that are there.

With one dual coefficient c per label y of task t at row i, weight w, the best f has

.. math:: M c + E b = y, \qquad E'c = 0, \qquad M = K_{ii'} A_{tt'} + n \alpha \operatorname{diag}(1 / w),

where E says which label is of which task, and b are the intercepts (without them, E is left out).
"""

from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from skmtl._linalg import Array, symmetric_part
from skmtl.targets import Labels


class DualRidge:
    """min over f and the intercepts of (1/n) sum w (y - f)^2 + alpha ||f||_A^2, from a matrix of labels by labels.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, r)
        The rows in an orthonormal basis of functions.
    """

    eliminable = True

    def __init__(self, rows: Array, labels: Labels, alpha: float, *, intercept: bool) -> None:
        self.alpha, self.intercept, self.n_tasks = alpha, intercept, labels.n_tasks
        self.n = float(labels.weight.sum()) / labels.n_tasks
        shape = labels.y.shape
        task = np.broadcast_to(labels.spread(np.arange(labels.n_tasks)), shape)
        row = np.broadcast_to(np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)), shape)
        known = labels.weight > 0.0
        order = np.argsort(task[known], kind="stable")
        self.task = task[known][order]
        self.y, self.inverse_weight = labels.y[known][order], 1.0 / labels.weight[known][order]
        # A row of features per label; task by task.
        self.Phi = labels.arrange(rows)[row[known][order]]
        self.counts = np.bincount(self.task, minlength=self.n_tasks)
        self._K = self.Phi @ self.Phi.T

    def with_alpha(self, alpha: float) -> "DualRidge":
        """The same labels at another alpha."""
        other = copy(self)
        other.alpha = alpha
        return other

    def part(self, tasks: NDArray[np.intp]) -> "DualRidge":
        """The problem of some of the tasks, in that order; n is still that of all."""
        other = copy(self)
        labels = np.concatenate([np.flatnonzero(self.task == t) for t in tasks])
        other.n_tasks, other.counts = len(tasks), self.counts[tasks]
        other.task = np.repeat(np.arange(len(tasks)), other.counts)
        other.y, other.inverse_weight, other.Phi = self.y[labels], self.inverse_weight[labels], self.Phi[labels]
        other._K = self._K[np.ix_(labels, labels)]
        return other

    def solve(self, A: Array, *, tol: float = 0.0) -> "DualRidgeFit":
        """The best f for the structure A."""
        M = self._K * np.repeat(np.repeat(A, self.counts, axis=0), self.counts, axis=1)
        return DualRidgeFit(self, self._system(M, slice(None)), A)

    def diagonal_energy(self, a: Array, *, tol: float = 0.0) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        energy = np.zeros(self.n_tasks)
        ends = np.cumsum(self.counts)
        for t in np.flatnonzero(self.counts):
            own = slice(ends[t] - self.counts[t], ends[t])
            K = self._K[own, own]
            c = self._system(a[t] * K, own).solve(self.y[own])
            energy[t] = a[t] ** 2 * float(c @ K @ c)
        return energy

    def _system(self, M: Array, labels: slice) -> "_Bordered":
        ridge = self.n * self.alpha * self.inverse_weight[labels]
        return _Bordered(M, ridge, self.task[labels] if self.intercept else None)

    def table(self, u: Array) -> Array:
        """Values per label times their features, summed by task: Phi'U, of shape (r, n_tasks)."""
        starts = np.cumsum(self.counts) - self.counts
        known = np.flatnonzero(self.counts)
        result = np.zeros((self.Phi.shape[1], self.n_tasks))
        result[:, known] = np.add.reduceat(u[:, None] * self.Phi, starts[known], axis=0).T
        return result


class _Bordered:
    """M c + E b = y with E'c = 0, where M has a ridge added to its diagonal, and is overwritten."""

    def __init__(self, M: Array, ridge: Array, task: NDArray[np.intp] | None) -> None:
        M[np.diag_indices_from(M)] += ridge
        self._factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        self._tasks = np.unique(task) if task is not None else np.zeros(0, dtype=np.intp)
        if task is not None:
            self._E = (task[:, None] == self._tasks).astype(float)
            self._ME = linalg.cho_solve(self._factor, self._E, check_finite=False)
            self._border = linalg.cho_factor(self._E.T @ self._ME, lower=True, check_finite=False)

    def solve(self, y: Array) -> Array:
        """c, of shape (n_labels,)."""
        c: Array = linalg.cho_solve(self._factor, y, check_finite=False)
        return c - self._ME @ self._constants(c) if len(self._tasks) else c

    def intercept(self, y: Array, n_tasks: int) -> Array:
        """b, of shape (n_tasks,); zero for a task without a label."""
        b = np.zeros(n_tasks)
        if len(self._tasks):
            b[self._tasks] = self._constants(linalg.cho_solve(self._factor, y, check_finite=False))
        return b

    def _constants(self, c: Array) -> Array:
        return np.asarray(linalg.cho_solve(self._border, self._E.T @ c, check_finite=False))


class DualRidgeFit:
    """The best f for a structure, from its dual coefficients."""

    def __init__(self, problem: DualRidge, system: _Bordered, A: Array) -> None:
        self._problem, self._system, self._A = problem, system, A
        self._c = system.solve(problem.y)
        self._Yc = float(problem.y @ self._c)
        self.value = problem.alpha * self._Yc

    @cached_property
    def factor(self) -> Array:
        """Phi'C, of shape (r, n_tasks)."""
        return self._problem.table(self._c)

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.factor.T @ self.factor)

    @property
    def intercept(self) -> Array:
        """The constant of each task."""
        return self._system.intercept(self._problem.y, self._problem.n_tasks)

    def dual(self, scale: float) -> float:
        """2 alpha s <c, y> - n alpha^2 s^2 sum c^2 / w."""
        alpha = self._problem.alpha
        CC = float(np.sum(self._c**2 * self._problem.inverse_weight))
        return 2.0 * alpha * scale * self._Yc - self._problem.n * (alpha * scale) ** 2 * CC

    def energy(self, A: Array) -> Array:
        """A Q A, the inner products of the parts g_t = sum_s A_ts (KC)_s."""
        return symmetric_part(A @ self.Q @ A)

    def hessian(self, D: Array) -> Array:
        """Second derivative of ``value`` / alpha in the direction D of the structure."""
        problem = self._problem
        moved = np.einsum("ir,ri->i", problem.Phi, (self.factor @ D)[:, problem.task])
        return 2.0 * symmetric_part(self.factor.T @ problem.table(self._system.solve(moved)))

    @cached_property
    def stiffness(self) -> float:
        """<A, H[A]> / <A, 2 Q> for the second derivative H: one where f is held, less where it is refitted."""
        full = 2.0 * float(np.vdot(self._A, self.Q))
        return float(np.vdot(self._A, self.hessian(self._A))) / full if full > 0.0 else 1.0

    def coefficients(self) -> Array:
        """Phi'C A: coefficients in the orthonormal basis, of shape (r, n_tasks)."""
        return self.factor @ self._A
