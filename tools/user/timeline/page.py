"""
page.py: the page of a trace: the template, the style, the scripts and the data as one HTML file.

Nothing of a trace is written as HTML or as a script. Its strings are JSON in which only ASCII is left, without `<`,
`>` and `&`; its columns are numbers, compressed, in base64.
"""
import base64
import json
import os
import re
import sys
import zlib

from columns import ENDS, MARKS, count_of, in_order, ns_of

HERE = os.path.dirname(os.path.abspath(__file__))
# Controls, and what would turn the direction of a text or break a line of it, are shown as what they are.
CONTROLS = {c: 0x2400 + c for c in range(0x20)}
CONTROLS |= {0x7f: 0x2421}
CONTROLS |= {c: 0xfffd for c in (*range(0x80, 0xa0), 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a),
                                 *range(0xd800, 0xe000))}


def text_of(string):
    return string.translate(CONTROLS)


def packed(arrays):
    """Columns, one after the other, compressed."""
    pack = zlib.compressobj(3, zlib.DEFLATED, -15)
    out = bytearray()
    for column in arrays:
        if sys.byteorder == "big":
            column = column[:]
            column.byteswap()
        out += pack.compress(column.tobytes())
    return base64.b64encode(out + pack.flush())


def layout_of(rows):
    return {"rows": len(rows["begin"] if "begin" in rows else rows["fiber"]),
            "columns": [[name, column.typecode] for name, column in rows.items()]}


def length_of(rest):
    try:
        return ns_of(rest, "length_us")
    except ValueError:
        return 0


def head_of(columns, tracks, tables):
    """What the page knows before it unpacks anything."""
    rests = columns.rests
    return {
        "events": columns.events,
        "name": text_of(columns.name if len(rests) == 1 else ", ".join(columns.labels)),
        "dropped": sum(count_of(rest.get("dropped")) for rest in rests),
        "untraced": sum(count_of(rest.get("untraced")) for rest in rests),
        "start_ns": count_of(rests[columns.late.index(0)].get("start_ns")),
        "length_ns": max(late + length_of(rest) for late, rest in zip(columns.late, rests)),
        "ends": ENDS,
        "marks": MARKS,
        "tracks": [{"name": text_of(t.name), "number": t.number, "file": t.file} for t in tracks],
        "tables": [layout_of(rows) for rows in tables],
        "strings": [text_of(s) for s in columns.strings],
    }


def harmless(value):
    """JSON that may stand within an element `script`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("ascii")


def part(name):
    with open(os.path.join(HERE, name), "rb") as file:
        return file.read()


def scripts(template):
    """The scripts in the order that the template names them in, as one."""
    names = re.findall(rb"^ +([a-z_]+\.js)$", template, re.MULTILINE)
    return b"\n".join(part(os.path.join("js", name.decode())) for name in names)


def page_of(columns):
    """The pieces of the page."""
    tracks = [t for t in columns.all_tracks if t.tid or t.runs["begin"] or t.sleeps["begin"] or t.marks["begin"]]
    tables = [columns.tasks]
    for track in tracks:
        tables += [in_order(track.runs), in_order(track.sleeps), in_order(track.marks)]
    template = part("timeline.html")
    fill = {
        b"@STYLE@": part("timeline.css"),
        b"@SCRIPT@": b"'use strict';\n" + scripts(template),
        b"@HEAD@": harmless(head_of(columns, tracks, tables)),
        b"@DATA@": packed(column for rows in tables for column in rows.values()),
    }
    pieces = re.split(rb"(@[A-Z]+@)", re.sub(rb"<!-- scripts.*?-->\n", b"", template, flags=re.DOTALL))
    return [fill.get(piece, piece) for piece in pieces]
