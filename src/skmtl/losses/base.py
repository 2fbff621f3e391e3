"""The contract of a loss."""

import numpy as np
from sklearn.base import BaseEstimator

from skmtl._linalg import Array

# Dual coefficients may leave the domain of a conjugate by this much: rounding, not a mistake.
ROUNDING = 1e-12


class Loss(BaseEstimator):
    r"""A convex loss on real scores, the base of all losses.

    A loss of your own is a subclass that defines the four methods ``value``, ``gradient``, ``curvature`` and
    ``conjugate``, and says in class attributes what it is good for. Estimators take an object of it as ``loss``.
    Losses for classification read y as -1 or +1.

    See Also
    --------
    Square : The squared error.
    skmtl.MultiTaskRegressor : Takes losses with ``for_regression``.
    skmtl.MultiTaskClassifier : Takes losses with ``for_classification``.

    Examples
    --------
    The gradient is a point at which the conjugate meets the loss: :math:`V(y, f) + V^*(y, u) = u f`.

    >>> import numpy as np
    >>> from skmtl.losses import LOSSES
    >>> y, f, weight = np.array([1.0, -1.0]), np.array([0.3, 0.2]), np.ones(2)
    >>> for name in ("logistic", "squared_hinge"):
    ...     loss = LOSSES[name]()
    ...     u = loss.gradient(y, f, weight)
    ...     print(name, np.isclose(loss.value(y, f, weight) + loss.conjugate(y, u, weight), u @ f))
    logistic True
    squared_hinge True
    """

    name = ""
    tex = ""
    # Which estimators may use it, and whether scores turn into probabilities by a sigmoid.
    for_regression = False
    for_classification = False
    gives_probabilities = False
    # Whether a task with labels of one class and a free intercept has no best predictor.
    needs_both_classes = False
    # Whether the conjugate is finite everywhere, so that dual points may be moved freely.
    free_dual = False
    # Whether the curvature does not depend on the scores: one Newton step is exact.
    quadratic = False
    # Whether the loss has corners, where Newton's method finds no curvature; ``smoothed`` rounds them.
    has_corner = False

    def check(self) -> None:
        """Raise ``ValueError`` when a parameter makes no sense."""

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        """The weighted sum of losses."""
        raise NotImplementedError

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        """Derivative of ``value`` in F."""
        raise NotImplementedError

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        """Second derivative of ``value`` in each entry of F, or a bound that serves in its place."""
        raise NotImplementedError

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        """The weighted sum of conjugates; infinite outside the domain. Entries of weight zero must have u = 0."""
        raise NotImplementedError

    def smoothed(self, width: float) -> "Loss":
        """The loss with its corners rounded over ``width``, at most width / 2 below it; itself if it has none."""
        return self


def per_weight(U: Array, weight: Array) -> Array:
    """u / w, zero where the weight is zero."""
    return np.divide(U, weight, out=np.zeros_like(U), where=weight > 0.0)
