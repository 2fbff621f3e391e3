"""From image paths to features: the transformer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmtl.vision._cache import digest, load, save
from skmtl.vision.coding import llc_codes, pool_pyramid
from skmtl.vision.sift import N_ENTRIES, check_grid, dense_sift, read_grey

Floats = NDArray[np.float32]
ImagePath = str | os.PathLike[str]

# Part of every key in the cache: raise it when the same parameters come to mean other features.
ENCODING_VERSION = 1


class SpatialPyramid(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Make features of images from their paths: dense SIFT, LLC, spatial pyramid with max pooling.

    Parameters
    ----------
    n_words : int, default=1024
        Size of the codebook, learned by k-means in :meth:`fit`.
    step : int, default=8
        Distance of neighbouring patches in pixels, see :func:`dense_sift`.
    patch : int, default=16
        Side of a patch in pixels, see :func:`dense_sift`.
    max_side : int, default=300
        Larger images are shrunk until their longest side has this many pixels.
    n_neighbors : int, default=5
        Words that code one descriptor, see :func:`llc_codes`.
    levels : tuple of int, default=(1, 2, 4)
        Cells per side on each level, see :func:`pool_pyramid`.
    n_descriptors : int, default=200_000
        Descriptors, spread evenly over the images, that the codebook is learned from.
    cache : path-like, default=None
        Folder that keeps the vector of every image, found again by the image's content, the parameters and
        the codebook. With an integer ``random_state`` it keeps the codebook as well.
    n_jobs : int, default=None
        Processes at work, as everywhere in joblib.
    callback : callable, default=None
        Called as ``callback(done, total)`` after every image.
    random_state : int, RandomState or None, default=None
        Chooses descriptors and first words.

    Attributes
    ----------
    codebook_ : ndarray of shape (n_words, 128)
        The words.

    See Also
    --------
    dense_sift : The first step.
    llc_codes : The second step.
    pool_pyramid : The third step.
    skmtl.datasets.load_scenes : Images to try it on.

    References
    ----------
    Lazebnik et al. Beyond bags of features: spatial pyramid matching. CVPR 2006.
    Wang et al. Locality-constrained linear coding for image classification. CVPR 2010.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import cv2
    >>> import numpy as np
    >>> from skmtl.vision import SpatialPyramid
    >>> rng = np.random.default_rng(0)
    >>> with TemporaryDirectory() as folder:
    ...     paths = [Path(folder, f"{number}.png") for number in range(3)]
    ...     for path in paths:
    ...         _ = cv2.imwrite(str(path), rng.integers(0, 255, (64, 64)).astype(np.uint8))
    ...     features = SpatialPyramid(n_words=8, levels=(1, 2), random_state=0).fit_transform(paths)
    >>> features.shape
    (3, 40)
    """

    codebook_: Floats

    def __init__(
        self,
        n_words: int = 1024,
        step: int = 8,
        patch: int = 16,
        max_side: int = 300,
        n_neighbors: int = 5,
        levels: Sequence[int] = (1, 2, 4),
        n_descriptors: int = 200_000,
        cache: ImagePath | None = None,
        n_jobs: int | None = None,
        callback: Callable[[int, int], object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_words = n_words
        self.step = step
        self.patch = patch
        self.max_side = max_side
        self.n_neighbors = n_neighbors
        self.levels = levels
        self.n_descriptors = n_descriptors
        self.cache = cache
        self.n_jobs = n_jobs
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Sequence[ImagePath], y: object = None) -> SpatialPyramid:
        """Learn the codebook from the images at the paths X; y is ignored."""
        paths, recipe = _check_paths(X), self._check_recipe()
        kept = self._codebook_file(paths, recipe)
        codebook = load(kept, (self.n_words, N_ENTRIES))
        if codebook is None:
            codebook = self._learn_codebook(paths, recipe)
            save(kept, codebook)
        self.codebook_ = codebook
        return self

    def transform(self, X: Sequence[ImagePath]) -> Floats:
        """Features of the images at the paths X, shape (n_images, n_words * sum of levels squared)."""
        check_is_fitted(self)
        paths, recipe = _check_paths(X), self._check_recipe()
        folder = None if self.cache is None else Path(self.cache) / recipe.key(self.codebook_)
        calls = [joblib.delayed(_encode_cached)(path, recipe, self.codebook_, folder) for path in paths]
        features = np.empty((len(paths), self._n_features_out), dtype=np.float32)
        for row, vector in enumerate(self._run(calls)):
            features[row] = vector
        return features

    @property
    def _n_features_out(self) -> int:
        return len(self.codebook_) * sum(level * level for level in self.levels)

    def _check_recipe(self) -> _Recipe:
        """The parameters that decide how one image is encoded."""
        if not 1 <= self.n_neighbors <= self.n_words:
            raise ValueError(f"n_neighbors={self.n_neighbors} must lie between 1 and n_words={self.n_words}.")
        check_grid(self.step, self.patch)
        return _Recipe(self.step, self.patch, self.max_side, self.n_neighbors, tuple(self.levels))

    def _run(self, calls: Sequence[Any]) -> Iterator[Any]:
        """Results of the calls in order, as they come."""
        results = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator")(calls)
        for done, result in enumerate(results, start=1):
            if self.callback is not None:
                self.callback(done, len(calls))
            yield result

    def _learn_codebook(self, paths: Sequence[Path], recipe: _Recipe) -> Floats:
        """Words of shape (n_words, 128) by k-means on descriptors drawn from all images alike."""
        random = check_random_state(self.random_state)
        share = -(-self.n_descriptors // len(paths))
        seeds = random.randint(np.iinfo(np.int32).max, size=len(paths))
        calls = [joblib.delayed(_draw)(path, recipe, share, seed) for path, seed in zip(paths, seeds, strict=True)]
        descriptors = np.concatenate(list(self._run(calls)))
        if len(descriptors) < self.n_words:
            raise ValueError(
                f"{len(paths)} images gave {len(descriptors)} descriptors for n_words={self.n_words}; "
                "fit on more images, or lower n_words or step."
            )
        words = MiniBatchKMeans(self.n_words, batch_size=4096, n_init=1, random_state=random).fit(descriptors)
        return np.ascontiguousarray(words.cluster_centers_, dtype=np.float32)

    def _codebook_file(self, paths: Sequence[Path], recipe: _Recipe) -> Path | None:
        """Where the codebook is kept, None if it is not: without a seed no two are alike."""
        if self.cache is None or not isinstance(self.random_state, int | np.integer):
            return None
        learned_from = [digest(path.read_bytes()) for path in paths]
        key = recipe.key(self.n_words, self.n_descriptors, int(self.random_state), *learned_from)
        return Path(self.cache) / f"codebook-{key}.npy"


@dataclass(frozen=True)
class _Recipe:
    """How one image is encoded, but for the words."""

    step: int
    patch: int
    max_side: int
    n_neighbors: int
    levels: tuple[int, ...]

    def key(self, *more: object) -> str:
        """A short name for the recipe and whatever else counts."""
        parts = [part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode() for part in more]
        return digest(repr((ENCODING_VERSION, *astuple(self))).encode(), *parts)[:16]

    def describe(self, data: bytes, path: Path) -> tuple[Floats, Floats]:
        """Descriptors (n, 128) and centres (n, 2) of the image in a file's bytes."""
        try:
            return dense_sift(read_grey(data, self.max_side), step=self.step, patch=self.patch)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _encode_cached(path: Path, recipe: _Recipe, codebook: Floats, folder: Path | None) -> Floats:
    """Vector of one image, from the cache folder if it is there."""
    data = path.read_bytes()
    kept = None if folder is None else folder / f"{digest(data)}.npy"
    vector = load(kept, (len(codebook) * sum(level * level for level in recipe.levels),))
    if vector is None:
        descriptors, centers = recipe.describe(data, path)
        words, codes = llc_codes(descriptors, codebook, recipe.n_neighbors)
        vector = pool_pyramid(words, codes, centers, n_words=len(codebook), levels=recipe.levels)
        save(kept, vector)
    return vector


def _draw(path: Path, recipe: _Recipe, share: int, seed: int) -> Floats:
    """At most ``share`` descriptors of one image."""
    descriptors, _ = recipe.describe(path.read_bytes(), path)
    return np.random.default_rng(seed).permutation(descriptors)[:share]


def _check_paths(X: Sequence[ImagePath]) -> list[Path]:
    """Paths of files that exist."""
    if isinstance(X, str | bytes | os.PathLike):
        raise ValueError(f"X is the single path {X!r}; pass a list of paths.")
    paths = [Path(path) for path in X]
    missing = [str(path) for path in paths if not path.is_file()]
    if not paths or missing:
        what = (
            f"{len(missing)} of {len(paths)} images do not exist, the first is {missing[0]}"
            if missing
            else "X is empty"
        )
        raise ValueError(f"{what}; pass paths of image files.")
    return paths
