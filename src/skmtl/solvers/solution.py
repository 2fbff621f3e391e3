"""What solving a problem returns: predictors, structure, and the proof of how good they are."""

from dataclasses import dataclass, replace
from math import ceil, isfinite, log10

import numpy as np

from skmtl._linalg import TINY, Array
from skmtl.objective import Proof

# Bounds of returned models are lowered by this share of the tolerance, for rounding on the way back.
OUTWARD = 5e-2
# How far the objective of the returned model may be from the one that was certified, relative to it.
ROUNDING = 1e-6


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
    stopped : bool
        Whether the user interrupted the work before the gap was below the tolerance.
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
    stopped: bool = False

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
        return replace(solution, status=status, stopped=True)

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
