"""Tables larger than memory on the command line: the fit and the predictions of Dask."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skmtl import load_model
from skmtl.cli import large

pytest.importorskip("typer")
pytest.importorskip("dask.dataframe")

GIVEN = ["--targets", "u,v", "--penalty", "sparse", "--alpha", "0.01", "--engine", "dask"]


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    """Numbers and categories with gaps, in CSV and in Parquet; a tenth of the rows is the sample."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(large, "SAMPLE", 60)
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
    options = ["--kernel", kernel, "--components", 30, "--out", "run"]
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
