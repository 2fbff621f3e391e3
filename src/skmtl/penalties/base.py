"""What every structure penalty promises."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from skmtl._linalg import Array, inverse_spd


class StructureStep(NamedTuple):
    """A structure and how far from the best one its cost may be, relative to that cost."""

    structure: Array
    gap: float


class SmoothPoint(Protocol):
    """A smooth convex function seen from one positive definite matrix.

    Its Hessian is at most, and near, D -> P D Q + Q D P.
    """

    value: float
    P: Array

    @property
    def gradient(self) -> Array: ...

    @property
    def Q(self) -> Array: ...

    def hessian(self, D: Array) -> Array:
        """Product of the Hessian with a symmetric matrix."""


# The function at A, or None where A is not positive definite.
Smooth = Callable[[Array], SmoothPoint | None]
# A solver asks for a certificate of ``tol`` once its model of the objective has this many times ``tol`` left to gain.
ASK_EARLY = 100.0
# The relative gap at A, given the point and the objective there.
Certify = Callable[[Array, SmoothPoint, float], float]


class StructurePenalty(BaseEstimator):
    r"""A penalty :math:`R(A)` on the matrix that relates the tasks.

    A subclass states its ``name``, its formula ``tex`` and its ``reference``, and implements
    :meth:`value`, :meth:`minimize` and :meth:`lower_bound`. What else it can do it declares: nobody guesses.
    """

    name = ""
    tex = ""
    reference = ""
    # Whether the structure is known beforehand, as ``structure(n_tasks)``, so that nothing about it is learned.
    known = False
    # Whether ``minimize_with`` is there, which opens the joint Newton.
    joint = False
    # The parameter that turns the graph from sparse to dense, along which a path can be followed.
    path_parameter: str | None = None
    # Whether ``feature_structure`` is there: the same problem has a matrix on the side of the features.
    on_features = False

    @property
    def threshold(self) -> float:
        """Blocks of tasks stay apart while no dual entry between them exceeds this; zero where no such rule holds."""
        return 0.0

    def grid(self) -> dict[str, list[float]]:
        """Candidates for the penalty's own parameters, for any number of tasks; by default nothing is searched."""
        return {}

    def structure(self, n_tasks: int) -> Array:
        """The matrix of a structure that is ``known``, of shape (n_tasks, n_tasks)."""
        raise NotImplementedError(f"the structure of {self.name!r} is learned.")

    def minimize_with(
        self, smooth: Smooth, start: Array, *, certify: Certify, tol: float, max_iter: int
    ) -> tuple[Array, float, int]:
        """Minimize smooth(A) + R(A) at once, where ``joint``; returns A, its relative gap and the iterations."""
        raise NotImplementedError(f"{self.name!r} has no joint solver.")

    def feature_structure(self, W: Array, eps: float) -> Array:
        """The matrix of the features, where ``on_features``; W are coefficients in an orthonormal basis."""
        raise NotImplementedError(f"{self.name!r} has no matrix on the side of the features.")

    def check(self, n_tasks: int) -> None:
        """Raise ``ValueError`` when a parameter makes no sense for ``n_tasks`` tasks."""

    def value(self, A: Array) -> float:
        """R(A), infinite outside its domain."""
        raise NotImplementedError

    def cost(self, A: Array, eps: float) -> float:
        """eps tr(A^-1) + R(A): what the structure costs by itself."""
        inverse = inverse_spd(A)
        return np.inf if inverse is None else float(eps * np.trace(inverse)) + self.value(A)

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        """The structure step, argmin over A of tr(A^-1 S) + R(A)."""
        raise NotImplementedError

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        """A number not above the minimum over A of eps tr(A^-1) + R(A) - scale^2 tr(A Q).

        ``structure`` is a guess of the minimiser; the bound holds for any guess and is tight for a good one.
        """
        raise NotImplementedError

    def feasible_scale(self, Q: Array, eps: float, structure: Array) -> float:
        """A scale, at most 1 and as near to it as is known, at which the lower bound is finite for this guess."""
        return 1.0
