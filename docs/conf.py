"""Sphinx: how the site is built. ``make docs`` calls it; nothing is fetched while it runs."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Our own extensions, which the imports below need: hence they do not stand at the top.
sys.path.insert(0, str(HERE / "_ext"))

from inventories import pack_inventories  # noqa: E402
from numpydoc_words import TYPES  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

import skmtl  # noqa: E402

project = "skmtl"
author = "The skmtl developers"
copyright = author
version = release = skmtl.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "generated_pages",
    "numpydoc_words",
    "readable_tables",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "numpydoc",
]
exclude_patterns = ["_build", "generated"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "py:obj"
# Options of commands have two hyphens, and marks of tables straight quotes: they are shown as they are typed.
smartquotes = False
# A page that names what it does not have is an error, as is every other warning: make docs says -W.
nitpicky = False

# Markdown -------------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
# Sections and code samples of README, CONTRIBUTING and CHANGELOG, which GitHub shows too.
myst_links_external_new_tab = False

# Formulas: MathJax, from a package, in one file with its letters; pages need no network and no fonts.
_mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax" / "tex-svg.js"
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

# The reference --------------------------------------------------------------------------------------------------------
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
add_function_parentheses = False
# What every estimator of scikit-learn has is told there.
_INHERITED = ("get_params", "set_params", "get_metadata_routing", "set_fit_request", "set_predict_request")
_INHERITED += (
    "set_score_request",
    "set_decision_function_request",
    "set_predict_proba_request",
    "set_transform_request",
    "set_output",
)
autodoc_default_options = {
    "members": True,
    "inherited-members": True,
    "exclude-members": ", ".join(_INHERITED),
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = TYPES
intersphinx_mapping = pack_inventories(HERE / "inventories", HERE / "_build" / "inventories")

# The gallery ----------------------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/names",
    "doc_module": ("skmtl",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": ExplicitOrder([f"../examples/{part}" for part in ("graph", "labels", "practice")]),
    "show_memory": False,
    # Its page of times loads scripts from elsewhere.
    "write_computation_times": False,
    # Tables are shown; objects that print as an address are not.
    "capture_repr": ("_repr_html_",),
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "plot_gallery": "True",
}

# The pages ------------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "skmtl"
html_static_path = ["_static", str(_mathjax)]
html_css_files = ["skmtl.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_favicon = html_logo = None
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages with none below them need no list of those at their side.
html_sidebars = {
    page: [] for page in ("index", "start", "contributing", "commands", "security", "changelog", "cite", "search")
}
htmlhelp_basename = "skmtl"

man_pages = [("commands", "skmtl", "predict many related targets, and learn how they are related", [author], 1)]
man_show_urls = True
