"""Labels: a table with gaps, one label per row, or blocks of a large table; and their scaling."""

from skmtl.targets.base import Labels
from skmtl.targets.blocks import BlockLabels, LabelReader, numbers
from skmtl.targets.layout import Grouped, Table, make_labels
from skmtl.targets.scaling import Standardized, balance, standardize

__all__ = [
    "BlockLabels",
    "Grouped",
    "LabelReader",
    "Labels",
    "Standardized",
    "Table",
    "balance",
    "make_labels",
    "numbers",
    "standardize",
]
