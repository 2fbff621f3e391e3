"""The command line: short commands over the public interface."""

import importlib
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from skmtl import __version__
from skmtl.penalties import PENALTIES

if TYPE_CHECKING:
    import pandas as pd

    from skmtl.demo import Outcome

INSTALL = 'The command line needs a few more packages; install them with: pip install "skmtl[app]"'


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        app = make_app()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print(INSTALL, file=sys.stderr)
        raise SystemExit(2) from None
    app(prog_name="skmtl")


def make_app() -> Any:
    """The Typer application; Typer and Rich are imported here, for the library works without them."""
    # Commands need Rich later on; that it is missing should be said before they start.
    importlib.import_module("rich")
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    def version(asked: bool) -> None:
        if asked:
            print(f"skmtl {__version__}")
            raise typer.Exit

    @app.callback()
    def skmtl(
        version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Say which.")] = False,
    ) -> None:
        """Predict many related targets, and learn how they are related."""

    @app.command()
    def demo(
        out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the learned relations there.")] = None,
    ) -> None:
        """Compare sparse and independent tasks on data that ships with scikit-learn."""
        show_demo(out)

    @app.command()
    def methods(
        markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
    ) -> None:
        """List the methods: name, reference and penalty."""
        print(methods_markdown()) if markdown else show_methods()

    return app


def show_methods() -> None:
    """Print the table of penalties."""
    show_table(["name", "reference", "R(A)"], ([p.name, p.reference, p.tex] for p in PENALTIES.values()))


def methods_markdown() -> str:
    """The table of penalties for README.md."""
    rows = [f"| `{p.name}` | {p.reference} | $`{_github_tex(p.tex)}`$ |" for p in PENALTIES.values()]
    return "\n".join(["| name | reference | R(A) |", "| --- | --- | --- |", *rows])


def _github_tex(tex: str) -> str:
    # A bar would end the cell of the table, and GitHub does not draw \operatorname.
    for old, new in ((r"\|", r"\Vert "), ("|", r"\vert "), (r"\operatorname{", r"\mathrm{")):
        tex = tex.replace(old, new)
    return tex


def show_demo(out: Path | None) -> None:
    """Run the studies, print what came out, and write the relations when asked."""
    if out is not None:
        _make_folder(out)
    for outcome in _run_studies():
        show_outcome(outcome)
        if out is not None:
            path = out / f"{outcome.study.name}-relations.csv"
            write_whole(path, outcome.relations.to_csv(index=False))
            print(f"Wrote {path}")


def _run_studies() -> list["Outcome"]:
    """Every study of the demo, with a bar that moves with each fit where the output is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    from skmtl import demo

    console = Console()
    outcomes = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bars = {name: progress.add_task(name, total=demo.count_fits()) for name in demo.STUDIES}
        for name, make_study in demo.STUDIES.items():
            outcomes.append(demo.run(make_study(), tick=partial(progress.advance, bars[name])))
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


def show_frame(frame: "pd.DataFrame", corner: str) -> None:
    """Print a data frame of numbers with three decimals, its index first."""
    show_table([corner, *frame.columns], ([i, *(f"{v:.3f}" for v in row)] for i, *row in frame.itertuples()))


def show_table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table that keeps its words whole: long cells fold, none is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(str(column)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


def _make_folder(folder: Path) -> None:
    """Create the folder before the work starts, or say in one sentence why that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"Cannot write to {folder}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(2) from None


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
