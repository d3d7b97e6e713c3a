"""Settings of Sphinx for the documentation: ``make docs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

from external_names import write_inventories
from gallery_scripts import pattern_of_runnable_examples, place_in_gallery
from sphinx.application import Sphinx
from sphinx_gallery.sorting import FunctionSortKey

import robustrank

project = "robustrank"
author = "The robustrank developers"
copyright = author
version = release = robustrank.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "extensions", "figures", "gallery/*.ipynb", "**/sg_execution_times.*"]
templates_path = ["templates"]
suppress_warnings = ["config.cache"]  # the settings contain functions of the gallery

# Pages. Code without a language is commands or output.
highlight_language = "none"
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference: one page for each public name
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the signature has them
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
default_role = "code"

# viewcode knows one module of the reference for each file. These names have no link to their
# source, because other names of their files are listed in another module.
without_source = {
    "robustrank.solvers.Problem",
    "robustrank.result.RankRow",
    "robustrank.planning.Plan",
}

# Names of other libraries are known without network access.
intersphinx_mapping = write_inventories(
    HERE / "external_names.toml", HERE / "_build" / "inventories"
)

# The gallery
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": pattern_of_runnable_examples(),
    "abort_on_example_error": True,
    "doc_module": ("robustrank",),
    "backreferences_dir": "gallery/backreferences",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1000,
    "within_subsection_order": FunctionSortKey(place_in_gallery),
    "matplotlib_animations": False,
}

# The theme
toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = "robustrank"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars: dict[str, list[str]] = {"start": [], "which-function": []}
html_theme_options = {
    "logo": {"text": "robustrank"},
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def module_of_source(_: Sphinx, module: str, name: str) -> str | None:
    """The module whose source is linked; None: the one that defines the name."""
    return module if f"{module}.{name.partition('.')[0]}" in without_source else None


def setup(app: Sphinx) -> None:
    """Connect the functions of this file."""
    app.connect("viewcode-follow-imported", module_of_source)
