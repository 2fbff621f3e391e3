"""Model files: what is saved comes back, and what is not a model runs nothing."""

import enum
import io
import json
import pickle
import warnings
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    load_model,
    persistence,
    save_model,
)
from skmtl.losses import LOSSES
from skmtl.penalties import PENALTIES, Fixed, Sparse

sio = pytest.importorskip("skops.io")

KERNELS = ["linear", "rbf", "poly", "precomputed"]


@pytest.fixture
def problem(rng):
    """Rows, numeric targets with a gap, and labels 0 and 1."""
    X = rng.normal(size=(24, 3))
    Y = X @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(24, 4))
    labels = (Y > 0).astype(float)
    Y[0, 1] = labels[0, 1] = np.nan
    return X, Y, labels


def loose(estimator):
    """Fit in a moment: how good the answer is does not matter here."""
    return estimator.set_params(tol=0.1, max_iter=5)


def fitted(estimator, X, Y, **fit_params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, Y, **fit_params)


def saved_and_loaded(model, tmp_path):
    save_model(model, tmp_path / "model.skops")
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]
    return load_model(tmp_path / "model.skops")


def assert_same(model, again, X, **params):
    methods = [name for name in ("predict", "decision_function", "predict_proba") if hasattr(model, name)]
    assert "predict" in methods
    # A kernel takes a short cut where it sees the very array it was fitted on.
    X = X.copy()
    for name in methods:
        np.testing.assert_array_equal(getattr(again, name)(X, **params), getattr(model, name)(X, **params))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_predictions_come_back_as_they_were(problem, tmp_path, penalty, loss, kernel):
    X, Y, labels = problem
    X = X @ X.T if kernel == "precomputed" else X
    if LOSSES[loss].nonnegative_targets:
        Y = np.abs(Y)
    if LOSSES[loss].couples_tasks:
        # One column of classes.
        labels = np.nan_to_num(Y).argmax(axis=1)
    purposes = [(MultiTaskRegressor, Y)] * LOSSES[loss].for_regression
    purposes += [(MultiTaskClassifier, labels)] * LOSSES[loss].for_classification
    assert purposes
    for cls, targets in purposes:
        model = fitted(loose(cls(penalty, loss=loss, kernel=kernel)), X, targets)
        again = saved_and_loaded(model, tmp_path)
        assert_same(model, again, X)
        pd.testing.assert_frame_equal(again.relations(), model.relations())
        assert again.solution_.status == model.solution_.status
        assert again.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("cv", [3, KFold(3), ShuffleSplit(2, random_state=0)])
def test_estimators_that_search_come_back(problem, tmp_path, cv):
    X, Y, labels = problem
    options = {"alphas": [0.01, 0.1], "mus": [0.9], "cv": cv}
    for cls, targets in ((MultiTaskRegressorCV, Y), (MultiTaskClassifierCV, labels)):
        model = fitted(cls(kernel="rbf", gammas=[0.1, 1.0], **options), X, targets)
        again = saved_and_loaded(model, tmp_path)
        assert_same(model, again, X)
        assert (again.verdict_, repr(again.best_params_)) == (model.verdict_, repr(model.best_params_))
        refitted = [fitted(clone(one.best_estimator_), X, targets) for one in (model, again)]
        assert_same(*refitted, X)


def test_a_pipeline_on_columns_of_all_kinds_comes_back(problem, tmp_path, rng):
    X, Y, _ = problem
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(colour=rng.choice(["red", "blue"], len(X)))
    table["colour"] = table["colour"].astype(object)
    table.loc[3, ["a", "colour"]] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    prepare = ColumnTransformer([("n", numbers, ["a", "b", "c"]), ("c", categories, ["colour"])], sparse_threshold=0)
    model = make_pipeline(prepare, MultiTaskRegressor(kernel="rbf")).fit(table, pd.DataFrame(Y))
    again = saved_and_loaded(model, tmp_path)
    assert_same(model, again, table)
    assert_same(model, again, table.assign(colour="unknown"))


def test_long_format_comes_back(problem, tmp_path):
    X, Y, _ = problem
    tasks = pd.to_datetime(["2020-01-01", "2020-01-02"] * 12)
    model = fitted(MultiTaskRegressor(), X, Y[:, 0], tasks=tasks)
    again = saved_and_loaded(model, tmp_path)
    assert_same(model, again, X, tasks=tasks)


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c", "d"],
        [1, 2, 3, 4],
        ["a", "a\0", "b", "c"],
        [1.5, 2.5, 3.5, 4.5],
        [True, False, "x", 3],
        [np.int64(3), "x", np.float64(2.5), None],
        [("a", 1), ("a", 2), ("b", 1), ("b", 2)],
        pd.date_range("2020-01-01", periods=4),
        [Colour.RED, "b", 1, Fraction(1, 3)],
        ["\u05e9\u05dc\u05d5\u05dd", "\U0001f600", "</script>", "\x00\n"],
    ],
    ids=str,
)
def test_names_of_tasks_come_back_as_strings_and_numbers(problem, tmp_path, names):
    X, Y, _ = problem
    model = MultiTaskRegressor().fit(X, pd.DataFrame(Y, columns=pd.Index(names, tupleize_cols=False)))
    again = saved_and_loaded(model, tmp_path)
    assert again.task_names_.tolist() == model.task_names_.tolist()
    for one in (model, again):
        assert all(type(name) in (str, int, float, bool) for name in one.task_names_.tolist())


@pytest.mark.parametrize(
    "classes",
    [["a", "b", "c"], [1, 2, 3], [1.0, 2.0, 3.0], np.array(["2020", "2021", "2022"], dtype="datetime64[Y]")],
    ids=str,
)
def test_classes_come_back(problem, tmp_path, classes):
    X, _, _ = problem
    model = MultiTaskClassifier().fit(X, np.asarray(classes)[np.arange(len(X)) % 3])
    assert_same(model, saved_and_loaded(model, tmp_path), X)


def linear(x, y):
    return float(x @ y)


@pytest.mark.parametrize("function", [linear, lambda x, y: float(x @ y), np.dot])
@pytest.mark.parametrize("parameter", ["kernel", "callback"])
def test_a_function_cannot_be_saved_and_the_error_says_so(problem, tmp_path, parameter, function):
    X, Y, _ = problem
    model = MultiTaskRegressor(kernel=linear if parameter == "kernel" else "linear").fit(X, Y)
    model.set_params(**{parameter: function})
    for one in (model, make_pipeline(model)):
        with pytest.raises(ValueError, match=rf"function cannot be saved: \S*{parameter}="):
            save_model(one, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_come_back_is_not_saved(problem, tmp_path):
    X, Y, _ = problem
    model = MultiTaskRegressor(Fixed(pd.DataFrame(np.eye(4)))).fit(X, Y)
    with pytest.raises(ValueError, match=r"cannot be saved.*Only strings, numbers, arrays"):
        save_model(model, tmp_path / "model.skops")
    model = MultiTaskRegressor(kernel="rbf").fit(sparse.csr_array(np.asarray(X)), Y)
    with pytest.raises(ValueError, match="training rows, and these are sparse"):
        save_model(model, tmp_path / "model.skops")
    with pytest.raises(TypeError, match="not an estimator"):
        save_model({"a": 1}, tmp_path / "model.skops")
    with pytest.raises(NotFittedError):
        save_model(MultiTaskRegressor(), tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def content(problem, tmp_path):
    """The bytes of a good file."""
    X, Y, _ = problem
    save_model(MultiTaskRegressor(kernel="rbf").fit(X, Y), tmp_path / "good.skops")
    return (tmp_path / "good.skops").read_bytes()


def rewritten(content, change):
    """The archive with ``change(name, data)`` applied to every member; None drops it."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return result.getvalue()


def refuse(tmp_path, data, match):
    (tmp_path / "bad.skops").write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        load_model(tmp_path / "bad.skops")
    assert "bad.skops" in str(caught.value)
    assert "\n" not in str(caught.value)


class Payload:
    """Creates a file when it is unpickled or constructed."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_runs_nothing(tmp_path):
    trace = tmp_path / "trace"
    refuse(tmp_path, pickle.dumps(Payload(trace)), "not a model file")
    assert not trace.exists()
    pickle.loads(pickle.dumps(Payload(trace))).close()
    assert trace.exists()  # the payload is a real one


def with_parameter(content, node):
    """A good file with the parameter ``kernel_params`` replaced by another node."""

    def change(name, data):
        if name != "schema.json":
            return data
        schema = json.loads(data)
        schema["content"]["content"]["kernel_params"] = node
        return json.dumps(schema)

    return rewritten(content, change)


def construct(module, name, *arguments):
    """A node that asks skops to call a type."""
    values = [
        {
            "__class__": "str",
            "__module__": "builtins",
            "__loader__": "JsonNode",
            "content": json.dumps(a),
            "is_json": True,
        }
        for a in arguments
    ]
    inner = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": values}
    return {"__class__": name, "__module__": module, "__loader__": "ConstructorFromReduceNode", "content": inner}


@pytest.mark.parametrize(
    ("module", "name"),
    [("builtins", "open"), ("io", "FileIO"), ("numpy", "memmap"), ("os", "system"), ("skmtl._files", "write_whole")],
)
def test_types_that_are_not_of_a_model_are_refused_before_they_run(content, tmp_path, module, name):
    trace = tmp_path / "trace"
    arguments = {"memmap": (str(trace), "uint8", "w+"), "system": (f"touch {trace}",)}.get(name, (str(trace), "w"))
    bad = with_parameter(content, construct(module, name, *arguments))
    assert f"{module}.{name}" in sio.get_untrusted_types(data=bad)
    refuse(tmp_path, bad, f"holds {module}.{name}")
    assert not trace.exists()


def test_the_attack_works_on_who_trusts_what_the_file_says(content, tmp_path):
    """So that the test above cannot pass for another reason."""
    trace = tmp_path / "trace"
    bad = with_parameter(content, construct("numpy", "memmap", str(trace), "uint8", "w+", 0, [1]))
    sio.loads(bad, trusted=sio.get_untrusted_types(data=bad))
    assert trace.exists()


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.9, -1])
def test_a_truncated_file_is_refused(content, tmp_path, keep):
    end = int(keep * len(content)) if isinstance(keep, float) else keep
    refuse(tmp_path, content[:end], "damaged")


@pytest.mark.parametrize("lost", ["schema.json", "skmtl.json"])
def test_a_lost_part_is_noticed(content, tmp_path, lost):
    refuse(tmp_path, rewritten(content, lambda name, data: None if name == lost else data), "damaged")


def test_lost_arrays_and_flipped_bytes_are_noticed(content, tmp_path):
    refuse(tmp_path, rewritten(content, lambda name, data: None if name.endswith(".npy") else data), "damaged")
    middle = content.index(b"NUMPY") + 200
    refuse(tmp_path, content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :], "damaged")


def test_another_version_is_told(content, tmp_path):
    def older(name, data):
        return json.dumps({"skmtl": "0.0.1"}) if name == "skmtl.json" else data

    (tmp_path / "old.skops").write_bytes(rewritten(content, older))
    with pytest.warns(UserWarning, match=r"old.skops was written by skmtl 0\.0\.1, and this is"):
        model = load_model(tmp_path / "old.skops")
    assert hasattr(model, "predict")
    (tmp_path / "old.skops").write_bytes(with_parameter(rewritten(content, older), construct("skmtl.gone", "Gone")))
    with (
        pytest.warns(UserWarning, match="written by"),
        pytest.raises(ValueError, match=r"skmtl\.gone\.Gone.*written by skmtl 0\.0\.1"),
    ):
        load_model(tmp_path / "old.skops")


def test_something_else_in_the_right_format(content, tmp_path):
    other = sio.dumps({"a": [1, 2]})
    refuse(tmp_path, other, "not a model file")
    buffer = io.BytesIO(other)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("skmtl.json", json.dumps({"skmtl": persistence.__version__}))
    refuse(tmp_path, buffer.getvalue(), "holds no model")


def test_only_classes_that_store_are_trusted():
    assert persistence._is_trusted("skmtl.penalties.sparse.Sparse")
    assert persistence._is_trusted("skmtl.solvers.solution.Solution")
    # Where version 0.1.0 had it.
    assert persistence._is_trusted("skmtl.solvers.solve.Solution")
    for name in (
        "skmtl.estimators.base.BaseEstimator",
        "skmtl.estimators.base.NDArray",
        "skmtl._files.write_whole",
        "skmtl.datasets.os",
        "sklearn.utils.Bunch",
        "Sparse",
    ):
        assert not persistence._is_trusted(name)


def test_a_failed_write_leaves_the_old_model(problem, tmp_path, monkeypatch):
    X, Y, _ = problem
    path = tmp_path / "model.skops"
    first = MultiTaskRegressor().fit(X, Y)
    save_model(first, path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skmtl._files.os.replace", full)
    with pytest.raises(OSError, match="No space"):
        save_model(MultiTaskRegressor(Sparse(mu=0.5)).fit(X, Y), path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.skops"]
    assert_same(first, load_model(path), X)
