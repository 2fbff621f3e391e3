"""
A loss of your own
==================

A loss is a class with four methods: its value, its gradient, its second derivative, and its conjugate, from which the
certificate is made. Here it is the logarithm of the hyperbolic cosine: square near zero, absolute far from it, and
smooth everywhere.

.. math:: V(y, f) = \\log \\cosh(f - y)

.. math:: V^*(y, u) = uy + \\tfrac12 \\bigl((1 + u) \\log(1 + u) + (1 - u) \\log(1 - u)\\bigr), \\; |u| \\le 1
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import xlogy

from skmtl import MultiTaskRegressor
from skmtl.losses import Loss


class LogCosh(Loss):
    """Square near zero, absolute far from it."""

    name = "log_cosh"
    tex = r"\log \cosh(f - y)"
    for_regression = True

    def value(self, Y, F, weight):
        size = np.abs(F - Y)
        return float(np.sum(weight * (size + np.log1p(np.exp(-2 * size)) - np.log(2))))

    def gradient(self, Y, F, weight):
        return weight * np.tanh(F - Y)

    def curvature(self, Y, F, weight):
        return weight * (1 - np.tanh(F - Y) ** 2)

    def conjugate(self, Y, U, weight):
        # A gradient is a weight times a number between -1 and 1; beyond, the conjugate is infinite.
        u = np.divide(U, weight, out=np.zeros_like(U), where=weight > 0)
        if np.any(np.abs(u) > 1 + 1e-12):
            return np.inf
        u = np.clip(u, -1, 1)
        return float(np.sum(U * Y + weight * (xlogy(1 + u, 1 + u) + xlogy(1 - u, 1 - u)) / 2))


# %%
# An object of it goes where the name of a loss goes. Some labels are wrong by far, and this loss minds less:
rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (80, 1))
truth = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + 0.3 * X[:, 0]])
Y = truth + 0.1 * rng.standard_normal(truth.shape)
Y[rng.random(Y.shape) < 0.08] += 6

grid = np.linspace(-3, 3, 200)[:, None]
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(X[:, 0], Y[:, 0], ".", color="0.6")
for loss in ("square", LogCosh()):
    model = MultiTaskRegressor(alpha=1e-3, kernel="rbf", gamma=1.0, loss=loss).fit(X, Y)
    ax.plot(grid, model.predict(grid)[:, 0], label=model.loss_.name)
    print(f"{model.loss_.name:9s} gap {model.solution_.gap:.1e}")
ax.legend()

# %%
# The certificate is as good as the conjugate. A wrong one is noticed at once: the bound then exceeds the objective,
# or the gap does not close. A quick check is Fenchel's equality, which holds at a gradient and nowhere else.
loss, y, f, weight = LogCosh(), rng.standard_normal(5), rng.standard_normal(5), rng.uniform(0.5, 2, 5)
u = loss.gradient(y, f, weight)
print(np.isclose(loss.value(y, f, weight) + loss.conjugate(y, u, weight), u @ f))
