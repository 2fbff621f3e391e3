r"""How much predictors change along each feature, and the scale of the features that follows from it.

For a predictor :math:`f_t(x) = \sum_j C_{jt} k(z, z_j)` on scaled features :math:`z = r \circ x`,

.. math:: \frac{\partial f_t}{\partial x_k}(x) = r_k \sum_j C_{jt} \frac{\partial k(z, z_j)}{\partial z_k}, \qquad
    m_k = \operatorname{mean}_{i,t} \Bigl( \frac{\partial f_t}{\partial x_k}(x_i) \Bigr)^2,

m is the diagonal of the average outer product of gradients, and the next scale is proportional to its square root
(Radhakrishnan, Beaglehole, Pandit, Belkin. Mechanism for feature learning in neural networks and backpropagation-free
machine learning models. Science 2024).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from skmtl._linalg import TINY, Array
from skmtl.features.base import FeatureMap
from skmtl.features.kernels import BLOCK_ENTRIES, too_wide

Params = Mapping[str, Any]
# P and Q, of shape (n, m), such that dk(x, y)/dx_k = P y_k - Q x_k; a Q of None is zero.
Products = Callable[[Any, Any, Array, Params], tuple[Array, Array | None]]
# dlog k(x, y)/dx_k of a column of x, (n, 1), and a row of y, (1, m), of one feature.
LogSlope = Callable[[Array, Array, Params], Array]


def _rbf(X: Any, Y: Any, K: Array, params: Params) -> tuple[Array, Array | None]:
    P = 2.0 * params["gamma"] * K
    return P, P


def _linear(X: Any, Y: Any, K: Array, params: Params) -> tuple[Array, Array | None]:
    return np.ones_like(K), None


def _polynomial(X: Any, Y: Any, K: Array, params: Params) -> tuple[Array, Array | None]:
    gamma, degree = params["gamma"], params["degree"]
    inner = gamma * pairwise_kernels(X, Y, metric="linear") + params["coef0"]
    return gamma * degree * inner ** (degree - 1.0), None


def _sigmoid(X: Any, Y: Any, K: Array, params: Params) -> tuple[Array, Array | None]:
    return params["gamma"] * (1.0 - K**2), None


def _cosine(X: Any, Y: Any, K: Array, params: Params) -> tuple[Array, Array | None]:
    one, other = _norms(X), _norms(Y)
    return 1.0 / np.outer(one, other), K / one[:, None] ** 2


def _norms(X: Any) -> Array:
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    # A row of zeros has no direction, and scikit-learn gives it a kernel of zero.
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    return np.where(norms > 0.0, norms, np.inf)


def _rbf_slope(x: Array, y: Array, params: Params) -> Array:
    return -2.0 * params["gamma"] * (x - y)


def _laplacian(x: Array, y: Array, params: Params) -> Array:
    # At the corner the mean of the slopes on both sides.
    return -params["gamma"] * np.sign(x - y)


def _chi2(x: Array, y: Array, params: Params) -> Array:
    total = x + y
    slope = (x - y) * (x + 3.0 * y)
    return -params["gamma"] * np.divide(slope, total**2, out=np.zeros_like(slope), where=total > 0.0)


PRODUCTS: dict[str, Products] = {
    "cosine": _cosine,
    "linear": _linear,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
}
LOG_SLOPES: dict[str, LogSlope] = {"chi2": _chi2, "laplacian": _laplacian, "rbf": _rbf_slope}
# Kernels whose derivative along a feature is known.
DIFFERENTIABLE = tuple(PRODUCTS | LOG_SLOPES)
# Kernels that can be taken on scaled features, and the power of the scale that their typical distance grows with. The
# linear kernel has none but the features themselves.
SCALABLE = {"laplacian": 1, "poly": 2, "polynomial": 2, "rbf": 2}


def mean_squared_slopes(feature_map: FeatureMap, coef: Array, X: Any, weight: Array) -> Array:
    """The weighted mean over rows, and over tasks, of the squared derivative along each feature, of shape (d,).

    ``feature_map`` is fitted and its kernel one of ``DIFFERENTIABLE``; ``coef``, of shape (D, T), are coefficients on
    its basis functions, X has shape (n, d) and ``weight`` (n,).
    """
    if not feature_map.dual:
        # Features themselves: the slope is the same everywhere.
        return np.asarray(np.mean(coef**2, axis=1))
    share = weight / weight.sum()
    slopes = [share @ np.mean(block**2, axis=1) for block in slope_blocks(feature_map, coef, X)]
    return np.concatenate(slopes)


def slope_blocks(feature_map: Any, coef: Array, X: Any) -> Iterator[Array]:
    """Derivatives of the tasks' predictors at the rows of X, of shape (n, T, block), for blocks of features."""
    parts = feature_map.parts()
    for blocks in zip(*(_slope_blocks(part, coef / len(parts), X) for part in parts), strict=True):
        yield np.asarray(sum(blocks))


def _slope_blocks(feature_map: Any, coef: Array, X: Any) -> Iterator[Array]:
    """Those of a map with one scale."""
    name, scale = feature_map.kernel, feature_map.feature_scale
    points = feature_map.X_fit_
    n_features = X.shape[1]
    params = feature_map.parameters(n_features)
    scale = np.ones(n_features) if scale is None else scale
    K = feature_map.transform(X)
    step = max(BLOCK_ENTRIES // (max(points.shape[0], X.shape[0]) * coef.shape[1]), 1)
    blocks = [slice(start, start + step) for start in range(0, n_features, step)]
    products = PRODUCTS.get(name)
    P, Q = products(feature_map.scaled(X), feature_map.scaled(points), K, params) if products else (None, None)
    inner = None if Q is None else Q @ coef
    for block in blocks:
        x, y = dense_columns(X, block, scale), dense_columns(points, block, scale)
        if P is None:
            slopes, apart = np.empty((len(x), coef.shape[1], y.shape[1])), np.arange(y.shape[1])
        else:
            # About their mean differences of features lose no digits.
            middle = y.mean(axis=0) if P is Q else np.zeros(y.shape[1])
            slopes = _from_products(P, inner, coef, x - middle, y - middle)
            apart = np.flatnonzero(too_wide(y - middle, params["gamma"])) if name in LOG_SLOPES else np.arange(0)
        for k in apart:
            slopes[:, :, k] = (K * LOG_SLOPES[name](x[:, [k]], y[:, k], params)) @ coef
        yield slopes * scale[block]


def _from_products(P: Array, inner: Array | None, coef: Array, x: Array, y: Array) -> Array:
    """Slopes at rows x of a block of features, of shape (n, T, block), for basis functions at rows y."""
    weighted = coef[:, :, None] * y[:, None, :]
    slopes = (P @ weighted.reshape(len(y), -1)).reshape(len(x), coef.shape[1], -1)
    return slopes if inner is None else slopes - inner[:, :, None] * x[:, None, :]


def scale_from_slopes(squares: Array, X: Any, weight: Array, kernel: str) -> Array:
    """The scale of the features for mean squared slopes, of shape (d,); ones where nothing changes along any.

    Typical distances between rows stay what they are without a scale, and so does what an inverse width means.
    """
    if not squares.max() > 0.0:
        return np.ones_like(squares)
    scale = np.sqrt(squares / squares.max())
    power = SCALABLE[kernel]
    spread = _spread(X, weight) ** power
    before, after = spread.sum(), (scale**power * spread).sum()
    return np.asarray(scale * (before / max(after, TINY)) ** (1.0 / power) if after > 0.0 else scale)


def _spread(X: Any, weight: Array) -> Array:
    """The weighted standard deviation of each feature, of shape (d,)."""
    share = weight / weight.sum()
    blocks = dense_blocks(X, np.ones(X.shape[1]))
    return np.concatenate([np.sqrt(share @ (columns - share @ columns) ** 2) for columns in blocks])


def dense_blocks(X: Any, scale: Array) -> Iterator[Array]:
    """All columns of rows, dense and scaled, some at a time."""
    step = max(BLOCK_ENTRIES // X.shape[0], 1)
    for start in range(0, X.shape[1], step):
        yield dense_columns(X, slice(start, start + step), scale)


def dense_columns(X: Any, block: slice, scale: Array) -> Array:
    """Some columns of rows, dense and scaled."""
    columns = X[:, block]
    return np.asarray(columns.toarray() if sparse.issparse(columns) else columns) * scale[block]
