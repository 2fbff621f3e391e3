"""Basis functions k(., x_i): at every training row, or at a few landmarks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from math import comb
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics.pairwise import pairwise_kernels

from skmtl._linalg import Array, eigvalsh
from skmtl._memory import check_kernel_fits
from skmtl.features.base import EPS, FeatureMap
from skmtl.features.kernels import (
    Kernel,
    KernelFacts,
    can_expand,
    check_finite_kernel,
    check_kernel,
    kernel_diagonal,
    polynomial_from,
)
from skmtl.features.landmarks import Landmarks, choose_landmarks, pivoted_cholesky

# Up to this condition of K_mm, what is lost of sums that are taken with K_mm for a metric is below their rounding.
SAFE_CONDITION = 1e5
# Exact kernels of so few rows need less than 24 MB, and nobody asks whether there is room for them.
ROWS_THAT_FIT = 1000
# The squared distance of features from zero, relative to their variance, beyond which polynomials lose digits, and
# beyond which they are all but linear: what bends weighs less than a thousandth of what is straight.
FAR = 10.0
TOO_FAR = 1000.0


class KernelMap(FeatureMap):
    """k(., x_i) for every training row: an exact kernel.

    Parameters
    ----------
    kernel : str or callable
        A name that scikit-learn's ``pairwise_kernels`` knows, or a function of two rows.
    params : mapping
        Parameters of the kernel; names that a kernel does not take are ignored, as in ``KernelRidge``.
    feature_scale : ndarray of shape (d,) or (m, d), optional
        Features are multiplied by it before the kernel is taken; rows that are kept are as they came. With several
        scales the kernel is the mean of those on features scaled by each.
    up_to_constants : bool
        Whether coefficients will sum to zero, so that a polynomial kernel may be replaced by one that makes the same
        functions up to constants, and keeps the digits of features that are far from zero.
    """

    on_rows = fresh = dual = True

    def __init__(
        self,
        kernel: Kernel = "rbf",
        params: Mapping[str, Any] | None = None,
        feature_scale: Array | None = None,
        up_to_constants: bool = False,
    ) -> None:
        self.kernel = kernel
        self.params = params
        self.feature_scale = feature_scale
        self.up_to_constants = up_to_constants

    def fit(self, X: Array) -> Self:
        self.X_fit_, self.origin_ = X, middle_row(X)
        # Polynomials of features near zero lose nothing, and are quicker as they are.
        self.far_ = _is_far(X, FAR)
        return self

    def transform(self, X: Array) -> Array:
        X = self._as_fitted(X)
        if X is self.X_fit_ and self.on_rows and X.shape[0] > ROWS_THAT_FIT:
            check_kernel_fits(X.shape[0])
        return self.evaluate(X, self.X_fit_)

    def n_functions(self, n_features: int) -> int:
        return int(self.X_fit_.shape[0])

    def rank(self) -> float:
        n_features = self.X_fit_.shape[1]
        if not self._facts.polynomial or not can_expand(degree := self.parameters(n_features)["degree"]):
            return np.inf
        return float(comb(n_features + int(degree), int(degree)))

    def advice(self) -> str:
        curved = self._facts.polynomial and self.parameters(self.X_fit_.shape[1])["degree"] > 1
        if not curved or not _is_far(self.scaled(self.X_fit_), TOO_FAR):
            return ""
        return (
            f"kernel={self.kernel!r} is all but linear on features that are as far from zero, beside their spread, as "
            "these. Standardize the features."
        )

    def size(self, X: Any, *, center: bool) -> float:
        # Landmarks are not drawn yet, and say nothing about it.
        return float(np.mean(kernel_diagonal(X, KernelMap.fit(copy(self), X).evaluate)))

    def unspanned(self, X: Any, Z: Array) -> Array:
        return kernel_diagonal(self._as_fitted(X), self.evaluate)

    def relative_error(self) -> float:
        if (parts := self.parts()) != [self]:
            return max(part.relative_error() for part in parts)
        return EPS * self._facts.error(self.seen(self.X_fit_), self.parameters(self.X_fit_.shape[1]))

    def parameters(self, n_features: int) -> dict[str, Any]:
        """Those of the kernel, with what scikit-learn takes for gamma, degree and coef0 where they are not given."""
        gamma = 1.0 / n_features if self._facts.default_gamma is None else self._facts.default_gamma
        given = {name: value for name, value in (self.params or {}).items() if value is not None}
        return {"gamma": gamma, "degree": 3.0, "coef0": 1.0, **given}

    @property
    def _facts(self) -> KernelFacts:
        return check_kernel(self.kernel)

    def parts(self) -> list[Self]:
        """Maps with one scale each, fitted to the same rows, of which this map's kernel is the mean."""
        if self.feature_scale is None or self.feature_scale.ndim == 1:
            return [self]
        parts = [copy(self) for _ in self.feature_scale]
        for part, scale in zip(parts, self.feature_scale, strict=True):
            part.feature_scale = scale
        return parts

    def scaled(self, X: Any) -> Any:
        """Rows with scaled features, for a map with one scale."""
        if self.feature_scale is None:
            return X
        return X @ sparse.diags_array(self.feature_scale) if sparse.issparse(X) else X * self.feature_scale

    def seen(self, X: Any) -> Any:
        """Rows as the kernel of a map with one scale sees them: from the origin where differences alone count."""
        moves = self._facts.of_differences and not sparse.issparse(X)
        return self.scaled(X - self.origin_ if moves else X)

    def evaluate(self, X: Any, other: Any) -> Array:
        """The kernel at pairs of rows."""
        if (parts := self.parts()) != [self]:
            return np.asarray(sum(part.evaluate(X, other) for part in parts) / len(parts))
        if self._expands(X):
            seen = (self.scaled(rows) for rows in (self.origin_, X, other))
            with np.errstate(over="ignore", invalid="ignore"):
                return polynomial_from(*seen, **self.parameters(X.shape[1]))
        # Scikit-learn has shorter ways for a set of rows and itself.
        one = self.seen(X)
        two = one if other is X else self.seen(other)
        # What overflows is refused with a sentence by those who read it.
        with np.errstate(over="ignore", invalid="ignore"):
            if self._facts.evaluate:
                return self._facts.evaluate(one, two, self.parameters(X.shape[1]))
            K = pairwise_kernels(one, two, metric=self.kernel, filter_params=True, **(self.params or {}))
        return np.asarray(K, dtype=float)

    def _expands(self, X: Any) -> bool:
        """Whether the kernel is a polynomial that is seen from the origin."""
        polynomial = self._facts.polynomial and self.far_ and not sparse.issparse(X)
        return polynomial and self.up_to_constants and can_expand(self.parameters(X.shape[1])["degree"])

    def _as_fitted(self, X: Any) -> Any:
        """Rows, dense where those of the fit were: these are seen from an origin, and sparse ones are not."""
        return X.toarray() if sparse.issparse(X) and not sparse.issparse(self.X_fit_) else X


class NystroemMap(KernelMap):
    r"""k(., x_j) for some rows, the landmarks.

    Predictors are sought among combinations of these functions only, which is the exact problem for the kernel
    :math:`K_{nm} K_{mm}^{-1} K_{mn}`. With :math:`K_{mm} = LL'`, the rows of :math:`K_{nm} L^{-T}` have the identity
    for a metric. The factor is pivoted, and landmarks that others span to rounding are dropped.

    Parameters
    ----------
    kernel, params, feature_scale
        As for :class:`KernelMap`.
    n_components : int or None
        The number of landmarks; no more than there are rows.
    landmarks : {"uniform", "leverage"} or array-like of shape (m, d)
        How rows are drawn: all alike, or by approximate ridge leverage scores. Or the landmarks themselves.
    random_state : int, RandomState instance or None
        For the draw.
    """

    on_rows = False
    on_landmarks = True

    def __init__(
        self,
        kernel: Kernel = "rbf",
        params: Mapping[str, Any] | None = None,
        n_components: int | None = 100,
        landmarks: Landmarks = "uniform",
        random_state: Any = None,
        feature_scale: Array | None = None,
    ) -> None:
        super().__init__(kernel, params, feature_scale)
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        self.origin_, self.far_ = np.zeros(X.shape[1]), False
        points = choose_landmarks(X, self.n_components, self.landmarks, self.random_state, self.evaluate)
        # Dense ones would make the rows dense, too.
        points = sparse.csr_array(points) if sparse.issparse(X) else points
        self.origin_ = middle_row(points)
        factor, pivots = pivoted_cholesky(check_finite_kernel(self.evaluate(points, points)))
        self.X_fit_, self.factor_ = points[pivots], factor
        return self

    @property
    def landmarks_(self) -> Any:
        """The landmarks, of shape (m, d)."""
        return self.X_fit_

    def unspanned(self, X: Any, Z: Array) -> Array:
        own = super().unspanned(X, Z)
        return np.maximum(own - np.sum(self.orthonormal(Z.copy()) ** 2, axis=1), 0.0)

    def orthonormal(self, Z: Array) -> Array:
        # Z' is in the order of memory that BLAS solves in place.
        return linalg.blas.dtrsm(1.0, self.factor_, Z.T, lower=1, overwrite_b=1).T

    def well_conditioned(self) -> bool:
        values = eigvalsh(self.factor_ @ self.factor_.T)
        return bool(values[-1] <= SAFE_CONDITION * values[0])

    def lift(self, W: Array) -> Array:
        return linalg.solve_triangular(self.factor_, W, lower=True, trans="T", check_finite=False)

    def squared_norms(self, coef: Array, F: Array) -> Array:
        return np.asarray(np.sum((self.factor_.T @ coef) ** 2, axis=0))

    def rounding_of_norms(self, coef: Array) -> float:
        # Products c_i k_ij c_j have errors of about e |c_i c_j| sqrt(k_ii k_jj); their sum is seldom 5 e ||G||.
        own = np.sum(self.factor_**2, axis=1)[:, None]
        return 10.0 * self.relative_error() * float(linalg.norm(coef.T @ (own * coef)))


def _is_far(X: Any, ratio: float) -> bool:
    """Whether the squared distance of the rows from zero is more than so many times their variance; no if sparse."""
    if sparse.issparse(X):
        return False
    mean = np.asarray(X.mean(axis=0))
    return bool(mean @ mean > ratio * float(np.sum(np.var(X, axis=0))))


def middle_row(X: Any) -> Array:
    """A value of each feature to see the rows from, (d,); zero where they are sparse, for moving would fill them.

    It is the median, or the value nearest to zero where that is less than half of it: seen from far away, as from one
    value of 1e20 of two, rows near zero would have no digits.
    """
    if sparse.issparse(X):
        return np.zeros(X.shape[1])
    k, size = (X.shape[0] - 1) // 2, np.abs(X)
    middle, nearest = np.partition(X, k, axis=0)[k], X[size.argmin(axis=0), np.arange(X.shape[1])]
    return np.where(np.abs(middle) <= 2.0 * np.abs(nearest), middle, nearest)
