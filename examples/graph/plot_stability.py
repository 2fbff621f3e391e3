"""
Which edges come back
=====================

A graph is learned from rows, and other rows would give another one. :func:`~skmtl.edge_stability` learns it on many
random halves of the rows and counts how often each edge is found; ``max_false`` lowers mu until no more than so many
of the stable edges are expected to be false. Here the true graph is known.
"""

import matplotlib.pyplot as plt
import pandas as pd

from skmtl import MultiTaskRegressor, edge_stability
from skmtl.datasets import make_sparse_tasks
from skmtl.penalties import Sparse

tasks = make_sparse_tasks(10, 30, 300, support=0.4, noise=0.01, corruption=0.0, random_state=0)
model = MultiTaskRegressor(Sparse(mu=0.9), alpha=1e-3)
names = list("abcdefghij")
truth = pd.DataFrame(tasks.structure, names, names)
edges = edge_stability(model, tasks.X, pd.DataFrame(tasks.Y, columns=names), n_resamples=40, max_false=1)
true = [truth.loc[a, b] != 0 for a, b in edges[["task_a", "task_b"]].to_numpy()]
edges = edges.assign(true=true)
edges.head(8)

# %%
# Every edge, by how often it was found. Those above 0.9 are what the report calls stable.
shown = edges[edges["frequency"] > 0].reset_index(drop=True)
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
colors = shown["true"].map({True: "#1f6f8b", False: "#c8553d"})
ax.bar(range(len(shown)), shown["frequency"], color=list(colors))
ax.axhline(0.9, color="0.5", linewidth=0.8)
ax.set(xlabel="edges", ylabel="share of the halves that have it", xticks=[])
ax.plot([], [], color="#1f6f8b", linewidth=6, label="true")
ax.plot([], [], color="#c8553d", linewidth=6, label="false")
ax.legend()
stable = edges[edges["frequency"] > 0.9]
n_true = (truth.to_numpy() != 0).sum() // 2 - len(names) // 2
print(f"{len(stable)} stable edges, {int((~stable['true']).sum())} of them false; {n_true} true edges in all")
