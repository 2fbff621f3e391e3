"""What columns are called: one name everywhere, whatever stands around it in a file."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skmtl import MultiTaskRegressor, save_model
from skmtl.tables import (
    ColumnRoles,
    TableFormat,
    make_model,
    make_problem,
    predict_frame,
    predict_table,
    read_blocks,
    read_problem,
    read_table,
)
from skmtl.tables.column_names import plain_name


@pytest.fixture
def frame(rng):
    codes = rng.choice(["01", "02", "03"], 40)
    columns = {"id": [f"{k:04d}" for k in range(40)], "x": rng.normal(size=40), "zip": codes}
    return pd.DataFrame(columns).assign(y=lambda t: t["x"] + (t["zip"] == "01"))


@pytest.fixture
def model(frame):
    problem = make_problem(frame, ColumnRoles(["y"], ignore=["id"]))
    return make_model(problem.features, MultiTaskRegressor()).fit(problem.X, problem.Y)


def write(frame, path):
    frame = frame.rename(columns=lambda name: f" {name} ")
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_parquet(path, index=False)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_blanks_around_names_are_no_part_of_them(ending, frame, model, tmp_path):
    path = tmp_path / f"table.{ending}"
    write(frame, path)
    again = read_table(path, text=["zip", "id"])
    pd.testing.assert_frame_equal(again, frame, check_dtype=False, rtol=1e-12)
    values = predict_table(model, path, keep=["id"])
    assert values["id"].tolist() == frame["id"].tolist()
    np.testing.assert_allclose(values["y"], predict_frame(model, frame)["y"])


# Dask uses what pandas will drop.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_blanks_around_names_of_blocks_are_no_part_of_them(ending, frame, tmp_path):
    pytest.importorskip("dask.dataframe")
    path = tmp_path / f"table.{ending}"
    write(frame, path)
    blocks = read_blocks(path, text=["zip"]).compute()
    assert blocks.columns.tolist() == frame.columns.tolist()
    assert blocks["zip"].tolist() == frame["zip"].tolist()


def test_a_model_of_names_with_blanks_finds_them_in_a_file(frame, tmp_path):
    spaced = frame.rename(columns={"zip": "zip "})
    problem = make_problem(spaced, ColumnRoles(["y"], ignore=["id"]))
    model = make_model(problem.features, MultiTaskRegressor()).fit(problem.X, problem.Y)
    spaced.to_csv(tmp_path / "new.csv", index=False)
    np.testing.assert_allclose(predict_table(model, tmp_path / "new.csv"), predict_frame(model, spaced))


def test_two_names_that_differ_in_blanks_are_one(frame, tmp_path):
    frame.assign(**{"x ": 1.0}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="two columns called 'x'"):
        read_table(tmp_path / "t.parquet")


def test_names_of_several_levels_are_joined_in_a_file_and_refused_in_memory(frame, tmp_path):
    levels = frame.set_axis(pd.MultiIndex.from_tuples([("u", name) for name in frame]), axis="columns")
    levels.to_parquet(tmp_path / "t.parquet")
    joined = read_table(tmp_path / "t.parquet")
    assert joined.columns.tolist() == ["u id", "u x", "u zip", "u y"]
    assert make_problem(joined, ColumnRoles(["u y"])).features.names == ["u x", "u zip"]
    with pytest.raises(ValueError, match="the table has names of 2 levels; join them"):
        make_problem(levels, ColumnRoles(["y"]))


def test_what_a_reader_does_not_foresee_is_said_of_the_table(run, frame, model, tmp_path, monkeypatch):
    pytest.importorskip("typer")

    def fail(*given, **named):
        raise KeyError("unforeseen")

    save_model(model, tmp_path / "model.skops")
    frame.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr("skmtl.tables.files.read_csv", fail)
    code, _, said = run("predict", tmp_path / "model.skops", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert code == 2
    assert "new.csv cannot be read ('unforeseen')" in said
    assert "model.skops" not in said


# Dask uses what pandas will drop.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("header", ['"x\n(kg)"|id|zip|"y\r\n\n(cm)"', 'id|"zip"|"y\n(cm)"|"x  \n (kg)"'])
@pytest.mark.parametrize("delimiter", [";", ",", "|"])
def test_breaks_in_names_are_blanks(header, delimiter, frame, model, tmp_path):
    """Spreadsheets break lines within cells; where the first name is broken, the delimiter is on a later line."""
    path, names = tmp_path / "table.csv", {"id": "id", "x": "x (kg)", "zip": "zip", "y": "y (cm)"}
    known = next(csv.reader([header.replace("\n", " ").replace("\r", " ")], delimiter="|"))
    order = [name.split()[0] for name in known]
    rows = frame[order].to_csv(index=False, header=False, sep=delimiter)
    path.write_text(header.replace("|", delimiter) + "\n" + rows, newline="")
    again = read_table(path, text=["zip", "id"])
    pd.testing.assert_frame_equal(again, frame[order].rename(columns=names), check_dtype=False, rtol=1e-12)
    pytest.importorskip("dask.dataframe")
    blocks = read_blocks(path, TableFormat(delimiter), text=["zip", "id"]).compute()
    assert blocks.columns.tolist() == again.columns.tolist()
    assert blocks["zip"].tolist() == frame["zip"].tolist()
    roles = ColumnRoles(["y\n(cm)"], ignore=["id"])
    assert sorted(read_problem(path, roles).features.numbers) == ["x (kg)", "zip"]
    spaced = frame.rename(columns={"x": "x\n(kg)"})
    problem = make_problem(spaced, ColumnRoles(["y"], ignore=["id"]))
    fitted = make_model(problem.features, MultiTaskRegressor()).fit(problem.X, problem.Y)
    np.testing.assert_allclose(predict_table(fitted, path).iloc[:, 0], predict_frame(fitted, spaced).iloc[:, 0])


@pytest.mark.parametrize("n_blanks", [0, 1, 2, 200_000])
def test_blanks_within_names_take_no_time(n_blanks, tmp_path):
    """Those within a line stay, those around breaks and commas go; hundreds of thousands took minutes."""
    many = " " * n_blanks
    assert plain_name(f" a{many}b{many}\r\n \n{many}c\n") == f"a{many}b c"
    roles = ColumnRoles(["y", f"z{many}"], ignore=[f"u{many}v{many}", f"{many}w"])
    columns = [f"u{many}v{many} ,{many}w", f"x{many}x", "y , z", "t"]
    assert roles.in_columns(columns).targets == ["y , z"]
    assert roles.in_columns(columns).ignore == [columns[0]]


@given(st.text("ab \t\n\r\x0b\x85\u2028\u00a0", max_size=12))
def test_breaks_with_what_is_around_them_are_one_blank(text):
    assert plain_name(text) == re.sub(r"\s*[\r\n]+\s*", " ", text.strip())


@pytest.mark.parametrize("header", ['5" pipe,b,y', '"a,b,y', 'a"b",c,y'])
def test_a_quote_in_a_header_hides_no_row(header, tmp_path):
    """A quote within a name is a letter of it; one that never ends is said."""
    (tmp_path / "table.csv").write_text(f"{header}\n" + "1,2,3\n" * 60)
    if header.startswith('"'):
        with pytest.raises(ValueError, match="rows that do not fit its header"):
            read_table(tmp_path / "table.csv")
    else:
        assert read_table(tmp_path / "table.csv").columns.tolist() == header.split(",")
