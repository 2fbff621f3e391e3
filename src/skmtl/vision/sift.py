"""Reading images, and SIFT descriptors on a regular grid."""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

N_ORIENTATIONS, N_BINS = 8, 4
N_ENTRIES = N_BINS * N_BINS * N_ORIENTATIONS
# No entry of a descriptor counts more than this share of its length.
CLIP = 0.2


def dense_sift(image: Floats, *, step: int = 8, patch: int = 16, sigma: float = 1.0) -> tuple[Floats, Floats]:
    """Describe the patches on a regular grid by SIFT, all of one size and upright.

    A patch has 4 x 4 bins of 8 orientations, with linear interpolation between neighbouring bins and
    orientations; the descriptor is normalized, clipped at 0.2 and normalized again.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Grey levels in [0, 1].
    step : int, default=8
        Distance of neighbouring patches in pixels.
    patch : int, default=16
        Side of a patch in pixels, a multiple of 4.
    sigma : float, default=1.0
        Gradients are those of the image smoothed by a Gaussian of this many pixels; 0 leaves it as it is.

    Returns
    -------
    descriptors : ndarray of shape (n_patches, 128)
        Ordered by bin row, bin column and orientation.
    centers : ndarray of shape (n_patches, 2)
        Row and column of each patch's centre as fractions of height and width.

    See Also
    --------
    llc_codes : Codes the descriptors by the words of a codebook.

    References
    ----------
    Lowe. Distinctive image features from scale-invariant keypoints. IJCV 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.vision import dense_sift
    >>> image = np.random.default_rng(0).random((32, 40), dtype=np.float32)
    >>> descriptors, centers = dense_sift(image, step=8, patch=16)
    >>> descriptors.shape, centers.shape
    ((12, 128), (12, 2))
    """
    check_grid(step, patch)
    if min(image.shape) < patch:
        raise ValueError(f"The image has {image.shape[0]} x {image.shape[1]} pixels and a patch {patch} x {patch}; "
                         "use a larger image or a smaller patch.")  # fmt: skip
    top, left = (_grid(side, step, patch) for side in image.shape)
    maps = _pool_bins(_orientation_maps(_smooth(image, sigma)), patch // N_BINS)
    rows, columns = ((corner[:, None] + patch // N_BINS * np.arange(N_BINS)).ravel() for corner in (top, left))
    bins = maps[:, rows][:, :, columns].reshape(N_ORIENTATIONS, len(top), N_BINS, len(left), N_BINS)
    descriptors = bins.transpose(1, 3, 2, 4, 0).reshape(len(top) * len(left), -1)
    corners = np.stack(np.meshgrid(top, left, indexing="ij"), axis=-1).reshape(-1, 2)
    return _normalize(descriptors), ((corners + patch / 2) / image.shape).astype(np.float32)


def read_grey(data: bytes, max_side: int) -> Floats:
    """Grey levels in [0, 1] of an encoded image, its longest side at most ``max_side``."""
    cv2 = _opencv()
    try:
        image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_GRAYSCALE) if data else None
    except cv2.error:
        # OpenCV refuses more than 2^30 pixels in this way, and damaged files by returning nothing.
        image = None
    if image is None:
        raise ValueError("OpenCV cannot read this file as an image; remove or convert it.")
    scale = max_side / max(image.shape)
    if scale < 1:
        height, width = (max(1, round(scale * side)) for side in image.shape)
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(image, dtype=np.float32) / np.float32(255)


def check_grid(step: int, patch: int) -> None:
    """Step and patch must make a grid of patches with 4 x 4 bins."""
    if step < 1 or patch < N_BINS or patch % N_BINS:
        raise ValueError(
            f"step={step}, patch={patch}: step must be positive and patch a positive multiple of {N_BINS}."
        )


def _opencv() -> ModuleType:
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            'Image features need OpenCV, which is not installed: say pip install ".[vision]" in the folder of skmtl.'
        ) from error
    return cv2


def _grid(side: int, step: int, patch: int) -> NDArray[np.intp]:
    """First pixels of patches along one side, with equal margins."""
    margin = (side - patch) % step // 2
    return np.arange(margin, side - patch + 1, step)


def _smooth(image: Floats, sigma: float) -> Floats:
    cv2 = _opencv()
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma), dtype=np.float32) if sigma > 0 else image


def _orientation_maps(image: Floats) -> Floats:
    """Gradient size shared out to the two nearest orientations, shape (8, height, width)."""
    down, right = np.gradient(image)
    size = np.hypot(down, right)
    turn = np.arctan2(down, right) * np.float32(N_ORIENTATIONS / (2 * np.pi))
    below = np.floor(turn)
    above = size * (turn - below)
    low = below.astype(np.intp) % N_ORIENTATIONS
    maps = np.zeros((N_ORIENTATIONS, *image.shape), dtype=np.float32)
    np.put_along_axis(maps, low[None], (size - above)[None], axis=0)
    np.put_along_axis(maps, (low[None] + 1) % N_ORIENTATIONS, above[None], axis=0)
    return maps


def _pool_bins(maps: Floats, width: int) -> Floats:
    """Sums over bins of ``width`` pixels that start at each pixel, fading linearly into the bins beside them."""
    cv2 = _opencv()
    place = np.arange(-width, 2 * width)
    fade = np.maximum(0, 1 - np.abs(place - (width - 1) / 2) / width)
    pooled = [cv2.sepFilter2D(m, -1, fade, fade, anchor=(width, width), borderType=cv2.BORDER_CONSTANT) for m in maps]
    return np.stack(pooled)


def _normalize(descriptors: Floats) -> Floats:
    """Unit length, clipped, unit length again; a patch without gradients stays zero."""
    return _unit(np.minimum(_unit(descriptors), CLIP))


def _unit(rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.maximum(length, np.finfo(np.float32).tiny)
    return unit
