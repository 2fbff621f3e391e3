"""From a table to a model in Python: what columns are for, preparation, fit, predictions by name."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline

from skmtl import MultiTaskClassifier, MultiTaskRegressor, load_model, save_model
from skmtl.model_selection import interval_coverage, kernel_choice, landmark_choice, quick_search, readable_graph
from skmtl.penalties import Sparse
from skmtl.tables import (
    ColumnRoles,
    compare_table,
    feature_columns,
    fit_table,
    fitting,
    make_model,
    make_preparation,
    make_problem,
    predict_blocks,
    predict_frame,
    predict_table,
    read_blocks,
    read_problem,
    read_table,
    refit_blocks,
    sample_blocks,
    sort_columns,
    write_table,
)

TARGETS = ["first", "second", "third"]
SMALL = {"alphas": [1e-1, 1e-3], "mus": [0.7, 0.9]}


@pytest.fixture
def table(rng):
    """Three related targets, numbers and categories, with gaps."""
    n = 60
    X = rng.normal(size=(n, 4))
    Y = X @ rng.normal(size=(4, 2)) @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(colour=rng.choice(["red", "blue"], n))
    frame[TARGETS] = Y
    frame.loc[::9, "a"] = np.nan
    frame.loc[::11, "colour"] = None
    frame.loc[::7, "second"] = np.nan
    return frame


def test_a_problem_says_what_every_column_is_for(table):
    table["when"] = pd.Timestamp("2020-01-01")
    table.loc[3, TARGETS] = np.nan
    problem = make_problem(table, ColumnRoles(TARGETS, ignore=["d"]))
    assert problem.features.numbers == ["a", "b", "c"]
    assert problem.features.categories == ["colour"]
    assert list(problem.features.left_out) == ["when"]
    assert len(problem.X) == len(problem.Y) == 59
    assert (problem.n_tasks, problem.classification, problem.complete) == (3, False, False)
    assert "1 more row without a label is left out." in problem.notes


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (ColumnRoles(["fist"]), "the table has no column 'fist' \\(did you mean 'first'\\?\\)"),
        (ColumnRoles("first"), "targets='first' is no list of columns"),
        (ColumnRoles([]), "targets=\\[\\] is no list of columns"),
        (ColumnRoles(["first"], features=["first"]), "cannot be a target and something else"),
    ],
)
def test_roles_that_cannot_be_get_a_sentence(table, roles, message):
    with pytest.raises(ValueError, match=message):
        make_problem(table, roles)


def test_columns_of_a_frame_may_be_numbers_but_not_twice(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 3)))
    assert make_problem(frame, ColumnRoles(["2"])).features.names == ["0", "1"]
    frame.columns = [0, "0", 2]
    with pytest.raises(ValueError, match="two columns called '0'"):
        make_problem(frame, ColumnRoles(["2"]))


def test_two_columns_of_one_name_in_parquet_are_no_damage(tmp_path):
    column = pyarrow.array([1.0, 2.0])
    parquet.write_table(pyarrow.table([column, column], names=["a", "a"]), tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="has two columns called 'a'; give every column its own name"):
        read_table(tmp_path / "table.parquet")


def test_preparation_knows_gaps_and_new_categories(table):
    columns = sort_columns(table, ["a", "colour"])
    preparation = make_preparation(columns).fit(columns.clean(table))
    new = pd.DataFrame({"colour": ["green", None], "a": [np.inf, None]})
    Z = preparation.transform(columns.clean(new))
    # A gap is the median, an unknown category none of the known, a missing one the most frequent.
    assert Z[0, 0] == Z[1, 0] == preparation.transform(columns.clean(new.assign(a=table["a"].median())))[0, 0]
    assert Z[0, 1:].tolist() == [0.0, 0.0]
    assert Z[1, 1:].sum() == 1.0


def test_the_fit_of_a_table_is_a_pipeline_that_predicts_by_name(table, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    problem = read_problem(tmp_path / "table.csv", ColumnRoles(TARGETS))
    states = []
    result = fit_table(problem, search=quick_search(**SMALL), kernels=["linear"], callback=states.append)
    assert isinstance(result.model, Pipeline)
    assert result.comparison["task"].tolist() == [*TARGETS, "(all tasks)"]
    judged = [state for state in states if state["step"] == "comparing with independent tasks" and state["done"]]
    assert [(state["done"], state["total"]) for state in judged] == [(k, 5) for k in range(1, 6)]
    assert list(dict.fromkeys(state["step"] for state in states)) == [
        "choosing parameters",
        "fitting all rows",
        "comparing with independent tasks",
        "following mu",
        "looking for the same edges on halves of the rows",
        "looking at intervals",
    ]
    save_model(result.model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert feature_columns(again).names == ["a", "b", "c", "d", "colour"]
    expected = pd.DataFrame(result.model.predict(problem.X), columns=TARGETS)
    pd.testing.assert_frame_equal(predict_frame(again, table[::-1])[::-1], expected)
    pd.testing.assert_frame_equal(predict_table(again, tmp_path / "table.csv"), expected, atol=1e-12)


@pytest.mark.parametrize("form", ["gaps", "groups", "long"])
def test_intervals_are_looked_at_on_the_folds_that_anybody_has_with_the_saved_model(table, form, rng):
    frame, roles = table.copy(), ColumnRoles(TARGETS)
    frame[TARGETS] = frame[TARGETS].mask(rng.random((len(frame), 3)) < 0.3)
    if form == "groups":
        frame["patient"] = np.arange(len(frame)) // 3
        roles = ColumnRoles(TARGETS, groups="patient")
    if form == "long":
        frame = frame.melt(["a", "b", "c", "d"], TARGETS, "task", "label").dropna()
        roles = ColumnRoles(["label"], task_column="task")
    problem = make_problem(frame, roles)
    result = fit_table(problem, search=quick_search(**SMALL), kernels=["linear"])
    rows = {"tasks": problem.tasks, "groups": problem.groups}
    again = interval_coverage(result.model[-1], result.model[:-1].transform(problem.X), problem.Y, **rows)
    pd.testing.assert_frame_equal(result.intervals, again)


def test_where_independent_tasks_win_the_graph_is_that_of_the_model_beside_them(rng):
    """The score along mu is that of the shared model in the comparison, not that of a graph at another's alpha."""
    X = rng.normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame[TARGETS] = np.sin(2.0 * X) + 0.1 * rng.normal(size=(60, 3))
    search = quick_search(alphas=[1e-2, 1e-4], mus=[0.8, 0.95])
    result = fit_table(make_problem(frame, ColumnRoles(TARGETS)), search=search, kernels=["rbf"])
    assert result.estimator.penalty_.name == "independent"
    mu = result.choice.rival["penalty"].mu
    shared = result.comparison.loc[result.comparison["task"] == "(all tasks)", "score"].item()
    assert result.path.scores[list(result.path.mus).index(mu)] == pytest.approx(shared, abs=1e-3)


@pytest.mark.parametrize("rule", ["slopes", "task_evidence"])
def test_a_scale_that_many_rows_have_learned_is_known_to_the_graph(rule, table, monkeypatch):
    """On rows that are scaled already the graph is that of the model, which learns the scale; of few rows it learns."""
    seen = []

    def keep(estimator, X, Y, **rest):
        seen.append(estimator.fit(X, Y))
        return readable_graph(estimator, X, Y, **rest)

    monkeypatch.setattr(fitting, "readable_graph", keep)
    monkeypatch.setattr(fitting, "N_HALVES", 2)
    problem = make_problem(table, ColumnRoles(TARGETS))
    estimator = MultiTaskRegressor(Sparse(0.8), alpha=0.02, kernel="rbf", gamma=0.1, metric_rounds=2, metric_rule=rule)
    for share in (0.1, 1.0):
        monkeypatch.setattr(fitting, "KNOWN_SCALE", share)
        result = fit_table(problem, estimator=estimator)
        np.testing.assert_allclose(seen[-1].structure_, result.estimator.structure_, atol=1e-6)
    assert [model.metric_rounds for model in seen] == [2 if rule == "slopes" else 0, 0]
    assert seen[1].intercept_ == pytest.approx(result.estimator.intercept_, abs=1e-6)


def test_an_estimator_given_is_fitted_as_it_is(table):
    problem = make_problem(table, ColumnRoles(TARGETS))
    estimator = MultiTaskRegressor(Sparse(0.8), alpha=0.02, kernel="rbf", gamma=0.1)
    result = fit_table(problem, estimator=estimator)
    assert result.reasons == ("The rbf kernel is used.", "Parameters are as given.")
    assert result.estimator.get_params()["penalty__mu"] == 0.8
    alone = make_model(problem.features, estimator).fit(problem.X, problem.Y)
    np.testing.assert_allclose(result.model.predict(problem.X), alone.predict(problem.X), atol=1e-9)


def test_classes_of_one_column_are_called_prediction(table):
    frame = table.drop(columns=TARGETS).assign(kind=np.where(table["first"] > 0, "high", "low"))
    problem = make_problem(frame, ColumnRoles(["kind"]))
    assert (problem.classification, problem.n_tasks) == (True, 1)
    model = make_model(problem.features, MultiTaskClassifier(alpha=0.01)).fit(problem.X, problem.Y)
    predictions = predict_frame(model, frame)
    assert list(predictions) == ["prediction"]
    assert (predictions["prediction"] == frame["kind"]).mean() > 0.8


def test_comparing_needs_several_tasks(table, monkeypatch):
    monkeypatch.setattr(kernel_choice, "ALPHAS", np.array([1e-1, 1e-3]))
    states = []
    problem = make_problem(table, ColumnRoles(TARGETS))
    comparison, reasons = compare_table(problem, ["sparse", "trace"], kernels=["linear"], callback=states.append)
    assert comparison["method"].unique().tolist() == ["sparse", "trace"]
    assert reasons[0] == "The linear kernel is used."
    assert [reason[:14] for reason in reasons[1:]] == ["In the search ", "The comparison"]
    assert "graph (" in reasons[1]
    assert states[-1] == {"step": "comparing", "done": 15, "total": 15, "remaining": 0.0}
    with pytest.raises(ValueError, match="there is one task only"):
        compare_table(make_problem(table, ColumnRoles(["first"])))


def test_a_comparison_of_some_rows_says_so_once(rng, monkeypatch):
    """It judges no model, and so does not say on which rows one is judged."""
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 60)
    for name, value in (("MOST_EXACT_ROWS", 60), ("MOST_LANDMARK_ROWS", 1000), ("LANDMARKS", 10)):
        monkeypatch.setattr(landmark_choice, name, value)
    x = rng.uniform(-3.0, 3.0, 1200)
    frame = pd.DataFrame({"x": x, "u": np.sin(2.0 * x), "v": np.cos(2.0 * x)})
    search = quick_search(alphas=[1e-3], gammas=[1.0], mus=[0.9], cv=2)
    _, reasons = compare_table(
        make_problem(frame, ColumnRoles(["u", "v"])), ["sparse"], search=search, kernels=["linear", "rbf"]
    )
    said = [reason[:20] for reason in reasons]
    assert said == [
        "The rbf kernel is us",
        "The kernel is approx",
        "Methods are compared",
        "In the search R2 is ",
        "The comparison choos",
    ]
    assert "on 1,000 of 1,200 rows" in reasons[2]


def test_a_model_that_knows_no_columns_takes_the_table_as_it_is(rng, tmp_path):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    model = MultiTaskRegressor().fit(X, Y)
    assert feature_columns(model) is None
    frame = pd.DataFrame(X, columns=["a", "b"])
    write_table(frame, tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        predictions = predict_table(model, tmp_path / "t.csv")
    np.testing.assert_allclose(predictions, model.predict(X))
    assert feature_columns(Ridge().fit(frame, Y)).names == ["a", "b"]


# Dask uses what pandas will drop.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_blocks_are_sampled_fitted_and_predicted(table, tmp_path):
    pytest.importorskip("dask.dataframe")
    folder = tmp_path / "table"
    folder.mkdir()
    for part in range(4):
        table.to_parquet(folder / f"{part}.parquet")
    table = pd.concat([table] * 4, ignore_index=True)
    sampled = sample_blocks(folder, ColumnRoles(TARGETS), n_sampled=80)
    assert sampled.n_rows == 240
    assert 60 < len(sampled.problem.X) < 100
    model = make_model(sampled.problem.features, MultiTaskRegressor(alpha=0.01))
    model.fit(sampled.problem.X, sampled.problem.Y)
    whole = refit_blocks(model, sampled)
    # All rows were fitted, not the sample: the residuals of each task sum to zero over its labels.
    errors = table[TARGETS] - predict_frame(whole, table)
    np.testing.assert_allclose(errors.mean(), 0.0, atol=1e-9)
    n_parts = predict_blocks(whole, folder, tmp_path / "parts")
    assert n_parts == len(list((tmp_path / "parts").glob("*.parquet"))) == 4
    together = read_blocks(tmp_path / "parts").compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(together, predict_frame(whole, table))
    with pytest.raises(ValueError, match="exists"):
        predict_blocks(whole, folder, tmp_path / "parts")


@pytest.mark.parametrize("name", ["p.xls", "p.XLSX", "p.csv.gz"])
def test_a_name_that_promises_another_format_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"written as \.csv.* not as \."):
        write_table(pd.DataFrame({"x": [1.0]}), tmp_path / name)
    assert not (tmp_path / name).exists()
