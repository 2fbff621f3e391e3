"""``skmtl fit``: learn from a table, and leave model, scores, relations and report in a folder."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from skmtl.cli import options as o
from skmtl.cli.console import make_folder, progress_bars, show_comparison, show_table, warnings_as_notes
from skmtl.cli.method import MethodOptions
from skmtl.tables import ColumnRoles, TableFit, TableProblem, fit_table, read_problem, refit_blocks, sample_blocks


def fit(
    table: o.Table,
    targets: o.Targets,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for model, scores, relations and report.")],
    features: o.FeatureNames = "",
    ignore: o.Ignore = "",
    task_column: o.TaskColumn = None,
    classification: o.Classification = None,
    delimiter: o.Delimiter = None,
    penalty: o.Penalty = None,
    settings: o.Settings = None,
    alpha: o.Alpha = None,
    kernel: o.KernelName = None,
    gamma: o.Gamma = None,
    common: o.Common = None,
    loss: o.LossName = "square",
    rule: o.Rule = "best",
    engine: o.Engine = "pandas",
    scheduler: o.Scheduler = None,
    components: o.Components = 1000,
) -> None:
    """Learn to predict several columns of a table, and how they are related.

    Gaps in the targets are fine: those labels simply stay unobserved. Parameters are chosen by cross-validation.
    """
    roles = o.make_roles(targets, features, ignore, task_column, classification, delimiter)
    method = MethodOptions(penalty, o.make_settings(settings), alpha, kernel, gamma, common, loss, rule)
    method.check()
    if o.check_engine(engine, scheduler):
        with o.connected(scheduler):
            fit_large(table, roles, method, components, out)
    else:
        fit_file(table, roles, method, out)


def fit_file(table: Path, roles: ColumnRoles, method: MethodOptions, out: Path) -> None:
    """Fit a table in memory, show what came out, and write it."""
    problem = read_problem(table, roles)
    make_folder(out)
    print(f"{table}: {len(problem.X)} rows.", *problem.notes, sep="\n")
    with warnings_as_notes(), progress_bars() as show:
        result = _fit(problem, method, show)
    _finish(out, result, about(table, problem, result))


def fit_large(table: Path, roles: ColumnRoles, method: MethodOptions, n_components: int, out: Path) -> None:
    """The same for a table larger than memory: chosen and judged on a sample, fitted to all rows."""
    make_folder(out)
    with warnings_as_notes(), progress_bars() as show:
        show({"step": "drawing a sample", "done": 0, "total": None})
        sampled = sample_blocks(table, roles)
        problem, n = sampled.problem, sampled.n_rows
        result = _fit(problem, method, show)
        show({"step": "fitting all rows in blocks", "done": 0, "total": None})
        result = replace(result, model=refit_blocks(result.model, sampled, n_components=n_components))
    print(f"{table}: {n} rows, {len(problem.X)} of them in the sample that chose and judged.", *problem.notes, sep="\n")
    _finish(out, result, {**about(table, problem, result), "rows": n})


def _fit(problem: TableProblem, method: MethodOptions, show: Any) -> TableFit:
    kind = {"classification": problem.classification}
    search, estimator = method.make_search(**kind), method.make_estimator(**kind)
    return fit_table(problem, search=search, estimator=estimator, kernels=method.kernels, callback=show)


def about(table: Path, problem: TableProblem, result: TableFit) -> dict[str, Any]:
    """Facts for the head of the report."""
    labels = problem.Y.notna().to_numpy()
    return {
        "title": table.stem,
        "rows": len(problem.X),
        "features": problem.features.names,
        "tasks": result.estimator.task_names_.tolist(),
        "labels observed": f"{labels.sum()} of {labels.size}",
        "preprocessing": problem.features.describe(),
        "selection": " ".join(result.choice.reasons),
        "rows that judged": len(result.choice.rows),
        "command": shlex.join(["skmtl", *sys.argv[1:]]),
    }


def _finish(out: Path, result: TableFit, facts: dict[str, Any]) -> None:
    """Print scores per task, the strongest relations and the certificate, and write everything."""
    from skmtl.report import save_results

    estimator = result.estimator
    print(*result.choice.reasons, sep="\n")
    show_comparison(result.comparison)
    relations = estimator.relations()
    n_tasks = len(estimator.task_names_)
    print(f"{len(relations)} of {n_tasks * (n_tasks - 1) // 2} pairs of tasks are related.")
    if len(relations):
        show_table(relations.columns, relations.head(5).round(2).itertuples(index=False))
    print(f"Certificate: {estimator.solution_.certificate}")
    written = save_results(
        out,
        result.model,
        result.comparison,
        stability=result.stability,
        path=result.path,
        intervals=result.intervals,
        about=facts,
    )
    for path in written:
        print(f"Wrote {path}")
