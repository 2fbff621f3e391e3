"""Targets that are neither numbers nor text are refused by name; what is done with the others is said."""

import datetime

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, compare_methods
from skmtl.model_selection import describe_comparison
from skmtl.report.results import TaskIndex, summarize_comparison
from skmtl.tables import ColumnRoles, make_problem, read_problem


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"x": rng.normal(size=40), "u": rng.normal(size=40)})


NEITHER = {
    "bytes": [b"a", b"b"] * 20,
    "dates": pd.date_range("2020", periods=40),
    "durations": pd.to_timedelta(np.arange(40), unit="s"),
    "days": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)] * 20,
    "times": [datetime.time(1), datetime.time(2)] * 20,
    "categories": pd.Categorical([b"a", b"b"] * 20),
}


@pytest.mark.parametrize("targets", [["y"], ["y", "u"]])
@pytest.mark.parametrize("kind", NEITHER)
def test_a_target_is_numbers_or_text(kind, targets, frame):
    with pytest.raises(ValueError, match=r"target 'y' holds .*, and targets are numbers or text"):
        make_problem(frame.assign(y=NEITHER[kind]), ColumnRoles(targets))


TEXT = {
    "objects": np.array(["a", "b"] * 20, dtype=object),
    "strings": pd.array(["a", "b"] * 20, dtype="string"),
    "categories": pd.Categorical(["a", "b"] * 20),
    "truth": [True, False] * 20,
    "truth as objects": np.array([True, False] * 19 + [None, True], dtype=object),
    "objects of NumPy": np.array([np.True_, np.False_] * 20, dtype=object),
    "truth with gaps": pd.array([True, False] * 19 + [None, True], dtype="boolean"),
}


@pytest.mark.parametrize("kind", TEXT)
def test_text_and_truth_are_classes(kind, frame):
    assert make_problem(frame.assign(y=TEXT[kind]), ColumnRoles(["y"])).classification


@pytest.mark.parametrize("kind", TEXT)
@pytest.mark.parametrize("targets", [["y"], ["y", "z"]])
def test_what_becomes_of_truth_values_is_said(kind, targets, frame):
    if "truth" in kind or len(targets) == 1:
        notes = make_problem(frame.assign(y=TEXT[kind], z=[0, 1] * 20), ColumnRoles(targets)).notes
        said = any("True and False of 'y' are 1 and 0 from here on, in predictions too." in note for note in notes)
        assert said == ("truth" in kind)


def test_rows_that_are_left_out_for_their_task_are_said_to_be(frame, tmp_path):
    frame.assign(t=["u", "v", "NA", "w"] * 10).to_csv(tmp_path / "t.csv", index=False)
    notes = read_problem(tmp_path / "t.csv", ColumnRoles(["u"], task_column="t")).notes
    said = (
        "10 more rows without a label are left out. Rows whose 't' or 'u' is empty, NA, None or the like count as such."
    )
    assert said in notes


def test_a_class_called_none_is_said_to_be_left_out(frame, tmp_path):
    frame.assign(y=["None", "mild", "severe", "mild"] * 10).to_csv(tmp_path / "t.csv", index=False)
    notes = read_problem(tmp_path / "t.csv", ColumnRoles(["y"])).notes
    said = "10 more rows without a label are left out. Rows whose 'y' is empty, NA, None or the like count as such."
    assert said in notes


def test_a_task_called_as_the_row_of_all_tasks_is_one_task(frame):
    """Its score, of labels that are noise, is not that of all tasks."""
    tasks = {"(all tasks)": np.cos(1e3 * np.arange(40.0)), "other": frame["x"] * 2.0}
    X, Y = frame[["x"]], pd.DataFrame(tasks)
    est = MultiTaskRegressor(alpha=0.01).fit(X, Y)
    search = MultiTaskRegressorCV(kernel="linear", alphas=[0.01], mus=[0.9], cv=3)
    comparison = compare_methods(X, Y, ["sparse"], estimator=search, cv=3)
    total = comparison["score"].iloc[-1]
    assert f" {total:.3f} with sparse" in describe_comparison(comparison)
    shown = summarize_comparison(comparison, TaskIndex(est.task_names_.tolist()), est)["methods"][0]
    assert [one["task"] for one in shown["tasks"]] == [0, 1]
    assert shown["overall"]["score"] == total != shown["tasks"][0]["score"]
