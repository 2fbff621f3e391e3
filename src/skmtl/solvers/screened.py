"""The whole problem, block by block, where the tasks fall into blocks that the optimum does not join.

With A made of blocks the predictors of a block see its own tasks only, and the dual matrix between two blocks is
C_b'KC_c. While it stays in the box, W - C'KC in the lower bound is made of blocks too, so that objective and bound of
the whole problem are the sums of those of the blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from skmtl._linalg import Array, Mask, symmetric_part
from skmtl.objective import Eliminable, EliminatedFit, Problem, Proof
from skmtl.penalties._screening import Tasks, assemble, solve_in_blocks
from skmtl.solvers.joint import estimate_jointly, solve_jointly

Report = Callable[[Proof], None]
# Halvings of a decade that find the structure of a lone task: its error, squared, is that of the objective.
HALVINGS = 30
LONE_TOL = 1e-6


def solve_screened(
    problem: Problem, *, start: Array | None, tol: float, max_iter: int, report: Report, certify: bool = True
) -> tuple[Proof, int]:
    """Minimize the objective over A, many tasks in blocks; returns the proof and the iterations."""
    parts = _JointBlocks(problem, max_iter, report, certify=certify)
    blocks = solve_in_blocks(parts, problem.n_tasks, problem.penalty.threshold, start=start, tol=tol)
    n_iter = max(block.n_iter for block in blocks)
    if len(blocks) == 1:
        return blocks[0].proof, n_iter
    proof = Proof(
        assemble(blocks),
        _BlocksFit(blocks),
        sum(block.proof.objective for block in blocks),
        sum(block.proof.lower_bound for block in blocks),
    )
    report(proof)
    return proof, n_iter


@dataclass(frozen=True)
class _JointBlock:
    """Some tasks and their whole problem, solved."""

    tasks: Tasks
    proof: Proof
    tol: float
    n_iter: int

    @property
    def structure(self) -> Array:
        return self.proof.structure

    @cached_property
    def factor(self) -> Array:
        return cast(EliminatedFit, self.proof.fit).factor


class _JointBlocks:
    """The whole problem as one that may fall into blocks."""

    def __init__(self, problem: Problem, max_iter: int, report: Report, *, certify: bool = True) -> None:
        self._problem, self._max_iter, self._report, self._certify = problem, max_iter, report, certify

    def alone(self, tasks: Tasks) -> list[_JointBlock]:
        blocks = []
        for t, a in zip(tasks, _lone_structures(self._part(tasks)), strict=True):
            problem, A = self._part(np.array([t])), np.array([[a]])
            prove = problem.certify if self._certify else problem.unproved
            blocks.append(_JointBlock(np.array([t]), prove(A, problem.fit(A)), 0.0, 1))
        return blocks

    def solve(self, tasks: Tasks, start: Array | None, tol: float) -> _JointBlock:
        report = self._report if len(tasks) == self._problem.n_tasks else _report_nothing
        run = solve_jointly if self._certify else estimate_jointly
        proof, n_iter = run(self._part(tasks), start=start, tol=tol, max_iter=self._max_iter, report=report)
        return _JointBlock(tasks, proof, tol, n_iter)

    def dual(self, blocks: Sequence[_JointBlock]) -> Array:
        """C'KC."""
        factor = np.hstack([block.factor for block in blocks])
        return factor.T @ factor

    def _part(self, tasks: Tasks) -> Problem:
        return replace(self._problem, supervised=cast(Eliminable, self._problem.supervised).part(tasks))


class _BlocksFit:
    """The predictors of all tasks."""

    def __init__(self, blocks: Sequence[_JointBlock]) -> None:
        self._fits = [block.proof.fit for block in blocks]
        # Where the tasks of the caller are in the order of the blocks.
        self._place = np.argsort(np.concatenate([block.tasks for block in blocks]))
        self.value = sum(fit.value for fit in self._fits)
        self.intercept = np.concatenate([fit.intercept for fit in self._fits])[self._place]

    @property
    def factor(self) -> Array:
        return np.hstack([cast(EliminatedFit, fit).factor for fit in self._fits])[:, self._place]

    @property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.factor.T @ self.factor)

    @property
    def beyond(self) -> Array:
        # Blocks have products with one another, which no block knows.
        return sum(float(np.trace(fit.beyond)) for fit in self._fits) * np.eye(len(self._place))

    @property
    def dual_error(self) -> float:
        return sum(fit.dual_error for fit in self._fits)

    def dual(self, scale: float) -> float:
        return sum(fit.dual(scale) for fit in self._fits)

    def coefficients(self) -> Array:
        """Those of the blocks, side by side."""
        return np.hstack([fit.coefficients() for fit in self._fits])[:, self._place]

    def energy(self, A: Array) -> Array:
        own = self.coefficients()
        return symmetric_part(own.T @ own)


def _lone_structures(problem: Problem) -> Array:
    """The structure of each task for itself, of shape (n_tasks,): the root of a^2 = ||b||^2(a) + eps, which rises."""
    supervised = cast(Eliminable, problem.supervised)

    def short(log_a: Array) -> Mask:
        a = 10.0**log_a
        return a**2 < supervised.diagonal_energy(a, tol=LONE_TOL) + problem.eps

    # It is at least sqrt(eps); find its decade, then halve that.
    low = np.full(problem.n_tasks, 0.5 * np.log10(problem.eps))
    while (ahead := short(low + 1.0)).any():
        low += ahead
    step = 1.0
    for _ in range(HALVINGS):
        step *= 0.5
        low += step * short(low + step)
    return 10.0**low


def _report_nothing(proof: Proof) -> None:
    """For the blocks: what is proved of some of the tasks is no news about all."""
