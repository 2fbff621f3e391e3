"""The training rows in an orthonormal basis of functions in which their covariance is diagonal.

With weights w, ``K = Z M^-1 Z'`` of the rows becomes ``D^{1/2} H K H' D^{1/2} = V diag(k) V'``, where D = diag(w) and
H subtracts the weighted mean (with an intercept; else H = I). A predictor with coefficients W of shape (r, T) has
scores ``V diag(k)^{1/2} W`` on the weighted rows, and squared norm W'W.
"""

from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse

from skmtl._linalg import TINY, Array, eigh_in_place, not_psd
from skmtl.features import FeatureMap
from skmtl.features.kernels import check_finite_kernel
from skmtl.objective import Rounding

BLOCK = 256
# Kernels beyond this have squares that overflow.
LARGEST = 1e150
EPS = float(np.finfo(float).eps)
# Eigenvalues of a kernel are wrong by about this, relative to the largest (LAPACK and the entries have a part each);
# those above twice that are its own. Sums of products of n rows are wrong by more: n EPS at most.
KERNEL_ERROR, SUM_ERROR = 2.0 * EPS, 4.0 * EPS
# The squared mean of a sparse feature, relative to its variance, above which it is centred before products are taken:
# no more than one in so many of its values is zero, so that next to nothing is filled.
FAR = 10.0
# The eigenvector of the constant is this near to it, unless the kernel is not positive semidefinite.
NEAR = 0.9


class Basis(Protocol):
    """What estimators need of the training rows."""

    # Positive eigenvalues k, of shape (r,).
    values: Array
    # What rounding may hide of the kernel.
    rounding: Rounding
    # Weighted mean of the rows of Z, of shape (D,); zero without an intercept.
    center: Array

    def lift(self, W: Array) -> Array:
        """Coefficients on Z, of shape (D, T), of the predictor W."""

    def locate(self, Z: Any) -> Array:
        """Phi of new rows at which the basis functions are Z, about the mean of the training rows, (n, r)."""


class Design(Basis, Protocol):
    """What the solvers need of the training rows in memory."""

    def project(self, Y: Array) -> Array:
        """V'Y for targets Y of the weighted rows, of shape (n, T); the result is (r, T)."""

    def unproject(self, P: Array) -> Array:
        """V P, of shape (n, T)."""

    def rows(self) -> Array:
        """Phi, the centered rows in the basis, without their weights, of shape (n, r)."""

    def scores(self, W: Array) -> Array:
        """Phi W, of shape (n, T), without making Phi where that is as large as the kernel matrix."""

    def left_over(self, Z: Any, Phi: Array) -> Array:
        """Squared norms of new rows about the mean, in the coordinates of the map, less those of Phi, (n,).

        A kernel on training rows has no such coordinates: there k(x, x) is to be added.
        """


def make_design(feature_map: FeatureMap, Z: Any, weight: Array, *, intercept: bool, overwrite: bool) -> Design:
    """The design of rows at which the basis functions are Z, with positive or zero weights of shape (n,).

    Z is the kernel matrix of the rows where the map is ``on_rows``; with ``overwrite`` its memory is used.
    """
    if feature_map.on_rows:
        Z, error = Z if overwrite else Z.copy(), feature_map.relative_error()
        return KernelDesign(Z, weight, intercept=intercept, rank=feature_map.rank(), error=error)
    if sparse.issparse(Z):
        return SparseDesign(Z, weight, intercept=intercept)
    return PrimalDesign(feature_map, Z, weight, intercept=intercept)


class KernelDesign:
    """The design of an exact kernel, from its matrix K on the training rows, which is overwritten.

    ``rank`` is the largest that the kernel can have, whatever the rows, and ``error`` how wrong its entries may be,
    relative to their size.
    """

    def __init__(self, K: Array, weight: Array, *, intercept: bool, rank: float = np.inf, error: float = EPS) -> None:
        n = len(K)
        check_finite_kernel(K)
        self._root, self._mean_weight = np.sqrt(weight), weight / weight.sum() if intercept else np.zeros(n)
        if not np.all(weight == 1.0):
            K *= self._root[:, None]
            K *= self._root
        # The transpose of a symmetric matrix is itself, in the order of memory that LAPACK overwrites.
        K = K.T
        # A kernel of zeros is as any other: nothing of it stands out from rounding.
        size = float(np.abs(np.diag(K)).max()) or 1.0
        if size > LARGEST:
            raise ValueError(
                f"the kernel reaches {size:.3g}, beyond what double precision can square; scale the features."
            )
        self.center = np.zeros(n)
        self._constant = None
        if intercept:
            self._constant = e = self._root / np.linalg.norm(self._root)
            Ke = K @ e
            eKe = float(e @ Ke)
            # The weighted mean of the rows of the kernel as it came.
            self.center = np.divide(Ke, self._root, out=np.zeros(n), where=self._root > 0.0) / np.linalg.norm(
                self._root
            )
            # (I - ee') K (I - ee') - size ee' is a symmetric update of rank two, of one triangle. Far from all others,
            # the constant is the first eigenvector; beside tiny eigenvalues, theirs would lean towards it.
            K = linalg.blas.dsyr2(-1.0, e, Ke - 0.5 * (eKe - size) * e, lower=1, a=K, overwrite_a=1)
        values, vectors = eigh_in_place(K)
        if intercept:
            if abs(e @ vectors[:, 0]) < NEAR:
                raise not_psd(values[0])
            values, vectors = values[1:], vectors[:, 1:]
        # Centring leaves of large entries what rounding made of them: small beside the kernel before it, not after.
        size = max(size, float(values.max(initial=0.0)))
        # Errors of entries that have nothing to do with one another make eigenvalues of about sqrt(n) times their size.
        tolerance = max(1e-10, 10.0 * n * EPS, 10.0 * np.sqrt(n) * error) * size
        if values.min(initial=0.0) < -tolerance:
            raise not_psd(values[0])
        if intercept:
            _check_constant_direction(values, vectors.T @ (Ke - eKe * e), eKe, tolerance)
        # Negative ones are nothing but rounding.
        lost = max(KERNEL_ERROR * size, -float(values.min(initial=0.0)))
        keep = values > 2.0 * lost
        self.values, self._vectors = values[keep], vectors[:, keep]
        # Where all eigenvalues that there can be are kept, there is nothing outside.
        whole = len(self.values) >= min(rank, n) - intercept
        self.rounding = Rounding(self.values, lost, 0.0 if whole else _largest(values[~keep], lost))

    def project(self, Y: Array) -> Array:
        return self._vectors.T @ Y

    def unproject(self, P: Array) -> Array:
        return self._vectors @ P

    def rows(self) -> Array:
        return _inverse(self._root)[:, None] * self._vectors * np.sqrt(self.values)

    def scores(self, W: Array) -> Array:
        return _inverse(self._root)[:, None] * (self._vectors @ (np.sqrt(self.values)[:, None] * W))

    def lift(self, W: Array) -> Array:
        C = self._vectors @ (W / np.sqrt(self.values)[:, None])
        if self._constant is not None:
            # Divided by tiny values, the rest of the constant counts, where the kernel as it came is large.
            C -= np.outer(self._constant, self._constant @ C)
        return self._root[:, None] * C

    def locate(self, Z: Array) -> Array:
        # D^{1/2} H' V diag(k)^{-1/2} from the right, without a product of the size of K by K.
        Z = (Z - self.center) * self._root
        if self._constant is not None:
            Z -= np.outer(Z @ self._constant, self._constant)
        return self.project(Z.T).T / np.sqrt(self.values)

    def left_over(self, Z: Array, Phi: Array) -> Array:
        mean = self._mean_weight
        return np.asarray(self.center @ mean - 2.0 * (Z @ mean) - np.sum(Phi**2, axis=1))


class PrimalDesign:
    """The design of explicit features Z, decomposed on their smaller side."""

    def __init__(self, feature_map: FeatureMap, Z: Array, weight: Array, *, intercept: bool) -> None:
        self._map = feature_map
        self.center = weight @ Z / weight.sum() if intercept else np.zeros(Z.shape[1])
        self._root = np.sqrt(weight)[:, None]
        self._rows = feature_map.orthonormal(self._root * (Z - self.center))
        n, D = self._rows.shape
        small = self._rows.T @ self._rows if D <= n else self._rows @ self._rows.T
        self.values, vectors, self.rounding = spectrum(small, n)
        self._basis = vectors if D <= n else self._rows.T @ (vectors / np.sqrt(self.values))

    def project(self, Y: Array) -> Array:
        return (self._basis.T @ (self._rows.T @ Y)) / np.sqrt(self.values)[:, None]

    def unproject(self, P: Array) -> Array:
        return self._rows @ (self._basis @ (P / np.sqrt(self.values)[:, None]))

    def rows(self) -> Array:
        return (_inverse(self._root) * self._rows) @ self._basis

    def scores(self, W: Array) -> Array:
        return _inverse(self._root) * (self._rows @ (self._basis @ W))

    def lift(self, W: Array) -> Array:
        return self._map.lift(self._basis @ W)

    def locate(self, Z: Array) -> Array:
        return self._map.orthonormal(Z - self.center) @ self._basis

    def left_over(self, Z: Array, Phi: Array) -> Array:
        if self._basis.shape[0] == self._basis.shape[1]:
            # They span all coordinates.
            return np.zeros(len(Phi))
        return np.sum(self._map.orthonormal(Z - self.center) ** 2, axis=1) - np.sum(Phi**2, axis=1)


class SparseDesign:
    """The design of sparse features: centring them would fill them, so that it is done to their products.

    Features far from zero, which have hardly any zeros, would lose digits there, and are moved to their means before.
    """

    def __init__(self, Z: Any, weight: Array, *, intercept: bool) -> None:
        n, D = Z.shape
        root = np.sqrt(weight)
        self._origin = _means_of_far_features(Z, weight) if intercept else np.zeros(D)
        Z = self._moved(Z)
        # The weighted rows are Zw - root mean'.
        self._Zw, self._root = sparse.diags_array(root, format="csr") @ Z, root[:, None]
        self._mean = weight @ Z / weight.sum() if intercept else np.zeros(D)
        self.center = self._origin + self._mean
        self._wide = D > n
        if self._wide:
            u = self._Zw @ self._mean - 0.5 * float(self._mean @ self._mean) * root
            small = (self._Zw @ self._Zw.T).toarray() - np.outer(u, root) - np.outer(root, u)
        else:
            # Z'Z - n mean mean'.
            small = (self._Zw.T @ self._Zw).toarray() - weight.sum() * np.outer(self._mean, self._mean)
        self.values, self._vectors, self.rounding = spectrum(small, n)

    # With more features than rows the basis is Zc'V diag(k)^{-1/2}. It would be as large as the rows made dense, D x n,
    # so that only its products are computed.

    def project(self, Y: Array) -> Array:
        if self._wide:
            return self._vectors.T @ Y
        return (self._vectors.T @ self._adjoint(Y)) / np.sqrt(self.values)[:, None]

    def unproject(self, P: Array) -> Array:
        return self._root * self.scores(P / np.sqrt(self.values)[:, None])

    def rows(self) -> Array:
        if self._wide:
            return _inverse(self._root) * self._vectors * np.sqrt(self.values)
        return _inverse(self._root) * (self._Zw @ self._vectors - self._root * (self._mean @ self._vectors))

    def scores(self, W: Array) -> Array:
        if self._wide:
            return _inverse(self._root) * (self._vectors @ (np.sqrt(self.values)[:, None] * W))
        lifted = self._vectors @ W
        return _inverse(self._root) * (self._Zw @ lifted - self._root * (self._mean @ lifted))

    def lift(self, W: Array) -> Array:
        if self._wide:
            return self._adjoint(self._vectors @ (W / np.sqrt(self.values)[:, None]))
        return self._vectors @ W

    def locate(self, Z: Any) -> Array:
        Z = self._moved(Z)
        shift = Z @ self._mean
        if not self._wide:
            return np.asarray(Z @ self._vectors - self._mean @ self._vectors)
        products = np.asarray((Z @ self._Zw.T).toarray()) - np.outer(shift - self._mean @ self._mean, self._root[:, 0])
        return (products - self._Zw @ self._mean) @ (self._vectors / np.sqrt(self.values))

    def left_over(self, Z: Any, Phi: Array) -> Array:
        Z = self._moved(Z)
        own = np.asarray(Z.multiply(Z).sum(axis=1)).ravel() - 2.0 * (Z @ self._mean) + self._mean @ self._mean
        return np.asarray(own - np.sum(Phi**2, axis=1))

    def _moved(self, Z: Any) -> Any:
        """Rows, made sparse if they are not, seen from the origin."""
        Z = sparse.csr_array(Z)
        if not np.any(self._origin):
            return Z
        return Z - sparse.csr_array(np.ones((Z.shape[0], 1))) @ sparse.csr_array(self._origin[None])

    def _adjoint(self, U: Array) -> Array:
        """The centred, weighted rows transposed, times U."""
        return np.asarray(self._Zw.T @ U - np.outer(self._mean, self._root[:, 0] @ U))


def _means_of_far_features(Z: Any, weight: Array) -> Array:
    """The weighted means of features that vary little beside them, zero for all others, of shape (D,)."""
    mean, squares = weight @ Z / weight.sum(), weight @ Z.multiply(Z) / weight.sum()
    return np.where(mean**2 > FAR * (squares - mean**2), mean, 0.0)


def spectrum(small: Array, n: float) -> tuple[Array, Array, Rounding]:
    """Positive eigenvalues and vectors of the products of n rows, and what rounding hides; ``small`` is overwritten."""
    values, vectors = eigh_in_place(small)
    size = max(float(values[-1]), 0.0)
    keep = values > max(n, len(small)) * EPS * size
    error = _largest(values[~keep], SUM_ERROR * size)
    # Explicit features have no directions but their own.
    return values[keep], vectors[:, keep], Rounding(values[keep], error, 0.0 if keep.all() else error)


def _largest(left_out: Array, error: float) -> float:
    """How large eigenvalues that were left out may be."""
    return max(error, float(np.abs(left_out).max(initial=0.0)))


def _inverse(root: Array) -> Array:
    """1 / root, zero where it is zero."""
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0)


def check_square_and_symmetric(K: Array) -> None:
    """For a kernel matrix that the user computed."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"the kernel matrix of the training rows has shape {K.shape}; it must be square.")
    asymmetry = max(
        # In blocks, so that a matrix and its transpose are read along the same cache lines.
        float(np.abs(K[i : i + BLOCK, j : j + BLOCK] - K[j : j + BLOCK, i : i + BLOCK].T).max())
        for i in range(0, len(K), BLOCK)
        for j in range(0, i + 1, BLOCK)
    )
    if asymmetry > 1e-8 * float(np.abs(K).max()):
        raise ValueError(f"the kernel matrix is not symmetric: mirrored entries differ by up to {asymmetry:.3g}.")


def _check_constant_direction(values: Array, cross: Array, eKe: float, tolerance: float) -> None:
    """Centring hides the direction e of the constant; K is PSD when also its Schur complement there is not negative.

    ``cross`` holds v_i' (I - ee') K e for the eigenvectors v_i of the centred kernel.
    """
    # Cross terms with a null direction of a PSD matrix vanish; the ridge keeps rounding there from counting.
    schur = eKe - float(np.sum(cross**2 / (np.maximum(values, 0.0) + max(tolerance, TINY))))
    if schur < -len(values) * tolerance:
        raise not_psd(schur)
