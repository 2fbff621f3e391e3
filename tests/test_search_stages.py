"""A search step by step: scores are written by hand, and what is tried next has to follow from them."""

import numpy as np
import pytest
from problems import related_tasks

from skmtl import MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators.clean import clean
from skmtl.losses import Square
from skmtl.model_selection import own_strengths, run, search
from skmtl.model_selection.candidates import ALPHAS, Candidate, CandidateScores, Geometry, default_gammas
from skmtl.model_selection.folds import TrainingSource, make_splits
from skmtl.model_selection.own_strengths import score_own_strengths
from skmtl.model_selection.recommended import KERNELS, RULES
from skmtl.penalties import Independent
from skmtl.solvers.training import Effort, Settings, Training

MUS = (0.5, 0.7, 0.9)


class Script:
    """Stands in the place of folds: a formula scores the candidates, and who asked is written down."""

    def __init__(self, monkeypatch, value, *, stop_after=None):
        self.calls, self.splits, self.value, self.stop_after = [], None, value, stop_after
        monkeypatch.setattr(search, "make_run", self.make_run)
        monkeypatch.setattr(search, "score_own_strengths", self.score_own_strengths)

    def make_run(self, model, data, loss, splits, **given):
        self.splits = splits
        return self.run

    def run(self, source, candidates):
        self.calls.append(candidates)
        return self.outcome(candidates)

    def outcome(self, candidates):
        n_folds = len(self.splits)
        interrupted = self.stop_after is not None and len(self.calls) > self.stop_after
        scores = np.array([[self.value(one)] * (n_folds - interrupted) for one in candidates])
        return CandidateScores(scores, np.zeros_like(scores), scores[:, 0], finished=not interrupted)

    def score_own_strengths(self, source, best, alphas, splits, **given):
        assert Geometry.from_estimator(source.model) == best.geometry
        assert list(splits) == list(self.splits)
        own = [Candidate(Settings(Independent([1.0, 2.0]), best.settings.alpha, best.settings.common), best.geometry)]
        self.calls.append(own)
        return own, self.outcome(own)

    @property
    def geometries(self):
        assert all(len({one.geometry for one in call}) == 1 for call in self.calls)
        return [call[0].geometry for call in self.calls]


def names(call):
    return {one.penalty.name for one in call}


def scored_by(kernel, gamma, alpha, *, rounds=0, rule="slopes", shares=False):
    """Best at one kernel, width, strength, number of rounds and rule, and with relations or without."""

    def value(one):
        place, score = one.geometry, -0.01 * abs(np.log(one.settings.alpha / alpha))
        score -= 10.0 * (place.kernel != kernel)
        score -= 0.1 * abs(np.log((place.gamma or gamma) / gamma)) if place.kernel == kernel else 0.0
        score -= abs(place.metric_rounds - rounds) + 0.5 * (place.metric_rounds > 0 and place.metric_rule != rule)
        return score + (0.001 if shares == (one.penalty.name != "independent") else 0.0)

    return value


@pytest.fixture
def small(rng):
    return related_tasks(rng, 30, 2)


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_then_widths_then_metrics_then_strengths_then_relations(kernel, rounds, small, monkeypatch):
    X, Y = small
    widths = {name: default_gammas(name, X) for name in KERNELS}
    gamma = widths[kernel][-1]
    finer = None if gamma is None else 2.0 * gamma
    alpha = 1e-3 if kernel != "linear" else 1e-3 * float(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    script = Script(monkeypatch, scored_by(kernel, finer or 1.0, alpha, rounds=rounds, rule="evidence", shares=True))
    found = MultiTaskRegressorCV(mus=MUS).fit(X, Y)
    grid = [(name, width) for name in KERNELS for width in widths[name]]
    refined = [] if gamma is None else [(kernel, 0.5 * gamma), (kernel, 2.0 * gamma)]
    visited = [(place.kernel, place.gamma) for place in script.geometries]
    start = len(grid) + len(refined)
    assert visited[:start] == [*grid, *refined]
    assert all(names(call) == {"independent"} for call in script.calls[:start])
    # Metrics at the best width of the kernels that can be scaled, learned with the strength that was best there.
    scaled, width = ("rbf", widths["rbf"][0]) if kernel == "linear" else (kernel, finer)
    metrics = script.geometries[start : start + 2 * len(RULES)]
    assert [(one.metric_rule, one.metric_rounds) for one in metrics] == [(rule, k) for rule in RULES for k in (1, 2)]
    assert {(one.kernel, one.gamma) for one in metrics} == {(scaled, width)}
    best_alpha = ALPHAS[np.argmin(np.abs(np.log(ALPHAS / alpha)))]
    assert [one.metric_alpha for one in metrics] == pytest.approx([best_alpha] * len(metrics))
    # Then strengths of the tasks' own, and relations: at the best of all, and at the best width of every kernel.
    best = found.best_estimator_
    own, *shared = script.calls[start + len(metrics) :]
    assert own[0].penalty.strengths == [1.0, 2.0]
    assert all(names(call) == {"sparse"} for call in shared)
    places = list(dict.fromkeys(call[0].geometry for call in shared))
    assert places[0] == own[0].geometry == Geometry.from_estimator(best)
    others = [
        (name, finer if name == kernel else max_width(script, name, start))
        for name in KERNELS
        if name != kernel or best.metric_rounds
    ]
    assert [(one.kernel, one.gamma) for one in places[1:]] == others
    assert {one.metric_rounds for one in places[1:]} <= {0}
    # The middle mu at all strengths, the others at the best one.
    for first, second in zip(shared[::2], shared[1::2], strict=True):
        assert {one.penalty.mu for one in first} == {0.7}
        assert len({one.settings.alpha for one in first}) == len(ALPHAS)
        assert {one.penalty.mu for one in second} == {0.5, 0.9}
        assert len({one.settings.alpha for one in second}) == 1
        assert first[0].geometry == second[0].geometry
    assert (best.kernel, best.gamma, best.penalty.name) == (kernel, finer, "sparse")
    learned = rounds if kernel != "linear" else 0
    assert (best.metric_rounds, best.metric_rule) == (learned, "evidence" if learned else "slopes")


def max_width(script, kernel, n_first):
    """The best width of a kernel among the first calls."""
    own = [call for call in script.calls[:n_first] if call[0].geometry.kernel == kernel]
    return max(own, key=lambda call: max(script.value(one) for one in call))[0].geometry.gamma


@pytest.mark.parametrize("stop_after", [0, 3, 9, 10, 12, 17])
def test_after_an_interruption_nothing_more_is_tried(stop_after, small, monkeypatch):
    """Nine geometries, two widths, six metrics, strengths: wherever it ends, it ends there."""
    X, Y = small
    value = scored_by("rbf", default_gammas("rbf", X)[1], 1e-3)
    whole = Script(monkeypatch, value)
    MultiTaskRegressorCV(mus=MUS).fit(X, Y)
    script = Script(monkeypatch, value, stop_after=stop_after)
    found = MultiTaskRegressorCV(mus=MUS).fit(X, Y)
    # A stage that is a list of its own is finished with what is there.
    assert stop_after < len(script.calls) < len(whole.calls)
    assert script.geometries == whole.geometries[: len(script.calls)]
    stages = [9, 11, 17, 18]
    assert len(script.calls) <= next((end for end in stages if end > stop_after), len(whole.calls) - 1)
    assert sum(name.startswith("split") for name in found.cv_results_) == len(script.splits) - 1


@pytest.mark.parametrize("best", [0, 1, 2])
def test_kernels_that_are_named_are_compared_without_relations_and_the_best_gets_them(best, small, monkeypatch):
    """At every strength and mu, and with both kinds of eps; widths that are given are not refined."""
    X, Y = small
    gammas = [0.1, 0.2, 0.4]
    script = Script(monkeypatch, scored_by("rbf", gammas[best], 0.1, shares=True))
    found = MultiTaskRegressorCV(kernel=["linear", "rbf"], gammas=gammas, alphas=[1.0, 0.1], mus=MUS).fit(X, Y)
    assert [(one.kernel, one.gamma) for one in script.geometries] == [
        ("linear", None),
        *(("rbf", gamma) for gamma in gammas),
        ("rbf", gammas[best]),
    ]
    assert [names(call) for call in script.calls] == [{"independent"}] * 4 + [{"sparse"}]
    assert len(script.calls[-1]) == 2 * len(MUS) * 2
    assert (found.gamma_, found.alpha_, found.best_score_) == (gammas[best], 0.1, pytest.approx(0.001))


def test_one_kernel_at_one_width_is_one_step(small, monkeypatch):
    script = Script(monkeypatch, scored_by("linear", 1.0, 0.1))
    MultiTaskRegressorCV(kernel="linear", alphas=[1.0, 0.1], mus=MUS).fit(*small)
    assert [names(call) for call in script.calls] == [{"independent", "sparse"}]


@pytest.mark.parametrize("zero", [True, False])
def test_without_zero_among_the_rounds_a_metric_is_always_learned(zero, small, monkeypatch):
    """Though none would score better; the width is found without one."""
    X, Y = small
    script = Script(monkeypatch, scored_by("rbf", 0.2, 0.1, rounds=0))
    given = {"kernel": "rbf", "gammas": [0.1, 0.2], "alphas": [1.0, 0.1], "metric_rounds": [0, 2] if zero else [2]}
    found = MultiTaskRegressorCV("independent", **given, cv=3).fit(X, Y)
    assert [one.metric_rounds for one in script.geometries[:3]] == [0, 0, 2]
    assert found.best_estimator_.metric_rounds == (0 if zero else 2)
    assert found.gamma_ == 0.2
    assert len(found.cv_results_["params"]) == (6 if zero else 2)


@pytest.mark.parametrize("common", [0.0, 4.0])
def test_a_metric_keeps_the_common_part_that_it_was_learned_with(common, small, monkeypatch):
    def value(one):
        return -abs(one.settings.common - common) + (one.geometry.metric_rounds == 1)

    script = Script(monkeypatch, value)
    given = {"kernel": "rbf", "gammas": [0.1], "alphas": [0.1], "metric_rounds": [0, 1], "mus": [0.7]}
    MultiTaskRegressorCV(commons=[0.0, 4.0], eps_factors=[1.0], cv=3, **given).fit(*small)
    assert [sorted({one.settings.common for one in call}) for call in script.calls] == [[0.0, 4.0], [common], [common]]
    assert [one.metric_rounds for one in script.geometries] == [0, 1, 1]


@pytest.mark.parametrize(
    ("given", "n_folds"),
    [
        ({}, 30),
        ({"rule": "1se"}, 10),
        ({"cv": 4}, 4),
        ({"kernel": "rbf"}, 5),
        ({"kernel": "rbf", "cv": 4}, 4),
        ({"kernel": "rbf", "rule": "1se"}, 5),
    ],
)
def test_folds_are_dealt_again_where_nothing_is_named(given, n_folds, small, monkeypatch):
    """A kernel, a number of folds, or a rule that needs a standard error: then they are dealt once."""
    script = Script(monkeypatch, scored_by("rbf", 0.2, 0.1))
    MultiTaskRegressorCV("independent", **given).fit(*small)
    assert len(script.splits) == n_folds


# Threads and proofs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["independent", "sparse"])
@pytest.mark.parametrize(("n_rows", "threads", "n_ahead"), [(20, True, 1), (21, True, 0), (20, False, 0)])
def test_folds_are_opened_ahead_where_they_are_small_and_there_are_threads(
    n_rows, threads, n_ahead, penalty, rng, monkeypatch
):
    """And with relations all rows after them, for they come next."""
    asked, one_ahead = [], run.one_ahead
    monkeypatch.setattr(run, "one_ahead", lambda jobs: asked.append(len(jobs)) or one_ahead(jobs))
    monkeypatch.setattr(run, "SMALL_DECOMPOSITION", 20)
    monkeypatch.setattr(run, "has_threads", lambda: threads)
    X, Y = related_tasks(rng, n_rows, 2)
    given = {"kernel": "rbf", "gammas": [0.1], "alphas": [0.1], "eps_factors": [1.0], "cv": 3}
    MultiTaskRegressorCV(penalty, **given).fit(X, Y)
    assert asked == [3 + (penalty == "sparse")] * n_ahead


@pytest.mark.parametrize("cv", [3, "loo"])
def test_only_the_last_fit_of_a_search_is_proved(cv, small, monkeypatch):
    """Candidates are compared, and that needs no proof."""
    asked, solve = [], Training.solve

    def listen(self, settings, effort, **given):
        asked.append(given.get("certify", True))
        return solve(self, settings, effort, **given)

    monkeypatch.setattr(Training, "solve", listen)
    given = {} if cv == "loo" else {"alphas": "own"}
    MultiTaskRegressorCV(kernel="linear", mus=[0.7], eps_factors=[1.0], cv=cv, **given).fit(*small)
    assert len(asked) > 5
    assert asked[-1]
    assert not any(asked[:-1])


# Strengths of the tasks' own ------------------------------------------------------------------------------------------


def own_strengths_of(X, Y, best, alphas, cv, **given):
    model = MultiTaskRegressor("independent", kernel="linear", common=best.settings.common)
    data = clean(model, X, Y, **given)
    source = TrainingSource(model, data, Square())
    return score_own_strengths(source, best, alphas, make_splits(cv, data), scoring=None, effort=Effort())


def test_strengths_of_their_own_keep_the_kernel_and_the_common_part(small):
    place = Geometry("linear", metric_rule="evidence")
    best = Candidate(Settings(Independent(), 0.1, 3.0), place, {"x": 1.0})
    (found,), outcome = own_strengths_of(*small, best, [0.1, 10.0], 3)
    assert (found.geometry, found.own, found.settings.common) == (place, {}, 3.0)
    assert outcome.scores.shape == outcome.edges.shape == (1, 3)
    assert not outcome.edges.any()
    assert outcome.means == pytest.approx(outcome.scores.mean(axis=1))
    assert outcome.finished
    # Whatever the order in which strengths are named.
    (other,), again = own_strengths_of(*small, best, [10.0, 0.1], 3)
    np.testing.assert_array_equal(outcome.scores, again.scores)
    assert (other.settings.alpha, other.penalty.strengths) == (found.settings.alpha, found.penalty.strengths)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**-10, 2.0**520])
def test_strengths_of_their_own_do_not_know_the_unit_of_the_targets(unit, rng):
    X = rng.standard_normal((45, 8))
    Y = X @ rng.standard_normal((8, 3)) + [0.01, 5.0, 20.0] * rng.standard_normal((45, 3))
    best = Candidate(Settings(Independent(), 0.1))
    (one,), scores = own_strengths_of(X, Y, best, [1e-3, 0.1, 10.0], 3)
    (other,), again = own_strengths_of(X, unit * Y, best, [1e-3, 0.1, 10.0], 3)
    assert len(set(one.penalty.strengths)) > 1
    assert other.penalty.strengths == one.penalty.strengths
    np.testing.assert_array_equal(again.scores, scores.scores)


def test_a_common_part_counts_where_strengths_are_compared(rng):
    """Tasks that are one: with a common part all of them know what three times the rows say."""
    X = rng.standard_normal((45, 8))
    y, tasks = X @ rng.standard_normal(8) + rng.standard_normal(45), np.arange(45) % 3
    scores = []
    for common in (0.0, 100.0):
        best = Candidate(Settings(Independent(), 1.0, common))
        scores.append(own_strengths_of(X, y, best, [0.01, 1.0], 3, tasks=tasks)[1].means[0])
    assert scores[1] > scores[0] + 0.05


def test_of_strengths_that_are_level_the_strongest_is_taken(small, monkeypatch):
    """Errors that are the same at all of them decide nothing."""
    monkeypatch.setattr(own_strengths, "_root_errors", lambda fold, parts: np.ones((len(parts), 2)))
    best = Candidate(Settings(Independent(), 0.1))
    (found,), _ = own_strengths_of(*small, best, [0.1, 10.0, 1.0], 3)
    assert (found.settings.alpha, found.penalty.strengths) == (pytest.approx(10.0), pytest.approx([1.0, 1.0]))


def test_the_middle_of_level_strengths_is_one_of_the_same_candidates(rng, monkeypatch):
    """Scores of an order: those that differ in more than alpha have their own middle."""
    X, Y = related_tasks(rng, 40, 2)

    def value(one):
        return 0.5 + 0.01 * (one.penalty.name == "independent") if one.settings.alpha < 1e3 else 0.0

    script = Script(monkeypatch, value)
    noise = np.array([-0.2, 0.0, 0.2])
    plain = script.outcome

    def noisy(candidates):
        found = plain(candidates)
        return CandidateScores(found.scores + noise, found.edges, found.means)

    script.outcome = noisy
    alphas = [1e-2, 1e-1, 1.0, 10.0, 1e2, 1e4]
    given = {"kernel": "linear", "alphas": alphas, "mus": [0.7], "eps_factors": [1.0], "cv": 3, "scoring": "roc_auc"}
    found = MultiTaskClassifierCV(**given).fit(X, (Y > 0.0).astype(int))
    assert (found.penalty_.name, found.alpha_) == ("independent", 1.0)
