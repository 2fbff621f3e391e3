"""Kernel and parameters chosen for prepared rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from skmtl.losses.base import check_loss
from skmtl.model_selection.candidates import AUTO, CandidateScores, choose, middle_alpha
from skmtl.model_selection.folds import MORE_FOLDS, N_DEALS
from skmtl.model_selection.gains import STEPS, describe_gains
from skmtl.model_selection.judging import OWN, best_rival, parameters_of
from skmtl.model_selection.kernel_choice import (
    N_FOLDS,
    Callback,
    Index,
    at_kernel,
    choose_kernel,
    count_factor,
    count_folds,
    crowded_reason,
    draw_rows,
    is_crowded,
    quick_search,
    report_progress,
    take_rows,
)
from skmtl.model_selection.landmark_choice import choose_landmarks, describe_landmarks, draw_affordable
from skmtl.model_selection.recommended import KERNELS
from skmtl.model_selection.scores import sees_order
from skmtl.penalties import check_penalty, named_penalty

# Searches stop early, for they only compare; the fit that is kept is exact.
FINAL_TOL = 1e-6

# With a larger factor of labels, or of gaps, than this a search takes one thing after another.
MOST_AT_ONCE = 500


@dataclass(frozen=True)
class ParameterChoice:
    """Parameters that :func:`choose_parameters` chose, or that were given.

    Attributes
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        With these parameters, not fitted.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV
        How candidates are fitted and compared; fitted where something was chosen.
    rows : ndarray of int
        The rows that decided, and that judge.
    kernel_reasons : tuple of str
        Which kernel is used, on which landmarks, and why, as sentences.
    other_reasons : tuple of str
        What else was chosen or given, on which rows, and what it gained, as sentences.
    rival : dict or None
        Parameters of the best candidate that shares, where the estimator does not, or the other way about; None where
        nothing was compared.
    contest : MultiTaskRegressorCV, MultiTaskClassifierCV or None
        The fitted search that compared kernels and metrics; ``search``, unless that had more rows and one kernel.

    See Also
    --------
    choose_parameters, given_parameters : Make one.
    judge_choice : Judges it.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.model_selection import choose_parameters, quick_search
    >>> search = quick_search(alphas=[1.0])
    >>> choice = choose_parameters(*load_linnerud(return_X_y=True), search=search, kernels=["linear"])
    >>> choice.estimator.alpha, len(choice.rows)
    (1.0, 20)
    """

    estimator: Any
    search: Any
    rows: Index
    kernel_reasons: tuple[str, ...]
    other_reasons: tuple[str, ...]
    rival: dict[str, Any] | None = None
    contest: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, as sentences."""
        return self.kernel_reasons + self.other_reasons


def choose_parameters(
    X: Any,
    Y: Any,
    *,
    search: Any = None,
    kernels: Sequence[str] = KERNELS,
    tasks: Any = None,
    groups: Any = None,
    keep_penalty: bool = False,
    callback: Callback | None = None,
) -> ParameterChoice:
    """Choose kernel, metric and everything else by cross-validation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Prepared: numbers without gaps, on one scale. Of many rows some are drawn at random: from 20,000 on for the
        linear kernel; for others 3000, 10,000 with landmarks, and a few hundred where labels are missing.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Targets or classes, NaN where they are not known.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        What is searched, kernel and inverse width apart; by default ``quick_search()``.
    kernels : sequence of str, default=("linear", "rbf", "laplacian")
        Kernels to choose from. These three are tried as ``kernel="auto"`` of the search does it: with a metric too,
        and with strengths of the tasks' own. In long format with many tasks only the first is tried.
    tasks : array-like of shape (n_samples,), optional
        The task of each row, in long format.
    groups : array-like of shape (n_samples,), optional
        Rows of a group stay together in the folds.
    keep_penalty : bool, default=False
        Whether the penalty of the search is the one to take, however independent tasks do.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "part": text}`` after every fold of every search, for a progress bar.

    Returns
    -------
    ParameterChoice
        An estimator with the best parameters, and why these.

    See Also
    --------
    judge_choice : Whether the choice is better than independent tasks.
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
    why, gamma = "", None
    if len(kernels) > 1 and is_crowded(X, tasks):
        kernels, why = kernels[:1], crowded_reason(kernels[0])
    if len(kernels) > 1 and tasks is None and count_factor(Y) > MOST_AT_ONCE:
        # Every kernel with every metric and relation would take minutes: the kernel first, with independent tasks.
        first = choose_kernel(X, Y, search=search, kernels=kernels, groups=groups)
        kernels, gamma, why = (first.kernel,), first.gamma, first.reason
    # All kernels on the same rows, so that their scores can be compared.
    rows = min((draw_rows(X, Y, kernel, tasks=tasks) for kernel in kernels), key=len)

    def fit(one: Any, rows: Index) -> Any:
        return one.fit(X[rows], take_rows(Y, rows), tasks=take_rows(tasks, rows), groups=take_rows(groups, rows))

    folds = count_folds(callback, 0, 2, "kernels" if len(kernels) > 1 else f"{kernels[0]} kernel")
    contest = fitted = fit(_search_kernels(search, kernels, X[rows], gamma).set_params(callback=folds), rows)
    # What the graph adds is for the judgement to say, once.
    gains, best, n_searched = describe_gains(fitted, STEPS[:-1]), fitted.best_estimator_, len(rows)
    report_progress(callback, 1, 2)
    held, more = _scale_up(search, best, X, Y, tasks)
    if len(more) > len(rows):
        # There is time for more of them, now that the kernel is known.
        # Landmarks may have changed the rule of the metric, which is then still to be compared with none.
        rounds = best.metric_rounds if held["metric_rule"] == best.metric_rule else [0, best.metric_rounds]
        geometry = {"gamma": best.gamma, "metric_rounds": rounds}
        folds = count_folds(callback, 1, 2, f"{best.kernel} kernel on {len(more):,} rows")
        rows = more
        fitted = fit(at_kernel(search, best.kernel, X[rows], **geometry, callback=folds, **held), rows)
    report_progress(callback, 2, 2)
    index = best_with_penalty(fitted) if keep_penalty else fitted.best_index_
    # The automatic eps is the one of the candidate, and of the rows that it is fitted to.
    geometry = {name: value for name, value in fitted.cv_results_["params"][index].items() if name not in OWN}
    other = {} if index == fitted.best_index_ else {**geometry, **parameters_of(fitted, index)}
    estimator = clone(fitted.best_estimator_).set_params(tol=FINAL_TOL, callback=None, **{**held, **other})
    named, *landmarks = _describe_kernel(estimator, X.shape[0], asked=search.n_components)
    others = describe_rows(len(rows), X.shape[0])
    others += [gains, *_other_folds(contest, n_searched, len(rows))] if gains else []
    reasons = (why or named, *landmarks), tuple(others)
    return ParameterChoice(estimator, fitted, rows, *reasons, best_rival(fitted, index), contest)


def _scale_up(search: Any, best: Any, X: Any, Y: Any, tasks: Any) -> tuple[dict[str, Any], Index]:
    """Landmarks where the table is large for the kernel that was found, and the rows that there is time for then.

    On landmarks a metric is one of slopes.
    """
    quadratic = check_loss(search.loss, purpose=search.model_class.purpose).quadratic
    n_components = search.n_components or choose_landmarks(best.kernel, X.shape[0], quadratic=quadratic)
    fewer = draw_rows(X, Y, best.kernel, tasks=tasks)
    more = draw_affordable(X, Y, best.kernel, fewer, n_components=n_components, tasks=tasks, quadratic=quadratic)
    if best.kernel == "linear" or n_components is None:
        return {"n_components": None, "metric_rule": best.metric_rule}, more
    return {"n_components": n_components, "random_state": 0, "metric_rule": "slopes"}, more


def describe_rows(n_used: int, n_rows: int) -> list[str]:
    """That only some rows chose and judged, and what that means, as sentences."""
    if n_used == n_rows:
        return []
    return [
        f"Parameters were chosen and scores found on {n_used:,} of {n_rows:,} rows, drawn at random; the model that is "
        "kept learns from all of them, and its scores are rather better."
    ]


def _other_folds(search: Any, n_searched: int, n_judged: int) -> list[str]:
    """Why the scores of a model that is judged are not those of the search, where they are not, as a sentence."""
    n_folds = sum(name.startswith("split") for name in search.cv_results_)
    if (n_folds, n_searched) == (N_FOLDS, n_judged):
        return []
    dealt = search.cv is None and search.rule == "best" and n_folds in (N_DEALS * N_FOLDS, N_DEALS * MORE_FOLDS)
    in_folds = f"{n_folds // N_DEALS} folds, dealt {N_DEALS} times" if dealt else f"{n_folds} folds"
    searched, judged = f"{n_searched:,} rows in {in_folds}", f"{n_judged:,} rows in {N_FOLDS} folds"
    whose = "The search" if n_searched == n_judged else "The search that chose the kernel"
    return [f"{whose} had {searched}; the model is judged on {judged}, so that scores differ."]


def best_with_penalty(search: Any) -> int:
    """The number of the candidate that a fitted search chooses by its rule among those that have its own penalty."""
    results, chosen = search.cv_results_, int(search.best_index_)
    asked = check_penalty(search.penalty, len(search.task_names_)).name
    own = np.flatnonzero([row["penalty"].name == asked for row in results["params"]])
    if chosen in own or not len(own):
        return chosen
    folds = np.array([scores for name, scores in results.items() if name.startswith("split")]).T
    outcome = CandidateScores(folds[own], results["mean_edges"][own, None], results["mean_test_score"][own])
    best = int(own[choose(outcome, search.rule)])
    if search.rule != "best" or not sees_order(search.scoring_):
        return best
    params = [str({**row, "alpha": None}) for row in results["params"]]
    return middle_alpha(
        [row["alpha"] for row in results["params"]], folds, best, [one == params[best] for one in params]
    )


def _describe_kernel(estimator: Any, n_rows: int, *, asked: int | None) -> list[str]:
    """Which kernel is used, on which features and landmarks, and why on these, unless they were asked for."""
    kernel = estimator.kernel if isinstance(estimator.kernel, str) else "given"
    rounds, n_components = estimator.metric_rounds, estimator.n_components
    often = {1: "once", 2: "twice"}.get(rounds, f"{rounds} times")
    times = f", on features scaled {often} by how much they matter" if rounds else ""
    if n_components is None:
        return [f"The {kernel} kernel is used{times}."]
    if asked is None:
        return [f"The {kernel} kernel is used{times}.", describe_landmarks(n_components, n_rows)]
    return [f"The {kernel} kernel is used{times}, approximated on {n_components:,} rows."]


def _search_kernels(search: Any, kernels: Sequence[str], X: Any, gamma: float | None) -> Any:
    """The search, not fitted, at one kernel or at several; the usual ones as the search itself recommends."""
    if len(kernels) == 1:
        return at_kernel(search, kernels[0], X, **({} if gamma is None else {"gamma": gamma}))
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
    >>> choice.estimator.alpha, choice.reasons
    (1.0, ('The linear kernel is used.', 'Parameters are as given.'))
    """
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    if isinstance(estimator.penalty, str):
        # Who judges it asks the penalty what it is.
        estimator = clone(estimator).set_params(penalty=named_penalty(estimator.penalty))
    search = quick_search(estimator.penalty) if search is None else search
    quadratic, asked = check_loss(estimator.loss, purpose=estimator.purpose).quadratic, estimator.n_components
    landmarks = choose_landmarks(estimator.kernel, X.shape[0], quadratic=quadratic)
    if asked is None and landmarks is not None:
        estimator = clone(estimator).set_params(n_components=landmarks, random_state=0)
    fewer = draw_rows(X, Y, estimator.kernel, tasks=tasks)
    held = {"n_components": estimator.n_components, "tasks": tasks, "quadratic": quadratic}
    rows = draw_affordable(X, Y, estimator.kernel, fewer, **held)
    kernel = _describe_kernel(estimator, X.shape[0], asked=asked)
    others = ["Parameters are as given.", *describe_rows(len(rows), X.shape[0])]
    return ParameterChoice(estimator, search, rows, tuple(kernel), tuple(others))
