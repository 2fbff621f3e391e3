r"""The objective and its certificate.

.. math::

    P(f, A) = \frac{1}{n} \sum_{it} w_{it} V(y_{it}, f_t(x_i))
              + \alpha \bigl( \lVert f \rVert_A^2 + \epsilon \operatorname{tr}(A^{-1}) + R(A) \bigr)

with :math:`n = \sum w / T`. A component common to all tasks replaces A by :math:`A + c\,11'` in the predictor,
and only there. For any dual coefficients C with :math:`Q = C'KC` and any s,

.. math::

    P \ge -\frac{1}{n} \sum_{it} w_{it} V^*(y_{it}, -2 n \alpha s c_{it} / w_{it})
          + \alpha \Bigl( \min_A \{ \epsilon \operatorname{tr}(A^{-1}) + R(A) - s^2 \operatorname{tr}(A Q) \}
          - s^2 c\,1'Q1 \Bigr).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from skmtl._linalg import TINY, Array, eigh, inverse_spd, without_rounding
from skmtl.penalties.base import StructurePenalty

# Candidates for one minus the scale of the dual coefficients.
SHORTFALLS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# How long the best one is sought between two of them.
REFINEMENT = {"maxiter": 6, "xatol": 1e-2}


class Fit(Protocol):
    """The best f for one structure, or one near it."""

    @property
    def value(self) -> float:
        """(1/n) sum w V + alpha ||f||^2, in the norm of the structure it was solved for."""

    @property
    def intercept(self) -> Array:
        """The constant of each task, in units of the targets the step was given, of shape (T,)."""

    @property
    def factor(self) -> Array:
        """A matrix of shape (r, T) whose columns have the inner products Q, in the basis of the design."""

    @property
    def Q(self) -> Array:
        """C'KC, of shape (T, T)."""

    @property
    def beyond(self) -> Array:
        """C'C of the part of C outside the range of the kernel, or more, of shape (T, T); of weighted rows."""

    @property
    def dual_error(self) -> float:
        """What rounding may add to ``dual`` where it is a difference of large numbers."""

    def energy(self, A: Array) -> Array:
        """Inner products of the tasks' own parts, without the common one, of shape (T, T): B'KB (SKMTL eq. 6)."""

    def dual(self, scale: float) -> float:
        """-(1/n) sum w V*(y, -2 n alpha scale c / w); -inf outside the domain of V*."""

    def coefficients(self) -> Array:
        """Coefficients in the orthonormal basis of the design, of shape (r, T)."""


class Supervised(Protocol):
    """The supervised step: the best f for a given structure."""

    @property
    def alpha(self) -> float: ...

    @property
    def n_tasks(self) -> int: ...

    def with_alpha(self, alpha: float) -> "Supervised":
        """The same rows and labels at another alpha."""

    @property
    def eliminable(self) -> bool:
        """Whether its fits are ``EliminatedFit``, so that f can be eliminated and the joint Newton is possible."""

    def solve(self, A: Array, *, tol: float = 0.0) -> Fit:
        """Minimize (1/n) sum w V + alpha ||f||_A^2 over f (SKMTL eq. 1), and over the intercept where there is one."""

    def diagonal_energy(self, a: Array, *, tol: float = 0.0) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (T,)."""


class EliminatedFit(Fit, Protocol):
    """A fit that knows how its value curves with the structure: what the joint solver needs."""

    @property
    def stiffness(self) -> float:
        """The share of the curvature that is left when f is refitted, in the direction of the structure."""

    def hessian(self, D: Array) -> Array:
        """Second derivative of ``value`` / alpha in the direction D of the structure."""

    def surrogate(self) -> "Eliminable | None":
        """A quick step with the same solution for this structure; None where it would be far for others."""


class Eliminable(Supervised, Protocol):
    """A supervised step that is ``eliminable``: what the joint solver needs."""

    @property
    def quick(self) -> bool:
        """Whether a solution costs little more than the structure's own algebra, so that any start will do."""

    @property
    def exact_curvature(self) -> bool:
        """Whether ``hessian`` of the fits is exact, so that Newton converges fast to the end."""

    def solve(self, A: Array, *, tol: float = 0.0) -> EliminatedFit: ...

    def surrogate(self) -> "Eliminable | None":
        """A quick step whose solution is near, to start from; None where there is none."""

    def part(self, tasks: NDArray[np.intp]) -> "Eliminable":
        """The supervised step of these tasks alone; the values of the parts add up to that of the whole."""


@dataclass(frozen=True)
class Proof:
    """A structure, the predictor that goes with it, and the interval in which the global minimum lies."""

    structure: Array
    fit: Fit
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """Length of the interval relative to the objective.

        A bound above the objective is no proof that nothing is left to gain: it shows how much rounding has cost.
        """
        if not np.isfinite(self.objective):
            return np.inf
        return abs(self.objective - self.lower_bound) / max(abs(self.objective), TINY)


@dataclass(frozen=True)
class Rounding:
    """How much larger the kernel may be than it is at hand, in the range of its ``values``, and outside of it."""

    values: Array
    inside: float
    outside: float

    def largest(self, fit: Fit) -> Array:
        """What is nowhere less than C'EC, for a difference E of that size."""
        within = fit.factor / np.sqrt(self.values)[:, None]
        largest = self.inside * (within.T @ within)
        return largest + self.outside * fit.beyond if self.outside else largest


@dataclass(frozen=True)
class Problem:
    """The whole problem: a supervised step and what the structure costs."""

    supervised: Supervised
    penalty: StructurePenalty
    eps: float
    common: float = 0.0
    # What rounding may hide of the kernel; None where nothing.
    rounding: Rounding | None = None

    @property
    def alpha(self) -> float:
        return self.supervised.alpha

    @property
    def n_tasks(self) -> int:
        return self.supervised.n_tasks

    def fit(self, A: Array, *, tol: float = 0.0) -> Fit:
        """The supervised step for the structure A."""
        return self.supervised.solve(predictor_structure(A, self.common), tol=tol)

    def objective(self, A: Array, fit: Fit) -> float:
        """P(f, A) for a predictor solved with this A."""
        # (SKMTL eq. 4), its penalty in brackets.
        return fit.value + self.alpha * self.structure_cost(A)

    def structure_cost(self, A: Array) -> float:
        """eps tr(A^-1) + R(A); a structure that is known costs what it costs, and may be singular."""
        cost = self.penalty.value(A)
        if not self.penalty.known:
            inverse = inverse_spd(A)
            if inverse is None or not _told_from_singular(A, inverse):
                return np.inf
            cost += self.eps * float(np.trace(inverse))
        return cost

    def bound(self, A: Array, fit: Fit, scale: float = 1.0) -> float:
        """The lower bound on P that the dual coefficients of ``fit``, scaled, prove with A as a guess."""
        dual = fit.dual(scale)
        if dual == -np.inf:
            return dual
        # A difference of numbers beyond the range proves nothing.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.penalty.known:
                structure = -(scale**2) * self._known_norm(A, fit)
            else:
                Q = self._largest_Q(fit)
                structure = self.penalty.lower_bound(Q, self.eps, A, scale) - scale**2 * self.common * float(np.sum(Q))
            bound = dual + self.alpha * structure
        return bound if bound < np.inf else -np.inf

    def hidden(self, fit: Fit) -> Array:
        """What is nowhere less than C'EC for a part E of the kernel that is lost to rounding."""
        return np.zeros_like(fit.Q) if self.rounding is None else self.rounding.largest(fit)

    def _largest_Q(self, fit: Fit) -> Array:
        """C'KC for the largest kernel that rounding cannot tell from the one at hand."""
        return fit.Q if self.rounding is None else fit.Q + self.rounding.largest(fit)

    def _known_norm(self, A: Array, fit: Fit) -> float:
        """tr((A + c 11') Q), in the eigenbasis, where the directions that a singular A does not have cost nothing."""
        seen = predictor_structure(A, self.common)
        a, U = eigh(seen)
        a, squares = without_rounding(a), (fit.factor @ U) ** 2
        norm = float(np.sum(squares @ a))
        if self.rounding is None:
            return norm
        inside = self.rounding.inside * float(np.sum(squares @ a / self.rounding.values))
        return norm + inside + self.rounding.outside * float(np.vdot(seen, fit.beyond))

    def certify(self, A: Array, fit: Fit) -> Proof:
        """The proof of A and its predictor, from the dual coefficients as they are, or scaled where they must be."""
        scale = self.penalty.feasible_scale(self._largest_Q(fit), self.eps, A)
        return Proof(A, fit, self.objective(A, fit), self.bound(A, fit, scale))

    def tighten(self, proof: Proof) -> Proof:
        """The same with the scale of the dual coefficients searched for.

        At the optimum the best scale is 1, and the search finds nothing. Away from it C is too large in directions in
        which the structure is still too small, and some scale below 1 proves more; it costs a dozen more bounds.
        """
        best = _maximize_concave(lambda scale: self.bound(proof.structure, proof.fit, scale), proof.lower_bound)
        return replace(proof, lower_bound=best)

    def unproved(self, A: Array, fit: Fit) -> Proof:
        """A and its predictor where nobody asked for a proof."""
        return Proof(A, fit, self.objective(A, fit), -np.inf)


def predictor_structure(A: Array, common: float) -> Array:
    """The structure that the predictor sees, A + c 11'."""
    return A + common if common else A


def _told_from_singular(A: Array, inverse: Array) -> bool:
    """Whether a structure is positive definite beyond rounding, in whatever units the tasks are."""
    size = np.sqrt(np.diag(A))
    condition = np.linalg.norm(A / size / size[:, None]) * np.linalg.norm(inverse * size * size[:, None])
    return bool(condition * np.finfo(float).eps < 1.0)


def _maximize_concave(bound: Callable[[float], float], at_one: float) -> float:
    """The best value found of a concave function of the scale, given its value at 1 and sought below it.

    The best scale is near 1, and nearer the better the solution, so that one minus it is searched by decades.
    """
    values = [at_one]
    for short in SHORTFALLS:
        values.append(bound(1.0 - short))
        if values[-1] < values[-2]:
            break
    # The peak lies between the neighbours of the best decade.
    peak = int(np.argmax(values))
    if peak == 0:
        return at_one
    log_shortfalls = np.log10((SHORTFALLS[0] / 10.0, *SHORTFALLS))
    bounds = (log_shortfalls[peak - 1], log_shortfalls[min(peak + 1, len(values) - 1)])
    lowest = min(value for value in values if value > -np.inf)
    found = minimize_scalar(
        # A minimizer cannot interpolate infinities: outside the domain, a bad value stands for them.
        lambda u: -max(bound(1.0 - 10.0**u), lowest - abs(lowest)),
        bounds=bounds,
        method="bounded",
        options=REFINEMENT,
    )
    return max(-float(found.fun), *values)
