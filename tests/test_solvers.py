"""Agreement: every road to the optimum ends at the same place, certified."""

import warnings

import numpy as np
import pytest
from problems import gram, related_tasks
from sklearn.exceptions import ConvergenceWarning

from skmtl import MultiTaskRegressor
from skmtl.features import PrecomputedMap
from skmtl.losses import Square
from skmtl.objective import Problem
from skmtl.penalties import PENALTIES, Sparse
from skmtl.solvers import make_design, make_supervised, solve
from skmtl.targets import make_labels


@pytest.mark.parametrize(("mu", "common"), [(0.6, 0.0), (0.9, 3.0), (1.0, 0.0)])
def test_the_papers_algorithms_agree_with_the_default(mu, common, rng):
    X, Y = related_tasks(rng, 30, 4)
    settings = {"kernel": "rbf", "alpha": 0.1, "eps": 0.1, "common": common}
    default = MultiTaskRegressor(Sparse(mu), tol=1e-10, **settings).fit(X, Y)
    accelerated = MultiTaskRegressor(Sparse(mu), solver="anderson", tol=1e-10, **settings).fit(X, Y)
    paper = MultiTaskRegressor(
        Sparse(mu, solver="primal-dual"), solver="alternating", tol=1e-10, max_iter=2000, **settings
    ).fit(X, Y)
    for other in (accelerated, paper):
        assert other.solution_.objective == pytest.approx(default.solution_.objective, rel=1e-6)
        np.testing.assert_allclose(other.structure_, default.structure_, atol=1e-4 * np.abs(default.structure_).max())
        np.testing.assert_allclose(other.predict(X), default.predict(X), atol=1e-3)


def test_acceleration_ends_on_exact_zeros(rng):
    X, Y = related_tasks(rng, 60, 8, rank=8, noise=1.0)
    settings = {"kernel": "rbf", "alpha": 1e-2, "tol": 1e-7}
    newton = MultiTaskRegressor(Sparse(0.7), **settings).fit(X, Y)
    anderson = MultiTaskRegressor(Sparse(0.7), solver="anderson", **settings).fit(X, Y)
    assert 8 < np.count_nonzero(newton.structure_) < 64
    np.testing.assert_array_equal(newton.structure_ != 0, anderson.structure_ != 0)


@pytest.mark.parametrize(("n", "n_tasks", "rank", "noise"), [(50, 10, 5, 0.3), (300, 30, 30, 0.3), (150, 60, 12, 0.0)])
@pytest.mark.parametrize("alpha", [1e-4, 1e-1])
@pytest.mark.parametrize("eps", [1e-4, 1e2])
def test_certified_at_default_settings(n, n_tasks, rank, noise, alpha, eps, rng):
    X, Y = related_tasks(rng, n, n_tasks, rank=rank, noise=noise, n_features=8)
    auto = MultiTaskRegressor("independent", kernel="rbf", alpha=alpha).fit(X, Y).eps_
    for mu in (0.05, 0.8, 0.95, 1.0):
        est = MultiTaskRegressor(Sparse(mu), kernel="rbf", alpha=alpha, eps=100 * auto * eps).fit(X, Y)
        assert est.solution_.gap <= 1e-6, mu


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("eps", [1e-4, 1e-2, 1e0, 1e2])
@pytest.mark.parametrize("mu", [0.05, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0])
@pytest.mark.parametrize(
    ("n", "n_tasks", "rank", "noise"), [(50, 10, 5, 0.3), (500, 30, 30, 0.3), (1000, 85, 85, 0.3), (500, 100, 20, 0.0)]
)
def test_certified_at_default_settings_everywhere(n, n_tasks, rank, noise, alpha, eps, mu, rng):
    X, Y = related_tasks(rng, n, n_tasks, rank=rank, noise=noise, n_features=8)
    auto = MultiTaskRegressor("independent", kernel="rbf", alpha=alpha).fit(X, Y).eps_
    est = MultiTaskRegressor(Sparse(mu), kernel="rbf", alpha=alpha, eps=100 * auto * eps).fit(X, Y)
    assert est.solution_.gap <= 1e-6


@pytest.mark.parametrize("solver", ["newton", "anderson", "alternating"])
def test_too_little_work_is_admitted(solver, rng):
    X, Y = related_tasks(rng, 50, 10)
    with pytest.warns(ConvergenceWarning, match=r"within .* of the global optimum, but not within tol=.*max_iter"):
        est = MultiTaskRegressor(Sparse(0.9), kernel="rbf", alpha=1e-4, solver=solver, max_iter=1, tol=1e-12).fit(X, Y)
    solution = est.solution_
    assert not solution.converged
    assert solution.lower_bound <= solution.objective
    assert solution.gap > 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = MultiTaskRegressor(Sparse(0.9), kernel="rbf", alpha=1e-4, tol=1e-9).fit(X, Y).solution_.objective
    assert solution.lower_bound <= best * (1 + 1e-9)
    assert solution.objective >= best * (1 - 1e-9)


def test_extreme_eps_is_certified_or_admitted(rng):
    X, Y = related_tasks(rng, 40, 15, rank=4, noise=0.0)
    for eps in (1e-10, 1e9):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            est = MultiTaskRegressor(Sparse(0.9), kernel="rbf", alpha=1e-3, eps=eps).fit(X, Y)
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        assert warned == (est.solution_.gap > 1e-6)


def test_large_eps_leads_to_independent_tasks(rng):
    """As eps grows A tends to sqrt(eps) I, which is independent tasks with alpha / sqrt(eps)."""
    X, Y = related_tasks(rng, 40, 4)
    eps = 1e8
    est = MultiTaskRegressor(Sparse(0.9), kernel="rbf", alpha=1e-2 * np.sqrt(eps), eps=eps).fit(X, Y)
    alone = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-2).fit(X, Y)
    np.testing.assert_allclose(est.structure_, np.sqrt(eps) * np.eye(4), rtol=1e-3)
    np.testing.assert_allclose(est.predict(X), alone.predict(X), atol=1e-3)


def test_callback_and_history_tell_the_same(rng):
    X, Y = related_tasks(rng, 50, 6)
    seen = []
    est = MultiTaskRegressor(kernel="rbf", solver="anderson", callback=seen.append).fit(X, Y)
    assert seen
    # The solution's own is that of the model that is returned, of which a twentieth of tol is left to rounding.
    assert seen[-1]["gap"] + 5e-8 == pytest.approx(est.solution_.gap, abs=1e-12)
    np.testing.assert_array_equal([s["objective"] for s in seen], est.solution_.history["objective"])
    np.testing.assert_array_equal([s["gap"] for s in seen], est.solution_.history["gap"])


@pytest.mark.parametrize("penalty", [Sparse(0.8), PENALTIES["trace"](), PENALTIES["independent"]()])
def test_without_a_certificate_the_answer_is_nearly_the_same(penalty, rng):
    X, Y = related_tasks(rng, 50, 6)
    K = gram(X, "rbf")
    design = make_design(PrecomputedMap(), K, np.ones(50), intercept=True, overwrite=False)
    targets = make_labels(Y - Y.mean(axis=0), np.ones(Y.shape))
    problem = Problem(make_supervised(design, targets, Square(), 1e-2, intercept=True), penalty, 0.1)
    proved = solve(problem, tol=1e-8)
    quick = solve(problem, tol=1e-3, certify=False)
    assert proved.converged
    assert proved.objective * (1 - 1e-7) <= quick.objective <= proved.objective * (1 + 1e-3)
    # What is not proved is not claimed.
    assert quick.converged == np.isfinite(quick.gap)
    assert np.isfinite(quick.lower_bound) or "nothing is proved" in quick.status
