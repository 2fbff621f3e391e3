"""What must hold for any estimator, penalty, loss, pattern of labels and scale: laws on random problems."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import related_tasks, with_gaps
from sklearn.exceptions import ConvergenceWarning

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.penalties import PENALTIES

# A bounded part of what ``benchmarks/reliability.py`` runs by the thousand.
BOUNDED = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
KERNELS = st.sampled_from(["linear", "rbf", "poly"])
ESTIMATORS = {
    "kernel": KERNELS,
    "penalty": st.sampled_from(sorted(PENALTIES)),
    "alpha": st.sampled_from([1e-6, 1e-3, 1e-2, 1.0]),
    "common": st.sampled_from([0.0, 1.0]),
    "fit_intercept": st.booleans(),
}
SEEDS = st.integers(0, 10_000)


def build(params, **more):
    return MultiTaskRegressor(**{**params, "tol": 1e-8, **more})


def fit(est, *data, **extra):
    """The fit; what it cannot certify it says, and that is another test's matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return est.fit(*data, **extra)


def same(one, other, Y, tol=2e-3):
    """Predictions agree, relative to the spread of the targets: objectives that agree to 1e-8 may be that far apart."""
    np.testing.assert_allclose(one, other, atol=tol * np.nanstd(Y))


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), pattern=st.sampled_from(["complete", "gaps", "weights"]))
def test_output_is_finite_and_structures_are_positive_definite(seed, params, pattern):
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, 20, 3)
    Y = with_gaps(rng, Y) if pattern == "gaps" else Y
    extra = {"sample_weight": rng.uniform(0.1, 2.0, 20)} if pattern == "weights" else {}
    est = fit(build(params), X, Y, **extra)
    assert np.all(np.isfinite(est.predict(X)))
    np.testing.assert_allclose(est.structure_, est.structure_.T)
    assert np.linalg.eigvalsh(est.structure_)[0] > 0.0
    assert est.solution_.lower_bound <= est.solution_.objective * (1.0 + 1e-12)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS))
def test_order_of_rows_and_tasks_does_not_matter(seed, params):
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, 20, 3)
    rows, tasks = rng.permutation(20), rng.permutation(3)
    one, other = fit(build(params), X, Y), fit(build(params), X[rows], Y[rows][:, tasks])
    same(one.predict(X)[:, tasks], other.predict(X), Y)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS))
def test_rows_twice_are_rows_of_weight_two(seed, params):
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, 20, 3)
    count = rng.integers(1, 3, 20)
    one = fit(build(params), np.repeat(X, count, axis=0), np.repeat(Y, count, axis=0))
    other = fit(build(params), X, Y, sample_weight=count.astype(float))
    same(one.predict(X), other.predict(X), Y)
    assert one.solution_.objective == pytest.approx(other.solution_.objective, rel=1e-6)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), factor=st.sampled_from([1e-9, 1e-3, 7.0, 1e9]))
def test_units_of_targets_are_units_of_predictions(seed, params, factor):
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    one, other = fit(build(params), X, Y), fit(build(params), X, factor * Y)
    same(factor * one.predict(X), other.predict(X), factor * Y, tol=1e-4)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), offset=st.sampled_from([1.0, 1e3, 1e6]))
def test_a_constant_in_a_feature_changes_nothing(seed, params, offset):
    """For kernels that promise it: those of differences, and the linear one with intercepts."""
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    params = {**params, "kernel": "rbf"} if params["kernel"] == "poly" else {**params, "fit_intercept": True}
    params["alpha"] = max(params["alpha"], 1e-3)
    moved = X + offset * np.array([1.0, 0.0, -1.0, 2.0, 0.5])
    one, other = fit(build(params), X, Y), fit(build(params), moved, Y)
    same(one.predict(X), other.predict(moved), Y)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), layout=st.sampled_from(["F", "stride", "read-only"]))
def test_memory_order_does_not_matter_and_input_is_not_touched(seed, params, layout):
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    rows, targets = X.copy(), Y.copy()
    if layout == "F":
        rows, targets = np.asfortranarray(rows), np.asfortranarray(targets)
    if layout == "stride":
        rows, targets = np.repeat(rows, 2, axis=0)[::2], np.repeat(targets, 2, axis=1)[:, ::2]
    rows.flags.writeable = targets.flags.writeable = layout != "read-only"
    one, other = fit(build(params), X, Y), fit(build(params), rows, targets)
    same(one.predict(X), other.predict(rows), Y, tol=1e-5)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, Y)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS))
def test_the_same_fit_gives_the_same_bits(seed, params):
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    one, other = (fit(build(params), X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.structure_, other.structure_)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS))
def test_single_precision_is_close(seed, params):
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    params = {**params, "alpha": max(params["alpha"], 1e-3)}
    one, other = fit(build(params), X, Y), fit(build(params), X.astype(np.float32), Y.astype(np.float32))
    same(one.predict(X), other.predict(X), Y, tol=1e-2)


@BOUNDED
@given(seed=SEEDS, loss=st.sampled_from(["square", "logistic", "squared_hinge"]), kernel=KERNELS)
def test_a_task_of_one_class_leaves_the_others_alone(seed, loss, kernel):
    X, Y = related_tasks(np.random.default_rng(seed), 20, 3)
    labels = (Y > np.median(Y, axis=0)).astype(int)
    labels[:, 1] = 1
    params = {"loss": loss, "kernel": kernel, "eps": 0.1, "alpha": 1e-2, "tol": 1e-7, "penalty": "independent"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = fit(MultiTaskClassifier(**params), X, labels)
    others = fit(MultiTaskClassifier(**params), X, labels[:, [0, 2]])
    np.testing.assert_allclose(whole.decision_function(X)[:, [0, 2]], others.decision_function(X), atol=5e-3)


# Losses and patterns --------------------------------------------------------------------------------------------------

SMOOTH = st.sampled_from(["square", "huber", "logistic", "squared_hinge", "poisson"])
PATTERNS = st.sampled_from(["complete", "gaps", "long", "weights"])


def draw_problem(seed, loss, pattern):
    """An estimator's class, rows, labels that suit the loss, and what goes with them."""
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, 18, 3)
    classify = loss in ("logistic", "squared_hinge")
    if classify:
        Y = (Y > np.median(Y, axis=0)).astype(float)
    elif loss == "poisson":
        Y = rng.poisson(np.exp(Y)) + 1.0
    extra = {"sample_weight": rng.uniform(0.1, 2.0, 18)} if pattern == "weights" else {}
    Y = with_gaps(rng, Y, 0.2) if pattern == "gaps" else Y
    if pattern == "long":
        extra["tasks"] = np.arange(18) % 3
        Y = Y[np.arange(18), extra["tasks"]]
    return MultiTaskClassifier if classify else MultiTaskRegressor, X, Y, extra


def scores(est, X):
    return est.decision_function(X) if hasattr(est, "classes_") else est.predict(X)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), loss=SMOOTH, pattern=PATTERNS)
def test_what_is_certified_is_what_is_returned(seed, params, loss, pattern):
    """The objective summed up from predictions, coefficients and structure; no bound is above it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    try:
        from recompute import objective
    finally:
        sys.path.pop(0)
    make, X, y, extra = draw_problem(seed, loss, pattern)
    est = fit(make(**{**params, "loss": loss}), X, y, **extra)
    actual = objective(est, X, y, **extra)
    assert est.solution_.objective == pytest.approx(actual, rel=1e-6)
    assert est.solution_.lower_bound <= actual * (1.0 + 1e-9)


@BOUNDED
@given(seed=SEEDS, params=st.fixed_dictionaries(ESTIMATORS), loss=SMOOTH, pattern=PATTERNS)
def test_order_of_rows_does_not_matter_for_any_loss_or_pattern(seed, params, loss, pattern):
    make, X, y, extra = draw_problem(seed, loss, pattern)
    params = {**params, "alpha": max(params["alpha"], 1e-3), "loss": loss, "tol": 1e-8}
    rows = np.random.default_rng(seed).permutation(18)
    one = fit(make(**params), X, y, **extra)
    other = fit(make(**params), X[rows], y[rows], **{name: values[rows] for name, values in extra.items()})
    size = max(np.std(scores(one, X)), 1e-3)
    np.testing.assert_allclose(scores(other, X), scores(one, X), atol=5e-3 * size)
    assert one.solution_.objective == pytest.approx(other.solution_.objective, rel=1e-6)
