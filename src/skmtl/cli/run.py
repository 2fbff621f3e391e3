"""One run on a table: choose, fit, judge, and leave everything in a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skmtl import edge_stability, save_model, structure_path
from skmtl._files import write_whole
from skmtl.cli.console import Steps
from skmtl.cli.pipeline import make_model, make_preparation
from skmtl.cli.problem import Problem
from skmtl.cli.selection import N_FOLDS, Choice, Wishes, choose, judge
from skmtl.cli.tables import write_table
from skmtl.penalties import Sparse
from skmtl.report import render, summarise

MODEL, SCORES, RELATIONS, SUMMARY, REPORT = (
    "model.skops",
    "scores.csv",
    "relations.csv",
    "summary.json",
    "report.html",
)
PATH_MUS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
PATH_FOLDS = 3
N_HALVES = 20
MAX_FALSE = 1.0


@dataclass(frozen=True)
class Run:
    """A fitted pipeline, and all that was found out about it."""

    model: Any
    choice: Choice
    scores: pd.DataFrame
    path: Any
    stability: pd.DataFrame | None

    @property
    def estimator(self) -> Any:
        return self.model[-1]


def run(problem: Problem, wishes: Wishes, steps: Steps) -> Run:
    """Choose parameters, fit them to all rows, and judge the result."""
    Z = make_preparation(problem.features).fit_transform(problem.X)
    with steps("choosing parameters", total=3) as tick:
        choice = choose(problem, Z, wishes, tick)
    with steps("fitting all rows"):
        model = make_model(problem.features, clone(choice.estimator))
        model.fit(problem.X, problem.Y, **({} if problem.tasks is None else {"tasks__tasks": problem.tasks}))
    with steps("comparing with independent tasks", total=2 * N_FOLDS) as tick:
        scores = judge(problem, choice, wishes, tick)
    with steps("following mu"):
        path = _path(model[-1], choice)
    with steps("looking for the same edges on halves of the rows", total=N_HALVES) as tick:
        stability = _stability(model[-1], choice, tick)
    return Run(model, choice, scores, path, stability)


def write_run(out: Path, result: Run, about: Mapping[str, Any]) -> list[Path]:
    """Write model, scores, relations, the summary and its page; each whole or not at all."""
    summary = summarise(
        result.estimator, comparison=result.scores, stability=result.stability, path=result.path, about=about
    )
    save_model(result.model, out / MODEL)
    write_table(result.scores, out / SCORES)
    write_table(result.estimator.relations(), out / RELATIONS)
    write_whole(out / SUMMARY, json.dumps(summary, indent=1, allow_nan=False))
    write_whole(out / REPORT, render(summary))
    return [out / name for name in (MODEL, SCORES, RELATIONS, SUMMARY, REPORT)]


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary that a run left in a folder."""
    path = folder / SUMMARY
    if not path.is_file():
        raise ValueError(f"{folder} has no {SUMMARY}; name the folder that skmtl fit --out left.")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); run skmtl fit again.") from error
    if not isinstance(summary, dict) or "tasks" not in summary:
        raise ValueError(f"{path} is not the summary of a run; run skmtl fit again.")
    return summary


def _path(fitted: Any, choice: Choice) -> Any:
    """The graph along mu, where the method has one; for independent tasks, what a graph would look like."""
    estimator, rows = clone(choice.estimator), choice.rows
    if estimator.penalty.name == "independent":
        estimator.set_params(penalty=Sparse())
    if not hasattr(estimator.penalty, "mu") or len(fitted.task_names_) == 1:
        return None
    return structure_path(estimator, rows.X, rows.Y, PATH_MUS, cv=PATH_FOLDS, tasks=rows.tasks)


def _stability(fitted: Any, choice: Choice, tick: Any) -> pd.DataFrame | None:
    """How often edges come back, where there are some; where every pair is one, with a mu that lets fewer pass."""
    n_tasks = len(fitted.structure_)
    n_edges = np.count_nonzero(np.triu(fitted.structure_, 1))
    dense = n_edges == n_tasks * (n_tasks - 1) // 2
    if n_edges == 0 or (dense and not (hasattr(choice.estimator.penalty, "mu") and n_tasks > 2)):
        return None
    rows = choice.rows
    return edge_stability(
        choice.estimator,
        rows.X,
        rows.Y,
        N_HALVES,
        max_false=MAX_FALSE if dense else None,
        tasks=rows.tasks,
        callback=lambda _: tick(),
    )
