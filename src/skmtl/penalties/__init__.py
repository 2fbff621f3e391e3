"""Structure penalties: what the learned relations between tasks cost.

``PENALTIES`` is the table that estimators, tests, documents and the command line read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skmtl._linalg import Array, eigvalsh, inverse_spd, symmetric_part
from skmtl._numbers import read_numbers
from skmtl._parameters import check_positive
from skmtl.penalties.base import StructurePenalty, StructureStep
from skmtl.penalties.cluster import Cluster
from skmtl.penalties.features import Features
from skmtl.penalties.fixed import Fixed
from skmtl.penalties.frobenius import Frobenius
from skmtl.penalties.groups import Groups
from skmtl.penalties.independent import Independent
from skmtl.penalties.laplacian import Laplacian
from skmtl.penalties.sparse import Sparse
from skmtl.penalties.trace import Trace

PENALTIES: dict[str, type[StructurePenalty]] = {
    cls.name: cls for cls in (Sparse, Groups, Trace, Features, Frobenius, Cluster, Laplacian, Fixed, Independent)
}


def check_penalty(penalty: str | StructurePenalty, n_tasks: int) -> StructurePenalty:
    """A penalty from its name or itself, its parameters checked for ``n_tasks`` tasks."""
    penalty = named_penalty(penalty)
    penalty.check(n_tasks)
    return penalty


def named_penalty(penalty: str | StructurePenalty) -> StructurePenalty:
    """A penalty from its name or itself."""
    if isinstance(penalty, str):
        if penalty not in PENALTIES:
            known = ", ".join(sorted(PENALTIES))
            raise ValueError(f"penalty={penalty!r} is not known; choose one of {known}, or pass a StructurePenalty.")
        penalty = PENALTIES[penalty]()
    if isinstance(penalty, type):
        name = penalty.__name__
        raise TypeError(f"penalty={name} is a class; pass an object of it, such as {name}().")
    if not isinstance(penalty, StructurePenalty):
        raise TypeError(f"penalty={penalty!r} is neither a name nor a StructurePenalty.")
    return penalty


def minimize_structure(S: ArrayLike, penalty: str | StructurePenalty = "sparse", *, tol: float = 1e-8) -> StructureStep:
    r"""The structure step alone: :math:`\arg\min_A \operatorname{tr}(A^{-1} S) + R(A)`.

    Parameters
    ----------
    S : array-like of shape (n_tasks, n_tasks)
        Symmetric positive semidefinite matrix.
    penalty : str or StructurePenalty, default="sparse"
        The penalty R.
    tol : float, default=1e-8
        Relative gap to reach.

    Returns
    -------
    structure : ndarray of shape (n_tasks, n_tasks)
        The minimizer A.
    gap : float
        How far its cost may be above the minimum, relative to the cost. It is never less than what the rounding of S
        may change, :math:`u \operatorname{tr}(S) \operatorname{tr}(A^{-1})` with :math:`u` = 4e-16: where S is nearly
        singular, with condition numbers from about 1e15 on, that can be more than ``tol``. It is infinite where
        rounding leaves A not positive definite.

    See Also
    --------
    MultiTaskRegressor : Learns predictors and structure together.

    Examples
    --------
    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Sparse
    >>> structure, gap = minimize_structure([[1.0, 0.8], [0.8, 1.0]], Sparse(mu=0.9))
    >>> structure.round(2)
    array([[0.88, 0.4 ],
           [0.4 , 0.88]])
    >>> gap < 1e-8
    True
    """
    S, tol = read_numbers("S", S), check_positive("tol", tol)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.size == 0:
        raise ValueError(f"S has shape {S.shape}; the structure step needs a square matrix.")
    if not np.all(np.isfinite(S)):
        raise ValueError("S has NaN or infinite entries.")
    size = float(np.abs(S).max())
    if not np.allclose(S, S.T, atol=1e-10 * size):
        raise ValueError("S is not symmetric.")
    if inverse_spd(symmetric_part(S)) is None:
        raise ValueError(
            f"the smallest eigenvalue of S is {eigvalsh(S)[0]:.3g}; S must be positive definite, so add a small ridge "
            "to it."
        )
    S, penalty = symmetric_part(S), check_penalty(penalty, len(S))
    A, gap = penalty.minimize(S, tol=tol)
    return StructureStep(A, gap if penalty.known else max(_rounding(S, penalty, A), gap))


def _rounding(S: Array, penalty: StructurePenalty, A: Array) -> float:
    """By how much the cost of A may change, relative to it, when S is rounded.

    A structure step is right for a matrix that rounding cannot tell from S, and its cost is linear in S.
    """
    P = inverse_spd(A)
    if P is None:
        return np.inf
    # Rounded twice: in the step, and in its cost here.
    change = 2.0 * float(np.finfo(float).eps) * float(np.trace(S)) * float(np.trace(P))
    return change / abs(float(np.sum(P * S)) + penalty.value(A))


__all__ = [
    "PENALTIES",
    "Cluster",
    "Features",
    "Fixed",
    "Frobenius",
    "Groups",
    "Independent",
    "Laplacian",
    "Sparse",
    "StructurePenalty",
    "StructureStep",
    "Trace",
]
