r"""Newton for structures :math:`B = I - L(w)`, where L is the Laplacian of a graph with edges :math:`w \ge 0`.

Of all such graphs with a given total weight, find the one with the least tr(B^-1 S) - tr(B Q). Each iteration solves a
quadratic model over the simplex of edges, so edges that are not wanted are exactly zero.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, inverse_spd
from skmtl.penalties._simplex import Index, model_step

# Above this share of free edges the preconditioner that inverts the whole space pays.
DENSE_SHARE = 0.5
MAX_BACKTRACKS = 40
# Of what the slope promises, the share that a step must gain.
ENOUGH_GAIN = 1e-4
# Gains smaller than this, relative to the cost, are not visible in the cost.
ROUNDING = 1e-12
# So many steps in turn that close less than this share of the least gap so far, and gain less than this share of the
# cost, are the last: next to the boundary of the structures that are positive definite rounding has the say, and Newton
# would creep on to the limit.
PATIENCE, CREEPING, GAINING = 5, 1e-2, 1e-5


class GraphStep(NamedTuple):
    """Edges, what they cost, and a number not above the least cost of all."""

    edges: Array
    cost: float
    lower_bound: float


@lru_cache(maxsize=8)
def edge_ends(n_tasks: int) -> tuple[Index, Index]:
    """The two tasks of every edge."""
    return np.triu_indices(n_tasks, 1)


def graph_structure(w: Array, n_tasks: int) -> Array:
    """I - L(w), of shape (n_tasks, n_tasks); ``w`` lists the edges as ``edge_ends`` does."""
    W = _matrix(w, n_tasks)
    return W + np.diag(1.0 - W.sum(axis=1))


def graph_newton(S: Array, Q: Array, start: Array, total: float, *, tol: float, max_iter: int) -> GraphStep:
    """Minimize tr(B^-1 S) - tr(B Q) over B = I - L(w), w >= 0, sum w = total.

    The cost is convex, so what its tangent can gain within the simplex bounds what anybody can gain. The search ends
    when that is ``tol`` relative to the two traces.
    """
    starts = ((edges, _Point.at(edges, S, Q)) for edges in _starts(start, len(S), total))
    w, point = min(((edges, point) for edges, point in starts if point is not None), key=lambda pair: pair[1].cost)
    bound, least, lowest, creeping = -np.inf, np.inf, np.inf, 0
    for _ in range(max_iter):
        bound = max(bound, point.cost - point.excess)
        gap = point.cost - bound
        # A first gap may be so wide that no gain shows in it.
        is_better = gap <= (1.0 - CREEPING) * least or point.cost <= lowest - GAINING * point.size
        creeping = 0 if is_better else creeping + 1
        least, lowest = min(least, gap), min(lowest, point.cost)
        if gap <= tol * point.size or creeping > PATIENCE:
            break
        # The model need not be solved better than the step will be.
        d = model_step(point, w, min(0.1, float(np.sqrt(point.excess / point.size))))
        accepted = _backtrack(S, Q, w, point, d)
        if accepted is None:
            break
        w, point = accepted
    return GraphStep(w, point.cost, max(bound, point.cost - point.excess))


def _starts(start: Array, n_tasks: int, total: float) -> list[Array]:
    """Equal edges, which are always inside the domain, and those given, brought to the simplex."""
    n_edges = n_tasks * (n_tasks - 1) // 2
    equal = np.full(n_edges, total / n_edges)
    clipped = np.maximum(start, 0.0)
    size = float(clipped.sum())
    if not (np.isfinite(size) and size > 0.0):
        return [equal]
    clipped = clipped * (total / size)
    return [clipped, 0.5 * (clipped + equal), equal]


def _matrix(w: Array, n_tasks: int) -> Array:
    """The symmetric matrix with zero diagonal whose upper triangle is w."""
    W = np.zeros((n_tasks, n_tasks))
    W[edge_ends(n_tasks)] = w
    return W + W.T


def _squared_distances(V: Array) -> Array:
    """(e_t - e_s)' V (e_t - e_s) for all edges."""
    t, s = edge_ends(len(V))
    v = np.diag(V)
    return v[t] + v[s] - 2.0 * V[t, s]


class _Point:
    """The cost seen from one graph: P = B^-1, R = P S P."""

    def __init__(self, w: Array, B: Array, P: Array, S: Array, Q: Array) -> None:
        self.P, self.R = P, P @ S @ P
        first, second = float(np.sum(P * S)), float(np.sum(B * Q))
        self.cost, self.size = first - second, first + abs(second)
        self.gradient = _squared_distances(self.R) + _squared_distances(Q)
        # What the tangent can gain within the simplex, with all weight on its best edge.
        self.excess = float(w @ (self.gradient - self.gradient.min()))

    @staticmethod
    def at(w: Array, S: Array, Q: Array) -> "_Point | None":
        """None where B is not positive definite."""
        B = graph_structure(w, len(S))
        P = inverse_spd(B)
        return None if P is None else _Point(w, B, P, S, Q)

    def hessian(self, d: Array) -> Array:
        """Product with a change of edges."""
        D = _matrix(d, len(self.P))
        # dB = -L(d); the cost changes to second order by tr(P dB R dB).
        half = self.P @ (D - np.diag(D.sum(axis=1))) @ self.R
        return -_squared_distances(half + half.T)

    def dense_hessian(self, edges: Index) -> Array:
        """The Hessian of a few edges, of shape (n_edges, n_edges)."""
        t, s = (ends[edges] for ends in edge_ends(len(self.P)))

        def between(V: Array) -> Array:
            rows = V[t] - V[s]
            return rows[:, t] - rows[:, s]

        return 2.0 * between(self.P) * between(self.R)

    def preconditioner(self, share: float) -> Callable[[Array], Array]:
        """The inverse of the Hessian's diagonal or, where many edges are free, of the Hessian of all edges."""
        if share < DENSE_SHARE:
            inverse = 0.5 / (_squared_distances(self.P) * _squared_distances(self.R))
            return lambda r: inverse * r
        # Edges and centred symmetric matrices determine one another. With N a basis of the vectors that sum to zero,
        # X'(N'PN)X = I and X'(N'RN)X = diag(q), the inverse over all edges is one division.
        n_tasks = len(self.P)
        N = linalg.helmert(n_tasks).T
        q, X = linalg.eigh(N.T @ self.R @ N, N.T @ self.P @ N, check_finite=False)
        q = np.maximum(q, 1e-14 * q[-1])
        Y, inverse = N @ X, 0.5 / (q[:, None] + q[None, :])
        return lambda r: (Y @ ((Y.T @ _matrix(r, n_tasks) @ Y) * inverse) @ Y.T)[edge_ends(n_tasks)]


def _backtrack(S: Array, Q: Array, w: Array, point: _Point, d: Array) -> tuple[Array, _Point] | None:
    """The first step along d that gains enough; a whole step keeps its zeros."""
    # Changes sum to zero, and so a constant in the gradient is nothing but rounding.
    slope, step = float((point.gradient - point.gradient.min()) @ d), 1.0
    if slope >= 0.0:
        return None
    lost_in_rounding = -slope <= ROUNDING * point.size
    for _ in range(1 if lost_in_rounding else MAX_BACKTRACKS):
        trial = np.maximum(w + step * d, 0.0)
        there = _Point.at(trial, S, Q)
        if there is not None and there.cost <= point.cost + ENOUGH_GAIN * step * slope:
            return trial, there
        # Where the cost can no longer tell, the certificate can.
        if there is not None and lost_in_rounding and there.excess <= 0.5 * point.excess:
            return trial, there
        step *= 0.5
    return None
