"""``skmtl fit``: learn from a table, and leave model, scores, relations and report in a folder."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from skmtl.cli.console import Steps, make_folder, remarks, show_frame, show_table
from skmtl.cli.problem import Columns, Problem, read_problem
from skmtl.cli.selection import Wishes


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    from skmtl.cli import options as o

    @app.command()
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
        from skmtl.cli.large import check_engine, connected

        columns = o.make_columns(targets, features, ignore, task_column, classification, delimiter)
        wishes = Wishes(penalty, o.make_settings(settings), alpha, kernel, gamma, common, loss, rule)
        wishes.check()
        if check_engine(engine, scheduler):
            with connected(scheduler):
                fit_large(table, columns, wishes, components, out)
            return
        fit_table(table, read_problem(table, columns), wishes, out)


def fit_table(table: Path, problem: Problem, wishes: Wishes, out: Path) -> None:
    """Fit, show what came out, and write it."""
    from skmtl.cli.run import run, write_run

    make_folder(out)
    print(f"{table}: {len(problem.X)} rows.", *problem.notes, sep="\n")
    with remarks():
        result = run(problem, wishes, Steps())
    print(*result.choice.why, sep="\n")
    show_result(result)
    for path in write_run(out, result, about(table, problem, result)):
        print(f"Wrote {path}")


def fit_large(table: Path, columns: Columns, wishes: Wishes, components: int, out: Path) -> None:
    """The same for a table larger than memory: chosen and judged on a sample, fitted to all rows."""
    from skmtl.cli.large import fit_collection
    from skmtl.cli.run import write_run

    make_folder(out)
    with remarks():
        problem, result, n = fit_collection(table, columns, wishes, components, Steps())
    print(f"{table}: {n} rows, {len(problem.X)} of them in the sample that chose and judged.", *problem.notes, sep="\n")
    print(*result.choice.why, sep="\n")
    show_result(result)
    for path in write_run(out, result, {**about(table, problem, result), "rows": n}):
        print(f"Wrote {path}")


def about(table: Path, problem: Problem, result: Any) -> dict[str, Any]:
    """Facts for the head of the report."""
    labels = problem.Y.notna().to_numpy()
    return {
        "title": table.stem,
        "rows": len(problem.X),
        "features": problem.features.names,
        "tasks": result.estimator.task_names_.tolist(),
        "labels observed": f"{labels.sum()} of {labels.size}",
        "preprocessing": problem.features.describe(),
        "selection": " ".join(result.choice.why),
        "rows that judged": len(result.choice.rows.X),
        "command": shlex.join(["skmtl", *sys.argv[1:]]),
    }


def show_result(result: Any) -> None:
    """Print scores per task, the strongest relations and the certificate."""
    estimator = result.estimator
    show_scores(result.scores)
    relations = estimator.relations()
    n_tasks = len(estimator.task_names_)
    print(f"{len(relations)} of {n_tasks * (n_tasks - 1) // 2} pairs of tasks are related.")
    if len(relations):
        show_table(relations.columns, relations.head(5).round(2).itertuples(index=False))
    print(f"Certificate: {estimator.solution_.certificate}")


def show_scores(scores: Any) -> None:
    """Print a comparison: a table per method, with intervals and verdicts."""
    for method, table in scores.groupby("method", sort=False):
        shown = table.set_index("task")[["score", "independent"]].rename(columns={"score": method})
        numbers = table[["difference", "low", "high"]].itertuples(index=False)
        shown["difference (95%)"] = [f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]" for middle, low, high in numbers]
        show_frame(shown.assign(verdict=table["verdict"].to_list()), "task")
        if (table["difference"] == 0.0).all():
            print(f"On every fold {method} chose independent tasks, so that its scores are theirs.")
