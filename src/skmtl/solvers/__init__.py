"""Solvers: the rows in memory, the supervised step, the outer loops and their result."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skmtl._linalg import Array, single_threaded
from skmtl.losses import Loss
from skmtl.objective import Fit, Problem, Proof, Supervised
from skmtl.solvers.alternation import alternate
from skmtl.solvers.dual_ridge import DualRidge
from skmtl.solvers.joint import approximate_jointly
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.result import Progress, Solution
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.screened import solve_screened

# eps="auto" is this share of the mean squared norm of the independent tasks' predictors.
AUTO_EPS, AUTO_EPS_TOL = 1e-2, 1e-4
# Up to this many labels, and this share of the coordinates of all tasks, a matrix of labels by labels is factorised.
FEW_LABELS, FEW_PER_COORDINATE = 1500, 1.0 / 3.0

SOLVERS: dict[str, Callable[..., tuple[Proof, int]]] = {
    "newton": solve_screened,
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
    """Minimise the objective over the predictor and the structure.

    ``solver="auto"`` is the joint Newton where both the penalty and the loss allow it, else accelerated alternation.
    """
    if not certify:
        if problem.penalty.known:
            A = problem.penalty.structure(problem.n_tasks)
            fit = problem.fit(A, tol=0.1 * tol)
        else:
            A, fit = approximate(problem, solver=solver, start=start, accuracy=tol, max_iter=max_iter)
        return Solution(fit.coefficients(), fit.intercept, A, A, np.nan, -np.inf, np.inf, False, "", 0, {})
    run = SOLVERS[_choose_solver(problem, solver)]
    progress = Progress(callback)
    with single_threaded(problem.n_tasks):
        proof, n_iter = run(problem, start=start, tol=tol, max_iter=max_iter, report=progress)
    return Solution.from_proof(proof, tol=tol, n_iter=n_iter, max_iter=max_iter, history=progress.history())


def approximate(
    problem: Problem, *, solver: str = "auto", start: Array | None = None, accuracy: float, max_iter: int = 200
) -> tuple[Array, Fit]:
    """A structure and its predictor, good to about ``accuracy`` of the objective: enough to compare candidates by.

    Alternation proves that accuracy; the joint Newton takes its own word for it, for a proof costs as much as a step.
    """
    name = _choose_solver(problem, solver)
    with single_threaded(problem.n_tasks):
        if name == "newton":
            return approximate_jointly(problem, start=start, accuracy=accuracy, max_iter=max_iter)
        proof, _ = SOLVERS[name](problem, start=start, tol=accuracy, max_iter=max_iter, report=_ignore)
    return proof.structure, proof.fit


def _ignore(proof: Proof) -> None:
    pass


def _choose_solver(problem: Problem, solver: str) -> str:
    """The name of a solver that can solve the problem."""
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver={solver!r} is not known; choose one of auto, {', '.join(SOLVERS)}.")
    obstacles = []
    if not problem.penalty.joint:
        obstacles.append(f"the penalty {problem.penalty.name!r} cannot be minimised together with the predictors")
    if not hasattr(problem.supervised, "diagonal_energy"):
        obstacles.append("it needs square loss, and labels that are complete or few")
    if solver == "newton" and obstacles:
        raise ValueError(f'solver="newton" is not possible here: {" and ".join(obstacles)}; use solver="auto".')
    if solver == "auto":
        return "anderson" if obstacles else "newton"
    return solver


def auto_eps(supervised: Supervised) -> float:
    """The eps that suits the scale of the problem; 1e-2 where there is nothing to learn."""
    if hasattr(supervised, "diagonal_energy"):
        energy = supervised.diagonal_energy(np.ones(supervised.n_tasks))
    else:
        identity = np.eye(supervised.n_tasks)
        energy = np.diag(supervised.solve(identity, tol=AUTO_EPS_TOL).energy(identity))
    return AUTO_EPS * (float(np.mean(energy)) or 1.0)


def make_supervised(design: Any, labels: Any, loss: Loss, alpha: float, *, intercept: bool) -> Supervised:
    """The supervised step: closed form for square loss and labels that are complete or few, else Newton."""
    if labels.in_blocks:
        return design.supervised(alpha)
    if loss.quadratic and labels.complete():
        weight = labels.row_weight()
        targets = np.sqrt(weight)[:, None] * labels.y.reshape(len(weight), -1)
        return Ridge.from_targets(design.values, design.project(targets), targets, float(weight.sum()), alpha)
    few = min(FEW_LABELS, FEW_PER_COORDINATE * len(design.values) * labels.n_tasks)
    if loss.quadratic and np.count_nonzero(labels.weight) <= few:
        return DualRidge(design.rows(), labels, alpha, intercept=intercept)
    return NewtonStep(design.rows(), design.values, labels, loss, alpha, intercept=intercept)
