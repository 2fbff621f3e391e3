"""Few relations between tasks, each strong: the penalty of sparse kernel multi-task learning."""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from skmtl._linalg import (
    TINY,
    Array,
    eigh,
    inverse_spd,
    largest_eigenvalue,
    positive_sqrt,
    single_threaded,
    symmetric_part,
)
from skmtl._parameters import check_count, is_number
from skmtl.penalties._newton import (
    DENSE_SHARE,
    RelationNorm,
    active_newton,
    best_mixture,
    hessian_diagonal,
    soft_threshold,
    whole_inverse,
)
from skmtl.penalties._screening import WORTH_SCREENING
from skmtl.penalties._splitting import primal_dual
from skmtl.penalties._structure_step import minimize_in_blocks, minimize_whole, step_gap
from skmtl.penalties.base import Certify, Smooth, StructurePenalty, StructureStep


class RelationPenalty(StructurePenalty):
    r"""The trace, and a norm of the relations between tasks that makes some of them exactly zero.

    .. math:: R(A) = \operatorname{tr}(A) + (1 - \mu) \lVert A \rVert = \max_{W \in \mathcal{W}} \operatorname{tr}(A W)

    Subclasses say which norm. All else follows from it: the structure step and the joint problem by Newton, and the
    certificates of both from the dual points W, of which the identity is always one.
    """

    joint = True
    path_parameter = "mu"
    few_tasks = 0
    mu: float
    max_iter: int | None

    def norm(self, n_tasks: int) -> RelationNorm:
        r""":math:`(1 - \mu) \lVert A \rVert` for ``n_tasks`` tasks."""
        raise NotImplementedError

    def check(self, n_tasks: int) -> None:
        if not (is_number(self.mu) and 0.0 <= self.mu <= 1.0):
            raise ValueError(f"mu={self.mu!r} must lie between 0 (no relations) and 1 (all relations).")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    def value(self, A: Array) -> float:
        return float(np.trace(A)) + self.norm(len(A)).value(A)

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        with single_threaded(len(S)):
            return minimize_whole(self, S, start, tol)

    def minimize_with(
        self, smooth: Smooth, start: Array, *, certify: Certify, tol: float, max_iter: int, exact: bool = False
    ) -> tuple[Array, float, int]:
        norm = self.norm(len(start))
        return active_newton(smooth, start, norm, certify=certify, tol=tol, max_iter=max_iter, exact=exact)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # For any dual point W >= scale^2 Q the minimum is at least 2 sqrt(eps) tr((W - scale^2 Q)^{1/2}),
        # with equality at W = eps A^-2 + Q.
        W = self._dual_guess(Q, eps, structure)
        if W is None:
            return -np.inf
        scaled = scale**2 * Q
        return float(np.sqrt(eps)) * best_mixture(W - scaled, np.eye(len(Q)) - scaled)[0]

    def feasible_scale(self, Q: Array, eps: float, structure: Array) -> float:
        # W >= s^2 Q for s^2 up to one over the largest eigenvalue of W^-1 Q; at that very point the bound is weak.
        W = self._dual_guess(Q, eps, structure)
        largest = np.inf if W is None else largest_eigenvalue(Q, W)
        if not np.isfinite(largest) or largest < 1.0:
            return 1.0
        return float((largest + max(0.1 * (largest - 1.0), 1e-6)) ** -0.5)

    def grid(self) -> dict[str, list[float]]:
        """Candidates for cross-validation; on real data 0.9 to 0.97 is chosen most."""
        return {"mu": [0.5, 0.8, 0.9, 0.97, 1.0]}

    def _dual_guess(self, Q: Array, eps: float, structure: Array) -> Array | None:
        """A dual point near eps A^-2 + Q, which is the best one at the optimum."""
        P = inverse_spd(structure)
        if P is None:
            return None
        # Beyond the range of numbers it is as far from the dual as any guess may be.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.norm(len(P)).dual_point(eps * (P @ P) + Q)


class Sparse(RelationPenalty):
    r"""Relate few tasks, and those strongly.

    .. math:: R(A) = \mu \operatorname{tr}(A) + (1 - \mu) \sum_{ts} |A_{ts}|

    ``mu`` is a threshold on correlation: the graph has no edge exactly when no correlation of two predictors exceeds
    :math:`1 - \mu` in size. Once it has edges, a pair that is explained by the tasks between them can stay apart.
    ``mu=1`` is the dense trace penalty, ``mu=0`` joins nothing.

    Parameters
    ----------
    mu : float in [0, 1], default=0.9
        One minus the correlation below which two tasks stay apart.
    solver : {"newton", "primal-dual"}, default="newton"
        Active-set Newton, or the paper's Algorithm 2 with its dual step put right.
    max_iter : int, optional
        Bound on the work of one structure step; by default 100 Newton or 30,000 splitting iterations.

    See Also
    --------
    Groups : The same for whole groups of tasks.
    Trace : All tasks share few directions, and the graph is dense.

    References
    ----------
    Ciliberto, Rosasco, Villa. Learning multiple visual tasks while discovering their structure. CVPR 2015.

    Examples
    --------
    Two tasks of correlation 0.4 are joined when the threshold lies below it, and only then:

    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Sparse
    >>> S = [[1.0, 0.4], [0.4, 1.0]]
    >>> minimize_structure(S, Sparse(mu=0.5)).structure.round(3)
    array([[1., 0.],
           [0., 1.]])
    >>> minimize_structure(S, Sparse(mu=0.7)).structure.round(3)
    array([[0.982, 0.056],
           [0.056, 0.982]])
    """

    name = "sparse"
    tex = r"\mu \operatorname{tr}(A) + (1-\mu) \sum_{ts} |A_{ts}|"
    reference = "Ciliberto, Rosasco, Villa, 2015"

    def __init__(self, mu: float = 0.9, *, solver: str = "newton", max_iter: int | None = None) -> None:
        self.mu = mu
        self.solver = solver
        self.max_iter = max_iter

    def check(self, n_tasks: int) -> None:
        super().check(n_tasks)
        if not isinstance(self.solver, str) or self.solver not in STRUCTURE_SOLVERS:
            known = ", ".join(sorted(STRUCTURE_SOLVERS))
            raise ValueError(f"solver={self.solver!r} of Sparse is not known; choose one of {known}.")

    @property
    def threshold(self) -> float:
        return 1.0 - self.mu

    def norm(self, n_tasks: int) -> "EntryNorm":
        return EntryNorm(self.threshold, n_tasks)

    def value(self, A: Array) -> float:
        # The penalty in (SKMTL eq. 4), in this order, so that nothing cancels.
        diagonal = np.abs(np.diag(A)).sum()
        return float(self.mu * np.trace(A) + (1.0 - self.mu) * (diagonal + 2.0 * np.abs(np.tril(A, -1)).sum()))

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        with single_threaded(len(S)):
            return STRUCTURE_SOLVERS[self.solver](self, S, start, tol)


class EntryNorm:
    """rho times the sum of the sizes of all entries off the diagonal."""

    def __init__(self, rho: float, n_tasks: int) -> None:
        self.rho, self._n_tasks = rho, n_tasks

    @cached_property
    def _weight(self) -> Array:
        return self.rho * (1.0 - np.eye(self._n_tasks))

    def value(self, A: Array) -> float:
        return float(np.sum(self._weight * np.abs(A)))

    def dual_point(self, W: Array) -> Array:
        """W clipped: one on the diagonal, at most rho in size off it."""
        W = np.clip(symmetric_part(W), -self.rho, self.rho)
        np.fill_diagonal(W, 1.0)
        return W

    def piece(self, A: Array, gradient: Array) -> "_Orthant":
        return _Orthant(A, gradient, self._weight)


class _Orthant:
    """All entries keep their signs; those that are zero and want to grow have the sign of their growth."""

    def __init__(self, A: Array, gradient: Array, weight: Array) -> None:
        linear = gradient + weight * np.sign(A)
        self.residual = np.where(A != 0.0, linear, soft_threshold(gradient, weight))
        self._free = (A != 0.0) | (self.residual != 0.0)
        self._sign = np.where(A != 0.0, np.sign(A), -np.sign(self.residual))

    def project(self, D: Array) -> Array:
        return np.where(self._free, D, 0.0)

    def curved(self, H: Array, D: Array) -> Array:
        return H

    def preconditioner(self, P: Array, Q: Array, *, exact: bool = False) -> Callable[[Array], Array]:
        inverse = whole_inverse(P, Q) if self._free.mean() > DENSE_SHARE else None
        if inverse is not None:
            return lambda R: self.project(inverse(R))
        diagonal = hessian_diagonal(P, Q)
        reciprocal = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=self._free & (diagonal > TINY))
        return lambda R: reciprocal * R

    def land(self, trial: Array) -> Array:
        return np.where(trial * self._sign > 0.0, trial, 0.0)


def _screened(penalty: Sparse, S: Array, start: Array | None, tol: float) -> StructureStep:
    """Newton on the blocks into which the tasks fall, where there are many tasks."""
    if len(S) < WORTH_SCREENING or penalty.threshold == 0.0:
        return minimize_whole(penalty, S, start, tol)
    return minimize_in_blocks(S, penalty, partial(minimize_whole, penalty), start, tol)


def _by_primal_dual(penalty: Sparse, S: Array, start: Array | None, tol: float) -> StructureStep:
    # Its step is right for tasks of size about one. A power of two, which rounds nothing.
    unit = 2.0 ** np.round(np.log2(np.trace(S) / len(S)) / 2.0)
    S, start = S / unit**2, None if start is None else start / unit
    s, U = eigh(S)
    root = symmetric_part((U * positive_sqrt(s)) @ U.T)
    A, gap, _ = primal_dual(
        S,
        penalty.mu,
        start=start,
        certify=lambda A: step_gap(penalty, A, root, inverse_spd(A), S, tol),
        tol=tol,
        max_iter=penalty.max_iter or 30_000,
    )
    return StructureStep(unit * A, abs(gap))


STRUCTURE_SOLVERS = {"newton": _screened, "primal-dual": _by_primal_dual}
