"""Names that are too long for their place, cut in the middle: beginnings and ends tell tasks apart."""

import unicodedata

LONGEST, TAIL = 14, 6
RIGHT_TO_LEFT = ("R", "AL")
JOINER = "\N{ZERO WIDTH JOINER}"


def cut(name: str, most: int = LONGEST) -> str:
    """The name with an ellipsis in its middle, where it has more than ``most`` characters."""
    plain = " ".join(name.split())
    if len(plain) <= most:
        return plain
    at = _whole_character(plain, len(plain) - (most - 1) // 2)
    return f"{plain[: _whole_character(plain, most // 2)]}…{plain[at:]}"


def split_name(name: str) -> tuple[str, str]:
    """The beginning of a long name and its end, which together are the name; no end where it is short.

    Nor where it is written from right to left: its letters are shaped by their neighbours.
    """
    short = len(name) <= LONGEST or any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in name)
    at = len(name) if short else _whole_character(name, len(name) - TAIL)
    return name[:at], name[at:]


def _whole_character(name: str, at: int) -> int:
    """The last place up to this one at which no character is torn from its accents."""
    while 0 < at < len(name) and (unicodedata.combining(name[at]) or JOINER in name[at - 1 : at + 1]):
        at -= 1
    return at
