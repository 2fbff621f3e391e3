"""Numbers as people read them; a dash stands for those that are missing."""

from collections.abc import Callable
from functools import partial

MISSING = "\N{EN DASH}"


def _write(value: float | None, *, form: str) -> str:
    return MISSING if value is None else format(value, form).replace("-", "\N{MINUS SIGN}")


FILTERS: dict[str, Callable[[float | None], str]] = {
    "number": partial(_write, form=".4g"),
    "short": partial(_write, form=".2g"),
    "signed": partial(_write, form="+.3g"),
    "scientific": partial(_write, form=".1e"),
    "percent": partial(_write, form=".0%"),
}
