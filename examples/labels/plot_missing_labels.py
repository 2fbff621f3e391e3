"""
Missing labels: where sharing pays
==================================

Eight related tasks on the same rows, and fewer and fewer of their labels known. A label that is missing is ``NaN`` in
Y; there is nothing else to do. What one task does not know at a row, another may.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressorCV

SHARES, SEEDS = (0.0, 0.4, 0.8), range(3)


def draw(missing, seed):
    """Rows, targets with gaps, and other rows to test on: eight mixtures of two functions."""
    rng = np.random.default_rng(seed)
    X, mix = rng.standard_normal((400, 3)), rng.standard_normal((2, 8))
    latent = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], np.cos(2 * X[:, 2])])
    Y = latent @ mix + 0.3 * rng.standard_normal((400, 8))
    known = Y[:150].copy()
    known[rng.random(known.shape) < missing] = np.nan
    labelled = ~np.isnan(known).all(axis=1)
    return X[:150][labelled], known[labelled], X[150:], Y[150:]


def error(method, X, Y, X_test, Y_test):
    grid = {"alphas": np.logspace(-4, 0, 5), "eps_factors": [1.0], "gammas": [0.3]}
    grid["mus"] = [0.8, 1.0] if method == "sparse" else None
    search = MultiTaskRegressorCV(method, kernel="rbf", cv=3, **grid).fit(X, Y)
    return float(np.mean(np.mean((search.predict(X_test) - Y_test) ** 2, 0) / Y_test.var(0)))


errors = {
    name: [[error(name, *draw(share, seed)) for seed in SEEDS] for share in SHARES]
    for name in ("sparse", "independent")
}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, values in errors.items():
    ax.errorbar(SHARES, np.mean(values, 1), np.std(values, 1), marker="o", capsize=3, label=name)
ax.set(xlabel="share of the labels that is missing", ylabel="error relative to the variance")
ax.legend()

# %%
for share, together, apart in zip(SHARES, *errors.values(), strict=True):
    print(f"{share:4.0%} missing: {np.mean(together):.3f} together, {np.mean(apart):.3f} apart")
