"""Predictors in whitened coordinates, in which their penalty is a sum of squares."""

import numpy as np

from skmtl._linalg import Array, eigh, symmetric_part


class Whitening:
    """Coordinates G of predictors W = G diag(root) U' for A = U diag(root^2) U': ||W||_A is the norm of G."""

    def __init__(self, A: Array) -> None:
        a, self.U = eigh(A)
        self.A = A
        self.root = np.sqrt(np.maximum(a, 0.0))
        # A structure may be singular; directions that it does not have carry nothing.
        self._inverse = np.divide(1.0, self.root, out=np.zeros_like(a), where=self.root > 1e-10 * self.root[-1])

    def unwhiten(self, G: Array) -> Array:
        """W = G diag(root) U'."""
        return (G * self.root) @ self.U.T

    def whiten(self, W: Array) -> Array:
        """G of W; directions that A does not have are dropped."""
        return (W @ self.U) * self._inverse

    def whiten_gradient(self, gradient: Array) -> Array:
        """The gradient in G of a function of W."""
        return (gradient @ self.U) * self.root

    def times_inverse(self, G: Array) -> Array:
        """W A^-1."""
        return (G * self._inverse) @ self.U.T

    def energy(self, G: Array, A: Array) -> Array:
        """Inner products of the tasks' own parts W (A + c 11')^-1 A."""
        own = self.times_inverse(G) @ A
        return symmetric_part(own.T @ own)
