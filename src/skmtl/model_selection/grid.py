"""The candidates of a search: penalties with their parameters, alpha, eps, the common part and the kernel's gamma."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from skmtl._validation import check_positive
from skmtl.penalties import Independent, StructurePenalty, check_penalty
from skmtl.solvers.training import Settings

# Multiples of the mean of diag(K).
ALPHAS = np.logspace(-1, -7, 10)
# As eps grows, the sparse structure tends to a multiple of the identity: the second is halfway to independent tasks.
EPS_FACTORS = (1.0, 100.0)
COMMONS, LONG_COMMONS = (0.0,), (0.0, 10.0)

# A penalty with its own parameters set, and those parameters.
Variant = tuple[StructurePenalty, dict[str, float]]


@dataclass(frozen=True)
class Candidate:
    """One point of the grid: the settings of a fit, the kernel's gamma, and what the penalty has of its own."""

    settings: Settings
    gamma: float | None = None
    own: dict[str, float] = field(default_factory=dict)

    @property
    def penalty(self) -> StructurePenalty:
        return self.settings.penalty

    @property
    def independent(self) -> bool:
        """Whether the tasks share nothing."""
        return self.penalty.name == Independent.name and self.settings.common == 0.0

    def params(self) -> dict[str, Any]:
        """What is searched over, by the names that estimators give it; eps as a multiple of the automatic one."""
        settings = self.settings
        return {
            "penalty": settings.penalty,
            "alpha": settings.alpha,
            "eps_factor": settings.eps_factor,
            "common": settings.common,
            "gamma": self.gamma,
        }

    def all_but_alpha(self) -> tuple[Any, ...]:
        """Candidates that are equal in this follow one another along alpha."""
        settings = self.settings
        return self.penalty.name, tuple(self.own.items()), settings.eps_factor, settings.common, self.gamma

    def all_but_own(self) -> tuple[Any, ...]:
        """Candidates that are equal in this differ in the penalty's own parameters at most.

        Where the joint Newton solves, any positive definite structure is one to start from; else only one that was
        found with the same parameters is sure to be in the domain.
        """
        settings = self.settings
        own = () if self.penalty.joint else tuple(self.own.items())
        return self.penalty.name, own, settings.alpha, settings.eps_factor, settings.common, self.gamma


def make_penalties(penalty: Any, mus: Any, n_tasks: int) -> list[Variant]:
    """Penalties with every value of their own parameters; independent tasks come first."""
    chosen = [check_penalty(one, n_tasks) for one in _as_list(penalty)]
    if not chosen:
        raise ValueError("penalty is an empty list; name at least one penalty.")
    if mus is not None and not any(one.path_parameter == "mu" for one in chosen):
        names = ", ".join(one.name for one in chosen)
        raise ValueError(f"mus={mus!r} was given, but {names} has no mu; leave mus out or use penalty='sparse'.")
    variants: list[Variant] = [(Independent(), {})]
    # One task has nothing to share: every penalty is independent tasks at another alpha.
    for one in chosen if n_tasks > 1 else ():
        grid = one.grid() if mus is None or one.path_parameter != "mu" else {"mu": check_grid("mus", mus)}
        for values in product(*grid.values()):
            own = dict(zip(grid, values, strict=True))
            variant = clone(one).set_params(**own)
            variant.check(n_tasks)
            if one.name != Independent.name:
                variants.append((variant, own))
    return variants


def make_candidates(
    variants: Iterable[Variant],
    *,
    alphas: Sequence[float],
    eps_factors: Sequence[float],
    commons: Sequence[float],
    gamma: float | None,
) -> list[Candidate]:
    """The whole grid at one gamma, strong regularization first; independent tasks without a common part are in it."""
    candidates = []
    for alpha, (penalty, own) in product(sorted(alphas, reverse=True), variants):
        parts = sorted({0.0, *commons}) if penalty.name == Independent.name else commons
        for factor, common in product((1.0,) if penalty.known else eps_factors, parts):
            settings = Settings(penalty, alpha, common, eps_factor=factor)
            candidates.append(Candidate(settings, gamma, own))
    return candidates


def candidate_estimator(model: Any, candidate: Candidate) -> Any:
    """An estimator, not fitted, with the parameters of a candidate; eps apart, where it is a multiple."""
    settings = candidate.settings
    chosen = clone(model).set_params(
        penalty=clone(settings.penalty), alpha=settings.alpha, common=settings.common, gamma=candidate.gamma
    )
    # A known structure needs no solver, and not every one can be asked for.
    return chosen.set_params(solver="auto") if settings.penalty.known else chosen


def check_grid(name: str, values: Any, default: Iterable[float] = (), *, zero: bool = True) -> list[float]:
    """Numbers to search over, without repetition."""
    if values is None:
        return [float(value) for value in default]
    listed = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    if not listed:
        raise ValueError(f"{name} is empty; give at least one number, or leave it out for the default grid.")
    return list(dict.fromkeys(check_positive(f"an entry of {name}", value, zero=zero) for value in listed))


def _as_list(penalty: Any) -> list[Any]:
    return list(penalty) if isinstance(penalty, list | tuple) else [penalty]
