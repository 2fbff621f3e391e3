"""What the readers of other libraries raise at a damaged file, as one sentence that names the file."""

import csv
import importlib
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pandas as pd

Errors = tuple[type[Exception], ...]

COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".tar")
# Ends that are missing, bytes that are wrong, and archives that are encrypted or packed in a way that Python does not
# know (RuntimeError, both); pandas asserts that what is in an archive of tar is a file.
UNPACKING: Errors = (
    AssertionError,
    EOFError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
# Readers of workbooks and of Parquet trust what a file says of itself. Beside all of the above: parts that are missing
# (LookupError) or something else (AttributeError, TypeError), XML that is none (SyntaxError), numbers without end
# (ArithmeticError).
PARSING: Errors = (*UNPACKING, ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError)
# Dask puts words of its own before the message of a reader.
ORIGINAL = "Original Message: "
MISMATCH = re.compile(r"Mismatched dtypes found.*Expected +\|\n[+-]+\n\| (.+?) +\| (\S+) +\| (\S+) +\|", re.DOTALL)


@contextmanager
def damage_said(path: Path, errors: Errors, what: str, advice: str) -> Iterator[None]:
    """Say what a file is in place of these errors, and of errors of reading that are not the operating system's."""
    damaged: Errors = (*errors, OSError)
    try:
        yield
    except damaged as error:
        # Errors of the operating system have a number, those of readers have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} {what} ({first_line(error)}); {advice}.") from error


def workbook_said(path: Path) -> AbstractContextManager[None]:
    """Say in one sentence that a file is no workbook."""
    return damage_said(path, PARSING, "is no workbook, or it is damaged", "save it as CSV")


def parquet_said(path: Path, errors: Errors = PARSING) -> AbstractContextManager[None]:
    """Say in one sentence that a file or folder is no Parquet."""
    return damage_said(path, errors, "is not a Parquet file, or it is damaged", "write it again")


@contextmanager
def csv_said(path: Path) -> Iterator[None]:
    """Say in one sentence why CSV, compressed or not, cannot be read by pandas or by Dask."""
    unpacking = _unpacking_errors(path)
    try:
        with damage_said(path, unpacking, "is damaged, or not what its ending says", "pack it again, or unpack it"):
            yield
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty; it needs a header and rows below it.") from error
    except UnicodeError as error:
        raise ValueError(f"{path} cannot be read ({first_line(error)}); name its encoding (--encoding).") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        raise ValueError(
            f"{path} has rows that do not fit its header ({_too_long(error)}); check its quotes and its delimiter."
        ) from error
    except ValueError as error:
        said = _said_otherwise(path, error)
        if said is None:
            raise
        raise ValueError(said) from error


def first_line(error: Exception) -> str:
    """What an error says, without what a library says around it."""
    text = str(error).split(ORIGINAL)[-1].strip()
    return (text or type(error).__name__).splitlines()[0].rstrip(".")


def _unpacking_errors(path: Path) -> Errors:
    """What unpacking a file of this name raises where it is damaged; nothing where it is not packed."""
    ending = path.suffix.lower()
    if ending != ".zst":
        return UNPACKING if ending in COMPRESSED else ()
    try:
        return (*UNPACKING, importlib.import_module("zstandard").ZstdError)
    except ImportError as error:
        raise ValueError(f"{path} needs zstandard, which is not installed; install it, or unpack the file.") from error


def _too_long(error: Exception) -> str:
    """Which row has too many fields, where pandas says so; of all rows it says something else."""
    if "Length of header" in str(error):
        return "they have more fields; is there a line above the header?"
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    return first_line(error) if found is None else "line {1} has {2} fields instead of {0}".format(*found.groups())


def _said_otherwise(path: Path, error: ValueError) -> str | None:
    """The sentence for what pandas and Dask say of a file without its name; None for errors of others."""
    found = MISMATCH.search(str(error))
    if found is not None:
        name, later, first = found.groups()
        return (
            f"{path}: column {name!r} holds {later} where its first rows hold {first}; correct it, or read the table "
            "with --engine pandas."
        )
    if re.search("files found in (ZIP|TAR)", str(error)):
        return f"{path} must hold one file ({first_line(error)}); pack the table alone."
    if ORIGINAL in str(error):
        return f"{path} cannot be read ({first_line(error)}); check its quotes and its delimiter."
    return None
