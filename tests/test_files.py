"""Files appear whole or not at all."""

import os

import pytest

from skmtl import _files
from skmtl._files import write_whole, written_whole


@pytest.mark.parametrize("content", ["caf\u00e9\n", b"\x00\r\n\xff"])
def test_the_content_is_what_was_given(tmp_path, content):
    write_whole(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write_whole(tmp_path / "file", "")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", ["old", None])
def test_a_failed_write_changes_nothing_and_names_the_file(tmp_path, monkeypatch, step, old):
    path = tmp_path / "file"
    if old is not None:
        path.write_text(old)
    monkeypatch.setattr(_files.os, step, full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, "new")
    assert caught.value.filename == str(path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == ({} if old is None else {"file": old})


def test_a_device_that_is_full(tmp_path, monkeypatch):
    """The operating system's own error, from a device on which every write fails."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    usual = _files.Path.open
    monkeypatch.setattr(_files.Path, "open", lambda *_: usual(_files.Path("/dev/full"), "wb"))
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", "x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_writer_leaves_nothing(tmp_path):
    def write_half():
        with written_whole(tmp_path / "file") as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert list(tmp_path.iterdir()) == []
