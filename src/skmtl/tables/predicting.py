"""Predictions for the rows of a table, in columns called like their targets."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skmtl.export import last_step
from skmtl.tables.column_names import PathLike, plain_name
from skmtl.tables.columns import FeatureColumns, describe_far
from skmtl.tables.csv_files import TableFormat
from skmtl.tables.files import check_columns, read_with_notes
from skmtl.tables.intervals import add_intervals
from skmtl.tables.pipeline import CATEGORIES, PREPARE, TablePipeline, feature_columns

# What is asked for, and the method of the estimator that gives it.
KINDS = {"predictions": "predict", "probabilities": "predict_proba", "scores": "decision_function"}
PREDICTION = "prediction"
# How many values are named in a sentence.
MOST_NAMED = 3


def predict_frame(model: Any, frame: pd.DataFrame, *, kind: str = "predictions", tasks: Any = None) -> pd.DataFrame:
    """Predictions for the rows of a table, a column per task.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    frame : DataFrame
        Has the columns that the model needs, in any order, and perhaps others.
    kind : {"predictions", "probabilities", "scores"}, default="predictions"
        For classes also their probabilities, where the loss gives them, or their scores.
    tasks : Series, optional
        The task of each row, where only that one is predicted.

    Returns
    -------
    DataFrame
        Columns are called like the tasks; a single column like its target, or ``prediction`` where its name is not
        known; probabilities and scores of classes like the classes. The index is that of the table.

    See Also
    --------
    predict_table : The same of a file.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import predict_frame
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> predict_frame(MultiTaskRegressor(alpha=0.1).fit(X, Y), X.head(2)).shape
    (2, 3)
    """
    features, estimator = feature_columns(model), last_step(model)
    rows = frame if features is None else features.clean(frame)
    given = {} if tasks is None else {"tasks": tasks}
    values = np.asarray(_method(model, estimator, kind)(rows, **given))
    return pd.DataFrame(
        values.reshape(len(values), -1), columns=_names(model, estimator, kind, values, tasks), index=frame.index
    )


def _method(model: Any, estimator: Any, kind: str) -> Any:
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(KINDS)}.")
    if kind != "predictions" and not is_classifier(estimator):
        raise ValueError(f"the model predicts numbers, which have no {kind}; ask for predictions.")
    try:
        return getattr(model, KINDS[kind])
    except AttributeError as error:
        raise ValueError(f"the model gives no {kind}; fit it with loss='logistic', or ask for scores.") from error


def _names(model: Any, estimator: Any, kind: str, values: Any, tasks: Any) -> list[Any]:
    """A name for each column of predictions."""
    target = model.target if isinstance(model, TablePipeline) and model.target is not None else None
    if values.ndim == 1:
        # Classes of one column are no task's predictions: every class is a task. In long format tasks share a column.
        if target is None and not is_classifier(estimator) and tasks is None:
            return [estimator.task_names_.tolist()[0]]
        return [PREDICTION if target is None else target]
    names = estimator.task_names_.tolist()
    if len(names) == values.shape[1] and (len(names) > 1 or not is_classifier(estimator)):
        return names
    # The probabilities of two classes, which are one task.
    return [f"{target}: {name}" if target else str(name) for name in estimator.classes_.tolist()]


def predict_table(
    model: Any,
    path: PathLike,
    written: TableFormat | None = None,
    *,
    task_column: str | None = None,
    keep: Sequence[str] = (),
    kind: str = "predictions",
    interval: float | None = None,
) -> pd.DataFrame:
    """Predictions for the rows of a file.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    path : str or path
        A table, see :func:`read_table`.
    written : TableFormat, optional
        How CSV is written; by default that is recognized.
    task_column : str, optional
        The column that says which task a row is of; then every row has a prediction for that task only.
    keep : sequence of str, default=()
        Columns of the table that stand before the predictions, such as ids.
    kind : {"predictions", "probabilities", "scores"}, default="predictions"
        As for :func:`predict_frame`.
    interval : float, optional
        How often a label is to lie between the ends of intervals, such as 0.9, which are added then.

    Returns
    -------
    DataFrame
        The columns to keep, ``task_column``, and a column per task, or one. With ``interval`` after each the columns
        ``low`` and ``high``, with the name of the task before them where there are several.

    Warns
    -----
    UserWarning
        Where a category was not there when the model was fitted, and where numbers that can be read in two ways were
        read as those of the fit.

    See Also
    --------
    predict_frame : The same of a table in memory.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import predict_table, write_table
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(X, f"{folder}/rows.csv")
    ...     predict_table(est, f"{folder}/rows.csv", keep=["Jumps"]).columns.tolist()
    ['Jumps', 'Weight', 'Waist', 'Pulse']
    """
    features = feature_columns(model)
    # Columns that were text when the model was fitted are text now, and ids stay as they are written.
    text = list(keep) if features is None else list(features.texts)
    kept = [] if features is None else [name for name in keep if name not in (*features.names, task_column)]
    if task_column is not None and all(isinstance(name, str) for name in last_step(model).task_names_.tolist()):
        text.append(task_column)
    text = [plain_name(name) for name in text if features is None or name not in features.numbers]
    usual = model.marks if isinstance(model, TablePipeline) else None
    frame, _, _ = read_with_notes(path, written, text=text, kept=kept, usual=usual)
    for name in keep:
        if list(keep).count(name) > 1:
            raise ValueError(f"column {name!r} is to be kept twice; name it once.")
    check_columns(path, frame, [*keep, *([] if task_column is None else [task_column])])
    tasks = None if task_column is None else frame[task_column].astype(object)
    rows = frame.drop(columns=[] if task_column is None or features is not None else [task_column])
    if features is not None:
        # A table in memory may have had blanks around its names.
        rows = rows.rename(columns={plain_name(name): name for name in features.names})
        check_columns(path, rows, features.names)
    for sentence in [*unseen_categories(model, rows), *_far_dates(features, rows)]:
        warnings.warn(sentence, UserWarning, stacklevel=2)
    predictions = predict_frame(model, rows, kind=kind, tasks=tasks)
    if interval is not None:
        given = rows if features is None else features.clean(rows)
        predictions = add_intervals(model, given, predictions, interval, tasks)
    passed = frame[[*keep, *([task_column] if task_column and task_column not in keep else [])]]
    twice = [str(name) for name in predictions.columns if str(name) in passed.columns]
    if twice:
        raise ValueError(f"{twice[0]!r} is a column to keep and a target; leave it out of --keep.")
    return pd.concat([passed, predictions], axis=1)


def _far_dates(features: FeatureColumns | None, frame: pd.DataFrame) -> list[str]:
    dates = {} if features is None else features.dates
    return [said for name, written in dates.items() for said in describe_far(name, frame[name], written)]


def unseen_categories(model: Any, frame: pd.DataFrame) -> list[str]:
    """Sentences about values that were not there when the model was fitted, and so are none of the known ones."""
    prepare = dict(model.steps).get(PREPARE) if isinstance(model, Pipeline) else None
    if prepare is None or CATEGORIES not in prepare.named_transformers_:
        return []
    encoder = prepare.named_transformers_[CATEGORIES][-1]
    columns = {name: list(names) for name, _, names in prepare.transformers}[CATEGORIES]
    said = []
    for name, known in zip(columns, encoder.categories_, strict=True):
        values = frame[name].dropna().astype(str)
        new = values[~values.isin([str(value) for value in known])]
        if len(new):
            shown = list(dict.fromkeys(new))
            listed = ", ".join(map(repr, shown[:MOST_NAMED])) + (", ..." if len(shown) > MOST_NAMED else "")
            rows = "1 row" if len(new) == 1 else f"{len(new):,} rows"
            said.append(f"column {name!r} has values in {rows} that were not there at the fit: {listed}.")
    return said
