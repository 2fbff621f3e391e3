"""The multiplier of a bound on the trace, for problems that are separable in the eigenvalues."""

import numpy as np

from skmtl._linalg import Array


def trace_multiplier(q: Array, eps: float, trace: float) -> float:
    """The nu > max q with sum_i sqrt(eps / (nu - q_i)) = trace, for eps and trace > 0."""
    # In x = nu - max q, the power mean (sum_i (x + d_i)^{-1/2})^{-2} rises and is concave, nearly linear:
    # from the left of the root, Newton climbs to it without overshooting.
    d = q.max() - q
    goal = eps / trace**2
    x = goal
    for _ in range(50):
        # Times the root of the goal, so that none is above one.
        roots = np.sqrt(goal / (x + d))
        total = float(roots.sum())
        step = (total**2 - 1.0) * goal * total / float(np.sum(roots**3))
        x += step
        if step <= 1e-15 * x:
            break
    return float(q.max()) + x
