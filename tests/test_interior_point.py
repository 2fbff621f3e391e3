"""Losses with corners: sums of ramps, and the interior point method that minimizes them."""

import warnings

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from sklearn.exceptions import ConvergenceWarning
from test_missing_labels import LAYOUTS, make_structure, observe

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import LOSSES
from skmtl.losses.corners import shares
from skmtl.penalties import Fixed
from skmtl.solvers import curvature_inverse
from skmtl.solvers.curvature import LabelCurvature
from skmtl.solvers.curvature_inverse import FeatureInverse, Inverses, LabelInverse, SpanInverse
from skmtl.solvers.entries import Entries
from skmtl.solvers.interior_point import InteriorPointStep
from skmtl.solvers.newton_cg import Point
from skmtl.solvers.whitening import Whitening
from skmtl.targets import TableLabels

CORNERS = [name for name, loss in LOSSES.items() if loss.has_corner]
ALPHA = 0.02


def of_classes(labels):
    """The same with labels -1 and +1, which every loss takes."""
    return labels.with_labels(np.where(labels.y > 0.0, 1.0, -1.0), labels.weight)


def make_step(rng, name, layout="table", *, intercept=True, alpha=ALPHA):
    labels = of_classes(LAYOUTS[layout](rng))
    rows, _, _ = observe(rng, labels, intercept=intercept)
    return InteriorPointStep(rows, labels, LOSSES[name](), alpha, intercept=intercept)


@pytest.fixture
def steps(monkeypatch):
    """Counts the steps that are taken."""
    taken, one = [], InteriorPointStep._step
    monkeypatch.setattr(InteriorPointStep, "_step", lambda *given: taken.append(1) or one(*given))
    return taken


@pytest.mark.parametrize("name", CORNERS)
def test_a_loss_with_corners_is_the_sum_of_its_ramps(name, rng):
    loss = LOSSES[name]()
    Y, F = np.sign(rng.standard_normal(50)), 3.0 * rng.standard_normal(50)
    slope, sign, offset = loss.ramps(Y)
    each = slope * (F - Y) + np.maximum(sign * F - offset, 0.0).sum(axis=0)
    assert np.all(np.abs(sign) == 1.0)
    for y, f, value in zip(Y, F, each, strict=True):
        assert loss.value(np.array([y]), np.array([f]), np.ones(1)) == pytest.approx(value, abs=1e-12)
    # Whatever shares the ramps have, their slopes are dual points.
    p = rng.random(sign.shape)
    assert np.isfinite(loss.conjugate(Y, slope + np.sum(sign * p, axis=0), np.ones(50)))


@pytest.mark.parametrize("m", [1.0, 1e-8])
def test_shares_of_a_ramp_solve_their_equation(m):
    z = np.concatenate([-np.logspace(-9, 3, 25), np.logspace(-9, 3, 25)])
    b, rest = shares(z, m)
    np.testing.assert_allclose(b + rest, 1.0)
    np.testing.assert_allclose(m / rest - m / b, z, rtol=1e-6, atol=1e-6 * m)
    cost = np.where(z > 0.0, rest * z, -b * z)
    assert np.all((cost >= 0.0) & (cost <= m * (1.0 + 1e-12)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CORNERS)
def test_no_neighbour_is_better_and_the_dual_point_says_so(name, layout, intercept, rng):
    step, A = make_step(rng, name, layout, intercept=intercept), make_structure(rng)
    fit = step.solve(A, tol=1e-9)
    bound = fit.dual(1.0) - ALPHA * np.sum(A * fit.Q)
    assert fit.value * (1.0 - 1e-9) <= bound <= fit.value * (1.0 + 1e-14)
    W, b, labels = fit.coefficients(), fit.intercept, step.labels

    def value(V, c):
        F = labels.scores(step.Phi, V) + labels.spread(c)
        return step.loss.value(labels.y, F, labels.weight) / step.n + ALPHA * np.trace(V @ np.linalg.solve(A, V.T))

    assert value(W, b) == pytest.approx(fit.value, rel=1e-10)
    for size in (1e-1, 1e-3):
        for _ in range(20):
            change = rng.standard_normal(len(b)) if intercept else np.zeros(len(b))
            assert value(W + size * rng.standard_normal(W.shape), b + size * change) >= bound


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("name", CORNERS)
def test_a_dozen_steps_are_enough_and_few_from_near_by(name, scale, rng, steps):
    """Whatever the size of the kernel; a structure that changes by a little is not solved from the beginning."""
    step, A = make_step(rng, name, alpha=ALPHA * scale), make_structure(rng) * scale
    assert step.solve(A, tol=1e-8).gap <= 1e-8
    from_nothing = len(steps)
    assert 3 < from_nothing <= 20
    assert step.solve(A + 1e-3 * np.diag(np.diag(A)), tol=1e-6).gap <= 1e-6
    assert 0 < len(steps) - from_nothing < from_nothing


@pytest.mark.parametrize("name", CORNERS)
def test_labels_that_can_be_fitted_leave_a_value_near_zero_that_is_proved(name, rng, steps):
    """The gap is a share of the value all the same."""
    step, A = make_step(rng, name, alpha=1e-9), make_structure(rng)
    assert step.solve(A, tol=1e-6).gap <= 1e-6
    assert len(steps) < 40


def test_steps_end_where_rounding_has_the_say(rng, steps):
    """Of a kernel of 1e40 no dual point is exact enough: the value is the least, and nobody walks on to the limit."""
    step, A = make_step(rng, "quantile"), make_structure(rng)
    huge = make_step(np.random.default_rng(0), "quantile", alpha=1e-3)
    huge.Phi = 1e20 * huge.Phi
    steps.clear()
    fit = huge.solve(A, tol=1e-9)
    assert len(steps) < 40
    scores = huge.labels.scores(huge.Phi, fit.coefficients()) + huge.labels.spread(fit.intercept)
    assert np.isfinite(fit.value)
    assert fit.value <= step.loss.value(huge.labels.y, scores, huge.labels.weight) / huge.n * (1.0 + 1e-6)
    assert fit.value < 0.9 * step.loss.value(huge.labels.y, 0.0 * scores, huge.labels.weight) / huge.n


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inverses_of_the_hessian_are_inverses(layout, intercept, rng, monkeypatch):
    labels, A = LAYOUTS[layout](rng), make_structure(rng)
    rows, _, _ = observe(rng, labels, intercept=intercept)
    Phi, n, alpha = labels.arrange(rows), float(labels.weight.sum()) / labels.n_tasks, 0.03
    entries, basis = Entries(Phi, labels, intercept=intercept), Whitening(A)
    h = labels.weight * rng.uniform(0.1, 5.0, labels.y.shape)
    curvature = LabelCurvature(labels, Phi, h, intercept=intercept)
    V = rng.standard_normal((Phi.shape[1], len(A)))

    def check(inverse, V):
        product = basis.whiten_gradient(curvature.normal(basis.unwhiten(V))) / n + 2.0 * alpha * V
        np.testing.assert_allclose(inverse(product), V, rtol=1e-8, atol=1e-8)

    check(LabelInverse(entries, h[entries.place], basis, 2.0 * n * alpha, alpha), V)
    for few in (np.inf, 0.0):
        monkeypatch.setattr(curvature_inverse, "FEW", few)
        inverses = Inverses(entries, basis, n, alpha)
        inverse = inverses.make(curvature, h[entries.place])
        assert isinstance(inverse, SpanInverse) == (few > 0.0)
        check(inverse, inverses.felt(V))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_make_the_inverse_where_features_are_too_many(layout, intercept, rng, monkeypatch):
    """With all of them in the factor it is one, of the objective's own n and alpha."""
    labels, A, alpha = LAYOUTS[layout](rng), make_structure(rng), 0.03
    Phi, n = labels.arrange(rng.standard_normal((labels.n_rows, 3 * labels.n_rows))), 7.0
    basis, entries = Whitening(A), Entries(Phi, labels, intercept=intercept)
    monkeypatch.setattr(curvature_inverse, "LONGEST", 0.0)
    monkeypatch.setattr(curvature_inverse, "MAX_FACTOR", len(entries))
    h = labels.weight * rng.uniform(0.1, 5.0, labels.y.shape)
    curvature = LabelCurvature(labels, Phi, h, intercept=intercept)
    inverse = Inverses(entries, basis, n, alpha).make(curvature, h[entries.place])
    assert isinstance(inverse, LabelInverse)
    V = rng.standard_normal((Phi.shape[1], len(A)))
    product = basis.whiten_gradient(curvature.normal(basis.unwhiten(V))) / n + 2.0 * alpha * V
    np.testing.assert_allclose(inverse(product), V, rtol=1e-8, atol=1e-8)


def test_what_no_label_feels_is_left_out_of_a_start(rng, monkeypatch):
    """Scores stay, and the norm falls; beside features that are all factored nothing has to."""
    labels, A = LAYOUTS["long"](rng), make_structure(rng)
    Phi, basis = labels.arrange(rng.standard_normal((labels.n_rows, 3 * labels.n_rows))), Whitening(A)
    entries, G = Entries(Phi, labels, intercept=True), rng.standard_normal((Phi.shape[1], len(A)))
    felt = Inverses(entries, basis, 10.0, 0.1).felt(G)
    np.testing.assert_allclose(entries.scores(basis.unwhiten(felt)), entries.scores(basis.unwhiten(G)), atol=1e-10)
    # The least of all that have these scores is a sum of what the labels feel: one number for each.
    B = np.array([np.outer(Phi[i], basis.R[t]).ravel() for i, t in zip(entries.row, entries.task, strict=True)])
    least = np.linalg.lstsq(B, B @ G.ravel(), rcond=None)[0]
    np.testing.assert_allclose(felt.ravel(), least, atol=1e-10)
    monkeypatch.setattr(curvature_inverse, "FEW", 0.0)
    assert Inverses(entries, basis, 10.0, 0.1).felt(G) is G


def test_directions_that_labels_feel_keep_their_digits(rng):
    """Labels with a curvature of 1e16 times alpha beside others of next to none: differences would have lost them."""
    labels, A = LAYOUTS["long"](rng), make_structure(rng)
    Phi, basis = labels.arrange(rng.standard_normal((labels.n_rows, 3 * labels.n_rows))), Whitening(A)
    entries, alpha = Entries(Phi, labels, intercept=False), 1e-9
    h = 10.0 ** rng.uniform(-6.0, 7.0, labels.y.shape)
    curvature, inverses = LabelCurvature(labels, Phi, h, intercept=False), Inverses(entries, basis, 1.0, alpha)
    inverse = inverses.make(curvature, h[entries.place])

    def left(inverse):
        V = inverses.felt(np.random.default_rng(0).standard_normal((Phi.shape[1], len(A))))
        found = inverse(V)
        product = basis.whiten_gradient(curvature.normal(basis.unwhiten(found))) + 2.0 * alpha * found
        return np.linalg.norm(V - product) / np.linalg.norm(V)

    assert isinstance(inverse, SpanInverse)
    assert left(inverse) < 1e-4
    assert left(LabelInverse(entries, h[entries.place], basis, 2.0 * alpha, alpha)) > 0.1


def test_small_features_are_not_lost_where_rounding_hides_that_large_ones_are_positive():
    """What makes the large ones positive is relative to them."""
    H = np.diag([1.0, 1.0, 1e-20])
    H[0, 1] = H[1, 0] = 1.0
    small = FeatureInverse(H)(np.array([[0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(small, [[0.0, 0.0, 1e20]])


def test_the_shortest_road_to_an_inverse(rng, monkeypatch):
    """By labels where these are half as many as features times tasks, or no factor has as many as these."""
    labels, A = LAYOUTS["table"](rng), make_structure(rng)
    rows, _, _ = observe(rng, labels, intercept=True)
    Phi = labels.arrange(rows)
    entries = Entries(Phi, labels, intercept=True)
    h = np.linspace(0.1, 5.0, len(entries))
    size = Phi.shape[1] * len(A)
    curvature = LabelCurvature(labels, Phi, labels.weight, intercept=True)

    def road(few=0.0, most=10_000, longest=np.inf):
        for name, value in {"FEW": few, "MAX_FACTOR": most, "LONGEST": longest}.items():
            monkeypatch.setattr(curvature_inverse, name, value)
        inverse = Inverses(entries, Whitening(A), 10.0, 0.03).make(curvature, h)
        return type(inverse).__name__, inverse.max_steps

    few, many = curvature_inverse.FEW_STEPS, curvature_inverse.MANY_STEPS
    share = len(entries) / size
    assert road(few=share) == ("SpanInverse", few)
    assert road(few=0.99 * share) == ("FeatureInverse", few)
    # More features than a factor can have; and of labels that are more, too, it leaves some out.
    assert road(most=size) == ("FeatureInverse", few)
    assert road(most=size - 1) == ("LabelInverse", few if len(entries) <= size - 1 else many)
    assert road(most=min(size, len(entries)) - 1) == ("LabelInverse", many)
    # Few labels keep their digits, however many features times tasks there are, as long as that takes no longer.
    cost = size * len(entries) ** 2
    assert road(few=np.inf, most=size - 1, longest=cost) == ("SpanInverse", few)
    assert road(few=np.inf, most=size, longest=cost - 1) == ("FeatureInverse", few)
    assert road(few=np.inf, most=size - 1, longest=cost - 1)[0] == "LabelInverse"


@pytest.mark.parametrize("alpha", [1e-3, 1e-7])
def test_many_tasks_of_few_labels_are_certified(alpha, rng):
    """With more features times tasks than a factor has: three labels each of 24 tasks."""
    X, tasks = rng.standard_normal((72, 3)), np.repeat(np.arange(24), 3)
    y = np.sin(X @ [1.0, 2.0, 3.0]) + 0.1 * rng.standard_normal(72)
    est = MultiTaskRegressor(Fixed.mean_coupled(1.0), loss="quantile", kernel="rbf", alpha=alpha)
    assert est.fit(X, y, tasks=tasks).solution_.gap <= 1e-7


@pytest.mark.parametrize("name", CORNERS)
def test_problems_beyond_a_factor_have_the_same_solution(name, rng, monkeypatch):
    """Of the labels those of the largest curvature make a factor, and conjugate gradients see to the others."""
    step, A = make_step(rng, name, "table"), make_structure(rng)
    whole = step.solve(A, tol=1e-8).value
    monkeypatch.setattr(curvature_inverse, "MAX_FACTOR", 40)
    again = InteriorPointStep(step.Phi, step.labels, step.loss, ALPHA, intercept=True).solve(A, tol=1e-8)
    assert again.gap <= 1e-8
    assert again.value == pytest.approx(whole, rel=1e-7)


@pytest.mark.parametrize("name", CORNERS)
def test_weights_of_labels_are_repetitions(name, rng):
    Y, A = np.sign(rng.standard_normal((20, 4))), make_structure(rng)
    rows = rng.standard_normal((20, 5))
    twice = np.repeat([0, 1], [10, 10])
    weighted = TableLabels(Y, np.tile(1.0 + twice[:, None], (1, 4)))
    again = np.concatenate([np.arange(20), np.flatnonzero(twice)])
    repeated = TableLabels(Y[again], np.ones((30, 4)))
    one = InteriorPointStep(rows, weighted, LOSSES[name](), ALPHA, intercept=True).solve(A, tol=1e-9)
    other = InteriorPointStep(rows[again], repeated, LOSSES[name](), ALPHA, intercept=True).solve(A, tol=1e-9)
    assert one.value == pytest.approx(other.value, rel=1e-8)


@pytest.mark.parametrize("name", CORNERS)
def test_kernels_of_huge_entries_are_solved_in_few_rounds(name, rng, steps):
    """Features of 1e4 with a quartic kernel: what was followed over ever narrower corners for twenty seconds."""
    X = 1e4 * rng.standard_normal((40, 3))
    Y = np.sign(X @ rng.standard_normal((3, 4)))
    cls = MultiTaskClassifier if LOSSES[name].for_classification else MultiTaskRegressor
    est = cls(loss=name, kernel="poly", degree=4, alpha=0.5, penalty="independent", tol=1e-5)
    with warnings.catch_warnings():
        # Most of its directions are lost to rounding, and the fit says so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        est.fit(X, Y if cls is MultiTaskRegressor else (Y > 0).astype(float))
    assert np.isfinite(est.solution_.objective)
    assert len(steps) < 2000


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("one_column", [True, False])
def test_a_start_that_is_near_never_holds_a_fit_back(seed, one_column):
    """Rounds of structures begin each step where the last one ended, some of them at the boundary of the slacks."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 4))
    Y = (1.5 * X @ rng.standard_normal((4, 3)) + rng.logistic(size=(80, 3)) > 0.0).astype(int)
    est = MultiTaskClassifier(loss="hinge", tol=1e-3).fit(X, Y.sum(axis=1) if one_column else Y)
    assert est.solution_.converged, est.solution_.status


@pytest.mark.parametrize("alpha", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("gaps", [True, False])
def test_labels_that_are_met_do_not_keep_a_fit_from_being_certified(name, alpha, gaps):
    """Proofs of structures feel what the slopes of the labels are wrong by, however small the loss."""
    rng = np.random.default_rng(0)
    X, Y = related_tasks(rng, 40, 4)
    cls = MultiTaskClassifier if name == "hinge" else MultiTaskRegressor
    Y = np.where(Y > 0.0, 1.0, 0.0) if name == "hinge" else Y
    est, tasks = cls(loss=name, kernel="rbf", alpha=alpha), np.arange(40) % 4
    if gaps:
        est.fit(X, with_gaps(rng, Y))
    else:
        est.fit(X, Y[np.arange(40), tasks], tasks=tasks)
    assert est.solution_.converged, est.solution_.status
    assert est.solution_.n_iter <= 25


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_the_constant_of_a_task_of_one_class_stays_where_it_suffices(spread, rng):
    """Any constant beyond the margin is as good, and from structure to structure it could run away."""
    Y = np.where(rng.standard_normal((30, 3)) > 0.0, 1.0, -1.0)
    Y[:, 1] = 1.0
    labels = TableLabels(Y, np.repeat(10.0 ** rng.uniform(-spread, 0.0, (30, 1)), 3, axis=1))
    step = InteriorPointStep(rng.standard_normal((30, 4)), labels, LOSSES["hinge"](), 1e-4, intercept=True)
    for k in range(5):
        fit = step.solve(np.diag([1.0, 1.0, 1.0 + 0.1 * k]), tol=1e-5)
        assert fit.gap <= 1e-5
        assert 1.0 - 1e-6 <= fit.scores[:, 1].min() <= fit.scores[:, 1].max() < 3.0


def test_constants_of_tasks_of_both_classes_stay(rng):
    """However far beyond the margin all labels are: two constants that are as good are no reason to change one."""
    Phi = np.sign(rng.standard_normal((30, 1)))
    y = np.hstack([Phi, np.ones((30, 1))])
    step = InteriorPointStep(Phi, TableLabels(y, np.ones_like(y)), LOSSES["hinge"](), 1e-4, intercept=True)
    basis = Whitening(np.eye(2))
    fit = step._fit(Point(np.array([[50.0, 0.0]]), np.array([0.3, 50.0])), step._p, basis)
    settled = step._settled(fit)
    assert settled.intercept[0] == 0.3
    assert 1.0 <= settled.intercept[1] < 3.0
    assert settled.value == fit.value
