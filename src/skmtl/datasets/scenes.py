"""The fifteen scene categories."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skmtl.datasets._files import PathLike, check_folder

NAME = "the 15-Scenes data set"
SOURCE = (
    "It was published by Svetlana Lazebnik, Cordelia Schmid and Jean Ponce (Beyond Bags of Features, CVPR 2006) and "
    "can be asked for from them or from the Ponce group's data page at the University of Illinois; it has one folder "
    "of images per category."
)
N_CLASSES = 15
# fmt: off
CLASSES = frozenset({
    "Bedroom", "Coast", "Forest", "Highway", "Industrial",
    "InsideCity", "Kitchen", "LivingRoom", "Mountain", "Office",
    "OpenCountry", "Store", "Street", "Suburb", "TallBuilding",
})
# fmt: on
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pgm"})


@dataclass(frozen=True)
class Scenes:
    """What :func:`load_scenes` returns, ordered by class and file name.

    Attributes
    ----------
    paths : list of str
        The files, one per image.
    labels : ndarray of shape (n_images,)
        The name of each image's class.
    class_names : tuple of str
        The classes, sorted.
    group : ndarray of shape (n_images,)
        Images with the same number are the same file, byte for byte; keep a group on one side of every split.
    source_split : ndarray of shape (n_images,) or None
        ``"train"`` or ``"test"``, and ``""`` for an image that neither list names; None where there are no lists.

    See Also
    --------
    load_scenes : Reads the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.datasets import Scenes
    >>> scenes = Scenes(["Coast/1.jpg"], np.array(["Coast"]), ("Coast",), np.array([0]), None)
    >>> dict(zip(scenes.paths, scenes.labels.tolist()))
    {'Coast/1.jpg': 'Coast'}
    """

    paths: list[str]
    labels: NDArray[np.str_]
    class_names: tuple[str, ...]
    group: NDArray[np.intp]
    source_split: NDArray[np.str_] | None


def load_scenes(folder: PathLike) -> Scenes:
    """Find the images of the fifteen scene categories, with their labels.

    Parameters
    ----------
    folder : path-like
        Holds one folder of images per category, and perhaps ``split_train.txt`` and ``split_test.txt``, which
        list images as ``Category/name.jpg``.

    Returns
    -------
    Scenes
        Paths, labels, class names, groups of identical files, and the split if it is there.

    Raises
    ------
    FileNotFoundError
        When the folder, a category, or the images of a category are missing.

    See Also
    --------
    skmtl.vision.SpatialPyramid : Makes features of the images.

    References
    ----------
    Lazebnik et al. Beyond bags of features: spatial pyramid matching. CVPR 2006.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skmtl.datasets import load_scenes
    >>> from skmtl.datasets.scenes import CLASSES
    >>> with TemporaryDirectory() as folder:
    ...     for name in CLASSES:
    ...         Path(folder, name).mkdir()
    ...         _ = Path(folder, name, "image_0001.jpg").write_bytes(name.encode())
    ...     scenes = load_scenes(folder)
    >>> len(scenes.paths), scenes.class_names[:3]
    (15, ('Bedroom', 'Coast', 'Forest'))
    """
    root = check_folder(folder, NAME, SOURCE)
    images = {path.name: _images(path) for path in sorted(root.iterdir()) if _is_class(path)}
    _check_classes(root, images)
    files = [file for name in images for file in images[name]]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return Scenes(
        paths=[str(file) for file in files],
        labels=np.array([file.parent.name for file in files]),
        class_names=tuple(images),
        group=pd.factorize(np.array(contents))[0],
        source_split=_source_split(root, files),
    )


def _is_class(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "_"))


def _images(folder: Path) -> list[Path]:
    """Image files of one category, sorted."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in IMAGES and not file.name.startswith("."))


def _check_classes(root: Path, images: dict[str, list[Path]]) -> None:
    """Fifteen categories, none of them empty."""
    if len(images) != N_CLASSES:
        absent = sorted(CLASSES - images.keys())
        raise FileNotFoundError(
            f"{root} holds {len(images)} folders ({', '.join(images) or 'none'}), but {NAME} has {N_CLASSES}. "
            f"Missing, by the usual names: {', '.join(absent) or 'none'}. {SOURCE}"
        )
    empty = [name for name, files in images.items() if not files]
    if empty:
        raise FileNotFoundError(
            f"No images in {', '.join(empty)} of {root}; expected files ending in {', '.join(sorted(IMAGES))}. {SOURCE}"
        )


def _source_split(root: Path, files: list[Path]) -> NDArray[np.str_] | None:
    """Which of the two lists names each file, None if a list is missing."""
    part_of: dict[str, str] = {}
    for part in ("train", "test"):
        file = root / f"split_{part}.txt"
        if not file.is_file():
            return None
        part_of |= dict.fromkeys(file.read_text(encoding="utf-8").split(), part)
    return np.array([part_of.get(file.relative_to(root).as_posix(), "") for file in files])
