"""Decimal marks and marks between thousands: which of them a file shows, and which the table of the fit had."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor, load_model, save_model
from skmtl.penalties import Independent
from skmtl.tables import (
    ColumnRoles,
    TableFormat,
    fit_table,
    make_model,
    predict_blocks,
    predict_frame,
    predict_table,
    read_problem,
    refit_blocks,
    sample_blocks,
)
from skmtl.tables.files import read_with_notes


def german(number):
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ('x,n,choice\n1.5,1,"1,2"\n2.25,2,"3,4"\n', {}),
        ('x,n,choice\n1.5,1,"1,2"\n2.25,2,"3,4"\n', {"decimal": "."}),
        ("x;n;choice\n1.5;1;a\n2.25;2;b\n", {"decimal": ","}),
    ],
)
def test_columns_that_are_numbers_never_become_text(tmp_path, text, marks):
    (tmp_path / "t.csv").write_text(text)
    frame, notes, _ = read_with_notes(tmp_path / "t.csv", TableFormat(**marks))
    assert frame["x"].tolist() == [1.5, 2.25]
    assert frame["n"].tolist() == [1, 2]
    assert frame["choice"].tolist() in (["1,2", "3,4"], ["a", "b"])
    assert "Numbers have a decimal comma." not in notes
    assert any("stays text" in note for note in notes) == (not marks)


def test_a_column_with_points_does_not_take_the_commas_of_others(tmp_path):
    """Hours or days beside numbers, in a table that is not separated by commas: both stay numbers."""
    (tmp_path / "t.csv").write_text("x;hour\n1.001,5;12.30\n2,25;13.45\n")
    frame, notes, marks = read_with_notes(tmp_path / "t.csv", TableFormat())
    assert frame["x"].tolist() == [1001.5, 2.25]
    assert frame["hour"].tolist() == [12.3, 13.45]
    assert marks == (",", ".")
    assert "Numbers have a decimal comma." in notes


@pytest.fixture
def german_model(rng, tmp_path):
    """Predicts its only feature, of a table with a decimal comma and points between thousands; saved and loaded."""
    x = rng.normal(4000.0, 900.0, 40)
    (tmp_path / "fit.csv").write_text("x;y\n" + "".join(f"{german(v)};{german(v)}\n" for v in x))
    problem = read_problem(tmp_path / "fit.csv", ColumnRoles(["y"]))
    model = fit_table(problem, estimator=MultiTaskRegressor(Independent(), alpha=1e-9)).model
    save_model(model, tmp_path / "model.skops")
    return load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("text", ["x;n\n5.500;3\n4.250;1\n", "x;n\n5.500,0;3\n4.250,0;1\n", "x;n\n5500;3\n4250.0;1\n"])
def test_numbers_that_can_be_read_in_two_ways_are_read_as_at_the_fit(german_model, tmp_path, text):
    (tmp_path / "new.csv").write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = predict_table(german_model, tmp_path / "new.csv")
    np.testing.assert_allclose(values["y"], [5500.0, 4250.0], rtol=1e-3)
    said = [str(one.message) for one in caught]
    assert any("those of 'x' were read with decimal mark ','" in one for one in said) == ("5.500;" in text)


def test_marks_of_the_fit_give_way_to_what_is_said_and_shown(german_model, tmp_path):
    (tmp_path / "plain.csv").write_text("x;n\n5.500;1.5\n")
    (tmp_path / "commas.csv").write_text("x,n\n5.500,1\n")
    (tmp_path / "said.csv").write_text("x;n\n5.500;1\n")
    expected = predict_frame(german_model, pd.DataFrame({"x": [5.5]}))
    for name, marks in [("plain", {}), ("commas", {}), ("said", {"decimal": "."})]:
        pd.testing.assert_frame_equal(
            predict_table(german_model, tmp_path / f"{name}.csv", TableFormat(**marks)), expected
        )


def test_a_model_of_a_version_without_marks_is_used(german_model, tmp_path):
    del german_model.__dict__["marks"]
    save_model(german_model, tmp_path / "old.skops")
    (tmp_path / "new.csv").write_text("x;n\n5.500;3\n")
    old = load_model(tmp_path / "old.skops")
    assert old.get_params()["marks"] is None
    pd.testing.assert_frame_equal(
        predict_table(old, tmp_path / "new.csv"), predict_frame(german_model, pd.DataFrame({"x": [5.5]}))
    )


# Dask uses what pandas will drop.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_blocks_have_the_decimal_mark_of_the_fit_or_the_one_that_is_said(german_model, tmp_path):
    pytest.importorskip("dask.dataframe")
    (tmp_path / "new.csv").write_text("x;n\n5.500;3\n")
    with pytest.raises(ValueError, match=r"fitted to numbers with decimal mark ',', .* \(--decimal\)"):
        predict_blocks(german_model, tmp_path / "new.csv", tmp_path / "out", TableFormat(";"))
    for number, marks in ((5500.0, (";", ",", ".")), (5.5, (";", "."))):
        out = tmp_path / f"out {number}"
        predict_blocks(german_model, tmp_path / "new.csv", out, TableFormat(*marks))
        values = pd.concat(map(pd.read_csv, out.iterdir()))
        np.testing.assert_allclose(values, predict_frame(german_model, pd.DataFrame({"x": [number]})))


def test_a_fit_to_blocks_keeps_the_marks_that_were_said(rng, tmp_path):
    pytest.importorskip("dask.dataframe")
    (tmp_path / "t.csv").write_text(
        "x;y\n" + "".join(f"{v:.2f};{v:.2f}\n".replace(".", ",") for v in rng.normal(size=40))
    )
    table = sample_blocks(tmp_path / "t.csv", ColumnRoles(["y"]), TableFormat(";", ","))
    model = make_model(table.problem.features, MultiTaskRegressor(Independent())).fit(table.problem.X, table.problem.Y)
    assert refit_blocks(model, table).marks == (",", None)
