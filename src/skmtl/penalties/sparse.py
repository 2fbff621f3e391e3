"""Few relations between tasks, each strong: the penalty of sparse kernel multi-task learning."""

from functools import partial

import numpy as np

from skmtl._continuation import GENTLE_RIDGE, STAGE_TOL, descend
from skmtl._linalg import (
    Array,
    eigh,
    inverse_spd,
    largest_eigenvalue,
    positive_sqrt,
    single_threaded,
    symmetric_part,
    times_sparse,
)
from skmtl._validation import check_count, is_number
from skmtl.penalties._bound import best_mixture, clip_to_box
from skmtl.penalties._newton import active_newton
from skmtl.penalties._screening import WORTH_SCREENING
from skmtl.penalties._splitting import primal_dual
from skmtl.penalties._step_blocks import minimize_in_blocks
from skmtl.penalties.base import Certify, Smooth, SmoothPoint, StructurePenalty, StructureStep


class Sparse(StructurePenalty):
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

    References
    ----------
    Ciliberto, Rosasco, Villa. Learning multiple visual tasks while discovering their structure. CVPR 2015.
    """

    name = "sparse"
    tex = r"\mu \operatorname{tr}(A) + (1-\mu) \sum_{ts} |A_{ts}|"
    reference = "Ciliberto, Rosasco, Villa, 2015"
    joint = True
    path_parameter = "mu"

    def __init__(self, mu: float = 0.9, *, solver: str = "newton", max_iter: int | None = None) -> None:
        self.mu = mu
        self.solver = solver
        self.max_iter = max_iter

    def check(self, n_tasks: int) -> None:
        if not (is_number(self.mu) and 0.0 <= self.mu <= 1.0):
            raise ValueError(f"mu={self.mu!r} must lie between 0 (no relations) and 1 (all relations).")
        if self.solver not in STRUCTURE_SOLVERS:
            known = ", ".join(sorted(STRUCTURE_SOLVERS))
            raise ValueError(f"solver={self.solver!r} of Sparse is not known; choose one of {known}.")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    @property
    def threshold(self) -> float:
        return 1.0 - self.mu

    def value(self, A: Array) -> float:
        diagonal = np.abs(np.diag(A)).sum()
        return float(self.mu * np.trace(A) + (1.0 - self.mu) * (diagonal + 2.0 * np.abs(np.tril(A, -1)).sum()))

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        with single_threaded(len(S)):
            return STRUCTURE_SOLVERS[self.solver](self, S, start, tol)

    def minimize_with(
        self, smooth: Smooth, start: Array, *, certify: Certify, tol: float, max_iter: int
    ) -> tuple[Array, float, int]:
        return active_newton(smooth, start, self.threshold, certify=certify, tol=tol, max_iter=max_iter)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # For any W in the box with W >= scale^2 Q the minimum is at least 2 sqrt(eps) tr((W - scale^2 Q)^{1/2}),
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
        """A point of the box near eps A^-2 + Q, which is the best one at the optimum."""
        P = inverse_spd(structure)
        return None if P is None else clip_to_box(eps * (P @ P) + Q, self.threshold)

    def _step_gap(self, A: Array, root: Array, P: Array | None, S: Array, tol: float) -> float:
        """Relative gap of the structure step, from its dual 2 tr((S^{1/2} W S^{1/2})^{1/2}); root = S^{1/2}.

        A gap of ``tol`` is good enough.
        """
        if P is None:
            return np.inf
        cost = float(np.sum(P * S)) + self.value(A)
        W = clip_to_box(P @ S @ P, self.threshold)
        return (cost - best_mixture(root @ W @ root, S, enough=(1.0 - tol) * cost)[0]) / cost


class _TraceInverse:
    """tr(A^-1 S) seen from A = P^-1."""

    def __init__(self, P: Array, S: Array) -> None:
        self.P = P
        self.Q = symmetric_part(P @ S @ P)
        self.value = float(np.sum(P * S))
        self.gradient = -self.Q

    def hessian(self, D: Array) -> Array:
        half = times_sparse(self.P, D) @ self.Q
        return half + half.T


def _by_newton(penalty: Sparse, S: Array, start: Array | None, tol: float) -> StructureStep:
    """Newton from ``start`` when given; else, or when that fails, from a diagonal and through a falling ridge."""
    s, U = eigh(S)
    identity = np.eye(len(S))
    max_iter = penalty.max_iter or 100

    def stage(A: Array, ridge: float, last: bool) -> tuple[Array, float, int]:
        values = np.maximum(s, 0.0) if last else s + (ridge - s[0])
        target = S if last else S + (ridge - s[0]) * identity
        root = symmetric_part((U * np.sqrt(values)) @ U.T)

        def smooth(A: Array) -> _TraceInverse | None:
            P = inverse_spd(A)
            return None if P is None else _TraceInverse(P, target)

        def certify(A: Array, point: SmoothPoint, value: float) -> float:
            return penalty._step_gap(A, root, point.P, target, tol) if last else 0.0

        stage_tol = tol if last else STAGE_TOL
        return penalty.minimize_with(smooth, A, certify=certify, tol=stage_tol, max_iter=max_iter)

    if start is not None and inverse_spd(start) is not None:
        A, gap, _ = stage(start, s[0], True)
        if gap <= tol:
            return StructureStep(A, gap)
    if penalty.mu == 1.0:
        return StructureStep(symmetric_part((U * positive_sqrt(s)) @ U.T), 0.0)
    first = GENTLE_RIDGE * float(np.mean(np.diag(S)))
    diagonal = np.diag(np.sqrt(np.diag(S)))
    A, gap, _ = descend(stage, diagonal, max(float(s[0]), 1e-12 * float(s[-1])), first)
    return StructureStep(A, gap)


def _screened(penalty: Sparse, S: Array, start: Array | None, tol: float) -> StructureStep:
    """Newton on the blocks into which the tasks fall, where there are many tasks."""
    if len(S) < WORTH_SCREENING or penalty.threshold == 0.0:
        return _by_newton(penalty, S, start, tol)
    return minimize_in_blocks(S, penalty, partial(_by_newton, penalty), start, tol)


def _by_primal_dual(penalty: Sparse, S: Array, start: Array | None, tol: float) -> StructureStep:
    s, U = eigh(S)
    root = symmetric_part((U * positive_sqrt(s)) @ U.T)
    A, gap, _ = primal_dual(
        S,
        penalty.mu,
        start=start,
        certify=lambda A: penalty._step_gap(A, root, inverse_spd(A), S, tol),
        tol=tol,
        max_iter=penalty.max_iter or 30_000,
    )
    return StructureStep(A, gap)


STRUCTURE_SOLVERS = {"newton": _screened, "primal-dual": _by_primal_dual}
