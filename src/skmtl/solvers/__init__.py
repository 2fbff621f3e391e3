"""Solvers: the training rows in a good basis, the supervised step, the outer loops and their result."""

from skmtl.solvers.blocks import BlockDesign
from skmtl.solvers.design import Basis, Design, check_square_and_symmetric, make_design
from skmtl.solvers.solution import Solution
from skmtl.solvers.solve import SOLVERS, Progress, solve
from skmtl.solvers.training import Effort, Settings, Training, auto_eps, make_supervised

__all__ = [
    "SOLVERS",
    "Basis",
    "BlockDesign",
    "Design",
    "Effort",
    "Progress",
    "Settings",
    "Solution",
    "Training",
    "auto_eps",
    "check_square_and_symmetric",
    "make_design",
    "make_supervised",
    "solve",
]
