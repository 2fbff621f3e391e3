"""The task graph in files that other programs read."""

import json

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskRegressor
from skmtl.export import FORMATS, write_graph
from skmtl.penalties import Sparse

NAMES = [
    "plain",
    '<script>alert("1")</script>',
    "a,b;c\td",
    "it's \"quoted\" & 'odd'",
    "two\nlines",
    "\u05e9\u05dc\u05d5\u05dd",
    "\U0001f600",
    " spaces ",
    "x" * 200,
    "=1+1",
    1,
    "1",
]


@pytest.fixture
def graph_of(rng):
    def learn(names):
        X = rng.normal(size=(60, 5))
        Y = X @ rng.normal(size=(5, 2)) @ rng.normal(size=(2, len(names))) + 0.1 * rng.normal(size=(60, len(names)))
        return MultiTaskRegressor(Sparse(mu=0.6)).fit(X, pd.DataFrame(Y, columns=pd.Index(names, dtype=object)))

    return learn


def read_graphml(path):
    graph = networkx.read_graphml(path)
    return networkx.relabel_nodes(graph, networkx.get_node_attributes(graph, "name"))


def read_json(path):
    return networkx.node_link_graph(json.loads(path.read_text()), edges="links")


READERS = {".graphml": read_graphml, ".json": read_json}


@pytest.mark.parametrize("ending", READERS)
def test_graphs_come_back_with_every_name_and_number(graph_of, tmp_path, ending):
    estimator = graph_of(NAMES)
    write_graph(estimator, tmp_path / f"graph{ending}")
    again, graph = READERS[ending](tmp_path / f"graph{ending}"), estimator.to_networkx()
    assert len(NAMES) < graph.number_of_edges() < len(NAMES) * (len(NAMES) - 1) // 2
    assert set(again) == set(graph) == set(NAMES)
    assert networkx.utils.graphs_equal(networkx.Graph(again.edges), networkx.Graph(graph.edges))
    for a, b, numbers in graph.edges(data=True):
        assert again.edges[a, b] == pytest.approx(numbers, abs=0)
        assert numbers["weight"] == estimator.structure_[NAMES.index(a), NAMES.index(b)]


def test_a_list_of_edges_comes_back(graph_of, tmp_path):
    estimator = graph_of([str(name) + "!" * (name == 1) for name in NAMES])
    write_graph(estimator, tmp_path / "graph.CSV")
    table = pd.read_csv(tmp_path / "graph.CSV")
    # A cell that a spreadsheet would compute is written as text.
    names = [f"'{name}" if name == "=1+1" else name for name in estimator.task_names_]
    known = estimator.relations().replace(dict(zip(estimator.task_names_, names, strict=True)))
    pd.testing.assert_frame_equal(table, known, rtol=1e-15, check_dtype=False)


@pytest.mark.parametrize("name", ["bell\x07", "nu\x00ll", "\ufffe", "\x1b[31m"])
def test_what_xml_cannot_hold_is_said_and_json_holds_it(graph_of, tmp_path, name):
    estimator = graph_of([name, "b", "c"])
    with pytest.raises(ValueError, match=r"GraphML cannot hold; write \.json"):
        write_graph(estimator, tmp_path / "graph.graphml")
    assert list(tmp_path.iterdir()) == []
    write_graph(estimator, tmp_path / "graph.json")
    assert name in read_json(tmp_path / "graph.json")


def test_a_pipeline_has_the_graph_of_its_last_step(graph_of, tmp_path, rng):
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    model = make_pipeline(StandardScaler(), MultiTaskRegressor()).fit(X, Y)
    for ending in FORMATS:
        write_graph(model, tmp_path / f"a{ending}")
        write_graph(model[-1], tmp_path / f"b{ending}")
        assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_a_single_task_is_a_graph_of_one_node(tmp_path, rng):
    estimator = MultiTaskRegressor().fit(rng.normal(size=(20, 2)), rng.normal(size=20))
    for ending, read in READERS.items():
        write_graph(estimator, tmp_path / f"graph{ending}")
        assert list(read(tmp_path / f"graph{ending}")) == ["y0"]


def test_another_ending_is_an_error_that_names_those_that_are_known(graph_of, tmp_path):
    with pytest.raises(ValueError, match=r"\.graphml, \.json, \.csv"):
        write_graph(graph_of(["a", "b"]), tmp_path / "graph.png")
    assert np.size(list(tmp_path.iterdir())) == 0
