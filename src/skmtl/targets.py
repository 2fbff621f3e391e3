"""Targets: centred and scaled, so that one alpha and one eps serve all tasks."""

from dataclasses import dataclass

import numpy as np

from skmtl._linalg import Array

# Sums of squares of numbers beyond these lose their meaning in double precision.
LARGEST, SMALLEST = 1e75, 1e-75
# A column that varies by no more than this, relative to its size, is constant.
ROUNDING = 16.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Targets:
    """Targets of the weighted rows, ``sqrt(w) (Y - mean) / scale``.

    Attributes
    ----------
    values : ndarray of shape (n, n_tasks)
    mean, scale : ndarray of shape (n_tasks,)
    """

    values: Array
    mean: Array
    scale: Array


def standardize(Y: Array, weight: Array, *, center: bool, scale: bool) -> Targets:
    """Subtract the weighted mean (with ``center``) and divide by the root mean square of what is left (with ``scale``)."""
    size = np.abs(Y).max(axis=0)
    if not scale and (size.max() > LARGEST or 0.0 < size.max() < SMALLEST):
        raise ValueError(
            f"the targets reach {size.max():.3g}, beyond what squares in double precision can hold; "
            "set scale_targets=True or change their unit."
        )
    unit = np.where(size > 0.0, size, 1.0)
    scaled = Y / unit
    mean = np.average(scaled, axis=0, weights=weight) if center else np.zeros(Y.shape[1])
    if center:
        # A constant is its own mean, without rounding.
        counted = scaled[weight > 0.0]
        constant = np.ptp(counted, axis=0) <= ROUNDING
        mean[constant] = counted[0, constant]
        scaled = np.where(constant, 0.0, scaled - mean)
    spread = np.sqrt(np.average(scaled**2, axis=0, weights=weight))
    factor = np.where(spread > 0.0, spread, 1.0) if scale else 1.0 / unit
    return Targets(np.sqrt(weight)[:, None] * (scaled / factor), mean * unit, factor * unit)
