#!/usr/bin/env python3
"""
Called by site/build: writes what Sphinx reads, from the Markdown pages and the public headers: site/pages.py OUT.

  - README.md becomes index, docs/NAME.md NAME, docs/guide/NAME.md guide/NAME (tutorial and cookbook likewise), and
    src/**/NAME.md keep their places.
  - A file that these link to becomes a page, too, outside of the tree and of the full text's search. In such
    pages only the links to other pages are kept.
  - include/thrum/NAME.h becomes reference/NAME, in Sphinx's C domain, and include/thrum/cpp/NAME.hpp reference/cpp/NAME,
    as it is written. tools/release/reference reads both.
"""
import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
import benchmarks  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "tools", "release"))
loader = importlib.machinery.SourceFileLoader("reference", os.path.join(ROOT, "tools", "release", "reference"))
reference = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
loader.exec_module(reference)

# Words that people search for and no symbol has, and the symbol that is meant.
WORDS = {
    "half close": "thrum_io_shutdown", "goroutine": "thrum_go", "timeout": "thrum_with_deadline",
    "timer": "thrum_sleep", "thread pool": "thrum_blocking", "context switch": "thrum_yield",
    "graceful shutdown": "thrum_serve", "fork join": "thrum_fork_start", "subprocess": "thrum_process_start",
}
# The same for the section of a document: its first words, without the marks of a heading.
PLACES = {
    "docs/guide/debugging.md": {"It crashes": "segfault, segmentation fault, crash", "It hangs": "deadlock, hang"},
    "docs/guide/descriptors.md": {"A relay": "half close, proxy"},
    "docs/stacks.md": {"Choosing a size": "stack size", "Guards": "stack overflow"},
    "docs/time.md": {"Time": "deadline, clock, late"},
}
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".py": "python", ".cmake": "cmake"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def found(*patterns):
    names = sorted(path for pattern in patterns for path in glob.glob(pattern, root_dir=ROOT, recursive=True))
    return [path for path in names if not path.startswith(("docs/history", "docs/internals"))]


class Site:
    def __init__(self, out):
        self.out = out
        self.headers = [reference.Header(ROOT, path[len("include/"):])
                        for path in found("include/thrum/*.h") + found("include/thrum/cpp/*.hpp")]
        self.pages = {}  # by the path in the repository
        for path in found("*.md", "docs/*.md", "docs/guide/*.md", "docs/tutorial/*.md", "docs/cookbook/*.md", "examples/README.md",
                          "src/**/*.md"):
            self.pages[path] = re.sub(r"^(docs/(guide|tutorial|cookbook)/)README", r"\1index", re.sub(r"\.md$", "", path))
            self.pages[path] = re.sub(r"^docs/", "", self.pages[path])
        self.pages["README.md"] = "index"
        self.made = {"benchmarks.md": benchmarks.page()}  # pages of no file
        compared = re.search(r"(?ms)^## Compared.*?(?=^## (?!When to choose))", read("README.md"))
        if compared:
            self.made["compare.md"] = compared[0].replace("## Compared", "# Compared with other libraries")
        self.pages.update((path, path[:-len(".md")]) for path in self.made)
        for header in self.headers:
            self.pages["include/" + header.path] = "reference/" + os.path.splitext(header.path[len("thrum/"):])[0]
        self.pages["include/thrum"] = "reference/index"
        self.cited = {entry.parts["Example"] for header in self.headers for entry in header.entries
                      if entry.parts.get("Example", "").startswith("examples/")}

    def write(self, page, text):
        path = os.path.join(self.out, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    # ---- Markdown ----

    def cite(self, path):
        if os.path.isfile(os.path.join(ROOT, path)):
            self.pages[path] = re.sub(r"\.md$", "", path)
            self.cited.add(path)

    def picture(self, path):
        os.makedirs(os.path.join(self.out, os.path.dirname(path)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), os.path.join(self.out, path))
        return "/" + path

    def markdown(self, path, cite=lambda path: None):
        """A page's text with the site's links; cite(path) is called for files that are not pages yet."""
        here = os.path.dirname(path)

        def link(found):
            target, _, anchor = found[3].partition("#")
            there = os.path.normpath(os.path.join(here, target))
            if not target or not os.path.exists(os.path.join(ROOT, there)):
                return found[0]
            if found[1]:
                return "![%s](%s)" % (found[2], self.picture(there))
            if there not in self.pages:
                cite(there)
            if there not in self.pages:
                return found[2]
            to = os.path.relpath(self.pages[there], os.path.dirname(self.pages[path]) or ".")
            suffix = ".rst" if there.startswith("include/") else ".md"
            return "[%s](%s%s%s)" % (found[2], to, suffix, anchor and "#" + anchor)

        def pictures(found):
            """A picture for each scheme, and those for narrow screens if there are any."""
            sources = [(media, at) for media, at in re.findall(r'<source media="([^"]*)" srcset="([^"]*)">', found["sources"])]
            sources.append(("", found["light"]))
            out = ""
            for shape in ("narrow", "wide"):
                images = [("dark" if "dark" in media else "light", at) for media, at in sources
                          if ("max-width" in media) == (shape == "narrow")]
                out += "````{container} picture %s\n%s````\n" % (shape, "".join(
                    "```{image} %s\n:class: only-%s\n:alt: \"%s\"\n```\n" %
                    (self.picture(os.path.join(here, at)), mode, found["alt"]) for mode, at in images)) if images else ""
            return out

        text = self.made.get(path) or read(path)
        parts = re.split(r"(?ms)(^ *```.*?^ *```$)", text)  # each second one is code
        for i in range(0, len(parts), 2):
            parts[i] = re.sub(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)", link, parts[i])
            parts[i] = re.sub(r'<picture>(?P<sources>(?:\s*<source[^>]*>)+)\s*<img alt="(?P<alt>[^"]*)" '
                              r'src="(?P<light>[^"]*)"[^>]*>\s*</picture>', pictures, parts[i])
        return "".join(parts)

    def citation(self, path):
        """A page with a file that is not one of the documents."""
        front = "---\norphan: true\nnosearch: true\n---\n"
        if path.endswith(".md"):
            return front + self.markdown(path)
        language = LANGUAGES.get(os.path.splitext(path)[1], "none")
        return front + "# %s\n\n~~~~{code-block} %s\n%s\n~~~~\n" % (path, language, read(path))

    def contents(self):
        """The tree on the left: what there is of site/contents.md, and then the pages that it does not know yet."""
        pages = set(self.pages.values()) | {"self"}
        contents = "".join(line for line in read("site/contents.md").splitlines(keepends=True)
                           if "<" not in line or line.rstrip(">\n").split("<")[1] in pages)
        rest = [page for path, page in self.pages.items() if path.endswith(".md") and path not in self.cited and
                not page.startswith("src/") and page not in ("index", "LICENSE") and "<%s>" % page not in contents]
        more = "```{toctree}\n:hidden:\n:caption: More\n\n%s\n```\n" % "\n".join(rest)
        return contents + ("\n" + more if rest else "")

    def documents(self):
        self.pages.update((path, path) for path in self.cited)
        for path in [path for path in self.pages if path.endswith(".md")]:
            text = self.markdown(path, self.cite)
            for heading, words in PLACES.get(path, {}).items():
                text, found = re.subn(r"(?m)^(#+ %s\n(?:\n<!--.*-->\n)?)" % heading, r"\1\n```{index} %s\n```\n" % words, text)
                assert found == 1, "%s has no heading %s" % (path, heading)
            if path == "README.md":
                text += "\n" + self.contents()
            if path.startswith("src/") and path != "src/README.md":
                text = "---\norphan: true\n---\n" + text  # src/README.md leads to them
            self.write(self.pages[path] + ".md", text)
        for path in self.cited:
            self.write(self.pages[path] + ".md", self.citation(path))

    # ---- the reference ----

    def index(self):
        rows = ["   * - :doc:`%s </%s>`\n     - %s\n" % (h.path, self.pages["include/" + h.path], line(reference.summary(h.head)))
                for h in self.headers]
        names = "".join("   /%s\n" % self.pages["include/" + h.path] for h in self.headers)
        c = len([h for h in self.headers if h.path.endswith(".h")])
        self.write("reference/index.rst", title("Reference") + """\
A page for each header. ``<thrum.h>`` includes all of C but thrum/tls.h and thrum/mpi.h. The :ref:`index <genindex>` lists
every symbol of C.

""" + title("C", "-") + ".. list-table::\n\n" + "".join(rows[:c]) + "\n" + title("C++", "-") + ".. list-table::\n\n" +
                   "".join(rows[c:]) + "\n.. toctree::\n   :hidden:\n\n" + names)

    def header(self, header):
        is_c = header.path.endswith(".h")
        out = title(header.path) + ".. code-block:: c\n\n   #include <%s>\n\n" % header.path
        out += text(header.head[:1].upper() + header.head[1:])
        bodies = {d.name for entry in header.entries for d in entry.declarations if d.kind == "type" and "{" in d.text}
        heading = None
        for entry in header.entries:
            # A type that is declared first and defined later is described where it is defined.
            if is_c:
                entry.declarations = [d for d in entry.declarations
                                      if "{" in d.text or d.kind != "type" or d.name not in bodies]
            if entry.heading:
                words = line(entry.comment)
                out += title(words[:1].upper() + words[1:], "-")
            elif not entry.declarations:
                out += text(entry.comment)
            elif is_c:
                out += described(entry)
            else:
                names = ["::".join(d.name.split("::")[:2]) for d in entry.declarations]
                out += title(names[0], "-") if names[0] != heading else ""
                heading = names[-1]
                out += ".. code-block:: cpp\n\n" + indented("\n".join(d.text for d in entry.declarations)) + "\n\n"
                out += text(entry.comment) + parts(entry)
        self.write(self.pages["include/" + header.path] + ".rst", out)


def title(words, mark="="):
    return "%s\n%s\n\n" % (words, mark * len(words))


def line(words):
    """One line of a comment in reStructuredText."""
    def mark(kind, part):
        if kind == "text":
            part = re.sub(r"([\\*_|`])", r"\\\1", part)
            part = re.sub(r"\btcp:(?=\S)", r"tcp\\:", part)  # an address, which Sphinx would make a link
            part = re.sub(r"\bthrum/(\w+)\.h\b", r":doc:`thrum/\1.h </reference/\1>`", part)
            return re.sub(r"\bdocs/([\w/-]+)\.md\b", r":doc:`/\1`", part)
        return {"strong": "**%s**", "em": "*%s*"}.get(kind, "\\ ``%s``\\ ") % part
    return re.sub(r"^\\ |\\ $", "", reference.inline(words, mark))


def indented(words, by=3):
    return re.sub(r"(?m)^(?=.)", " " * by, words)


def text(comment):
    out = ""
    for kind, words in reference.blocks(comment):
        if kind == "code":
            out += ".. code-block:: c\n\n" + indented(words) + "\n\n"
        else:
            out += ("- " if kind == "li" else "") + line(words) + "\n\n"
    return out


def directive(kind, signatures, body):
    head = ".. c:%s:: " % kind
    return head + ("\n" + " " * len(head)).join(signatures) + "\n\n" + indented(body) + "\n"


def members(declaration):
    """The fields of a struct or the constants of an enum, as directives."""
    kind = "enumerator" if re.match(r"(typedef )?enum", declaration.text) else "member"
    metrics = dict(re.findall(r"FIELD\((\w+), (\w+)", read("src/observe/metrics.c")))
    out = ""
    for field in declaration.fields:
        about = text(field.note or field.about or "")
        out += text(field.about) if field.about and field.note else ""
        if declaration.name == "thrum_metrics" and field.name in metrics:  # as name_sample of that file
            name = "thrum_" + re.sub("_ns$", "_seconds", field.name) + ("_total" if "COUNTER" in metrics[field.name] else "")
            out += ".. index:: %s\n\n" % name
            about += "Prometheus: ``%s``\n\n" % name
        out += directive(kind, [field.code], about)
    return out


def parts(entry):
    """The parts of a comment in the fixed form, as fields."""
    out = ""
    for name, part in entry.parts.items():
        if name == "Example" and not part.startswith("examples/"):
            part = ".. code-block:: c\n\n" + indented(part)
        elif name == "Example":
            part = ":doc:`%s </%s>`" % (part, part)
        elif name == "See also":
            part = ", ".join("``%s``" % other for other in re.split(r",\s+", part))
        else:
            part = "".join("- %s: %s\n" % (", ".join("``%s``" % code for code in item.split(", ")), line(words))
                           for item, words in reference.listed(part)) or \
                text(part[:1].upper() + part[1:])
        out += ":%s:\n%s\n\n" % (name, indented(part))
    return out


def described(entry):
    """Declarations with their comment; those of one kind share a directive."""
    out, waiting = "", []
    for i, d in enumerate(entry.declarations):
        kind, code = d.kind, re.sub(r"\) [A-Z_]+\([^()]*\)$", ")", re.sub(r"\s+", " ", d.text).rstrip(";"))
        if kind == "macro":
            code = re.match(r"#define (\w+(\([^)]*\))?)", code)[1]
        elif kind == "type":
            found = re.match(r"(?:typedef )?(struct|union|enum)\b", code)
            alias = re.match(r"typedef (.*[^\w])?%s\b" % d.name, code) and "{" not in code and not found
            kind, code = ("type", code[len("typedef "):]) if alias else (found[1] if found else "type", d.name)
        body = text(d.note or "") + (members(d) if kind in ("struct", "union", "enum") else "")
        follows = entry.declarations[i + 1] if i + 1 < len(entry.declarations) else None
        waiting.append(code)
        if not body and follows and follows.kind == d.kind and kind in ("macro", "function"):
            continue
        words = [word for word, name in WORDS.items() if name == d.name]
        out += ".. index:: %s\n\n" % ", ".join(words) if words else ""
        out += directive(kind, waiting, (text(entry.comment) + parts(entry) if not follows else "") + body)
        waiting = []
    return out


def main():
    site = Site(sys.argv[1])
    shutil.rmtree(site.out, ignore_errors=True)
    site.documents()
    site.index()
    for header in site.headers:
        site.header(header)


main()
