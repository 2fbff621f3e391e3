"""Reference answers: a conic solver finds the same optimum."""

import numpy as np
import pytest
from conic_penalties import conic
from problems import gram, random_psd, related_tasks, step_cost
from reference import joint_optimum, structure_optimum

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl.penalties import Sparse

SETTINGS = [
    # seed, n, n_tasks, alpha, mu, relative eps, kernel, intercept, common
    (seed, n, n_tasks, alpha, mu, eps, kernel, seed % 2 == 0, 0.0 if seed % 3 else 2.0)
    for seed, (n, n_tasks, alpha, mu, eps, kernel) in enumerate(
        [
            (12, 2, 1e-2, 0.5, 1e-2, "linear"),
            (20, 3, 1e-1, 0.9, 1e-3, "rbf"),
            (30, 6, 1e-3, 0.8, 1e-2, "rbf"),
            (30, 4, 1e-2, 1.0, 1e-1, "linear"),
            (25, 5, 1e-4, 0.95, 1e-2, "linear"),
            (15, 6, 1e-2, 0.6, 1e0, "rbf"),
            (10, 6, 1e-1, 0.9, 1e1, "linear"),
            (30, 3, 1e-3, 0.3, 1e-3, "rbf"),
            (18, 4, 1e-2, 0.0, 1e-2, "rbf"),
            (22, 5, 1e-1, 0.97, 1e-2, "rbf"),
            (30, 2, 1e-4, 0.9, 1e-3, "rbf"),
            (8, 6, 1e-2, 0.9, 1e-1, "linear"),
            (30, 6, 1e-2, 0.7, 1e-3, "linear"),
            (26, 3, 1e-3, 1.0, 1e-3, "rbf"),
            (14, 1, 1e-2, 0.9, 1e-2, "rbf"),
            (30, 5, 1e-3, 0.85, 1e1, "rbf"),
            (16, 4, 1e-1, 0.5, 1e-3, "linear"),
            (28, 6, 1e-4, 0.75, 1e0, "linear"),
            (30, 4, 1e-2, 0.99, 1e-2, "rbf"),
            (24, 6, 1e-3, 0.9, 1e-3, "linear"),
            (30, 6, 1e-1, 0.8, 1e-2, "linear"),
            (20, 5, 1e-2, 0.4, 1e-3, "rbf"),
        ]
    )
]


@pytest.mark.parametrize(("seed", "n", "n_tasks", "alpha", "mu", "eps", "kernel", "intercept", "common"), SETTINGS)
def test_joint_problem(seed, n, n_tasks, alpha, mu, eps, kernel, intercept, common):
    X, Y = related_tasks(np.random.default_rng(seed), n, n_tasks)
    settings = {"alpha": alpha, "kernel": kernel, "fit_intercept": intercept, "common": common, "scale_targets": False}
    relative = MultiTaskRegressor(Sparse(mu), **settings).fit(X, Y)
    eps = relative.eps_ * 100 * eps
    est = MultiTaskRegressor(Sparse(mu), eps=eps, tol=1e-9, **settings).fit(X, Y)
    optimum, structure = joint_optimum(
        gram(X, kernel),
        Y,
        conic(Sparse(mu)),
        alpha=alpha,
        eps=eps,
        common=common,
        intercept=intercept,
    )
    assert est.solution_.objective == pytest.approx(optimum, rel=1e-6)
    assert est.solution_.lower_bound <= optimum * (1 + 1e-6)
    np.testing.assert_allclose(est.structure_, structure, atol=1e-2 * np.abs(structure).max())


@pytest.mark.parametrize("solver", ["newton", "primal-dual"])
@pytest.mark.parametrize("mu", [0.0, 0.3, 0.7, 0.9, 1.0])
@pytest.mark.parametrize(("n_tasks", "ridge"), [(1, 0.1), (2, 1e-2), (4, 1e-1), (6, 1e-2), (6, 1e1)])
def test_structure_step(solver, mu, n_tasks, ridge):
    S = random_psd(np.random.default_rng(n_tasks), n_tasks, ridge=ridge)
    A, gap = minimize_structure(S, Sparse(mu, solver=solver), tol=1e-8)
    optimum, _ = structure_optimum(S, conic(Sparse(mu)))
    assert step_cost(Sparse(mu), A, S) == pytest.approx(optimum, rel=1e-6)
    assert gap <= 1e-6
