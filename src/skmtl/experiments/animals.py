"""Animals with Attributes as the paper's tables need them: examples drawn by a protocol, all methods on them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from skmtl._linalg import Array
from skmtl.datasets import Animals, load_awa
from skmtl.experiments.detectors import MEASURES, Detectors, Examples, Grid, candidates_of
from skmtl.experiments.runs import Progress
from skmtl.experiments.selection import METHODS, Params, matches

PROTOCOLS = ("classes", "own", "shared")
PER_ATTRIBUTE = "STL per attribute"

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class AnimalImages:
    """All images: features on one scale, classes, which class has which attribute, and the classes to test on."""

    X: NDArray[np.float32]
    y: Index
    predicates: NDArray[np.int8]
    is_test_class: NDArray[np.bool_]


def load(data: str | Path | None, settings: Params) -> tuple[Animals, dict[str, Any]]:
    """The images' features and their fingerprint."""
    if settings["protocol"] not in PROTOCOLS:
        raise ValueError(f"protocol={settings['protocol']!r} is not known; choose one of {', '.join(PROTOCOLS)}.")
    if data is None:
        raise ValueError("Animals with Attributes have to be on disk; name the folder that holds AwA as data.")
    folder = Path(data).expanduser()
    root = folder / "AwA" if (folder / "AwA").is_dir() else folder
    animals = load_awa(root, features=settings["features"])
    parts = (animals.X, animals.y, animals.predicate_matrix)
    content = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
    return animals, {"images": len(animals.X), "digest": content.hexdigest()[:16]}


def prepare(animals: Animals, settings: Params, folder: Path, n_jobs: int, progress: Progress | None) -> AnimalImages:
    """Features on one scale."""
    is_test_class = np.isin(animals.class_names, animals.testclasses)
    return AnimalImages(scale_features(animals.X), animals.y, animals.predicate_matrix, is_test_class)


def scale_features(X: NDArray[Any]) -> NDArray[np.float32]:
    """Square roots of counts that sum to one; features with a sign are scaled to rows of length one.

    Both have length one: the square roots are those of the Hellinger distance, which suits histograms alone.
    """
    X = X.astype(np.float32)
    if X.min(initial=0.0) < 0.0:
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return X
    X /= np.maximum(X.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.sqrt(X, out=X)


class Sample:
    """Examples of every attribute to train, validate and test, as rows of principal components."""

    def __init__(self, prepared: AnimalImages, settings: Params, size: int, seed: int) -> None:
        rng = np.random.default_rng([size, seed])
        pools = _make_pools(prepared, settings["protocol"], seed)
        self._components = _fit_components(prepared, settings["protocol"], seed, settings["n_components"])
        self._X, self._Y = prepared.X, prepared.predicates[prepared.y]
        self.shared = settings["protocol"] == "shared"
        counts = (size, settings["n_validation"], settings["n_test"])
        draw = self._draw_shared if self.shared else self._draw_own
        self.train, self.validation, self.test = (draw(*one, rng) for one in zip(pools, counts, strict=True))

    def _draw_own(self, pool: Index, count: int, rng: np.random.Generator) -> Examples:
        """Half positive and half negative images for each attribute."""
        examples: Examples = []
        for has in self._Y[pool].T:
            positive, negative = (rng.permutation(pool[has == value]) for value in (1, 0))
            half = min(count // 2, len(positive), len(negative))
            examples.append(self._take(np.concatenate([positive[:half], negative[:half]]), len(examples)))
        return examples

    def _draw_shared(self, pool: Index, count: int, rng: np.random.Generator) -> Examples:
        """The same images for all attributes."""
        rows = rng.permutation(pool)[:count]
        X, _ = self._take(rows, 0)
        return [(X, self._Y[rows, attribute]) for attribute in range(self._Y.shape[1])]

    def _take(self, rows: Index, attribute: int) -> tuple[Array, NDArray[np.int8]]:
        # The ten classes to test on may all have, or lack, an attribute: then there is nothing to transform.
        X = self._components.transform(self._X[rows]) if len(rows) else np.empty((0, self._components.n_components_))
        return X.astype(float), self._Y[rows, attribute]


@lru_cache(maxsize=1)
def _fit_components(prepared: AnimalImages, protocol: str, seed: int, n_components: int) -> PCA:
    """Principal components of the training pool; those of the last seed are kept for its other sizes."""
    train, *_ = _make_pools(prepared, protocol, seed)
    return PCA(n_components, svd_solver="covariance_eigh").fit(prepared.X[train])


def _make_pools(prepared: AnimalImages, protocol: str, seed: int) -> tuple[Index, Index, Index]:
    """Images to train, validate and test on."""
    order = np.random.default_rng(seed).permutation(len(prepared.X))
    if protocol == "classes":
        held_out = prepared.is_test_class[prepared.y[order]]
        known = order[~held_out]
        return known[: 2 * len(known) // 3], known[2 * len(known) // 3 :], order[held_out]
    train, validation, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    return train, validation, test


def choose_and_test(sample: Sample, settings: Params, attributes: Sequence[int]) -> dict[str, Any]:
    """Scores of every attribute on the test examples, parameters chosen on the validation examples.

    The mean over attributes of the average precision chooses.
    """
    train, validation, test = ([of[a] for a in attributes] for of in (sample.train, sample.validation, sample.test))
    grid = Grid(train, settings, shared=sample.shared)
    fits = list(grid.fit())
    valid = [fit.score(validation) for fit in fits]
    means = {id(fit): float(np.nanmean(values)) for fit, values in zip(fits, valid, strict=True)}
    chosen = {method: max(candidates_of(method, fits), key=lambda fit: means[id(fit)]) for method in METHODS}
    # Methods that chose the same candidate have the same detectors.
    proved = {id(fit): grid.certify(fit) for fit in {id(fit): fit for fit in chosen.values()}.values()}
    best = {method: proved[id(fit)] for method, fit in chosen.items()}
    scores = {measure: {m: fit.score(test, measure) for m, fit in best.items()} for measure in MEASURES}
    singles = [(values, fit) for values, fit in zip(valid, fits, strict=True) if matches(METHODS["STL"], fit.params)]
    for measure in MEASURES:
        scores[measure][PER_ATTRIBUTE] = _one_alpha_each(singles, test, measure)
    return {
        **{of: {m: float(np.nanmean(values)) for m, values in scores[of].items()} for of in MEASURES},
        "per_attribute": scores["precision"],
        "tested": int(np.sum(~np.isnan(scores["precision"]["STL"]))),
        "chosen": {method: fit.params for method, fit in best.items()},
        "edges": {m: int(np.count_nonzero(np.triu(fit.solution.structure, 1))) for m, fit in best.items()},
        "structure": {method: fit.solution.structure for method, fit in best.items()},
        "max_gap": float(max(fit.solution.gap for fit in best.values())),
    }


def _one_alpha_each(singles: list[tuple[Array, Detectors]], test: Examples, measure: str) -> Array:
    """The score of each attribute with the model that is best for it on the validation examples."""
    chosen = np.argmax(np.nan_to_num([valid for valid, _ in singles]), axis=0)
    return np.array([fit.score(test, measure) for _, fit in singles])[chosen, np.arange(len(chosen))]
