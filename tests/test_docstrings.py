"""Every public name is documented as numpydoc asks: parameters, result, attributes, relatives, an example that runs."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import Validator, validate
from problems import related_tasks

import skmtl

# Rooms that nobody imports from: what happens inside a fit, and commands, which explain themselves with --help.
INSIDE = {"classes", "cli", "demo", "estimators", "features", "objective", "solvers", "targets"}
ROOMS = ["skmtl"] + [
    f"skmtl.{module.name}"
    for module in pkgutil.iter_modules(skmtl.__path__)
    if not module.name.startswith("_") and module.name not in INSIDE
]


def public_names():
    """(name, object) of every class and function in an ``__all__``, once, under the shortest road to it."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and id(value) not in {id(other) for other in found.values()}:
                found[f"{room}.{name}"] = value
    return found


NAMES = public_names()
CLASSES = {name: value for name, value in NAMES.items() if inspect.isclass(value)}

# What numpydoc must not find: https://numpydoc.readthedocs.io/en/latest/validation.html
MISTAKES = {
    "GL06": "a section that numpydoc does not know",
    "GL07": "sections in another order than numpydoc's",
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS03": "the summary does not end with a period",
    "SS06": "the summary has more than one line",
    "PR01": "a parameter of the signature that is not described",
    "PR02": "a described parameter that the signature does not have",
    "PR03": "parameters in another order than the signature's",
    "PR04": "a parameter without a type",
    "PR07": "a parameter without a description",
    "PR10": "no space before the colon of a parameter",
    "RT01": "no Returns",
    "RT03": "a result without a description",
    "YD01": "no Yields",
    "SA01": "no See Also",
    "EX01": "no Examples",
}


def mistakes(value):
    found = [(code, text) for code, text in validate(path(value))["errors"] if code in MISTAKES]
    if dataclasses.is_dataclass(value):
        # Nobody makes a result by hand: its fields are attributes, whatever the signature is.
        found = [(code, text) for code, text in found if not code.startswith("PR0")]
    return [f"{code} {text}" for code, text in found]


def path(value):
    """Where numpydoc finds the object: at its definition, for a package may have a module of the same name."""
    return f"{value.__module__}.{value.__qualname__}"


@pytest.mark.parametrize("name", NAMES)
def test_numpydoc_finds_no_mistake(name):
    assert not (found := mistakes(NAMES[name])), "\n" + "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_no_backslash_breaks_a_docstring(name):
    r"""Where it is not raw ``\t`` of ``\top`` is a tab; where it is raw a backslash does not join two lines."""
    text = NAMES[name].__doc__ or ""
    assert not set(text) & set("\a\b\f\r\t\v")
    assert [line for line in text.splitlines() if line.endswith("\\")] == []


@pytest.mark.parametrize("name", NAMES)
def test_examples_can_be_run(name):
    """They run with all other doctests; here something must be there to run, and nothing may be skipped."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(NAMES[name]) or "")
    assert examples
    assert not any(doctest.SKIP in example.options for example in examples)


@pytest.mark.parametrize("name", NAMES)
def test_relatives_exist(name):
    """What stands in See Also can be imported."""
    doc = (ClassDoc if inspect.isclass(NAMES[name]) else FunctionDoc)(NAMES[name])
    for relatives, _ in doc["See Also"]:
        for relative, _role in relatives:
            assert resolves(relative, NAMES[name]), relative


def resolves(name, beside):
    """Whether a name leads to an object, from its full path or from the module in which it is mentioned."""
    module = inspect.getmodule(beside)
    for start in (name, f"skmtl.{name}", f"{module.__name__}.{name}", f"{module.__package__}.{name}"):
        try:
            Validator._load_obj(start)
        except (ImportError, AttributeError):
            continue
        return True
    return False


@pytest.mark.parametrize("name", [name for name, value in CLASSES.items() if dataclasses.is_dataclass(value)])
def test_fields_of_results_are_described(name):
    described = {entry.name for section in ("Parameters", "Attributes") for entry in ClassDoc(CLASSES[name])[section]}
    fields = {field.name for field in dataclasses.fields(CLASSES[name])}
    assert fields <= described


def fitted(cls):
    """An object of a public class after ``fit``, on a small problem that suits it."""
    X, Y = related_tasks(np.random.default_rng(0), 40, 3)
    estimator = cls(alphas=[1e-2], cv=2) if cls.__name__.endswith("CV") else cls()
    return estimator.fit(X, (Y > 0).astype(int) if "Classifier" in cls.__name__ else Y)


def described_attributes(cls):
    """Names in the section Attributes, with what is said of each."""
    entries = ClassDoc(cls)["Attributes"]
    # numpydoc adds the properties of the class that are not described, without a word.
    said = {entry.name: " ".join([entry.type, *entry.desc]).strip() for entry in entries}
    return {part.strip(): words for names, words in said.items() for part in names.split(",") if words}


ESTIMATORS = [name for name, value in CLASSES.items() if hasattr(value, "fit") and value.__name__ != "SpatialPyramid"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_fit_sets_is_described(name):
    """Attributes lists the names with an underscore at their end that a fitted object has, and no others."""
    estimator, described = fitted(CLASSES[name]), described_attributes(CLASSES[name])
    learned = {key for key in dir(estimator) if key.endswith("_") and not key.startswith("_") and has(estimator, key)}
    assert sorted(learned - described.keys()) == []
    # What is there for some kernels, penalties or tables alone says so.
    always = {key for key, words in described.items() if not re.search(r"\b(only|where|if|when|with)\b", words, re.I)}
    assert sorted(key for key in always if not has(estimator, key)) == []


def has(owner, name):
    try:
        getattr(owner, name)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_a_sentence(name):
    methods = inspect.getmembers(CLASSES[name], lambda value: inspect.isfunction(value) or isinstance(value, property))
    own = [(key, value) for key, value in methods if not key.startswith("_") and is_ours(value)]
    assert [key for key, value in own if not inspect.getdoc(getattr(CLASSES[name], key))] == []


def is_ours(value):
    function = value.fget if isinstance(value, property) else value
    return (getattr(function, "__module__", "") or "").startswith("skmtl")


def test_every_room_says_what_is_public():
    """A module without ``__all__`` is passed over by the tests above: then it must have nothing to offer."""
    silent = [room for room in ROOMS if not hasattr(importlib.import_module(room), "__all__")]
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_readable(name):
    """What ``help`` shows has the names that the source has, not what NumPy means by them."""
    value = NAMES[name]
    methods = [member for _, member in inspect.getmembers(value, inspect.isfunction)] if name in CLASSES else []
    for function in (value, *methods):
        assert "numpy._typing" not in str(inspect.signature(function))
