"""Exam scores of 139 schools."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from skmtl._linalg import Array
from skmtl.datasets._files import PathLike

SOURCE = (
    "The scores were collected by the Inner London Education Authority and are kept by the Centre for Multilevel "
    "Modelling, University of Bristol; the file school.mat comes with MALSAR, the multi-task package of Jiayu Zhou, "
    "Jianhui Chen and Jieping Ye, and can be asked for there."
)


@dataclass(frozen=True)
class School:
    """What :func:`load_school` returns, in long format: ``fit(X, y, tasks=tasks)``.

    Attributes
    ----------
    X : ndarray of shape (n_pupils, n_features)
        The features of the pupils.
    y : ndarray of shape (n_pupils,)
        Their scores.
    tasks : ndarray of shape (n_pupils,)
        The school of each pupil, counted from 0.

    See Also
    --------
    load_school : Reads the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.datasets import School
    >>> school = School(np.zeros((3, 2)), np.array([10.0, 12.0, 30.0]), np.array([0, 0, 1]))
    >>> np.bincount(school.tasks).tolist()
    [2, 1]
    """

    X: Array
    y: Array
    tasks: NDArray[np.intp]


def load_school(path: PathLike) -> School:
    """Read the exam scores of pupils, one task per school.

    Parameters
    ----------
    path : path-like
        The file ``school.mat``, or the folder that holds it. The file has two cell arrays, ``X`` and ``Y``, with one
        cell per school.

    Returns
    -------
    School
        Features, scores and school of every pupil.

    See Also
    --------
    make_sparse_tasks : Artificial tasks with known relations.

    References
    ----------
    Argyriou et al. Convex multi-task feature learning. Machine Learning 2008.

    Examples
    --------
    A file of two schools, with two pupils and one:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from skmtl.datasets import load_school
    >>> X, Y = np.empty((1, 2), dtype=object), np.empty((1, 2), dtype=object)
    >>> X[0, 0], X[0, 1] = np.ones((2, 3)), np.ones((1, 3))
    >>> Y[0, 0], Y[0, 1] = np.array([[10.0], [12.0]]), np.array([[30.0]])
    >>> with TemporaryDirectory() as folder:
    ...     savemat(Path(folder, "school.mat"), {"X": X, "Y": Y})
    ...     school = load_school(folder)
    >>> school.y.tolist(), school.tasks.tolist()
    ([10.0, 12.0, 30.0], [0, 0, 1])
    """
    file = Path(path).expanduser()
    file = file / "school.mat" if file.is_dir() else file
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist. {SOURCE}")
    try:
        content = loadmat(file)
    except Exception as error:
        # The reader trusts what it reads, and fails wherever that leads it.
        raise ValueError(f"{file} is no file of MATLAB, or it is damaged ({error}). {SOURCE}") from error
    absent = [name for name in ("X", "Y") if name not in content]
    if absent:
        raise ValueError(f"{file} has no variable {' and '.join(absent)}; two cell arrays X and Y are needed. {SOURCE}")
    # Stored as bytes: convert before anything is added up.
    try:
        X, Y = ([np.asarray(cell, dtype=float) for cell in content[name].ravel()] for name in ("X", "Y"))
    except (TypeError, ValueError):
        raise ValueError(f"{file}: X and Y must be cell arrays of numbers. {SOURCE}") from None
    if not X or any(x.ndim != 2 or x.shape[1] != X[0].shape[1] for x in X):
        raise ValueError(f"{file}: X must hold a table for each school, all with the same columns. {SOURCE}")
    rows, scores = [len(x) for x in X], [y.size for y in Y]
    if rows != scores:
        raise ValueError(f"{file}: X and Y must hold as many rows for each school, but hold {rows} and {scores}.")
    y = np.concatenate([cell.ravel() for cell in Y])
    return School(X=np.concatenate(X), y=y, tasks=np.repeat(np.arange(len(rows)), rows))
