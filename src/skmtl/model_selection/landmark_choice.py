"""What a table is large for: how many landmarks its kernel gets, and how many of its rows choose and judge."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skmtl._memory import kernel_bytes, memory_available

# An exact kernel decomposes an n x n matrix: about 1.6e-10 n^3 seconds on one core, four seconds at this many rows and
# two minutes at three times as many. Landmarks cost n m^2, a tenth of that from here on.
MOST_EXACT_ROWS = 3000
# Landmarks where they are chosen by themselves: 14 seconds for a fit of 200,000 rows on one core.
LANDMARKS = 1000
# Without blocks, the kernel of all rows with all landmarks is held: half a gigabyte, but never fewer landmarks.
LANDMARK_ENTRIES, FEWEST_LANDMARKS = 2**26, 100
# Rows on which a kernel with landmarks is chosen and judged: all folds decompose m x m, and read n x m numbers.
MOST_LANDMARK_ROWS = 10_000
# With the linear kernel a fold costs n d^2, and n d T for each of some twenty candidates: this many products of two
# numbers are a few seconds. So many rows are always affordable, and more than so many would not fit.
LINEAR_WORK, LINEAR_CANDIDATES = 2e9, 24
FEWEST_LINEAR_ROWS, MOST_LINEAR_ROWS = 20_000, 200_000


def choose_landmarks(kernel: object, n_rows: int, *, quadratic: bool = True) -> int | None:
    """The number of landmarks for a kernel on so many rows; None where the exact kernel is affordable.

    Parameters
    ----------
    kernel : str or callable
        The linear kernel and a kernel matrix need none.
    n_rows : int
        Rows to learn from.
    quadratic : bool, default=True
        Whether the loss is the square loss, which reads rows in blocks; others hold their kernel with all landmarks.

    Returns
    -------
    int or None
        For ``n_components`` of an estimator.

    See Also
    --------
    choose_parameters : Asks this.

    Examples
    --------
    >>> from skmtl.model_selection.landmark_choice import choose_landmarks
    >>> choose_landmarks("rbf", 500) is None, choose_landmarks("linear", 10**6) is None
    (True, True)
    >>> choose_landmarks("rbf", 40_000)
    1000
    """
    if kernel in ("linear", "precomputed"):
        return None
    available = memory_available()
    if n_rows <= MOST_EXACT_ROWS and (available is None or kernel_bytes(n_rows) <= available):
        return None
    return min(LANDMARKS if quadratic else max(LANDMARK_ENTRIES // n_rows, FEWEST_LANDMARKS), LANDMARKS, n_rows)


def describe_landmarks(n_components: int, n_rows: int) -> str:
    """Why there are landmarks, in a sentence."""
    return (
        f"The kernel is approximated on {n_components:,} of {n_rows:,} rows, for an exact one would take too long "
        "(--components, n_components for another number)."
    )


def affordable_rows(X: Any, Y: Any, kernel: object, *, n_components: int | None = None) -> int:
    """How many complete rows of a table there is time for when a search chooses and folds judge."""
    if kernel == "linear":
        n_tasks = 1 if np.ndim(Y) == 1 else np.shape(Y)[1]
        each = X.shape[1] ** 2 + LINEAR_CANDIDATES * X.shape[1] * n_tasks
        return int(np.clip(LINEAR_WORK / max(each, 1), FEWEST_LINEAR_ROWS, MOST_LINEAR_ROWS))
    return MOST_EXACT_ROWS if n_components is None else MOST_LANDMARK_ROWS


def draw_affordable(
    X: Any,
    Y: Any,
    kernel: object,
    fewer: NDArray[np.intp],
    *,
    n_components: int | None = None,
    tasks: Any = None,
    quadratic: bool = True,
) -> NDArray[np.intp]:
    """Rows that choose and judge, at random, always the same: as many as there is time for.

    Where labels are missing, in long format, and with losses other than the square loss folds cost much more, and
    ``fewer`` rows have to do.
    """
    if not quadratic or tasks is not None or bool(np.any(pd.isna(np.asarray(Y, dtype=object)))):
        return fewer
    most = affordable_rows(X, Y, kernel, n_components=n_components)
    return np.random.default_rng(0).permutation(X.shape[0])[: max(most, len(fewer))]
