"""Workbooks: the first sheet with cells, unless one of them lies so far off that the sheet fits in no memory."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from skmtl._validation import import_extra
from skmtl.tables.column_names import check_unique_names, plain_name
from skmtl.tables.csv_files import AS_WRITTEN
from skmtl.tables.unreadable import workbook_said

WORKBOOKS = (".xlsx", ".xlsm")
# A cell, empty or not, takes about a hundred bytes while pandas reads a sheet: these are 2 GB.
MOST_CELLS = 20_000_000
# Rows of a sheet of Excel. A damaged one may number its rows beyond, and each that is left out takes time.
MOST_ROWS = 1_048_576


def read_workbook(path: Path, text: Collection[str], kept: Collection[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """The first sheet of a workbook, and which one that is where there are several.

    Of columns that are ``kept`` no cell is missing but the empty one.
    """
    import_extra("openpyxl", "excel")
    with workbook_said(path):
        book = pd.ExcelFile(path, engine="openpyxl")
    with book:
        with workbook_said(path):
            # Not its sheet_names, among which are charts.
            sheets = book.book.worksheets
            if not sheets:
                raise ValueError("it has no sheet with cells")
            name, n_rows, n_columns = str(sheets[0].title), *_extent(sheets[0])
        if _is_too_large(n_rows, n_columns):
            raise ValueError(
                f"{path} has a sheet of {n_rows:,} rows and {n_columns:,} columns, and {MOST_ROWS:,} rows and "
                f"{MOST_CELLS:,} cells are possible; delete what stands far from the table, or save it as CSV or "
                "Parquet."
            )
        with workbook_said(path):
            first = pd.read_excel(book, sheet_name=name, header=None, nrows=1)
            header = [name for column in first for name in first[column].dropna()]
            kinds: Any = {name: str for name in header if plain_name(name) in text}
            frame = pd.read_excel(book, sheet_name=name, dtype=kinds)
            names: Any = [name for name in frame.columns if plain_name(name) in kept]
            if names:
                frame[names] = pd.read_excel(book, sheet_name=name, usecols=names, **AS_WRITTEN)
    # Looked at before pandas has renamed the second of two columns with one name.
    check_unique_names(path, [plain_name(name) for name in header])
    return frame, [f"The first of {len(sheets)} sheets was read, {name!r}."] if len(sheets) > 1 else []


def _extent(sheet: Any) -> tuple[int, int]:
    """Rows and columns of a sheet up to its last cells, whatever it says of them, or so many that they are too many."""
    sheet.reset_dimensions()
    n_rows = n_columns = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        width = max((place for place, value in enumerate(row, start=1) if value is not None), default=0)
        n_rows, n_columns = (number if width or number > MOST_ROWS else n_rows), max(n_columns, width)
        if _is_too_large(n_rows, n_columns):
            break
    return n_rows, n_columns


def _is_too_large(n_rows: int, n_columns: int) -> bool:
    return n_rows > MOST_ROWS or n_rows * n_columns > MOST_CELLS
