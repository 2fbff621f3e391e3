"""Animals with Attributes: images of fifty animals, described by eighty-five attributes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.datasets._files import PathLike, check_files, check_folder

NAME = "Animals with Attributes"
SOURCE = (
    "Animals with Attributes was published by Christoph Lampert, Hannes Nickisch and Stefan Harmeling (Max Planck "
    "Institute for Biological Cybernetics; now kept at IST Austria) and can be asked for from them: the base package "
    "has the lists and matrices, one further package the features of each kind."
)
ARRAYS = "awa_surf.npz"
SPLIT = ("trainclasses.txt", "testclasses.txt")
LISTS = ("classes.txt", "predicates.txt", "predicate-matrix-binary.txt")

Counts = NDArray[Any]
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Animals:
    """What :func:`load_awa` returns.

    Rows are sorted by class. Attributes belong to classes, not to images.

    Attributes
    ----------
    X : ndarray of shape (n_images, n_features)
        The features: int32 if all are whole numbers, float64 otherwise.
    y : ndarray of shape (n_images,)
        The class of each image, an index into ``class_names``.
    class_names : tuple of str
        The classes.
    predicates : tuple of str
        The attributes.
    predicate_matrix : ndarray of shape (n_classes, n_predicates)
        1 where a class has an attribute, else 0; ``predicate_matrix[y]`` labels the images.
    trainclasses : tuple of str
        The classes to learn from in the usual split by class.
    testclasses : tuple of str
        The remaining classes, to test on.

    See Also
    --------
    load_awa : Reads the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.datasets import Animals
    >>> animals = Animals(
    ...     X=np.zeros((3, 2)),
    ...     y=np.array([0, 1, 1]),
    ...     class_names=("ox", "bat"),
    ...     predicates=("black", "flies"),
    ...     predicate_matrix=np.array([[1, 0], [1, 1]], dtype=np.int8),
    ...     trainclasses=("ox",),
    ...     testclasses=("bat",),
    ... )
    >>> animals.predicate_matrix[animals.y].tolist()
    [[1, 0], [1, 1], [1, 1]]
    """

    X: Counts
    y: NDArray[np.intp]
    class_names: tuple[str, ...]
    predicates: tuple[str, ...]
    predicate_matrix: NDArray[np.int8]
    trainclasses: tuple[str, ...]
    testclasses: tuple[str, ...]


def load_awa(folder: PathLike, *, features: str | None = None, callback: Progress | None = None) -> Animals:
    r"""Read the features, classes and attributes of Animals with Attributes.

    Parameters
    ----------
    folder : path-like
        In either of two forms, both with ``trainclasses.txt`` and ``testclasses.txt``:

        - ``awa_surf.npz`` with ``X_lo`` and ``X_hi`` (low and high bytes of the counts), ``y``, ``class_names``,
          ``predicates`` and ``predicate_matrix``;
        - the original layout: ``classes.txt``, ``predicates.txt``, ``predicate-matrix-binary.txt``, and features as
          numbers separated by blanks, in one file per class (``antelope.txt``, a row per image) or in one folder
          per class with one file per image (``antelope/antelope_0001.txt``).
    features : str, default=None
        Folder of the features, relative to ``folder``. By default the only one that has a file or a folder named
        after the first class is taken, at most two levels down; naming one passes over ``awa_surf.npz``.
    callback : callable, default=None
        Called as ``callback(done, total)`` after every class that was read from text.

    Returns
    -------
    Animals
        Features, class indices, names and the predicate matrix.

    See Also
    --------
    skmtl.experiments.run : Runs the paper's experiment on this data set.

    References
    ----------
    Lampert et al. Learning to detect unseen object classes by between-class attribute transfer. CVPR 2009.

    Examples
    --------
    A data set of two classes in the original layout:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skmtl.datasets import load_awa
    >>> files = {
    ...     "classes.txt": "1 ox\n2 bat",
    ...     "predicates.txt": "1 black\n2 flies",
    ...     "predicate-matrix-binary.txt": "1 0\n1 1",
    ...     "trainclasses.txt": "ox",
    ...     "testclasses.txt": "bat",
    ...     "surf/ox.txt": "3 0 1\n2 2 0",
    ...     "surf/bat.txt": "0 5 1",
    ... }
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "surf").mkdir()
    ...     for name, text in files.items():
    ...         _ = Path(folder, name).write_text(text)
    ...     animals = load_awa(folder)
    >>> animals.X.shape, animals.y.tolist()
    ((3, 3), [0, 0, 1])
    """
    root = check_folder(folder, NAME, SOURCE)
    if features is None and (root / ARRAYS).is_file():
        check_files(root, SPLIT, SOURCE)
        X, y, class_names, predicates, matrix = _unpack(root / ARRAYS)
    else:
        check_files(root, SPLIT + LISTS, SOURCE)
        class_names, predicates = _read_list(root / "classes.txt"), _read_list(root / "predicates.txt")
        matrix = _read_numbers(root / "predicate-matrix-binary.txt", one=False)
        X, y = _read_texts(_feature_folder(root, features, class_names[0]), class_names, callback)
    train, test = (_read_list(root / name) for name in SPLIT)
    _check(root, X, y, class_names, predicates, matrix, train + test)
    return Animals(X, y, class_names, predicates, matrix.astype(np.int8), train, test)


Parts = tuple[Counts, NDArray[np.intp], tuple[str, ...], tuple[str, ...], Array]


def _unpack(file: Path) -> Parts:
    """Everything but the split, from one file of arrays."""
    content = _read_arrays(file)
    absent = {"X_lo", "X_hi", "y", "class_names", "predicates", "predicate_matrix"} - set(content)
    if absent:
        raise ValueError(f"{file} has no {', '.join(sorted(absent))}; it holds {', '.join(content)}. {SOURCE}")
    text = [name for name in content if (content[name].dtype.kind in "US") != (name in ("class_names", "predicates"))]
    if text or content["X_lo"].shape != content["X_hi"].shape:
        raise ValueError(f"{file}: names must be text, all else numbers, and X_lo and X_hi of one shape. {SOURCE}")
    X = content["X_hi"].astype(np.int32)
    X <<= 8
    X += content["X_lo"]
    names, predicates = (tuple(content[name].ravel().tolist()) for name in ("class_names", "predicates"))
    return X, content["y"].astype(np.intp), names, predicates, content["predicate_matrix"]


def _read_arrays(file: Path) -> dict[str, Counts]:
    """The arrays of a file by name."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            return dict(content)
    except Exception as error:
        # The reader trusts what it reads, and fails wherever that leads it.
        raise ValueError(f"{file} is no file of arrays, or it is damaged ({error}). {SOURCE}") from error


def _read_list(file: Path) -> tuple[str, ...]:
    """Last word of every line: lists come with and without line numbers."""
    names = tuple(line.split()[-1] for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
    if not names:
        raise ValueError(f"{file} names nothing. {SOURCE}")
    return names


def _feature_folder(root: Path, features: str | None, first_class: str) -> Path:
    """The folder with something named after the first class."""
    if features is not None:
        return check_folder(root / features, f"{NAME} features", SOURCE)
    folders = [root, *sorted(path for depth in ("*", "*/*") for path in root.glob(depth) if path.is_dir())]
    found = [path for path in folders if _class_files(path, first_class)]
    if not found:
        raise FileNotFoundError(
            f"{root} has neither {ARRAYS} nor a folder with features: nothing is named after the first class, "
            f"as {first_class}.txt or {first_class}/ with one file per image. {SOURCE}"
        )
    if len(found) > 1:
        choices = ", ".join(repr(path.relative_to(root).as_posix()) for path in found)
        raise ValueError(f"{root} has {len(found)} kinds of features; choose one of features={choices}.")
    return found[0]


def _class_files(folder: Path, name: str) -> list[Path]:
    """Feature files of one class: those in its folder, or the one that has its name."""
    if (folder / name).is_dir():
        return sorted(file for file in (folder / name).iterdir() if file.is_file() and not file.name.startswith("."))
    return sorted(file for file in folder.iterdir() if file.is_file() and file.stem == name)[:1]


def _read_texts(
    folder: Path, class_names: tuple[str, ...], callback: Progress | None
) -> tuple[Counts, NDArray[np.intp]]:
    """Features and class indices from text files, class by class."""
    files = [_class_files(folder, name) for name in class_names]
    absent = [name for name, found in zip(class_names, files, strict=True) if not found]
    if absent:
        raise FileNotFoundError(f"{folder} has no features of {', '.join(absent)}. {SOURCE}")
    rows: list[Counts] = []
    for done, found in enumerate(files, start=1):
        rows.append(_whole(np.concatenate([_read_numbers(file, one=file.parent != folder) for file in found])))
        if callback is not None:
            callback(done, len(files))
    widths = {len(part[0]): name for part, name in zip(rows, class_names, strict=True)}
    if len(widths) > 1:
        sizes = ", ".join(f"{width} ({name})" for width, name in widths.items())
        raise ValueError(f"Images in {folder} have different numbers of features: {sizes}. {SOURCE}")
    X: Counts = np.concatenate(rows)
    return X, np.repeat(np.arange(len(rows)), [len(part) for part in rows])


def _read_numbers(file: Path, *, one: bool) -> Array:
    """Numbers in a text file: one image as a single row, or a row per image."""
    try:
        numbers = np.array(file.read_text().split(), dtype=float)[None] if one else np.loadtxt(file, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{file} is not a table of numbers separated by blanks: {error}") from None
    if not numbers.size:
        raise ValueError(f"{file} has no numbers. {SOURCE}")
    return numbers


def _whole(X: Array) -> Counts:
    """The same numbers as integers, if that is what they are."""
    whole = X.astype(np.int32) if np.all(np.abs(X) < 2**31) else X
    return whole if np.array_equal(whole, X) else X


def _check(
    root: Path,
    X: Counts,
    y: NDArray[np.intp],
    class_names: tuple[str, ...],
    predicates: tuple[str, ...],
    matrix: Array,
    split: tuple[str, ...],
) -> None:
    """All parts must speak of the same classes and attributes."""
    if matrix.shape != (len(class_names), len(predicates)) or not np.isin(matrix, (0, 1)).all():
        raise ValueError(
            f"{root}: the predicate matrix must hold 0 and 1 for {len(class_names)} classes and {len(predicates)} "
            f"predicates, but has shape {matrix.shape} and values from {matrix.min():g} to {matrix.max():g}."
        )
    if X.ndim != 2 or y.shape != (len(X),) or not len(y):
        raise ValueError(f"{root}: there must be a row for each class index, but shapes are {X.shape} and {y.shape}.")
    if y.min() < 0 or y.max() >= len(class_names):
        raise ValueError(f"{root}: class indices go from {y.min()} to {y.max()}, but there are {len(class_names)}.")
    unknown = sorted(set(split) - set(class_names))
    if unknown:
        raise ValueError(f"{root}: {' and '.join(SPLIT)} name {', '.join(unknown)}, not among the classes.")
