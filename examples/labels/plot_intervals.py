"""
How sure is a prediction?
=========================

Two tasks that go together, and a gap in which one of them has no labels. Intervals widen where nothing is known, less
so where the other task has labels; and the label of the other task at a new row sharpens the prediction there.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor
from skmtl.penalties import Fixed

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, 120))[:, None]
Y = np.column_stack([np.sin(x[:, 0]), np.sin(x[:, 0]) + 0.3 * np.cos(2.0 * x[:, 0])]) + 0.15 * rng.standard_normal(
    (120, 2)
)
Y[(x[:, 0] > 4.0) & (x[:, 0] < 6.5), 0] = np.nan

# %%
# Tasks apart, and tasks that share, with intervals that hold nine labels in ten:
grid = np.linspace(0.0, 10.0, 300)[:, None]
structures = {"apart": np.eye(2), "together": np.array([[1.0, 0.9], [0.9, 1.0]])}
figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), sharey=True, layout="constrained")
for ax, (name, structure) in zip(axes, structures.items(), strict=True):
    model = MultiTaskRegressor(Fixed(structure), kernel="rbf", gamma=0.5, alpha=3e-3).fit(x, Y)
    low, high = model.predict_interval(grid, coverage=0.9)
    ax.fill_between(grid[:, 0], low[:, 0], high[:, 0], alpha=0.25, label="interval")
    ax.plot(grid[:, 0], model.predict(grid)[:, 0], label="prediction")
    ax.plot(grid[:, 0], np.sin(grid[:, 0]), "k:", label="truth")
    ax.plot(x[:, 0], Y[:, 0], ".", color="0.4", label="labels")
    ax.set(title=f"The first task, tasks {name}", xlabel="x")
axes[0].legend()

# %%
# At a row beyond all others, with the label of the second task known, and without it:
row = np.array([[11.0]])
known = np.array([[np.nan, np.sin(11.0) + 0.3 * np.cos(22.0)]])
for words, options in (("without", {}), ("given", {"known": known})):
    mean, std = model.predict(row, return_std=True, **options)
    print(f"{words:8s} {mean[0, 0]:.2f} +- {std[0, 0]:.2f}; the truth is {np.sin(11.0):.2f}")
