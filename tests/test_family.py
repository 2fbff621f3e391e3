"""Every structure penalty against a conic solver and against the published alternation over features."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from conic_penalties import CONIC, conic
from problems import gram, random_psd, related_tasks, step_cost, structure_cost
from reference import joint_optimum, structure_optimum
from sklearn.base import clone

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl.penalties import PENALTIES, Cluster, Features, Frobenius, Laplacian, Trace

VARIANTS = [
    *(cls() for cls in PENALTIES.values()),
    Frobenius(weight=0.2),
    Trace(ridge=0.5),
    Trace(ridge=200.0),
    Cluster(within=30.0, between=0.5, mean=2.0),
    Cluster(n_clusters=1),
    Cluster(within=2.0, between=2.0),
    Laplacian(ridge=0.3, share=0.2),
    Laplacian(ridge=4.0, share=0.85),
]
LEARNED = [penalty for penalty in VARIANTS if not penalty.known]
# Their lower bound is the inner minimum itself.
EXACT = [penalty for penalty in LEARNED if penalty.exact_bound]


def inner_optimum(penalty, Q, eps):
    """min over A of eps tr(A^-1) + R(A) - tr(A Q), by a conic solver."""
    n_tasks = len(Q)
    A = cp.Variable(Q.shape, symmetric=True)
    cost, constraints = conic(penalty)(A)
    objective = eps * cp.matrix_frac(np.eye(n_tasks), A) + cost - cp.trace(A @ Q)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver="CLARABEL")
    return problem.value, A.value


def test_every_penalty_has_a_conic_form():
    assert set(CONIC) == set(PENALTIES)


@pytest.mark.parametrize("penalty", VARIANTS, ids=repr)
@pytest.mark.parametrize(
    ("n_tasks", "rank", "ridge"),
    [(1, None, 0.1), (2, None, 1e-2), (3, None, 1e-1), (4, 1, 1e-2), (5, None, 1e-3), (6, 2, 1e-2), (6, 3, 1e-4)],
)
def test_structure_step_is_the_conic_optimum(penalty, n_tasks, rank, ridge):
    S = random_psd(np.random.default_rng(n_tasks), n_tasks, rank=rank, ridge=ridge)
    A, gap = minimize_structure(S, penalty, tol=1e-8)
    optimum, _ = structure_optimum(S, conic(penalty))
    assert step_cost(penalty, A, S) == pytest.approx(optimum, rel=1e-6)
    assert gap <= 1e-8


@pytest.mark.parametrize("penalty", LEARNED, ids=repr)
@pytest.mark.parametrize("n_tasks", [1, 2, 4, 6])
@pytest.mark.parametrize("eps", [1e-3, 1e-1, 10.0])
def test_inner_lower_bound_is_the_conic_optimum(penalty, n_tasks, eps):
    rng = np.random.default_rng(n_tasks)
    B = rng.standard_normal((n_tasks, n_tasks)) * 0.3
    # The dual of the sparse penalty is bounded only where Q is small enough.
    Q = B @ B.T / max(1.0, 2.0 * np.linalg.eigvalsh(B @ B.T)[-1])
    optimum, minimizer = inner_optimum(penalty, Q, eps)
    size = abs(optimum) + eps * np.trace(np.linalg.inv(minimizer)) + np.sum(minimizer * Q)
    guesses = [minimizer, np.eye(n_tasks), 1e3 * random_psd(rng, n_tasks), 1e-3 * random_psd(rng, n_tasks)]
    for guess in guesses:
        assert penalty.lower_bound(Q, eps, guess) <= optimum + 1e-7 * size
    assert penalty.lower_bound(Q, eps, minimizer) >= optimum - 1e-6 * size


@pytest.mark.parametrize("penalty", EXACT, ids=repr)
@pytest.mark.parametrize("scale", [0.0, 0.7, 1.1])
def test_scaling_the_dual_coefficients_is_scaling_their_products(penalty, scale, rng):
    for n_tasks in (1, 2, 5):
        Q, guess = random_psd(rng, n_tasks), random_psd(rng, n_tasks)
        bound = penalty.lower_bound(scale**2 * Q, 0.1, guess)
        assert penalty.lower_bound(Q, 0.1, guess, scale) == pytest.approx(bound, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("penalty", EXACT, ids=repr)
def test_bound_does_not_need_a_good_guess(penalty, rng):
    """These bounds are the inner minimum itself, whatever the guess."""
    for eps in (1e-3, 1e-1, 10.0):
        Q = random_psd(rng, 5)
        bounds = [
            penalty.lower_bound(Q, eps, guess)
            for guess in (np.eye(5), 1e3 * random_psd(rng, 5), -np.eye(5), np.full((5, 5), np.nan))
        ]
        np.testing.assert_allclose(bounds, bounds[0], rtol=1e-8)


@pytest.mark.parametrize("penalty", LEARNED, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_joint_problem(penalty, seed):
    n, n_tasks, alpha, intercept = [(20, 3, 1e-2, True), (25, 5, 1e-3, False), (15, 4, 1e-1, True)][seed]
    X, Y = related_tasks(np.random.default_rng(seed), n, n_tasks)
    est = MultiTaskRegressor(
        penalty, kernel="rbf", alpha=alpha, fit_intercept=intercept, scale_targets=False, tol=1e-7
    ).fit(X, Y)
    optimum, _ = joint_optimum(
        gram(X, "rbf"),
        Y,
        conic(penalty),
        alpha=alpha,
        eps=est.eps_,
        intercept=intercept,
    )
    assert est.solution_.gap <= 1e-7
    assert est.solution_.objective == pytest.approx(optimum, rel=1e-5)
    assert est.solution_.lower_bound <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("penalty", VARIANTS, ids=repr)
@pytest.mark.parametrize("n_tasks", [1, 2, 3, 7])
def test_own_minimizer_is_inside_the_domain(penalty, n_tasks, rng):
    penalty.check(n_tasks)
    for size in (1e-8, 1.0, 1e8):
        S = size * random_psd(rng, n_tasks, ridge=1e-3)
        assert np.isfinite(penalty.value(penalty.minimize(S).structure))


@pytest.mark.parametrize(
    ("penalty", "scaled"),
    [(Trace(), 1.01), (Trace(ridge=0.5), 1.01), (Cluster(), 1.01), (Laplacian(), 1.01), (Cluster(), 0.99)],
    ids=repr,
)
def test_outside_the_domain_the_cost_is_infinite(penalty, scaled, rng):
    A = penalty.minimize(random_psd(rng, 5)).structure
    assert penalty.value(scaled * A) == np.inf
    assert structure_cost(penalty, scaled * A, 0.1) == np.inf


@pytest.mark.parametrize("n_tasks", [2, 6, 20])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_learned_graph_keeps_its_constraints(n_tasks, share, rng):
    penalty = Laplacian(ridge=2.0, share=share)
    A, gap = penalty.minimize(random_psd(rng, n_tasks, rank=max(1, n_tasks // 3), ridge=1e-2))
    np.testing.assert_allclose(A.sum(axis=1), 0.5, rtol=1e-13)
    off_diagonal = A[~np.eye(n_tasks, dtype=bool)]
    assert off_diagonal.min() >= 0.0
    assert np.trace(A) == pytest.approx((1 + share * (n_tasks - 1)) / 2.0, rel=1e-13)
    assert np.linalg.eigvalsh(A)[0] > 0
    assert gap <= 1e-9
    # What is not zero is an edge; rounding leaves no dust.
    assert off_diagonal[off_diagonal > 0].min() > 1e-9


@pytest.mark.parametrize("tau", [2.5, 3.0, 4.0])
def test_learned_graph_finds_planted_groups(tau, rng):
    groups = np.repeat([0, 1], 3)
    W = np.where(groups[:, None] == np.arange(2), 1.0, 0.0) @ rng.standard_normal((2, 40))
    W += 0.1 * rng.standard_normal(W.shape)
    A, _ = minimize_structure(W @ W.T / 40 + 1e-2 * np.eye(6), Laplacian(tau=tau))
    same = groups[:, None] == groups
    off_diagonal = ~np.eye(6, dtype=bool)
    assert A[same & off_diagonal].min() > 3.0 * A[~same].max()


def test_warm_start_changes_the_work_not_the_answer(rng):
    penalty = Laplacian()
    S = random_psd(rng, 8, rank=3, ridge=1e-2)
    A, _ = penalty.minimize(S)
    for start in (A, np.eye(8), -random_psd(rng, 8), np.full((8, 8), np.nan)):
        B, gap = penalty.minimize(S, start=start)
        assert gap <= 1e-9
        np.testing.assert_allclose(B, A, atol=1e-4 * np.abs(A).max())


def test_clusters_have_the_spectrum_of_clusters(rng):
    """Tasks in three tight clusters: the relaxation gives the clusters' own matrix."""
    groups = np.repeat(np.eye(3), 3, axis=0)
    penalty = Cluster(3, within=8.0, between=1.0, mean=0.5)
    means = np.linalg.qr(rng.standard_normal((3, 3)))[0] * 5.0
    S = groups @ means @ means.T @ groups.T + 1e-4 * np.eye(9)
    M, U = groups @ groups.T / 3, np.full((9, 9), 1 / 9)
    inverse = 0.5 * U + 1.0 * (M - U) + 8.0 * (np.eye(9) - M)
    np.testing.assert_allclose(np.linalg.inv(penalty.minimize(S).structure), inverse, atol=1e-8)


@pytest.mark.parametrize("penalty", [p for p in VARIANTS if p.name == "cluster"], ids=repr)
@pytest.mark.parametrize("n_tasks", [2, 5, 9])
def test_the_clusters_of_a_solution_are_recovered_by_the_printed_formula(penalty, n_tasks, rng):
    """A = U/eps_M + (M - U)/eps_B + (I - M)/eps_W is solved for M, which is what the domain says it is."""
    A = penalty.minimize(random_psd(rng, n_tasks)).structure
    U, identity = np.full((n_tasks, n_tasks), 1 / n_tasks), np.eye(n_tasks)
    mean, between, within = 1 / penalty.mean, 1 / penalty.between, 1 / penalty.within
    if between == within:
        # M drops out: only what is said of the mean is left.
        np.testing.assert_allclose(A, mean * U + between * (identity - U), atol=1e-12)
        return
    M = (A - (mean - between) * U - within * identity) / (between - within)
    n_clusters = penalty.n_clusters or np.ceil(np.sqrt(n_tasks))
    m = np.linalg.eigvalsh(M)
    assert m.min() >= -1e-9
    assert m.max() <= 1 + 1e-9
    assert np.trace(M) == pytest.approx(n_clusters)
    np.testing.assert_allclose(M @ np.ones(n_tasks), 1.0)


def test_a_large_ridge_on_the_trace_is_the_frobenius_penalty(rng):
    S = 1e-3 * random_psd(rng, 5)
    A = Trace(ridge=2.0).minimize(S).structure
    assert np.trace(A) < 1.0
    np.testing.assert_allclose(A, Frobenius(weight=2.0).minimize(S).structure, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("penalty", "n_tasks", "words"),
    [
        (Frobenius(weight=0.0), 3, "weight"),
        (Cluster(within=1.0, between=2.0), 3, "between"),
        (Cluster(4), 3, "n_clusters"),
        (Trace(ridge=-1.0), 3, "ridge"),
        (Cluster(mean=-1.0), 3, "mean"),
        (Laplacian(tau=3.0), 3, "tau"),
        (Laplacian(ridge=0.0), 3, "ridge"),
        (Laplacian(share=1.0), 3, "share"),
    ],
    ids=repr,
)
def test_parameters_that_make_no_sense_are_named(penalty, n_tasks, words):
    with pytest.raises(ValueError, match=words):
        penalty.check(n_tasks)


@pytest.mark.parametrize(("name", "parameter"), [(name, p) for name in PENALTIES for p in PENALTIES[name]().grid()])
def test_grids_are_valid_for_any_number_of_tasks(name, parameter):
    values = PENALTIES[name]().grid()[parameter]
    assert len(set(values)) > 1
    for value in values:
        for n_tasks in (1, 2, 5, 50):
            clone(PENALTIES[name]()).set_params(**{parameter: value}).check(n_tasks)


def alternate_over_features(Phi, Y, *, alpha, eps):
    """The published alternation: ridge with metric D^-1, then D = (WW' + eps I)^{1/2} / tr; eps falls in stages."""
    n, r = Phi.shape
    D = np.eye(r) / r
    for level in np.geomspace(1.0, eps, 19):
        for _ in range(10_000 if level == eps else 200):
            # W = D Phi' (Phi D Phi' + n alpha I)^-1 Y minimizes the loss + alpha tr(W' D^-1 W).
            W = D @ Phi.T @ np.linalg.solve(Phi @ D @ Phi.T + n * alpha * np.eye(n), Y)
            d, U = np.linalg.eigh(W @ W.T + level * np.eye(r))
            before, D = D, (U * np.sqrt(d)) @ U.T / np.sqrt(d).sum()
            if np.abs(D - before).max() <= 1e-11:
                break
    assert np.abs(D - before).max() <= 1e-11
    return W, D


@pytest.mark.parametrize(("kernel", "n_features"), [("linear", 6), ("poly", 2)])
def test_features_are_the_published_alternation(kernel, n_features, rng):
    """Over the features themselves and, for a kernel, over the eigenbasis of its matrix."""
    X, Y = related_tasks(rng, 30, 4, n_features=n_features, rank=3)
    alpha, eps = 1e-3, 1e-9
    K = gram(X, "linear") if kernel == "linear" else (X @ X.T + 1.0) ** 2
    k, V = np.linalg.eigh(K)
    keep = k > 1e-10 * k[-1]
    Phi = X if kernel == "linear" else V[:, keep] * np.sqrt(k[keep])
    W, D = alternate_over_features(Phi, Y, alpha=alpha, eps=eps)
    est = MultiTaskRegressor(
        "features",
        kernel=kernel,
        degree=2,
        gamma=1.0,
        alpha=alpha,
        eps=eps,
        fit_intercept=False,
        scale_targets=False,
        solver="anderson",
        tol=1e-8,
    ).fit(X, Y)
    np.testing.assert_allclose(est.predict(X), Phi @ W, atol=1e-5 * np.abs(Y).max())
    if kernel == "linear":
        np.testing.assert_allclose(Features().feature_structure(est.coef_.T, eps), D, atol=1e-4)
        predicted = est.coef_.T
        np.testing.assert_allclose(predicted, W, atol=1e-5 * np.abs(W).max())


def test_feature_structure_is_the_matrix_square_root(rng):
    W = rng.standard_normal((7, 3))
    D = Features().feature_structure(W, 1e-3)
    s, U = np.linalg.eigh(W @ W.T + 1e-3 * np.eye(7))
    np.testing.assert_allclose(D, (U * np.sqrt(s)) @ U.T / np.sqrt(s).sum(), atol=1e-10)


@pytest.mark.parametrize("penalty", [Trace(), Frobenius(), Cluster()], ids=repr)
@pytest.mark.parametrize("n_tasks", [6, 100])
def test_closed_forms_decompose_once(penalty, n_tasks, rng, monkeypatch):
    S = random_psd(rng, n_tasks)
    A = penalty.minimize(S).structure
    decomposed = []
    for module in (np.linalg, scipy.linalg):
        for name in ("eigh", "eigvalsh", "inv", "cholesky"):
            function = getattr(module, name)
            monkeypatch.setattr(module, name, lambda M, *a, f=function, **k: decomposed.append(len(M)) or f(M, *a, **k))
    for call in (lambda: penalty.minimize(S), lambda: penalty.lower_bound(S, 0.1, A)):
        decomposed.clear()
        call()
        assert len(decomposed) == 1
