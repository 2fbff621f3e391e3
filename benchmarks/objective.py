"""Cost and certificate of an answer, from the answer alone: numpy and the formulas, nothing of the library.

The structure step minimizes ``tr(A^-1 S) + R(A)`` with ``R(A) = mu tr(A) + (1 - mu) sum |A_ts|``; the whole problem
adds the square loss. Every lower bound is the value of a dual point that is made feasible first, so it holds for any
answer, good or bad.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar


@dataclass(frozen=True)
class Certificate:
    cost: float
    bound: float

    @property
    def gap(self):
        """How far above the optimum the cost may be, relative to itself."""
        return (self.cost - self.bound) / self.cost


def penalty(A, mu):
    return mu * np.trace(A) + (1.0 - mu) * np.abs(A).sum()


def certify_step(A, S, mu):
    """The certificate of A as an answer to the structure step."""
    A = (A + A.T) / 2.0
    if np.linalg.eigvalsh(A)[0] <= 0.0:
        return Certificate(np.inf, -np.inf)
    P = np.linalg.inv(A)
    root = np.linalg.cholesky(S)
    # tr((S^{1/2} W S^{1/2})^{1/2}) has the eigenvalues of L'WL for S = LL'.
    bound = _best_mixture(root.T @ _box(P @ S @ P, mu) @ root, root.T @ root)
    return Certificate(float(np.sum(P * S) + penalty(A, mu)), bound)


def certify_fit(K, Y, coef, intercept, A, *, alpha, eps, mu):
    """The certificate of the predictor K @ coef + intercept with the structure A, for Y scaled as in the fit."""
    n = len(Y)
    P = np.linalg.inv(A)
    F = K @ coef + intercept
    S = coef.T @ (F - intercept) + eps * np.eye(len(A))
    cost = float(np.sum((Y - F) ** 2) / n + alpha * (np.sum(P * S) + penalty(A, mu)))

    # Any C whose columns sum to zero is dual feasible; at the optimum it is the residual / (n alpha).
    C = (Y - F) / (n * alpha)
    C -= C.mean(axis=0)
    Q = C.T @ K @ C
    W, identity = _box(eps * P @ P + Q, mu), np.eye(len(A))
    CY, CC = float(np.sum(C * Y)), float(np.sum(C * C))

    def bound(scale):
        inner = np.sqrt(eps) * _best_mixture(W - scale**2 * Q, identity - scale**2 * Q)
        return 2.0 * alpha * scale * CY - n * (alpha * scale) ** 2 * CC + alpha * inner

    best = bound(1.0)
    if cost - best > 1e-7 * cost:
        found = minimize_scalar(lambda s: min(-bound(s), 1e300), bounds=(0.99, 1.001), method="bounded")
        best = max(best, -found.fun)
    return Certificate(cost, best)


def _box(W, mu):
    """W with one on the diagonal and at most 1 - mu in size off it."""
    W = np.clip((W + W.T) / 2.0, mu - 1.0, 1.0 - mu)
    np.fill_diagonal(W, 1.0)
    return W


def _best_mixture(M, N):
    """A large value of 2 tr(((1 - theta) M + theta N)^{1/2}), concave in theta; -inf when no theta tried is allowed."""

    def value(theta):
        m = np.linalg.eigvalsh((1.0 - theta) * M + theta * N)
        return 2.0 * float(np.sum(np.sqrt(m))) if m[0] >= 0.0 else -np.inf

    thetas = np.concatenate([[0.0], np.logspace(-12, 0, 25)])
    values = np.array([value(theta) for theta in thetas])
    best = int(np.argmax(values))
    if 0 < best < len(thetas) - 1:
        found = minimize_scalar(
            lambda x: min(-value(10.0**x), 1e300),
            bounds=(np.log10(thetas[best]) - 0.5, np.log10(thetas[best]) + 0.5),
            method="bounded",
        )
        return max(-found.fun, values[best])
    return float(values[best])
