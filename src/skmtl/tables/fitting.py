"""From a table to a fitted model: parameters chosen, fitted to all rows, and judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skmtl.model_selection import (
    ParameterChoice,
    StructurePath,
    choose_kernel,
    choose_parameters,
    compare_methods,
    compare_with_independent,
    edge_stability,
    given_parameters,
    interval_coverage,
    quick_search,
    structure_path,
)
from skmtl.model_selection.kernel_choice import KERNELS, N_FOLDS, Callback, at_kernel, draw_rows, take_rows
from skmtl.penalties import Independent, Sparse
from skmtl.tables.pipeline import TASKS, make_model, make_preparation
from skmtl.tables.problem import TableProblem

# Values of mu along which the graph is shown, more of them where most edges appear.
PATH_MUS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
# Fewer folds than judge the choice: all values of mu are fitted in each.
PATH_FOLDS = INNER_FOLDS = 3
N_HALVES = 20
# How many of the stable edges may be false, in expectation, where the graph that predicts best is complete.
MAX_FALSE = 1.0
# With independent tasks, with which all are compared, these are five.
METHODS = ("sparse", "trace", "frobenius", "cluster")


@dataclass(frozen=True)
class TableFit:
    """A model fitted to a table, and all that was found out about it.

    Attributes
    ----------
    model : Pipeline
        Preparation and estimator, fitted to all rows.
    choice : ParameterChoice
        The parameters, and why.
    comparison : DataFrame
        The method beside independent tasks, as ``compare_methods`` returns it.
    path : StructurePath or None
        The graph along mu, where the method has one.
    stability : DataFrame or None
        How often edges come back on halves of the rows, where there are some.
    intervals : DataFrame or None
        Labels of rows held out beside their intervals, of numbers with square loss.

    See Also
    --------
    fit_table : Makes one.
    skmtl.report.save_results : Leave it in a folder.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.penalties import Trace
    >>> from skmtl.tables import ColumnRoles, fit_table, make_problem
    >>> problem = make_problem(load_linnerud(as_frame=True).frame, ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> result = fit_table(problem, estimator=MultiTaskRegressor(Trace(), alpha=1.0))
    >>> result.estimator.task_names_.tolist(), result.path is None
    (['Weight', 'Waist', 'Pulse'], True)
    """

    model: Pipeline
    choice: ParameterChoice
    comparison: pd.DataFrame
    path: StructurePath | None
    stability: pd.DataFrame | None
    intervals: pd.DataFrame | None = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator at the end of the pipeline."""
        return self.model[-1]


def fit_table(
    problem: TableProblem,
    *,
    search: Any = None,
    estimator: Any = None,
    kernels: Sequence[str] = KERNELS,
    callback: Callback | None = None,
) -> TableFit:
    """Choose parameters for a table, fit them to all its rows, and judge the result: what ``skmtl fit`` does.

    Parameters
    ----------
    problem : TableProblem
        What :func:`read_problem` or :func:`make_problem` returns.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        What is searched, kernel and inverse width apart; by default ``quick_search()``.
    estimator : MultiTaskRegressor or MultiTaskClassifier, optional
        With parameters that are taken as they are; then nothing is chosen, and the search only judges.
    kernels : sequence of str, default=("linear", "rbf")
        Kernels to choose from, see :func:`skmtl.model_selection.choose_kernel`.
    callback : callable, optional
        Called with ``{"step": text, "done": k, "total": n}`` as the work goes on, for a progress bar; n is None where
        it is not known.

    Returns
    -------
    TableFit
        The model, why it has these parameters, and how it compares with independent tasks.

    See Also
    --------
    compare_table : Several methods on a table.
    skmtl.report.save_results : Leave model, scores, relations and report in a folder.
    skmtl.save_model : Save the pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.penalties import Sparse
    >>> from skmtl.tables import ColumnRoles, fit_table, make_problem
    >>> frame = load_linnerud(as_frame=True).frame
    >>> problem = make_problem(frame, ColumnRoles(targets=["Weight", "Waist", "Pulse"]))
    >>> result = fit_table(problem, estimator=MultiTaskRegressor(Sparse(0.9), alpha=1.0))
    >>> result.model.predict(problem.X).shape
    (20, 3)
    """
    search = quick_search(classification=problem.classification) if search is None else search
    Z = make_preparation(problem.features).fit_transform(problem.X)
    rows = {"X": Z, "Y": problem.Y, "tasks": problem.tasks}
    if estimator is None:
        choosing = _name_step(callback, "choosing parameters")
        choice = choose_parameters(**rows, search=search, kernels=kernels, callback=choosing)
    else:
        choice = given_parameters(estimator, **rows, search=search)
    _name_step(callback, "fitting all rows")
    model = make_model(problem.features, clone(choice.estimator))
    model.fit(problem.X, problem.Y, **({} if problem.tasks is None else {f"{TASKS}__tasks": problem.tasks}))
    judging = _name_step(callback, "comparing with independent tasks")
    comparison = compare_with_independent(choice, **rows, callback=judging)
    some = {name: take_rows(values, choice.rows) for name, values in rows.items()}
    _name_step(callback, "following mu")
    path = _follow_path(choice, len(model[-1].task_names_), some)
    halving = _name_step(callback, "looking for the same edges on halves of the rows")
    stability = _find_stability(model[-1], choice, some, halving)
    _name_step(callback, "looking at intervals")
    return TableFit(model, choice, comparison, path, stability, _check_intervals(model[-1], choice, some))


def compare_table(
    problem: TableProblem,
    methods: Sequence[str] = METHODS,
    *,
    search: Any = None,
    kernels: Sequence[str] = KERNELS,
    callback: Callback | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Compare methods with independent tasks on a table, at the kernel that suits these best: ``skmtl compare``.

    Parameters
    ----------
    problem : TableProblem
        What :func:`read_problem` or :func:`make_problem` returns.
    methods : sequence of str, default=("sparse", "trace", "frobenius", "cluster")
        Penalties; their own parameters are searched.
    search : MultiTaskRegressorCV or MultiTaskClassifierCV, optional
        What is searched, apart from the kernel and the grid of mu, which is the penalty's own; by default
        ``quick_search()``.
    kernels : sequence of str, default=("linear", "rbf")
        Kernels to choose from, see :func:`skmtl.model_selection.choose_kernel`.
    callback : callable, optional
        Called as for :func:`fit_table`.

    Returns
    -------
    comparison : DataFrame
        As :func:`skmtl.compare_methods` returns it.
    reasons : tuple of str
        Which kernel and which rows were used, and why, as sentences.

    See Also
    --------
    fit_table : Fit a model.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.model_selection import quick_search
    >>> from skmtl.tables import ColumnRoles, compare_table, make_problem
    >>> problem = make_problem(load_linnerud(as_frame=True).frame, ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> comparison, _ = compare_table(problem, ["trace"], search=quick_search(alphas=[1.0]), kernels=["linear"])
    >>> comparison["task"].tolist()
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """
    if problem.n_tasks < 2:
        raise ValueError("there is one task only, and nothing to share; name several targets.")
    search = quick_search(classification=problem.classification) if search is None else search
    Z = make_preparation(problem.features).fit_transform(problem.X)
    choosing = _name_step(callback, "choosing the kernel")
    found = choose_kernel(Z, problem.Y, search=search, kernels=kernels, tasks=problem.tasks, callback=choosing)
    rows = draw_rows(Z, problem.Y, found.kernel, tasks=problem.tasks)
    comparing = _name_step(callback, "comparing")
    held = at_kernel(search, found.kernel, Z[rows], gamma=found.gamma, mus=None, cv=INNER_FOLDS)
    Y, tasks = take_rows(problem.Y, rows), take_rows(problem.tasks, rows)
    comparison = compare_methods(Z[rows], Y, list(methods), estimator=held, cv=N_FOLDS, tasks=tasks, callback=comparing)
    sampled = f"Methods are compared on {len(rows)} of {len(Z)} rows, drawn at random." if len(rows) < len(Z) else ""
    return comparison, tuple(reason for reason in (found.reason, sampled) if reason)


def _name_step(callback: Callback | None, step: str) -> Callback | None:
    """Say that a step begins; the callback for its parts."""
    if callback is None:
        return None
    callback({"step": step, "done": 0, "total": None})
    return lambda state: callback({"step": step, **state})


def _follow_path(choice: ParameterChoice, n_tasks: int, some: dict[str, Any]) -> StructurePath | None:
    """The graph along mu, where the method has one; for independent tasks, what a graph would look like."""
    estimator = clone(choice.estimator)
    if estimator.penalty.name == Independent.name:
        estimator.set_params(penalty=Sparse())
    if estimator.penalty.path_parameter is None or n_tasks == 1:
        return None
    return structure_path(estimator, **some, mus=PATH_MUS, cv=PATH_FOLDS)


def _find_stability(
    fitted: Any, choice: ParameterChoice, some: dict[str, Any], callback: Callback | None
) -> pd.DataFrame | None:
    """How often edges come back, where there are some; where every pair is one, with a mu that lets fewer pass."""
    n_tasks = len(fitted.structure_)
    n_edges = np.count_nonzero(np.triu(fitted.structure_, 1))
    dense = n_edges == n_tasks * (n_tasks - 1) // 2
    can_thin_out = choice.estimator.penalty.path_parameter is not None and n_tasks > 2
    if n_edges == 0 or (dense and not can_thin_out):
        return None
    max_false = MAX_FALSE if dense else None
    return edge_stability(choice.estimator, **some, n_resamples=N_HALVES, max_false=max_false, callback=callback)


def _check_intervals(fitted: Any, choice: ParameterChoice, some: dict[str, Any]) -> pd.DataFrame | None:
    """Labels of rows held out beside their intervals, where the model has some."""
    if fitted.purpose != "regression" or not fitted.loss_.quadratic:
        return None
    return interval_coverage(choice.estimator, **some)
