"""The structure step by Clarabel, an interior-point solver, through CVXPY; model and compilation included."""

import numpy as np

name = "CVXPY/Clarabel"
try:
    import cvxpy as cp

    skip = None if "CLARABEL" in cp.installed_solvers() else "clarabel is not installed (pip install clarabel)"
except ImportError:
    skip = "cvxpy is not installed (pip install cvxpy clarabel)"


def minimize(S, mu, tol):
    """The structure, and what else there is to say."""
    A = cp.Variable(S.shape, symmetric=True)
    cost = cp.matrix_frac(np.linalg.cholesky(S), A) + mu * cp.trace(A) + (1.0 - mu) * cp.sum(cp.abs(A))
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver="CLARABEL", tol_gap_rel=tol, tol_gap_abs=tol, tol_feas=tol)
    return A.value, f"status {problem.status}"
