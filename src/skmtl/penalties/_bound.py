"""Dual points of ``sparse``: the box they live in, and the best certificate along a segment of them."""

import numpy as np

from skmtl._linalg import Array, eigh, symmetric_part

MAX_STEPS = 30
SMALLEST_THETA = 1e-12
RESOLUTION = 1e-10


def clip_to_box(W: Array, threshold: float) -> Array:
    """W clipped to what the dual allows: one on the diagonal, at most ``threshold`` in size off it."""
    W = np.clip(symmetric_part(W), -threshold, threshold)
    np.fill_diagonal(W, 1.0)
    return W


def best_mixture(M: Array, N: Array, *, enough: float = np.inf) -> tuple[float, float]:
    """max over theta in [0, 1] of 2 tr(((1 - theta) M + theta N)^{1/2}), and theta; -inf and 1 when none tried is PSD.

    The function is concave, and every value returned is attained, so a search cut short costs tightness alone.
    It ends early at a value of ``enough``. At the optimum of the problem theta = 0 and nothing is searched.
    """
    low, high, theta, best, best_theta = SMALLEST_THETA, 1.0, 0.0, -np.inf, 1.0
    for _ in range(MAX_STEPS):
        m, U = eigh((1.0 - theta) * M + theta * N)
        slopes = np.einsum("it,it->t", U, (N - M) @ U)
        if m[0] > 0.0:
            value = 2.0 * float(np.sum(np.sqrt(m)))
            slope = float(np.sum(slopes / np.sqrt(m)))
            if value > best:
                best, best_theta = value, theta
            # By concavity nothing in the bracket is better than this.
            ahead = slope * ((high if slope > 0.0 else low) - theta)
            if best >= enough or ahead <= RESOLUTION * abs(best):
                break
        else:
            # Outside the cone, go where the smallest eigenvalue grows.
            slope = float(slopes[0])
        if slope > 0.0:
            low = max(theta, low)
        elif theta <= low:
            break
        else:
            high = theta
        # Useful values of theta span many decades.
        theta = float(np.sqrt(low * high))
        if high - low <= 1e-6 * high:
            break
    return best, best_theta
