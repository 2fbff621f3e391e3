"""Small matrix and scalar functions against their definitions."""

import numpy as np
import pytest

from skmtl._linalg import positive_cubic_root


@pytest.mark.parametrize("c", 10.0 ** np.arange(-12.0, 13.0, 4.0))
def test_cubic_roots_are_roots_of_any_size(c, rng):
    """l^3 - z l^2 - c = 0 up to rounding of its terms, and l > 0, of which there is one."""
    sizes = 10.0 ** rng.uniform(-12, 12, 1000)
    z = np.concatenate([sizes, -sizes, [0.0]])
    root = positive_cubic_root(z, c)
    assert np.all(root > 0.0)
    terms = root**3 + np.abs(z) * root**2 + c
    np.testing.assert_array_less(np.abs(root**3 - z * root**2 - c), 1e-14 * terms)
