"""Algorithm 1 of the paper, a supervised step and a structure step in turn, plain or accelerated."""

from collections import deque
from collections.abc import Callable

import numpy as np

from skmtl._linalg import Array, inverse_spd, symmetric_part
from skmtl.objective import Fit, Problem, Proof

MEMORY = 6
# The certificate is asked for when a round gained less than this many times tol, and every few rounds.
NEAR_THE_END = 2.0
CHECK_EVERY = 10
FIRST_STEP_TOL = 1e-3
TINY = float(np.finfo(float).tiny)


def alternate(
    problem: Problem,
    *,
    start: Array | None,
    tol: float,
    max_iter: int,
    accelerate: bool,
    report: Callable[[Proof], None],
) -> tuple[Proof, int]:
    """Alternate the two steps until the relative gap is at most ``tol``; returns the proof and the rounds."""
    propose = _Anderson() if accelerate else _plain
    identity = np.eye(problem.n_tasks)
    A = problem.penalty.minimize(identity).structure if start is None else start
    # Steps more exact than the round that they are part of are wasted.
    step_tol = max(FIRST_STEP_TOL, 0.1 * tol)
    fit = problem.fit(A, tol=step_tol)
    value, gain, n_iter = problem.objective(A, fit), np.inf, 0
    for n_iter in range(1, max_iter + 1):
        near = gain <= NEAR_THE_END * tol * abs(value) or n_iter % CHECK_EVERY == 0
        if near and _prove(problem, A, fit, tol, report).gap <= tol:
            proof = _finish(problem, A, fit, tol, report)
            if proof.gap <= tol:
                return proof, n_iter
            A, fit, value = proof.structure, proof.fit, proof.objective
        S = fit.energy(A) + problem.eps * identity
        step = problem.penalty.minimize(S, start=A, tol=step_tol).structure
        for candidate in propose(A, step):
            fit = problem.fit(candidate, tol=step_tol)
            candidate_value = problem.objective(candidate, fit)
            if candidate_value < value:
                break
        A, value, gain = candidate, candidate_value, value - candidate_value
        step_tol = max(0.1 * tol, min(step_tol, 0.01 * gain / max(abs(value), TINY)))
    return _finish(problem, A, fit, tol, report), n_iter


def _finish(problem: Problem, A: Array, fit: Fit, tol: float, report: Callable[[Proof], None]) -> Proof:
    """One more structure step, because a mixture of structures has no exact zeros."""
    S = fit.energy(A) + problem.eps * np.eye(problem.n_tasks)
    A = problem.penalty.minimize(S, start=A, tol=0.1 * tol).structure
    return _prove(problem, A, problem.fit(A, tol=0.1 * tol), tol, report)


def _prove(problem: Problem, A: Array, fit: Fit, tol: float, report: Callable[[Proof], None]) -> Proof:
    """A certificate, searched for where the plain one does not reach ``tol``, and reported."""
    proof = problem.prove(A, fit)
    if proof.gap > tol:
        proof = problem.prove_better(proof)
    report(proof)
    return proof


def _plain(A: Array, step: Array) -> list[Array]:
    """The structure step as it is."""
    return [step]


class _Anderson:
    """Proposes the structure at which the last structure steps, extrapolated, would stand still."""

    def __init__(self) -> None:
        self._steps: deque[Array] = deque(maxlen=MEMORY)
        self._residuals: deque[Array] = deque(maxlen=MEMORY)

    def __call__(self, A: Array, step: Array) -> list[Array]:
        """Structures to try in turn; the last is the plain step, which cannot fail."""
        self._steps.append(step)
        self._residuals.append(step - A)
        if len(self._steps) < 2:
            return [step]
        R = np.array([(self._residuals[-1] - r).ravel() for r in list(self._residuals)[:-1]])
        G = np.array([(step - g).ravel() for g in list(self._steps)[:-1]])
        weights = np.linalg.lstsq(R.T, self._residuals[-1].ravel(), rcond=1e-10)[0]
        mixed = symmetric_part(step - (weights @ G).reshape(step.shape))
        return [step] if inverse_spd(mixed) is None else [mixed, step]
