"""How often a search learns a metric: every fold learns it again, on its own training rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl._parameters import is_number
from skmtl.estimators.base import train
from skmtl.estimators.metric import check_rounds, check_rule, next_scale, suits
from skmtl.features.metric import SCALABLE
from skmtl.losses import Loss
from skmtl.model_selection.candidates import Candidate, Scored
from skmtl.model_selection.folds import TrainingSource
from skmtl.solvers.training import Training
from skmtl.targets import TaskData

Index = NDArray[np.intp]


def check_metric_rounds(rounds: Any, kernels: Sequence[Any]) -> list[int]:
    """Numbers of rounds to try, in order, with kernels that can be scaled; with 0 among them one such is enough."""
    several = isinstance(rounds, list | tuple | range) or (isinstance(rounds, np.ndarray) and rounds.ndim == 1)
    listed = list(rounds) if several else [rounds]
    if not listed:
        raise ValueError("metric_rounds is an empty list; name at least one number, such as 0.")
    scalable = [is_scalable(kernel) for kernel in kernels]
    none = any(is_number(one) and one == 0 for one in listed)
    enough = any(scalable) if none else all(scalable)
    asked = kernels[scalable.index(enough)]
    return sorted({check_rounds(one, asked) for one in listed})


def check_rules(rules: Any, kernels: Sequence[Any], *, quadratic: bool, exact: bool) -> list[str]:
    """Rules of the metric to try, each of them possible with one of the kernels at least."""
    listed = list(rules) if isinstance(rules, list | tuple) else [rules]
    if not listed:
        raise ValueError('metric_rule is an empty list; name at least one rule, such as "slopes".')

    def check(rule: Any) -> str:
        asked = next((kernel for kernel in kernels if suits(rule, kernel)), kernels[0])
        return check_rule(rule, asked, quadratic=quadratic, exact=exact)

    return list(dict.fromkeys(check(one) for one in listed))


def is_scalable(kernel: Any) -> bool:
    """Whether a kernel can be taken on scaled features."""
    return kernel in tuple(SCALABLE)


class MetricSource(TrainingSource):
    """Training sets that learn a metric on their own rows, and keep what it says for the next round.

    Parameters
    ----------
    model, data, loss
        As for :class:`TrainingSource`.
    before : MetricSource, optional
        That of one round less; None where the model has no round.
    rules : sequence of str
        The rules of further rounds.
    """

    def __init__(
        self,
        model: Any,
        data: TaskData,
        loss: Loss,
        before: Optional["MetricSource"] = None,
        *,
        rules: Sequence[str] = (),
    ) -> None:
        super().__init__(model, data, loss)
        self._before, self._rules, self._next = before, rules, dict[tuple[str, bytes], Array]()

    def training(self, rows: Index) -> Training:
        if self._before is None:
            training = super().training(rows)
        else:
            scale = self._before.scale_after(rows, self.model.metric_rule)
            training = train(self.model, self.data.take(rows), self.loss, feature_scale=scale)
        for key in [(rule, rows.tobytes()) for rule in self._rules]:
            if key not in self._next:
                self._next[key] = next_scale(clone(self.model).set_params(metric_rule=key[0]), training)
        return training

    def scale_after(self, rows: Index, rule: str) -> Array:
        """The scale of the features, of shape (d,), that the predictors of some rows ask for by a rule."""
        key = rule, rows.tobytes()
        if key not in self._next:
            self.training(rows)
        return self._next[key]


def score_rounds(
    model: Any,
    data: TaskData,
    loss: Loss,
    best: Candidate,
    *,
    rounds: Sequence[int],
    rules: Sequence[str],
    score: Callable[[TrainingSource], Scored],
) -> list[tuple[MetricSource, Scored]]:
    """Sources with a metric, their candidates, and what became of them.

    The inverse width, the strength at which metrics are learned, and the weight of a common component are those of
    ``best``, which has independent tasks and no metric; other widths were tried on public sets, and gained nothing.
    ``score`` scores the candidates of a source.
    """
    most = max(rounds)

    def open_source(k: int, before: MetricSource | None, rules: Sequence[str]) -> MetricSource:
        geometry = replace(best.geometry, metric_rounds=k, metric_rule=rules[0], metric_alpha=best.settings.alpha)
        chosen = clone(model).set_params(common=best.settings.common, **geometry.params())
        return MetricSource(chosen, data, loss, before, rules=rules if k < most else ())

    tried, plain = list[tuple[MetricSource, Scored]](), open_source(0, None, rules)
    for rule in rules:
        source = plain
        for k in range(1, most + 1):
            source = open_source(k, source, [rule])
            if k in rounds:
                tried.append((source, score(source)))
    return tried
