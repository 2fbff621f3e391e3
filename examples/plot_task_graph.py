"""Draw the graph of tasks that a model has learned.

Seven measurements of 442 people with diabetes are predicted together from age, sex, body mass index and blood pressure.
Two of them are joined when the correlation of their predictors exceeds 1 - mu = 0.5.

    python examples/plot_task_graph.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import networkx as nx
from sklearn.datasets import load_diabetes

from skmtl import MultiTaskRegressor
from skmtl.penalties import Sparse

NAMES = {
    "s1": "total\ncholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol\n/ HDL",
    "s5": "triglycerides\n(log)",
    "s6": "glucose",
    "target": "progression\nof diabetes",
}
PLACES = {
    "s3": (0.0, 1.15),
    "s4": (1.2, 1.25),
    "s2": (2.4, 1.15),
    "s6": (0.35, 0.1),
    "s5": (1.65, 0.0),
    "s1": (3.0, 0.2),
    "target": (1.1, -0.95),
}
SAME, OPPOSITE = "#1f6f8b", "#c8553d"


def fit():
    table = load_diabetes(as_frame=True).frame
    model = MultiTaskRegressor(Sparse(mu=0.5), kernel="rbf", gamma=20)
    return model.fit(table.loc[:, "age":"bp"], table.loc[:, "s1":"target"].rename(columns=NAMES))


def draw(graph, ax):
    places = {NAMES[name]: place for name, place in PLACES.items()}
    edges = sorted(graph.edges(data=True), key=lambda edge: abs(edge[2]["weight"]))
    strongest = abs(edges[-1][2]["weight"])
    strength = [abs(data["weight"]) / strongest for *_, data in edges]
    nx.draw_networkx_edges(
        graph,
        places,
        edgelist=[(a, b) for a, b, _ in edges],
        width=[1.0 + 11.0 * s for s in strength],
        edge_color=[SAME if data["weight"] > 0 else OPPOSITE for *_, data in edges],
        alpha=[0.45 + 0.55 * s for s in strength],
        ax=ax,
    )
    nx.draw_networkx_nodes(
        graph, places, node_size=5600, node_color="white", edgecolors="#30343f", linewidths=1.5, ax=ax
    )
    nx.draw_networkx_labels(graph, places, font_size=10.5, font_color="#30343f", ax=ax)


def main(path):
    figure, ax = plt.subplots(figsize=(9, 6.2), layout="constrained")
    draw(fit().to_networkx(), ax)
    ax.plot([], [], color=SAME, linewidth=5, label="move together")
    ax.plot([], [], color=OPPOSITE, linewidth=5, label="move in opposite directions")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.04), ncols=2, frameon=False, fontsize=11)
    ax.set_title(
        "What age, sex, body mass and blood pressure predict:\nseven measurements and their relations", fontsize=13
    )
    ax.margins(0.14)
    ax.set_axis_off()
    figure.savefig(path, dpi=130, facecolor="white")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/task-graph.png")
