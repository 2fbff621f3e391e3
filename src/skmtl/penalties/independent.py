"""Structures that are known beforehand; the simplest keeps the tasks apart."""

import numpy as np

from skmtl._linalg import Array
from skmtl.penalties.base import StructurePenalty, StructureStep


class KnownStructure(StructurePenalty):
    r"""Use one structure as it is; subclasses say which.

    Nothing is learned about the structure, so :math:`\epsilon \operatorname{tr}(A^{-1})` is left out of the
    objective, and the structure may be singular.
    """

    known = True
    exact_bound = True

    def value(self, A: Array) -> float:
        known = self.structure(len(A))
        return 0.0 if np.allclose(A, known, rtol=1e-12, atol=1e-12 * np.abs(known).max()) else np.inf

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        return StructureStep(self.structure(len(S)), 0.0)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        return -(scale**2) * float(np.sum(self.structure(len(Q)) * Q))


class Independent(KnownStructure):
    r"""Learn every task by itself.

    .. math:: R(A) = 0 \text{ if } A = I, \quad \infty \text{ otherwise}

    The limit that every search has among its candidates: where it wins, sharing does not help.

    See Also
    --------
    Fixed : Any other structure that is known.

    References
    ----------
    Kernel ridge regression and its relatives, one task at a time.

    Examples
    --------
    >>> from skmtl.penalties import Independent
    >>> Independent().structure(2)
    array([[1., 0.],
           [0., 1.]])
    """

    name = "independent"
    tex = r"A = I"
    reference = "single-task learning"

    def structure(self, n_tasks: int) -> Array:
        return np.eye(n_tasks)
