"""The structure step of a penalty that is the trace and a norm of the relations, by Newton, whole or block by block.

The step is min over A of tr(A^-1 S) + R(A) (SKMTL eq. 7). Its dual is max over dual points W of
2 tr((S^{1/2} W S^{1/2})^{1/2}), and W = A^-1 S A^-1 is the best one at the optimum.

For any N the matrix W = N S N is positive semidefinite and 2 tr(N S) is a lower bound on tr(A^-1 S) + tr(A W) over A
(it is 2 tr((S^{1/2} W S^{1/2})^{1/2}) when N >= 0). With N block-diagonal the bound is the sum of those of the blocks,
and it holds for the whole step when W is a dual point: within the blocks, which each block sees to, and between them,
which is the rule that keeps them apart.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from skmtl._linalg import Array, eigh, inverse_spd, positive_sqrt, symmetric_part, times_sparse
from skmtl.penalties._newton import GENTLE_RIDGE, STAGE_TOL, RelationNorm, best_mixture, descend
from skmtl.penalties._screening import Tasks, assemble, solve_in_blocks
from skmtl.penalties.base import Certify, Smooth, SmoothPoint, StructureStep

# The least eigenvalue of S, relative to the largest, that stages lead to and exact directions are taken at; those end
# within so many iterations, or nowhere.
SINGULAR, EXACT_ITERATIONS = 1e-12, 20

# The structure step of one block, from its S, perhaps a structure to start from, and the tolerance.
SolveOne = Callable[[Array, Array | None, float], StructureStep]


class NormPenalty(Protocol):
    """What the structure step asks of its penalty."""

    mu: float
    max_iter: int | None
    # Up to this many Newton's equations can be solved exactly.
    few_tasks: int

    @property
    def threshold(self) -> float: ...

    def value(self, A: Array) -> float: ...

    def norm(self, n_tasks: int) -> RelationNorm: ...

    def minimize_with(
        self, smooth: Smooth, start: Array, *, certify: Certify, tol: float, max_iter: int, exact: bool = False
    ) -> tuple[Array, float, int]: ...


class _TraceInverse:
    """tr(A^-1 S) seen from A = P^-1."""

    dear = False

    def __init__(self, P: Array, S: Array) -> None:
        self.P = P
        self.Q = symmetric_part(P @ S @ P)
        self.value = float(np.sum(P * S))
        self.gradient = -self.Q

    def hessian(self, D: Array) -> Array:
        half = times_sparse(self.P, D) @ self.Q
        return half + half.T


def step_gap(penalty: NormPenalty, A: Array, root: Array, P: Array | None, S: Array, tol: float) -> float:
    """Relative gap of the structure step, from its dual 2 tr((S^{1/2} W S^{1/2})^{1/2}); root = S^{1/2}.

    ``P`` is the inverse of A, None where there is none. A gap of ``tol`` is good enough. Below zero it is rounding,
    which no further iteration mends: loops end there, and steps say how large it is.
    """
    if P is None:
        return np.inf
    cost = float(np.sum(P * S)) + penalty.value(A)
    W = penalty.norm(len(A)).dual_point(P @ S @ P)
    return (cost - best_mixture(root @ W @ root, S, enough=(1.0 - tol) * cost)[0]) / cost


def minimize_whole(penalty: NormPenalty, S: Array, start: Array | None, tol: float) -> StructureStep:
    """Newton from ``start`` when given; else, or when that fails, from a diagonal and through a falling ridge."""
    s, U = eigh(S)
    identity = np.eye(len(S))
    max_iter = penalty.max_iter or 100

    def stage(
        A: Array, ridge: float, last: bool, exact: bool = False, max_iter: int = max_iter
    ) -> tuple[Array, float, int]:
        values = np.maximum(s, 0.0) if last else s + (ridge - s[0])
        target = S if last else S + (ridge - s[0]) * identity
        root = symmetric_part((U * np.sqrt(values)) @ U.T)

        def smooth(A: Array) -> _TraceInverse | None:
            P = inverse_spd(A)
            return None if P is None else _TraceInverse(P, target)

        def certify(A: Array, point: SmoothPoint, value: float) -> float:
            return step_gap(penalty, A, root, point.P, target, tol) if last else 0.0

        stage_tol = tol if last else STAGE_TOL
        return penalty.minimize_with(smooth, A, certify=certify, tol=stage_tol, max_iter=max_iter, exact=exact)

    few = len(S) <= penalty.few_tasks
    if start is not None and inverse_spd(start) is not None and not (few and s[0] <= SINGULAR * s[-1]):
        # Exact directions lead to the end in few steps where the start is near, and astray where it is not, or where S
        # is nearly singular: stages are quicker there.
        A, gap, _ = stage(start, s[0], True, few, min(max_iter, EXACT_ITERATIONS) if few else max_iter)
        if gap <= tol:
            return StructureStep(A, abs(gap))
    if penalty.mu == 1.0:
        return StructureStep(symmetric_part((U * positive_sqrt(s)) @ U.T), 0.0)
    first = GENTLE_RIDGE * float(np.mean(np.diag(S)))
    diagonal = np.diag(np.sqrt(np.diag(S)))
    A, gap, _ = descend(stage, diagonal, max(float(s[0]), SINGULAR * float(s[-1])), first)
    return StructureStep(A, abs(gap))


class _StepBlock:
    """The structure step for some tasks, solved."""

    def __init__(self, tasks: Tasks, S: Array, penalty: NormPenalty, step: StructureStep, tol: float) -> None:
        self.tasks, self.structure, self.gap, self.tol = tasks, step.structure, step.gap, tol
        self._S, self._penalty = S, penalty

    @cached_property
    def cost(self) -> float:
        """tr(A^-1 S) + R(A)."""
        P = inverse_spd(self.structure)
        return np.inf if P is None else float(np.sum(P * self._S)) + self._penalty.value(self.structure)

    @cached_property
    def factor(self) -> Array:
        """N with N S N in the box and the largest 2 tr(N S) found; A^-1 at the optimum."""
        if len(self._S) == 1:
            return 1.0 / np.sqrt(self._S)
        s, U = eigh(self._S)
        s = np.maximum(s, 1e-14 * s[-1])
        root, inverse = (U * np.sqrt(s)) @ U.T, (U / np.sqrt(s)) @ U.T
        P = inverse_spd(self.structure)
        W = np.eye(len(s)) if P is None else self._penalty.norm(len(s)).dual_point(P @ self._S @ P)
        M = symmetric_part(root @ W @ root)
        theta = best_mixture(M, self._S, enough=(1.0 - self.tol) * self.cost)[1]
        m, V = eigh((1.0 - theta) * M + theta * self._S)
        # N S N = W.
        N = symmetric_part(inverse @ (V * positive_sqrt(m)) @ V.T @ inverse)
        # As large as the product may be where rounding made it small: digits are lost as S is nearly singular.
        W = np.abs(N @ self._S @ N) + np.finfo(float).eps * (np.abs(N) @ np.abs(self._S) @ np.abs(N))
        diagonal = float(np.diag(W).max())
        np.fill_diagonal(W, 0.0)
        # Rounding may lead out of the box, and the proof must not.
        return N / np.sqrt(max(1.0, diagonal, float(W.max()) / self._penalty.threshold))

    @property
    def bound(self) -> float:
        """No structure of these tasks costs less."""
        return 2.0 * float(np.sum(self.factor * self._S))


class _StepBlocks:
    """The structure step as a problem that may fall into blocks."""

    def __init__(self, S: Array, penalty: NormPenalty, solve_one: SolveOne) -> None:
        self._S, self._penalty, self._solve_one = S, penalty, solve_one

    def alone(self, tasks: Tasks) -> list[_StepBlock]:
        return [self._block(np.array([t]), StructureStep(np.sqrt(self._S[t : t + 1, t : t + 1]), 0.0)) for t in tasks]

    def solve(self, tasks: Tasks, start: Array | None, tol: float) -> _StepBlock:
        return self._block(tasks, self._solve_one(self._part(tasks), start, tol), tol)

    def dual(self, blocks: Sequence[_StepBlock]) -> Array:
        """N S N for the block-diagonal N."""
        W = self._part(np.concatenate([block.tasks for block in blocks]))
        first = 0
        for block in blocks:
            own = slice(first, first := first + len(block.tasks))
            W[:, own] = W[:, own] @ block.factor
            W[own] = block.factor @ W[own]
        return W

    def _part(self, tasks: Tasks) -> Array:
        return self._S[np.ix_(tasks, tasks)]

    def _block(self, tasks: Tasks, step: StructureStep, tol: float = 0.0) -> _StepBlock:
        return _StepBlock(tasks, self._part(tasks), self._penalty, step, tol)


def minimize_in_blocks(
    S: Array, penalty: NormPenalty, solve_one: SolveOne, start: Array | None, tol: float
) -> StructureStep:
    """The structure step through its blocks."""
    problem = _StepBlocks(S, penalty, solve_one)
    blocks = solve_in_blocks(problem, len(S), penalty.threshold, start=start, tol=tol)
    A = assemble(blocks)
    if len(blocks) == 1:
        return StructureStep(A, blocks[0].gap)
    cost = sum(block.cost for block in blocks)
    return StructureStep(A, abs(cost - sum(block.bound for block in blocks)) / cost)
