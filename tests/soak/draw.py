#!/usr/bin/env python3
"""Draws the log of a long run (README.md) as one picture: draw.py soak.jsonl > soak.svg

It needs nothing but Python. A long run has more seconds than the picture has columns: each column shows the
most of its seconds for latencies and what is held, and the mean for what is done."""

import html
import json
import math
import sys

WIDTH, LEFT, RIGHT, PANEL, GAP = 1000, 70, 150, 110, 34
COLOURS = ["#0b62c4", "#d97706", "#15803d", "#be185d", "#7c3aed", "#009e9e", "#6b7280", "#111827", "#d1451b",
           "#84cc16", "#f472b6", "#8a6d1d", "#0ea5e9", "#a16207"]


def text(x, y, content, size=11, anchor="start", fill="#222b36"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">'
            f'{html.escape(str(content))}</text>')


def columns(points, most, count=400):
    """Points (t, value) of a series, no more than `count` of them."""
    if len(points) <= count:
        return points
    out, size = [], len(points) / count
    for i in range(count):
        part = points[int(i * size):int((i + 1) * size)]
        values = [v for _, v in part]
        out.append((part[len(part) // 2][0], max(values) if most else sum(values) / len(values)))
    return out


def ticks_of(low, high, logarithmic):
    if logarithmic:
        return [10.0 ** e for e in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    for factor in (1, 0.5, 0.2):
        if (high - low) / (step * factor) >= 3:
            step *= factor
            break
    first = math.ceil(low / step)
    return [i * step for i in range(first, int(high / step) + 1)]


def number(v):
    return f"{v:.0f}" if v >= 10 or v == int(v) else f"{v:.2g}"


class Panel:
    """One diagram: lines over the time that all diagrams share."""

    def __init__(self, title, end, logarithmic=False):
        self.title, self.end, self.logarithmic, self.lines = title, end, logarithmic, []

    def add(self, name, points, most=True, dots=False):
        points = [(t, v) for t, v in points if v > 0 or not self.logarithmic]
        if points:
            self.lines.append((name, columns(points, most) if not dots else points, dots))

    def draw(self, top):
        values = [v for _, points, _ in self.lines for _, v in points] or [0, 1]
        low, high = (min(values), max(values)) if self.logarithmic else (0, max(values) * 1.08 or 1)
        if self.logarithmic:
            low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high * 1.0001))

        def y_of(v):
            share = (math.log(v / low) / math.log(high / low)) if self.logarithmic else (v - low) / (high - low)
            return top + PANEL * (1 - share)

        def x_of(t):
            return LEFT + (WIDTH - LEFT - RIGHT) * t / self.end

        parts = [text(LEFT, top - 6, self.title, 12)]
        for v in ticks_of(low, high, self.logarithmic):
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(v):.1f}" y2="{y_of(v):.1f}" '
                         'stroke="#e3e6ea"/>')
            parts.append(text(LEFT - 6, y_of(v) + 4, number(v), 10, "end", "#6b7684"))
        for i, (name, points, dots) in enumerate(self.lines):
            colour = COLOURS[i % len(COLOURS)]
            if dots:
                parts += [f'<circle cx="{x_of(t):.1f}" cy="{y_of(v):.1f}" r="2" fill="{colour}"/>' for t, v in points]
            else:
                path = " ".join(f"{x_of(t):.1f},{y_of(v):.1f}" for t, v in points)
                parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.1"/>')
            parts.append(text(WIDTH - RIGHT + 8, top + 9 + i * PANEL / max(7, len(self.lines)), name,
                              min(11, 8 + 21 / len(self.lines)), fill=colour))
        return parts


def draw(rows):
    seconds = [r for r in rows if "span" in r]
    rests = [r for r in rows if "rest" in r]
    passed = [r for r in rows if "passed" in r]
    begin, end = rows[0], next((r for r in rows if "end" in r), None)
    last = max(r["t"] for r in rows) or 1

    def over(field, scale=1.0, of=None):
        return [(r["t"], r[field] * scale) for r in (of or seconds)]

    kinds, loads = list(begin["limits_ms"]), list(seconds[0]["rounds"])
    panels = [Panel("latencies, the worst of each second (ms)", last, True),
              Panel("latencies, the 99th percentile of each second (ms)", last, True),
              Panel("latencies, the median of each second (µs)", last, True)]
    for kind in kinds:
        for panel, index, scale in ((panels[0], 3, 1e-3), (panels[1], 2, 1e-3), (panels[2], 1, 1)):
            panel.add(kind, [(r["t"], r["late_us"][kind][index] * scale) for r in seconds if r["late_us"][kind][0]])
    held = Panel("memory (MiB): resident, the allocator's; dots: at rest", last)
    held.add("resident", over("rss", 2 ** -20))
    held.add("allocator", over("bytes", 2 ** -20))
    held.add("resident at rest", over("rss", 2 ** -20, rests), dots=True)
    held.add("allocator at rest", over("bytes", 2 ** -20, rests), dots=True)
    counts = Panel("descriptors, threads; dots: at rest", last)
    counts.add("descriptors", over("fds"))
    counts.add("threads", over("threads"))
    counts.add("descriptors at rest", over("fds", 1, rests), dots=True)
    counts.add("threads at rest", over("threads", 1, rests), dots=True)
    tasks = Panel("tasks alive, stacks", last)
    tasks.add("tasks", over("tasks"))
    tasks.add("stacks", over("stacks"))
    done = Panel("rounds a second", last, True)
    for name in loads:
        done.add(name, [(r["t"], r["rounds"][name] / r["span"]) for r in seconds], most=False)
    machine = Panel("the machine: its load, processors used here, processors withheld (in processors)", last)
    machine.add("load of the machine", over("load"), most=False)
    machine.add("used here", [(r["t"], r["cpu_ms"] / 1e3 / r["span"]) for r in seconds], most=False)
    machine.add("withheld", [(r["t"], r["withheld_ms"] / 1e3 / r["span"]) for r in seconds], most=False)
    panels += [held, counts, tasks, done, machine]

    parts, top = [], 64
    title = f'{begin["begin"]}, {begin["workers"]} workers, {last:.0f} s, {len(rests)} rests: '
    title += "not at its end" if end is None else f'{end["end"]}, {end["passed_limits"]} limits passed'
    parts.append(text(LEFT, 24, title, 15))
    for panel in panels:
        parts += panel.draw(top)
        for r in passed:
            x = LEFT + (WIDTH - LEFT - RIGHT) * r["t"] / last
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + PANEL}" stroke="#d1451b" '
                         'stroke-dasharray="2 3"/>')
        top += PANEL + GAP
    for i in range(0, 11):
        t = last * i / 10
        x = LEFT + (WIDTH - LEFT - RIGHT) * i / 10
        parts.append(text(x, top - GAP + 16, f"{t / 60:.1f} min" if last > 300 else f"{t:.0f} s", 10, "middle", "#6b7684"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" '
            'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = []
    for i, row in enumerate(lines):
        try:
            rows.append(json.loads(row))
        except ValueError:  # a run that was killed ends in the middle of a line
            if i != len(lines) - 1:
                raise
    sys.stdout.write(draw(rows))


if __name__ == "__main__":
    main()
