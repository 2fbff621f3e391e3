"""
The paper's figure in small
===========================

Tasks whose true relations are known, and three ways to learn them: the paper's sparse structure, a dense one
(``trace``, which is MTRL), and tasks apart. There are fewer repetitions and candidates than in the paper; ``skmtl
reproduce synthetic`` does it in full.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.datasets import make_sparse_tasks
from skmtl.penalties import Sparse

SUPPORTS, SEEDS, METHODS = (0.2, 0.5, 0.8), range(4), ("sparse", "trace", "independent")


def error(method, tasks):
    """Mean over tasks of the squared error relative to the variance."""
    mus = [0.8, 0.9, 1.0] if method == "sparse" else None
    plain = {"kernel": "linear", "fit_intercept": False, "scale_targets": False}  # as the paper has it
    search = MultiTaskRegressorCV(method, alphas=np.logspace(-1.5, 1, 6), mus=mus, eps_factors=[1.0], **plain)
    search.fit(tasks.X, tasks.Y)
    return float(np.mean(np.mean((search.predict(tasks.X_test) - tasks.Y_test) ** 2, 0) / tasks.Y_test.var(0)))


errors = {method: [] for method in METHODS}
for support in SUPPORTS:
    drawn = [make_sparse_tasks(10, 100, 50, support=support, random_state=seed) for seed in SEEDS]
    for method in METHODS:
        errors[method].append([error(method, tasks) for tasks in drawn])

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for method, values in errors.items():
    ax.errorbar(
        SUPPORTS, np.mean(values, 1), np.std(values, 1) / np.sqrt(len(SEEDS)), marker="o", capsize=3, label=method
    )
ax.set(
    xlabel="share of tasks that are related",
    ylabel="error relative to the variance",
    title="10 tasks, 50 rows, 100 features",
)
ax.legend()

# %%
# The truth, and what is learned of it from more rows, at a mu that can be read: the darker, the more related.
tasks = make_sparse_tasks(10, 50, 200, support=0.3, corruption=0.0, random_state=1)
model = MultiTaskRegressor(Sparse(mu=0.8), alpha=1e-3).fit(tasks.X, tasks.Y)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for ax, matrix, title in zip(axes, (tasks.structure, model.structure_), ("true", "learned"), strict=True):
    spread = np.sqrt(np.diag(matrix))
    ax.imshow(np.abs(matrix) / np.outer(spread, spread), cmap="Blues", vmin=0, vmax=1)
    ax.set(title=f"{title}: {np.mean(matrix != 0):.0%} of the entries are not zero", xticks=[], yticks=[])
