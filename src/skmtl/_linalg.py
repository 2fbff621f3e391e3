"""Small pieces of linear algebra on symmetric matrices."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What may be zero, such as the weights of a task without labels, is divided by no less than this.
TINY = float(np.finfo(float).tiny)

# Up to this size NumPy is quicker than SciPy, which does more before it starts.
TINY_MATRIX = 64


def symmetric_part(M: Array) -> Array:
    """(M + M') / 2."""
    return 0.5 * (M + M.T)


def is_diagonal(M: Array) -> bool:
    """Whether all entries beside the diagonal are zero."""
    return int(np.count_nonzero(M)) == int(np.count_nonzero(np.diag(M)))


def eigh(M: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, of which the lower triangle is read."""
    if len(M) <= TINY_MATRIX:
        values, vectors = np.linalg.eigh(M)
        return values, vectors
    values, vectors = linalg.eigh(M, driver="evd", check_finite=False)
    return values, vectors


def eigh_in_place(M: Array) -> tuple[Array, Array]:
    """The same for a matrix of the size of the rows, which is overwritten."""
    if len(M) <= SMALL_DECOMPOSITION:
        # A little slower than SciPy, but other threads can work meanwhile.
        values, vectors = np.linalg.eigh(M)
        return values, vectors
    values, vectors = linalg.eigh(M, driver="evd", overwrite_a=True, check_finite=False)
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


def without_rounding(values: Array) -> Array:
    """Eigenvalues of a positive semidefinite matrix, ascending, with those that are rounding set to zero."""
    return np.where(values > len(values) * np.finfo(float).eps * values[-1], values, 0.0)


def inverse_spd(A: Array) -> Array | None:
    """Inverse of a positive definite matrix from its Cholesky factor; None when A is not, or beyond numbers."""
    factor, info = linalg.lapack.dpotrf(A, lower=1, clean=1)
    # LAPACK need not mind what is no number.
    if info != 0 or not np.all(np.isfinite(factor)):
        return None
    return inverse_from_factor(factor, lower=True)


def inverse_from_factor(factor: Array, *, lower: bool) -> Array:
    """The inverse of the matrix that has this Cholesky factor, of which the other triangle is not read."""
    # LAPACK does not take a matrix without rows.
    half = linalg.lapack.dpotri(factor, lower=lower)[0] if len(factor) else factor
    # That triangle alone is filled.
    inverse: Array = np.tril(half) + np.tril(half, -1).T if lower else np.triu(half) + np.triu(half, 1).T
    return inverse


def cholesky(form: Callable[[], Array], *, lower: bool) -> Array:
    """The Cholesky factor of the positive definite matrix that ``form`` makes anew each time.

    The other triangle is left as it is: zeros there would cost a seventh of the time.
    Where rounding hides that the matrix is positive definite, that of one that rounding cannot tell from it: a factor
    is exact for such a neighbour and no better.
    """
    # In the order of LAPACK's memory: left to its wrapper, copying would take longer than the factor of 400 rows.
    M = np.asfortranarray(form())
    missing = len(M) * float(np.finfo(float).eps) * float(np.max(np.abs(np.diag(M)), initial=TINY))
    factor, info = linalg.lapack.dpotrf(M, lower=lower, clean=0, overwrite_a=1)
    while info > 0 and np.isfinite(missing):
        M = np.asfortranarray(form())
        M[np.diag_indices_from(M)] += missing
        factor, info = linalg.lapack.dpotrf(M, lower=lower, clean=0, overwrite_a=1)
        missing *= 10.0
    if info != 0 or not np.isfinite(missing):
        raise beyond_range()
    return np.asarray(factor)


def positive_cubic_root(z: Array, c: float | Array) -> Array:
    """The positive root of l^3 - z l^2 - c = 0, for each z and c > 0."""
    # To the right of the root the cubic is convex and rising, so that Newton descends to it without overshooting. The
    # root is z + c / l^2 and at least z, and for negative z its square is at most c / |z|: both begin close by.
    # No powers are taken, which may be beyond the range of numbers.
    size = np.maximum(np.abs(z), np.cbrt(c))
    root = np.where(z > 0.0, z + c / size / size, np.sqrt(c) / np.sqrt(size))
    for _ in range(60):
        step = (root - z - c / root / root) * (root / (3.0 * root - 2.0 * z))
        root = root - step
        # The error is squared every time, and at most doubled: the next step would be lost in rounding.
        if (np.abs(step) <= 1e-9 * root).all():
            break
    return root


def conjugate_gradients(
    apply: Callable[[Array], Array],
    residual: Array,
    precondition: Callable[[Array], Array],
    finished: Callable[[Array, float], bool],
    *,
    max_steps: int,
) -> Array:
    """x with ``apply(x) = residual`` for a positive definite operator on arrays of any shape, from x = 0.

    ``finished(r, rz)`` is asked before every step: r is what is left, and rz its squared norm in the metric of
    ``precondition``, an approximate inverse of the operator.
    """
    x, r = np.zeros_like(residual), residual
    z = precondition(r)
    direction, rz = z, float(np.vdot(r, z))
    for _ in range(max_steps):
        if rz <= 0.0 or finished(r, rz):
            break
        h = apply(direction)
        curvature = float(np.vdot(direction, h))
        if curvature == 0.0:
            # It is below the range of numbers, and so is all that would be gained.
            break
        step = rz / curvature
        x = x + step * direction
        r = r - step * h
        z = precondition(r)
        rz, previous = float(np.vdot(r, z)), rz
        direction = z + (rz / previous) * direction
    return x


# From this size on, a product skips zeros sooner than BLAS multiplies them, when no more than this share is not zero.
SKIP_ZEROS_SIZE, SKIP_ZEROS_SHARE = 400, 0.04


def times_sparse(P: Array, D: Array) -> Array:
    """P D for a symmetric D that may be mostly zeros."""
    if len(D) < SKIP_ZEROS_SIZE or np.count_nonzero(D) > SKIP_ZEROS_SHARE * D.size:
        return P @ D
    return np.asarray((sparse.csr_array(D) @ P.T).T)


def mean_known(values: Array) -> float:
    """The mean of the values that are not NaN; NaN where there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def beyond_range() -> ValueError:
    """The error for a fit whose numbers are infinite, or no numbers."""
    return ValueError("a matrix of the fit is beyond the range of floating point numbers; standardize the features.")


def not_psd(lowest: float) -> ValueError:
    """The error for a kernel matrix with a negative eigenvalue."""
    return ValueError(
        f"the kernel is not positive semidefinite on these rows (smallest eigenvalue {lowest:.3g}), so it has no "
        "space of functions; use another kernel (rbf, laplacian, linear, polynomial, cosine, chi2) or other parameters."
    )


# Threads pay from about this size of matrix on, in many short steps, and in a decomposition or a search; below it they
# wait for one another.
SMALL_MATRIX = 400
SMALL_DECOMPOSITION = 1200


def has_threads() -> bool:
    """Whether BLAS may use more than one thread."""
    return any(library.num_threads > 1 for library in _controller().select(user_api="blas").lib_controllers)


def single_threaded(size: int, small: int = SMALL_MATRIX) -> AbstractContextManager[object]:
    """Keep BLAS on one thread while the matrices at hand are small."""
    return ONE_THREAD if size <= small else nullcontext()


class _OneThread:
    """BLAS on one thread from the first who enters to the last who leaves: the number is the whole process's.

    If everybody restored what they found, then of two who overlap the second would restore what the first had set.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: AbstractContextManager[object] = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.__exit__(None, None, None)


ONE_THREAD = _OneThread()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
