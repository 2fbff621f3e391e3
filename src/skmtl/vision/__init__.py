"""Image features: dense SIFT, coded by LLC, pooled over a spatial pyramid.

OpenCV reads and filters the images: ``pip install ".[vision]"`` in the folder of skmtl.
"""

from skmtl.vision.coding import llc_codes, pool_pyramid
from skmtl.vision.pyramid import SpatialPyramid
from skmtl.vision.sift import dense_sift

__all__ = ["SpatialPyramid", "dense_sift", "llc_codes", "pool_pyramid"]
