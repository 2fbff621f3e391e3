"""Image features do what their formulas say, and the cache changes nothing but the time."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skmtl.datasets import load_scenes
from skmtl.vision import SpatialPyramid, dense_sift, llc_codes, pool_pyramid
from skmtl.vision.sift import read_grey

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: pip install '.[vision]'")

SMALL = {"n_words": 12, "n_descriptors": 400, "max_side": 64, "random_state": 0}


def texture(rng, height=64, width=48):
    return cv2.GaussianBlur(rng.random((height, width), dtype=np.float32), (0, 0), 1.5)


@pytest.fixture
def photos(tmp_path, rng):
    folder = tmp_path / "photos"
    folder.mkdir()
    paths = [folder / f"{number}.png" for number in range(6)]
    for path in paths:
        cv2.imwrite(str(path), 255 * texture(rng, 60, 80))
    return paths


# Dense SIFT


def one_descriptor(image, top, left, patch, sigma):
    """SIFT of one patch, pixel by pixel."""
    width = patch // 4
    down, right = np.gradient(gaussian_filter(image.astype(float), sigma, mode="mirror"))
    histogram = np.zeros((4, 4, 8))
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            turn = np.arctan2(down[row, column], right[row, column]) * 8 / (2 * np.pi)
            size = np.hypot(down[row, column], right[row, column])
            for i in range(4):
                for j in range(4):
                    far = abs(row - (top + width * i + (width - 1) / 2)) / width
                    wide = abs(column - (left + width * j + (width - 1) / 2)) / width
                    share = max(0, 1 - far) * max(0, 1 - wide) * size
                    low = int(np.floor(turn))
                    histogram[i, j, low % 8] += share * (low + 1 - turn)
                    histogram[i, j, (low + 1) % 8] += share * (turn - low)
    unit = histogram.ravel() / np.linalg.norm(histogram)
    clipped = np.minimum(unit, 0.2)
    return clipped / np.linalg.norm(clipped)


@pytest.mark.parametrize(("patch", "step", "sigma"), [(16, 8, 1.0), (12, 5, 0.0), (8, 8, 1.7)])
def test_descriptors_agree_with_counting_pixels(rng, patch, step, sigma):
    image = texture(rng, 40, 33)
    descriptors, centers = dense_sift(image, step=step, patch=patch, sigma=sigma)
    corners = np.rint(centers * image.shape - patch / 2).astype(int)
    assert len(descriptors) == ((40 - patch) // step + 1) * ((33 - patch) // step + 1)
    for place in (0, len(descriptors) // 2, len(descriptors) - 1):
        expected = one_descriptor(image, *corners[place], patch, sigma)
        np.testing.assert_allclose(descriptors[place], expected, atol=1e-5)


def test_a_mirror_image_has_mirrored_descriptors(rng):
    image = texture(rng, 64, 48)
    descriptors, centers = dense_sift(image)
    mirrored, mirrored_centers = dense_sift(np.ascontiguousarray(image[:, ::-1]))
    grid = (7, 5, 4, 4, 8)
    turned = descriptors.reshape(grid)[:, ::-1, :, ::-1][..., (4 - np.arange(8)) % 8]
    np.testing.assert_allclose(mirrored.reshape(grid), turned, atol=1e-5)
    np.testing.assert_allclose(
        mirrored_centers[:, 1].reshape(7, 5), 1 - centers[:, 1].reshape(7, 5)[:, ::-1], atol=1e-6
    )


def test_light_does_not_change_descriptors(rng):
    image = texture(rng)
    np.testing.assert_allclose(dense_sift(0.8 * image + 0.1)[0], dense_sift(image)[0], atol=1e-5)


def test_descriptors_have_unit_length_and_flat_patches_are_zero(rng):
    np.testing.assert_allclose(np.linalg.norm(dense_sift(texture(rng))[0], axis=1), 1, atol=1e-6)
    assert not dense_sift(np.full((32, 32), 0.5, dtype=np.float32))[0].any()


@pytest.mark.parametrize("wrong", [{"step": 0}, {"patch": 18}, {"patch": 0}])
def test_grids_that_cannot_be_are_refused(rng, wrong):
    with pytest.raises(ValueError, match="patch a positive multiple of 4"):
        dense_sift(texture(rng), **wrong)


def test_long_sides_are_shrunk_and_short_ones_kept(rng):
    for shape, expected in (((400, 200), (300, 150)), ((90, 600), (45, 300)), ((50, 70), (50, 70))):
        _, data = cv2.imencode(".png", (255 * rng.random(shape)).astype(np.uint8))
        image = read_grey(data.tobytes(), max_side=300)
        assert image.shape == expected
        assert image.dtype == np.float32
        assert 0 <= image.min() <= image.max() <= 1


# Coding and pooling


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
def test_codes_solve_their_problem_over_the_nearest_words(rng, n_neighbors):
    descriptors, codebook = (rng.random((n, 16), dtype=np.float32) for n in (40, 30))
    words, codes = llc_codes(descriptors, codebook, n_neighbors)
    nearest = np.argsort(cdist(descriptors, codebook), axis=1)[:, :n_neighbors]
    assert np.array_equal(words, nearest)
    for x, used, code in zip(descriptors.astype(float), words, codes, strict=True):
        B = codebook[used].astype(float)
        ridge = 1e-4 * np.sum((B - x) ** 2)
        # Stationary point of |x - B'c|^2 + ridge |c|^2 with the multiplier of 1'c = 1.
        one = np.ones((n_neighbors, 1))
        system = np.block([[2 * (B @ B.T + ridge * np.eye(n_neighbors)), one], [one.T, np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.append(2 * B @ x, 1))[:-1]
        np.testing.assert_allclose(code, expected, atol=1e-4)


def test_a_word_is_its_own_code(rng):
    codebook = rng.random((20, 16), dtype=np.float32)
    words, codes = llc_codes(codebook, codebook, 5)
    dense = np.zeros((20, 20))
    np.put_along_axis(dense, words, codes, axis=1)
    np.testing.assert_allclose(dense, np.eye(20), atol=2e-3)
    # All words alike: nothing to choose by, and nothing to divide by.
    assert np.isfinite(llc_codes(np.ones((1, 4), np.float32), np.ones((6, 4), np.float32), 3)[1]).all()


def test_pooling_takes_the_largest_code_of_each_cell(rng):
    n, n_words, levels = 30, 7, (1, 2, 3)
    words = np.array([rng.permutation(n_words)[:3] for _ in range(n)])
    codes, centers = rng.standard_normal((n, 3), dtype=np.float32), rng.random((n, 2), dtype=np.float32)
    expected = []
    for level in levels:
        for row in range(level):
            for column in range(level):
                cell = np.zeros(n_words)
                for i in range(n):
                    if (row, column) == tuple(np.floor(level * centers[i]).astype(int)):
                        cell[words[i]] = np.maximum(cell[words[i]], codes[i])
                expected.append(cell)
    expected = np.concatenate(expected)
    pooled = pool_pyramid(words, codes, centers, n_words=n_words, levels=levels)
    np.testing.assert_allclose(pooled, expected / np.linalg.norm(expected), atol=1e-6)


def test_an_empty_picture_pools_to_zero():
    nothing = np.zeros((2, 1), dtype=np.float32)
    assert not pool_pyramid(nothing.astype(int), nothing, np.full((2, 2), 0.5, np.float32), n_words=3).any()


# The transformer


def test_features_have_their_shape_and_length(photos):
    features = SpatialPyramid(**SMALL).fit_transform(photos)
    assert features.shape == (6, 12 * 21)
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-6)


def test_an_image_is_encoded_by_the_three_steps(photos):
    pyramid = SpatialPyramid(**SMALL, levels=(1, 3), n_neighbors=2, step=4, patch=8).fit(photos)
    descriptors, centers = dense_sift(read_grey(photos[2].read_bytes(), 64), step=4, patch=8)
    words, codes = llc_codes(descriptors, pyramid.codebook_, 2)
    expected = pool_pyramid(words, codes, centers, n_words=12, levels=(1, 3))
    np.testing.assert_array_equal(pyramid.transform([photos[2]])[0], expected)


def test_it_is_a_scikit_learn_transformer(photos):
    pyramid = SpatialPyramid(**SMALL, levels=(1, 2))
    copy = clone(pyramid)
    assert copy.get_params() == pyramid.get_params()
    assert copy.set_params(n_words=9).n_words == 9
    assert pyramid.fit(photos) is pyramid
    assert len(pyramid.get_feature_names_out()) == 12 * 5
    assert pyramid.set_output(transform="pandas").transform(photos).shape == (6, 60)
    with pytest.raises(NotFittedError):
        copy.transform(photos)


def test_neither_processes_nor_cache_nor_kind_of_path_matter(photos, tmp_path):
    plain = SpatialPyramid(**SMALL).fit(photos)
    expected = plain.transform(photos)
    other = SpatialPyramid(**SMALL, n_jobs=2, cache=tmp_path / "cache").fit(np.array([str(path) for path in photos]))
    np.testing.assert_allclose(other.codebook_, plain.codebook_, atol=1e-6)
    np.testing.assert_allclose(other.transform(photos), expected, atol=1e-4)


def test_progress_is_told(photos):
    seen = []
    pyramid = SpatialPyramid(**SMALL, callback=lambda done, total: seen.append((done, total))).fit(photos)
    pyramid.transform(photos[:2])
    assert seen == [(done, 6) for done in range(1, 7)] + [(1, 2), (2, 2)]


# The cache


def nothing_is_computed(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("computed in spite of the cache")

    monkeypatch.setattr("skmtl.vision.pyramid.dense_sift", refuse)


def test_the_cache_spares_the_work(photos, tmp_path, monkeypatch):
    first = SpatialPyramid(**SMALL, cache=str(tmp_path / "cache")).fit(photos)
    expected = first.transform(photos)
    # The content counts, not the name.
    moved = [path.rename(path.with_name(f"moved-{path.name}")) for path in photos]
    nothing_is_computed(monkeypatch)
    again = clone(first).fit(moved)
    np.testing.assert_array_equal(again.codebook_, first.codebook_)
    np.testing.assert_array_equal(again.transform(moved), expected)


@pytest.mark.parametrize(
    "change", [{"step": 4}, {"max_side": 50}, {"n_neighbors": 3}, {"levels": (2, 1, 4)}, {"patch": 8}]
)
def test_other_parameters_mean_other_files(photos, tmp_path, change):
    first = SpatialPyramid(**SMALL, cache=tmp_path / "cache").fit(photos)
    first.transform(photos)
    changed = clone(first).set_params(**change)
    changed.codebook_ = first.codebook_
    fresh = clone(changed).set_params(cache=None)
    fresh.codebook_ = first.codebook_
    np.testing.assert_array_equal(changed.transform(photos), fresh.transform(photos))


@pytest.mark.parametrize("change", [{"random_state": 1}, {"n_words": 11}, {"n_descriptors": 100}, {"step": 4}])
def test_another_way_of_learning_means_another_codebook(photos, tmp_path, change):
    first = SpatialPyramid(**SMALL, cache=tmp_path / "cache").fit(photos)
    assert not np.array_equal(clone(first).set_params(**change).fit(photos).codebook_, first.codebook_)
    assert not np.array_equal(clone(first).fit(photos[1:]).codebook_, first.codebook_)


@pytest.mark.parametrize("damage", [b"", b"no array", None])
def test_damaged_files_are_computed_again(photos, tmp_path, damage):
    pyramid = SpatialPyramid(**SMALL, cache=tmp_path / "cache").fit(photos)
    expected = pyramid.transform(photos)
    kept = list((tmp_path / "cache").rglob("*.npy"))
    assert len(kept) == len(photos) + 1  # one is the codebook
    for file in kept:
        file.write_bytes(file.read_bytes()[:-7] if damage is None else damage)
    np.testing.assert_array_equal(clone(pyramid).fit(photos).codebook_, pyramid.codebook_)
    np.testing.assert_array_equal(pyramid.transform(photos), expected)


def test_an_interrupted_write_leaves_nothing(photos, tmp_path, monkeypatch):
    pyramid = SpatialPyramid(**SMALL, cache=tmp_path / "cache").fit(photos)

    def half(stream, array):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", half)
    with pytest.raises(KeyboardInterrupt):
        pyramid.transform(photos)
    assert [file.name[:8] for file in (tmp_path / "cache").rglob("*") if file.is_file()] == ["codebook"]


# What goes wrong


def test_messages_for_wrong_paths(photos, tmp_path, rng):
    pyramid = SpatialPyramid(**SMALL).fit(photos)
    with pytest.raises(ValueError, match=r"single path .*0\.png.*; pass a list"):
        pyramid.transform(str(photos[0]))
    with pytest.raises(ValueError, match="X is empty"):
        pyramid.transform([])
    with pytest.raises(ValueError, match=r"1 of 2 images do not exist, the first is .*gone\.jpg"):
        pyramid.transform([photos[0], tmp_path / "gone.jpg"])
    for content in (b"", b"no image"):
        (tmp_path / "text.jpg").write_bytes(content)
        with pytest.raises(ValueError, match=r"text\.jpg: OpenCV cannot read"):
            pyramid.transform([tmp_path / "text.jpg"])
    cv2.imwrite(str(tmp_path / "tiny.png"), np.zeros((8, 90), np.uint8))
    with pytest.raises(ValueError, match=r"tiny\.png: The image has 6 x 64 pixels and a patch 16 x 16"):
        pyramid.transform([tmp_path / "tiny.png"])


def test_messages_for_wrong_parameters(photos):
    with pytest.raises(ValueError, match="n_neighbors=13 must lie between 1 and n_words=12"):
        SpatialPyramid(**SMALL, n_neighbors=13).fit(photos)
    with pytest.raises(ValueError, match=r"descriptors for n_words=5000; fit on more images"):
        SpatialPyramid(n_words=5000).fit(photos)


def test_without_opencv_the_extra_is_named(photos, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[vision\]\""):
        SpatialPyramid(**SMALL).fit(photos)


def test_scenes_can_be_told_apart(data_folder):
    scenes = load_scenes(data_folder / "15-scenes")
    chosen = [np.flatnonzero(scenes.labels == name)[:40] for name in ("Coast", "Kitchen")]
    train, test = (np.concatenate([part[half] for part in chosen]) for half in (slice(20), slice(20, None)))
    pyramid = SpatialPyramid(n_words=64, n_descriptors=5000, max_side=128, random_state=0)
    learned = pyramid.fit_transform([scenes.paths[i] for i in train])
    direction = learned[:20].mean(axis=0) - learned[20:].mean(axis=0)
    scores = pyramid.transform([scenes.paths[i] for i in test]) @ direction
    middle = (learned @ direction).mean()
    assert np.mean((scores > middle) == (np.arange(40) < 20)) >= 0.9
    assert all(Path(path).is_file() for path in scenes.paths)
