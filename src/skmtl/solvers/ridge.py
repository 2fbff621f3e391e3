"""The supervised step for square loss and complete labels: closed form in two eigenbases (SKMTL eq. 5)."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array, eigh, symmetric_part, without_rounding


@dataclass(frozen=True)
class Ridge:
    """min over f of (1/n) ||Y - F||^2 + alpha ||f||_A^2 for K = V diag(k) V'.

    Attributes
    ----------
    values : ndarray of shape (r,)
        Positive eigenvalues k.
    targets : ndarray of shape (r, n_tasks)
        V'Y.
    rest : float
        ||Y - VV'Y||^2, which no f can explain.
    n : float
        Sum of the weights of the rows.
    """

    eliminable: ClassVar[bool] = True
    quick: ClassVar[bool] = True
    exact_curvature: ClassVar[bool] = True

    values: Array
    targets: Array
    rest: float
    n: float
    alpha: float
    # The last structure and its fit: searches start where they ended.
    _last: "list[RidgeFit]" = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def from_targets(
        cls, values: Array, projected: Array, targets: Array, n: float, alpha: float, explained: Array | None = None
    ) -> "Ridge":
        """The problem for targets Y of shape (n, n_tasks) whose projection V'Y is known.

        ``explained`` is VV'Y: without it the rest is a difference of large numbers where there is little rest.
        """
        if explained is None:
            rest = float(np.sum(targets**2) - np.sum(projected**2))
        else:
            rest = float(np.sum((targets - explained) ** 2))
        return cls(values, projected, max(rest, 0.0), n, alpha)

    def with_alpha(self, alpha: float) -> "Ridge":
        """The same rows and targets at another alpha."""
        return replace(self, alpha=alpha)

    def solve(self, A: Array, *, tol: float = 0.0) -> "RidgeFit":
        """The best f for the structure A."""
        if not (self._last and np.array_equal(self._last[0].structure, A)):
            self._last[:] = [RidgeFit(self, A.copy())]
        return self._last[0]

    def diagonal_energy(self, a: Array, *, tol: float = 0.0) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        C = self.targets / (self.values[:, None] * a + self.n * self.alpha)
        return a**2 * np.einsum("i,it,it->t", self.values, C, C)

    def surrogate(self) -> None:
        """None: a step in closed form needs nothing to start from."""

    def part(self, tasks: NDArray[np.intp]) -> "Ridge":
        """The problem of these tasks alone, with their share of the rest."""
        return replace(self, targets=self.targets[:, tasks], rest=self.rest * len(tasks) / self.n_tasks)

    @property
    def n_tasks(self) -> int:
        return self.targets.shape[1]


class RidgeFit:
    """The best f for A = U diag(a) U', with C = V [ (V'YU) / (k_i a_j + n alpha) ] U' + (Y - VV'Y) / (n alpha)."""

    # Nothing cancels in its sums.
    dual_error: ClassVar[float] = 0.0

    def __init__(self, problem: Ridge, A: Array) -> None:
        a, U = eigh(A)
        self._problem, self.structure, self._U = problem, A, U
        ridge = problem.n * problem.alpha
        # (SKMTL eq. 5) in the eigenbasis of A, where the tasks separate: T small systems instead of one of size n T.
        self._a = without_rounding(a)
        self._inverse = 1.0 / (problem.values[:, None] * self._a + ridge)
        rotated = problem.targets @ U
        self._C = rotated * self._inverse  # V'CU
        # alpha <Y, C> and ||C||^2, with the part of Y outside the range of K.
        self._YC = float(np.vdot(rotated, self._C)) + problem.rest / ridge
        self._CC = float(np.vdot(self._C, self._C)) + problem.rest / ridge**2
        self.value = problem.alpha * self._YC

    @property
    def beyond(self) -> Array:
        """C'C of (Y - VV'Y) / (n alpha), or more."""
        problem = self._problem
        return problem.rest / (problem.n * problem.alpha) ** 2 * np.eye(problem.n_tasks)

    @cached_property
    def _kC(self) -> Array:
        return self._problem.values[:, None] * self._C

    @cached_property
    def _Q_rotated(self) -> Array:
        return symmetric_part(self._C.T @ self._kC)

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self._U @ self._Q_rotated @ self._U.T)

    @property
    def factor(self) -> Array:
        """diag(k)^{1/2} V'C, of shape (r, n_tasks), with inner products Q."""
        return (np.sqrt(self._problem.values)[:, None] * self._C) @ self._U.T

    def dual(self, scale: float) -> float:
        """2 alpha s <C, Y> - n alpha^2 s^2 ||C||^2."""
        alpha = self._problem.alpha
        return 2.0 * alpha * scale * self._YC - self._problem.n * (alpha * scale) ** 2 * self._CC

    def energy(self, A: Array) -> Array:
        """A Q A, the inner products of the parts g_t = sum_s A_ts (KC)_s."""
        # Not from Q, in which directions that the structure does not have are large, and would have to cancel.
        own = self.coefficients() if np.array_equal(A, self.structure) else self.factor @ A
        return symmetric_part(own.T @ own)

    def hessian(self, D: Array) -> Array:
        """Second derivative of ``value`` / alpha in the direction D of the structure."""
        E = self._kC @ (self._U.T @ D @ self._U)
        E *= self._inverse
        return 2.0 * symmetric_part(self._U @ (self._kC.T @ E) @ self._U.T)

    @cached_property
    def stiffness(self) -> float:
        """<A, H[A]> / <A, 2 Q> for the second derivative H: one where f is held, less where it is refitted."""
        # In the eigenbasis of A both are sums over entries.
        scores = self._kC * self._a
        full = float(np.vdot(scores, self._C))
        return float(np.vdot(scores, scores * self._inverse)) / full if full > 0.0 else 1.0

    def surrogate(self) -> Ridge:
        """The step itself, which is quick."""
        return self._problem

    @property
    def intercept(self) -> Array:
        """Zero: the targets are centred."""
        return np.zeros(len(self._a))

    def coefficients(self) -> Array:
        """diag(k)^{1/2} V'C A: coefficients in the basis V diag(k)^{1/2}, of shape (r, n_tasks)."""
        return (np.sqrt(self._problem.values)[:, None] * self._C * self._a) @ self._U.T
