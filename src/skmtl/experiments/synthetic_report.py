"""Tables and figures of the experiments on artificial tasks."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score

from skmtl.experiments.runs import Row
from skmtl.experiments.selection import Params
from skmtl.experiments.tables import compare, find, format_difference, markdown, new_figure, save_figure, write_tables

PER_TASK = "STL per task"
ORDER = ("STL", PER_TASK, "MTRL", "OKL", "SKMTL", "GT")
OURS = "SKMTL"
READING = "reading: "
MEASURES = {"per_task": "nMSE, mean over tasks", "pooled": "nMSE, pooled over tasks"}
# The first graph is the one that predicts best; the last one is to be looked at.
RULES = {"best": "best score", "1se": "sparsest within one standard error", "stable": "found in nine of ten halves"}


def report(folder: Path, rows: list[Row], settings: Params) -> None:
    """Write tables and figures."""
    errors = [row for row in rows if row["part"] == "errors"]
    recovered = [row for row in rows if row["part"] == "recovery"]
    order = _tested(errors[0])
    table = pd.concat(
        compare(pd.DataFrame([row[measure] for row in errors if row["support"] == support])[order], OURS,
                measure=measure, support=support)
        for measure in MEASURES
        for support in settings["supports"]
    )  # fmt: skip
    found = _found(recovered)
    text = [_describe(settings), *(_table(table, measure, order) for measure in MEASURES), _recovery_table(found)]
    frames = [table, found]
    readings = [row for row in rows if row["part"].startswith(READING)]
    if readings:
        frames.append(_reading_frame(readings))
        text.append(_reading_tables(frames[-1]))
    write_tables(folder, "\n\n".join(text), pd.concat(frames))
    save_figure(_error_figure(table), folder, "sparsity")
    save_figure(_recovery_figure(recovered[0]), folder, "recovered")


def _tested(row: Row) -> list[str]:
    """The methods that a run has; earlier ones have no single tasks with alphas of their own."""
    return [method for method in ORDER if method in row["per_task"]]


def _reading_frame(rows: list[Row]) -> pd.DataFrame:
    """Support and errors of every reading; errors are means over tasks."""
    parts = []
    for part in dict.fromkeys(row["part"] for row in rows):
        of = [row for row in rows if row["part"] == part]
        errors = pd.DataFrame([row["per_task"] for row in of])[_tested(of[0])]
        ranked = pd.DataFrame([row["ranked"] for row in of])
        labels = {"support": of[0]["support"], "reading": part.removeprefix(READING)}
        parts += [compare(errors, against, measure="per_task", **labels) for against in (OURS, "STL")]
        parts += [compare(ranked, "corrupted", measure="average precision of pairs", **labels)]
    return pd.concat(parts)


def _reading_tables(frame: pd.DataFrame) -> str:
    """How well the support is found, and what is gained, reading by reading."""
    ranks, errors, gains = [], [], []
    for reading in dict.fromkeys(frame["reading"]):
        of = frame[frame["reading"] == reading]
        ranked = of[of["measure"] != "per_task"]
        both = [find(ranked, method=method) for method in ("learned", "corrupted")]
        ranks.append([reading, *(f"{row['mean']:.3f} ± {row['error']:.3f}" for row in both),
                      format_difference(both[0])])  # fmt: skip
        others = [method for method in ORDER if method in set(of["method"])]
        errors.append([reading, *(f"{find(of, method=method)['mean']:.3f}" for method in others)])
        gains.append([reading, *(format_difference(find(of, method=m, against=OURS)) for m in others if m != OURS)])
    title = f"### Other readings, {frame['support'].iloc[0]:.0%} nonzero"
    return "\n\n".join(
        [
            f"{title}: average precision of related pairs",
            markdown(["", "ranked by SKMTL", "ranked by the corrupted structure", "difference"], ranks),
            f"{title}: nMSE, mean over tasks",
            markdown(["", *others], errors),
            f"{title}: differences",
            markdown(["", *(f"{method} less {OURS}" for method in others if method != OURS)], gains),
        ]
    )


def _describe(settings: Params) -> str:
    low, high = settings["n_tasks"]
    return (
        f"{settings['n_seeds']} seeds per sparsity, {low} to {high} tasks, {settings['n_samples']} rows to learn from, "
        f"{settings['n_test']} to test on. Means and differences have their standard errors, differences also their "
        "95% intervals over seeds, in bold where zero is outside; a positive one speaks for SKMTL."
    )


def _table(table: pd.DataFrame, measure: str, order: list[str]) -> str:
    """Means of all methods and differences from ours, a row per sparsity."""
    others = [method for method in order if method != OURS]
    lines = []
    for support, part in table[table["measure"] == measure].groupby("support"):
        of: dict[Any, Any] = part.set_index("method").to_dict("index")
        means = [f"{of[m]['mean']:.3f} ± {of[m]['error']:.3f}" for m in order]
        lines.append([f"{support:.0%}", *means, *(format_difference(of[m]) for m in others)])
    columns = ["nonzero", *order, *(f"{method} less {OURS}" for method in others)]
    return f"### {MEASURES[measure]}\n\n{markdown(columns, lines)}"


def _found(rows: list[Row]) -> pd.DataFrame:
    """Precision and recall of the support, and of pairs ranked by size, averaged over seeds."""
    columns = {f"{name}, {RULES[rule]}": [row["support_of"][rule][name] for row in rows]
               for rule in rows[0]["learned"] for name in ("precision", "recall", "edges")}  # fmt: skip
    columns["average precision of pairs ranked by size, best score"] = [
        rank_pairs(row["true"], row["learned"]["best"]) for row in rows
    ]
    columns["the same, ranked by the corrupted structure itself"] = [
        rank_pairs(row["true"], row["corrupted"]) for row in rows
    ]
    columns["share of pairs that are related"] = [rank_pairs(row["true"], np.zeros_like(row["true"])) for row in rows]
    parts = [compare(pd.DataFrame({OURS: of}), OURS, measure=name) for name, of in columns.items()]
    table = pd.concat(parts)
    table.insert(1, "support", rows[0]["support"])
    return table


def rank_pairs(true: ArrayLike, A: ArrayLike) -> float:
    """Average precision of the related pairs when all are ranked by the size of A."""
    pairs = np.triu_indices(len(np.asarray(true)), 1)
    return float(average_precision_score(np.asarray(true)[pairs] != 0.0, np.abs(np.asarray(A)[pairs])))


def _recovery_table(found: pd.DataFrame) -> str:
    lines = [[row.measure, f"{row.mean:.3f} ± {row.error:.3f}"] for row in found.itertuples(index=False)]
    return f"### Support recovered\n\n{markdown(['mean over seeds', OURS], lines)}"


def _error_figure(table: pd.DataFrame) -> Any:
    """nMSE against sparsity, with the standard deviation over seeds as in the paper."""
    figure, axes = new_figure(1, 2, figsize=(10.5, 4.2), sharey=True)
    for axis, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        for place, method in enumerate(ORDER):
            of = table[(table["measure"] == measure) & (table["method"] == method)]
            x = of["support"] + 0.012 * (place - 2)
            axis.errorbar(x, of["mean"], of["deviation"], label=method, marker="o", markersize=4, capsize=2, lw=1.5)
        axis.set(title=title, xlabel="share of nonzero entries in the structure")
    axes[0].set_ylabel("error (bars: one standard deviation)")
    axes[1].legend(frameon=False, ncols=2)
    return figure


def _recovery_figure(row: Row) -> Any:
    """The true structure beside what was learned, each in units of its largest entry."""
    shown = {"true": row["true"], "true, corrupted": row["corrupted"]}
    for rule in row["learned"]:
        judged, purpose = row["support_of"][rule], "to look at" if rule == "stable" else "to predict"
        mu, precision, recall = row["chosen"][rule]["mu"], judged["precision"], judged["recall"]
        title = f"SKMTL {purpose}:\n{RULES[rule]}\nmu = {mu:g}; precision {precision:.0%}, recall {recall:.0%}"
        shown[title] = row["learned"][rule]
    figure, axes = new_figure(1, len(shown), figsize=(3.3 * len(shown), 3.8))
    for axis, (title, matrix) in zip(axes, shown.items(), strict=True):
        A = np.abs(np.array(matrix))
        image = axis.imshow(np.where(A > 0.0, A / A.max(), np.nan), cmap="viridis", vmin=0.0, vmax=1.0)
        axis.set_title(title, fontsize=9)
        axis.set(xticks=[], yticks=[], facecolor="white")
    figure.colorbar(image, ax=axes, shrink=0.8, label="size; white is exactly zero")
    return figure
