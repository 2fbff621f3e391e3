"""Parameters that were chosen or given, judged beside independent tasks."""

from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_array

from skmtl.model_selection.held_out import WHY_KEPT, describe_comparison
from skmtl.model_selection.judging import Judgement, is_apart, judge_model
from skmtl.model_selection.kernel_choice import N_FOLDS, Callback, at_kernel, take_rows
from skmtl.model_selection.parameter_choice import ParameterChoice
from skmtl.model_selection.scores import SCORES
from skmtl.model_selection.verdict import PASSED_OVER, method_name
from skmtl.penalties import Independent

ASKED_FOR, WAS_AHEAD = ", as was asked for", ", which was ahead in the search"
SPARSEST = f", in the search{PASSED_OVER.removeprefix(',')}"


def judge_choice(
    choice: ParameterChoice,
    X: Any,
    Y: Any,
    *,
    tasks: Any = None,
    groups: Any = None,
    cv: int = N_FOLDS,
    callback: Callback | None = None,
) -> Judgement:
    """The model with the parameters that were chosen, beside independent tasks and a constant, task by task.

    All parameters are held. Independent tasks have the strength that suits them best; where they were chosen
    themselves, the best of the shared candidates stands beside them.

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
    groups : array-like of shape (n_samples,), optional
        Rows of a group stay together in the folds.
    cv : int, default=5
        The number of folds.
    callback : callable, optional
        Called with ``{"done": k, "total": n}`` after every fold, for a progress bar.

    Returns
    -------
    Judgement
        Scores, the verdict in one sentence, and predictions of rows held out.

    See Also
    --------
    choose_parameters : Makes the choice.
    judge_model : Judges any model.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skmtl.model_selection import choose_parameters, judge_choice
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> choice = choose_parameters(X, Y, kernels=["linear"])
    >>> judge_choice(choice, X, Y).comparison["task"].tolist()
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)[choice.rows]
    Y = take_rows(Y, choice.rows)
    parts = {"tasks": take_rows(tasks, choice.rows), "groups": take_rows(groups, choice.rows)}
    rival = choice.rival if choice.rival is not None else _best_alone(choice, X, Y, parts)
    scoring = choice.search.scoring if choice.search.scoring in (None, *SCORES) else None
    held = {"rival": rival, "cv": cv, "scoring": scoring, "n_jobs": choice.search.n_jobs}
    found = judge_model(choice.estimator, X, Y, **held, **parts, callback=callback)
    found.comparison.attrs[WHY_KEPT] = _why_kept(choice)
    return replace(found, verdict=describe_comparison(found.comparison, kept=_method(choice.estimator)))


def _method(estimator: Any) -> str:
    """What a model shares, by name."""
    return method_name(estimator.penalty.name, estimator.common)


def _why_kept(choice: ParameterChoice) -> str:
    """Why this model and not its rival: it was asked for, or the search preferred it."""
    if choice.contest is None or _method(choice.search.best_estimator_) != _method(choice.estimator):
        return ASKED_FOR
    return SPARSEST if choice.search.rule == "1se" else WAS_AHEAD


def _best_alone(choice: ParameterChoice, X: Any, Y: Any, parts: dict[str, Any]) -> dict[str, Any] | None:
    """Independent tasks with the strength that suits them best, beside a model that was given."""
    estimator = choice.estimator
    if is_apart(estimator):
        return None
    alone = {"penalty": Independent(), "mus": None, "commons": [0.0], "alphas": None, "eps_factors": None}
    alone |= {"n_components": estimator.n_components, "random_state": estimator.random_state}
    search = at_kernel(clone(choice.search).set_params(**alone), estimator.kernel, X, gamma=estimator.gamma)
    fitted = search.fit(X, Y, **parts)
    return {"penalty": Independent(), "alpha": fitted.alpha_, "common": 0.0, "eps": "auto"}
