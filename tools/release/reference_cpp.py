"""
Imported by tools/release/reference alone.

Reads the headers of C++ for tools/release/reference: the comments and the declarations that they
describe, without bodies.

These are the declarations in namespaces other than `detail`, and the public members of classes. A
comment describes all declarations up to the next blank line or comment, as in C. Deleted functions
are omitted.
"""
import re

PIECE = re.compile(r"(?P<comment>/\*.*?\*/)|(?P<gap>\n[ \t]*\n\s*)|(?P<space>\s+)"
                   r"|(?P<behind>//[^\n]*)|(?P<directive>#(?:\\\n|[^\n])*)|(?P<access>(?:public|private|protected):)"
                   r"|(?P<text>\"(?:\\.|[^\"\\])*\"|[^\s{};#/]+|/)|(?P<mark>[{};])", re.S)


class Member:
    """A declaration; of a class, its head."""
    kind = "type"  # shown as it is written, without a page of its own
    note, fields = None, ()

    def __init__(self, scope, text, line):
        self.line, self.is_class = line, bool(class_name(text))
        self.text = text
        name = class_name(text) or re.search(r"(operator\s*[^\s(]+|~?\w+)\s*(?:\(|=|;|$)", bare(text))[1]
        self.name = "::".join(scope + [name])


def bare(text):
    """A declaration without what stands before it in brackets: template<...>, [[...]]."""
    text = re.sub(r"\[\[.*?\]\]|\bnoexcept\(.*?\)|\balignas\(.*?\)", " ", text)
    while text.lstrip().startswith("template"):
        text = text.lstrip()[len("template"):]
        depth = at = 0
        for at, c in enumerate(text):
            depth += (c == "<") - (c == ">")
            if c == ">" and depth == 0:
                break
        text = text[at + 1:]
    return text


def class_name(text):
    found = re.match(r"\s*(?:class|struct)\s+(\w+)(?!.*\()", bare(text), re.S)
    return found and found[1]


def tidy(text):
    """A function's head without its initializers."""
    text = " ".join(text.split())
    return re.sub(r"(\)(?: noexcept)?(?:\([^)]*\))?) : .*$", r"\1", text)


class Reader:
    def __init__(self, source, at, make_entry, unstar):
        self.source, self.at = source, at
        self.make_entry, self.unstar = make_entry, unstar
        self.entries, self.entry, self.joined = [], None, False
        self.block([], True)

    def skip(self):
        """Behind the brace that ends the block that has begun."""
        depth = 1
        while depth and self.at < len(self.source):
            piece = PIECE.match(self.source, self.at)
            self.at = piece.end()
            depth += {"{": 1, "}": -1}.get(piece[0], 0)

    def add(self, scope, text, line):
        if re.search(r"= delete;$|^friend\b|^namespace\b|^inline namespace\b|^extern\b", text) or not text:
            return
        if "native_handle(" in text:
            self.entry = None  # every class has one, and no comment is about it
        if not self.entry:
            self.entry = self.make_entry("", self.joined)
            self.entries.append(self.entry)
        self.entry.declarations.append(Member(scope, text, line))

    def block(self, scope, told):
        """Reads up to the brace that ends a namespace or a class."""
        text, start = "", self.at
        while self.at < len(self.source):
            piece = PIECE.match(self.source, self.at)
            kind, what, self.at = piece.lastgroup, piece[0], piece.end()
            if kind == "gap":
                self.entry, self.joined = None, False
            elif kind == "comment":
                if told and not text.strip() and not self.unstar(what).startswith("clang-format"):
                    self.entry, self.joined = self.make_entry(self.unstar(what), self.joined), True
                    self.entries.append(self.entry)
            elif kind == "access":
                told = what == "public:"
            elif kind in ("text", "space"):
                start = self.at if not text.strip() else start
                text += what
            elif what == "}":
                return
            elif what == ";":
                if told:
                    self.add(scope, tidy(text) + ";" if text.strip() else "", self.line(start))
                text = ""
            elif what == "{":
                text = self.body(scope, told, tidy(text), self.line(start))

    def body(self, scope, told, text, line):
        """A brace has opened. Returns what of the text goes on behind it."""
        space = re.match(r"(?:inline )?namespace\b ?(\w*)", text)
        if space and space[1] not in ("", "detail") or text == "extern \"C\"":
            self.block(scope + ([space[1]] if space[1] != "THRUM_CPP_ABI" else []), True)
        elif class_name(text) and not space and told:
            self.add(scope, text + " { ... };", line)
            self.entry, self.joined = None, False  # its members are told behind the comment
            self.block(scope + [class_name(text)], bare(text).lstrip().startswith("struct"))
        else:
            if told and not space and "(" in text:
                self.add(scope, text + ";", line)
                text = ""
            self.skip()
            return text if "(" not in text and not space else ""
        return ""

    def line(self, at):
        return self.source.count("\n", 0, at) + 1
