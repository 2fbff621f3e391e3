"""Structures that are known beforehand; the simplest keeps the tasks apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skmtl._linalg import Array
from skmtl._numbers import check_plain
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

    The limit that every search has among its candidates: where it wins, sharing does not help. With strengths s of the
    tasks' own, :math:`A = \operatorname{diag}(1/s)`, and task t has the strength alpha times :math:`s_t`.

    Parameters
    ----------
    strengths : array-like of shape (n_tasks,), optional
        Strengths of the regularization of each task, as multiples of ``alpha``; all > 0. None: one for all.

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

    def __init__(self, strengths: ArrayLike | None = None) -> None:
        self.strengths = strengths

    def check(self, n_tasks: int) -> None:
        if self.strengths is None:
            return
        wrong = ValueError(f"strengths={self.strengths!r:.50} must be a number > 0 for each of {n_tasks} tasks.")
        check_plain("strengths", self.strengths)
        try:
            given = np.asarray(self.strengths, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise wrong from None
        if given.shape != (n_tasks,) or not np.all(np.isfinite(given) & (given > 0.0)):
            raise wrong

    def structure(self, n_tasks: int) -> Array:
        return np.eye(n_tasks) if self.strengths is None else np.diag(1.0 / np.asarray(self.strengths, dtype=float))
