r"""The ramp :math:`\max(0, z) = \max_{0 \le b \le 1} b z`, of which losses with corners are made, its corner rounded.

A barrier keeps b from the ends of its interval:

.. math:: \max_b \; b z + m \, (\log b + \log(1 - b))

Newton's method does well on such functions however small m is, and a quadratic instead of the barrier, which leaves b
at the ends, makes it creep. The best b is within m of the ramp: :math:`\max(0, z) - b z \le m`.
"""

import numpy as np

from skmtl._linalg import Array

# Halvings of an interval of length one: to the last digit.
HALVINGS = 54
SMALLEST = float(np.finfo(float).tiny)


def shares(z: Array, m: float) -> tuple[Array, Array]:
    """The best b, and 1 - b, both exact however near to zero."""
    size = np.abs(z)
    root = np.sqrt(z * z + 4.0 * m * m)
    # The roots of z b (1 - b) + m (1 - 2 b) = 0, for -|z|: nothing cancels.
    less = (m + 2.0 * m * m / (root + size)) / (2.0 * m + root)
    return np.where(z > 0.0, 1.0 - less, less), np.where(z > 0.0, less, 1.0 - less)


def ramp(z: Array, m: float) -> Array:
    """The rounded ramp."""
    b, rest = shares(z, m)
    return np.asarray(b * z + m * (np.log(b) + np.log(rest)))


def bend(z: Array, m: float) -> Array:
    """Its second derivative."""
    b, rest = shares(z, m)
    return np.asarray(1.0 / (m / b**2 + m / rest**2))


def barrier(b: Array, m: float) -> Array:
    """What its conjugate adds at b in [0, 1]."""
    return np.asarray(-m * (np.log(np.maximum(b, SMALLEST)) + np.log(np.maximum(1.0 - b, SMALLEST))))


def split(u: Array, margin: float, m: float) -> Array:
    """The b in [0, 1 - |u|] that makes margin (2 b + |u|) + barrier(b + |u|) + barrier(b) least."""
    size = np.minimum(np.abs(u), 1.0)
    low, high = np.zeros_like(size), 1.0 - size
    for _ in range(HALVINGS):
        b = 0.5 * (low + high)
        with np.errstate(divide="ignore"):
            slope = 2.0 * margin / m + 1.0 / (1.0 - b - size) + 1.0 / (1.0 - b) - 1.0 / (b + size) - 1.0 / b
        low, high = np.where(slope < 0.0, b, low), np.where(slope < 0.0, high, b)
    return 0.5 * (low + high)
