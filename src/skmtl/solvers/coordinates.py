"""Predictors in coordinates that make their penalty round."""

import numpy as np

from skmtl._linalg import Array, eigh, symmetric_part


class Coordinates:
    """The coordinates G of a predictor W for A = U diag(root^2) U'."""

    def __init__(self, A: Array) -> None:
        a, self._U = eigh(A)
        self.A = A
        self.root = np.sqrt(np.maximum(a, 0.0))
        self._inverse = np.divide(1.0, self.root, out=np.zeros_like(a), where=self.root > 1e-10 * self.root[-1])

    def outward(self, G: Array) -> Array:
        """W = G diag(root) U'."""
        return (G * self.root) @ self._U.T

    def inward(self, W: Array) -> Array:
        """G of W; directions that A does not have are dropped."""
        return (W @ self._U) * self._inverse

    def inward_gradient(self, gradient: Array) -> Array:
        """The gradient in G of a function of W."""
        return (gradient @ self._U) * self.root

    def unpenalised(self, G: Array) -> Array:
        """W A^-1."""
        return (G * self._inverse) @ self._U.T

    def energy(self, G: Array, A: Array) -> Array:
        """Inner products of the tasks' own parts W (A + c 11')^-1 A."""
        own = self.unpenalised(G) @ A
        return symmetric_part(own.T @ own)
