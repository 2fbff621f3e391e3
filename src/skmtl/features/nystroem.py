"""Kernels approximated on landmarks."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from skmtl._linalg import Array, eigvalsh, not_psd
from skmtl._rows import as_rows
from skmtl._validation import check_count
from skmtl.features.landmarks import leverage_landmarks, uniform_landmarks
from skmtl.features.maps import Kernel, KernelMap

Landmarks = str | ArrayLike
CHOICES = ("uniform", "leverage")
# A kernel misses its own values on the landmarks by no more than this, relative to their size.
ROUNDING = 1e-8
# Up to this condition of K_mm, what is lost of sums that are taken with K_mm for a metric is below their rounding.
SAFE_CONDITION = 1e5


class NystroemMap(KernelMap):
    r"""k(., x_j) for some rows, the landmarks.

    Predictors are sought among combinations of these functions only, which is the exact problem for the kernel
    :math:`K_{nm} K_{mm}^{-1} K_{mn}`. With :math:`K_{mm} = LL'`, the rows of :math:`K_{nm} L^{-T}` have the identity
    for a metric. The factor is pivoted, and landmarks that others span to rounding are dropped.

    Parameters
    ----------
    kernel, params
        As for :class:`KernelMap`.
    n_components : int or None
        The number of landmarks; no more than there are rows.
    landmarks : {"uniform", "leverage"} or array-like of shape (m, d)
        How rows are drawn: all alike, or by approximate ridge leverage scores. Or the landmarks themselves.
    random_state : int, RandomState instance or None
        For the draw.
    """

    on_rows = False

    def __init__(
        self,
        kernel: Kernel = "rbf",
        params: Mapping[str, Any] | None = None,
        n_components: int | None = 100,
        landmarks: Landmarks = "uniform",
        random_state: Any = None,
    ) -> None:
        super().__init__(kernel, params)
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        points = self._given(X.shape[1]) if not isinstance(self.landmarks, str) else self._drawn(X)
        K = self._evaluate(points, points)
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel has NaN or infinite values here; scale the features or change its parameters.")
        factor, pivots = pivoted_cholesky(K)
        self.X_fit_, self.factor_ = points[pivots], factor
        return self

    @property
    def landmarks_(self) -> Any:
        """The landmarks, of shape (m, d)."""
        return self.X_fit_

    def orthonormal(self, Z: Array) -> Array:
        # Z' is in the order of memory that BLAS solves in place.
        return linalg.blas.dtrsm(1.0, self.factor_, Z.T, lower=1, overwrite_b=1).T

    def well_conditioned(self) -> bool:
        values = eigvalsh(self.factor_ @ self.factor_.T)
        return bool(values[-1] <= SAFE_CONDITION * values[0])

    def lift(self, W: Array) -> Array:
        return linalg.solve_triangular(self.factor_, W, lower=True, trans="T", check_finite=False)

    def _given(self, n_features: int) -> Any:
        given: Any = self.landmarks
        points = sparse.csr_array(given) if sparse.issparse(given) else np.array(given, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != n_features or points.shape[0] == 0:
            raise ValueError(f"landmarks has shape {points.shape}; it must be (n_components, {n_features}).")
        if self.n_components not in (None, points.shape[0]):
            raise ValueError(
                f"n_components={self.n_components!r}, but landmarks has {points.shape[0]} rows; leave one out."
            )
        return points

    def _drawn(self, X: Any) -> Any:
        rows = as_rows(X)
        count = min(check_count("n_components", self.n_components), rows.shape[0])
        seed = int(check_random_state(self.random_state).randint(2**31))
        if self.landmarks == "uniform":
            return uniform_landmarks(rows, count, seed)
        if self.landmarks == "leverage":
            return leverage_landmarks(rows, count, seed, self._evaluate)
        raise ValueError(
            f"landmarks={self.landmarks!r} is not known; choose one of {', '.join(CHOICES)}, or pass rows."
        )


def pivoted_cholesky(K: Array) -> tuple[Array, Any]:
    """L, of shape (r, r), and r rows in an order such that K of them is LL' and the others add nothing to it."""
    factor, pivots, rank, _ = linalg.lapack.dpstrf(K, lower=1)
    order = pivots - 1
    if rank == 0:
        # A kernel that is zero on all landmarks: one function, which is zero, stands for them.
        return np.ones((1, 1)), order[:1]
    factor = np.tril(factor)[:, :rank]
    if rank < len(K):
        missed = K[np.ix_(order, order)] - factor @ factor.T
        if np.abs(missed).max() > ROUNDING * np.abs(K).max():
            raise not_psd(float(eigvalsh(K)[0]))
    return np.asfortranarray(factor[:rank]), order[:rank]
