"""The multiplier of a bound on the trace, for problems that are separable in the eigenvalues."""

import numpy as np

from skmtl._linalg import TINY, Array


def trace_multiplier(q: Array, eps: float, trace: float) -> float:
    """The nu > max q with sum_i sqrt(eps / (nu - q_i)) = trace, for eps and trace > 0."""
    # In x = nu - max q, the power mean (sum_i (x + d_i)^{-1/2})^{-2} rises and is concave, nearly linear:
    # from the left of the root, Newton climbs to it without overshooting.
    # In units of its value for one eigenvalue, so that no power leaves the range of numbers.
    unit = max(eps / trace**2, TINY)
    with np.errstate(over="ignore"):
        d = (q.max() - q) / unit
    x = 1.0
    for _ in range(50):
        roots = 1.0 / np.sqrt(x + d)
        total = float(roots.sum())
        step = (total**2 - 1.0) * total / float(np.sum(roots**3))
        x += step
        if step <= 1e-15 * x:
            break
    return float(q.max()) + unit * x
