"""Bad tables: exit code 2, one sentence that says what to do, and no file left behind."""

import numpy as np
import pandas as pd
import pytest

from skmtl import load_model
from skmtl.tables import read_table, write_table

pytest.importorskip("typer")


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_table(rng, n=30):
    X = rng.normal(size=(n, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(n, 2))
    return pd.DataFrame(np.hstack([X, Y]), columns=["x1", "x2", "x3", "alpha", "beta"])


def changed(column, values):
    def change(table):
        return table.assign(**{column: values(table) if callable(values) else values}).to_csv(index=False)

    return change


BAD = {
    "no header": (lambda t: t.to_csv(index=False, header=False), "has no header"),
    "empty": (lambda t: "", "is empty"),
    "blank": (lambda t: "\n\n", "is empty"),
    "header only": (lambda t: t.head(0).to_csv(index=False), "no rows"),
    "one row": (lambda t: t.head(1).to_csv(index=False), "has 1 row; at least 10"),
    "nine rows": (lambda t: t.head(9).to_csv(index=False), "has 9 rows; at least 10"),
    "duplicate names": (lambda t: t.to_csv(index=False).replace("x2", "x1", 1), "two columns called 'x1'"),
    "text target": (changed("beta", lambda t: ["high"] * len(t)), "target 'beta' holds text such as 'high'"),
    "mostly numbers": (changed("beta", lambda t: [*t["beta"][1:], "12,5"]), "holds text such as '12,5'"),
    "empty target": (changed("beta", np.nan), "'beta' has no value"),
    "target not there": (lambda t: t.rename(columns={"beta": "betta"}).to_csv(index=False), "did you mean 'betta'?"),
    "long rows": (lambda t: t.to_csv(index=False).replace("\n", ",9,9\n").replace(",9,9\n", "\n", 1), "do not fit"),
    "one long row": (lambda t: t.to_csv(index=False) + "1,2,3,4,5,6,7\n", "do not fit"),
    "an open quote": (lambda t: t.to_csv(index=False) + '"1,2,3,4,5\n', "do not fit"),
    "huge target": (
        changed("beta", lambda t: [-1.7e308, *t["beta"][1:]]),
        "target 'beta' holds numbers as large as 1.7e+308, and 1e+300 is possible; leave such cells empty",
    ),
    "infinite target": (changed("beta", lambda t: [np.inf, *t["beta"][1:]]), "target 'beta' has 1 infinite value;"),
    "a word to Excel": (lambda t: "sep=,\n" + t.to_csv(index=False), "begins with 'sep=,', a word to Excel"),
    "a word to Excel in quotes": (lambda t: '"sep=;"\n' + t.to_csv(index=False, sep=";"), "a word to Excel; delete"),
    "only targets": (lambda t: t[["alpha", "beta"]].to_csv(index=False), "no column to learn from"),
    "only names": (
        lambda t: t[["alpha", "beta"]].assign(name=[f"n{i}" for i in range(len(t))]).to_csv(index=False),
        "'name' is text with 30 different values",
    ),
}


def assert_one_sentence(code, out, err, part):
    assert code == 2
    assert err.count("\n") == 1
    assert err.endswith(".\n")
    assert part in err
    assert "Traceback" not in err + out


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_one_sentence(run, rng, tmp_path, case, command):
    make, part = BAD[case]
    (tmp_path / "table.csv").write_text(make(make_table(rng)), encoding="utf-8")
    out = ["--out", "run"] if command == "fit" else []
    assert_one_sentence(*run(command, "table.csv", "--targets", "alpha,beta", *out), part)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["table.csv"]


def test_folders_and_missing_files(run, rng, tmp_path):
    make_table(rng).to_csv("table.csv", index=False)
    fit = ("--targets", "alpha,beta", "--out", "run")
    assert_one_sentence(*run("fit", tmp_path, *fit), "is a folder; name a CSV")
    assert_one_sentence(*run("fit", "tabel.csv", *fit), "tabel.csv does not exist (did you mean 'table.csv'?)")
    assert_one_sentence(*run("fit", "nowhere/table.csv", *fit), "does not exist")
    assert_one_sentence(*run("predict", "run/model.skops", "table.csv", "--out", "p.csv"), "does not exist; skmtl fit")
    assert_one_sentence(*run("predict", tmp_path, "table.csv", "--out", "p.csv"), "is a folder; name the model.skops")
    assert_one_sentence(*run("predict", "table.csv", "m.skops", "--out", "p.csv"), "is no model but a table")
    assert_one_sentence(*run("fit", "table.csv", *fit[:3], "table.csv"), "is a file; --out names a folder")
    assert_one_sentence(*run("report", tmp_path), "has no summary.json")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_no_permission(run, rng, tmp_path, monkeypatch):
    make_table(rng).to_csv("table.csv", index=False)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", "table.csv")

    monkeypatch.setattr(pd, "read_csv", denied)
    arguments = ("fit", "table.csv", "--targets", "alpha,beta", "--out", "run")
    assert_one_sentence(*run(*arguments), "cannot be read (Permission denied)")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--targets", "alpha,alpha"], "named twice"),
        (["--targets", ","], "--targets names no column"),
        (["--targets", "alpha,beta", "--features", "x1,x9"], "no column 'x9' (did you mean 'x"),
        (["--targets", "alpha,beta", "--features", "x1,beta"], "cannot be a target and something else"),
        (["--targets", "alpha,beta", "--ignore", "beta"], "'beta' cannot be a target and something else"),
        (["--targets", "alpha,beta", "--features", "x1,x1"], "feature 'x1' is named twice"),
        (["--targets", "alpha,beta", "--task-column", "x1"], "one column of values"),
        (["--targets", "alpha,beta", "--penalty", "spase"], "choose one of sparse"),
        (["--targets", "alpha,beta", "--set", "mu"], "not of the form key=value"),
        (["--targets", "alpha,beta", "--set", "nu=1"], "no such parameter; it has"),
        (["--targets", "alpha,beta", "--set", "mu=7"], "mu=7"),
        (["--targets", "alpha,beta", "--set", "mu=abc"], "mu='abc' must lie between 0"),
        (["--targets", "alpha,beta", "--penalty", "laplacian", "--set", "share=0.3"], "needs --penalty and --alpha"),
        (["--targets", "alpha,beta", "--penalty", "sparse", "--alpha", "-1"], "--alpha -1 must be a number above 0"),
        (["--targets", "alpha,beta", "--kernel", "rbff"], "kernel='rbff' is not known"),
        (["--targets", "alpha,beta", "--kernel", "linear", "--gamma", "0.1"], "the linear kernel has no gamma"),
        (
            ["--targets", "alpha,beta", "--kernel", "linear", "--components", "9"],
            "the linear kernel needs no landmarks",
        ),
        (["--targets", "alpha,beta", "--penalty", "fixed"], "has to be told what is known: --set matrix=FILE"),
        (["--targets", "alpha,beta", "--penalty", "groups"], "has to be told what is known: --set groups=a,a,b"),
        (["--targets", "alpha,beta", "--scoring", "f1"], "--scoring 'f1' is not known; choose one of pooled_r2"),
        (["--targets", "alpha,beta", "--scoring", "roc_auc"], "scoring='roc_auc' is for classes"),
        (["--targets", "alpha,beta", "--decimal", ";"], "is no decimal mark"),
        (["--targets", "alpha,beta", "--thousands", "."], "both '.'"),
        (["--targets", "alpha,beta", "--encoding", "klingon"], "encoding='klingon' is not known"),
        (["--targets", "alpha,beta", "--groups", "alpha"], "cannot be a target and something else"),
        (["--targets", "alpha,beta", "--loss", "cubic"], "cubic"),
        (["--targets", "alpha,beta", "--rule", "worst"], "rule='worst'"),
        (["--targets", "alpha,beta", "--classification"], "not made of 0 and 1"),
        (["--targets", "alpha", "--classification"], "which are no classes; take it for numbers"),
        (["--targets", "alpha", "beta"], "several names are one argument, with commas between them"),
        (["--targets", "alpha,beta", "--alpha", "0"], "--alpha 0 must be a number above 0"),
        (["--targets", "alpha,beta", "--gamma", "inf"], "--gamma inf must be a number above 0"),
        (["--targets", "alpha,beta", "--common", "-2"], "--common -2 must be 0"),
        (["--targets", "alpha,beta", "--jobs", "0"], "--jobs 0 is no number of processes"),
        (["--targets", "alpha,beta", "--jobs", "9" * 20], "--jobs 99999999999999999999 is no number of processes"),
        (["--targets", "alpha,beta", "--components", "0"], "--components"),
        (["--target", "alpha,beta"], "no such option: --target"),
        ([], "missing option '--targets'; skmtl fit --help"),
    ],
    ids=" ".join,
)
def test_bad_wishes_are_one_sentence(run, rng, tmp_path, arguments, part):
    make_table(rng).to_csv("table.csv", index=False)
    assert_one_sentence(*run("fit", "table.csv", *arguments, "--out", "run"), part)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["table.csv"]


@pytest.mark.parametrize("jobs", ["0", "-1", "9" * 20])
def test_numbers_of_processes_that_no_experiment_has(run, tmp_path, jobs):
    assert_one_sentence(*run("reproduce", "synthetic", "--out", "run", "--jobs", jobs), f"--jobs {jobs} is no number")
    assert list(tmp_path.iterdir()) == []


QUICK = ("--targets", "alpha,beta", "--penalty", "sparse", "--alpha", "0.01", "--out", "run")


@pytest.mark.parametrize("which", range(5))
def test_a_full_disk_leaves_no_half_file(run, rng, tmp_path, monkeypatch, which):
    make_table(rng).to_csv("table.csv", index=False)
    from skmtl import _files

    usual, calls = _files.os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > which:
            raise OSError(28, "No space left on device")
        usual(handle)

    monkeypatch.setattr(_files.os, "fsync", full)
    code, _, err = run("fit", "table.csv", *QUICK)
    assert (code, err.count("\n")) == (2, 1)
    assert "No space left on device" in err
    left = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert len(left) == which
    assert not any(name.endswith(".part") for name in left)
    if which:
        load_model(tmp_path / "run" / "model.skops")


def test_a_file_where_the_folder_should_be(run, rng, tmp_path):
    make_table(rng).to_csv("table.csv", index=False)
    (tmp_path / "run").write_text("mine")
    assert_one_sentence(*run("fit", "table.csv", *QUICK), "is a file; --out names a folder")
    assert (tmp_path / "run").read_text() == "mine"


def test_gaps_in_features_are_filled_and_odd_columns_said(run, rng, tmp_path):
    table = make_table(rng, 40)
    table.loc[::7, "x1"] = np.nan
    table["nothing"] = np.nan
    table["colour"] = rng.choice(["red", "blue", None], len(table))
    table["sure"] = rng.choice([True, False], len(table))
    table["name"] = [f"person {i}" for i in range(len(table))]
    table["same"] = 3
    table.loc[0, "x2"] = np.inf
    table.to_csv("table.csv")  # with an index, as people do
    code, out, err = run("fit", "table.csv", *QUICK)
    assert (code, err) == (0, "")
    assert "5 numbers" in out
    assert "1 category" in out
    assert "'nothing', which has no values" in out
    assert "'name', text with 40 different values" in out
    assert "1 infinite value of 'x2' counts as missing" in out
    new = table.head(3).assign(colour=["green", None, "red"], x1=np.nan)
    new.head(1).to_csv("new.csv", index=False)
    said = run("predict", "run/model.skops", "new.csv", "--out", "one.csv")[1]
    assert "'colour' has values in 1 row that were not there at the fit: 'green'." in said
    assert said.endswith("Wrote one.csv: 1 row, 2 columns.\n")
    new.to_csv("new.csv", index=False)
    assert run("predict", "run/model.skops", "new.csv", "--out", "p.csv")[0] == 0
    assert np.isfinite(pd.read_csv("p.csv").to_numpy()).all()


def test_columns_without_a_name_are_left_out_and_no_others(run, rng, tmp_path):
    table = make_table(rng).rename(columns={"x1": "Unnamed: x"})
    table.to_csv("once.csv")
    pd.read_csv("once.csv").to_csv("table.csv")  # the index twice, as happens
    code, out, err = run("fit", "table.csv", *QUICK)
    assert (code, err) == (0, "")
    assert "Column 1 has no name and is left out." in out
    assert "Column 2 has no name and is left out." in out
    assert load_model("run/model.skops").feature_names_in_.tolist() == ["Unnamed: x", "x2", "x3"]


def test_predict_says_what_is_missing_or_changed(run, rng, tmp_path):
    table = make_table(rng)
    table.to_csv("table.csv", index=False)
    assert run("fit", "table.csv", *QUICK)[0] == 0
    predict = ("predict", "run/model.skops", "new.csv", "--out", "p.csv")
    table.rename(columns={"x1": "X1"}).to_csv("new.csv", index=False)
    assert_one_sentence(*run(*predict), "no column 'x1' (did you mean")
    table.assign(x1="high").to_csv("new.csv", index=False)
    assert_one_sentence(*run(*predict), "column 'x1' held numbers when the model was fitted, and now 'high'")
    (tmp_path / "new.csv").write_text("")
    assert_one_sentence(*run(*predict), "is empty")
    assert_one_sentence(*run(*predict, "--interval", "90"), "--interval 90 must lie between 0 and 1; for 90% say 0.9.")
    assert_one_sentence(*run(*predict, "--interval", "1"), "--interval 1 must lie between 0 and 1, such as 0.9.")
    (tmp_path / "run" / "model.skops").write_bytes(b"PK")
    table.to_csv("new.csv", index=False)
    assert_one_sentence(*run(*predict), "not a model file of skmtl, or it is damaged")
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.PQ"])
def test_tables_come_back_as_they_were(rng, tmp_path, name):
    table = make_table(rng).assign(**{"odd, name": 1, "\u00fc": "x\ny"})
    write_table(table, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), table, check_exact=True, check_dtype=False)


@pytest.mark.parametrize(
    ("values", "back"),
    [
        ([1, "(all tasks)", None], ["1", "(all tasks)", None]),
        ([0.5, "high", np.nan], ["0.5", "high", None]),
        ([True, 7, "x"], ["True", "7", "x"]),
        ([2**70, 1, None], [str(2**70), "1", None]),
        ([1, 2.5, None], [1.0, 2.5, np.nan]),
        (["a", None, "b"], ["a", None, "b"]),
    ],
)
def test_columns_of_parquet_whose_values_have_no_type_in_common_are_text(values, back, tmp_path):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": 1.0})
    write_table(frame, tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet")
    assert [None if pd.isna(value) else value for value in again["x"]] == [None if pd.isna(v) else v for v in back]
    assert frame["x"].tolist()[:2] == values[:2]


def test_categories_of_several_types_are_text_in_parquet_and_names_differ(tmp_path):
    write_table(pd.DataFrame({"x": pd.Categorical([1, "a", None])}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["x"].astype(object).tolist()[:2] == ["1", "a"]
    for names in (["a", "a"], [1, "1"]):
        with pytest.raises(ValueError, match=f"two columns called '{names[0]}'; give every column its own name"):
            write_table(pd.DataFrame([[1, 2]], columns=pd.Index(names, dtype=object)), tmp_path / "u.parquet")
    assert not (tmp_path / "u.parquet").exists()


@pytest.mark.parametrize(
    ("values", "back"),
    [
        (pd.cut([1.0, 2.0, 3.0], [0, 2, 4]), ["(0, 2]", "(0, 2]", "(2, 4]"]),
        ([1 + 2j, 0j, 1j], ["(1+2j)", "0j", "1j"]),
        (np.array([0.5, 1, 2], dtype=np.longdouble), ["0.5", "1.0", "2.0"]),
    ],
)
def test_columns_of_types_that_parquet_does_not_have_are_text(values, back, tmp_path):
    write_table(pd.DataFrame({"x": values, "y": 1.0}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["x"].astype(str).tolist() == back


def test_other_ways_to_write_a_table(rng, tmp_path):
    table = make_table(rng)
    table.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    table.to_csv(tmp_path / "semicolons.csv", sep=";", index=False)
    (tmp_path / "bom.csv").write_text(table.to_csv(index=False), encoding="utf-8-sig")
    (tmp_path / "spaces.csv").write_text(table.to_csv(index=False).replace(",", ", "))
    for name, delimiter in (("t.tsv", None), ("semicolons.csv", ";"), ("bom.csv", None), ("spaces.csv", None)):
        again = read_table(tmp_path / name, delimiter=delimiter)
        pd.testing.assert_frame_equal(again, table, check_exact=True)


def test_a_damaged_parquet_file(run, rng, tmp_path):
    (tmp_path / "table.parquet").write_bytes(b"PAR1 not really")
    assert_one_sentence(*run("fit", "table.parquet", *QUICK), "not a Parquet file")
