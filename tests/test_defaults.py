"""What is declared: values of arguments that nobody gives, beside the documentation, and tags for scikit-learn."""

import ast
import importlib
import inspect
import re

import pytest
from numpydoc.docscrape import FunctionDoc
from sklearn.utils import get_tags

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV

ROOMS = ("skmtl", "skmtl.losses", "skmtl.penalties", "skmtl.features", "skmtl.model_selection")


def public():
    """Functions, classes and public methods by their names."""
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{room}.{name}", value
            if inspect.isclass(value):
                for key, method in inspect.getmembers(value, inspect.isfunction):
                    if not key.startswith("_") and (method.__module__ or "").startswith("skmtl"):
                        yield f"{room}.{name}.{key}", method


PUBLIC = dict(public())


def documented(value):
    """Parameters and the default that the documentation names for them; None where they are optional."""
    if not inspect.getdoc(value):
        return {}
    found = {}
    for entry in FunctionDoc(value)["Parameters"]:
        said = re.search(r"default=(.+?)$", entry.type)
        if said or "optional" in entry.type:
            found |= {name.strip("* "): said[1] if said else "None" for name in entry.name.split(",")}
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_defaults_are_those_of_the_documentation(name):
    value = PUBLIC[name]
    parameters = inspect.signature(value).parameters
    said = documented(value)
    for key, parameter in parameters.items():
        if key in said and parameter.default is not parameter.empty:
            try:
                expected = ast.literal_eval(said[key])
            except (ValueError, SyntaxError):
                continue
            assert parameter.default == expected, f"{name}: {key}={parameter.default!r}, documented as {said[key]}"


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (MultiTaskRegressor(), {"multi_output": True, "positive_only": False, "pairwise": False, "sparse": True}),
        (MultiTaskRegressor(loss="poisson"), {"positive_only": True, "multi_output": True}),
        (MultiTaskRegressor(kernel="precomputed"), {"pairwise": True}),
        (MultiTaskRegressor(kernel="chi2"), {"sparse": False, "pairwise": False}),
        (MultiTaskClassifier(), {"multi_label": True}),
        (MultiTaskClassifier(loss="softmax"), {"multi_label": False}),
        (MultiTaskRegressorCV(loss="poisson"), {"positive_only": True, "multi_output": True}),
    ],
    ids=repr,
)
def test_scikit_learn_is_told_what_goes_in(estimator, expected):
    tags = get_tags(estimator)
    groups = (tags.input_tags, tags.classifier_tags, tags.target_tags)
    found = {name: getattr(group, name) for group in groups if group for name in expected if hasattr(group, name)}
    assert found == expected
