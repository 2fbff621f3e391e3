"""A metric learned by all tasks: slopes, scales, importances, and rounds that are chosen on folds."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV, load_model, save_model
from skmtl.estimators.clean import clean
from skmtl.features import KERNELS, KernelMap, NystroemMap, make_feature_map
from skmtl.features.kernels import LARGEST_PRODUCTS
from skmtl.features.metric import DIFFERENTIABLE, SCALABLE, scale_from_slopes, slope_blocks
from skmtl.losses import Square
from skmtl.model_selection import metric_choice
from skmtl.model_selection.metric_choice import MetricSource, check_metric_rounds, check_rules
from skmtl.model_selection.own_strengths import _on_other_rows
from skmtl.penalties import Independent
from skmtl.solvers.training import Training

ROUNDS_KERNELS = ["rbf", "laplacian", "polynomial"]


def planted(rng, n=200, n_features=50, n_tasks=10, relevant=5, noise=0.1):
    """Tasks that depend on the first features, in a way that is not linear."""
    X = rng.standard_normal((n, n_features))
    hidden = np.tanh(0.7 * X[:, :relevant] @ rng.standard_normal((relevant, 20)))
    return X, hidden @ rng.standard_normal((20, n_tasks)) / 4 + noise * rng.standard_normal((n, n_tasks))


@pytest.fixture
def problem(rng):
    return planted(rng, n=60, n_features=8, n_tasks=3, relevant=3)


def test_kernels_without_slopes_are_few():
    assert set(KERNELS) - set(DIFFERENTIABLE) == {"precomputed", "additive_chi2"}
    assert set(SCALABLE) <= set(DIFFERENTIABLE)


@pytest.mark.parametrize("on_landmarks", [False, True])
@pytest.mark.parametrize("scales", [(), (4,), (3, 4)])
@pytest.mark.parametrize("kernel", DIFFERENTIABLE)
def test_slopes_are_finite_differences(kernel, scales, on_landmarks, rng):
    X, new = np.exp(rng.standard_normal((12, 4))), np.exp(rng.standard_normal((5, 4)))
    scale = rng.uniform(0.5, 2.0, size=scales) if scales else None
    fitted = KernelMap(kernel, {"gamma": 0.3, "degree": 3, "coef0": 0.7}, scale).fit(X)
    if on_landmarks:
        # Of more than one row the sigmoid kernel is not positive semidefinite.
        count = 1 if kernel == "sigmoid" else 7
        fitted = NystroemMap(kernel, fitted.params, count, random_state=0, feature_scale=scale).fit(X)
    coef = rng.standard_normal((fitted.n_functions(4), 2))
    slopes = np.concatenate([*slope_blocks(fitted, coef, new)], axis=2)
    assert slopes.shape == (5, 2, 4)
    step = 1e-5
    for k in range(4):
        move = step * np.eye(4)[k]
        difference = (fitted.transform(new + move) - fitted.transform(new - move)) @ coef / (2 * step)
        assert np.allclose(slopes[:, :, k], difference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", DIFFERENTIABLE)
def test_slopes_without_parameters_are_those_of_the_kernel(kernel, rng):
    X, new, move = np.exp(rng.standard_normal((12, 4))), np.exp(rng.standard_normal((5, 4))), 1e-6 * np.eye(4)[1]
    fitted, coef = KernelMap(kernel).fit(X), rng.standard_normal((12, 2))
    slopes = np.concatenate([*slope_blocks(fitted, coef, new)], axis=2)
    difference = (fitted.transform(new + move) - fitted.transform(new - move)) @ coef / 2e-6
    np.testing.assert_allclose(slopes[:, :, 1], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_slopes_of_rows_beside_one_far_away_keep_their_digits(kernel, rng):
    """Two rows have a value of 1e20, nothing in common with the others, and no slope."""
    X, coef = rng.standard_normal((14, 3)), rng.standard_normal((14, 2))
    X[[3, 5], 1] = 1e20
    fitted = make_feature_map(kernel, gamma=0.5).fit(X)
    slopes = np.concatenate([*slope_blocks(fitted, coef, X)], axis=2)
    far = np.isin(np.arange(14), [3, 5])
    near = make_feature_map(kernel, gamma=0.5).fit(X[~far])
    expected = np.concatenate([*slope_blocks(near, coef[~far], X[~far])], axis=2)
    np.testing.assert_allclose(slopes[~far], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slopes[far][:, :, 1], 0.0, atol=1e-12)


def test_slopes_of_narrow_and_of_wide_gaussians_are_what_the_formula_says(rng):
    """On both sides of the width where differences of features take the place of products."""
    X, coef = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    narrow, wide = (make_feature_map("rbf", gamma=gamma).fit(X) for gamma in (30.0, 3.0))
    squares = np.max((X - X.mean(axis=0)) ** 2, axis=0)
    assert np.unique(30.0 * squares > LARGEST_PRODUCTS).tolist() == [False, True]
    assert np.all(3.0 * squares < LARGEST_PRODUCTS)
    for fitted in (narrow, wide):
        differences = X[:, None] - X
        gamma = fitted.params["gamma"]
        K = np.exp(-gamma * (differences**2).sum(axis=2))
        expected = -2.0 * gamma * np.einsum("ij,ijk,jt->itk", K, differences, coef)
        slopes = np.concatenate([*slope_blocks(fitted, coef, X)], axis=2)
        np.testing.assert_allclose(slopes, expected, rtol=1e-9, atol=1e-11)


def test_slopes_of_narrow_gaussians_of_sparse_rows_keep_their_digits(rng):
    """Rows that are nearly repeated: from products, small slopes would be differences of large ones."""
    X, coef = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    X[10:] = X[:10] + 1e-5 * rng.standard_normal((10, 3))
    fitted = make_feature_map("rbf", gamma=3e3).fit(sparse.csr_array(X))
    K = np.exp(-3e3 * ((X[:, None] - X) ** 2).sum(axis=2))
    expected = -6e3 * np.einsum("ij,ijk,jt->itk", K, X[:, None] - X, coef)
    slopes = np.concatenate([*slope_blocks(fitted, coef, sparse.csr_array(X))], axis=2)
    np.testing.assert_allclose(slopes, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("power", ["laplacian", "rbf"])
@pytest.mark.parametrize("far", [0.0, 1e8, 1e10])
def test_scales_of_sparse_rows_far_from_zero_are_those_of_dense_ones(far, power, rng, monkeypatch):
    """Some features are always there, others seldom, and one only where rows have no weight."""
    monkeypatch.setattr("skmtl.features.metric.BLOCK_ENTRIES", 50)
    X = far + rng.standard_normal((40, 5)) * [1.0, 2.0, 0.1, 1.0, 1.0]
    X[rng.random(40) < 0.5, 3], X[10:, 4] = 0.0, 0.0
    weight, squares = np.where(np.arange(40) < 10, 0.0, 1.0), np.array([0.3, 1.0, 0.2, 0.1, 0.1])
    found, expected = (scale_from_slopes(squares, one, weight, power) for one in (sparse.csr_array(X), X))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    share = weight / weight.sum()
    spread = np.sqrt(share @ (X - share @ X) ** 2) ** SCALABLE[power]
    assert np.isclose(found ** SCALABLE[power] @ spread, spread.sum(), rtol=1e-6)


def test_slopes_of_sparse_rows_are_those_of_dense_ones(rng):
    X = np.where(rng.random((15, 6)) < 0.5, rng.standard_normal((15, 6)), 0.0)
    scale, coef = rng.uniform(0.5, 2.0, size=6), rng.standard_normal((15, 3))
    for kernel in ("rbf", "laplacian", "cosine"):
        both = [
            np.concatenate([*slope_blocks(make_feature_map(kernel, feature_scale=scale).fit(rows), coef, rows)], axis=2)
            for rows in (X, sparse.csr_array(X))
        ]
        assert np.allclose(*both, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("on_landmarks", [False, True])
@pytest.mark.parametrize("kernel", SCALABLE)
def test_several_scales_have_the_mean_of_their_kernels(kernel, on_landmarks, rng):
    X, new = rng.standard_normal((12, 4)) + 30.0, rng.standard_normal((5, 4)) + 30.0
    scales = rng.uniform(0.5, 2.0, size=(3, 4))

    def make(scale):
        return make_feature_map(
            kernel,
            gamma=0.1,
            landmarks=X[:6] if on_landmarks else "uniform",
            feature_scale=scale,
            up_to_constants=True,
        ).fit(X)

    mean, parts = make(scales), [make(scale) for scale in scales]
    points = mean.X_fit_
    for part in parts if on_landmarks else ():
        # Which landmarks others span depends on the scale.
        part.X_fit_ = points
    expected = np.mean([part.transform(new) for part in parts], axis=0)
    assert np.allclose(mean.transform(new), expected, rtol=1e-10)
    assert np.allclose([part.feature_scale for part in mean.parts()], scales)


@pytest.mark.parametrize("n_components", [None, 9])
@pytest.mark.parametrize("kernel", SCALABLE)
def test_metric_of_ones_is_no_metric(kernel, n_components, rng):
    X = rng.standard_normal((20, 4))
    plain, ones = (
        make_feature_map(kernel, n_components=n_components, random_state=0, feature_scale=scale).fit(X).transform(X)
        for scale in (None, np.ones(4))
    )
    assert np.array_equal(plain, ones)


@pytest.mark.parametrize("kernel", ROUNDS_KERNELS)
def test_importances_find_the_features_that_matter(kernel, rng):
    X, Y = planted(rng)
    est = MultiTaskRegressor(kernel=kernel, alpha=1e-3, metric_rounds=1).fit(X, Y)
    shares = est.feature_importances_
    assert shares.shape == (50,)
    assert np.all(shares >= 0.0)
    assert np.isclose(shares.sum(), 1.0)
    assert average_precision_score(np.arange(50) < 5, shares) > 0.95
    assert shares[5:].sum() < 0.1


def test_importances_of_the_linear_kernel_are_squared_coefficients(problem):
    est = MultiTaskRegressor("independent", alpha=1e-3).fit(*problem)
    squares = np.sum((est.coef_ / problem[1].std(axis=0)[:, None]) ** 2, axis=0)
    assert np.allclose(est.feature_importances_, squares / squares.sum())


@pytest.mark.parametrize("kernel", ROUNDS_KERNELS)
def test_permuted_features_have_permuted_importances(kernel, problem, rng):
    X, Y = problem
    order = rng.permutation(X.shape[1])
    est = MultiTaskRegressor(kernel=kernel, alpha=1e-3, metric_rounds=2).fit(X, Y)
    other = MultiTaskRegressor(kernel=kernel, alpha=1e-3, metric_rounds=2).fit(X[:, order], Y)
    assert np.allclose(other.feature_importances_, est.feature_importances_[order], rtol=1e-5, atol=1e-12)
    assert np.allclose(other.predict(X[:, order]), est.predict(X), atol=1e-6)


def test_units_of_features_and_targets_do_not_matter_after_standardization(problem):
    X, Y = problem
    units = np.array([10.0, 1.0, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0])
    first, other = (
        MultiTaskRegressor(kernel="rbf", alpha=1e-3, metric_rounds=1).fit(StandardScaler().fit_transform(rows), labels)
        for rows, labels in ((X, Y), (X * units, Y * [1.0, 10.0, 100.0]))
    )
    assert np.allclose(first.feature_importances_, other.feature_importances_)


def test_weight_two_is_a_row_twice(problem):
    X, Y = problem
    weight = np.r_[np.full(20, 2.0), np.ones(40)]
    model = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-3, metric_rounds=2)
    weighted = model.fit(X, Y, sample_weight=weight).predict(X)
    twice = model.fit(np.r_[X[:20], X], np.r_[Y[:20], Y]).predict(X)
    assert np.allclose(weighted, twice, atol=1e-6)


def test_long_table_learns_the_metric_of_the_wide_one(problem):
    # Few enough labels for slopes to be averaged over all rows.
    X, Y = (part[:40] for part in problem)
    Y[:20, 1] = Y[25:, 2] = np.nan
    row, task = np.nonzero(~np.isnan(Y))
    model = MultiTaskRegressor("independent", kernel="laplacian", alpha=1e-3, metric_rounds=1, tol=1e-9)
    wide = model.fit(X, Y).predict(X)
    assert np.allclose(model.fit(X[row], Y[row, task], tasks=task).predict(X), wide, atol=1e-5)


def test_landmarks_at_all_rows_learn_the_metric_of_the_exact_kernel(problem):
    X, Y = problem
    exact, landmarks = (
        MultiTaskRegressor(kernel="rbf", alpha=1e-3, metric_rounds=2, **more).fit(X, Y)
        for more in ({}, {"landmarks": X})
    )
    assert np.allclose(exact.feature_importances_, landmarks.feature_importances_, atol=1e-4)
    assert np.array_equal(np.unique(landmarks.landmarks_, axis=0), np.unique(X, axis=0))


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_classes_learn_a_metric_and_the_last_fit_is_certified(loss, problem):
    X, Y = problem
    est = MultiTaskClassifier(kernel="rbf", loss=loss, alpha=1e-2, metric_rounds=1, tol=1e-4).fit(X, (Y > 0) * 1)
    assert est.solution_.gap <= 1e-4
    assert est.feature_importances_[:3].sum() > 0.6


def test_groups_of_features_count_together(problem):
    X, Y = problem
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-3, metric_rounds=1, feature_groups=list("aabbcdee")).fit(X, Y)
    for shares in (est.feature_importances_, est.feature_map_.feature_scale):
        assert np.array_equal(shares[[0, 2, 6]], shares[[1, 3, 7]])
        assert len(np.unique(shares)) == 5
    with pytest.raises(ValueError, match="feature_groups has shape"):
        MultiTaskRegressor(kernel="rbf", metric_rounds=1, feature_groups=[1, 2]).fit(X, Y)


@pytest.mark.parametrize("rule", ["slopes", "evidence"])
@pytest.mark.parametrize("level", [1.0, 0.1, -0.1])
def test_constant_targets_leave_the_features_alone(rule, level, problem):
    X, Y = problem
    given = {"kernel": "rbf", "metric_rounds": 1, "metric_rule": rule, "scale_targets": level == 1.0}
    est = MultiTaskRegressor("independent", **given).fit(X, np.full_like(Y, level))
    assert np.array_equal(est.feature_map_.feature_scale, np.ones(8))
    assert np.isclose(est.feature_importances_.sum(), 1.0)


def test_targets_next_to_nothing_say_as_much_about_widths(problem):
    """What counts as constant is relative to the labels, in binary units to the last bit."""
    X, Y = problem
    given = {"kernel": "rbf", "metric_rounds": 1, "metric_rule": "evidence", "scale_targets": False}
    one, other = (MultiTaskRegressor("independent", **given).fit(X, unit * Y) for unit in (1.0, 2.0**-80))
    assert np.ptp(one.feature_map_.feature_scale) > 0.1
    np.testing.assert_array_equal(other.feature_map_.feature_scale, one.feature_map_.feature_scale)


@pytest.mark.parametrize("wrong", [10**400, 1001, -1, 1.5, True, "one"])
def test_rounds_are_whole_numbers(wrong, problem):
    with pytest.raises(ValueError, match="metric_rounds="):
        MultiTaskRegressor(kernel="rbf", metric_rounds=wrong).fit(*problem)


def test_kernels_that_cannot_be_scaled_are_named(problem):
    with pytest.raises(ValueError, match="kernel='linear' is none"):
        MultiTaskRegressor(metric_rounds=1).fit(*problem)
    X, Y = problem
    est = MultiTaskRegressor(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(AttributeError, match="slopes of kernel='precomputed' are not known"):
        est.feature_importances_  # noqa: B018


def test_saved_model_keeps_its_metric(problem, tmp_path):
    X, Y = problem
    est = MultiTaskRegressor(kernel="laplacian", alpha=1e-3, metric_rounds=1).fit(X, Y)
    save_model(est, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert np.array_equal(again.predict(X), est.predict(X))
    assert np.array_equal(again.feature_importances_, est.feature_importances_)


def test_folds_learn_the_metric_on_their_own_training_rows(problem):
    """The score of a round is that of estimators fitted to the training rows alone."""
    X, Y = problem
    splits = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    search = MultiTaskRegressorCV(
        "independent", kernel="rbf", alphas=[1e-3], gammas=[0.05], metric_rounds=[0, 1, 2], cv=splits, scoring="r2"
    ).fit(X, Y)
    results = search.cv_results_
    assert results["param_metric_rounds"].tolist() == [0, 1, 2]
    for i, rounds in enumerate(results["param_metric_rounds"]):
        model = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-3, gamma=0.05, metric_rounds=rounds)
        for k, (train, test) in enumerate(splits):
            apart = model.fit(X[train], Y[train]).score(X[test], Y[test])
            assert np.isclose(results[f"split{k}_test_score"][i], apart, atol=1e-6)


def test_rounds_that_are_not_asked_for_are_steps_to_those_that_are(problem):
    X, Y = problem
    given = {"kernel": "rbf", "alphas": [1e-3], "gammas": [0.05], "cv": 2}
    search = MultiTaskRegressorCV("independent", metric_rounds=[0, 2], **given).fit(X, Y)
    assert search.cv_results_["param_metric_rounds"].tolist() == [0, 2]


def test_a_round_that_proves_nothing_leaves_it_to_the_fit_to_warn(problem, monkeypatch):
    """The metric is what it is; the certificate is that of the model that is returned."""
    solve, answers = Training.solve, []

    def first_fails(self, *given, **more):
        solution = solve(self, *given, **more)
        answers.append(solution)
        return replace(solution, converged=len(answers) > 1, status="No proof.")

    monkeypatch.setattr(Training, "solve", first_fails)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiTaskRegressor("independent", kernel="rbf", metric_rounds=1).fit(*problem)
    assert len(answers) == 2


def test_a_fit_with_a_metric_that_is_lost_to_rounding_warns_once():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
    model = MultiTaskRegressor(kernel="poly", metric_rounds=2, common=1e6, coef0=1e3, fit_intercept=False)
    with pytest.warns(ConvergenceWarning) as told:
        model.fit(X, Y)
    assert len(told) == 1


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_search_learns_a_metric_where_it_pays_and_fits_again_the_same(n_jobs, rng):
    X, Y = planted(rng, n=100, n_features=20, n_tasks=3, relevant=3)
    search = MultiTaskRegressorCV(
        "sparse", kernel="rbf", alphas=[1e-4, 1e-2], mus=[0.9], metric_rounds=[0, 1], cv=3, n_jobs=n_jobs
    ).fit(X, Y)
    assert search.best_params_["metric_rounds"] == 1
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    assert np.allclose(again.predict(X), search.predict(X), atol=1e-6)
    assert np.allclose(again.feature_importances_, search.feature_importances_)


def test_a_metric_of_tasks_with_a_common_part_is_learned_again_the_same(rng):
    X = rng.standard_normal((60, 6))
    tasks = np.arange(60) % 3
    y = np.sin(2 * X[:, 0]) + 0.1 * tasks + 0.05 * rng.standard_normal(60)
    grids = {"alphas": [1e-3], "gammas": [0.2], "mus": [0.9], "eps_factors": [1.0]}
    search = MultiTaskRegressorCV(kernel="rbf", metric_rounds=[0, 1], cv=3, **grids).fit(X, y, tasks=tasks)
    assert search.best_params_["metric_rounds"] == 1
    assert search.best_params_["common"] == 10.0
    with_metric = [row["common"] for row in search.cv_results_["params"] if row["metric_rounds"]]
    assert set(with_metric) == {10.0}
    again = MultiTaskRegressor(**search.best_params_).fit(X, y, tasks=tasks)
    assert np.allclose(again.predict(X), search.predict(X), atol=1e-6)


def test_one_number_of_rounds_is_not_searched_over(problem):
    search = MultiTaskRegressorCV("sparse", kernel="rbf", alphas=[1e-3], mus=[0.9], metric_rounds=1, cv=3).fit(*problem)
    assert search.best_estimator_.metric_rounds == 1
    assert "param_metric_rounds" not in search.cv_results_


def test_leaving_one_out_cannot_judge_a_metric(problem):
    with pytest.raises(ValueError, match="metric_rounds needs folds"):
        MultiTaskRegressorCV(kernel="rbf", metric_rounds=[0, 1], cv="loo").fit(*problem)


def test_own_strengths_are_an_alpha_for_each_task(problem):
    X, Y = problem
    strengths = [0.1, 1.0, 30.0]
    together = MultiTaskRegressor(Independent(strengths), kernel="rbf", alpha=1e-3).fit(X, Y).predict(X)
    for t, strength in enumerate(strengths):
        alone = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-3 * strength).fit(X, Y[:, t]).predict(X)
        assert np.allclose(together[:, t], alone, atol=1e-7)
    with pytest.raises(ValueError, match="strengths="):
        MultiTaskRegressor(Independent([1.0, -1.0, 1.0])).fit(X, Y)


def test_search_gives_noisy_tasks_strengths_of_their_own(rng):
    X = rng.uniform(-2.0, 2.0, size=(120, 2))
    Y = np.sin(2 * X) + [0.01, 1.0] * rng.standard_normal((120, 2))
    alphas = {}
    for given in (None, "own"):
        search = MultiTaskRegressorCV("independent", kernel="rbf", gammas=[0.5], alphas=given, cv=4).fit(X, Y)
        alphas[given] = search
    own = alphas["own"]
    assert own.best_score_ > alphas[None].best_score_
    clean, noisy = own.best_params_["penalty"].strengths
    assert noisy > 5 * clean
    again = MultiTaskRegressor(**own.best_params_).fit(X, Y)
    assert np.allclose(again.predict(X), own.predict(X), atol=1e-6)


def test_strengths_of_their_own_are_chosen_on_the_other_folds(rng):
    X = rng.standard_normal((45, 6))
    Y = X @ rng.standard_normal((6, 3)) + [0.1, 2.0, 6.0] * rng.standard_normal((45, 3))
    Y[rng.random(Y.shape) < [0.2, 0.0, 0.2]] = np.nan
    weight = rng.uniform(0.5, 2.0, 45)
    folds = list(KFold(3).split(X))
    search = MultiTaskRegressorCV("independent", kernel="linear", alphas="own", cv=KFold(3))
    results = search.fit(X, Y, sample_weight=weight).cv_results_
    (own,) = [i for i, row in enumerate(results["params"]) if row["penalty"].strengths is not None]
    alphas = sorted({row["alpha"] for i, row in enumerate(results["params"]) if i != own}, reverse=True)
    F = np.full((len(alphas), *Y.shape), np.nan)
    for a, alpha in enumerate(alphas):
        for train, test in folds:
            est = MultiTaskRegressor("independent", kernel="linear", alpha=alpha)
            F[a, test] = est.fit(X[train], Y[train], sample_weight=weight[train]).predict(X[test])
    squares = np.nan_to_num(weight[:, None] * (Y - F) ** 2)
    errors = np.array([squares[:, test].sum(axis=1) for _, test in folds])
    chosen = np.array(alphas)[errors.sum(axis=0).argmin(axis=0)]
    found = results["params"][own]
    np.testing.assert_allclose(found["alpha"] * np.array(found["penalty"].strengths), chosen, rtol=1e-10)
    # Alpha is the middle of them all.
    assert np.prod(found["penalty"].strengths) == pytest.approx(1.0)
    assert len(set(chosen)) > 1
    known = np.where(np.isnan(Y), 0.0, weight[:, None])
    mean = np.nansum(known * Y, axis=0) / known.sum(axis=0)
    variance = np.nansum(known * (Y - mean) ** 2, axis=0) / known.sum(axis=0)
    for k, (_, test) in enumerate(folds):
        # What a fold says itself must not flatter it.
        best = (errors.sum(axis=0) - errors[k]).argmin(axis=0)
        mistakes = np.array([squares[best[t], test, t].sum() for t in range(3)]) / known[test].sum(axis=0)
        expected = np.mean(1.0 - mistakes / variance)
        assert results[f"split{k}_test_score"][own] == pytest.approx(expected, rel=1e-6)


def test_a_scale_is_learned_once_however_often_its_rows_are_opened(problem, monkeypatch):
    X, Y = problem
    model, seen = MultiTaskRegressor(kernel="rbf", metric_rounds=0), []

    def learn(estimator, training):
        seen.append((estimator.metric_rule, training.data.labels.n_rows))
        return np.ones(X.shape[1])

    monkeypatch.setattr(metric_choice, "next_scale", learn)
    source = MetricSource(model, clean(model, X, Y), Square(), rules=["slopes", "evidence"])
    for rows in (np.arange(20), np.arange(30), np.arange(20)):
        source.training(rows)
        source.scale_after(rows, "slopes")
    assert seen == [(rule, n_rows) for n_rows in (20, 30) for rule in ("slopes", "evidence")]


def test_strengths_of_their_own_hear_nothing_of_a_row_that_stands_in_several_folds():
    tests = [[0, 1], [2, 3], [0, 2], [1, 3], [0, 1, 2, 3]]
    others = _on_other_rows([(np.arange(4), np.array(test)) for test in tests])
    # Of the last fold all others have rows, and it has to do with them.
    assert others.tolist() == [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 1, 1, 1, 0]]


@pytest.mark.parametrize("given", [{"cv": "loo"}, {"scoring": "neg_mean_absolute_error"}])
def test_strengths_of_their_own_need_folds_and_a_score_of_ours(given, problem):
    with pytest.raises(ValueError, match='alphas="own" needs folds, and for scoring one of'):
        MultiTaskRegressorCV("independent", kernel="linear", alphas="own", **given).fit(*problem)


@pytest.mark.parametrize("truth", ["linear", "rbf", "laplacian"])
def test_search_picks_the_kernel_of_the_truth(truth, rng):
    X = rng.standard_normal((120, 3))
    points = rng.standard_normal((15, 3))

    def combination(kernel, points):
        Z = make_feature_map(kernel, gamma=0.7).fit(points).transform(X)
        return Z @ rng.standard_normal((Z.shape[1], 2))

    Y = combination(truth, X if truth == "laplacian" else points)
    Y = Y + 0.05 * Y.std(axis=0) * rng.standard_normal(Y.shape)
    kernels = ["laplacian", "rbf", "linear"]
    search = MultiTaskRegressorCV("sparse", kernel=kernels, mus=[0.9], eps_factors=[1.0], cv=3).fit(X, Y)
    assert search.best_params_["kernel"] == truth
    assert set(search.cv_results_["param_kernel"]) == set(kernels)
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    assert np.allclose(again.predict(X), search.predict(X), atol=1e-6)


def test_inverse_widths_belong_to_their_kernel(problem):
    search = MultiTaskRegressorCV("independent", kernel=["linear", "rbf"], gammas=[0.1, 0.2], cv=3).fit(*problem)
    tried = {(row["kernel"], row["gamma"]) for row in search.cv_results_["params"]}
    assert tried == {("linear", None), ("rbf", 0.1), ("rbf", 0.2)}
    assert isinstance(search.penalty_, Independent)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [([], "empty list"), (["precomputed", "rbf"], "must be the only one"), (["rbf", "rbff"], "is not known")],
)
def test_lists_of_kernels_are_checked(kernels, message, problem):
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressorCV(kernel=kernels).fit(*problem)


@pytest.mark.parametrize(
    ("rounds", "kernels", "tried"),
    [
        ([0, 1], ["rbf", "cosine"], [0, 1]),
        ([2, 0, 2], ["cosine", "rbf"], [0, 2]),
        (1, ["rbf"], [1]),
        ([1, 2], ["rbf", "cosine"], None),
        ([0, 1], ["cosine"], None),
        ([], ["rbf"], None),
    ],
)
def test_every_kernel_must_be_scalable_unless_none_at_all_is_a_choice(rounds, kernels, tried):
    if tried is not None:
        assert check_metric_rounds(rounds, kernels) == tried
    else:
        with pytest.raises(ValueError, match="cosine" if rounds else "empty"):
            check_metric_rounds(rounds, kernels)


def test_rules_are_listed_once_and_at_least_one():
    with pytest.raises(ValueError, match="empty"):
        check_rules([], ["rbf"], quadratic=True, exact=True)
    assert check_rules(["evidence", "slopes", "evidence"], ["poly", "rbf"], quadratic=True, exact=True) == [
        "evidence",
        "slopes",
    ]
    assert check_rules("slopes", ["poly"], quadratic=True, exact=True) == ["slopes"]
    # Evidence is for no kernel of these, or for another loss.
    for kernels, quadratic in ((["poly"], True), (["rbf"], False)):
        with pytest.raises(ValueError, match="evidence"):
            check_rules("evidence", kernels, quadratic=quadratic, exact=True)
