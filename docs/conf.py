"""The documentation as a site, by Sphinx: `make docs` builds it into target/site.

The pages are the Markdown files that are read in the repository, too; only the glossary, the index and the
Python reference need Sphinx.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "python"))

project = "leafspine"
author = "the leafspine maintainers"
copyright = "the leafspine maintainers, Apache-2.0"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("version", "0.1.0")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images"]

myst_enable_extensions = ["deflist"]
# Links such as model.md#9-the-end-of-a-run, as GitHub makes them.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
# Types of other packages have no pages here.
nitpicky = False

html_theme = "furo"
html_title = "leafspine"
html_static_path: list[str] = []
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"
