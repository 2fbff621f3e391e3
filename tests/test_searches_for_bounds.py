"""Small searches that bounds are made of, beside the same by brute force."""

import numpy as np
import pytest
from problems import random_psd
from scipy.optimize import minimize_scalar
from test_objective import dense_problem

from skmtl.objective import SHORTFALLS, Problem, _maximize_concave
from skmtl.penalties import Cluster, Frobenius, Trace
from skmtl.penalties._multiplier import trace_multiplier
from skmtl.penalties._newton import best_mixture


@pytest.mark.parametrize("penalty", [Frobenius(), Cluster(2)], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("size", [1e-2, 0.1, 0.5, 2.0, 20.0])
def test_the_best_scale_of_a_dual_point(penalty, size, rng, monkeypatch):
    """For penalties whose bound is finite at every scale."""
    problem, *_ = dense_problem(rng, penalty, common=1.0)
    A = size * random_psd(rng, 3)
    fit, asked, bound = problem.fit(A), [], Problem.bound
    first = problem.bound(A, fit)
    scales = 1.0 - np.append(0.0, np.geomspace(1e-7, 1.0, 300))
    best = max(problem.bound(A, fit, scale) for scale in scales)
    proof = problem.unproved(A, fit)
    proof = type(proof)(A, fit, proof.objective, first)

    def count(self, *given):
        asked.append(given[-1])
        return bound(self, *given)

    monkeypatch.setattr(Problem, "bound", count)
    found = problem.tighten(proof).lower_bound
    assert first <= found <= best + 1e-3 * abs(best)
    assert best - found <= 0.01 * (best - first) + 1e-9 * abs(best)
    # A dozen more bounds, and one where the scale is right as it is.
    assert len(asked) <= 14
    if best == first:
        assert len(asked) == 1
    # One decade after the other, to the first that is worse; then between the neighbours of the best of them.
    short = 1.0 - np.array(asked)
    decades = [1e-7, *SHORTFALLS]
    n_tried = next((k for k in range(len(asked)) if not np.isclose(short[k], SHORTFALLS[min(k, 6)])), len(asked))
    values = [first, *(bound(problem, A, fit, 1.0 - each) for each in SHORTFALLS[:n_tried])]
    peak = int(np.argmax(values))
    for each in short[n_tried:]:
        assert decades[peak - 1] <= each <= decades[min(peak + 1, len(values) - 1)]


@pytest.mark.parametrize("edge", [1.0 - 3e-6, 0.995, 0.7])
@pytest.mark.parametrize("level", [-5.0, 0.0, 5.0])
def test_scales_outside_of_the_domain_are_no_obstacle(edge, level):
    """Concave up to an edge, beyond which nothing is proved; the best is there, or before it."""

    def bound(scale):
        return level - (scale - 0.6) ** 2 if scale <= edge else -np.inf

    found = _maximize_concave(bound, bound(1.0))
    assert level - 4e-3 <= found <= level
    # Where the scale is right as it is, it stays.
    assert _maximize_concave(lambda scale: level + scale, level + 1.0) == level + 1.0


def test_the_best_scale_may_be_next_to_one_and_at_zero():
    """Beyond the first decade and the last one there is nothing to look at."""
    assert -0.02 <= _maximize_concave(lambda scale: -((1e6 * (1.0 - scale) - 0.7) ** 2), -0.49) <= 0.0
    assert _maximize_concave(lambda scale: -scale, -1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_mixture_of_two_dual_points(seed):
    """One of them need not be positive definite, nor the best of all be near either."""
    rng = np.random.default_rng(seed)
    N, M = random_psd(rng, 4), random_psd(rng, 4, rank=3)
    M = M - (0.5 * seed / 12) * np.trace(M) / 4 * np.eye(4)

    def value(theta):
        m = np.linalg.eigvalsh((1.0 - theta) * M + theta * N)
        return 2.0 * np.sum(np.sqrt(m)) if m[0] > 0.0 else -np.inf

    best = max(value(theta) for theta in np.append(0.0, np.geomspace(1e-12, 1.0, 1000)))
    found, theta = best_mixture(M, N)
    assert found == pytest.approx(value(theta))
    assert found >= best - 1e-4 * abs(best)
    enough, _ = best_mixture(M, N, enough=0.5 * best)
    assert 0.5 * best <= enough <= best * (1 + 1e-12)


def test_where_no_mixture_is_definite_there_is_none():
    assert best_mixture(-np.eye(2), -2.0 * np.eye(2)) == (-np.inf, 1.0)


@pytest.mark.parametrize("trace", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("eps", [1e-4, 10.0])
def test_the_multiplier_of_a_trace(trace, eps, rng):
    for q in (rng.standard_normal(5), np.full(3, 2.0), np.array([1.0]), np.array([0.0, 1e6])):
        nu = trace_multiplier(q, eps, trace)
        assert nu > q.max() or nu == pytest.approx(q.max())
        # Where it is next to the largest q, their difference has lost digits.
        distance = np.maximum(nu - q, 1e-16 * np.abs(q).max())
        assert np.sum(np.sqrt(eps / distance)) == pytest.approx(
            trace, rel=1e-5 + 1e-15 * np.abs(q).max() * trace**2 / eps
        )


@pytest.mark.parametrize("n_clusters", [1, 2, 4, 5])
@pytest.mark.parametrize("eps", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize(("within", "between"), [(8.0, 0.5), (3.0, 2.5)])
def test_the_bound_of_clusters_is_the_best_over_the_multiplier(within, between, n_clusters, eps, rng):
    penalty = Cluster(n_clusters, within=within, between=between, mean=2.0)
    low, high = 1.0 / within, 1.0 / between
    trace = (5 - n_clusters) * low + (n_clusters - 1) * high
    for size, scale in [(0.01, 1.0), (1.0, 0.7), (30.0, 1.3)]:
        Q = size * random_psd(rng, 5)
        N = np.linalg.svd(np.ones((1, 5)))[2][1:].T
        q = scale**2 * np.linalg.eigvalsh(N.T @ Q @ N)

        def dual(nu, q=q):
            # Each eigenvalue by itself, on a fine grid and at its own least.
            slope = np.maximum(nu - q, 1e-300)
            a = np.clip(np.sqrt(eps / slope), low, high)
            a = np.where(nu > q, a, high)
            return np.sum(eps / a + (nu - q) * a) - nu * trace

        reach = np.abs(q).max() + eps / low**2 + 1.0
        best = -minimize_scalar(
            lambda nu: -dual(nu), bounds=(-reach, 2 * reach), method="bounded", options={"xatol": 1e-12}
        ).fun
        constant = eps * 2.0 - scale**2 * np.sum(Q) / (5 * 2.0)
        found = penalty.lower_bound(Q, eps, np.eye(5), scale)
        assert found == pytest.approx(constant + best, rel=1e-6, abs=1e-6 * (eps + abs(constant)))


def test_the_trace_is_shared_out(rng):
    """The least of tr(A^-1 S) + R(A) by Trace, once more from its eigenvalues."""
    S = random_psd(rng, 4)
    penalty = Trace()
    A = penalty.minimize(S).structure
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert np.trace(np.linalg.solve(factor * A, S)) + penalty.value(factor * A) > np.trace(
            np.linalg.solve(A, S)
        ) + penalty.value(A)
