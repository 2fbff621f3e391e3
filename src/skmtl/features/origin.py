r"""Kernels seen from an origin m among the rows, so that features far from zero cost no digits.

Kernels of differences do not change when all rows are moved. A polynomial kernel does, but

.. math:: \tilde k(x, z) = k(x, z) - k(x, m) - k(m, z) + k(m, m)

differs from it by functions of x alone and of z alone. Coefficients that sum to zero, as those of a model with
intercepts on all rows do, make the same functions of both, up to constants.
"""

from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from skmtl._linalg import Array

# Binomials of higher degrees cost more than they save.
LARGEST_DEGREE = 8


def mean_row(X: Any) -> Array:
    """The mean of the rows, (d,); zero where the rows are sparse, for moving would fill them."""
    return np.zeros(X.shape[1]) if sparse.issparse(X) else np.asarray(X.mean(axis=0))


def can_expand(degree: Any) -> bool:
    """Whether a polynomial kernel of this degree can be seen from an origin."""
    return float(degree).is_integer() and 1 <= degree <= LARGEST_DEGREE


def polynomial_from(origin: Array, X: Array, Z: Array, *, gamma: float | None, degree: float, coef0: float) -> Array:
    """k(x, z) - k(x, m) - k(m, z) + k(m, m) for k = (gamma x'z + coef0)^degree, without the cancellation."""
    degree = int(degree)
    gamma = 1.0 / X.shape[1] if gamma is None else gamma
    U, V = X - origin, Z - origin
    # gamma x'z + coef0 = level + a + b + cross.
    level = gamma * float(origin @ origin) + coef0
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
