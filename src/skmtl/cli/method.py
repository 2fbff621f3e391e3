"""The method that a person names, with what is left to choose."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl._parameters import MOST_JOBS
from skmtl.cli.words import TOLD
from skmtl.model_selection import quick_search
from skmtl.model_selection.recommended import KERNELS
from skmtl.model_selection.scores import SCORES
from skmtl.penalties import PENALTIES, StructurePenalty
from skmtl.tables import TableProblem
from skmtl.tables.files import read_matrix


@dataclass(frozen=True)
class MethodOptions:
    """Penalty, kernel and parameters as a person gives them; what is None is chosen by cross-validation."""

    penalty: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    alpha: float | None = None
    kernel: str | None = None
    gamma: float | None = None
    common: float | None = None
    loss: str = "square"
    rule: str = "best"
    scoring: str | None = None
    n_components: int | None = None
    n_jobs: int | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to choose."""
        return self.penalty is not None and self.alpha is not None

    @property
    def held(self) -> bool:
        """Whether the penalty is the one to fit, however independent tasks do."""
        return self.penalty is not None or bool(self.settings)

    @property
    def kernels(self) -> Sequence[str]:
        """The kernels to choose from; who names a width or landmarks asks for a kernel that has them."""
        if self.kernel is not None:
            return (self.kernel,)
        if self.gamma is not None or self.n_components is not None:
            return ("rbf",)
        return KERNELS[:1] if self.complete else KERNELS

    def check(self) -> None:
        """Raise ``ValueError`` for options that do not go together, before work starts."""
        if self.scoring is not None and self.scoring not in SCORES:
            raise ValueError(f"--scoring {self.scoring!r} is not known; choose one of {', '.join(SCORES)}.")
        if self.kernel == "linear" and self.gamma is not None:
            raise ValueError("the linear kernel has no gamma; leave --gamma out, or say --kernel rbf.")
        if self.kernel == "linear" and self.n_components is not None:
            raise ValueError("the linear kernel needs no landmarks; leave --components out, or say --kernel rbf.")
        self._check_numbers()
        self._check_penalty()

    def _check_numbers(self) -> None:
        for name, value in (("alpha", self.alpha), ("gamma", self.gamma)):
            if value is not None and not 0.0 < value < math.inf:
                raise ValueError(f"--{name} {value:g} must be a number above 0; leave it out to have it chosen.")
        if self.common is not None and not 0.0 <= self.common < math.inf:
            raise ValueError(f"--common {self.common:g} must be 0 (no common part) or a number above it.")
        if self.n_components is not None and self.n_components < 1:
            raise ValueError(f"--components {self.n_components} is no number of landmarks; say 1 or more.")
        if self.n_jobs is not None and not 0 < abs(self.n_jobs) <= MOST_JOBS:
            raise ValueError(
                f"--jobs {self.n_jobs} is no number of processes; say 1 to {MOST_JOBS}, or -1 for all processors."
            )

    def _check_penalty(self) -> None:
        name = self.penalty or "sparse"
        if name not in PENALTIES:
            raise ValueError(f"penalty {name!r} is not known; choose one of {', '.join(PENALTIES)}.")
        penalty = PENALTIES[name]()
        for key in self.settings:
            if key not in penalty.get_params():
                known = ", ".join(penalty.get_params()) or "nothing"
                raise ValueError(f"--set {key}: penalty {name!r} has no such parameter; it has {known}.")
        searched = set(penalty.grid()) & set(self.settings) - {penalty.path_parameter}
        if searched and not self.complete:
            raise ValueError(f"--set {searched.pop()} needs --penalty and --alpha too, for else it is searched for.")
        if name in TOLD and TOLD[name][0] not in self.settings:
            raise ValueError(f"penalty {name!r} has to be told what is known: --set {TOLD[name][1]}.")

    def make_penalty(self, tasks: Sequence[str] = ()) -> StructurePenalty:
        """The penalty with its settings, for tasks of these names."""
        settings = dict(self.settings)
        if self.penalty == "fixed":
            settings["matrix"] = read_matrix(Path(str(settings["matrix"])), tasks)
        return PENALTIES[self.penalty or "sparse"]().set_params(**settings)

    def make_search(self, problem: TableProblem) -> Any:
        """The search for what was not given."""
        penalty = self.make_penalty(problem.task_names)
        mu = None if penalty.path_parameter is None else self.settings.get(penalty.path_parameter)
        given = {"alphas": self.alpha, "mus": mu, "commons": self.common, "gammas": self.gamma}
        held: dict[str, Any] = {name: [value] for name, value in given.items() if value is not None}
        held |= {"scoring": self.scoring or problem.scoring, "n_jobs": self.n_jobs, "n_components": self.n_components}
        return quick_search(penalty, classification=problem.classification, loss=self.loss, rule=self.rule, **held)

    def make_estimator(self, problem: TableProblem) -> Any:
        """The estimator with the parameters given; None where some are left to choose."""
        if not self.complete:
            return None
        cls: Any = MultiTaskClassifier if problem.classification else MultiTaskRegressor
        params = {"alpha": self.alpha, "gamma": self.gamma, "common": self.common or 0.0, "loss": self.loss}
        params |= {"n_components": self.n_components, "random_state": 0}
        return cls(self.make_penalty(problem.task_names), kernel=self.kernels[0], **params)
