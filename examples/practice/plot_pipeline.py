"""
A Pipeline with GridSearchCV
============================

The estimators are scikit-learn's in every respect. Here numbers are filled and scaled, a category is one-hot encoded,
and scikit-learn's own search chooses the penalty and its parameter.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl import MultiTaskRegressor
from skmtl.penalties import Independent, Sparse

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.standard_normal((200, 3)), columns=["depth", "pressure", "salt"])
table["basin"] = rng.choice(["north", "south", "east"], 200)
heat = np.sin(table["depth"]) + table["basin"].map({"north": 0.0, "south": 1.0, "east": -1.0})
Y = pd.DataFrame({"oxygen": heat + 0.3 * table["salt"], "nitrate": -heat, "phosphate": -heat + 0.2 * table["pressure"]})
Y += 0.2 * rng.standard_normal(Y.shape)
table.loc[::7, "salt"] = np.nan

# %%
numbers = make_pipeline(SimpleImputer(), StandardScaler())
prepare = ColumnTransformer(
    [("numbers", numbers, ["depth", "pressure", "salt"]), ("words", OneHotEncoder(), ["basin"])]
)
model = Pipeline([("prepare", prepare), ("tasks", MultiTaskRegressor(kernel="rbf", gamma=0.3))])
alphas = [1e-3, 1e-2]
grid = [
    {"tasks__penalty": [Sparse()], "tasks__penalty__mu": [0.5, 0.9], "tasks__alpha": alphas},
    {"tasks__penalty": [Independent()], "tasks__alpha": alphas},
]
search = GridSearchCV(model, grid, cv=5).fit(table, Y)
chosen = ["param_tasks__penalty", "param_tasks__penalty__mu", "param_tasks__alpha", "mean_test_score"]
results = pd.DataFrame(search.cv_results_)
results[chosen]

# %%
# What every candidate scored on the five folds:
words = [", ".join(f"{key.split('__')[-1]} {value}" for key, value in p.items()) for p in results["params"]]
figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
ax.errorbar(results["mean_test_score"], words, xerr=results["std_test_score"] / 5**0.5, fmt="o", capsize=3)
ax.set(xlabel="R squared on held-out folds, and its standard error")
ax.invert_yaxis()

# %%
# The last step of the pipeline is a fitted estimator with everything that it learned:
print(search.best_estimator_[-1].solution_.status)
search.best_estimator_[-1].relations()

# %%
# Where Y has gaps, or every row belongs to one task, use :class:`~skmtl.MultiTaskRegressorCV` instead, whose folds
# and scores know about both. It is also faster: one decomposition serves the whole grid.
