"""Inventories of other projects' pages for intersphinx, from text files that are kept in the repository.

Each file begins with the address of the pages; every other line has a role, a name, and where the name stands on them
(``$`` is the name itself). Only what our pages mention is listed, so that builds need no network.
"""

import zlib
from pathlib import Path

HEADER = """\
# Sphinx inventory version 2
# Project: {project}
# Version:
# The remainder of this file is compressed using zlib.
"""


def read_inventory(path):
    """The address of the pages, and (role, name, place) of each entry."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    (address,), *entries = lines
    return address, [tuple(entry) for entry in entries]


def pack(project, entries):
    """The inventory as intersphinx reads it."""
    body = "".join(f"{name} {role} 1 {place} -\n" for role, name, place in entries)
    return HEADER.format(project=project).encode() + zlib.compress(body.encode())


def pack_inventories(folder, out):
    """Write every inventory of a folder, and return the mapping for intersphinx."""
    out.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(Path(folder).glob("*.txt")):
        address, entries = read_inventory(path)
        packed = out / f"{path.stem}.inv"
        packed.write_bytes(pack(path.stem, entries))
        mapping[path.stem] = (address, str(packed))
    return mapping
