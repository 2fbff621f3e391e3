"""Active-set Newton for smooth(A) + tr(A) + rho sum_{t != s} |A_ts| over positive definite A.

Entries that leave the active set are exactly zero, so a graph read off A needs no threshold.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from skmtl._linalg import Array, Mask, conjugate_gradients, symmetric_part
from skmtl.penalties.base import ASK_EARLY, Certify, Smooth, SmoothPoint

# Above this share of free entries the preconditioner that inverts the whole space pays.
DENSE_SHARE = 0.95
MAX_CG_STEPS = 500
MAX_BACKTRACKS = 40
NOTHING_LEFT = 1e-9


def soft_threshold(M: Array, threshold: Array | float) -> Array:
    """Shrink every entry towards zero by ``threshold``."""
    return np.maximum(M - threshold, 0.0) + np.minimum(M + threshold, 0.0)


def active_newton(
    smooth: Smooth, start: Array, rho: float, *, certify: Certify, tol: float, max_iter: int
) -> tuple[Array, float, int]:
    """Minimise smooth(A) + tr(A) + rho sum_{t != s} |A_ts|; returns A, its relative gap and the iterations."""
    n_tasks = len(start)
    weight = rho * (1.0 - np.eye(n_tasks))

    def objective(A: Array, point: SmoothPoint) -> float:
        return float(point.value + np.trace(A) + np.sum(weight * np.abs(A)))

    A, point = start, smooth(start)
    if point is None:
        raise ValueError("the structure to start from must be positive definite")
    value, forcing, iteration = objective(A, point), 0.1, 0
    for iteration in range(1, max_iter + 1):
        G = point.gradient + np.eye(n_tasks)
        # The subgradient of least norm: zero on the entries that are rightly zero.
        residual = np.where(A != 0.0, G + weight * np.sign(A), soft_threshold(G, weight))
        free = (A != 0.0) | (residual != 0.0)
        orthant = np.where(A != 0.0, np.sign(A), -np.sign(residual))
        D, decrease = _newton_direction(point, residual, free, forcing)
        accepted = _backtrack(smooth, objective, A, value, D, residual, orthant)
        if accepted is None:
            break
        before = value
        A, point, value = accepted
        # The model promised half of ``decrease``; by how much it was wrong is about what the next step can gain.
        remaining = min(decrease, 4.0 * abs(before - value - 0.5 * decrease))
        # The certificate is dearer: ask when it may pass.
        if remaining <= ASK_EARLY * tol * abs(value):
            gap = certify(A, point, value)
            # With nothing left to gain, more iterations cannot help a certificate that is not tight.
            if gap <= tol or decrease <= NOTHING_LEFT * tol * abs(value):
                return A, gap, iteration
        forcing = min(forcing, max(1e-3, np.sqrt(max(decrease, 0.0) / abs(value))))
    return A, certify(A, point, value), iteration


def _newton_direction(point: SmoothPoint, residual: Array, free: Mask, forcing: float) -> tuple[Array, float]:
    """Conjugate gradients for Hessian D = -residual on the free entries; D and -<D, residual>."""
    precondition = _make_preconditioner(point.P, point.Q, free)
    enough = forcing**2 * float(np.vdot(residual, precondition(residual)))

    def apply(D: Array) -> Array:
        return np.where(free, point.hessian(D), 0.0)

    D = conjugate_gradients(apply, -residual, precondition, lambda r, rz: rz <= enough, max_steps=MAX_CG_STEPS)
    return D, -float(np.sum(D * residual))


def _make_preconditioner(P: Array, Q: Array, free: Mask) -> Callable[[Array], Array]:
    """Approximate inverse of D -> P D Q + Q D P on the free entries."""
    if free.mean() > DENSE_SHARE:
        # With X'PX = I and X'QX = diag(q) the inverse over all entries is one division.
        q, X = linalg.eigh(Q, P, check_finite=False)
        q = np.maximum(q, 1e-14 * q[-1])
        inverse = 1.0 / (q[:, None] + q[None, :])
        return lambda R: np.where(free, symmetric_part(X @ ((X.T @ R @ X) * inverse) @ X.T), 0.0)
    p, q = np.diag(P), np.diag(Q)
    diagonal = np.outer(p, q) + np.outer(q, p) + 2.0 * P * Q
    np.fill_diagonal(diagonal, 2.0 * p * q)
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=free & (diagonal > 0.0))
    return lambda R: inverse * R


def _backtrack(
    smooth: Smooth,
    objective: Callable[[Array, SmoothPoint], float],
    A: Array,
    value: float,
    D: Array,
    residual: Array,
    orthant: Array,
) -> tuple[Array, SmoothPoint, float] | None:
    """The first step along D that gains enough; an entry that would cross zero stops there."""
    step = 1.0
    for _ in range(MAX_BACKTRACKS):
        trial = A + step * D
        trial = np.where(trial * orthant > 0.0, trial, 0.0)
        point = smooth(trial)
        if point is not None:
            trial_value = objective(trial, point)
            if trial_value <= value + 1e-4 * float(np.sum(residual * (trial - A))):
                return trial, point, trial_value
        step *= 0.5
    return None
