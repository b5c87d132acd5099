"""The site of the course: `./kit docs` builds it. `-t instructor` adds the answers."""

import re
import sys
from html import escape
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent))
import cards
import open_rungs

INSTRUCTOR = Path(__file__).parent / "instructor"  # not in a students' edition
if INSTRUCTOR.is_dir():
    sys.path.insert(0, str(INSTRUCTOR))
    import solved

project = "Warpfold"
author = "the Warpfold authors"
copyright = author
html_title = "Warpfold" + (", instructor's edition" if tags.has("instructor") else "")  # noqa: F821 (given by Sphinx)

extensions = ["myst_nb"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "work"]  # work: a student's copies of the handouts
# What was found out about grading and about students' mistakes is for those who teach; classroom/course/release.py leaves it out as well.
INSTRUCTORS_RESULTS = ["results/attempts.md", "results/class.md", "results/mutants.md"]
if not tags.has("instructor"):  # noqa: F821
    exclude_patterns += ["instructor", *INSTRUCTORS_RESULTS]

INSTRUCTORS_PAGES = """
```{toctree}
:caption: For instructors
:maxdepth: 1

instructor/class
instructor/grading
instructor/slurm
instructor/threat_model
instructor/own_lab
instructor/answers
```
"""


def add_instructors_pages(app, name: str, source: list[str]) -> None:
    if name == "index" and app.tags.has("instructor"):
        source[0] += INSTRUCTORS_PAGES
    if name == "index":
        source[0] = source[0].replace("<!-- cards -->", cards.html())
    if name == "instructor/answers":
        source[0] += solved.sections()


def link_pages(app, doctree, name: str) -> None:
    """A verdict's links lead from one notebook to another (warpfold/verdict.py); on the site, to its page."""
    for node in doctree.findall(nodes.raw):
        linked = re.sub(r'href="([\w./]+)\.md#([^"]*)"', lambda found: f'href="{found[1]}.html#{found[2].lower()}"', node.astext())
        node.children, node.rawsource = [nodes.Text(linked)], linked


def say_once(app, doctree, name: str) -> None:
    """Of each rung that is still to be filled in, one line."""
    still_open = open_rungs.OpenRungs()
    for node in list(doctree.findall(nodes.raw)):
        shown = still_open.once(node.astext())
        if shown != node.astext():
            node.children, node.rawsource = [nodes.Text(shown)], shown
        output = node.parent
        if not shown:
            output.remove(node)
            if not output.children:
                output.parent.remove(output)


def let_wide_drawings_scroll(app, doctree, name: str) -> None:
    """A drawing with letters keeps a size at which they can be read, and is moved sideways on a telephone."""
    for node in list(doctree.findall(nodes.image)):
        if node["uri"].endswith(".svg"):
            label = escape(node.get("alt", ""), quote=True)
            before = nodes.raw("", f'<span class="scrolls" tabindex="0" role="group" aria-label="{label}">', format="html")
            node.replace_self([before, node.deepcopy(), nodes.raw("", "</span>", format="html")])


# What the theme and Sphinx leave out for readers who do not see the page: levels of headings, names of regions, a way into what scrolls.
NAMED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<label class="overlay ': '<label aria-hidden="true" class="overlay ',
    '<div class="content-icon-container">': '<div class="content-icon-container" role="navigation" aria-label="This page">',
    '<aside class="sidebar-drawer"': '<aside aria-label="Site" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}


def name_regions(app, failed) -> None:
    for path in Path(app.outdir).rglob("*.html") if not failed and app.builder.name == "html" else ():
        text = path.read_text()
        for before, after in NAMED.items():
            text = text.replace(before, after)
        path.write_text(text)


def highlight_kernels(app, doctree) -> None:
    """A cell that begins with %%lab holds C++, whatever language the notebook is in."""
    for node in doctree.findall(nodes.literal_block):
        if node.astext().startswith("%%lab"):
            node["language"] = "c++"


def setup(app) -> None:
    app.connect("doctree-read", highlight_kernels)
    app.connect("source-read", add_instructors_pages)
    app.connect("doctree-resolved", link_pages)
    app.connect("doctree-resolved", say_once)
    app.connect("doctree-resolved", let_wide_drawings_scroll)
    app.connect("build-finished", name_regions)


# A handout is run from its first cell to its last; a cell that fails, where none is expected to, fails the build.
nb_execution_mode = "force"
# (as a warning, which -W makes an error: so all that fail are named)
nb_execution_raise_on_error = False
nb_execution_timeout = 600
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_markdown_format = "myst"

html_theme = "furo"
html_static_path = ["static", "figures/cards"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"
highlight_language = "c++"
