"""How often a fit goes wrong: ``python benchmarks/reliability.py --fits 1000 --out runs.jsonl``.

Every seed makes one fit (``random_fits.py``), and what it returned is recomputed (``recompute.py``). A line is written
for each; seeds that are in the file are not run again, so that an interrupted run goes on where it was. Without
``--fits`` the file is only counted. Times are those of the process.
"""

import argparse
import json
import signal
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from random_fits import draw
from recompute import objectives
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

# What rounding may do to an objective that is summed in another order.
ROUNDING = 1e-9
# How far entries on both sides of a structure's diagonal may be apart, relative to the largest.
SYMMETRIC = 1e-14
SLOW = 15.0
# A fit that takes longer than this is stopped.
STOP = 20.0
FAILURES = (
    "certified, and wrong",
    "bound above the objective",
    "not finite",
    "structure not symmetric",
    "structure not positive semidefinite",
    "foreign exception",
    "foreign warning",
    "slow",
)


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGVTALRM, give_up)
    path = Path(arguments.out)
    finished = read(path)
    started = time.monotonic()
    with threadpool_limits(limits=1, user_api="blas"), path.open("a") as file:
        for seed in range(arguments.first, arguments.first + arguments.fits):
            if seed in finished:
                continue
            if arguments.minutes and time.monotonic() - started > 60.0 * arguments.minutes:
                break
            finished[seed] = line = attempt(seed)
            file.write(json.dumps(line) + "\n")
            file.flush()
    print(count(finished.values()))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=0, help="how many seeds to have done (default 0: count only)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--minutes", type=float, default=0.0, help="begin no fit after so many (default: no limit)")
    parser.add_argument("--out", default="reliability.jsonl", metavar="FILE", help="a line for each fit")
    return parser.parse_args()


def read(path):
    """The lines of a file by seed; one that was cut short by a kill does not count."""
    lines = {}
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        lines[line["seed"]] = line
    return lines


def give_up(*_):
    raise TimeoutError


def attempt(seed):
    """One fit, and what came of it."""
    case = draw(seed)
    line = {"seed": seed, "n": case.X.shape[0], "traits": list(case.traits), "failures": []}
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_VIRTUAL, STOP)
        try:
            est = case.estimator.fit(case.X, case.y, **case.extra)
        except (ValueError, TypeError) as error:
            line |= {"outcome": "refused", "message": str(error)[:300]}
            if not is_refusal(error):
                line["failures"].append("foreign exception")
            est = None
        except TimeoutError:
            line["outcome"], est = "stopped", None
        except Exception as error:
            line |= {"outcome": "failed", "message": f"{type(error).__name__}: {error}"[:300]}
            line["failures"].append("foreign exception")
            est = None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    line["seconds"] = round(time.process_time() - started, 3)
    if line["seconds"] > SLOW:
        line["failures"].append("slow")
    if any(not issubclass(one.category, UserWarning) for one in caught):
        line["failures"].append("foreign warning")
        line["message"] = next(str(one.message) for one in caught if not issubclass(one.category, UserWarning))
    if est is not None:
        found = examine(case, est, [str(one.message) for one in caught if one.category is ConvergenceWarning])
        line |= {**found, "failures": line["failures"] + found["failures"]}
    return line


def is_refusal(error):
    """Whether an exception was raised by a statement of skmtl, and not by what a line of it called."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "skmtl" in Path(last.filename).parts and (last.line or "").startswith("raise ")


def examine(case, est, warned):
    """What the returned model is, against what was said of it."""
    solution, failures = est.solution_, []
    A = est.structure_
    with np.errstate(all="ignore"):
        finite = all(np.all(np.isfinite(v)) for v in (est.predict(case.X), A, est.intercept_))
        # A bound is one of functions in the space of the kernel, which predictions are but for rounding.
        actual, exact = objectives(est, case.X, case.y, **case.extra) if finite else (np.nan, np.nan)
    size = max(abs(actual), abs(solution.objective))
    rounding = ROUNDING * size + resolution(case, est, actual)
    if not np.isfinite(actual + exact):
        failures.append("not finite")
    if np.abs(A - A.T).max() > SYMMETRIC * np.abs(A).max():
        failures.append("structure not symmetric")
    lowest = np.linalg.eigvalsh(A)
    if lowest[0] < -1e-9 * lowest[-1] or (not est.penalty_.known and lowest[0] <= 0.0):
        failures.append("structure not positive semidefinite")
    if not warned and max(actual, exact) - solution.objective > est.tol * size + rounding:
        failures.append("certified, and wrong")
    if solution.lower_bound - exact > rounding:
        failures.append("bound above the objective")
    outcome = "certified" if not warned else "lost to rounding" if "lost to rounding" in warned[-1] else "not certified"
    return {
        "outcome": outcome,
        "objective": solution.objective,
        "recomputed": actual,
        "exact": exact,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "failures": failures,
    }


def resolution(case, est, value):
    """How much the objective may change when predictions are rounded: targets far from zero have few digits left."""
    n_tasks = len(est.task_names_)
    if hasattr(est, "classes_"):
        # Scores at a margin of one are no more exact than that, and losses grow no faster than scores.
        return n_tasks * float(np.finfo(float).eps)
    step = float(np.max(np.finfo(float).eps * np.nanmax(np.abs(case.y)) / est.target_scale_))
    # A change of every error by one step: of a mean of squares, and of losses that grow no faster than errors do.
    squares = 2.0 * np.sqrt(n_tasks * abs(value)) * step + n_tasks * step**2
    return squares if est.loss_.quadratic else squares + n_tasks * step


def count(lines):
    """A table of outcomes and failures."""
    lines = list(lines)
    outcomes = Counter(line["outcome"] for line in lines)
    failures = Counter(failure for line in lines for failure in line["failures"])
    rows = [f"| fits | {len(lines)} |", "| --- | ---: |"]
    rows += [f"| {name} | {number} |" for name, number in outcomes.most_common()]
    rows += [f"| failure: {name} | {failures[name]} |" for name in FAILURES]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
