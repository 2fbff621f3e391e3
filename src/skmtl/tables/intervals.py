"""Intervals around the predictions of a table, as columns beside them."""

from typing import Any

import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline


def add_intervals(
    model: Any, rows: pd.DataFrame, predictions: pd.DataFrame, coverage: float, tasks: Any = None
) -> pd.DataFrame:
    """Predictions with the ends of intervals beside each: ``low`` and ``high`` after the name of the task.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted; a regressor.
    rows : DataFrame
        The rows as the model takes them.
    predictions : DataFrame
        Of these rows, a column per task; or with ``tasks`` any columns, of which the last is the prediction.
    coverage : float
        How often a label is to lie between the ends.
    tasks : sequence, optional
        The task of each row.

    Returns
    -------
    DataFrame
        With two more columns per task, or ``low`` and ``high`` at the end with ``tasks``.
    """
    *preparation, (_, estimator) = model.steps if isinstance(model, Pipeline) else [("estimator", model)]
    if is_classifier(estimator):
        raise ValueError("intervals are for numbers, and this model predicts classes; it has probabilities instead.")
    prepared = Pipeline(preparation).transform(rows) if preparation else rows
    low, high = estimator.predict_interval(prepared, tasks, coverage=coverage)
    names = [str(name) for name in predictions.columns]
    if tasks is not None:
        _check_ends(names, ["low", "high"])
        return predictions.assign(low=low, high=high)
    _check_ends(names, [f"{name} {end}" for name in names for end in ("low", "high")])
    columns = {}
    for t, (name, low_t, high_t) in enumerate(
        zip(names, low.reshape(len(low), -1).T, high.reshape(len(high), -1).T, strict=True)
    ):
        columns[name], columns[f"{name} low"], columns[f"{name} high"] = predictions.iloc[:, t], low_t, high_t
    return pd.DataFrame(columns, index=predictions.index)


def _check_ends(names: list[str], ends: list[str]) -> None:
    """No target may be called as the end of an interval is: one would stand in the place of the other."""
    for name in names:
        if name in ends:
            raise ValueError(
                f"{name!r} is a target, and the end of an interval would be called so too; predict without intervals, "
                "or fit the target under another name."
            )
