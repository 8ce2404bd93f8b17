"""The report's plots, as SVG: drawn by hand, so that the page needs no other file."""

import html
import math
import statistics

from figures import MORE_IS_BETTER, SHARES, figure_text
from workloads import TITLES

COLOURS = {"thrum": "#0b62c4", "go": "#009e9e", "tokio": "#d97706", "boost": "#7c3aed", "onetbb": "#15803d",
           "openmp-gcc": "#be185d", "openmp-clang": "#f472b6", "libuv": "#6b7280", "pool": "#111827"}
AHEAD, BEHIND, EVEN, GREY, DARK = "#0b62c4", "#d1451b", "#8a6d1d", "#b4bcc6", "#6b7684"


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
    left, right, row = 275, 335, 21
    width, plot = 1120, 1120 - left - right
    ratios = [g.ratio for g in shown if g.ratio and math.isfinite(g.ratio)] or [1]
    low = min(0.5, min(ratios)) * 0.85
    high = max(2.0, max(ratios)) * 1.15
    height = 46 + sum(34 + row * len(groups) for _, groups in sets)

    def at(value):
        value = min(max(value, low), high)  # a ratio may be 0
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
            if g.thrum.unit not in MORE_IS_BETTER and g.thrum.min > 0 and best > 0:
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
    """Draws a bar a system; bars far beyond the others are cut off, with a mark."""
    width, left, right, row = 540, 118, 92, 20
    height = 8 + row * len(group.figures)
    medians = sorted(f.median for f in group.figures)
    cap = max(4 * statistics.median(medians[:4]), 1.3 * (group.thrum.median if group.thrum else 0)) or math.inf
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


def names_at(ends, x, height):
    """The names of lines, each at its line's end, apart from each other."""
    ends = sorted(ends)
    for i in range(1, len(ends)):
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + 12)
    over = ends[-1][0] - (height - 16) if ends else 0
    for i in range(len(ends) - 1, -1, -1):
        if over > 0:
            limit = height - 16 - 12 * (len(ends) - 1 - i)
            ends[i][0] = min(ends[i][0], limit)
    return [text(x, y + 4, system, 11, fill=colour, weight="bold" if system == "thrum" else "normal")
            for y, system, colour in ends]


def scaling(row, groups):
    """Lines over the number of workers, both axes logarithmic."""
    width, height, left, right, top, bottom = 350, 250, 46, 86, 14, 30
    series = {}
    for g in groups:
        for f in (f for f in g.figures if "+" not in f.system):
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
    parts += names_at(ends, width - right + 8, height)
    return svg(width, height, parts, row)


def microseconds(value):
    return f"{value / 1000:,.3g} ms" if value >= 1000 else f"{value:,.3g} µs"


def quantile_rows(by_workers):
    """A line a system, from the median to one in a thousand."""
    width, left, right, row = 1120, 190, 300, 24
    figures = [(workers, f) for workers, all_of in by_workers.items() for f in all_of]
    values = [max(f.quantile(share), 0.1) for _, f in figures for share in SHARES]
    low, high = min(values) * 0.7, max(values) * 1.4
    height = 34 + row * len(figures)

    def at(value):
        return left + (width - left - right) * math.log(max(value, low) / low) / math.log(high / low)

    parts = []
    for tick in ticks_log(low, high):
        parts.append(line(at(tick), 22, at(tick), height))
        if f"{tick:g}"[0] == "1" or high / low < 300:
            parts.append(text(at(tick), 15, microseconds(tick), 10, "middle", DARK))
    for i, (workers, f) in enumerate(figures):
        y = 40 + i * row
        colour = AHEAD if f.label == "thrum" else DARK
        points = [f.quantile(share) for share in SHARES]
        parts.append(text(left - 12, y + 4, f"{f.label}, {workers} worker{'s' if workers > 1 else ''}", 12, "end",
                          weight="bold" if f.label == "thrum" else "normal"))
        parts.append(line(at(points[0]), y, at(points[-1]), y, colour, 3))
        for j, point in enumerate(points):
            parts.append(f'<circle cx="{at(point):.1f}" cy="{y}" r="{6.5 - 1.3 * j:.1f}" fill="{colour}" '
                         f'stroke="#fff" stroke-width="1.2"/>')
        if i == 0:
            parts.append(text(width, 15, "50 % · 90 % · 99 % · 99.9 %", 11, "end", DARK))
        parts.append(text(width, y + 4, " · ".join(microseconds(p) for p in points), 12, "end", fill=colour))
    return svg(width, height + 8, parts, "latencies")


def quantile_curves(workers, figures):
    """Draws how late the slowest are: from half of them to one in a thousand, both axes logarithmic."""
    width, height, left, right, top, bottom = 540, 300, 58, 96, 14, 34
    shares = [1 - 10 ** (-x / 20) for x in range(6, 61)]
    values = [max(f.quantile(share), 0.1) for f in figures for share in shares]
    low, high = min(values) * 0.8, max(values) * 1.25

    def at_x(share):
        return left + (width - left - right) * (math.log10(0.5 / (1 - share)) / math.log10(0.5 / 0.001))

    def at_y(value):
        return top + (height - top - bottom) * (1 - math.log(max(value, low) / low) / math.log(high / low))

    parts = []
    ticks = ticks_log(low, high)
    for tick in ticks if len(ticks) < 9 else [t for t in ticks if math.log10(t) % 1 == 0]:
        parts.append(line(left, at_y(tick), width - right, at_y(tick)))
        parts.append(text(left - 6, at_y(tick) + 4, microseconds(tick), 10, "end", DARK))
    for share in SHARES:
        parts.append(line(at_x(share), top, at_x(share), height - bottom))
        parts.append(text(at_x(share), height - 16, f"{100 * share:g} %", 11, "middle", DARK))
    ends = []
    for f in sorted(figures, key=lambda f: f.label == "thrum"):
        colour = COLOURS.get(f.label, "#94a3b8")
        points = " ".join(f"{at_x(share):.1f},{at_y(f.quantile(share)):.1f}" for share in shares if share >= 0.5)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" '
                     f'stroke-width="{3 if f.label == "thrum" else 1.6}"/>')
        ends.append([at_y(f.quantile(0.999)), f.label, colour])
    return svg(width, height, parts + names_at(ends, width - right + 8, height), f"{workers} workers")


def heat(ratio):
    """Blue for less, red for more, white for the same."""
    strength = min(abs(math.log2(ratio)) / 2, 1) if ratio > 0 else 1
    hue = (11, 98, 196) if ratio < 1 else (209, 69, 27)
    mixed = [round(255 + (c - 255) * strength * 0.75) for c in hue]
    return "rgb(%d,%d,%d)" % tuple(mixed)
