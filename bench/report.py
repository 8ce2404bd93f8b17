"""Writes what compare.py measured: OUT.md, a table; OUT.html, plots, in one file without anything from outside."""

import html
import math
import statistics

from workloads import SCALING, TITLES, VARIANTS, WORKLOADS

MORE_IS_BETTER = {"Mop/s", "times"}
COLOURS = {"thrum": "#0b62c4", "go": "#009e9e", "tokio": "#d97706", "boost": "#7c3aed", "onetbb": "#15803d",
           "openmp-gcc": "#be185d", "openmp-clang": "#f472b6", "libuv": "#6b7280", "pool": "#111827"}
AHEAD, BEHIND, EVEN, GREY, DARK = "#0b62c4", "#d1451b", "#8a6d1d", "#b4bcc6", "#6b7684"


class Figure:
    """What the samples of one system in one row gave."""

    def __init__(self, sample):
        self.row, self.workers, self.system, self.unit = (
            sample[k] for k in ("row", "workers", "system", "unit"))
        values = sample["values"]
        self.median, self.min, self.max = statistics.median(values), min(values), max(values)
        middle = values.index(sorted(values)[(len(values) - 1) // 2])
        ops = sample["ops"][middle] or 1
        self.switches = sample["context_switches"][middle] / ops
        futex = sample["futex_calls"][middle]
        self.futexes = None if futex is None else futex / ops

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
        if self.thrum and self.best and self.best.cost() > 0:
            self.ratio = self.thrum.cost() / self.best.cost()

    def verdict(self):
        """ahead, behind, or even: the ranges overlap and the medians are within a tenth."""
        if self.ratio is None:
            return None
        apart = self.thrum.max < self.best.min or self.best.max < self.thrum.min
        if not apart and 0.9 < self.ratio < 1.1:
            return "even"
        return "ahead" if self.ratio < 1 else "behind"

    def label(self):
        return f"{self.row}, {self.workers} worker{'s' if self.workers > 1 else ''}"


def figure_text(value):
    """With the digits that mean something."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


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


# ---- Markdown ----

def markdown(results, groups, shown):
    m = results["machine"]
    lines = [f"# thrum beside its peers: {m['cpu']}, {m['cores']} cores", "",
             f"{m['kernel']}, {m['os']}, {m['memory']} · {m['date']} · {results['runs']} runs, interleaved, "
             f"{results['seconds']} s · `{results['command']}`", ""]
    if results["quick"]:
        lines += ["**With `--quick`: a twentieth of the work. Not to be quoted.**", ""]
    verdicts = [g.verdict() for g in shown]
    lines += [f"Against the best peer of each row: ahead {verdicts.count('ahead')}, "
              f"even {verdicts.count('even')}, behind {verdicts.count('behind')}. `../README.md` says how to read it.",
              "", "## Behind or even", ""]
    lines += ["| row | workers | thrum | best peer | thrum ÷ best |", "| --- | --- | --- | --- | --- |"]
    for g in sorted(shown, key=lambda g: -g.ratio if g.ratio else 0):
        if g.verdict() in ("behind", "even"):
            lines.append(f"| `{g.row}` | {g.workers} | {figure_text(g.thrum.median)} {g.thrum.unit} | "
                         f"{g.best.system} {figure_text(g.best.median)} | {g.ratio:.2f} {g.verdict()} |")
    lines += ["", "## All", "", "Medians (least to most). Context switches and futex calls are per operation.", "",
              "| row | workers | system | median | range | unit | ÷ thrum | ctxsw/op | futex/op |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for g in groups:
        for f in g.figures:
            ratio = f"{f.cost() / g.thrum.cost():.2f}" if g.thrum and g.thrum.cost() > 0 else "–"
            name = f"**{f.system}**" if f.system == "thrum" else f.system
            lines.append(f"| `{g.row}` | {g.workers} | {name} | {figure_text(f.median)} | {figure_text(f.min)} to "
                         f"{figure_text(f.max)} | {f.unit} | {ratio} | {per_op(f.switches)} | {per_op(f.futexes)} |")
    names, table = variants_table(results)
    if len(names) > 1:
        lines += ["", "## thrum's variants", "", "Medians; in brackets over the default's.", "",
                  "| row | workers | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
        for (row, workers), cells in table:
            base = cells["default"].cost() if "default" in cells else None
            shown_cells = [f"{figure_text(cells[n].median)}" + (
                f" ({cells[n].cost() / base:.2f})" if base and n != "default" else "") if n in cells else "–"
                for n in names]
            lines.append(f"| `{row}` | {workers} | " + " | ".join(shown_cells) + " |")
    lines += ["", "## Yardsticks of this machine, in the same run", "", "| | median | range | |", "| --- | --- | --- | --- |"]
    for s in results["samples"]:
        if s["row"].startswith("yard-"):
            f = Figure(s)
            lines.append(f"| `{f.row}` | {figure_text(f.median)} | {figure_text(f.min)} to {figure_text(f.max)} | {f.unit} |")
    lines += ["", "## Versions and command lines", ""]
    for name, s in results["systems"].items():
        lines.append(f"- **{name}**: {s['version']}; e.g. `{s['command']}`")
    for name, why in results["absent"].items():
        lines.append(f"- **{name}**: left out: {why}")
    if results["missing"]:
        lines += ["", "## Missing", ""]
        lines += [f"- `{x['row']}`, {x['workers']} workers, {x['system']}: {x['why']}" for x in results["missing"]]
    notes = [(w.name, w.note) for w in WORKLOADS if w.note]
    lines += ["", "## Where the work is not quite the same", ""] + [f"- `{n}`: {t}" for n, t in notes]
    return "\n".join(lines) + "\n"


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


# ---- SVG ----

def svg(width, height, parts, title):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)}">{"".join(parts)}</svg>')


def text(x, y, content, size=12, anchor="start", fill="#222b36", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
            f'font-weight="{weight}">{html.escape(str(content))}</text>')


def line(x1, y1, x2, y2, stroke="#dfe3e8", width=1, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
            f'stroke-width="{width}"{dashed}/>')


def rect(x, y, w, h, fill, more=""):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 0.5):.1f}" height="{h:.1f}" fill="{fill}" {more}/>'


def ticks_log(low, high):
    return [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in (1, 2, 5) if low <= m * 10.0 ** e <= high]


COLOUR_OF = {"ahead": AHEAD, "behind": BEHIND, "even": EVEN}


def overview(shown):
    """Per workload the ratio to the best peer, on a logarithmic axis: left of the line is ahead."""
    sets = [(title, [g for g in shown if g.work.set == key]) for key, title in TITLES.items()]
    sets = [(title, groups) for title, groups in sets if groups]
    left, right, row = 270, 270, 21
    width, plot = 1120, 1120 - left - right
    ratios = [g.ratio for g in shown if g.ratio]
    low = min(0.5, min(ratios)) * 0.85
    high = max(2.0, max(ratios)) * 1.15
    height = 46 + sum(34 + row * len(groups) for _, groups in sets)

    def at(value):
        value = min(max(value, low), high)
        return left + plot * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    parts = []
    for tick in ticks_log(low, high):
        parts.append(line(at(tick), 26, at(tick), height, "#e7eaee"))
        parts.append(text(at(tick), 18, f"{tick:g}×", 11, "middle", DARK))
    parts.append(text(at(1) - 10, 38, "◀ thrum takes less", 11, "end", AHEAD, "bold"))
    parts.append(text(at(1) + 10, 38, "thrum takes more ▶", 11, "start", BEHIND, "bold"))
    y = 46
    for title, groups in sets:
        y += 26
        parts.append(text(0, y - 6, title, 14, weight="bold"))
        parts.append(line(0, y, width, y, "#cfd6dd"))
        y += 8
        for g in groups:
            colour = COLOUR_OF[g.verdict()]
            best = g.best.cost()
            first, second = sorted((at(1), at(g.ratio)))
            parts.append(text(left - 12, y + 13, g.label(), 12, "end"))
            parts.append(rect(first, y + 3, second - first, row - 8, colour, 'rx="2"'))
            if g.thrum.unit not in MORE_IS_BETTER and g.thrum.min > 0:
                mid = y + 3 + (row - 8) / 2
                parts.append(line(at(g.thrum.min / best), mid, at(g.thrum.max / best), mid, "#0f172a", 1.2))
            label = f"{g.ratio:.2f} × {g.best.system}"
            parts.append(text(left + plot + 14, y + 13, label, 12, fill=colour, weight="bold"))
            values = f"{figure_text(g.thrum.median)} : {figure_text(g.best.median)} {g.thrum.unit}"
            parts.append(text(width, y + 13, values, 11, "end", DARK))
            y += row
    parts.append(line(at(1), 26, at(1), height, "#0f172a", 1.5))
    return svg(width, height + 4, parts, "ratio to the best peer")


def bars(group):
    """A bar a system; bars far beyond the others are cut off, and say so."""
    width, left, right, row = 540, 118, 92, 20
    height = 8 + row * len(group.figures)
    medians = sorted(f.median for f in group.figures)
    cap = max(4 * statistics.median(medians[:4]), 1.3 * (group.thrum.median if group.thrum else 0)) or 1
    top = min(max(f.max for f in group.figures), cap)
    top = top or 1
    plot = width - left - right

    def at(value):
        return left + plot * min(value, top) / top

    parts = []
    for i, f in enumerate(group.figures):
        y = 4 + i * row
        fill = GREY
        if f.system == "thrum":
            fill = COLOUR_OF.get(group.verdict(), AHEAD)
        elif f is group.best:
            fill = DARK
        weight = "bold" if f.system == "thrum" else "normal"
        parts.append(text(left - 8, y + 14, f.system, 12, "end", weight=weight))
        parts.append(rect(left, y + 3, at(f.median) - left, row - 6, fill, 'rx="2"'))
        if f.median > top:
            x = left + plot - 26
            parts.append(f'<path d="M{x},{y + 1} l6,{row / 2 - 1} l-6,{row / 2 - 1} h6 l6,-{row / 2 - 1} '
                         f'l-6,-{row / 2 - 1} z" fill="#fff"/>')
        else:
            mid = y + row / 2
            parts.append(line(at(f.min), mid, at(f.max), mid, "#0f172a", 1.2))
            for end in (f.min, f.max):
                parts.append(line(at(end), mid - 3, at(end), mid + 3, "#0f172a", 1.2))
        parts.append(text(width, y + 14, f"{figure_text(f.median)} {f.unit}", 12, "end", weight=weight))
    return svg(width, height, parts, group.label())


def scaling(row, groups):
    """Lines over the number of workers, both axes logarithmic."""
    width, height, left, right, top, bottom = 350, 250, 46, 86, 14, 30
    series = {}
    for g in groups:
        for f in g.figures:
            series.setdefault(f.system, {})[g.workers] = f
    series = {s: points for s, points in series.items() if len(points) > 1}
    values = [f.median for points in series.values() for f in points.values() if f.median > 0]
    if not values:
        return ""
    low, high = min(values) * 0.8, max(values) * 1.25
    xs = sorted({w for points in series.values() for w in points})

    def at_x(workers):
        return left + (width - left - right) * math.log(workers / xs[0]) / math.log(xs[-1] / xs[0])

    def at_y(value):
        return top + (height - top - bottom) * (1 - math.log(value / low) / math.log(high / low))

    parts = []
    ticks = ticks_log(low, high)
    for tick in ticks if len(ticks) < 9 else [t for t in ticks if math.log10(t) % 1 == 0]:
        parts.append(line(left, at_y(tick), width - right, at_y(tick)))
        parts.append(text(left - 6, at_y(tick) + 4, figure_text(tick), 10, "end", DARK))
    for workers in xs:
        parts.append(text(at_x(workers), height - 12, workers, 11, "middle", DARK))
    ends = []
    for system, points in sorted(series.items(), key=lambda item: item[0] == "thrum"):
        colour, thick = COLOURS.get(system, DARK), 3 if system == "thrum" else 1.6
        path = " ".join(f"{at_x(w):.1f},{at_y(points[w].median):.1f}" for w in sorted(points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>')
        for w, f in points.items():
            parts.append(line(at_x(w), at_y(max(f.min, low)), at_x(w), at_y(min(f.max, high)), colour, 1))
            parts.append(f'<circle cx="{at_x(w):.1f}" cy="{at_y(f.median):.1f}" r="{thick}" fill="{colour}"/>')
        last = max(points)
        ends.append([at_y(points[last].median), system, colour])
    ends.sort()
    for i in range(1, len(ends)):
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + 12)
    for y, system, colour in ends:
        parts.append(text(width - right + 8, y + 4, system, 11, fill=colour,
                          weight="bold" if system == "thrum" else "normal"))
    return svg(width, height, parts, row)


def latency(groups, names, labels):
    """From the median to the rare ones, a line a system."""
    by = {}
    for g in groups:
        if g.row in names:
            for f in g.figures:
                by.setdefault((g.workers, f.system), {})[g.row] = f
    by = {k: v for k, v in by.items() if len(v) == len(names)}
    if not by:
        return ""
    width, left, right, row = 1120, 190, 250, 24
    keys = sorted(by, key=lambda k: (k[0], by[k][names[0]].median))
    values = [f.median for v in by.values() for f in v.values() if f.median > 0]
    low, high = min(values) * 0.7, max(values) * 1.4
    height = 34 + row * len(keys)

    def at(value):
        return left + (width - left - right) * math.log(max(value, low) / low) / math.log(high / low)

    parts = []
    for tick in ticks_log(low, high):
        parts.append(line(at(tick), 22, at(tick), height))
        if f"{tick:g}"[0] == "1" or high / low < 300:
            parts.append(text(at(tick), 15, f"{tick:,.0f} µs" if tick >= 10 else f"{tick:g} µs", 10, "middle", DARK))
    for i, key in enumerate(keys):
        y = 40 + i * row
        colour = AHEAD if key[1] == "thrum" else DARK
        points = [by[key][n] for n in names]
        parts.append(text(left - 12, y + 4, f"{key[1]}, {key[0]} worker{'s' if key[0] > 1 else ''}", 12, "end",
                          weight="bold" if key[1] == "thrum" else "normal"))
        parts.append(line(at(points[0].median), y, at(points[-1].median), y, colour, 3))
        for j, f in enumerate(points):
            parts.append(f'<circle cx="{at(f.median):.1f}" cy="{y}" r="{6 - 1.5 * j}" fill="{colour}" '
                         f'stroke="#fff" stroke-width="1.5"/>')
        shown = " · ".join(figure_text(f.median) for f in points)
        parts.append(text(width, y + 4, f"{shown} µs", 12, "end", fill=colour))
    return f"<p class=key>{labels}</p>" + svg(width, height + 8, parts, labels)


def heat(ratio):
    """Blue for less, red for more, white for the same."""
    strength = min(abs(math.log2(ratio)) / 2, 1) if ratio > 0 else 1
    hue = (11, 98, 196) if ratio < 1 else (209, 69, 27)
    mixed = [round(255 + (c - 255) * strength * 0.75) for c in hue]
    return "rgb(%d,%d,%d)" % tuple(mixed)


def variants_html(results):
    names, table = variants_table(results)
    if len(names) < 2:
        return ""
    out = ["<h2>thrum's variants against each other</h2><p>Each cell over the default (first column, with its figure): "
           "<span style='background:rgb(133,176,225);padding:0 .4em'>less</span> "
           "<span style='background:rgb(232,162,141);padding:0 .4em'>more</span>.</p><div class=wide>"
           "<table class=heat><tr><th>row<th>workers"]
    out += [f"<th><span>{html.escape(n)}</span>" for n in names]
    for (row, workers), cells in table:
        if "default" not in cells:
            continue
        base = cells["default"]
        out.append(f"<tr><td>{row}<td class=n>{workers}<td class=n>{figure_text(base.median)} {base.unit}")
        for name in names[1:]:
            if name not in cells or base.cost() <= 0:
                out.append("<td class=n>–")
                continue
            ratio = cells[name].cost() / base.cost()
            out.append(f'<td class=n style="background:{heat(ratio)}">{ratio:.2f}')
    return "".join(out) + "</table></div>"


STYLE = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,"Liberation Sans","DejaVu Sans",sans-serif;color:#222b36;background:#f3f5f7;margin:0}
main{max-width:1180px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:27px;margin:0 0 4px}h2{font-size:20px;margin:42px 0 6px}h3{font-size:15px;margin:0 0 2px}
p{margin:4px 0 10px}.sub,.key{color:#5a6675;font-size:13.5px}
.card{background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:16px 20px;margin:12px 0}
.tiles{display:flex;gap:14px;margin:18px 0;flex-wrap:wrap}.tile{flex:1;min-width:150px;padding:12px 18px;border-radius:8px;color:#fff}
.tile b{display:block;font-size:32px;line-height:1.1}.grid{display:grid;grid-template-columns:1fr 1fr;gap:14px}
.grid3{display:grid;grid-template-columns:repeat(3,1fr);gap:14px}.grid .card,.grid3 .card{margin:0;padding:12px 14px}
.what{color:#5a6675;font-size:12.5px;margin:0 0 6px}.what i{color:#8a6d1d;font-style:normal}
svg{max-width:100%;height:auto;display:block;font-family:inherit}
table{border-collapse:collapse;font-size:13px}td,th{padding:3px 9px;border-bottom:1px solid #e7eaee;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}.heat th span{writing-mode:vertical-rl;font-weight:600}
.wide{overflow-x:auto;background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:12px}
code{font-size:12.5px;background:#eef1f4;padding:0 .3em;border-radius:3px}li{margin:2px 0;font-size:13.5px}
.warn{background:#fdecc8;border:1px solid #e5b94e;border-radius:8px;padding:8px 14px}
@media(max-width:900px){.grid,.grid3{grid-template-columns:1fr}}
"""


def page(results, groups, shown):
    m = results["machine"]
    verdicts = [g.verdict() for g in shown]
    out = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
           f"<title>thrum beside its peers</title><style>{STYLE}</style><main>",
           "<h1>thrum beside its peers</h1>",
           f"<p class=sub>{html.escape(m['cpu'])}, {m['cores']} cores, {m['memory']} · {html.escape(m['kernel'])} · "
           f"{html.escape(m['os'])} · {m['date']}<br>{results['runs']} interleaved runs, each sample a process of its "
           "own; medians, thin lines from the least to the most. Less is better everywhere.</p>"]
    if results["quick"]:
        out.append("<p class=warn>With <code>--quick</code>: a twentieth of the work. Not to be quoted.</p>")
    out.append("<div class=tiles>")
    for name, colour, words in (("ahead", AHEAD, "ahead of the best peer"), ("even", EVEN, "even: ranges overlap"),
                                ("behind", BEHIND, "behind the best peer")):
        out.append(f"<div class=tile style='background:{colour}'><b>{verdicts.count(name)}</b>{words}</div>")
    out.append("</div>")
    if shown:
        out.append("<h2>thrum over the best peer of each row</h2><div class=card>" + overview(shown) + "</div>")
    for key, title in TITLES.items():
        members = [g for g in shown if g.work.set == key]
        if not members:
            continue
        out.append(f"<h2>{title}</h2><div class=grid>")
        for g in members:
            note = f"<br><i>{html.escape(g.work.note)}</i>" if g.work.note else ""
            out.append(f"<div class=card><h3>{g.label()}</h3><p class=what>{html.escape(g.work.what)}{note}</p>{bars(g)}</div>")
        out.append("</div>")
    charts = [(row, [g for g in groups if g.row == row]) for row in SCALING]
    charts = [(row, gs, scaling(row, gs)) for row, gs in charts if len(gs) > 2]
    if any(chart for _, _, chart in charts):
        out.append(f"<h2>From one worker to eight</h2><p>This machine has {m['cores']} cores: beyond that workers are "
                   "preempted. Both axes are logarithmic.</p><div class=grid3>")
        out += [f"<div class=card><h3>{row}, {gs[0].figures[0].unit}</h3>{chart}</div>" for row, gs, chart in charts if chart]
        out.append("</div>")
    plots = [latency(groups, names, words) for names, words in (
        (["wake-p50", "wake-p99"], "From a post to sleeping workers until the task runs: the median (large) and the 99th percentile"),
        (["sleeps-late-p50", "sleeps-late-p99", "sleeps-late-max"],
         "How late sleeps end, 100,000 sleeping at a time: median, 99th percentile, the latest"))]
    if any(plots):
        out.append("<h2>Latencies</h2>" + "".join(f"<div class=card>{p}</div>" for p in plots if p))
    out.append(variants_html(results))
    out.append("<h2>How it was measured</h2><ul>")
    out += [f"<li><b>{html.escape(n)}</b> {html.escape(s['version'])} — <code>{html.escape(s['command'])}</code>"
            for n, s in results["systems"].items() if not s.get("variant")]
    out += [f"<li><b>{html.escape(n)}</b> left out: {html.escape(why)}" for n, why in results["absent"].items()]
    out += [f"<li>missing: {x['row']}, {x['workers']} workers, {x['system']}: {html.escape(x['why'])}" for x in results["missing"]]
    yards = [Figure(s) for s in results["samples"] if s["row"].startswith("yard-")]
    out.append("<li>yardsticks of the same run: " + " · ".join(
        f"{f.row[5:]} {figure_text(f.median)} {f.unit}" for f in yards))
    out.append(f"<li>all of it: <code>{html.escape(results['command'])}</code>, {results['seconds']} s</ul></main></html>")
    return "".join(out)


def write(results, out):
    """Writes OUT.md and OUT.html."""
    groups = groups_of(results)
    cores = results["machine"]["cores"]
    shown = [g for g in groups if is_compared(g, set(range(1, cores + 1))) and g.ratio is not None]
    with open(out + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(results, groups, shown))
    with open(out + ".html", "w", encoding="utf-8") as file:
        file.write(page(results, groups, shown))
    print(f"{out}.md, .html: {len(groups)} rows")
