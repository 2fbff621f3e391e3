"""
Draw the graph yourself
=======================

Seven measurements of 442 people with diabetes are predicted together from age, sex, body mass index and blood
pressure. Two of them are joined when the correlation of their predictors exceeds 1 - mu = 0.5.
:meth:`~skmtl.plotting.GraphDisplay` draws any model in one line; here the places are chosen by hand and networkx
draws, as you may want it in a paper.
"""

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
    """The model of the picture on the first page."""
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


figure, ax = plt.subplots(figsize=(9, 6.2), layout="constrained")
model = fit()
draw(model.to_networkx(), ax)
ax.plot([], [], color=SAME, linewidth=5, label="move together")
ax.plot([], [], color=OPPOSITE, linewidth=5, label="move in opposite directions")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.04), ncols=2, frameon=False, fontsize=11)
ax.set_title(
    "What age, sex, body mass and blood pressure predict:\nseven measurements and their relations", fontsize=13
)
ax.margins(0.14)
ax.set_axis_off()
# figure.savefig("task-graph.png", dpi=130, facecolor="white") wrote the picture on the first page.

# %%
# The same as a table, with the correlation of the predictors beside the weight:
model.relations().replace("\n", " ", regex=True)
