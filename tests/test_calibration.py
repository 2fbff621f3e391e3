"""Probabilities of losses that have none."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from problems import with_gaps
from scipy.special import expit
from sklearn.metrics import log_loss

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, load_model, save_model
from skmtl.estimators.calibration import calibrate
from skmtl.plotting import ReliabilityDisplay
from skmtl.targets import TableLabels

matplotlib.use("Agg")
LOSSES = ("square", "hinge", "squared_hinge")


def labels_of_known_odds(rng, n, n_tasks=3):
    """Rows, labels 0 and 1, and the probabilities that they were drawn with."""
    X = rng.normal(size=(n, 4))
    P = expit(X @ rng.normal(size=(4, n_tasks)) * 1.5 + np.linspace(-1.0, 1.0, n_tasks))
    return X, (rng.random((n, n_tasks)) < P).astype(float), P


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_probabilities_are_near_those_that_labels_were_drawn_with(loss, share, rng):
    X, Y, P = labels_of_known_odds(rng, 900)
    train = with_gaps(rng, Y[:400], share) if share else Y[:400]
    est = MultiTaskClassifier(loss=loss, alpha=1e-2, tol=1e-3).fit(X[:400], train)
    found = est.predict_proba(X[400:])
    assert found.shape == (500, 3)
    assert np.mean(np.abs(found - P[400:])) < 0.07
    # Of those said to have a probability of 0.7 to 0.9, about so many have the label.
    some = (found > 0.7) & (found < 0.9)
    assert abs(Y[400:][some].mean() - found[some].mean()) < 0.1


@pytest.mark.parametrize("alpha", [1.0, 100.0])
def test_a_rare_class_and_scores_that_hardly_differ(alpha, rng):
    """A strong penalty leaves the order of rows, and shrinks their scores; probabilities are spread all the same."""
    X, Y, P = labels_of_known_odds(rng, 3000, 2)
    P = P * 0.2
    Y = (rng.random(P.shape) < P).astype(float)
    est = MultiTaskClassifier(alpha=alpha).fit(X[:2000], Y[:2000])
    found = est.predict_proba(X[2000:])
    assert np.mean(np.abs(found - P[2000:])) < 0.5 * np.mean(np.abs(P[2000:].mean(axis=0) - P[2000:]))
    np.testing.assert_array_equal(found > 0.5, est.predict(X[2000:]) == 1)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_scores_that_differ_by_rounding_have_no_line_of_their_own(size, rng):
    """In whatever unit: the same odds for all, and those of their labels."""
    scores = size * (1.0 + np.finfo(float).eps * rng.integers(0, 2, 60)[:, None])
    y = np.where(np.arange(60) < 40, 1.0, -1.0)[rng.permutation(60)][:, None]
    lines = calibrate(scores, TableLabels(y, np.ones((60, 1))), together=False)
    assert lines.above[0] == 0.0
    odds = lines.log_odds(scores)
    np.testing.assert_allclose(odds, np.full((60, 1), odds[0, 0]), rtol=1e-12)
    assert odds[0, 0] == pytest.approx(np.log(40.0 / 20.0), abs=0.2)


def test_one_column_of_classes(rng):
    X, Y, _ = labels_of_known_odds(rng, 300, 2)
    y = np.array(["a", "b", "c", "d"])[(Y @ [1, 2]).astype(int)]
    est = MultiTaskClassifier(alpha=1e-2).fit(X[:200], y[:200])
    P = est.predict_proba(X[200:])
    assert P.shape == (100, 4)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert log_loss(y[200:], P, labels=est.classes_) < log_loss(y[200:], np.full((100, 4), 0.25), labels=est.classes_)
    two = MultiTaskClassifier(alpha=1e-2).fit(X[:200], Y[:200, 0]).predict_proba(X[200:])
    assert two.shape == (100, 2)
    np.testing.assert_allclose(two.sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_predicted_is_what_is_probable(loss, rng):
    X, Y, _ = labels_of_known_odds(rng, 150)
    several = MultiTaskClassifier(loss=loss, tol=1e-3).fit(X, Y)
    np.testing.assert_array_equal(several.predict_proba(X) > 0.5, several.predict(X) == 1)
    y = (Y @ [1, 1, 1]).astype(int)
    classes = MultiTaskClassifier(loss=loss, tol=1e-3).fit(X, y)
    # Rows at the margins of two classes are ties, to rounding.
    found, chosen = classes.predict_proba(X), np.searchsorted(classes.classes_, classes.predict(X))
    np.testing.assert_allclose(found[np.arange(len(X)), chosen], found.max(axis=1), rtol=1e-6)


def test_tasks_with_rows_of_their_own(rng):
    X, Y, P = labels_of_known_odds(rng, 900)
    tasks = np.array(["p", "q", "r"])[np.arange(900) % 3]
    y = np.where(Y[np.arange(900), np.arange(900) % 3] > 0.0, "yes", "no")
    est = MultiTaskClassifier(alpha=1e-2).fit(X[:600], y[:600], tasks=tasks[:600])
    found = est.predict_proba(X[600:], tasks=tasks[600:])
    assert found.shape == (300, 2)
    assert np.mean(np.abs(found[:, 1] - P[np.arange(900), np.arange(900) % 3][600:])) < 0.1
    whole = est.predict_proba(X[600:])[np.arange(300), np.arange(600, 900) % 3]
    np.testing.assert_allclose(found[:, 1], whole)
    display = ReliabilityDisplay.from_estimator(est, X[600:], y[600:], tasks=tasks[600:])
    assert display.curves.groupby("task")["labels"].sum().tolist() == [100, 100, 100]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("only", [0.0, 1.0])
@pytest.mark.parametrize("long", [False, True])
def test_the_only_class_of_a_task_is_as_probable_as_it_is_certain(loss, only, long, rng):
    """Of 40 labels all are of it, and one more of each class is imagined (Platt): 41 to 1."""
    X, Y, _ = labels_of_known_odds(rng, 40)
    Y[:, 1] = only
    if long:
        est = MultiTaskClassifier(loss=loss).fit(np.tile(X, (3, 1)), Y.T.ravel(), tasks=np.repeat([0, 1, 2], 40))
    else:
        est = MultiTaskClassifier(loss=loss).fit(X, Y)
    found = est.predict_proba(X)[:, 1]
    assert np.all(np.abs(found - only) < 0.2)
    if loss == "square":
        np.testing.assert_allclose(np.abs(found - only), 1.0 / 42.0, rtol=0.02)


def test_what_cannot_be_told_apart_has_the_share_of_its_labels(rng):
    """Scores that say nothing: probabilities are near the shares of the labels."""
    X, Y = rng.normal(size=(400, 3)), (rng.random((400, 2)) < [0.2, 0.7]).astype(float)
    P = MultiTaskClassifier(alpha=1.0).fit(X, Y).predict_proba(rng.normal(size=(50, 3)))
    np.testing.assert_allclose(P.mean(axis=0), Y.mean(axis=0), atol=0.05)
    assert P.std(axis=0).max() < 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_saved_models_and_searches_have_them_too(loss, rng, tmp_path):
    X, Y, _ = labels_of_known_odds(rng, 80)
    est = MultiTaskClassifier(loss=loss, tol=1e-3).fit(X, Y)
    save_model(est, tmp_path / "model.skops")
    np.testing.assert_allclose(load_model(tmp_path / "model.skops").predict_proba(X), est.predict_proba(X))
    search = MultiTaskClassifierCV(loss=loss, alphas=[1e-2], mus=[0.9], cv=2, tol=1e-3).fit(X, Y)
    np.testing.assert_array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))


def test_who_has_no_probabilities_says_why(rng, monkeypatch):
    X, Y, _ = labels_of_known_odds(rng, 40)
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = MultiTaskClassifier(kernel="precomputed").fit(X @ X.T, Y).predict_proba
    # Those of the loss itself need no rows.
    own = MultiTaskClassifier(kernel="precomputed", loss="logistic").fit(X @ X.T, Y)
    np.testing.assert_allclose(own.predict_proba(X @ X.T), expit(own.decision_function(X @ X.T)))
    monkeypatch.setattr("skmtl.estimators.blocks.LARGE", 10)
    with pytest.raises(ValueError, match=r"read its rows in blocks.*CalibratedClassifierCV"):
        MultiTaskClassifier().fit(X, Y).predict_proba(X)


def test_reliability_counts_what_is_known(rng):
    X, Y, _ = labels_of_known_odds(rng, 200)
    gaps = with_gaps(rng, Y[100:])
    est = MultiTaskClassifier(alpha=1e-2).fit(X[:100], pd.DataFrame(Y[:100], columns=["a", "b", "c"]))
    curves = ReliabilityDisplay.from_estimator(est, X[100:], gaps).curves
    assert curves.groupby("task")["labels"].sum().tolist() == np.sum(~np.isnan(gaps), axis=0).tolist()
    means = curves["observed"].mul(curves["labels"]).groupby(curves["task"]).sum() / np.sum(~np.isnan(gaps), axis=0)
    np.testing.assert_allclose(means, np.nanmean(gaps, axis=0))


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_probabilities_of_classes_are_those_of_the_loss(loss, rng):
    """Of one loss per class the sigmoids, normalized; of one loss for all classes the softmax."""
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 3
    X[:, 0] += y
    est = MultiTaskClassifier(loss=loss, alpha=1e-2).fit(X, y)
    F = est.decision_function(X)
    P = np.exp(F) if loss == "softmax" else 1.0 / (1.0 + np.exp(-F))
    np.testing.assert_allclose(est.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9)
