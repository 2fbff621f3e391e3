"""Options that several commands share, and how what a person types is read."""

import csv
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skmtl.cli.words import PENALTY_NAMES, SCORE_NAMES, TOLD

if TYPE_CHECKING:
    from skmtl.tables import ColumnRoles, TableFormat

TABLE, METHOD, CLUSTER, WORK = "The table", "The method", "Tables larger than memory", "The work"
ENGINES = ("pandas", "dask")
TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx")

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model.skops that skmtl fit wrote.")]
Table = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV file with a header, a Parquet file, or an .xlsx workbook.")
]


def _option(panel: str) -> Callable[..., Any]:
    """Makes options of one panel of the help, from what they say and the names that they do not have by themselves."""

    def make(says: str, *names: str, metavar: str | None = None, **rest: Any) -> Any:
        return typer.Option(*names, metavar=metavar, help=says, rich_help_panel=panel, **rest)

    return make


_table, _method, _cluster, _work = (_option(panel) for panel in (TABLE, METHOD, CLUSTER, WORK))


def number(text: str) -> float:
    """A number as a person types it."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number, such as 0.5") from None


def whole_number(text: str) -> int:
    """A whole number as a person types it."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no whole number, such as 2") from None


# The table
Targets = Annotated[
    str,
    _table(
        "The columns to predict, separated by commas; a name with a comma may stand in double quotes.", metavar="A,B,C"
    ),
]
FeatureNames = Annotated[
    str, _table("The columns to predict from.  \\[default: all others]", "--features", metavar="A,B,C")
]
Ignore = Annotated[str, _table("Columns to leave alone.", metavar="A,B,C")]
Interval = Annotated[
    float | None,
    _table(
        "Add columns low and high per target, between which so large a share of labels lies, such as 0.9.",
        parser=number,
        metavar="SHARE",
    ),
]
TaskColumn = Annotated[
    str | None,
    _table("For tables with one label per row: the column that says which task the row is of.", metavar="NAME"),
]
Classification = Annotated[
    bool | None,
    _table(
        "Whether targets are classes or numbers.  \\[default: text, true/false and 0/1 are classes]",
        "--classification/--regression",
        show_default=False,
    ),
]
Delimiter = Annotated[str | None, _table("What separates columns, for example ';'.", metavar="MARK")]
Decimal = Annotated[
    str | None, _table("The decimal mark of numbers, '.' or ','.  \\[default: what numbers show]", metavar="MARK")
]
Thousands = Annotated[str | None, _table("The mark between thousands, such as '.', ',' or ' '.", metavar="MARK")]
Encoding = Annotated[
    str | None,
    _table(
        "How text is coded, such as latin-1.  \\[default: UTF-8, UTF-16 or Windows-1252, as the file shows]",
        metavar="NAME",
    ),
]
Groups = Annotated[
    str | None,
    _table(
        "A column whose rows belong together, such as visits of a patient: no fold tears them apart.", metavar="NAME"
    ),
]

# The method
Scoring = Annotated[
    str | None,
    _method(
        f"What is best: {', '.join(SCORE_NAMES)}.  \\[default: pooled_r2 for numbers; for classes accuracy, and "
        "roc_auc where one of two classes has less than a fifth of the rows]",
        metavar="NAME",
    ),
]
KernelName = Annotated[
    str | None,
    _method("linear, rbf, ...  \\[default: the best of linear, rbf, laplacian]", "--kernel", metavar="NAME"),
]
Penalty = Annotated[str | None, _method(f"One of {', '.join(PENALTY_NAMES)}.  \\[default: sparse]", metavar="NAME")]
Settings = Annotated[
    list[str] | None,
    _method(
        "A parameter of the penalty, such as mu=0.9; matrix=FILE for fixed, groups=a,a,b for groups.",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Alpha = Annotated[
    float | None,
    _method(
        "Strength of the regularization. With --penalty and --alpha nothing is searched for.",
        metavar="NUMBER",
        parser=number,
    ),
]
Gamma = Annotated[
    float | None, _method("Inverse width of the kernel, which is rbf then by default.", metavar="NUMBER", parser=number)
]
Common = Annotated[float | None, _method("Weight of a component common to all tasks.", metavar="NUMBER", parser=number)]
LossName = Annotated[
    str, _method("square, huber, quantile, poisson, logistic, softmax, hinge, ...", "--loss", metavar="NAME")
]
Rule = Annotated[
    str,
    _method("Take the best score, or the sparsest graph within one standard error of it.", metavar="best|1se"),
]
Components = Annotated[
    int | None,
    _method(
        "Landmarks of a kernel that is not linear.  \\[default: none, and 1000 where an exact kernel would take "
        "too long or not fit in memory]",
        metavar="COUNT",
        parser=whole_number,
    ),
]

# The work, and tables larger than memory
Jobs = Annotated[
    int | None,
    _work("Processes that work at the same time; -1 is all processors.", metavar="COUNT", parser=whole_number),
]
Overwrite = Annotated[bool, _work("Replace what --out holds already.", "--overwrite")]
Engine = Annotated[
    str, _cluster("dask reads CSV, Parquet or a folder of Parquet files block by block.", metavar="pandas|dask")
]
Scheduler = Annotated[
    str | None,
    _cluster("A Dask scheduler, such as tcp://host:8786.  \\[default: the threads of this machine]", metavar="ADDRESS"),
]


def names_in(text: str) -> list[str]:
    """Names separated by commas; in double quotes they may hold some."""
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise ValueError(f"{text!r} is no list of names; write them in one line, with commas between them.") from None
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
        is_file = key.strip() == TOLD["fixed"][0]
        settings[key.strip()] = value.strip() if is_file else _value(value.strip())
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


@contextmanager
def model_of(path: Path) -> Iterator[Any]:
    """The model of a file, of which parts that somebody changed may fail only where they are used."""
    model = load_file(path)
    try:
        yield model
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        what = shorten(f"{type(error).__name__}: {error}", 200, placeholder=" ...")
        raise ValueError(f"{path} is damaged ({what}); write it again with skmtl fit.") from error


def load_file(path: Path) -> Any:
    """A model from a file that exists."""
    if not path.is_file():
        what = "is a folder; name the model.skops in it" if path.is_dir() else "does not exist; skmtl fit writes one"
        raise ValueError(f"{path} {what}.")
    if path.suffix.lower() in TABLE_ENDINGS:
        raise ValueError(f"{path} is no model but a table; name the model.skops of skmtl fit first, then the table.")
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
