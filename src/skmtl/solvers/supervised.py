"""Which supervised step suits the labels, and the eps that suits its scale."""

from typing import Any

import numpy as np

from skmtl.losses import Loss
from skmtl.objective import Supervised
from skmtl.solvers.dual_ridge import DualRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.ridge import Ridge

# eps="auto" is this share of the mean squared norm of the independent tasks' predictors, which need not be exact.
AUTO_EPS, AUTO_EPS_TOL = 1e-2, 1e-4
# Up to this many labels, and this share of the coordinates of all tasks, a matrix of labels by labels is factorized.
FEW_LABELS, FEW_PER_COORDINATE = 1500, 1.0 / 3.0


def make_supervised(design: Any, labels: Any, loss: Loss, alpha: float, *, intercept: bool) -> Supervised:
    """The supervised step: closed form for square loss and labels that are complete or few, else Newton."""
    if labels.in_blocks:
        return design.supervised(alpha)
    if loss.quadratic and labels.complete():
        weight = labels.row_weight()
        targets = np.sqrt(weight)[:, None] * labels.y.reshape(len(weight), -1)
        return Ridge.from_targets(design.values, design.project(targets), targets, float(weight.sum()), alpha)
    few = min(FEW_LABELS, FEW_PER_COORDINATE * len(design.values) * labels.n_tasks)
    if loss.quadratic and np.count_nonzero(labels.weight) <= few:
        return DualRidge(design.rows(), labels, alpha, intercept=intercept)
    return NewtonStep(design.rows(), design.values, labels, loss, alpha, intercept=intercept)


def auto_eps(supervised: Supervised) -> float:
    """The eps that suits the scale of the problem; 1e-2 where there is nothing to learn."""
    energy = supervised.diagonal_energy(np.ones(supervised.n_tasks), tol=AUTO_EPS_TOL)
    return AUTO_EPS * (float(np.mean(energy)) or 1.0)
