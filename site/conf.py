"""Sphinx's settings for the site, and the links from names in the text to what they name: site/build."""
import os
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.domains.c import CObject

project = "thrum"
with open(os.path.join(os.path.dirname(__file__), "..", "include", "thrum", "base.h"), encoding="utf-8") as file:
    release = version = ".".join(re.findall(r"#define THRUM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))
html_title = "thrum " + release

extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
highlight_language = "none"
copybutton_prompt_text = "$ "

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/icon.svg"
html_search_scorer = os.path.join(os.path.dirname(__file__), "scorer.js")
html_copy_source = html_show_sourcelink = False
html_show_copyright = False

# The literals that a row of these pages' tables begins with are objects: what they are called, and their pattern.
OBJECTS = {"guide/errors": ("errorcode", re.compile(r"-E[A-Z0-9]+")),
           "guide/configuration": ("envvar", re.compile(r"THRUM_[A-Z_]+"))}


def note_objects(app, doctree):
    kind, pattern = OBJECTS.get(app.env.docname, (None, None))
    for row in doctree.findall(nodes.row) if kind else ():
        literals = list(row.children[0].findall(nodes.literal))
        for literal in literals if literals and pattern.fullmatch(literals[0].astext()) else ():
            name = literal.astext()
            if pattern.fullmatch(name) and (kind, name) not in app.env.get_domain("std").objects:
                anchor = nodes.make_id(name)
                literal["ids"].append(anchor)
                app.env.get_domain("std").note_object(kind, name, anchor)


def link_names(app, doctree, docname):
    """Literals that are a symbol, an error code or a variable of the environment become links."""
    if not hasattr(app.env, "thrum_names"):
        found = [object for name in ("std", "c") for object in app.env.get_domain(name).get_objects()]
        app.env.thrum_names = {name.split(".")[-1] if kind == "enumerator" else name: (there, anchor)
                               for name, _, kind, there, anchor, _ in found if kind not in ("label", "doc")}
    for literal in list(doctree.findall(nodes.literal)):
        if re.fullmatch(r"-E[A-Z0-9]+", literal.astext()):
            literal["classes"].append("error-code")  # no line ends behind its sign
        there = app.env.thrum_names.get(re.sub(r"\(\)$", "", literal.astext()))
        if there and there != (docname, (literal["ids"] or [""])[0]) and \
                not isinstance(literal.parent, (nodes.reference, nodes.title)):
            uri = app.builder.get_relative_uri(docname, there[0]) + "#" + there[1]
            literal.replace_self(nodes.reference("", "", literal.deepcopy(), refuri=uri, internal=True))


def toc_name(self, signature):
    """Symbols in "on this page", but fields: this version of Sphinx has that for Python alone."""
    name = "" if self.objtype in ("member", "enumerator") else next(signature.findall(addnodes.desc_name)).astext()
    signature["_toc_parts"] = (name,)
    return name


def title_of(toc):
    """A page's title without its sections, if no pages are below it."""
    if next(toc.findall(addnodes.toctree), None):
        return toc
    return nodes.bullet_list("", nodes.list_item("", toc[0][0].deepcopy()))


def tree(self, *args, all_of=StandaloneHTMLBuilder._get_local_toctree, **options):
    """The tree on the left has titles only: to copy all sections and symbols for each page takes most of the time."""
    tocs = self.env.tocs
    if not hasattr(self, "thrum_titles"):
        self.thrum_titles = {page: title_of(toc) if len(toc) else toc for page, toc in tocs.items()}
    self.env.tocs = self.thrum_titles
    try:
        return all_of(self, *args, **options)
    finally:
        self.env.tocs = tocs


def setup(app):
    CObject._toc_entry_name = toc_name
    StandaloneHTMLBuilder._get_local_toctree = tree
    app.add_object_type("errorcode", "errorcode", objname="error code")
    app.connect("doctree-read", note_objects)
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
