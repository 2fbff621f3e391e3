"""The contract of feature maps: the basis functions in which predictors are expanded.

A predictor is ``transform(X) @ coef``, and its squared norm ``coef' M coef`` with M the map's metric.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skmtl._linalg import Array

EPS = float(np.finfo(float).eps)


class FeatureMap(BaseEstimator):
    """Basis functions evaluated at data."""

    # Whether the basis functions are k(., x_i) at the training rows, so that the metric is the map of those rows.
    on_rows = False
    # Whether ``transform`` returns an array of its own, which may be overwritten.
    fresh = False
    # Whether the basis functions are k(., x) at some rows, so that coefficients belong to those rows.
    dual = False
    # Whether those rows are landmarks, kept as ``landmarks_``.
    on_landmarks = False

    def fit(self, X: Array) -> Self:
        """Remember what the basis functions need of the training rows."""
        raise NotImplementedError

    def transform(self, X: Array) -> Array:
        """The basis functions at the rows of X, of shape (n, D)."""
        raise NotImplementedError

    def n_functions(self, n_features: int) -> int:
        """D, the number of basis functions for rows with so many features."""
        return n_features

    def rank(self) -> float:
        """The largest rank that the kernel can have on any rows, of a map that is fitted."""
        return np.inf

    def advice(self) -> str:
        """What should be told of the rows that the map is fitted to, as a sentence; empty where there is nothing."""
        return ""

    def size(self, X: Any, *, center: bool) -> float:
        """The mean of the diagonal of the kernel on the rows of X; of features about their mean with ``center``.

        The map need not be fitted.
        """
        raise NotImplementedError

    def unspanned(self, X: Any, Z: Array) -> Array:
        """k(x, x) less its part in the coordinates of ``orthonormal``, at rows X with basis functions Z, (n,).

        A map on training rows has no such coordinates: there it is k(x, x) itself.
        """
        return np.zeros(X.shape[0])

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

    def squared_norms(self, coef: Array, F: Array) -> Array:
        """Squared norms of predictors, (T,), from coefficients on Z and, where ``on_rows``, their values Z coef."""
        return np.sum(coef * (F if self.on_rows else coef), axis=0)

    def rounding_of_norms(self, coef: Array) -> float:
        """What rounding makes of the sum of ``squared_norms``, beyond what it makes of every sum."""
        return 0.0

    def relative_error(self) -> float:
        """How wrong basis functions may be for rounding, and products with them, relative to their size."""
        return EPS
