"""When iterations end: not before the work is done, and not long after nothing can be gained."""

import numpy as np
import pytest
from problems import gram, random_psd, related_tasks
from test_missing_labels import LAYOUTS, make_structure, observe

from skmtl.features import PrecomputedMap
from skmtl.losses import LOSSES, Square
from skmtl.objective import Problem, Proof
from skmtl.penalties import Laplacian, Sparse, Trace, _graph_newton
from skmtl.penalties._graph_newton import graph_newton
from skmtl.solvers import alternation, joint, make_design, make_supervised, newton_cg
from skmtl.solvers.alternation import CHANCES, WINDOW, alternate
from skmtl.solvers.joint import solve_jointly
from skmtl.solvers.newton_cg import NewtonFit, NewtonStep
from skmtl.solvers.whitening import Whitening
from skmtl.targets import TableLabels

TOL = 1e-6


def small_problem(rng, penalty=None, n=25, n_tasks=4):
    X, Y = related_tasks(rng, n, n_tasks)
    labels = TableLabels(Y - Y.mean(axis=0), np.ones_like(Y))
    design = make_design(PrecomputedMap(), gram(X, "rbf"), np.ones(n), intercept=True, overwrite=False)
    supervised = make_supervised(design, labels, Square(), 0.05, intercept=True)
    return Problem(supervised, penalty or Sparse(0.7), 0.05)


def nothing(proof):
    """For reports that nobody reads."""


# Rounds of two steps --------------------------------------------------------------------------------------------------


class Certificates:
    """A problem of which only the bounds are known."""

    def __init__(self):
        self.bound = -np.inf

    def certify(self, A, fit):
        return Proof(A, fit, 1.0, self.bound)

    def tighten(self, proof):
        return proof


def gives_up_after(gaps, *, values=None, max_iter=10_000):
    """The number of windows after which rounds end, for the gap at the end of each; None where they do not."""
    problem = Certificates()
    prover = alternation._Prover(problem, TOL, nothing)
    for k, gap in enumerate(gaps):
        value = 1.0 if values is None else values[k]
        problem.bound = value * (1.0 - gap)
        prover(np.eye(2), None)
        for n_iter in range(k * WINDOW + 1, (k + 1) * WINDOW):
            assert not prover.is_stuck(n_iter, value, max_iter)
        if prover.is_stuck((k + 1) * WINDOW, value, max_iter):
            return k + 1
    return None


def test_a_search_for_a_scale_that_failed_waits_until_the_gap_is_half_as_wide(monkeypatch):
    problem, searched = Certificates(), []
    monkeypatch.setattr(problem, "tighten", lambda proof: searched.append(proof.gap) or proof)
    prover = alternation._Prover(problem, TOL, nothing)
    for gap in (900.0, 800.0, 500.0, 449.0, 300.0, 225.0, 224.0, 100.0):
        problem.bound = 1.0 - gap * TOL
        prover(np.eye(2), None)
    np.testing.assert_allclose(searched, np.array([900.0, 449.0, 224.0, 100.0]) * TOL, rtol=1e-6)


def test_rounds_that_neither_gain_nor_close_the_gap_end_at_the_second_look():
    assert gives_up_after([0.5] * 5) == 2
    # A bound above the value is as far from a proof as one below it.
    assert gives_up_after([-0.5] * 5) == 2


def test_rounds_that_gain_go_on():
    assert gives_up_after([0.5] * 30, values=[2.0 - 0.01 * k for k in range(30)]) is None
    # However far the bound is, if there is any.
    assert gives_up_after([1e6] * 30, values=[2.0 - 0.01 * k for k in range(30)]) is None
    assert gives_up_after([np.inf] * 30, values=[2.0 - 0.01 * k for k in range(30)]) is None
    # Gains of a small share of the gap are none.
    for gain in (1e-6, 5e-4):
        assert gives_up_after([0.5] * 30, values=[2.0 - gain * k for k in range(30)]) == 2
    # Of a gap wider than the value they may be larger.
    assert gives_up_after([1e6] * 30, values=[2.0 - 5e-3 * k for k in range(30)]) == 2


def test_rounds_end_at_the_second_look_where_rounding_has_taken_the_bound():
    """Whatever they gain: 1e13 times the value is no bound."""
    gaining = [2.0 - 0.01 * k for k in range(30)]
    assert gives_up_after([1e13] * 30, values=gaining) == 2
    # One that comes nearer may still arrive.
    assert gives_up_after([10.0 ** (13 - 2 * k) for k in range(30)], values=gaining) is None


def test_a_gap_that_closes_in_time_is_waited_for():
    gaps = 0.5 * 0.8 ** np.arange(20)
    assert gives_up_after(gaps) is None
    # At this pace, or three times it, too few rounds are left.
    assert gives_up_after(gaps, max_iter=60) == 2
    # From 0.4 to 1e-6 takes log(4e5) / (3 log 1.25) = 19.3 windows more, after two.
    assert gives_up_after(gaps[:2], max_iter=21 * WINDOW) == 2
    assert gives_up_after(gaps[:2], max_iter=22 * WINDOW) is None


def test_a_gap_that_is_nearly_closed_gets_a_few_chances():
    moving = [1.0 - 1e-12 * k for k in range(9)]
    assert gives_up_after([5.0 * TOL] * 9, values=moving) == 1 + CHANCES
    assert gives_up_after([-5.0 * TOL] * 9, values=moving) == 1 + CHANCES
    assert gives_up_after([20.0 * TOL] * 9, values=moving) == 2
    # Rounds in which nothing moves, to the last bit, get none.
    assert gives_up_after([5.0 * TOL] * 9) == 2


@pytest.mark.parametrize("accelerate", [True, False])
def test_where_no_proof_succeeds_rounds_end_at_the_optimum(accelerate, rng, monkeypatch):
    problem = small_problem(rng)
    options = {"start": None, "tol": 1e-8, "accelerate": accelerate, "report": nothing}
    best, _ = alternate(problem, max_iter=2000, **options)
    assert best.gap <= 1e-8
    monkeypatch.setattr(Problem, "certify", lambda self, A, fit: Proof(A, fit, self.objective(A, fit), 0.0))
    monkeypatch.setattr(Problem, "tighten", lambda self, proof: proof)
    proof, n_iter = alternate(problem, max_iter=2000, **options)
    assert n_iter < 1000
    assert proof.gap == 1.0
    assert proof.objective == pytest.approx(best.objective, rel=1e-6)


# Newton on the whole problem ------------------------------------------------------------------------------------------


def test_iterations_from_a_start_that_led_nowhere_are_counted_too(rng, monkeypatch):
    problem = small_problem(rng)
    options = {"tol": 1e-9, "max_iter": 200, "report": nothing}
    proof, from_nothing = solve_jointly(problem, start=None, **options)
    monkeypatch.setattr(joint, "WARM_ITERATIONS", 1)
    far = 50.0 * np.eye(4) + 40.0
    again, n_iter = solve_jointly(problem, start=far, **options)
    assert n_iter == from_nothing + 1 > 2
    assert again.objective == pytest.approx(proof.objective, rel=1e-8)


# A graph that is learned ----------------------------------------------------------------------------------------------


def planted_graph(seed, n_tasks, tau, ridge):
    """S, Q, a start and the sum of the edges, next to the boundary of the structures that are positive definite."""
    rng = np.random.default_rng(seed)
    S = random_psd(rng, n_tasks, rank=1 + seed % 2, ridge=ridge)
    Q = random_psd(rng, n_tasks) * (seed % 3)
    return S, Q, np.zeros(n_tasks * (n_tasks - 1) // 2), 0.5 * (n_tasks - tau)


@pytest.mark.parametrize(
    ("seed", "n_tasks", "tau", "ridge"),
    [(9, 4, 1.00001, 1e-3), (37, 4, 1.001, 1e-3), (39, 6, 1.00001, 1e-9), (119, 6, 1.00001, 1e-9), (5, 4, 1.1, 1e-3)],
)
def test_a_learned_graph_ends_where_rounding_has_the_say_and_not_before(seed, n_tasks, tau, ridge, monkeypatch):
    """Whatever is asked for: this tolerance is never met, and the limit of steps is far."""
    steps, step = [], _graph_newton.model_step
    monkeypatch.setattr(_graph_newton, "model_step", lambda *given: steps.append(1) or step(*given))
    problem = planted_graph(seed, n_tasks, tau, ridge)
    found = graph_newton(*problem, tol=-1.0, max_iter=200)
    assert 3 < len(steps) < 60
    monkeypatch.setattr(_graph_newton, "PATIENCE", 1000)
    endless = graph_newton(*problem, tol=-1.0, max_iter=200)
    assert found.cost == pytest.approx(endless.cost, rel=1e-6)
    assert found.lower_bound == pytest.approx(endless.lower_bound, rel=1e-3)
    assert found.lower_bound <= found.cost
    assert found.edges.min() >= 0.0
    assert found.edges.sum() == pytest.approx(problem[-1])


def of_classes(labels):
    """The same with labels -1 and +1, which every loss takes."""
    return TableLabels(np.where(labels.y > 0.0, 1.0, -1.0), labels.weight)


@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_learned_graphs_are_tight_in_few_steps_however_small_eps(seed, eps, monkeypatch):
    """Whatever the guess: Newton would creep along the boundary, and end far above the bound that it proves."""
    steps, step = [], _graph_newton.model_step
    monkeypatch.setattr(_graph_newton, "model_step", lambda *given: steps.append(1) or step(*given))
    rng = np.random.default_rng(seed)
    n_tasks = 4 + seed
    Q, penalty = random_psd(rng, n_tasks, rank=2) * 10.0 + random_psd(rng, n_tasks), Laplacian(share=0.4 + 0.1 * seed)
    good = penalty.minimize(Q + eps * np.eye(n_tasks)).structure
    steps.clear()
    bounds = [penalty.lower_bound(Q, eps, guess) for guess in (good, np.eye(n_tasks), np.ones((n_tasks, n_tasks)))]
    assert len(steps) < 3 * 60
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-8)


@pytest.mark.parametrize("penalty", [Sparse(0.7), Laplacian(), Trace()], ids=lambda penalty: penalty.name)
def test_the_best_scale_is_searched_for_near_the_end_and_of_what_is_returned(penalty, rng, monkeypatch):
    """A dozen bounds, each perhaps a minimization: a gap that is far from closed is not worth them."""
    searched, tighten, proofs = [], Problem.tighten, []
    monkeypatch.setattr(Problem, "tighten", lambda self, proof: searched.append(proof.gap) or tighten(self, proof))
    monkeypatch.setattr(alternation, "CHECK_EVERY", 1)
    problem, tol = small_problem(rng, penalty), 1e-9
    alternate(problem, start=None, tol=tol, max_iter=2, accelerate=False, report=proofs.append)
    widest = alternation.WORTH_TIGHTENING * tol
    assert proofs[0].gap > widest
    # Only that of the structure that is returned may be far.
    assert len(searched) > 0
    assert all(gap <= widest for gap in searched[:-1])
    proof, _ = alternate(problem, start=None, tol=TOL, max_iter=500, accelerate=True, report=proofs.append)
    assert proof.gap <= TOL


# Dual points ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "huber"])
def test_every_point_has_a_dual_one_that_bounds_the_least_value(loss, rng):
    """In the domain of the loss, the entries of each task summing to zero, however far from the solution."""
    labels, A = LAYOUTS["weights"](rng), make_structure(rng)
    labels = of_classes(labels)
    rows, values, _ = observe(rng, labels, intercept=True)
    with_constant = np.column_stack([rows, np.ones(len(rows))])
    step = NewtonStep(with_constant, np.append(values, 1.0), labels, LOSSES[loss](), 0.02, intercept=True)
    least = step.solve(A, tol=1e-6).value
    basis = Whitening(A)
    for _ in range(5):
        point = newton_cg.Point(0.3 * rng.standard_normal((len(values) + 1, 4)), rng.standard_normal(4))
        fit = NewtonFit(step, point, basis)
        np.testing.assert_allclose(fit.factor[-1], 0.0, atol=1e-12 * np.abs(fit.factor).max())
        bound = fit.dual(1.0) - 0.02 * np.sum(A * fit.Q)
        assert -np.inf < bound <= least * (1.0 + 1e-6)
