"""The paper's tables on Animals with Attributes: 85 detectors, and colour beside limb shape.

What the paper leaves open, and what is done here. Its features are DECAF; ours are counts of SURF words, so
differences between methods can be compared with the paper's, levels cannot. Counts are scaled to sum to one,
their square roots taken, and 500 principal components kept, learned from the training pool. Images are split at random
into pools to train (half), validate and test (a quarter each). ``protocol`` says what an example is:

- ``own``: every attribute has its own examples, half of them positive, drawn from the pools; labels of the other
  attributes are not used. Of an attribute with too few positive images in a pool all are taken, and as many negative.
- ``shared``: images drawn at random, with the labels of all attributes.
- ``classes``: as ``own``, but the pool to test on is that of ten classes, of which no image is trained or validated on.

The validation examples choose the hyper-parameters by the mean over attributes of the average precision; "STL per
attribute" chooses one alpha for each attribute. MTFL and MTRL are one problem here, solved once.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skmtl.experiments import colour_limb
from skmtl.experiments.animals import PER_ATTRIBUTE, AnimalImages, Sample, choose_and_test, load, prepare
from skmtl.experiments.runs import Item, Row
from skmtl.experiments.selection import Params
from skmtl.experiments.tables import compare, difference_table, new_figure, result_table, save_figure, write_tables

SETTINGS: dict[str, Any] = {
    "protocol": "own",
    "sizes": [50, 100, 150],
    "n_seeds": 10,
    "attributes": 85,
    "n_validation": 500,
    "n_test": 500,
    "n_components": 500,
    # Multiples of the mean squared length of the rows; those of the trace are divided by the number of tasks.
    "alphas": {
        "independent": [0.3, 0.1, 0.03, 0.01, 0.003],
        "trace": [0.2, 0.1, 0.05, 0.025, 0.012],
        "frobenius": [0.2, 0.12, 0.08, 0.05, 0.03],
        "sparse": [0.4, 0.25, 0.16, 0.1, 0.06],
    },
    "mus": [0.95, 1.0],
    "tol": 1e-3,
    "group_size": 100,
    # Few tasks are cheap: the grids are wider.
    "group_alphas": {
        "independent": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001],
        "trace": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001],
        "frobenius": [0.25, 0.12, 0.06, 0.03, 0.015, 0.007],
        "sparse": [0.5, 0.25, 0.12, 0.06, 0.03, 0.015],
    },
    "group_mus": [0.7, 0.9, 0.95, 1.0],
}
QUICK: dict[str, Any] = {
    "sizes": [50],
    "n_seeds": 2,
    "attributes": 20,
    "n_components": 50,
    "alphas": {"independent": [0.3, 0.03], "trace": [0.1, 0.03], "frobenius": [0.12, 0.06], "sparse": [0.25, 0.12]},
    "group_size": 50,
    "group_alphas": {"independent": [0.3], "trace": [0.1], "frobenius": [0.12], "sparse": [0.25, 0.12]},
    "group_mus": [0.9, 1.0],
}
BASELINES = ("STL", PER_ATTRIBUTE)
# Area under the precision-recall curve in percent and what follows the sign ±, by the number of examples.
PAPER = {
    "STL": {50: (57.26, 1.71), 100: (60.73, 1.12), 150: (64.37, 1.29)},
    "MTFL": {50: (58.11, 1.23), 100: (61.21, 1.14), 150: (64.22, 1.10)},
    "MTRL": {50: (58.24, 1.84), 100: (61.18, 1.23), 150: (64.56, 1.41)},
    "OKL": {50: (58.81, 1.18), 100: (62.07, 1.05), 150: (64.26, 1.18)},
    "SKMTL": {50: (58.63, 1.73), 100: (63.21, 1.43), 150: (64.51, 1.83)},
}

__all__ = ["QUICK", "SETTINGS", "evaluate", "load", "make_items", "prepare", "report"]


def make_items(settings: Params) -> list[Item]:
    """For every seed all sizes, and colour beside limb shape."""
    parts = [*(("detection", size) for size in settings["sizes"]), ("groups", settings["group_size"])]
    return [{"part": part, "size": size, "seed": seed} for seed in range(settings["n_seeds"]) for part, size in parts]


def evaluate(prepared: AnimalImages, settings: Params, *, part: str, size: int, seed: int) -> dict[str, Any]:
    """All methods on the examples of one seed."""
    sample = Sample(prepared, settings, size, seed)
    if part == "groups":
        return colour_limb.evaluate(sample, settings)
    result = choose_and_test(sample, settings["alphas"], settings, range(settings["attributes"]))
    # Matrices of 85 tasks would be most of the file.
    return {name: value for name, value in result.items() if name != "structure"}


# What people read -----------------------------------------------------------------------------------------------------


def report(folder: Path, rows: list[Row], settings: Params) -> None:
    """Write the tables and the figures."""
    detection = [row for row in rows if row["part"] == "detection"]
    groups = [row for row in rows if row["part"] == "groups"]
    table = pd.concat(
        compare(_precisions(detection, size), against, part="all attributes", size=size)
        for size in settings["sizes"]
        for against in BASELINES
    )
    text = [_describe(detection, settings), "### Attribute detection", result_table(table, "deviation", PAPER)]
    text += [part for one in BASELINES for part in (f"### Difference from {one}", difference_table(table, one))]
    group_text, group_frame = colour_limb.make_tables(groups)
    write_tables(folder, "\n\n".join([*text, group_text]), pd.concat([table, group_frame]))
    save_figure(_gain_figure(table), folder, "gains")
    save_figure(colour_limb.make_figure(groups), folder, "groups")


def _precisions(rows: list[Row], size: int) -> pd.DataFrame:
    """A row per repetition, a column per method."""
    frame = pd.DataFrame([row["precision"] for row in rows if row["size"] == size])
    return frame.assign(MTFL=frame["MTRL"])[[*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"]]


def _describe(rows: list[Row], settings: Params) -> str:
    tested = {row["tested"] for row in rows}
    return (
        f"Protocol `{settings['protocol']}`, {settings['n_seeds']} repetitions, {min(tested)} to {max(tested)} "
        "attributes tested. Area under the precision-recall curve in percent, mean over attributes, with its standard "
        "deviation over repetitions. MTFL and MTRL are one problem here, solved once and shown twice. Differences are "
        "in points, paired by repetition, with standard errors and 95% intervals, in bold where zero is outside. "
        "Columns are numbers of examples."
    )


def _gain_figure(table: pd.DataFrame) -> Any:
    """What each method adds to independent tasks, ours and the paper's."""
    figure, axis = new_figure()
    sizes = list(dict.fromkeys(table["size"]))
    for place, (method, colour) in enumerate((("MTRL", "C1"), ("OKL", "C2"), ("SKMTL", "C3"))):
        of = table[(table["against"] == "STL") & (table["method"] == method)]
        x = np.arange(len(sizes)) + 0.12 * (place - 1)
        spread = 100 * np.array([of["difference"] - of["low"], of["high"] - of["difference"]])
        axis.errorbar(x, 100 * of["difference"], np.nan_to_num(spread, posinf=0.0), fmt="o", color=colour, capsize=3,
                      label=method)  # fmt: skip
        paper = [PAPER[method][s][0] - PAPER["STL"][s][0] if s in PAPER["STL"] else np.nan for s in sizes]
        axis.plot(x, paper, "x", color=colour, label=f"{method}, paper")
    axis.axhline(0.0, color="0.6", lw=1)
    axis.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="examples per attribute")
    axis.set_ylabel("points over STL (95% intervals)")
    axis.legend(frameon=False, ncols=2, fontsize=9, loc="upper left")
    return figure
