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
    :meth:`value`, :meth:`minimize` and :meth:`lower_bound`.
    """

    name = ""
    tex = ""
    reference = ""

    @property
    def threshold(self) -> float:
        """Blocks of tasks stay apart while no dual entry between them exceeds this; zero where no such rule holds."""
        return 0.0

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
