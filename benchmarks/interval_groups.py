"""Intervals for new groups, such as new patients or schools: ``python benchmarks/interval_groups.py``.

Rows of a group have something in common that no other row tells of. Few groups are learned from, and intervals are
looked at in many others: those of a fit that was told the groups, and of one that takes every row for its own. Patients
are made for the purpose, 1 to 9 visits each and two targets; schools are those of the exam scores, DATA/school
(by default the environment variable SKMTL_DATA), whose pupils are predicted from their features and not from the
school. A group counts as much as another, however many rows it has. Without groups told, in brackets.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from interval_tables import heading
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskRegressor
from skmtl.datasets import load_school

COVERAGES = (0.5, 0.8, 0.9)
N_GROUPS = (12, 20, 40)


def main():
    arguments = parse_arguments()
    print("\n".join(heading("rows", "groups", *[f"{100 * c:.0f}%" for c in COVERAGES])))
    for name, draw in find_sources(arguments.data).items():
        for n_groups in N_GROUPS:
            drawn = (draw(np.random.default_rng(seed), n_groups) for seed in range(arguments.draws))
            shares = np.array([evaluate(*rows) for rows in drawn])
            cells = " | ".join(cell(part) for part in np.moveaxis(shares, 2, 0))
            print(f"| {name} | {n_groups} | {cells} |", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    parser.add_argument("--draws", type=int, default=100, help="draws of the groups to learn from (default 100)")
    return parser.parse_args()


def find_sources(data):
    """How rows are drawn; of schools only where the file is."""
    sources = {"patients": draw_patients}
    if data is not None and (Path(data) / "school" / "school.mat").is_file():
        school = load_school(Path(data) / "school")
        rows = StandardScaler().fit_transform(school.X), school.y[:, None], school.tasks
        sources["schools"] = lambda rng, n_groups: draw_schools(rows, rng, n_groups)
    return sources


def draw_patients(rng, n_groups, n_new=200):
    """Visits that look alike, and labels with a part that belongs to the patient."""
    visits = rng.integers(1, 10, size=n_groups + n_new)
    group = np.repeat(np.arange(n_groups + n_new), visits)
    X = rng.normal(size=(n_groups + n_new, 3))[group] + 0.05 * rng.normal(size=(len(group), 3))
    own = rng.normal(size=(n_groups + n_new, 2))[group]
    return X, X[:, :2] + own + 0.1 * rng.normal(size=own.shape), group, group < n_groups


def draw_schools(rows, rng, n_groups, n_pupils=10):
    """At most so many pupils of each school."""
    X, y, group = rows
    schools = rng.permutation(np.unique(group))
    some = [rng.permutation(np.flatnonzero(group == one))[:n_pupils] for one in schools]
    kept, of = np.concatenate(some), np.repeat(np.arange(len(schools)), [len(part) for part in some])
    return X[kept], y[kept], of, of < n_groups


def evaluate(X, Y, group, train):
    """Shares of labels in new groups that are covered, without and with groups told, (2, len(COVERAGES))."""
    result = []
    for told in ({}, {"groups": group[train]}):
        model = MultiTaskRegressor(kernel="rbf", gamma=0.3 / X.shape[1], alpha=1e-2).fit(X[train], Y[train], **told)
        shares = []
        for coverage in COVERAGES:
            low, high = model.predict_interval(X[~train], coverage=coverage)
            covered = np.mean((low <= Y[~train]) & (Y[~train] <= high), axis=1)
            shares.append(np.mean([covered[group[~train] == g].mean() for g in np.unique(group[~train])]))
        result.append(shares)
    return result


def cell(shares):
    """With groups told, its standard error, and in brackets without, in percent."""
    without, told = 100.0 * shares.T
    return f"{told.mean():.1f} ± {told.std() / np.sqrt(len(told)):.1f} ({without.mean():.1f})"


if __name__ == "__main__":
    main()
