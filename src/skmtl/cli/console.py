"""What people see: tables, bars that move while they wait, and warnings as sentences."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from skmtl.penalties import PENALTIES

if TYPE_CHECKING:
    import pandas as pd


# Control characters, among them those that begin the commands of terminals; marks that turn the direction of writing;
# halves of characters; breaks of lines and paragraphs.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: Any) -> str:
    """Text that does nothing to a terminal: what would move, colour or hide is written as its code."""
    return "".join(one if one == "\n" or category(one) not in UNSEEN else ascii(one)[1:-1] for one in str(text))


def say(*lines: Any) -> None:
    """Print lines that may hold names out of files."""
    print(*map(printable, lines), sep="\n")


def show_table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table that keeps its words whole: long cells fold, none is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(printable(column)), overflow="fold", min_width=min(len(printable(column)), 16))
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)


def show_frame(frame: "pd.DataFrame", corner: str) -> None:
    """Print a data frame, its index first, numbers with three decimals."""
    show_table([corner, *frame.columns], ([i, *map(_cell, row)] for i, *row in frame.itertuples()))


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def show_comparison(comparison: "pd.DataFrame") -> None:
    """Print what ``compare_methods`` returns: a table per method, with intervals and verdicts."""
    for method, table in comparison.groupby("method", sort=False):
        shown = table.set_index("task")[["score", "independent"]].rename(columns={"score": method})
        numbers = table[["difference", "low", "high"]].itertuples(index=False)
        shown["difference (95%)"] = [f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]" for middle, low, high in numbers]
        show_frame(shown.assign(verdict=table["verdict"].to_list()), "task")
        if (table["difference"] == 0.0).all():
            print(f"On every fold {method} chose independent tasks, so that its scores are theirs.")


def methods_markdown() -> str:
    """The table of penalties for README.md."""
    rows = [f"| `{p.name}` | {p.reference} | $`{_github_tex(p.tex)}`$ |" for p in PENALTIES.values()]
    return "\n".join(["| name | reference | R(A) |", "| --- | --- | --- |", *rows])


def _github_tex(tex: str) -> str:
    # A bar would end the cell of the table, and GitHub does not draw \operatorname.
    for old, new in ((r"\|", r"\Vert "), ("|", r"\vert "), (r"\operatorname{", r"\mathrm{")):
        tex = tex.replace(old, new)
    return tex


@contextmanager
def progress_bars() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback that draws ``{"step": text, "done": k, "total": n}`` as a bar, one step at a time.

    ``part``, where it is there, is shown instead of the step. Bars are gone when the work is done, and there are none
    where the output is not a terminal.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console()
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *times)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar, last = bars.add_task("", visible=False), None

        def show(state: dict[str, Any]) -> None:
            nonlocal last
            if state["step"] != last:
                last = state["step"]
                bars.reset(bar, visible=True)
            description = state.get("part", state["step"])
            bars.update(bar, completed=state["done"], total=state["total"], description=description)

        yield show


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings of the library as sentences, each once, when the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        say(f"Note: {message}")


def make_folder(folder: Path) -> None:
    """Create the folder before the work starts, or say in one sentence why that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write there: {error.strerror}", str(folder)) from None
