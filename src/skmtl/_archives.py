"""Archives of skops that ask for no more memory and time than their size allows, checked before they are read."""

import math
import sys
import zipfile
from typing import Any, NamedTuple

import numpy as np

# How often what is written once may be read, on average and in all, where others refer to it.
REFERENCES, FREE_REFERENCES = 10, 100_000
# How skops calls what it reads parts with, beside that of arrays: a sparse matrix is an archive, which may be packed.
SPARSE, BYTES = "SparseMatrixNode", ("BytesNode", "BytearrayNode")
# Types of which NumPy makes as many bytes as a number says.
LENGTHS = ("bytes_", "void")


def check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that would need more memory than its size: ``save_model`` packs nothing."""
    if sum(part.file_size for part in archive.infolist()) > size:
        raise ValueError("its parts would be larger than the file")


class _Part(NamedTuple):
    """A part of an archive, how it is read and what becomes of it, and the number of the node that says so."""

    name: str
    loader: Any
    becomes: Any
    number: Any


def check_parts(archive: zipfile.ZipFile, schema: Any, size: int) -> None:
    """Refuse a schema whose parts, one for every node that names one, need more memory than the archive's size."""
    named = _named_parts(schema)
    if sum(archive.getinfo(part.name).file_size for part in named) > size:
        raise ValueError("its parts would be larger than the file")
    for part in named:
        if part.loader == SPARSE:
            raise ValueError(f"{part.name} is a sparse matrix, which no model holds")
        if part.loader not in BYTES:
            _check_array(archive, part)


def _named_parts(schema: Any) -> set[_Part]:
    """The parts that nodes name; what is written twice with one number is read once."""
    waiting, found = [schema], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            # Of a dict with a key "file" the value is a node.
            if isinstance(node.get("file"), str):
                # Without a number every node is another.
                number = node.get("__id__") or object()
                found.add(_Part(node["file"], node.get("__loader__"), node.get("__class__"), number))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return found


def _check_array(archive: zipfile.ZipFile, part: _Part) -> None:
    """An array must be there as its header says, and no length of something else."""
    with archive.open(part.name) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    # In Python's numbers, which do not overflow; what has no bytes may be many lines of text all the same.
    if dtype.hasobject or math.prod(shape) * max(dtype.itemsize, 1) > archive.getinfo(part.name).file_size:
        raise ValueError(f"{part.name} says that it has the shape {shape}, and is too small for that")
    if part.becomes in LENGTHS and dtype.type.__name__ != part.becomes:
        raise ValueError(f"{part.name} holds numbers, and would become bytes")


def check_references(schema: Any) -> None:
    """Refuse a schema whose nodes refer to one another so often that reading it would never end.

    skops follows every reference: of sixty lists that each hold the next one twice it would read 2^60. What has a
    number that was met before is a reference to it, whatever it calls itself.
    """
    named: dict[Any, list[Any]] = {}
    n_nodes = _collect_named(schema, named)
    sizes: dict[Any, int] = {}

    def size(node: Any) -> int:
        """Nodes to be read; of several with one number skops reads the first, and here the largest counts."""
        if isinstance(node, list):
            return sum(map(size, node))
        if not isinstance(node, dict):
            return 1
        name = node.get("__id__")
        if not name:
            return 1 + sum(map(size, node.values()))
        if name not in sizes:
            # For those who meet it again while it is counted: a circle.
            sizes[name] = sys.maxsize
            sizes[name] = max((1 + sum(map(size, one.values())) for one in named.get(name, ())), default=1)
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
