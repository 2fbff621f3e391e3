r"""How rough predictors are along each feature beside what their kernel expects, and the scale that makes both equal.

Labels of a task are taken for a Gaussian process with covariance :math:`s (K + \operatorname{diag}(\rho))` about a free
constant, :math:`k(x, z) = \exp(-\sum_k w_k |x_k - z_k|^p)` with p = 1 (laplacian) or p = 2 (rbf). With N the inverse of
:math:`K + \operatorname{diag}(\rho)` that takes the constant out, c = N y, s = y'c over its degrees of freedom, and
:math:`D_k` the matrix of :math:`|x_{ik} - x_{jk}|^p`, the slope of the logarithm of the restricted evidence is

.. math:: \frac{\partial L}{\partial \log w_k} = \frac{w_k}{2} (a_k - b_k), \qquad
    a_k = -\frac{c' (K \circ D_k) c}{s}, \qquad b_k = -\operatorname{tr} N (K \circ D_k),

summed over tasks. It is zero where :math:`w_k \leftarrow w_k a_k / b_k` stands still: a fixed point for one width per
feature (in the manner of MacKay, Bayesian interpolation, Neural Computation 1992) that costs an inverse and n^2 d.
The noise of a task has such a fixed point too: :math:`\rho \leftarrow \rho\, (\rho \cdot c^2 / s) / (\rho \cdot
\operatorname{diag} N)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from skmtl._linalg import TINY, Array, cholesky, inverse_from_factor
from skmtl.features.kernel_maps import middle_row
from skmtl.features.kernels import too_wide
from skmtl.features.metric import SCALABLE, dense_blocks, dense_columns

# Kernels of a weighted sum of distances along the features, and what SciPy calls these.
SEPARABLE = {"laplacian": "cityblock", "rbf": "sqeuclidean"}
# By what a width changes at most in one round: the step is exact only where it is short.
LARGEST_STEP = 4.0
# The least noise, relative to the kernel, with which its inverse has digits.
LEAST_NOISE = 1e-10


def inverse_without_constant(K: Array, noise: Array, *, intercept: bool) -> Array:
    """The matrix N that takes labels to dual coefficients, whose rows sum to zero where a constant is free."""
    shift = np.diag(np.maximum(noise, LEAST_NOISE))
    inverse = inverse_from_factor(cholesky(lambda: K + shift, lower=True), lower=True)
    if intercept:
        total = inverse.sum(axis=1)
        inverse -= np.outer(total, total / total.sum())
    return inverse


def roughness(kernel: str, X: Any, scale: Array, gamma: float, weights: Sequence[Array]) -> list[Array]:
    """- sum_ij W_ij |z_ik - z_jk|^p along every scaled feature z_k = scale_k x_k, (d,), for each symmetric W.

    The W are made of the kernel of inverse width ``gamma``, and vanish where rows are far from one another.
    """
    return list(np.concatenate([_roughness(kernel, Z, gamma, weights) for Z in dense_blocks(X, scale)], axis=1))


def _roughness(kernel: str, Z: Array, gamma: float, weights: Sequence[Array]) -> Array:
    """The same along a block of features, of shape (number of W, block)."""
    Z = Z - middle_row(Z)
    near = ~too_wide(Z, gamma) if kernel == "rbf" else np.zeros(Z.shape[1], dtype=bool)
    rough, some = np.empty((len(weights), Z.shape[1])), Z[:, near]
    rough[:, near] = [2.0 * (np.sum(some * (W @ some), axis=0) - W.sum(axis=1) @ some**2) for W in weights]
    if not near.all():
        # Pairs of rows in the order of pdist, one feature at a time.
        pairs = np.array([squareform(W, force="tovector", checks=False) for W in weights])
        columns = Z[:, ~near].T[:, :, None]
        rough[:, ~near] = -2.0 * np.array([pairs @ pdist(column, SEPARABLE[kernel]) for column in columns]).T
    return rough


def scale_from_evidence(scale: Array, explained: Array, expected: Array, kernel: str) -> Array:
    """The next scale of the features, of shape (d,), from the roughness that labels show and that the kernel expects.

    A feature along which nothing can be said, for its values are equal, stays as it is.
    """
    return np.asarray(scale * _bounded_ratio(explained, expected) ** (1.0 / SCALABLE[kernel]))


def _bounded_ratio(explained: Array, expected: Array) -> Array:
    """The factor of a step, which is never long."""
    # Bounds before the ratio: where rows have nothing in common both are next to nothing, and it may be beyond numbers.
    least = max(np.finfo(float).eps * float(np.max(np.abs(expected))), LARGEST_STEP * TINY)
    expected = np.maximum(expected, least)
    explained = np.maximum(explained, least)
    return np.asarray(np.clip(explained, expected / LARGEST_STEP, LARGEST_STEP * expected) / expected)


def follow_evidence(
    feature_map: Any, X: Any, y: Array, noise: Array, n_steps: int, *, intercept: bool, share: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Scale of the features, (d,), and noise, (n,), that some steps of the evidence of one task lead to.

    They start at the scale of the map and at ``noise``, the variance of each of the labels y at the rows of X;
    ``share`` makes roughness along features that belong together equal.
    """
    scale = np.ones(X.shape[1]) if feature_map.feature_scale is None else feature_map.feature_scale
    gamma = feature_map.parameters(X.shape[1])["gamma"]
    for _ in range(n_steps):
        Z = dense_columns(X, slice(None), scale)
        K = np.exp(-gamma * cdist(Z, Z, SEPARABLE[feature_map.kernel]))
        N = inverse_without_constant(K, noise, intercept=intercept)
        c = N @ y
        variance = float(y @ c) / (len(y) - intercept)
        rough = roughness(feature_map.kernel, X, scale, gamma, [K * np.outer(c, c / variance), K * N])
        explained, expected = map(share, rough)
        left = _bounded_ratio(np.atleast_1d(noise @ c**2 / variance), np.atleast_1d(noise @ np.diag(N)))
        # Half of each step, in logarithms: whole ones go back and forth between two places for ever.
        scale = np.sqrt(scale * scale_from_evidence(scale, explained, expected, feature_map.kernel))
        noise = np.maximum(noise * np.sqrt(left), LEAST_NOISE)
    return np.asarray(scale), noise
