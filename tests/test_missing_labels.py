"""Square loss with missing labels: all roads lead to the same fit, and the model of their cost picks a good one."""

import numpy as np
import pytest
from problems import related_tasks

import skmtl.solvers.cost
import skmtl.solvers.missing_fit
import skmtl.solvers.missing_labels
from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl._linalg import symmetric_part
from skmtl.losses import Square
from skmtl.objective import Problem
from skmtl.penalties import Sparse
from skmtl.solvers import solve
from skmtl.solvers.cost import GAIN, choose_road, road_after, roads, steps_without_factor, worth_refactorizing
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.observed import ObservedRows, TaskBasis
from skmtl.solvers.systems import FeatureSystem, IterativeSystem, LabelFactor, Predictors
from skmtl.solvers.task_blocks import TaskBlockSystem
from skmtl.solvers.task_factors import TaskFactor
from skmtl.targets import LongLabels, TableLabels

N_TASKS, N_ROWS, RANK = 4, 15, 6
ROADS = ("labels", "completed", "features", "iterative", "tasks")
# Their second derivative is that of the labels that are there, not of complete ones.
EXACT = ROADS[:3]


def make_table(rng, *, per_row=True):
    known = rng.random((N_ROWS, N_TASKS)) < 0.6
    known[:2] = True
    weight = rng.uniform(0.5, 2.0, (N_ROWS, 1 if per_row else N_TASKS)) * known
    return TableLabels(rng.standard_normal((N_ROWS, N_TASKS)), weight)


def make_grouped(rng):
    tasks = np.arange(N_ROWS) % N_TASKS
    return LongLabels.from_rows(rng.standard_normal(N_ROWS), rng.uniform(0.5, 2.0, N_ROWS), tasks, N_TASKS)


def make_structure(rng):
    root = rng.standard_normal((N_TASKS, N_TASKS))
    return root @ root.T + 0.1 * np.eye(N_TASKS)


def observe(rng, labels, *, intercept, rank=RANK):
    """Rows in a basis in which the weighted covariance is diagonal, and the labels."""
    rows = rng.standard_normal((N_ROWS, rank))
    weight = labels.design_weight()
    if intercept:
        rows -= weight @ rows / weight.sum()
    values, vectors = np.linalg.eigh(rows.T @ (weight[:, None] * rows))
    keep = values > 1e-10 * values[-1]
    values, rows = values[keep], rows @ vectors[:, keep]
    return rows, values, ObservedRows(labels.arrange(rows), values, labels, intercept=intercept)


LAYOUTS = {
    "table": make_table,
    "weights": lambda rng: make_table(rng, per_row=False),
    "long": make_grouped,
}


def nothing_for(observed):
    """Where iterations without a start begin."""
    return Predictors(np.zeros_like(observed.cross), np.zeros_like(observed.cross))


def roads_of(layout):
    """A complete table is known where rows have one weight each."""
    return [road for road in ROADS if road != "completed" or layout == "table"]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rank", [6, 14])
@pytest.mark.parametrize(("layout", "road"), [(layout, road) for layout in LAYOUTS for road in roads_of(layout)])
def test_every_road_gives_what_newton_gives(rng, layout, road, rank, intercept):
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, values, observed = observe(rng, labels, intercept=intercept, rank=rank)
    newton = NewtonStep(rows, values, labels, Square(), 0.01, intercept=intercept).solve(A, tol=1e-10)
    fit = MissingLabelRidge(observed, 0.01, road).solve(A, tol=1e-10)
    assert fit.value == pytest.approx(newton.value, rel=1e-9)
    np.testing.assert_allclose(fit.coefficients(), newton.coefficients(), atol=1e-7)
    np.testing.assert_allclose(fit.intercept, newton.intercept, atol=1e-7)
    np.testing.assert_allclose(fit.Q, newton.Q, rtol=1e-6, atol=1e-7 * np.abs(fit.Q).max())
    assert fit.dual(0.9) == pytest.approx(newton.dual(0.9), rel=1e-7)
    # Strong duality for a fixed structure.
    assert fit.dual(1.0) - 0.01 * np.sum(A * fit.Q) == pytest.approx(fit.value, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("road", ["separate", *EXACT])
def test_slope_and_curvature_are_those_of_the_value(rng, road, intercept):
    _, _, observed = observe(rng, make_table(rng), intercept=intercept)
    A, D, h = make_structure(rng), make_structure(rng) - make_structure(rng), 1e-5
    if road == "separate":
        # Only at a diagonal structure, and seen from the same road.
        A = np.diag(np.diag(A))
    step = MissingLabelRidge(observed, 0.05, "labels" if road == "separate" else road)
    ahead, behind, here = (step.solve(A + t * D) for t in (h, -h, 0.0))
    slope = (ahead.value - behind.value) / (2.0 * h * step.alpha)
    assert slope == pytest.approx(-np.sum(here.Q * D), rel=1e-6)
    np.testing.assert_allclose(-(ahead.Q - behind.Q) / (2.0 * h), here.hessian(D), rtol=1e-4, atol=1e-5)
    assert 0.0 < here.stiffness <= 1.0 + 1e-12
    assert here.stiffness == pytest.approx(np.sum(A * here.hessian(A)) / (2.0 * np.sum(A * here.Q)))


@pytest.mark.parametrize("road", EXACT)
def test_curvature_at_once_is_curvature_by_direction(rng, road, monkeypatch):
    _, _, observed = observe(rng, make_table(rng), intercept=True)
    A, D = make_structure(rng), make_structure(rng) - make_structure(rng)
    found = []
    for form in (True, False):
        monkeypatch.setattr(skmtl.solvers.missing_fit, "worth_forming_curvature", lambda *_, form=form: form)
        found.append(MissingLabelRidge(observed, 0.05, road).solve(A).hessian(D))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("road", ["labels", "completed", "iterative", "tasks"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_an_inexact_fit_is_a_true_point_with_a_true_bound(rng, road, tol):
    """Value and bound of a fit that was stopped early enclose the optimum for its structure."""
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=12)
    A = make_structure(rng)
    best = MissingLabelRidge(observed, 1e-3, "features").solve(A).value
    step = MissingLabelRidge(observed, 1e-3, road)
    step.solve(1.3 * A + 0.3 * np.eye(N_TASKS))
    fit = step.solve(A, tol=tol)
    bound = fit.dual(1.0) - 1e-3 * np.sum(A * fit.Q)
    assert bound <= best * (1.0 + 1e-9)
    assert fit.value >= best * (1.0 - 1e-9)
    assert fit.gap <= tol**2 * (1.0 + 1e-6) + 1e-12
    if road != "iterative":
        # Computed once more from the predictors alone.
        known = observed.entries()
        left = known.y - known.scores(fit.coefficients()) - fit.intercept[known.task]
        norm = np.sum(fit.coefficients() * np.linalg.solve(A, fit.coefficients().T).T)
        value = np.sum(left**2 / known.inverse_weight) / observed.n + 1e-3 * norm
        assert fit.value == pytest.approx(value, rel=1e-9)


def test_a_factor_that_gives_no_second_derivative_serves_longer(rng):
    """Where a second derivative is wanted, the road from a factor that is off is longer."""
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=14)
    A = make_structure(rng)
    factor, far = LabelFactor(observed.entries(), A, 0.1), A * 1.5
    far[0, 0] *= 2.0
    costs = []
    for curved in (False, True):
        costs.append(0.0)
        for cost in 10.0 ** np.arange(5.0, 10.0, 0.01):
            factor.cost = cost
            if not worth_refactorizing(factor, far, 0.1, 1e-3, 0.0, curved=curved):
                break
            costs[-1] = cost
    values_alone, with_derivative = costs
    assert 1e5 < 3.0 * values_alone < with_derivative < 1e9
    factor.exact = False
    factor.cost = 2.0 * values_alone
    assert not worth_refactorizing(factor, far, 0.1, 1e-3, 0.0, curved=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spread", [1e17, 1e200, np.inf])
def test_a_factor_serves_no_structure_that_rounding_tells_nothing_about(rng, spread):
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=14)
    factor = LabelFactor(observed.entries(), np.eye(N_TASKS), 0.1)
    factor.cost = 1e30
    assert worth_refactorizing(factor, np.diag([1.0, 1.0, 1.0, 1.0 / spread]), 0.1, 1e-3, 0.0, curved=True)


@pytest.mark.parametrize("road", ["labels", "completed"])
def test_a_factor_serves_near_structures(rng, road, monkeypatch):
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=14)
    A = make_structure(rng)
    step = MissingLabelRidge(observed, 1e-2, road)
    factor = step.solve(A) and step._factor[0]
    factor.cost = 1e9
    assert not worth_refactorizing(factor, A, factor.ridge, 1e-10, 0.0, curved=True)
    monkeypatch.setattr(skmtl.solvers.missing_labels, "worth_refactorizing", lambda *_, **__: False)
    near = A + 0.1 * make_structure(rng)
    fit = step.solve(near, tol=1e-9)
    assert step._factor[0] is factor
    assert fit.value == pytest.approx(MissingLabelRidge(observed, 1e-2, "features").solve(near).value, rel=1e-9)


@pytest.mark.parametrize("road", ROADS)
def test_energies_of_a_diagonal_structure(rng, road):
    _, _, observed = observe(rng, make_table(rng), intercept=True)
    a = rng.uniform(0.5, 2.0, N_TASKS)
    step = MissingLabelRidge(observed, 0.05, road)
    expected = MissingLabelRidge(observed, 0.05, "features").solve(np.diag(a) + 0.0)
    np.testing.assert_allclose(step.diagonal_energy(a, tol=1e-9), np.diag(expected.energy(np.diag(a))), rtol=1e-7)


@pytest.mark.parametrize("road", ["labels", "features", "iterative"])
def test_a_task_without_labels_is_left_alone(rng, road):
    table = make_table(rng)
    weight = table.weight.copy()
    weight[:, 1] = 0.0
    _, _, observed = observe(rng, TableLabels(table.y, weight), intercept=True)
    fit = MissingLabelRidge(observed, 0.05, road).solve(make_structure(rng), tol=1e-9)
    assert fit.intercept[1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(fit.Q[1], 0.0, atol=1e-12 * np.abs(fit.Q).max())


@pytest.mark.parametrize("road", ROADS)
def test_a_singular_structure_is_no_obstacle(rng, road):
    """A known structure may be singular, for instance all ones: one predictor for all tasks."""
    _, _, observed = observe(rng, make_table(rng), intercept=False)
    # The last one has as many entries as tasks, and is not diagonal.
    pair = np.zeros((N_TASKS, N_TASKS))
    pair[:2, :2] = [[1.0, 0.9], [0.9, 1.0]]
    for A in (np.ones((N_TASKS, N_TASKS)), np.diag([1.0, 0.0, 2.0, 1.0]), pair):
        fit = MissingLabelRidge(observed, 0.05, road).solve(A, tol=1e-8)
        known = observed.entries()
        M = known.rows() @ known.rows().T * A[np.ix_(known.task, known.task)] + observed.n * 0.05 * np.diag(
            known.inverse_weight
        )
        assert fit.value == pytest.approx(0.05 * known.y @ np.linalg.solve(M, known.y), rel=1e-8)


@pytest.mark.parametrize("common", [0.0, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.95])
def test_the_estimator_does_not_depend_on_the_road(rng, monkeypatch, common, share):
    X, Y = related_tasks(rng, 30, 6)
    # One label in every row, and some more.
    Y[(rng.uniform(size=Y.shape) > share) & (np.arange(30)[:, None] % 6 != np.arange(6))] = np.nan
    if share > 0.5:
        # Else the labels are those of a long table.
        Y[0] = 1.0
    fits = {}
    for road in ROADS if share > 0.5 else roads_of("long"):
        monkeypatch.setattr(skmtl.solvers.missing_labels, "choose_road", lambda *_, road=road, **__: road)
        # Iterations end where rounding makes their errors visible to the certificate.
        est = MultiTaskRegressor(
            Sparse(0.8), kernel="rbf", alpha=1e-3, eps=0.05, common=common, tol=1e-9 if road in EXACT else 1e-6
        )
        fits[road] = est.fit(X, Y).solution_, est.predict(X)
    solution, predicted = fits["features"]
    for other, other_predicted in fits.values():
        assert other.converged
        assert other.objective == pytest.approx(solution.objective, rel=1e-7)
        np.testing.assert_allclose(other.structure, solution.structure, atol=1e-3 * np.abs(solution.structure).max())
        np.testing.assert_allclose(other_predicted, predicted, atol=1e-3)


@pytest.mark.parametrize("road", ROADS)
def test_parts_add_up_where_the_structure_has_blocks(rng, road):
    _, _, observed = observe(rng, make_table(rng), intercept=True)
    step = MissingLabelRidge(observed, 0.05, road)
    A, blocks = make_structure(rng), [np.array([2, 0]), np.array([1, 3])]
    A[np.ix_(*blocks)] = A[np.ix_(*blocks[::-1])] = 0.0
    whole = step.solve(A, tol=1e-9)
    parts = [step.part(tasks).solve(A[np.ix_(tasks, tasks)], tol=1e-9) for tasks in blocks]
    assert sum(part.value for part in parts) == pytest.approx(whole.value, rel=1e-10)
    for tasks, part in zip(blocks, parts, strict=True):
        np.testing.assert_allclose(part.coefficients(), whole.coefficients()[:, tasks], atol=1e-7)
        np.testing.assert_allclose(part.intercept, whole.intercept[tasks], atol=1e-7)


def test_parts_of_long_tables(rng):
    _, _, observed = observe(rng, make_grouped(rng), intercept=True)
    step, tasks = MissingLabelRidge(observed, 0.05, "labels"), np.array([3, 1])
    A = np.diag([1.0, 2.0, 0.5, 1.5])
    part = step.part(tasks).solve(A[np.ix_(tasks, tasks)])
    np.testing.assert_allclose(part.coefficients(), step.solve(A).coefficients()[:, tasks], atol=1e-9)


@pytest.mark.parametrize("road", ROADS)
def test_tolerances_are_kept(rng, road):
    """Every tolerance is kept, and a tighter one gives a better answer."""
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=12)
    objectives = []
    for tol in (1e-3, 1e-8 if road in EXACT else 1e-6):
        solution = solve(Problem(MissingLabelRidge(observed, 1e-2, road), Sparse(0.8), 0.05), tol=tol)
        assert solution.gap <= tol
        objectives.append(solution.objective)
    assert objectives[1] <= objectives[0] * (1.0 + 1e-6)
    assert objectives[0] <= objectives[1] * (1.0 + 1e-3)


@pytest.mark.parametrize("alpha", [1e-2, 10.0])
@pytest.mark.parametrize("road", ROADS)
def test_the_gap_of_a_step_is_what_it_may_gain_and_what_was_asked_for(rng, road, alpha):
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=12)
    A = make_structure(rng)
    best = MissingLabelRidge(observed, alpha, "labels").solve(A)
    assert abs(best.gap) <= 1e-9
    for tol in (0.3, 1e-3):
        rough = MissingLabelRidge(observed, alpha, road).solve(A, tol=tol)
        assert rough.value - best.value <= (rough.gap + 1e-9) * rough.value
        # The gap that is asked for is relative to the penalty, which is less than the value.
        assert rough.gap <= 2.0 * tol**2 + 1e-9
    system = TaskBlockSystem(observed, *np.linalg.eigh(A), observed.n * alpha, nothing_for(observed), 1e-6)
    exact = best.coefficients()
    np.testing.assert_allclose(system.W, exact, atol=1e-2 * np.abs(exact).max())
    assert system.norm == pytest.approx(np.trace(exact @ np.linalg.solve(A, exact.T)), rel=1e-2)


@pytest.mark.parametrize("road", ROADS)
def test_a_rough_answer_is_no_exact_one(rng, road, monkeypatch):
    """However cheap the rough one was, who asks again for the same structure gets what was asked for."""
    monkeypatch.setattr(skmtl.solvers.missing_labels, "roughly_cheaper", lambda *_: True)
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=12)
    A, problem = make_structure(rng), MissingLabelRidge(observed, 1e-2, road)
    problem.solve(A, tol=0.5)
    exact = MissingLabelRidge(observed, 1e-2, "labels").solve(A).coefficients()
    again = problem.solve(A, tol=1e-9)
    np.testing.assert_allclose(again.coefficients(), exact, atol=1e-6 * np.abs(exact).max())
    # And who asks for less gets it without work.
    assert problem.solve(A, tol=1e-3) is again


# The model of the costs -----------------------------------------------------------------------------------------------


def shape(rng, n, n_tasks, rank, share, *, long=False):
    rows = rng.standard_normal((n, rank))
    values = np.full(rank, float(n))
    if long:
        tasks = np.arange(n) % n_tasks
        labels = LongLabels.from_rows(rng.standard_normal(n), np.ones(n), tasks, n_tasks)
        return ObservedRows(labels.arrange(rows), values, labels, intercept=True)
    weight = (rng.random((n, n_tasks)) < share).astype(float)
    weight[:, 0] = np.maximum(weight[:, 0], weight.sum(axis=1) == 0.0)
    return ObservedRows(rows, values, TableLabels(rng.standard_normal((n, n_tasks)), weight), intercept=True)


@pytest.mark.parametrize(
    ("sizes", "alpha", "road"),
    [
        # Few labels of many coordinates.
        ({"n": 300, "n_tasks": 3, "rank": 290, "share": 0.2}, 1e-4, "labels"),
        ({"n": 600, "n_tasks": 12, "rank": 590, "share": 0.2}, 1e-5, "labels"),
        # One label per row, and a kernel of full rank.
        ({"n": 300, "n_tasks": 20, "rank": 290, "share": 1.0, "long": True}, 1e-3, "labels"),
        # Each task has its labels to itself, and many of them.
        ({"n": 1000, "n_tasks": 8, "rank": 990, "share": 0.5}, 1e-6, "tasks"),
        # Few missing.
        ({"n": 600, "n_tasks": 12, "rank": 590, "share": 0.95}, 1e-5, "completed"),
        # Few functions, and more labels than coordinates.
        ({"n": 2000, "n_tasks": 8, "rank": 5, "share": 1.0, "long": True}, 1e-3, "features"),
        # More rows than can be put into a matrix, and functions that all tasks see alike.
        ({"n": 3000, "n_tasks": 20, "rank": 150, "share": 0.5}, 1e-3, "iterative"),
    ],
)
def test_the_cheapest_road(rng, sizes, alpha, road):
    assert choose_road(shape(rng, **sizes), alpha) == road


def test_steps_that_were_foretold_change_nothing(rng):
    """What iterations show of the labels is read from their steps as these are foretold from the labels."""
    observed = shape(rng, 3000, 20, 150, 0.5)
    steps, _ = steps_without_factor(observed, 1e-3)
    assert roads(observed, 1e-3, steps) == pytest.approx(roads(observed, 1e-3))
    gap = 1e-4
    assert road_after(observed, 1e-3, gap, round(steps * np.log(gap) / -GAIN)) == "iterative"


def test_the_more_steps_the_more_each_task_has_to_itself(rng):
    """Iterations that go on and on say that tasks hear little of one another: factors of tasks apart are near then."""
    observed = shape(rng, 1500, 20, 400, 0.5)
    few, many = roads(observed, 1e-3, 20.0), roads(observed, 1e-3, 400.0)
    assert few["iterative"] < few["tasks"]
    assert many["tasks"] < min(few["tasks"], many["iterative"])
    assert road_after(observed, 1e-3, 1e-5, 400) == "tasks"


def test_iterations_dearer_than_another_road_are_left_for_it(rng, monkeypatch):
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=14)
    A, step = make_structure(rng), MissingLabelRidge(observed, 1e-3, "iterative")
    monkeypatch.setattr(skmtl.solvers.cost, "SURPRISE", 1e-9)
    monkeypatch.setattr(observed, "by_grams", False)
    before = step.solve(A, tol=1e-6)
    assert step.road != "iterative"
    assert step.solve(A, tol=1e-9).value == pytest.approx(before.value, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e27])
def test_sizes_of_tasks_do_not_feed_on_rounding(rng, scale):
    """Labels in two directions of three: what rounding leaves of the third must not grow with the size of the task."""
    Phi = scale * rng.standard_normal((9, 2)) @ rng.standard_normal((2, 3))
    G, b = Phi.T @ Phi, Phi.T @ rng.standard_normal(9)
    X, g, z = TaskBasis.from_gram(G, b)
    assert len(g) == 2
    np.testing.assert_allclose((X * g) @ X.T, G, atol=1e-12 * scale**2)
    np.testing.assert_allclose(X @ z, b, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_factors_of_the_tasks_are_the_whole_factor_of_a_diagonal_structure(rng, layout, intercept):
    _, _, observed = observe(rng, LAYOUTS[layout](rng), intercept=intercept)
    entries, A = observed.entries(), make_structure(rng)
    whole = LabelFactor(entries, np.diag(np.diag(A)), 0.3)
    y = rng.standard_normal(len(entries))
    np.testing.assert_allclose(TaskFactor(entries, A, 0.3).solve(y), whole.solve(y), atol=1e-10)
    assert not TaskFactor(entries, A, 0.3).exact
    assert TaskFactor(entries, np.diag(np.diag(A)), 0.3).exact


@pytest.mark.parametrize("road", ROADS)
def test_the_second_derivative_is_symmetric_and_positive(rng, road):
    """Exact or not: conjugate gradients rest on that."""
    _, _, observed = observe(rng, make_table(rng), intercept=True)
    fit = MissingLabelRidge(observed, 0.05, road).solve(make_structure(rng), tol=1e-8)
    D, E = (symmetric_part(rng.standard_normal((N_TASKS, N_TASKS))) for _ in range(2))
    assert np.vdot(E, fit.hessian(D)) == pytest.approx(np.vdot(D, fit.hessian(E)), rel=1e-9)
    assert np.vdot(D, fit.hessian(D)) > 0.0


def test_the_cost_of_a_road_follows_what_it_is_made_of(rng):
    """More labels make labels dearer and what is missing cheaper; a smaller alpha makes iterations dearer."""
    shares = [roads(shape(rng, 200, 10, 190, share), 1e-3) for share in (0.6, 0.75, 0.9)]
    assert shares[0]["labels"] < shares[1]["labels"] < shares[2]["labels"]
    assert shares[0]["completed"] > shares[1]["completed"] > shares[2]["completed"]
    alphas = [roads(shape(rng, 200, 10, 190, 0.5), alpha)["iterative"] for alpha in (1e-1, 1e-3, 1e-5)]
    assert alphas[0] < alphas[1] < alphas[2]


def test_a_table_with_few_gaps_is_decomposed_as_if_it_had_none(rng):
    """Then its complete form needs no decomposition of its own; else rows count by what they say."""
    weight = np.ones((6, 4))
    weight[0, 1] = weight[2] = 0.0
    few, many = TableLabels(np.zeros((6, 4)), weight), TableLabels(np.zeros((6, 4)), weight * [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(few.design_weight(), [1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(many.design_weight(), many.row_weight())
    uneven = TableLabels(np.zeros((6, 4)), weight * [1.0, 1.0, 1.0, 2.0])
    np.testing.assert_array_equal(uneven.design_weight(), uneven.row_weight())


def test_a_surrogate_touches_the_value_from_above(rng):
    """With predictions in place of missing labels, complete labels cost nowhere less, and here the same."""
    _, _, observed = observe(rng, make_table(rng), intercept=True, rank=14)
    step, A = MissingLabelRidge(observed, 1e-2, "completed"), make_structure(rng)
    fit = step.solve(A)
    surrogate = fit.surrogate()
    near = surrogate.solve(A)
    np.testing.assert_allclose(near.coefficients(), fit.coefficients(), atol=1e-9)
    np.testing.assert_allclose(near.Q, fit.Q, rtol=1e-8, atol=1e-9)
    for _ in range(5):
        other = make_structure(rng)
        # Values are known up to a constant.
        rise, above = step.solve(other).value - fit.value, surrogate.solve(other).value - near.value
        assert above >= rise - 1e-10


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rough_products_are_near(rng, layout):
    """In single precision, whatever the scale of rows and weights."""
    labels = LAYOUTS[layout](rng)
    for scale in (1e-30, 1.0, 1e30):
        observed = ObservedRows(
            labels.arrange(scale * rng.standard_normal((N_ROWS, 9))), np.ones(9), labels, intercept=True
        )
        W = rng.standard_normal((9, N_TASKS)) / scale
        exact = observed.curve(W)
        np.testing.assert_allclose(observed.curve_roughly(W), exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("common", [0.0, 100.0])
def test_blocks_of_tasks_need_few_steps(rng, alpha, common):
    """With features that are constant in a task, so that others have to tell, and tasks alike or not."""
    n_tasks, per_task, rank = 20, 30, 12
    tasks = np.repeat(np.arange(n_tasks), per_task)
    rows = rng.standard_normal((len(tasks), rank))
    rows[:, :4] = rng.standard_normal((n_tasks, 4))[tasks]
    labels = LongLabels.from_rows(rng.standard_normal(len(tasks)), np.ones(len(tasks)), tasks, n_tasks)
    observed = ObservedRows(rows, np.full(rank, per_task * 1.0), labels, intercept=True)
    root = rng.standard_normal((n_tasks, n_tasks))
    A = root @ root.T / n_tasks + 0.1 * np.eye(n_tasks) + common
    ridge = observed.n * alpha
    exact = FeatureSystem(observed, A, ridge)
    found = TaskBlockSystem(observed, *np.linalg.eigh(A), ridge, nothing_for(observed), 1e-16)
    np.testing.assert_allclose(found.W, exact.W, atol=1e-6 * np.abs(exact.W).max())
    assert found.norm == pytest.approx(exact.norm, rel=1e-6)
    rough = TaskBlockSystem(observed, *np.linalg.eigh(A), ridge, nothing_for(observed), 1e-4)
    assert rough.steps <= 40


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("road", ["labels", "iterative"])
def test_dual_coefficients_beyond_the_kernel(rng, layout, road):
    """What rounding may hide of the kernel acts on them: C'C outside the range of weighted rows, of parts too."""
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, values, observed = observe(rng, labels, intercept=True)
    for tasks in (np.arange(N_TASKS), np.array([2, 0])):
        part = observed if len(tasks) == N_TASKS else observed.part(tasks)
        fit = MissingLabelRidge(part, 0.05, road).solve(A[np.ix_(tasks, tasks)], tol=1e-10)
        known = part.entries()
        left = known.y - known.scores(fit.coefficients()) - fit.intercept[known.task]
        weight = labels.arrange(labels.design_weight())
        mine = np.arange(N_ROWS) if len(tasks) == N_TASKS else labels.part(tasks)[1]
        C = np.zeros((N_ROWS, len(tasks)))
        C[mine[known.row], known.task] = left / (known.inverse_weight * part.n * 0.05)
        root = np.sqrt(weight)[:, None]
        C, V = C / root, root * labels.arrange(rows) / np.sqrt(values)
        np.testing.assert_allclose(fit.beyond, C.T @ C - C.T @ V @ V.T @ C, atol=1e-7 * np.abs(C.T @ C).max())


@pytest.mark.parametrize("road", EXACT)
def test_where_there_is_nothing_to_learn_predictors_are_stiff(road, rng):
    """They move with nothing: one, as where they are held."""
    labels = make_table(rng)
    _, _, observed = observe(rng, labels.with_labels(np.zeros_like(labels.y), labels.weight), intercept=False)
    assert MissingLabelRidge(observed, 0.02, road).solve(make_structure(rng), tol=1e-9).stiffness == 1.0


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_iterations_over_labels_of_any_unit_are_the_same(unit, rng):
    """To the last bit, and as far as rounding allows: it is relative to the labels."""
    labels, A, found = make_table(rng), make_structure(rng), []
    for c in (1.0, unit):
        scaled = labels.with_labels(c * labels.y, labels.weight)
        _, _, observed = observe(np.random.default_rng(1), scaled, intercept=True)
        found.append(IterativeSystem(observed, A, 0.3, nothing_for(observed), 0.0))
    one, other = found
    np.testing.assert_array_equal(other.W, unit * one.W)
    assert other.steps == one.steps > 1


def test_tasks_apart_need_no_factor_of_all_labels(rng, monkeypatch):
    """Rows of one task each: the system of tasks apart is one of each task."""
    n, n_tasks, rank = 600, 2, 500
    tasks = np.arange(n) % n_tasks
    labels = LongLabels.from_rows(rng.standard_normal(n), np.ones(n), tasks, n_tasks)
    rows = rng.standard_normal((n, rank))
    observed = ObservedRows(labels.arrange(rows), np.sum(rows**2, axis=0), labels, intercept=True)
    A = np.diag(rng.uniform(0.5, 2.0, n_tasks))
    whole = MissingLabelRidge(observed, 0.1, "labels")
    whole._apart = ""
    expected = whole.solve(A)
    monkeypatch.setattr(skmtl.solvers.missing_labels, "LabelFactor", None)
    step = MissingLabelRidge(observed, 0.1, "labels")
    assert step._apart == "factorized"
    fit = step.solve(A)
    assert fit.value == pytest.approx(expected.value, rel=1e-10)
    np.testing.assert_allclose(fit.coefficients(), expected.coefficients(), atol=1e-8)
    D = symmetric_part(rng.standard_normal((n_tasks, n_tasks)))
    np.testing.assert_allclose(fit.hessian(D), expected.hessian(D), atol=1e-8)


def test_tasks_apart_whose_rows_repeat_need_no_digits_that_there_are_not(rng):
    """Two labels at every row, and a strength below rounding."""
    tasks = np.repeat(np.arange(N_ROWS), 2) % N_TASKS
    n = len(tasks)
    labels = LongLabels.from_rows(rng.standard_normal(n), np.ones(n), tasks, N_TASKS)
    rows = np.repeat(rng.standard_normal((N_ROWS, RANK)), 2, axis=0)
    observed = ObservedRows(labels.arrange(rows), np.sum(rows**2, axis=0), labels, intercept=True)
    step = MissingLabelRidge(observed, 1e-18, "labels")
    step._apart = "factorized"
    fit = step.solve(np.eye(N_TASKS))
    assert 0.0 < fit.value < np.sum(observed.squares) / observed.n


def test_a_start_that_is_good_enough_is_what_comes_out(rng):
    """Predictors and their products belong together: neither moves by rounding alone."""
    _, _, observed = observe(rng, make_table(rng), intercept=True)
    A = make_structure(rng)
    first = IterativeSystem(observed, A, 0.3, nothing_for(observed), 1e-20)
    again = IterativeSystem(observed, A, 0.3, Predictors(first.W, first.curved), 1e-8)
    assert again.steps == 0
    np.testing.assert_array_equal(again.W, first.W)
    np.testing.assert_array_equal(again.curved, first.curved)


# Without a constant, rows that are alike are one direction of the Gaussian kernel.
@pytest.mark.parametrize(
    ("kernel", "fit_intercept"), [("linear", True), ("linear", False), ("rbf", True), ("precomputed", True)]
)
@pytest.mark.parametrize("common", [0.0, 1.0])
def test_rows_that_are_all_alike_leave_the_constants(kernel, common, fit_intercept):
    """A kernel without a direction; where there is no constant, either, nothing is left."""
    rows = {"linear": np.ones((4, 1)), "rbf": np.ones((4, 1)), "precomputed": np.zeros((4, 4))}[kernel]
    rows = rows if fit_intercept else np.zeros_like(rows)
    Y = np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 1.0], [2.0, 5.0]])
    est = MultiTaskRegressor(common=common, kernel=kernel, fit_intercept=fit_intercept).fit(rows, Y)
    F = est.predict(rows)
    np.testing.assert_allclose(F, [np.nanmean(Y, axis=0) * fit_intercept] * 4)
    if kernel != "precomputed":
        deviation = est.predict(rows, return_std=True)[1]
        assert np.all(np.isfinite(deviation) & (deviation > 0.0))
        low, high = est.predict_interval(rows, coverage=0.5)
        assert np.all((low <= F) & (F <= high))


def test_searches_leave_out_rows_that_are_all_alike():
    Y = np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 1.0], [2.0, 5.0]])
    search = MultiTaskRegressorCV(kernel="linear", cv="loo").fit(np.ones((4, 1)), Y)
    np.testing.assert_allclose(search.predict(np.ones((1, 1))), [np.nanmean(Y, axis=0)])
