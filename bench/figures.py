"""What the samples that compare.py took say: figures, and groups of them that belong side by side."""

import math
import re
import statistics

from workloads import VARIANTS, WORKLOADS

MORE_IS_BETTER = {"Mop/s", "times"}
# The scheduler's counts that are kept of each row, and what they are called.
DEEDS = {"fiber_switches": "fiber switches", "steals": "steals", "wakes": "wakes", "parks": "sleeps"}
SHARES = (0.5, 0.9, 0.99, 0.999)
# The summary: ten rows with two workers, of which thrum is not ahead in all.
SUMMARY = {"spawn": "Start and run a task", "fib": "Fork and join a call", "chan-1-1": "Pass an element through a channel",
           "yield": "Yield to another task", "pingpong": "Round trip between two tasks", "mutex-100": "Lock a mutex that 100 tasks use",
           "wake-p50": "Wake a sleeping worker (median)", "sleeps": "Processor time of a sleep, 100,000 at a time",
           "blocked-memory": "Memory of a task that waits", "stall-sleep-2-p99":
           "Delay of other tasks while two block their threads (99th percentile)"}
SYSTEMS = {"go": "Go", "tokio": "Tokio", "boost": "Boost.Fiber", "onetbb": "oneTBB", "openmp-gcc": "OpenMP (gcc)",
           "openmp-clang": "OpenMP (clang)", "libuv": "libuv", "pool": "a simple pool",
           "asio": "Asio", "epoll": "epoll loop", "uring": "io_uring", "uring-default": "io_uring, default", "openssl": "OpenSSL",
           "redis": "Redis"}
PARTS = {"timer-p99": "timers, 99th percentile", "p50": "median", "p99": "99th percentile", "max": "longest", "cold": "the first time"}
UNITS = {"us/request": "µs/request", "ns/op": "ns", "us/op": "µs", "us": "µs", "us/s": "µs/s"}


class Figure:
    """What the samples of one system in one row gave."""

    def __init__(self, sample):
        self.row, self.workers, self.system, self.unit = (
            sample[k] for k in ("row", "workers", "system", "unit"))
        values = sample["values"]
        self.runs = len(values)
        self.median, self.min, self.max = statistics.median(values), min(values), max(values)
        middle = values.index(sorted(values)[(len(values) - 1) // 2])
        ops = sample["ops"][middle] or 1
        switches, futex = sample["context_switches"][middle], sample["futex_calls"][middle]
        self.switches = None if switches is None else switches / ops
        self.futexes = None if futex is None else futex / ops
        # What thrum's scheduler did for an operation, by name; peers report no such counts.
        self.did = {k: sample[k][middle] / ops for k in DEEDS if sample.get(k) and sample[k][middle] is not None}
        self.histogram = sorted((us, n) for us, n in sample.get("histogram") or [])

    def quantile(self, share):
        """The quantile of the distribution of all runs; the classes are 3 % wide."""
        total, seen = sum(n for _, n in self.histogram), 0
        for us, n in self.histogram:
            seen += n
            if seen >= share * total:
                return us
        return self.histogram[-1][0]

    def cost(self):
        """Lower is better, whatever the unit."""
        if self.unit in MORE_IS_BETTER:
            return 1 / self.median if self.median > 0 else math.inf
        return self.median


class Group:
    """One row with one number of workers: thrum and its peers, the best first."""

    def __init__(self, work, row, workers, figures):
        self.work, self.row, self.workers = work, row, workers
        self.figures = sorted(figures, key=Figure.cost)
        self.thrum = next((f for f in figures if f.system == "thrum"), None)
        self.peers = [f for f in self.figures if not f.system.startswith("thrum")]
        self.best = self.peers[0] if self.peers else None
        self.ratio = None
        if self.thrum and self.best:
            ours, theirs = self.thrum.cost(), self.best.cost()
            self.ratio = ours / theirs if theirs > 0 else 1 if ours == 0 else math.inf

    def verdict(self):
        """ahead, behind, or even: the ranges overlap and the medians are within a tenth."""
        if self.ratio is None:
            return None
        apart = self.thrum.runs > 1 and self.best.runs > 1
        apart = apart and (self.thrum.max < self.best.min or self.best.max < self.thrum.min)
        if not apart and 0.9 < self.ratio < 1.1:
            return "even"
        return "ahead" if self.ratio < 1 else "behind"

    def label(self):
        return f"{self.row}, {self.workers} worker{'s' if self.workers > 1 else ''}"


def figure_text(value):
    """The figure with the digits that mean something."""
    if value == 0:
        return "0"
    if value >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def system_name(system):
    return SYSTEMS.get(system, system)


def with_unit(figure):
    median, unit = figure.median, UNITS.get(figure.unit, figure.unit)
    if unit == "µs" and median >= 10000:
        median, unit = median / 1000, "ms"
    return f"{figure_text(median)}\xa0{unit}"


def described(groups):
    """A readable name for each group: what its work is, and which figure of it the row has."""
    names = {}
    for group in groups:
        name = re.sub(r": an? ([\w ]+)$", r" (per \1)", group.work.what)
        # Work with two figures names both, the time or the delay last.
        late = "-late" in group.row or group.row.endswith("-time")
        name = re.sub(r": ([^:;]*); ([^:;]*)$", r": \2" if late else r": \1", name)
        part = next((words for end, words in PARTS.items() if group.row.endswith("-" + end)), None)
        if part == PARTS["cold"] and group.row == group.work.name:
            part = None
        names[group] = name[0].upper() + name[1:] + (", " + part if part else "")
    return names


def comparison(group):
    """How much thrum takes beside the best peer, in words; a ratio of 0 or without end has no figure."""
    ratio = group.ratio
    if ratio in (0, math.inf):
        return "less" if ratio == 0 else "more"
    if group.verdict() == "even":
        return "as\xa0much"
    times = max(ratio, 1 / ratio)
    digits = 0 if times >= 100 else 1 if times >= 1.1 else 2
    return f"{times:,.{digits}f}×\xa0{'less' if ratio < 1 else 'more'}"


def per_op(value):
    return "–" if value is None else ("0" if value < 1e-6 else f"{value:.2g}")


def groups_of(results):
    """The groups in the order of the workloads, without the variants."""
    variants = {name for name, system in results["systems"].items() if system.get("variant")}
    table = {}
    for sample in results["samples"]:
        if sample["system"] not in variants:
            figure = Figure(sample)
            table.setdefault((figure.row, figure.workers), []).append(figure)
    groups = []
    for work in WORKLOADS:
        for row in work.rows:
            for workers in sorted(w for r, w in table if r == row):
                groups.append(Group(work, row, workers, table[row, workers]))
    return groups


def is_compared(group, runs_at):
    """Whether the group belongs to the comparison, not only to the scaling: more than cores is that."""
    return group.best is not None and (group.workers in runs_at or group.work.set == "tokio")


def variants_table(results):
    """The variants that were measured, and for each row and worker count their figures."""
    order = [name for name, _ in VARIANTS]
    cells = {}
    for sample in results["samples"]:
        f = Figure(sample)
        if f.system in order:
            cells.setdefault((f.row, f.workers), {})[f.system] = f
    names = [n for n in order if any(n in c for c in cells.values())]
    rows = [r for w in WORKLOADS for r in w.rows]
    table = sorted(cells.items(), key=lambda item: (rows.index(item[0][0]) if item[0][0] in rows else 0, item[0][1]))
    return names, table


def variants_parts(results):
    """The study as one table, with spinning as another one, the other workloads: (title, names, table)."""
    names, table = variants_table(results)
    if len(names) < 2:
        return []

    def part_of(row):
        return 2 if not row.startswith("study-") else int(row.endswith("-spin"))

    parts = [[item for item in table if part_of(item[0][0]) == i] for i in range(3)]
    titles = ("The study of variants, fibers that sleep", "The study of variants, fibers that spin instead",
              "The other workloads")
    return [(title, names, part) for title, part in zip(titles, parts) if part]


def latencies(groups, row):
    """The figures of this row that have a distribution, by number of workers; the bare futex beside wakes."""
    by = {}
    for g in groups:
        if g.row in (row, row.replace("wake-", "wake-bare-")):
            for f in g.figures:
                if f.histogram and "+" not in f.system:
                    f.label = "a bare futex" if g.row != row else f.system
                    by.setdefault(g.workers, []).append(f)
    return {workers: sorted(figures, key=lambda f: f.quantile(0.5)) for workers, figures in sorted(by.items())}
