"""Feature maps: the basis functions in which predictors are expanded.

A predictor is ``transform(X) @ coef``, and its squared norm ``coef' M coef`` with M the map's metric.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skmtl._linalg import Array

Kernel = str | Callable[..., float]
KERNELS = ("precomputed", *sorted(PAIRWISE_KERNEL_FUNCTIONS))


class FeatureMap(BaseEstimator):
    """Basis functions evaluated at data."""

    # Whether the basis functions are k(., x_i) at the training rows, so that the metric is the map of those rows.
    on_rows = False
    # Whether ``transform`` returns an array of its own, which may be overwritten.
    fresh = False

    def fit(self, X: Array) -> Self:
        """Remember what the basis functions need of the training rows."""
        raise NotImplementedError

    def transform(self, X: Array) -> Array:
        """The basis functions at the rows of X, of shape (n, D)."""
        raise NotImplementedError


class LinearMap(FeatureMap):
    """The features themselves: the linear kernel seen from the primal."""

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X


class KernelMap(FeatureMap):
    """k(., x_i) for every training row: an exact kernel.

    Parameters
    ----------
    kernel : str or callable
        A name that scikit-learn's ``pairwise_kernels`` knows, or a function of two rows.
    params : mapping
        Parameters of the kernel; names that a kernel does not take are ignored, as in ``KernelRidge``.
    """

    on_rows = True
    fresh = True

    def __init__(self, kernel: Kernel = "rbf", params: Mapping[str, Any] | None = None) -> None:
        self.kernel = kernel
        self.params = params

    def fit(self, X: Array) -> Self:
        self.X_fit_ = X
        return self

    def transform(self, X: Array) -> Array:
        return np.asarray(
            pairwise_kernels(X, self.X_fit_, metric=self.kernel, filter_params=True, **(self.params or {})), dtype=float
        )


class PrecomputedMap(FeatureMap):
    """Rows of a kernel matrix that the user has computed: k(x, x_i) for every training row x_i."""

    on_rows = True

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X


def make_feature_map(
    kernel: Kernel,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
) -> FeatureMap:
    """The feature map of a kernel given by name or as a callable."""
    if callable(kernel):
        return KernelMap(kernel, kernel_params)
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is not known; choose one of {', '.join(KERNELS)}, or pass a callable.")
    if kernel == "linear":
        return LinearMap()
    if kernel == "precomputed":
        return PrecomputedMap()
    # Without a gamma every kernel falls back on its own default.
    width = {} if gamma is None else {"gamma": gamma}
    return KernelMap(kernel, {**width, "degree": degree, "coef0": coef0})
