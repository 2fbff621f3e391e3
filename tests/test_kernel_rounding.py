"""Where rounding ends and the kernel begins, on both sides of every limit."""

import numpy as np
import pytest
from scipy.linalg import helmert

from skmtl.features import make_feature_map
from skmtl.solvers.design import KERNEL_ERROR, KernelDesign, check_square_and_symmetric, make_design

N = 6


def with_eigenvalues(values, *, constant=0.5, scale=1.0):
    """A kernel with these eigenvalues on the vectors that sum to zero, and ``constant`` on constants."""
    V = helmert(len(values) + 1, full=True).T
    K = (V * (scale * np.array([constant, *values]))) @ V.T
    return 0.5 * (K + K.T)


def decompose(K, *, intercept, weight=None, rank=np.inf):
    return KernelDesign(K.copy(), np.ones(len(K)) if weight is None else weight, intercept=intercept, rank=rank)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_a_kernel_is_refused_from_a_negative_eigenvalue_on_that_is_no_rounding(intercept, scale):
    """1e-10 of its largest entry on the diagonal, or of its largest eigenvalue where that is more."""
    for largest, lowest, allowed in [(1.0, -0.7, True), (1.0, -1.5, False), (5.0, -3.5, True), (5.0, -7.0, False)]:
        lowest *= 1e-10
        K = with_eigenvalues([largest, 1.0, 1.0, 1.0, lowest], constant=1.0, scale=scale)
        if allowed:
            design = decompose(K, intercept=intercept)
            # All that is left is as wrong as this eigenvalue.
            assert design.rounding.inside == pytest.approx(-lowest * scale, rel=1e-3, abs=0.0)
            assert len(design.values) == 4 + (not intercept)
        else:
            with pytest.raises(ValueError, match=r"not positive semidefinite .* \(smallest eigenvalue -"):
                decompose(K, intercept=intercept)


@pytest.mark.parametrize("lowest", [-3e-10, -8e-10, -0.5])
def test_constants_are_no_hiding_place_for_a_negative_eigenvalue(lowest):
    """Centring takes them out of sight; as many times 1e-10 as there are eigenvalues are rounding."""
    K = with_eigenvalues([1.0, 1.0, 1.0, 1.0, 1.0], constant=lowest)
    size = np.diag(K).max()
    if lowest > -(N - 1) * 1e-10 * size:
        assert len(decompose(K, intercept=True).values) == 5
    else:
        with pytest.raises(ValueError, match="not positive semidefinite"):
            decompose(K, intercept=True)


def test_a_kernel_that_is_negative_across_constants_is_refused():
    """Each of its two blocks is positive, and the whole is not: 1'K1 = n, and e'Kv is larger than both allow.

    With one v, or with two that are small enough each.
    """
    V = helmert(N, full=True).T
    for across, allowed in [((0.99, 0.0), True), ((1.01, 0.0), False), ((0.8, 0.8), True), ((0.85, 0.85), False)]:
        core = np.diag([1.0, 1.0, 2.0, 2.0, 2.0, 2.0])
        core[0, 1:3] = core[1:3, 0] = across
        K = V @ core @ V.T
        if allowed:
            assert len(decompose(K, intercept=True).values) == 5
        else:
            with pytest.raises(ValueError, match="not positive semidefinite"):
                decompose(K, intercept=True)


def test_eigenvalues_are_kept_from_twice_the_error_on():
    """Of a diagonal kernel, so that nothing but these numbers counts; weights are a part of the kernel."""
    values = np.array([1.5 * KERNEL_ERROR, 2.5 * KERNEL_ERROR, 0.25, 1.0])
    np.testing.assert_allclose(decompose(np.diag(values), intercept=False).values, values[1:])
    weighted = decompose(np.diag(values), intercept=False, weight=np.array([2.0, 0.5, 4.0, 1.0])).values
    np.testing.assert_allclose(weighted, [3.0 * KERNEL_ERROR, 1.0, 1.0])


@pytest.mark.parametrize("intercept", [True, False])
def test_outside_of_a_kernel_that_has_all_its_directions_is_nothing(intercept):
    full = with_eigenvalues([1.0, 2.0, 3.0, 4.0, 5.0], constant=0.7)
    assert decompose(full, intercept=intercept).rounding.outside == 0.0
    poor = with_eigenvalues([0.0, 2.0, 3.0, 4.0, 5.0], constant=0.7)
    hidden = decompose(poor, intercept=intercept).rounding
    assert hidden.outside >= hidden.inside > 0.0
    # A kernel that can have no more has nothing outside either, and one that could have one more has.
    n_kept = 5
    assert decompose(poor, intercept=intercept, rank=n_kept).rounding.outside == 0.0
    assert decompose(poor, intercept=intercept, rank=n_kept + 1).rounding.outside > 0.0


def test_a_kernel_of_zeros_has_no_directions():
    design = decompose(np.zeros((4, 4)), intercept=True)
    assert len(design.values) == 0
    np.testing.assert_array_equal(design.center, 0.0)
    # Relative to a kernel of size one.
    assert design.rounding.inside == design.rounding.outside == KERNEL_ERROR


@pytest.mark.parametrize("away", [0.5, 2.0])
@pytest.mark.parametrize(("row", "column"), [(2, 1), (299, 3), (3, 299), (299, 298)])
def test_a_kernel_matrix_is_symmetric_to_rounding(away, row, column):
    """1e-8 of its largest entry, whatever its sign and wherever the two entries are."""
    K = np.eye(300)
    K[0, 5] = K[5, 0] = -7.0
    K[row, column] += away * 7e-8
    if away < 1.0:
        check_square_and_symmetric(K)
    else:
        with pytest.raises(ValueError, match=r"mirrored entries differ by up to 1\.4e-07"):
            check_square_and_symmetric(K)
    with pytest.raises(ValueError, match=r"has shape \(300, 299\); it must be square"):
        check_square_and_symmetric(K[:, 1:])


def test_kernels_whose_squares_overflow_are_refused():
    for size, allowed in [(0.9e150, True), (1.1e150, False)]:
        K = np.diag([size, 1.0, 1.0])
        if allowed:
            assert decompose(K, intercept=False).values[-1] == size
        else:
            with pytest.raises(ValueError, match=r"reaches 1\.1e\+150"):
                decompose(K, intercept=False)
    with pytest.raises(ValueError, match="NaN or infinite"):
        decompose(np.diag([np.inf, 1.0]), intercept=False)


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_kernel_matrix_is_overwritten_only_where_that_is_allowed(overwrite, rng):
    X = rng.standard_normal((8, 3))
    K = X @ X.T
    before = K.copy()
    make_design(make_feature_map("precomputed").fit(K), K, np.full(8, 2.0), intercept=True, overwrite=overwrite)
    assert np.array_equal(K, before) == (not overwrite)


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("far", [1e10, 1e14, 1e20, -1e36])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rows_far_away_take_no_digits_from_the_others(kernel, far, where, rng):
    """A missing value that is written as 1e20 is far from all else, and so is the mean of the rows."""
    X = rng.standard_normal((N, 3)) + (1e6 if where == "elsewhere" else 0.0)
    spoilt = np.vstack([X, X[:1]])
    spoilt[-1, 1] = far
    distances = np.abs(X[:, None] - X)
    expected = np.exp(-0.3 * (distances**2 if kernel == "rbf" else distances).sum(axis=2))
    K = make_feature_map(kernel, gamma=0.3).fit(spoilt).transform(spoilt)
    np.testing.assert_allclose(K[:N, :N], expected, rtol=0.0, atol=1e-12)
    on_landmarks = make_feature_map(kernel, gamma=0.3, landmarks=spoilt).fit(spoilt)
    places = [int(np.flatnonzero((spoilt == row).all(axis=1))[0]) for row in on_landmarks.landmarks_]
    np.testing.assert_allclose(on_landmarks.transform(spoilt), K[:, places], rtol=0.0, atol=1e-12)
