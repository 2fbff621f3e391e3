"""Structure penalties: what the learned relations between tasks cost.

``PENALTIES`` is the table that estimators, tests, documents and the command line read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skmtl._linalg import eigvalsh, inverse_spd, symmetric_part
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
    penalty.check(n_tasks)
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
        How far its cost may be above the minimum, relative to the cost.

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
    S = np.asarray(S, dtype=float)
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
    return check_penalty(penalty, len(S)).minimize(symmetric_part(S), tol=tol)


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
