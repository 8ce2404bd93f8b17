"""Imported by site/pages.py: the page of benchmarks, from bench/results as bench/compare.py wrote them."""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from figures import SUMMARY, comparison, described, groups_of, is_compared, system_name, with_unit  # noqa: E402

RESULTS = "bench/results/amd-epyc-2-peers"


def table(groups, names):
    out = "| | thrum takes | thrum | best peer |\n| --- | --- | --- | --- |\n"
    for group in groups:
        out += "| %s | %s | %s | %s, %s |\n" % (
            names(group).replace("|", "\\|"), comparison(group), with_unit(group.thrum), system_name(group.best.system), with_unit(group.best))
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
