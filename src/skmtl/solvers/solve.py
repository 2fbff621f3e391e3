"""Solve a problem by the solver that suits it; what it returns, and what it tells along the way."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, isfinite, log10
from typing import cast

import numpy as np

from skmtl._linalg import TINY, Array, single_threaded
from skmtl.objective import Eliminable, Problem, Proof, predictor_structure
from skmtl.penalties._screening import WORTH_SCREENING
from skmtl.solvers.alternation import alternate
from skmtl.solvers.joint import estimate_jointly, solve_jointly
from skmtl.solvers.screened import solve_screened

# What rounding costs a bound is known to first order where it is below this share of the tolerance.
NEXT_TO_NOTHING = 1e-2
# What a solver aims at, relative to the tolerance: the rest is left for rounding.
ROOM = 0.9
# Up to this share of the tolerance may be lost to rounding, and the rest is solved for.
WITHIN_REACH = 0.7
# Bounds of returned models are lowered by this share of the tolerance, for rounding on the way back.
OUTWARD = 5e-2
# How far the objective of the returned model may be from the one that was certified, relative to it.
ROUNDING = 1e-6
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
) -> "Solution":
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


@dataclass(frozen=True)
class Solution:
    """A predictor, the structure of its tasks, and the proof of how good both are.

    Attributes
    ----------
    coef : ndarray of shape (r, n_tasks)
        Coefficients in the orthonormal basis of the design; of an estimator, those on its feature map.
    intercept : ndarray of shape (n_tasks,)
        The constant of each task.
    structure : ndarray of shape (n_tasks, n_tasks)
        How the tasks are related, A.
    energy : ndarray of shape (n_tasks, n_tasks)
        Inner products of the tasks' predictors, without the part common to all.
    objective, lower_bound : float
        The global minimum lies between the two.
    gap : float
        Their difference relative to the objective.
    converged : bool
        Whether the gap is proved to be at most the tolerance.
    status : str
        What happened, as a sentence.
    n_iter : int
        Rounds of the outer loop.
    history : dict of str to ndarray
        ``objective`` and ``gap`` as they were certified along the way.
    lost : bool
        Whether it is rounding, and not the solver, that keeps the gap above the tolerance.
    """

    coef: Array
    intercept: Array
    structure: Array
    energy: Array
    objective: float
    lower_bound: float
    gap: float
    converged: bool
    status: str
    n_iter: int
    history: dict[str, Array]
    lost: bool = False

    @classmethod
    def lost_to_rounding(cls, proof: Proof, *, tol: float, n_iter: int, history: dict[str, Array]) -> "Solution":
        """The solution of a solver that is finished, where rounding hides more of the kernel than alpha forgives."""
        solution = cls.from_proof(proof, tol=tol, n_iter=n_iter, max_iter=n_iter + 1, history=history)
        status = (
            f"Solved after {_rounds(n_iter)}, but directions of the kernel that could lower the objective by up to "
            f"{min(proof.gap, 1.0):.1e} of its value are lost to rounding."
        )
        return replace(solution, status=status, lost=True)

    @classmethod
    def from_proof(
        cls, proof: Proof, *, tol: float, n_iter: int, max_iter: int, history: dict[str, Array]
    ) -> "Solution":
        return cls(
            coef=proof.fit.coefficients(),
            intercept=proof.fit.intercept,
            structure=proof.structure,
            energy=proof.fit.energy(proof.structure),
            objective=proof.objective,
            lower_bound=_outwards(proof.objective, proof.lower_bound),
            gap=proof.gap,
            converged=proof.gap <= tol,
            status=_describe(proof.gap, tol, n_iter, max_iter),
            n_iter=n_iter,
            history=history,
        )

    def with_task_apart(self, share: float, loss: float) -> "Solution":
        """The same where the objective is ``share`` times this one plus the ``loss`` of tasks that were set apart."""
        objective, bound = (share * value + loss for value in (self.objective, self.lower_bound))
        track = self.history["objective"]
        whole = share * track + loss
        history = {"objective": whole, "gap": self.history["gap"] * share * np.abs(track) / np.abs(whole)}
        gap = self.gap * share * abs(self.objective) / abs(objective)
        return replace(self, objective=objective, lower_bound=bound, gap=gap, history=history)

    def returned(self, objective: float, tol: float, rounding: float = 0.0) -> "Solution":
        """The same of the model that is returned, whose objective was recomputed and is known up to ``rounding``."""
        bound, margin = _outwards(objective, self.lower_bound) - rounding, OUTWARD * tol * abs(objective)
        # Kernels and sums of the returned model have fewer digits than the solver's: a part of tol is theirs.
        if self.lost or objective - bound > tol * abs(objective):
            # With nothing to certify, a bound may be as careful as the two objectives are apart.
            bound -= 2.0 * abs(objective - self.objective)
        elif objective - bound <= tol * abs(objective) - margin:
            bound -= margin
        gap = (objective - bound) / max(abs(objective), TINY)
        same = replace(self, objective=objective, lower_bound=bound, gap=gap)
        if self.converged and gap <= tol:
            return replace(same, status=_describe(gap, tol, self.n_iter, self.n_iter))
        if self.lost or (not self.converged and (gap <= tol or self.agrees(objective, tol))):
            return same
        away = (abs(objective - self.objective) + rounding) / max(abs(objective), TINY)
        status = (
            f"The certificate is not of this model: its objective of {objective:.3g} is up to {away:.1e} (relative) "
            "away from that of the certified solution. Digits were lost to rounding on the way back from the solver."
        )
        return replace(same, converged=False, status=status, lost=True)

    def agrees(self, objective: float, tol: float) -> bool:
        """Whether an objective is this one, to rounding."""
        return abs(objective - self.objective) <= max(ROUNDING, tol) * abs(self.objective)

    @classmethod
    def interrupted(cls, proof: Proof, *, tol: float, history: dict[str, Array]) -> "Solution":
        """The best that was proved before the user interrupted the work."""
        n_proofs = len(history["gap"])
        solution = cls.from_proof(proof, tol=tol, n_iter=n_proofs, max_iter=n_proofs, history=history)
        if solution.converged:
            return solution
        status = f"Interrupted: the objective is proved to be within {proof.gap:.1e} (relative) of the global optimum."
        return replace(solution, status=status)

    @property
    def certificate(self) -> str:
        """What the certificate proves, in one sentence."""
        if not isfinite(self.gap):
            return "Nothing is proved about this fit."
        # Rounded up to a power of ten, so that the sentence stays true.
        bound = 10.0 ** ceil(log10(max(self.gap, 1e-15)))
        return (
            f"No other predictors or task graph can lower the training objective by more than {bound:.0e} of its value."
        )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the best solution that was certified before it came.

    Who wants that solution takes it; for all others it is Ctrl-C as ever.
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution


def _outwards(objective: float, bound: float) -> float:
    """A bound that is below the objective; one above it is as wrong as it shows."""
    return objective - abs(objective - bound) if np.isfinite(objective) else min(bound, objective)


def _describe(gap: float, tol: float, n_iter: int, max_iter: int) -> str:
    rounds = _rounds(n_iter)
    if gap == np.inf:
        return f"Ended after {rounds} without a certificate: nothing is proved, and tol={tol:.1e} was the aim."
    if gap <= tol:
        return f"Certified after {rounds}: the objective is within {gap:.1e} (relative) of the global optimum."
    why = "the limit" if n_iter >= max_iter else "no further progress"
    return (
        f"Stopped after {rounds} ({why}): the objective is proved to be within {gap:.1e} (relative) of the global "
        f"optimum, but not within tol={tol:.1e}."
    )


def _rounds(n_iter: int) -> str:
    return f"{n_iter} iteration{'s' if n_iter != 1 else ''}"


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
