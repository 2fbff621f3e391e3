"""What every structure penalty promises."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from sklearn.base import BaseEstimator

from skmtl._linalg import Array


class StructureStep(NamedTuple):
    """What a structure step returns: a structure, and how good it is proved to be.

    Parameters
    ----------
    structure : ndarray of shape (n_tasks, n_tasks)
        The matrix A that relates the tasks.
    gap : float
        How far its cost may be above the minimum, relative to the cost; 0 for a closed form, of which
        :func:`skmtl.minimize_structure` says what rounding costs.

    See Also
    --------
    skmtl.minimize_structure : Returns one.

    Examples
    --------
    >>> from skmtl.penalties import Independent
    >>> structure, gap = Independent().minimize([[2.0, 1.0], [1.0, 2.0]])
    >>> gap
    0.0
    """

    structure: Array
    gap: float


class SmoothPoint(Protocol):
    """A smooth convex function seen from one positive definite matrix.

    Its Hessian is at most, and near, D -> P D Q + Q D P.
    """

    value: float
    P: Array
    # Whether the value at another matrix costs as much as many products with the Hessian.
    dear: bool

    @property
    def gradient(self) -> Array: ...

    @property
    def Q(self) -> Array: ...

    def hessian(self, D: Array) -> Array:
        """Product of the Hessian with a symmetric matrix."""


# The function at A, or None where A is not positive definite.
Smooth = Callable[[Array], SmoothPoint | None]
# A solver asks for a certificate of ``tol`` once its model of the objective has this many times ``tol`` left to gain.
ASK_EARLY = 100.0
# The relative gap at A, given the point and the objective there.
Certify = Callable[[Array, SmoothPoint, float], float]


class StructurePenalty(BaseEstimator):
    r"""A penalty :math:`R(A)` on the matrix that relates the tasks.

    It must be convex. A subclass states its ``name``, its formula ``tex`` and its ``reference``, and implements
    :meth:`value`, :meth:`minimize` and :meth:`lower_bound`; :meth:`check` where it has parameters and :meth:`grid`
    where they are worth a search. What else it can do it declares, for nobody guesses.

    Attributes
    ----------
    name : str
        What users write, on the command line too.
    tex : str
        R(A) in TeX, for the tables of methods.
    reference : str
        Authors and year, or a few words where there is no paper.
    known : bool, default=False
        Whether the structure is known beforehand, as :meth:`structure`. Then nothing about it is learned, the term
        :math:`\epsilon \operatorname{tr}(A^{-1})` is left out of the objective, and the structure may be singular.
    joint : bool, default=False
        Whether :meth:`minimize_with` is there, which opens the joint Newton.
    exact_bound : bool, default=False
        Whether :meth:`lower_bound` is the minimum itself, whatever the guess.
    path_parameter : str or None, default=None
        The parameter that turns the graph from sparse to dense, along which a path can be followed.
    by_default : bool, default=True
        Whether a comparison of all methods takes it in without being asked: not where, without arguments, it is
        another method under another name.
    on_features : bool, default=False
        Whether :meth:`feature_structure` is there: the same problem has a matrix on the side of the features.

    See Also
    --------
    skmtl.minimize_structure : The structure step of any penalty.

    Examples
    --------
    What a penalty can is written on its class:

    >>> from skmtl.penalties import PENALTIES
    >>> [name for name, penalty in PENALTIES.items() if penalty.joint]
    ['sparse', 'groups']
    >>> PENALTIES["sparse"].path_parameter
    'mu'
    """

    name = ""
    tex = ""
    reference = ""
    known = False
    joint = False
    exact_bound = False
    path_parameter: str | None = None
    by_default = True
    on_features = False

    @property
    def threshold(self) -> float:
        """Blocks of tasks stay apart while no dual entry between them exceeds this; zero where no such rule holds."""
        return 0.0

    def grid(self) -> dict[str, list[float]]:
        """Candidates for the penalty's own parameters, for any number of tasks; by default nothing is searched."""
        return {}

    def structure(self, n_tasks: int) -> Array:
        """The matrix of a structure that is ``known``, of shape (n_tasks, n_tasks)."""
        raise NotImplementedError(f"the structure of {self.name!r} is learned.")

    def minimize_with(
        self, smooth: Smooth, start: Array, *, certify: Certify, tol: float, max_iter: int
    ) -> tuple[Array, float, int]:
        """Minimize smooth(A) + R(A) at once, where ``joint``; returns A, its relative gap and the iterations."""
        raise NotImplementedError(f"{self.name!r} has no joint solver.")

    def feature_structure(self, W: Array, eps: float) -> Array:
        """The matrix of the features, where ``on_features``; W are coefficients in an orthonormal basis."""
        raise NotImplementedError(f"{self.name!r} has no matrix on the side of the features.")

    def check(self, n_tasks: int) -> None:
        """Raise ``ValueError`` when a parameter makes no sense for ``n_tasks`` tasks."""

    def value(self, A: Array) -> float:
        """R(A), infinite outside its domain."""
        raise NotImplementedError

    def minimize(self, S: Array, *, start: Array | None = None, tol: float = 1e-9) -> StructureStep:
        """The structure step, argmin over A of tr(A^-1 S) + R(A) (SKMTL eq. 7).

        ``start`` is a guess that may speed it up, and may be nonsense. The step ends at a relative gap of ``tol`` or
        says how large its gap is, never less than 0; a closed form says 0, whatever rounding does to it.
        """
        raise NotImplementedError

    def lower_bound(self, Q: Array, eps: float, structure: Array, scale: float = 1.0) -> float:
        """A number not above the minimum over A of eps tr(A^-1) + R(A) - scale^2 tr(A Q).

        ``structure`` is a guess of the minimizer; the bound holds for any guess and is tight for a good one. It is
        -inf where nothing can be proved. The term of eps is left out where the structure is ``known``.
        """
        raise NotImplementedError

    def feasible_scale(self, Q: Array, eps: float, structure: Array) -> float:
        """A scale, at most 1 and as near to it as is known, at which the lower bound is finite for this guess."""
        return 1.0
