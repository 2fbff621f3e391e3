"""Tasks with labels at the same rows: found, and solved as a complete table is."""

import numpy as np
import pytest
from problems import random_psd, related_tasks
from scipy import linalg

from skmtl import MultiTaskRegressor
from skmtl.penalties import Sparse
from skmtl.solvers.cost import choose_road, roads
from skmtl.solvers.entries import Entries
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.systems import LabelFactor, MeanSystem, label_products
from skmtl.solvers.task_factors import PanelFactor, TaskFactor, TaskSystem, within_blocks
from skmtl.targets import TableLabels

N_ROWS, N_TASKS, RIDGE = 60, 6, 0.3


def known_in_panels(rng, *, beside=0):
    """Tasks 0, 2 and 4 at the first rows, 1 and 3 at the last ones, task 5 anywhere; and some labels beside."""
    known = np.zeros((N_ROWS, N_TASKS), dtype=bool)
    known[:40, ::2], known[25:, 1:4:2] = True, True
    known[:, 5] = rng.random(N_ROWS) < 0.5
    for _ in range(beside):
        known[rng.integers(45, N_ROWS), 2 * rng.integers(3)] = True
        known[rng.integers(0, 20), 1 + 2 * rng.integers(2)] = True
    return known


def observe(rng, known, *, intercept=True, weight=None):
    weight = np.ones(N_ROWS) if weight is None else weight
    labels = TableLabels(rng.standard_normal(known.shape), np.reshape(weight, (N_ROWS, -1)) * known)
    rows = rng.standard_normal((N_ROWS, N_ROWS))
    return ObservedRows(rows, np.ones(N_ROWS), labels, intercept=intercept)


def entries_of(rng, known, **options):
    return observe(rng, known, **options).entries()


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_kernels_of_tasks_are_kept_where_that_of_the_rows_is_as_large(share, rng):
    known = rng.random((30, 3)) < share
    labels = TableLabels(rng.standard_normal(known.shape), known.astype(float))
    entries = Entries(rng.standard_normal((30, 4)), labels, intercept=False)
    few = np.sum(known.sum(axis=0) ** 2) <= np.sum(known.any(axis=1)) ** 2
    assert few == (share < 0.5)
    assert (entries.task_kernel(1) is entries.task_kernel(1)) == few


def labels_by_task(panel):
    return [sorted(panel.entries.row[panel.common[:, t]].tolist()) for t in range(len(panel.tasks))]


def test_panels_are_found(rng):
    one, two = entries_of(rng, known_in_panels(rng)).panels
    assert (one.tasks.tolist(), two.tasks.tolist()) == ([0, 2, 4], [1, 3])
    assert labels_by_task(one) == [list(range(40))] * 3
    assert labels_by_task(two) == [list(range(25, N_ROWS))] * 2
    for panel in (one, two):
        np.testing.assert_array_equal(panel.entries.task[panel.common], np.tile(panel.tasks, (len(panel.common), 1)))
        assert len(panel.beside) == 0


def test_labels_beside_the_common_rows_belong_to_the_panel(rng):
    known = known_in_panels(rng, beside=1)
    entries = entries_of(rng, known)
    one, two = entries.panels
    for panel in (one, two):
        own = np.flatnonzero(np.isin(entries.task, panel.tasks))
        np.testing.assert_array_equal(np.sort(np.append(panel.common.ravel(), panel.beside)), own)
        assert len(panel.beside) == 1
    assert entries.single_tasks.tolist() == [5]
    # The very first label of all is one of them, too.
    known = known_in_panels(rng)
    known[0, [2, 4]] = False
    one, _ = entries_of(rng, known).panels
    assert one.beside.tolist() == [0]
    assert len(one.common) == 39
    assert entries.joined_share == pytest.approx((3 * 2 + 2 * 1) / (N_TASKS * (N_TASKS - 1)))


@pytest.mark.parametrize(("missing", "joined"), [(2, True), (3, True), (4, False)])
def test_tasks_that_share_too_little_are_no_panel(rng, missing, joined):
    """Two tasks at 60 rows, one of which misses some: 95% of the labels must be at common rows."""
    known = np.ones((N_ROWS, 2), dtype=bool)
    known[:missing, 1] = False
    assert len(entries_of(rng, known).panels) == joined


def test_weights_of_the_rows_make_a_panel_and_weights_of_tasks_do_not(rng):
    known = np.ones((N_ROWS, 3), dtype=bool)
    weight = rng.uniform(0.5, 2.0, N_ROWS)
    assert len(entries_of(rng, known, weight=weight).panels) == 1
    weight = np.tile(weight[:, None], (1, 3))
    weight[7, 1] *= 2.0
    assert entries_of(rng, known, weight=weight).panels == []


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("beside", [0, 1])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_panel_is_the_bordered_system_of_its_labels(rng, weighted, beside, intercept):
    """Against the system of all labels, dense: M c + E b = y and E'c = 0."""
    weight = rng.uniform(0.5, 2.0, N_ROWS) if weighted else None
    entries = entries_of(rng, known_in_panels(rng, beside=beside), intercept=intercept, weight=weight)
    A, y = random_psd(rng, N_TASKS), rng.standard_normal(len(entries))
    for panel in entries.panels:
        own = np.sort(np.append(panel.common.ravel(), panel.beside))
        M = entries.kernel_between(own, A) + RIDGE * np.diag(entries.inverse_weight[own])
        E = (entries.task[own][:, None] == panel.tasks).astype(float) * intercept
        inverse = linalg.inv(M)
        N = inverse - inverse @ E @ linalg.pinv(E.T @ inverse @ E) @ E.T @ inverse
        c = np.full(len(entries), np.nan)
        PanelFactor(panel, A, RIDGE).solve(y, c)
        np.testing.assert_allclose(c[own], N @ y[own], atol=1e-9)
        assert np.isnan(np.delete(c, own)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_factors_of_the_blocks_are_the_whole_factor_of_the_structure_within_them(rng, intercept):
    entries = entries_of(rng, known_in_panels(rng, beside=1), intercept=intercept)
    A, y = random_psd(rng, N_TASKS), rng.standard_normal(len(entries))
    near = within_blocks(entries, A)
    assert np.count_nonzero(near) == 9 + 4 + 1
    np.testing.assert_array_equal(near[near != 0.0], A[near != 0.0])
    factor = TaskFactor(entries, A, RIDGE)
    np.testing.assert_allclose(factor.solve(y), LabelFactor(entries, near, RIDGE).solve(y), atol=1e-9)
    np.testing.assert_array_equal(factor.A, near)
    assert not factor.exact
    assert TaskFactor(entries, near, RIDGE).exact


def test_the_second_derivative_of_one_panel_is_exact(rng):
    """The road of complete labels, seen from the labels."""
    observed = observe(rng, np.ones((N_ROWS, 3), dtype=bool))
    A, D = random_psd(rng, 3), random_psd(rng, 3) - random_psd(rng, 3)
    by_panel, by_labels = (MissingLabelRidge(observed, 0.05, road).solve(A, tol=1e-10) for road in ("tasks", "labels"))
    np.testing.assert_allclose(by_panel.hessian(D), by_labels.hessian(D), rtol=1e-8)


def test_a_panel_costs_one_decomposition_and_products_of_matrices(rng):
    """Two panels of eight tasks, or sixteen tasks at rows of their own: the first is much cheaper, and chosen."""
    X, Y = related_tasks(rng, 240, 16)
    Y -= Y.mean(axis=0)
    same, other = np.zeros((2, 240, 16), dtype=bool)
    same[:120, ::2], same[120:, 1::2] = True, True
    for task in range(16):
        other[rng.permutation(240)[:120], task] = True
    values, rows = linalg.eigh(np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)))
    rows, values = rows[:, 1:] * np.sqrt(values[1:]), values[1:]
    one, two = (
        ObservedRows(rows, values, TableLabels(Y * known, known.astype(float)), intercept=False)
        for known in (same, other)
    )
    assert roads(one, 1e-4)["tasks"] < 0.5 * roads(two, 1e-4)["tasks"]
    assert choose_road(one, 1e-4) == "tasks"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_fits_of_panels_are_those_of_other_roads(rng, fit_intercept, monkeypatch):
    """Certified, and the same minimum to the tolerance."""
    X, Y = related_tasks(rng, 80, 8)
    Y[:30, ::2], Y[45:, 1::2], Y[3, 2] = np.nan, np.nan, 0.5
    objectives = []
    for road in ("tasks", "labels"):
        monkeypatch.setattr("skmtl.solvers.missing_labels.choose_road", lambda observed, alpha, road=road: road)
        est = MultiTaskRegressor(Sparse(0.9), kernel="rbf", alpha=1e-3, tol=1e-8, fit_intercept=fit_intercept).fit(X, Y)
        assert est.solution_.converged
        objectives.append(est.solution_.objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-8)


@pytest.mark.parametrize(("n_rows", "n_labels"), [(4, 8), (3, 5)])
def test_density_counts_rows_that_have_labels(rng, n_rows, n_labels):
    known = np.zeros((N_ROWS, 2), dtype=bool)
    known[:n_rows] = True
    known[0, 1] = n_labels == 2 * n_rows
    assert entries_of(rng, known).density == n_labels / (2 * n_rows)


def test_the_second_derivative_is_a_mean_of_blocks_and_all_tasks(rng):
    """The more labels other blocks have at the same rows, the more of the second."""
    A, D = random_psd(rng, N_TASKS), random_psd(rng, N_TASKS) - random_psd(rng, N_TASKS)
    known = known_in_panels(rng)
    observed = observe(rng, known)
    entries, P = observed.entries(), rng.standard_normal((N_ROWS, N_TASKS))
    factor = TaskFactor(entries, A, RIDGE)
    by_mean, by_blocks = MeanSystem(observed, A, RIDGE).along(P)(D), label_products(factor, entries, P)(D)
    mean = 0.5 * known.mean() * (1.0 - 8 / 30)
    expected = mean * by_mean + (1.0 - mean) * by_blocks
    np.testing.assert_allclose(TaskSystem(factor, observed, A, RIDGE).along(P)(D), expected, rtol=1e-9)


def test_rows_of_one_label_make_no_panel(rng):
    """Nor is a table of rows by tasks made of them."""
    known = np.zeros((N_ROWS, 3), dtype=bool)
    known[np.arange(N_ROWS), np.arange(N_ROWS) % 3] = True
    assert entries_of(rng, known).panels == []
    # A single row with two labels, which is common to two tasks, is nothing beside the others.
    known[0] = True
    assert entries_of(rng, known).panels == []
