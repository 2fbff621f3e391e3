"""What is returned is what was solved: models that are led back to it, origins of kernels, and what is assigned."""

import numpy as np
import pytest
from problems import random_psd, related_tasks, with_gaps
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor
from skmtl.estimators.base import make_effort, make_settings, train
from skmtl.estimators.clean import clean
from skmtl.estimators.publish import assign
from skmtl.losses import Square
from skmtl.solvers.returned import ReturnedModel, whitened_tasks
from skmtl.solvers.training import Model

MODELS = {
    "linear": {},
    "few rows": {"n": 4},
    "kernel": {"kernel": "rbf"},
    "landmarks": {"kernel": "rbf", "n_components": 8, "random_state": 0},
}


@pytest.mark.parametrize("layout", ["complete", "weights", "gaps"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_off_is_led_back_to_the_solution(name, intercept, layout, rng):
    """By its coefficients, its constants and in the units of the targets."""
    params = dict(MODELS[name])
    X, Y = related_tasks(rng, params.pop("n", 15), 3)
    Y = (with_gaps(rng, Y) if layout == "gaps" else Y) * (1.0, 10.0, 0.1) + 5.0
    weight = rng.uniform(0.5, 2.0, len(X)) if layout == "weights" else None
    estimator = MultiTaskRegressor("independent", alpha=1e-2, fit_intercept=intercept, **params)
    training = train(estimator, clean(estimator, X, Y, weight), Square())
    settings = make_settings(estimator, 3)
    solution = training.solve(settings, make_effort(estimator))
    right = training.model(solution)
    size = np.abs(right.coef).max(axis=0)
    off = Model(right.coef + 0.3 * size * rng.standard_normal(right.coef.shape), right.intercept + intercept * 0.7)
    first = ReturnedModel(training, settings, solution, off)
    expected, before, after = (
        one.values.sums + one.model.intercept
        for one in (ReturnedModel(training, settings, solution, right), first, first.refined())
    )
    scale = np.abs(expected - before).max(axis=0)
    assert np.all(scale > 1e-2 * size)
    # What no centred predictor can say, a constant without an intercept, is not mended.
    assert np.all(np.abs(after - expected).max(axis=0) <= 1e-6 * scale)


@pytest.mark.parametrize("gaps", [True, False])
def test_a_kernel_seen_from_another_origin_gives_the_same_model(gaps, rng):
    """With intercepts only differences of rows count; the constants are those of the kernel that predicts."""
    X, Y = related_tasks(rng, 15, 3)
    Y = (with_gaps(rng, Y) if gaps else Y) + 5.0
    weight = np.where(np.arange(15) < 2, 0.0, 1.5)
    estimator = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-2)
    data, K = clean(estimator, X, Y, weight), rbf_kernel(X)
    models = []
    for kernel in (None, K - K[3] - K[3][:, None] + K[3, 3]):
        training = train(estimator, data, Square(), kernel=kernel)
        model = training.model(training.solve(make_settings(estimator, 3), make_effort(estimator)))
        models.append(training.feature_map.transform(X + 0.1) @ model.coef + model.intercept)
    np.testing.assert_allclose(models[1], models[0], rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_assigned_without_a_model_is_the_solution(name, rng):
    """Whoever solved without asking for a proof of what is returned gets the same model."""
    params = dict(MODELS[name])
    X, Y = related_tasks(rng, params.pop("n", 15), 3)
    estimator = MultiTaskRegressor(alpha=1e-2, **params)
    settings, training = make_settings(estimator, 3), train(estimator, clean(estimator, X, Y), Square())
    solution = training.solve(settings, make_effort(estimator))
    assigned = assign(clone(estimator), training, settings, solution)
    np.testing.assert_allclose(assigned.predict(X), estimator.fit(X, Y).predict(X), rtol=1e-9)
    np.testing.assert_array_equal(assigned.structure_, estimator.structure_)


@pytest.mark.parametrize("n", [4, 20])
def test_coefficients_that_features_are_learned_from_are_those_of_standardized_targets(n, rng):
    """On the features themselves, of which there may be more than rows."""
    X, Y = related_tasks(rng, n, 3)
    est = MultiTaskRegressor("features", alpha=1e-2).fit(X, Y * (1.0, 100.0, 0.01))
    np.testing.assert_allclose(est.feature_coef_, (est.coef_ / est.target_scale_[:, None]).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_rows_without_labels_go_and_of_a_kernel_matrix_their_columns_too(kernel, rng):
    X, Y = related_tasks(rng, 12, 2)
    Y[[2, 7]], Y[3, 0] = np.nan, np.nan
    K = rbf_kernel(X, gamma=0.2)
    estimator = MultiTaskRegressor(kernel=kernel, gamma=0.2)
    with pytest.warns(UserWarning, match="no label"):
        data = clean(estimator, K if kernel == "precomputed" else X, Y)
    rows = np.delete(np.arange(12), [2, 7])
    np.testing.assert_array_equal(data.rows, rows)
    np.testing.assert_array_equal(data.X, K[np.ix_(rows, rows)] if kernel == "precomputed" else X[rows])


def test_coefficients_of_a_kernel_matrix_are_of_all_its_columns(rng):
    """Zero where a row has no label: new rows come with all columns."""
    X, Y = related_tasks(rng, 12, 2)
    Y[[2, 7]], Y[3, 0] = np.nan, np.nan
    K, known = rbf_kernel(X), np.delete(np.arange(12), [2, 7])
    with pytest.warns(UserWarning, match="no label"):
        est = MultiTaskRegressor("independent", kernel="precomputed").fit(K, Y)
    assert est.dual_coef_.shape == (12, 2)
    np.testing.assert_array_equal(est.dual_coef_[[2, 7]], 0.0)
    alone = MultiTaskRegressor("independent", kernel="precomputed").fit(K[np.ix_(known, known)], Y[known])
    np.testing.assert_allclose(est.predict(K), alone.predict(K[:, known]))


@pytest.mark.parametrize("common", [0.0, 2.0])
def test_correlations_are_cosines_of_the_tasks_own_predictors(common, rng):
    """In the kernel's space, for standardized targets, eps on the diagonal; the common part is no part of them."""
    X, Y = related_tasks(rng, 30, 3)
    est = MultiTaskRegressor(alpha=1e-2, common=common).fit(X, Y * (1.0, 100.0, 0.01))
    W, A = (est.coef_ / est.target_scale_[:, None]).T, est.structure_
    own = W @ np.linalg.solve(A + common, A)
    S = own.T @ own + est.eps_ * np.eye(3)
    norms = np.sqrt(np.diag(S))
    np.testing.assert_allclose(est.correlation_, S / np.outer(norms, norms), atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_norms_are_of_the_structure_itself_however_small_beside_the_common_part(size, rng):
    """V'(A + c 11')V = I, where A and the common part are never summed."""
    A = size * random_psd(rng, 4)
    V = whitened_tasks(A, 100.0).astype(np.longdouble)
    sums = V.sum(axis=0)
    np.testing.assert_allclose((V.T @ A @ V + 100 * np.outer(sums, sums)).astype(float), np.eye(4), atol=1e-9)


def test_a_structure_without_an_inverse_has_the_common_part_all_the_same():
    A = np.diag([1.0, 0.0, 2.0])
    V = whitened_tasks(A, 0.5)
    np.testing.assert_allclose(V @ V.T, np.linalg.inv(A + 0.5), atol=1e-12)
    V = whitened_tasks(A, 0.0)
    np.testing.assert_allclose(V @ V.T, np.diag([1.0, 0.0, 0.5]), atol=1e-12)
