"""The graph of scenes that SKMTL learns, with natural and urban scenes apart."""

from typing import Any

import numpy as np

from skmtl._linalg import Array
from skmtl.experiments.runs import Row
from skmtl.experiments.tables import markdown, new_figure

KINDS = {
    "natural": ("Coast", "Forest", "Mountain", "OpenCountry"),
    "urban": ("Highway", "Industrial", "InsideCity", "Street", "Suburb", "TallBuilding"),
    "indoor": ("Bedroom", "Kitchen", "LivingRoom", "Office", "Store"),
}
SIGNS = {"positive": "#444444", "negative": "#6a6ab0"}
# Edges in fewer repetitions than this share are not drawn.
OFTEN = 0.25
COLOURS = {"natural": "#1b7837", "urban": "#c2571a", "indoor": "#e2a76f"}


def make_table(rows: list[Row]) -> str:
    """Edges, accuracy and the mass between kinds of scenes."""
    lines = []
    for rule, words in (("best", "best score"), ("1se", "sparsest within one standard error")):
        A = np.array([np.abs(row["structure"][rule]) for row in rows])
        edges = np.count_nonzero(np.triu(A, 1), axis=(1, 2))
        accuracy = [row["accuracy_1se"] if rule == "1se" else row["accuracy"]["SKMTL"] for row in rows]
        name = "SKMTL, 1se" if rule == "1se" else "SKMTL"
        mus = [row["chosen"][name]["mu"] for row in rows]
        counts = ", ".join(f"{mu:g} ({mus.count(mu)})" for mu in sorted(set(mus)))
        lines.append([words, f"{edges.mean():.1f} of 105", f"{100 * _mass_between(rows, A):.1f}", counts,
                      f"{100 * np.mean(accuracy):.2f}"])  # fmt: skip
    columns = ["SKMTL chosen by", "edges", "mass of A between natural and other scenes (%)", "mu", "accuracy"]
    return markdown(columns, lines)


def _mass_between(rows: list[Row], A: Array) -> float:
    """Share of the sum of sizes off the diagonal that lies between natural and other scenes; 44 of 105 pairs do."""
    natural = np.isin(rows[0]["classes"], KINDS["natural"])
    between = natural[:, None] != natural[None, :]
    off = A * (1.0 - np.eye(len(natural)))
    return float(off[:, between].sum() / max(off.sum(), 1e-300))


def make_figure(rows: list[Row]) -> Any:
    """The graph that predicts, how often an edge of it is there, and the graph to be looked at."""
    stable = rows[0]["structure"].get("stable")
    figure, axes = new_figure(1, 2 if stable is None else 3, figsize=(12 if stable is None else 18, 5.4))
    graphs = np.array([row["structure"]["best"] for row in rows])
    n_pairs = graphs.shape[1] * (graphs.shape[1] - 1) // 2
    edges = np.count_nonzero(np.triu(graphs, 1), axis=(1, 2))
    shown = next((k for k, count in enumerate(edges) if 0 < count < n_pairs), 0)
    _draw_graph(axes[0], rows[0]["classes"], graphs[shown], width=8.0)
    mu = rows[shown]["chosen"]["SKMTL"]["mu"]
    axes[0].set_title(f"predicts best, repetition {rows[shown]['seed']}: mu = {mu:g}, {edges[shown]} edges")
    shares = np.mean(np.sign(graphs), axis=0)
    _draw_graph(axes[1], rows[0]["classes"], np.where(np.abs(shares) >= OFTEN, shares, 0.0), width=5.0)
    axes[1].set_title(f"edges in at least a quarter of {len(rows)} repetitions, as wide as they are frequent")
    if stable is not None:
        _draw_graph(axes[2], rows[0]["classes"], np.array(stable), width=8.0)
        mu = rows[0]["chosen"]["SKMTL, stable"]["mu"]
        axes[2].set_title(f"to look at: edges that nine of ten halves agree on, mu = {mu:g}")
    handles = [axes[0].plot([], [], "o", color=colour, label=kind)[0] for kind, colour in COLOURS.items()]
    handles += [axes[0].plot([], [], color=colour, label=sign)[0] for sign, colour in SIGNS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(f"SKMTL, {rows[0]['size']} images per class")
    return figure


def _draw_graph(axis: Any, classes: list[str], A: Array, width: float) -> None:
    """Classes on a circle, kind by kind; an edge where A is not zero, as wide as its correlation is strong."""
    kind_of = {name: kind for kind, names in KINDS.items() for name in names}
    order = sorted(range(len(classes)), key=lambda i: (list(KINDS).index(kind_of.get(classes[i], "indoor")), i))
    angle = {i: 2 * np.pi * place / len(order) for place, i in enumerate(order)}
    size = np.sqrt(np.diag(A)) if np.all(np.diag(A) > 0.0) else np.ones(len(A))
    strength = A / np.outer(size, size)
    for i, j in zip(*np.nonzero(np.triu(A, 1)), strict=True):
        ends = np.array([[np.cos(angle[k]), np.sin(angle[k])] for k in (i, j)])
        colour = SIGNS["positive" if strength[i, j] > 0.0 else "negative"]
        axis.plot(*ends.T, color=colour, lw=max(width * abs(strength[i, j]), 1.2), zorder=1)
    for i, name in enumerate(classes):
        x, y = np.cos(angle[i]), np.sin(angle[i])
        axis.plot(x, y, "o", color=COLOURS[kind_of.get(name, "indoor")], markersize=13, zorder=2)
        axis.text(1.12 * x, 1.12 * y, name, ha="left" if x > 0.1 else "right" if x < -0.1 else "center", va="center")
    axis.set(xlim=(-1.75, 1.75), ylim=(-1.25, 1.25), aspect="equal")
    axis.axis("off")
