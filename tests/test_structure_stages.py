"""The structure step of a norm, by a script: which problems its stages are, where they start, and what is proved."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_psd, step_cost
from scipy.optimize import brentq

from skmtl.penalties import Fixed, Independent, Laplacian, Sparse, Trace, _newton, _structure_step
from skmtl.penalties._graph_newton import graph_structure
from skmtl.penalties._newton import GENTLE_RIDGE, STAGE_TOL
from skmtl.penalties._splitting import primal_dual
from skmtl.penalties._structure_step import EXACT_ITERATIONS, SINGULAR, minimize_whole, step_gap


class Listener:
    """A penalty whose Newton writes down what it is asked, and answers by a list of gaps."""

    def __init__(self, mu=0.6, max_iter=None, gaps=(), few_tasks=0):
        self.mu, self.max_iter, self.asked, self._gaps = mu, max_iter, [], iter(gaps)
        self._penalty = Sparse(mu)
        self.threshold, self.norm, self.value = self._penalty.threshold, self._penalty.norm, self._penalty.value
        self.few_tasks = few_tasks

    def minimize_with(self, smooth, start, **asked):
        self.asked.append(SimpleNamespace(smooth=smooth, start=start, **asked))
        return start, next(self._gaps), 1


def target_of(asked, rng, n_tasks):
    """The S of a stage: tr(A^-1 S) at enough structures."""
    found = np.zeros((n_tasks, n_tasks))
    for t in range(n_tasks):
        for s in range(t + 1):
            # Inverses that differ by one entry.
            P = 3.0 * np.eye(n_tasks)
            P[t, s] += 1.0
            P[s, t] = P[t, s]
            change = asked.smooth(np.linalg.inv(P)).value - asked.smooth(np.eye(n_tasks) / 3.0).value
            found[t, s] = found[s, t] = change / (2.0 if t != s else 1.0)
    return found


def play(S, start, gaps, monkeypatch, levels=(), **options):
    """Newton's stages with a descent through these levels."""
    penalty, asked = Listener(gaps=gaps, **options), {}

    def descend(stage, start, level, first):
        asked.update(start=start, level=level, first=first)
        for each in levels:
            stage(start, each, False)
        return stage(start, level, True)

    monkeypatch.setattr(_structure_step, "descend", descend)
    return minimize_whole(penalty, S, start, 1e-7), penalty.asked, asked


def test_of_few_tasks_a_start_is_left_in_exact_directions_and_few_of_them(rng, monkeypatch):
    S, start = random_psd(rng, 3), random_psd(rng, 3)
    for few_tasks, exact, max_iter in [(3, True, EXACT_ITERATIONS), (2, False, 100)]:
        _, asked, descent = play(S, start, [1e-3, 0.5], monkeypatch, few_tasks=few_tasks)
        assert [(one.exact, one.max_iter) for one in asked] == [(exact, max_iter), (False, 100)]
        assert descent["level"] == pytest.approx(np.linalg.eigvalsh(S)[0])
    _, asked, _ = play(S, start, [1e-3, 0.5], monkeypatch, few_tasks=3, max_iter=EXACT_ITERATIONS - 1)
    assert [one.max_iter for one in asked] == [EXACT_ITERATIONS - 1] * 2
    # Where S is nearly singular, stages are quicker than exact directions; others are tried.
    values, vectors = np.linalg.eigh(S)
    for share, directly in [(0.5, True), (2.0, False)]:
        values[0] = share * SINGULAR * values[-1]
        nearly = (vectors * values) @ vectors.T
        nearly = 0.5 * (nearly + nearly.T)
        _, asked, _ = play(nearly, start, [1e-3, 0.5], monkeypatch, few_tasks=3)
        assert [one.exact for one in asked] == ([False] if directly else [True, False])
        _, asked, _ = play(nearly, start, [1e-3, 0.5], monkeypatch)
        assert [one.start is start for one in asked] == [True, False]


def test_a_start_that_leads_to_the_answer_needs_no_descent(rng, monkeypatch):
    S, start = random_psd(rng, 3), random_psd(rng, 3)
    for gap, enough in [(0.99e-7, True), (1e-7, True), (1.01e-7, False)]:
        step, asked, descent = play(S, start, [gap, 0.5], monkeypatch)
        assert step.gap == (gap if enough else 0.5)
        assert bool(descent) != enough
        assert asked[0].start is start
        assert (asked[0].tol, asked[0].max_iter) == (1e-7, 100)
        np.testing.assert_allclose(target_of(asked[0], rng, 3), S, atol=1e-12)
    # One that has no inverse is none, and iterations are as many as the penalty says.
    step, asked, descent = play(S, np.zeros((3, 3)), [0.5], monkeypatch, max_iter=7)
    assert len(asked) == 1
    assert descent
    assert asked[0].max_iter == 7
    # Of the dense limit the square root is known.
    for given in (None, start):
        step, asked, descent = play(S, given, [0.5], monkeypatch, mu=1.0)
        np.testing.assert_allclose(step.structure @ step.structure, S, atol=1e-12)
        assert (step.gap, descent) == (0.0, {})


@pytest.mark.parametrize("low", [0.2, 1e-15])
def test_stages_have_a_ridge_for_their_smallest_eigenvalue(low, rng, monkeypatch):
    """From a gentle one, of S alone in the end; its diagonal is where they start."""
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    S = (U * [low, 1.0, 3.0]) @ U.T
    S = 0.5 * (S + S.T)
    step, asked, descent = play(S, None, [0.3, 0.4], monkeypatch, levels=[0.7])
    np.testing.assert_allclose(descent["start"], np.diag(np.sqrt(np.diag(S))), atol=1e-12)
    assert descent["level"] == pytest.approx(max(low, 3e-12))
    assert descent["first"] == pytest.approx(GENTLE_RIDGE * np.trace(S) / 3.0)
    np.testing.assert_allclose(target_of(asked[0], rng, 3), S + (0.7 - low) * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(target_of(asked[1], rng, 3), S, atol=1e-12)
    assert [each.tol for each in asked] == [STAGE_TOL, 1e-7]
    assert step.gap == 0.4
    # Only of the last stage anything is to be proved: the gap of the step itself.
    A = random_psd(rng, 3)
    points = [each.smooth(A) for each in asked]
    assert asked[0].certify(A, points[0], 1.0) == 0.0
    root = (U * np.sqrt([low, 1.0, 3.0])) @ U.T
    expected = step_gap(Sparse(0.6), A, root, np.linalg.inv(A), S, 1e-7)
    assert asked[1].certify(A, points[1], 1.0) == pytest.approx(expected, rel=1e-6)
    for each in asked:
        assert each.smooth(-A) is None


@pytest.mark.parametrize("mu", [0.3, 0.9])
def test_the_gap_of_a_step_is_that_of_its_dual_point(mu, rng):
    """The best mixture of it with the identity, by a scan; relative to the cost."""
    penalty, S = Sparse(mu), random_psd(rng, 4)
    s, U = np.linalg.eigh(S)
    root = (U * np.sqrt(s)) @ U.T
    for A in (np.eye(4), penalty.minimize(S, tol=1e-4).structure, random_psd(rng, 4)):
        P, cost = np.linalg.inv(A), step_cost(penalty, A, S)
        W = np.clip(P @ S @ P, mu - 1.0, 1.0 - mu)
        np.fill_diagonal(W, 1.0)
        best = -np.inf
        for theta in np.append(0.0, np.geomspace(1e-9, 1.0, 2000)):
            values = np.linalg.eigvalsh(root @ ((1.0 - theta) * W + theta * np.eye(4)) @ root)
            if values[0] > 0.0:
                best = max(best, 2.0 * np.sum(np.sqrt(values)))
        assert step_gap(penalty, A, root, P, S, 0.0) == pytest.approx((cost - best) / cost, abs=1e-5)


def test_a_rough_proof_is_enough_where_it_is_asked_for(rng, monkeypatch):
    """The first mixture that is definite proves it, where the best of all takes a search."""
    penalty, S, looks, eigh = Sparse(0.6), random_psd(rng, 4), [], _newton.eigh
    s, U = np.linalg.eigh(S)
    root = (U * np.sqrt(s)) @ U.T
    monkeypatch.setattr(_newton, "eigh", lambda M: looks.append(1) or eigh(M))
    A, counts = random_psd(rng, 4), []
    for tol in (0.0, 0.9):
        looks.clear()
        assert step_gap(penalty, A, root, np.linalg.inv(A), S, tol) < 0.9
        counts.append(len(looks))
    assert counts[0] > counts[1] == 1


# The paper's own algorithm --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [None, "given"])
def test_splitting_takes_the_steps_of_the_paper(begin, rng):
    """Its dual step by Moreau's identity: the proximal map of tr(Z^-1) is a root for each eigenvalue."""
    S, mu, A = random_psd(rng, 3), 0.6, np.eye(3) if begin is None else random_psd(rng, 3)
    s, U = np.linalg.eigh(S)
    M, sigma = (U / np.sqrt(s)) @ U.T, 1.0 / s[0]
    seen = []
    primal_dual(
        S,
        mu,
        start=None if begin is None else A,
        certify=lambda B: seen.append(B) or 1.0,
        tol=0.0,
        max_iter=4,
        check_every=1,
    )
    Z = M @ A @ M
    D = -np.linalg.inv(Z @ Z)
    for found in seen:
        step = A - (mu * np.eye(3) + M @ D @ M) / sigma
        ahead = np.sign(step) * np.maximum(np.abs(step) - (1.0 - mu) / sigma, 0.0)
        point = D + M @ (2.0 * ahead - A) @ M / sigma
        p, V = np.linalg.eigh(point)
        # The z that minimizes sigma / z + (z - sigma p)^2 / 2.
        near = [brentq(lambda z, each=each: z - sigma * each - sigma / z**2, 1e-9, 1e6, xtol=1e-13) for each in p]
        D, A = (V * (p - np.array(near) / sigma)) @ V.T, ahead
        np.testing.assert_allclose(found, A, atol=1e-6 * np.abs(A).max())
    assert len(seen) == 4


def test_splitting_looks_now_and_then_and_keeps_the_best(rng):
    S, looks = random_psd(rng, 3), []
    gaps = iter([0.3, 0.1, 0.2, 0.05, 0.01])

    def certify(A):
        looks.append(A)
        return next(gaps)

    A, gap, n_iter = primal_dual(S, 0.6, start=None, certify=certify, tol=0.01, max_iter=1000)
    assert (gap, n_iter, len(looks)) == (0.01, 125, 5)
    gaps = iter([0.3, 0.1, 0.2, 0.4])
    looks.clear()
    A, gap, n_iter = primal_dual(S, 0.6, start=None, certify=certify, tol=0.01, max_iter=80)
    assert (gap, n_iter) == (0.1, 80)
    assert A is looks[1]


# Domains --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [2.0**-16, 1.0, 2.0**16])
@pytest.mark.parametrize(("away", "inside"), [(1e-13, True), (1e-8, False)])
def test_domains_are_as_wide_as_rounding_in_any_unit(unit, away, inside, rng):
    """Relative to the structure; to either side where it is a point, and beyond the border else."""
    expected = 0.0 if inside else np.inf
    for known in (Fixed(unit * random_psd(rng, 4)), Independent(np.array([1.0, 2.0, 3.0, 0.5]) / unit)):
        A = known.structure(4)
        for sign in (-1.0, 1.0):
            assert known.value(A + sign * away * np.abs(A).max()) == expected
            assert known.value((1.0 + sign * away) * A) == expected
    budget = Trace().minimize(random_psd(rng, 4)).structure
    assert Trace().value((1.0 + 10.0 * away) * budget) == expected
    assert Trace().value((1.0 - 10.0 * away) * budget) == 0.0


@pytest.mark.parametrize("unit", [2.0**-16, 1.0, 2.0**16])
@pytest.mark.parametrize(("away", "inside"), [(0.3e-9, True), (1e-8, False)])
@pytest.mark.parametrize("rule", ["rows", "signs", "trace"])
def test_graphs_are_as_wide_as_rounding_in_any_unit(unit, rule, away, inside):
    """Sums of rows to either side, edges below zero, and fewer of them than there must be; more are right."""
    edges, penalty = np.array([0.3, 0.0, 0.2, 0.1, 0.0, 0.15]), Laplacian(1.0 / unit, tau=2.5)
    assert penalty.value(unit * graph_structure(edges, 4)) == 0.0
    change = np.zeros(6)
    if rule == "rows":
        for sign in (-1.0, 1.0):
            A = graph_structure(edges, 4)
            A[2, 2] += sign * away
            assert penalty.value(unit * A) == (0.0 if inside else np.inf)
        return
    change[:2] = {"signs": [away, -away], "trace": [-away, 0.0]}[rule]
    assert penalty.value(unit * graph_structure(edges + change, 4)) == (0.0 if inside else np.inf)
    assert penalty.value(unit * graph_structure(edges - change * [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 4)) == (
        0.0 if inside or rule == "trace" else np.inf
    )
