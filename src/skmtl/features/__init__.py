"""Feature maps: the features themselves, exact kernels, and kernels approximated on landmarks."""

from skmtl.features.kernels import KERNELS, Kernel, KernelFacts, check_kernel
from skmtl.features.landmarks import Landmarks
from skmtl.features.maps import (
    FeatureMap,
    KernelMap,
    LinearMap,
    NystroemMap,
    PrecomputedMap,
    make_feature_map,
)

__all__ = [
    "KERNELS",
    "FeatureMap",
    "Kernel",
    "KernelFacts",
    "KernelMap",
    "Landmarks",
    "LinearMap",
    "NystroemMap",
    "PrecomputedMap",
    "check_kernel",
    "make_feature_map",
]
