"""Reference answers of losses: with independent tasks they are estimators of scikit-learn."""

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.metrics import make_scorer, r2_score
from sklearn.svm import SVR

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    load_model,
    save_model,
)
from skmtl.losses import EpsilonInsensitive, Quantile

ALPHA = 0.02


def alone(loss, X, y, **params):
    """One independent task, in the unit of y."""
    return MultiTaskRegressor("independent", loss=loss, alpha=ALPHA, scale_targets=False, **params).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_epsilon_insensitive_is_svr(kernel, epsilon, rng):
    X, Y = related_tasks(rng, 60, 1)
    est = alone(EpsilonInsensitive(epsilon), X, Y[:, 0], kernel=kernel, tol=1e-6)
    # SVR: |w|^2 / 2 + C sum V, ours: sum V / n + alpha |w|^2.
    svr = SVR(C=1 / (2 * len(X) * ALPHA), epsilon=epsilon, kernel=kernel, gamma=1 / X.shape[1], tol=1e-8).fit(
        X, Y[:, 0]
    )
    np.testing.assert_allclose(est.predict(X), svr.predict(X), atol=1e-3)


@pytest.mark.parametrize("level", [0.25, 0.5, 0.9])
def test_quantiles_are_those_of_the_quantile_regressor(level, rng):
    """Its penalty is an l1 norm, so that they meet where there is none, or next to none."""
    X, Y = related_tasks(rng, 60, 1)
    est = MultiTaskRegressor("independent", loss=Quantile(level), alpha=1e-7, tol=1e-6).fit(X, Y[:, 0])
    reference = QuantileRegressor(quantile=level, alpha=0.0).fit(X, Y[:, 0])
    np.testing.assert_allclose(est.predict(X), reference.predict(X), atol=1e-3)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_a_quantile_leaves_its_share_of_the_labels_below(level, rng):
    X, Y = related_tasks(rng, 200, 3)
    est = MultiTaskRegressor(loss=Quantile(level), alpha=1e-2, tol=1e-4).fit(X, Y)
    np.testing.assert_allclose((Y < est.predict(X)).mean(axis=0), level, atol=0.03)


@pytest.mark.parametrize("intercept", [True, False])
def test_poisson_is_the_poisson_regressor(intercept, rng):
    X, Y = related_tasks(rng, 80, 2)
    counts = rng.poisson(np.exp(1.0 + Y))
    weight = rng.uniform(0.5, 2.0, len(X))
    est = MultiTaskRegressor("independent", loss="poisson", alpha=ALPHA, fit_intercept=intercept)
    est.fit(X, counts, sample_weight=weight)
    for t in range(2):
        # Its objective has alpha / 2.
        reference = PoissonRegressor(alpha=2 * ALPHA, fit_intercept=intercept, tol=1e-10, max_iter=1000)
        reference.fit(X, counts[:, t], sample_weight=weight)
        np.testing.assert_allclose(est.coef_[t], reference.coef_, atol=1e-3)
        np.testing.assert_allclose(est.predict(X)[:, t], reference.predict(X), rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_softmax_is_multinomial_logistic_regression(intercept):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    est = MultiTaskClassifier("independent", loss="softmax", alpha=ALPHA, fit_intercept=intercept).fit(X, y)
    reference = LogisticRegression(C=1 / (2 * len(X) * ALPHA), fit_intercept=intercept, tol=1e-10, max_iter=10_000)
    reference.fit(X, y)
    np.testing.assert_allclose(est.coef_, reference.coef_, atol=1e-3)
    np.testing.assert_allclose(est.predict_proba(X), reference.predict_proba(X), atol=1e-3)
    np.testing.assert_allclose(est.predict_proba(X).sum(axis=1), 1.0)


# Counts ---------------------------------------------------------------------------------------------------------------


def test_counts_are_predicted_as_means(rng):
    X, Y = related_tasks(rng, 60, 3)
    counts = rng.poisson(np.exp(1.0 + Y))
    est = MultiTaskRegressor(loss="poisson", kernel="rbf").fit(X, counts)
    scores = np.log(est.predict(X))
    np.testing.assert_allclose(est.feature_map_.transform(X) @ est.dual_coef_ + est.intercept_, scores, atol=1e-12)
    np.testing.assert_array_equal(est.predict_frame(X).to_numpy(), est.predict(X))
    # A free constant: the means over the rows are those of the counts.
    np.testing.assert_allclose(est.predict(X).mean(axis=0), counts.mean(axis=0), rtol=1e-6)


def test_the_unit_of_counts_is_kept(rng):
    X, Y = related_tasks(rng, 60, 3)
    counts = rng.poisson(np.exp(1.0 + Y))
    one, other = (MultiTaskRegressor(loss="poisson", scale_targets=scale).fit(X, counts) for scale in (True, False))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_counts_of_any_size_are_solved(size, rng):
    X, Y = related_tasks(rng, 60, 3)
    est = MultiTaskRegressor(loss="poisson", kernel="rbf").fit(X, with_gaps(rng, size * np.exp(Y)))
    assert est.solution_.gap <= 1e-6


def test_negative_targets_are_refused_where_they_make_no_sense(rng):
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match="negative value"):
        MultiTaskRegressor(loss="poisson").fit(X, Y)
    with pytest.raises(ValueError, match="negative value"):
        MultiTaskRegressorCV(loss="poisson", alphas=[0.1], cv=2).fit(X, Y)


def test_a_task_without_a_single_count_is_a_small_constant(rng):
    X, Y = related_tasks(rng, 30, 3)
    counts = rng.poisson(np.exp(Y)).astype(float)
    counts[:, 1] = 0.0
    with pytest.warns(UserWarning, match="all labels of 'y1' are zero"):
        est = MultiTaskRegressor(loss="poisson").fit(X, counts)
    np.testing.assert_allclose(est.predict(X)[:, 1], 1 / 31)
    with pytest.raises(ValueError, match="labels zero only"):
        MultiTaskRegressor(loss="poisson").fit(X, np.zeros((30, 2)))


def test_a_search_scores_means_of_counts(rng):
    X, Y = related_tasks(rng, 60, 3)
    counts = rng.poisson(np.exp(1.0 + Y))
    params = {"loss": "poisson", "alphas": [0.01, 0.1], "mus": [0.9], "cv": 3}
    own = MultiTaskRegressorCV(scoring="r2", **params).fit(X, counts)
    asked = MultiTaskRegressorCV(scoring=make_scorer(r2_score), **params).fit(X, counts)
    # The same score by two roads: ours from predictions, scikit-learn's from a fitted estimator.
    np.testing.assert_allclose(own.cv_results_["mean_test_score"], asked.cv_results_["mean_test_score"])
    assert own.loss_.name == "poisson"


# Classes that belong together -----------------------------------------------------------------------------------------


def test_softmax_needs_one_column_of_classes(rng):
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match="one column of classes"):
        MultiTaskClassifier(loss="softmax").fit(X, (Y > 0).astype(int))
    with pytest.raises(ValueError, match="one column of classes"):
        MultiTaskClassifier(loss="softmax").fit(X, Y[:, 0] > 0, tasks=np.arange(20) % 2)


def test_softmax_of_two_classes_is_logistic():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    one, two = (MultiTaskClassifier(loss=loss, alpha=ALPHA).fit(X, y) for loss in ("softmax", "logistic"))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X))


def test_softmax_learns_the_graph_of_classes_with_a_proof(tmp_path):
    X, y = load_iris(return_X_y=True)
    est = MultiTaskClassifier(loss="softmax", kernel="rbf", alpha=1e-3, common=1.0).fit(X, y)
    assert est.solution_.gap <= 1e-6
    assert est.score(X, y) > 0.95
    save_model(est, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").predict_proba(X[::3]), est.predict_proba(X[::3]))


def test_a_fold_without_a_class_does_not_stop_a_search(rng):
    X, y = load_iris(return_X_y=True)
    y[-1] = 3
    search = MultiTaskClassifierCV(loss="softmax", alphas=[0.01, 0.1], mus=[0.9], cv=[(np.arange(149), [149, 0, 60])])
    assert search.fit(X, y).score(X, y) > 0.9
