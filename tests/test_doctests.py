"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import skmtl

MODULES = sorted(module.name for module in pkgutil.walk_packages(skmtl.__path__, "skmtl."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_there_are_examples():
    found = [name for name in MODULES if doctest.DocTestFinder().find(importlib.import_module(name))]
    examples = sum(
        len(t.examples) for name in found for t in doctest.DocTestFinder().find(importlib.import_module(name))
    )
    assert examples >= 5
