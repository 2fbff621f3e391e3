"""
More rows: landmarks and Dask
=============================

The exact kernel of n rows costs n cubed. With ``n_components`` the kernel is approximated on so many rows, the
landmarks, and the cost is linear in n. Dask arrays go through the same ``fit``: blocks are summed where they are.
"""

import time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor
from skmtl.penalties import Sparse

rng = np.random.default_rng(0)
X, X_test = rng.uniform(-2, 2, (20_000, 4)), rng.uniform(-2, 2, (2000, 4))
mix = rng.standard_normal((2, 5))


def targets(X):
    return np.column_stack([np.sin(2 * X[:, 0]) * X[:, 1], np.cos(X[:, 2] + X[:, 3])]) @ mix


Y = targets(X) + 0.2 * rng.standard_normal((len(X), 5))


def model(n_components):
    return MultiTaskRegressor(
        Sparse(mu=0.8), alpha=1e-5, kernel="rbf", gamma=0.3, n_components=n_components, random_state=0
    )


# %%
# More landmarks, better predictions, more time. The certificate is that of the approximated problem; doubling the
# landmarks is how to judge the approximation.
numbers, scores, seconds = (25, 50, 100, 200, 400), [], []
for m in numbers:
    start = time.process_time()
    fitted = model(m).fit(X, Y)
    seconds.append(time.process_time() - start)
    scores.append(1 - fitted.score(X_test, targets(X_test)))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].loglog(numbers, scores, "o-")
axes[0].set(xlabel="landmarks", ylabel="1 - R squared on new rows", xticks=numbers, xticklabels=numbers)
axes[0].minorticks_off()
axes[1].loglog(numbers, seconds, "o-", color="#c8553d")
axes[1].set(xlabel="landmarks", ylabel="CPU seconds of the fit, 20,000 rows", xticks=numbers, xticklabels=numbers)
axes[1].minorticks_off()

# %%
# The same from Dask, in blocks of 4000 rows. With a :class:`distributed.Client` the blocks stay on its workers.
blocks = model(200).fit(da.from_array(X, chunks=(4000, 4)), da.from_array(Y, chunks=(4000, 5)))
again = blocks.predict(da.from_array(X_test, chunks=(500, 4)))
print(
    type(again).__module__,
    again.shape,
    f"R squared {1 - np.mean((again.compute() - targets(X_test)) ** 2) / targets(X_test).var():.4f}",
)
