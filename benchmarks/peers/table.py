"""Tables and the picture of a run: errors, average ranks with the critical difference, time and memory."""

from collections import defaultdict

import numpy as np
from problems import LABEL_SETS, TARGET_SETS
from scipy.stats import studentized_range

NAMES = {
    "own": "skmtl",
    "ridge": "RidgeCV",
    "kernel_ridge": "KernelRidge",
    "multiple_kernels": "himalaya",
    "chains": "chains",
    "extra_trees": "ExtraTrees",
    "random_forest": "RandomForest",
    "hist_boosting": "HistGradientBoosting",
    "boosted_targets": "CatBoost",
    "coregion": "GPyTorch ICM",
}
LEVEL = 0.05


def render(rows, picture=None):
    """All tables as Markdown."""
    parts, ranked = [], {}
    for title, sets, removed in (
        ("All labels", TARGET_SETS, 0.0),
        ("Half of the labels removed", TARGET_SETS, 0.5),
        ("80% of the labels removed", TARGET_SETS, 0.8),
        ("Multi-label sets", LABEL_SETS, 0.0),
    ):
        some = [row for row in rows if row["set"] in sets and row["removed"] == removed]
        if some:
            text, ranks = table(title, sets, some)
            parts.append(text)
            if ranks is not None:
                ranked[title] = ranks
    parts.append(reasons(rows))
    parts.append(versions(rows))
    if picture is not None and ranked:
        draw(ranked, picture)
    return "\n\n".join(parts)


def table(title, sets, rows):
    """Errors of every method on every set, and the ranks of those that were run on all of them."""
    more_is_better = rows[0]["set"] in LABEL_SETS
    values, spent = means(rows, "value"), means(rows, "cpu")
    methods = [method for method in NAMES if any((name, method) in values for name in sets)]
    sets = [name for name in sets if any((name, method) in values for method in methods)]
    lines = [f"### {title}", "", header(["set", "splits", *(NAMES[method] for method in methods)])]
    for name in sets:
        here = {method: values[name, method] for method in methods if (name, method) in values}
        best = (max if more_is_better else min)(here.values())
        n_splits = len({row["split"] for row in rows if row["set"] == name})
        cells = [_mark(here[method], best) if method in here else "" for method in methods]
        lines.append(line([name, str(n_splits), *cells]))
    # Of a method that was not run on all of them an average rank would say something else.
    sets = [name for name in sets if (name, "own") in values]
    everywhere = [method for method in methods if all((name, method) in values for name in sets)]
    ranks = average_ranks(values, sets, everywhere, more_is_better) if sets else {}
    for label, entry in (
        ("average rank", lambda m: f"{ranks[m]:.2f}" if m in ranks else ""),
        ("processor seconds", lambda m: f"{sum(spent[s, m] for s in sets):.0f}" if m in everywhere else ""),
        ("largest growth, MB", lambda m: str(max((row["megabytes"] for row in rows if _is(row, m)), default=""))),
    ):
        lines.append(line([label, "", *(entry(method) for method in methods)]))
    text = "\n".join(lines)
    if sets and len(everywhere) > 1:
        text += "\n\n" + beside_best(values, sets, methods, more_is_better)
        difference = critical_difference(len(everywhere), len(sets))
        text += f" Ranks of {len(everywhere)} methods on {len(sets)} sets differ beyond chance by {difference:.2f}."
        text += " " + against_each(values, sets, methods, more_is_better)
        return text, (ranks, difference)
    return text, None


def means(rows, key):
    """The mean over splits for every set and method that has all splits of the set."""
    found, splits = defaultdict(list), defaultdict(set)
    for row in rows:
        splits[row["set"]].add(row["split"])
        if "value" in row:
            found[row["set"], row["method"]].append(row[key])
    return {pair: float(np.mean(some)) for pair, some in found.items() if len(some) == len(splits[pair[0]])}


def average_ranks(values, sets, methods, more_is_better):
    """Equal values share their ranks."""
    sign = -1.0 if more_is_better else 1.0
    ranks = np.zeros(len(methods))
    for name in sets:
        column = sign * np.array([values[name, method] for method in methods])
        ranks += 0.5 * (1 + (column[:, None] > column).sum(axis=1) + (column[:, None] >= column).sum(axis=1))
    return dict(zip(methods, ranks / len(sets), strict=True))


def critical_difference(n_methods, n_sets):
    """Average ranks that differ by less are not told apart (Nemenyi; Demsar, JMLR 2006)."""
    quantile = studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def beside_best(values, sets, methods, more_is_better):
    """How far skmtl is from the best of the others, set by set."""
    worst = []
    for name in sets:
        others = {method: values[name, method] for method in methods if method != "own" and (name, method) in values}
        best = (max if more_is_better else min)(others, key=others.get)
        ratio = values[name, "own"] / others[best]
        worst.append((1 / ratio if more_is_better else ratio, name, NAMES[best]))
    behind = [
        f"{name} {100 * (ratio - 1):+.0f}% ({best})" for ratio, name, best in sorted(worst, reverse=True) if ratio > 1.1
    ]
    first = sum(ratio <= 1.0 for ratio, _, _ in worst)
    text = f"skmtl is ahead of every other method on {first} of {len(sets)} sets"
    return f"{text}; more than 10% behind the best one on {len(behind)}{': ' if behind else ''}{', '.join(behind)}."


def against_each(values, sets, methods, more_is_better):
    """On how many sets skmtl is ahead of each other method, of those that the method was run on."""
    sign, parts = -1.0 if more_is_better else 1.0, []
    for method in methods:
        both = [name for name in sets if (name, method) in values]
        ahead = sum(sign * values[name, "own"] < sign * values[name, method] for name in both)
        parts += [] if method == "own" else [f"{NAMES[method]} {ahead} of {len(both)}"]
    return f"Sets on which skmtl is ahead, of those that both have: {', '.join(parts)}."


def reasons(rows):
    """Why methods were not run."""
    found = defaultdict(set)
    for row in rows:
        if "skipped" in row:
            found[row["method"], row["skipped"]].add(row["set"])
    lines = [f"- {NAMES[method]}: {why} ({', '.join(sorted(sets))})" for (method, why), sets in sorted(found.items())]
    return "Not run:\n\n" + "\n".join(lines) if lines else ""


def versions(rows):
    found = sorted({f"{name} {number}" for row in rows for name, number in row.get("versions", {}).items()})
    return f"Versions: {', '.join(found)}."


def header(cells):
    return line(cells) + "\n" + line(["---"] + ["---:"] * (len(cells) - 1))


def line(cells):
    return f"| {' | '.join(cells)} |"


def _mark(value, best):
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def _is(row, method):
    return row["method"] == method and "value" in row


def draw(ranked, file):
    """Average ranks on a line, methods that are not told apart from the best one under a bar."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(ranked), 1, figsize=(8, 2.3 * len(ranked)), squeeze=False, layout="constrained")
    for ax, (title, (ranks, difference)) in zip(axes[:, 0], ranked.items(), strict=True):
        ordered = sorted(ranks.items(), key=lambda item: item[1])
        for k, (method, rank) in enumerate(ordered):
            height = 0.7 + 0.45 * k
            ax.plot([rank, rank], [0, height], color="0.6", lw=0.8)
            weight = "bold" if method == "own" else "normal"
            ax.text(rank, height, f"{NAMES[method]} {rank:.1f}", ha="center", va="bottom", fontsize=8, weight=weight)
        first = ordered[0][1]
        ax.plot([first, first + difference], [0.35, 0.35], color="C3", lw=3, solid_capstyle="butt")
        ax.axhline(0, color="k", lw=0.8)
        ax.set(title=title, ylim=(0, 5.4), xlim=(0.8, len(ranks) + 0.2), yticks=[])
        ax.spines[["top", "left", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel("average rank; the bar is the critical difference from the best")
    figure.savefig(file, dpi=120)
