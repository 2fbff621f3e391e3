"""Scores over known labels, and leaving one row out in closed form."""

import numpy as np
import pandas as pd
import pytest
from problems import random_psd, related_tasks
from sklearn.metrics import accuracy_score, average_precision_score, r2_score

from skmtl import MultiTaskRegressor
from skmtl.features import make_feature_map
from skmtl.model_selection import SCORES, target_scores
from skmtl.model_selection.loo import LeaveOneOut
from skmtl.penalties import Fixed
from skmtl.solvers.design import make_design
from skmtl.targets import LongLabels, TableLabels


def reference(name, y, f, weight):
    nmse = 1.0 - r2_score(y, f, sample_weight=weight) if not SCORES[name].for_classes else None
    return {
        "r2": lambda: 1.0 - nmse,
        "pooled_r2": lambda: 1.0 - nmse,
        "nmse": lambda: nmse,
        "arrmse": lambda: np.sqrt(nmse),
        "accuracy": lambda: accuracy_score(y > 0, f > 0, sample_weight=weight),
        "task_accuracy": lambda: accuracy_score(y > 0, f > 0, sample_weight=weight),
        "average_precision": lambda: average_precision_score(y > 0, f, sample_weight=weight),
    }[name]()


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_scikit_learn_on_the_known_labels(name, rng):
    Y = rng.standard_normal((40, 3))
    Y = np.sign(Y) if SCORES[name].for_classes else Y
    F = Y + rng.standard_normal(Y.shape)
    weight = rng.uniform(0.5, 2.0, 40)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    scores = target_scores(pd.DataFrame(Y, columns=list("abc")), F, name, sample_weight=weight)
    for t, task in enumerate("abc"):
        known = ~np.isnan(Y[:, t])
        assert scores[task] == pytest.approx(reference(name, Y[known, t], F[known, t], weight[known]), rel=1e-10)
    assert scores["mean"] == pytest.approx(scores[list("abc")].mean())


@pytest.mark.parametrize("name", SCORES)
def test_long_entries_score_like_the_table(name, rng):
    Y, F = np.sign(rng.standard_normal((20, 3))), rng.standard_normal((20, 3))
    table = TableLabels(Y, np.ones_like(Y))
    tasks = np.tile(np.arange(3), 20)
    column = LongLabels.from_rows(Y.ravel(), np.ones(60), tasks, 3)
    by_task = SCORES[name].per_task(column, column.arrange(F.ravel()), None)
    np.testing.assert_allclose(SCORES[name].per_task(table, F, None), by_task, rtol=1e-12)


def test_a_score_that_is_not_defined_is_left_out():
    Y = [[1.0, 1.0, np.nan], [1.0, 0.0, np.nan]]
    precision = target_scores(Y, [[0.5, 0.5, 0.5], [0.2, -0.5, 0.5]], "average_precision")
    assert precision.isna().tolist() == [True, False, True, False]
    assert precision["mean"] == 1.0
    # A constant is explained when it is predicted exactly.
    assert target_scores([3.0, 3.0, 3.0], [3.0, 3.0, 3.0])["mean"] == 1.0
    assert target_scores([3.0, 3.0, 3.0], [3.0, 3.0, 4.0])["mean"] == 0.0


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="scoring='mse' is not known"):
        target_scores([1.0, 2.0], [1.0, 2.0], "mse")
    with pytest.raises(ValueError, match="0 and 1, or -1 and"):
        target_scores([1.0, 2.0], [1.0, 2.0], "accuracy")
    with pytest.raises(ValueError, match="must match"):
        target_scores([[1.0, 2.0]], [[1.0]], "r2")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kernel", "n_features"), [("linear", 3), ("linear", 60), ("rbf", 4)])
def test_leaving_one_out_is_refitting(kernel, n_features, intercept, weighted, rng):
    """The closed form against n fits with the same structure and the same n alpha."""
    n, n_tasks, alpha = 20, 4, 1e-3
    X, Y = related_tasks(rng, n, n_tasks, n_features=n_features)
    X, Y = X + 3.0, Y + 10.0
    A = random_psd(rng, n_tasks)
    weight = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    feature_map = make_feature_map(kernel).fit(X)
    design = make_design(feature_map, feature_map.transform(X), weight, intercept=intercept, overwrite=False)
    mean = np.average(Y, axis=0, weights=weight) if intercept else 0.0
    closed = mean + LeaveOneOut(design, Y - mean, weight, intercept=intercept).predict([A], alpha)[0]
    for i in range(n):
        rest = np.arange(n) != i
        same = alpha * weight.sum() / weight[rest].sum()
        est = MultiTaskRegressor(
            Fixed(A), alpha=same, kernel=kernel, fit_intercept=intercept, scale_targets=False, tol=1e-12
        )
        est.fit(X[rest], Y[rest], sample_weight=weight[rest])
        np.testing.assert_allclose(closed[i], est.predict(X[[i]])[0], rtol=1e-10, atol=1e-10)
