r"""Losses :math:`V(y, f)`, with what Newton's method and the certificate need of them.

Arrays hold one entry per observed label. With weights w, ``value`` is :math:`\sum w V(y, f)`, ``gradient`` and
``curvature`` are its derivatives in f, and ``conjugate`` is :math:`\sum w V^*(y, u / w)`, so that a gradient is a point
at which the conjugate is finite.
"""

from skmtl.losses.base import LOSSES, Loss, Square
from skmtl.losses.classification import Hinge, Logistic, SquaredHinge
from skmtl.losses.counts import Poisson
from skmtl.losses.margins import EpsilonInsensitive, Quantile
from skmtl.losses.regression import Huber
from skmtl.losses.softmax import Softmax

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Softmax",
    "Square",
    "SquaredHinge",
]

LOSSES.update(
    {
        cls.name: cls
        for cls in (
            Square,
            Huber,
            Quantile,
            EpsilonInsensitive,
            Poisson,
            Logistic,
            Softmax,
            Hinge,
            SquaredHinge,
        )
    }
)
