"""``skmtl demo``: the main job on data that ships with scikit-learn."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from skmtl.cli.console import make_folder, progress, show_frame, show_table
from skmtl.cli.fit import fit_table
from skmtl.cli.problem import Columns, read_problem
from skmtl.cli.selection import Wishes
from skmtl.cli.tables import write_table

if TYPE_CHECKING:
    import pandas as pd

    from skmtl.demo import Outcome


FOLDER = Path("skmtl-demo")
TABLE = "diabetes.csv"


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def demo(
        out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for table, model and report.")] = FOLDER,
    ) -> None:
        """See the main job done: compare, fit and report on data that ships with scikit-learn."""
        make_folder(out)
        for outcome in _run_studies():
            show_outcome(outcome)
        fit_patients(out)


def fit_patients(out: Path) -> None:
    """What a person would do with a table: write it, and run ``skmtl fit`` on it."""
    from skmtl import demo

    table = out / TABLE
    write_table(demo.load_patients(), table)
    targets = list(demo.BLOOD.values())
    print(f"\nThe same from a table of your own: skmtl fit {table} --targets '{','.join(targets)}' --out {out}")
    fit_table(table, read_problem(table, Columns(targets)), Wishes(), out)


def _run_studies() -> list["Outcome"]:
    """Every study of the demo, with a bar that moves with each fit."""
    from skmtl import demo

    outcomes = []
    with progress() as bars:
        ids = {name: bars.add_task(name, total=demo.count_fits()) for name in demo.STUDIES}
        for name, make_study in demo.STUDIES.items():
            outcomes.append(demo.run(make_study(), tick=partial(bars.advance, ids[name])))
    return outcomes


def show_outcome(outcome: "Outcome") -> None:
    """Print scores side by side, the strongest relations and the certificate of one study."""
    from skmtl.demo import certificate_in_words

    study, sparse = outcome.study, outcome.models["sparse"]
    chosen = {name: f"{name}, alpha={model.alpha:g}" for name, model in outcome.models.items()}
    chosen["sparse"] += f", mu={sparse.penalty.mu:g}"
    print(f"\n{study.name}: {study.about}")
    show_frame(outcome.scores.rename(columns=chosen), f"held-out {study.measure}")
    print(f"Sharing changes the {outcome.scores.index[-1]} score by {outcome.gain:+.3f}.")
    print(_count(outcome.relations, sparse))
    if len(outcome.relations):
        show_table(outcome.relations.columns, outcome.relations.head(5).round(2).itertuples(index=False))
    print(f"Certificate: {certificate_in_words(sparse)}")


def _count(relations: "pd.DataFrame", model: Any) -> str:
    n_pairs = len(model.task_names_) * (len(model.task_names_) - 1) // 2
    found = f"{len(relations)} of {n_pairs} pairs of tasks are related"
    return f"{found}; the strongest:" if len(relations) else f"{found}: none is correlated beyond 1 - mu."
