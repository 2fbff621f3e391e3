"""Data: a generator of related tasks, and loaders of public sets from files on disk."""

from skmtl.datasets.arff import ArffTable, read_arff
from skmtl.datasets.awa import Animals, load_awa
from skmtl.datasets.mulan import MultiTarget, load_mulan
from skmtl.datasets.scenes import Scenes, load_scenes
from skmtl.datasets.school import School, load_school
from skmtl.datasets.synthetic import SparseTasks, make_sparse_tasks

__all__ = [
    "Animals",
    "ArffTable",
    "MultiTarget",
    "Scenes",
    "School",
    "SparseTasks",
    "load_awa",
    "load_mulan",
    "load_scenes",
    "load_school",
    "make_sparse_tasks",
    "read_arff",
]
