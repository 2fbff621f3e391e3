"""Search: candidates in stages, each scored by a run, and the best one fitted to all rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skmtl.estimators.base import make_effort, make_settings
from skmtl.estimators.metric import suits
from skmtl.estimators.publish import publish
from skmtl.losses import Loss
from skmtl.model_selection.candidates import (
    ALPHAS,
    COMMONS,
    LONG_COMMONS,
    Candidate,
    CandidateScores,
    Geometry,
    Scored,
    Variant,
    candidate_estimator,
    check_grid,
    check_rule,
    choose,
    is_auto,
    make_candidates,
    make_gammas,
    make_penalties,
    middle_alpha,
    search_effort,
)
from skmtl.model_selection.folds import N_FOLDS, Progress, Split, TrainingSource, deal_again, make_splits
from skmtl.model_selection.loo import loo_splits
from skmtl.model_selection.metric_choice import is_scalable, score_rounds
from skmtl.model_selection.own_strengths import score_own_strengths
from skmtl.model_selection.recommended import make_plan, score_in_steps, wants_own_strengths
from skmtl.model_selection.run import Run, is_loo, make_run
from skmtl.model_selection.scores import score_name, sees_order
from skmtl.targets import TaskData

# Inverse widths between those of the grid, on both sides of the best one.
FINER = (0.5, 2.0)
# The best decomposition so far is kept beside the one at hand, where a kernel and its eigenvectors need 64 MB at most.
ROWS_TO_KEEP = 2000
NO_SCORES = CandidateScores(np.empty((0, 0)), np.empty((0, 0)), np.empty(0))


class Selection(NamedTuple):
    """The candidates of a search, their scores, the number of the chosen one, and an estimator fitted with it.

    ``splits`` are the rows that were learned from and the rows that were scored, for every column of the scores.
    """

    candidates: list[Candidate]
    outcome: CandidateScores
    chosen: int
    best_estimator: Any
    splits: list[Split]


def select(search: Any, model: Any, data: TaskData, loss: Loss) -> Selection:
    """Score the candidates of a search on data, choose one, and fit it to all rows.

    ``search`` has the grids, ``cv``, ``scoring``, ``rule`` and ``n_jobs``; ``model`` is an estimator with all that is
    not searched over.
    """
    rule = check_rule(search.rule)
    progress = Progress(search.callback, verbose=search.verbose)
    if is_loo(search.cv) and data.groups is not None:
        raise ValueError('cv="loo" leaves out one row at a time, not a group; pass a number of folds.')
    # Without a kernel that is given, the number of folds is a part of what is recommended.
    cv = N_FOLDS if search.cv is None and not is_auto(search.kernel) else search.cv
    # Folds of several deals have rows in common, and differences between them no standard error.
    splits = None if is_loo(cv) else deal_again(data) if cv is None and rule == "best" else make_splits(cv, data)
    run = make_run(model, data, loss, splits, scoring=search.scoring, n_jobs=search.n_jobs, progress=progress)
    sources = _Sources(model, data, loss)
    candidates, outcome = _Stages(search, sources, run, splits).score_all(progress)
    index = choose(outcome, rule)
    if rule == "best" and sees_order(score_name(search.scoring, data)):
        alike = [one.all_but_alpha() == candidates[index].all_but_alpha() for one in candidates]
        index = middle_alpha([one.settings.alpha for one in candidates], outcome.scores, index, alike)
    best = candidates[index]
    splits = loo_splits(data.labels.n_rows) if splits is None else splits
    return Selection(candidates, outcome, index, _fit_best(sources.open(best.geometry), best), splits)


class _Sources:
    """Opens training sets; some of them are kept, for they are asked for again.

    They are the last ones, those that learn a metric and, where memory allows, the best ones so far.
    """

    def __init__(self, model: Any, data: TaskData, loss: Loss) -> None:
        self.model, self.data, self.loss = model, data, loss
        self._last: TrainingSource | None = None
        self._best: TrainingSource | None = None
        self._kept: list[TrainingSource] = []

    def keep(self, source: TrainingSource) -> None:
        """Return this source when its geometry is asked for."""
        self._kept.append(source)

    def keep_best(self, geometry: Geometry) -> None:
        """The same for the source of a geometry that was opened, until there is a better one."""
        if self.data.labels.n_rows <= ROWS_TO_KEEP:
            self._best = self.open(geometry)

    def open(self, geometry: Geometry) -> TrainingSource:
        """Training sets of one geometry."""
        for source in (*self._kept, self._best, self._last):
            if source is not None and Geometry.from_estimator(source.model) == geometry:
                return source
        self._last = TrainingSource(clone(self.model).set_params(**geometry.params()), self.data, self.loss)
        return self._last


class _Stages:
    """Candidates in the order in which they are tried: each stage goes on from the best of those before it.

    Kernel and width are chosen with independent tasks, then how often a metric is learned, then what tasks share.
    """

    def __init__(self, search: Any, sources: _Sources, run: Run, splits: Sequence[Split] | None) -> None:
        self._search, self._sources, self._run, self._splits = search, sources, run, splits
        data = sources.data
        self._alone, *self._shared = make_penalties(search.penalty, search.mus, data.labels.n_tasks)
        self._plan = plan = make_plan(search, data, sources.loss)
        gammas = make_gammas(search.gammas, plan.kernels, data.X)
        self._eps_factors = check_grid("eps_factors", search.eps_factors, plan.eps_factors, zero=False)
        commons = check_grid("commons", search.commons, LONG_COMMONS if data.labels.long else COMMONS)
        self._commons = commons if data.labels.n_tasks > 1 else [0.0]
        self._alphas = {
            kernel: _alphas(search, sources, Geometry(kernel, gammas[kernel][0])) for kernel in plan.kernels
        }
        self._grid = [Geometry(kernel, gamma) for kernel in plan.kernels for gamma in gammas[kernel]]
        # Of all stages, and of those before a metric.
        self._scored: list[Scored] = []
        self._first: list[Scored] = []

    def score_all(self, progress: Progress) -> Scored:
        """The candidates, and what became of them."""
        n_parts = 1 if self._splits is None else len(self._splits)
        # How many fits a metric takes depends on what is found on the way.
        foreseen = self._plan.rounds == (0,) and not self._plan.own_strengths
        if foreseen and len(self._grid) == 1:
            progress.total = n_parts
            return self._score(self._sources.open(self._grid[0]), [self._alone, *self._shared])
        if foreseen:
            progress.total = n_parts * (len(self._grid) + bool(self._shared))
        for stage in (self._try_kernels, self._refine_width, self._learn_metric, self._try_strengths, self._share):
            stage()
            if not all(outcome.finished for _, outcome in self._scored):
                # Interrupted: what is there has to do.
                break
        return _join(self._scored)

    def _score(
        self,
        source: TrainingSource,
        variants: Sequence[Variant],
        alphas: Sequence[float] | None = None,
        *,
        commons: Sequence[float] | None = None,
    ) -> Scored:
        """Candidates on one geometry; grids are those of the search."""
        geometry = Geometry.from_estimator(source.model)
        candidates = make_candidates(
            variants,
            alphas=self._alphas[geometry.kernel] if alphas is None else alphas,
            eps_factors=self._eps_factors,
            commons=self._commons if commons is None else commons,
            geometry=geometry,
        )
        if geometry.metric_rounds:
            # The metric is learned with a common component, and is another one with another component.
            candidates = [one for one in candidates if one.settings.common == source.model.common]
        return candidates, self._run(source, candidates) if candidates else NO_SCORES

    def _try(self, geometries: Sequence[Geometry]) -> None:
        """Independent tasks on some geometries, until one is interrupted."""
        for geometry in geometries:
            self._scored.append(self._score(self._sources.open(geometry), [self._alone]))
            if not self._scored[-1][1].finished:
                break
            self._sources.keep_best(_best(self._scored).geometry)

    def _try_kernels(self) -> None:
        self._try(self._grid)

    def _refine_width(self) -> None:
        if self._plan.in_steps and self._search.gammas is None:
            found = _best(self._scored).geometry
            self._try([] if found.gamma is None else [replace(found, gamma=step * found.gamma) for step in FINER])
        self._first = list(self._scored)

    def _learn_metric(self) -> None:
        rounds, sources = self._plan.rounds, self._sources
        if rounds == (0,):
            return
        best = _best([one for one in self._scored if is_scalable(one[0][0].geometry.kernel)])
        tried = score_rounds(
            sources.model,
            sources.data,
            sources.loss,
            best,
            rounds=list(rounds),
            rules=[rule for rule in self._plan.rules if suits(rule, best.geometry.kernel)],
            score=lambda source: self._score(source, [self._alone], commons=[best.settings.common]),
        )
        self._scored = (self._scored if 0 in rounds else []) + [outcome for _, outcome in tried]
        for source, _ in tried:
            sources.keep(source)

    def _try_strengths(self) -> None:
        """Independent tasks with a strength for each of them."""
        self._found = best = _best(self._scored)
        if not self._plan.own_strengths:
            return
        search = self._search
        source, alphas = self._sources.open(best.geometry), self._alphas[best.geometry.kernel]
        effort = search_effort(self._sources.model)
        own = score_own_strengths(source, best, alphas, self._splits, effort=effort, scoring=search.scoring)
        self._scored.append(own)

    def _share(self) -> None:
        """Relations of the tasks at the best geometry, or at the best one of every kernel."""
        best = self._found
        commons = [best.settings.common] if best.geometry.metric_rounds else self._commons
        if not self._plan.in_steps:
            self._scored.append(self._score(self._sources.open(best.geometry), self._shared, commons=commons))
            return
        places = {best.geometry: commons}
        if self._plan.every_kernel:
            widths = _best_widths(self._first, self._plan.kernels)
            places |= {place: self._commons for place in widths if place not in places}
        for place, parts in places.items():
            score = partial(self._score, self._sources.open(place), commons=parts)
            self._scored += score_in_steps(self._shared, self._alphas[place.kernel], score)


def _best_widths(scored: Sequence[Scored], kernels: Sequence[Any]) -> list[Geometry]:
    """The best geometry of every kernel."""
    of_kernel = [[one for one in scored if one[0][0].geometry.kernel == kernel] for kernel in kernels]
    return [_best(some).geometry for some in of_kernel]


def _join(scored: Sequence[Scored]) -> Scored:
    """All candidates and their scores."""
    made = [one for one in scored if one[0]]
    return [one for candidates, _ in made for one in candidates], CandidateScores.join([part for _, part in made])


def _best(scored: Sequence[Scored]) -> Candidate:
    candidates, outcome = _join(scored)
    return candidates[choose(outcome, "best")]


def _alphas(search: Any, sources: _Sources, geometry: Geometry) -> list[float]:
    if search.alphas is not None and not wants_own_strengths(search):
        return check_grid("alphas", search.alphas, zero=False)
    return check_grid("alphas", None, sources.open(geometry).size() * ALPHAS)


def _fit_best(source: TrainingSource, best: Candidate) -> Any:
    """The estimator of the best candidate, fitted to all rows."""
    training, settings = source.whole(), best.settings
    model = candidate_estimator(source.model, best)
    if settings.eps is None and settings.eps_factor != 1.0:
        model.set_params(eps=training.problem(settings).eps)
    settings = make_settings(model, source.data.labels.n_tasks)
    solution = training.solve(settings, make_effort(model), callback=model.callback)
    return publish(model, training, settings, solution)
