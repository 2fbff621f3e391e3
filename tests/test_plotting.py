"""Displays draw the numbers they are given, and tasks are arranged by their relations."""

import itertools
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex
from reports import ALIKE, HOSTILE, everything, named_tasks

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, compare_methods, structure_path
from skmtl._notebook import OPPOSITE, SAME
from skmtl.penalties import Sparse
from skmtl.plotting import ComparisonDisplay, GraphDisplay, ImportanceDisplay, MatrixDisplay, PathDisplay, arrange
from skmtl.plotting.canvas import VERDICTS
from skmtl.report import render, summarize

NAMES = list("abcdef")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def full():
    return everything(np.random.default_rng(0), NAMES, n_groups=2)


def blocks(*sizes, alone=0, weight=0.5):
    """A structure of blocks in which all tasks are related, and of tasks on their own."""
    A = np.eye(sum(sizes) + alone)
    start = 0
    for size in sizes:
        A[start : start + size, start : start + size] += weight
        start += size
    return A


def test_blocks_are_groups_in_any_order(rng):
    A = blocks(4, 3, 2, alone=2)
    truth = np.repeat([0, 1, 2, -1], [4, 3, 2, 2])
    for _ in range(5):
        shuffle = rng.permutation(len(A))
        found = arrange(A[np.ix_(shuffle, shuffle)])
        np.testing.assert_array_equal(found.groups, truth[shuffle])
        np.testing.assert_array_equal(found.groups[found.order], truth)
        np.testing.assert_array_equal(found.borders(), [4, 7, 9])
        assert found.n_groups == 3


def test_the_sign_of_relations_does_not_divide_groups():
    A = blocks(3, 3, weight=-0.3)
    np.testing.assert_array_equal(arrange(A).groups, [0, 0, 0, 1, 1, 1])


def test_places_are_in_the_square_and_apart():
    found = arrange(blocks(6, 5, 4, alone=3))
    related = found.groups >= 0
    assert np.isnan(found.places[~related]).all()
    places = found.places[related]
    assert places.min() == 0.0
    assert places.max() == 1.0
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    assert distances[np.triu_indices(len(places), 1)].min() > 0.02
    # Tasks of one block stand nearer to one another than to the others.
    same = found.groups[related][:, None] == found.groups[related]
    assert distances[same & (distances > 0)].mean() < 0.6 * distances[~same].mean()


def test_a_chain_is_not_cut_at_its_strongest_relation():
    A = np.eye(5)
    for i, weight in enumerate([0.5, 0.9, 0.4]):
        A[i, i + 1] = A[i + 1, i] = weight
    assert arrange(A).groups.tolist() == [0, 0, 0, 0, -1]
    # It lies along the width of a picture, one task after the other.
    x, y = arrange(A).places[:4].T
    assert x.min() == 0.0
    assert x.max() == 1.0
    assert np.all(np.diff(x) > 0.1) or np.all(np.diff(x) < -0.1)
    assert np.ptp(y) < 0.5
    # Two groups with a weak relation between them stay two.
    A = blocks(3, 3)
    A[2, 3] = A[3, 2] = 0.5 * A[0, 1]
    assert arrange(A).groups.tolist() == [0, 0, 0, 1, 1, 1]


def test_names_in_a_graph_do_not_lie_upon_one_another():
    """Of a chain, and of tasks without relations that stand in a row."""
    A = np.eye(12)
    for i, weight in enumerate([0.5, 0.9, 0.4]):
        A[i, i + 1] = A[i + 1, i] = weight
    display = GraphDisplay(A, [f"quantity {t} of plant {t}" for t in range(12)]).plot()
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert len(boxes) == 12
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_an_arrangement_is_always_the_same():
    A = blocks(5, 4, alone=1) + 0.01 * blocks(10)
    for name in ("groups", "order", "places"):
        np.testing.assert_array_equal(getattr(arrange(A), name), getattr(arrange(A.copy()), name))


@pytest.mark.parametrize("A", [np.eye(1), np.eye(4), np.zeros((3, 3)), np.ones((2, 2))])
def test_small_and_empty_graphs_are_arranged(A):
    found = arrange(A)
    assert sorted(found.order) == list(range(len(A)))
    np.testing.assert_array_equal(found.groups >= 0, np.count_nonzero(A - np.diag(np.diag(A)), axis=0) > 0)
    GraphDisplay(A, np.arange(len(A))).plot()
    GraphDisplay(A, [" " * (k + 1) for k in range(len(A))]).plot()


def test_arranging_leaves_the_structure_alone():
    A = blocks(3, 2)
    arrange(A)
    np.testing.assert_array_equal(A, blocks(3, 2))


def test_a_graph_has_a_line_per_relation(full):
    est, _ = full
    display = GraphDisplay.from_estimator(est)
    drawn = [line for line in display.ax_.lines if len(line.get_xdata()) == 2]
    relations = est.relations()
    assert len(drawn) == len(relations)
    colors = [to_hex(line.get_color()) for line in drawn]
    assert colors.count(SAME) == (relations["weight"] > 0).sum()
    assert colors.count(OPPOSITE) == (relations["weight"] < 0).sum() > 0
    widths = [line.get_linewidth() for line in drawn]
    assert widths == sorted(widths)
    assert widths[-1] > widths[0]
    assert [text.get_text() for text in display.ax_.texts] == NAMES


@pytest.mark.parametrize("kind", ["structure", "correlation"])
def test_a_matrix_is_that_of_the_estimator_in_another_order(kind, full):
    est, _ = full
    display = MatrixDisplay.from_estimator(est, kind=kind)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    order = [NAMES.index(name) for name in names]
    matrix = getattr(est, f"{kind}_")
    np.testing.assert_array_equal(display.image_.get_array(), matrix[np.ix_(order, order)])
    groups = arrange(est.structure_).groups[order]
    assert len(set(groups)) == 1 + np.count_nonzero(np.diff(groups))


def test_the_correlation_is_a_cosine(full):
    est, _ = full
    correlation = est.correlation_
    np.testing.assert_allclose(np.diag(correlation), 1.0)
    np.testing.assert_array_equal(correlation, correlation.T)
    assert np.linalg.eigvalsh(correlation).min() > -1e-12
    pair = est.relations().iloc[-1]
    a, b = NAMES.index(pair["task_a"]), NAMES.index(pair["task_b"])
    assert correlation[a, b] == pair["correlation"]


def test_a_path_display_has_two_roads(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor(Sparse(0.7))
    path = structure_path(est, X, Y, [0.3, 0.7], cv=3)
    for display in (PathDisplay.from_estimator(est, X, Y, [0.3, 0.7], cv=3), PathDisplay.from_path(path)):
        np.testing.assert_array_equal(display.axes_[0].lines[0].get_ydata(), path.n_edges)
        np.testing.assert_allclose(display.axes_[1].lines[0].get_ydata(), path.scores)
    without = PathDisplay.from_estimator(est, X, Y, [0.3, 0.7], cv=None)
    assert "without cv" in without.axes_[1].texts[0].get_text()
    with pytest.raises(ValueError, match="ax has 1 axes, but this picture needs 2"):
        display.plot(plt.figure().subplots())


def test_a_comparison_shows_every_task_and_verdict(full):
    comparison = full[1]["comparison"]
    display = ComparisonDisplay.from_comparison(comparison, method="trace")
    rows = comparison[comparison["method"] == "trace"]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == rows["task"].tolist()
    points = [line for line in display.ax_.lines if line.get_marker() == "o" and len(line.get_xdata())]
    np.testing.assert_array_equal([line.get_xdata()[0] for line in points], rows["difference"])
    assert [to_hex(line.get_color()) for line in points] == [VERDICTS[verdict] for verdict in rows["verdict"]]
    assert "R2 of trace less that of independent tasks" in display.ax_.get_xlabel()
    # The legend is above the axes: a title would lie upon it.
    assert display.ax_.get_title() == ""
    together = ComparisonDisplay.from_comparison(comparison)
    assert "R2 less that of independent tasks" in together.ax_.get_xlabel()
    drawn = sorted(
        float(line.get_xdata()[0])
        for line in together.ax_.lines
        if line.get_marker() in ("o", "s") and len(line.get_xdata())
    )
    np.testing.assert_array_equal(drawn, sorted(comparison["difference"]))
    named = [text.get_text() for text in together.ax_.get_legend().get_texts()]
    assert {"sparse", "trace"} <= set(named)
    with pytest.raises(ValueError, match="method='lasso' was not compared; choose one of sparse, trace"):
        ComparisonDisplay.from_comparison(comparison, method="lasso")


def test_tasks_without_a_score_are_named_and_not_drawn(full):
    comparison = full[1]["comparison"].query("method == 'trace'").reset_index(drop=True)
    unscored = comparison["task"] == "b"
    numbers = ["score", "independent", "constant", "difference", "low", "high"]
    comparison.loc[unscored, numbers] = np.nan
    comparison.loc[unscored, "verdict"] = "not judged"
    display = ComparisonDisplay.from_comparison(comparison)
    assert [label.get_text() for label in display.ax_.get_yticklabels()][1] == "b (not judged)"
    points = [line for line in display.ax_.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert len(points) == len(comparison) - 1
    assert "not judged" not in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_names_alike_stay_apart_in_pictures(rng):
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(*named_tasks(rng, ALIKE))
    shown = [text.get_text() for text in GraphDisplay.from_estimator(est).ax_.texts]
    rows = [label.get_text() for label in MatrixDisplay.from_estimator(est).ax_.get_yticklabels()]
    assert len(set(shown)) == len(set(rows)) == len(ALIKE)


def test_a_comparison_from_an_estimator(rng):
    X, Y = named_tasks(rng, NAMES)
    search = MultiTaskRegressorCV(alphas=[1e-2], mus=[0.7], eps_factors=[1.0], cv=2)
    display = ComparisonDisplay.from_estimator(search, X, Y, ["sparse"], cv=[(np.arange(40), np.arange(40, 80))])
    same = compare_methods(X, Y, ["sparse"], estimator=search, cv=[(np.arange(40), np.arange(40, 80))])
    np.testing.assert_array_equal(display.comparison["difference"], same["difference"])


def test_displays_draw_where_they_are_told(full):
    ax = plt.figure().subplots()
    assert GraphDisplay.from_estimator(full[0], ax=ax).ax_ is ax
    with pytest.raises(ValueError, match="kind='covariance' is not known; choose one of structure, correlation"):
        MatrixDisplay.from_estimator(full[0], kind="covariance")


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_names_start_no_formula(rng):
    names = [*HOSTILE, "$x^", "$$", "\\frac{"]
    est = MultiTaskRegressor(Sparse(0.7)).fit(*named_tasks(rng, names))
    graph, matrix = GraphDisplay.from_estimator(est), MatrixDisplay.from_estimator(est)
    shown = {
        graph: (graph.ax_.texts, names),
        matrix: (matrix.ax_.get_xticklabels(), [names[t] for t in matrix.arrangement.order]),
    }
    for display, (texts, expected) in shown.items():
        display.figure_.canvas.draw()
        written = [text.get_text() for text in texts]
        assert not any(is_math_text(text) for text in written)
        for text, name in zip(written, expected, strict=True):
            plain, written_out = " ".join(name.split()), text.replace(r"\$", "$")
            assert written_out[:12] == plain[:12]
            assert written_out[-10:] == plain[-10:]


@pytest.mark.parametrize("package", ["matplotlib.pyplot", "networkx", "jinja2"])
def test_what_is_not_installed_is_named(package, full, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'needs {package.split(".")[0]}.*pip install "\.\[app\]"'):
        render(summarize(full[0])) if package == "jinja2" else GraphDisplay.from_estimator(full[0])


def test_bars_are_the_largest_importances(rng):
    X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 2))
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-3).fit(X, Y)
    display = ImportanceDisplay.from_estimator(est, feature_names=[f"${k}" for k in range(30)])
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, np.sort(est.feature_importances_)[::-1][:20])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[0] == rf"\${np.argmax(est.feature_importances_)}"
    assert display.ax_.yaxis_inverted()


def test_a_graph_draws_what_can_be_seen(rng):
    names = [f"task {t}" for t in range(50)]
    est = MultiTaskRegressor("trace", tol=1e-3).fit(*named_tasks(rng, names, n=60, n_groups=5, noise=2.0))
    display = GraphDisplay.from_estimator(est)
    assert len([line for line in display.ax_.lines if len(line.get_xdata())]) == 100
    assert len(display.ax_.texts) == 40
    assert display.ax_.get_title() == "the graph that predicts (the 100 strongest of 1,225 relations)"


def test_the_graph_to_look_at_has_the_stable_edges(full):
    est, results = full
    display = GraphDisplay.from_stability(results["stability"], est.task_names_)
    assert len([line for line in display.ax_.lines if len(line.get_xdata())]) == results["stability"]["stable"].sum()
    assert "to look at" in display.ax_.get_title()
