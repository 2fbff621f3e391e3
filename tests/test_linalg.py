"""Small matrix and scalar functions against their definitions."""

import numpy as np
import pytest

from skmtl._linalg import cholesky, conjugate_gradients, inverse_spd, positive_cubic_root


@pytest.mark.parametrize("c", 10.0 ** np.arange(-12.0, 13.0, 4.0))
def test_cubic_roots_are_roots_of_any_size(c, rng):
    """l^3 - z l^2 - c = 0 up to rounding of its terms, and l > 0, of which there is one."""
    sizes = 10.0 ** rng.uniform(-12, 12, 1000)
    z = np.concatenate([sizes, -sizes, [0.0]])
    root = positive_cubic_root(z, c)
    assert np.all(root > 0.0)
    terms = root**3 + np.abs(z) * root**2 + c
    np.testing.assert_array_less(np.abs(root**3 - z * root**2 - c), 1e-14 * terms)


@pytest.mark.parametrize("power", [-340, -170, 170, 340])
def test_cubic_roots_do_not_know_their_unit(power, rng):
    """Their squares and cubes may be beyond the range of numbers."""
    z, c = 10.0 ** rng.uniform(-2, 2, 100) * rng.choice([-1.0, 1.0], 100), 10.0 ** rng.uniform(-3, 3, 100)
    unit, cube = 2.0**power, 2.0 ** (3 * min(max(power, -320), 320))
    moved = positive_cubic_root(z * np.cbrt(cube), c * cube) / np.cbrt(cube)
    np.testing.assert_allclose(moved, positive_cubic_root(z, c), rtol=1e-12)
    # One of the terms is next to nothing beside the others.
    np.testing.assert_allclose(positive_cubic_root(np.array([unit]), 1e-163), max(unit, 1e-163 ** (1 / 3)), rtol=1e-9)
    np.testing.assert_allclose(positive_cubic_root(np.array([-1e166]), 1e-163), 1e-163**0.5 / 1e83, rtol=1e-12)


@pytest.mark.parametrize("lower", [True, False])
def test_the_factor_of_a_matrix_multiplies_to_it_or_to_what_rounding_cannot_tell_from_it(lower, rng):
    """Also of a singular matrix, whose smallest eigenvalues rounding makes negative."""
    B = rng.standard_normal((6, 6))
    for M in (B @ B.T + np.eye(6), 1e20 * B[:, :2] @ B[:, :2].T):
        # The other triangle holds anything.
        factor = (np.tril if lower else np.triu)(cholesky(M.copy, lower=lower))
        product = factor @ factor.T if lower else factor.T @ factor
        np.testing.assert_allclose(product, M, atol=1e-13 * np.abs(M).max())


def test_the_factor_of_nothing_is_nothing():
    """As where features are constant up to rounding, and no function is left."""
    assert cholesky(lambda: np.zeros((0, 0)), lower=True).shape == (0, 0)


def test_the_factor_of_a_matrix_beyond_floating_point_is_refused():
    with pytest.raises(ValueError, match="standardize the features"):
        cholesky(lambda: np.full((2, 2), np.inf), lower=True)


def test_the_factor_of_a_matrix_without_a_positive_diagonal_ends_all_the_same():
    """As where a loss that is nearly nothing leaves a Hessian of rounding alone."""
    for M in (np.diag([-1.0, -2.0]), np.zeros((3, 3))):
        factor = cholesky(M.copy, lower=True)
        assert np.all(np.isfinite(factor))
        assert np.all(np.diag(factor) > 0.0)


def test_conjugate_gradients_end_where_curvature_is_below_all_numbers():
    """A step would divide by zero."""
    residual = np.array([1e-150, 0.0])
    found = conjugate_gradients(lambda d: 1e-170 * d, residual, np.copy, lambda r, rz: not r.any(), max_steps=5)
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("place", [(0, 0), (3, 3), (3, 1)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_what_is_not_positive_definite_among_numbers_has_no_inverse(value, place):
    """LAPACK says nothing of what is no number, and an inverse of such is none."""
    A = 2.0 * np.eye(4)
    A[place] = A[place[::-1]] = value
    inverse = inverse_spd(A)
    if value == 1e308 and place[0] == place[1]:
        np.testing.assert_allclose(inverse, np.diag(1.0 / np.diag(A)))
    else:
        assert inverse is None
