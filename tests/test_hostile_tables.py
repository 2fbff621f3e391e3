"""Tables, ARFF files, summaries and images that are damaged or absurd: our own errors in one line, or an answer."""

import json
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor
from skmtl.datasets import read_arff
from skmtl.report import render_again, summarize
from skmtl.tables import ColumnRoles, read_problem, read_table

ROLES = ColumnRoles(["y1", "y2"], [], [], None, None, None)
PIECES = [
    b"{",
    b"}",
    b"'",
    b'"',
    b",",
    b"\n",
    b"%",
    b"\x00",
    b"@data",
    b"1e999",
    b"9" * 400,
    b"\\",
    b"\r",
    b"nan",
    b"'" * 99,
]


def make_frame(rng, **columns):
    X = rng.standard_normal((30, 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y1": X[:, 0] + 1.0, "y2": X.sum(axis=1), **columns})


def damage(rng, data):
    """A few changes: bytes replaced, removed, doubled, or something inserted."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(data) + 1))
        kind = int(rng.integers(0, 4))
        if kind == 0 and at < len(data):
            data[at] = int(rng.integers(0, 256))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 20))]
        elif kind == 2:
            data[at:at] = data[at : at + int(rng.integers(1, 20))]
        else:
            data[at:at] = PIECES[int(rng.integers(0, len(PIECES)))]
    return bytes(data)


def survives(read, path, versions):
    """Read every version: nothing but our errors, each in one line that says where. Counts good and bad ones."""
    said, good = [], 0
    for data in versions:
        path.write_bytes(data)
        try:
            read(path)
            good += 1
        except (ValueError, OSError) as error:
            said.append(str(error))
    assert all((path.name in one or one.startswith("target 'y")) and "\n" not in one for one in said)
    return good, len(said)


@pytest.mark.parametrize("role", ["a", "y1"])
@pytest.mark.parametrize(
    ("cell", "match"), [([1.0, 2.0], "holds a ndarray"), ({"x": 1}, "holds a dict"), ([[1], [2]], "holds a ndarray")]
)
def test_cells_of_parquet_that_hold_several_values(role, cell, match, tmp_path, rng):
    pytest.importorskip("pyarrow")
    make_frame(rng, **{role: [cell] * 30}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=match) as caught:
        read_problem(tmp_path / "table.parquet", ROLES)
    assert repr(role) in str(caught.value)


@pytest.mark.parametrize("role", ["a", "y1"])
@pytest.mark.parametrize("number", ["1" + "0" * 400, "-" + "9" * 310])
def test_numbers_larger_than_a_computer_has(role, number, tmp_path, rng):
    make_frame(rng, **{role: number}).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match=f"'{role}' holds a number of [34]"):
        read_problem(tmp_path / "table.csv", ROLES)


def test_large_whole_numbers_that_a_computer_has(tmp_path, rng):
    make_frame(rng, a=[k * 2**70 for k in range(30)]).to_csv(tmp_path / "table.csv", index=False)
    assert len(read_table(tmp_path / "table.csv")) == 30


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tables_damaged_at_random(ending, tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    path = tmp_path / f"table{ending}"
    frame = make_frame(rng, c=["x", "y, z"] * 15).round(3)
    frame.to_parquet(path) if ending == ".parquet" else frame.to_csv(path, index=False)
    content = path.read_bytes()
    good, bad = survives(lambda p: read_problem(p, ROLES), path, [damage(rng, content) for _ in range(60)])
    assert bad > 5
    assert good + bad == 60


DENSE = b"""@relation 'r: -C 1'
@attribute a real
@attribute 'b c' {0,1}
@attribute d {red,'blue sky'}
@data
1.5,0,red
?,1,'blue sky'
"""
SPARSE = b"@relation r\n@attribute a real\n@attribute b {0,1}\n@attribute y numeric\n@data\n{0 1.5,2 3}\n{1 1}\n{}\n"


@pytest.mark.parametrize("content", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_arff_damaged_at_random(content, tmp_path):
    rng = np.random.default_rng(4)

    def read(path):
        table = read_arff(path)
        table.frame(range(len(table.columns)))

    good, bad = survives(read, tmp_path / "file.arff", [content, *(damage(rng, content) for _ in range(300))])
    assert good > 10
    assert bad > 100


@pytest.mark.parametrize("index", ["99999999999999999999", "-5", "3", "1e3"])
def test_sparse_rows_of_columns_that_are_not_there(index, tmp_path):
    (tmp_path / "file.arff").write_text(f"@relation r\n@attribute a real\n@data\n{{{index} 1}}\n")
    with pytest.raises(ValueError, match=r"file\.arff"):
        read_arff(tmp_path / "file.arff")


@pytest.mark.parametrize(
    ("columns", "row", "match"),
    [
        ("real real real", "'1',2,3,4", "more than 3 values"),
        ("real real real", "{0 1 5}", "more than 2 values"),
        ("real real", "{0 1,}", "nothing beside a comma"),
        ("real {0,1}", "1.5,2", r"column c1 holds 2, not among its values \('0', '1'\)"),
        ("real {0,1}", "{1 0.5}", r"column c1 holds 0.5, not among its values"),
        ("{%s,b}" % ("v" * 200_000), "b", "is no list of values"),
        ("real text" + "t" * 100_000, "1,2", "cannot use the line '@attribute c1 text"),
    ],
    ids=["quoted", "sparse", "comma", "truth", "sparse truth", "long value", "long line"],
)
def test_rows_of_arff_that_do_not_fit_their_columns(columns, row, match, tmp_path, usual_csv):
    """Else numbers would stand in the columns beside theirs."""
    header = "".join(f"@attribute c{number} {kind}\n" for number, kind in enumerate(columns.split()))
    (tmp_path / "file.arff").write_text(f"@relation r\n{header}@data\n{row}\n{row}\n")
    with pytest.raises(ValueError, match=rf"file\.arff: .*{match}") as refusal:
        read_arff(tmp_path / "file.arff")
    assert len(str(refusal.value)) < 400


def test_marks_and_blanks_around_what_arff_holds(tmp_path):
    """A mark of UTF-8 hides no column, breaks other than those of lines are letters, and blanks may precede commas."""
    header = "\ufeff@attribute 'a\u2028b' real\n@attribute c real\n@data\n"
    (tmp_path / "file.arff").write_text(f"{header}{{0 1 ,1 2 }}\n{{ 1 3 }}\n", encoding="utf-8")
    table = read_arff(tmp_path / "file.arff")
    assert [column.name for column in table.columns] == ["a\u2028b", "c"]
    assert table.matrix([0, 1]).toarray().tolist() == [[1.0, 2.0], [0.0, 3.0]]


# Summaries ------------------------------------------------------------------------------------------------------------


def test_a_damaged_summary_makes_a_page_or_a_sentence(tmp_path, rng):
    pytest.importorskip("jinja2")
    X = rng.standard_normal((20, 3))
    summary = summarize(MultiTaskRegressor(alpha=0.1).fit(X, X @ rng.standard_normal((3, 3))))
    versions = []
    for k, name in enumerate(summary):
        versions.append({key: value for key, value in summary.items() if key != name})
        versions.append({**summary, name: (None, "x", -1, [{}], {"x": []})[k % 5]})
    data = [json.dumps(version).encode() for version in [summary, *versions]]
    good, bad = survives(lambda path: render_again(path.parent), tmp_path / "summary.json", data)
    assert good > 0
    assert bad > 5


# Images ---------------------------------------------------------------------------------------------------------------


def png(width, height, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_images_damaged_at_random_or_of_absurd_size(tmp_path, rng):
    pytest.importorskip("cv2")
    from skmtl.vision.sift import read_grey

    content = png(20, 16, b"".join(b"\x00" + rng.bytes(20) for _ in range(16)))
    assert read_grey(content, 100).shape == (16, 20)
    for size in (60_000, 2**31 - 1):
        with pytest.raises(ValueError, match="cannot read"):
            read_grey(png(size, size, bytes(100)), 100)
    for _ in range(200):
        data = damage(rng, content)
        try:
            image = read_grey(data, 100)
        except ValueError:
            continue
        assert max(image.shape) <= 100
        assert np.isfinite(image).all()
