"""Locality-constrained linear coding, and max pooling over a spatial pyramid."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Weight of the ridge, relative to the trace of the local covariance.
LLC_RIDGE = 1e-4


def llc_codes(descriptors: Floats, codebook: Floats, n_neighbors: int = 5) -> tuple[NDArray[np.intp], Floats]:
    r"""Code descriptors by their nearest words (locality-constrained linear coding).

    .. math:: \min_c \lVert x - B'c \rVert^2 + \beta \, \mathrm{tr}(C) \lVert c \rVert^2, \quad 1'c = 1,

    with B the ``n_neighbors`` nearest words, one per row, :math:`C = (B - 1x')(B - 1x')'` and :math:`\beta = 10^{-4}`;
    hence c is proportional to :math:`(C + \beta \, \mathrm{tr}(C) I)^{-1} 1`.

    Parameters
    ----------
    descriptors : ndarray of shape (n, d)
        The descriptors of the patches.
    codebook : ndarray of shape (n_words, d)
        The words.
    n_neighbors : int, default=5
        How many words code one descriptor.

    Returns
    -------
    words : ndarray of shape (n, n_neighbors)
        Indices of the words used.
    codes : ndarray of shape (n, n_neighbors)
        Their coefficients; rows sum to 1.

    See Also
    --------
    dense_sift : Makes descriptors.
    pool_pyramid : Pools the codes of an image.

    References
    ----------
    Wang et al. Locality-constrained linear coding for image classification. CVPR 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.vision import llc_codes
    >>> codebook = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]], dtype=np.float32)
    >>> words, codes = llc_codes(np.array([[0.75, 0.0]], dtype=np.float32), codebook, n_neighbors=2)
    >>> words.tolist(), codes.round(2).tolist()
    ([[1, 0]], [[0.75, 0.25]])
    """
    words = _nearest(descriptors, codebook, n_neighbors)
    offsets = codebook[words] - descriptors[:, None, :]
    C = (offsets @ offsets.transpose(0, 2, 1)).astype(np.float64)
    ridge = LLC_RIDGE * np.trace(C, axis1=1, axis2=2) + np.finfo(np.float64).tiny
    C += ridge[:, None, None] * np.eye(n_neighbors)
    codes = np.linalg.solve(C, np.ones((len(C), n_neighbors, 1)))[..., 0]
    return words, (codes / codes.sum(axis=1, keepdims=True)).astype(np.float32)


def _nearest(descriptors: Floats, codebook: Floats, n_neighbors: int) -> NDArray[np.intp]:
    """Indices of the nearest words, (n, n_neighbors), nearest first."""
    # ||x||^2 is the same for all words and left out.
    distances = np.einsum("wd,wd->w", codebook, codebook) - 2 * (descriptors @ codebook.T)
    rows, words = np.arange(len(descriptors)), np.empty((len(descriptors), n_neighbors), dtype=np.intp)
    # For so few neighbours, repeated minima are several times faster than a partial sort.
    for rank in range(n_neighbors):
        words[:, rank] = distances.argmin(axis=1)
        distances[rows, words[:, rank]] = np.inf
    return words


def pool_pyramid(
    words: NDArray[np.intp], codes: Floats, centers: Floats, *, n_words: int, levels: Sequence[int] = (1, 2, 4)
) -> Floats:
    """Pool the codes of an image: the largest of every word in every cell, as one vector of unit length.

    A word that no patch of a cell uses counts 0 there, and so does one used with negative codes only.

    Parameters
    ----------
    words, codes : ndarray of shape (n, n_neighbors)
        From :func:`llc_codes`.
    centers : ndarray of shape (n, 2)
        Places of the patches as fractions of height and width.
    n_words : int
        Size of the codebook.
    levels : sequence of int, default=(1, 2, 4)
        Level l cuts the image into l x l cells.

    Returns
    -------
    ndarray of shape (n_words * sum of l^2,)
        Level by level, cell by cell in row-major order.

    See Also
    --------
    llc_codes : Makes the codes.
    SpatialPyramid : All steps from an image to its features.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.vision import pool_pyramid
    >>> words, codes = np.array([[0], [1]]), np.array([[3.0], [4.0]], dtype=np.float32)
    >>> centers = np.array([[0.2, 0.2], [0.8, 0.8]], dtype=np.float32)
    >>> pool_pyramid(words, codes, centers, n_words=2, levels=(1,)).tolist() == [np.float32(0.6), np.float32(0.8)]
    True
    """
    pooled = np.zeros((sum(level * level for level in levels), n_words), dtype=np.float32)
    first = 0
    for level in levels:
        row, column = np.minimum((centers * level).astype(np.intp), level - 1).T
        np.maximum.at(pooled, ((first + row * level + column)[:, None], words), codes)
        first += level * level
    length = np.linalg.norm(pooled)
    unit: Floats = pooled.ravel() / np.maximum(length, np.finfo(np.float32).tiny)
    return unit
