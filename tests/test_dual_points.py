"""What rounding could hide of a dual point, and closed forms that stand for missing labels, by their definitions."""

import numpy as np
import pytest
from test_missing_labels import LAYOUTS, N_ROWS, N_TASKS, make_structure, observe, roads_of

from skmtl.losses import LOSSES
from skmtl.solvers import cost, missing_labels
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonFit, NewtonStep, Point
from skmtl.solvers.observed_moments import ObservedMoments
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.whitening import Whitening
from skmtl.targets import TableLabels

ALPHA = 0.02


def table_of(labels, entries):
    """Entries of the labels as a table of rows and tasks, zero where there is none."""
    if not labels.long:
        return entries
    table = np.zeros((N_ROWS, N_TASKS))
    table[np.arange(N_ROWS), labels.tasks] = labels.in_rows(entries)
    return table


def as_sums(observed, labels):
    """What is left of rows and labels that were read in blocks."""
    kept = ("n", "values", "shares", "cross", "squares", "target_mean", "shift")
    moments = {name: getattr(observed, name) for name in kept}
    return ObservedMoments(**moments, n_labels=labels.y.size, stacked=observed.grams(), read=observed.curve)


def check_beyond(fit, labels, values, C):
    """It is nowhere less than C'C of weighted rows outside the span of the functions."""
    weighted = C / np.sqrt(labels.design_weight())[:, None]
    within = fit.factor / np.sqrt(values)[:, None]
    outside = weighted.T @ weighted - within.T @ within
    lowest = np.linalg.eigvalsh(fit.beyond - outside)[0]
    assert lowest >= -1e-8 * np.trace(weighted.T @ weighted)


@pytest.mark.parametrize(("layout", "road"), [(layout, road) for layout in LAYOUTS for road in roads_of(layout)])
def test_what_lies_beyond_the_span_is_not_underrated_with_missing_labels(layout, road, rng):
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, values, observed = observe(rng, labels, intercept=False)
    problem = MissingLabelRidge(observed, ALPHA, road)
    fit = problem.solve(A, tol=1e-10)
    F = labels.scores(labels.arrange(rows), fit.coefficients())
    C = table_of(labels, labels.weight * (labels.y - F) / (observed.n * ALPHA))
    # C is what Phi'C comes from.
    np.testing.assert_allclose(rows.T @ C, fit.factor, atol=1e-6 * np.abs(fit.factor).max())
    check_beyond(fit, labels, values, C)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_labels_that_have_gone_by_all_may_lie_beyond_the_span(layout, rng):
    """Of their dual coefficients nothing but a sum of squares is left."""
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, values, observed = observe(rng, labels, intercept=False)
    fit = MissingLabelRidge(as_sums(observed, labels), ALPHA, "features").solve(A, tol=1e-10)
    F = labels.scores(labels.arrange(rows), fit.coefficients())
    c = labels.weight * (labels.y - F) / (observed.n * ALPHA)
    squares = np.sum(np.divide(c**2, labels.weight, out=np.zeros_like(c), where=labels.weight > 0.0))
    np.testing.assert_allclose(fit.beyond, N_TASKS * squares * np.eye(N_TASKS), rtol=1e-6)
    check_beyond(fit, labels, values, table_of(labels, c))


@pytest.mark.parametrize(("lowest", "blocks"), [(0.0, False), (0.9, False), (1.1, True)])
def test_a_structure_without_a_direction_is_iterated_over_as_it_is(lowest, blocks, rng, monkeypatch):
    """Blocks of tasks need all eigenvalues of the structure."""
    labels, taken = LAYOUTS["table"](rng), []
    _, _, observed = observe(rng, labels, intercept=False)
    problem = MissingLabelRidge(as_sums(observed, labels), ALPHA, "iterative")
    for name in ("TaskBlockSystem", "IterativeSystem"):
        own = getattr(missing_labels, name)
        monkeypatch.setattr(missing_labels, name, lambda *given, own=own: taken.append(own.__name__) or own(*given))
    U = np.linalg.qr(rng.standard_normal((N_TASKS, N_TASKS)))[0]
    a = np.array([lowest * 3.0 * missing_labels.SINGULAR, 1.0, 2.0, 3.0])
    problem._iterate((U * a) @ U.T, 1e-6)
    assert taken == ["TaskBlockSystem" if blocks else "IterativeSystem"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["huber", "square"])
def test_what_lies_beyond_the_span_is_not_underrated_for_other_losses(layout, loss, rng):
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, values, _ = observe(rng, labels, intercept=False)
    step = NewtonStep(rows, values, labels, LOSSES[loss](), ALPHA, intercept=False)
    fit = step.solve(A, tol=1e-8)
    C = table_of(labels, fit.gradient / (-2.0 * step.n * ALPHA))
    np.testing.assert_allclose(rows.T @ C, fit.factor, atol=1e-9 * np.abs(fit.factor).max())
    check_beyond(fit, labels, values, C)


def test_what_lies_beyond_the_span_of_complete_labels(rng):
    labels = TableLabels(rng.standard_normal((N_ROWS, N_TASKS)), np.ones((N_ROWS, N_TASKS)))
    rows, values, _ = observe(rng, labels, intercept=False)
    V = rows / np.sqrt(values)
    problem = Ridge.from_targets(values, V.T @ labels.y, labels.y, float(N_ROWS), ALPHA)
    fit = problem.solve(make_structure(rng))
    C = (labels.y - rows @ fit.coefficients()) / (N_ROWS * ALPHA)
    check_beyond(fit, labels, values, C)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_closed_form_that_stands_for_missing_labels_is_that_of_filled_ones(share, rng, monkeypatch):
    """Predictions in place of the labels that are missing: its fit is the same, and elsewhere it costs more."""
    Y, known = rng.standard_normal((N_ROWS, N_TASKS)), rng.random((N_ROWS, N_TASKS)) >= share
    known[:2] = True
    labels, A = TableLabels(Y, known.astype(float)), make_structure(rng)
    _, values, observed = observe(rng, labels, intercept=False)
    # However many steps it takes.
    monkeypatch.setattr(cost, "SURPRISE", np.inf)
    problem = MissingLabelRidge(observed, ALPHA, "iterative")
    fit = problem.solve(A, tol=1e-10)
    surrogate = fit.surrogate()
    size = np.abs(fit.coefficients()).max()
    np.testing.assert_allclose(surrogate.solve(A).coefficients(), fit.coefficients(), atol=1e-6 * size)
    for _ in range(5):
        B = make_structure(rng)
        # It grows at least as much, from where the two touch.
        growth = problem.solve(B, tol=1e-10).value - fit.value
        assert surrogate.solve(B).value - surrogate.solve(A).value >= growth - 1e-9 * fit.value
    if share == 0.0:
        whole = problem.closed_form(values, observed.cross / np.sqrt(values)[:, None])
        for form in (whole, surrogate):
            assert form.solve(A).value == pytest.approx(fit.value, rel=1e-6)
        assert problem.closed_form(values, 10.0 * observed.cross / np.sqrt(values)[:, None]) is None


def dual_coefficients(loss, y, weight, *, intercept=True):
    """C of a point that is no solution, and the slopes that it is made of: in the basis of the rows themselves."""
    rng = np.random.default_rng(3)
    n, n_tasks = y.shape
    labels = TableLabels(y, weight)
    step = NewtonStep(np.eye(n), np.ones(n), labels, loss, ALPHA, intercept=intercept)
    point = Point(0.3 * rng.standard_normal((n, n_tasks)), 0.3 * rng.standard_normal(n_tasks))
    fit = NewtonFit(step, point, Whitening(np.eye(n_tasks)))
    return -2.0 * step.n * ALPHA * fit.factor, loss.gradient(y, point.G + point.b, weight)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_dual_points_of_softmax_are_probabilities_with_the_sums_of_the_classes(n_classes):
    """Two classes included, where signs could be scaled as those of a loss for each task are."""
    y = np.where(np.arange(8)[:, None] % 5 % n_classes == np.arange(n_classes), 1.0, -1.0)
    weight = np.repeat(np.linspace(0.5, 2.0, 8)[:, None], n_classes, axis=1)
    loss = LOSSES["softmax"]()
    C, slopes = dual_coefficients(loss, y, weight)
    np.testing.assert_allclose(C, loss.balanced(y, slopes, weight), atol=1e-12)
    np.testing.assert_allclose(C.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(C.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(dual_coefficients(loss, y, weight, intercept=False)[0], slopes, atol=1e-12)


def test_dual_points_that_may_be_anywhere_lose_their_means(rng):
    """Of squares: weighted as the labels are, so that the entries of each task sum to zero."""
    loss = LOSSES["square"]()
    assert [name for name, each in LOSSES.items() if each.free_dual] == ["square"]
    y, weight = rng.standard_normal((8, 2)), rng.uniform(0.5, 2.0, (8, 2))
    C, slopes = dual_coefficients(loss, y, weight)
    np.testing.assert_allclose(C, slopes - weight * slopes.sum(axis=0) / weight.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(dual_coefficients(loss, y, weight, intercept=False)[0], slopes, atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "softmax"])
@pytest.mark.parametrize("share", [0.25, 0.75])
def test_dual_points_of_one_task_are_slopes_of_which_the_heavier_sign_is_scaled_down(loss, share):
    y = np.where(np.arange(8) < 8 * share, 1.0, -1.0)[:, None]
    weight = np.linspace(0.5, 2.0, 8)[:, None]
    C, slopes = dual_coefficients(LOSSES[loss](), y, weight)
    up, down = slopes[slopes > 0.0].sum(), -slopes[slopes < 0.0].sum()
    expected = slopes * np.where(slopes > 0.0, min(1.0, down / up), min(1.0, up / down))
    np.testing.assert_allclose(C, expected, atol=1e-12)
