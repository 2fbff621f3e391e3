"""Words in docstrings, and where they lead: types of parameters, and names of another of our modules."""

import inspect
from importlib import import_module

from sphinx.util.nodes import make_refnode

ROOMS = ["", ".losses", ".penalties", ".model_selection", ".plotting", ".tables", ".datasets"]
OTHERS = {
    "ndarray": ":class:`~numpy.ndarray`",
    "array-like": ":term:`numpy:array_like`",
    "DataFrame": ":class:`~pandas.DataFrame`",
    "Series": ":class:`~pandas.Series`",
    "Path": ":class:`~pathlib.Path`",
    "RandomState": ":class:`~numpy.random.RandomState`",
    "Pipeline": ":class:`~sklearn.pipeline.Pipeline`",
    "ColumnTransformer": ":class:`~sklearn.compose.ColumnTransformer`",
}


def our_types():
    """Every public class under the shortest road to it."""
    found = {}
    for room in ROOMS:
        module = import_module(f"skmtl{room}")
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                found.setdefault(name, f":class:`~skmtl{room}.{name}`")
    return found


TYPES = OTHERS | our_types()


def find_elsewhere(app, env, node, content):
    """The only one of our names that ends so: in a See Also the module is left out."""
    if node.get("refdomain") != "py":
        return None
    objects = env.get_domain("py").objects
    # An object has two names where it is defined in another module than the public one, and one place.
    places = {entry[:2] for name, entry in objects.items() if name.endswith(f".{node['reftarget']}")}
    if len(places) != 1:
        return None
    ((page, anchor),) = places
    return make_refnode(app.builder, node["refdoc"], page, anchor, content, node["reftarget"])


def leave_out(app, what, name, value, skip, options):
    """Named tuples bring methods of tuples, and say of each field which number it has."""
    said = inspect.getdoc(value) or ""
    return True if value in (tuple.count, tuple.index) or said.startswith("Alias for field number") else None


def setup(app):
    app.connect("missing-reference", find_elsewhere)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True}
