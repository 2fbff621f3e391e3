"""Public sets, cut into training and test parts that every competitor gets alike."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import loadmat
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl.datasets import load_mulan

# Smallest first.
TARGET_SETS = (
    *("andro", "slump", "edm", "sf1", "jura", "enb", "sf2", "scpf"),
    *("atp1d", "oes97", "sarcos", "rf1", "osales"),
)
LABEL_SETS = ("flags", "yeast", "scene", "medical", "enron", "Corel5k", "bibtex")
# Files of the label sets; those in two parts have one train-test split, of which the first part is taken.
PARTS = {"yeast": "yeast-train", "scene": "scene-train", "Corel5k": "Corel5k-train-sparse"}
# Share of the training labels that is removed, each task keeping rows of its own.
REMOVED = (0.0, 0.5, 0.8)
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 600, 1000
# Labels with fewer positive training rows are left out: no method can learn them, and precision is noise.
LEAST_POSITIVE = 5


@dataclass(frozen=True)
class Problem:
    """A training part and a test part; ``groups`` names the column of the table that each feature was made of."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray
    groups: np.ndarray
    classes: bool

    @property
    def complete(self):
        return not np.isnan(self.Y).any()


def make_problem(data, name, removed, split):
    """Rows split at random, features imputed, one-hot encoded and standardized as the training part is."""
    table, Y = load(Path(data), name)
    train, test = train_test_split(np.arange(len(table)), test_size=1 / 3, random_state=split)
    train, test = train[:MOST_TRAINING_ROWS], test[:MOST_TEST_ROWS]
    prepare = make_preparation().fit(table.iloc[train])
    X, X_test = (np.asarray(prepare.transform(table.iloc[part]), dtype=float) for part in (train, test))
    groups = np.array([column.rpartition("=")[0] for column in prepare.get_feature_names_out()])
    if name in LABEL_SETS:
        known = [t for t in range(Y.shape[1]) if _is_learnable(Y[train, t], Y[test, t])]
        return Problem(X, Y[np.ix_(train, known)], X_test, Y[np.ix_(test, known)], groups, True)
    scale = StandardScaler().fit(Y[train])
    rng = np.random.default_rng([split, round(10 * removed), TARGET_SETS.index(name)])
    return Problem(
        X, remove_labels(scale.transform(Y[train]), removed, rng), X_test, scale.transform(Y[test]), groups, False
    )


def load(data, name):
    """A frame of features and an array of targets."""
    if name == "sarcos":
        table = loadmat(data / "sarcos" / "sarcos_inv_test.mat")["sarcos_inv_test"]
        return pd.DataFrame(table[:, :21]).add_prefix("x"), table[:, 21:]
    kind = "multi-label" if name in LABEL_SETS else "multi-target"
    content = load_mulan(data / "mulan" / kind / f"{PARTS.get(name, name)}.arff")
    return content.X, content.Y.to_numpy(dtype=float)


def make_preparation():
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=_join)
    # Names end with "=": what stands before it is the column.
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
        verbose_feature_names_out=lambda name, column: column if "=" in column else f"{column}=",
    )


def _join(column, category):
    return f"{column}={str(category).replace('=', '')}"


def remove_labels(Y, share, rng):
    """Each task keeps rows of its own, drawn apart from those of the others."""
    if share == 0.0:
        return Y
    n_kept = round((1.0 - share) * len(Y))
    kept = np.full_like(Y, np.nan)
    for t in range(Y.shape[1]):
        rows = rng.choice(len(Y), n_kept, replace=False)
        kept[rows, t] = Y[rows, t]
    return kept


def _is_learnable(train, test):
    return LEAST_POSITIVE <= train.sum() <= len(train) - LEAST_POSITIVE and 0 < test.sum() < len(test)
