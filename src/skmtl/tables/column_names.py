"""What columns are called: one line of text without blanks around it, and no two alike."""

import os
import re
from collections import Counter
from typing import Any

PathLike = str | os.PathLike[str]


def plain_name(name: Any) -> str:
    """What a column is called: one line of text, without blanks around it; several levels stand beside one another."""
    text = " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
    # Not one expression for breaks and the blanks around them: its time is that of the square of many blanks.
    return " ".join(filter(None, map(str.strip, re.split(r"[\r\n]", text))))


def check_unique_names(source: PathLike, names: list[str]) -> None:
    """No two columns may have the same name; ``source`` is what messages call the table."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"{source} has two columns called {name!r}; give every column its own name.")
