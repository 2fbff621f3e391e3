"""The same problems as a conic solver sees them: an independent road to every optimum."""

import cvxpy as cp
import numpy as np


def square_root_rows(K):
    """Phi with Phi Phi' = K."""
    k, V = np.linalg.eigh(K)
    return V * np.sqrt(np.maximum(k, 0.0))


def structure_optimum(S, penalty):
    """min over A of tr(A^-1 S) + R(A); ``penalty(A)`` returns R(A) and constraints."""
    A = cp.Variable(S.shape, symmetric=True)
    cost, constraints = penalty(A)
    root = np.linalg.cholesky(S)
    problem = cp.Problem(cp.Minimize(cp.matrix_frac(root, A) + cost), constraints)
    problem.solve(solver="CLARABEL")
    return problem.value, A.value


def joint_optimum(K, Y, penalty, *, alpha, eps, common=0.0, intercept=True, loss=None, observed=None):
    """min over f, A and the intercept of the whole objective, for square loss unless ``loss(Y, F)`` says otherwise."""
    n, n_tasks = Y.shape
    Phi = square_root_rows(K)
    G = cp.Variable((Phi.shape[1], n_tasks))
    A = cp.Variable((n_tasks, n_tasks), symmetric=True)
    F = Phi @ G
    constraints = []
    norm = cp.matrix_frac(cp.vstack([G, np.sqrt(eps) * np.eye(n_tasks)]).T, A)
    if common:
        f0 = cp.Variable((Phi.shape[1], 1))
        F = F + (Phi @ f0) @ np.ones((1, n_tasks))
        norm = norm + cp.sum_squares(f0) / common
    if intercept:
        F = F + np.ones((n, 1)) @ cp.reshape(cp.Variable(n_tasks), (1, n_tasks), order="C")
    weight = np.ones_like(Y) if observed is None else observed.astype(float)
    n_rows = weight.sum() / n_tasks
    Y = np.where(weight > 0, Y, 0.0)
    losses = cp.square(Y - F) if loss is None else loss(Y, F)
    cost, extra = penalty(A)
    objective = cp.sum(cp.multiply(weight, losses)) / n_rows + alpha * (norm + cost)
    problem = cp.Problem(cp.Minimize(objective), constraints + extra)
    problem.solve(solver="CLARABEL")
    return problem.value, A.value
