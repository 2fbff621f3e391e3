"""Sheets with a cell far from the table: refused by their extent, before they fill the memory."""

import re
import tracemalloc
import zipfile

import pandas as pd
import pytest

from skmtl.cli import in_one_line
from skmtl.tables import read_table, workbooks

openpyxl = pytest.importorskip("openpyxl")
SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def frame():
    return pd.DataFrame({"x": range(12), "y": range(12)})


def write(frame, path, *far, said=None, more=b""):
    """A table, cells far from it, more rows, and what the sheet says of its extent where that is not the truth."""
    frame.to_excel(path, index=False)
    book = openpyxl.load_workbook(path)
    for cell in far:
        book.worksheets[0][cell] = 1
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if said is not None:
        parts[SHEET] = re.sub(rb"<dimension [^>]*/>", said, parts[SHEET])
    parts[SHEET] = parts[SHEET].replace(b"</sheetData>", more + b"</sheetData>")
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


SMALL = b'<dimension ref="A1:B13"/>'


@pytest.mark.parametrize("said", [None, b"", SMALL], ids=["said", "not said", "not true"])
@pytest.mark.parametrize("far", [("ALL30000",), ("A30000", "ALL1")])
def test_a_sheet_that_fits_in_no_memory_is_refused_before_it_is_read(far, said, frame, tmp_path):
    write(frame, tmp_path / "t.xlsx", *far, said=said)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"t.xlsx has a sheet of 30,000 rows and 1,000 columns, .* save it as CSV"):
        read_table(tmp_path / "t.xlsx")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 30_000 * 1000


def test_rows_that_are_all_too_long_are_not_counted_to_the_last(frame, tmp_path):
    """2,000 rows that end in the last column a sheet has: counting all of them would take a minute for each 100,000."""
    write(frame, tmp_path / "t.xlsx", *(f"XFD{k}" for k in range(1, 2001)), said=SMALL)
    with pytest.raises(ValueError, match=r"a sheet of 1,221 rows and 16,384 columns"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("cell", [b'<c r="A1000000000000"><v>1</v></c>', b""])
def test_rows_that_no_sheet_has_are_not_counted(cell, frame, tmp_path, monkeypatch):
    """A row of this number would ask for all that are left out before it, one after the other."""
    monkeypatch.setattr(workbooks, "MOST_ROWS", 1000)
    write(frame, tmp_path / "t.xlsx", more=b'<row r="1000000000000">' + cell + b"</row>")
    with pytest.raises(ValueError, match=r"a sheet of 1,001 rows and 2 columns, and 1,000 rows .* are possible"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("said", [b"", b'<dimension ref="A1:XFD1048576"/>'])
def test_a_sheet_that_says_too_much_of_its_extent_is_read(said, frame, tmp_path):
    write(frame, tmp_path / "t.xlsx", said=said)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.xlsx"), frame)


def test_memory_that_is_too_small_is_a_sentence():
    assert in_one_line(MemoryError()).startswith("there is not enough memory; take fewer rows")
    assert in_one_line(MemoryError("a kernel needs more.")) == "a kernel needs more."
