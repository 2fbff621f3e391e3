"""What the tools of model selection found, with tasks by number."""

from typing import Any

import numpy as np
import pandas as pd

from skmtl.model_selection import StructurePath
from skmtl.model_selection.base import MultiTaskSearch
from skmtl.model_selection.held_out import describe_comparison, is_shared
from skmtl.model_selection.verdict import ALL_TASKS, method_name
from skmtl.report.json_values import to_json, to_text

VALUES = ("score", "independent", "constant", "difference", "low", "high")
MOST_CURVES = 40
# Points of the pictures of predictions: of all tasks together, and of one.
MOST_POINTS, FEWEST_PER_TASK, MOST_PER_TASK = 6000, 30, 200


class TaskIndex:
    """The tasks of an estimator by number, and their names as text."""

    def __init__(self, names: list[Any]) -> None:
        self.names = [to_text(name) for name in names]
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def find(self, name: Any, where: str) -> int:
        """The number of a task named in a result."""
        text = to_text(name)
        if text not in self._numbers:
            raise ValueError(f"{where} has the task {text!r}, which the estimator does not know; is it of other data?")
        return self._numbers[text]


def summarize_comparison(comparison: pd.DataFrame, index: TaskIndex, estimator: Any) -> dict[str, Any]:
    """Scores and verdicts of every method, task by task, and the verdict about the estimator."""
    methods: list[dict[str, Any]] = []
    for name, rows in comparison.groupby("method", sort=False):
        records = rows.to_dict("records")
        # A task may be called so too; the row of all tasks comes after it.
        totals = [place for place, record in enumerate(records) if record["task"] == ALL_TASKS]
        overall = _row(records.pop(totals[-1])) if totals else None
        tasks = [{"task": index.find(record["task"], "comparison"), **_row(record)} for record in records]
        methods.append({"method": to_text(name), "shared": is_shared(rows), "overall": overall, "tasks": tasks})
    names, kept = (
        [method["method"] for method in methods],
        method_name(estimator.penalty_.name, common_weight(estimator)),
    )
    shown = names.index(kept) if kept in names else 0
    # A comparison of several methods is of none in particular, unless the estimator is one of them.
    judged = kept if kept in names or len(names) == 1 else None
    return {
        "methods": methods,
        "shown": shown,
        "kept": kept,
        "scoring": to_text(comparison["scoring"].iloc[0]),
        "verdict": describe_comparison(comparison, names[shown], kept=judged),
    }


def common_weight(estimator: Any) -> float:
    """The weight of the common part of a fitted estimator; of a search, of the one that it chose."""
    return float((estimator.best_estimator_ if isinstance(estimator, MultiTaskSearch) else estimator).common)


def _row(record: Any) -> dict[str, Any]:
    words = {"verdict": to_text(record["verdict"]), "predictable": bool(record["predictable"])}
    return {**{name: to_json(float(record[name])) for name in VALUES}, **words}


def summarize_predictions(predictions: pd.DataFrame, index: TaskIndex) -> list[dict[str, Any]]:
    """Labels of rows held out and their predictions, task by task; of many rows, some."""
    most = min(max(MOST_POINTS // max(len(index.names), 1), FEWEST_PER_TASK), MOST_PER_TASK)
    found = []
    for name, rows in predictions.groupby("task", sort=False):
        some = rows.iloc[:: -(-len(rows) // most)]
        points = {column: to_json(some[column].to_numpy(dtype=float)) for column in ("observed", "predicted")}
        found.append({"task": index.find(name, "predictions"), "labels": len(rows), **points})
    return sorted(found, key=lambda one: one["task"])


def summarize_stability(stability: pd.DataFrame, index: TaskIndex) -> list[dict[str, Any]]:
    """How often each relation was found, the most frequent first."""
    return [
        {
            "a": index.find(row["task_a"], "stability"),
            "b": index.find(row["task_b"], "stability"),
            "frequency": float(row["frequency"]),
            "weight": float(row["weight"]),
            "low": float(row["weight_low"]),
            "high": float(row["weight_high"]),
        }
        for row in stability.to_dict("records")
    ]


def summarize_path(path: StructurePath, index: TaskIndex) -> dict[str, Any]:
    """Edges, scores and the strongest weights along mu."""
    tasks = [index.find(name, "path") for name in path.task_names.tolist()]
    peak = np.abs(np.triu(path.structures, 1)).max(axis=0)
    a, b = np.nonzero(peak)
    strongest = np.argsort(-peak[a, b], kind="stable")[:MOST_CURVES]
    return {
        "mus": to_json(path.mus),
        "n_edges": to_json(path.n_edges),
        "scoring": to_text(path.scoring),
        "scores": to_json(path.scores),
        "errors": to_json(path.errors),
        "gaps": to_json(path.gaps),
        "curves": [
            {"a": tasks[i], "b": tasks[j], "weights": to_json(path.structures[:, i, j])}
            for i, j in zip(a[strongest], b[strongest], strict=True)
        ],
    }
