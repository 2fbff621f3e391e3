"""The report: its dictionary is true, and its page is one intact document that loads nothing."""

import base64
import copy
import hashlib
import html.parser
import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reports import ALIKE, HOSTILE, everything, named_tasks
from sklearn.datasets import load_iris

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    compare_methods,
    edge_stability,
    structure_path,
)
from skmtl.model_selection import judge_model
from skmtl.model_selection.held_out import describe_comparison
from skmtl.model_selection.verdict import ALL_TASKS
from skmtl.penalties import PENALTIES, Fixed, Sparse
from skmtl.plotting.names import cut, split_name, tell_apart
from skmtl.report import read_aloud, render, summarize
from skmtl.report.numbers import short_number, true_minus
from skmtl.report.page import embed
from skmtl.report.pictures import draw_graph, draw_path, draw_predictions
from skmtl.report.related import describe_related
from skmtl.report.sentences import describe_features

NAMES = list("abcdef")
VOID = {"meta", "link", "input", "img", "br"}


class Document(html.parser.HTMLParser):
    """Reads a page and checks that every element is closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.scripts, self.words = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text
        else:
            self.words.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def read(est, **results):
    """A summary, as it comes back from a JSON file, and its page."""
    summary = json.loads(json.dumps(summarize(est, **results), allow_nan=False))
    return summary, Document(render(summary))


@pytest.fixture(scope="session")
def full():
    est, results = everything(np.random.default_rng(0), NAMES, n_groups=2)
    return SimpleNamespace(est=est, results=results, summary=summarize(est, **results))


def test_the_summary_holds_what_the_estimator_learned(full):
    summary, est = full.summary, full.est
    np.testing.assert_array_equal(summary["structure"], est.structure_)
    np.testing.assert_array_equal(summary["correlation"], est.correlation_)
    rows = [[NAMES[r["a"]], NAMES[r["b"]], r["weight"], r["correlation"]] for r in summary["relations"]]
    assert sorted(rows) == sorted(est.relations().to_numpy().tolist())
    assert np.all(np.diff([abs(row[2]) for row in rows]) <= 0)
    assert {row[2] > 0 for row in rows} == {True, False}
    assert summary["certificate"]["objective"] == est.solution_.objective
    assert summary["mu"] == 0.7
    degrees = [task["relations"] for task in summary["tasks"]]
    assert sum(degrees) == 2 * len(rows)


def test_the_summary_is_json(full):
    assert json.loads(json.dumps(full.summary, allow_nan=False)) == full.summary


def test_results_keep_their_numbers(full):
    comparison, stability, path = (full.results[name] for name in ("comparison", "stability", "path"))
    summary = full.summary
    assert [method["method"] for method in summary["comparison"]["methods"]] == ["sparse", "trace"]
    assert len(summary["path"]["curves"]) >= len(full.est.relations()) > 0
    for method in summary["comparison"]["methods"]:
        for row in [*method["tasks"], {**method["overall"], "task": None}]:
            name = ALL_TASKS if row["task"] is None else NAMES[row["task"]]
            same = comparison[(comparison["method"] == method["method"]) & (comparison["task"] == name)].iloc[0]
            assert {key: row[key] for key in row if key != "task"} == same.drop(["method", "task", "scoring"]).to_dict()
    assert [row["frequency"] for row in summary["stability"]] == stability["frequency"].tolist()
    assert summary["path"]["n_edges"] == path.n_edges.tolist()
    for curve in summary["path"]["curves"]:
        np.testing.assert_array_equal(curve["weights"], path.structures[:, curve["a"], curve["b"]])


def spoken(summary):
    return [read_aloud(summary, sentence) for sentence in summary["findings"]]


def test_the_findings_say_what_was_found(full):
    sharing, related, advice, proof = spoken(full.summary)
    assert sharing == describe_comparison(full.results["comparison"], "sparse", kept="sparse")
    stable = full.results["stability"].query("stable")
    assert related.startswith(f"{len(stable)} of 15 pairs of tasks are found related")
    assert f"between {stable['task_a'].iloc[0]} and {stable['task_b'].iloc[0]}, with a " in related
    assert f"joins {len(full.est.relations())} of the 15 pairs" in related
    assert advice.startswith("Next: ")
    assert proof.startswith("The calculation is finished")
    assert "1e-" not in proof


def test_the_verdict_is_said_once_and_the_same_everywhere(full):
    """No sentence of selection stands beside that of the judgement."""
    est = MultiTaskRegressorCV(alphas=[1e-2], mus=[0.7], cv=2).fit(*named_tasks(np.random.default_rng(0), NAMES))
    summary, document = read(est, comparison=full.results["comparison"])
    assert summary["findings"][0] == [summary["comparison"]["verdict"]]
    assert true_minus(est.verdict_) not in document.text
    alone, document = read(est)
    assert alone["findings"][0] == [est.verdict_]
    assert true_minus(est.verdict_) in document.text


def test_tasks_that_cannot_be_predicted_are_not_called_related(rng):
    X, Y = named_tasks(rng, NAMES, n_groups=2)
    noise = rng.standard_normal(len(X))
    # Two copies of one noise: always related, and of no use to anybody.
    Y["e"], Y["f"] = noise, noise + 0.01 * rng.standard_normal(len(X))
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, Y)
    judgement, stability = judge_model(est, X, Y), edge_stability(est, X, Y, 10, max_false=1)
    assert stability.query("task_a == 'e' and task_b == 'f'")["frequency"].iloc[0] == 1.0
    summary, document = read(est, comparison=judgement.comparison, stability=stability)
    assert [task["predictable"] for task in summary["tasks"]] == [True] * 4 + [False] * 2
    stable, predictive = summary["graphs"]
    assert (stable["kind"], predictive["kind"]) == ("stable", "predictive")
    assert not {4, 5} & {end for one in stable["relations"] for end in (one["a"], one["b"])}
    assert all(one["moot"] == bool({4, 5} & {one["a"], one["b"]}) for one in predictive["relations"])
    assert "2 tasks are left out of this" in spoken(summary)[1]
    # Pairs of the other four tasks; those of the noise are not among them.
    assert re.match(r"(None of the|\d of) 6 pairs|All 6 pairs", spoken(summary)[1])
    assert "get more labels or other features for e, f" in spoken(summary)[2]
    assert "Predicted without clear gain over a constant, and so not called related" in document.text
    assert "there on every fold, of five or more, or in the mean beyond two standard errors: one large" in document.text


def test_tasks_whose_labels_are_all_the_same_are_not_judged_and_not_called_related(rng):
    X, Y = named_tasks(rng, NAMES, n_groups=2)
    Y["f"] = 3.0
    # Beside a common part, which every task has, that of a constant task is the opposite: it would be related to all.
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2, common=10.0).fit(X, Y)
    assert "f" in est.relations()[["task_a", "task_b"]].to_numpy()
    judgement, stability = judge_model(est, X, Y), edge_stability(est, X, Y, 10, max_false=2)
    summary, document = read(est, comparison=judgement.comparison, stability=stability)
    assert [task["judged"] for task in summary["tasks"]] == [True] * 5 + [False]
    assert [task["predictable"] for task in summary["tasks"]] == [True] * 5 + [False]
    assert all(5 not in (one["a"], one["b"]) for one in summary["graphs"][0]["relations"])
    assert all(one["moot"] == (5 in (one["a"], one["b"])) for one in summary["relations"])
    rows = summary["comparison"]["methods"][0]["tasks"]
    assert [row["verdict"] == "not judged" for row in rows] == [False] * 5 + [True]
    assert " f is left out of this, with labels all the same." in spoken(summary)[1]
    assert re.search("10 pairs.*left out.*15 pairs", spoken(summary)[1])
    assert "leave out f, or get labels that differ" in spoken(summary)[2]
    assert "for no clear gain" not in document.text
    assert "predictors, less the part that all tasks have in common, in the space of the kernel" in document.text
    grey = "Pairs of tasks that are not called related are grey."
    assert "f" not in stability[["task_a", "task_b"]].to_numpy()
    assert grey not in document.text
    more = pd.concat([stability, stability.iloc[-1:].assign(task_b="f")])
    assert grey in read(est, comparison=judgement.comparison, stability=more)[1].text
    assert "Labels are all the same, and so not called related" in document.text
    assert "Not judged, and left out of means: f; on the rows held out its labels are all the same." in document.text


def told(able, pairs, *, mu=0.5):
    """What is said of a stable graph of three tasks, of which some are predicted: its pairs with frequency and ends."""
    rows = [{"a": a, "b": b, "frequency": share, "low": low, "high": 2.0} for a, b, share, low in pairs]
    related = [{**row, "weight": 1.0} for row in rows if row["frequency"] > 0.9 and {row["a"], row["b"]} <= able]
    graph = {"kind": "stable", "mu": mu, "bound": None, "relations": related}
    tasks = [{"name": name, "predictable": i in able} for i, name in enumerate("abc")]
    found = {"tasks": tasks, "graphs": [graph], "stability": rows, "relations": [], "method": "sparse", "mu": mu}
    return read_aloud(found, describe_related({**found, "comparison": None}))


def test_of_three_tasks_the_two_that_are_predicted_are_named():
    """And judged by the pair that they are, however steady another one is."""
    left_out = " c is left out of this, for no clear gain over a constant was seen there."
    none = told({0, 1}, [(0, 1, 0.4, -1.0)])
    assert none.startswith("a and b are not found related on more than nine tenths")
    assert left_out in none
    one = told({0, 1}, [(0, 2, 1.0, 1.0), (0, 1, 0.95, 1.0)])
    assert one.startswith("a and b are found related on more than nine tenths")
    assert left_out in one
    moot, pair = (0, 2, 1.0), (0, 1, 1.0)
    sure = told({0, 1}, [(*moot, -1.0), (*pair, 1.0)], mu=1.0)
    assert sure.startswith("a and b are related with a positive weight on more than nine tenths")
    mixed = told({0, 1}, [(*moot, 1.0), (*pair, -1.0)], mu=1.0)
    assert mixed.startswith("a and b are related now with a positive, now with a negative weight")


def test_many_pairs_are_counted_in_thousands():
    pairs = [{"a": a, "b": b, "frequency": 1.0, "weight": 1.0} for a, b in itertools.combinations(range(60), 2)]
    graph = {"kind": "stable", "mu": 0.5, "bound": None, "relations": pairs}
    found = {"tasks": [{"predictable": True}] * 60, "graphs": [graph], "relations": pairs, "method": "sparse"}
    said = describe_related(found)
    assert said[0].startswith("All 1,770 pairs of tasks are found related")
    assert said[-1] == " The model that predicts joins all 1,770 pairs."


def test_noise_is_called_worse_than_a_constant_first(rng):
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 3))
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-3).fit(X, Y)
    judgement = judge_model(est, X, Y)
    stability = edge_stability(MultiTaskRegressor(Sparse(0.7), alpha=1e-3), X, Y, 10)
    summary, document = read(est, comparison=judgement.comparison, stability=stability)
    words = spoken(summary)
    assert words[0].startswith("Worse than a constant: ")
    why = "for no task is predicted clearly better than by a constant."
    assert words[1] == f"No task is called related to another, {why}"
    # Pairs are found on halves all the same, and nothing denies it.
    assert stability["frequency"].max() > 0.0
    assert f"There is none here, {why}" in document.text
    assert "on any half" not in document.text
    assert words[2] == "Next: look for other features or more rows before anything else."
    assert set(judgement.comparison["verdict"]) == {"no better than a constant"}


def test_frequencies_stand_beside_the_graph_of_their_mu_only(rng):
    X, Y = named_tasks(rng, NAMES, n_groups=3, noise=1.0)
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, Y)
    other = edge_stability(est, X, Y, 4, max_false=2)
    assert other.attrs["mu"] < 1.0
    stable, predictive = summarize(est, stability=other)["graphs"]
    assert stable["mu"] == other.attrs["mu"]
    assert all("frequency" not in one for one in predictive["relations"])
    with pytest.warns(UserWarning, match="frequencies say nothing"):
        same = edge_stability(est, X, Y, 4)
    stable, predictive = summarize(est, stability=same)["graphs"]
    assert stable["mu"] == predictive["mu"] == 1.0
    assert all(one["frequency"] == 1.0 for one in predictive["relations"])


def test_long_names_are_cut_in_the_middle():
    name = "temperature of the first sensor, north side"
    assert split_name(name) == ("temperature of the first sensor, nort", "h side")
    assert cut(name, 20) == "temperatur…orth side"
    assert cut("short", 20) == "short"
    assert "".join(split_name("e\N{COMBINING ACUTE ACCENT}" * 20)) == "e\N{COMBINING ACUTE ACCENT}" * 20
    assert split_name("e\N{COMBINING ACUTE ACCENT}" * 20)[1].startswith("e")


@pytest.mark.parametrize("most", [12, 14, 22, 28])
def test_names_that_look_alike_are_told_apart(most, rng):
    """Whatever differs: a word, two, their order, a letter in a long word, the length, or the spaces."""
    accents = ["a\N{COMBINING ACUTE ACCENT}" * 9 + one + "o\N{COMBINING ACUTE ACCENT}" * 9 for one in ("x", "xx", "y")]
    families = {
        "words": ALIKE,
        "order": [f"{'first ' * 9}{a}_{b}{' last' * 9}" for a, b in (("p", "q"), ("q", "p"))],
        "letter": [f"{'a' * 40}{one}{'b' * 40}" for one in "uvwxyz"],
        "length": ["long" * k for k in range(40, 60)],
        "spaces": ["a " * 30 + "b", "a  " * 30 + "b"],
        "accents": accents,
        "hostile": [*HOSTILE, *(name * 2 for name in HOSTILE)],
        "random": list({" ".join(rng.choice(["north", "temperature", "sensor_1", "of", "it"], 9)) for _ in range(200)}),
    }
    for names in [*families.values(), [name for family in families.values() for name in family]]:
        labels = tell_apart(names, most)
        assert len(set(labels)) == len(names)
        assert max(map(len, labels)) <= most
        assert all(label == cut(name, most) for name, label in zip(names, labels, strict=True) if len(name) <= most)
        assert not any(re.search(r"(^|…)\u0301", label) for label in labels)
    assert tell_apart(ALIKE, 16)[0] == "inhibi…1A2…rats…"
    assert tell_apart(["one", *ALIKE[:1]], 12) == ["one", cut(ALIKE[0], 12)]


def test_tasks_with_names_alike_are_told_apart_wherever_they_stand(rng):
    X, Y = named_tasks(rng, ALIKE)
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, Y)
    judged = judge_model(est, X, Y)
    summary, document = read(est, comparison=judged.comparison, predictions=judged.predictions)
    labels = tell_apart(ALIKE, 22)
    assert set(labels) <= set(document.words)
    # Whole for paper, and for those who point at it.
    assert set(ALIKE) <= set(document.words)
    page = render(summary)
    assert all(f'<bdi class="name alike" title="{name}"><span class="short">' in page for name in ALIKE)
    still = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL))
    assert all(f">{label}</text>" in still for most in (18, 14) for label in tell_apart(ALIKE, most))


def test_names_in_a_still_chain_do_not_lie_upon_one_another(rng):
    X, Y = named_tasks(rng, [f"quantity {t} of the plant" for t in range(4)])
    A = np.eye(4) + np.diag([0.4, 0.5, 0.4], 1) + np.diag([0.4, 0.5, 0.4], -1)
    summary, _ = read(MultiTaskRegressor(Fixed(A)).fit(X, Y))
    graph = summary["graphs"][0]
    drawn = draw_graph(summary, graph, graph["relations"])
    texts = re.findall(r'<text x="(\d+)" y="(\d+)" text-anchor="(\w+)">([^<]*)</text>', drawn)
    starts = {"start": 0.0, "middle": 0.5, "end": 1.0}
    boxes = sorted((float(x) - starts[anchor] * 7 * len(name), 7 * len(name), int(y)) for x, y, anchor, name in texts)
    assert len(boxes) == 4
    for (start, width, y), (other, _, level) in itertools.combinations(boxes, 2):
        assert start + width < other or abs(y - level) > 15
    # A chain is flat, and so is its picture.
    assert float(re.search(r'viewBox="0 0 \d+ (\d+)"', drawn)[1]) < 120


@pytest.mark.parametrize(("name", "mark"), [("costs, net", ";"), ("costs", ",")])
def test_names_with_commas_are_listed_with_semicolons(name, mark, rng):
    X, Y = named_tasks(rng, ["a", name, "c"])
    page = render(summarize(MultiTaskRegressor("independent").fit(X, Y), about={"tasks": ["a", name, "c"]}))
    assert f'<bdi class="name" title="{name}">{name}</bdi>{mark}</span>' in page


def test_names_that_look_alike_only_when_cut_are_whole_where_there_is_room(rng):
    names = [f"assay {k} of plate 10" for k in (101, 102, 103)]
    X, Y = named_tasks(rng, names)
    page = render(summarize(MultiTaskRegressor().fit(X, Y)))
    assert all(f'<span class="short">{name}</span>' in page for name in names)


@pytest.mark.parametrize(("n_tasks", "scrolls"), [(20, False), (40, True)])
def test_tables_of_few_rows_are_seen_whole(n_tasks, scrolls, rng):
    X, Y = named_tasks(rng, [f"task {t}" for t in range(n_tasks)])
    est = MultiTaskRegressor("independent").fit(X, Y)
    page = render(summarize(est, comparison=judge_model(est, X, Y, cv=2).comparison))
    assert ('class="scroll framed tall method"' in page) == scrolls
    assert ('class="scroll framed method"' in page) != scrolls


def test_of_how_many_rows_the_path_is_learned_is_said_where_the_model_has_more(full):
    """Otherwise the number of related pairs at the model's mu would be read as that of the model."""
    rows = {"rows": 2500, "rows that judged": 1000}
    said = "learned from 1,000 rows, and the model that is kept from all 2,500"
    assert said in render(summarize(full.est, **full.results, about=rows))
    assert "Here it is learned from" not in render(summarize(full.est, **full.results, about={"rows": 1000}))
    fewer = render(summarize(full.est, **full.results, about={**rows, "rows of the graph": 500}))
    assert "learned from 500 rows, fewer than those that judged the model" in fewer


def test_names_and_numbers_are_whole_in_pictures_without_scripts(rng):
    """Letters of 15.5 pixels are hardly wider than 0.57 times that, and an ellipsis as wide as it is high."""
    X, Y = named_tasks(rng, ALIKE)
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, Y)
    path = {"mus": [0.3, 0.9], "n_edges": [900, 16110], "scores": [0.5, 0.6], "errors": [0.01, 0.01], "scoring": "r2"}
    still = [*re.findall(r"<noscript>.*?(<svg.*?</svg>)", render(summarize(est)), re.DOTALL), draw_path(path)]
    assert len(still) == 3
    assert ">16,110</text>" in still[2]
    for picture in still:
        width = int(re.search(r'viewBox="0 0 (\d+)', picture)[1])
        texts = re.findall(r'<text x="(-?\d+)"[^>]*?text-anchor="(\w+)">([^<]*)<', picture)
        assert texts
        for x, anchor, text in texts:
            size = 15.5 * (0.57 * len(text) + 0.43 * text.count("…"))
            first = int(x) - size * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            assert first >= 0.0, text
            assert first + size <= width, text


def test_pictures_are_there_without_scripts(full):
    """Inside noscript: browsers without JavaScript see drawings instead of empty boxes."""
    page = render(full.summary)
    still = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL))
    graphs = full.summary["graphs"]
    assert still.count('class="edge ') == sum(len(graph["relations"]) for graph in graphs)
    assert {"Task graph", "Heat map of the structure", "The path along mu"} == set(
        re.findall(r'aria-label="([^"]*)"', still)
    )
    assert len(re.findall('class="dots"', page)) == len(NAMES)


def test_without_relations_the_first_matrix_is_the_correlation(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor("independent").fit(X, Y)
    page = render(summarize(est))
    assert 'aria-label="Heat map of the correlation"' in page
    largest = np.abs(est.correlation_ - np.eye(6)).max()
    assert f"+{largest:.2g}</output>" in page


def test_the_command_is_folded_away(full):
    _, document = read(full.est, about={"command": "skmtl fit " + "x," * 500})
    page = render(summarize(full.est, about={"command": "skmtl fit " + "x," * 500}))
    assert re.search(r"<details><summary>Show it</summary><code>skmtl fit", page)
    assert "skmtl fit x,x," in document.text


def test_many_tasks_show_their_strongest_relations_only(rng):
    X, Y = named_tasks(rng, [f"task {t}" for t in range(60)], n=100, n_groups=6, noise=2.0)
    summary = summarize(MultiTaskRegressor("trace", tol=1e-3).fit(X, Y))
    page = render(summary)
    drawn = json.loads(Document(page).scripts[0])["graphs"][0]["edges"]
    assert len(summary["relations"]) == 1770
    assert len(drawn) == 120
    assert "The 120 strongest of 1,770 are drawn." in page
    weakest = min(abs(edge[2]) for edge in drawn)
    assert sum(abs(one["weight"]) > 1.01 * weakest for one in summary["relations"]) <= 120


def test_the_page_is_whole_and_loads_nothing(full):
    page = render(full.summary)
    document = Document(page)
    assert page.startswith("<!doctype html>")
    assert {"section", "table", "svg", "details"} <= set(document.tags)
    assert not {"link", "img", "iframe", "object", "embed", "form"} & set(document.tags)
    for _tag, name, value in document.attributes:
        assert name not in ("src", "srcset", "action", "style")
        assert not name.startswith("on")
        assert name != "href" or value.startswith("#")
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", page)


def test_only_the_script_and_style_of_the_page_are_allowed(full):
    page = render(full.summary)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'").replace("&#43;", "+")
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def page_with(names):
    est, results = everything(np.random.default_rng(0), names)
    return read(est, **results, about={"title": names[1], "features": names, "command": names[0]})


def test_names_are_text_never_markup():
    summary, document = page_with(HOSTILE)
    assert [task["name"] for task in summary["tasks"]] == HOSTILE
    assert document.tags.count("script") == 2
    # The same elements as for harmless names of the same lengths.
    plain = [chr(97 + k) + "x" * (len(name) - 1) for k, name in enumerate(HOSTILE)]
    assert document.tags == page_with(plain)[1].tags
    assert not [name for _, name, _ in document.attributes if name.startswith("on")]
    assert json.loads(document.scripts[0])["names"] == HOSTILE
    for name in HOSTILE:
        assert "".join(split_name(name)) == name
        assert set(filter(None, split_name(name))) <= set(document.words)
        assert ("bdi", "title", name) in document.attributes


def test_embedded_data_cannot_end_its_script():
    data = ["</script>", "<!--", "&amp;", "\u2028\u2029", "\N{PARTY POPPER}"]
    text = embed(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


def test_names_that_no_file_can_hold_are_mended(rng):
    """Those of tasks are refused; those of features, and texts of their own, are not asked for."""
    X, Y = named_tasks(rng, ["a", "b"])
    names = ["half \ud83d of a character", *(f"x{k}" for k in range(1, X.shape[1]))]
    page = render(summarize(MultiTaskRegressor().fit(pd.DataFrame(X, columns=pd.Index(names, dtype=object)), Y)))
    assert "half ? of a character" in page.encode("utf-8").decode("utf-8")


def test_missing_results_say_how_to_get_them(full):
    summary, document = read(full.est)
    assert [summary[name] for name in ("comparison", "stability", "path", "selection")] == [None] * 4
    for function in ("compare_methods", "readable_graph", "structure_path"):
        assert f"{function}(" in document.text
    assert "has not been measured" in summary["findings"][0][0]
    _, document = read(full.est, **full.results)
    assert "Not computed" not in document.text


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_penalty_has_a_page(penalty, rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor(penalty).fit(X, Y)
    summary, document = read(est)
    assert summary["penalty"] == penalty
    assert len(summary["relations"]) == len(est.relations())
    assert ("no task is related to another" in document.text) == (not summary["relations"])


def test_one_task(rng):
    X, Y = named_tasks(rng, ["only"])
    summary, document = read(MultiTaskRegressorCV(alphas=[1e-2]).fit(X, Y))
    assert summary["relations"] == []
    assert "one task" in summary["findings"][0][0]
    assert "one task" in summary["related"][0]
    assert "canvas" not in document.tags
    assert "There is one task, and nobody to share with." in document.text


def test_a_single_relation_is_named_and_not_called_the_steadiest(rng):
    X, Y = named_tasks(rng, list("abc"))
    Y["b"] = Y["a"] + 0.1 * rng.standard_normal(len(X))
    est = MultiTaskRegressor(Sparse(0.3), alpha=1e-2).fit(X, Y)
    stability = edge_stability(est, X, Y, 10)
    summary, _ = read(est, stability=stability.assign(stable=stability["task_b"] == "b"))
    (one,) = summary["graphs"][0]["relations"]
    pair = f"{'abc'[one['a']]} and {'abc'[one['b']]}"
    words = read_aloud(summary, summary["related"])
    assert words.startswith("1 of 3 pairs of tasks is found related on more than nine tenths of random halves of the ")
    assert f"rows: {pair}, with a " in words
    assert "steadiest" not in words


@pytest.mark.parametrize(("bound", "said"), [(0.997, "than 1 such relation."), (0.5, "than 0.5 such relations.")])
def test_a_bound_of_one_is_one_relation(full, bound, said):
    stable, other = full.summary["graphs"]
    graph = {**stable, "bound": bound, "relations": stable["relations"][:1]}
    assert said in render({**full.summary, "graphs": [graph, other]})


def test_a_file_that_promises_more_groups_than_tasks_is_read(full):
    graphs = [{**graph, "n_groups": 10**12} for graph in full.summary["graphs"]]
    document = Document(render({**full.summary, "graphs": graphs}))
    assert "Group 6" in document.words
    assert "Group 7" not in document.words


@pytest.mark.parametrize("penalty", ["independent", Sparse(0.9)])
def test_gaps_along_the_way_end_at_the_gap_of_the_fit(penalty, rng):
    X, Y = named_tasks(rng, NAMES)
    proof = read(MultiTaskRegressor(penalty).fit(X, Y))[0]["certificate"]
    assert proof["history"][-1] == pytest.approx(proof["gap"], rel=1e-3)
    assert min(proof["history"]) >= proof["gap"]


def test_the_graph_of_a_model_beside_the_one_that_is_kept_is_said_to_be(rng):
    X, Y = named_tasks(rng, NAMES)
    stability = edge_stability(MultiTaskRegressor(Sparse(0.9)), X, Y, 6)
    beside, added = "They are of a model beside the one that is kept", "here they are added to it"
    for params, said in (
        ({}, ""),
        ({"penalty": "independent"}, beside),
        ({"penalty": "independent", "common": 1.0}, added),
    ):
        _, document = read(MultiTaskRegressor(**params).fit(X, Y), stability=stability)
        assert [one in document.text for one in (beside, added)] == [one == said for one in (beside, added)]
    # What is not there is of no model.
    _, document = read(MultiTaskRegressor("independent").fit(X, Y), stability=stability.iloc[:0])
    assert "They are looked for in a model beside the one that is kept" in document.text
    assert beside not in document.text


def test_a_rule_for_scales_is_shown_where_there_are_some(rng):
    X, Y = named_tasks(rng, NAMES)
    for rounds in (0, 1):
        summary, _ = read(MultiTaskRegressor(kernel="rbf", gamma=0.1, metric_rounds=rounds).fit(X, Y))
        assert ("metric_rule" in [row["name"] for row in summary["parameters"]]) == bool(rounds)


def test_two_tasks_in_one_relation(rng):
    X, Y = named_tasks(rng, ["a", "b"], n_groups=1)
    est = MultiTaskRegressor(Sparse(0.9)).fit(X, Y)
    summary, _ = read(est)
    words = read_aloud(summary, summary["related"])
    assert words == "The two tasks, a and b, are related in the model, with a negative weight."
    summary, _ = read(est, stability=edge_stability(est, X, Y, 6))
    assert read_aloud(summary, summary["related"]).endswith(
        "with a negative weight. The model that predicts joins them."
    )


def test_of_two_tasks_that_are_not_found_related_the_share_is_said(rng):
    X, Y = named_tasks(rng, ["a", "b"], n_groups=1)
    est = MultiTaskRegressor(Sparse(0.9)).fit(X, Y)
    stability = edge_stability(est, X, Y, 6).assign(stable=False, frequency=0.4)
    assert len(stability) == 1
    for found, share in ((stability, "40%"), (stability.iloc[:0], "none")):
        summary, _ = read(est, stability=found)
        assert read_aloud(summary, summary["related"]).startswith(
            "The two tasks, a and b, are not found related on more than nine tenths of random halves of the rows, "
            f"but on {share} of them."
        )


def test_where_no_relation_comes_back_the_nearest_is_named(rng):
    X, Y = named_tasks(rng, list("abc"), noise=3.0)
    est = MultiTaskRegressor(Sparse(0.3), alpha=1e-2).fit(X, Y)
    stability = edge_stability(est, X, Y, 10, max_false=1)
    assert not stability["stable"].any()
    first = stability.iloc[0]
    summary, document = read(est, stability=stability)
    nearest = f"{first['task_a']} and {first['task_b']} come nearest, with {first['frequency']:.0%} of them"
    assert nearest in read_aloud(summary, summary["related"])
    # Three pairs: q^2 / (0.8 * 3) <= 1.
    assert "no more than 1.5 on average" in document.text
    # Where no pair is found at all, the bound is not the reason, and there is no table of frequencies.
    nothing = stability.iloc[:0]
    assert nothing.attrs["false_bound"] == stability.attrs["false_bound"]
    _, document = read(est, stability=nothing)
    assert "There is none here; not one is found on any half." in document.text
    assert "on average may be related" not in document.text
    summary, document = read(est, stability=edge_stability(MultiTaskRegressor(Sparse(0.0)), X, Y, 4))
    assert "; not one is found on any half. The model that" in read_aloud(summary, summary["related"])
    assert "on average may be related" not in document.text


def test_scores_that_are_the_same_get_the_same_words(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor("independent").fit(X, Y)
    # The rival is independent tasks too, by another name.
    same = judge_model(est, X, Y, rival={"penalty": Fixed(np.eye(6))}).comparison
    summary, _ = read(est, comparison=same)
    assert set(same["verdict"]) == {"changes nothing"}
    assert summary["findings"][0][0].startswith("Sharing changes nothing: ")
    assert "try without sharing" not in " ".join(spoken(summary))


@pytest.mark.parametrize(
    ("verdict", "difference", "advice"),
    [
        ("too close to call", 0.04, "get more rows, which would tell whether sharing helps"),
        ("too close to call", 0.0004, "try without sharing, which is simpler and may do as well"),
        ("too close to call", -0.04, "try without sharing, which is simpler and may do as well"),
        ("changes nothing", 0.0, "try without sharing, which is simpler and does as well"),
        ("helps", 0.04, "keep sharing"),
        ("hurts", -0.04, "try without sharing"),
    ],
)
def test_advice_follows_the_verdict(full, verdict, difference, advice):
    comparison = full.results["comparison"].copy()
    comparison.loc[comparison["task"] == ALL_TASKS, ["verdict", "difference"]] = verdict, difference
    words = spoken(summarize(full.est, comparison=comparison))[2]
    assert words.startswith(f"Next: {advice}")


def test_a_common_part_is_shared_and_no_task_called_independent(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor("independent", common=1.0).fit(X, Y)
    for found in ({}, {"stability": edge_stability(MultiTaskRegressor(), X, Y, 4, max_false=1)}):
        summary, document = read(est, comparison=judge_model(est, X, Y).comparison, **found)
        assert "has a common part." in summary["findings"][0][0]
        assert "has a part common to all tasks, and no relations of pairs" in read_aloud(summary, summary["related"])
        assert "keeps its tasks independent" not in document.text


def test_scores_are_named_as_people_do(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor(alpha=1e-2).fit(X, Y)
    comparison, path = judge_model(est, X, Y).comparison, structure_path(est, X, Y, [0.5, 0.9])
    summary, document = read(est, comparison=comparison, path=path)
    assert summary["comparison"]["scoring"] == summary["path"]["scoring"] == "pooled_r2"
    assert "pooled_r2" not in document.text
    assert "pooled_r2" not in draw_path(summary["path"])
    assert "What that does to predictions is seen in R2 on rows held out" in document.text
    assert "all of it lies within a two-thousandth of the score, it changes nothing" in document.text
    assert "R2 (the share of the variance that is explained) on rows held out" in document.text


def test_two_tasks_that_any_half_would_join_are_called_related_by_their_sign_only(rng):
    """At mu = 1 every two tasks have an edge, and that it is found on all halves says nothing."""
    X, Y = named_tasks(rng, ["a", "b"], n=60, n_groups=1)
    noise = rng.standard_normal((len(X), 2))
    for labels, words in ((Y, "weight on more than nine tenths"), (Y * 0.0 + noise, "which says nothing")):
        est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, labels)
        summary = summarize(est, stability=edge_stability(est, X, labels, 20, random_state=0))
        assert summary["stability"][0]["frequency"] == 1.0
        assert words in read_aloud(summary, summary["related"])


def test_one_task_is_judged_beside_a_constant_alone(rng):
    X, Y = named_tasks(rng, ["only"])
    for penalty in ("independent", "sparse"):
        est = MultiTaskRegressor(penalty).fit(X, Y)
        summary, document = read(est, comparison=judge_model(est, X, Y).comparison)
        assert summary["findings"][0][0].startswith("There is one task and nothing to share: R2 is ")
        assert "How well does it predict?" in document.text
        assert "How much the predictor changes along each feature" in document.text
        assert sum("one task" in read_aloud(summary, sentence) for sentence in summary["findings"]) == 1
        assert "together" not in document.text


def test_no_edge_at_all_names_the_threshold(rng):
    X, Y = named_tasks(rng, NAMES)
    summary, document = read(MultiTaskRegressor(Sparse(0.0)).fit(X, Y))
    assert "exceeds the threshold 1 \N{MINUS SIGN} mu = 1" in read_aloud(summary, summary["related"])
    assert all(task["place"] is None and task["group"] == -1 for task in summary["tasks"])
    assert "strength-0" not in [value for _, name, value in document.attributes if name == "id"]


def test_a_singular_structure_has_a_page(rng):
    X, Y = named_tasks(rng, list("abc"))
    known = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    summary, _ = read(MultiTaskRegressor(Fixed(known)).fit(X, Y))
    assert [(row["a"], row["b"], row["weight"]) for row in summary["relations"]] == [(0, 1, -1.0)]


def test_classes_and_long_tables(rng):
    X, y = load_iris(return_X_y=True, as_frame=True)
    est = MultiTaskClassifierCV(alphas=[1e-2], mus=[0.9], eps_factors=[1.0], cv=3).fit(X, y)
    summary, document = read(est)
    assert summary["kind"] == "classification"
    assert [task["name"] for task in summary["tasks"]] == ["0", "1", "2"]
    assert summary["selection"]["verdict"] == est.verdict_
    assert true_minus(est.verdict_) in document.text
    chosen = {row["name"]: row["value"] for row in summary["parameters"]}
    assert chosen["alpha"] == est.best_params_["alpha"]
    assert chosen["penalty"] == est.penalty_.name

    X, Y = named_tasks(rng, NAMES)
    tasks = np.arange(len(X)) % 6
    est = MultiTaskRegressor(Sparse(0.7)).fit(X, Y.to_numpy()[np.arange(len(X)), tasks], tasks=tasks)
    summary, _ = read(est)
    assert [task["name"] for task in summary["tasks"]] == [str(t) for t in range(6)]


def test_labels_of_multi_label_problems_share_too(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskClassifier(Sparse(0.7), loss="logistic").fit(X, (Y > 0).astype(int))
    assert len(read(est)[0]["relations"]) == len(est.relations()) > 0


def test_what_is_not_finite_becomes_missing(rng):
    X, Y = named_tasks(rng, NAMES)
    search = MultiTaskRegressorCV(alphas=[1e-2], mus=[0.7], eps_factors=[1.0], cv=2)
    one_fold = compare_methods(X, Y, ["sparse"], estimator=search, cv=[(np.arange(40), np.arange(40, 80))])
    assert np.isinf(one_fold["low"]).all()
    est = MultiTaskRegressor(Sparse(0.7)).fit(X, Y)
    summary, document = read(est, comparison=one_fold, path=structure_path(est, X, Y, [0.5, 0.9], cv=None))
    assert {row["low"] for row in summary["comparison"]["methods"][0]["tasks"]} == {None}
    assert summary["path"]["scores"] == [None, None]
    assert "The band is one standard error." not in document.text
    assert "nan" not in document.text.lower().split()
    assert "inf" not in document.text.lower().split()


def test_results_of_other_data_are_refused(full):
    other = full.results["stability"].assign(task_a="zebra")
    with pytest.raises(ValueError, match="stability has the task 'zebra', which the estimator does not know"):
        summarize(full.est, stability=other)


def test_results_read_back_from_files_serve_as_well(full, tmp_path):
    full.results["comparison"].to_csv(tmp_path / "scores.csv", index=False)
    again = summarize(full.est, comparison=pd.read_csv(tmp_path / "scores.csv"))
    assert again["comparison"] == full.summary["comparison"]


def test_a_dense_graph_is_called_dense(rng):
    X, Y = named_tasks(rng, NAMES)
    est = MultiTaskRegressor("trace").fit(X, Y)
    with pytest.warns(UserWarning, match="frequencies say nothing"):
        stability = edge_stability(est, X, Y, 4)
    summary, document = read(est, stability=stability)
    assert summary["related"][0].startswith("All 15 pairs")
    assert "no pair stands out" in summary["related"][0]
    assert "these frequencies say nothing. A smaller mu" in document.text


def test_where_all_tasks_are_alike_no_pair_is_pointed_out(rng):
    """Three copies of one task, with noise: related at every mu, so that a bound on false edges says nothing."""
    X = rng.standard_normal((80, 3))
    Y = pd.DataFrame(X[:, :1] + 0.1 * rng.standard_normal((80, 3)), columns=["a", "b", "c"])
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2).fit(X, Y)
    with pytest.warns(UserWarning, match=r"even at mu=0.1 so many pairs"), pytest.warns(match="dense at any mu"):
        stability = edge_stability(est, X, Y, 6, max_false=1)
    assert stability.attrs["false_bound"] > 3.0
    summary, document = read(est, stability=stability, comparison=judge_model(est, X, Y).comparison)
    assert "no pair stands out" in read_aloud(summary, summary["related"])
    assert "look at" not in " ".join(read_aloud(summary, sentence) for sentence in summary["findings"])
    assert "any of them may be false" in document.text
    assert "in expectation at most" not in document.text
    assert "A smaller mu gives" not in document.text


def test_facts_about_the_data_are_shown(full):
    about = {"title": "Sales", "rows": np.int64(12345), "features": pd.Index(["x", "y"]), "labels observed": 0.5}
    summary, document = read(full.est, about=about)
    assert summary["about"]["rows"] == 12345
    assert summary["about"]["features"] == ["x", "y"]
    assert "12,345" in document.words
    assert "0.5" in document.words
    assert "Sales" in document.words


def test_a_hundred_tasks_make_a_small_page(rng):
    X, Y = named_tasks(rng, [f"task {t}" for t in range(100)], n=150, n_groups=12, noise=2.0)
    est = MultiTaskRegressor("trace", tol=1e-3).fit(X, Y)
    summary = summarize(est)
    assert len(summary["relations"]) == 4950
    page = render(summary)
    assert len(page.encode()) < 1_000_000
    assert "The first 300 of 4,950." in page
    pair = {"a": 0, "b": 1, "frequency": 0.5, "weight": 1.0, "low": 0.5, "high": 2.0}
    assert "The first 300 of 4,950 pairs." in render({**summary, "stability": [pair] * 4950, "stability_mu": 0.5})


def test_the_report_says_which_features_matter(rng):
    X = pd.DataFrame(rng.standard_normal((60, 5)), columns=["a", "<b>", "c", "d", "e"])
    Y = np.stack([np.sin(X["<b>"]), np.cos(X["<b>"]) + 0.1 * X["a"]], axis=1)
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-3, metric_rounds=1).fit(X, Y)
    summary, document = read(est)
    shares = {row["name"]: row["share"] for row in summary["importances"]}
    np.testing.assert_allclose([shares[name] for name in X.columns], est.feature_importances_)
    assert summary["importances"][0]["name"] == "<b>"
    assert summary["what_matters"].startswith("Of 5 features <b> matters most")
    assert summary["what_matters"] in document.text
    assert "Which features matter" in document.text
    many = describe_features([{"name": "a", "share": 1e-3}] * 1234)
    assert many.startswith("Of 1,234 features a matters most")
    other, _ = read(est, feature_names=list("vwxyz"))
    assert other["importances"][0]["name"] == "w"


def test_features_of_one_column_are_one_row(rng):
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    est = MultiTaskRegressor(alpha=0.1, feature_groups=["age", "town", "town", "town"]).fit(X, Y)
    shares = {row["name"]: row["share"] for row in summarize(est)["importances"]}
    assert shares == pytest.approx(
        {"age": est.feature_importances_[0], "town": est.feature_importances_[1:].sum()}, rel=1e-12
    )
    assert summarize(est)["what_matters"].startswith("Of 2 features ")


def test_the_report_does_without_slopes(rng):
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    summary, document = read(MultiTaskRegressor(kernel="precomputed").fit(X @ X.T, Y))
    assert summary["importances"] is None
    assert "Which features matter" not in document.text


def test_both_pictures_of_predictions_have_the_same_axes():
    """Predictions to the right, observed labels upwards: a model of constants is a vertical line."""
    one = {"task": 0, "observed": [0.0, 1.0, 2.0], "predicted": [1.0, 1.0, 1.0]}
    dots = re.findall(r"M(\d+) (\d+)h0", draw_predictions(one, classes=False))
    assert len({across for across, _ in dots}) == 1
    heights = [int(up) for _, up in dots]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "0.012"), (-0.5, "\u22120.5"), (130.4, "130"), (-1900.0, "\u22121900"), (2e5, "2e+05"), (None, "\u2013")],
)
def test_short_numbers_have_no_powers_of_ten_where_they_need_none(value, text):
    assert short_number(value) == text


def test_scores_along_mu_are_drawn_with_their_errors():
    path = {"mus": [0.1, 0.5, 0.9], "n_edges": [0, 1, 3], "scoring": "r2", "errors": [0.1, 0.2, 0.1]}
    assert ">12,345<" in draw_path({**path, "n_edges": [0, 1, 12345], "scores": [None] * 3})
    near = draw_path({**path, "scores": [0.9977, 0.9979, 0.9978], "errors": [0.0, 0.0, 0.0]})
    assert ">0.9977<" in near
    assert ">0.9979<" in near
    drawn = draw_path({**path, "scores": [0.5, 0.5004, 0.4996]})
    band = re.search(r'class="band" d="M([^"]*)Z"', drawn)[1]
    heights = [float(point.split(",")[1]) for point in band.split("L")]
    # The band is one error wide on either side, and what is well within errors looks flat.
    assert heights[0] - heights[1] == pytest.approx(heights[-2] - heights[-1], abs=0.5)
    curve = re.findall(r'class="mark" cx="[^"]*" cy="([^"]*)"', drawn)[3:]
    assert np.ptp([float(y) for y in curve]) < 0.01 * np.ptp(heights)


def test_names_in_a_still_picture_are_above_tasks_whose_lines_lead_down(rng):
    X, Y = named_tasks(rng, ["up", "low"])
    summary, _ = read(MultiTaskRegressor(alpha=1e-2).fit(X, Y))
    graph = {**summary["graphs"][0], "places": [[0.5, 1.0], [0.5, 0.0]]}
    drawn = draw_graph(summary, graph, summary["relations"])
    circles = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', drawn)]
    texts = [float(y) for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', drawn)]
    assert texts[0] < circles[0] < circles[1] < texts[1]


def test_no_line_crosses_a_name_in_a_still_picture_where_there_is_room(rng):
    """Of a task at a side, from which lines lead up, down and across, so that there is room beside it alone."""
    X, Y = named_tasks(rng, [f"task {t}" for t in range(6)])
    summary, _ = read(MultiTaskRegressor("independent").fit(X, Y))
    places = [[0.55, 1.0], [0.1, 0.85], [0.9, 0.65], [0.0, 0.3], [0.25, 0.0], [0.8, 0.0]]
    graph = {**summary["graphs"][0], "places": places, "groups": [0] * 6}
    pairs = [(0, 2), (2, 5), (2, 3), (1, 3), (4, 5)]
    drawn = draw_graph(summary, graph, [{"a": a, "b": b, "weight": 1.0} for a, b in pairs])
    lines = re.findall(r'x1="(\d+)" y1="(\d+)" x2="(\d+)" y2="(\d+)"', drawn)
    texts = re.findall(r'<text x="(\d+)" y="(\d+)" text-anchor="(\w+)">([^<]*)</text>', drawn)
    assert (len(lines), len(texts)) == (5, 6)
    for x, y, anchor, name in texts:
        width = 15.5 * 0.57 * len(name)
        left = float(x) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
        for ends in lines:
            x1, y1, x2, y2 = map(float, ends)
            along = np.linspace(0.0, 1.0, 500)
            across, down = x1 + along * (x2 - x1), y1 + along * (y2 - y1)
            inside = (across > left) & (across < left + width) & (down > float(y) - 11.0) & (down < float(y) + 2.0)
            assert not inside.any(), (name, ends)


def test_minus_signs_of_a_page_are_all_the_same(full):
    said = "a difference of -0.007 [-0.023, +0.009]; by more than 1e-07 of its value, on 2021-01-03 with x-1."
    true = said.replace("-0", "\N{MINUS SIGN}0").replace("2021\N{MINUS SIGN}01\N{MINUS SIGN}03", "2021-01-03")
    assert true_minus(said) == true
    summary = copy.deepcopy(full.summary)
    summary["comparison"]["verdict"] = summary["findings"][0][0] = said
    summary["certificate"]["words"] = "Within 1e-07 of it."
    summary["path"]["scores"] = np.linspace(-0.5, -0.25, len(summary["path"]["mus"])).tolist()
    page = render({**summary, "about": {"selection": f"In the search R2 is -0.022. {said}", "command": "fit -0.5"}})
    text = Document(re.sub("<style>.*</style>", "", page, flags=re.DOTALL)).text
    assert text.count(true) == 3
    # What somebody typed stays.
    assert re.findall(r"[\s\[(]-\d[.\d]*|\de-\d", text) == [" -0.5"]


@pytest.mark.parametrize(("n_tasks", "folded"), [(12, False), (40, True)])
def test_long_lists_of_tasks_unfold(n_tasks, folded, rng):
    names = [f"task {t}" for t in range(n_tasks)]
    X, Y = named_tasks(rng, names)
    one = {"task_a": names[0], "task_b": names[1], "frequency": 1.0, "steadiness": 9.0, "stable": True, "mu": 0.5}
    stability = pd.DataFrame([{**one, "weight": 1.0, "weight_low": 0.9, "weight_high": 1.1}])
    _, document = read(MultiTaskRegressor("independent").fit(X, Y), stability=stability)
    assert (f"Not related to any other task {n_tasks - 2} tasks" in document.text) == folded
    assert f"task {n_tasks - 1}" in document.text
