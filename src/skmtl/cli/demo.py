"""``skmtl demo``: the main job on data that ships with scikit-learn."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from skmtl._files import write_whole
from skmtl.cli.console import make_folder, progress, show_frame, show_table

if TYPE_CHECKING:
    import pandas as pd

    from skmtl.demo import Outcome


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def demo(
        out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the learned relations there.")] = None,
    ) -> None:
        """Compare sparse and independent tasks on data that ships with scikit-learn."""
        show_demo(out)


def show_demo(out: Path | None) -> None:
    """Run the studies, print what came out, and write the relations when asked."""
    if out is not None:
        make_folder(out)
    for outcome in _run_studies():
        show_outcome(outcome)
        if out is not None:
            path = out / f"{outcome.study.name}-relations.csv"
            write_whole(path, outcome.relations.to_csv(index=False))
            print(f"Wrote {path}")


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
