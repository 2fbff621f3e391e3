"""Laws of the structure step, for every penalty in the table."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from problems import random_psd, step_cost, structure_cost

from skmtl import minimize_structure
from skmtl.penalties import PENALTIES, Fixed, Groups, Laplacian, Sparse
from skmtl.penalties._splitting import primal_dual

STEPS = np.geomspace(1e-5, 0.5, 8)


def other_minimizers(penalty, S, rng):
    """Minimizers of problems near S and far from it."""
    for share in (1.0, 1.0, 0.3, 0.3, 0.1, 0.1):
        yield penalty.minimize((1 - share) * S + share * random_psd(rng, len(S), rank=2)).structure


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("n_tasks", [1, 2, 5])
def test_no_neighbour_is_better(name, n_tasks, rng):
    penalty, S = PENALTIES[name](), random_psd(rng, n_tasks)
    A, gap = penalty.minimize(S)
    best = step_cost(penalty, A, S)
    assert np.isfinite(best)
    for B, t in product(other_minimizers(penalty, S, rng), STEPS):
        # The domain is convex: between two structures of it there is no way out, and beyond them there may be one.
        between, beyond = (1 - t) * A + t * B, (1 + t) * A - t * B
        assert best * (1 - gap - 1e-10) <= step_cost(penalty, between, S) < np.inf
        if np.linalg.eigvalsh(beyond)[0] > 0.0:
            assert best * (1 - gap - 1e-10) <= step_cost(penalty, beyond, S)


@pytest.mark.parametrize("name", PENALTIES)
def test_structure_is_symmetric_and_positive_definite(name, rng):
    A, _ = PENALTIES[name]().minimize(random_psd(rng, 6, rank=2, ridge=1e-2))
    np.testing.assert_array_equal(A, A.T)
    assert np.linalg.eigvalsh(A)[0] > 0


@pytest.mark.parametrize("name", PENALTIES)
def test_order_of_tasks_does_not_matter(name, rng):
    S, order = random_psd(rng, 5), rng.permutation(5)
    penalty = PENALTIES[name]()
    A, _ = penalty.minimize(S, tol=1e-10)
    B, _ = penalty.minimize(S[np.ix_(order, order)], tol=1e-10)
    np.testing.assert_allclose(B, A[np.ix_(order, order)], rtol=1e-5, atol=1e-6 * np.abs(A).max())


@pytest.mark.parametrize("name", PENALTIES)
def test_inner_lower_bound_holds_for_any_structure(name, rng):
    penalty, n_tasks = PENALTIES[name](), 4
    for trial in range(200):
        factor = rng.standard_normal((n_tasks, n_tasks)) * 10.0 ** rng.uniform(-2, 0.5)
        Q, eps, scale = factor @ factor.T, 10.0 ** rng.uniform(-4, 1), rng.uniform(0, 1.2)
        guess = random_psd(rng, n_tasks)
        bound = penalty.lower_bound(Q, eps, guess, scale)
        # Any structure that the penalty itself proposes costs at least the bound.
        A, _ = penalty.minimize(random_psd(rng, n_tasks) * 10.0 ** rng.uniform(-3, 3))
        assert bound <= structure_cost(penalty, A, eps) - scale**2 * np.sum(A * Q) + 1e-9 * (1 + abs(bound)), trial


@pytest.mark.parametrize("mu", [0.1, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("n_tasks", [2, 5, 20])
def test_edges_appear_exactly_at_the_threshold(mu, n_tasks, rng):
    norms = np.exp(rng.standard_normal(n_tasks))
    correlation = np.eye(n_tasks)
    noise = rng.uniform(-0.5, 0.5, (n_tasks, n_tasks)) * (1 - mu) / n_tasks
    correlation += np.triu(noise, 1) + np.triu(noise, 1).T
    for side, edges in ((1 - 1e-6, 0), (1 + 1e-6, 2)):
        correlation[0, 1] = correlation[1, 0] = -side * (1 - mu)
        A, _ = minimize_structure(correlation * np.outer(norms, norms), Sparse(mu), tol=1e-12)
        off_diagonal = A - np.diag(np.diag(A))
        assert np.count_nonzero(off_diagonal) == edges
        assert np.sign(off_diagonal[0, 1]) == (-1 if edges else 0)


def test_newton_and_primal_dual_agree(rng):
    for n_tasks, mu in [(3, 0.5), (8, 0.8), (8, 0.95), (12, 0.7)]:
        S = random_psd(rng, n_tasks, ridge=0.1)
        A, _ = minimize_structure(S, Sparse(mu), tol=1e-10)
        B, gap = minimize_structure(S, Sparse(mu, solver="primal-dual"), tol=1e-8)
        assert gap <= 1e-8
        penalty = Sparse(mu)
        assert step_cost(penalty, A, S) == pytest.approx(step_cost(penalty, B, S), rel=1e-6)
        np.testing.assert_allclose(A, B, atol=1e-3 * np.abs(A).max())


def test_splitting_ends_at_the_first_look_where_it_starts_from_the_solution(rng):
    S, mu = random_psd(rng, 5), 0.7
    A, _ = minimize_structure(S, Sparse(mu), tol=1e-12)

    def distance(B):
        return np.abs(A - B).max() / np.abs(A).max()

    options = {"certify": distance, "tol": 1e-6, "max_iter": 5000, "check_every": 7}
    near, gap, n_near = primal_dual(S, mu, start=A, **options)
    _, _, n_far = primal_dual(S, mu, start=None, **options)
    assert n_near == 7 < n_far
    assert distance(near) == gap <= 1e-6
    # The limit is a look, too, and the best that was seen is returned.
    cut, gap, n_cut = primal_dual(S, mu, start=A, **{**options, "max_iter": 3, "tol": 0.0})
    assert n_cut == 3
    assert distance(cut) == gap <= 1e-6


@pytest.mark.parametrize("seed", [7, 14, 15, 26, 42])
def test_splitting_ends_where_rounding_leaves_eigenvalues_below_zero(seed):
    """Four directions of six: what the others have is rounding, of either sign, which the machine decides."""
    B = np.random.default_rng(seed).standard_normal((6, 4))
    A, gap = Sparse(solver="primal-dual", max_iter=50).minimize(B @ B.T)
    assert np.isfinite(A).all()
    assert gap > 0.0


def test_dense_limit_is_the_matrix_square_root(rng):
    S = random_psd(rng, 7)
    A, gap = minimize_structure(S, Sparse(mu=1.0))
    np.testing.assert_allclose(A @ A, S, atol=1e-10)
    assert 0.0 < gap < 1e-14


def test_a_start_that_led_nowhere_is_forgotten(rng):
    """One iteration from far away proves nothing; the square root needs none."""
    S = random_psd(rng, 5)
    far = 100.0 * random_psd(rng, 5)
    A, gap = Sparse(1.0, max_iter=1).minimize(S, start=far, tol=1e-9)
    np.testing.assert_allclose(A @ A, S, atol=1e-10)
    assert gap == 0.0


@pytest.mark.parametrize("ridge", [1e-4, 1e-6])
@pytest.mark.parametrize("mu", [0.5, 0.8, 0.98])
def test_nearly_singular_problems_are_certified(ridge, mu, rng):
    S = random_psd(rng, 40, rank=8, ridge=ridge)
    A, gap = minimize_structure(S, Sparse(mu), tol=1e-6)
    assert gap <= 1e-6
    assert np.linalg.eigvalsh(A)[0] > 0


def test_gap_of_the_step_is_honest(rng):
    """A step cut short says so, and the gap it reports covers its true distance from the optimum."""
    S = random_psd(rng, 10, rank=4, ridge=1e-3)
    A, _ = minimize_structure(S, Sparse(0.8), tol=1e-10)
    B, gap = minimize_structure(S, Sparse(0.8, solver="primal-dual", max_iter=300), tol=1e-12)
    penalty = Sparse(0.8)
    distance = (step_cost(penalty, B, S) - step_cost(penalty, A, S)) / step_cost(penalty, B, S)
    assert 1e-12 < distance - 1e-9 <= gap < np.inf


def nearly_singular(seed):
    """Multiples of one task, but for a ridge next to nothing."""
    rng = np.random.default_rng(seed)
    n_tasks = int(rng.integers(2, 8))
    B = rng.standard_normal((1, n_tasks))
    return B.T @ B + 10.0 ** rng.uniform(-15, -8) * np.eye(n_tasks)


@pytest.mark.parametrize("penalty", [Sparse(0.9), Sparse(0.5), Groups(mu=0.8)])
@pytest.mark.parametrize("seed", [11, 112, 277])
def test_rounding_is_no_gap_below_zero(penalty, seed):
    S = nearly_singular(seed)
    assert penalty.minimize(S, tol=1e-8).gap >= 0.0
    assert minimize_structure(S, penalty).gap > 0.0


def test_a_graph_and_blocks_have_no_gap_below_zero(rng):
    for seed in range(40):
        assert Laplacian().minimize(nearly_singular(seed), tol=1e-14).gap >= 0.0
    S = np.kron(np.eye(20), [[1.0, 0.9], [0.9, 1.0]])
    assert Sparse(0.6).minimize(S, tol=1e-14).gap >= 0.0


def test_a_closed_form_says_what_rounding_costs():
    """Where the smallest eigenvalue of S is lost, that may be most of the cost; with 60 digits nothing is."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        for seed in range(190, 230):
            S = nearly_singular(seed)
            step = minimize_structure(S, Sparse(1.0))
            A, S = (mpmath.matrix(M.tolist()) for M in (step.structure, S))
            if min(mpmath.eigsy(A, eigvals_only=True)) <= 0:
                assert step.gap > 1e-8
                continue
            whole = A**-1 * S + A
            cost = mpmath.fsum(whole[t, t] for t in range(A.rows))
            least = 2 * mpmath.fsum(map(mpmath.sqrt, mpmath.eigsy(S, eigvals_only=True)))
            assert float((cost - least) / cost) <= step.gap
            assert step.gap > 0.0
    assert minimize_structure(np.eye(3), Fixed(np.ones((3, 3)))).gap == 0.0


@pytest.mark.parametrize("power", [10, 30, 40, 45, 48, 49, 50, 51, 52, 53])
def test_the_gap_of_a_closed_form_holds_in_fractions(power):
    """Two tasks next to each other, of which eigenvalues, and with them the minimum, are known."""
    small = 2.0**-power
    S = np.array([[1.0, 1.0 - small], [1.0 - small, 1.0]])
    (a, b), (_, c) = A = minimize_structure(S, Sparse(1.0)).structure
    gap = minimize_structure(S, Sparse(1.0)).gap
    a, b, c = Fraction(a), Fraction(b), Fraction(c)
    determinant = a * c - b * b
    if determinant <= 0:
        assert gap > 1e-8
        return
    cost = (a + c - 2 * b * Fraction(S[0, 1])) / determinant + a + c
    least = 2 * (Fraction(np.sqrt(small)) + Fraction(np.sqrt(2.0 - small)))
    assert float((cost - least) / cost) <= gap + 1e-15
    assert gap < 1e-15 * np.sqrt(1.0 / small) or np.linalg.eigvalsh(A)[0] < 0.5 * np.sqrt(small)


def test_fixed_structures():
    W = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    A = Fixed.from_graph(W, ridge=0.5).structure(3)
    f = np.array([1.0, -2.0, 0.5])
    smoothness = sum(W[t, s] * (f[t] - f[s]) ** 2 for t in range(3) for s in range(t))
    assert f @ np.linalg.solve(A, f) == pytest.approx(smoothness + 0.5 * f @ f)
    A = Fixed.mean_coupled(3.0).structure(4)
    f = np.array([1.0, -2.0, 0.5, 3.0])
    assert f @ np.linalg.solve(A, f) == pytest.approx(f @ f + 3.0 * np.sum((f - f.mean()) ** 2))
    np.testing.assert_array_equal(Fixed().structure(3), np.eye(3))
