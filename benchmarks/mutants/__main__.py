"""Mutation testing of the core: would the tests notice a mistake?

One mistake at a time is made in a file, and the tests that enter the function where it is are run until one fails:
quick ones first, and those that saw mistakes in this file before. What survives is listed. Mutants are drawn at
random, each package in turn; everything that is known is kept in a file, so that a run can be stopped and continued.

    python benchmarks/mutants map              # which tests enter which functions; takes as long as the tests
    python benchmarks/mutants map tests/test_solvers.py    # the same again for some
    python benchmarks/mutants run --minutes 45
    python benchmarks/mutants run --only folds.py
    python benchmarks/mutants run --again      # only mutants that survived before, against the tests as they are
    python benchmarks/mutants show
"""

import argparse
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from judging import OPTIONS, Collected, Judge, run_alone
from operators import mutants
from tests_of_functions import Recorder

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PACKAGES = ("objective.py", "penalties", "solvers", "targets", "estimators", "model_selection")
# Not tests of these rooms, and slow: the command line, pages, pictures, documents and the paper's experiments.
OUTSIDE = """
cli cli_dask cli_fit cli_tables cli_wishes cluster_faults datasets docs docstrings doctests experiments faults
files formulas hostile_models hostile_tables notebook persistence plotting posterior_gpytorch readme report
report_browser security site source tables vision world_tables
"""
# What stands for arguments that nobody gives is read, and no function entered.
DECLARED = "tests/test_defaults.py"


class MutatedLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another text."""

    def __init__(self, name, path, source):
        self._name, self._path, self._source = name, path, source

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        is_package = self._path.name == "__init__.py"
        return importlib.util.spec_from_file_location(
            name, self._path, loader=self, submodule_search_locations=[str(self._path.parent)] if is_package else None
        )

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self._source, str(self._path), "exec"), module.__dict__)


def module_name(path):
    parts = Path(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_mutants():
    """Every mutant of each package."""
    found = {}
    for package in PACKAGES:
        place = SOURCE / "skmtl" / package
        files = [place] if place.is_file() else sorted(place.glob("*.py"))
        found[package] = [
            mutant for file in files for mutant in mutants(file.relative_to(SOURCE).as_posix(), file.read_text())
        ]
    return found


def kind(name):
    """A test without its parameters."""
    return name.split("[")[0]


def by_place(tests):
    """Names of the tests that enter each function, and of those that enter any function of each file."""
    found = defaultdict(set)
    for name, test in tests.items():
        if name.startswith(DECLARED):
            found[DECLARED].add(name)
        for place in test["functions"]:
            found[place].add(name)
            found[place.split(":")[0] + ":"].add(name)
    return found


def tests_of(mutant, tests, places, known):
    """Seconds and names of the tests that enter the function of a mutant, those first that may see it soonest.

    Quick ones come first, those that enter few functions, for they are about these, and those of a kind that saw other
    mistakes in the same file. The same test with another parameter seldom sees what the first did not, and counts as if
    it took longer. Outside of functions tests of what is declared come first, all of them, for each is of another
    declaration.
    """
    declared = set() if mutant.function else places[DECLARED]
    entering = places[f"{mutant.path}:{mutant.function}"] | declared
    seen = Counter(kind(row["by"]) for row in known.values() if row.get("by") and row["path"] == mutant.path)
    chosen = sorted((tests[name]["seconds"], name) for name in entering)
    turns, ordered = Counter(), []
    for seconds, name in chosen:
        turns[kind(name)] += 1
        aside = len(tests[name]["functions"]) * turns[kind(name)] / (1 + seen[kind(name)])
        cost = 0.0 if name in declared else max(seconds, 1e-3) * aside
        ordered.append((cost, seconds, name))
    return [(seconds, name) for _, seconds, name in sorted(ordered)]


def cut(chosen, budget):
    """As many tests as fit into a budget of seconds."""
    total, kept = 0.0, []
    for seconds, name in chosen:
        if kept and total + seconds > budget:
            continue
        total += seconds
        kept.append(name)
    return kept


def draw(found, known, seed):
    """Mutants that are not known yet: at random, each package in turn."""
    order = random.Random(seed)
    heaps = [[m for m in order.sample(group, len(group)) if m.key not in known] for group in found.values()]
    while any(heaps):
        for heap in heaps:
            if heap:
                yield heap.pop()


def read(file, *, first=False):
    """What is known of each mutant: what came out last, or ``first``, before tests were written for it."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {row["key"]: row for row in (reversed(rows) if first else rows)}


def is_killed(row):
    return row["outcome"].startswith("killed")


def of_sample(known, seed):
    """Keys of the mutants of one sample, or with seed 0 of all."""
    return {key for key, row in known.items() if seed in (0, row.get("seed", 0))}


def run(options):
    """Collect the tests, and judge mutants until the time is over."""
    import pytest

    os.nice(options.nice)
    tests = json.loads(options.map.read_text())
    files = sorted({name.split("::")[0] for name in tests})
    plugin = Collected(lambda items: judge_all(options, tests, items))
    return int(pytest.main([*OPTIONS, *(file for file in files if Path(file).exists())], plugins=[plugin]))


def judge_all(options, tests, items):
    tests = {name: test for name, test in tests.items() if name in items}
    judge, known, places = Judge(items, SOURCE), read(options.results), by_place(tests)
    end = time.time() + 60.0 * options.minutes
    with options.results.open("a") as stream:
        for mutant in chosen_mutants(options, dict(known)):
            if time.time() > end:
                break
            chosen = tests_of(mutant, tests, places, known)
            row = {"key": mutant.key, "path": mutant.path, "line": mutant.line, "what": mutant.what}
            row["seed"] = known.get(mutant.key, {}).get("seed", options.seed)
            row |= judge(mutant, cut(chosen, options.budget), options.budget) | {"of": len(chosen)}
            known[mutant.key] = row
            stream.write(json.dumps(row) + "\n")
            stream.flush()


def chosen_mutants(options, known):
    """Mutants in the order in which they are judged."""
    found = all_mutants()
    waiting = draw(found, known, options.seed)
    if options.again:
        left = {key for key in of_sample(known, options.seed) if not is_killed(known[key])}
        waiting = (m for group in found.values() for m in group if m.key in left)
    return (mutant for mutant in waiting if any(text in mutant.path for text in options.only or [""]))


def alone(options):
    """Run tests with a mistake that is made before anything is imported."""
    mutant = next(m for group in all_mutants().values() for m in group if m.key == options.key)
    sys.meta_path.insert(0, MutatedLoader(module_name(mutant.path), SOURCE / mutant.path, mutant.write()))
    return run_alone(options.tests, options.pipe)


def show(options):
    """Counts per package, of one sample where a seed is given, and what survived."""
    known, before, found = read(options.results), read(options.results, first=True), all_mutants()
    wanted = of_sample(known, options.seed)
    print(f"{'package':18} {'mutants':>8} {'drawn':>6} {'killed':>7} {'score':>6} {'at first':>8}")
    for package, group in [*found.items(), ("all", [m for some in found.values() for m in some])]:
        drawn = [m.key for m in group if m.key in wanted]
        killed, at_first = (sum(is_killed(rows[key]) for key in drawn) for rows in (known, before))
        score = f"{killed / len(drawn):6.1%}" if drawn else "     -"
        print(f"{package:18} {len(group):8} {len(drawn):6} {killed:7} {score} {at_first:8}")
    for group in found.values():
        for m in group:
            if m.key in wanted and not is_killed(known[m.key]):
                row = known[m.key]
                print(f"\n{m.path}:{m.line}  {row['outcome']} ({row['tests']} of {row['of']} tests)\n    {m.what}")


def make_map(options):
    import pytest

    os.nice(options.nice)
    outside = {f"test_{name}.py" for name in OUTSIDE.split()}
    names = options.tests or [str(file) for file in sorted(ROOT.glob("tests/test_*.py")) if file.name not in outside]
    recorder = Recorder(SOURCE, options.map.resolve())
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", *names], plugins=[recorder]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("map", "run", "show", "alone"))
    parser.add_argument("tests", nargs="*", help="files of tests, for map")
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of CPU for the tests of a mutant")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; 0 is all, for show and --again")
    parser.add_argument("--nice", type=int, default=19, help="how far behind everybody else")
    parser.add_argument("--again", action="store_true", help="run those that survived once more")
    parser.add_argument("--only", action="append", metavar="TEXT", help="mutants of files whose path has this text")
    parser.add_argument("--map", type=Path, default=ROOT / "build" / "mutants" / "tests.json")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants" / "results.jsonl")
    parser.add_argument("--key", help="the mutant, for alone")
    parser.add_argument("--pipe", type=int, default=-1, help="gets the name of the test that fails, for alone")
    options = parser.parse_intermixed_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    sys.path.insert(0, str(SOURCE))
    return {"map": make_map, "run": run, "show": show, "alone": alone}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
