"""Numbers and names of scores as people read them; a dash stands for numbers that are missing."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from skmtl.model_selection.score_words import call_score, explain_score

MISSING = "\N{EN DASH}"


def format_number(value: float | None, *, form: str) -> str:
    """A number in a format of Python's, with a true minus sign."""
    if value is None:
        return MISSING
    text = format(value, form)
    # What is rounded to zero has no sign.
    text = text if any(digit in "123456789" for digit in text) else text.lstrip("+-")
    return text.replace("-", "\N{MINUS SIGN}")


def true_minus(text: str) -> str:
    """A sentence with numbers in it, whose minus signs are true ones; hyphens in words stay."""
    return re.sub(r"(?<![\w.)-])-(?=\d)|(?<=\de)-(?=\d)", "\N{MINUS SIGN}", text)


def fact(value: Any) -> str:
    """A fact about the data: numbers as people read them, all else as it is."""
    if isinstance(value, bool | str) or value is None:
        return str(value)
    return format_number(value, form="," if isinstance(value, int) else ".4g")


def short_number(value: float | None) -> str:
    """A number in two digits, or as many as it has before its point, where these are few."""
    whole = value is not None and 100.0 <= abs(value) < 1e5
    return format_number(value, form=".0f" if whole else ".2g")


FILTERS: dict[str, Callable[[Any], str]] = {
    "called": call_score,
    "explained": explain_score,
    "fact": fact,
    "minus": true_minus,
    "number": partial(format_number, form=".4g"),
    "short": short_number,
    "score": partial(format_number, form=".3f"),
    "signed": partial(format_number, form="+.3f"),
    "scientific": lambda value: "0" if value == 0.0 else format_number(value, form=".1e"),
    "percent": partial(format_number, form=".0%"),
}
