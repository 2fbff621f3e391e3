"""Tasks that fall into clusters, relaxed to conditions on the spectrum."""

import math

import numpy as np
from scipy import linalg

from skmtl._linalg import TINY, Array, eigh, eigvalsh, positive_sqrt, symmetric_part
from skmtl._parameters import LARGEST, SMALLEST, check_count, check_positive, is_number
from skmtl.penalties._multiplier import trace_multiplier
from skmtl.penalties.base import StructurePenalty, StructureStep


class Cluster(StructurePenalty):
    r"""Draw tasks towards the mean of their cluster, and clusters towards a common mean.

    With tasks in r clusters, M the projection on vectors that are constant in each and :math:`U = 11'/T`,

    .. math:: A = U / \epsilon_M + (M - U) / \epsilon_B + (I - M) / \epsilon_W.

    That is the inverse of :math:`\epsilon_M U + \epsilon_B (M - U) + \epsilon_W (I - M)`, for M is a projection. The
    clusters are not known, and M is relaxed to :math:`0 \preceq M \preceq I, M 1 = 1, \operatorname{tr}(M) = r`: a set
    of structures that is convex because A, and not its inverse, is linear in M. R(A) = 0 where such an M exists, and
    infinite elsewhere. In other words, :math:`A 1 = 1 / \epsilon_M` and, on the vectors that sum to zero, A has
    eigenvalues in :math:`[1/\epsilon_W, 1/\epsilon_B]` whose sum is
    :math:`(T - r)/\epsilon_W + (r - 1)/\epsilon_B`.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters r, from 1 to the number of tasks; by default the square root of that number, rounded up.
    within : float, default=10.0
        Price :math:`\epsilon_W` of the variance within clusters; ``within >= between > 0``.
    between : float, default=1.0
        Price :math:`\epsilon_B` of the variance between clusters.
    mean : float, default=0.5
        Price :math:`\epsilon_M > 0` of the mean of all tasks.

    See Also
    --------
    Groups : Groups of tasks that are known beforehand.
    Laplacian : A graph of which tasks are alike.

    References
    ----------
    Jacob, Bach, Vert. Clustered multi-task learning: a convex formulation. NIPS 2008.

    Examples
    --------
    Four tasks in two clusters, the first two and the last two, are related within their clusters alone:

    >>> import numpy as np
    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Cluster
    >>> S = np.kron(np.eye(2), np.ones((2, 2))) + 0.01 * np.eye(4)
    >>> A, _ = minimize_structure(S, Cluster(n_clusters=2, within=10.0, between=1.0, mean=1.0))
    >>> abs(A).round(3)
    array([[0.55, 0.45, 0.  , 0.  ],
           [0.45, 0.55, 0.  , 0.  ],
           [0.  , 0.  , 0.55, 0.45],
           [0.  , 0.  , 0.45, 0.55]])
    """

    name = "cluster"
    tex = (
        r"0 \text{ if } A = U/\epsilon_M + (M - U)/\epsilon_B + (I - M)/\epsilon_W, \; 0 \preceq M \preceq I, "
        r"\; M 1 = 1, \; \operatorname{tr}(M) = r, \; \infty \text{ otherwise}"
    )
    reference = "Jacob, Bach, Vert, 2008"
    exact_bound = True

    def __init__(
        self, n_clusters: int | None = None, *, within: float = 10.0, between: float = 1.0, mean: float = 0.5
    ) -> None:
        self.n_clusters = n_clusters
        self.within = within
        self.between = between
        self.mean = mean

    def check(self, n_tasks: int) -> None:
        numbers = is_number(self.between) and is_number(self.within)
        if not (numbers and SMALLEST <= self.between <= self.within <= LARGEST):
            raise ValueError(
                f"within={self.within!r} and between={self.between!r} must be numbers with 0 < between <= within."
            )
        check_positive("mean", self.mean)
        if self.n_clusters is not None and check_count("n_clusters", self.n_clusters) > n_tasks:
            raise ValueError(f"n_clusters={self.n_clusters!r} must lie between 1 and the number of tasks, {n_tasks}.")

    def value(self, A: Array) -> float:
        low, high, trace = self._spectrum(len(A))
        tolerance = 1e-9 * high
        N = _centred_basis(len(A))
        a = eigvalsh(N.T @ A @ N)
        inside = (
            np.all(np.abs(A.sum(axis=1) - 1.0 / self.mean) <= 1e-9 * (1.0 / self.mean + high))
            and np.all((a >= low - tolerance) & (a <= high + tolerance))
            and abs(float(a.sum()) - trace) <= 1e-9 * max(trace, high)
        )
        return 0.0 if inside else np.inf

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        # (SKMTL eq. 15) relaxed: on the vectors that sum to zero the eigenvalues share out a sum, between two bounds.
        n_tasks = len(S)
        N = _centred_basis(n_tasks)
        s, V = eigh(symmetric_part(N.T @ S @ N))
        NV = N @ V
        A = symmetric_part((NV * self._share_out(positive_sqrt(s), n_tasks)) @ NV.T)
        return StructureStep(A + 1.0 / (n_tasks * self.mean), 0.0)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # For any nu: sum_i min over a in [low, high] of eps/a + (nu - q_i) a, less nu times the trace.
        n_tasks = len(Q)
        low, high, trace = self._spectrum(n_tasks)
        N = _centred_basis(n_tasks)
        q = scale**2 * eigvalsh(N.T @ Q @ N)
        nu = self._multiplier(q, eps, n_tasks)
        a = _clipped(nu, q, eps, low, high)
        centred = float(np.sum(eps / a + (nu - q) * a)) - nu * trace
        return eps * self.mean - scale**2 * float(np.sum(Q)) / (n_tasks * self.mean) + centred

    def grid(self) -> dict[str, list[float]]:
        """Candidates for cross-validation that suit any number of tasks."""
        return {"within": [3.0, 10.0, 30.0]}

    def _spectrum(self, n_tasks: int) -> tuple[float, float, float]:
        """Bounds and sum of the eigenvalues on the vectors that sum to zero."""
        n_clusters = math.ceil(math.sqrt(n_tasks)) if self.n_clusters is None else self.n_clusters
        low, high = 1.0 / self.within, 1.0 / self.between
        return low, high, (n_tasks - n_clusters) * low + (n_clusters - 1) * high

    def _share_out(self, root: Array, n_tasks: int) -> Array:
        """clip(x root, low, high) with the x for which they have the right sum; roots ascending."""
        if len(root) == 0:
            return root
        low, high, trace = self._spectrum(n_tasks)
        root = np.maximum(root, TINY + np.finfo(float).eps * root.max())
        # The sum is piecewise linear in x, with a knot wherever a value meets a bound.
        knots = np.sort(np.concatenate([low / root, high / root]))
        sums = np.clip(knots[:, None] * root, low, high).sum(axis=1)
        shares: Array = np.clip(float(np.interp(trace, sums, knots)) * root, low, high)
        return shares

    def _multiplier(self, q: Array, eps: float, n_tasks: int) -> float:
        """The nu at which the eigenvalues _clipped(nu, ...) have the right sum."""
        if len(q) == 0:
            return 0.0
        low, high, trace = self._spectrum(n_tasks)
        # The sum falls in nu. Between two knots the same values are strictly between the bounds.
        knots = np.sort(np.concatenate([q + eps / high**2, q + eps / low**2]))
        sums = _clipped(knots[:, None], q, eps, low, high).sum(axis=1)
        right = int(np.argmax(sums <= trace)) if sums[-1] <= trace else len(knots) - 1
        if right == 0:
            return float(knots[0])
        middle = 0.5 * (knots[right - 1] + knots[right])
        a = _clipped(middle, q, eps, low, high)
        free = (a > low) & (a < high)
        rest = trace - float(a[~free].sum())
        if not free.any() or rest <= 0.0:
            return float(middle)
        return float(np.clip(trace_multiplier(q[free], eps, rest), knots[right - 1], knots[right]))


def _clipped(nu: Array | float, q: Array, eps: float, low: float, high: float) -> Array:
    """The a in [low, high] that minimizes eps/a + (nu - q) a."""
    return np.clip(np.sqrt(eps / np.maximum(nu - q, eps / high**2)), low, high)


def _centred_basis(n_tasks: int) -> Array:
    """An orthonormal basis of the vectors that sum to zero, of shape (n_tasks, n_tasks - 1)."""
    return np.asarray(linalg.helmert(n_tasks).T)
