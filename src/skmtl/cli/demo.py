"""``skmtl demo``: the main job on data that ships with scikit-learn."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skmtl.cli import options as o
from skmtl.cli.console import make_folder, show_frame, show_relations
from skmtl.cli.fit import fit_file
from skmtl.cli.progress import working

FOLDER = Path("skmtl-demo")
TABLE = "diabetes.csv"


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for table, model and report.")] = FOLDER,
    overwrite: o.Overwrite = False,
) -> None:
    """See the main job done: compare, fit and report on data that ships with scikit-learn."""
    from skmtl import demo as studies
    from skmtl.cli.method import MethodOptions
    from skmtl.tables import ColumnRoles, TableFormat, write_table

    make_folder(out, overwrite=overwrite)
    with working() as work:
        results = [studies.run(make(), callback=work.show) for make in studies.STUDIES.values()]
    for result in results:
        show_result(result)
    # What a person would do with a table: write it, and run `skmtl fit` on it.
    table, targets = out / TABLE, list(studies.BLOOD.values())
    write_table(studies.load_patients(), table)
    again = f"skmtl fit {table} --targets '{','.join(targets)}' --out {out} --overwrite"
    print(f"\nThe same from a table of your own: {again}")
    fit_file(table, ColumnRoles(targets), TableFormat(), MethodOptions(), out, overwrite=True)


def show_result(result: Any) -> None:
    """Print scores side by side, the strongest relations and the certificate of one study."""
    study, sparse = result.study, result.models["sparse"]
    chosen = {name: f"{name}, alpha={model.alpha:g}" for name, model in result.models.items()}
    chosen["sparse"] += f", mu={sparse.penalty.mu:g}"
    print(f"\n{study.name}: {study.about}")
    show_frame(result.scores.rename(columns=chosen), f"held-out {study.measure}")
    print(f"Sharing changes the {result.scores.index[-1]} score by {result.gain:+.3f}.")
    n_tasks = len(sparse.task_names_)
    found = f"{len(result.relations)} of {n_tasks * (n_tasks - 1) // 2} pairs of tasks are related"
    print(f"{found}; the strongest:" if len(result.relations) else f"{found}: none is correlated beyond 1 - mu.")
    if len(result.relations):
        show_relations(result.relations)
    print(f"Certificate: {sparse.solution_.certificate}")
