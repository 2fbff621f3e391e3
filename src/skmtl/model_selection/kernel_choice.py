"""The kernel that suits prepared rows: a contest of quick searches with independent tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array

from skmtl.model_selection.classifier_cv import MultiTaskClassifierCV
from skmtl.model_selection.recommended import KERNELS
from skmtl.model_selection.regressor_cv import MultiTaskRegressorCV
from skmtl.model_selection.score_words import call_score
from skmtl.penalties import StructurePenalty, check_penalty

# Coarser than the default grids of the searches, for someone is waiting: multiples of the mean of the kernel's
# diagonal, and values of the penalty's path parameter.
ALPHAS = np.logspace(-1, -6, 6)
MUS = (0.8, 0.95, 1.0)
# The mean of their diagonal is one.
UNIT_DIAGONAL = ("rbf", "laplacian")
SEARCH_TOL = 1e-3
CONTEST_FOLDS, N_FOLDS = 3, 5
# Rows on which parameters are chosen. The work of the linear kernel grows with n d^2 and is small for each row; that of
# other kernels is a decomposition of n x n. Where labels are missing there is a factor besides, of the size of the
# labels that are there or of those that are not, and the smaller of the two counts.
MOST_ROWS_LINEAR, MOST_ROWS, MOST_LABELS = 20_000, 1000, 2000
# What another kernel must add to the score of the first, which is quick and can be read.
MARGIN = 0.01
# With fewer labels than this for each task a sample of a long table says nothing about its tasks.
LABELS_PER_TASK = 50

Index = NDArray[np.intp]
Callback = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class KernelChoice:
    """The kernel that :func:`choose_kernel` chose.

    Attributes
    ----------
    kernel : str
        Its name.
    gamma : float or None
        Its inverse width; None where nothing was compared, or where the kernel has none.
    scores : dict of str to float
        Cross-validated scores of the kernels that were compared, with independent tasks.
    reason : str
        Why, in a sentence; empty where there was nothing to choose.

    See Also
    --------
    choose_kernel : Makes one.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.model_selection import choose_kernel
    >>> choice = choose_kernel(*load_linnerud(return_X_y=True), kernels=["linear"])
    >>> choice.kernel, choice.scores
    ('linear', {})
    """

    kernel: str
    gamma: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


def quick_search(penalty: str | StructurePenalty = "sparse", *, classification: bool = False, **params: Any) -> Any:
    """A search over a coarse grid, for when someone is waiting.

    Parameters
    ----------
    penalty : str or StructurePenalty, default="sparse"
        What relations between tasks cost; a name, or an object.
    classification : bool, default=False
        Whether labels are classes.
    **params
        Parameters of :class:`MultiTaskRegressorCV`, or of :class:`MultiTaskClassifierCV`, that differ.

    Returns
    -------
    MultiTaskRegressorCV or MultiTaskClassifierCV
        Not fitted. Where ``alphas`` is None, :func:`choose_parameters` tries six, relative to the kernel.

    See Also
    --------
    choose_parameters : Chooses kernel and parameters with it.

    Examples
    --------
    >>> from skmtl.model_selection import quick_search
    >>> quick_search(alphas=[0.01]).mus
    (0.8, 0.95, 1.0)
    >>> quick_search("trace").mus is None
    True
    """
    # An object is checked by `fit`, which knows the number of tasks; a name stands for the same penalty at any number.
    made = penalty if isinstance(penalty, StructurePenalty) else check_penalty(penalty, 2)
    mus = None if made.path_parameter is None else MUS
    cls: Any = MultiTaskClassifierCV if classification else MultiTaskRegressorCV
    return cls(made, **{"mus": mus, "eps_factors": [1.0], "tol": SEARCH_TOL, **params})


def choose_kernel(
    X: Any,
    Y: Any,
    *,
    search: Any = None,
    kernels: Sequence[str] = KERNELS,
    tasks: Any = None,
    groups: Any = None,
    callback: Callback | None = None,
) -> KernelChoice:
    """The kernel that does best with independent tasks; in doubt the first one.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Prepared: numbers without gaps, on one scale. Of many rows some are drawn at random.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Targets or classes, NaN where they are not known.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        What is searched at every kernel, with independent tasks instead of its penalty; by default
        ``quick_search()``.
    kernels : sequence of str, default=("linear", "rbf", "laplacian")
        The first is taken unless another is ahead by 0.01 in the score and by two standard errors over the folds. In
        long format with many tasks only the first is tried, for a sample small enough for the others would have too
        few labels of each task.
    tasks : array-like of shape (n_samples,), optional
        The task of each row, in long format.
    groups : array-like of shape (n_samples,), optional
        Rows of a group stay together in the folds.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "part": text}`` after every fold of the search of a kernel, for a progress
        bar; k grows by one from kernel to kernel.

    Returns
    -------
    KernelChoice
        The kernel, its inverse width, and the scores that decided.

    See Also
    --------
    choose_parameters : Chooses the kernel and everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.model_selection import choose_kernel
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 1))
    >>> choose_kernel(X, np.hstack([np.cos(3 * X), np.sin(3 * X)])).kernel
    'rbf'
    """
    search = quick_search() if search is None else search
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    if len(kernels) == 1:
        return KernelChoice(kernels[0])
    if is_crowded(X, tasks):
        return KernelChoice(kernels[0], reason=crowded_reason(kernels[0]))
    # All kernels on the same rows, so that their scores can be compared.
    rows = min((draw_rows(X, Y, kernel, tasks=tasks) for kernel in kernels), key=len)
    some = X[rows], take_rows(Y, rows), take_rows(tasks, rows)
    searches: dict[str, Any] = {}
    for kernel in kernels:
        folds = count_folds(callback, len(searches), len(kernels), f"{kernel} kernel")
        one = at_kernel(search, kernel, some[0], penalty="independent", mus=None, cv=CONTEST_FOLDS, callback=folds)
        searches[kernel] = one.fit(*some[:2], tasks=some[2], groups=take_rows(groups, rows))
        report_progress(callback, len(searches), len(kernels))
    best = _winner(searches)
    scores = {kernel: float(one.best_score_) for kernel, one in searches.items()}
    listed = ", ".join(f"{kernel} {score:z.3f}" for kernel, score in scores.items())
    measured = f"{call_score(searches[best].scoring_)} without a graph, on {len(rows):,} rows in {CONTEST_FOLDS} folds"
    reason = (
        f"The {best} kernel is used; {measured}: {listed} "
        f"({kernels[0]}, unless another is ahead by {MARGIN:g} and by two standard errors)."
    )
    return KernelChoice(best, searches[best].gamma_, scores, reason)


def is_crowded(X: Any, tasks: Any) -> bool:
    """Whether a sample small enough for every kernel would have too few labels of each task."""
    return tasks is not None and MOST_ROWS < LABELS_PER_TASK * pd.Series(tasks).nunique() < X.shape[0]


def crowded_reason(kernel: str) -> str:
    """Why only one kernel was tried."""
    return f"Only the {kernel} kernel was tried, for there are many tasks; another has to be asked for."


def at_kernel(search: Any, kernel: str, X: Any, *, gamma: float | None = None, **params: Any) -> Any:
    """The search, not fitted, with one kernel, and with strengths that suit it where none are given."""
    gammas = None if kernel == "linear" else search.gammas if gamma is None else [gamma]
    alphas = quick_alphas(kernel, X) if search.alphas is None else search.alphas
    return clone(search).set_params(**{"kernel": kernel, "alphas": alphas, "gammas": gammas, **params})


def quick_alphas(kernel: str, X: Any) -> Any:
    """Strengths relative to the kernel's diagonal where that costs nothing to know; else None, the search's own."""
    if kernel in UNIT_DIAGONAL:
        return ALPHAS
    if kernel != "linear" or sparse.issparse(X):
        return None
    # The constant of a task is not penalized, so that rows count by their distance from the mean.
    return ALPHAS * (float(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))) or 1.0)


def count_factor(Y: Any) -> int:
    """The labels that are missing of a table, or those that are there, if these are fewer."""
    missing = pd.isna(np.asarray(Y, dtype=object))
    return int(min(np.count_nonzero(missing), missing.size - np.count_nonzero(missing)))


def draw_rows(X: Any, Y: Any, kernel: str, *, tasks: Any = None) -> Index:
    """As many rows as there is time for with a kernel, at random, always the same."""
    most = MOST_ROWS_LINEAR
    if kernel != "linear":
        missing = int(np.count_nonzero(pd.isna(np.asarray(Y, dtype=object))))
        # Of a row: labels that are there, or that are not, whichever are fewer. In long format a row has one.
        per_row = 1.0 if tasks is not None else min(np.size(Y) - missing, missing) / X.shape[0]
        most = int(min(MOST_ROWS, MOST_LABELS / per_row)) if per_row else MOST_ROWS
    return np.random.default_rng(0).permutation(X.shape[0])[:most]


def take_rows(values: Any, rows: Index) -> Any:
    """Some rows of an array, a list or a frame; None stays None."""
    if values is None:
        return None
    return values.iloc[rows] if isinstance(values, pd.Series | pd.DataFrame) else np.asarray(values)[rows]


def _winner(searches: Mapping[str, Any]) -> str:
    """The best of the other kernels if it is clearly ahead of the first: by a margin, and by two standard errors."""
    first, *others = searches
    best = max(others, key=lambda kernel: searches[kernel].best_score_)
    ahead = _fold_scores(searches[best]) - _fold_scores(searches[first])
    error = np.std(ahead, ddof=1) / np.sqrt(len(ahead))
    return best if np.mean(ahead) > max(MARGIN, 2.0 * error) else first


def _fold_scores(search: Any) -> Any:
    results = search.cv_results_
    return np.array([results[f"split{k}_test_score"][search.best_index_] for k in range(CONTEST_FOLDS)])


def count_folds(callback: Callback | None, done: int, total: int, what: str) -> Callback | None:
    """A callback for one of several searches: its folds are parts of one step of the whole."""
    if callback is None:
        return None

    def count(state: dict[str, Any]) -> None:
        # The certificates of the final fit are no folds. How many there are depends at times on what is found.
        if "done" in state:
            share = state["done"] / state["total"] if state["total"] else 0.0
            of = f" of {state['total']}" if state["total"] else ""
            callback({"done": done + share, "total": total, "part": f"{what}, fold {state['done']}{of}"})

    return count


def report_progress(callback: Callback | None, done: int, total: int) -> None:
    """Tell a callback, where there is one, how many parts are done."""
    if callback is not None:
        callback({"done": done, "total": total})
