"""
Tasks that do not belong together
=================================

Sharing can do harm. Six tasks in two groups that have nothing to do with one another, the second of them with ten
times the noise: a structure that relates all of them drags the groups together. The search has independent tasks
among its candidates, and says what won.
"""

import numpy as np
import pandas as pd

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, compare_methods
from skmtl.penalties import Fixed
from skmtl.plotting import ComparisonDisplay

rng = np.random.default_rng(0)
X, X_test = rng.standard_normal((60, 10)), rng.standard_normal((2000, 10))
first, second = rng.standard_normal((10, 1)), rng.standard_normal((10, 1))
slopes = np.hstack([first + 0.1 * rng.standard_normal((10, 3)), second + 0.1 * rng.standard_normal((10, 3))])
names = ["a1", "a2", "a3", "b1", "b2", "b3"]
Y = pd.DataFrame(X @ slopes + rng.standard_normal((60, 6)) * np.repeat([0.5, 5.0], 3), columns=names)
Y_test = X_test @ slopes

# %%
# All tasks held near their mean, tasks apart, and the structure that the search learns:
search = MultiTaskRegressorCV(kernel="linear", alphas=np.logspace(-3, 1, 9), cv=5).fit(X, Y)
models = {
    "near their mean": MultiTaskRegressor(Fixed.mean_coupled(strength=20.0), alpha=search.alpha_).fit(X, Y),
    "apart": MultiTaskRegressor("independent", alpha=search.alpha_).fit(X, Y),
    "searched": search,
}
for name, model in models.items():
    print(f"{name:16s} R squared on new rows {model.score(X_test, Y_test):.3f}")
print(search.verdict_)

# %%
# What was learned keeps the groups apart, or nearly:
search.best_estimator_.relations().head(8)

# %%
# Task by task, on folds of the training rows, with intervals; "too close to call" is what an honest comparison says
# most often.
search = MultiTaskRegressorCV(kernel="linear", alphas=np.logspace(-2, 1, 4), mus=[0.5, 0.8], eps_factors=[1.0], cv=3)
ComparisonDisplay.from_comparison(compare_methods(X, Y, ["sparse"], estimator=search, cv=5))
