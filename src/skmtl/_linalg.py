"""Small pieces of linear algebra on symmetric matrices."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def symmetric_part(M: Array) -> Array:
    """(M + M') / 2."""
    return 0.5 * (M + M.T)


def eigh(M: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    values, vectors = linalg.eigh(M, driver="evd", overwrite_a=overwrite, check_finite=False)
    return values, vectors


def eigvalsh(M: Array) -> Array:
    """Eigenvalues of a symmetric matrix, ascending."""
    return np.asarray(np.linalg.eigvalsh(M), dtype=np.float64)


def largest_eigenvalue(M: Array, metric: Array) -> float:
    """The largest eigenvalue of metric^-1 M for a positive definite metric; infinite for another."""
    factor, info = linalg.lapack.dpotrf(metric, lower=1, clean=1)
    if info != 0:
        return np.inf
    half = linalg.lapack.dtrtrs(factor, M, lower=1)[0]
    return float(eigvalsh(linalg.lapack.dtrtrs(factor, half.T, lower=1)[0])[-1])


def spectral_map(M: Array, function: Callable[[Array], Array]) -> Array:
    """U f(m) U' for M = U m U'."""
    values, vectors = eigh(M)
    return symmetric_part((vectors * function(values)) @ vectors.T)


def positive_sqrt(values: Array) -> Array:
    """Square root that reads rounding below zero as zero."""
    return np.sqrt(np.maximum(values, 0.0))


def inverse_spd(A: Array) -> Array | None:
    """Inverse of a positive definite matrix from its Cholesky factor; None when A is not positive definite."""
    factor, info = linalg.lapack.dpotrf(A, lower=1, clean=1)
    if info != 0:
        return None
    inverse, info = linalg.lapack.dpotri(factor, lower=1)
    if info != 0:
        return None
    # dpotri fills the lower triangle alone.
    return inverse + np.tril(inverse, -1).T


def positive_cubic_root(z: Array, c: float) -> Array:
    """The positive root of l^3 - z l^2 - c = 0, for each z and one c > 0."""
    # To the right of the root the cubic is convex and rising, so Newton descends to it without overshooting.
    root = np.maximum(z, 0.0) + np.cbrt(c)
    for _ in range(60):
        step = (root * root * (root - z) - c) / (root * (3.0 * root - 2.0 * z))
        root = root - step
        if np.all(np.abs(step) <= 4e-16 * root):
            break
    return root


# Threads pay from about this size of matrix on, in many short steps or in one decomposition; below it they wait for
# one another.
SMALL_MATRIX = 400
SMALL_DECOMPOSITION = 1200


def single_threaded(size: int, small: int = SMALL_MATRIX) -> AbstractContextManager[object]:
    """Keep BLAS on one thread while the matrices at hand are small."""
    return _controller().limit(limits=1, user_api="blas") if size <= small else nullcontext()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
