r"""Losses :math:`V(y, f)`, with what Newton's method and the certificate need of them.

Arrays hold one entry per observed label. With weights w, ``value`` is :math:`\sum w V(y, f)`, ``gradient`` and
``curvature`` are its derivatives in f, and ``conjugate`` is :math:`\sum w V^*(y, u / w)`, so that a gradient is a point
at which the conjugate is finite.
"""

from skmtl.losses.base import Loss
from skmtl.losses.classification import Hinge, Logistic, SmoothedHinge, SquaredHinge
from skmtl.losses.regression import Huber, Square

__all__ = ["LOSSES", "Hinge", "Huber", "Logistic", "Loss", "SmoothedHinge", "Square", "SquaredHinge"]

LOSSES: dict[str, type[Loss]] = {cls.name: cls for cls in (Square, Huber, Logistic, Hinge, SquaredHinge)}


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
