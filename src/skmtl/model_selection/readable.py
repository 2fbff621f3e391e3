"""A graph to look at beside the one that predicts best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from skmtl.model_selection.folds import Callback
from skmtl.model_selection.path import settle
from skmtl.model_selection.stability import edge_stability
from skmtl.penalties import PENALTIES, Sparse

# How many of the stable edges may be false, in expectation.
MAX_FALSE = 1.0


def readable_graph(
    estimator: Any,
    X: ArrayLike,
    Y: ArrayLike,
    n_resamples: int = 100,
    *,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    sample_weight: ArrayLike | None = None,
    tasks: Any = None,
    groups: Any = None,
) -> pd.DataFrame:
    """The graph to look at: edges that come back on halves of the rows, at a mu that leaves few false ones.

    Cross-validation asks which graph predicts best, and often answers with one that joins every pair. This is
    ``edge_stability`` with ``max_false=1`` for any model: one whose penalty has no mu lends its kernel and its alpha to
    the sparse penalty.

    Parameters
    ----------
    estimator : MultiTaskRegressor or MultiTaskClassifier
        The model that predicts. Of a CV estimator, what it chooses on all rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``fit``.
    Y : array-like of shape (n_samples, n_tasks) or (n_samples,)
        Labels, as for ``fit``.
    n_resamples : int, default=100
        How many halves.
    n_jobs : int, optional
        Halves learned in parallel, through joblib.
    callback : callable, optional
        Called as by :func:`edge_stability`.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
        Weights, as for ``fit``.
    tasks : array-like of shape (n_samples,), optional
        Long format: the task of each row.
    groups : array-like of shape (n_samples,), optional
        Rows of one group are in the same half.

    Returns
    -------
    DataFrame
        As :func:`edge_stability` returns it; the graph is where ``stable`` is true.

    See Also
    --------
    both_graphs : Puts the relations that predict beside it.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import readable_graph
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> table = readable_graph(MultiTaskRegressor("trace", alpha=1.0), X, Y, n_resamples=10)
    >>> int(table["stable"].sum())
    0
    """
    rows = {"sample_weight": sample_weight, "tasks": tasks, "groups": groups}
    model = clone(settle(estimator, X, Y, **rows))
    penalty = PENALTIES[model.penalty] if isinstance(model.penalty, str) else model.penalty
    if penalty.path_parameter is None:
        model.set_params(penalty=Sparse(), solver="auto")
    return edge_stability(model, X, Y, n_resamples, max_false=MAX_FALSE, n_jobs=n_jobs, callback=callback, **rows)


def both_graphs(relations: pd.DataFrame, stability: pd.DataFrame | None) -> pd.DataFrame:
    """The relations of a model that predicts, and the stable ones, in one table.

    Parameters
    ----------
    relations : DataFrame
        What ``relations`` of a fitted model returns.
    stability : DataFrame or None
        What :func:`readable_graph` or :func:`edge_stability` returns.

    Returns
    -------
    DataFrame
        A row per pair that is in one graph or in both, the stable ones first: ``task_a``, ``task_b``; ``weight`` and
        ``correlation`` in the model that predicts, zero and NaN where it does not join them; ``stable``, whether the
        pair is in the graph to look at, with its ``frequency`` and its ``stable_weight`` there, at ``mu``.

    See Also
    --------
    readable_graph : The graph to look at.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.model_selection import both_graphs, readable_graph
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> est = MultiTaskRegressor("trace", alpha=1.0).fit(X, Y)
    >>> table = both_graphs(est.relations(), readable_graph(est, X, Y, n_resamples=10))
    >>> table["stable"].tolist()
    [False, False, False]
    """
    if stability is None:
        return relations
    pair = ["task_a", "task_b"]
    shown = stability[[*pair, "frequency", "weight", "stable", "mu"]].rename(columns={"weight": "stable_weight"})
    joined = relations.merge(shown, on=pair, how="outer")
    joined = joined[joined["stable"].eq(True) | joined["weight"].notna()]
    filled = joined.fillna({"weight": 0.0, "frequency": 0.0, "stable_weight": 0.0}).assign(
        stable=joined["stable"].eq(True), mu=stability.attrs.get("mu", np.nan)
    )
    order = np.lexsort((-filled["weight"].abs(), -filled["frequency"], ~filled["stable"]))
    return filled.iloc[order].reset_index(drop=True)
