"""What a person says is done, what takes long can be stopped, and what is there is not overwritten."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import skmtl
from skmtl import load_model, save_model
from skmtl.cli import main, words
from skmtl.cli.compare import check_methods
from skmtl.cli.method import MethodOptions
from skmtl.export import FORMATS
from skmtl.model_selection import SCORES, folds, kernel_choice
from skmtl.penalties import PENALTIES, Sparse
from skmtl.tables import ColumnRoles, fitting, make_problem

pytest.importorskip("typer")

TARGETS = ("--targets", "u,v,w")
GIVEN = (*TARGETS, "--penalty", "sparse", "--alpha", "0.01")


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernel_choice, "ALPHAS", np.array([1e-1, 1e-3]))
    monkeypatch.setattr(kernel_choice, "MUS", (0.7, 0.9))
    monkeypatch.setattr(folds, "MORE_FOLDS", folds.N_FOLDS)
    monkeypatch.setattr(folds, "N_DEALS", 1)
    monkeypatch.setattr(fitting, "N_HALVES", 4)
    monkeypatch.setattr(fitting, "PATH_MUS", (0.8, 1.0))


@pytest.fixture
def table(rng):
    """Three targets that have nothing in common: independent tasks are best."""
    X = rng.normal(size=(60, 3))
    frame = pd.DataFrame(np.hstack([X, X + 0.2 * rng.normal(size=(60, 3))]), columns=["a", "b", "c", "u", "v", "w"])
    frame.to_csv("table.csv", index=False)
    return frame


def fit(run, *options):
    code, out, err = run("fit", "table.csv", "--out", "run", *options)
    assert (code, err) == (0, ""), out
    return out, load_model("run/model.skops")[-1]


# What is said is done -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--alpha", "abc", "'abc' is no number"),
        ("--gamma", "1,5", "'1,5' is no number"),
        ("--common", "", "'' is no number"),
        ("--components", "2.5", "'2.5' is no whole number"),
        ("--components", "0", "--components 0 is no number of landmarks"),
        ("--jobs", "two", "'two' is no whole number"),
    ],
)
def test_what_is_no_number_is_named(run, table, option, value, reason):
    code, out, err = run("fit", "table.csv", *TARGETS, "--out", "run", option, value)
    assert (code, out) == (2, "")
    assert option in err
    assert reason in err
    assert err.count("\n") == 1


def test_a_penalty_and_its_parameter_are_fitted_as_given(run, table):
    _, model = fit(run, *TARGETS, "--penalty", "sparse", "--set", "mu=0.6", "--kernel", "linear")
    assert repr(model.penalty) == repr(Sparse(0.6))
    _, model = fit(run, *TARGETS, "--penalty", "trace", "--kernel", "linear", "--overwrite")
    assert model.penalty.name == "trace"
    # Where nothing is said, independent tasks may win: the best candidate is taken, whichever it is.
    _, model = fit(run, *TARGETS, "--kernel", "linear", "--overwrite")
    search = fitting.fit_table(make_problem(table, ColumnRoles(["u", "v", "w"])), kernels=["linear"]).choice.search
    assert {row["penalty"].name for row in search.cv_results_["params"]} == {"independent", "sparse"}
    assert repr(model.penalty) == repr(search.best_params_["penalty"])


@pytest.mark.parametrize("complete", [(), ("--penalty", "sparse", "--alpha", "0.01")])
def test_a_width_or_landmarks_ask_for_a_kernel_that_has_them(run, table, complete):
    out, model = fit(run, *TARGETS, "--gamma", "0.3", "--components", "12", *complete)
    assert out.count("The rbf kernel is used, approximated on 12 rows.") == 1
    assert "\n\n" not in out.partition("R2 (")[0]
    assert (model.kernel, model.gamma, model.n_components) == ("rbf", 0.3, 12)
    assert len(model.landmarks_) == 12


def test_labels_that_are_all_the_same_are_not_judged(run, table):
    table.assign(w=3.0).to_csv("table.csv", index=False)
    out, _ = fit(run, *GIVEN)
    row = next(line for line in out.splitlines() if line.strip().startswith("w "))
    assert row.split() == ["w", "-", "-", "-", "-", "not", "judged"]
    sentence = "Not judged, and left out of means: w; on the rows held out its labels are all the same."
    assert sentence in out
    assert out.count("In 'w' all labels are the same") == 1
    scores = pd.read_csv("run/scores.csv").set_index("task")
    assert scores.loc["w", "verdict"] == "not judged"
    assert not scores.loc["w", "predictable"]
    assert scores.loc["(all tasks)", "score"] == pytest.approx(scores.loc[["u", "v"], "score"].mean())
    with open("run/report.html", encoding="utf-8") as page:
        assert sentence in page.read()
    code, compared, err = run("compare", "table.csv", *TARGETS, "--methods", "trace", "--kernel", "linear")
    assert (code, err) == (0, "")
    assert sentence in compared
    assert "nan" not in out + compared


@pytest.mark.parametrize("name", ["my,file.csv", "007"])
def test_a_file_of_a_known_structure_may_have_any_name(name, run, table):
    pd.DataFrame(np.eye(3), columns=["u", "v", "w"]).to_csv(name, index=False)
    _, model = fit(run, *TARGETS, "--penalty", "fixed", "--set", f"matrix={name}", "--alpha", "0.01")
    np.testing.assert_allclose(model.structure_, np.eye(3))


def test_a_known_structure_is_read_from_a_table(run, table):
    A = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    names = ["u", "v", "w"]
    # In another order than the targets.
    matrix = pd.DataFrame(A, names, names).loc[["w", "u", "v"], ["w", "u", "v"]]
    matrix.to_csv("matrix.csv")
    options = (*TARGETS, "--penalty", "fixed", "--set", "matrix=matrix.csv", "--alpha", "0.01")
    _, model = fit(run, *options)
    np.testing.assert_allclose(model.structure_, A)
    matrix.to_csv("matrix.csv", index=False)
    _, model = fit(run, *options, "--overwrite")
    np.testing.assert_allclose(model.structure_, A)
    matrix.astype(object).assign(u=["none", 1.0, 0.5]).to_csv("matrix.csv")
    code, _, err = run("fit", "table.csv", "--out", "run", *options, "--overwrite")
    assert code == 2
    assert "matrix.csv: column 'u' holds 'none'; write numbers only." in err
    matrix.rename(columns={"u": "x"}).to_csv("matrix.csv", index=False)
    code, _, err = run("fit", "table.csv", "--out", "run", *options, "--overwrite")
    assert (code, err.count("\n")) == (2, 1)
    assert "must have a row and a column for each task: u, v, w" in err


def test_groups_of_tasks_are_given_as_a_list(run, table):
    _, model = fit(run, *TARGETS, "--penalty", "groups", "--set", "groups=p,p,q", "--alpha", "0.01")
    assert list(model.penalty.groups) == ["p", "p", "q"]


# Classes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "scoring"),
    [
        ([0] * 94 + [1] * 6, "roc_auc"),
        ([0] * 70 + [1] * 30, "accuracy"),
        (["a"] * 40 + ["b"] * 35 + ["c"] * 25, "accuracy"),
        (["a"] * 90 + ["b"] * 5 + ["c"] * 5, "roc_auc"),
        (np.linspace(0.0, 1.0, 100), None),
    ],
)
def test_the_score_suits_the_classes(labels, scoring):
    frame = pd.DataFrame({"x": np.arange(100) / 3.0, "y": labels})
    problem = make_problem(frame, ColumnRoles(["y"]))
    assert problem.scoring == scoring
    assert ("AUC is the score" in " ".join(problem.notes)) == (scoring == "roc_auc")


def test_a_rare_class_is_judged_by_the_order_of_rows_and_not_by_accuracy(run, rng):
    X = rng.normal(size=(300, 3))
    hidden = X[:, :1] + 0.5 * rng.normal(size=(300, 2))
    rare = (hidden > np.quantile(hidden, 0.93, axis=0)).astype(int)
    frame = pd.DataFrame(np.hstack([X, rare]), columns=["a", "b", "c", "u", "v"])
    frame.to_csv("table.csv", index=False)
    fit(run, "--targets", "u,v", "--kernel", "linear", "--loss", "logistic")
    scores = pd.read_csv("run/scores.csv").set_index("task")
    # Accuracy would be 0.93 for whoever says "no".
    assert 0.85 < scores.loc["(all tasks)", "score"] < 1.0
    fit(run, "--targets", "u,v", "--kernel", "linear", "--scoring", "average_precision", "--overwrite")
    precision = pd.read_csv("run/scores.csv").set_index("task")
    assert precision.loc["(all tasks)", "score"] < scores.loc["(all tasks)", "score"]
    code, out, err = run("predict", "run/model.skops", "table.csv", "--out", "p.csv", "--scores")
    assert (code, err) == (0, ""), out
    assert pd.read_csv("p.csv").columns.tolist() == ["u", "v"]
    code, out, err = run("predict", "run/model.skops", "table.csv", "--out", "q.csv", "--proba")
    assert (code, err) == (0, ""), out
    assert pd.read_csv("q.csv").iloc[:, 0].between(0.0, 1.0).all()


# Waiting --------------------------------------------------------------------------------------------------------------


def press(*_, **__):
    """What Ctrl-C does."""
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("where", "left", "said"),
    [
        ("choose_parameters", [], "Interrupted while choosing parameters; nothing was written."),
        ("_follow_path", None, "Interrupted; what was finished is written."),
    ],
)
def test_an_interruption_keeps_what_is_finished(run, table, monkeypatch, tmp_path, where, left, said):
    monkeypatch.setattr(fitting, where, press)
    code, _, err = run("fit", "table.csv", "--out", "run", *TARGETS, "--kernel", "linear")
    assert (code, err) == (130, said + "\n")
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    if left is None:
        left = ["model.skops", "relations.csv", "report.html", "scores.csv", "summary.json"]
        assert json.loads((tmp_path / "run" / "summary.json").read_text())["tasks"]
    assert names == left
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_while_judging_keeps_the_model(run, table, monkeypatch, tmp_path):
    judge = next(name for name in ("judge_choice", "compare_with_independent") if name in dir(fitting))
    monkeypatch.setattr(fitting, judge, press)
    code, _, err = run("fit", "table.csv", "--out", "run", *GIVEN)
    assert code == 130
    assert err == "Interrupted while comparing with independent tasks; run/model.skops is written and can predict, " \
        "scores and report are not.\n"  # fmt: skip
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["model.skops"]
    assert load_model("run/model.skops").predict(table[["a", "b", "c"]]).shape == (60, 3)


def test_an_interrupted_experiment_says_where_it_goes_on(run, monkeypatch):
    synthetic = pytest.importorskip("skmtl.experiments.synthetic")
    monkeypatch.setattr(synthetic, "evaluate", press)
    code, _, err = run("reproduce", "synthetic", "--quick", "--out", "paper")
    assert (code, err) == (130, "Interrupted; what is finished is in paper, and the same command goes on with it.\n")
    monkeypatch.setattr(synthetic, "load", press)
    assert run("reproduce", "synthetic", "--quick", "--out", "new")[2] == "Interrupted; nothing was written.\n"


@pytest.mark.parametrize("where", ["skmtl.report.folder.write_table", "skmtl.cli.fit.show_comparison"])
def test_an_interruption_of_what_is_written_loses_nothing(run, table, monkeypatch, tmp_path, where):
    """While files are written and after that; with --overwrite no old file stays beside a new one."""
    fit(run, *GIVEN)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    module, name = where.rsplit(".", 1)
    inner = getattr(sys.modules[module], name)

    def pressed(*given, **named):
        press()
        return inner(*given, **named)

    monkeypatch.setattr(where, pressed)
    code, _, err = run("fit", "table.csv", "--out", "run", *GIVEN, "--overwrite")
    assert (code, err) == (130, "Interrupted; what was finished is written.\n")
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert after.keys() == before.keys()
    assert all(after[one] > before[one] for one in before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_place_that_cannot_be_written_is_said_before_the_work(run, table, monkeypatch):
    monkeypatch.setattr("skmtl.tables.compare_table", lambda *_, **__: pytest.fail("it worked"))
    compare = ("compare", "table.csv", *TARGETS, "--methods", "trace", "--kernel", "linear", "--out")
    assert run(*compare, "nowhere/x.csv") == (2, "", "nowhere is no folder; make it, or name another for x.csv.\n")
    code, _, err = run(*compare, "x.xlsx")
    assert code == 2
    assert "tables are written as .csv" in err


@pytest.mark.parametrize(
    ("methods", "part"),
    [
        ("", "--methods names nothing to compare with independent tasks; choose from sparse, trace"),
        ("independent", "--methods names nothing to compare with independent tasks; choose from sparse, trace"),
        ("fixed", "method 'fixed' has to be told what is known: skmtl fit --penalty fixed --set matrix=FILE"),
        ("sparse,groups", "method 'groups' has to be told what is known: skmtl fit --penalty groups --set groups=a"),
    ],
)
def test_methods_that_cannot_be_compared_are_said_before_the_work(run, table, monkeypatch, methods, part):
    monkeypatch.setattr("skmtl.tables.compare_table", lambda *_, **__: pytest.fail("it worked"))
    code, out, err = run("compare", "table.csv", *TARGETS, "--methods", methods)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert part in err


def test_all_methods_are_those_that_need_not_be_told_anything():
    names = check_methods(["all"])
    assert sorted([*names, *words.TOLD, "independent"]) == sorted(PENALTIES)
    assert check_methods(["sparse", "sparse"]) == ["sparse"]


def test_a_comparison_that_cannot_be_written_is_printed_all_the_same(run, table, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "x.csv")

    monkeypatch.setattr("skmtl.tables.write_table", full)
    compare = ("compare", "table.csv", *TARGETS, "--methods", "trace", "--kernel", "linear", "--out", "x.csv")
    code, out, err = run(*compare)
    assert (code, err) == (2, "x.csv: No space left on device.\n")
    assert "(all tasks)" in out


def test_a_model_whose_parts_were_changed_is_called_damaged(run, table, tmp_path):
    fit(run, *GIVEN)
    model = load_model("run/model.skops")
    model[-1].task_names_ = np.array(model[-1].task_names_.tolist() * 2)
    save_model(model, "changed.skops")
    code, _, err = run("predict", "changed.skops", "table.csv", "--out", "p.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert not (tmp_path / "p.csv").exists()


def test_names_are_written_in_one_line(run, table):
    code, _, err = run("fit", "table.csv", "--out", "run", "--targets", "u\nv")
    assert (code, err.count("\n")) == (2, 1)
    assert "write them in one line, with commas between them" in err


def test_closed_streams_end_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "argv", ["skmtl", "methods"])
    with pytest.raises(SystemExit) as ended:
        main()
    sys.stdout.close()
    sys.stderr.close()
    assert ended.value.code == 0


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_a_terminal_does_not_have_are_written_as_their_codes(encoding, monkeypatch):
    """A command that has done its work must not fail with a name that it prints."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr("skmtl.cli.run", lambda app: print("\u4e2d.csv: 40 rows."))
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, stream.buffer.getvalue()) == (None, b"\\u4e2d.csv: 40 rows.\n")


def test_what_is_there_is_not_overwritten(run, table, tmp_path):
    fit(run, *GIVEN)
    before = (tmp_path / "run" / "model.skops").read_bytes()
    predict = ("predict", "run/model.skops", "table.csv", "--out", "p.csv")
    assert run(*predict)[0] == 0
    compare = ("compare", "table.csv", *TARGETS, "--methods", "trace", "--kernel", "linear", "--out", "p.csv")
    for arguments, what in [
        (("fit", "table.csv", "--out", "run", *GIVEN), "run has files already"),
        (predict, "p.csv is there already"),
        (compare, "p.csv is there already"),
        (("demo", "--out", "run"), "run has files already"),
    ]:
        code, _, err = run(*arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert what in err
        assert "--overwrite" in err
    assert (tmp_path / "run" / "model.skops").read_bytes() == before
    assert run(*predict, "--overwrite")[0] == 0
    assert run(*compare, "--overwrite")[0] == 0


def test_files_are_written_before_anything_is_printed(run, table, monkeypatch, tmp_path):
    from skmtl.cli import fit as command

    def gone(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(command, "_finish", gone)
    assert run("fit", "table.csv", "--out", "run", *GIVEN)[0] == 0
    assert len(list((tmp_path / "run").iterdir())) == 5


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_reader_that_has_gone_is_no_error():
    command = [sys.executable, "-m", "skmtl", "methods"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_number_of_processes_is_that_of_the_search(table):
    problem = make_problem(table, ColumnRoles(["u", "v", "w"]))
    assert MethodOptions(n_jobs=2).make_search(problem).n_jobs == 2


# A quick start --------------------------------------------------------------------------------------------------------


def test_help_waits_for_no_library():
    code = "import sys, skmtl.cli.app; print(*sorted({'numpy', 'pandas', 'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_names_of_the_help_are_those_of_the_tables():
    assert words.PENALTY_NAMES == tuple(PENALTIES)
    assert words.SCORE_NAMES == tuple(SCORES)
    assert words.GRAPH_FORMATS == tuple(FORMATS)
    assert words.COMPARED == fitting.METHODS


def test_every_public_name_is_there_and_known_to_dir():
    assert set(skmtl.__all__) <= set(dir(skmtl))
    for name in dir(skmtl):
        assert getattr(skmtl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skmtl.nothing


def test_the_package_runs_and_completes():
    done = subprocess.run([sys.executable, "-m", "skmtl", "--help"], capture_output=True, text=True, check=True)
    assert "--install-completion" in done.stdout
