"""Algorithm 1 of the paper, a supervised step and a structure step in turn, plain or accelerated."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skmtl._linalg import TINY, Array, beyond_range, inverse_spd, symmetric_part
from skmtl.objective import Fit, Problem, Proof

MEMORY = 6
# The first certificate is asked for when a round gains less than this many times tol, and one every few rounds.
NEAR_THE_END, CHECK_EVERY = 2.0, 10
# The search for the best scale, a dozen bounds that may each be a minimization, can close a gap of so many times tol.
WORTH_TIGHTENING = 1e4
FIRST_STEP_TOL = 1e-3
# Of a step that is the least of a quadratic function, the error that is allowed, to the next step's.
SQUARED_ERROR = 0.03
# A round may lose by what the last one was wrong by, but not more than this share, and not so many one after another.
LARGE_LOSS, MOST_LOSSES = 1e-2, 3
# Rounds are hopeless when this many gain less than this share of the gap, as far as it is not wider than so many times
# the value, and the gap at their pace, were it this many times quicker, would not close in the rounds that are left. A
# gap of this many times tol may close by chance, and gets so many of them.
WINDOW, CREEPING, WIDEST, QUICKER, NEARLY_CLOSED, CHANCES = 10, 1e-3, 5.0, 3.0, 10.0, 3
# A gap of so many times the value is that of a bound lost to rounding: nothing that is gained would close it.
LOST = 1e12


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
    prove = _Prover(problem, tol, report)
    A = problem.penalty.minimize(np.eye(problem.n_tasks)).structure if start is None else start
    # Steps more exact than the round that they are part of are wasted.
    finest = 0.1 * tol
    step_tol = max(FIRST_STEP_TOL, finest)
    fit = problem.fit(A, tol=_fit_tol(problem, step_tol))
    value, gain, n_iter, losses = problem.objective(A, fit), np.inf, 0, 0
    for n_iter in range(1, max_iter + 1):
        if prove.may_pass(n_iter, gain, value) and prove(A, _refit(problem, A, fit, tol)).gap <= tol:
            proof = _finish(problem, A, fit, tol, prove)
            if proof.gap <= tol:
                return proof, n_iter
            A, fit, value = proof.structure, proof.fit, proof.objective
        step = _structure_step(problem, A, fit, step_tol)
        for candidate in _worth_fitting(problem, propose(A, step)):
            candidate_fit = problem.fit(candidate, tol=_fit_tol(problem, step_tol))
            candidate_value = problem.objective(candidate, candidate_fit)
            if candidate_value < value:
                break
        if np.isfinite(value) and not np.isfinite(candidate_value):
            # Rounding made the best structure singular: the last one stays.
            break
        gain = value - candidate_value
        losses = losses + 1 if step_tol <= finest and not gain >= -tol * abs(value) else 0
        if losses > MOST_LOSSES or (losses and not gain >= -LARGE_LOSS * abs(value)):
            # Rounds of exact steps never lose: rounding has the last word, and further rounds would drift away.
            break
        A, fit, value = candidate, candidate_fit, candidate_value
        if prove.is_stuck(n_iter, value, max_iter):
            break
        step_tol = max(finest, min(step_tol, 0.01 * gain / max(abs(value), TINY)))
    return _finish(problem, A, fit, tol, prove), n_iter


def _structure_step(problem: Problem, A: Array, fit: Fit, tol: float) -> Array:
    """The best structure for a predictor."""
    with np.errstate(over="ignore", invalid="ignore"):
        S = fit.energy(A) + problem.eps * np.eye(problem.n_tasks)
    if not np.all(np.isfinite(S)):
        raise beyond_range()
    return problem.penalty.minimize(S, start=A, tol=tol).structure


def _worth_fitting(problem: Problem, candidates: list[Array]) -> list[Array]:
    """Candidates without mixtures that are no structures of the penalty, which no fit would mend; the last stays."""
    return [A for A in candidates[:-1] if np.isfinite(problem.structure_cost(A))] + candidates[-1:]


def _fit_tol(problem: Problem, step_tol: float) -> float:
    """How exact dual coefficients must be for values as exact as this.

    Values of smooth losses are wrong by the square of what dual coefficients are wrong by.
    """
    return SQUARED_ERROR * float(np.sqrt(step_tol)) if problem.supervised.eliminable else step_tol


def _refit(problem: Problem, A: Array, fit: Fit, tol: float) -> Fit:
    """A fit for a certificate, which feels errors of dual coefficients that values do not."""
    return problem.fit(A, tol=0.1 * tol) if problem.supervised.eliminable else fit


class _Prover:
    """Asks for certificates when they may pass, and keeps the best bound, which holds whatever the structure."""

    def __init__(self, problem: Problem, tol: float, report: Callable[[Proof], None]) -> None:
        self._problem, self._tol, self._report = problem, tol, report
        self._bound, self._worth_trying, self._gain = -np.inf, np.inf, np.inf
        self._last, self._chances = (np.inf, np.inf), CHANCES
        self._widest = WORTH_TIGHTENING * tol

    def may_pass(self, n_iter: int, gain: float, value: float) -> bool:
        """Whether the rounds have become so flat that the gap may be closed."""
        self._gain = gain
        flat = gain <= min(NEAR_THE_END * self._tol * abs(value), self._worth_trying)
        return flat or n_iter % CHECK_EVERY == 0

    def is_stuck(self, n_iter: int, value: float, max_iter: int) -> bool:
        """Whether the gap would not close in the rounds that are left; asked after every round."""
        if n_iter % WINDOW:
            return False
        before, gap_before = self._last
        # Of either sign, as in a proof: rounding may lift a bound above the value.
        gap = max(abs(value - self._bound) / max(abs(value), TINY), TINY)
        self._last = value, gap
        little = CREEPING * min(gap, WIDEST) * abs(value)
        lost = gap >= LOST and gap_before < np.inf
        if not lost and not before - value <= little:
            return False
        self._chances -= gap <= NEARLY_CLOSED * self._tol
        if gap <= NEARLY_CLOSED * self._tol and self._chances > 0 and (value, gap) != (before, gap_before):
            return False
        rate = np.log(gap_before / gap) if gap < gap_before < np.inf else 0.0
        return bool(QUICKER * rate * (max_iter - n_iter) / WINDOW < np.log(gap / self._tol))

    def __call__(self, A: Array, fit: Fit) -> Proof:
        """The certificate of A, its scale searched for where the plain one nearly reaches tol."""
        return self._prove(A, fit, self._widest)

    def last(self, A: Array, fit: Fit) -> Proof:
        """The same of a structure that is returned: the best there is, however far the plain one."""
        return self._prove(A, fit, np.inf)

    def _prove(self, A: Array, fit: Fit, widest: float) -> Proof:
        """A certificate, its scale searched for where the gap is above tol and at most ``widest``."""
        plain = self._problem.certify(A, fit)
        proof = self._keep_best(plain)
        if self._tol < proof.gap and plain.gap <= widest:
            proof = self._keep_best(self._problem.tighten(plain))
            # A search that has failed is not repeated before the gap is half as wide.
            self._widest = min(self._widest, 0.5 * plain.gap)
        # A failure is not repeated before the rounds are flatter by as much as the gap was too wide, within reason.
        self._worth_trying = self._gain * min(max(self._tol / max(proof.gap, TINY), 0.2), 0.7)
        self._report(proof)
        return proof

    def _keep_best(self, proof: Proof) -> Proof:
        self._bound = max(self._bound, proof.lower_bound)
        return replace(proof, lower_bound=self._bound)


def _finish(problem: Problem, A: Array, fit: Fit, tol: float, prove: _Prover) -> Proof:
    """One more structure step, because a mixture of structures has no exact zeros."""
    step = _structure_step(problem, A, fit, 0.1 * tol)
    proof = prove.last(step, problem.fit(step, tol=0.1 * tol))
    # An exact step never loses; where rounding made it worse, the structure stays as it was.
    before = problem.objective(A, fit)
    return proof if proof.objective - before <= tol * abs(before) else prove.last(A, fit)


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
