"""Groups: blocks of relations between given groups of tasks that are zero, or not, as a whole."""

import numpy as np
import pytest
from conic_penalties import conic
from problems import gram, grouped_psd, grouped_tasks, random_psd, related_tasks, step_cost, structure_cost
from reference import joint_optimum, structure_optimum

from skmtl import MultiTaskClassifier, MultiTaskRegressor, minimize_structure
from skmtl.penalties import Groups, Sparse

LABELS = {2: [0, 1], 4: ["p", "q", "q", "p"], 5: [0, 0, 1, 1, 1], 6: [2, 0, 1, 1, 0, 1]}


def block_norms(A, labels):
    """Frobenius norms of the blocks between different groups."""
    labels = np.asarray(labels)
    names = np.unique(labels)
    return np.array([np.linalg.norm(A[np.ix_(labels == g, labels == h)]) for g in names for h in names if g != h])


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("labels", LABELS.values(), ids=str)
@pytest.mark.parametrize(("rank", "ridge"), [(None, 0.1), (2, 1e-2), (1, 1e-4)])
def test_structure_step_is_the_conic_optimum(mu, labels, rank, ridge):
    penalty, S = Groups(labels, mu), random_psd(np.random.default_rng(7), len(labels), rank=rank, ridge=ridge)
    A, gap = minimize_structure(S, penalty, tol=1e-8)
    optimum, _ = structure_optimum(S, conic(penalty))
    assert gap <= 1e-8
    assert step_cost(penalty, A, S) == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("mu", [0.2, 0.7, 0.95])
@pytest.mark.parametrize("eps", [1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_inner_lower_bound_holds_for_any_guess(mu, eps, scale):
    rng = np.random.default_rng(3)
    penalty = Groups(LABELS[6], mu)
    for _ in range(30):
        B = rng.standard_normal((6, 6)) * 10.0 ** rng.uniform(-2, 0.5)
        Q, guess = B @ B.T, random_psd(rng, 6) * 10.0 ** rng.uniform(-3, 3)
        bound = penalty.lower_bound(Q, eps, guess, scale)
        for other in (guess, penalty.minimize(random_psd(rng, 6)).structure, np.sqrt(eps) * np.eye(6)):
            value = structure_cost(penalty, other, eps) - scale**2 * np.sum(other * Q)
            assert bound <= value + 1e-9 * (1 + abs(bound))


@pytest.mark.parametrize("mu", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("intercept", [True, False])
def test_joint_problem_is_the_conic_optimum(mu, intercept, rng):
    X, Y = related_tasks(rng, 25, 5)
    penalty = Groups(LABELS[5], mu)
    settings = {"kernel": "rbf", "alpha": 1e-2, "fit_intercept": intercept, "scale_targets": False, "tol": 1e-8}
    est = MultiTaskRegressor(penalty, **settings).fit(X, Y)
    optimum, _ = joint_optimum(gram(X, "rbf"), Y, conic(penalty), alpha=1e-2, eps=est.eps_, intercept=intercept)
    assert est.solution_.gap <= 1e-8
    assert est.solution_.objective == pytest.approx(optimum, rel=1e-6)
    assert est.solution_.lower_bound <= optimum * (1 + 1e-6)
    in_turn = MultiTaskRegressor(penalty, solver="anderson", **settings).fit(X, Y)
    assert in_turn.solution_.objective == pytest.approx(est.solution_.objective, rel=1e-7)


@pytest.mark.parametrize("mu", [0.3, 0.8, 0.95])
@pytest.mark.parametrize(("n_tasks", "rank"), [(1, None), (4, None), (12, 3), (40, 8)])
def test_groups_of_one_task_are_sparse(mu, n_tasks, rank, rng):
    S = random_psd(rng, n_tasks, rank=rank, ridge=1e-2)
    A, _ = minimize_structure(S, Groups(mu=mu), tol=1e-11)
    B, _ = minimize_structure(S, Sparse(mu), tol=1e-11)
    np.testing.assert_allclose(A, B, atol=1e-4 * np.abs(B).max())
    assert step_cost(Sparse(mu), A, S) == pytest.approx(step_cost(Sparse(mu), B, S), rel=1e-10)
    assert Groups(mu=mu).value(B) == pytest.approx(Sparse(mu).value(B), rel=1e-12)


def test_one_group_is_the_trace_penalty(rng):
    S = random_psd(rng, 7)
    A, gap = minimize_structure(S, Groups(np.zeros(7), mu=0.3), tol=1e-12)
    assert gap <= 1e-12
    np.testing.assert_allclose(A @ A, S, atol=1e-5 * np.abs(S).max())


@pytest.mark.parametrize("sizes", [(1, 1), (3, 3), (2, 5), (4, 1)])
@pytest.mark.parametrize("mu", [0.3, 0.9])
def test_groups_are_joined_exactly_at_the_threshold(sizes, mu, rng):
    """They stay apart while the root mean square of their canonical correlations is at most 1 - mu."""
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in sizes)
    n_pairs, labels = min(sizes), np.repeat([0, 1], sizes)
    correlations = rng.uniform(0.5, 1.0, n_pairs)
    correlations *= (1 - mu) / np.sqrt(np.mean(correlations**2))
    root, other_root = (np.linalg.cholesky(random_psd(rng, size)) for size in sizes)
    coupling = root @ (left[:, :n_pairs] * correlations) @ right[:, :n_pairs].T @ other_root.T
    for side, joined in ((1 - 1e-5, False), (1 + 1e-5, True)):
        S = np.block([[root @ root.T, side * coupling], [side * coupling.T, other_root @ other_root.T]])
        A, _ = minimize_structure(S, Groups(labels, mu), tol=1e-13)
        assert (block_norms(A, labels) > 0).all() == joined


def test_a_block_is_zero_as_a_whole_or_nowhere(rng):
    S, labels = grouped_psd(rng, (4, 3, 5, 2), between=0.25)
    A, _ = minimize_structure(S, Groups(labels, mu=0.75))
    zero = [np.mean(A[np.ix_(labels == g, labels == h)] == 0.0) for g in range(4) for h in range(g)]
    assert set(zero) == {0.0, 1.0}


@pytest.mark.parametrize("mu", [0.5, 0.8, 0.97])
@pytest.mark.parametrize("ridge", [1e-2, 1e-4, 1e-6])
def test_nearly_singular_problems_are_certified(mu, ridge, rng):
    S = random_psd(rng, 40, rank=8, ridge=ridge)
    A, gap = minimize_structure(S, Groups(np.arange(40) // 5, mu), tol=1e-6)
    assert gap <= 1e-6
    assert np.linalg.eigvalsh(A)[0] > 0


def test_a_step_cut_short_says_so(rng):
    S, labels = random_psd(rng, 12, rank=3, ridge=1e-2), np.arange(12) // 3
    best = minimize_structure(S, Groups(labels, 0.8), tol=1e-12).structure
    A, gap = Groups(labels, 0.8, max_iter=1).minimize(S, tol=1e-12)
    costs = [step_cost(Groups(labels, 0.8), B, S) for B in (A, best)]
    assert 1e-9 < 1 - costs[1] / costs[0] <= gap < np.inf


def test_names_of_groups_and_order_of_tasks_do_not_matter(rng):
    S, order = random_psd(rng, 6, rank=3, ridge=1e-2), rng.permutation(6)
    A = minimize_structure(S, Groups([0, 0, 1, 1, 2, 2], 0.8), tol=1e-11).structure
    for labels in ("a,a,b,b,c,c", ["x", "x", 7, 7, "y", "y"], np.array([9, 9, 1, 1, 4, 4])):
        np.testing.assert_array_equal(minimize_structure(S, Groups(labels, 0.8), tol=1e-11).structure, A)
    permuted = Groups(np.array([0, 0, 1, 1, 2, 2])[order], 0.8)
    B = minimize_structure(S[np.ix_(order, order)], permuted, tol=1e-11).structure
    np.testing.assert_allclose(B, A[np.ix_(order, order)], atol=1e-5 * np.abs(A).max())


def test_planted_groups_share_and_others_do_not(rng):
    """Groups 0 and 1 follow the same features, group 2 its own."""
    X, Y, labels = grouped_tasks(rng, 80, (3, 3, 3), noise=0.5)
    Y[:, labels == 1] += Y[:, labels == 0]
    est = MultiTaskRegressor(Groups(labels, mu=0.6), alpha=1e-2).fit(X, Y)
    joined = block_norms(est.structure_, labels).reshape(3, 2) > 0
    np.testing.assert_array_equal(joined, [[True, False], [True, False], [False, False]])


def test_other_losses_and_missing_labels(rng):
    X, Y = related_tasks(rng, 40, 6)
    labels = np.where(rng.random(Y.shape) < 0.7, (Y > 0).astype(float), np.nan)
    labels[:4] = (Y > 0)[:4]
    est = MultiTaskClassifier(Groups(LABELS[6], 0.8), loss="logistic", alpha=1e-2).fit(X, labels)
    assert est.solution_.gap <= 1e-6


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([0, 1], "one label for each of the 3 tasks"),
        (2, "groups=2"),
        ([[0, 1, 1]], "one label"),
        ([0, None, 1], "missing"),
    ],
)
def test_labels_that_make_no_sense_are_named(groups, words):
    with pytest.raises(ValueError, match=words):
        Groups(groups).check(3)


def test_path_leads_from_apart_to_dense(rng):
    X, Y, labels = grouped_tasks(rng, 60, (2, 3, 2), between=0.2)
    edges = [
        np.count_nonzero(block_norms(MultiTaskRegressor(Groups(labels, mu), alpha=1e-2).fit(X, Y).structure_, labels))
        for mu in (0.0, 0.5, 0.8, 0.95, 1.0)
    ]
    assert edges[0] == 0
    assert edges[-1] == 6
    assert edges == sorted(edges)
