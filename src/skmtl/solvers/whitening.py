"""Predictors in whitened coordinates, in which their penalty is a sum of squares."""

import numpy as np

from skmtl._linalg import Array, eigh, symmetric_part, without_rounding


class Whitening:
    """Coordinates G of predictors W = G R' for A = RR': ||W||_A is the norm of G.

    Parameters
    ----------
    A : ndarray of shape (T, T)
    shares : ndarray of shape (T,), optional
        The columns of R are turned until R' diag(shares) R = diag(``squares``); without shares these are the
        eigenvalues of A.
    """

    def __init__(self, A: Array, shares: Array | None = None) -> None:
        a, U = eigh(A)
        root = np.sqrt(without_rounding(a))
        # A structure may be singular; directions that it does not have carry nothing.
        inverse = np.divide(1.0, root, out=np.zeros_like(a), where=root > 0.0)
        self.A, self.R, self._inverse = A, U * root, (U * inverse).T
        self.squares = root**2
        if shares is not None:
            squares, X = eigh(self.R.T @ (shares[:, None] * self.R))
            self.R, self._inverse, self.squares = self.R @ X, X.T @ self._inverse, np.maximum(squares, 0.0)

    def unwhiten(self, G: Array) -> Array:
        """W = G R'."""
        return G @ self.R.T

    def whiten(self, W: Array) -> Array:
        """G of W; directions that A does not have are dropped."""
        return W @ self._inverse.T

    def whiten_gradient(self, gradient: Array) -> Array:
        """The gradient in G of a function of W."""
        return gradient @ self.R

    def times_inverse(self, G: Array) -> Array:
        """W A^-1."""
        return G @ self._inverse

    def energy(self, G: Array, A: Array) -> Array:
        """Inner products of the tasks' own parts W (A + c 11')^-1 A."""
        own = self.times_inverse(G) @ A
        return symmetric_part(own.T @ own)
