"""The contract of a loss, the table of losses, and the squared error, which serves for numbers and for classes."""

import numpy as np
from sklearn.base import BaseEstimator

from skmtl._linalg import Array, Mask
from skmtl.losses.corners import Ramps

# Dual coefficients may leave the domain of a conjugate by this much: rounding, not a mistake.
ROUNDING = 1e-12


class Loss(BaseEstimator):
    r"""A convex loss on real scores, the base of all losses.

    A loss of your own is a subclass that defines the four methods ``value``, ``gradient``, ``curvature`` (with corners
    ``ramps``) and ``conjugate``, and says in class attributes what it is good for. Estimators take an object of it as
    ``loss``.
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
    # Whether targets may be centered and scaled for the fit; predictions are in their own unit all the same.
    standardizes = True
    # Whether targets below zero make no sense.
    nonnegative_targets = False
    # Whether V is one loss over all tasks of a row: arrays are then tables of the shape (n, n_tasks), without gaps.
    couples_tasks = False
    # Whether the conjugate is finite everywhere, so that dual points may be moved freely.
    free_dual = False
    # Whether the curvature does not depend on the scores: one Newton step is exact.
    quadratic = False
    # Whether the loss has corners, where Newton's method finds no curvature: it is the sum of ``ramps``.
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
        """Second derivative h of ``value`` in each entry of F, or a bound that serves in its place; none with corners.

        Where ``couples_tasks``, that of a row is the matrix diag(h) - h h' / sum h.
        """
        # Solvers ask ``has_corner`` first. Zero, which is true almost everywhere, would lead Newton's method astray.
        raise NotImplementedError(f"{self.name!r} defines no curvature; a loss with corners has ramps instead.")

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        """The weighted sum of conjugates; infinite outside the domain. Entries of weight zero must have u = 0."""
        raise NotImplementedError

    def inverse_link(self, F: Array) -> Array:
        """What scores predict of the target: themselves, unless the loss reads them through a function."""
        return F

    def unbounded(self, lowest: Array, highest: Array) -> Mask:
        """Tasks, (n_tasks,), without a best predictor when intercepts are free, from their least and largest labels."""
        return np.zeros(len(lowest), dtype=bool)

    def balanced(self, Y: Array, U: Array, weight: Array) -> Array:
        """A dual point near U, in the domain, whose entries sum to zero in each of several tasks.

        Only where ``couples_tasks``: for labels taken by themselves, the supervised step can do that for every loss.
        """
        raise NotImplementedError(f"{self.name!r} takes each label by itself.")

    def ramps(self, Y: Array) -> Ramps:
        """The ramps that the loss of these labels, of shape (n_labels,), is the sum of, where ``has_corner``."""
        # Solvers ask ``has_corner`` first; no ramps at all would be a loss of zero.
        raise NotImplementedError(f"{self.name!r} defines no ramps; a loss without corners has a curvature instead.")


def per_weight(U: Array, weight: Array) -> Array:
    """u / w, zero where the weight is zero."""
    return np.divide(U, weight, out=np.zeros_like(U), where=weight > 0.0)


class Square(Loss):
    r"""The squared error.

    .. math:: V(y, f) = (y - f)^2

    See Also
    --------
    Huber : Counts large errors less.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.losses import Square
    >>> Square().value(np.array([1.0, 2.0]), np.array([1.0, 5.0]), np.ones(2))
    9.0
    """

    name = "square"
    tex = r"(y - f)^2"
    for_regression = for_classification = True
    free_dual = quadratic = True

    def value(self, Y: Array, F: Array, weight: Array) -> float:
        return float(np.sum(weight * (Y - F) ** 2))

    def gradient(self, Y: Array, F: Array, weight: Array) -> Array:
        return 2.0 * weight * (F - Y)

    def curvature(self, Y: Array, F: Array, weight: Array) -> Array:
        return 2.0 * weight

    def conjugate(self, Y: Array, U: Array, weight: Array) -> float:
        # V*(u) = u y + u^2 / 4.
        return float(np.sum(U * Y + 0.25 * U * per_weight(U, weight)))


# By name; filled where all of them are imported.
LOSSES: dict[str, type[Loss]] = {}


def named_loss(loss: str | Loss) -> "type[Loss] | Loss | None":
    """The loss of a name, or the loss itself, to be asked what it is good for; None where there is no such name."""
    return LOSSES.get(loss) if isinstance(loss, str) else loss


def check_loss(loss: str | Loss, *, purpose: str) -> Loss:
    """A loss from its name or itself; ``purpose`` is "regression" or "classification"."""
    possible = sorted(name for name, cls in LOSSES.items() if getattr(cls, f"for_{purpose}"))
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is not known; choose one of {', '.join(possible)}, or pass a Loss.")
        loss = LOSSES[loss]()
    if not isinstance(loss, Loss):
        raise TypeError(f"loss={loss!r} is neither a name nor a Loss.")
    if not getattr(loss, f"for_{purpose}"):
        raise ValueError(f"loss={loss.name!r} is not for {purpose}; choose one of {', '.join(possible)}.")
    loss.check()
    return loss
