"""Losses with corners are sums of ramps max(0, z)."""

from typing import NamedTuple

import numpy as np

from skmtl._linalg import Array


class Ramps(NamedTuple):
    """V(y, f) = slope (f - y) plus the sum over ramps of max(0, s f - d), with signs s of -1 or 1 and offsets d.

    Both have the shape (n_ramps, n_labels).
    """

    slope: float
    sign: Array
    offset: Array


def shares(z: Array, m: float) -> tuple[Array, Array]:
    r"""The best b of :math:`\max_b \, b z + m (\log b + \log(1 - b))`, and 1 - b, both exact however near to zero.

    They solve :math:`m/(1-b) - m/b = z`, and are within m of the ramp: :math:`\max(0, z) - b z \le m`.
    """
    size = np.abs(z)
    root = np.hypot(z, 2.0 * m)
    # The roots of z b (1 - b) + m (1 - 2 b) = 0, for -|z|: nothing cancels.
    less = (m + 2.0 * m * (m / (root + size))) / (2.0 * m + root)
    return np.where(z > 0.0, 1.0 - less, less), np.where(z > 0.0, less, 1.0 - less)
