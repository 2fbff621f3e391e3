r"""What is known about each kernel: the one table that estimators, searches and reports read.

Kernels of differences do not change when all rows are moved to an origin m among them, which costs features far from
zero no digits. A polynomial kernel does, but

.. math:: \tilde k(x, z) = k(x, z) - k(x, m) - k(m, z) + k(m, m)

differs from it by functions of x alone and of z alone. Coefficients that sum to zero, as those of a model with
intercepts on all rows do, make the same functions of both, up to constants.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from skmtl._linalg import Array, Mask
from skmtl._parameters import is_function

# A name that scikit-learn's ``pairwise_kernels`` knows, "precomputed", or a function of two rows.
Kernel = str | Callable[..., float]

# Rows evaluated against one another for the diagonal of a kernel.
DIAGONAL_BLOCK = 64
# Binomials of higher degrees cost more than they save.
LARGEST_DEGREE = 8
# Squared norms of rows, times gamma, above which products of rows cost a Gaussian more than two digits: its distances
# are then taken from differences, some times slower.
LARGEST_PRODUCTS = 100.0
# Squared distances of sparse rows from products, relative to their squared norms, below which four digits are lost.
NEAR = 1e-4
# Numbers of features that are held at a time.
BLOCK_ENTRIES = 2**22

Params = Mapping[str, float]


def gaussian(X: Any, Z: Any, params: Params) -> Array:
    """exp(-gamma |x - z|^2) of rows near zero, or of sparse ones, with the digits of narrow ones."""
    gamma, some_sparse = params["gamma"], sparse.issparse(X) or sparse.issparse(Z)
    narrow = not some_sparse and bool(np.any(_products(Z, gamma) > LARGEST_PRODUCTS))
    K = cdist(X, Z, "sqeuclidean") if narrow else squared_distances(X, Z)
    K *= -gamma
    return np.asarray(np.exp(K, out=K))


def gaussian_error(X: Any, params: Params) -> float:
    """Errors of squared distances that are taken from products of rows are relative to the products."""
    largest = float(np.max(_products(X, params["gamma"]), initial=0.0))
    if sparse.issparse(X):
        # Where those are larger, distances that count are from differences.
        return 1.0 + min(largest, 1.0 / NEAR)
    return 1.0 + largest if largest <= LARGEST_PRODUCTS else 1.0


def squared_distances(X: Any, Z: Any = None) -> Array:
    """|x - z|^2 from products of rows; from differences of sparse ones that are near one another beside their size."""
    D = np.asarray(euclidean_distances(X, Z, squared=True))
    Z = X if Z is None else Z
    if not (sparse.issparse(X) or sparse.issparse(Z)):
        return D
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    one, other = _products(X, NEAR), _products(Z, NEAR)
    step = max(BLOCK_ENTRIES // Z.shape[0], 1)
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        i, j = np.nonzero(D[rows] < one[rows, None] + other)
        D[rows][i, j] = _squared_differences(X[rows], Z, i, j)
    return D


def _squared_differences(X: Any, Z: Any, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
    """|x - z|^2 of pairs of sparse rows, of shape (len(i),), some pairs at a time."""
    found, step = np.empty(len(i)), max(BLOCK_ENTRIES * X.shape[0] // max(X.nnz, 1), 1)
    for start in range(0, len(i), step):
        pairs = slice(start, start + step)
        found[pairs] = _products(X[i[pairs]] - Z[j[pairs]], 1.0)
    return found


def too_wide(values: Array, gamma: float) -> Mask:
    """Features, (d,), whose values reach so far from zero that products cost a Gaussian's differences two digits."""
    return np.sqrt(gamma) * np.max(np.abs(values), axis=0) > np.sqrt(LARGEST_PRODUCTS)


def _products(X: Any, gamma: float) -> Array:
    """The squared norms of the rows, times gamma."""
    return np.asarray(gamma * (X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)))


def polynomial_error(X: Any, params: Params) -> float:
    """A power is as wrong as its base times the degree, and by a rounding of its own; half of it, for errors cancel."""
    return 0.5 * (1.0 + params["degree"])


def usual_error(X: Any, params: Params) -> float:
    """That of one rounding."""
    return 1.0


@dataclass(frozen=True)
class KernelFacts:
    """What is known about one kernel.

    Attributes
    ----------
    parameters : tuple of str
        Those of gamma, degree and coef0 that it takes.
    sparse_rows : bool
        Whether it takes sparse rows.
    positive : bool
        Whether it is positive semidefinite on any rows, for every gamma > 0, degree >= 1 and coef0.
    distances : callable or None
        Distances between rows, of which k is a function of gamma times that distance; gamma, an inverse width, is then
        searched around one over their median. None where gamma is not searched.
    of_differences : bool
        Whether k depends on the difference of two rows alone, so that all rows may be moved.
    polynomial : bool
        Whether it is (gamma x'z + coef0)^degree, so that it has a rank, and can be seen from an origin.
    default_gamma : float or None
        What ``pairwise_kernels`` takes for gamma where none is given; None is one over the number of features.
    evaluate : callable or None
        k at pairs of rows, from these and all parameters, where ``pairwise_kernels`` would lose digits.
    error : callable
        How wrong k is for rounding, relative to its size and in roundings, on rows and with all parameters.
    """

    parameters: tuple[str, ...] = ()
    sparse_rows: bool = True
    positive: bool = True
    distances: Callable[[Any], Array] | None = None
    of_differences: bool = False
    polynomial: bool = False
    default_gamma: float | None = None
    evaluate: Callable[[Any, Any, Params], Array] | None = None
    error: Callable[[Any, Params], float] = usual_error


# Polynomial and sigmoid kernels have a gamma that is no inverse width: nothing is gained by searching it.
_POLYNOMIAL = KernelFacts(("gamma", "degree", "coef0"), positive=False, polynomial=True, error=polynomial_error)
_GAUSSIAN = KernelFacts(
    ("gamma",),
    distances=squared_distances,
    of_differences=True,
    evaluate=gaussian,
    error=gaussian_error,
)
KERNELS: dict[str, KernelFacts] = {
    "precomputed": KernelFacts(sparse_rows=False, positive=False),
    "additive_chi2": KernelFacts(sparse_rows=False, positive=False),
    "chi2": KernelFacts(("gamma",), sparse_rows=False, default_gamma=1.0),
    "cosine": KernelFacts(),
    "laplacian": KernelFacts(("gamma",), distances=manhattan_distances, of_differences=True),
    "linear": KernelFacts(),
    "poly": _POLYNOMIAL,
    "polynomial": _POLYNOMIAL,
    "rbf": _GAUSSIAN,
    "sigmoid": KernelFacts(("gamma", "coef0"), positive=False),
}
# Of a function that the user wrote nothing is known; it gets the rows as they are.
_CALLABLE = KernelFacts(positive=False)


def check_kernel(kernel: Kernel) -> KernelFacts:
    """What is known about a kernel, given by name or as a function; ``ValueError`` for a name that is not known."""
    if is_function(kernel):
        return _CALLABLE
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r:.50} is not known; choose one of {', '.join(KERNELS)}, or pass a function of two rows."
        )
    return KERNELS[kernel]


def check_finite_kernel(K: Array) -> Array:
    """A kernel matrix without NaN and infinity."""
    if not np.all(np.isfinite(K)):
        raise ValueError("the kernel has NaN or infinite values here; scale the features or change its parameters.")
    return K


def kernel_diagonal(X: Any, evaluate: Callable[[Any, Any], Array]) -> Array:
    """k(x, x) at every row, from small blocks of the kernel, of shape (n,)."""
    pieces = [X[i : i + DIAGONAL_BLOCK] for i in range(0, X.shape[0], DIAGONAL_BLOCK)]
    return np.concatenate([np.diag(evaluate(piece, piece)) for piece in pieces])


def can_expand(degree: Any) -> bool:
    """Whether a polynomial kernel of this degree can be seen from an origin."""
    return float(degree).is_integer() and 1 <= degree <= LARGEST_DEGREE


def polynomial_from(origin: Array, X: Array, Z: Array, *, gamma: float, degree: float, coef0: float) -> Array:
    """k(x, z) - k(x, m) - k(m, z) + k(m, m) for k = (gamma x'z + coef0)^degree, without the cancellation."""
    degree = int(degree)
    U, V = X - origin, Z - origin
    # gamma x'z + coef0 = level + a + b + cross.
    level = np.float64(gamma * float(origin @ origin) + coef0)
    a, b = (gamma * (U @ origin))[:, None], gamma * (V @ origin)
    cross = gamma * (U @ V.T)
    plane, inner = a + b, a + b + cross
    total = np.zeros_like(cross)
    for k in range(1, degree + 1):
        # (plane + cross)^k - a^k - b^k, in products.
        bent = sum((inner**j * plane ** (k - 1 - j) for j in range(1, k)), start=plane ** (k - 1))
        mixed = sum((comb(k, j) * a**j * b ** (k - j) for j in range(1, k)), start=np.zeros(()))
        total += comb(degree, k) * level ** (degree - k) * (cross * bent + mixed)
    return total
