"""Files appear whole or not at all, and what is there keeps what it is."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import pytest

from skmtl import _files
from skmtl._files import folder_written_whole, write_whole, written_whole

IS_ROOT = os.name == "posix" and os.geteuid() == 0
only_on_posix = pytest.mark.skipif(os.name != "posix", reason="needs the files of POSIX")


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("content", ["caf\u00e9\n", b"\x00\r\n\xff"])
def test_the_content_is_what_was_given(tmp_path, content):
    write_whole(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write_whole(tmp_path / "file", "")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


@only_on_posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_rights(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@only_on_posix
def test_what_replaces_a_private_file_is_private_from_the_beginning(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o600)
    with written_whole(path) as stream:
        stream.write(b"secret")
        (part,) = (p for p in tmp_path.iterdir() if p != path)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


@only_on_posix
@pytest.mark.skipif(IS_ROOT, reason="the administrator may write everywhere")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(PermissionError):
        write_whole(path, "new")
    assert contents(tmp_path) == {"file": "old"}


@only_on_posix
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the administrator can give files away"
)
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write_whole(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_symbolic_links_that_lead_to_one_another_stay(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(OSError, match="levels of symbolic links"):
        write_whole(one, "text")
    assert one.is_symlink()
    assert sorted(tmp_path.iterdir()) == [one, other]


@only_on_posix
@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_stays_one(tmp_path, there):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    if there:
        target.write_text("old")
    link.symlink_to("elsewhere/target")
    write_whole(link, "new")
    assert link.is_symlink()
    assert os.readlink(link) == "elsewhere/target"
    assert target.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "link"]


@only_on_posix
def test_a_pipe_gets_the_content(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    write_whole(path, "new")
    reader.join(10)
    assert read == ["new"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs open files that have names")
def test_a_pipe_that_has_a_name_only_here_gets_the_content():
    """As ``--out /dev/stdout`` has it before ``|``, and ``--out >(sort)``."""
    reading, writing = os.pipe()
    try:
        write_whole(f"/dev/fd/{writing}", "new")
        assert os.read(reading, 100) == b"new"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs open files that have names")
@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
@pytest.mark.parametrize("mode", ["ab", "wb"])
def test_a_stream_into_a_file_goes_on_where_it_stands(tmp_path, folder, mode):
    """As ``--out /dev/stdout`` has it before ``>> all.csv`` and within ``{ ...; } > all.csv``."""
    if not os.path.isdir(folder):
        pytest.skip(f"there is no {folder} here")
    path = tmp_path / "all.csv"
    path.write_text("a year of work\n" if mode == "ab" else "")
    with open(path, mode, buffering=0) as stream:
        stream.write(b"before\n")
        write_whole(f"{folder}/{stream.fileno()}", "new\n")
        stream.write(b"after\n")
    assert path.read_text().removeprefix("a year of work\n") == "before\nnew\nafter\n"
    assert path.read_text().startswith("a year of work\n") == (mode == "ab")
    assert list(tmp_path.iterdir()) == [path]


@only_on_posix
def test_a_device_is_not_replaced():
    before = os.stat("/dev/null")
    write_whole("/dev/null", "new")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "new")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


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
    assert contents(tmp_path) == ({} if old is None else {"file": old})


def test_a_device_that_is_full(tmp_path, monkeypatch):
    """The operating system's own error, from a device on which every write fails, at its end and on the way."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with pytest.raises(OSError, match="No space left"):
        write_whole("/dev/full", "x" * 100_000)
    monkeypatch.setattr(_files, "open", lambda *_, **__: open("/dev/full", "wb"), raising=False)  # noqa: SIM115
    monkeypatch.setattr(_files, "_locked", lambda part: nullcontext())
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


# What a killed process leaves -----------------------------------------------------------------------------------------

HALF = """
import sys, time
from skmtl._files import folder_written_whole, written_whole
with {writer}(sys.argv[1]) as stream:
    print("open", flush=True)
    time.sleep(60)
"""


def start_half(path, writer="written_whole"):
    """A process that is half way through a file."""
    command = [sys.executable, "-c", HALF.format(writer=writer), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "open\n"
    return process


def make_old(folder):
    for path in folder.iterdir():
        os.utime(path, (time.time() - 60, time.time() - 60))


@only_on_posix
@pytest.mark.parametrize("writer", ["written_whole", "folder_written_whole"])
def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path, writer):
    path = tmp_path / "file[1]*"
    with start_half(path, writer) as process:
        make_old(tmp_path)
        (part,) = tmp_path.iterdir()
        # Another process is at work on it: its part stays.
        write_whole(path, "first")
        path.unlink()
        assert list(tmp_path.iterdir()) == [part]
        process.send_signal(signal.SIGKILL)
    assert list(tmp_path.iterdir()) == [part]
    (tmp_path / "other.00000000.part").write_text("of another file")
    write_whole(path, "second")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file[1]*", "other.00000000.part"]
    assert path.read_text() == "second"


@only_on_posix
@pytest.mark.parametrize("name", ["x" * 255, "x" * 242, "\u00e9" * 127, "x" + "\u00e9" * 127])
def test_the_longest_names_that_a_file_can_have(tmp_path, name):
    """Also what a killed process left of them is found."""
    with start_half(tmp_path / name) as process:
        process.send_signal(signal.SIGKILL)
    make_old(tmp_path)
    for content in ("first", "second"):
        write_whole(tmp_path / name, content)
        assert contents(tmp_path) == {name: content}


def test_a_folder_appears_when_it_is_whole(tmp_path):
    with folder_written_whole(tmp_path / "deep" / "folder") as part:
        (part / "a").write_text("1")
        assert not (tmp_path / "deep" / "folder").exists()
    assert contents(tmp_path / "deep" / "folder") == {"a": "1"}
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["folder"]


def test_a_folder_that_fails_leaves_nothing(tmp_path):
    def write_half():
        with folder_written_whole(tmp_path / "folder") as part:
            (part / "a").write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert list(tmp_path.iterdir()) == []
