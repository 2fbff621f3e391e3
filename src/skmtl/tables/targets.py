"""Targets of a table: numbers, or classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from skmtl.tables.columns import NUMBERS, first_text, holds_numbers

# A target with more classes than this is rather a name, or a number that was read as text.
MOST_CLASSES = 50
# Sums of labels of this size, and their differences, are far from the largest number of a computer.
LARGEST_LABEL = 1e300
# Words of truth, in a few languages, where several targets are classes.
TRUE, FALSE = (
    ("yes", "y", "true", "t", "ja", "oui", "si", "s\u00ed", "s\u00ec"),
    ("no", "n", "false", "f", "nein", "non"),
)
TRUTH = {**dict.fromkeys(TRUE, 1.0), **dict.fromkeys(FALSE, 0.0)}


def check_labels_kind(frame: pd.DataFrame, targets: Sequence[str]) -> None:
    """Labels must be numbers, truth values or text: no dates, durations or bytes."""
    for name in targets:
        values = frame[name].dropna()
        known = pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)
        for value in () if known and values.dtype != object else values.astype(object):
            if not isinstance(value, (str, np.bool_, *NUMBERS)):
                raise ValueError(
                    f"target {name!r} holds {value!r:.60}, and targets are numbers or text; write dates and durations "
                    "as a number of days, and bytes as text."
                )


def read_truth(frame: pd.DataFrame, targets: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Several targets with words such as yes and no as ones and zeros, and sentences about that.

    A single target of words has classes of these names.
    """
    read: dict[str, Any] = {}
    for name in targets if len(targets) > 1 else ():
        words = frame[name].astype(str).str.strip().str.lower()
        if not holds_numbers(frame[name]) and words[frame[name].notna()].isin(TRUTH).all():
            read[name] = words.where(frame[name].notna()).map(TRUTH)
    if not read:
        return frame, []
    said = f"{_listed(list(read))} {'holds' if len(read) == 1 else 'hold'} words such as yes and no"
    return frame.assign(**read), [f"{said}, which are 1 and 0 from here on, in predictions too."]


def are_classes(frame: pd.DataFrame, targets: Sequence[str]) -> bool:
    """Whether targets are classes: text, truth values and zeros with ones are; other numbers are not."""
    kinds = {name: not holds_numbers(frame[name]) or _is_zero_one(frame[name]) for name in targets}
    check_several(frame, targets)
    return all(kinds.values())


def check_several(frame: pd.DataFrame, targets: Sequence[str]) -> None:
    """Several targets are numbers, or 0 and 1."""
    texts = [name for name in targets if not holds_numbers(frame[name])]
    if len(targets) > 1 and texts:
        _refuse_text(frame, texts[0])


def _is_zero_one(column: "pd.Series[Any]") -> bool:
    return holds_numbers(column) and set(column.dropna().unique()) <= {0, 1}


def _refuse_text(frame: pd.DataFrame, name: str) -> None:
    raise ValueError(
        f"target {name!r} holds text such as {first_text(frame[name])!r}; several targets must be numbers, or 0 and 1 "
        "for classes, so correct it, or make it the only target to learn its classes."
    )


def make_numbers(frame: pd.DataFrame, targets: Sequence[str]) -> tuple[Any, str]:
    """Targets as numbers, NaN where a label is missing, and a sentence about them."""
    for name in targets:
        if not holds_numbers(frame[name]):
            _refuse_text(frame, name)
    Y = frame[list(targets)].astype("Float64").astype(float)
    infinite = np.isinf(Y).sum()
    for name in infinite.index[infinite > 0]:
        values = "1 infinite value" if infinite[name] == 1 else f"{infinite[name]:,} infinite values"
        raise ValueError(f"target {name!r} has {values}; leave such cells empty, or correct them.")
    largest = Y.abs().max()
    for name in largest.index[largest > LARGEST_LABEL]:
        raise ValueError(
            f"target {name!r} holds numbers as large as {largest[name]:.3g}, and {LARGEST_LABEL:g} is possible; leave "
            "such cells empty where they mark missing labels, or write the target in a larger unit."
        )
    about = f"Regression: {_listed(targets)} {'holds' if len(targets) == 1 else 'hold'} numbers."
    gaps = int(Y.isna().to_numpy().sum())
    if gaps:
        about += f" {gaps:,} of {Y.size:,} labels are missing and stay unobserved."
    return (Y.iloc[:, 0] if len(targets) == 1 else Y), about


def make_classes(frame: pd.DataFrame, targets: Sequence[str]) -> tuple[Any, str]:
    """Targets as zeros and ones, or a single one as classes, and a sentence about them."""
    if len(targets) > 1:
        for name in targets:
            if not _is_zero_one(frame[name]):
                raise ValueError(
                    f"target {name!r} is not made of 0 and 1, as several targets of a classification must be; write "
                    "it with 0 and 1, or take the targets for numbers (--regression, classification=False)."
                )
        about = "Classification: every target is 0 or 1." + _describe_truth(frame, targets)
        return frame[list(targets)].astype("Float64").astype(float), about
    name = targets[0]
    y = frame[name]
    broken = y[y.astype(float) % 1 != 0] if holds_numbers(y) else y.iloc[:0]
    y = y.astype(float).astype(int) if holds_numbers(y) and not len(broken) else y.astype(object)
    classes = y.unique()
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"target {name!r} has {len(classes)} different values such as {classes[0]!r}, too many for classes: "
            f"there may be {MOST_CLASSES} at most; name another target, or take it for numbers (--regression, "
            "classification=False)."
        )
    if len(broken):
        raise ValueError(
            f"target {name!r} holds numbers such as {broken.iloc[0]:g}, which are no classes; take it for numbers "
            "(--regression, classification=False), or write its classes as whole numbers or as text."
        )
    if len(classes) < 2:
        raise ValueError(f"target {name!r} is {classes[0]!r} in every row; classes need at least two values.")
    return y, f"Classification: {name!r} has {len(classes)} classes." + _describe_truth(frame, targets)


def _describe_truth(frame: pd.DataFrame, targets: Sequence[str]) -> str:
    """What becomes of truth values, where targets hold some."""
    # Those of a table with gaps may be objects.
    truths = [name for name in targets if isinstance(frame[name].dropna().astype(object).iloc[0], bool)]
    if not truths:
        return ""
    return f" True and False of {_listed(truths)} are 1 and 0 from here on, in predictions too."


def describe_constant(Y: Any, tasks: Any = None) -> list[str]:
    """Sentences about tasks whose labels are all the same; where all tasks are like that, ``ValueError``."""
    counts = pd.DataFrame(Y).nunique() if tasks is None else Y.groupby(tasks).nunique()
    same = [str(name) for name in counts.index[counts == 1]]
    if len(same) == len(counts) > 1:
        raise ValueError("within each task all labels are the same; there is nothing to learn.")
    if len(same) == len(counts):
        value = pd.DataFrame(Y).iloc[:, 0].dropna().iloc[0]
        raise ValueError(f"target {same[0]!r} is {value} in every row; there is nothing to learn.")
    if not same:
        return []
    where, them = ("In", "it") if len(same) == 1 else ("In each of", "them")
    said = f"{where} {_listed(same)} all labels are the same"
    return [f"{said}: nothing can be learned there, and means of scores leave {them} out."]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def rarest_share(Y: Any) -> float:
    """The share of labels that are not of the largest class; of several targets, the smallest."""
    columns = [Y[name] for name in Y.columns] if Y.ndim == 2 else [Y]
    shares = [column.value_counts(normalize=True) for column in columns]
    return min((1.0 - float(share.max()) for share in shares if len(share) > 1), default=0.5)
