"""The estimators: scikit-learn's contract, reference answers, and what users expect."""

import pickle

import numpy as np
import pandas as pd
import pytest
from problems import expected_failures, related_tasks
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import LOSSES
from skmtl.penalties import PENALTIES, Fixed, Sparse

ESTIMATORS = [
    *(cls(name) for cls in (MultiTaskRegressor, MultiTaskClassifier) for name in PENALTIES),
    # Where a loss has a corner its bar is 1e-4.
    *(
        cls(loss=name, tol=1e-4 if loss.has_corner else 1e-6)
        for cls, purpose in ((MultiTaskRegressor, "for_regression"), (MultiTaskClassifier, "for_classification"))
        for name, loss in LOSSES.items()
        if getattr(loss, purpose) and name != "softmax"
    ),
    MultiTaskRegressor(kernel="rbf"),
    MultiTaskClassifier(kernel="rbf", common=1.0),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def digits_of_softmax(_):
    """Its steps are Newton's with a bound of the Hessian, which end with fewer digits; on some machines with enough."""
    reason = "scores are the same to 1e-7, and the check asks for 1e-9"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [MultiTaskClassifier(loss="softmax")], expected_failed_checks=digits_of_softmax, xfail_strict=False
)
def test_scikit_learn_contract_of_softmax(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "polynomial", "cosine", "chi2"])
@pytest.mark.parametrize("n_features", [3, 50])
def test_independent_tasks_are_kernel_ridge(kernel, n_features, rng):
    X, Y = np.abs(rng.standard_normal((30, n_features))), rng.standard_normal((30, 4))
    est = MultiTaskRegressor("independent", kernel=kernel, alpha=1e-2, fit_intercept=False, scale_targets=False)
    ridge = KernelRidge(kernel=kernel, alpha=30 * 1e-2, gamma=1.0 if kernel == "chi2" else None)
    new = np.abs(rng.standard_normal((10, n_features)))
    np.testing.assert_allclose(est.fit(X, Y).predict(new), ridge.fit(X, Y).predict(new), rtol=1e-8, atol=1e-8)
    if kernel in ("rbf", "laplacian"):
        # Other kernels have a null space on these rows, in which coefficients mean nothing.
        np.testing.assert_allclose(est.dual_coef_, ridge.dual_coef_, atol=1e-6)


@pytest.mark.parametrize("n_features", [3, 60])
def test_intercept_is_not_penalised(n_features, rng):
    """Independent tasks with a linear kernel and an intercept are scikit-learn's Ridge."""
    X, Y = rng.standard_normal((40, n_features)) + 5.0, rng.standard_normal((40, 3)) * [1, 10, 100] + 50.0
    weight = rng.uniform(0.1, 3.0, 40)
    est = MultiTaskRegressor("independent", alpha=0.05, scale_targets=False).fit(X, Y, sample_weight=weight)
    ridge = Ridge(alpha=0.05 * weight.sum()).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(est.coef_, ridge.coef_, atol=1e-8)
    np.testing.assert_allclose(est.intercept_, ridge.intercept_, rtol=1e-8)


@pytest.mark.parametrize(
    "structure", [np.diag([1.0, 2.0, 3.0]), np.ones((3, 3)), np.array([[2, 1, 0], [1, 2, 0], [0, 0, 1.0]])]
)
def test_fixed_structure_is_the_kronecker_system(structure, rng):
    X, Y = related_tasks(rng, 25, 3)
    alpha, n = 1e-2, 25
    K = rbf_kernel(X)
    est = MultiTaskRegressor(Fixed(structure), kernel="rbf", alpha=alpha, fit_intercept=False, scale_targets=False).fit(
        X, Y
    )
    c = np.linalg.solve(np.kron(structure, K) + n * alpha * np.eye(3 * n), Y.T.ravel()).reshape(3, n).T
    np.testing.assert_allclose(est.predict(X), K @ c @ structure, atol=1e-8)
    assert est.solution_.gap <= 5.1e-8


def test_common_component_is_a_fixed_structure(rng):
    """Independent tasks plus a common part c are the known structure I + c 11'."""
    X, Y = related_tasks(rng, 30, 4)
    common = MultiTaskRegressor("independent", kernel="rbf", common=2.5).fit(X, Y)
    fixed = MultiTaskRegressor(Fixed(np.eye(4) + 2.5), kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(common.predict(X), fixed.predict(X), atol=1e-10)
    assert common.solution_.objective == pytest.approx(fixed.solution_.objective, rel=1e-10)


@pytest.mark.parametrize("shape", [(60, 5), (20, 50)])
def test_linear_map_is_the_linear_kernel(shape, rng):
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 4))
    primal = MultiTaskRegressor(alpha=1e-2, tol=1e-9).fit(X, Y)
    dual = MultiTaskRegressor(kernel="precomputed", alpha=1e-2, tol=1e-9).fit(X @ X.T, Y)
    new = rng.standard_normal((7, shape[1]))
    np.testing.assert_allclose(primal.predict(new), dual.predict(new @ X.T), atol=1e-6)
    assert primal.solution_.objective == pytest.approx(dual.solution_.objective, rel=1e-8)


def test_precomputed_and_callable_kernels_agree_with_names(rng):
    X, Y = related_tasks(rng, 30, 3)
    K = rbf_kernel(X, gamma=0.3)
    before = K.copy()
    named = MultiTaskRegressor(kernel="rbf", gamma=0.3).fit(X, Y)
    given = MultiTaskRegressor(kernel="precomputed").fit(K, Y)
    called = MultiTaskRegressor(
        kernel=lambda a, b, width: np.exp(-width * np.sum((a - b) ** 2)), kernel_params={"width": 0.3}
    ).fit(X, Y)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(given.predict(K), named.predict(X), atol=1e-8)
    np.testing.assert_allclose(called.predict(X), named.predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_weight_of_two_is_a_row_twice(kernel, rng):
    X, Y = related_tasks(rng, 30, 4)
    weight = rng.integers(0, 4, 30)
    weighted = MultiTaskRegressor(kernel=kernel, tol=1e-9).fit(X, Y, sample_weight=weight)
    repeated = MultiTaskRegressor(kernel=kernel, tol=1e-9).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)
    np.testing.assert_allclose(weighted.structure_, repeated.structure_, atol=1e-6)
    assert weighted.eps_ == pytest.approx(repeated.eps_)


def test_predictions_follow_the_unit_of_the_targets(rng):
    X, Y = related_tasks(rng, 40, 4)
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    factor, shift = np.array([1.0, 1e3, 1e-4, 7.0]), np.array([0.0, 5.0, -3.0, 1e3])
    other = clone(est).fit(X, Y * factor + shift)
    np.testing.assert_allclose(other.predict(X), est.predict(X) * factor + shift, rtol=1e-6)
    np.testing.assert_allclose(other.structure_, est.structure_, atol=1e-6)


def test_frames_give_names_and_keep_the_index(rng):
    X, Y = related_tasks(rng, 30, 3)
    X = pd.DataFrame(X, columns=list("abcde"), index=[f"row {i}" for i in range(30)])
    Y = pd.DataFrame(Y, columns=["height", "weight", "age"], index=X.index)
    est = MultiTaskRegressor(Sparse(0.95), kernel="rbf").fit(X, Y)
    frame = est.predict_frame(X[:5])
    assert list(frame.columns) == ["height", "weight", "age"]
    assert list(frame.index) == list(X.index[:5])
    np.testing.assert_array_equal(frame.to_numpy(), est.predict(X[:5]))
    # Lists have an index too, of another kind.
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        rows = est.predict_frame(X.to_numpy()[:5].tolist())
    np.testing.assert_allclose(rows, frame, rtol=1e-12)
    assert list(rows.index) == list(range(5))
    relations = est.relations()
    assert list(relations.columns) == ["task_a", "task_b", "weight", "correlation"]
    assert len(relations) == np.count_nonzero(np.triu(est.structure_, 1))
    assert relations["weight"].abs().is_monotonic_decreasing
    assert relations["correlation"].abs().max() <= 1.0
    graph = est.to_networkx()
    assert set(graph.nodes) == {"height", "weight", "age"}
    first = relations.iloc[0]
    assert graph.edges[first.task_a, first.task_b]["weight"] == first.weight


def test_one_task_is_a_vector(rng):
    X, Y = related_tasks(rng, 30, 1)
    flat = MultiTaskRegressor(kernel="rbf").fit(X, Y[:, 0])
    column = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    assert flat.predict(X).shape == (30,)
    assert column.predict(X).shape == (30, 1)
    np.testing.assert_allclose(flat.predict(X), column.predict(X)[:, 0])
    assert flat.structure_.shape == (1, 1)
    assert flat.relations().empty


@pytest.mark.parametrize("fitted", [True, False])
def test_clone_pickle_and_repr(fitted, rng):
    X, Y = related_tasks(rng, 20, 3)
    est = MultiTaskRegressor(Sparse(mu=0.7), kernel="rbf", alpha=0.1)
    if fitted:
        est.fit(X, Y)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(est)).predict(X), est.predict(X), rtol=1e-12)
    assert clone(est).get_params()["penalty__mu"] == 0.7
    assert "mu=0.7" in repr(est)


def test_grid_search_and_pipeline(rng):
    X, Y = related_tasks(rng, 60, 3)
    pipeline = make_pipeline(StandardScaler(), MultiTaskRegressor(Sparse(), kernel="rbf"))
    grid = {"multitaskregressor__alpha": [1e-3, 1e-1], "multitaskregressor__penalty__mu": [0.5, 0.9]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ == pytest.approx(np.mean(cross_val_score(search.best_estimator_, X, Y, cv=3)), rel=1e-6)
    K = rbf_kernel(X)
    by_matrix = cross_val_score(MultiTaskRegressor(kernel="precomputed"), K, Y, cv=3)
    by_name = cross_val_score(MultiTaskRegressor(kernel="rbf"), X, Y, cv=3)
    np.testing.assert_allclose(by_matrix, by_name, rtol=1e-6)
    est = search.best_estimator_
    assert est.score(X, Y) == pytest.approx(r2_score(Y, est.predict(X)))


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], ["setosa", "versicolor", "virginica"], [10.0, 20.0, 30.0], [True, False, None]]
)
def test_classes_of_any_type(labels):
    X, y = load_iris(return_X_y=True)
    if labels[2] is None:
        X, y = X[y < 2], y[y < 2]
    y = np.array(labels[:2] if labels[2] is None else labels)[y]
    est = MultiTaskClassifier(kernel="rbf", alpha=1e-3).fit(X, y)
    assert est.score(X, y) > 0.95
    assert set(est.predict(X)) <= set(y)
    n_classes = len(set(y))
    assert est.decision_function(X).shape == ((len(X),) if n_classes == 2 else (len(X), n_classes))


def test_classifier_with_independent_tasks_is_the_ridge_classifier():
    X, y = load_iris(return_X_y=True)
    est = MultiTaskClassifier("independent", alpha=1e-2).fit(X, y)
    ridge = RidgeClassifier(alpha=1e-2 * len(X)).fit(X, y)
    np.testing.assert_allclose(est.decision_function(X), ridge.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(est.predict(X), ridge.predict(X))


def test_multilabel_is_one_task_per_column(rng):
    X, Y = related_tasks(rng, 60, 4)
    labels = pd.DataFrame((Y > 0).astype(int), columns=["wings", "fur", "scales", "tail"])
    est = MultiTaskClassifier(kernel="rbf", alpha=1e-3).fit(X, labels)
    assert est.predict(X).shape == est.decision_function(X).shape == (60, 4)
    np.testing.assert_array_equal(est.predict(X), (est.decision_function(X) > 0).astype(int))
    assert list(est.task_names_) == list(labels.columns)
    assert (est.predict(X) == labels.to_numpy()).mean() > 0.9
    binary = MultiTaskClassifier("independent", kernel="rbf", alpha=1e-3).fit(X, labels["fur"])
    multi = MultiTaskClassifier("independent", kernel="rbf", alpha=1e-3).fit(X, labels)
    np.testing.assert_allclose(binary.decision_function(X), multi.decision_function(X)[:, 1], atol=1e-8)
