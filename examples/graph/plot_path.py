"""
The graph along mu
==================

``mu`` is a threshold: tasks are joined when the correlation of their predictors exceeds 1 - mu. Following the model
from small to large mu shows edges appear, and what that does to the score on held-out folds.
"""

import numpy as np
from sklearn.datasets import load_diabetes

from skmtl import MultiTaskRegressor, structure_path
from skmtl.plotting import PathDisplay

table = load_diabetes(as_frame=True).frame
X, Y = table.loc[:, "age":"bp"], table.loc[:, "s1":"target"]
model = MultiTaskRegressor("sparse", alpha=1e-3, kernel="rbf", gamma=20)
path = structure_path(model, X, Y, mus=np.linspace(0.2, 1.0, 9), cv=5)
PathDisplay.from_path(path)

# %%
# The score hardly moves while the number of related pairs goes from one to all: here the graph is yours to choose, and
# a small mu gives one that can be read.
print(
    *(
        f"mu {mu:.1f}: {edges:2d} pairs, score {score:.3f}"
        for mu, edges, score in zip(path.mus, path.n_edges, path.scores, strict=True)
    ),
    sep="\n",
)
