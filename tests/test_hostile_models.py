"""Model files that were made to do harm, or were damaged at random: refused, in little memory."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from skmtl import MultiTaskRegressor, load_model, save_model

sio = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A good file."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("model") / "good.skops"
    X = rng.standard_normal((20, 3))
    save_model(MultiTaskRegressor(kernel="rbf", alpha=0.1).fit(X, X[:, :2]), path)
    return path.read_bytes()


def parts(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(contents, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


def refuse(path, bad, match):
    """Loading fails with our sentence, and needs no more memory than a few times the file."""
    path.write_bytes(bad)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match) as caught:
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.name in str(caught.value)
    assert peak < 20e6 + 10 * len(bad)


def array_of(shape, descr="<f8", body=b""):
    stream = io.BytesIO()
    np.lib.format.write_array_header_2_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue() + body


def first_array(contents):
    return next(name for name in contents if name.endswith(".npy"))


def test_the_file_is_a_good_one(content, tmp_path):
    (tmp_path / "good.skops").write_bytes(packed(parts(content)))
    assert load_model(tmp_path / "good.skops").alpha == 0.1


def test_a_file_that_unpacks_to_a_thousand_times_its_size(content, tmp_path):
    zeros = array_of((4_000_000,), body=bytes(32_000_000))
    contents = parts(content)
    bad = packed({**contents, first_array(contents): zeros}, zipfile.ZIP_DEFLATED)
    assert len(bad) < 100_000
    refuse(tmp_path / "bad.skops", bad, "larger than the file")


def test_parts_that_are_one_another(content, tmp_path):
    """Many entries of the directory that point to the same bytes."""
    contents = parts(content)
    name = first_array(contents)
    stream = io.BytesIO(packed({**contents, name: array_of((1000,), body=bytes(8000))}))
    with zipfile.ZipFile(stream, "a") as archive:
        one = archive.getinfo(name)
        for k in range(1000):
            twin = zipfile.ZipInfo(f"{k}.npy")
            twin.header_offset, twin.CRC = one.header_offset, one.CRC
            twin.compress_size = twin.file_size = one.file_size
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive.writestr("last", b"")
    refuse(tmp_path / "bad.skops", stream.getvalue(), "larger than the file")


@pytest.mark.parametrize("shape", [(10**15,), (10**9, 10**9, 10**9), (2**32, 2**32), (-1,), (3, -4)])
def test_arrays_that_are_not_there(content, tmp_path, shape):
    contents = parts(content)
    bad = packed({**contents, first_array(contents): array_of(shape, body=bytes(100))})
    refuse(tmp_path / "bad.skops", bad, "damaged|shape")


def test_arrays_of_objects_and_archives_in_archives(content, tmp_path):
    contents = parts(content)
    for body in (array_of((1,), "|O", b"cos\nsystem\n(S'true'\ntR."), packed({"a.npy": array_of((0,))}), b"\x80\x04N."):
        refuse(tmp_path / "bad.skops", packed({**contents, first_array(contents): body}), "damaged|shape")


def test_lists_of_lists_without_end(content, tmp_path):
    contents = parts(content)
    schema = json.loads(contents["schema.json"])
    node = '{"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":['
    text = json.dumps({**schema, "content": "HERE"}).replace('"HERE"', node * 20_000 + "]}" * 20_000)
    refuse(tmp_path / "bad.skops", packed({**contents, "schema.json": text}), "damaged")


def test_lists_that_hold_one_another_many_times(content, tmp_path):
    """2^60 paths through sixty lists that each hold the next one twice."""
    contents = parts(content)
    schema = json.loads(contents["schema.json"])
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": '"x"', "__id__": 900}
    for k in range(60):
        twice = {"__class__": "list", "__module__": "builtins", "__loader__": "CachedNode", "__id__": 900 + k}
        node = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [node, twice],
            "__id__": 901 + k,
        }
    refuse(
        tmp_path / "bad.skops",
        packed({**contents, "schema.json": json.dumps({**schema, "content": node})}),
        "holds|damaged",
    )


def list_of(content, **rest):
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": content, **rest}


def with_attribute(contents, node):
    """The parts of a file whose model has one attribute more, so that types and roots are as they should be."""
    schema = json.loads(contents["schema.json"])
    attributes = schema["content"]
    attributes["content"]["extra"] = node
    types = attributes["key_types"]["content"]
    types.append(types[0])
    return {**contents, "schema.json": json.dumps(schema)}


def test_lists_that_say_they_are_others(content, tmp_path):
    """The same 2^60 paths, where what has a number that is known already does not call itself a reference."""
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": '"x"', "__id__": 9000}
    for k in range(60):
        node = list_of([node, list_of([], __id__=9000 + k)], __id__=9001 + k)
    refuse(tmp_path / "bad.skops", packed(with_attribute(parts(content), node)), "without end")


def test_a_part_that_a_thousand_nodes_name(content, tmp_path):
    node = {"__class__": "bytes", "__module__": "builtins", "__loader__": "BytesNode", "file": "x.bin"}
    contents = with_attribute(parts(content), list_of([node] * 1000))
    refuse(tmp_path / "bad.skops", packed({**contents, "x.bin": bytes(100_000)}), "larger than the file")


def test_a_sparse_matrix_that_is_packed(content, tmp_path):
    packed_zeros = packed({"data.npy": array_of((4_000_000,), body=bytes(32_000_000))}, zipfile.ZIP_DEFLATED)
    node = {"__class__": "spmatrix", "__module__": "scipy.sparse._matrix", "__loader__": "SparseMatrixNode"}
    contents = with_attribute(parts(content), {**node, "type": "scipy", "file": "x.npz"})
    refuse(tmp_path / "bad.skops", packed({**contents, "x.npz": packed_zeros}), "sparse matrix")


def test_an_array_that_is_not_there_under_another_name(content, tmp_path):
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": "x"}
    contents = with_attribute(parts(content), node)
    refuse(tmp_path / "bad.skops", packed({**contents, "x": array_of((10**15,), body=bytes(100))}), "shape")


@pytest.mark.parametrize("descr", ["<U0", "|S0", "|V0"])
def test_a_billion_entries_without_bytes(content, tmp_path, descr):
    contents = parts(content)
    bad = packed({**contents, first_array(contents): array_of((10**9,), descr)})
    refuse(tmp_path / "bad.skops", bad, "shape")


@pytest.mark.parametrize("name", ["bytes_", "void"])
def test_a_number_that_becomes_as_many_bytes(content, tmp_path, name):
    node = {"__class__": name, "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": "x.npy"}
    contents = with_attribute(parts(content), node)
    number = array_of((), body=struct.pack("<d", 50e6)), array_of((), "<i8", struct.pack("<q", 50_000_000))
    for body in number:
        refuse(tmp_path / "bad.skops", packed({**contents, "x.npy": body}), "become bytes")


def test_a_device_is_no_model():
    with pytest.raises(ValueError, match="device"):
        load_model("/dev/zero")


def test_a_shape_in_the_header_that_no_version_has(content, tmp_path):
    contents = parts(content)
    header = b"\x93NUMPY\x09\x00" + struct.pack("<I", 2**31) + b" " * 50
    refuse(tmp_path / "bad.skops", packed({**contents, first_array(contents): header}), "damaged")


def damage(rng, data):
    """Bytes with a few changes: flipped, cut, doubled, or numbers replaced by absurd ones."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(data)))
        kind = rng.integers(0, 5)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 200))]
        elif kind == 2:
            data[at:at] = data[at : at + int(rng.integers(1, 200))]
        elif kind == 3:
            data[at : at + 4] = b"\xff\xff\xff\x7f"
        else:
            data[at:at] = bytes(rng.choice([b"null", b"1e999", b"[]", b"{}", b"-9", b'"', b"\\u0000"]))
        if not data:
            return b""
    return bytes(data)


@pytest.mark.parametrize("inside", [True, False])
def test_files_damaged_at_random_load_or_are_refused(content, tmp_path, inside):
    """Bytes of the archive, and bytes of its parts: no other error than ours, whatever is hit."""
    rng = np.random.default_rng(1)
    contents, path = parts(content), tmp_path / "bad.skops"
    said = []
    for _ in range(150):
        if inside:
            name = rng.choice(sorted(contents))
            bad = packed({**contents, name: damage(rng, contents[name])})
        else:
            bad = damage(rng, content)
        path.write_bytes(bad)
        try:
            load_model(path)
        except (ValueError, UserWarning) as error:
            # Besides good and bad, a file may be another version's.
            said.append(str(error))
    assert all("bad.skops" in one for one in said)
    assert sum("was written by skmtl" not in one for one in said) > 30
