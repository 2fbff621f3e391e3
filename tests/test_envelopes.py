"""What is least of many costs changes as the cost of the best one does: slopes of bounds and steps, by differences.

A bound is the least of eps tr(A^-1) + R(A) - tr(A Q), a structure step that of tr(A^-1 S) + R(A). The slope of a bound
in Q is, but for its sign, the structure at which it is attained: it must lie in the domain, and cost what it says.
"""

import numpy as np
import pytest
from problems import random_psd, step_cost, structure_cost

from skmtl.penalties import Cluster, Fixed, Frobenius, Groups, Independent, Laplacian, Sparse, Trace

EXACT = {
    "trace": Trace(),
    "trace with a ridge": Trace(0.2),
    "trace with a ridge that says all": Trace(50.0),
    "frobenius": Frobenius(0.3),
    "cluster": Cluster(2, within=6.0, between=0.8, mean=0.4),
    "one cluster": Cluster(1, within=6.0, between=0.8, mean=0.4),
    "clusters of single tasks": Cluster(4, within=6.0, between=0.8, mean=0.4),
    "clusters that are no nearer": Cluster(2, within=2.0, between=2.0, mean=0.4),
    "laplacian": Laplacian(0.7, share=0.4),
    "laplacian by tau": Laplacian(2.0, tau=3.1),
    "fixed": Fixed(np.diag([1.0, 2.0, 3.0, 4.0]) - 0.3),
    "independent": Independent([1.0, 2.0, 0.5, 3.0]),
}
BOTH = {**EXACT, "sparse": Sparse(0.6), "groups": Groups([0, 0, 1, 2], mu=0.6)}
# Differences have few digits.
NEAR = 1e-5


def slope(function, M, h):
    """The symmetric matrix of slopes of a function of symmetric matrices."""
    found = np.zeros_like(M)
    for t, s in zip(*np.triu_indices(len(M)), strict=True):
        E = np.zeros_like(M)
        E[t, s] = E[s, t] = h
        found[t, s] = found[s, t] = (function(M + E) - function(M - E)) / (2.0 * h * (2.0 if t != s else 1.0))
    return found


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("eps", "size", "scale"), [(0.3, 0.1, 1.0), (0.3, 5.0, 0.7), (1e-3, 1.0, 1.2)])
def test_a_bound_is_the_cost_of_the_structure_that_its_slope_is(name, eps, size, scale, rng):
    penalty, Q, guess = EXACT[name], size * random_psd(rng, 4), np.eye(4)

    def bound(Q=Q, eps=eps, scale=scale):
        return penalty.lower_bound(Q, eps, guess, scale)

    least = bound()
    A = -slope(lambda Q: bound(Q), Q, 1e-5 * size) / scale**2
    assert_near_the_domain(penalty, A)
    ridge = getattr(penalty, "weight", penalty.ridge if isinstance(penalty, Trace) else 0.0)
    inverse = 0.0 if penalty.known else np.trace(np.linalg.inv(A))
    cost = eps * inverse + ridge * np.sum(A * A) - scale**2 * np.sum(A * Q)
    assert least == pytest.approx(cost, abs=1e-7 * (eps * inverse + scale**2 * np.sum(A * Q)))
    # In eps and in the scale.
    h = 1e-5
    in_eps = (bound(eps=eps * (1 + h)) - bound(eps=eps * (1 - h))) / (2.0 * h * eps)
    assert in_eps == pytest.approx(inverse, rel=1e-3)
    in_scale = (bound(scale=scale + h) - bound(scale=scale - h)) / (2.0 * h)
    assert in_scale == pytest.approx(-2.0 * scale * np.sum(A * Q), rel=1e-3)


def assert_near_the_domain(penalty, A):
    """By the formulas of the docstrings."""
    assert np.linalg.eigvalsh(A)[0] > 0.0
    if isinstance(penalty, Trace):
        assert np.trace(A) <= 1.0 + NEAR
    elif isinstance(penalty, Laplacian):
        tau = 1.0 + penalty.share * (len(A) - 1) if penalty.tau is None else penalty.tau
        np.testing.assert_allclose(A.sum(axis=1), 1.0 / penalty.ridge, rtol=NEAR)
        assert A.min() >= -NEAR
        assert np.trace(A) == pytest.approx(tau / penalty.ridge, rel=NEAR)
    elif isinstance(penalty, Cluster):
        r, low, high = penalty.n_clusters, 1.0 / penalty.within, 1.0 / penalty.between
        np.testing.assert_allclose(A.sum(axis=1), 1.0 / penalty.mean, rtol=NEAR)
        a = np.linalg.eigvalsh(A - 1.0 / (len(A) * penalty.mean))
        a = np.delete(a, np.abs(a).argmin())
        assert low - NEAR <= a.min() <= a.max() <= high + NEAR
        assert a.sum() == pytest.approx((len(A) - r) * low + (r - 1) * high, rel=NEAR)
    elif penalty.known:
        np.testing.assert_allclose(A, penalty.structure(len(A)), atol=NEAR)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("rank", [None, 2])
def test_the_cost_of_a_step_changes_with_s_as_the_inverse_says(name, rank, rng):
    penalty, S = BOTH[name], random_psd(rng, 4, rank=rank, ridge=0.05)

    def least(S):
        return step_cost(penalty, penalty.minimize(S, tol=1e-13).structure, S)

    A = penalty.minimize(S, tol=1e-13).structure
    np.testing.assert_allclose(slope(least, S, 1e-5), np.linalg.inv(A), atol=2e-4 * np.abs(np.linalg.inv(A)).max())


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("eps", [1e-3, 2.0])
def test_without_labels_a_bound_is_the_cost_of_a_step(name, eps):
    """S is then eps times the identity."""
    penalty = EXACT[name]
    A = penalty.minimize(eps * np.eye(4), tol=1e-13).structure
    bound = penalty.lower_bound(np.zeros((4, 4)), eps, np.eye(4))
    assert bound == pytest.approx(structure_cost(penalty, A, eps), rel=1e-9)
