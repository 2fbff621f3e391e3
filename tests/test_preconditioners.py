"""Preconditioners are the inverses that they stand for: a wrong one would still lead to the answer, and take longer."""

import numpy as np
import pytest
from problems import random_psd
from scipy.linalg import block_diag

from skmtl.penalties import Groups, Sparse
from skmtl.penalties._graph_newton import DENSE_SHARE, _Point
from skmtl.penalties._newton import hessian_diagonal, whole_inverse
from skmtl.solvers import task_blocks
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.systems import Predictors
from skmtl.solvers.task_blocks import TaskBlockSystem
from skmtl.solvers.whitening import Whitening
from skmtl.targets import TableLabels


def hessian(P, Q, D):
    return P @ D @ Q + Q @ D @ P


def symmetric(rng, n_tasks):
    D = rng.standard_normal((n_tasks, n_tasks))
    return D + D.T


def test_the_whole_inverse_undoes_the_hessian(rng):
    P, Q, D = random_psd(rng, 5), random_psd(rng, 5), symmetric(rng, 5)
    np.testing.assert_allclose(whole_inverse(P, Q)(hessian(P, Q, D)), D, atol=1e-10)
    assert whole_inverse(np.diag([1.0, 1.0, -1.0]), np.eye(3)) is None


@pytest.mark.parametrize("Q", [np.array([[-1.0, 1.0], [1.0, -1.0]]), np.zeros((2, 2)), np.full((2, 2), 1e-300)])
def test_of_a_curvature_that_rounding_took_away_there_is_no_inverse(Q):
    assert whole_inverse(np.eye(2), Q) is None


def test_the_diagonal_holds_the_curvatures_along_single_entries(rng):
    P, Q = random_psd(rng, 4), random_psd(rng, 4)
    for t in range(4):
        for s in range(4):
            E = np.zeros((4, 4))
            E[t, s] = E[s, t] = 1.0
            curvature = np.vdot(E, hessian(P, Q, E)) / np.vdot(E, E)
            assert hessian_diagonal(P, Q)[t, s] == pytest.approx(curvature)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_of_edges_of_a_graph(share, rng):
    point = _Point.at(rng.dirichlet(np.ones(10)) * 0.4, random_psd(rng, 5), random_psd(rng, 5))
    H, d = point.dense_hessian(np.arange(10)), rng.standard_normal(10)
    expected = d if share >= DENSE_SHARE else (H @ d) / np.diag(H)
    np.testing.assert_allclose(point.preconditioner(share)(point.hessian(d)), expected, rtol=1e-8)


@pytest.mark.parametrize("n_tasks", [2, 6])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_of_edges_between_tasks_of_one_direction_are_positive(share, n_tasks, rng):
    """What rounding makes of curvatures that are zero counts as rounding beside the largest."""
    n_edges = n_tasks * (n_tasks - 1) // 2
    v = rng.standard_normal(n_tasks)
    point = _Point.at(rng.dirichlet(np.ones(n_edges)) * 0.4, np.outer(v, v), random_psd(rng, n_tasks))
    precondition = point.preconditioner(share)
    for _ in range(20):
        r = rng.standard_normal(n_edges)
        assert 0.0 < r @ precondition(r) < np.inf


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("penalty", [Sparse(0.6), Groups([0, 0, 0, 1, 1], mu=0.6)], ids=["sparse", "groups"])
def test_of_pieces_are_symmetric_and_positive_and_stay_there(penalty, dense, rng):
    A = random_psd(rng, 5)
    if not dense:
        A[:3, 3:] = A[3:, :3] = 0.0
    # So flat that what is zero stays zero.
    piece = penalty.norm(5).piece(A, 1e-6 * symmetric(rng, 5))
    precondition = piece.preconditioner(random_psd(rng, 5), random_psd(rng, 5))
    R, U = (piece.project(symmetric(rng, 5)) for _ in range(2))
    assert np.all(R != 0.0) == dense
    Z = precondition(R)
    np.testing.assert_array_equal(piece.project(Z), Z)
    np.testing.assert_allclose(Z, Z.T)
    assert np.vdot(R, Z) > 0.0
    assert np.vdot(U, Z) == pytest.approx(np.vdot(precondition(U), R))
    # What leaves the piece is not seen.
    np.testing.assert_allclose(piece.project(precondition(R + np.where(A == 0.0, 1.0, 0.0))), Z)


@pytest.mark.parametrize(("between", "slope"), [(1.0, 1.0), (0.0, 1e-6), (0.0, 10.0)], ids=["free", "zero", "leaving"])
def test_of_few_tasks_in_groups_is_the_inverse_itself(between, slope, rng):
    A = random_psd(rng, 6)
    A[:4, 4:] *= between
    A[4:, :4] *= between
    piece = Groups([0, 0, 1, 1, 2, 2], mu=0.6).norm(6).piece(A, slope * symmetric(rng, 6))
    # Of sizes far from one another, as those of tasks may be.
    size = 10.0 ** np.arange(-3.0, 3.0)
    P, Q = random_psd(rng, 6) / np.outer(size, size), random_psd(rng, 6)
    D = piece.project(symmetric(rng, 6))
    H = piece.project(piece.curved(hessian(P, Q, D), D))
    np.testing.assert_allclose(piece.preconditioner(P, Q, exact=True)(H), D, atol=1e-6)
    assert np.any(D[:4, 4:] != 0.0) == (between > 0.0 or slope > 1.0)


def test_whitening_and_its_way_back(rng):
    """W = G diag(root) U': products with the structure, its inverse, gradients and norms by dense algebra."""
    A, W, V = random_psd(rng, 4), rng.standard_normal((6, 4)), rng.standard_normal((6, 4))
    white = Whitening(A)
    G = white.whiten(W)
    np.testing.assert_allclose(white.unwhiten(G), W)
    assert np.sum(G**2) == pytest.approx(np.trace(W @ np.linalg.solve(A, W.T)))
    # The gradient in G of <V, W>.
    assert np.vdot(white.whiten_gradient(V), G) == pytest.approx(np.vdot(V, W))
    np.testing.assert_allclose(white.R @ white.R.T, A)
    np.testing.assert_allclose(np.sort(white.squares), np.linalg.eigvalsh(A))
    np.testing.assert_allclose(white.times_inverse(G), W @ np.linalg.inv(A))
    # The tasks' own parts, without the common one.
    own = W @ np.linalg.solve(A, A - 0.2)
    np.testing.assert_allclose(white.energy(G, A - 0.2), own.T @ own)


def test_whitening_by_shares_is_diagonal_in_them(rng):
    A, W, shares = random_psd(rng, 4), rng.standard_normal((6, 4)), rng.uniform(0.1, 1.0, 4)
    white = Whitening(A, shares)
    np.testing.assert_allclose(white.R.T @ np.diag(shares) @ white.R, np.diag(white.squares), atol=1e-10)
    np.testing.assert_allclose(white.R @ white.R.T, A)
    np.testing.assert_allclose(white.unwhiten(white.whiten(W)), W)
    np.testing.assert_allclose(white.times_inverse(white.whiten(W)), W @ np.linalg.inv(A))


@pytest.mark.parametrize("n_tasks", [3, 30])
def test_of_missing_labels_are_those_of_tasks_apart_and_of_what_tasks_share(n_tasks, rng):
    """The blocks of the Hessian on its diagonal, and the Hessian along the leading directions of the structure."""
    n_rows, rank, ridge = 25, 4, 0.3
    weight = rng.uniform(0.5, 2.0, (n_rows, n_tasks)) * (rng.random((n_rows, n_tasks)) < 0.5)
    labels = TableLabels(rng.standard_normal((n_rows, n_tasks)), weight)
    observed = ObservedRows(rng.standard_normal((n_rows, rank)), np.ones(rank), labels, intercept=True)
    a, U = np.linalg.eigh(random_psd(rng, n_tasks))
    nothing = Predictors(np.zeros((rank, n_tasks)), np.zeros((rank, n_tasks)))
    system = TaskBlockSystem(observed, a, U, ridge, nothing, 0.1)
    # Coefficients task by task.
    units = np.eye(rank * n_tasks).reshape(-1, n_tasks, rank).swapaxes(1, 2)
    H, P = (np.array([f(unit).T.ravel() for unit in units]) for f in (system._apply, system._precondition))
    apart = block_diag(*(np.linalg.inv(H[i : i + rank, i : i + rank]) for i in range(0, len(H), rank)))
    shared = np.kron(U[:, -min(task_blocks.N_SHARED, n_tasks) :], np.eye(rank))
    np.testing.assert_allclose(P, apart + shared @ np.linalg.solve(shared.T @ H @ shared, shared.T), atol=1e-8)
