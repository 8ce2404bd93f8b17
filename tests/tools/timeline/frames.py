#!/usr/bin/env python3
"""
How long the page of a large trace takes to be made, to load, and to draw a frame:

  tests/tools/timeline/frames.py [--runs 1000000] [--workers 8] [--shots FOLDER]

It prints, it does not judge: the figures are the machine's, and of a canvas that the processor draws.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import made
from chrome import Chrome

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "user", "thrum-timeline")

# Moves the view a little in each frame, in three ways, and gives how long each frame took to draw and to come.
MOVES = """
const [move, count, done] = arguments;
const all = view.until;
const moves = {
  'zoom': (i) => {
    const span = all * Math.pow(1e-6, Math.abs(1 - 2 * i / count));
    setGoal(all * 0.37 - span / 2, all * 0.37 + span / 2, true);
  },
  'pan, all of it': (i) => setGoal(all * (i / count * 0.18 - 0.09), all * (0.9 + i / count * 0.18), true),
  'pan, a tenth': (i) => setGoal(all * i / count * 0.9, all * (i / count * 0.9 + 0.1), true),
  'pan, a thousandth': (i) => setGoal(all * (0.4 + i / count * 0.01), all * (0.401 + i / count * 0.01), true),
  'pan, 300 runs': (i) => {
    const span = all * 300 / timeline.trace.runs.rows;
    setGoal(all * 0.6 + i / count * span * 4, all * 0.6 + i / count * span * 4 + span, true);
  },
};
const draws = [], waits = [];
let i = 0, last = 0;
function step(now) {
  if (i > 1) {
    draws.push(timeline.frames.ms);
    waits.push(now - last);
  }
  last = now;
  if (i++ < count) {
    moves[move](i);
    requestAnimationFrame(step);
  } else {
    done([draws, waits]);
  }
}
requestAnimationFrame(step);
"""


def spread(values):
    cuts = statistics.quantiles(values, n=20)
    return (f"median {statistics.median(values):6.1f}  1 of 20 below {cuts[0]:6.1f}  19 of 20 below {cuts[-1]:6.1f}  "
            f"longest {max(values):6.1f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--shots", help="where screenshots go")
    parser.add_argument("--trace", help="a trace to take in place of one that is made")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thrum-frames-") as work:
        trace, page = args.trace or f"{work}/trace.json", f"{work}/trace.html"
        if not args.trace:
            with open(trace, "w", encoding="ascii") as file:
                file.writelines(made.trace(args.runs, args.workers))
        began = time.monotonic()
        with open(page, "wb") as file:
            subprocess.run([TOOL, trace], stdout=file, check=True)
        print(f"the page is made in {time.monotonic() - began:.1f} s: {os.path.getsize(trace) / 1e6:.0f} MB of JSON, "
              f"{os.path.getsize(page) / 1e6:.0f} MB of HTML")
        with Chrome() as chrome:
            began = time.monotonic()
            chrome.open(page)
            print(f"it is shown after {time.monotonic() - began:.1f} s: {chrome.js('return facts.textContent')}")
            for move in ("zoom", "pan, all of it", "pan, a tenth", "pan, a thousandth", "pan, 300 runs"):
                draws, waits = chrome.call("POST", "/execute/async", {"script": MOVES, "args": [move, 120]})
                print(f"{move:18} drawn in {spread(draws)}\n{'':18} one every {spread(waits)}")
                if args.shots:
                    chrome.screenshot(os.path.join(args.shots, move.replace(", ", "-").replace(" ", "-") + ".png"))
            chrome.keys("0")
            took = chrome.js("const t = performance.now(); searchFor(timeline.trace, 'sort_piece'); return performance.now() - t")
            print(f"a search takes {took:.0f} ms")
            for tab in ("waits", "causes", "functions", "lengths"):
                took = chrome.js("const t = performance.now(); showTab(timeline.trace, arguments[0]);"
                                 "return performance.now() - t", tab)
                print(f"the tab {tab} takes {took:.0f} ms")


if __name__ == "__main__":
    main()
