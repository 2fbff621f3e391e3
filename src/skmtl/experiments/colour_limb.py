"""Colour beside limb shape: two groups of attributes learned apart, and together."""

from typing import Any

import numpy as np
import pandas as pd

from skmtl._linalg import Array
from skmtl.experiments.animals import PER_ATTRIBUTE, Sample, choose_and_test
from skmtl.experiments.detectors import stable_graph
from skmtl.experiments.runs import Row
from skmtl.experiments.selection import Params
from skmtl.experiments.tables import compare, find, format_difference, format_percent, markdown, new_figure

GROUPS = {"colour": range(8), "limb": range(18, 24)}
WAYS = ("apart", "joint")
METHODS = ("STL", PER_ATTRIBUTE, "MTFL", "MTRL", "OKL", "SKMTL")
LEARNERS = ("MTRL", "OKL", "SKMTL")
# Halves of the examples for the graph to be looked at, of the first repetition.
N_HALVES = 20
# Area under the precision-recall curve in percent: colour and limb shape apart, then the same together.
PAPER = {
    "STL": (74.33, 68.13, 74.33, 68.15),
    "MTFL": (75.21, 69.41, 74.98, 69.71),
    "MTRL": (75.17, 69.18, 74.92, 69.73),
    "OKL": (74.52, 68.54, 74.31, 68.44),
    "SKMTL": (75.14, 69.21, 75.23, 69.57),
}


def evaluate(sample: Sample, settings: Params, *, seed: int) -> dict[str, Any]:
    """All methods on each group, and on both together; with the first seed also the graph to be looked at."""
    parts = {**GROUPS, "joint": [attribute for group in GROUPS.values() for attribute in group]}
    settings = {**settings, "mus": settings["group_mus"], "alphas": settings["group_alphas"]}
    found: dict[str, Any] = {name: choose_and_test(sample, settings, of) for name, of in parts.items()}
    if seed == 0:
        examples, chosen = [sample.train[a] for a in parts["joint"]], found["joint"]["chosen"]["SKMTL"]
        found["stable"], found["stable_mu"] = stable_graph(examples, chosen, N_HALVES, shared=sample.shared)
    return found


def make_tables(rows: list[Row]) -> tuple[str, pd.DataFrame]:
    """Text to read, and all numbers in it."""
    table, mass = _precision_table(rows), _mass_table(rows)
    text = [
        f"### Colour beside limb shape, {rows[0]['size']} examples",
        _beside_paper(table),
        "### What learning both groups together adds",
        _gains(table),
        "### Mass of A between the groups",
        f"Share of the sum of sizes off the diagonal, in percent; {_share_of_pairs():.1f}% of the pairs are between.",
        markdown(
            ["", "between"], [[row["method"], format_percent(row, "deviation")] for row in mass.to_dict("records")]
        ),
    ]
    return "\n\n".join(text), pd.concat([table, mass])


def _precision_table(rows: list[Row]) -> pd.DataFrame:
    """Precision of every method and group, learned apart and together."""
    places = np.cumsum([0, *(len(group) for group in GROUPS.values())])
    tables = []
    for start, end, group in zip(places, places[1:], GROUPS, strict=False):
        for method in METHODS:
            solved = "MTRL" if method == "MTFL" else method
            joint = [np.nanmean(row["joint"]["per_attribute"][solved][start:end]) for row in rows]
            values = pd.DataFrame({"apart": [row[group]["precision"][solved] for row in rows], "joint": joint})
            tables.append(compare(values, "apart", part=f"{group}, {method}", size=rows[0]["size"]))
    return pd.concat(tables)


def _beside_paper(table: pd.DataFrame) -> str:
    places = [(group, way) for way in WAYS for group in GROUPS]
    lines = []
    for method in METHODS:
        found = [
            format_percent(find(table, part=f"{group}, {method}", method=way), "deviation") for group, way in places
        ]
        printed = [f"{value:.2f}" for value in PAPER[method]] if method in PAPER else [""] * len(places)
        lines.append([method, *(cell for pair in zip(found, printed, strict=True) for cell in pair)])
    return markdown(["", *(f"{group} {way}{whose}" for group, way in places for whose in ("", ", paper"))], lines)


def _gains(table: pd.DataFrame) -> str:
    lines = []
    for method in METHODS:
        found = [find(table, part=f"{group}, {method}", method="joint") for group in GROUPS]
        printed = ["", ""]
        if method in PAPER:
            printed = [f"{PAPER[method][k + 2] - PAPER[method][k]:+.2f}" for k in range(2)]
        cells = (
            (format_difference(row, scale=100, digits=2), paper) for row, paper in zip(found, printed, strict=True)
        )
        lines.append([method, *(cell for pair in cells for cell in pair)])
    return markdown(["", *(f"{group}{whose}" for group in GROUPS for whose in ("", ", paper"))], lines)


def _mass_table(rows: list[Row]) -> pd.DataFrame:
    """Share of the sizes of A off the diagonal that lies between the groups."""
    n_colour, shares = len(GROUPS["colour"]), {}
    for method in LEARNERS:
        A = np.abs(np.array([row["joint"]["structure"][method] for row in rows]))
        A *= 1.0 - np.eye(A.shape[1])
        between = 2.0 * A[:, :n_colour, n_colour:].sum(axis=(1, 2))
        shares[method] = between / np.maximum(A.sum(axis=(1, 2)), 1e-300)
    return compare(pd.DataFrame(shares), "MTRL", part="mass of A between colour and limb", size=rows[0]["size"])


def _share_of_pairs() -> float:
    first, second = (len(group) for group in GROUPS.values())
    return 200.0 * first * second / ((first + second) * (first + second - 1))


def make_figure(rows: list[Row]) -> Any:
    """Mean size of the correlations in A, colour first, per method; then those of the graph to be looked at."""
    pictures = {method: [row["joint"]["structure"][method] for row in rows] for method in LEARNERS}
    for row in rows:
        if "stable" in row:
            n_edges = int(np.count_nonzero(np.triu(row["stable"], 1)))
            words = f"SKMTL to look at: {n_edges} {'edge' if n_edges == 1 else 'edges'},\nrepetition {row['seed']}"
            pictures[f"{words}, mu = {row['stable_mu']:.2f}"] = [row["stable"]]
    figure, axes = new_figure(1, len(pictures), figsize=(3.7 * len(pictures), 3.8))
    for axis, (title, structures) in zip(axes, pictures.items(), strict=True):
        image = _draw(axis, np.abs(np.array(structures)))
        axis.set_title(title, fontsize=11)
        figure.colorbar(image, ax=axis, shrink=0.75)
    figure.suptitle(r"Mean of $|A_{ts}| / \sqrt{A_{tt} A_{ss}}$ over repetitions")
    return figure


def _draw(axis: Any, A: Array) -> Any:
    """Correlations of structures, (n, T, T), as a picture with the border between the groups."""
    size, n_colour = np.sqrt(np.einsum("rtt->rt", A)), len(GROUPS["colour"])
    mean = (A / (size[:, :, None] * size[:, None, :])).mean(axis=0)
    highest = max(mean[~np.eye(len(mean), dtype=bool)].max(), 0.05)
    image = axis.imshow(np.where(np.eye(len(mean)) > 0.0, np.nan, mean), vmin=0.0, vmax=highest, cmap="viridis")
    axis.axhline(n_colour - 0.5, color="white", lw=1.5)
    axis.axvline(n_colour - 0.5, color="white", lw=1.5)
    axis.set(xticks=[3.5, 10.5], yticks=[3.5, 10.5], xticklabels=GROUPS, yticklabels=GROUPS)
    return image
