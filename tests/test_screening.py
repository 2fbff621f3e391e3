"""Laws of screening: blocks solved apart are the optimum exactly where the rule between them says so."""

from importlib import import_module
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import scipy.linalg
from conic_penalties import conic
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import gram, grouped_psd, grouped_tasks, random_psd, related_tasks, step_cost, with_gaps
from reference import joint_optimum, structure_optimum

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl._linalg import SKIP_ZEROS_SIZE, times_sparse
from skmtl.objective import Problem
from skmtl.penalties import Sparse, _screening, sparse
from skmtl.solvers import solve
from skmtl.solvers.joint import solve_jointly
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.screened import _JointBlocks, _lone_structures

seeds = st.integers(0, 2**32 - 1)
mus = st.sampled_from([0.0, 0.3, 0.6, 0.8, 0.9, 0.95])
some = settings(max_examples=40, deadline=None, derandomize=True)


def screen_from(monkeypatch, n_tasks):
    """Screen the structure step and the whole problem where there are so many tasks."""
    # The function of the same name hides the module.
    for module in (sparse, import_module("skmtl.solvers.solve")):
        monkeypatch.setattr(module, "WORTH_SCREENING", n_tasks)


@pytest.fixture
def screen_always(monkeypatch):
    screen_from(monkeypatch, 2)


def cost_of(A, S, mu):
    return step_cost(Sparse(mu), A, S)


def unscreened(S, mu, tol=1e-12):
    return sparse.minimize_whole(Sparse(mu), S, None, tol).structure


def screened(S, mu, start=None, tol=1e-10):
    return sparse.minimize_in_blocks(S, Sparse(mu), lambda *a: sparse.minimize_whole(Sparse(mu), *a), start, tol)


def block_diagonal(parts, n_tasks):
    A = np.zeros((n_tasks, n_tasks))
    for tasks, block in parts:
        A[np.ix_(tasks, tasks)] = block
    return A


# The rule -------------------------------------------------------------------------------------------------------------


def largest_between(W, group):
    return np.abs(W[group[:, None] != group]).max()


@some
@given(seed=seeds, mu=mus, between=st.floats(0.0, 0.6))
def test_rule_of_the_step_is_necessary_and_sufficient(seed, mu, between):
    S, group = grouped_psd(np.random.default_rng(seed), (3, 2, 2), between=between)
    parts = [(t, unscreened(S[np.ix_(t, t)], mu)) for t in (np.flatnonzero(group == g) for g in range(3))]
    apart = block_diagonal(parts, len(S))
    P = np.linalg.inv(apart)
    excess = largest_between(P @ S @ P, group) / (1 - mu) - 1
    gain = 1 - cost_of(unscreened(S, mu), S, mu) / cost_of(apart, S, mu)
    # On the threshold itself rounding decides.
    assume(excess <= -1e-6 or excess >= 1e-2)
    assert (gain <= 1e-9) == (excess < 0.0)


@pytest.mark.parametrize(("between", "holds"), [(0.05, True), (0.3, False)])
def test_rule_of_the_step_agrees_with_a_conic_solver(between, holds, rng):
    mu = 0.9
    S, group = grouped_psd(rng, (3, 3), between=between)
    parts = [(t, unscreened(S[np.ix_(t, t)], mu)) for t in (np.flatnonzero(group == g) for g in range(2))]
    apart = block_diagonal(parts, len(S))
    P = np.linalg.inv(apart)
    assert (largest_between(P @ S @ P, group) <= 1 - mu) == holds
    optimum, _ = structure_optimum(S, conic(Sparse(mu)))
    assert (cost_of(apart, S, mu) <= optimum * (1 + 1e-6)) == holds
    assert cost_of(screened(S, mu).structure, S, mu) == pytest.approx(optimum, rel=1e-6)


def joint_problem(X, Y, mu, *, alpha=0.02, eps=1.0):
    """The kernel matrix, the rows in an orthonormal basis, and the problem without an intercept."""
    K = gram(X, "linear")
    k, V = np.linalg.eigh(K)
    k, V = k[k > 1e-10 * k[-1]], V[:, k > 1e-10 * k[-1]]
    return K, V * np.sqrt(k), Problem(Ridge.from_targets(k, V.T @ Y, Y, len(Y), alpha), Sparse(mu), eps)


def solve_whole(problem, tol=1e-10):
    return solve_jointly(problem, start=None, tol=tol, max_iter=200, report=lambda proof: None)[0]


@pytest.mark.parametrize(("between", "holds"), [(0.02, True), (0.6, False)])
@pytest.mark.parametrize("mu", [0.7, 0.8])
def test_rule_of_the_whole_problem_agrees_with_a_conic_solver(mu, between, holds, rng, screen_always):
    X, Y, group = grouped_tasks(rng, 40, (3, 2), between=between)
    K, _, problem = joint_problem(X, Y, mu)
    C, objective = np.zeros(Y.shape), 0.0
    for tasks in (np.flatnonzero(group == g) for g in range(2)):
        _, rows, part = joint_problem(X, Y[:, tasks], mu)
        proof = solve_whole(part)
        objective += proof.objective
        C[:, tasks] = (Y[:, tasks] - rows @ proof.fit.coefficients()) / (len(Y) * problem.alpha)
    assert (largest_between(C.T @ K @ C, group) <= 1 - mu) == holds
    optimum, _ = joint_optimum(K, Y, conic(Sparse(mu)), alpha=problem.alpha, eps=problem.eps, intercept=False)
    assert (objective <= optimum * (1 + 1e-6)) == holds
    assert solve(problem, tol=1e-9).objective == pytest.approx(optimum, rel=1e-6)


# The structure step ---------------------------------------------------------------------------------------------------


@some
@given(seed=seeds, mu=mus, between=st.floats(0.0, 0.6), ridge=st.sampled_from([1e-3, 0.1]))
def test_screened_step_equals_the_unscreened(seed, mu, between, ridge):
    S, _ = grouped_psd(np.random.default_rng(seed), (4, 3, 1, 2), between=between, ridge=ridge)
    A, gap = screened(S, mu)
    best = unscreened(S, mu)
    assert gap <= 1e-10
    assert cost_of(A, S, mu) == pytest.approx(cost_of(best, S, mu), rel=1e-9)
    np.testing.assert_allclose(A, best, atol=1e-4 * np.abs(best).max())
    np.testing.assert_array_equal(A, A.T)


def test_a_guess_too_fine_is_merged(rng):
    S, group = grouped_psd(rng, (4, 4), between=0.5)
    best = unscreened(S, 0.9)
    assert np.any(best[group[:, None] != group] != 0)
    for start in (None, np.eye(8), np.where(group[:, None] == group, best, 0.0)):
        A, gap = screened(S, 0.9, start=start)
        assert gap <= 1e-10
        np.testing.assert_allclose(A, best, atol=1e-4 * np.abs(best).max())
        np.testing.assert_array_equal(A != 0, best != 0)


def test_a_guess_too_coarse_is_only_slower():
    """Two groups that correlations link and the optimum does not: the rule, not the guess, decides."""
    mu, group = 0.9, np.repeat([0, 1], 6)
    S = np.kron([[1.0, 0.3], [0.3, 1.0]], np.ones((6, 6))) + 0.1 * np.eye(12)
    assert largest_between(S, group) / S[0, 0] > 2 * (1 - mu)
    best = unscreened(S, mu)
    assert not np.any(best[group[:, None] != group])
    for start in (None, unscreened(S, 1.0), np.eye(12) + 0.1):
        A, gap = screened(S, mu, start=start)
        assert gap <= 1e-10
        np.testing.assert_allclose(A, best, atol=1e-4 * np.abs(best).max())
        np.testing.assert_array_equal(A != 0, best != 0)


def dual_value(W, S):
    """2 tr((S^{1/2} W S^{1/2})^{1/2}), a lower bound on the step when W is in the box and positive semidefinite."""
    root = np.linalg.cholesky(S)
    values = np.linalg.eigvalsh(root.T @ W @ root)
    assert values[0] >= 0
    return 2 * np.sum(np.sqrt(values))


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
@pytest.mark.parametrize("mu", [0.6, 0.9])
def test_certificate_of_the_step_holds_and_is_as_good_as_it_says(tol, mu, rng):
    S, _ = grouped_psd(rng, (8, 1, 5, 6), between=0.05)
    A, gap = screened(S, mu, tol=tol)
    assert _components(A) > 1
    cost = cost_of(A, S, mu)
    assert gap <= tol
    # No structure is cheaper than the bound; the best one is known from the unscreened solver.
    assert cost * (1 - gap) <= cost_of(unscreened(S, mu), S, mu) * (1 + 1e-12)
    # A dual point made from the answer alone, over all tasks at once, proves as much.
    P = np.linalg.inv(A)
    W = np.clip(P @ S @ P, mu - 1, 1 - mu)
    np.fill_diagonal(W, 1.0)
    lowest = min(np.linalg.eigvalsh(W)[0], 0.0)
    theta = -lowest / (1 - lowest)
    if tol <= 1e-3:
        assert dual_value((1 - theta) * W + theta * np.eye(len(S)), S) >= cost * (1 - 2 * tol)


def _components(A):
    return len(_screening.components(A != 0))


def test_blocks_that_touch_the_threshold_are_proved_apart_or_merged(rng):
    """Groups scaled so that the rule holds with equality, up to a hair on either side."""
    mu = 0.8
    S, group = grouped_psd(rng, (3, 3), between=0.3)
    inside = group[:, None] == group
    parts = [(t, unscreened(S[np.ix_(t, t)], mu)) for t in (np.flatnonzero(group == g) for g in range(2))]
    P = np.linalg.inv(block_diagonal(parts, 6))
    scale = (1 - mu) / largest_between(P @ S @ P, group)
    for hair in (-1e-7, -1e-12, 0.0, 1e-12, 1e-7):
        touching = np.where(inside, S, (1 + hair) * scale * S)
        assert np.linalg.eigvalsh(touching)[0] > 0
        A, gap = screened(touching, mu)
        assert gap <= 1e-10
        assert cost_of(A, touching, mu) == pytest.approx(cost_of(unscreened(touching, mu), touching, mu), rel=1e-9)


class SizeCounter:
    """Counts the eigendecompositions and inverses of matrices of one size."""

    def __init__(self, monkeypatch, size):
        self.count = 0
        for module, name in ((scipy.linalg, "eigh"), (scipy.linalg.lapack, "dpotrf")):
            monkeypatch.setattr(module, name, self._counting(getattr(module, name), size))

    def _counting(self, function, size):
        def counted(M, *args, **kwargs):
            self.count += len(M) == size
            return function(M, *args, **kwargs)

        return counted


def test_screening_costs_little_where_nothing_separates(rng, monkeypatch):
    S = random_psd(rng, 90, rank=15, ridge=1e-2)
    counter = SizeCounter(monkeypatch, 90)
    best = unscreened(S, 0.9, tol=1e-8)
    alone, counter.count = counter.count, 0
    assert _components(best) == 1
    A, gap = minimize_structure(S, Sparse(0.9), tol=1e-8)
    # One inverse is the check of S at the door.
    assert counter.count <= alone + 3
    assert gap <= 1e-8
    np.testing.assert_allclose(A, best, atol=1e-3 * np.abs(best).max())


def test_where_tasks_separate_nothing_is_decomposed_whole(rng, monkeypatch):
    S, _ = grouped_psd(rng, (30, 40, 20), between=0.01)
    counter = SizeCounter(monkeypatch, 90)
    A, gap = Sparse(0.8).minimize(S, tol=1e-7)
    assert counter.count == 0
    assert gap <= 1e-7
    assert _components(A) == 3


def test_blocks_solved_at_once_are_the_same(rng):
    S, _ = grouped_psd(rng, (20, 25, 30), between=0.01)
    one = Sparse(0.8).minimize(S)
    with joblib.parallel_config(n_jobs=2):
        two = Sparse(0.8).minimize(S)
    np.testing.assert_array_equal(one.structure, two.structure)


def test_products_that_skip_zeros_are_the_same(rng):
    P = random_psd(rng, SKIP_ZEROS_SIZE)
    D = np.where(rng.random(P.shape) < 0.01, rng.standard_normal(P.shape), 0.0)
    D = D + D.T
    np.testing.assert_allclose(times_sparse(P, D), P @ D, atol=1e-12 * np.abs(P @ D).max())


# The whole problem ----------------------------------------------------------------------------------------------------


def fit_both_ways(monkeypatch, X, Y, mu, **parameters):
    screened = MultiTaskRegressor(Sparse(mu), **parameters).fit(X, Y)
    screen_from(monkeypatch, Y.shape[1] + 1)
    return screened, MultiTaskRegressor(Sparse(mu), **parameters).fit(X, Y)


@pytest.mark.parametrize("mu", [0.2, 0.7, 0.85, 0.97])
def test_screened_fit_equals_the_unscreened(mu, rng, monkeypatch):
    X, Y, _ = grouped_tasks(rng, 80, (10, 1, 20, 15, 1, 20), noise=0.5)
    screened, whole = fit_both_ways(monkeypatch, X, Y, mu, tol=1e-9)
    assert screened.solution_.gap <= 1e-9
    assert screened.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-8)
    # Each bound is one on the same minimum.
    assert screened.solution_.lower_bound <= whole.solution_.objective * (1 + 1e-12)
    size = np.abs(whole.structure_).max()
    np.testing.assert_allclose(screened.structure_, whole.structure_, atol=1e-3 * size)
    np.testing.assert_allclose(screened.coef_, whole.coef_, atol=1e-4 * np.abs(whole.coef_).max())
    np.testing.assert_allclose(screened.intercept_, whole.intercept_, atol=1e-4)
    energy = whole.solution_.energy
    np.testing.assert_allclose(screened.solution_.energy, energy, atol=1e-3 * np.abs(energy).max())


def test_certificate_of_the_whole_problem_is_that_of_its_answer(rng):
    X, Y, _ = grouped_tasks(rng, 60, (20, 25, 1, 22))
    _, _, problem = joint_problem(X, Y, 0.8)
    seen = []
    solution = solve(problem, tol=1e-7, callback=seen.append)
    assert 1 < _components(solution.structure) < Y.shape[1]
    # The same structure, proved over all tasks at once.
    fit = problem.fit(solution.structure)
    proof = problem.certify(solution.structure, fit)
    assert proof.objective == pytest.approx(solution.objective, rel=1e-11)
    assert proof.gap <= 1e-6
    assert solution.gap <= 1e-7
    assert solution.lower_bound <= solve_whole(problem).objective * (1 + 1e-12)
    np.testing.assert_allclose(solution.coef, fit.coefficients(), atol=1e-9 * np.abs(solution.coef).max())
    np.testing.assert_allclose(
        solution.energy, fit.energy(solution.structure), atol=1e-9 * np.abs(solution.energy).max()
    )
    assert seen[-1]["gap"] == solution.gap


def test_a_warm_start_that_joins_too_little_is_merged(rng):
    X, Y, group = grouped_tasks(rng, 60, (35, 35), between=0.5)
    _, _, problem = joint_problem(X, Y, 0.9)
    best = solve_whole(problem)
    assert np.any(best.structure[group[:, None] != group] != 0)
    start = np.where(group[:, None] == group, best.structure, 0.0)
    solution = solve(problem, start=start, tol=1e-8)
    assert solution.objective == pytest.approx(best.objective, rel=1e-7)


@pytest.mark.parametrize("eps", [1e-4, 1.0, 1e4])
def test_lone_tasks_are_solved_by_themselves(eps, rng):
    X, Y = related_tasks(rng, 30, 5)
    _, _, problem = joint_problem(X, Y, 0.0, eps=eps)
    blocks = _JointBlocks(problem, 100, lambda proof: None).alone(np.array([1, 3]))
    for block, t in zip(blocks, (1, 3), strict=True):
        _, _, one = joint_problem(X, Y[:, [t]], 0.0, eps=eps)
        rest = problem.supervised.rest / 5 - one.supervised.rest
        assert block.proof.gap <= 1e-10
        assert block.proof.objective - rest / len(Y) == pytest.approx(solve_whole(one).objective, rel=1e-9)


def test_what_is_proved_of_some_tasks_is_no_news_about_all(rng):
    X, Y = related_tasks(rng, 30, 5)
    _, _, problem = joint_problem(X, Y, 0.5)
    reported = []
    blocks = _JointBlocks(problem, 100, reported.append)
    blocks.solve(np.array([0, 2, 3]), None, 1e-6)
    assert reported == []
    whole = blocks.solve(np.arange(5), None, 1e-6)
    assert reported[-1].objective == whole.proof.objective
    assert whole.proof.gap <= 1e-6


def test_a_common_component_keeps_tasks_together(rng, monkeypatch):
    X, Y, _ = grouped_tasks(rng, 50, (33, 33))
    screened, whole = fit_both_ways(monkeypatch, X, Y, 0.8, common=3.0)
    assert screened.solution_.gap <= 1e-6
    np.testing.assert_array_equal(screened.structure_, whole.structure_)


def test_gaps_in_the_labels_do_not_keep_tasks_together(rng, monkeypatch):
    X, Y, _ = grouped_tasks(rng, 60, (22, 22, 22), noise=0.05)
    screened, whole = fit_both_ways(monkeypatch, X, with_gaps(rng, Y, 0.2), 0.5)
    assert screened.solution_.gap <= 1e-6
    assert _components(screened.structure_) == 3
    np.testing.assert_array_equal(screened.structure_ != 0.0, whole.structure_ != 0.0)
    assert screened.solution_.objective == pytest.approx(whole.solution_.objective, rel=2e-6)
    np.testing.assert_allclose(screened.structure_, whole.structure_, atol=1e-2 * np.abs(whole.structure_).max())


def test_structures_of_lone_tasks_are_of_any_size():
    """The roots of a^2 = ||b||^2 + eps, here of predictors whose norms do not change with a."""
    energy, eps = np.array([1e8, 0.0, 1e-6, 1.0]), 1e-8
    supervised = SimpleNamespace(diagonal_energy=lambda a, tol: energy)
    found = _lone_structures(SimpleNamespace(n_tasks=4, eps=eps, supervised=supervised))
    np.testing.assert_allclose(found, np.sqrt(energy + eps), rtol=0.01)
