"""``skmtl compare``: whether sharing helps, task by task."""

from pathlib import Path
from typing import Annotated

import typer

from skmtl.cli import options as o
from skmtl.cli.console import progress_bars, show_comparison, warnings_as_notes
from skmtl.cli.method import MethodOptions
from skmtl.penalties import PENALTIES
from skmtl.tables import compare_table, read_problem, write_table
from skmtl.tables.fitting import METHODS


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
    roles = o.make_roles(targets, features, ignore, task_column, classification, delimiter)
    method, names = MethodOptions(kernel=kernel, loss=loss), check_methods(o.names_in(methods))
    problem = read_problem(table, roles)
    print(f"{table}: {len(problem.X)} rows.", *problem.notes, sep="\n")
    search = method.make_search(classification=problem.classification)
    with warnings_as_notes(), progress_bars() as show:
        comparison, reasons = compare_table(problem, names, search=search, kernels=method.kernels, callback=show)
    for reason in reasons:
        print(reason)
    show_comparison(comparison)
    if out is not None:
        write_table(comparison, out)
        print(f"Wrote {out}")


def check_methods(names: list[str]) -> list[str]:
    """Known methods; "all" is every one that learns or knows a structure."""
    names = list(PENALTIES) if names == ["all"] else names
    for name in names:
        if name not in PENALTIES:
            raise ValueError(f"method {name!r} is not known; choose from {', '.join(PENALTIES)}, or all.")
    return names
