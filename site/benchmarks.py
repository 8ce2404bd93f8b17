"""Imported by site/pages.py: the page of benchmarks, from bench/results as bench/compare.py wrote them."""
import json
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from figures import figure_text, groups_of, is_compared  # noqa: E402

RESULTS = "bench/results/amd-epyc-2-peers"
# The summary: ten rows with two workers, of which thrum is not ahead in all.
SUMMARY = {"spawn": "Start and run a task", "fib": "Fork and join a call", "chan-1-1": "Pass an element through a channel",
           "yield": "Yield to another task", "pingpong": "Round trip between two tasks", "mutex-100": "Lock a mutex that 100 tasks use",
           "wake-p50": "Wake a sleeping worker (median)", "sleeps": "Processor time of a sleep, 100,000 at a time",
           "blocked-memory": "Memory of a task that waits", "stall-sleep-2-p99":
           "Delay of other tasks while two block their threads (99th percentile)"}
SYSTEMS = {"go": "Go", "tokio": "Tokio", "boost": "Boost.Fiber", "onetbb": "oneTBB", "openmp-gcc": "OpenMP (gcc)",
           "openmp-clang": "OpenMP (clang)", "libuv": "libuv", "pool": "a simple pool"}
PARTS = {"timer-p99": "timers, 99th percentile", "p50": "median", "p99": "99th percentile", "max": "longest", "cold": "the first time",
         "memory": "memory", "time": "time"}
UNITS = {"ns/op": "ns", "us/op": "µs", "us": "µs", "us/s": "µs/s"}


def described(groups):
    """A readable name for each group: what its work is, and which figure of it the row has."""
    before, names = "", {}
    for group in groups:
        what = re.sub(r": an? ([\w ]+)$", r" (per \1)", re.sub(r"; cold: the first time|: once$", "", group.work.what))
        if what.startswith("the same"):
            what = before + re.sub("^the same,?", "; here", what)
        else:
            before = what
        part = next((words for end, words in PARTS.items() if group.row.endswith("-" + end)), None)
        names[group] = (what[0].upper() + what[1:] + (" (%s)" % part if part else "")).replace("|", "\\|")
    return names


def table(groups, names):
    out = "| | thrum | best peer | thrum takes |\n| --- | --- | --- | --- |\n"
    for group in groups:
        unit = UNITS.get(group.thrum.unit, group.thrum.unit)
        ratio = group.ratio
        if ratio in (0, math.inf):
            much = "less" if ratio == 0 else "more; the peer takes nothing that can be measured"
        elif group.verdict() == "even":
            much = "as much"
        else:
            times = max(ratio, 1 / ratio)
            digits = 0 if times >= 100 else 1 if times >= 1.1 else 2
            much = "{:,.{}f} times {}".format(times, digits, "less" if ratio < 1 else "more")
        out += "| %s | %s\xa0%s | %s, %s\xa0%s | %s |\n" % (
            names(group), figure_text(group.thrum.median), unit,
            SYSTEMS.get(group.best.system, group.best.system), figure_text(group.best.median), unit, much)
    return out + "\n"


def page():
    with open(os.path.join(ROOT, RESULTS + ".json"), encoding="utf-8") as file:
        results = json.load(file)
    runs_at = [int(n) for n in re.search(r"--workers ([\d,]+)", results["command"])[1].split(",")]
    groups = [group for group in groups_of(results) if group.thrum and is_compared(group, runs_at)]
    of = {verdict: [g for g in groups if g.verdict() == verdict] for verdict in ("behind", "even", "ahead")}
    names = described(groups)
    machine = results["machine"]
    out = "# Benchmarks\n\nEach row compares thrum with the best of its peers in that row: Go, Tokio, Boost.Fiber, oneTBB, OpenMP, libuv and a " \
        "simple thread pool. thrum is ahead in %d rows, even in %d and behind in %d.\n\n" % tuple(
            len(of[verdict]) for verdict in ("ahead", "even", "behind"))
    out += "The figures are medians of %d interleaved runs on %s with %d cores (%s, %s, %s).\n[How they are measured](bench/README.md) · " \
        "[every figure, with its range](%s.md) · [servers](bench/results/amd-epyc-2-servers.md)\n\n" % (
            results["runs"], machine["cpu"], machine["cores"], machine["kernel"], machine["os"], machine["date"][:10], RESULTS)
    out += "## Ten rows\n\nAll with two workers; less is better.\n\n"
    ten = [g for row in SUMMARY for g in groups if g.row == row and g.workers == 2]
    out += table(ten, lambda group: SUMMARY[group.row])
    for verdict, rows in of.items():
        out += "## %s\n\n" % verdict.capitalize()
        out += table(rows, lambda group: "%s: `%s`, %d worker%s" % (names[group], group.row, group.workers, "s" * (group.workers > 1)))
    return out
