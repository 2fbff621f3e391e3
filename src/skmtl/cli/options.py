"""Options that several commands share, and how what a person types is read."""

import csv
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skmtl.cli.words import PENALTY_NAMES, SCORE_NAMES

if TYPE_CHECKING:
    from skmtl.tables import ColumnRoles, TableFormat

TABLE, METHOD, CLUSTER, WORK = "The table", "The method", "Tables larger than memory", "The work"
ENGINES = ("pandas", "dask")

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model.skops that skmtl fit wrote.")]
Table = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV file with a header, a Parquet file, or an .xlsx workbook.")
]
Targets = Annotated[
    str,
    typer.Option(
        metavar="A,B,C",
        help="The columns to predict, separated by commas; a name with a comma may stand in double quotes.",
        rich_help_panel=TABLE,
    ),
]
FeatureNames = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="A,B,C",
        help="The columns to predict from.  \\[default: all others]",
        rich_help_panel=TABLE,
    ),
]
Ignore = Annotated[str, typer.Option(metavar="A,B,C", help="Columns to leave alone.", rich_help_panel=TABLE)]
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Add columns low and high per target, between which so large a share of labels lies, such as 0.9.",
        rich_help_panel=TABLE,
    ),
]
TaskColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="For tables with one label per row: the column that says which task the row is of.",
        rich_help_panel=TABLE,
    ),
]
Classification = Annotated[
    bool | None,
    typer.Option(
        "--classification/--regression",
        help="Whether targets are classes or numbers.  \\[default: text, true/false and 0/1 are classes]",
        rich_help_panel=TABLE,
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="What separates columns, for example ';'.", rich_help_panel=TABLE),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="The decimal mark of numbers, '.' or ','.  \\[default: what numbers show]",
        rich_help_panel=TABLE,
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="The mark between thousands, such as '.', ',' or ' '.", rich_help_panel=TABLE),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How text is coded, such as latin-1.  \\[default: UTF-8, UTF-16 or Windows-1252, as the file shows]",
        rich_help_panel=TABLE,
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A column whose rows belong together, such as visits of a patient: no fold tears them apart.",
        rich_help_panel=TABLE,
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What is best: {', '.join(SCORE_NAMES)}.  \\[default: pooled_r2 for numbers; for classes accuracy, and "
        "roc_auc where one of two classes has less than a fifth of the rows]",
        rich_help_panel=METHOD,
    ),
]
Jobs = Annotated[
    int | None, typer.Option(help="Processes that work at the same time; -1 is all processors.", rich_help_panel=WORK)
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what --out holds already.", rich_help_panel=WORK)]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="linear, rbf, ...  \\[default: the best of linear, rbf, laplacian]",
        rich_help_panel=METHOD,
    ),
]
Penalty = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"One of {', '.join(PENALTY_NAMES)}.  \\[default: sparse]", rich_help_panel=METHOD
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the penalty, such as mu=0.9; matrix=FILE for fixed, groups=a,a,b for groups.",
        rich_help_panel=METHOD,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        help="Strength of the regularization. With --penalty and --alpha nothing is searched for.",
        rich_help_panel=METHOD,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(help="Inverse width of the kernel, which is rbf then by default.", rich_help_panel=METHOD),
]
Common = Annotated[
    float | None, typer.Option(help="Weight of a component common to all tasks.", rich_help_panel=METHOD)
]
LossName = Annotated[
    str,
    typer.Option(
        "--loss",
        metavar="NAME",
        help="square, huber, quantile, poisson, logistic, softmax, hinge, ...",
        rich_help_panel=METHOD,
    ),
]
Rule = Annotated[
    str,
    typer.Option(
        metavar="best|1se",
        help="Take the best score, or the sparsest graph within one standard error of it.",
        rich_help_panel=METHOD,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="pandas|dask",
        help="dask reads CSV, Parquet or a folder of Parquet files block by block.",
        rich_help_panel=CLUSTER,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler, such as tcp://host:8786.  \\[default: the threads of this machine]",
        rich_help_panel=CLUSTER,
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Landmarks of a kernel that is not linear.  \\[default: none, and 1000 where an exact kernel would take "
        "too long or not fit in memory]",
        rich_help_panel=METHOD,
    ),
]


def names_in(text: str) -> list[str]:
    """Names separated by commas; in double quotes they may hold some."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def make_format(
    delimiter: str | None, decimal: str | None = None, thousands: str | None = None, encoding: str | None = None
) -> "TableFormat":
    """How a file is written; what is None is recognized."""
    from skmtl.tables import TableFormat

    if delimiter is not None:
        delimiter = delimiter.replace("\\t", "\t")
    return TableFormat(delimiter, decimal, thousands, encoding)


def make_roles(
    targets: str,
    features: str,
    ignore: str,
    task_column: str | None,
    classification: bool | None,
    groups: str | None = None,
) -> "ColumnRoles":
    """What the columns are for."""
    from skmtl.tables import ColumnRoles

    if not names_in(targets):
        raise ValueError("--targets names no column; name those to predict, separated by commas.")
    columns = {"features": names_in(features), "ignore": names_in(ignore)}
    return ColumnRoles(
        names_in(targets), **columns, task_column=task_column, classification=classification, groups=groups
    )


def make_settings(pairs: list[str] | None) -> dict[str, Any]:
    """Parameters of a penalty from ``key=value``."""
    settings: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"--set {pair!r} is not of the form key=value; write for example --set mu=0.9.")
        settings[key.strip()] = _value(value.strip())
    return settings


def _value(text: str) -> int | float | str | list[str]:
    if "," in text:
        return names_in(text)
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def load_file(path: Path) -> Any:
    """A model from a file that exists."""
    if not path.is_file():
        what = "is a folder; name the model.skops in it" if path.is_dir() else "does not exist; skmtl fit writes one"
        raise ValueError(f"{path} {what}.")
    from skmtl import load_model

    return load_model(path)


def check_engine(engine: str, scheduler: str | None) -> bool:
    """Whether the engine is Dask."""
    if engine not in ENGINES:
        raise ValueError(f"--engine {engine!r} is not known; choose one of {', '.join(ENGINES)}.")
    if scheduler is not None and engine != "dask":
        raise ValueError("--scheduler needs --engine dask.")
    return engine == "dask"


@contextmanager
def connected(scheduler: str | None) -> Iterator[None]:
    """The cluster at an address, or the threads of this machine."""
    if scheduler is None:
        yield
        return
    from skmtl._validation import import_extra

    distributed = import_extra("distributed", "dask")
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {scheduler!r} ({error}); check the address.") from error
    lost = (CancelledError, TimeoutError, distributed.KilledWorker, distributed.comm.CommClosedError)
    with client:
        try:
            yield
        except lost as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"the Dask cluster at {scheduler!r} was lost ({what}); start it and try again.") from error
