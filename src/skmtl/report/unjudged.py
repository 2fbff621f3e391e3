"""Tasks that no score can judge, for on the rows held out their labels are all the same."""

import pandas as pd

NOT_JUDGED = "not judged"
MOST_NAMED = 5


def name_unjudged(comparison: pd.DataFrame) -> pd.DataFrame:
    """What ``compare_methods`` returns, with tasks that have no score called not judged, and not predictable."""
    scored = comparison["score"].notna()
    words = comparison["verdict"].where(scored, NOT_JUDGED)
    return comparison.assign(verdict=words, predictable=comparison["predictable"] & scored)


def describe_unjudged(names: list[str]) -> str:
    """Which tasks are not judged, and why; empty where all are."""
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    labels = "its labels" if len(names) == 1 else "the labels of each"
    listed = ", ".join(names[:MOST_NAMED])
    return f"Not judged, and left out of means: {listed}{more}; on the rows held out {labels} are all the same."
