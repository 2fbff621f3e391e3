"""Newton on the structure with f eliminated: the whole problem at once, for square loss."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from skmtl._linalg import TINY, Array, inverse_spd, largest_eigenvalue
from skmtl.objective import Eliminable, EliminatedFit, Problem, Proof
from skmtl.penalties._newton import GENTLE_RIDGE, STAGE_TOL, descend
from skmtl.penalties.base import ASK_EARLY, Certify, SmoothPoint

# Newton from a structure with a ridge, the last ridge or not: structure, gap and iterations.
Stage = Callable[[Array, float, bool], tuple[Array, float, int]]

# Iterations from a start that is near: with an exact second derivative they converge, with another they only help.
WARM_ITERATIONS, FEW_ITERATIONS = 25, 8
DIAGONAL_ROUNDS, DIAGONAL_TOL = 20, 0.03
# Errors of values that are iterated, relative to the part of them that the structure is learned from: at first, from a
# start that is near, and relative to what the last step gained. Newton's step is wrong by the root of what its values
# are wrong by.
FIRST_ERROR, NEAR_ERROR, GAIN_ERROR = 1e-2, 1e-5, 1e-3
# The bound is wrong by about a tenth of what dual coefficients are wrong by, relative to their size.
# A gap of this share of the tolerance needs no better ones.
CERTIFY_TOL, ENOUGH = 10.0, 0.1
# A start need not be more exact than this, and what leads to it less.
START_TOL, ROUGH_TOL = 1e-2, 1e-1
# Rounds of surrogates, and the ratio of structures to the next at which they end.
SURROGATE_ROUNDS, NEAR_ENOUGH = 5, 1.1
# Down to this ridge, relative to the mean of diag(B'KB), a start that is near needs no stages; where steps are dear,
# stages need not be exact, and their ridges are farther apart.
DIRECT_RIDGE, LOOSE_STAGE_TOL, DEAR_FACTOR = 1e-4, 1e-5, 10.0


class _Eliminated:
    """min_f of the objective / alpha, without R(A), seen from A = P^-1.

    With C'KC = Q its gradient is -Q - eps A^-2, and its Hessian at most that of the structure step, D -> P D Q + Q D P
    for Q + eps A^-2. Refitting f softens the first part; the share that is left is measured in the direction of A.
    """

    def __init__(self, problem: Problem, A: Array, P: Array, eps: float, tol: float) -> None:
        self.fit = cast(EliminatedFit, problem.fit(A, tol=tol))
        self.P, self._eps = P, eps
        supervised = cast(Eliminable, problem.supervised)
        self.dear = supervised.exact_curvature and not supervised.quick
        self.value = self.fit.value / problem.alpha + eps * float(np.trace(P))

    # What follows is needed only where a step is taken.

    @cached_property
    def _PP(self) -> Array:
        return self.P @ self.P

    @property
    def gradient(self) -> Array:
        return -self.fit.Q - self._eps * self._PP

    @property
    def Q(self) -> Array:
        return self.fit.stiffness * self.fit.Q + self._eps * self._PP

    def hessian(self, D: Array) -> Array:
        half = self._eps * (self.P @ D @ self._PP)
        return self.fit.hessian(D) + half + half.T


def solve_jointly(
    problem: Problem,
    *,
    start: Array | None,
    tol: float,
    max_iter: int,
    report: Callable[[Proof], None],
    persist: bool = True,
) -> tuple[Proof, int]:
    """Minimize the objective over A by active-set Newton; returns the proof and the iterations.

    Without ``persist`` it ends after a few iterations from a start that is near.
    """
    proof: Proof | None = None

    def certify(A: Array, point: SmoothPoint, value: float) -> float:
        nonlocal proof
        here = cast(_Eliminated, point)
        proof = problem.certify(A, here.fit)
        if ENOUGH * tol < proof.gap <= ASK_EARLY * tol:
            # Near the end, the bound feels errors of C that the value does not; and so does the next step.
            here.fit = cast(EliminatedFit, problem.fit(A, tol=CERTIFY_TOL * tol))
            proof = proof if here.fit is proof.fit else problem.certify(A, here.fit)
        report(proof)
        return proof.gap

    def stage(A: Array, eps: float, last: bool, budget: int = max_iter) -> tuple[Array, float, int]:
        first = NEAR_ERROR if A is start else FIRST_ERROR
        return _newton(problem, A, eps, certify if last else _accept, tol if last else stage_tol, budget, first)

    n_iter, quick = 0, cast(Eliminable, problem.supervised).quick
    stage_tol = STAGE_TOL if quick else LOOSE_STAGE_TOL
    if start is None and not quick:
        start = _near_start(problem)
    if start is not None:
        _, gap, n_iter = stage(start, problem.eps, True, min(WARM_ITERATIONS if persist else FEW_ITERATIONS, max_iter))
        if proof is not None and (gap <= tol or not persist):
            return proof, n_iter
    _, gap, further = _descend(problem, stage)
    assert proof is not None  # the last stage certifies
    if gap > tol:
        proof = problem.tighten(proof)
        report(proof)
    return proof, n_iter + further


def estimate_jointly(
    problem: Problem, *, start: Array | None, tol: float, max_iter: int, report: Callable[[Proof], None]
) -> tuple[Proof, int]:
    """The same to an accuracy that Newton's model of the objective predicts, and nothing proves."""
    fit: EliminatedFit | None = None

    def take(A: Array, point: SmoothPoint, value: float) -> float:
        nonlocal fit
        fit = cast(_Eliminated, point).fit
        return 0.0

    def stage(A: Array, eps: float, last: bool) -> tuple[Array, float, int]:
        return _newton(problem, A, eps, take, tol / ASK_EARLY, max_iter)

    if start is None and not cast(Eliminable, problem.supervised).quick:
        start = _near_start(problem)
    A, _, n_iter = _descend(problem, stage) if start is None else stage(start, problem.eps, True)
    assert fit is not None  # every stage ends so
    return problem.unproved(A, fit), n_iter


def _newton(
    problem: Problem,
    A: Array,
    eps: float,
    certify: Certify,
    tol: float,
    max_iter: int,
    error: float = FIRST_ERROR,
) -> tuple[Array, float, int]:
    """Newton from A with the ridge eps; ``error`` is that of the first value.

    It is relative to the part of the value that the structure is learned from. Later it is less than a step gains, for
    what is more exact than that is wasted.
    """
    last = np.inf

    def smooth(A: Array) -> _Eliminated | None:
        nonlocal error, last
        P = inverse_spd(A)
        if P is None:
            return None
        point = _Eliminated(problem, A, P, eps, np.sqrt(error))
        if last < np.inf:
            gain = abs(last - point.value) / max(float(np.sum(A * point.fit.Q)), TINY)
            error = max((CERTIFY_TOL * tol) ** 2, min(error, GAIN_ERROR * gain))
        last = point.value
        return point

    return problem.penalty.minimize_with(smooth, A, certify=certify, tol=tol, max_iter=max_iter)


def _report_nothing(proof: Proof) -> None:
    """For problems that only stand for another."""


def _accept(A: Array, point: SmoothPoint, value: float) -> float:
    """Where no proof is asked for, that there is little left to gain is enough."""
    return 0.0


def _descend(problem: Problem, stage: Stage) -> tuple[Array, float, int]:
    """The stages from a gentle ridge on: from a diagonal structure, or a step further where evaluations are dear."""
    start, size = _diagonal_start(problem)
    first = GENTLE_RIDGE * size
    if cast(Eliminable, problem.supervised).quick:
        return descend(stage, start, problem.eps, first)
    return descend(stage, _structure_step(problem, start, first), problem.eps, first, factor=DEAR_FACTOR)


def _structure_step(problem: Problem, A: Array, eps: float) -> Array:
    """The structure that suits the predictors of A, roughly, with this ridge."""
    S = problem.fit(A, tol=START_TOL).energy(A) + eps * np.eye(problem.n_tasks)
    return problem.penalty.minimize(S, tol=START_TOL).structure


def _near_start(problem: Problem) -> Array | None:
    """A structure near the solution, where evaluations are dear; None where it is to be reached in stages."""
    A = _nearby(problem)
    # Rounding can take a structure to the border of the cone, where Newton cannot begin.
    return None if A is None or inverse_spd(A) is None else A


def _nearby(problem: Problem) -> Array | None:
    """From a step in closed form that is near, or from the tasks apart, which are cheap, and one structure step."""
    surrogate = cast(Eliminable, problem.supervised).surrogate()
    if surrogate is not None:
        return _follow_surrogates(problem, _solve_nearby(problem, surrogate, None))
    diagonal, size = _diagonal_start(problem)
    if problem.eps < DIRECT_RIDGE * size:
        return None
    return _follow_surrogates(problem, _structure_step(problem, diagonal, problem.eps))


def _follow_surrogates(problem: Problem, A: Array) -> Array:
    """A few rounds of solving the problem with a quick step in place of its own that agrees with it at the last A."""
    for k in range(SURROGATE_ROUNDS):
        surrogate = cast(EliminatedFit, problem.fit(A, tol=START_TOL if k else ROUGH_TOL)).surrogate()
        if surrogate is None:
            break
        last, A = A, _solve_nearby(problem, surrogate, A)
        if largest_eigenvalue(A, last) * largest_eigenvalue(last, A) <= NEAR_ENOUGH:
            break
    return A


def _solve_nearby(problem: Problem, surrogate: Eliminable, start: Array | None) -> Array:
    """The structure that solves the problem with a quick step in place of its own, roughly."""
    nearby = replace(problem, supervised=surrogate)
    return estimate_jointly(nearby, start=start, tol=START_TOL, max_iter=20, report=_report_nothing)[0].structure


def _diagonal_start(problem: Problem) -> tuple[Array, float]:
    """Where the alternation among diagonal structures leads, and the largest mean of diag(B'KB) on the way."""
    supervised = cast(Eliminable, problem.supervised)
    supervised = supervised.surrogate() or supervised
    a, size = np.ones(problem.n_tasks), 0.0
    for _ in range(DIAGONAL_ROUNDS):
        energy = supervised.diagonal_energy(a)
        last, a = a, np.sqrt(energy + problem.eps)
        size = max(size, float(np.mean(energy)))
        if not supervised.quick and np.all(np.abs(a - last) <= DIAGONAL_TOL * a):
            break
    return np.diag(a), size
