"""What a notebook shows for a fitted estimator."""

import re
import sys

import numpy as np
import pytest
from reports import HOSTILE, named_tasks
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from skmtl import MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.penalties import Fixed, Sparse

NAMES = list("abcdef")


def shown(est):
    """The part of the HTML that is ours."""
    html = est._repr_mimebundle_()["text/html"]
    assert html.count("<figure") == 1
    return html[html.index("<figure") :]


def test_a_fitted_estimator_shows_its_graph(rng):
    est = MultiTaskRegressor(Sparse(0.7)).fit(*named_tasks(rng, NAMES))
    picture = shown(est)
    assert picture.count("<path") == len(est.relations()) > 0
    assert f"{len(est.relations())} of 15 pairs of tasks are joined by the graph that predicts" in picture
    assert est.solution_.certificate in picture
    assert re.findall(r"<title>(\w)</title>", picture) == NAMES
    assert "<figure" in est._repr_html_()


def test_related_tasks_are_neighbours_on_the_circle(rng):
    A = np.eye(6)
    A[[0, 3], [3, 0]] = A[[1, 4], [4, 1]] = -0.9
    est = MultiTaskRegressor(Fixed(A)).fit(*named_tasks(rng, NAMES))
    places = np.array(re.findall(r'<circle cx="([-\d.]+)" cy="([-\d.]+)"', shown(est)), dtype=float)
    distances = np.linalg.norm(places[:, None] - places, axis=2) + 1e3 * np.eye(6)
    for a, b in ((0, 3), (1, 4)):
        assert distances[a, b] == pytest.approx(distances[a].min(), abs=0.2)


def test_an_estimator_that_is_not_fitted_shows_only_what_scikit_learn_does():
    est = MultiTaskRegressor()
    assert "<figure" not in est._repr_html_()
    assert "<figure" not in est._repr_mimebundle_()["text/html"]


def test_text_stays_text(rng):
    est = MultiTaskRegressor().fit(*named_tasks(rng, NAMES))
    with config_context(display="text"):
        assert set(est._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(est, "_repr_html_")


def test_searching_estimators_show_theirs(rng):
    est = MultiTaskRegressorCV(alphas=[1e-2], mus=[0.7], eps_factors=[1.0], cv=2).fit(*named_tasks(rng, NAMES))
    assert "pairs of tasks are joined" in shown(est)
    est = MultiTaskClassifierCV(alphas=[1e-2], mus=[0.9], eps_factors=[1.0], cv=2).fit(*load_iris(return_X_y=True))
    assert shown(est).count("<circle") == 3


def test_names_are_text(rng):
    picture = shown(MultiTaskRegressor().fit(*named_tasks(rng, HOSTILE)))
    assert not re.search(r"<(script|img|b)\b", picture)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture
    assert "long" * 50 in picture
    assert "long" * 50 + "</text>" not in picture


def test_nothing_to_draw(rng):
    assert "There is one task." in shown(MultiTaskRegressor().fit(*named_tasks(rng, ["only"])))
    assert "<path" not in shown(MultiTaskRegressor("independent").fit(*named_tasks(rng, NAMES)))
    zero = MultiTaskRegressor(Fixed(np.zeros((6, 6))))
    assert "0 of 15 pairs" in shown(zero.fit(*named_tasks(rng, NAMES)))


def test_many_tasks_stay_small(rng):
    X, Y = named_tasks(rng, [f"task {t}" for t in range(60)], n_groups=7)
    picture = shown(MultiTaskRegressor("trace", tol=1e-3).fit(X, Y))
    assert picture.count("<path") == 400
    assert "The 400 strongest are drawn" in picture
    assert len(picture) < 100_000


def test_it_needs_no_other_package(rng, monkeypatch):
    est = MultiTaskRegressor().fit(*named_tasks(rng, NAMES))
    for package in ("matplotlib", "networkx", "jinja2"):
        monkeypatch.setitem(sys.modules, package, None)
    assert "<svg" in shown(est)


def test_other_diagrams_are_as_before(rng):
    est = MultiTaskRegressor().fit(*named_tasks(rng, NAMES))
    assert "<figure" not in make_pipeline(clone(est))._repr_html_()
