"""The paper's experiments: killed runs end like undisturbed ones, test data choose nothing, tables say what was run."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, roc_auc_score

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, experiments
from skmtl.datasets import make_sparse_tasks
from skmtl.experiments import animals, attributes, colour_limb, detectors, scenes, synthetic
from skmtl.experiments.runs import open_folder, read_rows, run_rest
from skmtl.experiments.selection import estimator_of, fit_together
from skmtl.experiments.settings import settle
from skmtl.experiments.tables import compare, interval, result_table
from skmtl.model_selection import best_candidate
from skmtl.penalties import Sparse

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: pip install '.[app]'")

REPRODUCTION = Path(__file__).parents[1] / "docs" / "reproduction"
TINY = {"supports": [0.5], "n_seeds": 3, "n_features": 20, "alphas": [0.01], "mus": [0.8, 1.0], "n_tasks": [5, 6]}
TINY |= {"recovery": {"n_tasks": 5, "support": 0.5}, "n_halves": 2, "reading_seeds": 2}
TINY["readings"] = {"as printed": {}, "blocks": {"corruption_as": "deviation", "entries": "blocks"}}


# Runs


def square(number):
    return {"square": number / 3.0, "list": np.arange(number)}


ITEMS = [{"number": number} for number in range(4)]


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_a_file_cut_anywhere_is_completed_to_the_same_rows(tmp_path):
    whole = tmp_path / "whole.jsonl"
    expected = without_seconds(run_rest(ITEMS, square, file=whole))
    content = whole.read_bytes()
    for end in range(len(content)):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(content[:end])
        calls = []

        def counted(number, calls=calls):
            calls.append(number)
            return square(number)

        assert without_seconds(run_rest(ITEMS, counted, file=cut)) == expected
        assert len(calls) == 4 - content[:end].count(b"\n")
        assert without_seconds(read_rows(cut)) == expected


def test_a_row_is_on_disk_before_the_next_item_is_evaluated(tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = run_rest(ITEMS, lambda number: {"seen": len(read_rows(file))}, file=file)
    assert [row["seen"] for row in rows] == [0, 1, 2, 3]


def test_processes_and_order_change_nothing():
    one, two = (without_seconds(run_rest(ITEMS, square, n_jobs=n_jobs)) for n_jobs in (1, 2))
    assert one == two
    assert without_seconds(run_rest(ITEMS[::-1], square)) == one[::-1]


def test_rows_count_fits_that_were_not_proved_and_pass_other_warnings_on():
    def evaluate(number):
        import warnings

        warnings.warn("not proved", ConvergenceWarning, stacklevel=1)
        return {}

    assert [row["not_converged"] for row in run_rest(ITEMS, evaluate)] == [1, 1, 1, 1]

    def loud(number):
        import warnings

        warnings.warn("look here", UserWarning, stacklevel=1)
        return {}

    with pytest.warns(UserWarning, match="look here"):
        run_rest(ITEMS[:1], loud)


def test_a_line_that_is_not_json_is_named(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"number": 0}\nnonsense\n')
    with pytest.raises(ValueError, match=r"rows\.jsonl has a line that is not JSON"):
        read_rows(file)


def test_another_configuration_in_the_same_folder_is_refused(tmp_path):
    open_folder(tmp_path / "run", {"settings": {"alphas": [1.0, 2.0], "n_seeds": 3}})
    open_folder(tmp_path / "run", {"settings": {"alphas": np.array([1.0, 2.0]), "n_seeds": 3}})
    with pytest.raises(ValueError, match=r"differs in n_seeds \(3 there, 4 now\); choose another folder"):
        open_folder(tmp_path / "run", {"settings": {"alphas": [1.0, 2.0], "n_seeds": 4}})
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "runs.jsonl").write_text("")
    with pytest.raises(ValueError, match=r"holds runs\.jsonl but no config\.json"):
        open_folder(tmp_path / "rows", {})


def test_other_versions_are_remarked_on(tmp_path):
    folder = open_folder(tmp_path, {"settings": {}})
    config = json.loads((folder / "config.json").read_text())
    config["versions"]["numpy"] = "0.1"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.warns(UserWarning, match="goes on with other versions"):
        open_folder(tmp_path, {"settings": {}})


# The command, killed


def command(out, name="synthetic", *more):
    options = [f"--set={key}={json.dumps(value)}" for key, value in TINY.items()] if name == "synthetic" else []
    return [sys.executable, "-m", "skmtl.experiments", name, "--out", str(out), *options, *more]


def kill_after(n_rows, arguments, file):
    """Start the command, kill it when the file has some rows, and cut the last row as if it was being written."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(file.read_bytes().splitlines() if file.exists() else []) < n_rows:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    done = len(read_rows(file))
    os.truncate(file, len(file.read_bytes()) - 7)
    return done - 1


def assert_same_run(one, two):
    names = {path.name for path in one.iterdir() if path.is_file()}
    assert names == {path.name for path in two.iterdir() if path.is_file()}
    for name in names - {"runs.jsonl", "config.json"}:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    rows = (sorted(map(json.dumps, without_seconds(read_rows(folder / "runs.jsonl")))) for folder in (one, two))
    assert next(rows) == next(rows)


def test_killed_in_the_middle_a_run_ends_with_the_same_numbers(tmp_path):
    whole = experiments.run("synthetic", out=tmp_path / "whole", **TINY)
    killed = tmp_path / "killed"
    done = kill_after(2, command(killed), killed / "runs.jsonl")
    assert 1 <= done < 10
    assert not (killed / "table.md").exists()
    finished = subprocess.run(command(killed), capture_output=True, text=True, check=True)
    assert finished.stderr.startswith(f"{done + 1}/10 ")
    assert_same_run(whole, killed)


def test_the_command_says_what_is_wrong_in_one_sentence(tmp_path):
    experiments.run("synthetic", out=tmp_path, **TINY)
    other = [*command(tmp_path), "--set=n_seeds=4"]
    refused = subprocess.run(other, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.strip().endswith("choose another folder, or remove this one.")
    assert "n_seeds (3 there, 4 now)" in refused.stderr


def test_reproduce_is_the_same_run(tmp_path, monkeypatch, capsys):
    cli = pytest.importorskip("skmtl.cli", reason="the command line is not installed: pip install '.[app]'")
    options = [f"--set={name}={json.dumps(value)}" for name, value in TINY.items()]
    monkeypatch.setattr(sys, "argv", ["skmtl", "reproduce", "synthetic", "--out", str(tmp_path / "cli"), *options])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    table = (experiments.run("synthetic", out=tmp_path / "run", **TINY) / "table.md").read_text()
    assert capsys.readouterr().out.startswith(table)


def test_unknown_names_are_named(tmp_path):
    with pytest.raises(ValueError, match="no experiment 'school'; choose one of synthetic, scenes, attributes"):
        experiments.run("school", out=tmp_path)
    with pytest.raises(ValueError, match="colour is no setting of this experiment; it has supports, n_seeds"):
        experiments.run("synthetic", out=tmp_path, colour=1)
    with pytest.raises(ValueError, match="protocol='mine' is not known; choose one of classes, own, shared"):
        experiments.run("attributes", out=tmp_path, protocol="mine")
    for name in ("scenes", "attributes"):
        with pytest.raises(ValueError, match="on disk; name the folder"):
            experiments.run(name, out=tmp_path)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_defaults_are_possible_settings(name):
    experiment = experiments.EXPERIMENTS[name]
    plain = json.loads(json.dumps(experiment.SETTINGS))
    assert settle(experiment, False, experiment.SETTINGS) == experiment.SETTINGS
    assert json.loads(json.dumps(settle(experiment, False, plain))) == plain
    for quick in (experiment.QUICK, json.loads(json.dumps(experiment.QUICK))):
        assert json.dumps(settle(experiment, False, quick)) == json.dumps(settle(experiment, True, {}))


HONEST = {
    "supports": [[1], (0.5,), np.array([0.2, 0.4])],
    "n_seeds": [1, np.int64(3)],
    "noise": [0, 1, np.float64(0.5)],
    "reading_seeds": [0],
    "readings": [{}, {"mine": {}}, {"mine": {"noise": 0.2, "entries": "signs"}}],
    "n_tasks": [(5, 5), np.array([5, 6])],
}
WRONG = {
    "n_tasks": [5, [5], [5, 6, 7], [5, "x"], [0, 5], [5.5, 6]],
    "n_seeds": ["x", 1e9, None, 0, -1, True, [3], math.inf],
    "reading_seeds": [-1, 1.0],
    "n_test": [0],
    "supports": [0.5, ["a"], [], [[0.5]], [None], [True], "0.5", {}],
    "alphas": [0.1, [math.nan], [math.inf]],
    "noise": ["x", None, True, [0.1], math.nan],
    "recovery": [3, {}, {"n_tasks": 5}, {"n_tasks": 5, "support": "x"}, {"n_tasks": 5, "support": 0.5, "more": 1}],
    "readings": [[], {"mine": 3}, {"mine": {"noise": "x"}}, {"mine": {"colour": 1}}],
    "entries": [1, None],
}


@pytest.mark.parametrize("name", HONEST)
def test_settings_of_the_kind_of_the_default_are_taken(name):
    for value in HONEST[name]:
        assert settle(synthetic, False, {name: value})[name] is value


@pytest.mark.parametrize("name", WRONG)
def test_settings_of_another_kind_are_refused_before_anything_is_written(name, tmp_path):
    for value in WRONG[name]:
        with pytest.raises(
            ValueError, match=f"{name}=.* is not possible; it has to be|noise='x'|colour is no"
        ) as caught:
            experiments.run("synthetic", out=tmp_path / "run", quick=True, **{name: value})
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("bounds", "support"), [([20, 5], 0.5), ([2, 3], 0.1)])
def test_numbers_of_tasks_that_are_not_possible(bounds, support):
    with pytest.raises(ValueError, match=r"has no number that is possible; support=0.. needs \d+"):
        synthetic._draw_n_tasks(bounds, support, 0)


def test_what_has_no_default_is_nothing_or_of_its_kind():
    for experiment, given in ((scenes, {"images_per_class": 5}), (attributes, {"features": "sift"})):
        for name, value in given.items():
            assert settle(experiment, False, {name: value})[name] == value
            assert settle(experiment, True, {name: None})[name] is None
            with pytest.raises(ValueError, match=f"{name}=0.5 is not possible.*, or null"):
                settle(experiment, False, {name: 0.5})


DAMAGED = [b"", b"[]", b"null", b"3", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe\x00", b"{"]


@pytest.mark.parametrize("content", DAMAGED)
def test_files_of_a_run_that_are_damaged_are_named(tmp_path, content):
    config = {"experiment": "mine"}
    folder = open_folder(tmp_path, config)
    if content:
        (folder / "runs.jsonl").write_bytes(content + b"\n")
        with pytest.raises(ValueError, match=r"runs.jsonl has a line that is"):
            read_rows(folder / "runs.jsonl")
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config.json (is damaged|does not say).* choose another folder"):
        open_folder(folder, config)
    assert (folder / "config.json").read_bytes() == content


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_the_small_version_changes_known_settings_only(name):
    experiment = experiments.EXPERIMENTS[name]
    assert experiment.QUICK.keys() <= experiment.SETTINGS.keys()
    small = {**experiment.SETTINGS, **experiment.QUICK}
    assert len(experiment.make_items(small)) < len(experiment.make_items(experiment.SETTINGS)) / 2


# Choosing


@pytest.fixture(scope="session")
def search():
    tasks = make_sparse_tasks(6, 20, 40, support=0.5, random_state=1)
    options = {"alphas": [1.0, 0.3, 0.1, 0.03, 0.01], "mus": [0.5, 0.8, 0.9, 1.0], "eps_factors": [1.0], "rule": "1se"}
    return MultiTaskRegressorCV(["sparse", "trace"], **options).fit(tasks.X, tasks.Y), tasks


def candidate(search, i):
    """The parameters of a candidate, as the columns of the results hold them."""
    columns = {name[6:]: column[i] for name, column in search.cv_results_.items() if name.startswith("param_")}
    return {name: value for name, value in columns.items() if value is not np.ma.masked}


def test_the_sparsest_of_all_candidates_is_what_the_estimator_would_choose(search):
    fitted, _ = search
    sparsest, best = best_candidate(fitted, rule="1se"), best_candidate(fitted)
    assert sparsest == candidate(fitted, fitted.best_index_) != best
    assert best == candidate(fitted, int(np.argmin(fitted.cv_results_["rank_test_score"])))


def test_the_best_candidate_is_chosen_among_the_wanted_only(search):
    fitted, _ = search
    columns = {name: fitted.cv_results_[f"param_{name}"].filled(None) for name in ("penalty", "mu", "alpha")}
    results = pd.DataFrame(columns).assign(score=fitted.cv_results_["mean_test_score"])
    of = results[(results["penalty"] == "sparse") & (results["mu"] == 0.8)]
    assert best_candidate(fitted, penalty="sparse", mu=0.8)["alpha"] == of.loc[of["score"].idxmax(), "alpha"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [({"penalty": "cluster"}, "no candidate of the search has penalty='cluster'"), ({"nu": 1}, "no parameter 'nu'")],
)
def test_candidates_that_are_not_there_get_a_sentence(search, wanted, message):
    with pytest.raises(ValueError, match=message):
        best_candidate(search[0], **wanted)


def test_the_estimator_of_the_chosen_candidate_is_the_fitted_search(search):
    fitted, tasks = search
    model = estimator_of(fitted, candidate(fitted, fitted.best_index_)).fit(tasks.X, tasks.Y)
    np.testing.assert_allclose(model.predict(tasks.X_test), fitted.predict(tasks.X_test), rtol=1e-6, atol=1e-8)


def test_test_targets_choose_nothing(monkeypatch):
    settings = {**synthetic.SETTINGS, **TINY}
    honest = synthetic.evaluate(None, settings, part="errors", support=0.5, seed=0)
    make = synthetic.make_sparse_tasks

    def with_other_targets(*args, **kwargs):
        tasks = make(*args, **kwargs)
        return replace(tasks, Y_test=tasks.Y_test[::-1])

    monkeypatch.setattr(synthetic, "make_sparse_tasks", with_other_targets)
    other = synthetic.evaluate(None, settings, part="errors", support=0.5, seed=0)
    assert other["chosen"] == honest["chosen"]
    assert other["per_task"] != honest["per_task"]


# Artificial tasks


def test_numbers_of_tasks_are_possible_and_span_the_range():
    for support in (0.1, 0.2, 1.0):
        drawn = {synthetic._draw_n_tasks([5, 20], support, seed) for seed in range(300)}
        assert drawn == set(range(max(5, round(1 / support)), 21))


def test_support_is_judged_by_pairs():
    true = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]])
    assert synthetic._judge_support(true, true) == {"precision": 1.0, "recall": 1.0, "edges": 1}
    assert synthetic._judge_support(true, np.ones((3, 3))) == {"precision": 1 / 3, "recall": 1.0, "edges": 3}
    assert synthetic._judge_support(true, np.eye(3)) == {"precision": 0.0, "recall": 0.0, "edges": 0}


# Scenes


@pytest.fixture
def pictures(rng):
    labels = np.repeat(["a", "b", "c"], [30, 25, 40])
    group = np.arange(95)
    # Copies within a class, across classes, and of a picture of the codebook.
    group[[1, 40, 60]] = group[[0, 2, 55]]
    codebooks = [np.array([0, 5, 30, 33, 55, 90]), np.array([3, 4, 31, 34, 56, 91])]
    return scenes.SceneImages([np.eye(95)] * 2, labels, group, codebooks)


def test_splits_of_scenes_keep_their_promises(pictures):
    for seed in range(30):
        train, test = scenes.split(pictures, 10, seed)
        assert pd.Series(pictures.labels[train]).value_counts().to_dict() == {"a": 10, "b": 10, "c": 10}
        assert len(set(train)) == 30
        codebook = pictures.codebooks[seed % 2]
        assert not set(pictures.group[codebook]) & set(pictures.group[np.concatenate([train, test])])
        assert not set(pictures.group[train]) & set(pictures.group[test])
        left_out = set(range(95)) - set(train) - set(test)
        assert set(pictures.group[list(left_out)]) <= set(pictures.group[[*train, *codebook]])
    first, again = (scenes.split(pictures, 10, 3)[0] for _ in range(2))
    assert np.array_equal(first, again)
    with pytest.raises(ValueError, match="sizes has 23; class b has 23 images that are in no codebook"):
        scenes.split(pictures, 23, 0)


def test_mean_accuracy_counts_classes_alike():
    y = np.array(["a"] * 8 + ["b"] * 2)
    assert scenes.mean_accuracy(y, np.array(["a"] * 10)) == 0.5


def test_scenes_end_to_end_on_a_kernel(rng, tmp_path):
    labels = np.repeat(["Coast", "Forest", "Store"], 20)
    X = rng.standard_normal((60, 30)) + 2.0 * np.repeat(rng.standard_normal((3, 30)), 20, axis=0)
    prepared = scenes.SceneImages([X @ X.T], labels, np.arange(60), [np.array([0, 20, 40])])
    settings = {**scenes.SETTINGS, "sizes": [8, 12], "n_seeds": 2, "alphas": [1e-2, 1e-4], "mus": [0.9, 1.0]}
    settings["n_halves"] = 2
    rows = run_rest(scenes.make_items(settings), lambda **item: scenes.evaluate(prepared, settings, **item))
    for measure in scenes.MEASURES:
        assert all(row[measure][method] > 0.8 for row in rows for method in ("STL", "MTRL", "OKL", "SKMTL"))
    scenes.report(tmp_path, rows, settings)
    table = pd.read_csv(tmp_path / "table.csv")
    assert table[table["method"] == "MTFL"]["mean"].tolist() == table[table["method"] == "MTRL"]["mean"].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"table.md", "table.csv", "graph.png", "graph.svg"}


# Attributes


@pytest.fixture
def zoo(rng):
    predicates = rng.integers(0, 2, (6, 24)).astype(np.int8)
    # Both values for every attribute, among the classes to train and to test on alike.
    predicates[[0, 4]], predicates[[1, 5]] = 0, 1
    X = rng.random((1200, 12), dtype=np.float32)
    return animals.AnimalImages(X, rng.integers(0, 6, 1200), predicates, np.arange(6) >= 4)


SETTINGS = {"n_validation": 40, "n_test": 40, "n_components": 5, "alphas": [0.1], "mus": [0.9, 1.0], "tol": 1e-3}


def test_own_examples_are_balanced(zoo):
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "own"}, 20, 0)
    for examples, count in ((sample.train, 20), (sample.validation, 40), (sample.test, 40)):
        assert len(examples) == 24
        assert all(len(y) == count and y.sum() == count // 2 for _, y in examples)


@pytest.mark.parametrize("protocol", animals.PROTOCOLS)
def test_pools_are_disjoint_and_training_knows_nothing_of_the_test_pool(zoo, protocol):
    pools = animals._make_pools(zoo, protocol, 0)
    everything = np.concatenate(pools)
    assert len(everything) == len(set(everything)) == 1200
    if protocol == "classes":
        assert set(zoo.y[pools[2]]) == {4, 5}
        assert set(zoo.y[np.concatenate(pools[:2])]) == {0, 1, 2, 3}
    X = zoo.X.copy()
    X[pools[2]] = 7.0 - X[pools[2]]
    one, two = (animals.Sample(of, {**SETTINGS, "protocol": protocol}, 20, 0) for of in (zoo, replace(zoo, X=X)))
    for mine, other in zip(one.train + one.validation, two.train + two.validation, strict=True):
        assert np.array_equal(mine[0], other[0])
    assert not np.array_equal(one.test[0][0], two.test[0][0])


def test_shared_examples_have_all_labels(zoo):
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "shared"}, 20, 0)
    assert all(np.array_equal(X, sample.train[0][0]) for X, _ in sample.train)
    assert len(sample.train[0][0]) == 20


def test_an_attribute_without_test_examples_is_left_out(zoo):
    zoo.predicates[4:, 2] = 1
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "classes"}, 20, 0)
    assert [len(y) for _, y in sample.test[:4]] == [40, 40, 0, 40]
    result = animals.choose_and_test(sample, SETTINGS, range(4))
    assert result["tested"] == 3
    assert result["precision"]["STL"] == pytest.approx(np.mean([result["per_attribute"]["STL"][t] for t in (0, 1, 3)]))


def test_the_validation_examples_choose_and_the_test_examples_judge(zoo):
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "own"}, 20, 0)
    first = animals.choose_and_test(sample, {**SETTINGS, "alphas": [1.0, 0.01]}, range(4))
    sample.test = [(-X, y) for X, y in sample.test]
    second = animals.choose_and_test(sample, {**SETTINGS, "alphas": [1.0, 0.01]}, range(4))
    assert first["chosen"] == second["chosen"]
    assert first["precision"] != second["precision"]
    singles = [animals.choose_and_test(sample, {**SETTINGS, "alphas": [alpha]}, range(4)) for alpha in (1.0, 0.01)]
    own = second["per_attribute"][animals.PER_ATTRIBUTE]
    assert np.all((own == singles[0]["per_attribute"]["STL"]) | (own == singles[1]["per_attribute"]["STL"]))


@pytest.mark.parametrize("protocol", animals.PROTOCOLS)
def test_attributes_end_to_end(zoo, protocol, tmp_path, monkeypatch):
    monkeypatch.setattr(colour_limb, "N_HALVES", 4)
    experiment = experiments.EXPERIMENTS["attributes"]
    settings = {**experiment.SETTINGS, **SETTINGS, "protocol": protocol, "sizes": [20], "n_seeds": 2, "attributes": 24}
    settings |= {"group_size": 20, "group_alphas": [0.1], "group_mus": [0.9, 1.0]}
    rows = run_rest(experiment.make_items(settings), lambda **item: experiment.evaluate(zoo, settings, **item))
    experiment.report(tmp_path, rows, settings)
    table = pd.read_csv(tmp_path / "table.csv")
    mass = table[table["part"].str.startswith("mass")]
    assert ((0.0 <= mass["mean"]) & (mass["mean"] <= 1.0)).all()
    joint = table[(table["part"] == "colour, SKMTL") & (table["method"] == "joint")]["mean"].item()
    by_hand = [np.mean(row["joint"]["per_attribute"]["SKMTL"][:8]) for row in rows if row["part"] == "groups"]
    assert joint == pytest.approx(np.mean(by_hand))
    # The graph to be looked at stands beside the one that predicts: the first repetition's, on the same problem.
    groups = [row for row in rows if row["part"] == "groups"]
    assert ["stable" in row for row in groups] == [True, False]
    predictive, readable = (np.array(A) for A in (groups[0]["joint"]["structure"]["SKMTL"], groups[0]["stable"]))
    np.testing.assert_allclose(np.diag(readable), np.diag(predictive), rtol=0.02)
    assert np.count_nonzero(np.triu(readable, 1)) < np.count_nonzero(np.triu(predictive, 1))
    assert groups[0]["stable_mu"] < groups[0]["joint"]["chosen"]["SKMTL"]["mu"]


def test_skmtl_and_mtrl_are_one_line_of_every_table_where_mu_is_one(zoo, rng):
    """And the trace as a budget, solved by other code, has the predictors of the trace as a price."""
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "own"}, 20, 0)
    found = animals.choose_and_test(sample, {**SETTINGS, "alphas": [0.3, 0.1, 0.03], "mus": [1.0]}, range(6))
    for measure in ("precision", "auc"):
        assert found[measure]["SKMTL"] == pytest.approx(found[measure]["MTRL"], abs=1e-6)
    settings = {**synthetic.SETTINGS, **TINY, "mus": [1.0], "alphas": [0.03, 0.01]}
    row = synthetic.evaluate(None, settings, part="errors", support=0.5, seed=0)
    assert row["per_task"]["SKMTL"] == pytest.approx(row["per_task"]["MTRL"], abs=1e-6)
    X = rng.standard_normal((45, 8)) + 2.0 * np.repeat(rng.standard_normal((3, 8)), 15, axis=0)
    labels = np.repeat(["Coast", "Forest", "Store"], 15)
    prepared = scenes.SceneImages([X @ X.T], labels, np.arange(45), [np.array([0, 15, 30])])
    few = {**scenes.SETTINGS, "alphas": [1e-2, 1e-3], "mus": [1.0], "n_halves": 2}
    row = scenes.evaluate(prepared, few, size=8, seed=1)
    for measure in scenes.MEASURES:
        assert row[measure]["SKMTL"] == pytest.approx(row[measure]["MTRL"], abs=1e-6)


def test_the_trace_as_a_budget_is_the_trace_as_a_price_at_another_alpha(rng):
    tasks = make_sparse_tasks(6, 20, 40, support=0.5, random_state=1)
    price = MultiTaskRegressor(Sparse(mu=1.0), alpha=0.3, tol=1e-10).fit(tasks.X, tasks.Y)
    spent = float(np.trace(price.structure_))
    # tr(A^-1 S) / spent in place of tr(A^-1 S), with A of trace one.
    budget = MultiTaskRegressor("trace", alpha=0.3 / spent, eps=price.eps_, tol=1e-10).fit(tasks.X, tasks.Y)
    np.testing.assert_allclose(price.predict(tasks.X_test), budget.predict(tasks.X_test), atol=1e-6)
    np.testing.assert_allclose(price.structure_ / spent, budget.structure_, atol=1e-5)


@pytest.mark.parametrize("kind", ["counts", "signed", "constant"])
def test_features_of_any_sign_have_rows_of_length_one(kind, rng):
    made = {
        "counts": rng.integers(0, 50, (20, 30)),
        "signed": rng.standard_normal((20, 30)),
        "constant": np.ones((20, 3)),
    }
    X = animals.scale_features(made[kind])
    assert np.isfinite(X).all()
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-5)
    # Nothing to see in an image is no error.
    assert np.array_equal(animals.scale_features(np.zeros((2, 3))), np.zeros((2, 3)))


def test_mus_without_one_are_refused(zoo):
    sample = animals.Sample(zoo, {**SETTINGS, "protocol": "own"}, 20, 0)
    with pytest.raises(ValueError, match=r"mus=\[0.9\] has no 1, where SKMTL is MTRL; add it"):
        animals.choose_and_test(sample, {**SETTINGS, "mus": [0.9]}, range(4))


# Tables


def test_the_interval_is_that_of_the_paired_t_test(rng):
    values = pd.DataFrame(rng.standard_normal((12, 2)), columns=["a", "b"])
    test = stats.ttest_rel(values["a"], values["b"])
    low, high = test.confidence_interval(0.95)
    row = compare(values, "b", size=1).set_index("method").loc["a"]
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))
    assert row["difference"] / row["difference_error"] == pytest.approx(test.statistic)
    assert interval([3.0]) == (3.0, -np.inf, np.inf)
    # Splits of the same rows, half of them tested: 1/12 + 1/2 in place of 1/12.
    wider = compare(values, "b", overlap=0.5, size=1).set_index("method").loc["a"]
    assert wider["difference"] == row["difference"]
    assert (wider["high"] - wider["low"]) / (row["high"] - row["low"]) == pytest.approx(np.sqrt(7.0))


def test_the_paper_stands_beside_our_numbers():
    values = pd.DataFrame({"STL": [0.7, 0.72], "SKMTL": [0.75, 0.77]})
    text = result_table(compare(values, "STL", size=50), "error", scenes.PAPER)
    assert "| STL | 71.00 ± 1.00 | 72.23 ± 0.04 |" in text
    assert "| SKMTL | 76.00 ± 1.00 | 73.50 ± 0.11 |" in text


# The numbers in the documentation


def test_tables_on_the_page_are_those_of_the_runs():
    known = {line for path in REPRODUCTION.glob("*/table.md") for line in path.read_text().splitlines()}
    shown = [line for line in (REPRODUCTION / "README.md").read_text().splitlines() if line.startswith("|")]
    assert len(shown) > 30
    assert [line for line in shown if line not in known] == []


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in REPRODUCTION.glob("*/runs.jsonl")), ids=lambda f: f.name
)
def test_documented_tables_come_from_their_runs(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    experiment = experiments.EXPERIMENTS[config["experiment"]]
    items = experiment.make_items(config["settings"])
    rows = run_rest(items, lambda **item: pytest.fail(f"{item} was not run"), file=folder / "runs.jsonl")
    experiment.report(tmp_path, rows, config["settings"])
    for name in ("table.md", "table.csv"):
        assert (tmp_path / name).read_text() == (folder / name).read_text()


# Real data


SMALLER = {
    "scenes": {
        "images_per_class": 30,
        "codebook_images": 7,
        "sizes": [12, 14],
        "n_words": 32,
        "alphas": [0.01],
        "mus": [0.9, 1.0],
    },
    "attributes": {"attributes": 4, "n_components": 20},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLER)
def test_runs_on_real_data_survive_being_killed(name, data_folder, tmp_path):
    whole = experiments.run(name, data=data_folder, out=tmp_path / "whole", quick=True, **SMALLER[name])
    killed = tmp_path / "killed"
    options = [f"--set={key}={json.dumps(value)}" for key, value in SMALLER[name].items()]
    again = command(killed, name, "--quick", "--data", str(data_folder), *options)
    done = kill_after(2, again, killed / "runs.jsonl")
    finished = subprocess.run(again, check=True, capture_output=True, text=True)
    assert f"{done + 1}/4 " in finished.stderr
    assert f"\n{done}/4 " not in f"\n{finished.stderr}"
    assert_same_run(whole, killed)


# Short cuts of long runs


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_measures_are_those_of_scikit_learn_with_ties_too(digits, rng):
    for n in (2, 7, 300):
        y = (np.arange(n) < n // 2).astype(np.int8)
        score = np.round(y + 2.0 * rng.normal(size=n), digits)
        assert detectors.average_precision(y, score) == pytest.approx(average_precision_score(y, score), abs=1e-12)
        assert detectors.area_under_roc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-12)


def test_tasks_that_choose_by_themselves_are_searches_of_one_task():
    settings = {**synthetic.SETTINGS, "n_features": 20, "alphas": [0.3, 0.1, 0.03, 0.01]}
    tasks = make_sparse_tasks(5, n_features=20, random_state=0)
    predicted, chosen = synthetic.one_alpha_each(settings, tasks)
    size = np.mean(np.sum(tasks.X**2, axis=1))
    assert len(set(chosen["alpha"])) > 1
    for t in range(5):
        alone = MultiTaskRegressorCV(
            ["independent"], kernel="linear", alphas=size * np.array(settings["alphas"]), eps_factors=[1.0], cv=5,
            scoring="nmse", fit_intercept=False, scale_targets=False,
        ).fit(tasks.X, tasks.Y[:, t])  # fmt: skip
        assert alone.alpha_ == pytest.approx(chosen["alpha"][t])
        np.testing.assert_allclose(alone.predict(tasks.X_test), predicted[:, t], atol=1e-9)


def test_estimators_fitted_together_are_those_fitted_alone():
    tasks = make_sparse_tasks(5, n_features=20, random_state=0)
    models = {name: MultiTaskRegressor(penalty=name, alpha=0.1) for name in ("independent", "sparse", "frobenius")}
    for name, model in fit_together(models, tasks.X, tasks.Y).items():
        alone = MultiTaskRegressor(penalty=name, alpha=0.1).fit(tasks.X, tasks.Y)
        np.testing.assert_array_equal(model.predict(tasks.X_test), alone.predict(tasks.X_test))
        np.testing.assert_array_equal(model.structure_, alone.structure_)
