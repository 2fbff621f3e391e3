"""What people see: tables, and warnings as sentences; and where files may be written."""

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from skmtl._files import stream_number

if TYPE_CHECKING:
    import pandas as pd

# Characters of a line of a table in a pipe or a file.
FILE_WIDTH = 140
# Stands for a number that is not there.
MISSING = "-"

# Control characters, among them those that begin the commands of terminals; marks that turn the direction of writing;
# halves of characters; breaks of lines and paragraphs.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: Any) -> str:
    """Text that does nothing to a terminal: what would move, colour or hide is written as its code."""
    return "".join(one if one == "\n" or category(one) not in UNSEEN else ascii(one)[1:-1] for one in str(text))


def say(*lines: Any) -> None:
    """Print lines that may hold names out of files."""
    print(*map(printable, lines), sep="\n")


def show_relations(relations: "pd.DataFrame") -> None:
    """The strongest relations; weights are in units of the structure, and may be small."""
    strongest = relations.head(5).round({"correlation": 2})
    rows = strongest.assign(weight=[f"{one:.3g}" for one in strongest["weight"]])
    show_table(rows.columns, rows.itertuples(index=False))


def show_table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table that keeps its words whole: long cells fold, none is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(printable(column)), overflow="fold", min_width=min(len(printable(column)), 11))
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    # By print, for Rich would take a reader that has gone for an error. A file has no width.
    console = Console()
    console = console if console.is_terminal else Console(width=FILE_WIDTH)
    with console.capture() as drawn:
        console.print(table)
    print(drawn.get(), end="")


def show_frame(frame: "pd.DataFrame", corner: str) -> None:
    """Print a data frame, its index first, numbers with three decimals."""
    show_table([corner, *frame.columns], ([i, *map(_cell, row)] for i, *row in frame.itertuples()))


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:z.3f}" if math.isfinite(value) else MISSING


def show_comparison(comparison: "pd.DataFrame", *, kept: str | None = None) -> None:
    """Print what ``compare_methods`` returns: a table per method, with intervals, and the verdict as a sentence.

    ``kept`` is the method of the model that is kept, where there is one.
    """
    from skmtl.model_selection.held_out import describe_comparison, is_shared
    from skmtl.model_selection.score_words import explain_score
    from skmtl.report.related import describe_unjudged

    for method, table in comparison.groupby("method", sort=False):
        explained = explain_score(table["scoring"].iloc[0])
        print(f"{explained[0].upper()}{explained[1:]} on rows held out, more is better:")
        show_frame(_beside_independent(table) if is_shared(table) else _alone(table), "task")
        print(describe_comparison(comparison, str(method), kept=kept))
    unscored = comparison["task"][comparison["score"].isna()]
    if len(unscored):
        say(describe_unjudged([str(name) for name in unscored.unique()]))


def _beside_independent(table: "pd.DataFrame") -> "pd.DataFrame":
    """Scores of a method, of independent tasks and of a constant, the difference of the first two, and the verdict."""
    method = table["method"].iloc[0]
    shown = table.set_index("task")[["score", "independent", "constant"]].rename(columns={"score": method})
    numbers = table[["verdict", "difference", "low", "high"]].itertuples(index=False)
    shown["difference (95%)"] = [_interval(*one) for one in numbers]
    return shown.assign(verdict=table["verdict"].to_list())


def _interval(word: str, middle: float, low: float, high: float) -> str:
    """A difference with its interval; what says that two models differ does not look like zero."""
    from skmtl.model_selection.verdict import count_decimals, signed, telling_end

    if math.isnan(middle):
        return MISSING
    k = count_decimals(telling_end(word, low, high))
    return f"{signed(middle, k)} [{signed(low, k)}, {signed(high, k)}]"


def _alone(table: "pd.DataFrame") -> "pd.DataFrame":
    """Scores where nothing is shared, beside those of a constant; one task is all tasks."""
    shown = table.set_index("task")[["score", "constant"]]
    return shown.iloc[:1] if len(shown) == 2 else shown


def methods_markdown() -> str:
    """The table of penalties for README.md."""
    from skmtl.penalties import PENALTIES

    rows = [f"| `{p.name}` | {p.reference} | $`{_github_tex(p.tex)}`$ |" for p in PENALTIES.values()]
    return "\n".join(["| name | reference | R(A) |", "| --- | --- | --- |", *rows])


def _github_tex(tex: str) -> str:
    # A bar would end the cell of the table, and GitHub does not draw \operatorname.
    for old, new in ((r"\|", r"\Vert "), ("|", r"\vert "), (r"\operatorname{", r"\mathrm{")):
        tex = tex.replace(old, new)
    return tex


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings of the library as sentences, each once, when the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        say(f"Note: {message}")


def make_folder(folder: Path, *, overwrite: bool = False) -> None:
    """Create the folder before the work starts, or say in one sentence why that is not possible."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file; --out names a folder, which is made for model and report.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} has files already; name another folder, or say --overwrite to replace them.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write there: {error.strerror}", str(folder)) from None


def check_new(path: Path, *, overwrite: bool) -> None:
    """A table can be written there, and one that is there is only replaced when that is asked for.

    Said before the work starts.
    """
    from skmtl.tables.files import check_ending

    check_ending(path)
    check_place(path, overwrite=overwrite)


def check_place(path: Path, *, overwrite: bool) -> None:
    """The same of a file of any kind."""
    if str(path) == "-":
        raise ValueError("--out - would be a file of this name; say --out /dev/stdout, or name a file.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is no folder; make it, or name another for {path.name}.")
    if is_plain_file(path) and not overwrite:
        raise ValueError(f"{path} is there already; name another file, or say --overwrite to replace it.")


def is_plain_file(path: Path) -> bool:
    """Whether a file would be replaced by what is written there, as a device, a pipe and an open stream are not."""
    return path.is_file() and stream_number(path) is None
