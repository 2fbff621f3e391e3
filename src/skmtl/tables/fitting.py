"""From a table to a fitted model: parameters chosen, fitted to all rows, and judged."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from skmtl.model_selection import (
    Judgement,
    ParameterChoice,
    StructurePath,
    choose_parameters,
    compare_methods,
    describe_gains,
    given_parameters,
    interval_coverage,
    judge_choice,
    quick_search,
    readable_graph,
    structure_path,
)
from skmtl.model_selection.judging import graph_model
from skmtl.model_selection.kernel_choice import N_FOLDS, Callback, at_kernel, count_factor, take_rows
from skmtl.model_selection.recommended import KERNELS
from skmtl.penalties import Independent, Sparse
from skmtl.tables.pipeline import TASKS, feature_groups, make_model, make_preparation
from skmtl.tables.problem import TableProblem

# Values of mu along which the graph is shown, more of them where most edges appear.
PATH_MUS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
# Fewer folds than judge the choice: all values of mu are fitted in each. The path has the folds of the judgement, so
# that both show the same score at the same mu.
INNER_FOLDS = 3
N_HALVES = 20
# Rows for these with kernels other than the linear one.
MOST_GRAPH_ROWS = 2000
# With gaps a fit factorizes labels, or gaps, of which there may be this many.
MOST_GRAPH_LABELS = 600
# Graph and intervals take the scale of the features from the fit of all rows where theirs are at most this share of
# them. Such a scale is hardly learned from their own labels, and it need not be learned on every half and fold again,
# which is most of the work there.
KNOWN_SCALE = 0.1
# Rows on which several methods are compared, each with all its candidates in folds within folds.
MOST_COMPARED_ROWS = 20_000
# Why the scores of a comparison are not those of the search for a kernel.
ANEW = "The comparison chooses parameters anew within each fold, so that its scores differ from those of the search."
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
    judgement : Judgement
        The model beside independent tasks and a constant: scores, the verdict, and predictions of rows held out.
    path : StructurePath or None
        The graph along mu, where the method has one.
    stability : DataFrame or None
        How often edges come back on halves of the rows, at a mu that leaves few false ones: the graph to look at.
    intervals : DataFrame or None
        Labels of rows held out beside their intervals, of numbers with square loss.
    n_graph_rows : int or None
        The rows of path, stability and intervals: those that judged, or some of them.

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
    judgement: Judgement
    path: StructurePath | None
    stability: pd.DataFrame | None
    intervals: pd.DataFrame | None = None
    n_graph_rows: int | None = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator at the end of the pipeline."""
        return self.model[-1]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Which kernel, parameters and rows were used, and why, as sentences."""
        return self.choice.reasons

    @property
    def comparison(self) -> pd.DataFrame:
        """The model beside independent tasks, as ``compare_methods`` returns it."""
        return self.judgement.comparison


def fit_table(
    problem: TableProblem,
    *,
    search: Any = None,
    estimator: Any = None,
    kernels: Sequence[str] = KERNELS,
    keep_penalty: bool = False,
    keep_model: Callable[[Pipeline], None] | None = None,
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
    kernels : sequence of str, default=("linear", "rbf", "laplacian")
        Kernels to choose from, see :func:`skmtl.model_selection.choose_parameters`.
    keep_penalty : bool, default=False
        Whether the penalty of the search is the one to fit, however independent tasks do.
    keep_model : callable, optional
        Called with the fitted pipeline before it is judged, so that an interruption does not lose it.
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
    search, Z = _prepare(problem, search)
    rows, groups = {"X": Z, "Y": problem.Y, "tasks": problem.tasks}, problem.groups
    if estimator is None:
        choosing = _name_step(callback, "choosing parameters")
        held = {"search": search, "kernels": kernels, "keep_penalty": keep_penalty}
        choice = choose_parameters(**rows, groups=groups, **held, callback=choosing)
    else:
        choice = given_parameters(estimator, **rows, search=search)
    _name_step(callback, "fitting all rows")
    model = make_model(problem.features, clone(choice.estimator), target=problem.target, marks=problem.marks)
    known = {"tasks": problem.tasks, "groups": groups}
    model.fit(problem.X, problem.Y, **{f"{TASKS}__{name}": known[name] for name in known if known[name] is not None})
    if keep_model is not None:
        keep_model(model)
    judging = _name_step(callback, "comparing with independent tasks")
    judgement = judge_choice(choice, **rows, groups=groups, callback=judging)
    path, stability, intervals = None, None, None
    graph_rows = _graph_rows(choice, problem)
    try:
        some = {name: take_rows(values, graph_rows) for name, values in {**rows, "groups": groups}.items()}
        _name_step(callback, "following mu")
        n_tasks = len(model[-1].task_names_)
        scaled, X = _at_known_scale(choice.estimator, model[-1], some["X"], len(problem.X))
        shown, graphed = graph_model(scaled, choice.rival), {**some, "X": X}
        path = _follow_path(shown, n_tasks, graphed, choice.search.scoring)
        halving = _name_step(callback, "looking for the same edges on halves of the rows")
        if n_tasks > 1:
            stability = readable_graph(shown, **graphed, n_resamples=N_HALVES, callback=halving)
        _name_step(callback, "looking at intervals")
        # In the order of the table, so that folds are those of interval_coverage with the saved model.
        judged, held = (choice.estimator, some) if scaled.kernel == "precomputed" else (scaled, graphed)
        in_order = {name: take_rows(values, graph_rows.argsort()) for name, values in held.items()}
        intervals = _check_intervals(model[-1], judged, in_order)
    except KeyboardInterrupt:
        warnings.warn("interrupted: model and scores are there, what is known of the graph is not.", stacklevel=2)
    return TableFit(model, choice, judgement, path, stability, intervals, len(graph_rows))


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
    kernels : sequence of str, default=("linear", "rbf", "laplacian")
        Kernels to choose from, see :func:`skmtl.model_selection.choose_parameters`.
    callback : callable, optional
        Called as for :func:`fit_table`.

    Returns
    -------
    comparison : DataFrame
        As :func:`skmtl.compare_methods` returns it.
    reasons : tuple of str
        Which kernel and which rows were used, and why, and what kernel, metric and graph gained, as sentences.

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
    search, Z = _prepare(problem, search)
    choosing = _name_step(callback, "choosing the kernel")
    parts = {"tasks": problem.tasks, "groups": problem.groups}
    found = choose_parameters(Z, problem.Y, search=search, kernels=kernels, **parts, callback=choosing)
    best, rows = found.estimator, found.rows[:MOST_COMPARED_ROWS]
    comparing = _name_step(callback, "comparing")
    names = ("metric_rounds", "metric_rule", "n_components", "random_state")
    held = {name: best.get_params()[name] for name in names}
    one = at_kernel(search, best.kernel, Z[rows], gamma=best.gamma, mus=None, cv=INNER_FOLDS, n_jobs=None, **held)
    Y, some = take_rows(problem.Y, rows), {name: take_rows(values, rows) for name, values in parts.items()}
    options = {"estimator": one, "cv": N_FOLDS, "n_jobs": search.n_jobs, **some}
    comparison = compare_methods(Z[rows], Y, list(methods), **options, callback=comparing)
    sampled = f"Methods are compared on {len(rows):,} of {len(Z):,} rows, drawn at random."
    # What the graph adds belongs to the same sentence, and is known only now. No model is judged here, on other folds.
    gains = describe_gains(found.contest, comparison=comparison)
    said = (*([sampled] if len(rows) < len(Z) else []), *((gains, ANEW) if gains else ()))
    return comparison, found.kernel_reasons + said


def _prepare(problem: TableProblem, search: Any) -> tuple[Any, Any]:
    """The search, told which features are one column, and the rows as numbers."""
    default = quick_search(classification=problem.classification, scoring=problem.scoring)
    search = default if search is None else clone(search)
    preparation = make_preparation(problem.features)
    Z = preparation.fit_transform(problem.X)
    if len(problem.features.numbers) < len(problem.features.names):
        search.set_params(feature_groups=feature_groups(preparation))
    return search, Z


def _graph_rows(choice: ParameterChoice, problem: TableProblem) -> Any:
    """Rows for the many fits that a graph takes, fewer where a kernel, or gaps, make each of them long."""
    if choice.estimator.kernel == "linear":
        return choice.rows
    factor = count_factor(problem.Y) if problem.tasks is None else 0
    most = MOST_GRAPH_LABELS * len(problem.X) // factor if factor else MOST_GRAPH_ROWS
    return choice.rows[: min(most, MOST_GRAPH_ROWS)]


def _name_step(callback: Callback | None, step: str) -> Callback | None:
    """Say that a step begins; the callback for its parts."""
    if callback is None:
        return None
    callback({"step": step, "done": 0, "total": None})
    return lambda state: callback({"step": step, **state})


def _follow_path(model: Any, n_tasks: int, some: dict[str, Any], scoring: str | None) -> StructurePath | None:
    """The graph along mu, where the method has one; for independent tasks, what a graph would look like."""
    estimator = clone(model)
    if estimator.penalty.name == Independent.name:
        estimator.set_params(penalty=Sparse())
    if estimator.penalty.path_parameter is None or n_tasks == 1:
        return None
    return structure_path(estimator, **some, mus=PATH_MUS, cv=N_FOLDS, scoring=scoring)


def _at_known_scale(estimator: Any, fitted: Any, X: Any, n_rows: int) -> tuple[Any, Any]:
    """An estimator and its rows, scaled as those of a fit to many more rows, where that has learned a scale."""
    if not estimator.metric_rounds:
        return estimator, X
    known, feature_map = clone(estimator).set_params(metric_rounds=0), fitted.feature_map_
    if feature_map.feature_scale.ndim == 2:
        # A scale for each task takes too long to be learned on every half of the rows.
        return known.set_params(kernel="precomputed"), clone(feature_map).fit(X).transform(X)
    return (estimator, X) if len(X) > KNOWN_SCALE * n_rows else (known, X * feature_map.feature_scale)


def _check_intervals(fitted: Any, estimator: Any, some: dict[str, Any]) -> pd.DataFrame | None:
    """Labels of rows held out beside their intervals, where the model has some."""
    if is_classifier(fitted) or not fitted.loss_.quadratic:
        return None
    return interval_coverage(estimator, **some)
