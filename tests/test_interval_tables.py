"""Tables of coverage: what is counted, and what cannot be judged."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import interval_tables

    return interval_tables


def make_row(split, shares, alone):
    """A split of a set with as many targets as there are shares, the same at every coverage."""
    judged = {"covered": float(np.mean(shares)), "by target": shares, "within": 0.0, "width": 1.0, "even": 1.0}
    both = {kind: {str(c): judged for c in (0.5, 0.8, 0.9, 0.95)} for kind in ("intervals", "gaussian")}
    counts = {"common": 9, "common covered": 9, "other": 1, "other covered": 0}
    sizes = {"rows": 20, "tested": 10, "of": 30, "tasks": len(shares)}
    targets = [{"alone": one, **counts} for one in alone]
    return {"set": "a", "split": split, "variant": "half", "method": "skmtl", **sizes, **both, "targets": targets}


def test_a_target_with_one_value_to_learn_from_is_left_out_of_its_split_only(tables):
    """Two targets, two splits: the second is constant in the first split, and there it does not count."""
    rows = [make_row(1, [0.5, 1.0], [False, True]), make_row(2, [0.4, 0.6], [False, False])]
    assert tables.share_of(rows, 0.5) == pytest.approx((0.5 + (0.4 + 0.6) / 2) / 2)
    *_, own, mean = tables.coverage_table(rows, [], ("a",))
    assert own.startswith("| a | 20 | 2 | 2 | 50.0 (50.0) |")
    assert mean.startswith("| mean | | | | 50.0 (50.0) |")


def test_both_readings_are_told(tables):
    rows = [make_row(1, [0.5, 1.0], [False, True]), make_row(2, [0.4, 0.6], [False, False])]
    *_, own, mean = tables.readings_table(rows, [], ("a",))
    assert own.startswith("| a | 1 of 4 | 50.0 (62.5) | 50.0 (62.5) |")
    assert mean.startswith("| mean of all sets | | 50.0 (62.5) |")
    # A set of which every target can be judged is not named, but counts in the mean.
    *_, heading, mean = tables.readings_table([make_row(1, [0.5, 0.7], [False, False])], [], ("a",))
    assert heading.startswith("| --- ")
    assert mean.startswith("| mean of all sets | | 60.0 (60.0) |")


def test_a_split_without_anything_to_judge_is_no_split(tables):
    rows = [make_row(1, [1.0, 1.0], [True, True]), make_row(2, [0.4, 0.6], [False, False])]
    assert tables.share_of(rows, 0.5) == pytest.approx(0.5)
    assert np.isnan(tables.share_of(rows[:1], 0.5))


def test_intervals_that_are_not_to_be_had_do_not_count(tables):
    without, other = make_row(1, [0.9, 0.9], [False, False]), make_row(1, [0.7, 0.7], [False, False])
    without["intervals"]["0.95"] = dict.fromkeys(without["intervals"]["0.95"])
    *_, own, _, mean = tables.coverage_table([without, {**other, "set": "b"}], [], ("a", "b"))
    assert "| 90.0 (90.0) | none |" in own
    assert mean == "| mean | | | | 80.0 (80.0) | 80.0 (80.0) | 80.0 (80.0) | 70.0 (80.0) | |"
