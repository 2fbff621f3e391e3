"""What the tests say of a mutant.

Tests are collected once. For each mutant the process is copied, and the copy gives one function its new code and runs
the tests until one fails, so that a mutant costs its tests and no start. A mistake outside of all functions needs a new
process.
"""

import gc
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol

OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "--tb", "no"]
MEMORY = 6 << 30
# Seconds of CPU that a new process may take beside its tests, to import and to collect them.
START = 60
# Exit code of a copy that could not make the mistake, which is no verdict of the tests.
NOT_MADE = 99


class Collected:
    """A plugin of pytest that hands over the tests instead of running them."""

    def __init__(self, work):
        self._work = work

    def pytest_runtestloop(self, session):
        self._work({item.nodeid: item for item in session.items})
        return True


class Judge:
    """Runs tests against mutants in copies of this process."""

    def __init__(self, items, source: Path):
        self._items, self._source = items, source
        # Tests that passed in a copy without any mistake, and those that did not.
        self._trusted: set[str] = set()
        self._broken: set[str] = set()

    def __call__(self, mutant, names, budget):
        """The outcome, and the test that saw the mistake."""
        while True:
            names = [name for name in names if name in self._items and name not in self._broken]
            if not names:
                return {"outcome": "never run", "tests": 0}
            start = time.time()
            code, witness = self._copy(mutant, names, budget)
            if code == NOT_MADE:
                raise RuntimeError(f"{mutant.path}:{mutant.line}: the mistake could not be made: {mutant.what}")
            if not code:
                return {"outcome": "survived", "tests": len(names), "seconds": round(time.time() - start, 1)}
            by_time = code in (-signal.SIGXCPU, -signal.SIGKILL)
            if by_time and self._copy(None, names, budget)[0] < 0:
                # The same tests take as long without the mistake: half of them say what they can.
                names = names[: len(names) // 2]
                continue
            if code > 0 and not witness:
                raise RuntimeError(f"{mutant.path}:{mutant.line}: tests ended with {code}, and none of them failed.")
            # A test that fails without the mistake too is no witness.
            if code < 0 or witness not in self._items or self._passes_alone(witness):
                outcome = "killed by time" if by_time else "killed"
                seconds = round(time.time() - start, 1)
                return {"outcome": outcome, "tests": len(names), "by": witness, "seconds": seconds}

    def _passes_alone(self, name):
        if name not in self._trusted:
            code, _ = self._copy(None, [name], 60.0)
            (self._broken if code else self._trusted).add(name)
        return name in self._trusted

    def _copy(self, mutant, names, budget):
        """Exit code of a copy of the process that runs the tests, and the name of the one that failed."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.close(reading)
            self._run(mutant, names, budget, writing)
        os.close(writing)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # Processes that tests started end with the copy.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with os.fdopen(reading) as stream:
            witness = stream.read()
        return code, witness

    def _run(self, mutant, names, budget, pipe):
        # A mutant that never ends is found too, by the seconds of CPU that it takes: the machine may have other work.
        limit = int(10.0 + 2.0 * budget)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + START + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            changed = mutant is None or change_function(mutant, self._source)
        except BaseException:
            os._exit(NOT_MADE)
        if not changed:
            resource.setrlimit(resource.RLIMIT_CPU, (limit + START, limit + START + 5))
            program = str(Path(__file__).parent)
            os.set_inheritable(pipe, True)
            told = ["--key", mutant.key, "--pipe", str(pipe)]
            os.execv(sys.executable, [sys.executable, program, "alone", *told, *names])
        items = [self._items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            try:
                failed = any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
            except BaseException:
                failed = True
            if failed:
                os.write(pipe, item.nodeid.encode())
                os._exit(1)
        os._exit(0)


def change_function(mutant, source: Path) -> bool:
    """Give the function of a mutant its new code, wherever it is held; False where the code is as it was."""
    if not mutant.function:
        return False
    # A function within another is a part of its code.
    name = mutant.function.split(".<locals>")[0]
    path = str(source / mutant.path)
    old = _codes(compile(mutant.original(), path, "exec"), name)
    new = _codes(compile(mutant.write(), path, "exec"), name)
    others = [k for k, pair in enumerate(zip(old, new, strict=True)) if not _equal(*pair)]
    functions = [f for f in gc.get_objects() if isinstance(f, FunctionType) and _is_from(f, path, name)]
    # A value that an argument has by default is no part of the code, and a name may be given twice.
    if len(others) != 1 or len(old) != 1 or not functions:
        return False
    # Without its only ``super()`` a method has no class to hold, and its code does not fit.
    if any(function.__code__.co_freevars != new[0].co_freevars for function in functions):
        return False
    for function in functions:
        function.__code__ = new[0]
    return True


def _is_from(function, path, name):
    return function.__code__.co_filename == path and function.__code__.co_qualname == name


def _codes(code, name):
    """All code of a module with a qualified name."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [c for c in inner if c.co_qualname == name] + [found for c in inner for found in _codes(c, name)]


def _equal(one, other):
    """Whether two pieces of code do the same, whatever their lines."""
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and len(one.co_consts) == len(other.co_consts)
        and all(
            _equal(a, b) if isinstance(a, CodeType) else repr(a) == repr(b)
            for a, b in zip(one.co_consts, other.co_consts, strict=True)
        )
    )


class Witness:
    """A plugin of pytest that writes the name of the first test that failed, or of a file of tests, into a pipe."""

    def __init__(self, pipe: int):
        self._pipe = pipe

    def pytest_runtest_logreport(self, report):
        if report.failed and self._pipe >= 0:
            os.write(self._pipe, report.nodeid.encode())
            self._pipe = -1

    pytest_collectreport = pytest_runtest_logreport


def run_alone(names, pipe: int) -> int:
    """Run tests in this process, which is new, until one fails."""
    code = pytest.main([*OPTIONS, "-x", *names], plugins=[Witness(pipe)])
    if code == pytest.ExitCode.USAGE_ERROR:
        # Parameters are a part of names, and a value by default a part of theirs: such tests are run with all of them.
        kinds = dict.fromkeys(name.split("[")[0] for name in names)
        code = pytest.main([*OPTIONS, "-x", *kinds], plugins=[Witness(pipe)])
    return int(code)
