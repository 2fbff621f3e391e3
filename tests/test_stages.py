"""Stages that lead to a structure: falling ridges, lines through the last two, starts of graphs, pivots of edges."""

import numpy as np
import pytest
from problems import random_psd
from scipy.linalg import helmert

from skmtl.penalties import PENALTIES, Cluster, Fixed, Frobenius, Laplacian, Sparse, Trace, sparse
from skmtl.penalties._graph_newton import _backtrack, _Point, _starts, edge_ends, graph_newton, graph_structure
from skmtl.penalties._newton import _extrapolate, active_newton, descend, soft_threshold
from skmtl.penalties._screening import (
    DRAFT_TOL,
    WORTH_SCREENING,
    _merge,
    _union,
    assemble,
    components,
    solve_in_blocks,
)
from skmtl.penalties._simplex import _solve_by_cg, _solve_directly, _stay_inside, model_step
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


class Links:
    """Tasks whose blocks are linked as a matrix says, whatever was solved."""

    def __init__(self, dual):
        self.W, self.solved = np.array(dual), []

    def alone(self, tasks):
        return [Solved([t], [[1.0]], 1e-4) for t in tasks]

    def solve(self, tasks, start, tol):
        self.solved.append((tasks.tolist(), None if start is None else start.tolist(), tol))
        return Solved(tasks, len(self.solved) * np.eye(len(tasks)), tol)

    def dual(self, blocks):
        order = np.concatenate([block.tasks for block in blocks])
        return self.W[np.ix_(order, order)].copy()


class Solved(Block):
    def __init__(self, tasks, structure, tol):
        super().__init__(tasks, structure)
        self.tol = tol


def linked_tasks(n_tasks, *links):
    W = np.eye(n_tasks)
    for t, s, size in links:
        W[t, s] = W[s, t] = size
    return W


def tasks_of(blocks):
    return sorted(sorted(block.tasks.tolist()) for block in blocks)


def test_blocks_are_joined_until_no_link_exceeds_the_threshold():
    """By its size; blocks that are solved well enough stay as they are."""
    problem = Links(linked_tasks(6, (0, 3, -0.5), (3, 5, 0.4), (1, 2, 0.2)))
    blocks = _merge(problem, problem.alone(np.arange(6)), 0.3, 1e-4, largest=6)
    assert tasks_of(blocks) == [[0, 3, 5], [1], [2], [4]]
    # Of lone tasks a solver knows a better start.
    assert problem.solved == [([0, 3, 5], None, 1e-4)]
    again = _merge(problem, blocks, 0.1, 1e-4, largest=6)
    assert tasks_of(again) == [[0, 3, 5], [1, 2], [4]]
    assert problem.solved[1:] == [([1, 2], None, 1e-4)]
    # More exactly: all of them again, from where they are.
    problem.solved.clear()
    finer = _merge(problem, again, 0.1, 1e-6, largest=6)
    assert tasks_of(finer) == [[0, 3, 5], [1, 2], [4]]
    assert sorted(tasks for tasks, _, _ in problem.solved) == [[0, 3, 5], [1, 2], [4]]
    assert {len(tasks): start for tasks, start, _ in problem.solved}[3] == np.eye(3).tolist()
    assert {block.tol for block in finer} == {1e-6}


@pytest.mark.parametrize(("largest", "joined"), [(2, False), (3, True)])
def test_blocks_are_not_joined_to_one_that_is_too_large(largest, joined):
    """However small others are."""
    problem = Links(linked_tasks(6, (0, 3, 0.5), (3, 5, 0.4), (1, 2, 0.4)))
    blocks = problem.alone(np.arange(6))
    found = _merge(problem, blocks, 0.3, 1e-4, largest=largest)
    assert (found is blocks) == (not joined)
    assert tasks_of(found) == ([[0, 3, 5], [1, 2], [4]] if joined else [[t] for t in range(6)])


def test_the_union_of_blocks_has_their_structures_where_their_tasks_are():
    parts = [Solved([4, 1], [[1.0, 2.0], [2.0, 3.0]], 1.0), Solved([2], [[5.0]], 1.0)]
    tasks, A = _union(parts)
    np.testing.assert_array_equal(tasks, [1, 2, 4])
    np.testing.assert_array_equal(A, [[3.0, 0.0, 2.0], [0.0, 5.0, 0.0], [2.0, 0.0, 1.0]])
    tasks, A = _union([Solved([4], [[1.0]], 1.0), Solved([2], [[5.0]], 1.0)])
    assert (tasks.tolist(), A) == ([2, 4], None)


def test_screening_begins_with_the_blocks_of_the_start_and_drafts_along_strong_links():
    """Those above the root of the threshold, roughly, and only blocks of half of all tasks; then exactly."""
    start = np.eye(6)
    start[1, 2] = start[2, 1] = 0.5
    problem = Links(linked_tasks(6, (0, 3, 0.6), (3, 5, 0.4)))
    blocks = solve_in_blocks(problem, 6, 0.25, start=start, tol=1e-6)
    assert tasks_of(blocks) == [[0, 3, 5], [1, 2], [4]]
    assert problem.solved[0] == ([1, 2], [[1.0, 0.5], [0.5, 1.0]], 1e-6)
    assert problem.solved[1] == ([0, 3], None, DRAFT_TOL)
    assert {tuple(tasks): tol for tasks, _, tol in problem.solved[2:]} == {(0, 3, 5): 1e-6, (4,): 1e-6}
    problem = Links(linked_tasks(4, (0, 3, 0.6), (1, 3, 0.6)))
    blocks = solve_in_blocks(problem, 4, 0.25, start=None, tol=1e-6)
    # Three of four are too many for a draft.
    assert problem.solved[0][0] == [0, 1, 3]
    assert problem.solved[0][2] == 1e-6
    assert tasks_of(blocks) == [[0, 1, 3], [2]]


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


def test_no_step_is_taken_that_leads_nowhere(rng):
    S, Q, w = random_psd(rng, 4), random_psd(rng, 4), np.full(6, 0.1)
    point = _Point.at(w, S, Q)
    uphill = point.gradient - point.gradient.mean()
    assert _backtrack(S, Q, w, point, np.zeros(6)) is None
    assert _backtrack(S, Q, w, point, 1e-3 * uphill) is None
    trial, there = _backtrack(S, Q, w, point, -1e-3 * uphill)
    assert there.cost < point.cost
    np.testing.assert_allclose(trial, w - 1e-3 * uphill)


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


def test_where_edges_are_many_their_share_says_which_preconditioner_serves(rng):
    """The one for all edges only where nearly all of them are free."""
    asked, free = [], np.arange(10) % 4 > 0
    model = Quadratic(random_psd(rng, 10), rng.standard_normal(10))
    precondition = model.preconditioner
    model.preconditioner = lambda share: asked.append(share) or precondition(share)
    d = _solve_by_cg(model, free, model.gradient, 1e-6)
    assert asked == [pytest.approx(0.7)]
    np.testing.assert_allclose(d, _solve_directly(model, np.flatnonzero(free), model.gradient), atol=1e-7)


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


def test_the_sparse_penalty_of_any_matrix_is_that_of_the_paper(rng):
    """mu tr(A) + (1 - mu) sum |A_ts|, outside of the cone too."""
    A = rng.standard_normal((4, 4))
    A = A + A.T
    assert np.diag(A).min() < 0.0
    for mu in (0.0, 0.3, 1.0):
        assert Sparse(mu).value(A) == pytest.approx(mu * np.trace(A) + (1.0 - mu) * np.abs(A).sum())


@pytest.mark.parametrize("weight", [0.5, 4.0])
def test_directions_that_s_does_not_have_count_as_rounding(weight):
    """So that the structure has an inverse: of an S without a ridge, and where rounding makes it negative."""
    a = np.linalg.eigvalsh(Frobenius(weight).minimize(np.diag([8.0, 1.0, 0.0, -1e-18])).structure)
    rounding = 8.0 * np.finfo(float).eps
    np.testing.assert_allclose(a, np.cbrt(np.array([rounding, rounding, 1.0, 8.0]) / (2.0 * weight)))


def test_directions_that_s_does_not_have_take_no_share_of_a_trace():
    a = np.linalg.eigvalsh(Trace().minimize(np.diag([9.0, 1.0, 0.0, -1e-18])).structure)
    rounding = np.sqrt(9.0 * np.finfo(float).eps)
    np.testing.assert_allclose(a, np.array([rounding, rounding, 1.0, 3.0]) / (4.0 + 2.0 * rounding))
    # Nor with a ridge, which shares out the rest more evenly.
    a = np.linalg.eigvalsh(Trace(0.5).minimize(np.diag([9.0, 1.0, 0.0, -1e-18])).structure)
    assert a[0] == pytest.approx(a[1])
    assert 0.0 < a[0] < 1e-6
    assert a.sum() == pytest.approx(1.0)
    assert 1.0 < a[3] / a[2] < 3.0


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_a_ridge_that_is_next_to_nothing_changes_as_little(size, rng):
    """The trace is shared out as without it, and bounded as without it, in any unit."""
    S, plain, little = random_psd(rng, 4), Trace(), Trace(1e-9 * size)
    np.testing.assert_allclose(little.minimize(size * S).structure, plain.minimize(S).structure, rtol=1e-6, atol=1e-8)
    bounds = [penalty.lower_bound(size * S, 0.1 * size, np.eye(4)) for penalty in (little, plain)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


# Bounds of graphs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [None, "rows", "signs", "trace"])
def test_a_graph_outside_of_its_domain_costs_infinitely(broken):
    """Each rule broken by a thousandth: sums of rows, signs of edges, and how many edges there are at least."""
    edges = np.array([0.3, 0.0, 0.2, 0.1, 0.0, 0.15])
    edges += {"signs": [2e-3, -1e-3, 0, 0, 0, 0], "trace": [-1e-3, 0, 0, 0, 0, 0]}.get(broken, np.zeros(6))
    A = graph_structure(edges, 4) / 2.0
    A[0, 0] -= 1e-3 * (broken == "rows")
    assert Laplacian(ridge=2.0, tau=2.5).value(A) == (np.inf if broken else 0.0)


def clustered(a, n_tasks=4, mean=0.5):
    """1 / mean on the mean, and these eigenvalues around it."""
    N = helmert(n_tasks).T
    return (N * np.asarray(a)) @ N.T + 1.0 / (n_tasks * mean)


@pytest.mark.parametrize(
    ("a", "mean", "inside"),
    [
        # Between 1/5 and 1/2 with a sum of 2/5 + 1/2.
        ([0.2, 0.2, 0.5], 0.5, True),
        ([0.3, 0.3, 0.3], 0.5, True),
        ([0.199, 0.201, 0.5], 0.5, False),
        ([0.2, 0.199, 0.501], 0.5, False),
        ([0.201, 0.198, 0.501], 0.5, False),
        ([0.3, 0.3, 0.301], 0.5, False),
        ([0.3, 0.3, 0.299], 0.5, False),
        ([0.3, 0.3, 0.3], 0.501, False),
        ([0.3, 0.3, 0.3], 0.499, False),
    ],
)
def test_clusters_outside_of_their_domain_cost_infinitely(a, mean, inside):
    penalty = Cluster(2, within=5.0, between=2.0, mean=0.5)
    assert penalty.value(clustered(a, mean=mean)) == (0.0 if inside else np.inf)


def test_the_bound_of_clusters_is_no_less_and_no_more_than_a_scan_finds(rng):
    """Over spectra with the right sum; the best structure has the eigenvectors of Q."""
    penalty, eps = Cluster(2, within=5.0, between=2.0, mean=0.5), 0.3
    for size in (0.01, 1.0, 30.0):
        Q = size * random_psd(rng, 4)
        N = helmert(4).T
        q = np.linalg.eigvalsh(N.T @ Q @ N)
        grid = np.linspace(0.2, 0.5, 61)
        first, second = np.meshgrid(grid, grid)
        spectra = np.stack([first, second, 0.9 - first - second], axis=-1).reshape(-1, 3)
        spectra = spectra[(spectra[:, 2] >= 0.2) & (spectra[:, 2] <= 0.5)]
        least = np.min(np.sum(eps / spectra - q * spectra, axis=1)) + eps * 0.5 - Q.sum() / (4 * 0.5)
        bound = penalty.lower_bound(Q, eps, np.eye(4))
        assert bound <= least + 1e-12
        assert bound >= least - 2e-2 * (1.0 + size)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_a_trace_above_one_costs_infinitely(ridge):
    penalty, A = Trace(ridge), np.diag([0.3, 0.7])
    assert penalty.value(A) == pytest.approx(ridge * 0.58)
    assert penalty.value(0.9 * A) == pytest.approx(ridge * 0.81 * 0.58)
    assert penalty.value(1.001 * A) == np.inf


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.5, 50.0])
@pytest.mark.parametrize("eps", [1e-3, 1.0])
def test_the_bound_of_a_trace_is_no_less_and_no_more_than_a_scan_finds(ridge, eps):
    q = np.array([0.2, 3.0])
    a = np.geomspace(1e-4, 1.0, 500)
    first, second = np.meshgrid(a, a)
    cost = eps / first + eps / second + ridge * (first**2 + second**2) - q[0] * first - q[1] * second
    least = cost[first + second <= 1.0].min()
    bound = Trace(ridge).lower_bound(np.diag(q), eps, np.eye(2))
    assert bound <= least + 1e-12
    assert bound == pytest.approx(least, rel=2e-2, abs=2e-2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"within": 1.0, "between": 1.0}, None),
        ({"within": 1.0, "between": 1.001}, "within=1.0 and between=1.001"),
        ({"between": 0.0}, "between=0.0"),
        ({"within": np.inf}, "within=inf"),
        ({"n_clusters": 3}, None),
        ({"n_clusters": 4}, "n_clusters=4 must lie between 1 and the number of tasks, 3"),
        ({"mean": 0.0}, "mean"),
    ],
)
def test_parameters_of_clusters(given, message):
    if message is None:
        Cluster(**given).check(3)
    else:
        with pytest.raises(ValueError, match=message):
            Cluster(**given).check(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 1.0}, "tau=1.0 must lie strictly between 1 and the number of tasks, 3"),
        ({"tau": 1.001}, None),
        ({"tau": 2.999}, None),
        ({"tau": 3.0}, "tau=3.0"),
        ({"share": 0.0}, "share=0.0 must lie strictly between 0"),
        ({"share": 1.0}, "share=1.0"),
        ({"ridge": 0.0}, "ridge"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_parameters_of_graphs(given, message):
    if message is None:
        Laplacian(**given).check(3)
    else:
        with pytest.raises(ValueError, match=message):
            Laplacian(**given).check(3)
    # One task has no edges, and any tau will do.
    if "tau" in given:
        Laplacian(**given).check(1)


@pytest.mark.parametrize("mu", [-1e-9, 1.0 + 1e-9, np.nan, "0.5", True])
def test_a_threshold_lies_between_no_relations_and_all(mu):
    with pytest.raises(ValueError, match="must lie between 0"):
        Sparse(mu).check(2)
    for limit in (0.0, 1.0):
        Sparse(limit).check(2)


def test_the_grid_of_every_penalty_is_within_its_bounds():
    for name, penalty in PENALTIES.items():
        for parameter, values in penalty().grid().items():
            assert values == sorted(set(values)), name
            for value in values:
                for n_tasks in (1, 2, 7):
                    penalty(**{parameter: value}).check(n_tasks)


@pytest.mark.parametrize("size", [0.1, 3.0, 100.0])
def test_a_dual_point_is_scaled_into_the_domain_and_not_far(size, rng):
    """Where no scale is needed it is one; else the bound is finite there, and not a fifth farther out."""
    penalty, A, eps = Sparse(0.6), random_psd(rng, 4), 0.1
    Q = size * random_psd(rng, 4)
    W = penalty.norm(4).dual_point(eps * np.linalg.inv(A @ A) + Q)
    largest = np.max(np.linalg.eigvals(np.linalg.solve(W, Q)).real) if np.linalg.eigvalsh(W)[0] > 0.0 else np.inf
    scale = penalty.feasible_scale(Q, eps, A)
    if np.isfinite(largest) and largest >= 1.0:
        assert scale**2 * largest < 1.0 < 1.2 * scale**2 * largest
        assert np.isfinite(penalty.lower_bound(Q, eps, A, scale))
    else:
        assert scale == 1.0


def test_dual_points_that_need_a_scale_are_tried(rng):
    Q = np.diag([2.0, 0.5])
    penalty, A = Sparse(0.6), 10.0 * np.eye(2)
    scale = penalty.feasible_scale(Q, 1e-3, A)
    # W is the identity on the diagonal, and the largest eigenvalue of W^-1 Q two.
    assert scale == pytest.approx((2.0 + 0.1) ** -0.5)
    assert np.isfinite(penalty.lower_bound(Q, 1e-3, A, scale))
    assert penalty.lower_bound(Q, 1e-3, A) == -np.inf


def test_a_structure_without_an_inverse_asks_for_no_scale():
    """There is no dual point that could be scaled, and nothing is proved."""
    for A in (np.zeros((2, 2)), -np.eye(2)):
        assert Sparse(0.6).feasible_scale(np.eye(2), 1e-3, A) == 1.0
        assert Sparse(0.6).lower_bound(np.eye(2), 1e-3, A) == -np.inf


# Structures that are known --------------------------------------------------------------------------------------------


def test_graphs_groups_and_trees_by_hand():
    W = np.array([[9.0, 2.0, 0.0], [2.0, 9.0, 0.5], [0.0, 0.5, 9.0]])
    L = np.array([[2.0, -2.0, 0.0], [-2.0, 2.5, -0.5], [0.0, -0.5, 0.5]])
    np.testing.assert_allclose(Fixed.from_graph(W, 0.3).matrix, np.linalg.inv(L + 0.3 * np.eye(3)))
    np.testing.assert_allclose(Fixed.from_graph(W).matrix, np.linalg.inv(L + np.eye(3)))
    M = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    for strength in (0.0, 1.0, 4.0):
        grouped = Fixed.from_groups(["a", "b", "a"], strength).matrix
        np.testing.assert_allclose(np.linalg.inv(grouped), np.eye(3) + strength * (np.eye(3) - M), atol=1e-12)
        coupled = Fixed.mean_coupled(strength).structure(3)
        expected = np.eye(3) + strength * (np.eye(3) - np.full((3, 3), 1.0 / 3.0))
        np.testing.assert_allclose(np.linalg.inv(coupled), expected, atol=1e-12)
    paths = [["animal", "bird"], ["animal", "fish"], ["plant"], []]
    shared = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(Fixed.from_tree(paths, 0.5).matrix, np.eye(4) + 0.5 * shared)
    # A name at another place is another node.
    np.testing.assert_allclose(Fixed.from_tree([["a", "x"], ["b", "x"]]).matrix, 3.0 * np.eye(2))


@pytest.mark.parametrize("wrong", [[], ["bird"], [["animal", "bird"], "fish"]])
def test_a_tree_is_a_path_for_each_task(wrong):
    with pytest.raises(ValueError, match="paths needs a sequence of nodes for each task"):
        Fixed.from_tree(wrong)


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((2, 3)), np.array([[0.0, 1.0], [2.0, 0.0]])])
def test_a_graph_is_square_and_symmetric(wrong):
    with pytest.raises(ValueError, match="a graph needs a square symmetric matrix"):
        Fixed.from_graph(wrong)


def test_edges_have_no_negative_weight():
    with pytest.raises(ValueError, match=r"negative entry, -0\.1"):
        Fixed.from_graph([[0.0, -0.1], [-0.1, 0.0]])
    # Its diagonal is ignored.
    np.testing.assert_allclose(Fixed.from_graph([[-5.0, 0.0], [0.0, -5.0]]).matrix, np.eye(2))


def test_a_matrix_that_is_no_structure_is_refused():
    for wrong, message in (
        (np.eye(3), "has shape"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN or infinite"),
        ([[1.0, 0.2], [0.3, 1.0]], "not symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue, -1"),
        ([["a", "b"], ["c", "d"]], "not a matrix of numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            Fixed(wrong).check(2)
    Fixed([[1.0, 1.0], [1.0, 1.0]]).check(2)
    Fixed().check(7)
    np.testing.assert_array_equal(Fixed().structure(3), np.eye(3))
