"""Animals with Attributes as the paper's tables need them: examples drawn by a protocol, all methods on them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import average_precision_score

from skmtl._linalg import Array
from skmtl.datasets import Animals, load_awa
from skmtl.estimators import MultiTaskClassifier
from skmtl.experiments.runs import Progress
from skmtl.experiments.selection import METHODS, Params
from skmtl.penalties import PENALTIES, StructurePenalty

PROTOCOLS = ("own", "shared", "classes")
PER_ATTRIBUTE = "STL per attribute"

Index = NDArray[np.intp]
Examples = list[tuple[Array, NDArray[np.int8]]]
"""Rows and labels of each attribute."""


@dataclass(frozen=True, eq=False)
class AnimalImages:
    """All images: square roots of shares, classes, which class has which attribute, and the classes to test on."""

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
    animals = load_awa(folder / "AwA" if (folder / "AwA").is_dir() else folder)
    parts = (animals.X, animals.y, animals.predicate_matrix)
    content = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
    return animals, {"images": len(animals.X), "digest": content.hexdigest()[:16]}


def prepare(animals: Animals, settings: Params, folder: Path, n_jobs: int, progress: Progress | None) -> AnimalImages:
    """Square roots of counts that sum to one."""
    X = animals.X.astype(np.float32)
    X /= np.maximum(X.sum(axis=1, keepdims=True), 1)
    is_test_class = np.isin(animals.class_names, animals.testclasses)
    return AnimalImages(np.sqrt(X, out=X), animals.y, animals.predicate_matrix, is_test_class)


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


def choose_and_test(sample: Sample, alphas: Params, settings: Params, attributes: Sequence[int]) -> dict[str, Any]:
    """Average precision of every attribute on the test examples, parameters chosen on the validation examples."""
    train, validation, test = ([of[a] for a in attributes] for of in (sample.train, sample.validation, sample.test))
    size = _mean_square(train[0][0] if sample.shared else np.concatenate([X for X, _ in train]))
    tried: dict[str, list[tuple[Array, MultiTaskClassifier]]] = {method: [] for method in METHODS}
    for method, name in METHODS.items():
        for penalty, alpha in _candidates(name, alphas[name], settings["mus"], len(attributes)):
            model = MultiTaskClassifier(penalty, alpha=alpha * size, tol=settings["tol"])
            _fit(model, train, shared=sample.shared)
            tried[method].append((_precisions(model, validation), model))
    best = {method: max(fits, key=lambda fit: np.nanmean(fit[0]))[1] for method, fits in tried.items()}
    precision = {method: _precisions(model, test) for method, model in best.items()}
    precision[PER_ATTRIBUTE] = _one_alpha_each(tried["STL"], test)
    return {
        "precision": {method: float(np.nanmean(values)) for method, values in precision.items()},
        "per_attribute": precision,
        "tested": int(np.sum(~np.isnan(precision["STL"]))),
        "chosen": {m: {"alpha": one.alpha / size, **_own_parameters(one)} for m, one in best.items()},
        "edges": {method: int(np.count_nonzero(np.triu(model.structure_, 1))) for method, model in best.items()},
        "structure": {method: model.structure_ for method, model in best.items()},
        "max_gap": float(max(model.solution_.gap for model in best.values())),
    }


def _one_alpha_each(fits: list[tuple[Array, MultiTaskClassifier]], test: Examples) -> Array:
    """Precision of each attribute with the model that is best for it on the validation examples."""
    chosen = np.argmax(np.nan_to_num([valid for valid, _ in fits]), axis=0)
    return np.array([_precisions(model, test) for _, model in fits])[chosen, np.arange(len(chosen))]


def _mean_square(rows: Array) -> float:
    """The mean squared distance of rows from their mean."""
    return float(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)))


def _own_parameters(model: MultiTaskClassifier) -> Params:
    return dict(model.get_params()["penalty"].get_params())


def _candidates(name: str, alphas: list[float], mus: list[float], n_tasks: int) -> list[tuple[StructurePenalty, float]]:
    """Penalties and alphas to try; A of the trace sums to one on its diagonal, so its alphas count per task."""
    made = PENALTIES[name]()
    along = made.path_parameter
    shapes = [made] if along is None else [clone(made).set_params(**{along: value}) for value in mus]
    unit = 1.0 / n_tasks if name == "trace" else 1.0
    return [(shape, unit * alpha) for shape in shapes for alpha in alphas]


def _fit(model: MultiTaskClassifier, train: Examples, *, shared: bool) -> None:
    """Fit a table with all labels, or a column with one task per row."""
    if shared:
        model.fit(train[0][0], np.stack([y for _, y in train], axis=1))
        return
    tasks = np.repeat(np.arange(len(train)), [len(y) for _, y in train])
    model.fit(np.concatenate([X for X, _ in train]), np.concatenate([y for _, y in train]), tasks=tasks)


def _precisions(model: MultiTaskClassifier, examples: Examples) -> Array:
    """Average precision of each task; NaN where its examples are of one class."""
    values = np.full(len(examples), np.nan)
    for t, (X, y) in enumerate(examples):
        if 0 < y.sum() < len(y):
            values[t] = average_precision_score(y, X @ model.coef_[t] + model.intercept_[t])
    return values
