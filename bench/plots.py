"""The report's plots, as SVG: drawn by hand, so that the page needs no other file."""

import html
import math
import statistics

from figures import MORE_IS_BETTER, SHARES, UNITS, figure_text, system_name, with_unit

# Colours are the page's, which has them for light and for dark; a picture without a page has those for light.
INK, GRID, MARK = "var(--ink,#222b36)", "var(--grid,#dfe3e8)", "var(--mark,#0f172a)"
COLOURS = {"thrum": "var(--ahead,#0b62c4)", "go": "#009e9e", "tokio": "#d97706", "boost": "#8b5cf6", "onetbb": "#22a05a",
           "openmp-gcc": "#d6336c", "openmp-clang": "#f472b6", "libuv": "#808a99", "pool": "var(--mark,#111827)"}
AHEAD, BEHIND, EVEN = "var(--ahead,#0b62c4)", "var(--behind,#d1451b)", "var(--even,#8a6d1d)"
GREY, DARK, GROUND = "var(--bar,#b4bcc6)", "var(--soft,#6b7684)", "var(--card,#fff)"


def svg(width, height, parts, title):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)}">{"".join(parts)}</svg>')


def text(x, y, content, size=12, anchor="start", fill=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
            f'font-weight="{weight}">{html.escape(str(content))}</text>')


def line(x1, y1, x2, y2, stroke=GRID, width=1, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
            f'stroke-width="{width}"{dashed}/>')


def rect(x, y, w, h, fill, more=""):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 0.5):.1f}" height="{h:.1f}" fill="{fill}" {more}/>'


def ticks_log(low, high):
    """At most six ticks of a logarithmic axis: 1, 2 and 5 of each power of ten, or 1 alone, or each so many powers."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0 ** e for e in powers for m in steps if low <= m * 10.0 ** e <= high]
        if len(ticks) <= 6:
            return ticks
    return ticks[::math.ceil(len(ticks) / 6)]


COLOUR_OF = {"ahead": AHEAD, "behind": BEHIND, "even": EVEN}
# The axis of ratios ends here; a bar that goes on is pointed.
RATIOS, RATIO_WIDTH = (0.01, 0.1, 1, 10, 100), 320


def ratio_at(value):
    value = min(max(value, 0.8 * RATIOS[0]), 1.25 * RATIOS[-1])
    return RATIO_WIDTH / 2 * (1 + math.log(value) / math.log(2 * RATIOS[-1]))


def ratio_axis():
    parts = [text(RATIO_WIDTH / 2 - 10, 12, "◀ thrum takes less", 11, "end", AHEAD, "bold"),
             text(RATIO_WIDTH / 2 + 10, 12, "thrum takes more ▶", 11, "start", BEHIND, "bold")]
    parts += [text(ratio_at(tick), 28, f"{tick:g}×", 11, "middle", DARK) for tick in RATIOS]
    return svg(RATIO_WIDTH, 32, parts, "thrum over the best peer, logarithmic")


def ratio_bar(group):
    """The ratio to the best peer, on a logarithmic axis: left of the middle is ahead."""
    height, mid = 20, 10
    best, colour = group.best.cost(), COLOUR_OF[group.verdict()]
    parts = [line(ratio_at(tick), 0, ratio_at(tick), height, MARK if tick == 1 else GRID) for tick in RATIOS]
    first, second = sorted((ratio_at(1), ratio_at(group.ratio)))
    parts.append(rect(first, 4, second - first, height - 8, colour, 'rx="2"'))
    if group.ratio < RATIOS[0] or group.ratio > RATIOS[-1]:
        end, way = (first, -1) if group.ratio < 1 else (second, 1)
        parts.append(f'<path d="M{end:.1f},4 l{8 * way},{mid - 4} l{-8 * way},{mid - 4} z" fill="{colour}"/>')
    elif group.thrum.unit not in MORE_IS_BETTER and group.thrum.min > 0 and best > 0:
        parts.append(line(ratio_at(group.thrum.min / best), mid, ratio_at(group.thrum.max / best), mid, MARK, 1.2))
    return svg(RATIO_WIDTH, height, parts, group.label())


def bars(group):
    """Draws a bar a system; bars far beyond the others are cut off, with a mark."""
    width, left, right, row = 540, 124, 92, 20
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
        parts.append(text(left - 8, y + 14, system_name(f.system), 12, "end", weight=weight))
        parts.append(rect(left, y + 3, at(f.median) - left, row - 6, fill, 'rx="2"'))
        if f.median > top:
            x = left + plot - 26
            parts.append(f'<path d="M{x},{y + 1} l6,{row / 2 - 1} l-6,{row / 2 - 1} h6 l6,-{row / 2 - 1} '
                         f'l-6,-{row / 2 - 1} z" fill="{GROUND}"/>')
        else:
            mid = y + row / 2
            parts.append(line(at(f.min), mid, at(f.max), mid, MARK, 1.2))
            for end in (f.min, f.max):
                parts.append(line(at(end), mid - 3, at(end), mid + 3, MARK, 1.2))
        parts.append(text(width, y + 14, with_unit(f), 12, "end", weight=weight))
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
    return [text(x, y + 4, system_name(system), 11, fill=colour, weight="bold" if system == "thrum" else "normal")
            for y, system, colour in ends]


def scaling(row, groups):
    """Lines over the number of workers, both axes logarithmic."""
    width, height, left, right, top, bottom = 380, 264, 46, 108, 24, 36
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

    unit = groups[0].figures[0].unit
    parts = [text(0, 12, f"{UNITS.get(unit, unit)}, logarithmic", 11, fill=DARK),
             text((left + width - right) / 2, height - 4, "workers, logarithmic", 11, "middle", DARK)]
    for tick in ticks_log(low, high):
        parts.append(line(left, at_y(tick), width - right, at_y(tick)))
        parts.append(text(left - 6, at_y(tick) + 4, figure_text(tick), 10, "end", DARK))
    for workers in xs:
        parts.append(text(at_x(workers), height - 20, workers, 11, "middle", DARK))
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

    parts = [text(left - 12, 15, "logarithmic", 11, "end", DARK)]
    for tick in ticks_log(low, high):
        parts.append(line(at(tick), 22, at(tick), height))
        parts.append(text(at(tick), 15, microseconds(tick), 11, "middle", DARK))
    for i, (workers, f) in enumerate(figures):
        y = 40 + i * row
        colour = AHEAD if f.label == "thrum" else DARK
        points = [f.quantile(share) for share in SHARES]
        parts.append(text(left - 12, y + 4, f"{system_name(f.label)}, {workers} worker{'s' if workers > 1 else ''}", 12, "end",
                          weight="bold" if f.label == "thrum" else "normal"))
        parts.append(line(at(points[0]), y, at(points[-1]), y, colour, 3))
        for j, point in enumerate(points):
            parts.append(f'<circle cx="{at(point):.1f}" cy="{y}" r="{6.5 - 1.3 * j:.1f}" fill="{colour}" '
                         f'stroke="{GROUND}" stroke-width="1.2"/>')
        if i == 0:
            parts.append(text(width, 15, "50 % · 90 % · 99 % · 99.9 %", 11, "end", DARK))
        parts.append(text(width, y + 4, " · ".join(microseconds(p) for p in points), 12, "end", fill=colour))
    return svg(width, height + 8, parts, "latencies")


def quantile_curves(workers, figures):
    """Draws how late the slowest are: from half of them to one in a thousand, both axes logarithmic."""
    width, height, left, right, top, bottom = 540, 316, 58, 108, 24, 44
    shares = [1 - 10 ** (-x / 20) for x in range(6, 61)]
    values = [max(f.quantile(share), 0.1) for f in figures for share in shares]
    low, high = min(values) * 0.8, max(values) * 1.25

    def at_x(share):
        return left + (width - left - right) * (math.log10(0.5 / (1 - share)) / math.log10(0.5 / 0.001))

    def at_y(value):
        return top + (height - top - bottom) * (1 - math.log(max(value, low) / low) / math.log(high / low))

    parts = [text(0, 12, "time, logarithmic", 11, fill=DARK),
             text((left + width - right) / 2, height - 6, "share that took no longer", 11, "middle", DARK)]
    for tick in ticks_log(low, high):
        parts.append(line(left, at_y(tick), width - right, at_y(tick)))
        parts.append(text(left - 6, at_y(tick) + 4, microseconds(tick), 10, "end", DARK))
    for share in SHARES:
        parts.append(line(at_x(share), top, at_x(share), height - bottom))
        parts.append(text(at_x(share), height - 26, f"{100 * share:g} %", 11, "middle", DARK))
    ends = []
    for f in sorted(figures, key=lambda f: f.label == "thrum"):
        colour = COLOURS.get(f.label, "#94a3b8")
        points = " ".join(f"{at_x(share):.1f},{at_y(f.quantile(share)):.1f}" for share in shares if share >= 0.5)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" '
                     f'stroke-width="{3 if f.label == "thrum" else 1.6}"/>')
        ends.append([at_y(f.quantile(0.999)), f.label, colour])
    return svg(width, height, parts + names_at(ends, width - right + 8, height), f"{workers} workers")


def heat(ratio):
    """Blue for less, red for more, the page's ground for the same."""
    strength = min(abs(math.log2(ratio)) / 2, 1) if ratio > 0 else 1
    hue = (11, 98, 196) if ratio < 1 else (209, 69, 27)
    return "rgba(%d,%d,%d,%.2f)" % (*hue, 0.75 * strength)
