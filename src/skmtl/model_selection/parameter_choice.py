"""Kernel and parameters chosen for prepared rows, and the choice judged beside independent tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_array

from skmtl.model_selection.compare import compare_methods
from skmtl.model_selection.gains import describe_gains
from skmtl.model_selection.kernel_choice import (
    N_FOLDS,
    Callback,
    Index,
    at_kernel,
    crowded_reason,
    draw_rows,
    is_crowded,
    quick_search,
    report_progress,
    take_rows,
)
from skmtl.model_selection.recommended import AUTO, KERNELS
from skmtl.penalties import Independent

# Searches stop early, for they only compare; the fit that is kept is exact.
FINAL_TOL = 1e-6


@dataclass(frozen=True)
class ParameterChoice:
    """Parameters that :func:`choose_parameters` chose, or that were given.

    Attributes
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        With these parameters, not fitted.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV
        How candidates are fitted and compared; fitted where something was chosen.
    alphas : list of float
        The strengths that did best for shared and for independent tasks, and that of the estimator.
    rows : ndarray of int
        The rows that decided, and that judge.
    reasons : tuple of str
        Why, as sentences.

    See Also
    --------
    choose_parameters, given_parameters : Make one.
    compare_with_independent : Judges it.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.model_selection import choose_parameters, quick_search
    >>> search = quick_search(alphas=[1.0])
    >>> choice = choose_parameters(*load_linnerud(return_X_y=True), search=search, kernels=["linear"])
    >>> choice.alphas, choice.estimator.alpha, len(choice.rows)
    ([1.0], 1.0, 20)
    """

    estimator: Any
    search: Any
    alphas: list[float]
    rows: Index
    reasons: tuple[str, ...]


def choose_parameters(
    X: Any,
    Y: Any,
    *,
    search: Any = None,
    kernels: Sequence[str] = KERNELS,
    tasks: Any = None,
    callback: Callback | None = None,
) -> ParameterChoice:
    """Choose kernel, metric and everything else by cross-validation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Prepared: numbers without gaps, on one scale. Of many rows some are drawn at random: 20,000 for the linear
        kernel; for others 1000, and 300 where labels are missing.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Targets or classes, NaN where they are not known.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        What is searched, kernel and inverse width apart; by default ``quick_search()``.
    kernels : sequence of str, default=("linear", "rbf", "laplacian")
        Kernels to choose from. These three are tried as ``kernel="auto"`` of the search does it: with a metric too,
        and with strengths of the tasks' own. In long format with many tasks only the first is tried.
    tasks : array-like of shape (n_samples,), optional
        The task of each row, in long format.
    callback : callable, optional
        Called with ``{"done": k, "total": n}`` after every search, for a progress bar.

    Returns
    -------
    ParameterChoice
        An estimator with the best parameters, and why these.

    See Also
    --------
    compare_with_independent : Whether the choice is better than independent tasks.
    MultiTaskRegressorCV, MultiTaskClassifierCV : The search at one kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skmtl.model_selection import choose_parameters
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> choice = choose_parameters(X, Y, kernels=["linear"])
    >>> model = choice.estimator.fit(X, Y)
    >>> model.kernel, model.predict(X[:2]).shape
    ('linear', (2, 3))
    """
    search = quick_search() if search is None else search
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    reasons = []
    if len(kernels) > 1 and is_crowded(X, tasks):
        kernels, reasons = kernels[:1], [crowded_reason(kernels[0])]
    # All kernels on the same rows, so that their scores can be compared.
    rows = min((draw_rows(X, Y, kernel, tasks=tasks) for kernel in kernels), key=len)
    fitted = _search_kernels(search, kernels, X[rows])
    fitted.fit(X[rows], take_rows(Y, rows), tasks=take_rows(tasks, rows))
    gains = describe_gains(fitted)
    best, more = fitted.best_estimator_.kernel, draw_rows(X, Y, fitted.best_estimator_.kernel, tasks=tasks)
    total = 1 + (len(more) > len(rows))
    report_progress(callback, 1, total)
    if len(more) > len(rows):
        # Cheap enough for all of them.
        rows, fitted = more, at_kernel(search, best, X[more])
        fitted.fit(X[rows], take_rows(Y, rows), tasks=take_rows(tasks, rows))
        report_progress(callback, 2, total)
    if len(kernels) > 1:
        reasons.append(_name_kernel(fitted.best_estimator_))
    if len(rows) < X.shape[0]:
        reasons.append(f"Parameters were chosen on {len(rows)} of {X.shape[0]} rows, drawn at random.")
    estimator = clone(fitted.best_estimator_).set_params(tol=FINAL_TOL)
    reasons.extend([gains] if gains else [])
    return ParameterChoice(estimator, fitted, _best_alphas(fitted), rows, (*reasons, fitted.verdict_))


def _name_kernel(estimator: Any) -> str:
    """Which kernel is used, and whether on scaled features."""
    rounds = estimator.metric_rounds
    times = f", on features scaled {'once' if rounds == 1 else f'{rounds} times'} by how much they matter"
    return f"The {estimator.kernel} kernel is used{times if rounds else ''}."


def _search_kernels(search: Any, kernels: Sequence[str], X: Any) -> Any:
    """The search, not fitted, at one kernel or at several; the usual ones as the search itself recommends."""
    if len(kernels) == 1:
        return at_kernel(search, kernels[0], X)
    return clone(search).set_params(kernel=AUTO if tuple(kernels) == KERNELS else list(kernels))


def given_parameters(estimator: Any, X: Any, Y: Any, *, search: Any = None, tasks: Any = None) -> ParameterChoice:
    """The choice of somebody who names all parameters, so that it can be judged like any other.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        With the parameters, not fitted; its penalty is an object.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Prepared: numbers without gaps, on one scale.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Targets or classes, NaN where they are not known.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        How independent tasks are fitted when the choice is judged; by default ``quick_search()``.
    tasks : array-like of shape (n_samples,), optional
        The task of each row, in long format.

    Returns
    -------
    ParameterChoice
        The estimator, and the rows that judge it.

    See Also
    --------
    choose_parameters : Chooses instead.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import given_parameters
    >>> from skmtl.penalties import Sparse
    >>> choice = given_parameters(MultiTaskRegressor(Sparse(0.9), alpha=1.0), *load_linnerud(return_X_y=True))
    >>> choice.alphas, choice.reasons
    ([1.0], ('Parameters are as given.',))
    """
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    rows = draw_rows(X, Y, estimator.kernel, tasks=tasks)
    search = quick_search(estimator.penalty) if search is None else search
    return ParameterChoice(estimator, search, [estimator.alpha], rows, ("Parameters are as given.",))


def compare_with_independent(
    choice: ParameterChoice,
    X: Any,
    Y: Any,
    *,
    tasks: Any = None,
    cv: int = N_FOLDS,
    callback: Callback | None = None,
) -> pd.DataFrame:
    """The chosen method beside independent tasks, task by task.

    Both may take the strength that the search found best for either of them, chosen anew in every fold; all other
    parameters are held. Where independent tasks were chosen, the method is that of the search.

    Parameters
    ----------
    choice : ParameterChoice
        What :func:`choose_parameters` or :func:`given_parameters` returns.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows on which the choice was made.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Their targets or classes.
    tasks : array-like of shape (n_samples,), optional
        The task of each row, in long format.
    cv : int, default=5
        The number of folds.
    callback : callable, optional
        Called with ``{"done": k, "total": n}`` after every fit, for a progress bar.

    Returns
    -------
    DataFrame
        As :func:`compare_methods` returns it.

    See Also
    --------
    choose_parameters : Makes the choice.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skmtl.model_selection import choose_parameters, compare_with_independent
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> choice = choose_parameters(X, Y, kernels=["linear"])
    >>> compare_with_independent(choice, X, Y)["task"].tolist()
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """
    estimator, rows = choice.estimator, choice.rows
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)[rows]
    penalty = choice.search.penalty if estimator.penalty.name == Independent.name else estimator.penalty
    held = {
        "alphas": choice.alphas,
        "mus": None if penalty.path_parameter is None else [penalty.get_params()[penalty.path_parameter]],
        "commons": [estimator.common],
        "metric_rounds": estimator.metric_rounds,
    }
    search = at_kernel(choice.search, estimator.kernel, X, gamma=estimator.gamma, **held)
    Y, tasks = take_rows(Y, rows), take_rows(tasks, rows)
    return compare_methods(X, Y, {penalty.name: penalty}, estimator=search, cv=cv, tasks=tasks, callback=callback)


def _best_alphas(search: Any) -> list[float]:
    """The best strengths of shared and of independent tasks in a fitted search, and the one that it chose."""
    results = search.cv_results_
    alphas = np.array(results["param_alpha"], dtype=float)
    apart = np.array(results["param_penalty"] == Independent.name) & np.array(results["param_common"] == 0.0)
    means = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    best = {int(np.argmax(np.where(which, means, -np.inf))) for which in (apart, ~apart) if which.any()}
    return sorted({float(alphas[i]) for i in best} | {float(alphas[search.best_index_])})
