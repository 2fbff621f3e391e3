"""Leaving one row out in closed form is what refitting without it gives."""

import sys

import numpy as np
import pytest
from problems import gram, related_tasks

from skmtl import MultiTaskRegressorCV
from skmtl.estimators.calibration import held_out
from skmtl.features import LinearMap, PrecomputedMap
from skmtl.losses import LOSSES
from skmtl.solvers import make_design
from skmtl.solvers.leave_one_out import CompleteLeaveOneOut, MissingLeaveOneOut, make_leave_one_out
from skmtl.targets import LongLabels, TableLabels

STRUCTURES = [np.eye(3), np.array([[2.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 1.5]]), np.ones((3, 3))]


def refit(K, rows, tasks, y, weight, A, ridge, *, intercept):
    """Predictions at all rows, for all tasks, by the dense system of the labels; a task without labels has b = 0."""
    M = K[np.ix_(rows, rows)] * A[np.ix_(tasks, tasks)] + ridge * np.diag(1.0 / weight)
    there = np.unique(tasks) if intercept else np.zeros(0, dtype=int)
    E = (tasks[:, None] == there).astype(float)
    system = np.block([[M, E], [E.T, np.zeros((len(there), len(there)))]])
    solution = np.linalg.solve(system, np.r_[y, np.zeros(len(there))])
    b = np.zeros(len(A))
    b[there] = solution[len(y) :]
    return K[:, rows] @ (solution[: len(y), None] * A[tasks]) + b


def make_labels(layout, rng, n, *, intercept):
    """Labels whose weighted means are zero where there are intercepts, and (rows, tasks, y, weight) of each."""
    if layout == "long":
        tasks = np.arange(n) % 3
        rows, y, weight = np.arange(n), rng.standard_normal(n), rng.uniform(0.5, 2.0, n)
    else:
        known = rng.random((n, 3)) < (1.0 if layout == "complete" else 0.6)
        known[:3] = True
        rows, tasks = np.nonzero(known)
        y = rng.standard_normal(len(rows))
        weight = {"gaps": np.ones(len(rows)), "weights": rng.uniform(0.5, 2.0, len(rows))}.get(layout)
        weight = rng.uniform(0.5, 2.0, n)[rows] if weight is None else weight
    if intercept:
        y -= (np.bincount(tasks, weight * y) / np.bincount(tasks, weight))[tasks]
    if layout == "long":
        return LongLabels.from_rows(y, weight, tasks, 3), (rows, tasks, y, weight)
    table, weights = np.zeros((n, 3)), np.zeros((n, 3))
    table[rows, tasks], weights[rows, tasks] = y, weight
    return TableLabels(table, weights), (rows, tasks, y, weight)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("layout", ["complete", "gaps", "weights", "long"])
def test_a_row_left_out_is_a_refit_without_it(layout, kernel, intercept, rng):
    n, alpha = 24, 3e-2
    X, _ = related_tasks(rng, n, 3, n_features=4)
    K = gram(X, kernel)
    labels, (rows, tasks, y, weight) = make_labels(layout, rng, n, intercept=intercept)
    feature_map, Z = (LinearMap(), X) if kernel == "linear" else (PrecomputedMap(), K)
    design = make_design(feature_map, Z, labels.design_weight(), intercept=intercept, overwrite=False)
    predictions = make_leave_one_out(design, labels, intercept=intercept).predict([(A, alpha) for A in STRUCTURES])
    ridge = weight.sum() / 3 * alpha
    for A, F in zip(STRUCTURES, predictions, strict=True):
        assert F.shape == labels.y.shape
        F = labels.in_rows(F) if layout == "long" else F
        for i in range(n):
            stay, out = rows != i, rows == i
            expected = refit(K, rows[stay], tasks[stay], y[stay], weight[stay], A, ridge, intercept=intercept)
            found = F[i] if layout == "long" else F[i, tasks[out]]
            np.testing.assert_allclose(found, expected[i, tasks[out]], atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("layout", ["complete", "gaps", "weights", "long"])
def test_how_far_errors_spread_and_go_together(layout, kernel, intercept, rng):
    """By the inverse of the dense system: the covariance of the errors of a row's labels is that of its block."""
    n, alpha, A = 24, 3e-2, STRUCTURES[1]
    X, _ = related_tasks(rng, n, 3, n_features=4)
    K = gram(X, kernel)
    labels, (rows, tasks, _, weight) = make_labels(layout, rng, n, intercept=intercept)
    feature_map, Z = (LinearMap(), X) if kernel == "linear" else (PrecomputedMap(), K)
    design = make_design(feature_map, Z, labels.design_weight(), intercept=intercept, overwrite=False)
    found = make_leave_one_out(design, labels, intercept=intercept).residuals(A, alpha)
    ridge = weight.sum() / 3 * alpha
    inverse = np.linalg.inv(K[np.ix_(rows, rows)] * A[np.ix_(tasks, tasks)] + ridge * np.diag(1.0 / weight))
    if intercept:
        E = (tasks[:, None] == np.arange(3)).astype(float)
        inverse -= inverse @ E @ np.linalg.solve(E.T @ inverse @ E, E.T @ inverse)
    spread, sums, counts = np.full((n, 3), np.inf), np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(n):
        own = np.flatnonzero(rows == i)
        covariance = np.linalg.inv(inverse[np.ix_(own, own)]) / ridge
        spread[i, tasks[own]] = np.sqrt(np.diag(covariance))
        sums[np.ix_(tasks[own], tasks[own])] += covariance
        counts[np.ix_(tasks[own], tasks[own])] += 1.0
    expected = labels.arrange(spread[rows, tasks]) if layout == "long" else spread
    np.testing.assert_allclose(found.spread, expected, rtol=1e-7)
    assert np.all(found.error[labels.weight == 0.0] == 0.0)
    # The mean over rows that have labels of both tasks; nothing where none has.
    np.testing.assert_allclose(found.together, sums / np.maximum(counts, 1.0), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_only_label_of_a_task_is_predicted_by_its_mean(kernel, rng):
    n = 20
    X, _ = related_tasks(rng, n, 3, n_features=4)
    y, weight = rng.standard_normal((n, 3)), np.ones((n, 3))
    weight[1:, 2] = 0.0
    y[0, 2] = 0.0
    labels = TableLabels(y, weight)
    Z, feature_map = (X, LinearMap()) if kernel == "linear" else (gram(X, kernel), PrecomputedMap())
    design = make_design(feature_map, Z, labels.design_weight(), intercept=True, overwrite=False)
    (F,) = make_leave_one_out(design, labels, intercept=True).predict([(STRUCTURES[1], 1e-2)])
    assert np.all(np.isfinite(F))
    assert F[0, 2] == 0.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", ["weights", "long"])
def test_scores_to_calibrate_by_are_those_of_refits_about_the_mean_of_all(layout, intercept, rng):
    """Without a label the mean of the others lies on its far side: that much is taken back, where there is a mean."""
    n, alpha, A = 15, 3e-2, STRUCTURES[1]
    X, _ = related_tasks(rng, n, 3, n_features=4)
    labels, (rows, tasks, y, weight) = make_labels(layout, rng, n, intercept=intercept)
    design = make_design(LinearMap(), X, labels.design_weight(), intercept=intercept, overwrite=False)
    F = held_out(design, labels, A, alpha, LOSSES["square"](), intercept=intercept)
    F = labels.in_rows(F) if layout == "long" else F
    total = np.bincount(tasks, weight)
    for i in range(n):
        stay, out = rows != i, np.flatnonzero(rows == i)
        ridge = weight.sum() / 3 * alpha
        refitted = refit(X @ X.T, rows[stay], tasks[stay], y[stay], weight[stay], A, ridge, intercept=intercept)
        for k in out:
            # The mean of all is zero, and that of the others is theirs.
            mean = np.average(y[stay & (tasks == tasks[k])], weights=weight[stay & (tasks == tasks[k])])
            assert mean == pytest.approx(-weight[k] * y[k] / (total[tasks[k]] - weight[k])) or not intercept
            found = F[i] if layout == "long" else F[i, tasks[k]]
            assert found == pytest.approx(refitted[i, tasks[k]] - (mean if intercept else 0.0), abs=1e-9)


def test_a_row_without_weight_is_in_nobodys_way(rng):
    """All others are predicted as if it were not there, and it says nothing itself."""
    n, A, alpha = 12, STRUCTURES[1], 3e-2
    X, Y = related_tasks(rng, n, 3, n_features=4)
    weight = rng.uniform(0.5, 2.0, n)
    weight[5] = 0.0
    Y = Y - weight @ Y / weight.sum()
    there = np.flatnonzero(weight)
    found = []
    for rows in (np.arange(n), there):
        labels = TableLabels(Y[rows], np.repeat(weight[rows, None], 3, axis=1))
        assert labels.complete()
        design = make_design(LinearMap(), X[rows], labels.design_weight(), intercept=True, overwrite=False)
        left_out = make_leave_one_out(design, labels, intercept=True)
        found.append((left_out.predict([(A, alpha)])[0], left_out.residuals(A, alpha)))
    (F, whole), (G, part) = found
    np.testing.assert_allclose(F[there], G)
    np.testing.assert_allclose(whole.error[there], part.error, atol=1e-12)
    np.testing.assert_allclose(whole.spread[there], part.spread)
    np.testing.assert_allclose(whole.together, part.together)
    np.testing.assert_array_equal(whole.error[5], 0.0)
    np.testing.assert_array_equal(whole.spread[5], np.inf)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("others", [0.0, 1e-20, 0.5])
def test_a_row_with_all_the_weight_is_predicted_by_nothing(others, intercept, rng):
    """With an intercept its error is the label, and nobody knows how large it is to be; as where labels are missing."""
    X, weight = rng.standard_normal((8, 3)), np.r_[1.0, np.full(7, others)]
    Y = rng.standard_normal((8, 3))
    Y -= intercept * (weight @ Y) / weight.sum()
    labels = TableLabels(Y, np.repeat(weight[:, None], 3, axis=1))
    design = make_design(LinearMap(), X, labels.design_weight(), intercept=intercept, overwrite=False)
    roads = [road(design, labels, intercept=intercept) for road in (CompleteLeaveOneOut, MissingLeaveOneOut)]
    (error, spread, together), missing = (road.residuals(STRUCTURES[1], 0.1) for road in roads)
    heavy = weight >= 0.5
    np.testing.assert_allclose(error[heavy], missing.error[heavy], atol=1e-9)
    np.testing.assert_allclose(spread[heavy], missing.spread[heavy], rtol=1e-9)
    assert np.all(np.isfinite(together))
    assert np.all(np.isinf(spread[0])) == (intercept and others < 0.1)
    if intercept and others < 0.1:
        np.testing.assert_array_equal(error[0], Y[0])
    assert np.all(np.isfinite(roads[0].predict([(np.eye(3), 0.1)])))


@pytest.mark.parametrize("alpha", [1e12, 1e-12])
def test_labels_are_known_to_be_the_last_of_their_task_with_any_alpha(alpha, rng):
    """Predictors of next to nothing leave the mean of the others, and a task of one label has none."""
    n = 9
    y = rng.standard_normal((n, 2))
    weight = np.ones((n, 2))
    weight[1:, 1] = 0.0
    y = (y - np.average(y, axis=0, weights=weight)) * (weight > 0.0)
    labels = TableLabels(y, weight)
    design = make_design(LinearMap(), rng.standard_normal((n, 2)), np.ones(n), intercept=True, overwrite=False)
    error, spread, _ = make_leave_one_out(design, labels, intercept=True).residuals(np.eye(2), alpha)
    assert np.isfinite(spread).tolist() == [[True, False]] * n
    if alpha > 1.0:
        np.testing.assert_allclose(error[:, 0], y[:, 0] * n / (n - 1), rtol=1e-6)


def test_leaving_out_of_more_labels_than_a_matrix_can_have_is_refused(rng, monkeypatch):
    """On both sides of the limit: of few labels their matrix, of many that of the features."""
    X, Y = rng.standard_normal((12, 3)), rng.standard_normal((12, 2))
    Y[rng.random(12) < 0.3, 1] = np.nan
    module = sys.modules[MissingLeaveOneOut.__module__]
    search = MultiTaskRegressorCV(kernel="linear", alphas=[0.1], mus=[0.9], cv="loo")
    # Three features of two tasks.
    monkeypatch.setattr(module, "LARGEST", 6**2)
    assert np.isfinite(search.fit(X, Y).best_score_)
    monkeypatch.setattr(module, "LARGEST", 6**2 - 1)
    labels = int(np.isfinite(Y).sum())
    with pytest.raises(
        ValueError, match=f"leaving one out of {labels} labels, .* a matrix that is too large; use folds"
    ):
        search.fit(X, Y)
