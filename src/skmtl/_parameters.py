"""Checking parameters: numbers, switches, functions, processes."""

from numbers import Integral
from typing import Any

import numpy as np

# Numbers to NumPy, and to nobody else.
NO_NUMBERS = (bool, np.bool_, np.timedelta64)
# Squares of numbers beyond these lose their meaning in double precision.
LARGEST, SMALLEST = 1e75, 1e-75
# As many processes as a system has by default.
MOST_JOBS = 2**15


def is_number(value: Any) -> bool:
    """Whether a value is a number that fits into double precision; truth values, fractions and durations are not."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, NO_NUMBERS):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """A finite number above zero, or not below it, of a size whose square is a number too."""
    if not (is_number(value) and np.isfinite(float(value))) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name}={value!r:.50} must be a number {'>= 0' if zero else '> 0'}.")
    if value != 0 and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{name}={value!r} is beyond double precision; it must lie between {SMALLEST} and {LARGEST}.")
    return float(value)


def check_count(name: str, value: Any) -> int:
    """A whole number of at least one."""
    if not isinstance(value, Integral) or isinstance(value, NO_NUMBERS) or value < 1:
        raise ValueError(f"{name}={value!r:.50} must be a whole number of at least 1.")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False; a one or a zero will do."""
    if not isinstance(value, bool | np.bool_) and not (is_number(value) and value in (0, 1)):
        raise ValueError(f"{name}={value!r:.50} must be True or False.")
    return bool(value)


def is_function(value: Any) -> bool:
    """Whether a value can be called for an answer; a class can be called too, but makes an object of its own."""
    return callable(value) and not isinstance(value, type)


def check_callback(value: Any) -> Any:
    """None, or something that can be called."""
    if value is not None and not is_function(value):
        raise TypeError(f"callback={value!r:.50} cannot be called; pass a function of one argument, or None.")
    return value


def check_verbose(value: Any) -> bool:
    """Whether progress is printed; numbers above zero say so too."""
    if not isinstance(value, bool | np.bool_) and not (is_number(value) and value >= 0):
        raise ValueError(f"verbose={value!r:.50} must be True, False or a number >= 0.")
    return bool(value)


def check_jobs(value: Any) -> int | None:
    """None, or a number of processes; below zero it counts back from all processors."""
    if value is None:
        return None
    whole = isinstance(value, Integral) and not isinstance(value, NO_NUMBERS)
    if not whole or not 0 < abs(int(value)) <= MOST_JOBS:
        raise ValueError(
            f"n_jobs={value!r:.50} is no number of processes; pass a whole number from 1 to {MOST_JOBS}, -1 for all "
            "processors, or None."
        )
    return int(value)
