"""Dask arrays and data frames: the same answers as in memory, and nothing gathered."""

import numpy as np
import pandas as pd
import pytest
from problems import BLOCK_MODELS, LAYOUTS, labelled_tables, related_tasks, structure_cost

import skmtl._rows
import skmtl.estimators.blocks
import skmtl.estimators.metric
from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl._cluster import DaskRows
from skmtl._validation import is_dask

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N, T = 300, 4


def regressor(**params):
    return MultiTaskRegressor(random_state=0, tol=1e-7, **params)


def spread(array, chunks):
    """An array cut at other places than the rest."""
    return da.from_array(array, chunks=(chunks, *(3 for _ in array.shape[1:])))


def assert_same(est, memory, X, Xd, tasks=None, tolerance=1e-8):
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=tolerance * np.abs(memory.structure_).max())
    predictions = est.predict(Xd) if tasks is None else est.predict(Xd, tasks=spread(tasks, 80))
    assert is_dask(predictions)
    expected = memory.predict(X) if tasks is None else memory.predict(X, tasks=tasks)
    assert predictions.shape == expected.shape
    np.testing.assert_allclose(predictions.compute(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("model", BLOCK_MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dask_is_memory(layout, model, rng, monkeypatch):
    X, y, extra = labelled_tables(rng, N)[layout]
    # The same sums in memory: with gaps the other road stops elsewhere within tol.
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    monkeypatch.setattr(skmtl._rows, "BLOCK_ENTRIES", 64 * 64)
    memory = regressor(**BLOCK_MODELS[model]).fit(X, y, **extra)
    Xd, yd = spread(X, 70), spread(y, 90)
    there = {name: spread(value, 110) for name, value in extra.items()}
    est = regressor(**BLOCK_MODELS[model]).fit(Xd, yd, **there)
    # Conjugate gradients let rounding grow a little.
    exact = layout in ("complete", "weights")
    assert_same(est, memory, X, Xd, extra.get("tasks"), 1e-8 if exact else 1e-7)
    assert est.score(Xd, yd, **there) == pytest.approx(memory.score(X, y, **extra), abs=1e-10 if exact else 1e-8)
    assert est.solution_.objective == pytest.approx(memory.solution_.objective, rel=1e-9)
    assert est.solution_.gap <= 1e-7
    assert est.task_names_.tolist() == memory.task_names_.tolist()


def test_one_column_of_numbers_is_one_task(rng):
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    est, memory = regressor().fit(spread(X, 20), spread(y, 25)), regressor().fit(X, y)
    assert est.task_names_.tolist() == memory.task_names_.tolist()
    assert_same(est, memory, X, spread(X, 20))


def test_a_metric_is_learned_on_the_same_rows_as_in_memory(rng, monkeypatch):
    X, Y = related_tasks(rng, N, T)
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    monkeypatch.setattr(skmtl.estimators.metric, "MOST_ROWS", 100)
    model = {"kernel": "rbf", "n_components": 30, "metric_rounds": 1}
    memory = regressor(**model).fit(X, Y)
    Xd = spread(X, 70)
    assert_same(regressor(**model).fit(Xd, spread(Y, 90)), memory, X, Xd)


def test_the_certificate_of_a_fit_on_dask(rng):
    """Objective and bound from the definition and the fitted attributes, for a linear fit with gaps."""
    X, Y, _ = labelled_tables(rng, N)["gaps"]
    alpha = 1e-2
    est = regressor(alpha=alpha, scale_targets=False).fit(spread(X, 70), spread(Y, 70))
    A, eps, penalty = est.structure_, est.eps_, est.penalty_
    weight = (~np.isnan(Y)).astype(float)
    n = weight.sum() / T
    residual = np.where(weight > 0, Y - est.predict(spread(X, 70)).compute(), 0.0)
    C = residual / (n * alpha)
    np.testing.assert_allclose(C.sum(axis=0), 0.0, atol=1e-8 * np.abs(C).sum())
    W = est.coef_.T
    objective = np.sum(residual**2) / n + alpha * (
        np.trace(np.linalg.solve(A, W.T @ W)) + structure_cost(penalty, A, eps)
    )
    centred = np.where(weight > 0, Y - np.nanmean(Y, axis=0), 0.0)
    Q = C.T @ X @ X.T @ C
    bound = 2 * alpha * np.sum(C * centred) - n * alpha**2 * np.sum(C**2) + alpha * penalty.lower_bound(Q, eps, A)
    assert est.solution_.objective == pytest.approx(objective, rel=1e-8)
    assert bound <= objective
    assert est.solution_.lower_bound == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("target", ["indicator", "classes", "two classes"])
def test_classes_on_dask(target, rng):
    X, Y = related_tasks(rng, N, 3)
    y = {
        "indicator": (Y > 0).astype(int),
        "classes": np.array(["u", "v", "w"])[np.digitize(Y[:, 0], [-0.5, 0.5])],
        "two classes": np.array(["no", "yes"])[(Y[:, 0] > 0).astype(int)],
    }[target]
    params = {"kernel": "rbf", "n_components": 40, "random_state": 0}
    memory = MultiTaskClassifier(**params).fit(X, y)
    Xd, yd = spread(X, 70), spread(y, 90)
    est = MultiTaskClassifier(**params).fit(Xd, yd)
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=1e-8)
    np.testing.assert_array_equal(est.predict(Xd).compute(), memory.predict(X))
    np.testing.assert_allclose(est.decision_function(Xd).compute(), memory.decision_function(X), atol=1e-8)
    assert est.score(Xd, yd) == pytest.approx(memory.score(X, y))


def test_data_frames_with_unknown_lengths(rng):
    X, Y, _ = labelled_tables(rng, N)["complete"]
    frame, targets = pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y, columns=list("wxyz"))
    memory = regressor().fit(frame, targets)
    Xd, Yd = dd.from_pandas(frame, npartitions=3), dd.from_pandas(targets, npartitions=4)
    est = regressor().fit(Xd, Yd)
    assert est.task_names_.tolist() == list("wxyz")
    assert est.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=1e-10)
    np.testing.assert_allclose(est.predict(Xd).compute(), memory.predict(frame), atol=1e-10)
    assert est.score(Xd, Yd) == pytest.approx(memory.score(frame, targets))
    one = regressor().fit(Xd, Yd["w"])
    assert one.predict(Xd).compute().shape == (N,)
    with pytest.raises(ValueError, match="feature names"):
        est.predict(Xd.rename(columns={"a": "q"}))


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("classes", [[0, 1], ["no", "yes"]])
def test_a_table_of_one_column_of_classes_is_that_column(classes, frame, rng):
    X, Y = related_tasks(rng, N, 1)
    y = np.array(classes)[(Y[:, 0] > 0).astype(int)]
    Xd, column = spread(X, 70), spread(y, 90)
    table = dd.from_pandas(pd.DataFrame({"y": y}), npartitions=3) if frame else column[:, None]
    one, other = (MultiTaskClassifier().fit(Xd, each) for each in (column, table))
    assert other.task_names_.tolist() == one.task_names_.tolist()
    np.testing.assert_array_equal(other.predict(X), one.predict(X))
    assert other.score(Xd, table) == one.score(Xd, column)


@pytest.mark.parametrize("model", ["linear", "landmarks"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_without_rows_change_nothing(layout, model, rng):
    """Choosing rows of a collection leaves some of its blocks empty."""
    X, y, extra = labelled_tables(rng, N)[layout]

    def table(value, chunks):
        return da.from_array(value, chunks=(chunks, *value.shape[1:]))

    params = {"linear": {}, "landmarks": {"kernel": "rbf", "n_components": 9}}[model]
    fits = []
    for chunks in [(120, 180), (0, 120, 0, 180, 0)]:
        rest = {name: table(value, chunks) for name, value in extra.items()}
        Xd, yd = table(X, chunks), table(y, chunks)
        est = regressor(**params).fit(Xd, yd, **rest)
        tasks = {name: value for name, value in rest.items() if name == "tasks"}
        fits.append((est.structure_, est.predict(Xd, **tasks).compute(), est.score(Xd, yd, **rest)))
    for one, other in zip(*fits, strict=True):
        np.testing.assert_array_equal(other, one)


def test_chosen_rows_of_a_data_frame(rng):
    X, Y, _ = labelled_tables(rng, N)["complete"]
    frame = pd.DataFrame(np.hstack([X, Y]), columns=list("abcdewxyz")).assign(row=np.arange(N))
    whole, features, targets = dd.from_pandas(frame, npartitions=4), list("abcde"), list("wxyz")
    some, chosen = whole[whole["row"] < 100], frame[:100]
    est = regressor().fit(some[features], some[targets])
    memory = regressor().fit(chosen[features], chosen[targets])
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=1e-10)
    np.testing.assert_allclose(est.predict(some[features]).compute(), memory.predict(chosen[features]), atol=1e-10)


def test_parquet_files_of_which_few_columns_are_needed(rng, tmp_path):
    X, y, extra = labelled_tables(rng, N)["long"]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, task=extra["tasks"])
    for i in range(3):
        frame[100 * i : 100 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    whole, features = dd.read_parquet(tmp_path), list("abcde")
    est = regressor().fit(whole[features], whole["y"], tasks=whole["task"])
    memory = regressor().fit(frame[features], frame["y"], tasks=frame["task"])
    np.testing.assert_allclose(est.structure_, memory.structure_, atol=1e-6)
    np.testing.assert_allclose(est.predict(whole[features]).compute(), memory.predict(frame[features]), atol=1e-6)


def test_nothing_is_gathered(rng, monkeypatch):
    """What comes back from the scheduler are landmarks, sums and statistics: never as much as a table."""
    import dask

    X, Y, _ = labelled_tables(rng, N)["complete"]
    sizes = []
    compute = dask.base.compute

    def watch(*args, **kwargs):
        results = compute(*args, **kwargs)
        sizes.extend(len(one) for one in results if isinstance(one, np.ndarray))
        return results

    monkeypatch.setattr(dask.base, "compute", watch)
    est = regressor(kernel="rbf", n_components=10).fit(spread(X, 30), spread(Y, 30))
    est.score(spread(X, 30), spread(Y, 30))
    assert sizes
    assert max(sizes) <= 10


BAD = {
    "exact kernel": ({"kernel": "rbf"}, lambda X, Y: (X, Y), "needs n_components"),
    "other loss": ({"loss": "huber"}, lambda X, Y: (X, Y), "loss='huber' needs all rows in memory"),
    "rows do not match": ({}, lambda X, Y: (X[:-3], Y), "X has 297 rows but y has 300"),
    "NaN in X": ({}, lambda X, Y: (da.where(X > 5.0, np.nan, X), Y), "NaN or infinite values"),
    "infinite target": ({}, lambda X, Y: (X, da.where(Y > 1.0, np.inf, Y)), "infinite values"),
    "no rows": ({}, lambda X, Y: (X[:0], Y[:0]), "X has no rows"),
    "a column of X": ({}, lambda X, Y: (X[:, 0], Y), "2D"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_collections_get_a_sentence(case, rng):
    params, change, message = BAD[case]
    X, Y, _ = labelled_tables(rng, N)["complete"]
    with pytest.raises(ValueError, match=message):
        regressor(**params).fit(*change(spread(X, 70), spread(Y, 70)))


def test_a_search_on_collections_says_what_to_do(rng):
    X, Y, _ = labelled_tables(rng, N)["complete"]
    with pytest.raises(ValueError, match="in memory; choose parameters on a sample"):
        MultiTaskRegressorCV().fit(spread(X, 70), spread(Y, 70))


def test_blocks_know_their_place(rng):
    """Positions and rows of blocks, put together again, are the table."""
    X = rng.standard_normal((50, 2))
    rows = DaskRows.from_collections(spread(X, 7), {"y": np.arange(50.0)})

    def leaf(start, X, y):
        return [(start, X, y)]

    parts = rows.reduce(leaf, lambda one, other: one + other, width=2)
    assert [start for start, _, _ in parts] == list(range(0, 50, 7))
    np.testing.assert_array_equal(np.concatenate([block for _, block, _ in parts]), X)
    np.testing.assert_array_equal(np.concatenate([y for _, _, y in parts]), np.arange(50.0))
    np.testing.assert_array_equal(rows.take(np.array([0, 8, 49])), X[[0, 8, 49]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_processes(rng):
    distributed = pytest.importorskip("distributed")
    import joblib

    X, y, extra = labelled_tables(rng, N)["gaps"]
    memory = regressor(**BLOCK_MODELS["landmarks"]).fit(X, np.nan_to_num(y), **extra)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        Xd, yd = spread(X, 70), spread(np.nan_to_num(y), 90)
        there = {name: spread(value, 110) for name, value in extra.items()}
        est = regressor(**BLOCK_MODELS["landmarks"]).fit(Xd, yd, **there)
        assert_same(est, memory, X, Xd)
        search = MultiTaskRegressorCV(alphas=[1e-3, 1e-2], mus=[0.9], n_jobs=2)
        alone = search.fit(X, y).cv_results_["mean_test_score"]
        with joblib.parallel_config("dask"):
            np.testing.assert_allclose(search.fit(X, y).cv_results_["mean_test_score"], alone, atol=1e-10)


def test_tasks_in_memory_go_with_rows_on_a_cluster(rng):
    X, Y = related_tasks(rng, 60, 3)
    tasks = np.array(["iron", "lead", "zinc"])[np.arange(60) % 3]
    y = Y[np.arange(60), np.arange(60) % 3]
    est = regressor(alpha=0.1).fit(X, y, tasks=tasks)
    for given in (tasks, tasks.tolist(), pd.Series(tasks)):
        found = est.predict(spread(X, 25), tasks=given)
        np.testing.assert_allclose(np.asarray(found), est.predict(X, tasks=tasks), rtol=1e-10)
    with pytest.raises(ValueError, match="gold"):
        np.asarray(est.predict(spread(X, 25), tasks=["gold"] * 60))


def test_rows_to_predict_have_the_features_of_the_fit(rng):
    X, Y = related_tasks(rng, 40, 2)
    est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        est.predict(spread(X[:, :3], 20))
    assert est.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("cls", [MultiTaskRegressor, MultiTaskClassifier])
def test_scores_on_a_cluster_ask_the_model_for_its_tasks_and_features(cls, rng, monkeypatch):
    """Rows of one task are judged by its predictions; a table that does not fit is refused, and changes nothing."""
    X = rng.standard_normal((80, 3))
    tasks = np.array(["a", "b"])[np.arange(80) % 2]
    y = np.where(tasks == "a", X[:, 0], -X[:, 0])
    y = np.where(y > 0.0, "yes", "no") if cls is MultiTaskClassifier else y
    est = cls(alpha=1e-3).fit(X, y, tasks=tasks)
    own = tasks == "b"
    Xd, yd, td = (da.from_array(part[own], chunks=(15, *part.shape[1:])) for part in (X, y, tasks))
    assert est.score(Xd, yd, tasks=td) == pytest.approx(est.score(X[own], y[own], tasks=tasks[own]))
    with monkeypatch.context() as patch:
        # Which would bring all rows together.
        patch.setattr(cls, "predict", None)
        assert est.score(Xd, yd, tasks=td) > 0.9
    with pytest.raises(ValueError, match="features"):
        est.score(Xd[:, :2], yd, tasks=td)
    assert (est.n_features_in_, est.task_names_.tolist()) == (3, ["a", "b"])


def test_how_sure_predictions_are_is_said_of_rows_in_memory(rng):
    X, Y = related_tasks(rng, 30, 2)
    est, collection = MultiTaskRegressor().fit(X, Y), da.from_array(X)
    for ask in (
        lambda: est.predict(collection, return_std=True),
        lambda: est.predict(collection, known=Y),
        lambda: est.predict_interval(collection, coverage=0.5),
    ):
        with pytest.raises(ValueError, match=r"need rows in memory, and these are a Dask collection"):
            ask()
