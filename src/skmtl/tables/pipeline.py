"""The model that is saved: columns as they come from a file, prepared, then the tasks."""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl.tables.columns import FeatureColumns
from skmtl.tables.csv_files import Marks
from skmtl.tables.dates import CalendarParts
from skmtl.tables.hashing import HashedCategories

# Names in the saved pipeline, by which `feature_columns` finds the columns again; models on disk have them.
PREPARE, TASKS = "prepare", "tasks"
NUMBERS, CATEGORIES, MANY, DATES = "numbers", "categories", "many", "dates"


def make_preparation(features: FeatureColumns) -> ColumnTransformer:
    """The transformer from columns of a table to rows of numbers.

    Numbers are imputed with the median and standardized; categories are imputed with the most frequent one and
    one-hot encoded, and a category that was not there at ``fit`` is none of the known. Text with many values is hashed,
    and dates become a trend and their places in the year, the week and the day, standardized.

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
    dates = make_pipeline(CalendarParts(dict(features.dates)), SimpleImputer(strategy="median"), StandardScaler())
    parts = [
        (NUMBERS, numbers, features.numbers),
        (CATEGORIES, categories, features.categories),
        (MANY, HashedCategories(), features.many),
        (DATES, dates, list(features.dates)),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


class TablePipeline(Pipeline):
    """Preparation and estimator, what the one column of targets was called, and how numbers were written.

    Parameters
    ----------
    steps : list of tuple
        As for ``Pipeline``.
    target : str, optional
        The name of the column of classes, or of the labels of a long table: of these the estimator knows only the
        classes, or the tasks.
    marks : tuple of str, optional
        The decimal mark and the mark between thousands of the table, where its numbers were not plain: numbers of a
        new one that can be read in two ways are read alike.
    memory, transform_input, verbose
        As for ``Pipeline``.

    See Also
    --------
    make_model : Makes one.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl import MultiTaskClassifier
    >>> from skmtl.tables import FeatureColumns, make_model, predict_frame
    >>> frame = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0], "kind": ["a", "a", "b", "b"]})
    >>> model = make_model(FeatureColumns(["age"], []), MultiTaskClassifier(), target="kind")
    >>> predict_frame(model.fit(frame[["age"]], frame["kind"]), frame)["kind"].tolist()
    ['a', 'a', 'b', 'b']
    """

    # Models on disk may be older than these marks.
    marks: Marks | None = None

    def __init__(
        self,
        steps: Any,
        *,
        target: str | None = None,
        marks: Marks | None = None,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)
        self.target = target
        self.marks = marks


def feature_groups(preparation: ColumnTransformer) -> list[str]:
    """For every prepared feature the column it was made of; ``preparation`` is fitted."""
    widths: list[int] = []
    for name, step, columns in preparation.transformers_:
        if name == CATEGORIES:
            widths += [len(known) for known in step[-1].categories_]
        elif name == MANY:
            widths += [step.n_columns] * len(columns)
        elif name == DATES:
            widths += [int(kept.sum()) for kept in np.split(step[0].kept_, len(columns))]
        else:
            widths += [1] * len(columns)
    names = [column for _, _, columns in preparation.transformers_ for column in columns]
    return [str(name) for name, width in zip(names, widths, strict=True) for _ in range(width)]


def make_model(
    features: FeatureColumns, estimator: Any, *, target: str | None = None, marks: Marks | None = None
) -> TablePipeline:
    """Preparation and estimator as one pipeline, which ``save_model`` can save.

    Parameters
    ----------
    features : FeatureColumns
        The columns by kind.
    estimator : MultiTaskRegressor, MultiTaskClassifier, or a search for one of them
        Not fitted.
    target : str, optional
        What a single column of predictions is called.
    marks : tuple of str, optional
        The decimal mark and the mark between thousands of the table, where its numbers were not plain.

    Returns
    -------
    TablePipeline
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
    return TablePipeline([(PREPARE, make_preparation(features)), (TASKS, estimator)], target=target, marks=marks)


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
        steps = {name: (step, list(names)) for name, step, names in parts[PREPARE].transformers}
        numbers, categories, many = (steps.get(name, (None, []))[1] for name in (NUMBERS, CATEGORIES, MANY))
        dates = dict(steps[DATES][0][0].formats) if DATES in steps else {}
        return FeatureColumns(numbers, categories, dates=dates, many=many)
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
