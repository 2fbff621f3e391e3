"""The closed form for few labels: the same answers as Newton's method, and the right curvature."""

import numpy as np
import pytest

import skmtl.solvers.supervised
from skmtl import MultiTaskRegressor
from skmtl.losses import Square
from skmtl.penalties import Sparse
from skmtl.solvers.dual_ridge import DualRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.targets import LongLabels, TableLabels

N_TASKS, N_ROWS, RANK = 4, 15, 6


def make_table(rng):
    weight = rng.uniform(0.5, 2.0, (N_ROWS, N_TASKS)) * (rng.uniform(size=(N_ROWS, N_TASKS)) < 0.5)
    weight[:2] = 1.0
    return TableLabels(rng.standard_normal((N_ROWS, N_TASKS)), weight)


def make_grouped(rng):
    tasks = np.arange(N_ROWS) % N_TASKS
    return LongLabels.from_rows(rng.standard_normal(N_ROWS), rng.uniform(0.5, 2.0, N_ROWS), tasks, N_TASKS)


def make_structure(rng):
    root = rng.standard_normal((N_TASKS, N_TASKS))
    return root @ root.T + 0.1 * np.eye(N_TASKS)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [make_table, make_grouped])
def test_few_labels_give_what_newton_gives(rng, make, intercept):
    rows, labels, A = rng.standard_normal((N_ROWS, RANK)), make(rng), make_structure(rng)
    closed = DualRidge(rows, labels, 0.3, intercept=intercept).with_alpha(0.01).solve(A)
    values = np.linalg.eigvalsh(rows.T @ rows)
    newton = NewtonStep(rows, values, labels, Square(), 0.01, intercept=intercept).solve(A, tol=1e-10)
    assert closed.value == pytest.approx(newton.value, rel=1e-10)
    np.testing.assert_allclose(closed.coefficients(), newton.coefficients(), atol=1e-8)
    np.testing.assert_allclose(closed.intercept, newton.intercept, atol=1e-8)
    np.testing.assert_allclose(closed.Q, newton.Q, rtol=1e-6, atol=1e-8 * np.abs(closed.Q).max())
    assert closed.dual(0.9) == pytest.approx(newton.dual(0.9), rel=1e-8)
    # Strong duality for a fixed structure.
    assert closed.dual(1.0) - 0.01 * np.sum(A * closed.Q) == pytest.approx(closed.value, rel=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_slope_and_curvature_are_those_of_the_value(rng, intercept):
    step = DualRidge(rng.standard_normal((N_ROWS, RANK)), make_table(rng), 0.05, intercept=intercept)
    A, D = make_structure(rng), make_structure(rng) - make_structure(rng)
    h = 1e-5
    ahead, here, behind = (step.solve(A + t * D) for t in (h, 0.0, -h))
    slope = (ahead.value - behind.value) / (2.0 * h * step.alpha)
    assert slope == pytest.approx(-np.sum(here.Q * D), rel=1e-6)
    np.testing.assert_allclose(-(ahead.Q - behind.Q) / (2.0 * h), here.hessian(D), rtol=1e-5, atol=1e-6)
    assert 0.0 < here.stiffness <= 1.0
    assert here.stiffness == pytest.approx(np.sum(A * here.hessian(A)) / (2.0 * np.sum(A * here.Q)))


def test_energies_of_a_diagonal_structure(rng):
    step = DualRidge(rng.standard_normal((N_ROWS, RANK)), make_table(rng), 0.05, intercept=True)
    a = rng.uniform(0.5, 2.0, N_TASKS)
    np.testing.assert_allclose(step.diagonal_energy(a), np.diag(step.solve(np.diag(a)).energy(np.diag(a))), rtol=1e-8)


def test_a_task_without_labels_is_left_alone(rng):
    table = make_table(rng)
    weight = table.weight.copy()
    weight[:, 1] = 0.0
    fit = DualRidge(rng.standard_normal((N_ROWS, RANK)), TableLabels(table.y, weight), 0.05, intercept=True)
    A = make_structure(rng)
    solution = fit.solve(A)
    assert solution.intercept[1] == 0.0
    assert np.all(solution.Q[1] == 0.0)
    assert fit.diagonal_energy(np.ones(N_TASKS))[1] == 0.0


@pytest.mark.parametrize("common", [0.0, 3.0])
def test_the_estimator_does_not_depend_on_the_road(rng, monkeypatch, common):
    X, Y = rng.standard_normal((30, 5)), rng.standard_normal((30, 6))
    # One label in every row, and some more.
    Y[(rng.uniform(size=Y.shape) < 0.9) & (np.arange(30)[:, None] % 6 != np.arange(6))] = np.nan
    est = MultiTaskRegressor(Sparse(0.8), kernel="rbf", alpha=1e-3, eps=0.05, common=common, tol=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        # Else no test would see that few labels have a road of their own.
        patch.setattr(skmtl.solvers.supervised, "NewtonStep", None)
        few = est.fit(X, Y)
    predicted, structure, objective = few.predict(X), few.structure_, few.solution_.objective
    monkeypatch.setattr(skmtl.solvers.supervised, "FEW_LABELS", 0)
    many = est.fit(X, Y)
    assert objective == pytest.approx(many.solution_.objective, rel=1e-8)
    np.testing.assert_allclose(structure, many.structure_, atol=1e-4 * np.abs(structure).max())
    np.testing.assert_allclose(predicted, many.predict(X), atol=1e-4)


def test_parts_add_up_where_the_structure_has_blocks(rng):
    step = DualRidge(rng.standard_normal((N_ROWS, RANK)), make_table(rng), 0.05, intercept=True)
    A, blocks = make_structure(rng), [np.array([2, 0]), np.array([1, 3])]
    A[np.ix_(*blocks)] = A[np.ix_(*blocks[::-1])] = 0.0
    whole = step.solve(A)
    parts = [step.part(tasks).solve(A[np.ix_(tasks, tasks)]) for tasks in blocks]
    assert sum(part.value for part in parts) == pytest.approx(whole.value, rel=1e-12)
    for tasks, part in zip(blocks, parts, strict=True):
        np.testing.assert_allclose(part.coefficients(), whole.coefficients()[:, tasks], atol=1e-10)
        np.testing.assert_allclose(part.intercept, whole.intercept[tasks], atol=1e-10)
