"""How `make docs` builds the site: offline, and with every warning an error."""

import sys
from pathlib import Path

from discreet import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discreet"
author = "the authors of discreet"
version = release = __version__
copyright = f"{author} · version {release} · Apache-2.0"

extensions = ["declared", "myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_ext", "_static"]
smartquotes = False  # they would make a dash of the two hyphens of an option
default_role = "code"  # single backticks, as docstrings have them

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Notebooks are kept without outputs and run when the site is built.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88  # a longer one has a line for each parameter
autodoc_default_options = {"members": True}

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"discreet {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
