"""Regression tasks that are related by a sparse matrix."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skmtl._linalg import Array, spectral_map, symmetric_part

ENTRIES = ("normal", "uniform", "signs", "blocks")
CORRUPTIONS = ("variance", "deviation")


@dataclass(frozen=True)
class SparseTasks:
    """What :func:`make_sparse_tasks` returns.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows to learn from.
    Y : ndarray of shape (n_samples, n_tasks)
        Their targets.
    X_test : ndarray of shape (n_test, n_features)
        The rows to test on.
    Y_test : ndarray of shape (n_test, n_tasks)
        Their targets.
    structure : ndarray of shape (n_tasks, n_tasks)
        The sparse structure A.
    corrupted_structure : ndarray of shape (n_tasks, n_tasks)
        The corrupted copy of it that made the targets.
    weights : ndarray of shape (n_features, n_tasks)
        The orthonormal columns of U.

    See Also
    --------
    make_sparse_tasks : Draws such tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.datasets import make_sparse_tasks
    >>> tasks = make_sparse_tasks(n_tasks=4, n_features=6, noise=0.0, random_state=0)
    >>> np.allclose(tasks.Y, tasks.X @ tasks.weights @ tasks.corrupted_structure)
    True
    """

    X: Array
    Y: Array
    X_test: Array
    Y_test: Array
    structure: Array
    corrupted_structure: Array
    weights: Array

    @property
    def support(self) -> float:
        """Share of entries of ``structure`` that are not zero, diagonal included."""
        return float(np.mean(self.structure != 0))


def make_sparse_tasks(
    n_tasks: int = 10,
    n_features: int = 100,
    n_samples: int = 50,
    *,
    n_test: int = 100,
    support: float = 0.5,
    noise: float = 0.1,
    corruption: float = 0.1,
    corruption_as: str = "variance",
    entries: str = "normal",
    random_state: int | np.random.RandomState | None = None,
) -> SparseTasks:
    r"""Draw linear tasks whose relations are sparse.

    .. math:: y' = x' U \tilde A + \varepsilon

    with standard normal x, orthonormal columns in U, and :math:`\tilde A` a corrupted copy of a sparse
    structure :math:`A = G G'`. G is random and sparse, with as many entries as give A the wanted support; A is
    scaled so that its largest entry is 1. Blocks are another kind of structure: groups of tasks that are related to
    one another alike, and to no other task. The corruption is symmetric Gaussian noise on every entry, after which
    negative eigenvalues are set to zero.

    Parameters
    ----------
    n_tasks : int, default=10
        The number of tasks.
    n_features : int, default=100
        The number of features, at least ``n_tasks``.
    n_samples, n_test : int, default=50, 100
        Rows to learn from and to test on.
    support : float, default=0.5
        Wanted share of nonzero entries of A, diagonal included. The diagonal is never zero, so the smallest
        share possible is ``1 / n_tasks``; the nearest possible share is taken.
    noise : float, default=0.1
        Variance of :math:`\varepsilon`.
    corruption : float, default=0.1
        Size of the corruption, as a multiple of the mean size of the nonzero entries of A.
    corruption_as : {"variance", "deviation"}, default="variance"
        What that multiple is: the variance of the corruption, or its standard deviation, which is smaller.
    entries : {"normal", "uniform", "signs", "blocks"}, default="normal"
        How the nonzero entries of G are drawn: standard normal, between 0.5 and 1 in size with either sign, or -1 and
        +1. Normal ones make some entries of A small, and those are lost in the corruption. With "blocks" A has groups
        of tasks, of sizes that come nearest to the wanted support, with entries one half between tasks of a group.
    random_state : int, RandomState or None, default=None
        A whole number gives the same tasks again.

    Returns
    -------
    SparseTasks
        Data, structures and weights.

    See Also
    --------
    skmtl.experiments.run : Runs the paper's experiment on such tasks.

    References
    ----------
    Ciliberto et al. Learning multiple visual tasks while discovering their structure. CVPR 2015, Synthetic Data.

    Examples
    --------
    >>> from skmtl.datasets import make_sparse_tasks
    >>> tasks = make_sparse_tasks(n_tasks=10, support=0.3, random_state=0)
    >>> tasks.Y.shape, tasks.support
    ((50, 10), 0.3)
    """
    _check(n_tasks, n_features, n_samples, n_test, support, noise, corruption)
    _check_reading(entries, corruption_as)
    random = check_random_state(random_state)
    make = _block_structure if entries == "blocks" else partial(_sparse_structure, entries=entries)
    A = make(n_tasks, support, random)
    corrupted = _corrupt(A, corruption, corruption_as, random)
    U, _ = np.linalg.qr(random.standard_normal((n_features, n_tasks)))
    X = random.standard_normal((n_samples + n_test, n_features))
    Y = X @ U @ corrupted + np.sqrt(noise) * random.standard_normal((n_samples + n_test, n_tasks))
    return SparseTasks(
        X=X[:n_samples],
        Y=Y[:n_samples],
        X_test=X[n_samples:],
        Y_test=Y[n_samples:],
        structure=A,
        corrupted_structure=corrupted,
        weights=U,
    )


def _check(
    n_tasks: int, n_features: int, n_samples: int, n_test: int, support: float, noise: float, corruption: float
) -> None:
    if not 1 <= n_tasks <= n_features:
        raise ValueError(
            f"n_tasks={n_tasks} and n_features={n_features}: orthonormal columns need 1 <= n_tasks <= n_features."
        )
    if n_samples < 1 or n_test < 0:
        raise ValueError(f"n_samples={n_samples} must be at least 1 and n_test={n_test} at least 0.")
    if not 0 < support <= 1:
        raise ValueError(f"support={support} must lie in (0, 1]; 1 means that all tasks are related.")
    if not (noise >= 0 and corruption >= 0):
        raise ValueError(f"noise={noise} and corruption={corruption} are variances and must not be negative.")


def _check_reading(entries: str, corruption_as: str) -> None:
    for name, value, known in (("entries", entries, ENTRIES), ("corruption_as", corruption_as, CORRUPTIONS)):
        if value not in known:
            raise ValueError(f"{name}={value!r} is not known; choose one of {', '.join(known)}.")


def _block_structure(n_tasks: int, support: float, random: np.random.RandomState) -> Array:
    """Groups of tasks, of sizes as equal as can be, whose number comes nearest to the support."""
    supports = [_block_sizes(n_tasks, k) @ _block_sizes(n_tasks, k) / n_tasks**2 for k in range(1, n_tasks + 1)]
    sizes = _block_sizes(n_tasks, 1 + int(np.argmin(np.abs(np.array(supports) - support))))
    group = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.where(np.eye(n_tasks) > 0.0, 1.0, 0.5 * (group[:, None] == group))


def _block_sizes(n_tasks: int, n_blocks: int) -> NDArray[np.intp]:
    return np.array([len(part) for part in np.array_split(np.arange(n_tasks), n_blocks)])


def _draw_entries(entries: str, shape: tuple[int, ...], random: np.random.RandomState) -> Array:
    """Entries of G."""
    if entries == "normal":
        return random.standard_normal(shape)
    signs = np.where(random.random_sample(shape) < 0.5, -1.0, 1.0)
    return signs if entries == "signs" else signs * random.uniform(0.5, 1.0, shape)


def _sparse_structure(n_tasks: int, support: float, random: np.random.RandomState, entries: str) -> Array:
    """A = GG' of shape (T, T) with the wanted support and largest entry 1."""
    n_pairs = round((support * n_tasks**2 - n_tasks) / 2)
    pattern = _factor_pattern(n_tasks, max(n_pairs, 0), random)
    G = pattern * _draw_entries(entries, pattern.shape, random)
    A = symmetric_part(G @ G.T)
    return A / np.max(A)


def _factor_pattern(n_tasks: int, n_pairs: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Places of the nonzero entries of G, (T, at least T), such that GG' has ``n_pairs`` of them above its diagonal.

    Two tasks are related when some column of G has both. From the diagonal on, entries join in random order,
    except those that would relate too many.
    """
    pattern, related = np.eye(n_tasks, dtype=bool), np.eye(n_tasks, dtype=bool)
    missing = n_pairs
    for entry in random.permutation(n_tasks**2):
        task, column = divmod(int(entry), n_tasks)
        new = pattern[:, column] & ~related[task]
        if new.sum() <= missing:
            pattern[task, column] = True
            related[task] |= new
            related[:, task] |= new
            missing -= int(new.sum())
    # What no column can add by itself is added by columns of two entries.
    first, second = np.nonzero(np.triu(~related))
    chosen = random.permutation(len(first))[:missing]
    extra = np.zeros((n_tasks, len(chosen)), dtype=bool)
    extra[first[chosen], np.arange(len(chosen))] = extra[second[chosen], np.arange(len(chosen))] = True
    return np.hstack([pattern, extra])


def _corrupt(A: Array, corruption: float, corruption_as: str, random: np.random.RandomState) -> Array:
    """A + symmetric Gaussian noise, without the negative eigenvalues."""
    size = corruption * np.abs(A[A != 0]).mean()
    upper = np.triu((np.sqrt(size) if corruption_as == "variance" else size) * random.standard_normal(A.shape))
    return spectral_map(A + upper + np.triu(upper, 1).T, lambda values: np.maximum(values, 0.0))
