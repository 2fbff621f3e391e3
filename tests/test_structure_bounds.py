"""Bounds of structure steps that are not finished, and the models over the edges of a graph, beside dense algebra."""

from fractions import Fraction

import numpy as np
import pytest
from problems import grouped_psd, random_psd, step_cost

from skmtl.penalties import Laplacian, Sparse, _graph_newton, _simplex
from skmtl.penalties._graph_newton import _Point, graph_newton, graph_structure
from skmtl.penalties._simplex import model_step
from skmtl.penalties._structure_step import _StepBlock, minimize_in_blocks, minimize_whole, step_gap
from skmtl.penalties.base import StructureStep


@pytest.mark.parametrize("mu", [0.3, 0.9])
@pytest.mark.parametrize("n_tasks", [1, 2, 5])
def test_the_bound_of_a_block_holds_for_any_structure(mu, n_tasks, rng):
    penalty, S = Sparse(mu), random_psd(rng, n_tasks)
    least = step_cost(penalty, minimize_whole(penalty, S, None, 1e-12).structure, S)
    s, U = np.linalg.eigh(S)
    root = (U * np.sqrt(s)) @ U.T
    guesses = [np.eye(n_tasks), 5.0 * np.eye(n_tasks), random_psd(rng, n_tasks), -np.eye(n_tasks)]
    for A in guesses:
        block = _StepBlock(np.arange(n_tasks), S, penalty, StructureStep(A, 1.0), 1e-9)
        assert block.bound <= least * (1 + 1e-12)
        # What proves it: N with N S N in the box of the dual.
        N = block.factor
        W = N @ S @ N
        off = np.abs(W - np.diag(np.diag(W)))
        assert np.all(np.diag(W) <= 1 + 1e-12)
        assert np.all(off <= penalty.threshold * (1 + 1e-12))
        assert block.bound == pytest.approx(2 * np.trace(N @ S))
        if block.cost < np.inf:
            # As much as the best mixture of its dual point with the identity proves.
            gap = step_gap(penalty, A, root, np.linalg.inv(A), S, 1e-9)
            assert block.bound == pytest.approx(block.cost * (1 - gap), rel=1e-9)
    assert block.cost == np.inf
    best = minimize_whole(penalty, S, None, 1e-12)
    block = _StepBlock(np.arange(n_tasks), S, penalty, best, 1e-9)
    assert block.cost == pytest.approx(least)
    assert block.bound >= least * (1 - 1e-6)


def test_the_gap_of_a_step_in_blocks_is_what_it_may_still_lose(rng):
    penalty = Sparse(0.6)
    S, _ = grouped_psd(rng, [3, 4, 2], between=0.05)
    least = step_cost(penalty, minimize_whole(penalty, S, None, 1e-12).structure, S)

    def crude(part, start, tol):
        """A solver that stops early: a diagonal, nearly right."""
        return StructureStep(np.diag(1.2 * np.sqrt(np.diag(part))), 0.5)

    for solve in (lambda part, start, tol: minimize_whole(penalty, part, start, tol), crude):
        step = minimize_in_blocks(S, penalty, solve, None, 1e-9)
        cost = step_cost(penalty, step.structure, S)
        assert cost * (1 - step.gap) <= least * (1 + 1e-12)
        assert cost >= least * (1 - 1e-9)


@pytest.mark.parametrize("ridge", [1e-6, 1e-8, 1e-10, 1e-12])
def test_rounding_does_not_lead_a_bound_out_of_the_dual(ridge, rng):
    """Tasks that are nearly multiples of one another: what is proved is proved by a point in the box.

    Its products have few digits here, so that they are taken in fractions, without rounding.
    """
    penalty, exact = Sparse(0.9), np.vectorize(Fraction)
    for n_tasks in (3, 6):
        S = random_psd(rng, n_tasks, rank=1, ridge=ridge)
        best = minimize_whole(penalty, S, None, 1e-6).structure
        for A in (np.eye(n_tasks), S + 1e-3 * np.eye(n_tasks), best):
            block = _StepBlock(np.arange(n_tasks), S, penalty, StructureStep(A, 1.0), 1e-9)
            N = exact(block.factor)
            W = np.abs(N.dot(exact(S)).dot(N)).astype(float)
            assert np.diag(W).max() <= 1.0
            assert (W - np.diag(np.diag(W))).max() <= penalty.threshold * (1 + 1e-15)
        # And it proves nearly as much as can be proved.
        assert block.bound >= block.cost * (1 - 1e-5 - 1e-13 / ridge)


# Graphs ---------------------------------------------------------------------------------------------------------------


def graph_cost(w, S, Q):
    n_tasks = len(S)
    L = np.zeros((n_tasks, n_tasks))
    for weight, t, s in zip(w, *np.triu_indices(n_tasks, 1), strict=True):
        e = np.eye(n_tasks)[t] - np.eye(n_tasks)[s]
        L += weight * np.outer(e, e)
    B = np.eye(n_tasks) - L
    return np.trace(np.linalg.solve(B, S)) - np.sum(B * Q)


@pytest.mark.parametrize("total", [0.2, 0.9])
def test_a_graph_that_is_not_finished_bounds_all_others(total, rng):
    n_tasks = 5
    S, Q = random_psd(rng, n_tasks), 0.3 * random_psd(rng, n_tasks)
    n_edges = n_tasks * (n_tasks - 1) // 2
    start = rng.random(n_edges)
    best = graph_newton(S, Q, start, total, tol=1e-12, max_iter=100)
    assert best.cost == pytest.approx(graph_cost(best.edges, S, Q))
    assert best.edges.sum() == pytest.approx(total)
    assert best.edges.min() >= 0.0
    assert best.cost - best.lower_bound <= 1e-10 * abs(best.cost)
    for max_iter in range(4):
        step = graph_newton(S, Q, start, total, tol=1e-12, max_iter=max_iter)
        assert step.cost == pytest.approx(graph_cost(step.edges, S, Q))
        assert step.lower_bound <= best.cost + 1e-12 * abs(best.cost) <= step.cost + 2e-12 * abs(best.cost)
    for _ in range(50):
        w = rng.dirichlet(np.full(n_edges, 0.3)) * total
        if np.linalg.eigvalsh(graph_structure(w, n_tasks))[0] > 0:
            assert graph_cost(w, S, Q) >= best.lower_bound - 1e-12 * abs(best.cost)


def test_derivatives_of_the_cost_of_a_graph(rng):
    S, Q, w = random_psd(rng, 4), random_psd(rng, 4), rng.dirichlet(np.ones(6)) * 0.4
    point, d, h = _Point.at(w, S, Q), rng.standard_normal(6), 1e-5
    slope = (graph_cost(w + h * d, S, Q) - graph_cost(w - h * d, S, Q)) / (2 * h)
    assert point.gradient @ d == pytest.approx(slope, rel=1e-6)
    change = (_Point.at(w + h * d, S, Q).gradient - _Point.at(w - h * d, S, Q).gradient) / (2 * h)
    np.testing.assert_allclose(point.hessian(d), change, rtol=1e-6)
    np.testing.assert_allclose(point.dense_hessian(np.arange(6)) @ d, change, rtol=1e-6)
    np.testing.assert_allclose(
        point.dense_hessian(np.array([4, 1])), point.dense_hessian(np.arange(6))[[4, 1]][:, [4, 1]]
    )


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("road", ["directly", "by_cg"])
def test_the_model_is_solved_on_the_free_edges(share, road, rng):
    """Both roads, against the system of Lagrange: H d + g constant on the free edges, d with sum zero."""
    n_tasks = 8
    n_edges = n_tasks * (n_tasks - 1) // 2
    point = _Point.at(rng.dirichlet(np.ones(n_edges)) * 0.5, random_psd(rng, n_tasks), random_psd(rng, n_tasks))
    free = np.arange(n_edges) < share * n_edges
    k = int(free.sum())
    H = point.dense_hessian(np.flatnonzero(free))
    system = np.block([[H, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(-point.gradient[free], 0.0))[:k]
    if road == "directly":
        d = _simplex._solve_directly(point, np.flatnonzero(free), point.gradient)
    else:
        d = _simplex._solve_by_cg(point, free, point.gradient, 1e-7)
    np.testing.assert_array_equal(d[~free], 0.0)
    np.testing.assert_allclose(d[free], expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("size", [1e-150, 1e-70, 1.0, 1e100])
def test_graphs_of_costs_of_any_size_are_the_same(size, rng):
    """Of tasks that are next to nothing, too, as a kernel of huge entries makes them."""
    S, Q = random_psd(rng, 5), 0.3 * random_psd(rng, 5)
    one = graph_newton(S, Q, np.ones(10), 0.5, tol=1e-10, max_iter=100)
    other = graph_newton(size * S, size * Q, np.ones(10), 0.5, tol=1e-10, max_iter=100)
    np.testing.assert_allclose(other.edges, one.edges, atol=1e-6)
    assert other.cost == pytest.approx(size * one.cost, rel=1e-9)


@pytest.mark.parametrize("direct", [0, 10_000])
def test_steps_over_the_simplex_reach_its_optimum(direct, rng, monkeypatch):
    """At the end no free edge can gain, and no edge at zero wants to grow (Karush, Kuhn, Tucker)."""
    monkeypatch.setattr(_simplex, "DIRECT_EDGES", direct)
    n_tasks = 7
    w = rng.dirichlet(np.full(21, 0.2)) * 0.5
    point = _Point.at(w, random_psd(rng, n_tasks), random_psd(rng, n_tasks))
    d = model_step(point, w, 1e-7)
    x, gradient = w + d, point.gradient + point.hessian(d)
    assert abs(d.sum()) <= 1e-14
    assert x.min() >= 0.0
    used = x > 1e-12
    level, size = gradient[used].mean(), np.abs(point.gradient).max()
    np.testing.assert_allclose(gradient[used], level, atol=1e-6 * size)
    assert np.all(gradient[~used] >= level - 1e-6 * size)


def test_conjugate_gradients_and_factors_find_the_same_graph(rng, monkeypatch):
    S, Q, start = random_psd(rng, 6), random_psd(rng, 6), np.ones(15)
    direct = graph_newton(S, Q, start, 0.5, tol=1e-10, max_iter=100)
    monkeypatch.setattr(_simplex, "DIRECT_EDGES", 0)
    iterated = graph_newton(S, Q, start, 0.5, tol=1e-10, max_iter=100)
    np.testing.assert_allclose(iterated.edges, direct.edges, atol=1e-6)
    assert iterated.cost == pytest.approx(direct.cost, rel=1e-9)


@pytest.mark.parametrize("n_tasks", [4, 7])
@pytest.mark.parametrize("eps", [1e-2, 1e-6])
def test_a_bound_of_graphs_is_the_same_from_any_guess_and_soon_found(n_tasks, eps, rng, monkeypatch):
    """Where eps is small the least lies where A is nearly singular; Newton would creep along that border."""
    steps = []
    monkeypatch.setattr(_graph_newton, "model_step", lambda *args: steps.append(1) or model_step(*args))
    Q = 100.0 * random_psd(rng, n_tasks)
    Q[0] *= 3.0
    Q[:, 0] *= 3.0
    penalty = Laplacian(share=0.7)
    edges = rng.uniform(size=n_tasks * (n_tasks - 1) // 2)
    guesses = [np.eye(n_tasks), graph_structure(0.3 * edges / edges.sum(), n_tasks)]
    bounds = [penalty.lower_bound(Q, eps, guess) for guess in guesses]
    assert len(steps) <= 2 * 60
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
    # No graph that was drawn costs less.
    for _ in range(50):
        w = rng.dirichlet(np.full(len(edges), 0.3)) * 0.5 * (n_tasks - (1.0 + 0.7 * (n_tasks - 1)))
        B = graph_structure(w, n_tasks)
        if np.linalg.eigvalsh(B)[0] > 0.0:
            assert eps * np.trace(np.linalg.inv(B)) - np.sum(B * Q) >= bounds[0] - 1e-9 * abs(bounds[0])


@pytest.mark.parametrize("n_tasks", [3, 7])
def test_few_edges_take_the_same_step_as_many(n_tasks, rng, monkeypatch):
    """The Hessian of all of them at once, or its products."""
    n_edges = n_tasks * (n_tasks - 1) // 2
    w = rng.dirichlet(np.full(n_edges, 0.5)) * 0.4
    point = _Point.at(w, random_psd(rng, n_tasks), random_psd(rng, n_tasks))
    at_once = model_step(point, w, 1e-9)
    monkeypatch.setattr(_simplex, "FEW_EDGES", 0)
    np.testing.assert_allclose(model_step(point, w, 1e-9), at_once, atol=1e-10)


@pytest.mark.parametrize(("ratio", "falls"), [(1e19, True), (1e21, False)])
def test_weights_fall_where_they_have_digits_beside_the_energies(ratio, falls, rng, monkeypatch):
    """Beyond that the bound is one of few steps, and below every structure's cost as any other."""
    penalty, Q, eps, tried = Laplacian(share=0.7), random_psd(rng, 5), 1e-12, []
    Q *= ratio * eps * len(Q) / np.trace(Q)
    monkeypatch.setattr(
        Laplacian, "_fall", lambda self, weight, Q, own=Laplacian._fall: tried.append(1) or own(self, weight, Q)
    )
    guess = penalty.minimize(random_psd(rng, 5)).structure
    bound = penalty.lower_bound(Q, eps, guess)
    assert bool(tried) == falls
    for A in (guess, penalty.minimize(Q).structure, penalty.minimize(np.eye(5)).structure):
        assert bound <= eps * np.trace(np.linalg.inv(A)) - np.sum(A * Q)
