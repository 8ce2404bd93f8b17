#!/usr/bin/env python3
"""
What thrum-timeline makes of files, looked at without a browser: tests/tools/timeline/reading.py [PROGRAM]

PROGRAM is the example `trace`, whose trace is then read as well.
"""

import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.append(os.path.join(ROOT, "tools", "user", "timeline"))

import made
from columns import Columns
from page import page_of
from reader import Damaged, read_trace

TOOL = os.path.join(ROOT, "tools", "user", "thrum-timeline")
HOSTILE = ("</script><script>document.title='out'</script>", "<!-- <script>", "\"'\\ `${x}` &lt;", "a\nb\tc\0d\x1b[31m",
           "x" * 100000, "\u202eover\u2066", "עברית 日本語 🧵", "", "@DATA@ @HEAD@ @SCRIPT@", "]]>", "\ud800", "__proto__")
SIZES = {"B": 1, "I": 4, "Q": 8}


def run(text, *arguments):
    data = text if isinstance(text, bytes) else text.encode()
    return subprocess.run([TOOL, *(arguments or ["-"])], input=data, capture_output=True)


def page(text):
    done = run(text)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.decode("utf-8")


def damaged(text, words):
    """What the tool's reader says of a text; in this process, as there are many."""
    data = text if isinstance(text, bytes) else text.encode()
    try:
        columns = Columns()
        columns.begin_file("one")
        page_of(read_trace(io.BytesIO(data), columns))
    except Damaged as why:
        assert words in str(why) and "\n" not in str(why), (words, why)
    else:
        raise AssertionError(f"taken: {text[:200]}")


def refused(text, words, *arguments):
    """One line on stderr, a status of 1, and no page."""
    done = run(text, *arguments)
    assert done.returncode == 1 and not done.stdout, (words, done)
    assert done.stderr.startswith(b"thrum-timeline: ") and done.stderr.count(b"\n") == 1, done.stderr
    assert words.encode() in done.stderr, (words, done.stderr)


def head_of(html):
    return json.loads(re.search(r'<script type="application/json" id="head">(.*?)</script>', html, re.DOTALL)[1])


def tables_of(html):
    """The columns, as the page unpacks them."""
    head = head_of(html)
    data = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]
    data, at, tables = zlib.decompress(base64.b64decode(data), -15), 0, []
    for layout in head["tables"]:
        table = {}
        for name, kind in layout["columns"]:
            size = layout["rows"] * SIZES[kind]
            table[name] = memoryview(data[at:at + size]).cast(kind).tolist()
            at += size
        tables.append(table)
    assert at == len(data)
    return tables


def slice_of(ts=1000, dur=500, cat="run", name="a", **args):
    return made.event("X", 1, ts, dur=dur, cat=cat, name=name, **({"args": args} if args else {}))


def test_what_is_kept():
    html = page(made.of_events([
        slice_of(1500, 250, "sched", "parked"),
        slice_of(2000, 1001, "run", "first", id="7.2", function="work", ended="waits", on="descriptor to read", fd=12),
        made.event("s", 1, 3000, cat="goes on", name="goes on", id="7.2"),
        made.event("b", 1, 3001, cat="outside", name="reads fd 12", id="7.2"),
        made.event("i", 1, 2500, s="t", cat="outside", name="write", args={"fd": 12, "bytes": 1 << 40}),
        made.event("i", 1, 4000, s="t", cat="sched", name="wake", args={"worker": 0}),
        slice_of(5000, 10, "run", "second", id="7.2", function="work", ended="finished"),
        made.event("f", 1, 5000, cat="goes on", name="goes on", id="7.2", bp="e"),
        slice_of(6000, 10, "run", "own code", id="thread 1", ended="running"),
    ]))
    head = head_of(html)
    tasks, runs, sleeps, marks = tables_of(html)
    words = head["strings"]
    assert head["name"] == "small" and head["events"] == 11, head
    assert [t["name"] for t in head["tracks"]] == ["worker 0"]
    assert runs["begin"] == [2000, 3000, 1000] and runs["length"] == [1001, 10, 10], runs  # distances
    assert [words[i] for i in runs["name"]] == ["first", "second", "own code"]
    assert [words[i] for i in runs["object"]] == ["fd 12", "", ""]
    assert [head["ends"][i] for i in runs["ended"]] == ["waits", "finished", "running"]
    assert runs["task"] == [0, 0, 1] and runs["flags"] == [0, 1, 0]
    assert tasks["fiber"] == [7, (1 << 32) - 1] and tasks["run"] == [2, 1]
    assert sleeps["begin"] == [1500] and sleeps["length"] == [250]
    assert marks["number"] == [13, 1] and marks["bytes"] == [1 << 40, 0], marks
    assert [head["marks"][i] for i in marks["kind"]] == ["write", "wake"]


def rank(start_ns, *events, length_us="9.000"):
    return ('{"traceEvents":[\n' + ",\n".join(events)
            + f'\n],"otherData":{{"sched":"s","start_ns":{start_ns},"length_us":{length_us},"dropped":2,"untraced":0}}}}')


def test_several_traces():
    """Two processes whose workers and tasks have the same numbers are told apart, and stand on one clock."""
    name = made.event("M", 1, name="thread_name", args={"name": "worker 0"})
    wake = made.event("i", 1, 4000, s="t", cat="sched", name="wake", args={"worker": 0})
    with tempfile.TemporaryDirectory() as work:
        paths = [os.path.join(work, f"rank{i}.json") for i in range(2)]
        for path, start in zip(paths, (1005000, 1000000)):
            with open(path, "w", encoding="ascii") as file:
                file.write(rank(start, name, slice_of(1000, 500, id="1.1", function="work", ended="waits"), wake))
        head = head_of(run("", *paths).stdout.decode())
        tables = tables_of(run("", *paths).stdout.decode())
        assert [t["name"] for t in head["tracks"]] == ["rank0: worker 0", "rank1: worker 0"], head["tracks"]
        assert head["start_ns"] == 1000000 and head["length_ns"] == 14000 and head["dropped"] == 4, head
        assert head["events"] == 6, head
        assert [tables[i]["begin"] for i in (1, 4)] == [[6000], [1000]] and tables[0]["fiber"] == [1, 1], tables
        marks = [tables[i]["number"][0] - 1 for i in (3, 6)]
        assert marks == [t["number"] for t in head["tracks"]] and marks[0] != marks[1], (marks, head["tracks"])
        moved = tables_of(run("", "--offset=0", "--offset=7000", *paths).stdout.decode())
        assert [moved[i]["begin"] for i in (1, 4)] == [[1000], [3000]], moved
        text = run("", "--functions", *paths).stdout.decode()
        assert re.search(r"^work +2 +2 ", text, re.MULTILINE), text
        refused(rank(0, slice_of())[:60], "it is cut off", paths[0], "-")
        assert run("", "--offset=1", *paths).returncode == 2


def test_hostile_names():
    """Nothing of a name gets out of the JSON that it is in."""
    plain = page(made.of_events([slice_of()])).lower()
    html = page(made.of_events([slice_of(i * 1000, 500, "run", name, id=name, function=name, ended="waits", on=name, object=name)
                                for i, name in enumerate(HOSTILE)]))
    assert html.lower().count("<script") == plain.count("<script") and html.lower().count("</script") == plain.count("</script")
    assert html.count("<!--") == plain.count("<!--")
    strings = head_of(html)["strings"]
    for name in HOSTILE[:3]:
        assert name in strings, name
    assert not any(c < " " or c in "\u202e\u2066" or 0xd800 <= ord(c) < 0xe000 for s in strings for c in s)
    raw = re.search(r'id="head">(.*?)</script>', html, re.DOTALL)[1]
    assert raw.isascii() and not set("<>&") & set(raw)


def test_bytes_that_are_no_utf8():
    html = page(made.of_events([slice_of(name="bad NAME")]).encode().replace(b"NAME", b"\xff\xc0\x80"))
    assert any(s.startswith("bad \ufffd") for s in head_of(html)["strings"])


def test_nothing_comes_from_outside():
    html = page(made.of_events([slice_of()]))
    assert "default-src 'none'" in html
    assert not re.search(r"https?://|src=|<link|@import|url\(", html)


def test_empty_traces():
    for text in ('{"traceEvents":[]}', made.of_events([]), '{"traceEvents":[\n],"otherData":{"dropped":3}}'):
        assert sum(layout["rows"] for layout in head_of(page(text))["tables"]) == 0


def test_other_layouts():
    """What another program has laid out anew says the same."""
    text = "".join(made.trace(300, 3))
    value = json.loads(text)
    tables = tables_of(page(text))
    for other in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False, sort_keys=True)):
        assert tables_of(page(other)) == tables


def test_every_cut_is_found():
    text = made.of_events([slice_of(id="1.1"), slice_of(2000, id="1.1"), made.event("i", 1, 5, s="t", name="wake")])
    whole = len(text.rstrip())
    for length in {*range(0, whole, 37), *range(whole - 3, whole)}:
        damaged(text[:length], "it is cut off" if length else "the file is empty")


def test_damage():
    good = made.of_events([slice_of(), slice_of(2000)])
    damaged("[1, 2]", "this is no trace of thrum's")
    damaged("nonsense", "this is no trace of thrum's")
    damaged(b"\x89PNG\r\n\x1a\n\0\0", "this is no trace of thrum's")
    damaged('{"a": 1}', "it has no traceEvents")
    damaged('{"traceEvents": 3}', "this is no trace of thrum's")
    refused(good[:200], "it is cut off")
    refused("nonsense", "this is no trace of thrum's")
    damaged(good + "x", "something follows its end")
    damaged(good.replace('"ph":"X"', '"ph":X', 1), "damaged after 2 events")
    damaged('{"traceEvents":[{"ph":"X"},]}', "damaged")
    for was, becomes, words in ((',"ts":1.000', "", 'its "ts" is no number'), ('"ts":1.000', '"ts":"1"', 'its "ts" is no number'),
                                ('"ts":1.000', '"ts":-1.5', 'its "ts" is no time'), ('"ts":1.000', '"ts":1e999', 'its "ts" is no time'),
                                ('"dur":0.500', '"dur":true', 'its "dur" is no number'), ('"name":"a"', '"name":7', "is no string"),
                                ('"name":"a"', '"name":["a"]', "wrong kind"), ('"tid":1,"ts"', '"tid":-1,"ts"', 'its "tid"'),
                                ('"tid":1,"ts"', '"tid":[1],"ts"', "wrong kind"), ('"name":"a"', '"name":"a","args":[1]', "wrong kind"),
                                ('"ph":"X"', '"ph":3', '"ph" is no string')):
        assert was in good
        damaged(good.replace(was, becomes, 1), "event 3 is damaged: ")
        damaged(good.replace(was, becomes, 1), words)
    damaged(good.replace('"ts":1.000', '"ts":NaN', 1), "damaged after 2 events")
    damaged('{"traceEvents":[' + "[" * 100000, "damaged")
    damaged('{"traceEvents":["a"]}', "event 1 is damaged")


def test_command_line():
    with tempfile.TemporaryDirectory() as work:
        refused("", "No such file or directory", os.path.join(work, "none\n.json"))
        refused("", "Is a directory", work)
        path = os.path.join(work, "trace.json")
        with open(path, "w", encoding="ascii") as file:
            file.write(made.of_events([slice_of()]))
        done = run("", path)
        assert done.returncode == 0 and done.stdout.startswith(b"<!DOCTYPE html>")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, path], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"cannot be written: No space left" in done.stderr, done
    assert run("", "--none").returncode == 2
    assert not os.path.exists(os.path.join(ROOT, "tools", "user", "timeline", "__pycache__"))


def test_functions():
    """A task's runs stand worker by worker; what lies between them it waited."""
    done = run(made.of_events([
        slice_of(9000000, 1000000, name="b", id="1.1", function="reads", ended="finished"),
        slice_of(1000000, 2000000, name="a", id="1.1", function="reads", ended="waits"),
        slice_of(0, 500000, name="named", id="2.1", function="writes", ended="finished"),
        slice_of(0, 9000000, cat="sched", name="parked")]), "--functions", "-")
    assert done.returncode == 0 and not done.stderr, done
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert lines[1] == ["reads", "1", "2", "3.00", "85.7", "%", "2.00", "6.00"], lines
    assert lines[2] == ["writes", "1", "1", "0.50", "14.3", "%", "0.50", "0.00"] and len(lines) == 3, lines
    assert run(made.of_events([]), "--functions", "-").stdout.count(b"\n") == 1
    wrapped = run(made.of_events([slice_of(0, 1, id="1.1", function="reads")], dropped=3), "--functions", "-")
    assert wrapped.returncode == 0 and wrapped.stdout.count(b"\n") == 2, wrapped
    assert wrapped.stderr.startswith(b"thrum-timeline: 3 older events were dropped") and wrapped.stderr.count(b"\n") == 1
    refused("{", "cut off", "--functions", "-")
    refused(made.of_events([slice_of(0, 1, id="1.1", function=7)]), "no string", "--functions", "-")
    for name in HOSTILE:
        done = run(made.of_events([slice_of(0, 1, id="1.1", function=name)]), "--functions", "-")
        assert done.returncode == 0 and done.stdout.count(b"\n") == 2 and b"\x1b" not in done.stdout, (name, done)


def test_what_the_library_writes():
    """Every event of a real trace is there, as far as it is not said by another one."""
    if len(sys.argv) < 2:
        return
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "trace.json")
        subprocess.run([sys.argv[1], path], stdout=subprocess.DEVNULL, check=True)
        with open(path, encoding="utf-8") as file:
            text = file.read()
    events = json.loads(text)["traceEvents"]
    html = page(text)
    head = head_of(html)
    tasks, *tables = tables_of(html)
    slices = [e for e in events if e["ph"] == "X"]
    ids = {e["args"]["id"] for e in slices if e["cat"] == "run"}
    assert head["events"] == len(events) and tasks and len(tasks["fiber"]) == len(ids) > 10
    assert sum(len(t["begin"]) for t in tables[0::3]) == sum(e["cat"] == "run" for e in slices)
    assert sum(len(t["begin"]) for t in tables[1::3]) == sum(e["cat"] == "sched" for e in slices)
    assert sum(len(t["begin"]) for t in tables[2::3]) == sum(e["ph"] == "i" for e in events)
    assert sum(sum(t["flags"]) for t in tables[0::3]) == sum(e["ph"] == "f" for e in events)
    assert {e["ph"] for e in events} <= set("MXsfibe"), "a kind of event that is new"


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name[5:]}: ok", flush=True)


if __name__ == "__main__":
    main()
