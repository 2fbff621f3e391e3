"""The model that is saved: columns as they come from a file, prepared, then the tasks."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl.export import last_step
from skmtl.tables.columns import FeatureColumns
from skmtl.tables.files import PathLike, check_columns, read_table
from skmtl.tables.intervals import add_intervals

# Names in the saved pipeline, by which `feature_columns` finds the columns again; models on disk have them.
PREPARE, TASKS = "prepare", "tasks"
NUMBERS, CATEGORIES = "numbers", "categories"


def make_preparation(features: FeatureColumns) -> ColumnTransformer:
    """The transformer from columns of a table to rows of numbers.

    Numbers are imputed with the median and standardized; categories are imputed with the most frequent one and
    one-hot encoded, and a category that was not there at ``fit`` is none of the known.

    Parameters
    ----------
    features : FeatureColumns
        The columns by kind.

    Returns
    -------
    ColumnTransformer
        Not fitted.

    See Also
    --------
    make_model : The same with an estimator behind it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables import make_preparation, sort_columns
    >>> frame = pd.DataFrame({"age": [30.0, None, 50.0], "colour": ["red", "blue", None]})
    >>> columns = sort_columns(frame, frame.columns)
    >>> make_preparation(columns).fit_transform(columns.clean(frame)).shape
    (3, 3)
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    parts = [(NUMBERS, numbers, features.numbers), (CATEGORIES, categories, features.categories)]
    return ColumnTransformer([part for part in parts if part[2]])


def make_model(features: FeatureColumns, estimator: Any) -> Pipeline:
    """Preparation and estimator as one pipeline, which ``save_model`` can save.

    Parameters
    ----------
    features : FeatureColumns
        The columns by kind.
    estimator : MultiTaskRegressor, MultiTaskClassifier, or a search for one of them
        Not fitted.

    Returns
    -------
    Pipeline
        Not fitted. In long format its ``fit`` takes the task of every row as ``tasks__tasks``.

    See Also
    --------
    predict_frame : Predictions of the pipeline for a table, with the names of the tasks.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import ColumnRoles, make_model, make_problem, predict_frame
    >>> frame = load_linnerud(as_frame=True).frame
    >>> problem = make_problem(frame, ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> model = make_model(problem.features, MultiTaskRegressor(alpha=0.1)).fit(problem.X, problem.Y)
    >>> predict_frame(model, frame).columns.tolist()
    ['Weight', 'Waist', 'Pulse']
    """
    return Pipeline([(PREPARE, make_preparation(features)), (TASKS, estimator)])


def feature_columns(model: Any) -> FeatureColumns | None:
    """The columns that a fitted model needs.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.

    Returns
    -------
    FeatureColumns or None
        None where the model was fitted without names of columns.

    See Also
    --------
    make_model : A pipeline that knows them by kind.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import feature_columns
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> feature_columns(est).names
    ['Chins', 'Situps', 'Jumps']
    """
    parts = dict(model.steps) if isinstance(model, Pipeline) else {}
    if isinstance(parts.get(PREPARE), ColumnTransformer):
        columns = {name: list(names) for name, _, names in parts[PREPARE].transformers}
        return FeatureColumns(columns.get(NUMBERS, []), columns.get(CATEGORIES, []))
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else FeatureColumns(list(names), [])


def prepared_names(model: Any) -> list[str] | None:
    """The names of the features that the estimator of a fitted model sees: columns, and values of categories.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.

    Returns
    -------
    list of str or None
        None where nothing is prepared.

    See Also
    --------
    make_preparation : Prepares them.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import make_model, prepared_names, sort_columns
    >>> frame = pd.DataFrame({"age": [30.0, 40.0, 50.0], "colour": ["red", "blue", "red"]})
    >>> columns = sort_columns(frame, frame.columns)
    >>> prepared_names(make_model(columns, MultiTaskRegressor()).fit(frame, [1.0, 2.0, 4.0]))
    ['age', 'colour_blue', 'colour_red']
    """
    prepare = dict(model.steps).get(PREPARE) if isinstance(model, Pipeline) else None
    if not isinstance(prepare, ColumnTransformer):
        return None
    # Scikit-learn puts the name of the transformer before that of the column.
    return [str(name).split("__", 1)[1] for name in prepare.get_feature_names_out()]


def predict_frame(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Predictions for the rows of a table, a column per task.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    frame : DataFrame
        Has the columns that the model needs, in any order, and perhaps others.

    Returns
    -------
    DataFrame
        Columns are called like the tasks, and classes of a single target ``prediction``; the index is that of the
        table.

    See Also
    --------
    predict_table : The same of a file, and for the task of each row.

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
    values = np.asarray(model.predict(frame if features is None else features.clean(frame)))
    if values.ndim == 1:
        # Classes of one column are no task's predictions: every class is a task.
        name = "prediction" if is_classifier(estimator) else estimator.task_names_[0]
        return pd.DataFrame({name: values}, index=frame.index)
    return pd.DataFrame(values, columns=estimator.task_names_, index=frame.index)


def predict_table(
    model: Any,
    path: PathLike,
    *,
    task_column: str | None = None,
    delimiter: str | None = None,
    interval: float | None = None,
) -> pd.DataFrame:
    """Predictions for the rows of a file.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    path : str or path
        A CSV or Parquet file, see :func:`read_table`.
    task_column : str, optional
        The column that says which task a row is of; then every row has a prediction for that task only.
    delimiter : str, optional
        What separates columns of CSV.
    interval : float, optional
        How often a label is to lie between the ends of intervals, such as 0.9, which are added then.

    Returns
    -------
    DataFrame
        A column per task; or ``task_column`` and ``prediction``. With ``interval`` after each the columns ``low`` and
        ``high``, with the name of the task before them where there are several.

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
    ...     predict_table(est, f"{folder}/rows.csv").columns.tolist()
    ['Weight', 'Waist', 'Pulse']
    """
    features = feature_columns(model)
    # Columns that were text when the model was fitted are text now, whatever they look like in this file.
    text = [] if features is None else [*features.categories]
    if task_column is not None and all(isinstance(name, str) for name in last_step(model).task_names_.tolist()):
        text.append(task_column)
    frame = read_table(path, delimiter=delimiter, text=text)
    check_columns(path, frame, [] if task_column is None else [task_column])
    check_columns(path, frame, [] if features is None else features.names)
    if task_column is None:
        rows, tasks = frame if features is None else features.clean(frame), None
        predictions = predict_frame(model, frame)
    else:
        rows = frame.drop(columns=task_column) if features is None else features.clean(frame)
        tasks = frame[task_column].astype(object)
        predictions = pd.DataFrame({task_column: tasks, "prediction": model.predict(rows, tasks=tasks)})
    return predictions if interval is None else add_intervals(model, rows, predictions, interval, tasks)
