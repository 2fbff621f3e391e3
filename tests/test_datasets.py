"""The generator keeps its promises; the loaders read what is there and say what is not."""

import contextlib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import arff as scipy_arff
from scipy.io import savemat

from skmtl.datasets import load_awa, load_mulan, load_scenes, load_school, make_sparse_tasks, read_arff
from skmtl.datasets.mulan import N_TARGETS
from skmtl.datasets.scenes import CLASSES

SEEDS = range(20)


# The generator


@pytest.mark.parametrize("n_tasks", [1, 2, 5, 8, 13, 20])
@pytest.mark.parametrize("support", [0.05, 0.1, 0.25, 0.5, 0.77, 1.0])
def test_support_is_the_nearest_possible(n_tasks, support):
    possible = (n_tasks + 2 * np.arange(n_tasks * (n_tasks - 1) // 2 + 1)) / n_tasks**2
    for seed in SEEDS:
        A = make_sparse_tasks(n_tasks, 20, 2, n_test=0, support=support, random_state=seed).structure
        reached = np.count_nonzero(A) / A.size
        assert abs(reached - support) <= np.abs(possible - support).min() + 1e-12


def test_support_is_reached_where_single_entries_of_the_factor_cannot_reach_it():
    # Three pairs among four tasks: about one random order in a hundred gets stuck at two.
    supports = {make_sparse_tasks(4, 4, 1, n_test=0, support=10 / 16, random_state=seed).support for seed in range(400)}
    assert supports == {10 / 16}


@pytest.mark.parametrize("n_tasks", [1, 5, 12, 20])
def test_structures_are_what_they_should_be(n_tasks):
    for seed in SEEDS:
        tasks = make_sparse_tasks(n_tasks, 30, 2, n_test=0, support=0.4, random_state=seed)
        for A in (tasks.structure, tasks.corrupted_structure):
            assert np.array_equal(A, A.T)
            assert np.linalg.eigvalsh(A).min() >= -1e-12
        assert tasks.structure.max() == 1
        assert np.all(np.diag(tasks.structure) > 0)
        assert tasks.support == np.count_nonzero(tasks.structure) / n_tasks**2
        np.testing.assert_allclose(tasks.weights.T @ tasks.weights, np.eye(n_tasks), atol=1e-12)


def test_sparse_structures_are_not_of_low_rank():
    for seed in SEEDS:
        A = make_sparse_tasks(10, 10, 2, n_test=0, support=0.5, random_state=seed).structure
        assert np.linalg.matrix_rank(A) == 10


def test_targets_follow_the_model_with_the_noise_asked_for():
    tasks = make_sparse_tasks(8, 12, 20_000, n_test=20_000, noise=0.3, random_state=0)
    for X, Y in ((tasks.X, tasks.Y), (tasks.X_test, tasks.Y_test)):
        residual = Y - X @ tasks.weights @ tasks.corrupted_structure
        np.testing.assert_allclose(residual.var(axis=0), 0.3, rtol=0.05)
        np.testing.assert_allclose(np.cov(X.T), np.eye(12), atol=0.05)
    assert not np.shares_memory(tasks.X, tasks.X_test)


def test_corruption_has_the_variance_asked_for(monkeypatch):
    # Without the projection, which changes the noise, the difference of the structures is the noise itself.
    monkeypatch.setattr("skmtl.datasets.synthetic.spectral_map", lambda M, function: M)
    ratios = []
    for seed in range(100):
        tasks = make_sparse_tasks(15, 15, 2, n_test=0, corruption=0.2, random_state=seed)
        A = tasks.structure
        noise = (tasks.corrupted_structure - A)[np.triu_indices(15)]
        ratios.append(noise.var() / np.abs(A[A != 0]).mean())
    assert abs(np.mean(ratios) - 0.2) < 0.01


def test_no_corruption_leaves_the_structure():
    tasks = make_sparse_tasks(corruption=0, noise=0, random_state=3)
    np.testing.assert_allclose(tasks.corrupted_structure, tasks.structure, atol=1e-12)
    np.testing.assert_allclose(tasks.Y, tasks.X @ tasks.weights @ tasks.structure, atol=1e-10)


def test_same_seed_same_tasks():
    first, again, other = (make_sparse_tasks(random_state=seed) for seed in (7, 7, 8))
    for name in ("X", "Y", "X_test", "Y_test", "structure", "corrupted_structure", "weights"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert first.X.shape == (50, 100)
    assert first.Y_test.shape == (100, 10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_tasks": 5, "n_features": 4}, "n_tasks <= n_features"),
        ({"n_tasks": 0}, "n_tasks=0"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"support": 0.0}, r"support=0.0 must lie in \(0, 1\]"),
        ({"support": 1.2}, "support=1.2"),
        ({"noise": -1.0}, "noise=-1.0"),
        ({"corruption": float("nan")}, "corruption=nan"),
    ],
)
def test_generator_refuses_nonsense(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_sparse_tasks(**wrong)


# Scenes


@pytest.fixture
def scenes(tmp_path):
    for name in CLASSES:
        (tmp_path / name).mkdir()
        for number in (1, 2):
            (tmp_path / name / f"image_000{number}.jpg").write_bytes(f"{name}{number}".encode())
    return tmp_path


def test_scenes_in_order(scenes):
    (scenes / "Coast" / "notes.txt").write_text("no image")
    (scenes / ".hidden").mkdir()
    found = load_scenes(str(scenes))
    assert found.class_names == tuple(sorted(CLASSES))
    assert [Path(path).parent.name for path in found.paths] == found.labels.tolist()
    assert len(found.paths) == len(set(found.paths)) == 30
    assert len(set(found.group)) == 30
    assert found.source_split is None


def test_identical_files_share_a_group_across_classes(scenes):
    (scenes / "Coast" / "image_0009.jpg").write_bytes((scenes / "Street" / "image_0001.jpg").read_bytes())
    found = load_scenes(scenes)
    places = [found.paths.index(str(scenes / name)) for name in ("Coast/image_0009.jpg", "Street/image_0001.jpg")]
    assert found.group[places[0]] == found.group[places[1]]
    assert len(set(found.group)) == len(found.group) - 1


def test_source_split_is_read_if_there(scenes):
    (scenes / "split_train.txt").write_text("Coast/image_0001.jpg\n")
    (scenes / "split_test.txt").write_text("Street/image_0002.jpg\n")
    found = load_scenes(scenes)
    split = dict(zip(found.paths, found.source_split, strict=True))
    assert split[str(scenes / "Coast/image_0001.jpg")] == "train"
    assert split[str(scenes / "Street/image_0002.jpg")] == "test"
    assert split[str(scenes / "Street/image_0001.jpg")] == ""


def test_scenes_say_what_is_missing(scenes):
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist.*Lazebnik"):
        load_scenes(scenes / "nowhere")
    for file in (scenes / "Office").iterdir():
        file.unlink()
    with pytest.raises(FileNotFoundError, match=r"No images in Office.*Lazebnik"):
        load_scenes(scenes)
    (scenes / "Office").rmdir()
    with pytest.raises(FileNotFoundError, match=r"holds 14 folders.*Missing.*: Office\..*Lazebnik"):
        load_scenes(scenes)


# Animals with Attributes

COUNTS = {"ox": [[1, 0, 300], [2, 5, 0]], "polar+bear": [[0, 0, 7]], "bat": [[70000, 1, 1]]}


@pytest.fixture
def awa(tmp_path):
    (tmp_path / "classes.txt").write_text("    1\tox\n    2\tpolar+bear\n    3\tbat\n")
    (tmp_path / "predicates.txt").write_text("    1\tblack\n    2\tflies\n")
    (tmp_path / "predicate-matrix-binary.txt").write_text("1 0\n0 0\n1 1\n")
    (tmp_path / "trainclasses.txt").write_text("ox\npolar+bear\n")
    (tmp_path / "testclasses.txt").write_text("bat\n")
    return tmp_path


def write_features(folder, *, per_image):
    folder.mkdir(parents=True)
    for name, rows in COUNTS.items():
        lines = [" ".join(map(str, row)) for row in rows]
        if per_image:
            (folder / name).mkdir()
            for number, line in enumerate(lines):
                (folder / name / f"{name}_{number:04d}.txt").write_text(line.replace(" ", "\n"))
        else:
            (folder / f"{name}.txt").write_text("\n".join(lines))


def check_animals(animals):
    assert animals.X.tolist() == [row for rows in COUNTS.values() for row in rows]
    assert animals.X.dtype == np.int32
    assert animals.y.tolist() == [0, 0, 1, 2]
    assert animals.class_names == ("ox", "polar+bear", "bat")
    assert animals.predicates == ("black", "flies")
    assert animals.predicate_matrix[animals.y].tolist() == [[1, 0], [1, 0], [0, 0], [1, 1]]
    assert (animals.trainclasses, animals.testclasses) == (("ox", "polar+bear"), ("bat",))


@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("place", ["surf", "Features/surf-hist"])
def test_animals_in_the_original_layout(awa, per_image, place):
    write_features(awa / place, per_image=per_image)
    seen = []
    check_animals(load_awa(awa, callback=lambda done, total: seen.append((done, total))))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_animals_from_arrays(awa, monkeypatch):
    monkeypatch.setitem(COUNTS, "bat", [[65535, 1, 256]])
    X = np.array([row for rows in COUNTS.values() for row in rows])
    arrays = {"X_lo": (X % 256).astype(np.uint8), "X_hi": (X // 256).astype(np.uint8), "y": [0, 0, 1, 2]}
    names = {"class_names": ["ox", "polar+bear", "bat"], "predicates": ["black", "flies"]}
    np.savez(awa / "awa_surf.npz", predicate_matrix=[[1.0, 0], [0, 0], [1, 1]], **arrays, **names)
    check_animals(load_awa(awa))
    np.savez(awa / "awa_surf.npz", **names)
    with pytest.raises(ValueError, match=r"has no X_hi, X_lo, predicate_matrix, y; it holds class_names"):
        load_awa(awa)


@pytest.mark.parametrize("row", [[0.25, -1.0, 2.0], [1.0, 0.0, 3e12]])
def test_features_that_are_not_counts_stay_as_they_are(awa, monkeypatch, row):
    monkeypatch.setitem(COUNTS, "bat", [row])
    write_features(awa / "decaf", per_image=False)
    assert load_awa(awa).X.tolist()[-1] == row


def test_one_kind_of_features_has_to_be_chosen(awa):
    write_features(awa / "Features" / "surf", per_image=True)
    write_features(awa / "Features" / "sift", per_image=False)
    with pytest.raises(ValueError, match=r"2 kinds of features.*'Features/sift', 'Features/surf'"):
        load_awa(awa)
    check_animals(load_awa(awa, features="Features/surf"))


def test_animals_say_what_is_missing(awa):
    with pytest.raises(FileNotFoundError, match=r"neither awa_surf.npz nor .* ox/.*Lampert"):
        load_awa(awa)
    write_features(awa / "surf", per_image=False)
    (awa / "surf" / "bat.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"no features of bat\..*Lampert"):
        load_awa(awa)
    (awa / "surf" / "bat.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"3 \(polar\+bear\), 2 \(bat\)"):
        load_awa(awa)
    (awa / "surf" / "bat.txt").write_text("1 two 3")
    with pytest.raises(ValueError, match=r"bat.txt is not a table of numbers"):
        load_awa(awa)
    (awa / "testclasses.txt").write_text("unicorn\n")
    (awa / "surf" / "bat.txt").write_text("1 2 3")
    with pytest.raises(ValueError, match="name unicorn, not among the classes"):
        load_awa(awa)
    (awa / "predicate-matrix-binary.txt").write_text("1 0\n0 1\n")
    with pytest.raises(ValueError, match="3 classes and 2 predicates, but has shape"):
        load_awa(awa)
    (awa / "predicates.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks predicates.txt\..*Lampert"):
        load_awa(awa)


def arrays(**other):
    content = {
        "X_lo": np.ones((3, 2), dtype=np.uint8),
        "X_hi": np.zeros((3, 2), dtype=np.uint8),
        "y": np.array([0, 1, 2]),
        "class_names": np.array(["ox", "polar+bear", "bat"]),
        "predicates": np.array(["black", "flies"]),
        "predicate_matrix": np.array([[1, 0], [0, 0], [1, 1]]),
    }
    return {**content, **other}


def test_damaged_arrays_of_animals_are_refused(awa):
    np.savez(awa / "awa_surf.npz", **arrays())
    assert load_awa(awa).X.tolist() == [[1, 1]] * 3
    for other, words in [
        ({"y": np.array([0, 1])}, r"shapes are \(3, 2\) and \(2,\)"),
        ({"X_lo": np.ones((2, 2), dtype=np.uint8)}, "of one shape"),
        ({"predicate_matrix": np.array([["1", "0"]] * 3)}, "all else numbers"),
        ({"class_names": np.arange(3)}, "names must be text"),
    ]:
        np.savez(awa / "awa_surf.npz", **arrays(**other))
        with pytest.raises(ValueError, match=words):
            load_awa(awa)
    whole = (awa / "awa_surf.npz").read_bytes()
    for content in (b"", b"PK no archive", whole[:200], whole[:60] + b"?" * 20 + whole[80:]):
        (awa / "awa_surf.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"is no file of arrays, or it is damaged.*Lampert"):
            load_awa(awa)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("classes.txt", "", "classes.txt names nothing"),
        ("surf/bat.txt", "", "bat.txt has no numbers"),
        ("predicate-matrix-binary.txt", "yes no", "is not a table of numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:loadtxt:UserWarning")
def test_lists_of_animals_that_say_nothing_are_refused(awa, name, text, words):
    write_features(awa / "surf", per_image=False)
    (awa / name).write_text(text)
    with pytest.raises(ValueError, match=words):
        load_awa(awa)


# School


def write_school(file, rows=(2, 3), scores=(2, 3)):
    X, Y = np.empty((1, len(rows)), dtype=object), np.empty((1, len(rows)), dtype=object)
    for task, (n, m) in enumerate(zip(rows, scores, strict=True)):
        X[0, task] = np.full((n, 2), 200 + task, dtype=np.uint8)
        Y[0, task] = np.arange(m, dtype=np.uint8)[:, None]
    savemat(file, {"X": X, "Y": Y})


def test_school_in_long_format(tmp_path):
    write_school(tmp_path / "school.mat")
    for path in (tmp_path, tmp_path / "school.mat"):
        school = load_school(path)
        assert school.X.dtype == school.y.dtype == float
        assert school.X.sum(axis=1).tolist() == [400, 400, 402, 402, 402]
        assert school.y.tolist() == [0, 1, 0, 1, 2]
        assert school.tasks.tolist() == [0, 0, 1, 1, 1]


def test_school_says_what_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"school.mat does not exist.*Inner London"):
        load_school(tmp_path)
    write_school(tmp_path / "school.mat", scores=(2, 2))
    with pytest.raises(ValueError, match=r"\[2, 3\] and \[2, 2\]"):
        load_school(tmp_path)
    savemat(tmp_path / "school.mat", {"X": np.eye(2)})
    with pytest.raises(ValueError, match="has no variable Y"):
        load_school(tmp_path)


def test_a_damaged_school_is_refused_with_a_sentence(tmp_path, rng):
    write_school(tmp_path / "whole.mat")
    whole = np.frombuffer((tmp_path / "whole.mat").read_bytes(), dtype=np.uint8)
    contents = [b"", b"no file of MATLAB", whole[: len(whole) // 2].tobytes()]
    for _ in range(20):
        changed = whole.copy()
        changed[rng.integers(128, len(whole), 10)] ^= rng.integers(1, 256, 10).astype(np.uint8)
        contents.append(changed.tobytes())
    for content in contents:
        (tmp_path / "school.mat").write_bytes(content)
        # A change that nobody can see may pass.
        with contextlib.suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load_school(tmp_path)
    (tmp_path / "school.mat").write_bytes(b"")
    with pytest.raises(ValueError, match=r"school.mat is no file of MATLAB, or it is damaged.*Inner London"):
        load_school(tmp_path)
    for cells in (np.array([["a", "b"]], dtype=object), np.empty((1, 0), dtype=object)):
        savemat(tmp_path / "school.mat", {"X": cells, "Y": cells})
        with pytest.raises(ValueError, match="X "):
            load_school(tmp_path)


# Mulan

DENSE = """% a comment
@RELATION 'a set: -C 2'

@attribute "'depth in m'" NUMERIC
@attribute colour {red, 'dark, green', blue}
@attribute\tflag\t{1,0}
@attribute level {1, 2, 3}
@attribute it\\'s integer
@ATTRIBUTE 'first target' real
@attribute second {0,1}
@DATA
% another
 1.5, red, 1, 2, 7, -1e3, 0
?, 'dark, green', 0, ?, 8, ?, 1

2,?,?,1,9,0.5,1
"""
SPARSE = """@relation r
@attribute a numeric
@attribute b {0,1}
@attribute kind {none,some,all}
@attribute y1 {0,1}
@attribute y2 numeric
@data
{0 2.5, 3 1}
{}
{ 1 1,2 all,4 -3 }
{2 ?, 0\t?}
"""


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_dense_file(tmp_path):
    found = load_mulan(write(tmp_path, "set.arff", DENSE), n_targets=2)
    nan = np.nan
    expected = pd.DataFrame(
        {
            "depth in m": [1.5, nan, 2.0],
            "colour": pd.Categorical(["red", "dark, green", None], categories=["red", "dark, green", "blue"]),
            "flag": [1.0, 0.0, nan],
            "level": pd.Categorical(["2", None, "1"], categories=["1", "2", "3"]),
            "it\\'s": [7.0, 8.0, 9.0],
        }
    )
    pd.testing.assert_frame_equal(found.X, expected)
    pd.testing.assert_frame_equal(found.Y, pd.DataFrame({"first target": [-1000, nan, 0.5], "second": [0.0, 1.0, 1.0]}))
    assert found.feature_names == tuple(expected.columns)


def test_sparse_file(tmp_path):
    found = load_mulan(write(tmp_path, "set.arff", SPARSE), n_targets=2)
    kind = pd.Categorical(["none", "none", "all", None], categories=["none", "some", "all"])
    expected = pd.DataFrame({"a": [2.5, 0, 0, np.nan], "b": [0.0, 0, 1, 0], "kind": kind})
    pd.testing.assert_frame_equal(found.X, expected)
    assert found.Y.to_dict("list") == {"y1": [1, 0, 0, 0], "y2": [0, 0, -3, 0]}
    with pytest.raises(ValueError, match="Columns kind hold words"):
        load_mulan(tmp_path / "set.arff", n_targets=2, sparse=True)


def test_sparse_matrix_equals_frame(tmp_path):
    numbers = SPARSE.replace("{none,some,all}", "{0,1}").replace("2 all", "2 1").replace("?", "1")
    dense = "@relation r\n@attribute a real\n@attribute b real\n@attribute y real\n@data\n1,0,2\n0,3,4\n"
    for name, text, n_targets in (("s.arff", numbers, 2), ("d.arff", dense, 1)):
        file = write(tmp_path, name, text)
        frame, matrix = (load_mulan(file, n_targets, sparse=sparse) for sparse in (False, True))
        assert matrix.X.format == "csr"
        assert np.array_equal(matrix.X.toarray(), frame.X.to_numpy())
        pd.testing.assert_frame_equal(matrix.Y, frame.Y)
        assert matrix.feature_names == tuple(frame.X.columns)


def test_labels_come_from_the_list_beside_the_file(tmp_path):
    text = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="y2"><label name="a"/></label></labels>'
    write(tmp_path, "my-set.xml", text)
    for name in ("my-set.arff", "my-set-train.arff", "my-set-test-sparse.arff"):
        found = load_mulan(write(tmp_path, name, SPARSE))
        assert found.Y.columns.tolist() == ["a", "y2"]
        assert found.feature_names == ("b", "kind", "y1")
    other = write(tmp_path, "other.xml", text.replace('"y2"', '"y1"'))
    assert load_mulan(tmp_path / "my-set.arff", labels=other).Y.columns.tolist() == ["a", "y1"]
    assert load_mulan(tmp_path / "my-set.arff", n_targets=1).Y.columns.tolist() == ["y2"]
    with pytest.raises(ValueError, match="names zebra, not among the columns"):
        load_mulan(tmp_path / "my-set.arff", labels=write(tmp_path, "z.xml", text.replace('"y2"', '"zebra"')))
    with pytest.raises(ValueError, match="not an XML list"):
        load_mulan(tmp_path / "my-set.arff", labels=write(tmp_path, "z.xml", "labels"))
    strange = '<?xml version="1.0" encoding="klingon"?>' + text
    with pytest.raises(ValueError, match="is not an XML list of labels"):
        load_mulan(tmp_path / "my-set.arff", labels=write(tmp_path, "z.xml", strange))
    with pytest.raises(FileNotFoundError, match=r"gone\.xml, the list of labels"):
        load_mulan(tmp_path / "my-set.arff", labels=tmp_path / "gone.xml")


HEADER = "@attribute a numeric\n@attribute b {x,y}\n@attribute c {1,0}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3", "0 @attribute lines and no @data line"),
        ("@attribute a string\n@data\nx", "cannot use the line '@attribute a string'"),
        (HEADER + "@data\n1,x", "row 1 of the data has 2 cells for 3 columns"),
        (HEADER + "@data\n1,x,1\n1,x,1,1", "row 2 of the data has 4 cells for 3 columns"),
        (HEADER + "@data\n1,z,1", "column b holds z, not among its values"),
        (HEADER + "@data\none,x,1", "one"),
        (HEADER + "@data\n{0 1}", "columns c list 1 before 0"),
        (HEADER.replace("{1,0}", "{0,1}") + "@data\n{0 1}\n1,x,1", "is not in braces"),
        (HEADER.replace("{1,0}", "{0,1}") + "@data\n{3 1}", "rows use the column 3, but columns go from 0 to 2"),
        (HEADER.replace("{1,0}", "{0,1}") + "@data\n{0 1,0 1}", "same column twice"),
    ],
)
def test_broken_files_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_arff(write(tmp_path, "broken.arff", text))


def test_mulan_says_what_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"jura.arff does not exist.*Tsoumakas"):
        load_mulan(tmp_path / "jura.arff")
    file = write(tmp_path, "unknown.arff", SPARSE)
    with pytest.raises(ValueError, match=r"not one of the known sets \(andro.*pass n_targets"):
        load_mulan(file)
    with pytest.raises(ValueError, match="n_targets=5 must be at least 1 and leave a feature among 5"):
        load_mulan(file, n_targets=5)
    with pytest.raises(ValueError, match="targets kind are words"):
        load_mulan(file, n_targets=3)


def test_a_file_without_rows_has_columns(tmp_path):
    found = load_mulan(write(tmp_path, "empty.arff", DENSE[: DENSE.index("% another")]), n_targets=2)
    assert (found.X.shape, found.Y.shape) == ((0, 5), (0, 2))


# The real sets

# Rows, features, targets and missing cells of every set.
MULAN = {
    "multi-target/andro": (49, 30, 6, 0),
    "multi-target/atp1d": (337, 411, 6, 0),
    "multi-target/edm": (154, 16, 2, 0),
    "multi-target/enb": (768, 8, 2, 0),
    "multi-target/jura": (359, 15, 3, 0),
    "multi-target/oes97": (334, 263, 16, 0),
    "multi-target/osales": (639, 401, 12, 10012),
    "multi-target/rf1": (9125, 64, 8, 3264),
    "multi-target/scpf": (1137, 23, 3, 9255),
    "multi-target/sf1": (323, 10, 3, 0),
    "multi-target/sf2": (1066, 10, 3, 0),
    "multi-target/slump": (103, 7, 3, 0),
    "multi-label/Corel5k-train-sparse": (4500, 499, 374, 0),
    "multi-label/Corel5k-test-sparse": (500, 499, 374, 0),
    "multi-label/bibtex": (7395, 1836, 159, 0),
    "multi-label/enron": (1702, 1001, 53, 0),
    "multi-label/flags": (194, 19, 7, 0),
    "multi-label/medical": (978, 1449, 45, 0),
    "multi-label/scene-train": (1211, 294, 6, 0),
    "multi-label/scene-test": (1196, 294, 6, 0),
    "multi-label/yeast-train": (1500, 103, 14, 0),
    "multi-label/yeast-test": (917, 103, 14, 0),
}


@pytest.mark.parametrize("name", MULAN)
def test_every_mulan_set(data_folder, name):
    n_rows, n_features, n_targets, n_missing = MULAN[name]
    found = load_mulan(data_folder / "mulan" / f"{name}.arff")
    assert found.X.shape == (n_rows, n_features)
    assert found.Y.shape == (n_rows, n_targets)
    assert found.X.isna().sum().sum() + found.Y.isna().sum().sum() == n_missing
    assert set(found.Y.dtypes) == {np.dtype(float)}


def test_every_known_set_is_tested():
    assert {f"multi-target/{name}" for name in N_TARGETS} == {name for name in MULAN if "target" in name}


@pytest.mark.parametrize("name", ["multi-target/osales", "multi-label/scene-test"])
def test_scipy_reads_the_same_numbers(data_folder, name):
    file = data_folder / "mulan" / f"{name}.arff"
    records, _ = scipy_arff.loadarff(file)
    found = load_mulan(file)
    both = np.hstack([found.X.to_numpy(), found.Y.to_numpy()])
    np.testing.assert_allclose(both, np.array(records.tolist(), dtype=float), rtol=1e-14)


def test_real_scenes(data_folder):
    found = load_scenes(data_folder / "15-scenes")
    assert (len(found.paths), len(found.class_names), len(set(found.group))) == (4485, 15, 4467)
    assert (np.sum(found.source_split == "train"), np.sum(found.source_split == "test")) == (1500, 2985)
    assert np.bincount(np.unique(found.labels, return_inverse=True)[1]).min() == 210


def test_real_animals(data_folder):
    animals = load_awa(data_folder / "AwA")
    assert (animals.X.shape, animals.X.max()) == ((30475, 2000), 26850)
    assert animals.predicate_matrix.shape == (50, 85)
    assert (len(animals.trainclasses), len(animals.testclasses)) == (40, 10)
    unseen = [animals.class_names.index(name) for name in animals.testclasses]
    assert np.isin(animals.y, unseen).sum() == 6180


def test_real_school(data_folder):
    school = load_school(data_folder / "school")
    sizes = np.bincount(school.tasks)
    assert (school.X.shape, len(sizes), sizes.min(), sizes.max()) == ((15362, 28), 139, 22, 251)
    assert (school.y.min(), school.y.max()) == (1, 70)


def test_a_list_of_values_beyond_the_reader_is_refused(tmp_path, usual_csv):
    file = tmp_path / "long.arff"
    file.write_text("@relation r\n@attribute a {" + "x" * 200_000 + "}\n@attribute b numeric\n@data\n")
    with pytest.raises(ValueError, match="is no list of values"):
        read_arff(file)
