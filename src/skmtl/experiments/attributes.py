"""The paper's tables on Animals with Attributes: 85 detectors, and colour beside limb shape.

What the paper leaves open, and what is done here. Its features are DECAF; ours are counts of SURF words, so
differences between methods can be compared with the paper's, levels cannot; ``features`` names a folder of others.
Counts are scaled to sum to one and their square roots taken, features with a sign are scaled to rows of length one, and
200 principal components are kept, learned from the training pool. ``protocol`` says what an example is:

- ``classes``: every attribute has its own examples, half of them positive; labels of the other attributes are not used.
  Ten classes are tested on, of which no image is trained or validated on: the split that the paper describes first. Of
  an attribute with too few positive images in a pool all are taken, and as many negative.
- ``own``: the same, but images are split at random, into pools to train (half), validate and test (a quarter each).
- ``shared``: images drawn at random from such pools, with the labels of all attributes.

The validation examples choose the hyper-parameters by the mean over attributes of the average precision, from the same
alphas for all methods; "STL per attribute" chooses one alpha for each attribute. MTRL is SKMTL with mu = 1, and MTFL is
the same problem: it is solved once. The head of the paper's table says AUC, its text average precision: both are shown.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skmtl.experiments import colour_limb
from skmtl.experiments.animals import PER_ATTRIBUTE, AnimalImages, Sample, choose_and_test, load, prepare
from skmtl.experiments.runs import Item, Row
from skmtl.experiments.selection import Params
from skmtl.experiments.tables import (
    compare,
    difference_table,
    markdown,
    new_figure,
    result_table,
    save_figure,
    write_tables,
)

SETTINGS: dict[str, Any] = {
    "protocol": "classes",
    # A folder of features beside the one that load_awa finds by itself.
    "features": None,
    "sizes": [50, 100, 150],
    "n_seeds": 10,
    "attributes": 85,
    "n_validation": 500,
    "n_test": 500,
    "n_components": 200,
    # The same for every method: multiples of the mean squared length of the rows.
    "alphas": [0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.012],
    "mus": [0.5, 0.7, 0.9, 1.0],
    "tol": 1e-3,
    "group_size": 100,
    # Few tasks are cheap: the grids are wider.
    "group_alphas": [0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.012, 0.006],
    "group_mus": [0.5, 0.7, 0.9, 0.95, 1.0],
}
QUICK: dict[str, Any] = {
    "sizes": [50],
    "n_seeds": 2,
    "attributes": 20,
    "n_components": 50,
    "alphas": [0.25, 0.1, 0.03],
    "mus": [0.9, 1.0],
    "group_size": 50,
    "group_alphas": [0.25, 0.1, 0.03],
    "group_mus": [0.9, 1.0],
}
BASELINES = ("STL", PER_ATTRIBUTE)
AGAINST = (*BASELINES, "MTRL")
TITLES = {"precision": "Average precision", "auc": "Area under the ROC curve"}
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
        return colour_limb.evaluate(sample, settings, seed=seed)
    result = choose_and_test(sample, settings, range(settings["attributes"]))
    # Matrices of 85 tasks would be most of the file.
    return {name: value for name, value in result.items() if name != "structure"}


# What people read -----------------------------------------------------------------------------------------------------


def report(folder: Path, rows: list[Row], settings: Params) -> None:
    """Write the tables and the figures."""
    detection = [row for row in rows if row["part"] == "detection"]
    groups = [row for row in rows if row["part"] == "groups"]
    tables = {measure: _compare(detection, settings, measure) for measure in TITLES}
    text = [_describe(detection, settings)]
    for measure, table in tables.items():
        text += [f"### {TITLES[measure]}", result_table(table, "deviation", PAPER)]
        for one in AGAINST:
            text += [f"### {TITLES[measure]}: difference from {one}", difference_table(table, one)]
    text += ["### What was chosen", _choices(detection, settings)]
    group_text, group_frame = colour_limb.make_tables(groups)
    write_tables(folder, "\n\n".join([*text, group_text]), pd.concat([*tables.values(), group_frame]))
    save_figure(_gain_figure(tables["precision"]), folder, "gains")
    save_figure(colour_limb.make_figure(groups), folder, "groups")


def _compare(rows: list[Row], settings: Params, measure: str) -> pd.DataFrame:
    """All methods with some of them, at every size."""
    return pd.concat(
        compare(_scores(rows, size, measure), against, part=f"all attributes, {measure}", size=size)
        for size in settings["sizes"]
        for against in AGAINST
    )


def _scores(rows: list[Row], size: int, measure: str) -> pd.DataFrame:
    """A row per repetition, a column per method."""
    frame = pd.DataFrame([row[measure] for row in rows if row["size"] == size])
    return frame.assign(MTFL=frame["MTRL"])[[*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"]]


def _choices(rows: list[Row], settings: Params) -> str:
    """How often each mu was chosen for SKMTL; at 1 it is MTRL."""
    lines = []
    for size in settings["sizes"]:
        mus = [row["chosen"]["SKMTL"]["mu"] for row in rows if row["size"] == size]
        lines.append([str(size), ", ".join(f"{mu:g} ({mus.count(mu)})" for mu in sorted(set(mus)))])
    return markdown(["examples", "mu of SKMTL (repetitions)"], lines)


def _describe(rows: list[Row], settings: Params) -> str:
    tested = {row["tested"] for row in rows}
    return (
        f"Protocol `{settings['protocol']}`, {settings['n_seeds']} repetitions, {min(tested)} to {max(tested)} "
        "attributes tested. Areas under the precision-recall curve (average precision) and under the ROC curve, in "
        "percent, mean over attributes, with standard deviations over repetitions. MTFL and MTRL are one problem here, "
        "solved once and shown twice. Differences are in points, paired by repetition, with standard errors and 95% "
        "intervals, in bold where zero is outside. Columns are numbers of examples."
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
