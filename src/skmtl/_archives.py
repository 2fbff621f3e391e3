"""Archives of skops that ask for no more memory and time than their size allows, checked before they are read."""

import math
import sys
import zipfile
from typing import Any

import numpy as np

# How often what is written once may be read, on average and in all, where others refer to it.
REFERENCES, FREE_REFERENCES = 10, 100_000


def check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that would need more memory than its size: parts that are packed, arrays that are not there.

    ``save_model`` packs nothing, so that all parts together are smaller than the file.
    """
    if sum(part.file_size for part in archive.infolist()) > size:
        raise ValueError("its parts would be larger than the file")
    for part in archive.infolist():
        if part.filename.endswith(".npy"):
            with archive.open(part) as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(stream)
            # In Python's numbers, which do not overflow.
            if dtype.hasobject or math.prod(shape) * dtype.itemsize > part.file_size:
                raise ValueError(f"{part.filename} says that it has the shape {shape}, and is too small for that")


def check_references(schema: Any) -> None:
    """Refuse a schema whose nodes refer to one another so often that reading it would never end.

    skops follows every reference: of sixty lists that each hold the next one twice it would read 2^60.
    """
    named: dict[Any, list[Any]] = {}
    n_nodes = _collect_named(schema, named)
    sizes: dict[Any, int] = {}

    def size(node: Any) -> int:
        """Nodes to be read; of several with one number, those of all."""
        if isinstance(node, list):
            return sum(map(size, node))
        if not isinstance(node, dict):
            return 1
        if node.get("__loader__") != "CachedNode":
            return 1 + sum(map(size, node.values()))
        name = node.get("__id__")
        if name not in sizes:
            # For those who meet it again while it is counted: a circle.
            sizes[name] = sys.maxsize
            sizes[name] = sum(map(size, named.get(name, ())))
        return sizes[name]

    if size(schema) > REFERENCES * n_nodes + FREE_REFERENCES:
        raise ValueError("its parts refer to one another without end")


def _collect_named(node: Any, named: dict[Any, list[Any]]) -> int:
    """The nodes that others can refer to, by their numbers; gives the number of all nodes."""
    if isinstance(node, list):
        return sum(_collect_named(item, named) for item in node)
    if not isinstance(node, dict):
        return 1
    if "__id__" in node and node.get("__loader__") != "CachedNode":
        named.setdefault(node["__id__"], []).append(node)
    return 1 + sum(_collect_named(item, named) for item in node.values())
