"""Stages that lead to a structure: falling ridges, lines through the last two, starts of graphs, pivots of edges."""

import numpy as np
import pytest
from problems import random_psd

from skmtl.penalties import Laplacian, Sparse, sparse
from skmtl.penalties._graph_newton import _Point, _starts, edge_ends, graph_newton, graph_structure
from skmtl.penalties._newton import _extrapolate, active_newton, descend, soft_threshold
from skmtl.penalties._screening import WORTH_SCREENING, assemble, components
from skmtl.penalties._simplex import _solve_directly, _stay_inside, model_step
from skmtl.penalties._structure_step import step_gap

# Falling ridges -------------------------------------------------------------------------------------------------------


def record(level, first, **options):
    """The stages of a descent: starts, levels, which is the last; and what comes out."""
    seen = []

    def solve(start, current, last):
        seen.append((start, current, last))
        # Linear in the root of the level, as where S has nothing but the ridge.
        return (1.0 + np.sqrt(current)) * np.eye(2), 0.5 if last else 7.0, len(seen)

    return seen, descend(solve, 3.0 * np.eye(2), level, first, **options)


def test_a_ridge_that_is_gentle_is_one_stage():
    for first in (0.1, 1.0):
        seen, (A, gap, n_iter) = record(1.0, first)
        assert [(current, last) for _, current, last in seen] == [(1.0, True)]
        np.testing.assert_array_equal(seen[0][0], 3.0 * np.eye(2))
        assert (gap, n_iter) == (0.5, 1)
        np.testing.assert_array_equal(A, 2.0 * np.eye(2))


@pytest.mark.parametrize("level", [1e-3, 2.5e-4, 1.7e-6])
def test_ridges_fall_by_half_decades_and_the_last_step_is_no_short_one(level):
    seen, (_, gap, n_iter) = record(level, 0.03)
    levels = np.array([current for _, current, _ in seen])
    assert levels[0] == 0.03
    assert levels[-1] == level
    assert [last for *_, last in seen] == [False] * (len(seen) - 1) + [True]
    falls = np.log10(levels[:-1] / levels[1:])
    np.testing.assert_allclose(falls[:-1], 0.5)
    assert 0.25 <= falls[-1] <= 0.75
    # The gap is that of the last stage, the iterations are those of all.
    assert gap == 0.5
    assert n_iter == sum(range(1, len(seen) + 1))


def test_stages_start_from_the_line_through_the_last_two():
    seen, _ = record(1e-4, 0.03, factor=10.0)
    np.testing.assert_array_equal(seen[0][0], 3.0 * np.eye(2))
    np.testing.assert_allclose(seen[1][0], (1.0 + np.sqrt(0.03)) * np.eye(2))
    for start, current, _ in seen[2:]:
        np.testing.assert_allclose(start, (1.0 + np.sqrt(current)) * np.eye(2))


def test_a_line_stops_where_entries_cross_zero_and_where_the_cone_ends():
    A0, A1 = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[2.0, 0.2], [0.2, 2.0]])
    trail = [(1.0, A0), (0.9, A1)]
    np.testing.assert_allclose(_extrapolate(trail, 0.8**2, np.eye(2)), [[2.0, 0.0], [0.0, 2.0]])
    # Eigenvalues 1 and 0.4: the whole step leads to -0.2, eight tenths to -0.08, and half of it to 0.1.
    trail = [(1.0, np.eye(2)), (0.9, 0.4 * np.eye(2))]
    np.testing.assert_allclose(_extrapolate(trail, 0.8**2, np.eye(2)), 0.1 * np.eye(2), atol=1e-12)
    # No step at all is left where half of it is too long.
    np.testing.assert_array_equal(_extrapolate(trail, 0.6**2, np.eye(2)), 0.4 * np.eye(2))
    # Eight tenths, where the whole step is too long.
    trail = [(1.0, 0.7 * np.eye(2)), (0.9, 0.34 * np.eye(2))]
    np.testing.assert_allclose(_extrapolate(trail, 0.8**2, np.eye(2)), (0.34 - 0.8 * 0.36) * np.eye(2), atol=1e-12)


def test_soft_thresholds():
    M = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_array_equal(soft_threshold(M, 1.0), [-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0])


# Newton among structures ----------------------------------------------------------------------------------------------


def test_newton_needs_a_start_inside_the_cone():
    with pytest.raises(ValueError, match="must be positive definite"):
        active_newton(lambda A: None, -np.eye(2), Sparse(0.5).norm(2), certify=lambda *_: 0.0, tol=1e-6, max_iter=5)


def test_the_gap_of_a_structure_that_has_no_inverse_is_infinite(rng):
    S = random_psd(rng, 3)
    assert step_gap(Sparse(0.5), np.zeros((3, 3)), S, None, S, 1e-6) == np.inf


@pytest.mark.parametrize(("mu", "whole"), [(1.0, True), (0.9, False)])
def test_only_a_structure_that_may_have_zeros_is_cut_into_blocks(mu, whole, rng, monkeypatch):
    cut, in_blocks = [], sparse.minimize_in_blocks
    monkeypatch.setattr(sparse, "minimize_in_blocks", lambda *given: cut.append(1) or in_blocks(*given))
    Sparse(mu).minimize(random_psd(rng, WORTH_SCREENING), tol=1e-4)
    assert cut == ([] if whole else [1])
    Sparse(0.9).minimize(random_psd(rng, WORTH_SCREENING - 1), tol=1e-4)
    assert len(cut) == (not whole)


def test_blocks_are_the_connected_tasks():
    linked = np.zeros((5, 5), dtype=bool)
    linked[0, 3] = linked[3, 0] = linked[3, 4] = linked[4, 3] = True
    assert sorted(part.tolist() for part in components(linked)) == [[0, 3, 4], [1], [2]]


class Block:
    def __init__(self, tasks, structure):
        self.tasks, self.structure = np.array(tasks), np.array(structure)


def test_blocks_are_put_where_their_tasks_are():
    A = assemble([Block([2, 0], [[1.0, 2.0], [3.0, 4.0]]), Block([1], [[5.0]])])
    np.testing.assert_array_equal(A, [[4.0, 0.0, 3.0], [0.0, 5.0, 0.0], [2.0, 0.0, 1.0]])


# Graphs ---------------------------------------------------------------------------------------------------------------


def test_graphs_start_from_equal_edges_from_those_given_and_from_between(rng):
    given = rng.standard_normal(10)
    clipped, between, equal = _starts(given, 5, 1.6)
    np.testing.assert_allclose(equal, 0.16)
    np.testing.assert_allclose(between, 0.5 * (clipped + equal))
    np.testing.assert_array_equal(clipped > 0.0, given > 0.0)
    np.testing.assert_allclose(clipped[given > 0.0] / given[given > 0.0], 1.6 / given[given > 0.0].sum())
    for edges in (clipped, between, equal):
        assert edges.sum() == pytest.approx(1.6)


@pytest.mark.parametrize("nonsense", [-1.0, 0.0, np.nan, np.inf])
def test_edges_that_are_none_are_no_start(nonsense):
    (equal,) = _starts(np.full(10, nonsense), 5, 1.6)
    np.testing.assert_allclose(equal, 0.16)


def test_a_graph_is_the_identity_without_its_laplacian():
    np.testing.assert_array_equal(edge_ends(3), [[0, 0, 1], [1, 2, 2]])
    B = graph_structure(np.array([0.1, 0.2, 0.3]), 3)
    np.testing.assert_allclose(B, [[0.7, 0.1, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])


def test_the_best_start_of_a_graph_is_taken(rng):
    """From the solution nothing is left to do, and a start outside of the cone does no harm."""
    S, Q, total = random_psd(rng, 5), 0.1 * random_psd(rng, 5), 0.8
    best = graph_newton(S, Q, np.ones(10), total, tol=1e-10, max_iter=50)
    again = graph_newton(S, Q, best.edges, total, tol=1e-8, max_iter=0)
    assert again.cost == pytest.approx(best.cost, rel=1e-12)
    assert again.cost - again.lower_bound <= 1e-7 * abs(again.cost)
    outside = np.zeros(10)
    outside[0] = 1.0
    assert _Point.at(outside * 5.0, S, Q) is None
    mended = graph_newton(S, Q, outside, 5.0 / 8.0, tol=1e-8, max_iter=50)
    equal = graph_newton(S, Q, np.ones(10), 5.0 / 8.0, tol=1e-8, max_iter=50)
    assert mended.cost == pytest.approx(equal.cost, rel=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_a_graph_costs_what_its_bound_says(seed):
    """Against random graphs of the same total weight."""
    rng = np.random.default_rng(seed)
    S, Q, total = random_psd(rng, 4), random_psd(rng, 4), 0.7
    step = graph_newton(S, Q, np.ones(6), total, tol=1e-9, max_iter=60)
    B = graph_structure(step.edges, 4)
    assert step.cost == pytest.approx(np.trace(np.linalg.solve(B, S)) - np.trace(B @ Q))
    assert step.edges.min() >= 0.0
    assert step.edges.sum() == pytest.approx(total)
    size = np.trace(np.linalg.solve(B, S)) + abs(np.trace(B @ Q))
    assert 0.0 <= step.cost - step.lower_bound <= 1e-9 * size
    for edges in total * rng.dirichlet(np.ones(6), 200):
        other = _Point.at(edges, S, Q)
        if other is not None:
            assert step.lower_bound <= other.cost
            # Any tangent bounds the least cost.
            assert other.cost - other.excess <= step.cost + 1e-12


class Quadratic:
    """gradient'd + d'Hd/2."""

    def __init__(self, H, gradient):
        self.H, self.gradient = H, gradient

    def hessian(self, d):
        return self.H @ d

    def dense_hessian(self, edges):
        return self.H[np.ix_(edges, edges)]

    def preconditioner(self, share):
        return lambda r: r / np.diag(self.H)

    def value(self, d):
        return self.gradient @ d + 0.5 * d @ self.H @ d


@pytest.mark.parametrize("seed", range(8))
def test_steps_stay_in_the_simplex_and_gain(seed):
    rng = np.random.default_rng(seed)
    x, H = rng.dirichlet(np.ones(8)), random_psd(rng, 8)
    model = Quadratic(H, 2.0 * rng.standard_normal(8))
    d = _solve_directly(model, np.arange(8), model.gradient)
    outside = x + d < 0.0
    assert np.count_nonzero(outside) > 1
    e, leave = _stay_inside(model, x, d, model.gradient, outside)
    assert e.sum() == pytest.approx(0.0, abs=1e-12)
    assert (x + e).min() >= -1e-15
    assert model.value(e) < 0.0
    assert leave.any()
    assert not np.any(leave & ~outside)
    np.testing.assert_allclose((x + e)[leave], 0.0, atol=1e-12)
    # The longest step that gains with all that would leave at zero.
    for step in (1.0, 0.5, 0.2, 0.05):
        y = np.maximum(x + step * d, 0.0)
        y *= x.sum() / y.sum()
        if model.value(y - x) < 0.0:
            np.testing.assert_allclose(e, y - x)
            np.testing.assert_array_equal(leave, outside & (y == 0.0))
            break


def test_where_no_projection_gains_the_first_edge_stops_the_step():
    model = Quadratic(np.eye(3), np.array([-1.0, -1.0, 1.0]))
    x, d = np.array([0.2, 0.1, 0.7]), np.array([-0.4, -0.3, 0.7])
    e, leave = _stay_inside(model, x, d, model.gradient, x + d < 0.0)
    np.testing.assert_allclose(e, d / 3.0)
    np.testing.assert_array_equal(leave, [False, True, False])


@pytest.mark.parametrize("seed", range(8))
def test_the_least_of_a_model_over_a_simplex(seed):
    """Its slopes are level on the edges that are there, and nowhere lower; and nothing is left of the others."""
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(10)) * (rng.random(10) < 0.7)
    w, model = 0.8 * w / w.sum(), Quadratic(random_psd(rng, 10), 3.0 * rng.standard_normal(10))
    x = w + model_step(model, w, 1e-8)
    assert x.sum() == pytest.approx(0.8)
    slopes = model.gradient + model.H @ (x - w)
    level = slopes[x > 0.0].mean()
    assert x.min() == 0.0
    np.testing.assert_allclose(slopes[x > 0.0], level, atol=1e-8)
    assert slopes.min() >= level - 1e-8


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_a_model_may_have_any_unit(unit, rng):
    H, gradient = random_psd(rng, 5), rng.standard_normal(5)
    d = _solve_directly(Quadratic(unit * H, None), np.arange(5), unit * gradient)
    level = (gradient + H @ d).mean()
    np.testing.assert_allclose(gradient + H @ d, level, atol=1e-9)
    assert d.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("unit", [0.0, np.inf])
def test_a_model_without_curvature_has_no_step(unit):
    H = np.diag([unit, unit])
    np.testing.assert_array_equal(_solve_directly(Quadratic(H, None), np.arange(2), np.array([1.0, -1.0])), 0.0)


def test_edges_that_are_redundant_have_a_step_all_the_same():
    H = np.ones((2, 2))
    d = _solve_directly(Quadratic(H, None), np.arange(2), np.array([1.0, -1.0]))
    assert d[1] == -d[0] > 0.0


# Bounds of graphs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [None, "rows", "signs", "trace"])
def test_a_graph_outside_of_its_domain_costs_infinitely(broken):
    """Each rule broken by a thousandth: sums of rows, signs of edges, and how many edges there are at least."""
    edges = np.array([0.3, 0.0, 0.2, 0.1, 0.0, 0.15])
    edges += {"signs": [2e-3, -1e-3, 0, 0, 0, 0], "trace": [-1e-3, 0, 0, 0, 0, 0]}.get(broken, np.zeros(6))
    A = graph_structure(edges, 4) / 2.0
    A[0, 0] -= 1e-3 * (broken == "rows")
    assert Laplacian(ridge=2.0, tau=2.5).value(A) == (np.inf if broken else 0.0)
