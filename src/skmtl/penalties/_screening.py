"""Solve blocks of tasks apart where the optimum does not join them.

A structure made of blocks, each the best for its own tasks, is the best for all tasks exactly when no entry of the
dual matrix between two blocks exceeds the penalty's threshold. So blocks are guessed, solved, held against that rule
and merged where they break it. A guess that is too fine costs rounds; one that is too coarse costs time.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.csgraph import connected_components

from skmtl._linalg import Array, single_threaded

Tasks = NDArray[np.intp]

# Fewer tasks than this are solved together sooner than apart.
WORTH_SCREENING = 64
# Blocks are drafted along the strong links first, those above this power of the threshold: solved blocks explain many
# of the weaker links away, and are a good place to start from where they do not.
DRAFT_POWER, DRAFT_TOL = 0.5, 1e-3


class Block(Protocol):
    """Some tasks, and the best structure for them alone."""

    @property
    def tasks(self) -> Tasks: ...

    @property
    def structure(self) -> Array: ...

    @property
    def tol(self) -> float:
        """The relative gap to which it was to be solved."""


B = TypeVar("B", bound=Block)


class Separable(Protocol[B]):
    """A problem of many tasks, any of which can be solved without the others."""

    def alone(self, tasks: Tasks) -> list[B]:
        """Each of these tasks solved as a block of its own."""

    def solve(self, tasks: Tasks, start: Array | None, tol: float) -> B:
        """These tasks solved as one block."""

    def dual(self, blocks: Sequence[B]) -> Array:
        """The dual matrix, of shape (n_tasks, n_tasks), its rows and columns in the order of the blocks."""


def solve_in_blocks(
    problem: Separable[B], n_tasks: int, threshold: float, *, start: Array | None, tol: float
) -> list[B]:
    """Blocks between which no dual entry exceeds ``threshold``; the first guess are those of ``start``, if given."""
    parts = [np.array([t]) for t in range(n_tasks)] if start is None else components(start != 0.0)
    lone = [part for part in parts if len(part) == 1]
    blocks = problem.alone(np.concatenate(lone)) if lone else []
    if start is not None:
        blocks += _solve_each(problem, [(p, start[np.ix_(p, p)]) for p in parts if len(p) > 1], tol)
    blocks = _merge(problem, blocks, threshold**DRAFT_POWER, DRAFT_TOL, largest=n_tasks // 2)
    return _merge(problem, blocks, threshold, tol, largest=n_tasks)


def components(linked: NDArray[np.bool_]) -> list[Tasks]:
    """The connected components of a graph, from its adjacency matrix."""
    count, labels = connected_components(linked, directed=False)
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels, minlength=count))[:-1])


def assemble(blocks: Sequence[Block]) -> Array:
    """The structure of all tasks."""
    n_tasks = sum(len(block.tasks) for block in blocks)
    A = np.zeros((n_tasks, n_tasks))
    for block in blocks:
        A[np.ix_(block.tasks, block.tasks)] = block.structure
    return A


def _merge(problem: Separable[B], blocks: list[B], threshold: float, tol: float, *, largest: int) -> list[B]:
    """Join and solve what is linked above ``threshold`` until nothing is, or a block would exceed ``largest``."""
    while True:
        groups = _linked(problem, blocks, threshold)
        if max(sum(len(block.tasks) for block in group) for group in groups) > largest:
            return blocks
        unsolved = [group for group in groups if len(group) > 1 or group[0].tol > tol]
        if not unsolved:
            return blocks
        blocks = [group[0] for group in groups if len(group) == 1 and group[0].tol <= tol]
        blocks += _solve_each(problem, [_union(group) for group in unsolved], tol)


def _linked(problem: Separable[B], blocks: list[B], threshold: float) -> list[list[B]]:
    """Blocks grouped where a dual entry between them exceeds ``threshold`` in size."""
    if len(blocks) == 1:
        return [blocks]
    firsts = np.cumsum([0, *(len(block.tasks) for block in blocks[:-1])])
    W = problem.dual(blocks)
    np.abs(W, out=W)
    links = np.maximum.reduceat(np.maximum.reduceat(W, firsts, axis=0), firsts, axis=1)
    return [[blocks[i] for i in group] for group in components(links > threshold)]


def _union(group: list[B]) -> tuple[Tasks, Array | None]:
    """The tasks of several blocks, in order, and their structure; of lone tasks a solver knows a better start."""
    tasks = np.concatenate([block.tasks for block in group])
    order = np.argsort(tasks)
    if len(group) == len(tasks):
        return tasks[order], None
    return tasks[order], linalg.block_diag(*(block.structure for block in group))[np.ix_(order, order)]


def _solve_each(problem: Separable[B], parts: Sequence[tuple[Tasks, Array | None]], tol: float) -> list[B]:
    """The parts solved apart: one after the other, or as many at a time as the user tells joblib."""
    size = max((len(tasks) for tasks, _ in parts), default=0)
    with single_threaded(size):
        return list(Parallel(require="sharedmem")(delayed(problem.solve)(tasks, A, tol) for tasks, A in parts))
