"""Values of any type as what JSON can hold."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

# All have `tolist`, which makes Python's own types.
ARRAYS = (np.ndarray, np.generic, pd.Series, pd.Index)


def to_json(value: Any) -> Any:
    """Lists, dictionaries, text, numbers, booleans and None; numbers that are not finite become None."""
    if isinstance(value, ARRAYS):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {to_text(name): to_json(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [to_json(item) for item in value]
    return to_text(value)


def to_text(value: Any) -> str:
    """Text that every file can hold: halves of characters, which UTF-8 does not know, become question marks."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
