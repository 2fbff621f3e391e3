"""Feature maps: the features themselves, exact kernels, and kernels approximated on landmarks."""

from skmtl.features.base import FeatureMap
from skmtl.features.kernel_maps import KernelMap, NystroemMap, middle_row
from skmtl.features.kernels import KERNELS, Kernel, KernelFacts, check_kernel
from skmtl.features.landmarks import Landmarks
from skmtl.features.maps import LinearMap, PrecomputedMap, make_feature_map

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
    "middle_row",
]
