"""Predictors for one structure where labels are missing, with what the joint solver and the certificate ask of them."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np

from skmtl._linalg import TINY, Array, eigh, symmetric_part
from skmtl.solvers.cost import worth_forming_curvature
from skmtl.solvers.observed import Observed
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.systems import pairs

# Sums of many numbers are wrong by about this, relative to their size.
ROUNDING = 4.0 * float(np.finfo(float).eps)


class MissingLabels(Protocol):
    """The problem that a fit belongs to."""

    observed: Observed
    alpha: float
    road: str

    @property
    def n_tasks(self) -> int: ...

    @property
    def ridge(self) -> float:
        """n alpha."""


class Response(Protocol):
    """A linear system that was solved: how P = Phi'C moves when the structure does."""

    # What a product ``along`` a direction and ``curvature`` cost.
    step_cost: float
    curvature_cost: float

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D, or near that, for changes D of the structure."""

    def curvature(self, P: Array) -> Array | None:
        """<P D, Phi' M^-1 Phi P D'> for all ``pairs`` D and D' at once; None where that is never formed."""


class PredictorSystem(Response, Protocol):
    """One that was solved for predictors W, with (G_t w_t) and their squared norm."""

    W: Array
    norm: float

    @property
    def curved(self) -> Array: ...


class MissingLabelFit:
    """Predictors W with value and dual coefficients, both as they are: they need not be exact.

    Parameters
    ----------
    P : ndarray of shape (r, n_tasks)
        Phi'C.
    YC, CC : float
        alpha <C, Y>, and n alpha^2 sum c^2 / w.
    """

    def __init__(
        self,
        problem: MissingLabels,
        A: Array,
        system: Response,
        *,
        value: float,
        W: Array,
        intercept: Array,
        P: Array,
        YC: float,
        CC: float,
    ) -> None:
        self._problem, self._A, self._system = problem, A, system
        self.value, self._W, self.intercept = value, W, intercept
        self.factor, self._YC, self._CC = P, YC, CC

    @classmethod
    def from_labels(cls, problem: MissingLabels, A: Array, system: "Response", c: Array) -> "MissingLabelFit":
        """From the dual coefficients of the labels, whose predictors are W = Phi'C A."""
        observed, entries, alpha = problem.observed, problem.observed.entries(), problem.alpha
        P = entries.adjoint(c)
        W = P @ A
        left = entries.y - entries.scores(W)
        intercept = observed.target_mean - np.sum(observed.shift * W, axis=0)
        left -= intercept[entries.task]
        return cls(
            problem,
            A,
            system,
            value=float(np.sum(left**2 / entries.inverse_weight)) / observed.n + alpha * float(np.sum(W * P)),
            W=W,
            intercept=intercept,
            P=P,
            YC=alpha * float(entries.y @ c),
            CC=problem.ridge * alpha * float(np.sum(c**2 * entries.inverse_weight)),
        )

    @classmethod
    def from_predictors(cls, problem: MissingLabels, A: Array, system: PredictorSystem) -> "MissingLabelFit":
        """From predictors W, with dual coefficients c_it = w_it (y_it - f_t(x_i)) / (n alpha)."""
        observed, W = problem.observed, system.W
        left = observed.cross - system.curved
        YC = (float(observed.squares.sum()) - float(np.sum(W * observed.cross))) / observed.n
        errors = YC - float(np.sum(W * left)) / observed.n
        return cls(
            problem,
            A,
            system,
            value=errors + problem.alpha * system.norm,
            W=W,
            intercept=observed.target_mean - np.sum(observed.shift * W, axis=0),
            P=left / problem.ridge,
            YC=YC,
            CC=errors,
        )

    @cached_property
    def Q(self) -> Array:
        """C'KC."""
        return symmetric_part(self.factor.T @ self.factor)

    def dual(self, scale: float) -> float:
        """2 alpha s <C, Y> - n alpha^2 s^2 sum c^2 / w."""
        return 2.0 * scale * self._YC - scale**2 * self._CC

    @property
    def beyond(self) -> Array:
        """C'C of the part of C outside the range of the kernel, or more, in the basis of weighted rows."""
        problem, observed = self._problem, self._problem.observed
        if not observed.has_entries:
            # Weights of rows are at least those of labels over the number of tasks.
            return problem.n_tasks * self._CC / (problem.ridge * problem.alpha) * np.eye(problem.n_tasks)
        entries = observed.entries()
        left = entries.y - entries.scores(self._W) - self.intercept[entries.task]
        within = self.factor / np.sqrt(observed.values)[:, None]
        whole = observed.dual_products(left / (entries.inverse_weight * problem.ridge))
        a, U = eigh(symmetric_part(whole - within.T @ within))
        return symmetric_part((U * np.maximum(a, 0.0)) @ U.T)

    @property
    def dual_error(self) -> float:
        """The rounding of sums of squares of the labels."""
        return ROUNDING * float(self._problem.observed.squares.sum()) / self._problem.observed.n

    @property
    def gap(self) -> float:
        """Relative gap of the supervised step."""
        norm = self._problem.alpha * float(np.sum(self._A * self.Q))
        return (self.value - self.dual(1.0) + norm) / max(abs(self.value), TINY)

    def energy(self, A: Array) -> Array:
        """A Q A, the inner products of the parts g_t = sum_s A_ts (KC)_s."""
        # Not from Q, in which directions that the structure does not have are large, and would have to cancel.
        own = self._W if np.array_equal(A, self._A) else self.factor @ A
        return symmetric_part(own.T @ own)

    def coefficients(self) -> Array:
        """W."""
        return self._W

    @cached_property
    def _curvature(self) -> Array | None:
        """Half the second derivative over all pairs of tasks, where forming it pays."""
        worth = worth_forming_curvature(self._system.curvature_cost, self._system.step_cost, len(self._A))
        return self._system.curvature(self.factor) if worth else None

    @cached_property
    def _along(self) -> Callable[[Array], Array]:
        return self._system.along(self.factor)

    def hessian(self, D: Array) -> Array:
        """Second derivative of ``value`` / alpha in the direction D of the structure: 2 sym(P' Phi' M^-1 Phi P D)."""
        if self._curvature is None:
            return 2.0 * symmetric_part(self._along(D))
        t, s = pairs(len(D))
        H = np.zeros_like(D)
        H[t, s] = self._curvature @ D[t, s]
        return H + H.T

    def surrogate(self) -> Ridge | None:
        """The closed form for complete labels that has the same predictors for this structure.

        Where labels of a table are missing, it has the predictions in their place, and its value is nowhere less: it is
        the step of expectation and maximization.
        """
        problem, observed = self._problem, self._problem.observed
        if problem.road in ("labels", "features"):
            return None
        targets = (observed.values[:, None] * self._W + problem.ridge * self.factor) / np.sqrt(observed.values)[:, None]
        rest = max(float(observed.squares.sum()) - float(np.sum(targets**2)), 0.0)
        return Ridge(observed.values, targets, rest, observed.n, problem.alpha)

    @cached_property
    def stiffness(self) -> float:
        """<A, H[A]> / <A, 2 Q> for the second derivative H: one where f is held, less where it is refitted."""
        full = 2.0 * float(np.vdot(self._A, self.Q))
        return float(np.vdot(self._A, self.hessian(self._A))) / full if full > 0.0 else 1.0
