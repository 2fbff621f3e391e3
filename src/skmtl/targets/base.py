"""The contract of labels."""

from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array

if TYPE_CHECKING:
    from skmtl.targets.scaling import Scaling, TaskStats


class Labels(Protocol):
    """Labels y with weights, zero where a label is missing. Arrays of entries have the layout of ``y``.

    ``Phi`` stands for features of the rows as ``arrange`` returns them, and W of shape (r, T) for predictors.
    """

    y: Array
    weight: Array
    n_tasks: int
    in_blocks: bool
    # Long format: every row has a label of one task.
    long: bool

    def stats(self) -> "TaskStats":
        """Statistics of each task's labels."""

    def scaled(self, scaling: "Scaling") -> Self:
        """The labels as the scaling says."""

    def reweighted(self, factor: Array) -> Self:
        """The labels with the weights of each task times a factor, of shape (T,)."""

    def with_labels(self, y: Array, weight: Array) -> Self:
        """Other labels and weights in the same layout."""

    def take(self, rows: NDArray[np.intp]) -> "Labels":
        """The labels of some of the rows, in that order; a task may be left without any."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def tasks(self) -> NDArray[np.intp]:
        """The task of each row, where ``long``."""

    def part(self, tasks: NDArray[np.intp]) -> tuple["Labels", NDArray[np.intp]]:
        """The labels of some of the tasks, in that order, and which of the rows that ``arrange`` returns are theirs."""

    def complete(self) -> bool:
        """Whether every row has a label for every task, with one weight."""

    def row_weight(self) -> Array:
        """The share of each row in the total weight, which is n, of shape (n_rows,)."""

    def design_weight(self) -> Array:
        """The weights that rows are decomposed with, of shape (n_rows,).

        Of a table that lacks few labels, those that it would have if it lacked none; else the shares.
        """

    def arrange(self, rows: Array) -> Array:
        """Rows, of shape (n_rows, ...), in the order of the entries, which ``scores`` and ``adjoint`` expect."""

    def in_rows(self, U: Array) -> Array:
        """Entries in the order of the rows; undoes ``arrange``."""

    def scores(self, Phi: Array, W: Array) -> Array:
        """Phi W at the entries."""

    def adjoint(self, Phi: Array, U: Array) -> Array:
        """Phi' U, of shape (r, T)."""

    def normal(self, Phi: Array, h: Array, W: Array, *, center: bool) -> Array:
        """Phi' H Phi W, H = diag(h), of shape (r, T); with ``center`` after subtracting means weighted by h."""

    def grams(self, Phi: Array, h: Array, *, center: bool) -> Array:
        """The matrices that ``normal`` applies to each task, of shape (T, r, r)."""

    def sums(self, U: Array) -> Array:
        """The sum of the entries of each task, of shape (T,); axes before those of the entries stay."""

    def means(self, U: Array) -> Array:
        """The weighted mean of the entries of each task, of shape (T,); NaN for a task without a label."""

    def of_task(self, U: Array, t: int) -> Array:
        """The entries of one task that have a label."""

    def maxima(self, U: Array) -> Array:
        """The largest entry of each task with a label, of shape (T,); axes before those of the entries stay."""

    def spread(self, v: NDArray[Any]) -> NDArray[Any]:
        """A value per task, of shape (T,), as something to combine with entries; axes before it stay."""
