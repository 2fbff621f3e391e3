"""Pictures with matplotlib, as Display objects in the manner of scikit-learn's."""

from skmtl.plotting.arrangement import Arrangement, arrange
from skmtl.plotting.comparison import ComparisonDisplay
from skmtl.plotting.graph import GraphDisplay
from skmtl.plotting.importance import ImportanceDisplay
from skmtl.plotting.matrix import MatrixDisplay
from skmtl.plotting.path import PathDisplay
from skmtl.plotting.reliability import ReliabilityDisplay

__all__ = [
    "Arrangement",
    "ComparisonDisplay",
    "GraphDisplay",
    "ImportanceDisplay",
    "MatrixDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "arrange",
]
