"""Tables that cannot be read: one sentence, as a ValueError, that names the file and what is wrong with it."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor
from skmtl.tables import (
    ColumnRoles,
    TableFormat,
    make_model,
    make_problem,
    predict_blocks,
    predict_frame,
    read_blocks,
    read_table,
    sample_blocks,
)

SHEET = "xl/worksheets/sheet1.xml"
DAMAGED_BOOK = "is no workbook, or it is damaged"
DAMAGED_PACK = "is damaged, or not what its ending says"


@pytest.fixture
def frame(rng):
    X = rng.standard_normal((60, 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "u": X[:, 0] + 1.0, "v": X.sum(axis=1)})


@pytest.fixture
def text(frame):
    return frame.to_csv(index=False).encode()


def fitted(frame):
    problem = make_problem(frame, ColumnRoles(["u", "v"]))
    return make_model(problem.features, MultiTaskRegressor(alpha=0.1)).fit(problem.X, problem.Y)


def refusal(read, path):
    """What is said of a file: in one line, with its name."""
    with pytest.raises(ValueError, match=re.escape(path.name)) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def flipped(data, place):
    return data[:place] + bytes(byte ^ 255 for byte in data[place : place + 8]) + data[place + 8 :]


# Workbooks ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def book(frame):
    pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    frame.to_excel(stream, index=False)
    return stream.getvalue()


def edited(book, name, edit):
    """A workbook with one of its parts changed, which comes first, or without it where the edit is None."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        if edit is not None:
            new.writestr(name, edit(old.read(name)))
        for part in old.namelist():
            if part != name:
                new.writestr(part, old.read(part))
    return stream.getvalue()


def sheet_first(book):
    return edited(book, SHEET, lambda xml: xml)


def with_cell(value):
    return lambda xml: re.sub(rb"<v>-?[0-9.]+</v>", b"<v>" + value + b"</v>", xml, count=1)


def encrypted(archive):
    """An archive whose first member says that it is encrypted."""
    data = bytearray(archive)
    data[6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def packed_unknown(archive):
    """An archive whose first member says that it is packed in a way that does not exist."""
    data = bytearray(archive)
    data[8] = data[data.find(b"PK\x01\x02") + 10] = 99
    return bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda book: encrypted(sheet_first(book)),
        lambda book: packed_unknown(sheet_first(book)),
        lambda book: flipped(sheet_first(book), 80),
        lambda book: edited(book, SHEET, None),
        lambda book: edited(book, SHEET, lambda xml: b"<a><b"),
        lambda book: edited(book, "xl/workbook.xml", lambda xml: re.sub(rb"<sheets>.*</sheets>", b"<sheets/>", xml)),
        lambda book: edited(book, "[Content_Types].xml", lambda xml: b"<a/>"),
        lambda book: edited(book, SHEET, with_cell(b"1e999")),
        lambda book: edited(book, SHEET, with_cell(b"9" * 400)),
    ],
    ids=["encrypted", "method", "flipped", "no sheet", "xml", "no sheets", "no types", "infinite", "many digits"],
)
def test_a_damaged_workbook_is_said_to_be(damage, book, tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(damage(book))
    assert DAMAGED_BOOK in refusal(read_table, path)


def with_wrong_bytes(content, rng):
    """The same with one, three or ten bytes that are drawn at random."""
    data = bytearray(content)
    for place in rng.integers(0, len(data), size=int(rng.choice([1, 3, 10]))):
        data[place] = int(rng.integers(0, 256))
    return data


def test_workbooks_damaged_at_random_are_read_or_refused(book, tmp_path):
    rng = np.random.default_rng(0)
    path, refused = tmp_path / "t.xlsx", []
    for _ in range(100):
        path.write_bytes(with_wrong_bytes(book, rng))
        try:
            read_table(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(path.name in said for said in refused)


def test_a_workbook_of_charts_has_no_table_and_one_behind_a_chart_is_read(frame, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.create_chartsheet("chart", 0).add_chart(openpyxl.chart.BarChart())
    for row in [list(frame), *frame.to_numpy().tolist()]:
        workbook["Sheet"].append(row)
    workbook.save(tmp_path / "t.xlsx")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.xlsx"), frame)
    workbook.remove(workbook["Sheet"])
    workbook.save(tmp_path / "t.xlsx")
    assert "no sheet with cells" in refusal(read_table, tmp_path / "t.xlsx")


# Compressed CSV -------------------------------------------------------------------------------------------------------


def zipped(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", data)
    return stream.getvalue()


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


def read_in_blocks(path):
    pytest.importorskip("dask.dataframe")
    sample_blocks(path, ColumnRoles(["b", "a"]))


@pytest.mark.parametrize("read", [read_table, read_in_blocks])
@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage", "cut late"])
@pytest.mark.parametrize("ending", PACK)
def test_a_damaged_compressed_table_is_said_to_be(ending, damage, read, text, tmp_path, monkeypatch):
    path = tmp_path / f"t.csv{ending}"
    if damage == "cut late":
        # More than is looked at to find out what the columns hold.
        monkeypatch.setattr("skmtl.tables.blocks.BYTES_FOR_TYPES", 10_000)
        text = text + b"\n".join(text.splitlines()[1:] * 300)
    packed = PACK[ending](text)
    changed = {"cut": packed[:200], "flipped": flipped(packed, 60), "garbage": b"hello", "cut late": packed[:-60]}
    path.write_bytes(changed[damage])
    assert DAMAGED_PACK in refusal(read, path)


@pytest.mark.parametrize("damage", [encrypted, packed_unknown])
def test_an_archive_that_cannot_be_opened_is_said_to_be(damage, text, tmp_path):
    path = tmp_path / "t.csv.zip"
    path.write_bytes(damage(zipped(text)))
    assert DAMAGED_PACK in refusal(read_table, path)


@pytest.mark.parametrize("read", [read_table, read_in_blocks])
@pytest.mark.parametrize("members", [[], ["1.csv", "2.csv"]])
def test_an_archive_holds_one_table(members, read, text, tmp_path):
    path = tmp_path / "t.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, text)
    assert "must hold one file" in refusal(read, path)


def test_what_unpacks_a_table_may_not_be_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "t.csv.zst"
    path.write_bytes(b"(\xb5/\xfd")
    assert "needs zstandard, which is not installed" in refusal(read_table, path)


# Blocks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.csv", b"", "is empty; it needs a header"),
        ("t.csv", b"a,b\n1,\xff\xfe2\n", "name its encoding"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "line 3 has 4 fields instead of 2"),
        ("t.csv", b'a,b\n1,2\n1,"2\n', "check its quotes and its delimiter"),
        ("t.csv", b"a,a\n1,2\n", "two columns called 'a'"),
        ("t.csv", b"PK\x03\x04rest", "a workbook or an archive by its content"),
        ("t.xlsx", b"PK\x03\x04rest", "is read whole; save it as CSV or Parquet"),
        ("t.parquet", b"PAR1 and more", "is not a Parquet file, or it is damaged"),
    ],
)
def test_blocks_that_cannot_be_read_get_the_sentences_of_tables(name, content, part, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert part in refusal(read_in_blocks, tmp_path / name)


def test_a_folder_without_parquet_is_no_table_in_blocks(tmp_path):
    pytest.importorskip("dask.dataframe")
    assert "is not a Parquet file" in refusal(read_blocks, tmp_path)


def test_parquet_in_blocks_damaged_at_random_is_read_or_refused(frame, tmp_path):
    pytest.importorskip("dask.dataframe")
    model = MultiTaskRegressor(alpha=0.1).fit(frame[["a", "b"]], frame[["u", "v"]])
    path = tmp_path / "t.parquet"
    frame[["a", "b"]].to_parquet(path)
    content, rng, refused = path.read_bytes(), np.random.default_rng(1), []
    for k in range(100):
        path.write_bytes(with_wrong_bytes(content, rng))
        try:
            predict_blocks(model, path, tmp_path / f"parts{k}")
        except ValueError as error:
            refused.append(str(error))
    # Numbers that are changed into very large ones are a matter of the estimator.
    assert sum(path.name in said or said.startswith("X reaches") for said in refused) == len(refused) > 20


def test_a_column_that_is_text_further_down_is_named(frame, text, tmp_path, monkeypatch):
    pytest.importorskip("dask.dataframe")
    monkeypatch.setattr("skmtl.tables.blocks.BYTES_FOR_TYPES", 1000)
    model = MultiTaskRegressor(alpha=0.1).fit(frame[["a", "b"]], frame[["u", "v"]])
    (tmp_path / "t.csv").write_bytes(text + b"1,many words,3,4\n")

    def predict(path):
        predict_blocks(model, path, tmp_path / "parts")

    assert "column 'b' holds str where its first rows hold float64" in refusal(predict, tmp_path / "t.csv")
    assert not (tmp_path / "parts").exists()


def test_blocks_without_rows_have_no_predictions(frame, tmp_path):
    pytest.importorskip("dask.dataframe")
    table = frame.assign(site=np.resize(["A", "B"], len(frame)))
    model = fitted(table)
    (tmp_path / "t.csv").write_text("a,b,site\n")
    predict_blocks(model, tmp_path / "t.csv", tmp_path / "none")
    assert pd.read_csv(tmp_path / "none" / "part-0.csv").shape == (0, 2)
    (tmp_path / "folder").mkdir()
    table[:0].to_parquet(tmp_path / "folder" / "0.parquet")
    table[:5].to_parquet(tmp_path / "folder" / "1.parquet")
    predict_blocks(model, tmp_path / "folder", tmp_path / "some")
    predicted = pd.read_parquet(tmp_path / "some").reset_index(drop=True)
    pd.testing.assert_frame_equal(predicted, predict_frame(model, table[:5]))


# Columns --------------------------------------------------------------------------------------------------------------


def test_a_categorical_column_of_one_text_is_a_category_as_text_is(frame, tmp_path):
    pytest.importorskip("pyarrow")
    results = []
    for kind in ("category", str):
        path = tmp_path / f"{kind}.parquet"
        frame.assign(site=pd.Series("A", index=frame.index, dtype=kind)).to_parquet(path)
        results.append(predict_frame(fitted(read_table(path)), read_table(path)))
    pd.testing.assert_frame_equal(*results)


def test_two_columns_of_a_workbook_with_one_name_are_refused(tmp_path):
    pytest.importorskip("openpyxl")
    for header in (["a", "b", "a"], [1, 1.0, "x"]):
        pd.DataFrame([header, [1, 2, 3]]).to_excel(tmp_path / "t.xlsx", index=False, header=False)
        assert f"two columns called '{header[0]}'" in refusal(read_table, tmp_path / "t.xlsx")


def test_bytes_that_are_no_text_are_said_with_their_column(frame, tmp_path):
    pytest.importorskip("pyarrow")
    frame.assign(photo=b"\xff\x00").to_parquet(tmp_path / "t.parquet")
    for read in (read_table, read_in_blocks):
        assert "column 'photo' holds bytes that are no text" in refusal(read, tmp_path / "t.parquet")
    frame.assign(colour=b"red").to_parquet(tmp_path / "t.parquet")
    assert len(read_table(tmp_path / "t.parquet")) == len(frame)


# Text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="Windows has no device and no pipe in a folder")
@pytest.mark.parametrize("read", [read_table, read_blocks])
def test_a_device_or_a_pipe_is_no_table(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", type(tmp_path)("/dev/zero")):
        assert "is a device or a pipe" in refusal(read, path)


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "zlib", "undefined", "utf\0"])
def test_an_encoding_must_be_one_of_text(encoding):
    with pytest.raises(ValueError, match="is not known; name one such as utf-8"):
        TableFormat(encoding=encoding).check()


@pytest.mark.parametrize("delimiter", [";;", r"\s+", "\u00e9", "\n", "\r", "\0", '"'])
def test_a_delimiter_is_one_character(delimiter):
    with pytest.raises(ValueError, match="is no delimiter; choose one character"):
        TableFormat(delimiter=delimiter).check()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", ":", "\x01"])
def test_a_delimiter_may_be_any_other_character(delimiter, tmp_path):
    (tmp_path / "t.csv").write_text(f"a{delimiter}b\n1{delimiter}2\n")
    assert read_table(tmp_path / "t.csv", delimiter=delimiter).to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_long_text_in_a_cell_is_read(ending, tmp_path):
    (tmp_path / "t.csv").write_bytes(f"a,b{ending}1,{'x' * 300_000}{ending}".encode())
    assert read_table(tmp_path / "t.csv")["b"].str.len().tolist() == [300_000]


def test_a_long_name_in_a_header_is_said_to_be(tmp_path, usual_csv):
    (tmp_path / "t.csv").write_text(f"a,{'x' * 200_000}\n1,2\n")
    assert "t.csv has a header with a name of 200,002 letters" in refusal(read_table, tmp_path / "t.csv")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_header_of_many_names_is_longer_than_a_name_may_be(mark, tmp_path, usual_csv):
    """What does not separate its columns leaves it in one piece."""
    names = [f"{k:040d} genes" for k in range(4000)]
    names[2000] += ", m2" if mark == ";" else ""
    (tmp_path / "t.csv").write_text(mark.join(names) + "\n" + mark.join("7" * 4000) + "\n")
    assert read_table(tmp_path / "t.csv").columns.tolist() == names


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_utf_32_is_known_by_its_mark(encoding, tmp_path):
    mark = "" if encoding == "utf-32" else "\ufeff"
    (tmp_path / "t.csv").write_bytes(f"{mark}a,b\n1,caf\u00e9\n".encode(encoding))
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"a": [1], "b": ["caf\u00e9"]}


@pytest.mark.parametrize("above", ["Results of 2021\n", "# a remark\n", "\n\nResults\n\n"])
def test_a_line_above_the_header_is_said(above, tmp_path):
    (tmp_path / "table.csv").write_text(f"{above}a,b,y\n" + "1,2,3\n" * 20)
    with pytest.raises(ValueError, match=r"fit its header \(they have more fields; is there a line above the header"):
        read_table(tmp_path / "table.csv")
