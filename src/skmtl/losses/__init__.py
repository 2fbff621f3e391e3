r"""Losses :math:`V(y, f)`, with what Newton's method and the certificate need of them.

Arrays hold one entry per observed label. With weights w, ``value`` is :math:`\sum w V(y, f)`, ``gradient`` and
``curvature`` are its derivatives in f, and ``conjugate`` is :math:`\sum w V^*(y, u / w)`, so that a gradient is a point
at which the conjugate is finite.
"""

from skmtl.losses.base import LOSSES, Loss, Square
from skmtl.losses.classification import Hinge, Logistic, SmoothedHinge, SquaredHinge
from skmtl.losses.regression import Huber

__all__ = ["LOSSES", "Hinge", "Huber", "Logistic", "Loss", "SmoothedHinge", "Square", "SquaredHinge"]

LOSSES.update({cls.name: cls for cls in (Square, Huber, Logistic, Hinge, SquaredHinge)})
