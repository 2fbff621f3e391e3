"""How sure predictions are, for the report: observed against predicted on rows held out, with intervals."""

from typing import Any

import numpy as np
import pandas as pd

from skmtl.model_selection.coverage import ROUNDING, covers
from skmtl.report.json_values import to_json
from skmtl.report.results import TaskIndex

# Intervals that are drawn, or the widest below, and how many tasks and labels of each are.
DRAWN, MOST_CHARTS, MOST_POINTS = 0.9, 24, 120
# A share is not what it should be where it is further away than chance explains in 95 of 100 cases, and than a person
# who has to rely on the interval would notice: of many labels, chance explains next to nothing.
CHANCE, NOTICED = 1.96, 0.01
SAME = " Where all labels of a task are the same, intervals are that value; all tasks together are counted without it."


def summarize_intervals(found: pd.DataFrame, index: TaskIndex) -> dict[str, Any] | None:
    """Shares of labels covered, for all tasks and each, and the points of a chart per task; None without intervals.

    ``found`` is what ``interval_coverage`` returns.
    """
    if not len(found):
        return None
    coverages = sorted(float(c) for c in found["coverage"].unique())
    drawn = max([c for c in coverages if c <= DRAWN] or coverages[:1])
    charts = []
    for name, rows in found.groupby("task", sort=False):
        own = rows[rows["coverage"] == drawn]
        own = own.sample(MOST_POINTS, random_state=0) if len(own) > MOST_POINTS else own
        points = own[["predicted", "observed", "low", "high"]].to_numpy(dtype=float)
        charts.append(
            {"task": index.find(name, "intervals"), "covered": _shares(rows, coverages), "points": to_json(points)}
        )
    # A task whose labels are all the same says nothing about intervals.
    varies = found.groupby("task")["observed"].transform("nunique") > 1
    overall = _shares(found[varies] if varies.any() else found, coverages)
    return {
        "coverages": coverages,
        "drawn": drawn,
        "overall": overall,
        "tasks": sorted(charts, key=lambda chart: chart["task"]),
        "verdict": _verdict(coverages, overall, n_tasks=len(charts)) + ("" if varies.all() else SAME),
    }


def _shares(rows: pd.DataFrame, coverages: list[float]) -> list[dict[str, Any] | None]:
    """Share and number of labels covered at each coverage, and the share of those at no end of their interval.

    None where there are no such intervals.
    """
    shares: list[dict[str, Any] | None] = []
    for coverage in coverages:
        own = rows[rows["coverage"] == coverage]
        within = own["covered"] & (own["low"] < own["observed"]) & (own["observed"] < own["high"])
        found = {"share": float(own["covered"].mean()), "within": float(within.mean()), "labels": len(own)}
        shares.append(found if len(own) else None)
    return shares


def _verdict(coverages: list[float], overall: list[dict[str, Any] | None], n_tasks: int) -> str:
    """A sentence about all tasks together.

    Labels that many rows share may be ends of their interval, and are held however little it promises: of intervals
    that hold more than they say, only labels at no end count.
    """
    known = [(c, one) for c, one in zip(coverages, overall, strict=True) if one is not None]
    off, above, seen = [], set[bool](), False
    for coverage, one in known:
        chance = CHANCE * np.sqrt(coverage * (1.0 - coverage) / one["labels"])
        error = max(coverage - one["share"], one["within"] - coverage)
        seen |= error > chance
        if error > max(chance, NOTICED):
            above.add(one["share"] > coverage)
            off.append(f"those of {100 * coverage:.0f}% hold {100 * one['share']:.0f}%")
    if not off:
        how_far = "but for less than one in a hundred" if seen else "as far as chance lets us see"
        return f"Intervals hold as many labels as they say, {how_far}."
    what = "do not hold quite what they say" if len(above) > 1 else "hold fewer labels than they say"
    what = "hold more labels than they say" if above == {True} else what
    together = " Chance may explain more of it than was counted, for labels of one row may err together."
    return f"Intervals {what}: {', '.join(off)}.{together if n_tasks > 1 else ''}"


def interval_charts(summary: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The charts of a summary with places from 0 to 100, both axes alike: predicted to the right, observed upwards."""
    charts = []
    for task in (summary or {"tasks": []})["tasks"][:MOST_CHARTS]:
        points = np.array(task["points"], dtype=float)
        least, most = points[:, :2].min(), points[:, :2].max()
        spread = most - least
        margin = 0.06 * spread if spread > ROUNDING * max(abs(least), abs(most)) else 1.0
        least, most = least - margin, most + margin
        places = np.clip(100.0 * (points - least) / (most - least), 0.0, 100.0).round(1)
        inside = covers(points[:, 2], points[:, 3], points[:, 1])
        charts.append(
            {
                "task": task["task"],
                "least": float(least),
                "most": float(most),
                "points": [
                    {"x": x, "y": 100.0 - y, "low": 100.0 - low, "high": 100.0 - high, "inside": bool(within)}
                    for (x, y, low, high), within in zip(places.tolist(), inside, strict=True)
                ],
            }
        )
    return charts
