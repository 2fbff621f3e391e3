"""Feature maps: the features themselves, exact kernels, and kernels approximated on landmarks."""

from collections.abc import Mapping
from typing import Any

from skmtl._validation import check_positive
from skmtl.features.maps import KERNELS, FeatureMap, Kernel, KernelMap, LinearMap, PrecomputedMap
from skmtl.features.nystroem import Landmarks, NystroemMap

__all__ = ["FeatureMap", "Kernel", "KernelMap", "Landmarks", "LinearMap", "NystroemMap", "PrecomputedMap"]


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
) -> FeatureMap:
    """The feature map of a kernel given by name or as a callable; approximated if there are ``n_components``."""
    if not callable(kernel) and kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is not known; choose one of {', '.join(KERNELS)}, or pass a callable.")
    # Without a gamma every kernel falls back on its own default.
    width = {} if gamma is None or callable(kernel) else {"gamma": check_positive("gamma", gamma, zero=True)}
    params = kernel_params if callable(kernel) else {**width, "degree": degree, "coef0": coef0}
    if n_components is not None or not isinstance(landmarks, str):
        if kernel == "precomputed":
            raise ValueError('n_components needs the rows themselves, which kernel="precomputed" does not have.')
        return NystroemMap(kernel, params, n_components, landmarks, random_state)
    if kernel == "linear":
        return LinearMap()
    if kernel == "precomputed":
        return PrecomputedMap()
    return KernelMap(kernel, params)
