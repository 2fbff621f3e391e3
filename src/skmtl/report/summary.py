"""What a fitted estimator has learned, as a dictionary of plain types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skmtl import __version__
from skmtl.model_selection import StructurePath, describe_gains
from skmtl.model_selection.base import MultiTaskSearch
from skmtl.model_selection.verdict import NOT_JUDGED, method_name
from skmtl.report.graphs import add_frequencies, predictive_graph, stability_mu, stable_graph
from skmtl.report.intervals import summarize_intervals
from skmtl.report.json_values import to_json, to_text
from skmtl.report.related import describe_related
from skmtl.report.results import (
    TaskIndex,
    common_weight,
    summarize_comparison,
    summarize_path,
    summarize_predictions,
    summarize_stability,
)
from skmtl.report.sentences import (
    describe_features,
    describe_next,
    describe_parameters,
    describe_proof,
    describe_sharing,
)


def summarize(
    estimator: Any,
    *,
    comparison: pd.DataFrame | None = None,
    stability: pd.DataFrame | None = None,
    path: StructurePath | None = None,
    intervals: pd.DataFrame | None = None,
    predictions: pd.DataFrame | None = None,
    about: Mapping[str, Any] | None = None,
    feature_names: ArrayLike | None = None,
) -> dict[str, Any]:
    """What a fitted estimator has learned, as a dictionary of plain types that :func:`render` turns into a page.

    Parameters
    ----------
    estimator : MultiTaskRegressor, MultiTaskClassifier, or a search for one of them
        Fitted.
    comparison : DataFrame, optional
        What ``compare_methods`` returns, or the ``comparison`` of ``judge_model``.
    stability : DataFrame, optional
        What ``edge_stability`` returns, best with ``max_false=1``: its stable edges are the graph to look at.
    path : StructurePath, optional
        What ``structure_path`` returns.
    intervals : DataFrame, optional
        What ``interval_coverage`` returns.
    predictions : DataFrame, optional
        The ``predictions`` that ``judge_model`` returns.
    about : dict, optional
        Facts for the head of the page, all optional: ``title``, ``rows``, ``features``, ``tasks``,
        ``labels observed``, ``preprocessing``, ``command``, ``rows that judged``, and ``rows of the graph`` where
        these are fewer.
    feature_names : array-like of shape (n_features,), optional
        Names of the features, where the estimator has seen none.

    Returns
    -------
    dict
        Lists, dictionaries, text, numbers, booleans and None only, so that JSON can hold it. Tasks are numbered
        as in ``tasks``. A sentence is a list of text and of numbers, which stand for the names of tasks.

    See Also
    --------
    render : Turns the summary into a page.
    save_results : Writes summary and page into a folder.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.report import summarize
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> [task["name"] for task in summarize(est)["tasks"]]
    ['Weight', 'Waist', 'Pulse']
    """
    check_is_fitted(estimator)
    penalty = estimator.penalty_
    index = TaskIndex(estimator.task_names_.tolist())
    mu = None if penalty.path_parameter is None else to_json(penalty.get_params()[penalty.path_parameter])
    compared = None if comparison is None else summarize_comparison(comparison, index, estimator)
    predictable, judged = _judge_tasks(compared, len(index.names))
    graph = predictive_graph(estimator, ~predictable, mu)
    graphs = [graph]
    if stability is not None:
        graphs.insert(0, stable_graph(stability, index, ~predictable))
        add_frequencies(graph, stability, index)
    summary: dict[str, Any] = {
        "skmtl": __version__,
        "kind": "classification" if is_classifier(estimator) else "regression",
        "about": {to_text(name): to_json(value) for name, value in (about or {}).items()},
        "tasks": _tasks(index.names, estimator.structure_, graph, predictable, judged),
        "graphs": graphs,
        "order": graph["order"],
        "structure": to_json(estimator.structure_),
        "correlation": to_json(estimator.correlation_),
        "relations": graph["relations"],
        "importances": _importances(estimator, feature_names),
        "penalty": to_text(penalty.name),
        "method": method_name(to_text(penalty.name), common_weight(estimator)),
        "mu": mu,
        "parameters": describe_parameters(_parameters_of(estimator), penalty, estimator.eps_),
        "selection": _selection(estimator),
        "certificate": _certificate(estimator.solution_),
        "comparison": compared,
        "stability": None if stability is None else summarize_stability(stability, index),
        "stability_mu": None if stability is None else stability_mu(stability),
        "path": None if path is None else summarize_path(path, index),
        "intervals": None if intervals is None else summarize_intervals(intervals, index),
        "predictions": None if predictions is None else summarize_predictions(predictions, index),
    }
    if summary["importances"]:
        summary["what_matters"] = describe_features(summary["importances"])
    summary["related"] = describe_related(summary)
    described = [describe_sharing(summary), summary["related"], describe_next(summary), describe_proof(summary)]
    summary["findings"] = [sentence for sentence in described if sentence]
    return summary


def _judge_tasks(compared: dict[str, Any] | None, n_tasks: int) -> tuple[Any, Any]:
    """Which tasks are predicted better than by a constant, and which have a score at all, as far as was measured."""
    predictable, judged = np.ones((2, n_tasks), dtype=bool)
    for row in compared["methods"][compared["shown"]]["tasks"] if compared else ():
        predictable[row["task"]], judged[row["task"]] = row["predictable"], row["verdict"] != NOT_JUDGED
    return predictable, judged


def _parameters_of(estimator: Any) -> dict[str, Any]:
    """What the estimator was constructed with; of a search, the estimator that it chose."""
    model = estimator.best_estimator_ if isinstance(estimator, MultiTaskSearch) else estimator
    return dict(model.get_params(deep=False))


def _tasks(
    names: list[str], structure: Any, graph: dict[str, Any], predictable: Any, judged: Any
) -> list[dict[str, Any]]:
    """Name, group, place and number of relations of every task, and whether it can be predicted, and be judged."""
    degrees = np.count_nonzero(structure, axis=1) - (np.diag(structure) != 0.0)
    places = {"group": graph["groups"], "place": graph["places"], "relations": degrees.tolist()}
    columns = {"name": names, **places, "predictable": predictable.tolist(), "judged": judged.tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _importances(estimator: Any, feature_names: ArrayLike | None) -> list[dict[str, Any]] | None:
    """The features by name with their shares, the largest first; None where slopes are not known.

    Features of one group, such as the categories of a column, are one row: the model knows the share of the group only.
    """
    try:
        shares = estimator.feature_importances_
    except AttributeError:
        # The slopes of some kernels are not known, and models saved by older versions lack what is needed for them.
        return None
    seen = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
    if estimator.feature_groups is not None:
        seen, codes = np.unique(np.asarray(estimator.feature_groups), return_inverse=True)
        shares = np.bincount(codes, shares)
    names = [f"x{k}" for k in range(len(shares))] if seen is None else [to_text(name) for name in np.asarray(seen)]
    return [{"name": names[k], "share": float(shares[k])} for k in np.argsort(-shares, kind="stable")]


def _selection(estimator: Any) -> dict[str, Any] | None:
    """What a search found; None of an estimator whose parameters were given."""
    if not isinstance(estimator, MultiTaskSearch):
        return None
    return {
        "verdict": to_text(estimator.verdict_),
        "gains": to_text(describe_gains(estimator)),
        "score": to_json(estimator.best_score_),
        "candidates": len(estimator.cv_results_["params"]),
    }


def _certificate(solution: Any) -> dict[str, Any]:
    names = ("objective", "lower_bound", "gap", "converged", "n_iter", "status")
    # The gap of the fit has a share for rounding on the way back to the user's units, which those on the way lack.
    along = np.maximum(solution.history["gap"], solution.gap if np.isfinite(solution.gap) else 0.0)
    return {
        **{name: to_json(getattr(solution, name)) for name in names},
        "words": solution.certificate,
        "history": to_json(along),
    }
