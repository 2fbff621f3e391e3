"""From a table to a model, predictions, a report and a graph, as a person does it."""

import io
import json
import re
from decimal import Decimal
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from skmtl import MultiTaskClassifier, MultiTaskRegressor, load_model
from skmtl.cli import progress
from skmtl.model_selection import folds, kernel_choice
from skmtl.penalties import Sparse

typer = pytest.importorskip("typer")

from skmtl.cli.app import COMMANDS, make_app  # noqa: E402

FILES = ["model.skops", "relations.csv", "report.html", "scores.csv", "summary.json"]
TARGETS = ["first", "second", "third"]


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(monkeypatch):
    """Few candidates: a search of a moment."""
    monkeypatch.setattr(kernel_choice, "ALPHAS", np.array([1e-1, 1e-3]))
    monkeypatch.setattr(kernel_choice, "MUS", (0.7, 0.9))
    monkeypatch.setattr(folds, "MORE_FOLDS", folds.N_FOLDS)
    monkeypatch.setattr(folds, "N_DEALS", 1)


@pytest.fixture
def table(rng):
    """Three related targets, numbers and categories, with gaps everywhere."""
    n = 60
    X = rng.normal(size=(n, 4))
    hidden = X @ rng.normal(size=(4, 2))
    Y = hidden @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(colour=rng.choice(["red", "blue", "1"], n))
    frame[TARGETS] = Y
    frame.loc[::9, "a"] = np.nan
    frame.loc[::11, "colour"] = None
    frame.loc[::7, "second"] = np.nan
    return frame


def predicted(run, frame, name="new.csv", *options):
    frame.to_csv(name, index=False)
    code, out, err = run("predict", "run/model.skops", name, "--out", "p.csv", "--overwrite", *options)
    assert (code, err) == (0, ""), out
    return pd.read_csv("p.csv")


def fit(run, frame, *options):
    frame.to_csv("table.csv", index=False)
    code, out, err = run("fit", "table.csv", "--out", "run", "--overwrite", *options)
    assert (code, err) == (0, ""), out
    return out


def test_a_run_leaves_everything_and_says_what_was_done(run, small, table, tmp_path):
    out = fit(run, table, "--targets", ",".join(TARGETS))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == FILES
    assert "\x1b" not in out
    for words in ("4 numbers: gaps filled", "1 category", "labels are missing and stay unobserved", "kernel is used"):
        assert words in out
    assert out.split()[-1] == "run/report.html"

    scores = pd.read_csv("run/scores.csv")
    assert scores["task"].tolist() == [*TARGETS, "(all tasks)"]
    assert {"score", "independent", "difference", "low", "high", "verdict"} <= set(scores)
    np.testing.assert_allclose(scores["score"] - scores["independent"], scores["difference"], atol=1e-12)

    model = load_model("run/model.skops")
    assert isinstance(model, Pipeline)
    assert type(model[-1]) is MultiTaskRegressor
    # The relations that predict, and beside them which are stable.
    relations = pd.read_csv("run/relations.csv")
    used = relations[relations["weight"] != 0.0].sort_values("weight", key=np.abs, ascending=False, ignore_index=True)
    learned = model[-1].relations()
    pd.testing.assert_frame_equal(used[learned.columns], learned, check_dtype=False)
    assert relations["stable"].tolist() == sorted(relations["stable"], reverse=True)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [task["name"] for task in summary["tasks"]] == TARGETS


def test_predictions_are_those_of_the_model(run, small, table):
    fit(run, table, "--targets", ",".join(TARGETS))
    new = table.drop(columns=TARGETS).iloc[::-1]
    new["colour"] = new["colour"].where(new["colour"] != "blue", "never seen")
    model = load_model("run/model.skops")
    expected = model.predict(new.assign(colour=new["colour"].astype(object)))
    values = predicted(run, new)
    assert list(values) == TARGETS
    np.testing.assert_allclose(values.to_numpy(), expected, rtol=0, atol=1e-12)
    # A column of categories that all look like numbers in the new table.
    ones = table.assign(colour=["1"] * (len(table) - 1) + [None]).drop(columns=TARGETS)
    np.testing.assert_allclose(
        predicted(run, ones).to_numpy(), model.predict(ones.astype({"colour": object})), atol=1e-12
    )


def test_intervals_stand_beside_the_predictions(run, small, table):
    fit(run, table, "--targets", ",".join(TARGETS))
    new, model = table.drop(columns=TARGETS), load_model("run/model.skops")
    values = predicted(run, new, "new.csv", "--interval", "0.8")
    assert list(values) == [name for target in TARGETS for name in (target, f"{target} low", f"{target} high")]
    pd.testing.assert_frame_equal(values[TARGETS], predicted(run, new))
    ends = model[-1].predict_interval(model[:-1].transform(new.astype({"colour": object})), coverage=0.8)
    for end, expected in zip(("low", "high"), ends, strict=True):
        np.testing.assert_allclose(values[[f"{target} {end}" for target in TARGETS]], expected, atol=1e-9)
    code, _, err = run("predict", "run/model.skops", "new.csv", "--out", "q.csv", "--interval", "0.99")
    assert code == 2
    assert "needs at least 99 labels of each task" in err


def test_intervals_of_the_task_of_each_row(run, small, table):
    long = table.melt(["a", "b"], TARGETS, "what", "value").dropna()
    fit(run, long, "--targets", "value", "--task-column", "what")
    values = predicted(run, long.drop(columns="value"), "new.csv", "--interval", "0.9", "--task-column", "what")
    assert list(values) == ["what", "value", "low", "high"]
    inside = (values["low"] <= long["value"].to_numpy()) & (long["value"].to_numpy() <= values["high"])
    # Rows that the model has seen may all be inside; intervals are narrower than those of a constant, 3.3 deviations.
    assert inside.mean() > 0.8
    assert (values["high"] - values["low"]).mean() < 3.3 * long["value"].std()


def test_parquet_in_and_out(run, table):
    given = ("--targets", ",".join(TARGETS), "--penalty", "sparse", "--alpha", "0.01")
    fit(run, table, *given)
    expected = predicted(run, table)
    table.to_parquet("table.parquet")
    assert run("fit", "table.parquet", *given, "--out", "run", "--overwrite")[0] == 0
    assert run("predict", "run/model.skops", "table.parquet", "--out", "p.parquet")[0] == 0
    pd.testing.assert_frame_equal(pd.read_parquet("p.parquet"), expected, rtol=1e-12)


def test_decimals_of_a_database_are_numbers(run, table):
    numbers = table[["a", "b", *TARGETS]].round(2).assign(kind=(table["first"] > 0).astype(float))
    decimals = numbers.map(lambda value: None if np.isnan(value) else Decimal(f"{value:.2f}"))
    for targets in (",".join(TARGETS), "kind"):
        given = ("--targets", targets, "--penalty", "sparse", "--alpha", "0.01")
        values = {}
        for kind, frame in (("float", numbers), ("decimal", decimals)):
            frame.to_parquet("table.parquet")
            code, out, err = run("fit", "table.parquet", *given, "--out", "run", "--overwrite")
            assert (code, err) == (0, ""), out
            assert "Left out" not in out
            assert run("predict", "run/model.skops", "table.parquet", "--out", f"{kind}.parquet", "--overwrite")[0] == 0
            values[kind] = pd.read_parquet(f"{kind}.parquet")
        pd.testing.assert_frame_equal(values["decimal"], values["float"])


def test_given_parameters_are_those_of_the_model(run, table):
    given = ("--penalty", "sparse", "--set", "mu=0.8", "--alpha", "0.02", "--kernel", "rbf", "--gamma", "0.1")
    out = fit(run, table, "--targets", ",".join(TARGETS), "--features", "a,b", *given, "--common", "2")
    assert "Parameters are as given" in out
    model = load_model("run/model.skops")
    found = {name: model[-1].get_params()[name] for name in ("alpha", "kernel", "gamma", "common", "penalty__mu")}
    assert found == {"alpha": 0.02, "kernel": "rbf", "gamma": 0.1, "common": 2.0, "penalty__mu": 0.8}
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_the_search_keeps_to_what_is_given(run, small, table, rng):
    # One function under noise, so that relations win.
    table[TARGETS] = table[["b", "c", "d"]].sum(axis=1).to_numpy()[:, None] + rng.normal(size=(len(table), 3))
    fit(run, table, "--targets", ",".join(TARGETS), "--ignore", "a,colour", "--alpha", "0.02", "--set", "mu=0.6")
    model = load_model("run/model.skops")
    assert (model[-1].alpha, repr(model[-1].penalty)) == (0.02, repr(Sparse(0.6)))
    assert model.feature_names_in_.tolist() == ["b", "c", "d"]


def test_another_penalty_has_no_path_but_a_report(run, small, table, tmp_path):
    fit(run, table, "--targets", ",".join(TARGETS), "--penalty", "trace")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == FILES


@pytest.mark.parametrize(("curved", "kernels"), [(False, ["linear"]), (True, ["rbf", "laplacian"])])
def test_the_kernel_suits_the_data(run, rng, curved, kernels):
    X = rng.uniform(-2, 2, size=(120, 2))
    base = np.column_stack([np.cos(2 * X[:, 0]), np.sin(2 * X[:, 1])]) if curved else X
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(u=base[:, 0] + base[:, 1], v=base[:, 0] - base[:, 1])
    frame[["u", "v"]] += 0.05 * rng.normal(size=(120, 2))
    out = fit(run, frame, "--targets", "u,v")
    kernel = load_model("run/model.skops")[-1].kernel
    assert kernel in kernels
    assert f"The {kernel} kernel is used" in out
    # What each part of the model adds to the score.
    assert "In the search R2 is " in out


def test_one_target_is_a_problem_too(run, small, table):
    out = fit(run, table, "--targets", "first")
    assert "There is one task and nothing to share: R2 is " in out
    assert "difference" not in out
    assert list(predicted(run, table)) == ["first"]


def test_long_tables(run, small, rng):
    n = 90
    X = rng.normal(size=(n, 2))
    school = rng.choice(["x", "y", "z"], n)
    marks = X[:, 0] + (school == "x") * X[:, 1] + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "school": school, "mark": marks})
    frame.loc[5, "mark"] = np.nan
    out = fit(run, frame, "--targets", "mark", "--task-column", "school")
    assert "1 more row without a label is left out" in out
    model = load_model("run/model.skops")
    assert model[-1].task_names_.tolist() == ["x", "y", "z"]
    wide = predicted(run, frame)
    assert list(wide) == ["x", "y", "z"]
    own = predicted(run, frame, "new.csv", "--task-column", "school")
    assert own["school"].tolist() == school.tolist()
    picked = wide.to_numpy()[np.arange(n), pd.Categorical(school).codes]
    np.testing.assert_allclose(own["mark"], picked, atol=1e-12)
    frame.assign(school="w").to_csv("new.csv", index=False)
    code, _, err = run("predict", "run/model.skops", "new.csv", "--out", "q.csv", "--task-column", "school")
    assert (code, err.count("\n")) == (2, 1)
    assert "task 'w' was not there" in err


def test_tasks_that_look_like_numbers_are_text_where_they_were(run, rng):
    X, group = rng.normal(size=(60, 2)), rng.choice(["01", "02", "A"], 60)
    frame = pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "group": group, "mark": X[:, 0] + (group == "A") * X[:, 1]})
    fit(run, frame, "--targets", "mark", "--task-column", "group", "--penalty", "sparse", "--alpha", "0.01")
    values = predicted(run, frame, "all.csv", "--task-column", "group")["mark"]
    some = group != "A"
    own = predicted(run, frame[some], "some.csv", "--task-column", "group")["mark"]
    np.testing.assert_allclose(own, values[some], atol=1e-12)


def test_classes_are_recognised_and_predicted_by_name(run, small, table):
    kind = pd.cut(table["first"], 3, labels=["low", "middle", "high"]).astype(object)
    kind[4] = None
    frame = table.drop(columns=TARGETS).assign(kind=kind)
    out = fit(run, frame, "--targets", "kind")
    assert "Classification: 'kind' has 3 classes." in out
    assert type(load_model("run/model.skops")[-1]) is MultiTaskClassifier
    values = predicted(run, frame)["kind"]
    assert set(values) <= {"low", "middle", "high"}
    assert (values == kind).mean() > 0.7


def test_classes_in_long_tables(run, small, rng):
    X, group = rng.normal(size=(80, 2)), rng.choice([1, 2], 80)
    answer = np.where(X[:, 0] + (group - 1) * X[:, 1] > 0, "yes", "no")
    frame = pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "group": group, "answer": answer})
    fit(run, frame, "--targets", "answer", "--task-column", "group")
    own = predicted(run, frame, "new.csv", "--task-column", "group")
    assert (own["answer"] == answer).mean() > 0.8


@pytest.mark.parametrize("words", [(0, 1), (False, True)])
def test_labels_of_several_columns(run, small, table, words):
    labels = table[TARGETS].notna() & (table[TARGETS] > 0)
    frame = table.drop(columns=TARGETS).join(labels.replace({False: words[0], True: words[1]}).astype(object))
    frame.loc[3, "second"] = None
    out = fit(run, frame, "--targets", ",".join(TARGETS))
    assert "Classification: every target is 0 or 1." in out
    values = predicted(run, frame)
    assert list(values) == TARGETS
    assert set(values.to_numpy().ravel()) == {0, 1}
    assert (values == labels.astype(int)).to_numpy().mean() > 0.8
    out = fit(run, frame, "--targets", ",".join(TARGETS), "--regression")
    assert "Regression" in out


def test_whole_numbers_are_classes_only_when_said(run, small, table):
    frame = table.drop(columns=TARGETS).assign(stars=pd.cut(table["first"], 4, labels=False))
    assert "Regression" in fit(run, frame, "--targets", "stars")
    assert "4 classes" in fit(run, frame, "--targets", "stars", "--classification")
    assert set(predicted(run, frame)["stars"]) <= {0, 1, 2, 3}


def test_the_report_can_be_rendered_again(run, small, table, tmp_path):
    fit(run, table, "--targets", ",".join(TARGETS))
    page = (tmp_path / "run" / "report.html").read_bytes()
    (tmp_path / "run" / "report.html").unlink()
    assert run("report", "run") == (0, "Wrote run/report.html\n", "")
    assert (tmp_path / "run" / "report.html").read_bytes() == page
    name = (tmp_path / "run" / "summary.json").read_text().replace(f'"{TARGETS[0]}"', r'"\ud800"')
    damaged = [(text, "summary.json is damaged") for text in ("{", "[" * 100_000, name)]
    for text, part in (*damaged, ("[]", "not the summary")):
        (tmp_path / "run" / "summary.json").write_text(text)
        code, _, err = run("report", "run")
        assert (code, err.count("\n")) == (2, 1)
        assert part in err
    assert (tmp_path / "run" / "report.html").read_bytes() == page


def test_the_graph_can_be_exported(run, table):
    fit(run, table, "--targets", ",".join(TARGETS), "--penalty", "trace", "--alpha", "0.01")
    assert run("export", "run/model.skops", "--out", "graph.graphml")[0] == 0
    graph = networkx.read_graphml("graph.graphml")
    assert sorted(networkx.get_node_attributes(graph, "name").values()) == sorted(TARGETS)
    assert graph.number_of_edges() == len(load_model("run/model.skops")[-1].relations())
    code, _, err = run("export", "run/model.skops", "--out", "graph.png")
    assert (code, err.count("\n")) == (2, 1)
    table.to_csv("data.csv", index=False)
    kept = Path("data.csv").read_bytes()
    code, _, err = run("export", "run/model.skops", "--out", "data.csv")
    assert (code, err) == (2, "data.csv is there already; name another file, or say --overwrite to replace it.\n")
    assert Path("data.csv").read_bytes() == kept
    code, _, err = run("export", "run/model.skops", "--out", "-")
    assert (code, err) == (2, "--out - would be a file of this name; say --out /dev/stdout, or name a file.\n")
    assert run("export", "run/model.skops", "--out", "data.csv", "--overwrite")[0] == 0
    assert Path("data.csv").read_bytes() != kept


@pytest.mark.parametrize("engine", ["pandas", "dask"])
def test_the_table_is_none_of_the_files_that_are_written(run, table, engine):
    if engine == "dask":
        pytest.importorskip("dask")
    Path("run").mkdir()
    table.to_csv("run/scores.csv", index=False)
    kept = Path("run/scores.csv").read_bytes()
    options = ("--targets", ",".join(TARGETS), "--out", "./run", "--overwrite", "--engine", engine)
    code, _, err = run("fit", "run/scores.csv", *options)
    assert (code, err.count("\n")) == (2, 1)
    assert "run/scores.csv is the table" in err
    assert Path("run/scores.csv").read_bytes() == kept


def test_compare_shows_every_method_with_intervals(run, small, table):
    table.to_csv("table.csv", index=False)
    code, out, err = run("compare", "table.csv", "--targets", ",".join(TARGETS), "--out", "c.csv", "--kernel", "linear")
    assert (code, err) == (0, ""), out
    scores = pd.read_csv("c.csv")
    assert scores["method"].unique().tolist() == ["sparse", "trace", "frobenius", "cluster"]
    assert (scores.groupby("method").size() == len(TARGETS) + 1).all()
    assert (scores["low"] <= scores["difference"]).all()
    for word in ("independent", "difference (95%)", "verdict", "(all tasks)"):
        assert word in out
    code, _, err = run("compare", "table.csv", "--targets", ",".join(TARGETS), "--methods", "sparse,tracee")
    assert (code, err.count("\n")) == (2, 1)
    assert "'tracee' is not known" in err
    table.assign(kind=np.where(table["first"] > 0, "high", "low")).to_csv("table.csv", index=False)
    for target in ("first", "kind"):
        code, _, err = run("compare", "table.csv", "--targets", target)
        assert (code, err.count("\n")) == (2, 1)
        assert "there is one task only" in err


def test_a_comparison_of_tasks_that_are_numbers_is_written_as_parquet(run, small, rng):
    X = rng.normal(size=(90, 2))
    frame = pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "school": rng.choice([1, 2, 3], 90)})
    frame.assign(score=X[:, 0] + 0.1 * rng.normal(size=90)).to_csv("long.csv", index=False)
    wish = ("--targets", "score", "--task-column", "school", "--methods", "trace", "--kernel", "linear")
    code, out, err = run("compare", "long.csv", *wish, "--out", "c.parquet")
    assert (code, err) == (0, ""), out
    assert pd.read_parquet("c.parquet")["task"].tolist() == ["1", "2", "3", "(all tasks)"]


def test_names_are_text_on_the_screen_and_on_the_page(run, small, table, tmp_path):
    odd = {"first": "[bold]<script>alert(1)</script>", "second": "a:b", "third": "\u05e9\u05dc\u05d5\u05dd"}
    out = fit(run, table.rename(columns=odd), "--targets", ",".join(odd.values()))
    assert "[bold]" in out
    assert "<script>alert(1)" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_bars_move_on_a_terminal_and_elsewhere_a_line_a_minute_says_how_far(monkeypatch, capsys):
    import rich.console

    screen = io.StringIO()
    usual = rich.console.Console
    monkeypatch.setattr(rich.console, "Console", lambda: usual(file=screen, force_terminal=True, width=80))
    with progress.working() as work:
        for done in range(3):
            work.show({"step": "counting", "done": done, "total": 3})
    assert re.search("counting.*0:00:0", screen.getvalue())
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(rich.console, "Console", usual)
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.working() as work:
        for done in range(1, 10):
            now[0] += 20.0
            work.show({"step": "counting", "done": done, "total": 9, "part": f"fold {done}"})
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 3
    # Three parts took a minute, of which forty seconds passed since the step was named.
    assert err.splitlines()[0] == "counting: fold 3, 33% done, about 80 s left"


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_help_explains_every_option(run, command):
    assert command in run("--help")[1]
    code, out, _ = run(command, "--help")
    assert code == 0
    shown = " ".join(out.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())
    parameters = typer.main.get_command(make_app()).commands[command].params
    # Arguments of a command by their place, or its options: all but one command have some.
    assert parameters or command == "methods"
    for parameter in parameters:
        assert parameter.help, f"{parameter.name} is not explained"
        assert " ".join(parameter.help.split())[:15].strip() in shown


def test_help_says_what_happens_by_default(run):
    """Brackets in a help text are no markup."""
    out = " ".join(run("fit", "--help")[1].replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())
    for words in ("[default: all others]", "[default: the best of linear, rbf, laplacian]", "[default: sparse]"):
        assert words in out
