"""The paper's tables on Animals with Attributes: 85 detectors, and colour beside limb shape.

What the paper leaves open, and what is done here. Its features (DECAF) are not public any more; ours are counts of SURF
words, so differences between methods can be compared with the paper's, levels cannot. Counts are scaled to sum to one,
their square roots taken, and 500 principal components kept, learned from the training pool. Images are split at random
into pools to train (half), validate and test (a quarter each). ``protocol`` says what an example is:

- ``own``: every attribute has its own examples, half of them positive, drawn from the pools; labels of the other
  attributes are not used. Of an attribute with too few positive images in a pool all are taken, and as many negative.
- ``shared``: images drawn at random, with the labels of all attributes.
- ``classes``: as ``own``, but the pool to test on is that of ten classes, of which no image is trained or validated on.

The validation examples choose the hyper-parameters by the mean over attributes of the average precision; "STL per
attribute" chooses one alpha for each attribute. MTFL and MTRL are one problem here, solved once.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import average_precision_score

from skmtl._linalg import Array
from skmtl.datasets import Animals, load_awa
from skmtl.estimators import MultiTaskClassifier
from skmtl.experiments.runs import Item, Progress, Row
from skmtl.experiments.selection import METHODS, Params
from skmtl.experiments.tables import compare, in_words, markdown, new_figure, save_figure, write_tables
from skmtl.penalties import PENALTIES, StructurePenalty

SETTINGS: dict[str, Any] = {
    "protocol": "own",
    "sizes": [50, 100, 150],
    "n_seeds": 10,
    "attributes": 85,
    "group_size": 100,
    "n_validation": 500,
    "n_test": 500,
    "n_components": 500,
    # Multiples of the mean squared length of the rows; those of the trace are divided by the number of tasks, as its
    # structure is.
    "alphas": {
        "independent": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003],
        "trace": [0.3, 0.1, 0.03, 0.01],
        "frobenius": [0.25, 0.12, 0.06, 0.03],
        "sparse": [0.5, 0.25, 0.12, 0.06],
    },
    "mus": [0.95, 1.0],
    "tol": 1e-3,
}
QUICK: dict[str, Any] = {
    "sizes": [50],
    "n_seeds": 2,
    "attributes": 20,
    "group_size": 50,
    "n_components": 50,
    "alphas": {"independent": [0.3, 0.03], "trace": [0.1, 0.03], "frobenius": [0.12, 0.06], "sparse": [0.25, 0.12]},
}
PROTOCOLS = ("own", "shared", "classes")
GROUPS = {"colour": range(8), "limb": range(18, 24)}
BASELINES = ("STL", "STL per attribute")
# Area under the precision-recall curve in percent and what follows the sign ±, at 50, 100 and 150 examples.
PAPER = {
    "STL": ((57.26, 1.71), (60.73, 1.12), (64.37, 1.29)),
    "MTFL": ((58.11, 1.23), (61.21, 1.14), (64.22, 1.10)),
    "MTRL": ((58.24, 1.84), (61.18, 1.23), (64.56, 1.41)),
    "OKL": ((58.81, 1.18), (62.07, 1.05), (64.26, 1.18)),
    "SKMTL": ((58.63, 1.73), (63.21, 1.43), (64.51, 1.83)),
}
PAPER_SIZES = (50, 100, 150)
# Colour and limb shape, learned apart and then together.
PAPER_GROUPS = {
    "STL": (74.33, 68.13, 74.33, 68.15),
    "MTFL": (75.21, 69.41, 74.98, 69.71),
    "MTRL": (75.17, 69.18, 74.92, 69.73),
    "OKL": (74.52, 68.54, 74.31, 68.44),
    "SKMTL": (75.14, 69.21, 75.23, 69.57),
}

Index = NDArray[np.intp]
Examples = list[tuple[Array, NDArray[np.int8]]]
"""Rows and labels of each attribute."""


@dataclass(frozen=True)
class Prepared:
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


def prepare(animals: Animals, settings: Params, folder: Path, n_jobs: int, progress: Progress | None) -> Prepared:
    """Square roots of counts that sum to one."""
    X = animals.X.astype(np.float32)
    X /= np.maximum(X.sum(axis=1, keepdims=True), 1)
    is_test_class = np.isin(animals.class_names, animals.testclasses)
    return Prepared(np.sqrt(X, out=X), animals.y, animals.predicate_matrix, is_test_class)


def make_items(settings: Params) -> list[Item]:
    """For every seed all sizes, and colour beside limb shape."""
    parts = [*(("detection", size) for size in settings["sizes"]), ("groups", settings["group_size"])]
    return [{"part": part, "size": size, "seed": seed} for seed in range(settings["n_seeds"]) for part, size in parts]


def evaluate(prepared: Prepared, settings: Params, *, part: str, size: int, seed: int) -> dict[str, Any]:
    """All methods on the examples of one seed."""
    sample = _Sample(prepared, settings, size, seed)
    if part == "detection":
        return _choose_and_test(sample, settings, range(settings["attributes"]))
    both = [attribute for group in GROUPS.values() for attribute in group]
    results = {name: _choose_and_test(sample, settings, attributes) for name, attributes in GROUPS.items()}
    return {**results, "joint": _choose_and_test(sample, settings, both)}


class _Sample:
    """Examples of every attribute to train, validate and test, as rows of principal components."""

    def __init__(self, prepared: Prepared, settings: Params, size: int, seed: int) -> None:
        rng = np.random.default_rng([size, seed])
        pools = _make_pools(prepared, settings["protocol"], seed)
        components = PCA(settings["n_components"], svd_solver="covariance_eigh").fit(prepared.X[pools[0]])
        self._X, self.shared = prepared.X, settings["protocol"] == "shared"
        self._components, self._Y = components, prepared.predicates[prepared.y]
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
        return self._components.transform(self._X[rows]).astype(float), self._Y[rows, attribute]


def _make_pools(prepared: Prepared, protocol: str, seed: int) -> tuple[Index, Index, Index]:
    """Images to train, validate and test on."""
    order = np.random.default_rng(seed).permutation(len(prepared.X))
    if protocol == "classes":
        held_out = prepared.is_test_class[prepared.y[order]]
        known = order[~held_out]
        return known[: 2 * len(known) // 3], known[2 * len(known) // 3 :], order[held_out]
    train, validation, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    return train, validation, test


def _choose_and_test(sample: _Sample, settings: Params, attributes: Sequence[int]) -> dict[str, Any]:
    """Average precision of every attribute on the test examples, parameters chosen on the validation examples."""
    train, validation, test = ([of[a] for a in attributes] for of in (sample.train, sample.validation, sample.test))
    rows = train[0][0] if sample.shared else np.concatenate([X for X, _ in train])
    size = float(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)))
    precision, chosen, structure, gaps = {}, {}, {}, []
    for method, name in METHODS.items():
        fits = []
        for penalty, alpha in _candidates(name, settings, len(attributes)):
            model = MultiTaskClassifier(penalty, alpha=alpha * size, tol=settings["tol"])
            _fit(model, train, shared=sample.shared)
            fits.append((_precisions(model, validation), model))
        valid = np.array([values for values, _ in fits])
        best = fits[int(np.argmax(np.nanmean(valid, axis=1)))][1]
        precision[method] = _precisions(best, test)
        chosen[method] = {"alpha": best.alpha / size, **best.get_params()["penalty"].get_params()}
        structure[method], gap = best.structure_, best.solution_.gap
        gaps.append(gap)
        if name == "independent":
            tested = np.array([_precisions(model, test) for _, model in fits])
            own = np.argmax(np.nan_to_num(valid), axis=0)
            precision[BASELINES[1]] = tested[own, np.arange(len(own))]
    mean = {method: float(np.nanmean(values)) for method, values in precision.items()}
    edges = {method: int(np.count_nonzero(np.triu(A, 1))) for method, A in structure.items()}
    result = {"precision": mean, "per_attribute": _rounded(precision), "chosen": chosen, "edges": edges}
    result |= {"tested": int(np.sum(~np.isnan(precision["STL"]))), "max_gap": float(max(gaps))}
    both = sum(len(group) for group in GROUPS.values())
    return {**result, "structure": structure} if len(attributes) <= both else result


def _rounded(values: dict[str, Array]) -> dict[str, list[float]]:
    return {name: [round(float(value), 6) for value in column] for name, column in values.items()}


def _candidates(name: str, settings: Params, n_tasks: int) -> list[tuple[StructurePenalty, float]]:
    """Penalties and alphas to try."""
    made = PENALTIES[name]
    shapes = [made(mu=mu) for mu in settings["mus"]] if "mu" in made._get_param_names() else [made()]
    unit = 1.0 / n_tasks if name == "trace" else 1.0
    return [(shape, unit * alpha) for shape in shapes for alpha in settings["alphas"][name]]


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


# What people read -----------------------------------------------------------------------------------------------------


def report(folder: Path, rows: list[Row], settings: Params) -> None:
    """Write the tables and the figures."""
    detection = [row for row in rows if row["part"] == "detection"]
    groups = [row for row in rows if row["part"] == "groups"]
    table = pd.concat(
        compare(_with_mtfl([row["precision"] for row in detection if row["size"] == size]), against,
                part="all attributes", size=size)
        for size in settings["sizes"]
        for against in BASELINES
    )  # fmt: skip
    apart_or_joint, mass = _group_table(groups), _mass_table(groups)
    text = [_describe(detection, settings), _precision_table(table)]
    text += [_difference_table(table, against) for against in BASELINES]
    text += [_group_text(apart_or_joint), _transfer_text(apart_or_joint), _mass_text(mass)]
    write_tables(folder, "\n\n".join(text), pd.concat([table, apart_or_joint, mass]))
    save_figure(_gain_figure(table), folder, "gains")
    save_figure(_structure_figure(groups), folder, "groups")


def _with_mtfl(precisions: list[dict[str, float]]) -> pd.DataFrame:
    """A row per repetition, a column per method of the paper."""
    frame = pd.DataFrame(precisions)
    return frame.assign(MTFL=frame["MTRL"])[[*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"]]


def _describe(rows: list[Row], settings: Params) -> str:
    tested = {row["tested"] for row in rows}
    return (
        f"Protocol `{settings['protocol']}`, {settings['n_seeds']} repetitions, {min(tested)} to {max(tested)} "
        "attributes tested. Area under the precision-recall curve in percent, mean over attributes, with its standard "
        "deviation over repetitions. MTFL and MTRL are one problem here, solved once and shown twice. Differences are "
        "in points, paired by repetition, with 95% intervals, in bold where zero is outside."
    )


def _precision_table(table: pd.DataFrame) -> str:
    """Precision beside the paper's."""
    sizes = list(dict.fromkeys(table["size"]))
    lines = []
    for method in (*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"):
        cells = []
        for size in sizes:
            row = table[(table["method"] == method) & (table["size"] == size)].to_dict("records")[0]
            known = method in PAPER and size in PAPER_SIZES
            paper = PAPER[method][PAPER_SIZES.index(size)] if known else None
            cells += [_percent(row), f"{paper[0]:.2f} ± {paper[1]:.2f}" if paper else ""]
        lines.append([method, *cells])
    columns = ["", *(f"{size} examples{whose}" for size in sizes for whose in ("", ", paper"))]
    return f"### Attribute detection\n\n{markdown(columns, lines)}"


def _difference_table(table: pd.DataFrame, against: str) -> str:
    chosen = table[table["against"] == against]
    lines = []
    for method, part in chosen.groupby("method", sort=False):
        rows = part.to_dict("records")
        lines.append([method, *(_points(row) for row in rows)])
    columns = ["", *(f"{size} examples" for size in dict.fromkeys(table["size"]))]
    return f"### Difference from {against}\n\n{markdown(columns, lines)}"


def _group_table(rows: list[Row]) -> pd.DataFrame:
    """Precision by group, learned apart and together, and what learning together adds."""
    tables = []
    start = 0
    for group, attributes in GROUPS.items():
        here = slice(start, start + len(attributes))
        start += len(attributes)
        for method in _with_mtfl([row["joint"]["precision"] for row in rows]).columns:
            source = "MTRL" if method == "MTFL" else method
            joint = [float(np.mean(row["joint"]["per_attribute"][source][here])) for row in rows]
            values = pd.DataFrame({"apart": [row[group]["precision"][source] for row in rows], "joint": joint})
            named = compare(values, "apart", part=f"{group}, {method}", size=rows[0]["size"])
            tables.append(named)
    return pd.concat(tables)


def _group_text(table: pd.DataFrame) -> str:
    """Colour and limb shape, beside the paper's."""
    lines = []
    places = [(group, way) for way in ("apart", "joint") for group in GROUPS]
    for method in (*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"):
        cells = []
        for place, (group, way) in enumerate(places):
            found = table[(table["part"] == f"{group}, {method}") & (table["method"] == way)].to_dict("records")[0]
            cells += [_percent(found), f"{PAPER_GROUPS[method][place]:.2f}" if method in PAPER_GROUPS else ""]
        lines.append([method, *cells])
    columns = ["", *(f"{group} {way}{whose}" for group, way in places for whose in ("", ", paper"))]
    return f"### Colour beside limb shape, {table['size'].iloc[0]} examples\n\n{markdown(columns, lines)}"


def _transfer_text(table: pd.DataFrame) -> str:
    lines = []
    for method in (*BASELINES, "MTFL", "MTRL", "OKL", "SKMTL"):
        of = [table[(table["part"] == f"{group}, {method}") & (table["method"] == "joint")] for group in GROUPS]
        cells = [_points(part.to_dict("records")[0]) for part in of]
        if method in PAPER_GROUPS:
            paper = PAPER_GROUPS[method]
            cells = [cells[0], f"{paper[2] - paper[0]:+.2f}", cells[1], f"{paper[3] - paper[1]:+.2f}"]
        else:
            cells = [cells[0], "", cells[1], ""]
        lines.append([method, *cells])
    columns = ["", *(f"{group}{whose}" for group in GROUPS for whose in ("", ", paper"))]
    return f"### What learning both groups together adds\n\n{markdown(columns, lines)}"


def _mass_table(rows: list[Row]) -> pd.DataFrame:
    """Share of the sizes of A off the diagonal that lies between the groups, per method that learns A."""
    n_colour = len(GROUPS["colour"])
    shares = {}
    for method in ("MTRL", "OKL", "SKMTL"):
        A = np.abs(np.array([row["joint"]["structure"][method] for row in rows]))
        A *= 1.0 - np.eye(A.shape[1])
        between = 2.0 * A[:, :n_colour, n_colour:].sum(axis=(1, 2))
        shares[method] = between / np.maximum(A.sum(axis=(1, 2)), 1e-300)
    return compare(pd.DataFrame(shares), "MTRL", part="mass of A between colour and limb", size=rows[0]["size"])


def _mass_text(table: pd.DataFrame) -> str:
    sizes = [len(group) for group in GROUPS.values()]
    pairs = sum(sizes) * (sum(sizes) - 1) // 2
    lines = [[row["method"], _percent(row)] for row in table.to_dict("records")]
    return (
        f"### Mass of A between the groups\n\nShare of the sum of sizes off the diagonal, in percent; of the pairs "
        f"{100 * sizes[0] * sizes[1] / pairs:.1f}% are between the groups.\n\n{markdown(['', 'between'], lines)}"
    )


def _percent(row: dict[Any, Any]) -> str:
    return f"{100 * row['mean']:.2f} ± {100 * row['deviation']:.2f}"


def _points(row: dict[Any, Any]) -> str:
    return in_words(row["difference"], row["low"], row["high"], scale=100, digits=2)


def _gain_figure(table: pd.DataFrame) -> Any:
    """What each method adds to independent tasks, ours and the paper's."""
    figure, axis = new_figure()
    sizes = list(dict.fromkeys(table["size"]))
    for place, (method, colour) in enumerate((("MTRL", "C1"), ("OKL", "C2"), ("SKMTL", "C3"))):
        of = table[(table["against"] == "STL") & (table["method"] == method)]
        x = np.arange(len(sizes)) + 0.12 * (place - 1)
        spread = 100 * np.array([of["difference"] - of["low"], of["high"] - of["difference"]])
        axis.errorbar(x, 100 * of["difference"], np.nan_to_num(spread, posinf=0.0), fmt="o", color=colour, capsize=3,
                      label=method)  # fmt: skip
        paper = [PAPER[method][k][0] - PAPER["STL"][k][0] for k in range(3)]
        if sizes == list(PAPER_SIZES):
            axis.plot(x, paper, "x", color=colour, label=f"{method}, paper")
    axis.axhline(0.0, color="0.6", lw=1)
    axis.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="examples per attribute")
    axis.set_ylabel("points over STL (95% intervals)")
    axis.legend(frameon=False, ncols=3, fontsize=9)
    return figure


def _structure_figure(rows: list[Row]) -> Any:
    """Mean size of the correlations in A, colour first, per method."""
    figure, axes = new_figure(1, 3, figsize=(11, 3.8))
    n_colour = len(GROUPS["colour"])
    for axis, method in zip(axes, ("MTRL", "OKL", "SKMTL"), strict=True):
        A = np.abs(np.array([row["joint"]["structure"][method] for row in rows]))
        size = np.sqrt(np.einsum("rtt->rt", A))
        mean = (A / (size[:, :, None] * size[:, None, :])).mean(axis=0)
        image = axis.imshow(np.where(np.eye(len(mean)) > 0.0, np.nan, mean), vmin=0.0, cmap="viridis")
        axis.axhline(n_colour - 0.5, color="white", lw=1.5)
        axis.axvline(n_colour - 0.5, color="white", lw=1.5)
        axis.set(title=method, xticks=[3.5, 10.5], yticks=[3.5, 10.5], xticklabels=GROUPS, yticklabels=GROUPS)
        figure.colorbar(image, ax=axis, shrink=0.75)
    figure.suptitle(r"Mean of $|A_{ts}| / \sqrt{A_{tt} A_{ss}}$ over repetitions")
    return figure
