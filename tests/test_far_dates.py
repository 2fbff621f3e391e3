"""Dates such as 9999-12-31, which programs write where there is none: they count as missing, and that is said."""

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor
from skmtl.tables import ColumnRoles, make_model, make_problem, predict_frame, predict_table


@pytest.fixture
def frame(rng):
    days = pd.date_range("2020-01-01", periods=40).strftime("%Y-%m-%d").astype(object)
    return pd.DataFrame({"day": days, "x": rng.normal(size=40), "y": np.arange(40.0)})


def as_moments(column):
    return column.astype("datetime64[s]")


@pytest.mark.parametrize("written", [str, as_moments], ids=["text", "moments"])
@pytest.mark.parametrize("far", ["9999-12-31", "0001-01-01", "1500-06-01"])
def test_a_far_date_is_a_missing_one(written, far, frame, tmp_path):
    change = (lambda column: column) if written is str else written
    frame["day"] = frame["day"].where(frame.index != 3, far)
    missing = frame["day"].where(frame.index != 3, None)
    problem = make_problem(frame.assign(day=change(frame["day"])), ColumnRoles(["y"]))
    expected = make_problem(frame.assign(day=change(missing)), ColumnRoles(["y"]))
    pd.testing.assert_frame_equal(problem.X, expected.X)
    assert "1 date of 'day' before 1678 or after 2261 counts as missing." in problem.notes[-1]
    model = make_model(problem.features, MultiTaskRegressor()).fit(problem.X, problem.Y)
    frame.to_csv(tmp_path / "new.csv", index=False)
    if written is str:
        with pytest.warns(UserWarning, match="1 date of 'day' before 1678"):
            values = predict_table(model, tmp_path / "new.csv")
        np.testing.assert_array_equal(values, predict_frame(model, frame.assign(day=missing)))


def test_a_column_of_far_dates_alone_is_left_out(frame):
    far = make_problem(frame.assign(day=["9999-12-31", "9998-12-31"] * 20), ColumnRoles(["y"]))
    assert far.features.left_out["day"] == "whose dates are all before 1678 or after 2261"
    one = make_problem(frame.assign(day=["9999-12-31", "2020-12-31"] * 20), ColumnRoles(["y"]))
    assert one.features.left_out["day"] == "which is the same date in every row"
