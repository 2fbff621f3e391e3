"""The certificate: a lower bound that is never above the objective, whatever the structure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import related_tasks, structure_cost

from skmtl import MultiTaskRegressor
from skmtl.objective import Problem
from skmtl.penalties import PENALTIES, Sparse
from skmtl.solvers.ridge import Ridge


def random_ridge(rng, n_tasks, alpha):
    n = int(rng.integers(3, 30))
    K = (lambda B: B @ B.T)(rng.standard_normal((n, int(rng.integers(1, n + 1)))))
    k, V = np.linalg.eigh(K)
    keep = k > 1e-10 * k[-1]
    Y = rng.standard_normal((n, n_tasks)) * np.exp(rng.standard_normal(n_tasks))
    return Ridge.from_targets(k[keep], V[:, keep].T @ Y, Y, float(n), alpha)


def random_structure(rng, n_tasks):
    B = rng.standard_normal((n_tasks, n_tasks)) * (rng.random((n_tasks, n_tasks)) < rng.random())
    return 10.0 ** rng.uniform(-3, 3) * (B @ B.T + 10.0 ** rng.uniform(-6, 0) * np.eye(n_tasks))


@settings(max_examples=1500, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_tasks=st.integers(1, 7),
    log_alpha=st.floats(-6, 2),
    log_eps=st.floats(-6, 3),
    mu=st.floats(0, 1),
    common=st.sampled_from([0.0, 0.1, 10.0]),
)
def test_lower_bound_never_exceeds_the_objective(seed, n_tasks, log_alpha, log_eps, mu, common):
    rng = np.random.default_rng(seed)
    problem = Problem(random_ridge(rng, n_tasks, 10.0**log_alpha), Sparse(mu), 10.0**log_eps, common)
    # The bound of one structure against the objective of another, not optimal either.
    guess, other = random_structure(rng, n_tasks), random_structure(rng, n_tasks)
    bound = problem.tighten(problem.certify(guess, problem.fit(guess))).lower_bound
    assert np.isfinite(bound)
    for A in (guess, other):
        value = problem.objective(A, problem.fit(A))
        assert bound <= value + 1e-12 * abs(value)


@pytest.mark.parametrize("name", PENALTIES)
def test_bound_is_tight_at_the_solution_and_recomputed_independently(name, rng):
    """Objective and bound once more, from the formulas of the definition and the fitted attributes alone."""
    n, n_tasks, alpha, common = 40, 5, 1e-2, 0.5
    X, Y = related_tasks(rng, n, n_tasks)
    est = MultiTaskRegressor(name, kernel="rbf", alpha=alpha, common=common, scale_targets=False, tol=1e-8).fit(X, Y)
    A, eps, penalty = est.structure_, est.eps_, PENALTIES[name]()
    C = (Y - est.predict(X)) / (n * alpha)
    np.testing.assert_allclose(C.sum(axis=0), 0.0, atol=1e-9 * np.abs(C).max() * n)
    K = est.feature_map_.transform(X)
    Q = C.T @ K @ C
    norm = np.sum((A + common) * Q)
    objective = np.sum((Y - est.predict(X)) ** 2) / n + alpha * (norm + structure_cost(penalty, A, eps))
    assert est.solution_.objective == pytest.approx(objective, rel=1e-9)
    bound = 2 * alpha * np.sum(C * (Y - Y.mean(axis=0))) - n * alpha**2 * np.sum(C**2)
    bound += alpha * (penalty.lower_bound(Q, eps, A) - common * Q.sum())
    assert bound <= objective * (1 + 1e-12)
    assert est.solution_.lower_bound >= bound - 1e-9 * objective
    assert est.solution_.gap == pytest.approx((objective - est.solution_.lower_bound) / objective, abs=1e-9)
    assert est.solution_.gap <= 1e-8


def test_sparse_bound_is_a_dual_feasible_value(rng):
    """At the solution, W = eps A^-2 + Q is dual feasible and its value is the bound: no search involved."""
    X, Y = related_tasks(rng, 50, 6)
    est = MultiTaskRegressor(Sparse(0.8), kernel="rbf", alpha=1e-2, scale_targets=False, tol=1e-10).fit(X, Y)
    C = (Y - est.predict(X)) / (50 * 1e-2)
    Q = C.T @ est.feature_map_.transform(X) @ C
    P = np.linalg.inv(est.structure_)
    W = est.eps_ * P @ P + Q
    np.testing.assert_allclose(np.diag(W), 1.0, atol=1e-3)
    off = W[~np.eye(6, dtype=bool)]
    assert np.all(np.abs(off) <= 0.2 + 1e-3)
    # Complementary slackness: an edge only where the threshold is reached.
    edges = est.structure_[~np.eye(6, dtype=bool)] != 0
    np.testing.assert_allclose(np.abs(off[edges]), 0.2, atol=1e-3)
