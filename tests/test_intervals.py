"""Intervals, what is kept for them, and who has none."""

import numpy as np
import pandas as pd
import pytest
from problems import random_psd, related_tasks, with_gaps
from scipy import sparse
from test_leave_one_out import refit

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV, load_model, save_model
from skmtl.estimators.evidence import Evidence
from skmtl.estimators.uncertainty import unit_quantile
from skmtl.features import LinearMap
from skmtl.losses import Square
from skmtl.penalties import Fixed
from skmtl.solvers import held_out, make_design, posterior
from skmtl.solvers.held_out import fold_residuals, held_out_residuals
from skmtl.targets import LongLabels, TableLabels

COVERAGES = (0.5, 0.8, 0.9)


def heavy_tailed(rng, n):
    """Three related tasks with noise that no Gaussian has, of different sizes."""
    X = rng.uniform(-2.0, 2.0, (n, 2))
    f = np.sin(X @ np.array([[1.0, 1.2, 0.2], [0.3, 0.1, 1.0]]))
    return X, (f + 0.2 * rng.standard_t(3, (n, 3))) * np.array([1.0, 10.0, 0.1])


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_intervals_cover_as_often_as_they_say(share, rng):
    """Noise with heavy tails, of which the model knows nothing; some 6000 labels know a share to one in a hundred."""
    X, Y = heavy_tailed(rng, 2150)
    train = with_gaps(rng, Y[:150], share) if share else Y[:150]
    est = MultiTaskRegressor(alpha=1e-3, kernel="rbf", gamma=0.5).fit(X[:150], train)
    for coverage in COVERAGES:
        low, high = est.predict_interval(X[150:], coverage=coverage)
        covered = np.mean((low <= Y[150:]) & (Y[150:] <= high), axis=0)
        # The quantile is one of some 150 errors: two standard deviations of it, for each task.
        bound = 2.0 * np.sqrt(coverage * (1.0 - coverage) / (150 * (1.0 - share)))
        assert np.all(np.abs(covered - coverage) < bound + 0.02)


def test_wider_promises_are_wider_intervals(rng):
    X, Y = heavy_tailed(rng, 80)
    est = MultiTaskRegressor(alpha=1e-2, kernel="rbf").fit(X, Y)
    widths = [np.subtract(*est.predict_interval(X, coverage=c)[::-1]) for c in COVERAGES]
    assert np.all(widths[0] < widths[1])
    assert np.all(widths[1] < widths[2])
    low, high = est.predict_interval(X, coverage=0.8)
    np.testing.assert_allclose((low + high) / 2.0, est.predict(X), atol=1e-9)


def test_intervals_are_wider_where_there_are_no_rows(rng):
    X, Y = heavy_tailed(rng, 80)
    est = MultiTaskRegressor(alpha=1e-3, kernel="rbf", gamma=0.5).fit(X, Y)
    _, std = est.predict(np.array([[0.0, 0.0], [30.0, 30.0]]), return_std=True)
    assert np.all(std[1] > 1.2 * std[0])
    assert np.all(std[0] > est.noise_)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3.0])
@pytest.mark.parametrize("layout", ["complete", "gaps", "weights", "groups"])
def test_a_target_that_is_always_the_same_is_covered(value, layout, rng):
    """Its interval is that value, to the last digit: half of an interval without length cannot be had."""
    X, Y = heavy_tailed(rng, 40)
    Y[:, 1] = value
    options = {"weights": {"sample_weight": rng.uniform(0.1, 3.0, 40)}, "groups": {"groups": np.arange(40) // 2}}
    train = with_gaps(rng, Y) if layout == "gaps" else Y
    est = MultiTaskRegressor(kernel="rbf", gamma=0.5).fit(X, train, **options.get(layout, {}))
    for coverage in COVERAGES:
        low, high = est.predict_interval(rng.normal(size=(20, 2)), coverage=coverage)
        assert np.all(low[:, 1] == value)
        assert np.all(high[:, 1] == value)
        assert np.all(high[:, [0, 2]] > low[:, [0, 2]])


def test_a_value_that_was_always_there_is_claimed_no_surer_than_its_labels_allow(rng):
    """Nine labels allow intervals of 90%: one label that differs among ten is missed where it is the new one only."""
    X = rng.normal(size=(10, 2))
    held = []
    for k in range(10):
        y = np.zeros(10)
        y[k] = 1.0
        est = MultiTaskRegressor(kernel="rbf").fit(X[:9], y[:9])
        low, high = est.predict_interval(X[9:], coverage=0.9)
        held.append(low[0] <= y[9] <= high[0])
    assert held == [True] * 9 + [False]
    assert low[0] == high[0] == 0.0
    with pytest.raises(ValueError, match="needs at least 9 labels"):
        MultiTaskRegressor(kernel="rbf").fit(X[:8], np.zeros(8)).predict_interval(X, coverage=0.9)


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.8, 0.9])
def test_a_new_unit_is_covered_whatever_the_scores(coverage, rng):
    """Each of ten units in turn is the new one: of its scores at least ``coverage`` is reached, on average of units."""
    for _ in range(20):
        sizes = rng.integers(1, 6, size=10)
        unit = np.repeat(np.arange(10), sizes)
        # Scores of a unit are near one another; some are the same.
        scores = np.round(np.repeat(rng.normal(size=10), sizes) + 0.3 * rng.normal(size=len(unit)), 1)
        order = np.argsort(scores)
        scores, unit = scores[order], unit[order]
        shares = [
            np.mean(scores[unit == k] <= unit_quantile(scores[unit != k], unit[unit != k], coverage)) for k in range(10)
        ]
        assert coverage - 1e-12 <= np.mean(shares)


def test_copies_of_labels_are_no_more_labels(rng):
    scores = np.sort(rng.random(19))
    for coverage, place in [(0.05, 1), (0.5, 10), (0.8, 16), (0.9, 18), (0.95, 19)]:
        assert unit_quantile(scores, np.arange(19), coverage) == scores[place - 1]
        assert unit_quantile(np.repeat(scores, 7), np.repeat(np.arange(19), 7), coverage) == scores[place - 1]


def test_too_few_labels_for_the_coverage_asked(rng):
    X, Y = heavy_tailed(rng, 30)
    Y[9:, 1] = np.nan
    est = MultiTaskRegressor(kernel="rbf").fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    est.predict_interval(X, coverage=0.9)
    with pytest.raises(ValueError, match=r"needs at least 19 labels .* task 'b' has 9; ask for at most 0.9,"):
        est.predict_interval(X, coverage=0.95)
    for wrong in (0.0, 1.0, 90, "a", None, [0.9]):
        with pytest.raises(ValueError, match=r"coverage=.* must lie between 0 and 1, such as 0.9"):
            est.predict_interval(X, coverage=wrong)


def test_multiplying_all_weights_changes_nothing(rng):
    X, Y = heavy_tailed(rng, 40)
    weight = rng.uniform(0.5, 2.0, 40)
    one, two = (MultiTaskRegressor(kernel="rbf", tol=1e-10).fit(X, Y, w) for w in (weight, 7.0 * weight))
    for a, b in zip(one.predict(X, return_std=True), two.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(one.predict_interval(X), two.predict_interval(X), rtol=1e-5)


def test_units_of_the_targets(rng):
    X, Y = heavy_tailed(rng, 40)
    one, two = (MultiTaskRegressor(kernel="rbf", tol=1e-10).fit(X, c * Y) for c in (1.0, 1e6))
    np.testing.assert_allclose(1e6 * one.predict(X, return_std=True)[1], two.predict(X, return_std=True)[1], rtol=1e-6)
    np.testing.assert_allclose(1e6 * one.noise_, two.noise_, rtol=1e-6)


def test_one_column_and_own_tasks(rng):
    X, Y = heavy_tailed(rng, 45)
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y[:, 0])
    # What is known of one task may be one column, too.
    for known in (Y[:, 0], Y[:, :1]):
        np.testing.assert_array_equal(est.predict(X, known=known), Y[:, 0])
    mean, std = est.predict(X, return_std=True)
    assert mean.shape == std.shape == est.predict_interval(X)[0].shape == (45,)
    tasks = np.array(["a", "b", "c"])[np.arange(45) % 3]
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y[np.arange(45), np.arange(45) % 3], tasks=tasks)
    rows = np.arange(45), np.arange(45) % 3
    for own, whole in zip(est.predict(X, tasks, return_std=True), est.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(own, whole[rows], rtol=1e-10)
    for own, whole in zip(est.predict_interval(X, tasks), est.predict_interval(X), strict=True):
        np.testing.assert_allclose(own, whole[rows], rtol=1e-10)
    known = pd.DataFrame({"b": Y[:, 1]})
    np.testing.assert_allclose(est.predict(X, tasks, known=known), est.predict(X, known=known)[rows])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("wide", [False, True])
def test_sparse_rows_are_as_sure_as_dense_ones(kernel, wide, rng):
    X = rng.normal(size=(20, 30 if wide else 6)) * (rng.random((20, 30 if wide else 6)) < 0.4)
    Y = X @ rng.normal(size=(X.shape[1], 2)) + rng.normal(size=(20, 2))
    one = MultiTaskRegressor(kernel=kernel, tol=1e-10).fit(X, Y)
    two = MultiTaskRegressor(kernel=kernel, tol=1e-10).fit(sparse.csr_array(X), Y)
    new = rng.normal(size=(5, X.shape[1]))
    expected = one.predict(new, return_std=True)[1]
    np.testing.assert_allclose(two.predict(sparse.csr_array(new), return_std=True)[1], expected, rtol=1e-6)


def test_blocks_change_nothing(rng, monkeypatch):
    X, Y = heavy_tailed(rng, 40)
    for Z in (Y, with_gaps(rng, Y)):
        est = MultiTaskRegressor(kernel="rbf").fit(X, Z)
        new = rng.normal(size=(300, 2))
        known = np.where(rng.random((300, 3)) < 0.5, 1.0, np.nan)
        whole = *est.predict(new, return_std=True), *est.predict(new, return_std=True, known=known)
        with monkeypatch.context() as patch:
            patch.setattr("skmtl._rows.BLOCK_ENTRIES", 64)
            parts = *est.predict(new, return_std=True), *est.predict(new, return_std=True, known=known)
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("long", [False, True])
def test_folds_are_near_leaving_one_out(long, rng, monkeypatch):
    """Where a matrix would be too large, a tenth of the rows is left out at a time."""
    X, Y = heavy_tailed(rng, 200)
    if long:
        tasks = np.arange(200) % 3
        est = MultiTaskRegressor(kernel="rbf", gamma=0.5).fit(X, Y[np.arange(200), tasks], tasks=tasks)
    else:
        est = MultiTaskRegressor(kernel="rbf", gamma=0.5).fit(X, with_gaps(rng, Y))
    kept: Evidence = est.evidence_
    road = kept.design, kept.labels, kept.structure, kept.alpha
    one, folds = (f(*road, intercept=True) for f in (held_out_residuals, fold_residuals))
    known = kept.labels.weight > 0.0
    assert np.corrcoef(one.error[known], folds.error[known])[0, 1] > 0.98
    np.testing.assert_allclose(one.spread[known], folds.spread[known], rtol=0.2)
    monkeypatch.setattr(held_out, "LARGEST", 100)
    assert np.all(held_out_residuals(*road, intercept=True).error == folds.error)


@pytest.mark.parametrize("layout", ["complete", "gaps", "long"])
@pytest.mark.parametrize("intercept", [True, False])
def test_folds_of_one_row_leave_one_out(layout, intercept, rng, monkeypatch):
    """Also where the rows that are left have all labels, as without the only row that has a gap."""
    X, Y = heavy_tailed(rng, 30)
    weight, tasks = rng.uniform(0.5, 2.0, 30), None
    if layout == "gaps":
        Y[:8, 0] = Y[5:12, 2] = np.nan
    if layout == "long":
        tasks = np.arange(30) % 3
        Y = Y[np.arange(30), tasks]
    est = MultiTaskRegressor(kernel="rbf", gamma=0.5, alpha=0.02, fit_intercept=intercept)
    kept: Evidence = est.fit(X, Y, sample_weight=weight, tasks=tasks).evidence_
    road = kept.design, kept.labels, kept.structure, kept.alpha
    one = held_out_residuals(*road, intercept=intercept)
    monkeypatch.setattr(held_out, "N_FOLDS", 1000)
    monkeypatch.setattr(held_out, "ACCURACY", 1e-10)
    folds = fold_residuals(*road, intercept=intercept)
    known = kept.labels.weight > 0.0
    np.testing.assert_allclose(folds.error[known], one.error[known], atol=1e-6)
    np.testing.assert_allclose(folds.spread[known], one.spread[known], rtol=1e-6)
    assert np.all(folds.error[~known] == 0.0)
    assert np.all(folds.spread[~known] == np.inf)
    if layout != "complete":
        scores = held_out.held_out_scores(*road, loss=Square(), intercept=intercept)
        np.testing.assert_allclose(scores[known], (kept.labels.y - one.error)[known], atol=1e-3)


def test_what_goes_together_is_the_same_by_folds(rng, monkeypatch):
    X, Y = heavy_tailed(rng, 30)
    kept: Evidence = MultiTaskRegressor(kernel="rbf", gamma=0.5, alpha=0.02).fit(X, Y).evidence_
    road = kept.design, kept.labels, kept.structure, kept.alpha
    monkeypatch.setattr(held_out, "N_FOLDS", 1000)
    one, folds = (f(*road, intercept=True).together for f in (held_out_residuals, fold_residuals))
    assert np.abs(one - np.diag(np.diag(one))).max() > 1e-3
    np.testing.assert_allclose(folds, one, rtol=1e-5)


def posterior_by_the_book(K, rows, tasks, weight, A, ridge, at):
    """Covariances of all tasks at one row, for noise of variance one, by the dense system with its border."""
    M = K[np.ix_(rows, rows)] * A[np.ix_(tasks, tasks)] + ridge * np.diag(1.0 / weight)
    there, taught = np.unique(tasks), np.isin(np.arange(len(A)), tasks).astype(float)
    E = (tasks[:, None] == there).astype(float)
    system = np.block([[M, E], [E.T, np.zeros((len(there), len(there)))]])
    # What labels and constants say of the tasks at that row.
    cross = np.vstack([K[rows, at][:, None] * A[tasks], np.eye(len(A))[there]])
    S = K[at, at] * A - cross.T @ np.linalg.solve(system, cross)
    return np.where(np.outer(taught, taught) > 0.0, S, 0.0) / ridge


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("long", [False, True])
def test_folds_of_groups_by_the_book(long, unit, rng):
    """Errors and covariances of fits without each group; the last task is in one of them, and teaches nothing alone."""
    n, alpha, A = 24, 0.05, random_psd(rng, 3)
    X, groups = rng.standard_normal((n, 2)), np.repeat(np.arange(4), 6)
    weight = unit * rng.uniform(0.5, 2.0, (n, 3))
    weight[rng.random((n, 3)) < 0.3] = 0.0
    weight[:, 2] *= groups == 1
    if long:
        own = np.where(groups == 1, np.arange(n) % 3, np.arange(n) % 2)
        weight = np.where(own[:, None] == np.arange(3), unit * rng.uniform(0.5, 2.0, (n, 3)), 0.0)
        labels = LongLabels.from_rows(rng.standard_normal(n), weight[np.arange(n), own], own, 3)
    else:
        labels = TableLabels(rng.standard_normal((n, 3)), weight)
    Y, ridge = (labels.in_rows(labels.y)), float(weight.sum()) / 3 * alpha
    Y = Y[:, None] if long else Y
    design = make_design(LinearMap(), X, labels.design_weight(), intercept=True, overwrite=False)
    error, spread, together = fold_residuals(design, labels, A, alpha, intercept=True, groups=groups)
    error, spread = (labels.in_rows(part) for part in (error, spread))
    K, sums, counts = X @ X.T, np.zeros((3, 3)), np.zeros((3, 3))
    for group in range(4):
        rows, tasks = np.nonzero(weight * (groups != group)[:, None])
        w, y = weight[rows, tasks], np.broadcast_to(Y, (n, 3))[rows, tasks]
        F = refit(K, rows, tasks, y, w, A, ridge, intercept=True)
        S = np.array([posterior_by_the_book(K, rows, tasks, w, A, ridge, at) for at in range(n)])
        taught = np.isin(np.arange(3), tasks)
        sums += S[groups == group].mean(axis=0)
        counts += np.outer(taught, taught)
        for i, t in zip(*np.nonzero(weight * (groups == group)[:, None]), strict=True):
            here = (i,) if long else (i, t)
            expected = np.sqrt(S[i, t, t] + 1.0 / weight[i, t]) if taught[t] else np.inf
            assert spread[here] == pytest.approx(expected, rel=1e-5)
            if taught[t]:
                assert error[here] == pytest.approx(np.broadcast_to(Y, (n, 3))[i, t] - F[i, t], abs=1e-4)
    assert counts[2, 2] == 3
    noise = np.diag(np.count_nonzero(weight, axis=0) / weight.sum(axis=0))
    np.testing.assert_allclose(together, sums / counts + noise, rtol=1e-4, atol=1e-6 * np.abs(together).max())


@pytest.mark.parametrize(("n", "n_folds"), [(30, 10), (7, 7)])
def test_a_tenth_of_the_rows_is_left_out_at_a_time(n, n_folds, rng, monkeypatch):
    """Rows without weight are in no fold, and those with weight in one."""
    fits, without = [], held_out._without
    monkeypatch.setattr(held_out, "_without", lambda *given, **named: fits.append(given[5]) or without(*given, **named))
    X, Y, weight = rng.standard_normal((n + 3, 2)), rng.standard_normal((n + 3, 2)), np.r_[np.ones(n), np.zeros(3)]
    labels = TableLabels(Y, np.repeat(weight[:, None], 2, axis=1))
    design = make_design(LinearMap(), X, labels.design_weight(), intercept=True, overwrite=False)
    fold_residuals(design, labels, np.eye(2), 0.1, intercept=True)
    assert len(fits) == n_folds
    np.testing.assert_array_equal(np.sum(fits, axis=0), weight)
    assert {int(rows.sum()) for rows in fits} <= {n // n_folds}


def test_functions_that_do_not_fit_in_a_matrix_are_left_uncertain(rng, monkeypatch):
    """With fewer functions the labels say less, and with enough of them it makes no difference."""
    X, Y = heavy_tailed(rng, 60)
    est = MultiTaskRegressor(kernel="rbf", gamma=0.3, alpha=1e-2).fit(X, with_gaps(rng, Y))
    new = rng.uniform(-2.0, 2.0, (20, 2))
    kept: Evidence = est.evidence_
    exact = kept.posterior.variances(kept.rows(new))
    for size, rtol in ((9, None), (90, 1e-3)):
        monkeypatch.setattr(posterior, "LARGEST", size**2)
        near = posterior.make_posterior(kept.design, kept.labels, kept.structure, kept.alpha, intercept=True)
        assert isinstance(near, posterior.FeaturePosterior)
        if rtol is None:
            assert np.all(near.variances(kept.rows(new)) > exact)
        else:
            np.testing.assert_allclose(near.variances(kept.rows(new)), exact, rtol=rtol)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "n_components": 10, "random_state": 0},
        {"kernel": "rbf", "metric_rounds": 1},
    ],
)
def test_saved_models_are_as_sure(params, rng, tmp_path):
    X, Y = heavy_tailed(rng, 60)
    est = MultiTaskRegressor(**params).fit(X, with_gaps(rng, Y))
    before = *est.predict(X, return_std=True), *est.predict_interval(X), est.predict(X, known=Y[:, :3] * [1, np.nan, 1])
    save_model(est, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    after = *again.predict(X, return_std=True), *again.predict_interval(X)
    after = *after, again.predict(X, known=Y[:, :3] * [1, np.nan, 1])
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_files_hold_no_matrix_of_the_size_of_the_kernel(rng, tmp_path):
    X, Y = heavy_tailed(rng, 400)
    est = MultiTaskRegressor(kernel="rbf").fit(X, with_gaps(rng, Y))
    est.predict_interval(X)
    save_model(est, tmp_path / "model.skops")
    # Rows, labels, weights and coefficients are 400 x (2 + 3 + 3 + 3) numbers; the kernel is 400 x 400.
    assert (tmp_path / "model.skops").stat().st_size < 8 * 400 * 11 + 60_000
    wide = MultiTaskRegressor().fit(sparse.csr_array(X), Y)
    save_model(wide, tmp_path / "sparse.skops")
    new = sparse.csr_array(X[:5])
    again = load_model(tmp_path / "sparse.skops").predict(new, return_std=True)
    np.testing.assert_array_equal(again, wide.predict(new, return_std=True))


def test_a_search_hands_on(rng):
    X, Y = heavy_tailed(rng, 60)
    search = MultiTaskRegressorCV(alphas=[1e-2, 1e-1], mus=[0.9], cv=3).fit(X, Y)
    best = search.best_estimator_
    known = np.where(rng.random(Y.shape) < 0.5, Y, np.nan)
    for one, other in zip(
        search.predict(X, known=known, return_std=True), best.predict(X, known=known, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(search.predict_interval(X, coverage=0.8), best.predict_interval(X, coverage=0.8))
    np.testing.assert_array_equal(search.noise_, best.noise_)


def test_who_has_no_standard_deviations_says_why(rng, monkeypatch):
    X, Y = heavy_tailed(rng, 30)
    with pytest.raises(ValueError, match=r"loss='huber' has no posterior in closed form.*loss='square'"):
        MultiTaskRegressor(loss="huber").fit(X, Y).predict(X, return_std=True)
    K = X @ X.T
    with pytest.raises(ValueError, match=r"'precomputed' does not say k\(x, x\) of a new row.*as a function"):
        MultiTaskRegressor(kernel="precomputed").fit(K, Y).predict_interval(K)
    monkeypatch.setattr("skmtl.estimators.blocks.LARGE", 10)
    est = MultiTaskRegressor().fit(X, Y)
    with pytest.raises(ValueError, match=r"read in blocks.*fit the same parameters to a sample"):
        est.predict(X, known=Y)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.ones((30, 2)), r"known has shape \(30, 2\); it must be \(30, 3\)"),
        (pd.DataFrame({"a": np.ones(30), "z": np.ones(30)}), "columns that are no tasks: z"),
        (np.full((30, 3), np.inf), "known has infinite values"),
    ],
)
def test_known_labels_that_make_no_sense(known, message, rng):
    X, Y = heavy_tailed(rng, 30)
    est = MultiTaskRegressor().fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match=message):
        est.predict(X, known=known)


def test_independent_tasks_with_independent_noise_learn_nothing_from_one_another(rng):
    X, Y = heavy_tailed(rng, 40)
    est = MultiTaskRegressor(Fixed(np.eye(3)), kernel="rbf").fit(X, Y)
    est.evidence_.noise_correlation = np.eye(3)
    known = np.where(np.arange(3) == 1, Y, np.nan)
    np.testing.assert_allclose(est.predict(X, known=known)[:, [0, 2]], est.predict(X)[:, [0, 2]], atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_noise_that_goes_together_is_found_and_used(share, rng):
    """Independent predictors, and noise of the first two tasks that is nearly the same."""
    X, shared = rng.uniform(-2.0, 2.0, (600, 1)), rng.normal(size=600)
    Y = np.sin(X * [1.0, 2.0, 3.0]) + 0.3 * rng.normal(size=(600, 3))
    Y[:, :2] += 0.6 * shared[:, None] * [1.0, -1.0]
    train = with_gaps(rng, Y[:300], share) if share else Y[:300]
    est = MultiTaskRegressor(Fixed(np.eye(3)), kernel="rbf", gamma=1.0).fit(X[:300], train)
    truth = -(0.6**2) / (0.6**2 + 0.3**2)
    R = est.evidence_.noise_correlation
    assert abs(R[0, 1] - truth) < 0.1 + 0.25 * share
    assert abs(R[0, 2]) < 0.15
    new, known = X[300:], np.where([False, True, True], Y[300:], np.nan)
    mean, std = est.predict(new, known=known, return_std=True)
    plain = est.predict(new)
    error, before = (np.sqrt(np.mean((F - Y[300:])[:, 0] ** 2)) for F in (mean, plain))
    assert error < 0.75 * before
    assert abs(np.mean(std[:, 0]) / error - 1.0) < 0.2


def test_noise_without_evidence_is_taken_for_independent(rng):
    """Few rows say nothing certain: what they seem to say is shrunk."""
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 6))
    R = MultiTaskRegressor("independent").fit(X, Y).evidence_.noise_correlation
    assert np.abs(R - np.eye(6)).max() < 0.6
    assert np.linalg.eigvalsh(R)[0] > 0.0


def test_a_classifier_has_no_such_thing(rng):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskClassifier().fit(X, (Y > 0.0).astype(int))
    assert not hasattr(est, "predict_interval")


def test_landmarks_among_the_rows_do_not_widen_intervals(rng):
    """Left out, a landmark errs more than any new row does, beside what is expected of it."""
    X, new = rng.uniform(-2.0, 2.0, (300, 5)), rng.uniform(-2.0, 2.0, (600, 5))
    Y, truth = (np.sin(Z[:, :2]) + 0.1 * rng.normal(size=(len(Z), 2)) for Z in (X, new))
    est = MultiTaskRegressor(kernel="laplacian", gamma=0.1, alpha=1e-4, n_components=150, random_state=0).fit(X, Y)
    low, high = est.predict_interval(new, coverage=0.8)
    assert 0.73 < np.mean((low <= truth) & (truth <= high)) < 0.87
    # Where all rows are landmarks they are all there is.
    few = MultiTaskRegressor(kernel="laplacian", gamma=0.1, alpha=1e-4, n_components=30, random_state=0)
    assert len(few.fit(X[:40], Y[:40]).evidence_.scores(0)[0]) == 40


def test_rows_and_known_labels_may_be_lists_and_rows_sparse(rng):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    known = np.where(np.arange(30)[:, None] % 3 == [0, 1], Y, np.nan)
    expected = est.predict(X, return_std=True, known=known)
    for rows, labels in [(X.tolist(), known.tolist()), (sparse.csr_array(X), known)]:
        for one, other in zip(est.predict(rows, return_std=True, known=labels), expected, strict=True):
            np.testing.assert_allclose(one, other)
