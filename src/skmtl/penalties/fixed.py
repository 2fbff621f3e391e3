"""A task structure that is known beforehand."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from skmtl._linalg import Array, eigvalsh, inverse_spd, spectral_map, symmetric_part
from skmtl._numbers import check_plain
from skmtl._parameters import check_positive, is_number
from skmtl.penalties.independent import KnownStructure


class Fixed(KnownStructure):
    r"""Use a known structure as it is.

    .. math:: R(A) = 0 \text{ if } A = A_0, \quad \infty \text{ otherwise}

    Parameters
    ----------
    matrix : array-like of shape (n_tasks, n_tasks), optional
        The positive semidefinite :math:`A_0`, which may be singular; the identity when left out.

    See Also
    --------
    Independent : The identity, for any number of tasks.
    Laplacian : A graph that is learned.

    References
    ----------
    Evgeniou, Micchelli, Pontil. Learning multiple tasks with kernel methods. JMLR 2005.

    Examples
    --------
    Two tasks that are alike, and one by itself:

    >>> from skmtl.penalties import Fixed
    >>> Fixed.from_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).structure(3).round(3)
    array([[0.667, 0.333, 0.   ],
           [0.333, 0.667, 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> Fixed.from_groups(["a", "a", "b"], strength=3.0).structure(3)
    array([[0.625, 0.375, 0.   ],
           [0.375, 0.625, 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> Fixed.from_tree([["animal", "bird"], ["animal", "bird"], ["animal", "fish"], ["plant"]]).structure(4)
    array([[3., 2., 1., 0.],
           [2., 3., 1., 0.],
           [1., 1., 3., 0.],
           [0., 0., 0., 2.]])
    >>> Fixed.mean_coupled(strength=3.0).structure(2)
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """

    name = "fixed"
    tex = r"0 \text{ if } A = A_0, \; \infty \text{ otherwise}"
    reference = "Evgeniou, Micchelli, Pontil, 2005"

    def __init__(self, matrix: ArrayLike | None = None) -> None:
        self.matrix = matrix

    @staticmethod
    def from_graph(weights: ArrayLike, ridge: float = 1.0) -> Fixed:
        r"""Tasks joined by an edge are alike: :math:`A^{-1} = L + \text{ridge}\, I`, L the graph's Laplacian.

        Parameters
        ----------
        weights : array-like of shape (n_tasks, n_tasks)
            Symmetric adjacency matrix with entries >= 0; its diagonal is ignored.
        ridge : float, default=1.0
            How much each task is shrunk by itself, > 0.

        Returns
        -------
        Fixed
            With that A for its matrix.
        """
        W = np.array(weights, dtype=float)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not np.allclose(W, W.T):
            raise ValueError(f"weights has shape {W.shape}; a graph needs a square symmetric matrix.")
        check_positive("ridge", ridge)
        np.fill_diagonal(W, 0.0)
        if W.min(initial=0.0) < 0.0:
            raise ValueError(f"weights has a negative entry, {W.min():.3g}; the edges of a graph need weights >= 0.")
        laplacian = np.diag(W.sum(axis=1)) - W
        return Fixed(inverse_spd(laplacian + ridge * np.eye(len(W))))

    @staticmethod
    def from_groups(groups: ArrayLike, strength: float = 1.0) -> Fixed:
        r"""Tasks of a group lie near its mean: :math:`A^{-1} = I + \text{strength}\,(I - M)`.

        M takes the mean over each group. Tasks of different groups are not related.

        Parameters
        ----------
        groups : array-like of shape (n_tasks,)
            The group of each task: names or numbers.
        strength : float, default=1.0
            The price of the tasks' variance around the mean of their group, >= 0.

        Returns
        -------
        Fixed
            With that A for its matrix.
        """
        labels = np.asarray(groups)
        if labels.ndim != 1 or len(labels) == 0:
            raise ValueError(f"groups has shape {labels.shape}; it needs one group for each task.")
        check_positive("strength", strength, zero=True)
        together = labels[:, None] == labels
        # M is a projection, and so A = M + (I - M) / (1 + strength).
        around = 1.0 / (1.0 + strength)
        return Fixed(around * np.eye(len(labels)) + (1.0 - around) * together / together.sum(axis=0))

    @staticmethod
    def from_tree(paths: Sequence[Sequence[Hashable]], strength: float = 1.0) -> Fixed:
        r"""Tasks are leaves of a taxonomy: :math:`A = I + \text{strength} \sum_v 1_v 1_v'`.

        The sum is over the nodes v of the tree below its root, and :math:`1_v` marks the tasks under v. A predictor is
        then a part of its own plus one for each node above it, which it shares with the other tasks there: two tasks
        are the nearer the more nodes they have in common.

        Parameters
        ----------
        paths : sequence of n_tasks sequences
            For each task the names of the nodes above it, from the root down, such as ``["animal", "bird"]``; the root
            itself, which all tasks share, is left out. Nodes with one name at different places are different nodes.
        strength : float, default=1.0
            The variance of the part of a node beside that of a task's own, >= 0.

        Returns
        -------
        Fixed
            With that A for its matrix.
        """
        if len(paths) == 0 or any(isinstance(path, str) for path in paths):
            raise ValueError('paths needs a sequence of nodes for each task, such as ["animal", "bird"].')
        check_positive("strength", strength, zero=True)
        above = [{tuple(path[: depth + 1]) for depth in range(len(path))} for path in paths]
        shared = [[len(one & other) for other in above] for one in above]
        return Fixed(np.eye(len(above)) + strength * np.array(shared))

    @staticmethod
    def mean_coupled(strength: float = 1.0) -> MeanCoupled:
        r"""All tasks lie near their mean: :math:`A^{-1} = I + \text{strength}\,(I - 11'/T)`.

        Parameters
        ----------
        strength : float, default=1.0
            The price of the tasks' variance around their mean, >= 0.

        Returns
        -------
        MeanCoupled
            A penalty for any number of tasks.
        """
        return MeanCoupled(strength)

    def check(self, n_tasks: int) -> None:
        if self.matrix is None:
            return
        try:
            check_plain("matrix", self.matrix)
            A = np.asarray(self.matrix, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"matrix={self.matrix!r:.50} is not a matrix of numbers.") from error
        if A.shape != (n_tasks, n_tasks):
            raise ValueError(f"matrix, the fixed structure, has shape {A.shape}, but there are {n_tasks} tasks.")
        if not np.all(np.isfinite(A)):
            raise ValueError("matrix, the fixed structure, has NaN or infinite entries.")
        size = np.abs(A).max()
        if not np.allclose(A, A.T, atol=1e-10 * size):
            raise ValueError("matrix, the fixed structure, is not symmetric.")
        lowest = float(eigvalsh(A)[0])
        if lowest < -1e-10 * size:
            raise ValueError(
                f"matrix, the fixed structure, has a negative eigenvalue, {lowest:.3g}; it must be positive "
                "semidefinite."
            )

    def structure(self, n_tasks: int) -> Array:
        if self.matrix is None:
            return np.eye(n_tasks)
        A = symmetric_part(np.array(self.matrix, dtype=float))
        # Rounding below zero is zero.
        return A if eigvalsh(A)[0] >= 0.0 else spectral_map(A, lambda a: np.maximum(a, 0.0))


class MeanCoupled(KnownStructure):
    r"""Draw all tasks towards their mean, for any number of tasks.

    .. math:: A^{-1} = I + \text{strength}\,(I - 11'/T)

    Parameters
    ----------
    strength : float, default=1.0
        The price of the tasks' variance around their mean, >= 0.

    References
    ----------
    Evgeniou, Micchelli, Pontil. Learning multiple tasks with kernel methods. JMLR 2005.
    """

    name = Fixed.name
    tex = r"A^{-1} = I + c\,(I - 11^\top/T)"
    reference = Fixed.reference

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def check(self, n_tasks: int) -> None:
        if not (is_number(self.strength) and self.strength >= 0.0):
            raise ValueError(f"strength={self.strength!r} must be a number >= 0.")

    def structure(self, n_tasks: int) -> Array:
        # The inverse has the same two eigenspaces: 1 on the mean, 1 / (1 + strength) around it.
        around = 1.0 / (1.0 + self.strength)
        return around * np.eye(n_tasks) + (1.0 - around) / n_tasks
