"""What a search tries: as its user says, and without a kernel what does best on public sets (docs/benchmarks.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from skmtl._parameters import is_number
from skmtl.features import check_kernel
from skmtl.losses import Loss
from skmtl.model_selection.candidates import EPS_FACTORS, Scored, Variant, is_auto
from skmtl.model_selection.folds import has_few_labels
from skmtl.model_selection.metric_choice import check_metric_rounds, check_rules
from skmtl.model_selection.scores import SCORES, score_name
from skmtl.targets import TaskData

KERNELS, ROUNDS = ("linear", "rbf", "laplacian"), (0, 1, 2)
RULES = ("slopes", "evidence", "task_evidence")
# Differences of features between rows, for the kernels of all tasks, that take a tenth of a second, and tasks whose own
# widths take less than twice as long as all that is tried without a metric.
MOST_DIFFERENCES, MOST_TASKS = 5e7, 6
# Kernels other than the linear one cost n^3 a fold. Landmarks bound that.
MOST_ROWS = 2000


@dataclass(frozen=True)
class Plan:
    """What to try: kernels, numbers of rounds of the metric and its rules, multiples of the automatic eps.

    With ``own_strengths`` independent tasks are tried with a strength for each of them too; ``in_steps`` the best width
    is refined once, and the penalties' own parameters are tried only at the strength that is best for one of them. With
    ``every_kernel`` relations of the tasks are tried at the best width of every kernel, too, for tasks with few labels
    may want another one together.
    """

    kernels: tuple[Any, ...]
    rounds: tuple[int, ...] = (0,)
    rules: tuple[str, ...] = ("slopes",)
    eps_factors: tuple[float, ...] = EPS_FACTORS
    own_strengths: bool = False
    in_steps: bool = False
    every_kernel: bool = False


def make_plan(search: Any, data: TaskData, loss: Loss) -> Plan:
    """What to try: as the user says, and as is recommended where no kernel is named."""
    given, rule = search.metric_rounds, search.metric_rule
    learns_metric = given is not None and not (is_number(given) and given == 0)
    if not is_auto(search.kernel):
        kernels = check_kernels(search.kernel)
        rounds = check_metric_rounds(given, kernels) if learns_metric else [0]
        rules = _rules(search, kernels, loss) if learns_metric and rule is not None else ["slopes"]
        return Plan(tuple(kernels), tuple(rounds), tuple(rules), own_strengths=wants_own_strengths(search))
    plan = recommend(search, data, loss)
    rounds = list(plan.rounds) if given is None else check_metric_rounds(given, plan.kernels)
    rules = list(plan.rules) if rule is None else _rules(search, plan.kernels, loss)
    own = plan.own_strengths or wants_own_strengths(search)
    return replace(plan, rounds=tuple(rounds), rules=tuple(rules), own_strengths=own)


def _rules(search: Any, kernels: Sequence[Any], loss: Loss) -> list[str]:
    """The rules of the metric that the user names."""
    return check_rules(search.metric_rule, kernels, quadratic=loss.quadratic, exact=has_all_rows(search))


def check_kernels(kernel: Any) -> list[Any]:
    """The kernels to choose from, which a user names."""
    kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    if not kernels:
        raise ValueError("kernel is an empty list; name at least one kernel.")
    for one in kernels:
        check_kernel(one)
    if len(kernels) > 1 and "precomputed" in kernels:
        raise ValueError('kernel="precomputed" has rows that no other kernel can read; it must be the only one.')
    return list(dict.fromkeys(kernels))


def wants_own_strengths(search: Any) -> bool:
    """Whether independent tasks are tried with a strength for each of them too."""
    return isinstance(search.alphas, str) and search.alphas == "own"


def recommend(search: Any, data: TaskData, loss: Loss) -> Plan:
    """Kernels that there is time for, a metric where folds can judge it, own strengths where tasks have an error.

    Losses that need many steps for each fit, sparse rows and more rows than ``MOST_ROWS`` leave the linear kernel.
    """
    with_folds = not (isinstance(search.cv, str) and search.cv == "loo")
    regression = data.coding.classes is None and score_name(search.scoring, data) in SCORES
    own = search.alphas is None and with_folds and regression and data.labels.n_tasks > 1
    few = data.labels.n_rows <= MOST_ROWS or search.n_components is not None
    if not loss.quadratic or sparse.issparse(data.X) or not few:
        return Plan(KERNELS[:1], own_strengths=own and loss.quadratic)
    rounds = ROUNDS if with_folds else (0,)
    rules = metric_rules(data) if regression and has_all_rows(search) else RULES[:1]
    return Plan(KERNELS, rounds, rules, EPS_FACTORS[:1], own, in_steps=True, every_kernel=has_few_labels(data))


def metric_rules(data: TaskData) -> tuple[str, ...]:
    """What to scale features by; widths of each task where there are several tasks, and time for their kernels."""
    n_tasks, (n_rows, n_features) = data.labels.n_tasks, data.X.shape
    several = 1 < n_tasks <= MOST_TASKS and n_tasks * n_rows**2 * n_features <= MOST_DIFFERENCES
    return RULES if several else RULES[:2]


def has_all_rows(search: Any) -> bool:
    """Whether kernels are taken on all rows, and not on landmarks."""
    return search.n_components is None and isinstance(search.landmarks, str)


def score_in_steps(
    variants: Sequence[Variant], alphas: Sequence[float], score: Callable[[Sequence[Variant], Sequence[float]], Scored]
) -> list[Scored]:
    """Candidates of the penalties and what became of them: strengths first, then the penalty's own parameters.

    Every penalty is tried at all strengths with the middle one of its variants, and then with all variants at the best
    strength: with s strengths and v variants s + v - 1 candidates instead of s v. ``score`` scores variants at
    strengths.
    """
    scored = list[Scored]()
    for _, some in groupby(variants, key=lambda variant: variant[0].name):
        own = list(some)
        middle = own.pop(len(own) // 2)
        scored.append(score([middle], alphas))
        candidates, outcome = scored[-1]
        if not own or not outcome.finished or not np.any(np.isfinite(outcome.means)):
            continue
        scored.append(score(own, [candidates[int(np.nanargmax(outcome.means))].settings.alpha]))
    return scored
