"""What benchmarks on the multi-target sets share: arguments, and runs that go on where they stopped."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from skmtl.experiments.runs import read_rows, run_rest


def make_parser(description, sets):
    """Arguments of a run over splits of some of the sets."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets, help="which sets (default: all)")
    parser.add_argument("--splits", type=int, default=5, help="number of splits (default 5)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one BLAS thread each (default 1)")
    parser.add_argument("--out", metavar="FILE", help="JSON lines, a line per set, split and variant; kept")
    parser.add_argument("--report", action="store_true", help="print the tables of what --out has, and compute nothing")
    return parser


def read_or_run(arguments, items, evaluate):
    """The rows of ``--out``, or those of all items; ``evaluate`` gets the folder of the data first."""
    if arguments.report:
        return read_rows(arguments.out)
    if arguments.data is None or not (Path(arguments.data) / "mulan" / "multi-target").is_dir():
        sys.exit("Skipped: give the folder that holds mulan/multi-target, as an argument or in SKMTL_DATA.")
    evaluate_in = partial(evaluate, Path(arguments.data))
    return run_rest(items, evaluate_in, file=arguments.out, n_jobs=arguments.jobs, progress=_show)


def _show(done, total, what):
    print(f"{done}/{total} {what}", file=sys.stderr, flush=True)
