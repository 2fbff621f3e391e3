"""Feature maps: the basis functions in which predictors are expanded.

A predictor is ``transform(X) @ coef``, and its squared norm ``coef' M coef`` with M the map's metric.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skmtl._linalg import Array

Kernel = str | Callable[..., float]
# Rows evaluated against one another for the diagonal of the kernel.
DIAGONAL_BLOCK = 64
KERNELS = ("precomputed", *sorted(PAIRWISE_KERNEL_FUNCTIONS))


class FeatureMap(BaseEstimator):
    """Basis functions evaluated at data."""

    # Whether the basis functions are k(., x_i) at the training rows, so that the metric is the map of those rows.
    on_rows = False
    # Whether ``transform`` returns an array of its own, which may be overwritten.
    fresh = False
    # Whether the basis functions are k(., x) at some rows, so that coefficients belong to those rows.
    dual = False

    def fit(self, X: Array) -> Self:
        """Remember what the basis functions need of the training rows."""
        raise NotImplementedError

    def transform(self, X: Array) -> Array:
        """The basis functions at the rows of X, of shape (n, D)."""
        raise NotImplementedError

    def n_functions(self, n_features: int) -> int:
        """D, the number of basis functions for rows with so many features."""
        return n_features

    def size(self, X: Any, *, center: bool) -> float:
        """The mean of the diagonal of the kernel on the rows of X; of features about their mean with ``center``."""
        raise NotImplementedError

    def orthonormal(self, Z: Array) -> Array:
        """Phi = Z R with RR' = M^-1: rows Z in coordinates whose metric is the identity, of shape (n, r).

        Z may be overwritten where it is the map's own.
        """
        return Z

    def well_conditioned(self) -> bool:
        """Whether sums over rows Z, made those of Phi afterwards, have as many digits as sums over rows Phi."""
        return True

    def lift(self, W: Array) -> Array:
        """R W: coefficients on Z, of shape (D, T), of predictors W in those coordinates."""
        return W


class LinearMap(FeatureMap):
    """The features themselves: the linear kernel seen from the primal."""

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X

    def size(self, X: Any, *, center: bool) -> float:
        mean = np.asarray(X.mean(axis=0)) if center else np.zeros(X.shape[1])
        if sparse.issparse(X):
            squares = float(X.multiply(X).sum()) / X.shape[0]
            size, rounding = squares - float(mean @ mean), 1e-14 * squares
        else:
            size, rounding = float(np.mean(np.sum((X - mean) ** 2, axis=1))), (1e-14 * float(np.abs(mean).sum())) ** 2
        # Features that are constant have no size, whatever rounding makes of it.
        return size if size > rounding else 0.0


class KernelMap(FeatureMap):
    """k(., x_i) for every training row: an exact kernel.

    Parameters
    ----------
    kernel : str or callable
        A name that scikit-learn's ``pairwise_kernels`` knows, or a function of two rows.
    params : mapping
        Parameters of the kernel; names that a kernel does not take are ignored, as in ``KernelRidge``.
    """

    on_rows = fresh = dual = True

    def __init__(self, kernel: Kernel = "rbf", params: Mapping[str, Any] | None = None) -> None:
        self.kernel = kernel
        self.params = params

    def fit(self, X: Array) -> Self:
        self.X_fit_ = X
        return self

    def transform(self, X: Array) -> Array:
        return self._evaluate(X, self.X_fit_)

    def n_functions(self, n_features: int) -> int:
        return int(self.X_fit_.shape[0])

    def size(self, X: Any, *, center: bool) -> float:
        return float(np.mean(diagonal(X, self._evaluate)))

    def _evaluate(self, X: Any, other: Any) -> Array:
        """The kernel at pairs of rows."""
        return np.asarray(
            pairwise_kernels(X, other, metric=self.kernel, filter_params=True, **(self.params or {})), dtype=float
        )


def diagonal(X: Any, evaluate: Callable[[Any, Any], Array]) -> Array:
    """k(x, x) at every row, from small blocks of the kernel, of shape (n,)."""
    pieces = [X[i : i + DIAGONAL_BLOCK] for i in range(0, X.shape[0], DIAGONAL_BLOCK)]
    return np.concatenate([np.diag(evaluate(piece, piece)) for piece in pieces])


class PrecomputedMap(FeatureMap):
    """Rows of a kernel matrix that the user has computed: k(x, x_i) for every training row x_i."""

    on_rows = dual = True

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X
