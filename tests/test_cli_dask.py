"""Tables larger than memory on the command line: the fit and the predictions of Dask."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skmtl import load_model
from skmtl.tables import blocks

pytest.importorskip("typer")
pytest.importorskip("dask.dataframe")

GIVEN = ["--targets", "u,v", "--penalty", "sparse", "--alpha", "0.01", "--engine", "dask"]


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    """Numbers and categories with gaps, in CSV and in Parquet; a tenth of the rows is the sample."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(blocks, "SAMPLE", 60)
    n = 600
    X = rng.normal(size=(n, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(n, 2))
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "u", "v"])
    frame["colour"] = rng.choice(["red", "blue"], n)
    frame.loc[::9, "a"] = np.nan
    frame.loc[::7, "u"] = np.nan
    frame.to_csv("table.csv", index=False)
    frame.to_parquet("table.parquet", row_group_size=100)
    return frame


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_fit_and_predict_in_parts(run, table, kind, kernel):
    options = ["--kernel", kernel, *(["--components", 30] if kernel == "rbf" else []), "--out", "run"]
    code, out, err = run("fit", f"table.{kind}", *GIVEN, *options)
    assert code == 0, err
    assert "600 rows" in out
    model = load_model("run/model.skops")
    assert np.sum(model[-1].intercept_ != 0.0) == 2
    code, out, err = run("predict", "run/model.skops", f"table.{kind}", "--out", "parts", "--engine", "dask")
    assert code == 0, err
    files = sorted(path for path in Path("parts").iterdir() if path.suffix == f".{kind}")
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    together = pd.concat([read(path) for path in files], ignore_index=True)
    np.testing.assert_allclose(together[["u", "v"]], model.predict(table[["a", "b", "c", "colour"]]), atol=1e-12)
    # All rows were fitted, not the sample: the residuals of each task sum to zero over its labels.
    errors = (table[["u", "v"]] - together[["u", "v"]]).mean()
    np.testing.assert_allclose(errors, 0.0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words", [(0, 1), ("no", "yes")])
@pytest.mark.parametrize("long", [False, True])
def test_rows_without_a_label_are_left_out_as_in_memory(run, rng, table, words, long):
    frame = table[["a", "b", "c"]].fillna(0.0).assign(task=rng.choice(["x", "y"], len(table)))
    frame["kind"] = np.where(frame["b"] > 0, *words[::-1])
    # A part of the table without labels, and gaps elsewhere.
    frame["kind"] = frame["kind"].where((frame.index < 400) & (frame.index % 7 > 0))
    options = ["--targets", "kind", "--penalty", "sparse", "--alpha", "0.01"]
    left_out = frame["kind"].isna()
    if long:
        frame.loc[1, "task"] = None
        left_out[1] = True
        options += ["--task-column", "task"]
    Path("parts").mkdir()
    for part in range(3):
        frame[200 * part : 200 * (part + 1)].to_parquet(f"parts/{part}.parquet")
    frame.to_parquet("whole.parquet")
    models = []
    for name, engine in (("parts", "dask"), ("whole.parquet", "pandas")):
        code, out, err = run("fit", name, *options, "--out", engine, "--engine", engine)
        assert code == 0, err
        assert f"{name}: {(~left_out).sum()} rows" in out
        assert f"{left_out.sum()} more rows without a label are left out." in out
        models.append(load_model(f"{engine}/model.skops"))
    rows = frame[["a", "b", "c"] if long else ["a", "b", "c", "task"]]
    assert (models[0].predict(rows) == models[1].predict(rows)).mean() > 0.98


@pytest.mark.filterwarnings("ignore")
def test_categories_that_look_like_numbers_are_text_where_they_were(run, rng, table):
    frame = table.assign(colour=rng.choice(["01", "02", "A"], len(table)))
    frame["u"] = frame["v"] + 5.0 * (frame["colour"] == "01")
    frame.to_csv("table.csv", index=False)
    assert run("fit", "table.csv", *GIVEN, "--out", "run")[0] == 0
    frame[frame["colour"] == "01"].to_csv("new.csv", index=False)
    assert run("predict", "run/model.skops", "new.csv", "--out", "p.csv")[0] == 0
    assert run("predict", "run/model.skops", "new.csv", "--out", "parts", "--engine", "dask")[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv("parts/part-0.csv"), pd.read_csv("p.csv"))


def test_a_table_without_labels_gets_a_sentence(run, table):
    table.assign(u=np.nan).to_parquet("table.parquet")
    for engine in ("dask", "pandas"):
        code, _, err = run("fit", "table.parquet", "--targets", "u", "--out", "run", "--engine", engine)
        assert (code, err.count("\n")) == (2, 1)
        assert "has 0 rows with a target, at least 10 are needed" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "spark"], "--engine 'spark' is not known; choose one of pandas, dask"),
        (["--scheduler", "tcp://localhost:1"], "--scheduler needs --engine dask"),
    ],
)
def test_wrong_engines_get_a_sentence(run, table, arguments, message):
    code, _, err = run("fit", "table.csv", "--targets", "u,v", "--out", "run", *arguments)
    assert code != 0
    assert message in " ".join(err.split())
