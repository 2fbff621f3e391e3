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
