"""What ``intervals.py`` found, as tables in Markdown."""

import numpy as np

from skmtl.model_selection.verdict import paired_interval

VARIANTS = {"complete": "All labels", "half": "Half of the labels removed"}
COVERAGES = (0.5, 0.8, 0.9, 0.95)
# Shares of labels at an end of their interval from which on a set is named, in percent.
NOTABLE = 0.1


def render(rows, sets):
    """Tables of coverage, of labels shared by many rows, of widths, and of conditioning, each for both variants.

    A target whose training labels in a split are all one value says nothing about intervals: it is left out of the
    shares of that split, and ``readings_table`` has them with it.
    """
    own, others = (keep(rows, method="skmtl"), [row for row in rows if row["method"] != "skmtl"])
    parts = []
    for make in (coverage_table, readings_table, ends_table, targets_table, width_table, conditioning_table):
        for variant, title in VARIANTS.items():
            lines = make(keep(own, variant=variant), keep(others, variant=variant), sets)
            parts.append(f"{title}: {make.__doc__}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def keep(rows, **values):
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def by_set(rows, sets):
    """The rows of each set that has any."""
    found = [(name, keep(rows, set=name)) for name in sets]
    return [(name, of) for name, of in found if of]


def heading(*names):
    return ["| " + " | ".join(names) + " |", "| --- | " + " | ".join(["---:"] * (len(names) - 1)) + " |"]


def mean_of(rows, coverage, key, kind="intervals"):
    """The mean over splits; NaN where there is none."""
    return mean_known([row[kind][str(coverage)][key] for row in rows])


def mean_known(values):
    return float(np.mean([value for value in values if value is not None] or [np.nan]))


def share_of(rows, coverage, kind="intervals"):
    """The mean over splits of the share of labels covered, of targets that can be judged there."""
    return mean_known([judged_share(row, coverage, kind) for row in rows])


def judged_share(row, coverage, kind):
    """The share of labels covered in one split, of targets that have more than one value to learn from; or None."""
    shares = row[kind][str(coverage)]["by target"]
    if shares is None:
        return None
    kept = [share for share, target in zip(shares, row["targets"], strict=True) if not target["alone"]]
    return float(np.mean(kept)) if kept else None


def coverage_table(own, others, sets):
    """labels covered, in percent; in brackets by the standard deviation and a Gaussian alone."""
    lines = heading("set", "rows", "tasks", "splits", *[f"{100 * c:.0f}%" for c in COVERAGES], "error")
    means = []
    for name, of in by_set(own, sets):
        shares = [[100.0 * share_of(of, c, kind) for c in COVERAGES] for kind in ("intervals", "gaussian")]
        means.append(shares)
        error = ", ".join(f"{one:.1f}" for one in binomial_errors(of))
        lines.append(f"| {name} | {of[0]['rows']} | {of[0]['tasks']} | {len(of)} | {cells(*shares)} | {error} |")
    if means:
        lines.append(f"| mean | | | | {cells(*np.nanmean(means, axis=0))} | |")
    return lines


def cells(ours, other):
    return " | ".join("none" if np.isnan(a) else f"{a:.1f} ({b:.1f})" for a, b in zip(ours, other, strict=True))


def readings_table(own, others, sets):
    """labels covered without targets that have one value to learn from, and in brackets with them."""
    lines = heading("set", "left out", *[f"{100 * c:.0f}%" for c in COVERAGES])
    means = []
    for name, of in by_set(own, sets):
        readings = np.transpose([[100.0 * share_of(of, c), 100.0 * mean_of(of, c, "covered")] for c in COVERAGES])
        means.append(readings)
        left_out = sum(target["alone"] for row in of for target in row["targets"])
        if left_out:
            lines.append(f"| {name} | {left_out} of {len(of) * of[0]['tasks']} | {cells(*readings)} |")
    if means:
        lines.append(f"| mean of all sets | | {cells(*np.nanmean(means, axis=0))} |")
    return lines


def binomial_errors(rows):
    """Standard errors in percent of shares of 50 and 90%, as if the labels of a row were covered together or not.

    However many splits there are, they test no more rows than the set has: those of some split are counted once.
    """
    share = np.mean([row["tested"] / row["of"] for row in rows])
    distinct = rows[0]["of"] * (1.0 - (1.0 - share) ** len(rows))
    return [100.0 * np.sqrt(c * (1.0 - c) / distinct) for c in (0.5, 0.9)]


def ends_table(own, others, sets):
    """labels covered without those at an end of their interval, and with them, where that makes a difference."""
    lines = heading("set", *[f"{100 * c:.0f}%" for c in COVERAGES])
    for name, of in by_set(own, sets):
        within, covered = ([100.0 * mean_of(of, c, key) for c in COVERAGES] for key in ("within", "covered"))
        if np.nanmax(np.subtract(covered, within)) > NOTABLE:
            lines.append(
                f"| {name} | " + " | ".join(f"{a:.1f} to {b:.1f}" for a, b in zip(within, covered, strict=True)) + " |"
            )
    return lines


def targets_table(own, others, sets):
    """targets of which one value has more than nine tenths: labels covered by intervals of 50%, in percent."""
    # Splits in which all training labels are that value are apart from the others.
    lines = heading("set", "target", "that value", "alone in", "covered", "not in", "covered", "that value", "others")
    for name, of in by_set(own, sets):
        for t in range(of[0]["tasks"]):
            found = [row["targets"][t] for row in of]
            common, other = (sum(one[key] for one in found) for key in ("common", "other"))
            if common > 9 * other:
                alone, mixed = ([one for one in found if one["alone"] is is_so] for is_so in (True, False))
                share = f"{100.0 * common / (common + other):.1f}"
                parts = [percent(mixed, keys) for keys in (("common", "other"), ("common",), ("other",))]
                values = [share, len(alone), percent(alone), len(mixed), *parts]
                lines.append(f"| {name} | {t + 1} | " + " | ".join(str(value) for value in values) + " |")
    return lines


def percent(found, keys=("common", "other")):
    """Labels covered."""
    total = sum(one[key] for one in found for key in keys)
    return f"{100.0 * sum(one[f'{key} covered'] for one in found for key in keys) / total:.1f}" if total else ""


def width_table(own, others, sets):
    """mean width of 90% intervals; in brackets labels covered, and after them the width at 90% exactly."""
    lines = heading("set", "splits", "intervals", "quantile forest", "GPyTorch ICM")
    for name, of in by_set(others, sets):
        compared = {row["split"] for row in of}
        kinds = [[row for row in keep(own, set=name) if row["split"] in compared]]
        kinds += [keep(of, method=method) for method in ("forest", "icm")]
        lines.append(f"| {name} | {len(compared)} | " + " | ".join(width(some) for some in kinds) + " |")
    return lines


def width(rows):
    w, covered, even = (mean_of(rows, 0.9, key) for key in ("width", "covered", "even"))
    return "" if np.isnan(w) else f"{w:.2f} ({100.0 * covered:.0f}) {even:.2f}"


def conditioning_table(own, others, sets):
    """root mean squared error of half of the tasks, the others known."""
    lines = heading("set", "without", "with", "difference (95%)", "%")
    for name, of in by_set(own, sets):
        without, told = (np.array([row["conditioned"][key] for row in of]) for key in ("without", "with"))
        differences = told - without
        # Splits share rows, and so their differences are not independent.
        (low,), (high,) = paired_interval(differences[:, None], of[0]["tested"] / of[0]["rows"], 0.95)
        lines.append(
            f"| {name} | {without.mean():.4f} | {told.mean():.4f} | {differences.mean():+.4f} "
            f"[{low:+.4f}, {high:+.4f}] | {100.0 * differences.mean() / without.mean():+.1f} |"
        )
    return lines
