"""Labels: a table with gaps, one label per row, or blocks of a large table; how they came, and their scaling."""

from skmtl.targets.base import Labels
from skmtl.targets.blocks import BlockLabels, LabelReader, as_numbers
from skmtl.targets.coding import ClassCoding, Coding, NumberCoding
from skmtl.targets.data import TaskData
from skmtl.targets.layout import LongLabels, TableLabels, TaskOrder, make_labels
from skmtl.targets.scaling import ErrorSums, Scaling, TaskStats, balance, standardize

__all__ = [
    "BlockLabels",
    "ClassCoding",
    "Coding",
    "ErrorSums",
    "LabelReader",
    "Labels",
    "LongLabels",
    "NumberCoding",
    "Scaling",
    "TableLabels",
    "TaskData",
    "TaskOrder",
    "TaskStats",
    "as_numbers",
    "balance",
    "make_labels",
    "standardize",
]
