"""A structure of bounded trace: the trace-norm problem seen from the tasks."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from skmtl._linalg import Array, eigvalsh, positive_cubic_root, spectral_map
from skmtl._parameters import check_positive
from skmtl.penalties._multiplier import trace_multiplier
from skmtl.penalties.base import StructurePenalty, StructureStep


class Trace(StructurePenalty):
    r"""Share few directions among all tasks.

    .. math:: R(A) = \rho \lVert A \rVert_F^2 \text{ if } \operatorname{tr}(A) \le 1, \quad \infty \text{ otherwise}

    Without a ridge :math:`\rho` the structure step is :math:`A = S^{1/2} / \operatorname{tr}(S^{1/2})`, so that without
    eps the predictors W pay the squared trace norm :math:`\lVert W \rVert_*^2`. With one, large eigenvalues of A are
    held back, and the directions are shared more evenly: it leads from this penalty to :class:`Frobenius`.

    Parameters
    ----------
    ridge : float, default=0.0
        The factor :math:`\rho \ge 0` of the squared Frobenius norm.

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
    tex = r"\rho\,\|A\|_F^2 \text{ if } \operatorname{tr}(A) \le 1, \; \infty \text{ otherwise}"
    reference = "Zhang, Yeung, 2010"
    exact_bound = True

    def __init__(self, ridge: float = 0.0) -> None:
        self.ridge = ridge

    def check(self, n_tasks: int) -> None:
        check_positive("ridge", self.ridge, zero=True)

    def value(self, A: Array) -> float:
        return float(self.ridge * np.sum(A * A)) if np.trace(A) <= 1.0 + 1e-9 else np.inf

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        return StructureStep(spectral_map(S, self._with_ridge if self.ridge else _unit_trace_root), 0.0)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # Any nu >= max q proves 2 sqrt(eps) sum_i sqrt(nu - q_i) - nu, q the eigenvalues of scale^2 Q.
        q = scale**2 * eigvalsh(Q)
        if self.ridge:
            return self._bound_with_ridge(q, eps)
        nu = trace_multiplier(q, eps, 1.0)
        return 2.0 * float(np.sum(np.sqrt(eps * (nu - q)))) - nu

    def _with_ridge(self, s: Array) -> Array:
        """The a that minimize sum_i s_i/a_i + ridge a_i^2 with a sum of at most 1."""
        s = np.maximum(s, np.finfo(float).eps * s.max())
        # 2 ridge a^3 + nu a^2 - s = 0, and a <= sqrt(s / nu).
        a = self._share(lambda nu: self._roots(np.full_like(s, -nu), s), float(np.sqrt(s).sum()) ** 2)[0]
        return a / max(1.0, float(a.sum()))

    def _bound_with_ridge(self, q: Array, eps: float) -> float:
        """The same with eps for every s, and -q a besides: for any nu >= 0, less nu, no more than the minimum."""
        highest = max(float(q[-1]), 0.0) + len(q) ** 2 * eps
        a, nu = self._share(lambda nu: self._roots(q - nu, eps), highest)
        return float(np.sum(eps / a + self.ridge * a * a + (nu - q) * a)) - nu

    def _roots(self, z: Array, c: float | Array) -> Array:
        """The positive roots of 2 ridge a^3 - z a^2 - c = 0."""
        return positive_cubic_root(z / (2.0 * self.ridge), c / (2.0 * self.ridge))

    @staticmethod
    def _share(shares: Callable[[float], Array], highest: float) -> tuple[Array, float]:
        """Shares that fall with a multiplier nu, at the least nu >= 0 where their sum is at most 1."""
        if shares(0.0).sum() <= 1.0:
            return shares(0.0), 0.0
        nu = float(brentq(lambda nu: float(shares(nu).sum()) - 1.0, 0.0, 1.01 * highest, xtol=1e-300, rtol=1e-14))
        return shares(nu), nu


def _unit_trace_root(s: Array) -> Array:
    """sqrt(s) / sum sqrt(s); eigenvalues lost in rounding count as rounding."""
    root: Array = np.sqrt(np.maximum(s, np.finfo(float).eps * s.max()))
    return root / float(root.sum())
