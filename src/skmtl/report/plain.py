"""Values of any type as what JSON can hold."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Lists, dictionaries, text, numbers, booleans and None; numbers that are not finite become None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {plain_text(name): plain(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return plain_text(value)


def plain_text(value: Any) -> str:
    """Text that every file can hold: halves of characters, which UTF-8 does not know, become question marks."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
