"""What a solver returns, and what it tells along the way."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isfinite, log10

import numpy as np

from skmtl._linalg import Array
from skmtl.objective import Proof


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
        Whether the gap is at most the tolerance.
    status : str
        What happened, as a sentence.
    n_iter : int
        Rounds of the outer loop.
    history : dict of str to ndarray
        ``objective`` and ``gap`` as they were certified along the way.
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
            lower_bound=proof.lower_bound,
            gap=proof.gap,
            converged=proof.gap <= tol,
            status=_describe(proof.gap, tol, n_iter, max_iter),
            n_iter=n_iter,
            history=history,
        )

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


def _describe(gap: float, tol: float, n_iter: int, max_iter: int) -> str:
    rounds = f"{n_iter} iteration{'s' if n_iter != 1 else ''}"
    if gap <= tol:
        return f"Certified after {rounds}: the objective is within {gap:.1e} (relative) of the global optimum."
    why = "the limit" if n_iter >= max_iter else "no further progress"
    return (
        f"Stopped after {rounds} ({why}): the objective is proved to be within {gap:.1e} (relative) of the global "
        f"optimum, but not within tol={tol:.1e}."
    )


class Progress:
    """Keeps the certificates of a run and passes them on to the user's callback."""

    def __init__(self, callback: Callable[[dict[str, float]], None] | None) -> None:
        self._callback = callback
        self._proofs: list[tuple[float, float]] = []

    def __call__(self, proof: Proof) -> None:
        self._proofs.append((proof.objective, proof.gap))
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
