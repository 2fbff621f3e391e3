"""Which supervised step suits the labels, and the eps that suits its scale."""

from typing import Any

import numpy as np

from skmtl.losses import Loss
from skmtl.objective import Supervised
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonStep
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.ridge import Ridge

# eps="auto" is this share of the mean squared norm of the independent tasks' predictors, which need not be exact.
AUTO_EPS, AUTO_EPS_TOL = 1e-2, 1e-4


def make_supervised(design: Any, labels: Any, loss: Loss, alpha: float, *, intercept: bool) -> Supervised:
    """The supervised step: closed form for square loss and labels that are complete or few, else Newton."""
    if labels.in_blocks:
        return design.supervised(alpha)
    if loss.quadratic and labels.complete():
        weight = labels.row_weight()
        targets = np.sqrt(weight)[:, None] * labels.y.reshape(len(weight), -1)
        return Ridge.from_targets(design.values, design.project(targets), targets, float(weight.sum()), alpha)
    if loss.quadratic:
        rows = labels.arrange(design.rows())
        return MissingLabelRidge(ObservedRows(rows, design.values, labels, intercept=intercept), alpha)
    return NewtonStep(design.rows(), design.values, labels, loss, alpha, intercept=intercept)


def auto_eps(supervised: Supervised) -> float:
    """The eps that suits the scale of the problem; 1e-2 where there is nothing to learn."""
    energy = supervised.diagonal_energy(np.ones(supervised.n_tasks), tol=AUTO_EPS_TOL)
    return AUTO_EPS * (float(np.mean(energy)) or 1.0)
