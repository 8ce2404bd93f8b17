#!/usr/bin/env python3
"""
What thrum-timeline's page shows and does, in a headless Chromium: tests/tools/timeline/browser.py [--shots FOLDER]

Where there is no Chromium with its driver, it is skipped (status 77).
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import made
from chrome import Chrome, program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
TOOL = os.path.join(ROOT, "tools", "user", "thrum-timeline")
HOSTILE = ("</script><script>document.title='out'</script>", "<img src=x onerror=\"document.title='out'\">", "a\nb\0c",
           "x" * 50000, "עברית", "", "constructor", "'\"`${1}")
LABELS, AXIS, TRACK = 132, 24, 40  # js/view.js
shots = None


def run_of(tid, begin, length, name, number, **args):
    args = {"id": number, "function": f"{name}_function", **args}
    return made.event("X", tid, begin, dur=length, cat="run", name=name, args=args)


def small():
    """Two workers: `reader` waits for a descriptor, goes on on the other worker, which `waker` has woken."""
    return made.of_events([
        made.event("M", 2, name="thread_name", args={"name": "worker 1"}),
        run_of(1, 0, 200000, "reader", "1.1", ended="waits", on="descriptor to read", fd=12),
        run_of(1, 250000, 350000, "waker", "2.1", ended="waits", on="mutex", object="0x7f00"),
        made.event("i", 1, 400000, s="t", cat="sched", name="wake", args={"worker": 1}),
        made.event("i", 1, 430000, s="t", cat="sched", name="wake", args={"worker": 1}),  # too late: it is woken
        run_of(1, 700000, 100000, "waker", "2.1", ended="finished"),
        made.event("f", 1, 700000, cat="goes on", name="goes on", id="2.1", bp="e"),
        made.event("X", 2, 0, dur=450000, cat="sched", name="parked"),
        made.event("i", 2, 460000, s="t", cat="sched", name="poll", args={"events": 3}),
        run_of(2, 500000, 400000, "reader", "1.1", ended="finished"),
        made.event("f", 2, 500000, cat="goes on", name="goes on", id="1.1", bp="e"),
        made.event("i", 2, 600000, s="t", cat="outside", name="read", args={"fd": 12, "bytes": 77}),
        made.event("i", 2, 800000, s="t", cat="sched", name="stall", args={"ms": 400}),
    ], 1000000)


def place(chrome, ns, track):
    """Where something is on the screen: the middle of a track's bar at a time."""
    x, y = chrome.js("const box = picture.getBoundingClientRect(); return [box.left + xOf(arguments[0]),"
                     " box.top + trackY(arguments[1]) + BAR / 2]", ns, track)
    return x, y


def colour_at(chrome, ns, track, down=0):
    return chrome.js("return [...picture.getContext('2d').getImageData(xOf(arguments[0]), trackY(arguments[1]) + 4"
                     " + arguments[2], 1, 1).data].slice(0, 3)", ns, track, down)


def text_of(chrome, what):
    return chrome.js("return document.querySelector(arguments[0]).innerText", what)


def span_of(chrome):
    return chrome.js("return [timeline.view.from, timeline.view.to]")


def shoot(chrome, name):
    if shots:
        chrome.screenshot(os.path.join(shots, name + ".png"))


def check_facts(chrome):
    facts = text_of(chrome, "#facts")
    assert facts == "1.00 ms · 2 tracks · 2 tasks · 4 runs · 15 events", facts
    for key in ("wheel", "w", "0", "f", "/", "n", "Esc"):
        assert chrome.js("return [...document.querySelectorAll('#help kbd')].some((k) => k.textContent === arguments[0])", key), key
    assert chrome.js("return help.getBoundingClientRect().bottom <= innerHeight")
    assert chrome.js("return performance.getEntriesByType('resource').length") == 0


def check_tables(chrome):
    rows = chrome.js("return [...document.querySelectorAll('#table tbody tr')].map((row) =>"
                     " [...row.cells].map((cell) => cell.innerText.trim()))")
    assert rows == [["300 µs", "reader", "descriptor to read fd 12", "200 µs", "worker 0", "worker 1",
                     "latest poll: worker 1, 3 events, 40.0 µs before"],
                    ["100 µs", "waker", "mutex 0x7f00", "600 µs", "worker 0", "worker 0", ""]], rows
    for tab, words in (("causes", "descriptor to read"), ("functions", "waker_function"), ("lengths", "4 runs: half of them"),
                       ("about", "Who made a waiting task ready"), ("waits", "mutex 0x7f00")):
        chrome.js("document.getElementById('tab-' + arguments[0]).click()", tab)
        assert words in text_of(chrome, "#table"), (tab, text_of(chrome, "#table"))
    chrome.js("showTab(timeline.trace, 'lengths')")
    shoot(chrome, "lengths")
    assert chrome.js("const c = document.getElementById('lengths'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                     "return new Set(new Uint32Array(d.buffer)).size") > 3, "the histogram is blank"
    chrome.js("showTab(timeline.trace, 'waits')")


def check_picture(chrome):
    slots = chrome.js("return [...timeline.trace.runs.name].map((_, i) => colourOf(timeline.trace.slots[keyOf(timeline.trace, i)]))")
    for ns, track, run in ((100000, 0, 0), (500000, 0, 1), (750000, 0, 2), (800000, 1, 3)):
        wanted = [int(slots[run][i:i + 2], 16) for i in (1, 3, 5)]
        assert colour_at(chrome, ns, track, 14) == wanted, (run, colour_at(chrome, ns, track, 14), wanted)
    assert slots[0] == slots[3] and slots[1] == slots[2] and slots[0] != slots[1], slots
    ground = colour_at(chrome, 950000, 0)
    assert colour_at(chrome, 100000, 1) != ground, "no sleep"
    # An arrow leads from the wake (in the strip of signs) to the end of the sleep: what differs without it is that.
    before = chrome.js("return picture.toDataURL()")
    for name in ("ways", "wakes"):
        chrome.js("document.getElementById('show-' + arguments[0]).click()", name)
        chrome.settle()
        assert chrome.js("return picture.toDataURL()") != before, name
        chrome.js("document.getElementById('show-' + arguments[0]).click()", name)
        chrome.settle()
        assert chrome.js("return picture.toDataURL()") == before, name
    assert chrome.js("const m = timeline.trace.tracks[0].marks; return m.to[0]") == 450000


def check_details(chrome):
    chrome.click(*place(chrome, 700000, 1))
    details = text_of(chrome, "#details")
    for words in ("reader", "reader_function", "1.1", "worker 1", "500.000 µs", "400 µs", "descriptor to read fd 12, 300 µs",
                  "latest poll: worker 1, 3 events, 40.0 µs before", "100 µs: read 77 bytes from fd 12", "finished"):
        assert words in details, (words, details)
    shoot(chrome, "details")
    chrome.keys("[")
    assert chrome.js("return timeline.selection.index") == 0
    assert "nothing: its first run" in text_of(chrome, "#details")
    chrome.click(*place(chrome, 200000, 1))
    assert "“waker” of worker 0, 50.0 µs before" in text_of(chrome, "#details"), text_of(chrome, "#details")
    x, y = place(chrome, 800000, 1)
    chrome.click(x, y + 18)
    assert "kept its worker for 400 ms" in text_of(chrome, "#details"), text_of(chrome, "#details")
    x, y = place(chrome, 400000, 0)
    chrome.click(x, y + 18)
    assert "woke worker 1" in text_of(chrome, "#details"), text_of(chrome, "#details")
    chrome.keys("Escape")
    assert "Click on a bar" in text_of(chrome, "#details")


def check_keys(chrome):
    chrome.keys("0")
    whole = span_of(chrome)
    width = whole[1] - whole[0]
    for key, factor in (("w", 0.7), ("s", 1 / 0.7), ("ArrowUp", 0.7), ("ArrowDown", 1 / 0.7)):
        before = span_of(chrome)
        chrome.keys(key)
        after = span_of(chrome)
        assert abs((after[1] - after[0]) / (before[1] - before[0]) - factor) < 0.01, key
    for key, sign in (("w", 0), ("d", 1), ("a", -1), ("ArrowLeft", -1)):
        before = span_of(chrome)
        chrome.keys(key)
        moved = span_of(chrome)[0] - before[0]
        assert sign == 0 or moved * sign > 0, key
    chrome.keys("0")
    assert span_of(chrome) == whole
    chrome.click(*place(chrome, 750000, 0))
    chrome.keys("f")
    span = span_of(chrome)
    assert 600000 < span[0] < 700000 and 800000 < span[1] < 900000, span
    chrome.keys("0")
    x, y = place(chrome, 300000, 0)
    chrome.wheel(x, y, -400)
    span = span_of(chrome)
    assert span[1] - span[0] < width * 0.7 and abs(place(chrome, 300000, 0)[0] - x) < 2, span
    chrome.mouse(("move", x, y + 100), "down", ("move", x + 60, y + 100), ("move", x + 100, y + 100), "up")
    assert abs(place(chrome, 300000, 0)[0] - x - 100) < 3, "dragged"
    chrome.keys("0")
    chrome.hold("Shift")
    chrome.mouse(("move", *place(chrome, 200000, 1)), "down", ("move", *place(chrome, 500000, 1)),
                 ("move", *place(chrome, 600000, 1)), "up")
    chrome.hold("Shift", False)
    assert "400 µs chosen" in text_of(chrome, "#details"), text_of(chrome, "#details")
    shoot(chrome, "chosen")
    chrome.keys("f")
    assert abs(span_of(chrome)[0] - 100000) < 10000
    chrome.keys("Escape", "0")


def check_search(chrome):
    chrome.keys("/")
    assert chrome.js("return document.activeElement.id") == "search"
    chrome.keys(*"waker")
    assert text_of(chrome, "#hits") == "2 hits", text_of(chrome, "#hits")
    assert span_of(chrome)[1] - span_of(chrome)[0] > 1000000, "letters of a search are no keys"
    chrome.keys("Enter")
    assert text_of(chrome, "#hits") == "1 of 2" and chrome.js("return timeline.selection.index") == 1
    shoot(chrome, "search")
    chrome.keys("n")
    assert text_of(chrome, "#hits") == "2 of 2" and chrome.js("return timeline.selection.index") == 2
    chrome.keys("N")
    assert chrome.js("return timeline.selection.index") == 1
    for text, hits in (("fd 12", 1), ("1.1", 2), ("READER_function", 2), ("nowhere", 0)):
        chrome.js("searchFor(timeline.trace, arguments[0])", text)
        assert chrome.js("return timeline.search.hits.length") == hits, text
    chrome.keys("Escape", "0")
    assert chrome.js("return search.active || document.getElementById('search').value") in (False, "")


def check_dark(chrome):
    light = colour_at(chrome, 950000, 0)
    chrome.dark(True)
    # The page is told of it some frames later.
    chrome.wait("[...picture.getContext('2d').getImageData(xOf(950000), trackY(0) + 4, 1, 1).data].slice(0, 3)"
                ".reduce((a, b) => a + b) < 150 && 'dark'")
    chrome.settle()
    dark = colour_at(chrome, 950000, 0)
    assert sum(light) > 600 and sum(dark) < 150, (light, dark)
    shoot(chrome, "dark")
    chrome.dark(False)


def check_hostile(chrome):
    assert chrome.js("return document.title") == "small: thrum timeline"
    shown = chrome.js("return [...document.querySelectorAll('#table td:nth-child(2)')].map((cell) => cell.textContent)")
    for name in (*HOSTILE[:2], "a\u240ab\u2400c", HOSTILE[4], "(no name)", "constructor"):
        assert name in shown, (name, shown)
    for run in range(len(HOSTILE)):
        chrome.js("selectRun(timeline.trace, arguments[0])", run)
        chrome.settle()
        assert chrome.js("return document.documentElement.scrollWidth <= innerWidth &&"
                         " document.querySelector('#details').scrollWidth <= document.querySelector('#details').clientWidth"), run
    shoot(chrome, "hostile")
    assert chrome.js("return document.querySelectorAll('img').length") == 0


def check_many(chrome):
    """What is drawn together is what is there: the longest of a range, and how much of its time was run."""
    wrong = chrome.js("""
      const {trace} = timeline, {runs} = trace;
      let state = 1;
      const random = (n) => (state = Math.imul(state, 1103515245) + 12345 >>> 0) % n;
      for (let i = 0; i < 2000; i++) {
        const from = random(runs.rows), to = Math.min(runs.rows, from + 1 + random(i % 2 ? 40 : 9000));
        let best = from, sum = 0;
        for (let r = from; r < to; r++) {
          best = runs.length[r] > runs.length[best] ? r : best;
          sum += runs.length[r];
        }
        if (runs.length[longestOf(trace, from, to)] !== runs.length[best] || Math.abs(runs.sum[to] - runs.sum[from] - sum) > 1) {
          return [from, to];
        }
      }
      for (let r = 0; r < runs.rows; r++) {
        const next = runs.after[r];
        if (next >= 0 && (runs.task[next] !== runs.task[r] || runs.begin[next] < runs.end[r] || runs.before[next] !== r)) {
          return r;
        }
      }
      return null;""")
    assert wrong is None, wrong
    assert chrome.js("return timeline.trace.order.every((run, i, order) => !i ||"
                     " timeline.trace.runs.begin[order[i - 1]] <= timeline.trace.runs.begin[run])")
    shoot(chrome, "many")
    for _ in range(3):
        chrome.wheel(700, 300, -300)
    chrome.js("document.getElementById('in-view').click()")
    assert chrome.js("return document.querySelectorAll('#table tbody tr').length") > 0
    shoot(chrome, "many-nearer")


def check(chrome, work):
    def show(name, text, state="shown"):
        with open(f"{work}/{name}.json", "w", encoding="utf-8") as file:
            file.writelines(text)
        with open(f"{work}/{name}.html", "wb") as file:
            subprocess.run([TOOL, f"{work}/{name}.json"], stdout=file, check=True)
        assert chrome.open(f"{work}/{name}.html") == state, text_of(chrome, "#message")
        if state == "shown":
            chrome.settle()
        shoot(chrome, name)

    show("small", small())
    for part in (check_facts, check_tables, check_picture, check_details, check_keys, check_search, check_dark):
        part(chrome)
    show("hostile", made.of_events([run_of(1, i * 9000, 8000, name, f"{i}.1", ended="waits", on="mutex", object=name)
                                    for i, name in enumerate(HOSTILE)], len(HOSTILE) * 9000))
    check_hostile(chrome)
    show("many", made.trace(20000, 6))
    check_many(chrome)
    show("empty", made.of_events([], dropped=3), "message")
    message = text_of(chrome, "#message")
    assert message.startswith("This trace has no events, though it has 1 track.\n3 events were dropped."), message
    complaints = chrome.complaints()
    assert not complaints, complaints
    with open(f"{work}/small.html", encoding="utf-8") as file:
        broken = file.read().replace('id="data">', 'id="data">AAAA', 1)
    with open(f"{work}/broken.html", "w", encoding="utf-8") as file:
        file.write(broken)
    assert chrome.open(f"{work}/broken.html") == "message"
    assert text_of(chrome, "#message").startswith("The trace cannot be shown: ")


def main():
    global shots
    parser = argparse.ArgumentParser()
    parser.add_argument("--shots", help="where screenshots go")
    shots = parser.parse_args().shots
    if not program():
        print("no Chromium with chromedriver here")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="thrum-timeline-") as work, Chrome() as chrome:
        check(chrome, work)
    print("what is on the page is as it must be")


if __name__ == "__main__":
    main()
