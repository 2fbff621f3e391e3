"""``skmtl compare``: whether sharing helps, task by task."""

from pathlib import Path
from typing import Annotated

import typer

from skmtl.cli import options as o
from skmtl.cli.console import check_new, say, show_comparison, warnings_as_notes
from skmtl.cli.progress import working
from skmtl.cli.words import COMPARABLE, COMPARED, TOLD


def compare(
    table: o.Table,
    targets: o.Targets,
    features: o.FeatureNames = "",
    ignore: o.Ignore = "",
    task_column: o.TaskColumn = None,
    groups: o.Groups = None,
    classification: o.Classification = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    thousands: o.Thousands = None,
    encoding: o.Encoding = None,
    methods: Annotated[
        str,
        typer.Option(metavar="A,B,C", help=f"From {', '.join(COMPARABLE)}; or all.", rich_help_panel=o.METHOD),
    ] = ",".join(COMPARED),
    kernel: o.KernelName = None,
    components: o.Components = None,
    loss: o.LossName = "square",
    scoring: o.Scoring = None,
    jobs: o.Jobs = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the numbers, .csv or .parquet.")] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Say for every task whether sharing helps, with confidence intervals.

    Every method is compared with independent tasks on the same folds, its parameters chosen within each of them.
    """
    from skmtl.cli.method import MethodOptions
    from skmtl.tables import compare_table, read_problem, write_table

    roles = o.make_roles(targets, features, ignore, task_column, classification, groups)
    method = MethodOptions(kernel=kernel, loss=loss, scoring=scoring, n_components=components, n_jobs=jobs)
    method.check()
    names = check_methods(o.names_in(methods))
    problem = read_problem(table, roles, o.make_format(delimiter, decimal, thousands, encoding))
    if out is not None:
        check_new(out, overwrite=overwrite)
    search = method.make_search(problem)
    with warnings_as_notes(), working() as work:
        comparison, reasons = compare_table(problem, names, search=search, kernels=method.kernels, callback=work.show)
    try:
        if out is not None:
            write_table(comparison, out)
    finally:
        # Where it cannot be written, it is not lost.
        say(f"{table}: {len(problem.X):,} rows.", *problem.notes, *reasons)
        show_comparison(comparison)
    if out is not None:
        print(f"Wrote {out}")
    if work.interrupted:
        raise KeyboardInterrupt("Interrupted; the comparison rests on the folds that were finished.")


def check_methods(names: list[str]) -> list[str]:
    """Methods that need not be told anything; "all" is every one of them. Independent tasks are there anyway."""
    possible = f"choose from {', '.join(COMPARABLE)}, or all."
    names = list(COMPARABLE) if names == ["all"] else [name for name in dict.fromkeys(names) if name != "independent"]
    if not names:
        raise ValueError(f"--methods names nothing to compare with independent tasks; {possible}")
    for name in names:
        if name in TOLD:
            told = f"skmtl fit --penalty {name} --set {TOLD[name][1]}"
            raise ValueError(f"method {name!r} has to be told what is known: {told}. Here {possible}")
        if name not in COMPARABLE:
            raise ValueError(f"method {name!r} is not known; {possible}")
    return names
