"""Certificates of small problems, confirmed with numbers of fifty digits."""

import warnings

import numpy as np
import pytest
from problems import related_tasks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor
from skmtl.penalties import Fixed, Sparse

mpmath = pytest.importorskip("mpmath")
DIGITS = 50
# What the certificate itself may be wrong by, relative to the objective.
ROUNDING = 1e-9


def exact(M):
    return mpmath.matrix(np.atleast_2d(M).tolist())


def trace(M):
    return mpmath.fsum(M[i, i] for i in range(M.rows))


def square_root(M):
    values, U = mpmath.eigsy(M)
    assert min(values) > 0
    return U * mpmath.diag([mpmath.sqrt(v) for v in values]) * U.T


def problem(rng, n=9, n_tasks=3, *, scale=1.0, offset=0.0):
    X, Y = related_tasks(rng, n, n_tasks, n_features=2)
    return offset + scale * X, Y - Y.mean(axis=0)


def centered_kernel(X, kernel):
    K = X @ X.T if kernel == "linear" else rbf_kernel(X)
    if kernel == "linear":
        # Exactly what the rows say, whatever their offset.
        rows = exact(X)
        K = rows * rows.T
    else:
        K = exact(K)
    n = K.rows
    H = mpmath.eye(n) - mpmath.ones(n) / n
    return H * K * H


def primal(K, Y, A, alpha):
    """The least loss and norm of predictors for the structure A."""
    n, A, alpha = Y.rows, exact(A), mpmath.mpf(alpha)
    values, U = mpmath.eigsy(A)
    rotated, total = Y * U, mpmath.mpf(0)
    for t in range(A.rows):
        c = mpmath.lu_solve(values[t] * K + n * alpha * mpmath.eye(n), rotated[:, t])
        total += alpha * (rotated[:, t].T * c)[0]
    return total


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-4, 0.0), (1e3, 0.0), (1.0, 1e4)])
def test_a_known_structure_is_solved_as_exactly_as_it_says(alpha, scale, offset, rng):
    with mpmath.workdps(DIGITS):
        X, Y = problem(rng, scale=scale, offset=offset)
        # Whole numbers, so that it is singular without rounding.
        B = rng.integers(-3, 4, (3, 2))
        est = MultiTaskRegressor(Fixed(B @ B.T), alpha=alpha, scale_targets=False).fit(X, Y)
        optimum = primal(centered_kernel(X, "linear"), exact(Y), B @ B.T, alpha)
        assert float(mpmath.mpf(est.solution_.lower_bound) / optimum) <= 1.0 + ROUNDING
        assert est.solution_.objective == pytest.approx(float(optimum), rel=est.tol)


@pytest.mark.parametrize("alpha", [1e-10, 1e-6, 1e-2])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("mu", [0.3, 0.9])
def test_the_optimum_lies_between_bound_and_objective(alpha, kernel, mu, rng):
    """The objective is that of a structure; the bound is confirmed by a dual point in exact arithmetic."""
    with mpmath.workdps(DIGITS):
        X, Y = problem(rng)
        est = MultiTaskRegressor(Sparse(mu), kernel=kernel, alpha=alpha, scale_targets=False, tol=1e-7).fit(X, Y)
        K, targets, A = centered_kernel(X, kernel), exact(Y), exact(est.structure_)
        eps, n, strength = mpmath.mpf(est.eps_), len(Y), mpmath.mpf(alpha)
        inverse = A**-1
        R = trace(A) + (1 - mpmath.mpf(mu)) * mpmath.fsum(abs(A[t, s]) for t in range(3) for s in range(3) if t != s)
        above = primal(K, targets, est.structure_, alpha) + strength * (eps * trace(inverse) + R)
        assert est.solution_.lower_bound <= float(above) * (1.0 + ROUNDING)
        assert est.solution_.objective >= float(above) * (1.0 - ROUNDING)
        below = dual_bound(K, targets, A, eps, n, strength, mpmath.mpf(mu))
        assert est.solution_.objective >= float(below) * (1.0 - ROUNDING)
        assert est.solution_.lower_bound <= float(above) + ROUNDING
        assert float((above - below) / above) <= 1e-6


def dual_bound(K, Y, A, eps, n, alpha, mu):
    """2 alpha <C, Y> - n alpha^2 |C|^2 + alpha 2 sqrt(eps) tr((W - C'KC)^(1/2)) for a dual point W of the box."""
    values, U = mpmath.eigsy(A)
    rotated = Y * U
    C = mpmath.zeros(Y.rows, A.rows)
    for t in range(A.rows):
        C[:, t] = mpmath.lu_solve(values[t] * K + n * alpha * mpmath.eye(n), rotated[:, t])
    C = C * U.T
    Q = C.T * K * C
    inverse = A**-1
    W = eps * inverse * inverse + Q
    for t in range(A.rows):
        for s in range(A.rows):
            W[t, s] = 1 if t == s else max(-(1 - mu), min(1 - mu, (W[t, s] + W[s, t]) / 2))
    # A little towards the identity, which is a dual point, so that what clipping did leaves the difference positive.
    shrink = mpmath.mpf(10) ** -8
    for _ in range(12):
        mixed = (1 - shrink) * W + shrink * mpmath.eye(A.rows) - (1 - shrink) * Q
        if min(mpmath.eigsy(mixed, eigvals_only=True)) > 0:
            scale = mpmath.sqrt(1 - shrink)
            smooth = 2 * alpha * scale * trace(C.T * Y) - n * (alpha * scale) ** 2 * trace(C.T * C)
            return smooth + alpha * 2 * mpmath.sqrt(eps) * trace(square_root(mixed))
        shrink *= 10
    raise AssertionError("no dual point was found")


@pytest.mark.parametrize("solver", ["auto", "anderson", "alternating"])
@pytest.mark.parametrize("eps", [1e-14, 1e-16, 1e-20])
def test_structures_stay_positive_definite_where_eps_is_below_rounding(eps, solver):
    """In exact arithmetic: a Cholesky factor of an indefinite structure may be there by luck."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 3))
    f = X @ rng.standard_normal((3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = MultiTaskRegressor(Sparse(1.0), eps=eps, alpha=1e-3, solver=solver).fit(X, f[:, [0, 0, 0, 1]])
    with mpmath.workdps(DIGITS):
        assert min(mpmath.eigsy(exact(est.structure_), eigvals_only=True)) > 0
