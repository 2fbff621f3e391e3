"""
A penalty of your own
=====================

What tasks may have in common is said by a penalty R(A). Here is the p-th power of the Schatten norm, a family that
has ``frobenius`` at p = 2 and comes near ``trace`` at p = 1: on the eigenvalues of A it is

.. math:: R(A) = \\sum_i a_i^p, \\qquad p \\ge 1.

It takes three methods. The structure step has a closed form in the eigenvalues s of S: :math:`-s/a^2 + p a^{p-1} =
0`.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl.penalties import StructurePenalty, StructureStep


class Schatten(StructurePenalty):
    """The p-th power of the Schatten norm."""

    name = "schatten"
    tex = r"\sum_i a_i^p"
    reference = "Schatten, 1946"

    def __init__(self, power=1.5):
        self.power = power

    def check(self, n_tasks):
        if not self.power >= 1:
            raise ValueError(f"power={self.power!r} of Schatten must be at least 1, or R is not convex.")

    def value(self, A):
        return float(np.sum(np.linalg.eigvalsh(A) ** self.power))

    def minimize(self, S, *, start=None, tol=1e-9):
        s, U = np.linalg.eigh(S)
        a = (np.maximum(s, 1e-15 * s.max()) / self.power) ** (1 / (self.power + 1))
        return StructureStep((U * a) @ U.T, 0.0)

    def lower_bound(self, Q, eps, structure, scale=1.0):
        # min over a > 0 of eps/a + a^p - q a, for every eigenvalue q; convex, so that the tangent at any guess is
        # below it: with u = 1/a^2 at the guess, eps/a >= 2 eps sqrt(u) - eps u a leaves a^p - (q + eps u) a, whose
        # minimum is known.
        q = scale**2 * np.linalg.eigvalsh(Q)
        a = np.sort(np.linalg.eigvalsh(structure))
        for _ in range(60):  # Newton on the scalar problems, from the guess
            slope, bend = -eps / a**2 + self.power * a ** (self.power - 1) - q, 2 * eps / a**3
            bend = bend + self.power * (self.power - 1) * a ** (self.power - 2)
            a = np.maximum(a - slope / bend, 0.5 * a)
        slope = q + eps / a**2
        if self.power == 1:
            return float(np.sum(2 * eps / a)) if np.all(slope <= 1 + 1e-12) else -np.inf
        best = (slope / self.power) ** (1 / (self.power - 1))
        return float(np.sum(2 * eps / a + best**self.power - slope * best))


# %%
# The step alone, first against closed form and neighbours, as a test of the library would:
S = np.array([[2.0, 0.5], [0.5, 1.0]])
A, gap = minimize_structure(S, Schatten(power=2.0))
print(np.allclose(A, minimize_structure(S, "frobenius").structure))

# %%
# And a whole fit. The certificate is made of ``lower_bound``: a small gap says that both methods are right.
rng = np.random.default_rng(0)
X = rng.standard_normal((100, 8))
Y = X @ rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((100, 6))
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for power in (1.1, 1.5, 2.0, 4.0):
    model = MultiTaskRegressor(Schatten(power), alpha=0.05).fit(X, Y)
    values = np.linalg.eigvalsh(model.structure_)[::-1]
    ax.plot(values / values[0], "o-", label=f"p = {power}, gap {model.solution_.gap:.0e}")
ax.set(xlabel="eigenvalue of A", ylabel="relative to the largest", yscale="log")
ax.legend()
