"""``skmtl compare``: whether sharing helps, task by task."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from skmtl import compare_methods
from skmtl.cli.console import Steps, remarks
from skmtl.cli.fit import show_scores
from skmtl.cli.pipeline import make_preparation
from skmtl.cli.problem import Problem, read_problem
from skmtl.cli.selection import N_FOLDS, Wishes, at_first, choose_kernel, make_search, rows_for
from skmtl.cli.tables import write_table
from skmtl.penalties import PENALTIES

# With independent tasks, with which all are compared, these are five.
METHODS = ("sparse", "trace", "frobenius", "cluster")


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    from skmtl.cli import options as o

    @app.command()
    def compare(
        table: o.Table,
        targets: o.Targets,
        features: o.FeatureNames = "",
        ignore: o.Ignore = "",
        task_column: o.TaskColumn = None,
        classification: o.Classification = None,
        delimiter: o.Delimiter = None,
        methods: Annotated[
            str,
            typer.Option(metavar="A,B,C", help=f"From {', '.join(PENALTIES)}; or all.", rich_help_panel=o.METHOD),
        ] = ",".join(METHODS),
        kernel: o.KernelName = None,
        loss: o.LossName = "square",
        out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the numbers, .csv or .parquet.")] = None,
    ) -> None:
        """Say for every task whether sharing helps, with confidence intervals.

        Every method is compared with independent tasks on the same folds, its parameters chosen within each of them.
        """
        columns = o.make_columns(targets, features, ignore, task_column, classification, delimiter)
        names = check_methods(o.names_in(methods))
        problem = read_problem(table, columns)
        print(f"{table}: {len(problem.X)} rows.", *problem.notes, sep="\n")
        scores = compare_table(problem, names, Wishes(kernel=kernel, loss=loss), Steps())
        show_scores(scores)
        if out is not None:
            write_table(scores, out)
            print(f"Wrote {out}")


def check_methods(names: list[str]) -> list[str]:
    """Known methods; "all" is every one that learns or knows a structure."""
    names = list(PENALTIES) if names == ["all"] else names
    for name in names:
        if name not in PENALTIES:
            raise ValueError(f"method {name!r} is not known; choose from {', '.join(PENALTIES)}, or all.")
    return names


def compare_table(problem: Problem, methods: list[str], wishes: Wishes, steps: Steps) -> pd.DataFrame:
    """Compare methods on a table, at the kernel that suits independent tasks best."""
    if problem.n_tasks < 2:
        raise ValueError("there is one task only, and nothing to share; name several targets.")
    with remarks():
        Z = make_preparation(problem.features).fit_transform(problem.X)
        with steps("choosing the kernel", total=2) as tick:
            kernel, gammas, why = choose_kernel(problem, Z, wishes, tick)
        rows = rows_for(problem, Z, kernel)
        with steps("comparing", total=(1 + len(set(methods) - {"independent"})) * N_FOLDS) as tick:
            options = {"gammas": gammas, "mus": None, "cv": 3, "callback": at_first(tick)}
            search = make_search(problem, wishes, kernel, rows.X, **options)
            scores = compare_methods(rows.X, rows.Y, methods, estimator=search, cv=N_FOLDS, tasks=rows.tasks)
    if len(rows.X) < len(Z):
        why.append(f"Methods are compared on {len(rows.X)} of {len(Z)} rows, drawn at random.")
    print(*why, sep="\n")
    return scores
