"""The candidates of a search: penalties with their parameters, alpha, eps, the common part and the kernel's width."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from skmtl._linalg import Array
from skmtl._validation import check_positive
from skmtl.penalties import Independent, StructurePenalty, check_penalty

# Multiples of the mean of diag(K), and of the median heuristic.
ALPHAS = np.logspace(-1, -7, 10)
WIDTHS = (1 / 16, 1 / 4, 1.0, 4.0)
EPSILONS = (1.0, 100.0)
COMMONS, LONG_COMMONS = (0.0,), (0.0, 10.0)
KERNELS_WITH_WIDTH = ("rbf", "laplacian")
ROWS_FOR_MEDIAN = 500


@dataclass(frozen=True)
class Candidate:
    """One point of the grid.

    ``epsilon`` is a multiple of the automatic eps unless ``eps`` is given; ``own`` is what the penalty has to choose.
    """

    penalty: StructurePenalty
    alpha: float
    epsilon: float = 1.0
    common: float = 0.0
    gamma: float | None = None
    own: dict[str, float] = field(default_factory=dict)
    eps: float | None = None

    @property
    def independent(self) -> bool:
        return self.penalty.name == Independent.name and self.common == 0.0

    def params(self) -> dict[str, Any]:
        """What a person reads: strings and numbers."""
        rest = {"alpha": self.alpha, "epsilon": self.epsilon, "common": self.common, "gamma": self.gamma}
        return {"penalty": self.penalty.name, **self.own, **rest}

    def track(self) -> tuple[Any, ...]:
        """All but alpha."""
        return self.penalty.name, tuple(self.own.items()), self.epsilon, self.common, self.gamma

    def family(self) -> tuple[Any, ...]:
        """All but the penalty's own parameters, where any positive definite structure is one to start from."""
        own = () if self.penalty.joint else tuple(self.own.items())
        return self.penalty.name, own, self.alpha, self.epsilon, self.common, self.gamma


def is_known(penalty: StructurePenalty) -> bool:
    """Whether nothing about the structure is learned."""
    return penalty.known


def make_shapes(penalty: Any, mus: Any, n_tasks: int) -> list[tuple[StructurePenalty, dict[str, float]]]:
    """Penalties with their own parameters set, and those parameters; independent tasks come first."""
    chosen = [check_penalty(one, n_tasks) for one in _as_list(penalty)]
    if not chosen:
        raise ValueError("penalty is an empty list; name at least one penalty.")
    if mus is not None and not any(has_mu(one) for one in chosen):
        names = ", ".join(one.name for one in chosen)
        raise ValueError(f"mus={mus!r} was given, but {names} has no mu; leave mus out or use penalty='sparse'.")
    shapes: list[tuple[StructurePenalty, dict[str, float]]] = [(Independent(), {})]
    # One task has nothing to share: every penalty is independent tasks at another alpha.
    for one in chosen if n_tasks > 1 else ():
        grid = {"mu": check_grid("mus", mus)} if mus is not None and has_mu(one) else _own_grid(one)
        for values in product(*grid.values()):
            own = dict(zip(grid, values, strict=True))
            shaped = clone(one).set_params(**own)
            shaped.check(n_tasks)
            if one.name != Independent.name:
                shapes.append((shaped, own))
    return shapes


def make_candidates(
    shapes: Iterable[tuple[StructurePenalty, dict[str, float]]],
    *,
    alphas: Sequence[float],
    epsilons: Sequence[float],
    commons: Sequence[float],
    gamma: float | None,
) -> list[Candidate]:
    """The whole grid at one width, strong regularisation first; independent tasks without a common part are in it."""
    candidates = []
    for alpha, (penalty, own) in product(sorted(alphas, reverse=True), shapes):
        known = is_known(penalty)
        parts = sorted({0.0, *commons}) if penalty.name == Independent.name else commons
        for epsilon, common in product((1.0,) if known else epsilons, parts):
            candidates.append(Candidate(penalty, alpha, epsilon, common, gamma, own))
    return candidates


def check_grid(name: str, values: Any, default: Iterable[float] = (), *, zero: bool = True) -> list[float]:
    """Numbers to search over, without repetition."""
    if values is None:
        return [float(value) for value in default]
    listed = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    if not listed:
        raise ValueError(f"{name} is empty; give at least one number, or leave it out for the default grid.")
    return list(dict.fromkeys(check_positive(f"an entry of {name}", value, zero=zero) for value in listed))


def default_widths(kernel: Any, X: Array) -> list[float | None]:
    """Widths around the median heuristic where the kernel has one, else the kernel's own default."""
    if not isinstance(kernel, str) or kernel not in KERNELS_WITH_WIDTH:
        return [None]
    rows = X[:: -(-X.shape[0] // ROWS_FOR_MEDIAN)]
    metric = euclidean_distances if kernel == "rbf" else manhattan_distances
    distances = metric(rows)[np.triu_indices(rows.shape[0], 1)]
    distances = distances**2 if kernel == "rbf" else distances
    distances = distances[distances > 0.0]
    return [width / float(np.median(distances)) for width in WIDTHS] if len(distances) else [None]


def _own_grid(penalty: StructurePenalty) -> dict[str, list[float]]:
    return penalty.grid()


def has_mu(penalty: StructurePenalty) -> bool:
    """Whether the penalty has a threshold on correlations."""
    return "mu" in penalty.get_params()


def _as_list(penalty: Any) -> list[Any]:
    return list(penalty) if isinstance(penalty, list | tuple) else [penalty]
