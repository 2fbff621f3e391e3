"""More rows: landmarks, blocks of rows, memory maps and sparse rows give the answers that arrays in memory give."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from problems import (
    BLOCK_MODELS,
    LAYOUTS,
    expected_failures,
    labelled_tables,
    related_tasks,
    structure_cost,
    with_gaps,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import skmtl._rows
import skmtl.estimators.blocks
import skmtl.estimators.metric
import skmtl.solvers.blocks
from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    edge_stability,
    structure_path,
)
from skmtl._rows import MemoryRows
from skmtl.features import make_feature_map
from skmtl.features.base import EPS
from skmtl.features.kernels import NEAR
from skmtl.features.landmarks import pivoted_cholesky
from skmtl.penalties import Fixed, Sparse
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.moments import ReadMoments, TableMoments
from skmtl.targets import LabelReader, as_numbers
from skmtl.targets.scaling import TaskStats

N, T = 300, 4


@pytest.fixture
def blocks(monkeypatch):
    """Every table is large, and a block has some 60 rows."""
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    monkeypatch.setattr(skmtl._rows, "BLOCK_ENTRIES", 64)


# How tasks are related; given where labels are missing, so that answers can be compared to more than the root of tol.
STRUCTURE = Fixed(0.2 * np.ones((T, T)) + np.eye(T))


def regressor(**params):
    # A given eps: the automatic one is as exact as the step that finds it.
    return MultiTaskRegressor(**{"tol": 1e-10, "random_state": 0, "eps": 0.05, "max_iter": 500, **params})


def for_layout(layout, **params):
    """A learned structure where the fit is in closed form, else a given one."""
    return regressor(**({} if layout in ("complete", "weights") else {"penalty": STRUCTURE}), **params)


def assert_same_fit(est, other, X, new, tolerance=1e-7):
    size = max(1.0, np.abs(other.structure_).max())
    np.testing.assert_allclose(est.structure_, other.structure_, atol=tolerance * size)
    np.testing.assert_allclose(est.predict(X), other.predict(new), rtol=tolerance, atol=tolerance)
    assert est.solution_.objective == pytest.approx(other.solution_.objective, rel=1e-10)
    assert est.solution_.lower_bound == pytest.approx(other.solution_.lower_bound, rel=1e-9)


# Landmarks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [1e-3, 1e-2, 0.1, 1.0])
def test_norms_are_as_exact_as_they_say(gamma, rng):
    """Against extended precision: coefficients of landmarks that nearly span one another cancel one another."""
    X = rng.standard_normal((40, 3))
    fitted = make_feature_map("rbf", gamma=gamma, landmarks=X).fit(X)
    coef = fitted.lift(rng.standard_normal((len(fitted.landmarks_), 4)))
    points, wide = fitted.landmarks_.astype(np.longdouble), coef.astype(np.longdouble)
    K = np.exp(-gamma * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    norm, exact = fitted.squared_norms(coef, None).sum(), float(np.sum(wide * (K @ wide)))
    away, said = abs(norm - exact), fitted.rounding_of_norms(coef)
    assert away < said < 1e4 * max(away, 1e-15 * exact)
    # What cancels hardest is said to lose most, and what does not cancel loses nothing that counts.
    assert (said > 1e-6 * exact) == (gamma < 0.1)


def test_norms_on_sparse_rows_are_as_exact_as_they_say(rng):
    """Distances from products of rows near the limit are wrong by more than rounding of the kernel itself."""
    X = 50.0 + rng.standard_normal((40, 3))
    gamma = 0.5 / NEAR / np.max(np.sum(X**2, axis=1))
    fitted = make_feature_map("rbf", gamma=gamma, landmarks=X).fit(sparse.csr_array(X))
    coef = fitted.lift(rng.standard_normal((fitted.landmarks_.shape[0], 4)))
    points, wide = fitted.landmarks_.toarray().astype(np.longdouble), coef.astype(np.longdouble)
    K = np.exp(-gamma * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    norm, exact = fitted.squared_norms(coef, None).sum(), float(np.sum(wide * (K @ wide)))
    away, said = abs(norm - exact), fitted.rounding_of_norms(coef)
    assert said > away
    # What is said of a kernel that is right to rounding would not be true.
    assert said * EPS / fitted.relative_error() < away


@pytest.mark.parametrize("landmarks", ["uniform", "leverage", "given"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_rows_as_landmarks_are_the_exact_kernel(layout, landmarks, rng):
    X, y, extra = labelled_tables(rng, N)[layout]
    exact = for_layout(layout, kernel="rbf").fit(X, y, **extra)
    chosen = {"landmarks": X} if landmarks == "given" else {"landmarks": landmarks, "n_components": N}
    est = for_layout(layout, kernel="rbf", **chosen).fit(X, y, **extra)
    assert_same_fit(est, exact, X[:50] + 0.1, X[:50] + 0.1)
    assert len(est.dual_coef_) == len(est.landmarks_) <= N


@pytest.mark.parametrize("loss", ["huber", "square"])
def test_other_losses_on_all_landmarks(loss, rng):
    X, Y, _ = labelled_tables(rng, N)["gaps"]
    exact = regressor(kernel="rbf", loss=loss, tol=1e-7).fit(X, Y)
    est = regressor(kernel="rbf", loss=loss, tol=1e-7, n_components=N).fit(X, Y)
    np.testing.assert_allclose(est.predict(X), exact.predict(X), rtol=1e-2, atol=1e-2)
    assert est.solution_.objective == pytest.approx(exact.solution_.objective, rel=2e-7)


def test_classes_on_all_landmarks(rng):
    X, Y = related_tasks(rng, 100, 3)
    labels = (Y > 0).astype(int)
    for loss in ("square", "logistic"):
        exact = MultiTaskClassifier(kernel="rbf", loss=loss, tol=1e-8).fit(X, labels)
        est = MultiTaskClassifier(kernel="rbf", loss=loss, tol=1e-8, n_components=100).fit(X, labels)
        np.testing.assert_allclose(est.decision_function(X), exact.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("common", [0.0, 0.5])
def test_the_certificate_is_that_of_the_approximated_kernel(common, rng):
    """Objective and bound once more, from K_nm K_mm^-1 K_mn and the fitted attributes alone."""
    X, Y = related_tasks(rng, 80, 5)
    alpha, n = 1e-2, 80
    est = MultiTaskRegressor(
        Sparse(0.8), kernel="rbf", n_components=20, alpha=alpha, common=common, scale_targets=False, tol=1e-9
    ).fit(X, Y)
    A, eps, penalty, L = est.structure_, est.eps_, Sparse(0.8), est.landmarks_
    gamma = 1.0 / X.shape[1]
    np.testing.assert_allclose(est.predict(X), rbf_kernel(X, L, gamma) @ est.dual_coef_ + est.intercept_, atol=1e-10)
    K = rbf_kernel(X, L, gamma) @ np.linalg.solve(rbf_kernel(L, L, gamma), rbf_kernel(L, X, gamma))
    C = (Y - est.predict(X)) / (n * alpha)
    Q = C.T @ K @ C
    errors = np.sum((Y - est.predict(X)) ** 2) / n
    objective = errors + alpha * (np.sum((A + common) * Q) + structure_cost(penalty, A, eps))
    bound = 2 * alpha * np.sum(C * (Y - Y.mean(axis=0))) - n * alpha**2 * np.sum(C**2)
    bound += alpha * (penalty.lower_bound(Q, eps, A) - common * Q.sum())
    assert est.solution_.objective == pytest.approx(objective, rel=1e-8)
    assert bound <= objective * (1 + 1e-12)
    assert est.solution_.lower_bound == pytest.approx(bound, rel=1e-7)
    assert est.solution_.gap <= 1e-9
    # The exact kernel is another problem: more functions, so a smaller minimum.
    exact = MultiTaskRegressor(Sparse(0.8), kernel="rbf", alpha=alpha, common=common, scale_targets=False, eps=eps)
    assert exact.fit(X, Y).solution_.objective < est.solution_.lower_bound


def test_more_landmarks_never_raise_the_minimum(rng):
    X, Y = related_tasks(rng, 200, 3)
    objectives = [
        regressor(kernel="rbf", landmarks=X[:m], tol=1e-8).fit(X, Y).solution_.objective for m in (5, 20, 80, 200)
    ]
    assert np.all(np.diff(objectives) <= 1e-8 * objectives[0])
    assert objectives[-1] < 0.9 * objectives[0]


def test_equal_landmarks_count_once(rng):
    X, Y = related_tasks(rng, 60, 3)
    points = X[:10]
    once = regressor(kernel="rbf", landmarks=points).fit(X, Y)
    twice = regressor(kernel="rbf", landmarks=np.concatenate([points, points[::-1]])).fit(X, Y)
    assert len(twice.landmarks_) == 10
    np.testing.assert_allclose(twice.predict(X), once.predict(X), atol=1e-8)
    np.testing.assert_allclose(twice.structure_, once.structure_, atol=1e-8)


def test_the_factor_of_a_singular_kernel(rng):
    B = rng.standard_normal((12, 5))
    L, rows = pivoted_cholesky(B @ B.T)
    assert len(rows) == 5
    np.testing.assert_allclose(L @ L.T, (B @ B.T)[np.ix_(rows, rows)], atol=1e-12)
    assert pivoted_cholesky(np.zeros((3, 3)))[0].shape == (1, 1)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pivoted_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_leverage_prefers_rows_that_others_do_not_explain(rng):
    """A few far rows among many equal ones: they have nearly all the leverage."""
    X = np.concatenate([1e-3 * rng.standard_normal((990, 2)), 5.0 * rng.standard_normal((10, 2)) + 20.0])
    Y, kernel = rng.standard_normal((1000, 2)), {"kernel": "rbf", "tol": 1e-6}
    far = {
        name: int(np.sum(regressor(n_components=20, landmarks=name, **kernel).fit(X, Y).landmarks_[:, 0] > 5.0))
        for name in ("uniform", "leverage")
    }
    assert far["leverage"] >= 8
    assert far["uniform"] <= 3


def test_draws_are_repeated_by_the_random_state(rng):
    X, Y = related_tasks(rng, 100, 2)
    for landmarks in ("uniform", "leverage"):
        one, two, three = (
            MultiTaskRegressor(kernel="rbf", n_components=10, landmarks=landmarks, random_state=seed).fit(X, Y)
            for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
        assert not np.array_equal(one.landmarks_, three.landmarks_)


def test_the_metric_of_a_large_table_is_that_of_some_of_its_rows(blocks, monkeypatch, rng):
    X, Y = related_tasks(rng, N, T)
    weight = rng.uniform(0.5, 2.0, N)
    model = MultiTaskRegressor("independent", kernel="rbf", landmarks=X[:40], alpha=1e-3, metric_rounds=2)
    whole = model.fit(X, Y, sample_weight=weight).feature_map_.feature_scale
    monkeypatch.setattr(skmtl.estimators.metric, "MOST_ROWS", 100)
    scale = model.fit(X, Y, sample_weight=weight).feature_map_.feature_scale
    drawn = np.sort(np.random.default_rng(0).choice(N, 100, replace=False))
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 2**25)
    monkeypatch.setattr(skmtl.estimators.metric, "_rows_of", lambda training: (X[:40], np.ones(40)))
    alone = model.fit(X[drawn], Y[drawn], sample_weight=weight[drawn]).feature_map_.feature_scale
    np.testing.assert_allclose(scale, alone, rtol=1e-7)
    assert not np.allclose(scale, whole, rtol=1e-3)


def test_halves_whose_rows_are_all_landmarks_are_those_of_the_exact_kernel(rng):
    X, Y = related_tasks(rng, 60, T)
    exact = MultiTaskRegressor(Sparse(0.6), kernel="rbf", alpha=1e-2)
    tables = [edge_stability(clone(exact).set_params(n_components=count), X, Y, 6) for count in (None, 30, 1000)]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0], rtol=1e-6)


def test_search_and_path_on_landmarks(rng):
    X, Y = related_tasks(rng, 90, 3)
    grid = {"alphas": [1e-3, 1e-1], "mus": [0.5, 0.9], "gammas": [0.1, 0.3], "cv": 3}
    exact = MultiTaskRegressorCV(kernel="rbf", **grid).fit(X, Y)
    # All training rows of every fold are landmarks.
    est = MultiTaskRegressorCV(kernel="rbf", n_components=90, random_state=0, **grid).fit(X, Y)
    np.testing.assert_allclose(est.cv_results_["mean_test_score"], exact.cv_results_["mean_test_score"], atol=1e-4)
    assert est.best_index_ == exact.best_index_
    np.testing.assert_allclose(est.predict(X), exact.predict(X), atol=1e-4)
    few = MultiTaskRegressorCV(kernel="rbf", n_components=15, random_state=0, **grid).fit(X, Y)
    assert few.dual_coef_.shape == (15, 3)
    path = structure_path(regressor(kernel="rbf", n_components=15, tol=1e-6), X, Y, [0.5, 0.9], cv=None)
    assert path.structures.shape == (2, 3, 3)


@pytest.mark.parametrize("draw", [{"n_components": 9, "random_state": 0}, {"landmarks": "given"}])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "cosine"])
def test_strengths_that_are_tried_by_default_do_not_depend_on_landmarks(kernel, draw, rng):
    X, Y = related_tasks(rng, 30, 2)
    draw = {"landmarks": X[::4]} if draw.get("landmarks") == "given" else draw
    grid = {"kernel": kernel, "gammas": [0.1] if kernel != "cosine" else None, "mus": [0.9], "eps_factors": [1.0]}
    exact, few = (MultiTaskRegressorCV(**grid, cv=2, **extra).fit(X, Y) for extra in ({}, draw))
    tried = [np.array(search.cv_results_["param_alpha"], dtype=float) for search in (few, exact)]
    np.testing.assert_allclose(*tried, rtol=1e-12)
    assert len(np.unique(tried[1])) == 10


BAD_LANDMARKS = {
    "precomputed": ({"kernel": "precomputed", "n_components": 5}, "needs the rows themselves"),
    "zero": ({"n_components": 0}, "n_components=0 must be a whole number"),
    "half": ({"n_components": 2.5}, "n_components=2.5 must be a whole number"),
    "unknown draw": ({"n_components": 5, "landmarks": "best"}, "landmarks='best' is not known; choose one of uniform"),
    "wrong shape": ({"landmarks": np.ones((3, 2))}, r"landmarks has shape \(3, 2\); it must be \(n_components, 5\)"),
    "two numbers": ({"landmarks": np.ones((3, 5)), "n_components": 4}, "landmarks has 3 rows"),
    "not a kernel": ({"kernel": "sigmoid", "n_components": 20, "gamma": 5.0}, "not positive semidefinite"),
}


@pytest.mark.parametrize("case", BAD_LANDMARKS)
def test_wrong_landmarks_get_a_sentence(case, rng):
    params, message = BAD_LANDMARKS[case]
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressor(random_state=0, **params).fit(X @ X.T if case == "precomputed" else X, Y)


# Blocks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", BLOCK_MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_give_what_memory_gives(layout, model, rng, request):
    """Sums over blocks of rows against the rows themselves: two roads."""
    X, y, extra = labelled_tables(rng, N)[layout]
    memory = for_layout(layout, **BLOCK_MODELS[model]).fit(X, y, **extra)
    request.getfixturevalue("blocks")
    est = for_layout(layout, **BLOCK_MODELS[model]).fit(X, y, **extra)
    assert_same_fit(est, memory, X, X)
    tasks = {name: value for name, value in extra.items() if name == "tasks"}
    assert est.score(X, y, **extra) == pytest.approx(memory.score(X, y, **extra), abs=1e-7)
    np.testing.assert_allclose(est.predict(X, **tasks), memory.predict(X, **tasks), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("layout", ["gaps", "long"])
def test_a_structure_learned_from_sums_with_gaps(layout, rng, request):
    X, y, extra = labelled_tables(rng, N)[layout]
    memory = regressor(tol=1e-8, eps="auto", **BLOCK_MODELS["landmarks"]).fit(X, y, **extra)
    request.getfixturevalue("blocks")
    est = regressor(tol=1e-8, eps="auto", **BLOCK_MODELS["landmarks"]).fit(X, y, **extra)
    assert est.solution_.gap <= 1e-8
    # As exact as the step that finds it.
    assert est.eps_ == pytest.approx(memory.eps_, rel=1e-3)
    assert est.solution_.objective == pytest.approx(memory.solution_.objective, rel=1e-4)
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=1e-2 * np.abs(memory.structure_).max())


def test_complex_rows_in_blocks_are_refused(blocks, rng):
    X, Y = related_tasks(rng, 30, 2)
    with pytest.raises(ValueError, match="X has complex numbers"):
        MultiTaskRegressor().fit(X + 1j, Y)


def test_groups_in_blocks_are_as_many_as_rows(blocks, rng):
    X, Y = related_tasks(rng, 30, 2)
    MultiTaskRegressor().fit(X, Y, groups=np.arange(30) // 3)
    with pytest.raises(ValueError, match="groups has 5 entries but X has 30 rows"):
        MultiTaskRegressor().fit(X, Y, groups=np.arange(5))


def test_a_long_table_in_blocks_has_two_classes(blocks, rng):
    X, tasks = rng.standard_normal((60, 3)), np.arange(60) % 2
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    with pytest.raises(ValueError, match="3 classes"):
        MultiTaskClassifier(landmarks=X[:5], kernel="rbf").fit(X, y, tasks=tasks)
    assert MultiTaskClassifier(landmarks=X[:5], kernel="rbf").fit(X, y).classes_.tolist() == ["a", "b", "c"]


def test_a_long_table_in_blocks_has_one_column_of_labels(blocks, rng):
    X, Y = related_tasks(rng, 60, 2)
    tasks = np.arange(60) % 2
    flat, column = (MultiTaskRegressor().fit(X, y, tasks=tasks).predict(X) for y in (Y[:, 0], Y[:, :1]))
    np.testing.assert_array_equal(column, flat)
    for wrong in (Y, np.ones((60, 3)), np.ones((60, 0))):
        with pytest.raises(ValueError, match="y has"):
            MultiTaskRegressor().fit(X, wrong, tasks=tasks)
    for wrong in (np.ones((60, 0)), np.ones((60, 2, 1))):
        with pytest.raises(ValueError, match=r"y has shape .* must be \(n,\) for one task"):
            MultiTaskRegressor().fit(X, wrong)


@pytest.mark.parametrize("layout", ["gaps", "gaps and weights", "long"])
def test_a_pass_for_every_step_gives_what_the_sums_of_all_tasks_give(layout, rng, blocks, monkeypatch):
    X, y, extra = labelled_tables(rng, N)[layout]
    sums = for_layout(layout, **BLOCK_MODELS["common part"]).fit(X, y, **extra)
    monkeypatch.setattr(skmtl.solvers.blocks, "LARGEST_GRAMS", 0)
    passes = for_layout(layout, **BLOCK_MODELS["common part"]).fit(X, y, **extra)
    assert_same_fit(passes, sums, X, X)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("gaps", [True, False])
def test_sums_do_not_depend_on_the_blocks(gaps, intercept, rng, monkeypatch):
    X, Y = related_tasks(rng, 200, 3)
    X, Y = X + 1e4, with_gaps(rng, Y) if gaps else Y
    gather = ReadMoments(make_feature_map("linear"), LabelReader(3, as_numbers), True, not gaps, True, intercept)
    found = []
    for entries in (10**6, 6400, 640):
        monkeypatch.setattr(skmtl._rows, "BLOCK_ENTRIES", entries)
        found.append(MemoryRows(X, {"y": Y}).reduce(gather, TableMoments.merge, width=100))
    for other in found[1:]:
        # Tasks that share rows and weights have one set of sums, however many blocks there were.
        assert (other.by_task is other.pooled) == (not gaps)
        for name in ("weight", "mean", "target_mean", "cross", "squares", "gram"):
            value, expected = getattr(other.by_task, name), getattr(found[0].by_task, name)
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    if intercept:
        # Nothing cancels, though the rows are 1e4 away from zero.
        rows = ~np.isnan(Y[:, 0])
        expected = np.cov(X[rows].T, bias=True) * rows.sum()
        np.testing.assert_allclose(found[-1].by_task.gram[0], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("gaps", [True, False])
def test_coordinates_may_change_before_the_sum_or_after(gaps, rng):
    X, Y = related_tasks(rng, 200, 3)
    Y = with_gaps(rng, Y) if gaps else Y
    kernel = make_feature_map("rbf", gamma=1.0, n_components=20, random_state=0).fit(X)
    assert kernel.well_conditioned()
    before, after = (
        ReadMoments(kernel, LabelReader(3, as_numbers), late, not gaps, True, True)(0, X, y=Y) for late in (False, True)
    )
    after = after.orthonormal(kernel)
    assert (after.by_task is after.pooled) == (not gaps)
    for sums, expected in ((after.pooled, before.pooled), (after.by_task, before.by_task)):
        for name in ("weight", "mean", "target_mean", "cross", "squares", "gram"):
            value = getattr(expected, name)
            np.testing.assert_allclose(getattr(sums, name), value, atol=1e-12 * np.abs(value).max(initial=0.0))


def test_one_landmark(rng, monkeypatch):
    X, Y = related_tasks(rng, N, T)
    memory = regressor(kernel="rbf", landmarks=X[:1]).fit(X, Y)
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    assert_same_fit(regressor(kernel="rbf", landmarks=X[:1]).fit(X, Y), memory, X, X)


def test_sums_are_not_taken_late_where_they_would_lose_digits(rng):
    """Two landmarks that almost agree: their functions almost cancel, and squares of them would."""
    X = rng.standard_normal((50, 3))
    close = np.vstack([X[:10], X[:1] + 1e-3])
    assert not make_feature_map("rbf", gamma=0.1, landmarks=close).fit(X).well_conditioned()


@pytest.mark.parametrize("gaps", [True, False])
def test_landmarks_that_almost_agree_in_blocks(gaps, rng, monkeypatch):
    X, Y = related_tasks(rng, N, T)
    Y = with_gaps(rng, Y) if gaps else Y
    model = regressor(kernel="rbf", gamma=0.1, landmarks=np.vstack([X[:10], X[:1] + 1e-3]))
    memory = clone(model).fit(X, Y)
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    np.testing.assert_allclose(clone(model).fit(X, Y).predict(X), memory.predict(X), atol=1e-4)


def test_landmarks_that_others_explain_are_left_out(rng):
    """Their functions cancel one another, and with them go the digits of the norm."""
    X = rng.standard_normal((50, 3))
    twice = np.vstack([X[:10], X[:10] + 1e-6])
    assert len(make_feature_map("rbf", gamma=0.1, landmarks=twice).fit(X).landmarks_) == 10


def test_statistics_of_parts_are_those_of_the_whole(rng):
    Y = with_gaps(rng, rng.standard_normal((90, 4)) * [1.0, 1e200, 1e-200, 0.0] + [1e6, 0.0, 0.0, 7.0])
    reader = LabelReader(4, as_numbers)
    whole = reader(Y, weight=np.arange(90.0)).stats()
    parts = [
        reader(Y[rows], weight=np.arange(90.0)[rows]).stats() for rows in (slice(0, 1), slice(1, 50), slice(50, 90))
    ]
    merged = TaskStats.merge(TaskStats.merge(parts[0], parts[1]), parts[2])
    for name in ("total", "lowest", "highest", "mean", "spread"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-10)
    assert merged.spread[3] == 0.0


@pytest.mark.parametrize("target", ["indicator", "classes", "two classes", "long"])
def test_classes_in_blocks(target, rng, request):
    X, Y = related_tasks(rng, N, 3)
    y, extra = {
        "indicator": (np.where(rng.random(Y.shape) < 0.2, np.nan, Y > 0), {}),
        "classes": (np.array(["u", "v", "w"])[np.digitize(Y[:, 0], [-0.5, 0.5])], {}),
        "two classes": (Y[:, 0] > 0, {}),
        "long": (np.array(["no", "yes"])[(Y[:, 0] > 0).astype(int)], {"tasks": rng.integers(0, 3, N)}),
    }[target]
    params = {"kernel": "rbf", "n_components": 40, "random_state": 0, "tol": 1e-9, "eps": 0.05}
    memory = MultiTaskClassifier(**params).fit(X, y, **extra)
    request.getfixturevalue("blocks")
    est = MultiTaskClassifier(**params).fit(X, y, **extra)
    np.testing.assert_array_equal(est.predict(X, **extra), memory.predict(X, **extra))
    np.testing.assert_allclose(est.decision_function(X), memory.decision_function(X), atol=1e-5)
    assert est.classes_.tolist() == memory.classes_.tolist()
    assert est.task_names_.tolist() == memory.task_names_.tolist()
    assert est.score(X, y, **extra) == memory.score(X, y, **extra)


def test_float32_memory_maps(tmp_path, rng, blocks):
    """Numbers in single precision are summed in double precision."""
    X, Y = related_tasks(rng, N, T)
    maps = []
    for name, values in (("X", X), ("Y", Y)):
        written = np.memmap(tmp_path / name, dtype=np.float32, mode="w+", shape=values.shape)
        written[:] = values
        written.flush()
        maps.append(np.memmap(tmp_path / name, dtype=np.float32, mode="r", shape=values.shape))
    for model in ("linear", "landmarks"):
        est = regressor(**BLOCK_MODELS[model]).fit(*maps)
        # The same numbers, widened first: equal in double precision, not in single only.
        widened = regressor(**BLOCK_MODELS[model]).fit(*(np.asarray(one, dtype=np.float64) for one in maps))
        np.testing.assert_allclose(est.predict(maps[0]), widened.predict(X.astype(np.float32)), atol=1e-11)
        assert est.structure_.dtype == est.predict(maps[0]).dtype == np.float64
        rounded = regressor(**BLOCK_MODELS[model]).fit(X, Y)
        np.testing.assert_allclose(est.predict(maps[0]), rounded.predict(X), atol=1e-4)


def test_a_large_table_is_not_copied(rng, monkeypatch):
    """Blocks alone become double precision: nothing as large as the table is made."""
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    monkeypatch.setattr(skmtl._rows, "BLOCK_ENTRIES", 2**15)
    X = rng.standard_normal((40_000, 50), dtype=np.float32)
    Y = X[:, :2] + 0.1 * rng.standard_normal((40_000, 2))
    tracemalloc.start()
    regressor(kernel="rbf", n_components=10, gamma=0.01).fit(X, Y).predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes


def test_frames_in_blocks(rng, blocks):
    X, Y = related_tasks(rng, 100, 2)
    frame = pd.DataFrame(X, columns=list("abcde"))
    est = regressor().fit(frame, pd.DataFrame(Y, columns=["left", "right"]))
    assert est.task_names_.tolist() == ["left", "right"]
    assert est.feature_names_in_.tolist() == list("abcde")
    assert est.predict_frame(frame).columns.tolist() == ["left", "right"]
    with pytest.raises(ValueError, match="feature names"):
        est.predict(frame.rename(columns={"a": "z"}))
    # Nullable types are numbers as any.
    again = regressor().fit(frame.astype("Float64"), Y)
    np.testing.assert_allclose(again.coef_, est.coef_, rtol=1e-9)
    np.testing.assert_allclose(again.predict(frame.astype("Float64")), est.predict(frame), rtol=1e-9)
    for gaps in (frame["b"].where(frame["b"] < 1.0), frame["b"].astype("Float64").where(frame["b"] < 1.0)):
        with pytest.raises(ValueError, match="column 'b'"):
            regressor().fit(frame.assign(b=gaps), Y)


BAD_BLOCKS = {
    "rows do not match": (lambda X, Y: (X, Y[:-1], {}), "X has 100 rows but y has 99"),
    "infinite target": (lambda X, Y: (X, np.where(Y > 2.0, np.inf, Y), {}), "infinite values"),
    "negative weight": (lambda X, Y: (X, Y, {"sample_weight": -np.ones(100)}), "negative"),
    "task without labels": (lambda X, Y: (X, np.column_stack([Y, np.full(100, np.nan)]), {}), "'y2' has no label"),
    "three dimensions": (lambda X, Y: (X, Y[:, :, None], {}), "it must be"),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_wrong_tables_in_blocks_get_a_sentence(case, rng, blocks):
    X, Y = related_tasks(rng, 100, 2)
    make, message = BAD_BLOCKS[case]
    X, Y, extra = make(
        X,
        3.0 * Y,
    )
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y, **extra)


def test_rows_without_labels_are_reported(rng, blocks):
    X, Y = related_tasks(rng, 100, 2)
    Y[5] = np.nan
    with pytest.warns(UserWarning, match="1 row has no label"):
        regressor().fit(X, Y)


# Sparse rows ----------------------------------------------------------------------------------------------------------

SPARSE = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "polynomial": {"kernel": "poly", "degree": 2},
    "landmarks": {"kernel": "rbf", "n_components": 20, "random_state": 0},
    "leverage": {"kernel": "rbf", "n_components": 20, "landmarks": "leverage", "random_state": 0},
    "no intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize("n_features", [12, 200])
@pytest.mark.parametrize("model", SPARSE)
@pytest.mark.parametrize("gaps", [False, True])
def test_sparse_rows_give_what_dense_rows_give(gaps, model, n_features, rng):
    X = sparse.random_array((60, n_features), density=0.1, rng=rng, format="csr")
    Y = np.asarray(X[:, :4] @ rng.standard_normal((4, 3))) + 0.1 * rng.standard_normal((60, 3))
    Y = with_gaps(rng, Y, 0.2) if gaps else Y
    weight = rng.uniform(0.5, 2.0, 60)
    params = {"penalty": Fixed(STRUCTURE.matrix[:3, :3])} if gaps else {"eps": 1.0}
    dense = regressor(**SPARSE[model], **params).fit(X.toarray(), Y, sample_weight=weight)
    est = regressor(**SPARSE[model], **params).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(est.structure_, dense.structure_, atol=1e-10)
    np.testing.assert_allclose(est.predict(X), dense.predict(X.toarray()), atol=1e-9)
    np.testing.assert_allclose(est.predict(X.tocsc()), est.predict(X), atol=1e-12)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf", "n_components": 50}], ids=["linear", "landmarks"])
@pytest.mark.parametrize("gaps", [False, True])
def test_sparse_rows_are_never_made_dense(gaps, params, rng):
    """100,000 features: dense rows, or a basis of their space, would take 1.6 GB; their products take 32 MB."""
    X = sparse.random_array((2000, 100_000), density=1e-4, rng=rng, format="csr")
    Y = rng.standard_normal((2000, 2))
    if gaps:
        Y[::3, 0] = np.nan
    tracemalloc.start()
    est = MultiTaskRegressor(**params).fit(X, Y)
    assert np.all(np.isfinite(est.predict(X[:100])))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400e6


def test_sparse_rows_in_a_search(rng):
    X = sparse.random_array((90, 30), density=0.2, rng=rng, format="csr")
    Y = np.asarray(X[:, :4] @ rng.standard_normal((4, 2))) + 0.1 * rng.standard_normal((90, 2))
    for params in ({"kernel": "linear"}, {"kernel": "rbf"}):
        grid = {"alphas": [1e-3, 1e-1], "mus": [0.5, 0.9], "cv": 3, **params}
        dense = MultiTaskRegressorCV(**grid).fit(X.toarray(), Y)
        est = MultiTaskRegressorCV(**grid).fit(X, Y)
        np.testing.assert_allclose(est.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=1e-6)
    labels = (Y > 0).astype(int)
    assert MultiTaskClassifierCV(alphas=[1e-3], mus=[0.9], cv=3).fit(X, labels).predict(X).shape == (90, 2)


def test_kernels_without_sparse_rows_say_so(rng):
    X = sparse.random_array((20, 5), density=0.5, rng=rng, format="csr")
    with pytest.raises(TypeError, match="dense data is required"):
        MultiTaskRegressor(kernel="chi2").fit(X, rng.standard_normal((20, 2)))
    X.data[0] = np.nan
    with pytest.raises(ValueError, match="X has 1 NaN"):
        MultiTaskRegressor().fit(X, rng.standard_normal((20, 2)))


@parametrize_with_checks(
    [MultiTaskRegressor(kernel="rbf", n_components=20), MultiTaskClassifier(kernel="rbf", n_components=20)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract_on_landmarks(estimator, check):
    check(estimator)


def test_weights_in_blocks_have_a_column_for_each_task(blocks, rng):
    X, Y = related_tasks(rng, 30, 2)
    for y, n_columns in ((Y[:, 0], 1), (Y, 2)):
        for wrong in {1, 2, 3} - {n_columns}:
            with pytest.raises(ValueError, match="sample_weight"):
                MultiTaskRegressor().fit(X, y, sample_weight=np.ones((30, wrong)))
    MultiTaskRegressor().fit(X, Y, sample_weight=np.ones((30, 2)))
    # A row of a long table has one label, and one weight.
    with pytest.raises(ValueError, match=r"sample_weight has shape \(30, 1\); it must be \(30,\)\."):
        MultiTaskRegressor().fit(X, Y[:, 0], tasks=np.arange(30) % 2, sample_weight=np.ones((30, 1)))


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
def test_kernels_without_a_space_of_functions_are_refused_on_landmarks(landmarks, rng):
    """Of zeros on the diagonal nothing is left to factor, and entries beside them are no kernel of zeros."""
    X, Y = np.abs(rng.standard_normal((30, 4))), rng.standard_normal((30, 2))
    for kernel in ("additive_chi2", "sigmoid", lambda a, b: -a @ b):
        est = MultiTaskRegressor(kernel=kernel, n_components=12, landmarks=landmarks, random_state=0)
        with pytest.raises(ValueError, match="not positive semidefinite"):
            est.fit(X, Y)


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
@pytest.mark.parametrize("kernel", ["cosine", "poly"])
def test_a_kernel_of_zeros_on_landmarks_gives_constants(kernel, landmarks, rng):
    Y = rng.standard_normal((30, 2))
    est = MultiTaskRegressor(kernel=kernel, coef0=0.0, n_components=8, landmarks=landmarks, random_state=0)
    np.testing.assert_allclose(est.fit(np.zeros((30, 4)), Y).predict(np.zeros((1, 4))), Y.mean(axis=0)[None])


@pytest.mark.parametrize("layout", ["gaps", "gaps and weights", "long"])
def test_sums_of_blocks_know_what_the_rows_know(layout, blocks, rng, monkeypatch):
    seen = []

    class Listening(MissingLabelRidge):
        def __init__(self, observed, *given):
            seen.append(observed)
            super().__init__(observed, *given)

    monkeypatch.setattr(skmtl.solvers.blocks, "MissingLabelRidge", Listening)
    X, y, extra = labelled_tables(rng, N)[layout]
    for_layout(layout, scale_targets=False).fit(X, y, **extra)
    weight = extra.get("sample_weight", np.ones(y.shape))
    known = np.eye(T)[np.searchsorted(list("abcd"), extra["tasks"])] if layout == "long" else ~np.isnan(y)
    Y = known * y[:, None] if layout == "long" else np.nan_to_num(y)
    weight = known * (weight if weight.ndim == 2 else weight[:, None])
    n, totals = weight.sum() / T, weight.sum(axis=0)
    assert seen[0].n == pytest.approx(n)
    assert seen[0].n_labels == round(weight.sum())
    np.testing.assert_allclose(seen[0].shares, totals / n)
    means = np.sum(weight * Y, axis=0) / totals
    np.testing.assert_allclose(seen[0].squares, np.sum(weight * (Y - means) ** 2, axis=0))


def test_labels_that_rows_explain_leave_nothing_in_blocks_either(rng, request):
    X = rng.standard_normal((40, 3))
    Y = X @ rng.standard_normal((3, 2))
    memory = MultiTaskRegressor(alpha=1e-6, eps=0.05).fit(X, Y)
    request.getfixturevalue("blocks")
    est = MultiTaskRegressor(alpha=1e-6, eps=0.05).fit(X, Y)
    assert est.evidence_ is None
    assert est.solution_.objective < 1e-3
    assert est.solution_.objective == pytest.approx(memory.solution_.objective, rel=1e-5)
