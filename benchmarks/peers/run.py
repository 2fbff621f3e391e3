"""skmtl beside what a user would pick instead, on public sets: ``make bench-peers``.

For every set, share of labels removed, and split, each competitor chooses its parameters on the training part and
predicts the test part, in a process of its own with one thread. Errors are aRRMSE, for classes the mean over labels of
average precision; time is that of the processor, memory the growth of the process. DATA is a folder with
``mulan/multi-target``, ``mulan/multi-label`` and ``sarcos``; by default the environment variable SKMTL_DATA. What is
finished is kept in OUT, and the next run goes on from there.
"""

import argparse
import importlib
import multiprocessing
import os
import resource
import sys
import time
import warnings
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path

from problems import LABEL_SETS, REMOVED, TARGET_SETS, make_problem
from table import render
from threadpoolctl import threadpool_limits

from skmtl.experiments.runs import read_rows, run_rest
from skmtl.model_selection import target_scores

PEERS = (
    *("own", "ridge", "kernel_ridge", "extra_trees", "random_forest", "hist_boosting", "multiple_kernels"),
    *("boosted_targets", "chains", "coregion"),
)
SHORT_SETS = ("andro", "slump", "edm", "jura", "enb", "flags")
# A competitor that needs longer is stopped, and said to have been.
MOST_SECONDS = 120


def main():
    arguments = parse_arguments()
    if not arguments.report:
        if arguments.data is None or not (Path(arguments.data) / "mulan").is_dir():
            sys.exit("Skipped: give the folder that holds mulan and sarcos, as an argument or in SKMTL_DATA.")
        run_rest(make_items(arguments), partial(evaluate, arguments.data), file=arguments.out, progress=show)
    rows = [row for row in read_rows(arguments.out) if arguments.sets is None or row["set"] in arguments.sets]
    print(render(rows, picture=arguments.picture))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    parser.add_argument("--short", action="store_true", help="six small sets, one split")
    parser.add_argument("--sets", nargs="+", choices=TARGET_SETS + LABEL_SETS, help="which sets (default: all)")
    parser.add_argument("--methods", nargs="+", choices=PEERS, default=PEERS, help="which competitors (default: all)")
    parser.add_argument("--splits", type=int, default=2, help="number of splits (default 2)")
    parser.add_argument("--out", metavar="FILE", default="peers.jsonl", help="JSON lines (default: peers.jsonl)")
    parser.add_argument("--report", action="store_true", help="print the tables of what OUT has, and compute nothing")
    parser.add_argument("--picture", metavar="FILE", help="draw average ranks and critical differences there")
    return parser.parse_args()


def make_items(arguments):
    """The first split of everything first."""
    sets = arguments.sets or (SHORT_SETS if arguments.short else TARGET_SETS + LABEL_SETS)
    splits = range(1, 2 if arguments.short else arguments.splits + 1)
    return [
        {"set": name, "removed": removed, "split": split, "method": method}
        for split, name, removed, method in product(splits, sets, REMOVED, arguments.methods)
        if name in TARGET_SETS or removed == 0.0
    ]


def show(done, total, what):
    print(f"{done}/{total} {what}", file=sys.stderr, flush=True)


def evaluate(data, *, set, removed, split, method):
    """One competitor on one split, in a process of its own."""
    receive, send = multiprocessing.Pipe(duplex=False)
    work = multiprocessing.get_context("fork").Process(target=_work, args=(send, data, set, removed, split, method))
    work.start()
    send.close()
    try:
        return receive.recv() if receive.poll(MOST_SECONDS * 20) else {"skipped": "took too long"}
    except EOFError:
        return {"skipped": f"needs more than {MOST_SECONDS} s of processor time"}
    finally:
        work.kill()
        work.join()


def _work(send, data, name, removed, split, method):
    # Processor time, so that other work on the machine does not count.
    peer, versions = _load(method)
    if peer is None:
        send.send({"skipped": versions})
        return
    try:
        problem = make_problem(data, name, removed, split)
    except (OSError, ValueError) as error:
        send.send({"skipped": f"no data: {str(error).splitlines()[0]}"})
        return
    spent = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + MOST_SECONDS, spent + MOST_SECONDS + 10))
    before, began = _peak(), time.process_time()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found = peer.predict(problem)
    except NotImplementedError as reason:
        # A method that is not for this problem says why, and the report lists it.
        send.send({"skipped": str(reason)})
        return
    except Exception as error:
        send.send({"skipped": f"fails: {str(error).splitlines()[0]}"})
        return
    seconds, memory = time.process_time() - began, _peak() - before
    score = "average_precision" if problem.classes else "arrmse"
    value = float(target_scores(problem.Y_test, found, score)["mean"])
    rows, features, tasks = *problem.X.shape, problem.Y.shape[1]
    shape = {"rows": rows, "features": features, "tasks": tasks}
    send.send(
        {**shape, "value": value, "cpu": round(seconds, 3), "megabytes": round(memory / 1024), "versions": versions}
    )


def _load(method):
    """The module of a competitor and the versions of its packages; None, and why, where they are not installed."""
    try:
        peer = importlib.import_module(method)
        return peer, {name: version(name) for name in peer.PACKAGES}
    except (ImportError, PackageNotFoundError) as reason:
        return None, f"not installed: {reason}"


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
