"""The objective, its bounds at any scale, and the rows that they are computed from, beside dense formulas."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_psd, related_tasks, with_gaps
from scipy import sparse
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor
from skmtl.features import make_feature_map
from skmtl.objective import Problem, Proof, Rounding, predictor_structure
from skmtl.penalties import PENALTIES, Fixed, Frobenius, Sparse, Trace
from skmtl.solvers.design import SUM_ERROR, make_design, spectrum
from skmtl.solvers.ridge import Ridge


def dense_problem(rng, penalty, *, common, eps=0.1, alpha=0.05, n=12, n_tasks=3, rank=12):
    """A problem, and its kernel, of this rank, and targets."""
    B = rng.standard_normal((n, rank))
    K, Y = B @ B.T / n, rng.standard_normal((n, n_tasks))
    k, V = (part[..., n - rank :] for part in np.linalg.eigh(K))
    return Problem(Ridge.from_targets(k, V.T @ Y, Y, float(n), alpha), penalty, eps, common), K, Y


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("outside", [0.0, 0.02])
def test_bounds_hold_for_the_largest_kernel_that_rounding_hides(name, outside, rng):
    penalty = PENALTIES[name]()
    problem, _, _ = dense_problem(rng, penalty, common=0.7, rank=8)
    A = penalty.structure(3) if penalty.known else penalty.minimize(random_psd(rng, 3)).structure
    fit = problem.fit(A)
    assert np.trace(fit.beyond) > 0.0
    hidden = replace(problem, rounding=Rounding(np.linspace(0.5, 2.0, len(fit.factor)), 0.01, outside))
    E = hidden.hidden(fit)
    assert np.linalg.eigvalsh(E)[0] > 0.0
    within = fit.factor / np.sqrt(np.linspace(0.5, 2.0, len(fit.factor)))[:, None]
    np.testing.assert_allclose(E, 0.01 * within.T @ within + outside * fit.beyond)
    # So small a scale is inside every domain.
    lost = (problem.bound(A, fit, 0.1) - hidden.bound(A, fit, 0.1)) / 0.1**2
    # The common part alone, which costs every penalty the same, and all of it where the structure is given.
    assert lost > problem.alpha * 0.7 * np.sum(E) * (1.0 - 1e-9)
    if penalty.known:
        assert lost == pytest.approx(problem.alpha * np.sum((A + 0.7) * E))


@pytest.mark.parametrize("common", [0.0, 0.7])
@pytest.mark.parametrize("scale", [1.0, 0.5, 1.3])
@pytest.mark.parametrize("name", PENALTIES)
def test_objective_and_bound_are_those_of_the_formulas(name, scale, common, rng):
    penalty = PENALTIES[name]()
    problem, K, Y = dense_problem(rng, penalty, common=common)
    n, alpha, eps = len(Y), problem.alpha, problem.eps
    A = penalty.structure(3) if penalty.known else penalty.minimize(random_psd(rng, 3)).structure
    fit = problem.fit(A)
    # The dual coefficients solve (A + c) kron K + n alpha I.
    G = A + common
    C = np.linalg.solve(np.kron(G, K) + n * alpha * np.eye(3 * n), Y.T.ravel()).reshape(3, n).T
    F, Q = K @ C @ G, C.T @ K @ C
    np.testing.assert_allclose(fit.Q, Q, atol=1e-9 * np.abs(Q).max())
    value = np.sum((Y - F) ** 2) / n + alpha * np.sum(G * Q)
    assert fit.value == pytest.approx(value)
    cost = penalty.value(A) + (0.0 if penalty.known else eps * np.trace(np.linalg.inv(A)))
    assert problem.objective(A, fit) == pytest.approx(value + alpha * cost)
    dual = 2.0 * alpha * scale * np.sum(C * Y) - n * (alpha * scale) ** 2 * np.sum(C**2)
    structure = penalty.lower_bound(Q, eps, A, scale) - scale**2 * common * Q.sum()
    assert problem.bound(A, fit, scale) == pytest.approx(dual + alpha * structure)


@pytest.mark.parametrize("size", [1e166, 1e200])
@pytest.mark.parametrize("penalty", [*(cls() for cls in PENALTIES.values()), Trace(ridge=0.5)], ids=str)
def test_dual_coefficients_beyond_the_range_of_numbers_prove_nothing(penalty, size, rng):
    """Neither errors nor warnings: rows may have one value of 1e20, and a kernel its cube."""
    problem, *_ = dense_problem(rng, penalty, common=1.0)
    A = penalty.structure(3) if penalty.known else np.eye(3) / 3.0
    root = np.sqrt(size) * rng.standard_normal((4, 3))
    bound = replace(problem, eps=1e-163).bound(A, SimpleNamespace(Q=root.T @ root, factor=root, dual=lambda _: 1.0))
    # That of one where nothing was gained.
    assert bound < 1.0


@pytest.mark.parametrize("common", [0.0, 5.0])
def test_no_scale_proves_too_much(common, rng):
    problem, *_ = dense_problem(rng, Sparse(0.6), common=common)
    structures = [random_psd(rng, 3) for _ in range(4)]
    least = min(problem.objective(A, problem.fit(A)) for A in structures)
    for A in structures:
        for scale in np.linspace(0.0, 2.0, 21):
            assert problem.bound(A, problem.fit(A), scale) <= least * (1 + 1e-12)


def test_a_structure_outside_of_the_domain_proves_nothing(rng):
    problem, *_ = dense_problem(rng, Sparse(0.6), common=1.0)
    A = np.diag([1.0, 1.0, -1e-3])
    assert problem.objective(A, problem.fit(np.eye(3))) == np.inf
    proof = Proof(A, problem.fit(np.eye(3)), np.inf, 0.0)
    assert proof.gap == np.inf
    assert Proof(A, proof.fit, np.nan, 0.0).gap == np.inf


@pytest.mark.parametrize("penalty", [Fixed(), Sparse(0.9)])
def test_a_difference_of_numbers_beyond_the_range_proves_nothing(penalty, rng, monkeypatch):
    problem, _, _ = dense_problem(rng, penalty, common=0.7)
    fit = problem.fit(np.eye(3))
    proof = problem.certify(np.eye(3), fit)
    assert np.isfinite(proof.lower_bound)
    monkeypatch.setattr(type(fit), "dual", lambda self, scale: np.inf)
    assert problem.certify(np.eye(3), fit).lower_bound == -np.inf
    monkeypatch.setattr(Problem, "_known_norm", lambda self, A, fit: np.inf)
    monkeypatch.setattr(Sparse, "lower_bound", lambda self, Q, eps, A, scale: -np.inf)
    lost = problem.certify(np.eye(3), fit)
    assert lost.lower_bound == -np.inf
    assert lost.gap == np.inf
    assert problem.tighten(lost).lower_bound == -np.inf


@pytest.mark.parametrize(("objective", "bound", "gap"), [(2.0, 1.5, 0.25), (-2.0, -3.0, 0.5), (2.0, -np.inf, np.inf)])
def test_the_gap_is_relative_to_the_objective(objective, bound, gap):
    assert Proof(np.eye(1), None, objective, bound).gap == gap


@pytest.mark.parametrize("size", [0.05, 0.3, 3.0])
def test_tightening_finds_the_best_scale(size, rng):
    """For a penalty whose bound is finite at every scale."""
    problem, *_ = dense_problem(rng, Frobenius(), common=1.0)
    A = size * np.eye(3)
    proof = problem.certify(A, problem.fit(A))
    tight = problem.tighten(proof).lower_bound
    best = max(problem.bound(A, proof.fit, scale) for scale in np.linspace(0.0, 1.0, 501))
    assert tight >= proof.lower_bound
    assert tight <= best + 1e-4 * abs(best)
    assert best - tight <= 0.05 * (best - proof.lower_bound) + 1e-9 * abs(best)


def test_the_common_part_is_seen_by_the_predictor_alone():
    A = np.diag([1.0, 2.0])
    np.testing.assert_array_equal(predictor_structure(A, 0.5), [[1.5, 0.5], [0.5, 2.5]])
    # Without one nothing is copied.
    assert predictor_structure(A, 0.0) is A


# The rows -------------------------------------------------------------------------------------------------------------


def make_rows(rng, kind, n, weight, *, intercept, rank):
    """A design of rows of low rank; and their features."""
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, rank + 4)) + 0.5
    feature_map = make_feature_map("precomputed" if kind == "kernel" else "linear")
    Z = X @ X.T if kind == "kernel" else sparse.csr_array(X) if kind == "sparse" else X
    return make_design(feature_map.fit(Z), Z, weight, intercept=intercept, overwrite=False), X


@pytest.mark.parametrize("kind", ["kernel", "primal", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [5, 20])
def test_a_design_is_the_weighted_centered_rows(kind, intercept, n, rng):
    weight = rng.uniform(0.2, 2.0, n)
    weight[1] = 0.0
    design, X = make_rows(rng, kind, n, weight, intercept=intercept, rank=2)
    center = np.average(X, axis=0, weights=weight) if intercept else np.zeros(X.shape[1])
    rows = np.sqrt(weight)[:, None] * (X - center)
    # Of the rank that the rows have, no more: rounding is no direction.
    assert len(design.values) == np.linalg.matrix_rank(rows) == (2 if intercept else 3)
    np.testing.assert_allclose(
        np.sort(design.values), np.sort(np.linalg.eigvalsh(rows @ rows.T))[-len(design.values) :]
    )
    Phi, known = design.rows(), weight > 0
    np.testing.assert_allclose((Phi @ Phi.T)[known][:, known], ((X - center) @ (X - center).T)[known][:, known])
    W, Y = rng.standard_normal((len(design.values), 2)), rng.standard_normal((n, 2))
    np.testing.assert_allclose(design.scores(W), Phi @ W)
    # V'Y, with V diag(k)^{1/2} the weighted rows.
    expected = (np.sqrt(weight)[:, None] * Phi).T @ Y / np.sqrt(design.values)[:, None]
    np.testing.assert_allclose(design.project(Y), expected, atol=1e-9 * np.abs(Y).max())
    # The lifted predictor says at the rows what the solver's does.
    coef = design.lift(W)
    Z = X @ X.T if kind == "kernel" else X
    scores = Z @ coef - design.center @ coef
    np.testing.assert_allclose(scores[known], (Phi @ W)[known], atol=1e-7 * np.abs(Z @ coef).max())


@pytest.mark.parametrize("kind", ["kernel", "primal", "sparse"])
@pytest.mark.parametrize("rank", [2, 6])
def test_what_counts_as_rounding_is_relative(kind, rank, rng):
    """Rows a thousand times smaller have the same directions; where all of them are kept, nothing is outside."""
    n, weight = 12, np.ones(12)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, 6))
    designs = []
    for scale in (1.0, 2.0**-20, 2.0**20):
        rows = scale * X
        feature_map = make_feature_map("precomputed" if kind == "kernel" else "linear")
        Z = rows @ rows.T if kind == "kernel" else sparse.csr_array(rows) if kind == "sparse" else rows
        design = make_design(feature_map.fit(Z), Z, weight, intercept=False, overwrite=False)
        assert len(design.values) == rank
        hidden = design.rounding
        np.testing.assert_array_equal(hidden.values, design.values)
        # As large as what was cut, and a few units in the last place of the largest.
        least, most = 1e-16 * design.values[-1], 1e-12 * design.values[-1]
        assert least <= hidden.inside <= most
        whole = kind != "kernel" and rank == 6
        assert hidden.outside == (0.0 if whole else hidden.inside)
        designs.append(design)
    for design, scale in zip(designs, (1.0, 2.0**-20, 2.0**20), strict=True):
        np.testing.assert_allclose(design.values, scale**2 * designs[0].values, rtol=1e-9)


@pytest.mark.parametrize("n", [3.0, 1000.0])
def test_eigenvalues_that_rounding_may_have_made_are_left_out(n):
    """Those below as many units of the last place as there are rows, or features where these are more."""
    limit = 4.0 * max(n, 8) * np.finfo(float).eps
    given = 4.0 * np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.9, 1.0])
    given[3:5] = 0.5 * limit, 2.0 * limit
    order = np.array([3, 0, 7, 1, 2, 6, 4, 5])
    values, vectors, rounding = spectrum(np.diag(given[order]), n)
    np.testing.assert_allclose(values, given[4:], rtol=1e-12)
    np.testing.assert_allclose(np.abs(vectors), (np.arange(4, 8) == order[:, None]).astype(float), atol=1e-12)
    np.testing.assert_array_equal(rounding.values, values)
    # What was left out may be as large as the largest of it, and is no less than sums are wrong by.
    assert rounding.inside == rounding.outside == pytest.approx(max(0.5 * limit, SUM_ERROR * 4.0), abs=0.0)
    _, _, whole = spectrum(np.diag([1.0, 2.0]), n)
    assert (whole.inside, whole.outside) == (SUM_ERROR * 2.0, 0.0)
    nothing, _, _ = spectrum(np.zeros((2, 2)), n)
    assert len(nothing) == 0


def test_coefficients_have_nothing_of_the_constant(rng):
    """Where the kernel is large on constants, and tiny elsewhere, what leans towards them would be blown up."""
    K = rbf_kernel(rng.standard_normal((30, 2)), gamma=1e-3) + 1e4
    weight = rng.uniform(0.5, 2.0, 30)
    feature_map = make_feature_map("precomputed").fit(K)
    design = make_design(feature_map, K, weight, intercept=True, overwrite=False)
    coef = design.lift(rng.standard_normal((len(design.values), 3)))
    assert np.all(np.abs(coef.sum(axis=0)) <= 1e-12 * np.abs(coef).sum(axis=0))


@pytest.mark.parametrize("n", [150, 300])
def test_directions_that_the_kernel_hardly_has_are_kept_apart_from_the_constant(n, rng):
    """Eigenvalues of a smooth kernel fall to rounding: those above it are its own, and the constant is none of them."""
    K = rbf_kernel(rng.standard_normal((n, 2)), gamma=0.2)
    weight = rng.uniform(0.5, 2.0, n)
    design = make_design(make_feature_map("precomputed").fit(K), K, weight, intercept=True, overwrite=False)
    root, eps = np.sqrt(weight), np.finfo(float).eps
    assert design.values[0] < n * eps * design.values[-1]
    V = design.unproject(np.eye(len(design.values)))
    np.testing.assert_allclose(V.T @ V, np.eye(len(V.T)), atol=1e-12)
    assert np.abs(root @ V).max() <= 1e-12 * np.linalg.norm(root)
    # What is left out of the centred kernel is rounding.
    H = np.eye(n) - np.outer(root, root) / weight.sum()
    left_out = H @ (root[:, None] * K * root) @ H - (V * design.values) @ V.T
    assert np.linalg.norm(left_out, 2) <= n * eps * design.values[-1]


def test_a_kernel_with_a_zero_diagonal_is_not_positive_semidefinite():
    """Its only negative eigenvalue must not be taken for that of the constant."""
    K = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        make_design(make_feature_map("precomputed").fit(K), K, np.ones(3), intercept=True, overwrite=False)


def test_a_flat_kernel_and_a_small_alpha_are_certified(rng):
    """Directions of the kernel that a small alpha forgives are used, and not lost."""
    X = rng.standard_normal((250, 3))
    Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + X[:, 1]]) + 0.3 * rng.standard_normal((250, 2))
    Y[::2, 0], Y[1::4, 1] = np.nan, np.nan
    est = MultiTaskRegressor("sparse", kernel="rbf", gamma=0.1, alpha=1.5e-6).fit(X, Y)
    assert est.solution_.converged, est.solution_.status


# The way back to the user's units ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("gaps", [True, False])
def test_independent_tasks_are_ridge_regressions(kernel, scale, balanced, gaps, rng):
    """Coefficients and intercepts of scikit-learn, task by task, whatever the means and sizes of rows and targets."""
    X, Y = related_tasks(rng, 25, 3)
    X, Y = X + np.arange(5.0), Y * (1.0, 100.0, 0.01) + (3.0, -1e4, 0.0)
    Y = with_gaps(rng, Y) if gaps else Y
    weight = rng.uniform(0.5, 2.0, 25)
    est = MultiTaskRegressor(
        "independent", kernel=kernel, alpha=0.03, scale_targets=scale, balance_tasks=balanced, tol=1e-10
    )
    K = X @ X.T
    est.fit(K if kernel == "precomputed" else X, Y, sample_weight=weight)
    total = np.where(np.isnan(Y), 0.0, weight[:, None]).sum(axis=0)
    for t in range(3):
        known = ~np.isnan(Y[:, t])
        factor = total.mean() / total[t] if balanced else 1.0
        # n is the total weight over the number of tasks.
        ridge = LinearRidge(alpha=0.03 * total.mean()).fit(X[known], Y[known, t], factor * weight[known])
        coef = X.T @ est.dual_coef_[:, t] if kernel == "precomputed" else est.coef_[t]
        np.testing.assert_allclose(coef, ridge.coef_, rtol=1e-6)
        np.testing.assert_allclose(est.intercept_[t], ridge.intercept_, rtol=1e-8)


def test_relations_come_strongest_first_whatever_their_sign(rng):
    X, Y = related_tasks(rng, 30, 4)
    A = np.array([[2.0, 0.3, -0.9, 0.0], [0.3, 2.0, 0.1, -0.5], [-0.9, 0.1, 2.0, 0.0], [0.0, -0.5, 0.0, 2.0]])
    table = MultiTaskRegressor(Fixed(A), alpha=0.1).fit(X, Y).relations()
    assert table["weight"].tolist() == [-0.9, -0.5, 0.3, 0.1]
    assert list(zip(table["task_a"], table["task_b"], strict=True)) == [
        ("y0", "y2"),
        ("y1", "y3"),
        ("y0", "y1"),
        ("y1", "y2"),
    ]


def test_a_structure_that_rounding_cannot_tell_from_a_singular_one_costs_without_end():
    problem = Problem(None, Sparse(0.9), 1e-3)
    alike = np.array([[1.0, 1.0], [1.0, np.nextafter(1.0, 2.0)]])
    assert problem.structure_cost(alike) == np.inf
    # Units of tasks are no reason.
    units = np.array([1e-12, 1e12])
    A = np.array([[1.0, 0.5], [0.5, 1.0]]) * np.outer(units, units)
    assert problem.structure_cost(A) == pytest.approx(Sparse(0.9).value(A) + 1e-3 * np.trace(np.linalg.inv(A)))
