"""Fixtures and random problems that the tests share."""

import csv
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from skmtl import cli

# A launcher that ignores Ctrl-C, or the end of a session, has that inherited: tests send both.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def pytest_addoption(parser):
    parser.addoption("--order", type=int, metavar="SEED", help="run the tests in a random order, the same for a seed")


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("order")
    if seed is not None:
        random.Random(seed).shuffle(items)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def usual_csv():
    """Python's own limit of what a cell may hold, which SciPy's reader of ARFF lifts for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.fixture(scope="session")
def data_folder():
    """The folder with real data, from the environment variable SKMTL_DATA."""
    folder = os.environ.get("SKMTL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SKMTL_DATA does not name a folder with the real data sets")
    return Path(folder)


@pytest.fixture
def run(monkeypatch, capsys):
    """Call ``skmtl`` with arguments; gives exit code, output and errors."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["skmtl", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0, *capsys.readouterr()

    return call
