"""Laws of the supervised step, whatever the loss, the labels and the road: beside the formulas, written out densely."""

import numpy as np
import pytest
from problems import random_psd

import skmtl.solvers.observed
from skmtl.losses import LOSSES, Square
from skmtl.objective import Problem
from skmtl.penalties import Fixed, Sparse
from skmtl.solvers import completed as completed_rows
from skmtl.solvers.completed import CompletedFactor
from skmtl.solvers.cost import WAIT, gram_product, row_product
from skmtl.solvers.interior_point import InteriorPointStep
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.observed import ObservedRows, TaskBasis
from skmtl.solvers.observed_moments import ObservedMoments
from skmtl.solvers.posterior import CompletePosterior, FeaturePosterior, LabelPosterior
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.systems import (
    FeatureSystem,
    IterativeSystem,
    LabelFactor,
    MeanSystem,
    Predictors,
    dual_coefficients,
)
from skmtl.solvers.task_blocks import TaskBlockSystem
from skmtl.solvers.task_factors import TaskFactor
from skmtl.targets import LongLabels, TableLabels

N_ROWS, N_TASKS, RANK, ALPHA = 18, 3, 5, 0.07
LOSS_OF = {"logistic": "newton", "huber": "newton", "squared_hinge": "newton", "hinge": "corner", "absolute": "corner"}
ROADS = ("labels", "completed", "features", "iterative", "tasks")
STEPS = ["ridge", *ROADS, *(name for name in LOSS_OF if name in LOSSES)]


def make_labels(rng, kind, layout):
    y = rng.standard_normal((N_ROWS, N_TASKS)) + 0.3
    y = np.where(y > 0.0, 1.0, -1.0) if kind in LOSS_OF and LOSSES[kind]().for_classification else y
    if layout == "long":
        tasks = np.arange(N_ROWS) % N_TASKS
        weight = rng.uniform(0.5, 2.0, N_ROWS)
        return LongLabels.from_rows(y[:, 0], weight, tasks, N_TASKS)
    weight = np.repeat(rng.uniform(0.5, 2.0, (N_ROWS, 1)), N_TASKS, axis=1)
    if layout == "gaps":
        known = rng.random(y.shape) < 0.7
        known[:3] = True
        weight = weight * known
    return TableLabels(y, weight)


def make_step(rng, kind, *, intercept=True, alpha=ALPHA):
    """A supervised step, its rows, labels and loss."""
    layout = "complete" if kind == "ridge" else "gaps"
    labels, rows = make_labels(rng, kind, layout), rng.standard_normal((N_ROWS, RANK))
    weight = labels.design_weight()
    if intercept:
        rows -= weight @ rows / weight.sum()
    values, vectors = np.linalg.eigh(rows.T @ (weight[:, None] * rows))
    rows = rows @ vectors
    if kind == "ridge":
        if intercept:
            y = labels.y - weight @ labels.y / weight.sum()
            labels = labels.with_labels(y, labels.weight)
        root = np.sqrt(weight)[:, None]
        V = root * rows / np.sqrt(values)
        targets = root * labels.y
        step = Ridge.from_targets(values, V.T @ targets, targets, float(weight.sum()), alpha, V @ (V.T @ targets))
        return step, rows, labels, Square()
    if kind in ROADS:
        observed = ObservedRows(labels.arrange(rows), values, labels, intercept=intercept)
        return MissingLabelRidge(observed, alpha, kind), rows, labels, Square()
    loss = LOSSES[kind]()
    if loss.has_corner:
        return InteriorPointStep(rows, labels, loss, alpha, intercept=intercept), rows, labels, loss
    return NewtonStep(rows, values, labels, loss, alpha, intercept=intercept), rows, labels, loss


def dense_value(rows, labels, loss, A, W, b, alpha=ALPHA):
    """(1/n) sum w V + alpha tr(A^-1 W'W)."""
    F, n = rows @ W + b, labels.weight.sum() / N_TASKS
    return loss.value(labels.y, F, labels.weight) / n + alpha * np.trace(np.linalg.solve(A, W.T @ W))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", STEPS)
def test_a_fit_is_what_its_predictors_say(kind, intercept, rng):
    step, rows, labels, loss = make_step(rng, kind, intercept=intercept)
    A = random_psd(rng, N_TASKS)
    fit = step.solve(A, tol=1e-10)
    W, b = fit.coefficients(), fit.intercept
    assert W.shape == (RANK, N_TASKS)
    assert b.shape == (N_TASKS,)
    assert np.any(b) == (intercept and kind != "ridge")
    assert fit.value == pytest.approx(dense_value(rows, labels, loss, A, W, b), rel=1e-7)
    # No neighbour is better.
    for _ in range(20):
        size = 10.0 ** rng.uniform(-3, 0)
        other = W + size * rng.standard_normal(W.shape), b + intercept * size * rng.standard_normal(b.shape)
        assert dense_value(rows, labels, loss, A, *other) >= fit.value * (1 - 1e-7)
    np.testing.assert_allclose(fit.energy(A), W.T @ W, rtol=1e-4, atol=1e-5 * np.abs(W).max() ** 2)
    np.testing.assert_allclose(fit.Q, fit.factor.T @ fit.factor, rtol=1e-9, atol=1e-12 * np.abs(fit.Q).max())
    # W = Phi'C A, and both ends meet.
    np.testing.assert_allclose(fit.factor @ A, W, atol=2e-4 * np.abs(W).max())
    bound = fit.dual(1.0) - step.alpha * np.sum(A * fit.Q)
    assert bound <= fit.value * (1 + 1e-9)
    assert bound == pytest.approx(fit.value, rel=1e-5)
    # Dual points may be scaled, and nothing is proved by none.
    assert fit.dual(0.0) == pytest.approx(0.0, abs=1e-12)
    for scale in (0.3, 0.9):
        assert fit.dual(scale) - scale**2 * step.alpha * np.sum(A * fit.Q) <= fit.value


@pytest.mark.parametrize("kind", STEPS)
def test_another_alpha_is_another_problem_of_the_same_labels(kind, rng):
    step, rows, labels, loss = make_step(rng, kind)
    A = random_psd(rng, N_TASKS)
    before = step.solve(A, tol=1e-9).value
    other = step.with_alpha(5.0 * ALPHA)
    assert (step.alpha, other.alpha, other.n_tasks) == (ALPHA, 5.0 * ALPHA, N_TASKS)
    fit = other.solve(A, tol=1e-9)
    assert fit.value > before
    value = dense_value(rows, labels, loss, A, fit.coefficients(), fit.intercept, 5.0 * ALPHA)
    assert fit.value == pytest.approx(value, rel=1e-7)
    fresh = make_step(np.random.default_rng(0), kind, alpha=5.0 * ALPHA)[0].solve(A, tol=1e-9)
    assert fit.value == pytest.approx(fresh.value, rel=1e-6)
    assert step.solve(A, tol=1e-9).value == pytest.approx(before, rel=1e-8)


@pytest.mark.parametrize("kind", STEPS)
def test_energies_of_tasks_apart(kind, rng):
    step, *_ = make_step(rng, kind)
    a = rng.uniform(0.3, 3.0, N_TASKS)
    W = make_step(np.random.default_rng(0), kind)[0].solve(np.diag(a), tol=1e-10).coefficients()
    np.testing.assert_allclose(step.diagonal_energy(a, tol=1e-8), np.sum(W**2, axis=0), rtol=1e-3)


@pytest.mark.parametrize("kind", ["ridge", *ROADS])
def test_parts_of_square_loss_add_up(kind, rng):
    step, *_ = make_step(rng, kind)
    A = np.zeros((N_TASKS, N_TASKS))
    A[np.ix_([0, 2], [0, 2])], A[1, 1] = random_psd(rng, 2), 0.7
    whole = step.solve(A, tol=1e-9)
    parts = [(np.array([2, 0]), A[np.ix_([2, 0], [2, 0])]), (np.array([1]), np.array([[0.7]]))]
    fits = [step.part(tasks).solve(B, tol=1e-9) for tasks, B in parts]
    assert sum(fit.value for fit in fits) == pytest.approx(whole.value, rel=1e-7)
    for (tasks, _), fit in zip(parts, fits, strict=True):
        np.testing.assert_allclose(fit.coefficients(), whole.coefficients()[:, tasks], atol=1e-5)
        np.testing.assert_allclose(fit.intercept, whole.intercept[tasks], atol=1e-5)


@pytest.mark.parametrize("kind", ["ridge", "labels", "completed", "features"])
def test_slopes_and_curvatures_in_the_structure(kind, rng):
    """Of the value over alpha: -<Q, D>, and what its second differences say; the stiffness is along A."""
    step, *_ = make_step(rng, kind)
    A, D = random_psd(rng, N_TASKS), random_psd(rng, N_TASKS) - random_psd(rng, N_TASKS)

    def value(B):
        return step.solve(B, tol=1e-12).value / step.alpha

    fit, h = step.solve(A, tol=1e-12), 1e-3
    up, here, down = (value(A + t * h * D) for t in (1.0, 0.0, -1.0))
    assert (up - down) / (2.0 * h) == pytest.approx(-np.sum(fit.Q * D), rel=1e-4)
    assert (up - 2.0 * here + down) / h**2 == pytest.approx(np.sum(D * fit.hessian(D)), rel=1e-3)
    assert fit.stiffness == pytest.approx(np.sum(A * fit.hessian(A)) / (2.0 * np.sum(A * fit.Q)))
    assert 0.0 < fit.stiffness < 1.0


def test_labels_of_zero_have_a_stiffness_of_one():
    nothing = Ridge(np.array([1.0, 2.0]), np.zeros((2, 2)), 0.0, 4.0, 0.1)
    assert nothing.solve(np.eye(2)).stiffness == 1.0


@pytest.mark.parametrize("kind", ["ridge", "labels", "features"])
def test_a_structure_that_is_asked_for_again_is_not_solved_again(kind, rng):
    step, *_ = make_step(rng, kind)
    A, B = random_psd(rng, N_TASKS), random_psd(rng, N_TASKS)
    fit = step.solve(A)
    assert step.solve(A.copy()) is fit
    other = step.solve(B)
    assert other is not fit
    # A structure that changed in its place is another one.
    B *= 2.0
    assert step.solve(B) is not other


def test_what_no_function_explains_is_left(rng):
    """It is never negative, and without the projection the difference of two sums."""
    V = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    Y = rng.standard_normal((6, 2))
    apart = np.sum((Y - V @ (V.T @ Y)) ** 2)
    for explained in (None, V @ (V.T @ Y)):
        step = Ridge.from_targets(np.ones(3), V.T @ Y, Y, 6.0, 0.1, explained)
        assert step.rest == pytest.approx(apart)
    inside = V @ (V.T @ Y)
    assert Ridge.from_targets(np.ones(3), (1 + 1e-15) * V.T @ inside, inside, 6.0, 0.1).rest >= 0.0
    # What is outside has no kernel: its dual coefficients are y / (n alpha).
    np.testing.assert_allclose(np.trace(step.solve(np.eye(2)).beyond), 2.0 * apart / 0.6**2)


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("layout", ["complete", "gaps", "long"])
def test_products_in_single_precision_are_of_numbers_of_any_sign_and_size(layout, sign, size, rng, monkeypatch):
    """Also where no entry is above zero."""
    monkeypatch.setattr(skmtl.solvers.observed, "worth_forming_grams", lambda *_: False)
    labels, rows = make_labels(rng, "ridge", layout), sign * size * rng.uniform(0.1, 1.0, (N_ROWS, RANK))
    observed = ObservedRows(labels.arrange(rows), np.sum(rows**2, axis=0), labels, intercept=False)
    for W in (rng.uniform(0.1, 1.0, (RANK, N_TASKS)), -rng.uniform(0.1, 1.0, (RANK, N_TASKS))):
        curved = observed.curve(size * W)
        np.testing.assert_allclose(observed.curve_roughly(size * W), curved, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("by_grams", [True, False])
@pytest.mark.parametrize("layout", ["complete", "gaps", "long"])
def test_sums_of_observed_rows_are_those_of_the_formulas(layout, by_grams, rng, monkeypatch):
    """Every task by itself, its own rows and weights, about its own means."""
    monkeypatch.setattr(skmtl.solvers.observed, "worth_forming_grams", lambda *_: by_grams)
    labels, rows = make_labels(rng, "ridge", layout), rng.standard_normal((N_ROWS, RANK))
    values = np.sum(rows**2, axis=0)
    for intercept in (True, False):
        observed = ObservedRows(labels.arrange(rows), values, labels, intercept=intercept)
        W = rng.standard_normal((RANK, N_TASKS))
        curved, rough = observed.curve(W), observed.curve_roughly(W)
        np.testing.assert_allclose(rough, curved, rtol=1e-4, atol=1e-4)
        # Products with rows are taken in single precision, those with sums that are there anyway are not.
        assert np.array_equal(rough, curved) == by_grams
        total = labels.design_weight().sum()
        assert observed.n == pytest.approx(labels.weight.sum() / N_TASKS)
        assert observed.n_rows == N_ROWS
        by_rows = row_product(N_ROWS, RANK, labels.y.size)
        assert observed.by_grams == by_grams
        assert observed.product_cost == (gram_product(RANK, N_TASKS) if by_grams else by_rows)
        assert observed.n_labels == np.count_nonzero(labels.weight)
        # Gaps of a table, where its rows have one weight each.
        assert observed.n_missing == (None if layout == "long" else N_ROWS * N_TASKS - observed.n_labels)
        bases = observed.bases()
        for t in range(N_TASKS):
            y, w = (labels.of_task(part, t) for part in (labels.y, labels.weight))
            Phi = rows[labels.tasks == t] if layout == "long" else rows[labels.weight[:, t] > 0.0]
            mean, target = (w @ Phi / w.sum(), w @ y / w.sum()) if intercept else (np.zeros(RANK), 0.0)
            centered, left = Phi - mean, y - target
            G, b = centered.T @ (w[:, None] * centered), centered.T @ (w * left)
            np.testing.assert_allclose(observed.cross[:, t], b, atol=1e-10)
            np.testing.assert_allclose(observed.squares[t], w @ left**2)
            np.testing.assert_allclose(observed.shift[:, t], mean, atol=1e-12)
            np.testing.assert_allclose(observed.target_mean[t], target, atol=1e-12)
            np.testing.assert_allclose(observed.shares[t], w.sum() / total)
            np.testing.assert_allclose(curved[:, t], G @ W[:, t], atol=1e-9)
            np.testing.assert_allclose(observed.grams()[t], G, atol=1e-10)
            X, g, z = bases[t]
            np.testing.assert_allclose((X * g) @ X.T, G, atol=1e-9)
            np.testing.assert_allclose(X.T @ X, np.eye(len(g)), atol=1e-9)
            np.testing.assert_allclose(X @ z, b, atol=1e-9)
        # A part keeps n, its shares and the weights that all rows were decomposed with.
        part = observed.part(np.array([2, 0]))
        assert part.n == observed.n
        for name in ("shares", "squares", "target_mean"):
            np.testing.assert_allclose(getattr(part, name), getattr(observed, name)[[2, 0]])
        np.testing.assert_allclose(part.cross, observed.cross[:, [2, 0]])


def test_single_precision_is_asked_for_no_more_than_it_has(rng, monkeypatch):
    """What it leaves is solved for once more: twice the digits take about twice the steps."""
    labels, rows = make_labels(rng, "ridge", "gaps"), rng.standard_normal((N_ROWS, 12))
    weight = labels.design_weight()
    values, vectors = np.linalg.eigh(rows.T @ (weight[:, None] * rows))
    observed = ObservedRows(rows @ vectors, values, labels, intercept=False)
    A, nothing = random_psd(rng, N_TASKS), Predictors(*np.zeros((2, 12, N_TASKS)))
    exact = MissingLabelRidge(observed, 0.01, "features").solve(A).coefficients()
    steps, exact_products, curve = [], [], ObservedRows.curve
    monkeypatch.setattr(ObservedRows, "curve", lambda self, W: exact_products.append(1) or curve(self, W))
    for gap in (1e-4, 1e-8, 1e-16):
        exact_products.clear()
        system = IterativeSystem(observed, A, observed.n * 0.01, nothing, gap)
        steps.append(system.steps)
        np.testing.assert_allclose(system.W, exact, atol=10.0 * np.sqrt(gap) * np.abs(exact).max())
        assert system.norm == pytest.approx(np.trace(np.linalg.solve(A, system.W.T @ system.W)))
        np.testing.assert_allclose(system.curved, curve(observed, system.W), rtol=1e-9, atol=1e-12)
        # Three digits at a time.
        assert len(exact_products) <= 1 - np.log10(gap) / 4.0
    assert 0 < steps[0] <= steps[1] <= steps[2] <= 100
    # The products of the start are not taken again, and at the answer there is nothing to do.
    exact_products.clear()
    again = IterativeSystem(observed, A, observed.n * 0.01, Predictors(system.W, system.curved), 1e-8)
    assert again.steps == len(exact_products) == 0
    np.testing.assert_allclose(again.W, system.W, rtol=1e-9, atol=1e-12)


def test_a_start_with_directions_that_the_structure_lacks_is_brought_into_it(rng):
    labels, rows = make_labels(rng, "ridge", "gaps"), rng.standard_normal((N_ROWS, 12))
    observed = ObservedRows(rows, np.sum(rows**2, axis=0), labels, intercept=True)
    root = rng.standard_normal((N_TASKS, N_TASKS - 1))
    A, W = root @ root.T, rng.standard_normal((12, N_TASKS))
    nowhere = Predictors(*np.zeros((2, 12, N_TASKS)))
    found = IterativeSystem(observed, A, 0.3, Predictors(W, observed.curve(W)), 1e-20)
    exact = IterativeSystem(observed, A, 0.3, nowhere, 1e-20)
    np.testing.assert_allclose(found.W, exact.W, atol=1e-7 * np.abs(exact.W).max())
    np.testing.assert_allclose(found.curved, observed.curve(found.W), atol=1e-9)
    # As far away as that, the first answer is one of the structure, too.
    rough = IterativeSystem(observed, A, 0.3, Predictors(W, observed.curve(W)), 1e9)
    assert rough.steps == 0
    lacking = np.linalg.svd(root)[0][:, -1]
    np.testing.assert_allclose(rough.W @ lacking, 0.0, atol=1e-9)
    np.testing.assert_allclose(rough.curved, observed.curve(rough.W), atol=1e-9)


@pytest.mark.parametrize(("unit", "size"), [(1.0, 1.0), (1e3, 1.0), (1.0, 1e4), (1.0, 1e-4)])
def test_blocks_of_tasks_are_solved_as_exactly_as_was_asked_for_and_not_again(unit, size, rng, monkeypatch):
    """The squared norm of what is left, whitened, is at most (n alpha)^2 times the gap, of the norm of the answer."""
    labels, rows = make_labels(rng, "ridge", "gaps"), unit * rng.standard_normal((N_ROWS, 12))
    observed = ObservedRows(rows, np.sum(rows**2, axis=0), labels, intercept=True)
    A, ridge = size * random_psd(rng, N_TASKS), 0.05 * size * unit**2 * observed.n
    nothing = Predictors(*np.zeros((2, 12, N_TASKS)))
    a, U = np.linalg.eigh(A)
    exact, products, curve = FeatureSystem(observed, A, ridge), [], ObservedRows.curve
    monkeypatch.setattr(ObservedRows, "curve", lambda self, W: products.append(1) or curve(self, W))
    steps = []
    for gap in (1e-1, 1e-4, 1e-8):
        products.clear()
        system = TaskBlockSystem(observed, a, U, ridge, nothing, gap)
        # One product for each step, and one or two to see that it is the end.
        assert len(products) <= system.steps + 2
        np.testing.assert_allclose(system.curved, curve(observed, system.W), rtol=1e-9)
        left = (observed.cross - curve(observed, system.W) - ridge * np.linalg.solve(A, system.W.T).T) @ (
            U * np.sqrt(a)
        )
        # The norm is first guessed, and the answer has nearly that.
        assert np.sum(left**2) <= 4.0 * ridge**2 * gap * exact.norm
        steps.append(system.steps)
    assert 0 < steps[0] < steps[1] < steps[2] < 30
    np.testing.assert_allclose(system.W, exact.W, atol=1e-3 * np.abs(exact.W).max())
    # From the answer there is nothing to do.
    near = TaskBlockSystem(observed, a, U, ridge, Predictors(exact.W, exact.curved), 1e-8)
    assert near.steps == 0
    E = rng.standard_normal((12, N_TASKS))
    np.testing.assert_allclose(near.respond(E), MeanSystem(observed, A, ridge).respond(E), rtol=1e-6)


def test_the_norm_in_a_known_structure_has_nothing_of_directions_that_it_lacks(rng):
    """However large the dual coefficients are along them."""
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    A = np.outer(U[:, 0], U[:, 0])
    A = 0.5 * (A + A.T)
    factor = np.array([[1.0, 2e8, -3e8]]) @ U.T

    class Known:
        Q, beyond = factor.T @ factor, np.zeros((3, 3))

        def dual(self, scale):
            return 3.0 * scale

    Known.factor = factor
    step = Ridge(np.ones(1), np.zeros((1, 3)), 0.0, 4.0, 0.1)
    problem = Problem(step, Fixed(A), 0.3)
    for scale in (1.0, 0.5):
        assert problem.bound(A, Known(), scale) == pytest.approx(3.0 * scale - 0.1 * scale**2, rel=1e-6)


def test_what_is_not_asked_for_is_not_proved(rng):
    step, *_ = make_step(rng, "ridge")
    problem, A = Problem(step, Sparse(0.7), 0.1), random_psd(rng, N_TASKS)
    fit = problem.fit(A)
    proof = problem.unproved(A, fit)
    assert proof.lower_bound == -np.inf
    assert proof.gap == np.inf
    assert proof.objective == problem.objective(A, fit) == problem.certify(A, fit).objective
    assert proof.structure is A
    assert proof.fit is fit


@pytest.mark.parametrize("kept", [True, False])
def test_sums_of_rows_that_have_gone_by(kept, rng):
    """The products of each task where they are kept, else another pass; of a part those of its tasks."""
    grams = np.array([random_psd(rng, 4) for _ in range(3)])
    cross, W = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    read = []

    def times(V):
        read.append(V)
        return np.stack([G @ v for G, v in zip(grams, V.T, strict=True)], axis=1)

    sums = ObservedMoments(
        n=10.0,
        n_labels=25,
        values=np.arange(1.0, 5.0),
        shares=np.array([0.5, 0.7, 0.9]),
        cross=cross,
        squares=np.array([1.0, 2.0, 3.0]),
        target_mean=np.zeros(3),
        shift=rng.standard_normal((4, 3)),
        stacked=grams if kept else grams[:0],
        read=times,
    )
    assert sums.has_grams == sums.by_grams == kept
    assert sums.n_rows == 25
    assert not sums.has_entries
    assert sums.product_cost == (gram_product(4, 3) if kept else 1.0)
    tasks = np.array([2, 0])
    part = sums.part(tasks)
    assert (part.n, part.n_labels, part.has_grams) == (10.0, 25, kept)
    np.testing.assert_array_equal(part.values, sums.values)
    for name in ("shares", "squares", "target_mean"):
        np.testing.assert_array_equal(getattr(part, name), getattr(sums, name)[tasks])
    for name in ("cross", "shift"):
        np.testing.assert_array_equal(getattr(part, name), getattr(sums, name)[:, tasks])
    alone = sums.part(tasks[:1])
    assert alone.has_grams == alone.by_grams == kept
    expected = np.stack([G @ w for G, w in zip(grams, W.T, strict=True)], axis=1)
    for product in (sums.curve, sums.curve_roughly):
        np.testing.assert_allclose(product(W), expected)
    np.testing.assert_allclose(part.curve(W[:, tasks]), expected[:, tasks])
    assert len(read) == (0 if kept else 3)
    if kept:
        g, X = sums.gram_bases()
        np.testing.assert_allclose((X * g[:, None, :]) @ X.swapaxes(1, 2), grams, atol=1e-10)
        for (Y, h, z), G, b in zip(sums.bases(), grams, cross.T, strict=True):
            np.testing.assert_allclose((Y * h) @ Y.T, G, atol=1e-10)
            np.testing.assert_allclose(Y @ z, b, atol=1e-10)
    for ask in (sums.entries, sums.completed, lambda: sums.dual_products(np.ones(25))):
        with pytest.raises(NotImplementedError, match="not kept"):
            ask()


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_eigenvalues_of_a_task_that_are_rounding_have_no_direction(unit):
    """Nor has what the labels have along them; relative to the largest, whatever that is."""
    basis = TaskBasis.from_gram(unit * np.diag([1.0, 1e-3, 1e-20, 0.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(np.sort(basis.g), [1e-3 * unit, unit])
    np.testing.assert_allclose(basis.X @ basis.z, [1.0, 2.0, 0.0, 0.0], atol=1e-12)
    nothing = TaskBasis.from_gram(np.zeros((2, 2)), np.ones(2))
    assert len(nothing.g) == len(nothing.z) == 0


def test_factors_know_what_they_cost(rng):
    """n^3 / 3 operations for a factor of size n, and 2 n^2 that wait for memory for a product with its inverse."""
    labels = make_labels(rng, "ridge", "gaps")
    rows = rng.standard_normal((N_ROWS, RANK))
    values, vectors = np.linalg.eigh(rows.T @ (labels.design_weight()[:, None] * rows))
    observed = ObservedRows(rows @ vectors, values, labels, intercept=False)
    entries, A, n_pairs = observed.entries(), random_psd(rng, N_TASKS), N_TASKS * (N_TASKS + 1) // 2
    size, apart = len(entries), np.count_nonzero(labels.weight, axis=0)
    missing = N_ROWS * N_TASKS - size
    by_labels, by_tasks = LabelFactor(entries, A, 0.3), TaskFactor(entries, A, 0.3)
    assert by_labels.cost == pytest.approx(size**3 / 3)
    assert by_tasks.cost == pytest.approx(np.sum(apart**3) / 3)
    assert by_labels.step_cost == WAIT * 2 * size**2
    assert by_tasks.step_cost == WAIT * 2 * np.sum(apart**2)
    by_features = FeatureSystem(observed, A, 0.3)
    assert by_features.step_cost == WAIT * 2 * (RANK * N_TASKS) ** 2
    # One direction for each pair of tasks.
    assert by_labels.curvature_cost == n_pairs * size**2
    assert by_features.curvature_cost == n_pairs * (RANK * N_TASKS) ** 2
    completed = CompletedFactor(observed.completed(), entries, A, 0.3)
    table = N_ROWS * RANK * N_TASKS
    assert completed.cost == pytest.approx(missing**3 / 3 + missing**2 * RANK)
    # A table is turned four times, two operations for each number.
    assert completed.step_cost == WAIT * 2 * missing**2 + 8 * table
    within = 2 * table * N_TASKS + n_pairs * RANK * N_TASKS * (n_pairs + 2 * N_TASKS)
    assert completed.curvature_cost == within + n_pairs * (2 * missing * RANK + missing**2)
    assert by_labels.exact
    assert completed.exact
    assert not by_tasks.exact
    assert TaskFactor(entries, np.diag(np.diag(A)), 0.3).exact


@pytest.mark.parametrize("apart", [True, False])
def test_tasks_apart_have_factors_of_their_own(apart, rng, monkeypatch):
    """As large as their missing labels are many; a task that misses none has no factor."""
    labels = make_labels(rng, "ridge", "gaps")
    labels = TableLabels(labels.y, np.where(np.arange(N_TASKS) == 1, 1.0, labels.weight))
    observed = ObservedRows(rng.standard_normal((N_ROWS, RANK)), np.ones(RANK), labels, intercept=False)
    sizes = []
    monkeypatch.setattr(completed_rows, "cholesky", lambda form, lower: sizes.append(len(form())) or np.eye(sizes[-1]))
    A = np.eye(N_TASKS) if apart else np.eye(N_TASKS) + 0.1
    CompletedFactor(observed.completed(), observed.entries(), A, 0.3)
    missing = np.sum(labels.weight == 0.0, axis=0)
    assert missing[1] == 0 < missing[0]
    assert sizes == ([n for n in missing if n] if apart else [missing.sum()])


@pytest.mark.parametrize("road", ["iterative", "tasks", "labels", "features"])
def test_the_closed_form_that_is_near_missing_labels(road, rng, monkeypatch):
    """With the mean share of labels that tasks have, for iterations; none where tasks apart are a better start."""
    labels = make_labels(rng, "ridge", "gaps")
    values = rng.uniform(50.0, 90.0, RANK)
    rows = rng.standard_normal((N_ROWS, RANK))
    step = MissingLabelRidge(ObservedRows(rows, values, labels, intercept=False), 0.05, road)
    solved, solve = [], MissingLabelRidge.solve
    monkeypatch.setattr(MissingLabelRidge, "solve", lambda *given, **more: solved.append(1) or solve(*given, **more))
    near = step.surrogate()
    if road == "iterative":
        shared = values * np.mean(step.observed.shares)
        np.testing.assert_allclose(near.values, shared)
        np.testing.assert_allclose(near.targets, step.observed.cross / np.sqrt(shared)[:, None])
        assert (near.n, near.alpha) == (step.observed.n, 0.05)
    assert bool(solved) == (road == "tasks")
    assert (near is None) == (road in ("labels", "features"))


def test_posteriors_know_how_many_numbers_a_row_takes(rng):
    labels = make_labels(rng, "ridge", "gaps")
    observed = ObservedRows(rng.standard_normal((N_ROWS, RANK)), np.ones(RANK), labels, intercept=False)
    A = random_psd(rng, N_TASKS)
    n_labels = len(observed.entries())
    assert CompletePosterior(np.ones(RANK), A, 0.3, np.inf).width == RANK + N_TASKS**2
    assert LabelPosterior(observed.entries(), A, 0.3).width == 3 * n_labels * N_TASKS + N_TASKS**2
    by_features = FeaturePosterior(observed, A, 0.3, 2, np.full(N_TASKS, np.inf))
    assert by_features.width == 2 + 2 * RANK * N_TASKS + N_TASKS**2


@pytest.mark.parametrize("ridge", [1.0, 1e3])
def test_coefficients_from_a_factor_of_another_structure_are_as_exact_as_was_asked_for(ridge, rng):
    """Relative to the norm of the predictors, however small that is beside their errors."""
    labels, gap = make_labels(rng, "ridge", "gaps"), 1e-4
    rows = rng.standard_normal((N_ROWS, RANK))
    entries = ObservedRows(rows, np.sum(rows**2, axis=0), labels, intercept=False).entries()
    A, other = random_psd(rng, N_TASKS), random_psd(rng, N_TASKS)
    factor = LabelFactor(entries, other, ridge)
    start = factor.solve(entries.y)
    c = dual_coefficients(factor, entries, A, ridge, start, gap)
    left = entries.y - entries.mixed(c, A) - ridge * entries.inverse_weight * c
    assert np.sum(left**2 / entries.inverse_weight) <= gap * ridge * float(start @ entries.mixed(start, other))
