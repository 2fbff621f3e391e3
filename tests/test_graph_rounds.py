"""Newton among graphs, by a script: how exact its models are, which steps it takes, when it ends, who is asked next."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_psd
from test_stages import Quadratic

from skmtl.penalties import Laplacian, _graph_newton, _simplex, laplacian
from skmtl.penalties._graph_newton import (
    CREEPING,
    ENOUGH_GAIN,
    GAINING,
    MAX_BACKTRACKS,
    PATIENCE,
    ROUNDING,
    GraphStep,
    _backtrack,
    _Point,
    graph_newton,
)
from skmtl.penalties._simplex import _stay_inside
from skmtl.penalties.base import StructureStep

TOL = 1e-6
S = np.eye(3)


def play(points, monkeypatch, *, max_iter=50, tol=TOL):
    """Steps to points of given costs, what the tangent can gain there, and sizes; None is no step.

    Gives the number of the point that is returned, its cost and bound, and how exact models were.
    """
    script = iter(points)
    made, forcings = [], []

    def next_point():
        found = next(script)
        if found is None:
            return None
        cost, excess, size = found
        made.append(SimpleNamespace(cost=cost, excess=excess, size=size))
        return np.array([float(len(made) - 1)]), made[-1]

    first, point = next_point()
    monkeypatch.setattr(_graph_newton, "_starts", lambda *_: [first])
    monkeypatch.setattr(_Point, "at", staticmethod(lambda *_: point))
    monkeypatch.setattr(_graph_newton, "model_step", lambda point, w, forcing: forcings.append(forcing))
    monkeypatch.setattr(_graph_newton, "_backtrack", lambda *_: next_point())
    step = graph_newton(S, S, first, 1.0, tol=tol, max_iter=max_iter)
    return int(step.edges[0]), step.cost, step.lower_bound, forcings


def test_models_are_as_exact_as_the_step_will_be(monkeypatch):
    """The root of what is left, relative to the size, and a tenth at first."""
    points = [(14.0, 8.0, 2.0), (6.08, 0.08, 2.0), (6.005, 0.005, 2.0), None]
    *_, forcings = play(points, monkeypatch)
    np.testing.assert_allclose(forcings, [0.1, 0.1, 0.05])


def test_the_best_bound_of_all_points_is_kept(monkeypatch):
    """Also where a later point proves less; a step that cannot be taken is the last."""
    assert play([(9.0, 2.0, 10.0), (8.0, 3.0, 10.0), None], monkeypatch)[:3] == (1, 8.0, 7.0)
    assert play([(9.0, 3.0, 10.0), (8.0, 0.5, 10.0), None], monkeypatch)[:3] == (1, 8.0, 7.5)
    # The last point of all is asked, too.
    assert play([(9.0, 3.0, 10.0), (8.0, 0.5, 10.0)], monkeypatch, max_iter=1)[:3] == (1, 8.0, 7.5)
    assert play([(9.0, 3.0, 10.0)], monkeypatch, max_iter=0)[:3] == (0, 9.0, 6.0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_search_ends_at_the_first_gap_that_suffices(size, monkeypatch):
    """Relative to the two traces, and the gap to the best bound so far."""
    points = [(share * TOL * size, share * TOL * size, size) for share in (2.0, 1.01, 0.99, 0.5)]
    assert play(points, monkeypatch)[0] == 2
    # A bound from before, of a point that fell to it.
    assert play([(9.0, 1.0, size), (8.0 + 0.9 * TOL * size, 5.0, size), (1.0, 1.0, size)], monkeypatch)[0] == 1


def creep(n_steps, *, closes=0.0, gains=0.0, size=1.0):
    """Points whose gap closes by a share of itself, and whose cost gains a share of the size, each time."""
    gap, cost, points = 1.0, 10.0, []
    for _ in range(n_steps):
        points.append((cost, gap, size))
        gap, cost = gap * (1.0 - closes), cost - gains * size
    return points


def test_steps_that_creep_are_the_last(monkeypatch):
    """So many in turn that neither close the gap nor gain; one that does begins a new count."""
    assert play(creep(30), monkeypatch)[0] == PATIENCE + 1
    points = [*creep(PATIENCE), *[(9.5, 0.5, 1.0)] * 30]
    assert play(points, monkeypatch)[0] == 2 * PATIENCE + 1


def test_steps_that_gain_or_close_go_on(monkeypatch):
    last = 25
    for points in (creep(last + 1, closes=1.1 * CREEPING), creep(last + 1, gains=1.1 * GAINING)):
        assert play([*points, None], monkeypatch)[0] == last
    for points in (creep(last + 1, closes=0.9 * CREEPING), creep(last + 1, gains=0.9 * GAINING)):
        assert play([*points, None], monkeypatch)[0] < last


# Steps ----------------------------------------------------------------------------------------------------------------


def points_along(monkeypatch, *, shares, excess=1.0, missing=()):
    """Graphs that cost, next to the first, these shares of what a step of their length must gain; None outside."""
    tried = []

    def at(trial, *_):
        number = len(tried)
        tried.append(trial)
        if number in missing:
            return None
        share = shares[min(number, len(shares) - 1)]
        return SimpleNamespace(cost=share * ENOUGH_GAIN * 0.5**number * SLOPE, excess=excess)

    monkeypatch.setattr(_Point, "at", staticmethod(at))
    return tried


GRADIENT, D = np.array([3.0, 5.0, 4.0]), np.array([0.2, -0.3, 0.1])
SLOPE = float((GRADIENT - 3.0) @ D)
W = np.array([0.2, 0.2, 0.6])


def start(*, size=1.0, excess=2.0):
    return SimpleNamespace(cost=0.0, size=size, excess=excess, gradient=GRADIENT)


@pytest.mark.parametrize("halvings", [0, 1, 3])
def test_a_step_gains_a_share_of_what_the_slope_promises(halvings, monkeypatch):
    """Whole steps keep their zeros: what would fall below is cut off. Half as long until one gains enough."""
    tried = points_along(monkeypatch, shares=[0.9] * halvings + [1.1])
    trial, there = _backtrack(S, S, W, start(), D)
    assert len(tried) == halvings + 1
    np.testing.assert_allclose(trial, np.maximum(W + 0.5**halvings * D, 0.0))
    assert there.cost < 0.0
    # A graph outside of the cone is no step.
    tried = points_along(monkeypatch, shares=[1.1], missing=(0, 1))
    np.testing.assert_allclose(_backtrack(S, S, W, start(), D)[0], W + 0.25 * D)
    # Where none gains enough there is no step, however much the tangent could gain no more.
    tried = points_along(monkeypatch, shares=[0.9], excess=0.0)
    assert _backtrack(S, S, W, start(), D) is None
    assert len(tried) == MAX_BACKTRACKS


@pytest.mark.parametrize(("excess", "taken"), [(0.99, True), (1.01, False)])
def test_where_the_cost_cannot_tell_the_certificate_can(excess, taken, monkeypatch):
    """One step is tried there, and kept where the tangent has half as much left to gain."""
    rounding = -SLOPE / ROUNDING
    tried = points_along(monkeypatch, shares=[0.9], excess=excess)
    assert (_backtrack(S, S, W, start(size=1.01 * rounding), D) is not None) == taken
    assert len(tried) == 1
    tried = points_along(monkeypatch, shares=[0.9], excess=excess)
    assert _backtrack(S, S, W, start(size=0.99 * rounding), D) is None
    assert len(tried) == MAX_BACKTRACKS
    # Outside of the cone there is nothing to ask.
    tried = points_along(monkeypatch, shares=[0.9], excess=excess, missing=(0,))
    assert _backtrack(S, S, W, start(size=1.01 * rounding), D) is None


@pytest.mark.parametrize("number", range(6))
def test_the_longest_step_of_a_list_that_gains_is_taken(number):
    """With all that would leave the simplex at zero: the rest is scaled to the same sum."""
    steps = (1.0, 0.5, 0.2, 0.05, 0.01, 0.002)
    x, d = np.array([0.1, 0.3, 0.4, 0.2]), np.array([-30.0, -40.0, 50.0, 20.0])
    gradient = np.array([1.0, 2.0, -3.0, 0.0])

    def end(step):
        y = np.maximum(x + step * d, 0.0)
        return y / y.sum() - x

    # A curvature with which the model rises to all longer ones, and falls to this one.
    bends = [-2.0 * float(end(step) @ gradient) / float(end(step) @ end(step)) for step in steps]
    assert bends == sorted(bends)
    before = bends[number - 1] if number else 0.0
    for share in (0.01, 0.5, 0.99):
        bend = before + share * (bends[number] - before)
        model = Quadratic(bend * np.eye(4), gradient)
        e, leave = _stay_inside(model, x, d, gradient, x + d < 0.0)
        np.testing.assert_allclose(e, end(steps[number]), atol=1e-14)
        np.testing.assert_array_equal(leave, x + steps[number] * d <= 0.0)
    if number == 5:
        # Not one of them: the first edge that reaches zero ends the step, and leaves.
        e, leave = _stay_inside(Quadratic(1.001 * bends[5] * np.eye(4), gradient), x, d, gradient, x + d < 0.0)
        np.testing.assert_allclose(e, d / 300.0)
        np.testing.assert_array_equal(leave, [True, False, False, False])


@pytest.mark.parametrize(("n_free", "road"), [(3, "_solve_directly"), (4, "_solve_by_cg")])
def test_a_factor_is_made_of_few_edges_that_are_free(n_free, road, monkeypatch):
    """However many there are."""
    taken = []
    monkeypatch.setattr(_simplex, "DIRECT_EDGES", 3)
    for name in ("_solve_directly", "_solve_by_cg"):
        monkeypatch.setattr(_simplex, name, lambda *_, name=name: taken.append(name))
    _simplex._solve(None, np.arange(9) < n_free, np.zeros(9), 0.1)
    assert taken == [road]


def test_where_rounding_leaves_no_edge_there_is_no_step(rng, monkeypatch):
    w = np.array([0.2, 0.3])
    monkeypatch.setattr(_simplex, "_solve", lambda *_: -w)
    model = Quadratic(random_psd(rng, 2), np.array([1.0, -1.0]))
    np.testing.assert_array_equal(_simplex.model_step(model, w, 0.1), 0.0)


@pytest.mark.parametrize(("n_edges", "dense"), [(6, True), (7, False)])
def test_the_hessian_of_few_edges_is_made_once(n_edges, dense, rng, monkeypatch):
    """Whatever the number of pivots; that of many is made of those that are free, pivot by pivot."""
    asked = []

    class Listening(Quadratic):
        def dense_hessian(self, edges):
            asked.append(len(edges))
            return super().dense_hessian(edges)

    monkeypatch.setattr(_simplex, "FEW_EDGES", 6)
    w = np.full(n_edges, 1.0 / n_edges)
    model = Listening(random_psd(rng, n_edges), 3.0 * rng.standard_normal(n_edges))
    _simplex.model_step(model, w, 1e-8)
    assert (asked == [n_edges]) == dense
    assert len(asked) > 1 or dense


# Who is asked next ----------------------------------------------------------------------------------------------------


def bound_of(near, fallen, monkeypatch, *, Q=None, eps=0.5, penalty=None, scale=1.0):
    """The bound where Newton from the guess, and through falling weights, end like this; and what they were given."""
    penalty, asked = Laplacian(2.0) if penalty is None else penalty, []

    def newton(self, weight, Q, edges, tol, max_iter):
        asked.append((weight, Q, edges, tol, max_iter))
        return near

    monkeypatch.setattr(Laplacian, "_newton", newton)
    monkeypatch.setattr(Laplacian, "_fall", lambda self, weight, Q: asked.append((weight, Q)) or fallen)
    Q = np.eye(3) if Q is None else Q
    return penalty.lower_bound(Q, eps, np.full((3, 3), 0.1), scale), asked


def graph_step(cost, lower_bound):
    return GraphStep(np.zeros(3), cost, lower_bound)


@pytest.mark.parametrize("cost", [-4.0, 4.0])
def test_a_bound_from_the_guess_is_enough_where_it_is_closed(cost, monkeypatch):
    closed = laplacian.CLOSED * 4.0
    bound, asked = bound_of(graph_step(cost, cost - 0.99 * closed), graph_step(0.0, 9.0), monkeypatch, scale=3.0)
    assert bound == cost - 0.99 * closed
    ((weight, Q, edges, tol, max_iter),) = asked
    # In units where A is B: eps times the ridge, and Q by it; edges too.
    assert (weight, tol, max_iter) == (1.0, laplacian.BOUND_TOL, laplacian.NEAR_STEPS)
    np.testing.assert_allclose(Q, 9.0 * np.eye(3) / 2.0)
    np.testing.assert_allclose(edges, 0.2)
    _, asked = bound_of(graph_step(cost, cost), None, monkeypatch, penalty=Laplacian(2.0, max_iter=3))
    assert asked[0][-1] == 3


@pytest.mark.parametrize("cost", [-4.0, 4.0])
def test_weights_fall_where_it_is_not_and_the_better_bound_is_kept(cost, monkeypatch):
    open_gap = graph_step(cost, cost - 1.01 * laplacian.CLOSED * 4.0)
    for fallen in (cost - 1.0, cost + 1.0):
        bound, asked = bound_of(open_gap, graph_step(0.0, fallen), monkeypatch)
        assert bound == max(open_gap.lower_bound, fallen)
        weight, Q = asked[1]
        assert weight == 1.0
        np.testing.assert_allclose(Q, np.eye(3) / 2.0)
    # Beside energies so large the weight has no digits: three tasks, of a mean beyond its highest multiple.
    for share, hopeless in [(0.99, False), (1.01, True)]:
        Q = share * 2.0 * laplacian.HIGHEST * np.diag([1.5, 1.0, 0.5])
        bound, asked = bound_of(open_gap, graph_step(0.0, cost + 1.0), monkeypatch, Q=Q)
        assert bound == (open_gap.lower_bound if hopeless else cost + 1.0)
        assert len(asked) == 2 - hopeless


def test_weights_fall_from_a_share_of_the_mean_energy_to_the_last(monkeypatch):
    """Each from the edges of the one before, roughly; the last exactly."""
    asked = []

    def newton(self, weight, Q, edges, tol, max_iter):
        asked.append((weight, edges, tol, max_iter))
        return GraphStep(np.full(3, float(len(asked))), 0.0, -float(len(asked)))

    monkeypatch.setattr(Laplacian, "_newton", newton)
    Q, weight = np.diag([3.0, 6.0, 9.0]), 1e-4
    step = Laplacian(2.0, max_iter=7)._fall(weight, Q)
    high, levels = laplacian.HIGH * 6.0, []
    while high > weight:
        levels.append(high)
        high *= laplacian.FALL
    assert len(levels) > 2
    np.testing.assert_allclose([given[0] for given in asked], [*levels, weight])
    assert [given[2] for given in asked] == [laplacian.STAGE_TOL] * len(levels) + [laplacian.BOUND_TOL]
    assert {given[3] for given in asked} == {7}
    np.testing.assert_array_equal([given[1][0] for given in asked], [2.0, *range(1, len(asked))])
    assert step.lower_bound == -len(asked)


@pytest.mark.parametrize("n_tasks", [2, 3])
def test_a_start_that_leads_to_the_answer_is_the_last_stage(n_tasks, monkeypatch):
    """Else the ridge falls from where it is gentle, with the start forgotten."""
    T, begun = random_psd(np.random.default_rng(0), n_tasks), []

    def stage(self, S, start, tol):
        begun.append((S, start, tol))
        return start, gap, 0

    monkeypatch.setattr(Laplacian, "_stage", stage)
    monkeypatch.setattr(Laplacian, "_descend", lambda self, S, tol: StructureStep(-S, tol))
    start = np.full((n_tasks, n_tasks), 0.3)
    for gap, passes in [(0.99e-7, True), (1e-7, True), (1.01e-7, False)]:
        step = Laplacian().minimize(T, start=start, tol=1e-7)
        assert step.gap == (gap if passes else 1e-7)
        assert (step.structure is start) == passes
    begun.clear()
    np.testing.assert_array_equal(Laplacian().minimize(T, tol=1e-7).structure, -T)
    assert begun == []


@pytest.mark.parametrize(("low", "least"), [(1e-3, 1e-3), (1e-15, 1e-12)])
def test_ridges_of_graphs_fall_to_the_smallest_eigenvalue(low, least, monkeypatch):
    """And not below what rounding is of the mean of S, where nothing is added at the end."""
    T, begun, asked = np.diag([2.0 - low, low, 1.0]), [], {}
    monkeypatch.setattr(Laplacian, "_stage", lambda self, S, start, tol: begun.append((S, tol)) or (start, 0.5, 3))

    def descend(stage, start, level, first):
        asked.update(start=start, level=level, first=first)
        stage(start, 0.25, False)
        return stage(start, level, True)

    monkeypatch.setattr(laplacian, "descend", descend)
    step = Laplacian()._descend(T, 1e-8)
    np.testing.assert_array_equal(asked["start"], 1.0)
    assert asked["level"] == pytest.approx(least)
    assert asked["first"] == pytest.approx(laplacian.GENTLE_RIDGE)
    np.testing.assert_allclose(begun[0][0], T + (0.25 - low) * np.eye(3))
    assert begun[0][1] == laplacian.STAGE_TOL
    np.testing.assert_array_equal(begun[1][0], T)
    assert begun[1][1] == 1e-8
    assert step.gap == 0.5
