"""Squared Frobenius penalty: output kernel learning."""

import numpy as np

from skmtl._linalg import Array, eigvalsh, positive_cubic_root, spectral_map
from skmtl._parameters import check_positive
from skmtl.penalties.base import StructurePenalty, StructureStep


class Frobenius(StructurePenalty):
    r"""Keep the structure small in every direction alike.

    .. math:: R(A) = w \, \lVert A \rVert_F^2

    On the eigenvalues :math:`s` of :math:`S` the structure step reads
    :math:`-s/a^2 + 2wa = 0`, hence :math:`a = (s / 2w)^{1/3}`.

    Parameters
    ----------
    weight : float, default=1.0
        The factor :math:`w > 0`.

    See Also
    --------
    Trace : Prefers few directions to many.

    References
    ----------
    Dinuzzo, Ong, Gehler, Pillonetto. Learning output kernels with block coordinate descent. ICML 2011.

    Examples
    --------
    >>> from skmtl import minimize_structure
    >>> from skmtl.penalties import Frobenius
    >>> minimize_structure([[8.0, 0.0], [0.0, 1.0]], Frobenius(weight=0.5)).structure.round(3)
    array([[2., 0.],
           [0., 1.]])
    """

    name = "frobenius"
    tex = r"w\,\|A\|_F^2"
    reference = "Dinuzzo, Ong, Gehler, Pillonetto, 2011"
    exact_bound = True

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight

    def check(self, n_tasks: int) -> None:
        check_positive("weight", self.weight)

    def value(self, A: Array) -> float:
        return float(self.weight * np.sum(A * A))

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        return StructureStep(spectral_map(S, self._root), 0.0)

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        # One scalar problem, eps/a + w a^2 - q a, per eigenvalue q of scale^2 Q: 2 w a^3 - q a^2 - eps = 0.
        q = scale**2 * eigvalsh(Q)
        a = positive_cubic_root(q / (2.0 * self.weight), eps / (2.0 * self.weight))
        return float(np.sum(eps / a + self.weight * a * a - q * a))

    def _root(self, s: Array) -> Array:
        """(s / 2w)^{1/3}; eigenvalues lost in rounding count as rounding."""
        root: Array = np.cbrt(np.maximum(s, np.finfo(float).eps * s.max()) / (2.0 * self.weight))
        return root
