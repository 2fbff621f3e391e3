"""Norms of relations by their definitions, block by block: smooth pieces, slopes, rays and dual points."""

import numpy as np
import pytest
from problems import random_psd

from skmtl.penalties import Groups, Sparse
from skmtl.penalties._newton import hessian_diagonal

# The group of each task; single tasks have entries for blocks.
GROUPS = {
    "sparse": (Sparse(0.4), [0, 1, 2, 3, 4, 5, 6]),
    "single": (Groups(mu=0.4), [0, 1, 2, 3, 4, 5, 6]),
    "groups": (Groups([2, 0, 0, 1, 1, 1, 3], mu=0.4), [2, 0, 0, 1, 1, 1, 3]),
    "pairs": (Groups("a,b,a,b,c,c,c", mu=0.4), [0, 1, 0, 1, 2, 2, 2]),
}


def blocks_of(group):
    """All pairs of groups, as masks of their entries, and what their norm weighs; nothing within a group."""
    group = np.array(group)
    for g in np.unique(group):
        for h in np.unique(group):
            mask = np.outer(group == g, group == h)
            yield mask, 0.0 if g == h else 0.6 * np.sqrt(min((group == g).sum(), (group == h).sum()))


def make_piece(name, rng):
    """A structure with some blocks of zero, and a gradient that some of them follow; the blocks by what they do."""
    penalty, group = GROUPS[name]
    A, gradient = random_psd(rng, len(group)), rng.standard_normal((len(group), len(group)))
    gradient, kinds = gradient + gradient.T, []
    for number, (mask, weight) in enumerate(blocks_of(group)):
        if weight == 0.0:
            kinds.append("within")
            continue
        # The same for a block and its mirror.
        g, h = sorted(divmod(number, len(set(group))))
        kinds.append(("there", "stays", "enters")[(g + h) % 3])
        if kinds[-1] != "there":
            A[mask] = 0.0
            gradient[mask] *= weight * (0.9 if kinds[-1] == "stays" else 1.3) / np.linalg.norm(gradient[mask])
    assert {"there", "stays", "enters"} <= set(kinds)
    return penalty.norm(len(group)), A, gradient, list(zip(kinds, blocks_of(group), strict=True))


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_values_are_sums_over_blocks(name, size, rng):
    penalty, group = GROUPS[name]
    A = rng.standard_normal((len(group), len(group)))
    A = A + A.T
    expected = sum(weight * np.linalg.norm(A[mask]) for mask, weight in blocks_of(group))
    norm = penalty.norm(len(group))
    assert norm.value(size * A) == pytest.approx(size * expected)
    assert norm.value(np.zeros_like(A)) == 0.0
    assert penalty.value(A) == pytest.approx(np.trace(A) + expected) or name == "sparse"


@pytest.mark.parametrize("name", GROUPS)
def test_residuals_are_the_least_subgradients(name, rng):
    norm, A, gradient, blocks = make_piece(name, rng)
    residual = norm.piece(A, gradient).residual
    for kind, (mask, weight) in blocks:
        slope = gradient[mask]
        if kind == "there":
            slope = slope + weight * A[mask] / np.linalg.norm(A[mask])
        elif kind != "within":
            slope = slope * max(0.0, 1.0 - weight / np.linalg.norm(slope))
        np.testing.assert_allclose(residual[mask], slope, atol=1e-14)
        assert kind != "stays" or not residual[mask].any()


@pytest.mark.parametrize("name", GROUPS)
def test_changes_stay_on_the_piece(name, rng):
    """All of what is there, nothing of what stays at zero, and of what leaves it the part along its ray."""
    norm, A, gradient, blocks = make_piece(name, rng)
    piece, D = norm.piece(A, gradient), rng.standard_normal(A.shape)
    D = D + D.T
    projected = piece.project(D)
    for kind, (mask, _) in blocks:
        ray = gradient[mask] / np.linalg.norm(gradient[mask])
        expected = {"stays": 0.0 * ray, "enters": ray * (ray @ D[mask])}.get(kind, D[mask])
        np.testing.assert_allclose(projected[mask], expected, atol=1e-14)


@pytest.mark.parametrize("name", GROUPS)
def test_norms_bend_as_their_slopes_change(name, rng):
    """By differences, where blocks are not zero; along a ray a norm is straight."""
    norm, A, gradient, blocks = make_piece(name, rng)
    piece, D, H, h = norm.piece(A, gradient), *(rng.standard_normal(A.shape) for _ in range(2)), 1e-5
    D = piece.project(D + D.T)
    curved = piece.curved(H, D) - H
    for kind, (mask, weight) in blocks:
        expected = np.zeros(mask.sum())
        if kind == "there":
            ends = (A[mask] + sign * h * D[mask] for sign in (1.0, -1.0))
            up, down = (weight * end / np.linalg.norm(end) for end in ends)
            expected = (up - down) / (2.0 * h)
        np.testing.assert_allclose(curved[mask], expected, atol=1e-8)


@pytest.mark.parametrize("name", GROUPS)
def test_what_passes_through_zero_lands_there(name, rng):
    """Blocks that have turned away by more than a right angle, or leave zero against their ray."""
    norm, A, gradient, blocks = make_piece(name, rng)
    piece, moves = norm.piece(A, gradient), {"there": A, "enters": -gradient}
    for length, passes in [(0.1, False), (-0.1, True)]:
        trial = random_psd(rng, len(A))
        for kind, (mask, _) in blocks:
            if kind in moves:
                trial[mask] = length * moves[kind][mask]
        landed = piece.land(trial)
        for kind, (mask, _) in blocks:
            zero = kind == "stays" or (passes and kind != "within")
            np.testing.assert_array_equal(landed[mask], 0.0 if zero else trial[mask])


@pytest.mark.parametrize("name", GROUPS)
def test_preconditioners_divide_by_the_curvatures_of_entries(name, rng):
    """Those of the Hessian, and of the norm across a block of many entries as if all were across."""
    norm, A, gradient, blocks = make_piece(name, rng)
    piece, P, Q = norm.piece(A, gradient), random_psd(rng, len(A)), random_psd(rng, len(A))
    R = rng.standard_normal(A.shape)
    R = piece.project(R + R.T)
    diagonal = hessian_diagonal(P, Q)
    if name != "sparse":
        for kind, (mask, weight) in blocks:
            diagonal[mask] += weight / np.linalg.norm(A[mask]) if kind == "there" else 0.0
    np.testing.assert_allclose(piece.preconditioner(P, Q)(R), piece.project(R / diagonal), atol=1e-14)


@pytest.mark.parametrize("name", GROUPS)
def test_dual_points_are_as_near_as_their_blocks_allow(name, rng):
    """Identities within groups; blocks as they are, or scaled down to their weight. Entries of single tasks alike."""
    penalty, group = GROUPS[name]
    W = rng.standard_normal((len(group), len(group))) * np.geomspace(0.1, 4.0, len(group))
    norm, sizes = penalty.norm(len(group)), []
    point = norm.dual_point(W)
    for mask, weight in blocks_of(group):
        block = (0.5 * (W + W.T))[mask]
        if weight == 0.0:
            np.testing.assert_array_equal(point[mask], np.eye(len(group))[mask])
            continue
        sizes.append(np.linalg.norm(block) / weight)
        np.testing.assert_allclose(point[mask], block * min(1.0, 1.0 / sizes[-1]), rtol=1e-14)
    assert min(sizes) < 1.0 < max(sizes)
    # The norm is the most that a dual point makes of it: one with blocks of their full weight along those of A.
    A = random_psd(rng, len(group))
    steep = norm.dual_point(1e9 * A)
    assert np.sum(A * steep) == pytest.approx(np.trace(A) + norm.value(A))
