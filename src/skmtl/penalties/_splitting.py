"""Algorithm 2 of the paper: primal-dual splitting for the structure step, with the dual update put right."""

from collections.abc import Callable

import numpy as np

from skmtl._linalg import Array, eigh, positive_cubic_root, symmetric_part
from skmtl.penalties._newton import soft_threshold


def primal_dual(
    S: Array,
    mu: float,
    *,
    start: Array | None,
    certify: Callable[[Array], float],
    tol: float,
    max_iter: int,
    check_every: int = 25,
) -> tuple[Array, float, int]:
    """Minimize tr(A^-1 S) + mu tr(A) + (1 - mu) sum |A_ts|; returns A, its relative gap and the iterations.

    ``certify(A)`` is the relative gap at A, infinite where A is not positive definite.
    """
    n_tasks = len(S)
    s, U = eigh(S)
    # Eigenvalues that are rounding may come out as zero, or below.
    s = np.maximum(s, np.finfo(float).eps * s[-1])
    M = symmetric_part((U / np.sqrt(s)) @ U.T)
    sigma = 1.0 / s[0]
    A = np.eye(n_tasks) if start is None else start
    # At the optimum the dual variable is the gradient of tr(Z^-1) at Z = MAM.
    z, V = eigh(symmetric_part(M @ A @ M))
    D = symmetric_part((V * -(np.maximum(z, 1e-8 * z[-1]) ** -2.0)) @ V.T)
    best, best_gap, iteration = A, np.inf, 0
    for iteration in range(1, max_iter + 1):
        A_next = soft_threshold(A - (mu * np.eye(n_tasks) + M @ D @ M) / sigma, (1.0 - mu) / sigma)
        P = D + M @ (2.0 * A_next - A) @ M / sigma
        # The paper prints P - prox_{sigma H2}(sigma P); Moreau's identity asks for a factor 1 / sigma. The proximal
        # map is one root of a cubic for each eigenvalue (SKMTL eqs. 9 and 10).
        p, V = eigh(symmetric_part(P))
        D = symmetric_part((V * (p - positive_cubic_root(sigma * p, sigma) / sigma)) @ V.T)
        A = symmetric_part(A_next)
        if iteration % check_every == 0 or iteration == max_iter:
            gap = certify(A)
            if gap < best_gap:
                best, best_gap = A, gap
            if gap <= tol:
                break
    return best, best_gap, iteration
