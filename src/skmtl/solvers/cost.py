"""Which road a supervised step with missing labels takes: what each costs, from counts alone."""

import os
import numpy as np
from scipy import linalg

SLOW = 10.0
STEP = 1e6


def worth_forming_grams(n_rows, r, n_labels, n_tasks):
    return r * r * n_tasks <= 2**24 and r <= 64


def worth_forming_curvature(n_tasks):
    return n_tasks <= 24


def worth_decomposing_tasks(observed, road):
    return road != "iterative"


def worth_refactorizing(factor, A, ridge, gap, product_cost):
    spread = linalg.eigh(A, factor.A, eigvals_only=True)
    low, high = min(spread[0], ridge / factor.ridge), max(spread[-1], ridge / factor.ridge)
    if not low > 0.0:
        return True
    steps = 1.0 + 0.5 * np.sqrt(high / low) * np.log(max((high / low - 1.0) ** 2 / gap, 2.0))
    L = len(factor._L)
    return L**3 / 3.0 < steps * (2.0 * SLOW * L**2 + product_cost + STEP)


def choose_road(observed, alpha):
    if "ROAD" in os.environ:
        return os.environ["ROAD"]
    L, r, T = observed.n_labels, len(observed.values), observed.cross.shape[1]
    if min(L, r * T) <= 6500:
        return "labels" if L <= r * T else "features"
    return "iterative"
