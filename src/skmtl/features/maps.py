"""The maps there are: the features themselves, a kernel that the user has computed, and kernels by name."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse

from skmtl._linalg import Array
from skmtl._parameters import LARGEST, check_positive, is_number
from skmtl.features.base import FeatureMap
from skmtl.features.kernel_maps import KernelMap, NystroemMap
from skmtl.features.kernels import Kernel, check_kernel
from skmtl.features.landmarks import Landmarks


class LinearMap(FeatureMap):
    """The features themselves: the linear kernel seen from the primal."""

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X

    def size(self, X: Any, *, center: bool) -> float:
        mean = np.asarray(X.mean(axis=0)) if center else np.zeros(X.shape[1])
        if sparse.issparse(X):
            squares = float(X.multiply(X).sum()) / X.shape[0]
            size, rounding = squares - float(mean @ mean), 1e-14 * squares
        else:
            size, rounding = float(np.mean(np.sum((X - mean) ** 2, axis=1))), (1e-14 * float(np.abs(mean).sum())) ** 2
        # Features that are constant have no size, whatever rounding makes of it.
        return size if size > rounding else 0.0


class PrecomputedMap(FeatureMap):
    """Rows of a kernel matrix that the user has computed: k(x, x_i) for every training row x_i."""

    on_rows = dual = True

    def fit(self, X: Array) -> Self:
        return self

    def transform(self, X: Array) -> Array:
        return X


def make_feature_map(
    kernel: Kernel,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
    n_components: int | None = None,
    landmarks: Landmarks = "uniform",
    random_state: Any = None,
    feature_scale: Array | None = None,
    up_to_constants: bool = False,
) -> FeatureMap:
    """The feature map of a kernel given by name or as a callable; approximated if there are ``n_components``.

    ``feature_scale`` is for kernels that are not the features themselves, and ``up_to_constants`` for exact ones.
    """
    check_kernel(kernel)
    if not is_number(coef0) or not abs(coef0) <= LARGEST:
        raise ValueError(f"coef0={coef0!r:.50} must be a number.")
    if kernel_params is not None and not isinstance(kernel_params, Mapping):
        raise TypeError(f"kernel_params={kernel_params!r:.50} is not a mapping of names to values.")
    degree = check_positive("degree", degree)
    # Without a gamma every kernel falls back on its own default.
    own = {} if gamma is None or callable(kernel) else {"gamma": check_positive("gamma", gamma, zero=True)}
    params = kernel_params if callable(kernel) else {**own, "degree": degree, "coef0": coef0}
    if n_components is not None or not isinstance(landmarks, str):
        if kernel == "precomputed":
            raise ValueError('n_components needs the rows themselves, which kernel="precomputed" does not have.')
        return NystroemMap(kernel, params, n_components, landmarks, random_state, feature_scale)
    if kernel == "linear":
        return LinearMap()
    if kernel == "precomputed":
        return PrecomputedMap()
    return KernelMap(kernel, params, feature_scale, up_to_constants)
