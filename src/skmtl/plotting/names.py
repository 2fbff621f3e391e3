"""Names that are too long for their place, cut to what tells tasks apart."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import groupby

LONGEST, TAIL = 14, 6
RIGHT_TO_LEFT = ("R", "AL")
JOINER = "\N{ZERO WIDTH JOINER}"
# Words, and what is between them.
WORDS = re.compile(r"[^\W_]+|[\W_]+")

Kept = list[bool]


def cut(name: str, most: int = LONGEST) -> str:
    """The name with an ellipsis in its middle, where it has more than ``most`` characters."""
    plain = " ".join(name.split())
    if len(plain) <= most:
        return plain
    at = _whole_character(plain, len(plain) - (most - 1) // 2)
    return f"{plain[: _whole_character(plain, most // 2)]}…{plain[at:]}"


def tell_apart(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Names of at most ``most`` characters, no two of them alike.

    Beginnings and ends tell most names apart. Where they do not, the words that differ are kept, or the letters, and as
    much of the beginning as there is room for; at last, the number of the name.

    Parameters
    ----------
    names : sequence of str
    most : int, default=14

    Returns
    -------
    list of str

    Examples
    --------
    >>> tell_apart(["inhibition of 1A2 in the liver", "inhibition of 3A4 in the liver"], 18)
    ['inhibition of 1A2…', 'inhibition of 3A4…']
    """
    plain = [" ".join(name.split()) for name in names]
    labels = [cut(name, most) for name in plain]
    family = list(range(len(plain)))
    while _join_families(family, labels):
        for alike in find_alike(family):
            kept = _differing_words([plain[i] for i in alike])
            for i, own in zip(alike, kept, strict=True):
                labels[i] = _shown(plain[i], own, most)
    for alike in find_alike(labels):
        kept = _differing_letters([plain[i] for i in alike])
        for i, own in zip(alike, kept, strict=True):
            labels[i] = _shown(plain[i], own, most)
    for alike in find_alike(labels):
        for i in alike:
            mark = f" #{i + 1}"
            labels[i] = cut(plain[i], most - len(mark)) + mark
    return labels


def find_alike(labels: Sequence[Hashable]) -> list[list[int]]:
    """The places of labels that are the same, for each of which there are several."""
    places = defaultdict(list)
    for i, label in enumerate(labels):
        places[label].append(i)
    return [alike for alike in places.values() if len(alike) > 1]


def _join_families(family: list[int], labels: Sequence[str]) -> bool:
    """Let names with the same label be of one family, with all others of theirs; whether that was new of any."""
    joined = False
    for alike in find_alike(labels):
        own = {family[i] for i in alike}
        joined |= len(own) > 1
        family[:] = [min(own) if one in own else one for one in family]
    return joined


def _differing_words(names: Sequence[str]) -> list[Kept]:
    """Which letters are of words that not all of the names have, in their place if all have as many words."""
    parts = [WORDS.findall(name) for name in names]
    if len({len(words) for words in parts}) == 1:
        common = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
        own = [[not same for same in common] for _ in parts]
    else:
        everywhere = set(parts[0]).intersection(*parts)
        own = [[word not in everywhere for word in words] for words in parts]
    both = zip(parts, own, strict=True)
    return [[keep for word, keep in zip(*one, strict=True) for _ in word] for one in both]


def _differing_letters(names: Sequence[str]) -> list[Kept]:
    """Which letters come after the beginning and before the end that all of the names have."""
    shortest = min(map(len, names))
    first = _common(names, range(shortest))
    last = _common(names, range(-1, first - shortest - 1, -1))
    return [[first <= i < len(name) - last for i in range(len(name))] for name in names]


def _common(names: Sequence[str], places: range) -> int:
    """At how many of these places, one after the other, all names have the same letter."""
    return next((k for k, at in enumerate(places) if len({name[at] for name in names}) > 1), len(places))


def _shown(name: str, kept: Kept, most: int) -> str:
    """What is kept of a name, with as much of its beginning as there is room for; an ellipsis stands for the rest."""
    text = name
    for n_first in range(min(most, len(name)), -1, -1):
        text = _write(name, [i < n_first or keep for i, keep in enumerate(kept)])
        if len(text) <= most:
            return text
    return cut(text, most)


def _write(name: str, kept: Kept) -> str:
    # No letter is torn from its accents.
    own = [kept[_whole_character(name, i)] for i in range(len(name))]
    runs = [(keep, [i for i, _ in run]) for keep, run in groupby(enumerate(own), key=lambda pair: pair[1])]
    return "".join(name[run[0] : run[-1] + 1] if keep or len(run) == 1 else "…" for keep, run in runs)


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
