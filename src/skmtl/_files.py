"""Files and folders that appear whole or not at all."""

import errno
import io
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where nothing that is open can be removed, so that no lock is needed.
    # There is no such module on Windows, and a module's type has no None.
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pandas as pd

# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Open streams by their names of their own.
STREAMS = {"/dev/stdin": "/dev/fd/0", "/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}
# Bytes: names have at most 255, and the ending of a part takes 14 of them.
LONGEST_STEM = 241
# Seconds in which a part that has no lock yet gets one.
NEW = 1.0


def check_is_file(path: str | os.PathLike[str], advice: str) -> None:
    """What is there must be a file or a folder: reading a device may never end, and a pipe can be read only once."""
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is a device or a pipe; {advice}.")


def stream_number(path: str | os.PathLike[str]) -> int | None:
    """The number of the open stream that a name such as /dev/stdout or /dev/fd/3 stands for, on systems with such."""
    name = os.fspath(path)
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", STREAMS.get(name, name))
    return int(found[1]) if found and os.path.exists(path) else None


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8."""
    with written_whole(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content appears at ``path`` when the block ends; after an error the old file is untouched.

    A symbolic link stays one, and the file that it names is written; the rights of a file stay as they were. A device
    or a pipe is not replaced: it gets the content when the block ends, and so does an open stream, such as /dev/stdout,
    where it stands.
    """
    try:
        old, number = os.stat(path) if os.path.exists(path) else None, stream_number(path)
        if number is None and (old is None or stat.S_ISREG(old.st_mode)):
            with _part_of_file(_end_of_links(path), old) as stream:
                yield stream
        else:
            content = io.BytesIO()
            yield content
            # Opened by its name, the file behind a stream would lose what it holds.
            with open(path if number is None else os.dup(number), "wb") as device:
                device.write(content.getbuffer())
    except OSError as error:
        # Errors while writing do not know the file's name, and nobody asked for the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def folder_written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder that appears at ``path``, where nothing may be yet, when the block ends without an error."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    part = _part_name(target)
    part.mkdir()
    try:
        with _locked(part):
            yield part
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _end_of_links(path: str | os.PathLike[str]) -> Path:
    """The file that symbolic links lead to; some lead to themselves, and there is no file to write."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


@contextmanager
def _part_of_file(target: Path, old: os.stat_result | None) -> Iterator[BinaryIO]:
    """A new file in the same folder, which takes the place of the target when the block ends."""
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    _remove_abandoned(target)
    part = _part_name(target)
    # Until it has the rights of the file that it replaces, nobody else may read it.
    mode = 0o666 if old is None else 0o600
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream, _locked(part):
            yield stream
            stream.flush()
            if old is not None:
                _keep_rights(part, old)
            os.fsync(stream.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _part_name(target: Path) -> Path:
    return target.with_name(f"{_stem(target)}.{secrets.token_hex(4)}.part")


def _stem(target: Path) -> str:
    """What the name of a part begins with: the name of its target, of which a very long one is cut."""
    name = os.fsencode(target.name)
    return target.name if len(name) <= LONGEST_STEM else name[:LONGEST_STEM].decode(errors="ignore")


def _keep_rights(part: Path, old: os.stat_result) -> None:
    """Owner, where we may set it, and mode of the file that is replaced."""
    new = part.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.chown(part, old.st_uid, old.st_gid)
    part.chmod(stat.S_IMODE(old.st_mode))


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes left of the same target: parts that are not new, and on which nobody has a lock."""
    name = "".join(f"[{character}]" if character in "*?[" else character for character in _stem(target))
    for part in target.parent.glob(f"{name}.{'[0-9a-f]' * 8}.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > NEW and _is_free(part):
                shutil.rmtree(part) if part.is_dir() else part.unlink()


@contextmanager
def _locked(part: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, where the file system has locks; a process that is killed loses it."""
    if fcntl is None:
        yield
        return
    number = os.open(part, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _is_free(part: Path) -> bool:
    """Whether no process has the lock of a file or folder."""
    if fcntl is None:
        return True
    number = os.open(part, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(number)
    return True


def without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The frame with an apostrophe before text, in names and cells, that a spreadsheet would run as a formula.

    A spreadsheet does so with what it finds in a CSV file, and a formula can read other files and call programs. Signs
    alone, as in the classes + and -, and numbers are no formulas.
    """
    plain = frame.rename(columns=_without_formula)
    for place in range(plain.shape[1]):
        column: Any = plain.iloc[:, place]
        # Numbers of any kind hold no text.
        if column.dtype.kind not in "biufcmM":
            plain.isetitem(place, column.map(_without_formula))
    return plain


def _without_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(FORMULA) or len(cell) == 1 or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
