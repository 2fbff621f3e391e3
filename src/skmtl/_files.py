"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content appears at ``path`` when the block ends; after an error the old file is untouched."""
    path = Path(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError as error:
        # Errors while writing do not know the file's name, and nobody asked for the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8."""
    with written_whole(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
