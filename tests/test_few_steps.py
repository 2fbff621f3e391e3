"""Few steps lead to the answer: a wrong derivative, a bad start or a needless proof would cost steps, and nothing else.

Numbers of steps are the same on every machine, but for what rounding decides; times are not. Each is a sum over several
random problems, about a quarter above what Newton, its starts and its preconditioners need.
"""

from collections import Counter
from importlib import import_module

import numpy as np
import pytest
from problems import gram, random_psd, related_tasks, step_cost, with_gaps

from skmtl import MultiTaskRegressor
from skmtl.features import PrecomputedMap
from skmtl.losses import LOSSES
from skmtl.objective import Problem
from skmtl.penalties import PENALTIES, Groups, Laplacian, Sparse, Trace, _graph_newton, _multiplier, _newton, _simplex
from skmtl.penalties._splitting import primal_dual
from skmtl.penalties._structure_step import _TraceInverse
from skmtl.solvers import make_design, make_supervised, solve
from skmtl.solvers.entries import Entries
from skmtl.solvers.interior_point import InteriorPointStep
from skmtl.solvers.missing_fit import MissingLabelFit
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonFit
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.returned import ReturnedModel
from skmtl.solvers.ridge import RidgeFit
from skmtl.targets import TableLabels

SEEDS = range(4)
# What is counted, by the names that the tables below have for it.
CALLS = {
    "fits": (Problem, "fit"),
    "bounds": (Problem, "bound"),
    "products": (RidgeFit, "hessian"),
    "missing": (MissingLabelRidge, "_solve"),
    "missing products": (MissingLabelFit, "hessian"),
    "factors": (MissingLabelRidge, "_factorize"),
    "passes": (ObservedRows, "curve_roughly"),
    "mixtures": (Entries, "mixed"),
    "points": (NewtonFit, "__init__"),
    "interior": (InteriorPointStep, "_step"),
    "directions": (_newton, "_newton_direction"),
    "step products": (_TraceInverse, "hessian"),
    "models": (_graph_newton, "model_step"),
    "graphs": (_graph_newton._Point, "__init__"),
    "pivots": (_simplex, "_solve"),
}


@pytest.fixture
def count(monkeypatch):
    """Calls so far of what is listed."""
    made = Counter()

    def counted(name, function):
        def call(*given, **named):
            made[name] += 1
            return function(*given, **named)

        return call

    for name, (owner, attribute) in CALLS.items():
        monkeypatch.setattr(owner, attribute, counted(name, getattr(owner, attribute)))
    return made


def assert_few(made, most):
    assert {name: (made[name], limit) for name, limit in most.items() if made[name] > limit} == {}


def make_problem(
    seed, penalty, loss="square", *, gaps=0.0, road=None, n=40, n_tasks=5, common=0.0, kernel="rbf", alpha=0.02
):
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, n, n_tasks)
    Y = with_gaps(rng, Y, gaps) if gaps else Y
    weight, Y = (~np.isnan(Y)).astype(float), np.nan_to_num(Y)
    labels = TableLabels(np.where(Y > 0.0, 1.0, -1.0) if loss in ("logistic", "squared_hinge", "hinge") else Y, weight)
    K = gram(X, kernel)
    design = make_design(PrecomputedMap(), K, labels.design_weight(), intercept=True, overwrite=False)
    if road is None:
        return Problem(make_supervised(design, labels, LOSSES[loss](), alpha, intercept=True), penalty, 0.02, common)
    observed = ObservedRows(labels.arrange(design.rows()), design.values, labels, intercept=True)
    return Problem(MissingLabelRidge(observed, alpha, road), penalty, 0.02, common)


JOINT = {
    "sparse": (Sparse(0.6), {}, {"rounds": 46, "fits": 72, "bounds": 9, "products": 125}),
    "dense": (Sparse(0.9), {}, {"rounds": 52, "fits": 78, "bounds": 9, "products": 135}),
    "linear": (
        Sparse(0.8),
        {"kernel": "linear", "n_tasks": 9},
        {"rounds": 42, "fits": 60, "bounds": 12, "products": 270},
    ),
    "common": (Sparse(0.8), {"common": 1.0}, {"rounds": 52, "fits": 84, "bounds": 11, "products": 175}),
    "groups": (Groups([0, 0, 1, 1, 2], mu=0.8), {}, {"rounds": 52, "fits": 78, "bounds": 9, "products": 150}),
}


@pytest.mark.parametrize("name", JOINT)
def test_of_the_joint_newton(name, count):
    penalty, given, most = JOINT[name]
    for seed in SEEDS:
        solution = solve(make_problem(seed, penalty, **given))
        assert solution.converged
        count["rounds"] += solution.n_iter
    assert_few(count, most)


def test_without_a_proof_none_is_asked_for(count):
    for seed in SEEDS:
        solution = solve(make_problem(seed, Sparse(0.8)), certify=False)
        assert solution.gap == np.inf
        assert not solution.converged
        count["rounds"] += solution.n_iter
    assert_few(count, {"rounds": 54, "fits": 76, "bounds": 0, "products": 140})


def test_without_a_proof_none_is_asked_for_of_tasks_solved_apart(count, monkeypatch):
    """Nor of those that no other is related to."""
    # The function of the same name hides the module.
    monkeypatch.setattr(import_module("skmtl.solvers.solve"), "WORTH_SCREENING", 5)
    for seed in SEEDS:
        solve(make_problem(seed, Sparse(0.1)), certify=False)
    assert count["fits"] > 0
    assert count["bounds"] == 0


MISSING = {
    "labels": {"rounds": 23, "fits": 42, "bounds": 13, "missing": 56, "missing products": 104, "factors": 28},
    "completed": {"rounds": 10, "fits": 96, "bounds": 10, "missing": 36, "missing products": 48, "factors": 36},
    "features": {"rounds": 23, "fits": 42, "bounds": 13, "missing": 56, "missing products": 104},
    "iterative": {"rounds": 18, "fits": 72, "bounds": 12, "missing": 37, "missing products": 88, "passes": 25},
    "tasks": {"rounds": 21, "fits": 126, "bounds": 38, "missing": 68, "missing products": 118, "mixtures": 190},
}


@pytest.mark.parametrize("road", MISSING)
def test_of_roads_with_missing_labels(road, count):
    for seed in SEEDS:
        solution = solve(make_problem(seed, Sparse(0.8), gaps=0.4, road=road))
        assert solution.converged
        count["rounds"] += solution.n_iter
    assert_few(count, MISSING[road])


ROUNDS = {
    "trace": {"rounds": 46, "fits": 60, "bounds": 50},
    "frobenius": {"rounds": 31, "fits": 41, "bounds": 10},
    "cluster": {"rounds": 46, "fits": 90, "bounds": 60},
    "laplacian": {"rounds": 56, "fits": 98, "bounds": 64},
}


@pytest.mark.parametrize("name", ROUNDS)
def test_of_accelerated_rounds(name, count):
    for seed in SEEDS:
        solution = solve(make_problem(seed, PENALTIES[name]()))
        assert solution.converged
        count["rounds"] += solution.n_iter
    assert_few(count, ROUNDS[name])


def test_acceleration_saves_half_of_the_rounds():
    plain, fast = (
        sum(solve(make_problem(seed, Trace()), solver=solver).n_iter for seed in SEEDS)
        for solver in ("alternating", "anderson")
    )
    assert 2 * fast <= plain + 4


CURVED = {
    "logistic": {"rounds": 125, "fits": 148, "bounds": 140, "points": 450},
    "squared_hinge": {"rounds": 65, "fits": 75, "bounds": 100, "points": 240},
    "huber": {"rounds": 80, "fits": 90, "bounds": 135, "points": 315},
}


@pytest.mark.parametrize("loss", CURVED)
def test_of_curved_losses(loss, count):
    for seed in SEEDS:
        solution = solve(make_problem(seed, Sparse(0.8), loss, gaps=0.2))
        assert solution.converged
        count["rounds"] += solution.n_iter
    assert_few(count, CURVED[loss])


@pytest.mark.parametrize(("alpha", "steps"), [(1e-8, 310), (1e-10, 420), (1e-12, 425)])
def test_of_losses_with_corners_that_are_no_more_than_rounding(alpha, steps, count):
    """Where labels are met to the last digit, the value is known to a few of its own, and no step finds more."""
    for seed in SEEDS:
        problem = make_problem(seed, Sparse(0.8), "quantile", alpha=alpha, n=30, n_tasks=4)
        rng = np.random.default_rng(seed)
        A = random_psd(rng, 4)
        for k in range(5):
            assert problem.fit((1.0 + 0.1 * k) * A + 0.05 * k * np.eye(4), tol=1e-7).gap <= 1e-5
    assert_few(count, {"interior": steps})


@pytest.mark.parametrize(
    ("n_tasks", "mu", "ridge", "directions", "products"),
    [
        (4, 0.6, 0.1, 34, 75),
        (4, 0.97, 0.1, 36, 72),
        (8, 0.9, 0.1, 38, 105),
        (16, 0.97, 0.1, 38, 112),
        (8, 0.5, 1e-4, 125, 1000),
        (8, 0.9, 1e-4, 140, 650),
    ],
)
def test_of_structure_steps(n_tasks, mu, ridge, directions, products, count):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        S = random_psd(rng, n_tasks, rank=3 if ridge < 0.1 else None, ridge=ridge)
        # Next to nothing of a ridge leaves rounding a share of the gap.
        assert Sparse(mu).minimize(S).gap <= (1e-7 if ridge < 0.1 else 1e-9)
    assert_few(count, {"directions": directions, "step products": products})


def test_of_structure_steps_of_groups_from_a_start_that_is_near(count):
    """Directions are exact, one product each, and lead to the end where the sizes of tasks are far from one another."""
    penalty = Groups([0, 0, 1, 1, 2, 2, 2], 0.3)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.uniform(0, 3, 7)
        S = random_psd(rng, 7, rank=3) * np.outer(size, size) + 0.1 * np.eye(7)
        start = penalty.minimize(S, tol=1e-7).structure
        count.clear()
        assert penalty.minimize(1.01 * S, start=start, tol=1e-7).gap <= 1e-7
        assert_few(count, {"directions": 2, "step products": 2})


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_of_learned_graphs(share, count):
    for seed in range(6):
        assert Laplacian(share=share).minimize(random_psd(np.random.default_rng(seed), 10)).gap <= 1e-9
    # A model is minimized for each step, and seldom is a step too long.
    assert_few(count, {"models": 54, "graphs": 74, "pivots": {0.2: 60, 0.5: 105, 0.8: 150}[share]})


@pytest.mark.parametrize(("share", "models", "graphs", "pivots"), [(0.2, 80, 172, 92), (0.5, 72, 162, 134)])
def test_of_learned_graphs_where_nothing_but_a_ridge_is_there(share, models, graphs, pivots, count):
    for seed in SEEDS:
        S = random_psd(np.random.default_rng(seed), 8, rank=3, ridge=1e-4)
        assert Laplacian(share=share).minimize(S).gap <= 1e-9
    assert_few(count, {"models": models, "graphs": graphs, "pivots": pivots})


@pytest.mark.parametrize(("eps", "models", "pivots"), [(1e-3, 33, 245), (1e-6, 47, 300)])
def test_of_bounds_of_learned_graphs(eps, models, pivots, count):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        Q, A = random_psd(rng, 8), Laplacian().minimize(random_psd(rng, 8)).structure
        count.clear()
        Laplacian().lower_bound(Q, eps, A)
        assert_few(count, {"models": models, "pivots": pivots})


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_model_that_is_the_certified_one_is_not_refined(kernel, rng, monkeypatch):
    refined = []
    monkeypatch.setattr(ReturnedModel, "refined", lambda *given: refined.append(given))
    X, Y = related_tasks(rng, 40, 3)
    MultiTaskRegressor(kernel=kernel, alpha=0.1).fit(X, Y)
    assert refined == []


class CountedNumpy:
    """NumPy with the number of square roots that were taken, one in each step of a search."""

    def __init__(self):
        self.steps = 0

    def __getattr__(self, name):
        return getattr(np, name)

    def sqrt(self, x):
        self.steps += 1
        return np.sqrt(x)


def test_of_the_multiplier_of_a_trace(monkeypatch):
    """Newton climbs to it from the left, without overshooting, whatever the sizes."""
    counted = CountedNumpy()
    monkeypatch.setattr(_multiplier, "np", counted)
    rng = np.random.default_rng(0)
    for eps in (1e-6, 1e-2, 1.0, 100.0):
        for trace in (0.1, 1.0, 10.0):
            for n_tasks in (2, 5, 30):
                q = rng.standard_normal(n_tasks) * 10.0 ** rng.uniform(-2, 2)
                nu = _multiplier.trace_multiplier(q, eps, trace)
                assert np.sum(np.sqrt(eps / (nu - q))) == pytest.approx(trace, rel=1e-6)
    assert counted.steps <= 190


def test_of_the_papers_own_algorithm():
    """Its steps are as long as the smallest eigenvalue of S allows."""
    penalty, total = Sparse(0.7), 0
    for seed in SEEDS:
        S = random_psd(np.random.default_rng(seed), 5)
        best = step_cost(penalty, penalty.minimize(S, tol=1e-10).structure, S)

        def away(A, S=S, best=best):
            return step_cost(penalty, A, S) / best - 1.0 if np.linalg.eigvalsh(A)[0] > 0.0 else np.inf

        _, gap, n_iter = primal_dual(S, 0.7, start=None, certify=away, tol=1e-5, max_iter=5000, check_every=5)
        assert gap <= 1e-5
        total += n_iter
    assert total <= 1180
