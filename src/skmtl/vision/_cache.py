"""Arrays kept in files that are named after what they were computed from."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skmtl._files import written_whole

Floats = NDArray[np.float32]


def digest(*parts: bytes) -> str:
    """Name for a content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def load(file: Path | None, shape: tuple[int, ...]) -> Floats | None:
    """The array kept in a file; None if there is none, or one that cannot be used."""
    if file is None or not file.exists():
        return None
    try:
        kept: Floats = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if kept.shape == shape and kept.dtype == np.float32 else None


def save(file: Path | None, array: Floats) -> None:
    """Write an array whole or not at all: readers never see half a file."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(file) as stream:
        np.save(stream, array)
