"""Weights are relative: what they are multiplied by, all of them, changes nothing that is learned, scored or judged."""

import numpy as np
import pytest
from problems import labelled_tables

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.model_selection import judge_model, target_scores

# Exact in double precision, and small enough for all weights together to be less than one.
LIGHT = 2.0**-14
LAYOUTS = ["weights", "gaps and weights", "long"]
MODELS = {
    "kernel": {"penalty": "sparse", "kernel": "rbf", "alpha": 1e-2},
    "plain": {"penalty": "trace", "alpha": 0.1, "fit_intercept": False, "scale_targets": False},
    "balanced": {"penalty": "cluster", "alpha": 0.1, "common": 1.0, "balance_tasks": True},
    "landmarks": {"penalty": "sparse", "kernel": "rbf", "n_components": 8, "alpha": 1e-2, "random_state": 0},
    "robust": {"penalty": "independent", "loss": "huber", "alpha": 0.1},
}


def both(rng, layout, n=24):
    """Rows and labels, and what goes with them, with heavy weights and with light ones."""
    X, y, rest = labelled_tables(rng, n)[layout]
    return X, y, rest, {**rest, "sample_weight": LIGHT * rest["sample_weight"]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", MODELS)
def test_of_regressors(model, layout, rng):
    X, y, heavy, light = both(rng, layout)
    one, two = (MultiTaskRegressor(**MODELS[model], tol=1e-9).fit(X, y, **rest) for rest in (heavy, light))
    for name in ("structure_", "intercept_", "target_scale_", "eps_"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-5, err_msg=name)
    assert two.solution_.objective == pytest.approx(one.solution_.objective, rel=1e-6)
    np.testing.assert_allclose(two.predict(X), one.predict(X), rtol=1e-5, atol=1e-6)
    assert two.score(X, y, **light) == pytest.approx(one.score(X, y, **heavy), rel=1e-6)
    if one.loss == "square":
        known = np.full((5, 4), np.nan)
        known[:, 0] = 1.0
        for extra in ({}, {"known": known}):
            pairs = (each.predict(X[:5], return_std=True, **extra) for each in (two, one))
            np.testing.assert_allclose(*pairs, rtol=1e-4)
        ends = (each.predict_interval(X[:5], coverage=0.5) for each in (two, one))
        np.testing.assert_allclose(*ends, rtol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "square"])
@pytest.mark.parametrize("layout", ["weights", "long"])
def test_of_classifiers(loss, layout, rng):
    X, y, heavy, light = both(rng, layout, n=40)
    y = (y > np.median(y, axis=0)).astype(int) if y.ndim == 2 else np.arange(len(y)) % 2
    one, two = (MultiTaskClassifier(loss=loss, alpha=0.1, tol=1e-8).fit(X, y, **rest) for rest in (heavy, light))
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-4)
    assert two.score(X, y, **light) == pytest.approx(one.score(X, y, **heavy))


@pytest.mark.parametrize(
    ("cv", "scoring", "layout"), [(3, "arrmse", "long"), (3, "r2", "gaps and weights"), ("loo", None, "weights")]
)
def test_of_searches(cv, scoring, layout, rng):
    X, y, heavy, light = both(rng, layout)
    search = MultiTaskRegressorCV(kernel="linear", alphas=[0.01, 1.0], mus=[0.8], cv=cv, scoring=scoring)
    one, two = (search.__class__(**search.get_params()).fit(X, y, **rest) for rest in (heavy, light))
    np.testing.assert_allclose(
        two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"], rtol=1e-3, atol=1e-4
    )
    assert two.constant_score_ == pytest.approx(one.constant_score_, rel=1e-6)
    assert two.best_index_ == one.best_index_


@pytest.mark.parametrize("scoring", ["accuracy", "task_accuracy", "roc_auc", "average_precision"])
def test_of_searches_among_classes(scoring, rng):
    X, y, heavy, light = both(rng, "weights", n=40)
    y = (y > np.median(y, axis=0)).astype(int)
    params = {"loss": "square", "kernel": "linear", "alphas": [0.1], "mus": [0.8], "cv": 3, "scoring": scoring}
    one, two = (MultiTaskClassifierCV(**params).fit(X, y, **rest) for rest in (heavy, light))
    np.testing.assert_allclose(two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"], rtol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_judgements(layout, rng):
    X, y, heavy, light = both(rng, layout)
    one, two = (judge_model(MultiTaskRegressor(alpha=0.1), X, y, cv=3, **rest) for rest in (heavy, light))
    numbers = one.comparison.select_dtypes("number").columns
    np.testing.assert_allclose(two.comparison[numbers], one.comparison[numbers], rtol=1e-3, atol=1e-4)
    # Every label that is held out is shown, however light.
    assert len(two.predictions) == len(one.predictions) == np.count_nonzero(~np.isnan(y))


def test_of_scores(rng):
    _, y, heavy, light = both(rng, "gaps and weights")
    F = np.nan_to_num(y) + rng.standard_normal(y.shape)
    for scoring in ("r2", "nmse", "arrmse", "pooled_r2"):
        one, two = (target_scores(y, F, scoring, **rest) for rest in (heavy, light))
        np.testing.assert_allclose(two, one, rtol=1e-9)
