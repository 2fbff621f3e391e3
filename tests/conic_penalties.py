"""Every penalty as a conic solver sees it: name -> function(penalty, A, n_tasks) -> (R(A), constraints).

Write a new one from the formula in the penalty's docstring, not from its code: it is what the code is held against.
"""

import cvxpy as cp
import numpy as np
from scipy.linalg import helmert


def sparse(penalty, A, n_tasks):
    return penalty.mu * cp.trace(A) + (1 - penalty.mu) * cp.sum(cp.abs(A)), []


def groups(penalty, A, n_tasks):
    labels = np.arange(n_tasks) if penalty.groups is None else np.asarray(penalty.groups)
    tasks = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    norms = [np.sqrt(min(len(g), len(h))) * cp.norm(A[np.ix_(g, h)], "fro") for g in tasks for h in tasks if g is not h]
    return cp.trace(A) + (1 - penalty.mu) * sum(norms), []


def known(penalty, A, n_tasks):
    return 0.0, [A == penalty.structure(n_tasks)]


def trace(penalty, A, n_tasks):
    return penalty.ridge * cp.sum_squares(A), [cp.trace(A) <= 1]


def frobenius(penalty, A, n_tasks):
    return penalty.weight * cp.sum_squares(A), []


def cluster(penalty, A, n_tasks):
    if n_tasks == 1:
        return 0.0, [A == 1 / penalty.mean]
    r = int(np.ceil(np.sqrt(n_tasks))) if penalty.n_clusters is None else penalty.n_clusters
    low, high = 1 / penalty.within, 1 / penalty.between
    ones, N = np.ones((n_tasks, 1)), helmert(n_tasks).T
    B = cp.Variable((n_tasks - 1, n_tasks - 1), symmetric=True)
    return 0.0, [
        ones @ ones.T / (n_tasks * penalty.mean) + N @ B @ N.T == A,
        B >> low * np.eye(n_tasks - 1),
        high * np.eye(n_tasks - 1) >> B,
        cp.trace(B) == (n_tasks - r) * low + (r - 1) * high,
    ]


def laplacian(penalty, A, n_tasks):
    tau = 1 + penalty.share * (n_tasks - 1) if penalty.tau is None else penalty.tau
    off_diagonal = 1 - np.eye(n_tasks)
    return 0.0, [
        cp.sum(A, axis=1) == 1 / penalty.ridge,
        cp.multiply(off_diagonal, A) >= 0,
        cp.trace(A) <= tau / penalty.ridge,
    ]


CONIC = {
    "sparse": sparse,
    "groups": groups,
    "trace": trace,
    "features": trace,
    "frobenius": frobenius,
    "cluster": cluster,
    "laplacian": laplacian,
    "fixed": known,
    "independent": known,
}


def conic(penalty):
    """The penalty as a function of a CVXPY variable, as ``reference`` asks for it."""
    return lambda A: CONIC[penalty.name](penalty, A, A.shape[0])
