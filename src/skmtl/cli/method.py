"""The method that a person names, with what is left to choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.model_selection import quick_search
from skmtl.model_selection.recommended import KERNELS
from skmtl.penalties import PENALTIES, StructurePenalty


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

    @property
    def complete(self) -> bool:
        """Whether nothing is left to choose."""
        return self.penalty is not None and self.alpha is not None

    @property
    def kernels(self) -> Sequence[str]:
        """The kernels to choose from."""
        return KERNELS if self.kernel is None else (self.kernel,)

    def check(self) -> None:
        """Raise ``ValueError`` for options that do not go together, before work starts."""
        self.make_penalty()
        linear = self.kernel == "linear" or (self.kernel is None and self.complete)
        if linear and self.gamma is not None:
            raise ValueError("the linear kernel has no gamma; leave --gamma out, or say --kernel rbf.")

    def make_penalty(self) -> StructurePenalty:
        """The penalty with its settings."""
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
        return penalty.set_params(**self.settings)

    def make_search(self, *, classification: bool) -> Any:
        """The search for what was not given."""
        penalty = self.make_penalty()
        mu = None if penalty.path_parameter is None else self.settings.get(penalty.path_parameter)
        given = {"alphas": self.alpha, "mus": mu, "commons": self.common, "gammas": self.gamma}
        held = {name: [value] for name, value in given.items() if value is not None}
        return quick_search(penalty, classification=classification, loss=self.loss, rule=self.rule, **held)

    def make_estimator(self, *, classification: bool) -> Any:
        """The estimator with the parameters given; None where some are left to choose."""
        if not self.complete:
            return None
        cls: Any = MultiTaskClassifier if classification else MultiTaskRegressor
        params = {"alpha": self.alpha, "gamma": self.gamma, "common": self.common or 0.0, "loss": self.loss}
        return cls(self.make_penalty(), kernel=self.kernel or "linear", **params)
