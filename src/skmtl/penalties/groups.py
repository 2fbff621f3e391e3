"""Few relations between given groups of tasks; within a group all tasks may be related."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve, lapack

from skmtl._linalg import TINY, Array, symmetric_part
from skmtl.penalties._newton import hessian_diagonal
from skmtl.penalties.sparse import RelationPenalty

# Up to this many tasks all pairs of them make a system that is solved sooner than a few products with it are made.
FEW_TASKS = 10


class Groups(RelationPenalty):
    r"""Relate few groups of tasks; two groups are related with all their tasks or not at all.

    .. math:: R(A) = \operatorname{tr}(A) + (1 - \mu) \sum_{g \ne h} \sqrt{\min(|g|, |h|)} \, \lVert A_{gh} \rVert_F

    A group may be all targets of one sensor, one patient or one product; :math:`A_{gh}` are the relations between the
    tasks of groups g and h. Where no two groups are related, the tasks of each have :math:`A_{gg} = S_{gg}^{1/2}`, and
    they stay apart exactly when no two groups have canonical correlations with a root mean square above
    :math:`1 - \mu`. So ``mu`` means what it does for :class:`Sparse`, which is this penalty with groups of one task.
    ``mu=1`` is the dense trace penalty, ``mu=0`` joins no groups.

    Parameters
    ----------
    groups : array-like of shape (n_tasks,) or str, optional
        The label of each task's group, in a list or in one string with commas: ``"arm,arm,leg"``. By default every
        task is a group of its own.
    mu : float in [0, 1], default=0.9
        One minus the correlation below which two groups stay apart.
    max_iter : int, optional
        Bound on the Newton iterations of one structure step; by default 100.

    See Also
    --------
    Sparse : Few relations between single tasks.
    Cluster : Groups of tasks that are not known beforehand.

    References
    ----------
    Yuan, Lin. Model selection and estimation in regression with grouped variables. JRSS B 2006.

    Examples
    --------
    Two tasks of one group are related however little they have in common; those of another group are not:

    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Groups
    >>> S = [[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [0.1, 0.1, 1.0]]
    >>> minimize_structure(S, Groups(["a", "a", "b"], mu=0.8)).structure.round(2)
    array([[1.  , 0.05, 0.  ],
           [0.05, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    name = "groups"
    tex = r"\operatorname{tr}(A) + (1-\mu) \sum_{g \ne h} \sqrt{\min(|g|, |h|)}\,\|A_{gh}\|_F"
    reference = "Yuan, Lin, 2006, between groups of tasks"
    by_default = False
    few_tasks = FEW_TASKS

    def __init__(self, groups: ArrayLike | None = None, mu: float = 0.9, *, max_iter: int | None = None) -> None:
        self.groups = groups
        self.mu = mu
        self.max_iter = max_iter

    def check(self, n_tasks: int) -> None:
        super().check(n_tasks)
        if self.groups is None:
            return
        labels = self._labels()
        if labels.shape != (n_tasks,):
            raise ValueError(f"groups={self.groups!r:.50} must have one label for each of the {n_tasks} tasks.")
        if pd.isna(labels).any():
            raise ValueError(f"groups={self.groups!r:.50} has a missing label; every task needs a group.")

    def norm(self, n_tasks: int) -> BlockNorm:
        if self.groups is None:
            return BlockNorm(np.arange(n_tasks), 1.0 - self.mu)
        return BlockNorm(pd.factorize(self._labels())[0], 1.0 - self.mu)

    def _labels(self) -> NDArray[np.object_]:
        # The command line passes text.
        given = self.groups.split(",") if isinstance(self.groups, str) else self.groups
        return np.asarray(given, dtype=object)


class BlockNorm:
    """rho times the sum over pairs of groups of weighted Frobenius norms of the blocks between them.

    ``group`` numbers the group of each task, from 0 on.
    """

    def __init__(self, group: NDArray[np.intp], rho: float) -> None:
        self.group, sizes = group, np.bincount(group).astype(float)
        # A dual point has identities for diagonal blocks and is positive semidefinite: no block of it is larger than
        # the root of the smaller group, and so rho = 1 joins nothing, whatever the sizes.
        self.weight = rho * np.sqrt(np.minimum(sizes[:, None], sizes[None, :]))
        np.fill_diagonal(self.weight, 0.0)
        self._members = np.eye(len(sizes))[group]

    def value(self, A: Array) -> float:
        return float(np.sum(self.weight * self.norms(A)))

    def dual_point(self, W: Array) -> Array:
        """W with identities for diagonal blocks, and all others scaled down to their weight."""
        W = symmetric_part(W)
        sizes = self.norms(W)
        shrunk = W * self.spread(np.divide(self.weight, sizes, out=np.ones_like(sizes), where=sizes > self.weight))
        return np.where(self.group[:, None] == self.group, np.eye(len(W)), shrunk)

    def piece(self, A: Array, gradient: Array) -> _BlockPiece:
        return _BlockPiece(A, gradient, self)

    def sums(self, M: Array) -> Array:
        """The sum of each block, of shape (n_groups, n_groups)."""
        return self._members.T @ M @ self._members

    def norms(self, M: Array) -> Array:
        """The Frobenius norm of each block."""
        size = max(float(np.abs(M).max(initial=0.0)), TINY)
        return size * np.sqrt(self.sums((M / size) ** 2))

    def spread(self, blocks: Array) -> Array:
        """A number for each block put on all entries of the block."""
        return blocks[self.group[:, None], self.group]


class _BlockPiece:
    """Blocks that are not zero move freely; those that are zero and want to grow leave along their gradient.

    A norm is not differentiable at zero, and so a block leaves zero along one ray. Once it has left, its norm is smooth
    and it turns where it likes.
    """

    def __init__(self, A: Array, gradient: Array, norm: BlockNorm) -> None:
        self._norm = norm
        sizes, slopes = norm.norms(A), norm.norms(gradient)
        weight = norm.weight
        self._smooth = weight == 0.0
        self._there = (sizes > 0.0) & ~self._smooth
        self._enters = (slopes > weight) & ~self._there & ~self._smooth
        # Unit blocks: those of A, or the rays along which blocks leave zero.
        scale = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=self._there)
        ray = np.divide(-1.0, slopes, out=np.zeros_like(slopes), where=self._enters)
        self._unit = A * norm.spread(scale) + gradient * norm.spread(ray)
        self._bend = weight * scale
        # On all entries of their blocks, for these are asked for again and again.
        self._free, self._bends = norm.spread(self._smooth | self._there), norm.spread(self._bend)
        moves = norm.spread(self._smooth | self._there | self._enters)
        self.residual = np.where(moves, gradient + norm.spread(weight) * self._unit, 0.0)

    def project(self, D: Array) -> Array:
        if not self._enters.any():
            return np.where(self._free, D, 0.0)
        along = np.where(self._enters, self._norm.sums(self._unit * D), 0.0)
        return np.where(self._free, D, self._unit * self._norm.spread(along))

    def curved(self, H: Array, D: Array) -> Array:
        if not self._there.any():
            return H
        # The norm of a block grows along it at a constant rate, and bends across it the more the smaller it is.
        across = D - self._unit * self._norm.spread(self._norm.sums(self._unit * D))
        return H + self._bends * across

    def preconditioner(self, P: Array, Q: Array, *, exact: bool = False) -> Callable[[Array], Array]:
        inverse = self._inverse(P, Q) if exact else None
        if inverse is not None:
            return inverse
        diagonal = hessian_diagonal(P, Q) + self._bends
        return lambda R: self.project(R / diagonal)

    def _inverse(self, P: Array, Q: Array) -> Callable[[Array], Array] | None:
        """The inverse itself, over the entries that are free and the rays along which blocks leave zero.

        None where rounding leaves no factor.
        """
        n_groups, group = len(self._bend), self._norm.group
        blocks = np.eye(n_groups**2)[(group[:, None] * n_groups + group).ravel()]
        units = self._unit.ravel()[:, None] * blocks
        curvature = np.kron(P, Q) + np.kron(Q, P) - (units * self._bend.ravel()) @ units.T
        curvature[np.diag_indices_from(curvature)] += blocks @ self._bend.ravel()
        free = np.flatnonzero(self._free)
        basis = np.hstack([np.eye(P.size)[:, free], units[:, self._enters.ravel()]])
        H = basis.T @ curvature @ basis
        # Relations of tasks of different sizes are brought to one, so that none is lost in the rounding of another.
        with np.errstate(over="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
            factor, info = lapack.dpotrf(scale[:, None] * H * scale, lower=1, clean=0)
        if info != 0 or not np.all(np.isfinite(factor)):
            return None
        basis = basis * scale
        return lambda R: (basis @ cho_solve((factor, True), basis.T @ R.ravel(), check_finite=False)).reshape(R.shape)

    def land(self, trial: Array) -> Array:
        # A block that has turned away from its direction by a right angle or more has passed through zero.
        ahead = self._smooth | (self._norm.sums(self._unit * trial) > 0.0)
        return np.where(self._norm.spread(ahead), trial, 0.0)
