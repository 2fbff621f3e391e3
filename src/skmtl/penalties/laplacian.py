"""A learned graph: tasks joined by an edge are alike."""

import numpy as np

from skmtl._linalg import Array, eigvalsh, single_threaded
from skmtl._parameters import check_count, check_positive, is_number
from skmtl.penalties._graph_newton import GraphStep, edge_ends, graph_newton, graph_structure
from skmtl.penalties._newton import GENTLE_RIDGE, descend
from skmtl.penalties.base import StructurePenalty, StructureStep

BOUND_TOL = 1e-11
# From a good guess a bound takes so few steps to this gap, relative to it. Else weights fall from this share of the
# mean eigenvalue, which is at most this many times the last one, by this factor.
NEAR_STEPS, CLOSED, HIGH, HIGHEST, FALL = 8, 1e-9, 0.1, 1e20, 0.03
# Stages of the continuation need no more accuracy than this.
STAGE_TOL = 1e-2


class Laplacian(StructurePenalty):
    r"""Learn a graph with edges of weight >= 0 that the tasks follow.

    .. math:: R(A) = 0 \text{ if } A 1 = \tfrac1g 1, \; A_{ts} \ge 0 \; (t \ne s), \;
              \operatorname{tr}(A) \le \tfrac{\tau}{g}, \quad \infty \text{ otherwise}

    The inverse of a graph's Laplacian plus :math:`g I` has these properties; the set of all matrices that have them is
    convex. It is also the set of :math:`A = (I - L(w)) / g`, where L is the Laplacian of edges :math:`w \ge 0` with
    :math:`\sum w \ge (T - \tau)/2`. More edges make A smaller, so at the optimum equality holds and the structure
    step is a smooth problem over a simplex, which Newton solves and a tangent certifies.

    Parameters
    ----------
    ridge : float, default=1.0
        The factor :math:`g > 0`: how much each task is shrunk by itself.
    tau : float, optional
        Freedom of the tasks, between 1 (all alike) and the number of tasks (all apart). By default
        ``1 + share * (n_tasks - 1)``.
    share : float in (0, 1), default=0.5
        The same relative to the number of tasks; unused when ``tau`` is given.
    max_iter : int, default=100
        Bound on the Newton iterations of one structure step.

    See Also
    --------
    Fixed.from_graph : A graph that is known beforehand.
    Sparse : Relations of either sign.

    References
    ----------
    Argyriou, Clémençon, Zhang. Learning the graph of relations among multiple tasks. ICML workshop 2014.

    Examples
    --------
    Tasks 0 and 1 are alike, and task 2 is like neither:

    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Laplacian
    >>> S = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> minimize_structure(S, Laplacian(tau=2.4)).structure.round(3)
    array([[0.7, 0.3, 0. ],
           [0.3, 0.7, 0. ],
           [0. , 0. , 1. ]])
    """

    name = "laplacian"
    tex = r"0 \text{ if } A 1 = 1/g, \; A_{ts} \ge 0, \; \operatorname{tr}(A) \le \tau/g, \; \infty \text{ otherwise}"
    reference = "Argyriou, Clémençon, Zhang, 2014"
    exact_bound = True

    def __init__(
        self, ridge: float = 1.0, *, tau: float | None = None, share: float = 0.5, max_iter: int = 100
    ) -> None:
        self.ridge = ridge
        self.tau = tau
        self.share = share
        self.max_iter = max_iter

    def check(self, n_tasks: int) -> None:
        check_positive("ridge", self.ridge)
        check_count("max_iter", self.max_iter)
        if not (is_number(self.share) and 0.0 < self.share < 1.0):
            raise ValueError(f"share={self.share!r} must lie strictly between 0 (all alike) and 1 (all apart).")
        # One task has no edges, and nothing depends on tau.
        if self.tau is not None and n_tasks > 1 and not (is_number(self.tau) and 1.0 < self.tau < n_tasks):
            raise ValueError(
                f"tau={self.tau!r} must lie strictly between 1 and the number of tasks, {n_tasks}; "
                "leave it out and set share to choose it relative to that number."
            )

    def value(self, A: Array) -> float:
        tolerance = 1e-9 / self.ridge
        off_diagonal = A - np.diag(np.diag(A))
        inside = (
            np.all(np.abs(A.sum(axis=1) - 1.0 / self.ridge) <= tolerance)
            and off_diagonal.min() >= -tolerance
            and np.trace(A) <= (len(A) - 2.0 * self._total(len(A))) / self.ridge + len(A) * tolerance
        )
        return 0.0 if inside else np.inf

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        n_tasks = len(S)
        if n_tasks == 1:
            return StructureStep(np.full((1, 1), 1.0 / self.ridge), 0.0)
        with single_threaded(n_tasks):
            if start is not None:
                A, gap, _ = self._stage(S, start, tol)
                if gap <= tol:
                    return StructureStep(A, abs(gap))
            return self._descend(S, tol)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # The same Newton, from the guess. Each iterate proves a bound, because the function is convex.
        n_tasks, scaled = len(Q), scale**2 * Q
        if n_tasks == 1:
            return eps * self.ridge - float(scaled[0, 0]) / self.ridge
        weight, scaled = self.ridge * eps, scaled / self.ridge
        near = self._newton(weight, scaled, self._edges(structure), BOUND_TOL, min(NEAR_STEPS, self.max_iter))
        # Beside a Q so large the weight has no digits that falling weights could find.
        hopeless = float(np.trace(scaled)) > HIGHEST * weight * n_tasks
        if hopeless or near.cost - near.lower_bound <= CLOSED * abs(near.cost):
            return near.lower_bound
        return max(near.lower_bound, self._fall(weight, scaled).lower_bound)

    def _newton(self, weight: float, Q: Array, edges: Array, tol: float, max_iter: int) -> GraphStep:
        """Minimize weight tr(B^-1) - tr(B Q) from some edges."""
        n_tasks = len(Q)
        return graph_newton(weight * np.eye(n_tasks), Q, edges, self._total(n_tasks), tol=tol, max_iter=max_iter)

    def _fall(self, weight: float, Q: Array) -> GraphStep:
        """The same through falling weights: with a small one Newton creeps along where B ceases to be definite."""
        edges = self._edges(np.ones_like(Q))
        high = HIGH * float(np.trace(Q)) / len(Q)
        while high > weight:
            edges = self._newton(high, Q, edges, STAGE_TOL, self.max_iter).edges
            high *= FALL
        return self._newton(weight, Q, edges, BOUND_TOL, self.max_iter)

    def grid(self) -> dict[str, list[float]]:
        """Candidates for cross-validation that suit any number of tasks."""
        return {"share": [0.1, 0.3, 0.5, 0.7, 0.9]}

    def _stage(self, S: Array, start: Array, tol: float) -> tuple[Array, float, int]:
        """Newton from one start; returns A and its relative gap."""
        n_tasks = len(S)
        step = graph_newton(
            self.ridge * S,
            np.zeros_like(S),
            self._edges(start),
            self._total(n_tasks),
            tol=tol,
            max_iter=self.max_iter,
        )
        A = graph_structure(step.edges, n_tasks) / self.ridge
        return A, (step.cost - step.lower_bound) / step.cost, 0

    def _descend(self, S: Array, tol: float) -> StructureStep:
        """Newton from equal edges and, where S is nearly singular, through a falling ridge."""
        lowest = float(eigvalsh(S)[0])

        def stage(start: Array, ridge: float, last: bool) -> tuple[Array, float, int]:
            target = S if last else S + (ridge - lowest) * np.eye(len(S))
            return self._stage(target, start, tol if last else STAGE_TOL)

        mean = float(np.mean(np.diag(S)))
        A, gap, _ = descend(stage, np.ones_like(S), max(lowest, 1e-12 * mean), GENTLE_RIDGE * mean)
        return StructureStep(A, abs(gap))

    def _total(self, n_tasks: int) -> float:
        """The sum of all edges, (T - tau) / 2."""
        if n_tasks == 1:
            return 0.0
        tau = 1.0 + self.share * (n_tasks - 1) if self.tau is None else self.tau
        return 0.5 * (n_tasks - tau)

    def _edges(self, A: Array) -> Array:
        """The edges of a structure, as far as it has such."""
        return self.ridge * A[edge_ends(len(A))]
