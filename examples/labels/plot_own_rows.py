"""
Tasks with rows of their own
============================

Pupils of schools, days of patients: every row belongs to one task. Then X has all rows, y one label for each, and
``tasks`` says whose it is. A part common to all tasks (``common``) is nearly always worth having.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor

rng = np.random.default_rng(0)
n_schools, n_pupils = 30, 8
schools = np.repeat([f"school {k}" for k in range(n_schools)], n_pupils)
X = rng.standard_normal((len(schools), 6))
shared, own = rng.standard_normal(6), 0.4 * rng.standard_normal((n_schools, 6))
slopes = np.repeat(shared + own, n_pupils, axis=0)
y = np.sum(X * slopes, axis=1) + 0.5 * rng.standard_normal(len(X))

X_test = rng.standard_normal((3000, 6))
schools_test = rng.choice(np.unique(schools), len(X_test))
place = np.array([int(name.split()[1]) for name in schools_test])
y_test = np.sum(X_test * (shared + own)[place], axis=1)

# %%
# Every school by itself has eight rows for six features; all of them as one have 240 rows and ignore what differs.
# Between the two lies a common part and a structure.
models = {
    "apart": MultiTaskRegressor("independent", alpha=0.03),
    "sparse": MultiTaskRegressor("sparse", alpha=0.03),
    "common and apart": MultiTaskRegressor("independent", alpha=0.03, common=10.0),
    "common and sparse": MultiTaskRegressor("sparse", alpha=0.03, common=10.0),
}
scores = {
    name: model.fit(X, y, tasks=schools).score(X_test, y_test, tasks=schools_test) for name, model in models.items()
}
pooled = MultiTaskRegressor("independent", alpha=0.03).fit(X, y)
scores["all as one"] = pooled.score(X_test, y_test)
figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
bars = ax.barh(list(scores), list(scores.values()), color="#1f6f8b")
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.set(xlabel="R squared on new rows", xlim=(0, 1.05))
ax.invert_yaxis()

# %%
# The common part is what pays here. Beyond it these schools were drawn each by itself, and the structure finds nothing
# more to share.
#
# A prediction says for which school it is; a school that was not seen is refused by name.
print(models["common and sparse"].predict(X_test[:3], tasks=schools_test[:3]))
