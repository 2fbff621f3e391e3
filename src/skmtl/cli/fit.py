"""``skmtl fit``: learn from a table, and leave model, scores, relations and report in a folder."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skmtl.cli import options as o
from skmtl.cli.console import make_folder, say, show_comparison, show_relations, warnings_as_notes
from skmtl.cli.progress import Work, working

if TYPE_CHECKING:
    from skmtl.cli.method import MethodOptions
    from skmtl.tables import ColumnRoles, TableFit, TableFormat, TableProblem

MODEL = "model.skops"


def fit(
    table: o.Table,
    targets: o.Targets,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for model, scores, relations and report.")],
    features: o.FeatureNames = "",
    ignore: o.Ignore = "",
    task_column: o.TaskColumn = None,
    groups: o.Groups = None,
    classification: o.Classification = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    thousands: o.Thousands = None,
    encoding: o.Encoding = None,
    penalty: o.Penalty = None,
    settings: o.Settings = None,
    alpha: o.Alpha = None,
    kernel: o.KernelName = None,
    gamma: o.Gamma = None,
    components: o.Components = None,
    common: o.Common = None,
    loss: o.LossName = "square",
    rule: o.Rule = "best",
    scoring: o.Scoring = None,
    jobs: o.Jobs = None,
    overwrite: o.Overwrite = False,
    engine: o.Engine = "pandas",
    scheduler: o.Scheduler = None,
) -> None:
    """Learn to predict several columns of a table, and how they are related.

    Gaps in the targets are fine: those labels simply stay unobserved. What is not given is chosen by cross-validation.
    """
    from skmtl.cli.method import MethodOptions

    roles = o.make_roles(targets, features, ignore, task_column, classification, groups)
    written = o.make_format(delimiter, decimal, thousands, encoding)
    parameters: dict[str, Any] = {
        "penalty": penalty,
        "settings": o.make_settings(settings),
        "alpha": alpha,
        "common": common,
    }
    kernels: dict[str, Any] = {"kernel": kernel, "gamma": gamma, "n_components": components}
    method = MethodOptions(**parameters, **kernels, loss=loss, rule=rule, scoring=scoring, n_jobs=jobs)
    method.check()
    if o.check_engine(engine, scheduler):
        with o.connected(scheduler):
            fit_large(table, roles, written, method, out, overwrite=overwrite)
    else:
        fit_file(table, roles, written, method, out, overwrite=overwrite)


def fit_file(
    table: Path, roles: "ColumnRoles", written: "TableFormat", method: "MethodOptions", out: Path, *, overwrite: bool
) -> None:
    """Fit a table in memory, write what came out, and show it."""
    from skmtl.tables import read_problem

    problem = read_problem(table, roles, written)
    check_kept(table, out)
    make_folder(out, overwrite=overwrite)
    opening = [f"{table}: {len(problem.X):,} rows.", *problem.notes]
    if sys.stdout.isatty():
        say(*opening)
    with warnings_as_notes(), working() as work:
        result = _fit(problem, method, work, out)
        with work.finishing():
            files = _write(out, result, about(table, problem, result))
    if not sys.stdout.isatty():
        # In a pipe nothing is printed before all files are written: whoever reads it may stop at any line.
        say(*opening)
    _finish(files, result, work)


def fit_large(
    table: Path, roles: "ColumnRoles", written: "TableFormat", method: "MethodOptions", out: Path, *, overwrite: bool
) -> None:
    """The same for a table larger than memory: chosen and judged on a sample, fitted to all rows."""
    from skmtl.tables import refit_blocks, sample_blocks

    check_kept(table, out)
    make_folder(out, overwrite=overwrite)
    with warnings_as_notes(), working() as work:
        work.show({"step": "drawing a sample"})
        sampled = sample_blocks(table, roles, written)
        problem, n = sampled.problem, sampled.n_rows
        result = _fit(problem, method, work, out)
        work.show({"step": "fitting all rows in blocks"})
        result = replace(result, model=refit_blocks(result.model, sampled, n_components=method.n_components))
        with work.finishing():
            files = _write(out, result, {**about(table, problem, result), "rows": n})
    say(f"{table}: {n:,} rows, {len(problem.X):,} of them in the sample that chose and judged.", *problem.notes)
    _finish(files, result, work)


def check_kept(table: Path, out: Path) -> None:
    """No file that is written may be the table."""
    from skmtl.report.folder import FILES

    places = [out / name for name in FILES]
    if table.exists() and any(place.exists() and place.samefile(table) for place in places):
        raise ValueError(
            f"{table} is the table, and a file of this name is written into {out}; name another folder for --out."
        )


def _fit(problem: "TableProblem", method: "MethodOptions", work: Work, out: Path) -> "TableFit":
    from skmtl import save_model
    from skmtl.tables import fit_table

    finished: list[Any] = []
    try:
        return fit_table(
            problem,
            search=method.make_search(problem),
            estimator=method.make_estimator(problem),
            kernels=method.kernels,
            keep_penalty=method.held,
            keep_model=finished.append,
            callback=work.show,
        )
    except KeyboardInterrupt:
        where = f"Interrupted while {work.step}" if work.step else "Interrupted"
        left = "nothing was written"
        if finished:
            with work.finishing():
                save_model(finished[0], out / MODEL)
            left = f"{out / MODEL} is written and can predict, scores and report are not"
        raise KeyboardInterrupt(f"{where}; {left}.") from None


def about(table: Path, problem: "TableProblem", result: "TableFit") -> dict[str, Any]:
    """Facts for the head of the report."""
    labels, n_judged, n_graph = problem.Y.notna().to_numpy(), len(result.choice.rows), result.n_graph_rows
    return {
        "title": table.stem,
        "rows": len(problem.X),
        "features": problem.features.names,
        "tasks": result.estimator.task_names_.tolist(),
        "labels observed": f"{labels.sum():,} of {labels.size:,}",
        "preprocessing": problem.features.describe(),
        "selection": " ".join(result.reasons),
        "rows that judged": n_judged,
        **({} if n_graph in (None, n_judged) else {"rows of the graph": n_graph}),
        "command": shlex.join(["skmtl", *sys.argv[1:]]),
    }


def _write(out: Path, result: "TableFit", facts: dict[str, Any]) -> list[Path]:
    """Write everything, before anything is printed."""
    from skmtl.report import save_results

    found: dict[str, Any] = {
        "stability": result.stability,
        "path": result.path,
        "predictions": result.judgement.predictions,
        "intervals": result.intervals,
    }
    return save_results(out, result.model, result.comparison, **found, about=facts)


def _finish(files: list[Path], result: "TableFit", work: Work) -> None:
    """Print what came out. Ctrl-C may end that, but nothing is lost any more."""
    try:
        _show(files, result)
    except KeyboardInterrupt:
        work.interrupted = True
    if work.interrupted:
        raise KeyboardInterrupt("Interrupted; what was finished is written.")


def _show(files: list[Path], result: "TableFit") -> None:
    """Print scores per task, the strongest relations and the certificate, and what was written."""
    from skmtl.model_selection.verdict import method_name
    from skmtl.report import read_aloud

    estimator = result.estimator
    say(*result.reasons)
    show_comparison(result.comparison, kept=method_name(estimator.penalty_.name, estimator.common))
    summary = next(json.loads(path.read_text(encoding="utf-8")) for path in files if path.suffix == ".json")
    if summary["related"]:
        say(read_aloud(summary, summary["related"]))
    beside = " beside a part that all tasks have in common" if estimator.common else ""
    _show_used(estimator.relations(), [task["name"] for task in summary["tasks"] if not task["predictable"]], beside)
    print(f"Certificate: {estimator.solution_.certificate}")
    for path in files:
        say(f"Wrote {path}")


def _show_used(relations: Any, left_out: list[str], beside: str) -> None:
    """Print the strongest relations of the model, and beside what it has them, but not those of tasks left out."""
    shown = relations[~relations[["task_a", "task_b"]].astype(str).isin(left_out).any(axis=1)]
    if len(shown):
        apart = "" if len(shown) == len(relations) else ", those of tasks that are left out apart"
        print(f"The strongest relations that the model uses to predict{beside}{apart}:")
        show_relations(shown)
