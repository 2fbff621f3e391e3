"""Missing labels, weights, long format, balance: one problem, however it is written down."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from problems import gram, related_tasks, with_gaps
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skmtl.estimators.blocks
from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.penalties import PENALTIES, Fixed
from skmtl.targets import ClassCoding

TIGHT = 1e-8


def melt(X, Y):
    rows, tasks = np.nonzero(~np.isnan(Y))
    return X[rows], Y[rows, tasks], np.array([f"y{t}" for t in range(Y.shape[1])])[tasks]


@pytest.mark.parametrize("structure", [np.eye(3), np.array([[2, 1, 0], [1, 2, -1], [0, -1, 1.5]])])
@pytest.mark.parametrize("intercept", [True, False])
def test_gaps_are_the_dense_system_on_observed_entries(structure, intercept, rng):
    X, Y = related_tasks(rng, 30, 3)
    Y = with_gaps(rng, Y)
    alpha, K = 1e-2, gram(X, "rbf")
    rows, tasks = np.nonzero(~np.isnan(Y))
    n = len(rows) / 3
    # Stationarity in the observed coefficients c and the intercepts b of each task.
    system = K[np.ix_(rows, rows)] * structure[np.ix_(tasks, tasks)] + n * alpha * np.eye(len(rows))
    y = Y[rows, tasks]
    if intercept:
        one = (tasks[:, None] == np.arange(3)).astype(float)
        full = np.block([[system, one], [one.T, np.zeros((3, 3))]])
        solution = np.linalg.solve(full, np.r_[y, np.zeros(3)])
        c, b = solution[:-3], solution[-3:]
    else:
        c, b = np.linalg.solve(system, y), np.zeros(3)
    expected = K[:, rows] @ (c[:, None] * structure[tasks]) + b
    est = MultiTaskRegressor(
        Fixed(structure), kernel="rbf", alpha=alpha, fit_intercept=intercept, scale_targets=False, tol=TIGHT
    ).fit(X, Y)
    np.testing.assert_allclose(est.predict(X), expected, atol=1e-8)
    assert est.solution_.gap <= TIGHT


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", PENALTIES)
def test_melting_changes_nothing(name, kernel, rng):
    X, Y = related_tasks(rng, 30, 4)
    Y = with_gaps(rng, Y)
    settings = {"kernel": kernel, "alpha": 1e-2, "common": 0.5}
    wide = MultiTaskRegressor(name, **settings).fit(X, Y)
    rows, y, tasks = melt(X, Y)
    long = MultiTaskRegressor(name, **settings).fit(rows, y, tasks=tasks)
    assert long.eps_ == pytest.approx(wide.eps_, rel=1e-8)
    assert long.solution_.objective == pytest.approx(wide.solution_.objective, rel=1e-8)
    np.testing.assert_allclose(long.structure_, wide.structure_, atol=1e-7 * np.abs(wide.structure_).max())
    np.testing.assert_allclose(long.predict(X), wide.predict(X), atol=1e-8)
    np.testing.assert_allclose(
        long.predict(rows, tasks=tasks), melt(X, np.where(np.isnan(Y), np.nan, wide.predict(X)))[1], atol=1e-8
    )


def test_complete_tables_agree_with_the_closed_form(rng):
    """A table without gaps in long format takes another road to the same fit."""
    X, Y = related_tasks(rng, 25, 3)
    closed = MultiTaskRegressor(kernel="rbf", tol=1e-9).fit(X, Y)
    rows, y, tasks = melt(X, Y)
    newton = MultiTaskRegressor(kernel="rbf", tol=1e-9).fit(rows, y, tasks=tasks)
    assert newton.solution_.objective == pytest.approx(closed.solution_.objective, rel=1e-8)
    np.testing.assert_allclose(newton.predict(X), closed.predict(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["square", "huber"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_doubling_rows_is_doubling_weights(kernel, loss, rng):
    X, Y = related_tasks(rng, 25, 3)
    Y = with_gaps(rng, Y)
    weight = rng.integers(1, 4, 25)
    settings = {"kernel": kernel, "loss": loss, "alpha": 1e-2}
    weighted = MultiTaskRegressor(**settings).fit(X, Y, sample_weight=weight)
    repeated = MultiTaskRegressor(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-8)
    assert weighted.solution_.objective == pytest.approx(repeated.solution_.objective, rel=1e-8)


def test_weights_per_label(rng):
    X, Y = related_tasks(rng, 25, 3)
    weight = rng.integers(0, 3, Y.shape).astype(float)
    weight[:2] = 1.0
    weight[np.arange(25), rng.integers(0, 3, 25)] = 1.0
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y, sample_weight=weight)
    # Weight zero is a gap.
    gaps = MultiTaskRegressor(kernel="rbf").fit(X, np.where(weight > 0, Y, np.nan), sample_weight=weight)
    np.testing.assert_allclose(est.predict(X), gaps.predict(X), atol=1e-10)
    # Weight two is a label twice, in long format.
    rows, y, tasks = melt(X, np.where(weight > 0, Y, np.nan))
    times = weight[weight > 0].astype(int)
    twice = MultiTaskRegressor(kernel="rbf").fit(
        np.repeat(rows, times, axis=0), np.repeat(y, times), tasks=np.repeat(tasks, times)
    )
    np.testing.assert_allclose(est.predict(X), twice.predict(X), atol=1e-8)
    with pytest.raises(ValueError, match="sample_weight has shape"):
        MultiTaskRegressor().fit(X, Y, sample_weight=weight[:, :2])


def test_balanced_tasks_count_the_same(rng):
    X, Y = related_tasks(rng, 40, 2)
    Y[5:, 1] = np.nan
    est = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-2, balance_tasks=True, tol=TIGHT).fit(X, Y)
    total = 45.0
    by_hand = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-2, tol=TIGHT).fit(
        X, Y, sample_weight=np.tile([total / 2 / 40, total / 2 / 5], (40, 1))
    )
    np.testing.assert_allclose(est.predict(X), by_hand.predict(X), atol=1e-8)
    plain = MultiTaskRegressor("independent", kernel="rbf", alpha=1e-2, tol=TIGHT).fit(X, Y)
    assert np.abs(plain.predict(X) - est.predict(X)).max() > 1e-3


@pytest.mark.parametrize("name", PENALTIES)
def test_one_label_per_task_is_enough(name, rng):
    X, Y = related_tasks(rng, 12, 4)
    keep = np.zeros(Y.shape, dtype=bool)
    keep[np.arange(4), np.arange(4)] = True
    with pytest.warns(UserWarning, match="^8 rows have no label and are left out"):
        est = MultiTaskRegressor(name, kernel="rbf").fit(X, np.where(keep, Y, np.nan))
    np.testing.assert_allclose(est.predict(X[:4])[np.arange(4), np.arange(4)], Y[np.arange(4), np.arange(4)], rtol=1e-8)


def test_rows_without_labels_have_no_part(rng):
    X, Y = related_tasks(rng, 30, 3)
    Y[20:] = np.nan
    few = MultiTaskRegressor(kernel="rbf").fit(X[:20], Y[:20])
    with pytest.warns(UserWarning, match="10 rows have no label"):
        est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(est.predict(X), few.predict(X), atol=1e-10)
    K = gram(X, "rbf")
    with pytest.warns(UserWarning, match="10 rows have no label"):
        given = MultiTaskRegressor(kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(given.predict(K), few.predict(X), atol=1e-8)
    assert given.dual_coef_.shape == (30, 3)
    np.testing.assert_array_equal(given.dual_coef_[20:], 0.0)


def test_a_task_without_labels_is_named(rng):
    X, Y = related_tasks(rng, 10, 3)
    Y[:, 1] = np.nan
    with pytest.raises(ValueError, match="task 'b' has no label at all"):
        MultiTaskRegressor().fit(X, pd.DataFrame(Y, columns=list("abc")))
    weight = np.ones((10, 2))
    weight[:, 1] = 0.0
    with pytest.raises(ValueError, match="task 'y1' has no label at all"):
        MultiTaskRegressor().fit(X, Y[:, [0, 2]], sample_weight=weight)
    tasks = np.arange(10) % 2
    with pytest.raises(ValueError, match="task 1 has no label at all"):
        MultiTaskRegressor().fit(X, Y[:, 0], sample_weight=1.0 - tasks, tasks=tasks)


@pytest.mark.parametrize(
    "names", [["b", "a", "c"], [3, 1, 2], [1.5, 2.5, 0.5], ["x", 1, 2.5], pd.to_datetime(["2020", "2021", "2022"])]
)
def test_task_names_of_any_type(names, rng):
    X, Y = related_tasks(rng, 30, 3)
    codes = np.arange(30) % 3
    tasks = pd.Series(names, dtype=object)[codes] if isinstance(names, list) else names[codes]
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y[np.arange(30), codes], tasks=tasks)
    assert len(est.task_names_) == 3
    F = est.predict_frame(X)
    picked = est.predict(X, tasks=tasks)
    for name, code in zip(names, range(3), strict=True):
        column = name if isinstance(names, list) else str(name)
        np.testing.assert_allclose(picked[codes == code], F[column].to_numpy()[codes == code], atol=1e-12)
    with pytest.raises(ValueError, match="task 'unheard of' was not there"):
        est.predict(X[:1], tasks=["unheard of"])


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_dates_are_the_same_names_however_they_come(kind, rng):
    X, Y = related_tasks(rng, 30, 1)
    days = (np.arange(30) % 3 * 86_400_000_000_000).astype(kind)
    series = MultiTaskRegressor().fit(X, Y[:, 0], tasks=pd.Series(days))
    for tasks in (days, days[:, None]):
        array = MultiTaskRegressor().fit(X, Y[:, 0], tasks=tasks)
        assert array.task_names_.tolist() == series.task_names_.tolist()
        np.testing.assert_array_equal(series.predict(X, tasks=tasks), array.predict(X, tasks=pd.Index(days)))


def test_long_format_says_what_is_wrong(rng):
    X, Y = related_tasks(rng, 10, 2)
    tasks = np.arange(10) % 2
    with pytest.raises(ValueError, match="2 columns; in long format it has one"):
        MultiTaskRegressor().fit(X, Y, tasks=tasks)
    with pytest.raises(ValueError, match="10 rows but tasks has 9"):
        MultiTaskRegressor().fit(X, Y[:, 0], tasks=tasks[:9])
    with pytest.raises(ValueError, match="tasks has 1 missing"):
        MultiTaskRegressor().fit(X, Y[:, 0], tasks=[None, *tasks[1:].tolist()])
    with pytest.raises(ValueError, match="NaN values; in long format drop"):
        MultiTaskRegressor().fit(X, np.where(tasks, np.nan, Y[:, 0]), tasks=tasks)
    with pytest.raises(ValueError, match="3 classes; in long format"):
        MultiTaskClassifier().fit(X, np.arange(10) % 3, tasks=tasks)


def test_long_format_classifier(rng):
    X, Y = related_tasks(rng, 60, 3)
    codes = np.arange(60) % 3
    y = np.where(Y[np.arange(60), codes] > 0, "yes", "no")
    est = MultiTaskClassifier(kernel="rbf", loss="logistic", alpha=1e-3).fit(X, y, tasks=codes)
    assert list(est.classes_) == ["no", "yes"]
    assert set(est.predict(X, tasks=codes)) == {"no", "yes"}
    assert est.predict(X).shape == (60, 3)
    assert est.score(X, y, tasks=codes) > 0.9
    P = est.predict_proba(X, tasks=codes)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    wide = np.full((60, 3), np.nan)
    wide[np.arange(60), codes] = y == "yes"
    table = MultiTaskClassifier(kernel="rbf", loss="logistic", alpha=1e-3).fit(X, wide)
    np.testing.assert_allclose(table.decision_function(X), est.decision_function(X), atol=1e-8)
    assert table.score(X, wide) == est.score(X, y, tasks=codes)


def test_metadata_routing_carries_tasks(rng):
    X, Y = related_tasks(rng, 60, 3)
    codes = np.arange(60) % 3
    y = Y[np.arange(60), codes]
    with sklearn.config_context(enable_metadata_routing=True):
        est = MultiTaskRegressor(kernel="rbf").set_fit_request(tasks=True).set_score_request(tasks=True)
        pipeline = make_pipeline(StandardScaler(), est)
        search = GridSearchCV(pipeline, {"multitaskregressor__alpha": [1e-3, 1e-1]}, cv=3).fit(X, y, tasks=codes)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    fitted = search.best_estimator_[-1]
    scaled = search.best_estimator_[0].transform(X)
    assert fitted.score(scaled, y, tasks=codes) > 0.5


def test_score_ignores_what_is_not_known(rng):
    X, Y = related_tasks(rng, 40, 3)
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    gaps = with_gaps(rng, Y)
    known = [~np.isnan(column) for column in gaps.T]
    F = est.predict(X)
    expected = np.mean(
        [1 - np.sum((Y[k, t] - F[k, t]) ** 2) / np.sum((Y[k, t] - Y[k, t].mean()) ** 2) for t, k in enumerate(known)]
    )
    assert est.score(X, gaps) == pytest.approx(expected)


def test_logistic_on_independent_tasks_is_logistic_regression(rng):
    X, Y = related_tasks(rng, 80, 3)
    labels = (Y > 0).astype(int)
    alpha, n = 1e-2, 80
    est = MultiTaskClassifier("independent", loss="logistic", alpha=alpha, tol=1e-9).fit(X, labels)
    for t in range(3):
        # alpha ||w||^2 + (1/n) sum V is C sum V + ||w||^2 / 2 with C = 1 / (2 n alpha).
        sklearns = LogisticRegression(C=1 / (2 * n * alpha), tol=1e-10, max_iter=10_000).fit(X, labels[:, t])
        np.testing.assert_allclose(est.predict_proba(X)[:, t], sklearns.predict_proba(X)[:, 1], atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_hinge_on_independent_tasks_is_a_support_vector_machine(kernel, rng):
    X, Y = related_tasks(rng, 60, 2)
    labels = (Y > 0).astype(int)
    alpha, n = 1e-2, 60
    est = MultiTaskClassifier("independent", loss="hinge", kernel=kernel, gamma=0.2, alpha=alpha, tol=1e-6).fit(
        X, labels
    )
    assert est.solution_.gap <= 1e-6
    for t in range(2):
        svc = SVC(C=1 / (2 * n * alpha), kernel=kernel, gamma=0.2, tol=1e-8).fit(X, labels[:, t])
        np.testing.assert_allclose(est.decision_function(X)[:, t], svc.decision_function(X), atol=1e-3)


def test_a_task_of_one_class_becomes_a_constant(rng):
    X, Y = related_tasks(rng, 40, 3)
    labels = pd.DataFrame((Y > 0).astype(int), columns=["a", "b", "c"])
    labels["b"] = 1
    with pytest.warns(UserWarning, match="all labels of 'b' are of one class"):
        est = MultiTaskClassifier(loss="logistic", kernel="rbf", eps=0.1, tol=TIGHT).fit(X, labels)
    P = est.predict_proba(X)[:, 1]
    np.testing.assert_allclose(P, P[0], rtol=1e-10)
    assert 0.9 < P[0] < 1.0
    # The other tasks are as without it: its labels count for n, the labels per task.
    others = MultiTaskClassifier(loss="logistic", kernel="rbf", eps=0.1, tol=TIGHT)
    others.fit(X, labels[["a", "c"]])
    np.testing.assert_allclose(est.predict_proba(X)[:, [0, 2]], others.predict_proba(X), atol=1e-4)


def test_probabilities_of_losses_that_give_them(rng):
    X, Y = related_tasks(rng, 30, 3)
    y = Y.argmax(axis=1)
    est = MultiTaskClassifier(loss="logistic", kernel="rbf", alpha=1e-3).fit(X, y)
    P = est.predict_proba(X)
    assert P.shape == (30, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P.argmax(axis=1), est.predict(X))
    assert not hasattr(MultiTaskClassifier(loss="square", kernel="precomputed"), "predict_proba")
    binary = MultiTaskClassifier(loss="logistic", kernel="rbf").fit(X, y == 0)
    assert binary.predict_proba(X).shape == (30, 2)


def test_feature_structure_is_the_other_side(rng):
    """D has trace one and the same spectrum as the task structure, up to eps."""
    X, Y = related_tasks(rng, 50, 3, n_features=6)
    est = MultiTaskRegressor("features", alpha=1e-2, eps=1e-8, tol=1e-4).fit(X, Y)
    D = est.feature_structure_
    assert D.shape == (6, 6)
    assert np.trace(D) == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(D)[-3:], np.linalg.eigvalsh(est.structure_), atol=1e-3)
    assert not hasattr(MultiTaskRegressor("trace").fit(X, Y), "feature_structure_")


@pytest.mark.parametrize(("kernel", "n_components"), [("linear", None), ("rbf", None), ("rbf", 12)])
def test_features_have_the_inner_products_of_the_predictors(kernel, n_components, rng):
    """Whatever the basis in which D is learned, for targets in the units of the solver."""
    X, Y = related_tasks(rng, 40, 3, n_features=6)
    model = MultiTaskRegressor("features", kernel=kernel, gamma=0.1, alpha=1e-2, n_components=n_components)
    est = model.set_params(random_state=0, tol=1e-4).fit(X, Y * [1.0, 10.0, 0.1])
    C = est.coef_.T if kernel == "linear" else est.dual_coef_
    K = np.eye(6) if kernel == "linear" else rbf_kernel(est.landmarks_ if n_components else X, gamma=0.1)
    W = C / est.target_scale_
    np.testing.assert_allclose(est.feature_coef_.T @ est.feature_coef_, W.T @ K @ W, rtol=1e-6)
    D = est.feature_structure_
    assert np.trace(D) == pytest.approx(1.0)
    d, a = np.linalg.eigvalsh(D)[-3:], np.linalg.eigvalsh(est.structure_)
    np.testing.assert_allclose(d / d[-1], a / a[-1], rtol=1e-2)


def test_groups_of_rows_can_be_kept_together(rng):
    """A splitter of scikit-learn works on a table with gaps through our score."""
    X, Y = related_tasks(rng, 60, 3)
    Y = with_gaps(rng, Y)
    groups = np.arange(60) // 3
    est = MultiTaskRegressor("independent", kernel="rbf")
    search = GridSearchCV(est, {"alpha": [1e-3, 1e-1]}, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    for k, (train, test) in enumerate(GroupKFold(3).split(X, groups=groups)):
        assert not set(groups[train]) & set(groups[test])
        F = est.set_params(alpha=search.best_params_["alpha"]).fit(X[train], Y[train]).predict(X[test])
        known = ~np.isnan(Y[test].T)
        expected = np.mean([r2_score(y[k], f[k]) for y, f, k in zip(Y[test].T, F.T, known, strict=True)])
        assert search.cv_results_[f"split{k}_test_score"][search.best_index_] == pytest.approx(expected)


def nullable(labels):
    """The same labels in every type that a table may have for them."""
    frame = pd.DataFrame(labels, columns=["a", "b", "c"])
    objects = frame.astype(object).where(frame.notna(), None)
    return {"Float64": frame.astype("Float64"), "objects": objects, "array of objects": objects.to_numpy()}


@pytest.mark.parametrize("kind", ["Float64", "objects", "array of objects"])
@pytest.mark.parametrize("large", [False, True])
def test_gaps_of_every_type(kind, large, rng, monkeypatch):
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0 if large else 2**25)
    X, Y = related_tasks(rng, 30, 3)
    Y = with_gaps(rng, Y)
    expected = MultiTaskRegressor("independent").fit(X, Y)
    found = MultiTaskRegressor("independent").fit(X, nullable(Y)[kind])
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-10)
    labels = np.where(np.isnan(Y), np.nan, Y > 0.0)
    expected = MultiTaskClassifier("independent").fit(X, labels)
    found = MultiTaskClassifier("independent").fit(X, nullable(labels)[kind])
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_indicators_of_nullable_types(dtype, rng):
    X, Y = related_tasks(rng, 30, 3)
    labels = pd.DataFrame(np.where(np.isnan(with_gaps(rng, Y)), np.nan, Y > 0.0))
    expected = MultiTaskClassifier().fit(X, labels)
    found = MultiTaskClassifier().fit(X, labels.astype("Int64").astype(dtype))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_rows_of_one_task_each_of_which_some_count_for_nothing(rng):
    X, Y = related_tasks(rng, 60, 3)
    own = np.arange(60) % 3
    Y[own[:, None] != np.arange(3)] = np.nan
    weight = np.ones(60)
    weight[2:9:3] = 0.0
    zero = MultiTaskRegressor(tol=1e-10).fit(X, Y, sample_weight=weight)
    without = MultiTaskRegressor(tol=1e-10).fit(X[weight > 0.0], Y[weight > 0.0])
    np.testing.assert_allclose(zero.predict(X), without.predict(X), atol=1e-5)


def test_probabilities_of_rows_that_every_class_rejects(rng):
    coding = ClassCoding(np.array([0, 1, 2]), one_vs_all=True)
    found = coding.probabilities(np.array([[-1e3, -2e3, -3e3], [-800.0, -800.0, -801.0], [0.3, -0.2, 0.1]]))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[0], [1.0, 0.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(found[1], np.array([1.0, 1.0, np.exp(-1.0)]) / (2.0 + np.exp(-1.0)))
    sigmoids = 1.0 / (1.0 + np.exp([-0.3, 0.2, -0.1]))
    np.testing.assert_allclose(found[2], sigmoids / sigmoids.sum())


def test_another_kernel_leaves_nothing_of_the_first(rng):
    X, Y = related_tasks(rng, 20, 2)
    est = MultiTaskRegressor("independent", kernel="rbf", n_components=5).fit(X, Y)
    est.set_params(kernel="linear", n_components=None).fit(X, Y)
    assert not hasattr(est, "dual_coef_")
    assert not hasattr(est, "landmarks_")
    assert est.coef_.shape == (2, X.shape[1])
