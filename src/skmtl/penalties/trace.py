"""A structure of bounded trace: the trace-norm problem seen from the tasks."""

import numpy as np

from skmtl._linalg import Array, eigvalsh, spectral_map
from skmtl.penalties._multiplier import trace_multiplier
from skmtl.penalties.base import StructurePenalty, StructureStep


class Trace(StructurePenalty):
    r"""Share few directions among all tasks.

    .. math:: R(A) = 0 \text{ if } \operatorname{tr}(A) \le 1, \quad \infty \text{ otherwise}

    The structure step is :math:`A = S^{1/2} / \operatorname{tr}(S^{1/2})`, so that without eps the predictors W
    pay the squared trace norm :math:`\lVert W \rVert_*^2`.

    See Also
    --------
    Features : The same problem, seen from the features.
    Sparse : With ``mu=1`` the trace is a price, and here it is a budget.

    References
    ----------
    Zhang, Yeung. A convex formulation for learning task relationships in multi-task learning. UAI 2010.

    Examples
    --------
    >>> from skmtl import minimize_structure
    >>> minimize_structure([[4.0, 0.0], [0.0, 1.0]], "trace").structure.round(3)
    array([[0.667, 0.   ],
           [0.   , 0.333]])
    """

    name = "trace"
    tex = r"0 \text{ if } \operatorname{tr}(A) \le 1, \; \infty \text{ otherwise}"
    reference = "Zhang, Yeung, 2010"
    exact_bound = True

    def value(self, A: Array) -> float:
        return 0.0 if np.trace(A) <= 1.0 + 1e-9 else np.inf

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        return StructureStep(spectral_map(S, _unit_trace_root), 0.0)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # Any nu >= max q proves 2 sqrt(eps) sum_i sqrt(nu - q_i) - nu, q the eigenvalues of scale^2 Q.
        q = scale**2 * eigvalsh(Q)
        nu = trace_multiplier(q, eps, 1.0)
        return 2.0 * float(np.sum(np.sqrt(eps * (nu - q)))) - nu


def _unit_trace_root(s: Array) -> Array:
    """sqrt(s) / sum sqrt(s); eigenvalues lost in rounding count as rounding."""
    root: Array = np.sqrt(np.maximum(s, np.finfo(float).eps * s.max()))
    return root / float(root.sum())
