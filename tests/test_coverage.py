"""Labels of rows held out beside their intervals, and what the report says of them."""

import numpy as np
import pandas as pd
import pytest
from problems import with_gaps

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.model_selection import interval_coverage
from skmtl.model_selection.coverage import covers
from skmtl.report import render, summarize
from skmtl.report.intervals import interval_charts

COLUMNS = ["task", "coverage", "observed", "predicted", "low", "high", "covered"]


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(120, 3))
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(120, 2))
    return X, pd.DataFrame(with_gaps(rng, Y, 0.2), columns=["iron", "<b>zinc</b>"])


def test_every_label_is_held_out_once(problem):
    X, Y = problem
    found = interval_coverage(MultiTaskRegressor(alpha=0.1), X, Y, coverages=[0.5, 0.9])
    assert list(found) == COLUMNS
    assert found.index.tolist() == list(range(len(found)))
    for coverage, rows in found.groupby("coverage"):
        assert len(rows) == Y.notna().to_numpy().sum()
        for name in Y:
            assert sorted(rows.loc[rows["task"] == name, "observed"]) == sorted(Y[name].dropna())
        assert abs(rows["covered"].mean() - coverage) < 0.12
        assert np.all((rows["low"] < rows["predicted"]) & (rows["predicted"] < rows["high"]))
    np.testing.assert_array_equal(
        found["covered"], (found["low"] <= found["observed"]) & (found["observed"] <= found["high"])
    )


def test_long_tables_are_the_same_as_wide_ones(problem):
    X, Y = problem
    known = Y["iron"].notna().to_numpy()
    X, y = X[known], Y["iron"][known]
    one = interval_coverage(MultiTaskRegressor(alpha=0.1), X, y, coverages=[0.8])
    two = interval_coverage(MultiTaskRegressor(alpha=0.1), X, y, tasks=["iron"] * len(y), coverages=[0.8])
    pd.testing.assert_frame_equal(one, two)


def test_too_few_labels_are_no_error(problem):
    X, Y = problem
    whole = Y[:20].fillna(0.0)
    found = interval_coverage(MultiTaskRegressor(), X[:20], whole, coverages=[0.5, 0.95])
    assert found["coverage"].unique().tolist() == [0.5]
    lonely = whole.assign(b=[1.0] + [np.nan] * 19)
    assert len(interval_coverage(MultiTaskRegressor(), X[:20], lonely, coverages=[0.5])) == 0


def test_the_report_says_whether_intervals_hold(problem):
    X, Y = problem
    est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    found = interval_coverage(est, X, Y)
    summary = summarize(est, intervals=found)
    told = summary["intervals"]
    assert told["coverages"] == [0.5, 0.8, 0.9, 0.95]
    assert told["drawn"] == 0.9
    for coverage, one in zip(told["coverages"], told["overall"], strict=True):
        assert one["share"] == pytest.approx(found.loc[found["coverage"] == coverage, "covered"].mean())
    assert "as many labels as they say" in told["verdict"]
    page = render(summary)
    assert "How sure are predictions?" in page
    assert page.count("<circle") >= sum(len(task["points"]) for task in told["tasks"])
    assert "<b>zinc" not in page
    assert "Every row was held out once and predicted" in page
    drawn = {"rows": 2500, "rows that judged": 2000, "rows of the graph": 1000}
    page = render(summarize(est, intervals=found, about=drawn))
    assert "Of 2,500 rows 1,000 were drawn, and every one of them was held out once and predicted" in page
    # Numbers of labels are written as those of rows.
    page = render(summarize(est, intervals=pd.concat([found] * 10)))
    for n_labels in (10 * Y["iron"].notna().sum(), 10 * Y.notna().to_numpy().sum()):
        assert f'<td class="n">{n_labels:,}</td>' in page
    # Intervals that are much too short are not praised.
    narrow = found.assign(covered=found["covered"] & (np.arange(len(found)) % 2 == 0))
    said = summarize(est, intervals=narrow)["intervals"]["verdict"]
    assert "hold fewer labels than they say" in said
    # Of a single task a row has one label, and no others err with it.
    assert said.endswith("labels of one row may err together.")
    alone = summarize(est, intervals=narrow[narrow["task"] == "iron"])["intervals"]["verdict"]
    assert "hold fewer labels than they say" in alone
    assert "err together" not in alone
    mixed = narrow.assign(covered=narrow["covered"] | (narrow["coverage"] == 0.5))
    mixed.loc[mixed["coverage"] == 0.5, ["low", "high"]] = -1e3, 1e3
    assert "do not hold quite what they say" in summarize(est, intervals=mixed)["intervals"]["verdict"]


def test_a_target_that_is_always_the_same_does_not_make_intervals_wrong(problem):
    """Its intervals hold all labels, whatever they promise; that of the others is judged as before."""
    X, Y = problem
    Y = Y.assign(constant=0.1, other=0.0, third=7.0)
    est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    found = interval_coverage(est, X, Y, coverages=[0.5, 0.8])
    told = summarize(est, intervals=found)["intervals"]
    apart = summarize(est, intervals=found[found["task"].isin(problem[1].columns)])["intervals"]
    assert told["overall"] == apart["overall"]
    assert told["verdict"].startswith("Intervals hold as many labels as they say")
    assert "Where all labels of a task are the same" in told["verdict"]
    assert "are the same" not in apart["verdict"]
    # Too wide, and too short, is not excused by them.
    wide = found.assign(low=found["low"] - 1e3, high=found["high"] + 1e3, covered=True)
    short = found.assign(covered=found["covered"] & (found["task"] == "constant"))
    for wrong, word in ((wide, "more"), (short, "fewer")):
        assert f"hold {word} labels than they say" in summarize(est, intervals=wrong)["intervals"]["verdict"]


@pytest.mark.parametrize("value", [1.25, -3e-5, 7e9])
def test_a_label_that_its_interval_misses_by_rounding_is_within(problem, value):
    """All labels are the same, and so is the interval; and rounding is not drawn as large as the chart."""
    beside = np.nextafter(value, 2 * value)
    assert covers(beside, beside, value)
    assert not covers(beside, beside, value * (1 + 1e-9))
    est = MultiTaskRegressor(alpha=0.1).fit(*problem)
    ends = {"predicted": [value, beside], "low": [value, beside], "high": [value, beside]}
    found = pd.DataFrame({"task": problem[1].columns[0], "coverage": 0.9, "observed": value, **ends, "covered": True})
    (chart,) = interval_charts(summarize(est, intervals=found)["intervals"])
    assert all(point["inside"] for point in chart["points"])
    assert chart["points"][0]["x"] == chart["points"][1]["x"] == 50.0


@pytest.mark.parametrize(
    ("share", "opening"),
    [
        (0.9000, "Intervals hold as many labels as they say, as far as chance lets us see."),
        (0.8945, "Intervals hold as many labels as they say, but for less than one in a hundred."),
        (0.8800, "Intervals hold fewer labels than they say: those of 90% hold 88%."),
    ],
)
def test_of_many_labels_small_errors_are_not_called_wrong(problem, share, opening):
    """Chance explains a third of a percent of so many labels; that 90% hold 89.45% is no fault to speak of."""
    X, Y = problem
    est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    n = 40_000
    known = {"task": Y.columns[0], "observed": 0.0, "predicted": 0.0, "low": -1.0, "high": 1.0, "coverage": 0.9}
    found = pd.DataFrame({**known, "covered": np.arange(n) < share * n})
    assert summarize(est, intervals=found)["intervals"]["verdict"].startswith(opening)


def test_a_report_without_intervals(problem):
    X, Y = problem
    est = MultiTaskRegressor(loss="huber").fit(X, Y)
    page = render(summarize(est))
    assert "How sure are predictions?" not in page
    empty = pd.DataFrame(columns=COLUMNS)
    assert summarize(est, intervals=empty)["intervals"] is None


@pytest.mark.parametrize("single", [False, True])
def test_classifiers_have_no_intervals(single, problem):
    X, Y = problem
    Y = (np.asarray(Y) > 0.0).astype(int)
    with pytest.raises(ValueError, match=r"intervals are those of a regressor .* not of MultiTaskClassifier"):
        interval_coverage(MultiTaskClassifier(loss="square"), X, Y[:, 0] if single else Y)
