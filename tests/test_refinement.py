"""What a returned model misses of the solution is fitted once more, whatever it is."""

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor
from skmtl.estimators.base import make_effort, make_settings, train
from skmtl.estimators.clean import clean
from skmtl.losses import Square
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
    solution = training.solve(make_settings(estimator, 3), make_effort(estimator))
    right = training.model(solution)
    size = np.abs(right.coef).max(axis=0)
    off = Model(right.coef + 0.3 * size * rng.standard_normal(right.coef.shape), right.intercept + intercept * 0.7)
    expected = training.values(right.coef) + right.intercept
    before = training.values(off.coef) + off.intercept
    mended = training.refine(solution, off, training.values(off.coef))
    after = training.values(mended.coef) + mended.intercept
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
