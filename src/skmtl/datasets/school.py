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
    """What :func:`load_school` returns: long format, ``fit(X, y, tasks=tasks)``."""

    X: Array
    """Pupils, (n_pupils, n_features)."""
    y: Array
    """Scores, (n_pupils,)."""
    tasks: NDArray[np.intp]
    """School of each pupil, from 0."""


def load_school(path: PathLike) -> School:
    """Exam scores of pupils, one task per school.

    Parameters
    ----------
    path : path
        The file ``school.mat``, or the folder that holds it. The file has two cell arrays, ``X`` and ``Y``, with one
        cell per school.

    Returns
    -------
    School
        Features, scores and school of every pupil.

    References
    ----------
    Argyriou et al. Convex multi-task feature learning. Machine Learning 2008.
    """
    file = Path(path).expanduser()
    file = file / "school.mat" if file.is_dir() else file
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist. {SOURCE}")
    content = loadmat(file)
    absent = [name for name in ("X", "Y") if name not in content]
    if absent:
        raise ValueError(f"{file} has no variable {' and '.join(absent)}; two cell arrays X and Y are needed. {SOURCE}")
    # Stored as bytes: convert before anything is added up.
    X, Y = ([np.asarray(cell, dtype=float) for cell in content[name].ravel()] for name in ("X", "Y"))
    rows, scores = [len(x) for x in X], [y.size for y in Y]
    if rows != scores:
        raise ValueError(f"{file}: X and Y must hold as many rows for each school, but hold {rows} and {scores}.")
    y = np.concatenate([cell.ravel() for cell in Y])
    return School(X=np.concatenate(X), y=y, tasks=np.repeat(np.arange(len(rows)), rows))
