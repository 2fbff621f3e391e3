"""The model that is saved: columns as they come from a file, prepared, then the tasks."""

from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl.cli.columns import Features

NUMBERS, CATEGORIES = "numbers", "categories"


def make_preparation(features: Features) -> ColumnTransformer:
    """Impute and standardise numbers; impute and one-hot encode categories, unknown ones as none of the known."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    parts = [(NUMBERS, numbers, features.numbers), (CATEGORIES, categories, features.categories)]
    return ColumnTransformer([part for part in parts if part[2]])


def make_model(features: Features, estimator: Any) -> Pipeline:
    """Preparation and estimator as one."""
    return Pipeline([("prepare", make_preparation(features)), ("tasks", estimator)])


def features_of(model: Any) -> Features | None:
    """The columns that a model needs; None where it does not know them."""
    parts = dict(getattr(model, "steps", ()))
    if isinstance(parts.get("prepare"), ColumnTransformer):
        columns = {name: list(names) for name, _, names in parts["prepare"].transformers}
        return Features(columns.get(NUMBERS, []), columns.get(CATEGORIES, []))
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else Features(list(names), [])


def named_predictions(estimator: Any, values: Any) -> pd.DataFrame:
    """Predictions with a column per task; classes of one column have no task's name."""
    if values.ndim == 1:
        name = "prediction" if hasattr(estimator, "classes_") else estimator.task_names_[0]
        return pd.DataFrame({name: values})
    return pd.DataFrame(values, columns=estimator.task_names_)
