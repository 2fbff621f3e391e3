"""Solve a problem by the solver that suits it, and what that tells along the way."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from skmtl._linalg import Array, single_threaded
from skmtl.objective import Eliminable, Problem, Proof, predictor_structure
from skmtl.penalties._screening import WORTH_SCREENING
from skmtl.solvers.alternation import alternate
from skmtl.solvers.joint import estimate_jointly, solve_jointly
from skmtl.solvers.screened import solve_screened
from skmtl.solvers.solution import Interrupted, Solution

# What rounding costs a bound is known to first order where it is below this share of the tolerance.
NEXT_TO_NOTHING = 1e-2
# What a solver aims at, relative to the tolerance: the rest is left for rounding.
ROOM = 0.9
# Up to this share of the tolerance may be lost to rounding, and the rest is solved for.
WITHIN_REACH = 0.7
SOLVERS: dict[str, Callable[..., tuple[Proof, int]]] = {
    "newton": solve_jointly,
    "anderson": partial(alternate, accelerate=True),
    "alternating": partial(alternate, accelerate=False),
}


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    callback: Callable[[dict[str, float]], None] | None = None,
    certify: bool = True,
) -> Solution:
    """Minimize the objective over the predictor and the structure.

    ``solver="auto"`` is the joint Newton where both the penalty and the loss allow it, else accelerated alternation.
    Without ``certify`` the answer is as good as ``tol`` asks in the solver's own judgement, which is enough to compare
    candidates by: a proof costs the joint Newton as much as a step. Alternation has no other judgement than a proof.
    """
    progress = Progress(callback)
    # No step can gain what rounding hides: it is accounted for at the end.
    whole, problem = problem, replace(problem, rounding=None)
    try:
        # Objectives may be so large that squares are beyond the range of numbers: then there is no proof.
        with single_threaded(problem.n_tasks), np.errstate(over="ignore", invalid="ignore"):
            proof, n_iter = _run(problem, solver, start, ROOM * tol, max_iter, progress, certify=certify)
            solved, gap = proof.gap <= tol, proof.gap
            proof = _account_for_rounding(whole, proof, tol) if certify else proof
            if solved and tol < proof.gap <= gap + WITHIN_REACH * tol and n_iter < max_iter:
                # Rounding takes a part of the tolerance, and the rest is within reach.
                start, less = proof.structure, ROOM * tol - (proof.gap - gap)
                further, rounds = _run(problem, solver, start, less, max_iter - n_iter, progress, certify=certify)
                proof, n_iter = _account_for_rounding(whole, further, tol), n_iter + rounds
    except KeyboardInterrupt:
        if progress.best is None:
            raise
        with np.errstate(over="ignore", invalid="ignore"):
            best = _account_for_rounding(whole, progress.best, tol)
        raise Interrupted(Solution.interrupted(best, tol=tol, history=progress.history())) from None
    if solved and proof.gap > tol:
        return Solution.lost_to_rounding(proof, tol=tol, n_iter=n_iter, history=progress.history())
    return Solution.from_proof(proof, tol=tol, n_iter=n_iter, max_iter=max_iter, history=progress.history())


def _run(
    problem: Problem,
    solver: str,
    start: Array | None,
    tol: float,
    max_iter: int,
    progress: "Progress",
    *,
    certify: bool,
) -> tuple[Proof, int]:
    """The proof and the iterations of the solver that suits the problem."""
    name = _choose_solver(problem, solver)
    if problem.penalty.known and not certify:
        A = problem.penalty.structure(problem.n_tasks)
        return problem.unproved(A, problem.fit(A, tol=0.1 * tol)), 1
    run = _joint_solver(problem, solver, certify=certify) if name == "newton" else SOLVERS[name]
    proof, n_iter = run(problem, start=start, tol=tol, max_iter=max_iter, report=progress)
    unsure = solver == "auto" and name == "newton" and certify and proof.gap > tol
    if unsure and not _better_than_nothing(problem, proof):
        # Rounding led Newton astray. Rounds of exact steps end where they begin to lose.
        return SOLVERS["anderson"](problem, start=None, tol=tol, max_iter=max_iter, report=progress)
    if unsure and n_iter < max_iter:
        # Where the curvature is not exact, Newton is quick at first, and alternation is sure in the end.
        further, rounds = SOLVERS["anderson"](
            problem, start=proof.structure, tol=tol, max_iter=max_iter - n_iter, report=progress
        )
        return min(proof, further, key=lambda one: one.gap), n_iter + rounds
    return proof, n_iter


def _better_than_nothing(problem: Problem, proof: Proof) -> bool:
    """Whether a structure is better than the one that knows nothing of the labels."""
    A = problem.penalty.minimize(np.eye(problem.n_tasks)).structure
    return proof.objective <= problem.objective(A, problem.fit(A))


def _account_for_rounding(problem: Problem, proof: Proof, tol: float) -> Proof:
    """The proof for all kernels that rounding cannot tell from the one at hand."""
    # To first order, which is all of it where it is next to nothing.
    seen = predictor_structure(proof.structure, problem.common)
    cost = problem.alpha * float(np.vdot(seen, problem.hidden(proof.fit)))
    if not problem.penalty.known and cost <= NEXT_TO_NOTHING * tol * abs(proof.objective):
        return replace(proof, lower_bound=proof.lower_bound - cost - proof.fit.dual_error)
    careful = problem.certify(proof.structure, proof.fit)
    careful = careful if careful.gap <= tol else problem.tighten(careful)
    return replace(careful, lower_bound=careful.lower_bound - proof.fit.dual_error)


def _joint_solver(problem: Problem, solver: str, *, certify: bool) -> Callable[..., tuple[Proof, int]]:
    """The joint Newton, on blocks of tasks where there are many; a component common to all tasks joins all blocks."""
    exact = cast(Eliminable, problem.supervised).exact_curvature
    many = problem.n_tasks >= WORTH_SCREENING and problem.penalty.threshold > 0.0 and not problem.common
    if many and exact:
        return partial(solve_screened, certify=certify)
    if not certify:
        return estimate_jointly
    return partial(solve_jointly, persist=exact or solver == "newton")


def _choose_solver(problem: Problem, solver: str) -> str:
    """The name of a solver that can solve the problem."""
    if not isinstance(solver, str) or solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver={solver!r} is not known; choose one of auto, {', '.join(SOLVERS)}.")
    obstacles = []
    if not problem.penalty.joint:
        obstacles.append(f"the penalty {problem.penalty.name!r} cannot be minimized together with the predictors")
    if not problem.supervised.eliminable:
        obstacles.append("it needs square loss")
    if solver == "newton" and obstacles:
        raise ValueError(f'solver="newton" is not possible here: {" and ".join(obstacles)}; use solver="auto".')
    if solver == "auto":
        return "anderson" if obstacles else "newton"
    return solver


class Progress:
    """Keeps the certificates of a run and passes them on to the user's callback."""

    def __init__(self, callback: Callable[[dict[str, float]], None] | None) -> None:
        self._callback = callback
        self._proofs: list[tuple[float, float]] = []
        self.best: Proof | None = None

    def __call__(self, proof: Proof) -> None:
        self._proofs.append((proof.objective, proof.gap))
        if np.isfinite(proof.gap) and (self.best is None or proof.gap < self.best.gap):
            self.best = proof
        if self._callback is not None:
            self._callback(
                {
                    "certificate": len(self._proofs),
                    "objective": proof.objective,
                    "lower_bound": proof.lower_bound,
                    "gap": proof.gap,
                }
            )

    def history(self) -> dict[str, Array]:
        rows = np.array(self._proofs, dtype=float).reshape(-1, 2)
        return {"objective": rows[:, 0], "gap": rows[:, 1]}
