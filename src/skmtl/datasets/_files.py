"""Finding the files of a data set, and saying what is missing."""

import os
from collections.abc import Iterable
from pathlib import Path

PathLike = str | os.PathLike[str]


def check_folder(folder: PathLike, name: str, source: str) -> Path:
    """The folder of a data set, which must exist."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {what}, but the folder of {name} is needed. {source}")
    return path


def check_files(folder: Path, names: Iterable[str], source: str) -> None:
    """All named files must be in the folder."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{folder} lacks {', '.join(missing)}. {source}")
