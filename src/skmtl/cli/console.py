"""What people see: tables, and bars that move while they wait."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress


def show_frame(frame: "pd.DataFrame", corner: str) -> None:
    """Print a data frame, its index first, numbers with three decimals."""
    show_table([corner, *frame.columns], ([i, *map(_cell, row)] for i, *row in frame.itertuples()))


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def show_table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table that keeps its words whole: long cells fold, none is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(str(column)), overflow="fold", min_width=min(len(str(column)), 16))
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


@contextmanager
def progress() -> Iterator["Progress"]:
    """Bars that are gone when the work is done; nothing where the output is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield bars


class Steps:
    """Bars for work in steps: ``with steps("searching", total=3) as tick`` draws one that moves with ``tick()``."""

    @contextmanager
    def __call__(self, words: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        with progress() as bars:
            bar = bars.add_task(words, total=total)
            yield lambda: bars.advance(bar)


@contextmanager
def remarks() -> Iterator[None]:
    """Show warnings of the library as sentences, each once, when the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        print(f"Note: {message}")


def make_folder(folder: Path) -> None:
    """Create the folder before the work starts, or say in one sentence why that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write there: {error.strerror}", str(folder)) from None
