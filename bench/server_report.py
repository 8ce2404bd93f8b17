"""Writes what servers.py measured: OUT.md has tables; OUT.html has plots as well, and needs no other file."""

import html
import math
import statistics

from figures import UNITS, figure_text, system_name, with_unit
from plots import AHEAD, BEHIND, DARK, EVEN, GREY, GROUND, MARK, line, microseconds, rect, svg, text, ticks_log
from report import STYLE
from server_rows import ROWS, TITLES

SHARES = ("p50", "p90", "p99", "p99.9")
COLOURS = {"aim": AHEAD, "must": EVEN, "missed": BEHIND}
WORDS = {"aim": "as aimed", "must": "as it must", "missed": "**missed**"}


class Sample:
    """What the rounds gave of one server in one row."""

    def __init__(self, sample):
        self.row, self.system, self.unit, self.values = sample["row"], sample["system"], sample["unit"], sample["values"]
        self.median, self.min, self.max = statistics.median(self.values), min(self.values), max(self.values)
        self.rps = statistics.median(sample["rps"]) if "rps" in sample else None
        # Of each quantile the median of the rounds.
        self.quantiles = [statistics.median(sample[share]) for share in SHARES] if SHARES[0] in sample else None
        self.more = sample

    def is_ours(self):
        return self.system.startswith("thrum")


class Verdict:
    """A demand of a row, and what was measured of it; `figure` is a ratio, or without a peer the figure itself."""

    def __init__(self, row, demand, ours, peer):
        self.row, self.demand, self.ours, self.peer = row, demand, ours, peer
        if peer:
            pairs = [(p, o) for p, o in zip(peer.values, ours.values) if o > 0]
            values = [p / o for p, o in pairs] or [math.inf]
        else:
            values = ours.values
        self.figure, self.min, self.max = statistics.median(values), min(values), max(values)

    def name(self):
        """Whether what must be is reached, what is aimed at, or neither."""
        must, aim = self.demand["must"], self.demand["aim"]
        if self.peer:
            return "aim" if self.figure >= aim else "must" if self.figure >= must else "missed"
        return "aim" if self.figure <= aim else "must" if self.figure <= must else "missed"

    def what(self):
        return f"{self.peer.system} ÷ {self.ours.system}" if self.peer else self.ours.system

    def bounds(self):
        """What must be reached, and what is aimed at, as text."""
        sign, unit = ("≥", "") if self.peer else ("≤", " " + self.ours.unit)
        return f"{sign} {self.demand['must']:g}{unit}", f"{sign} {self.demand['aim']:g}{unit}"


def rows_of(results):
    """The rows that were measured: [(row, samples, the cheapest first, verdicts)]."""
    table = {}
    for sample in map(Sample, results["samples"]):
        table.setdefault(sample.row, {})[sample.system] = sample
    out = []
    for row in ROWS:
        if row.name in table:
            by = table[row.name]
            verdicts = [Verdict(row, d, by[d["ours"]], by.get(d["peer"])) for d in row.verdicts
                        if d["ours"] in by and (d["peer"] is None or d["peer"] in by)]
            out.append((row, sorted(by.values(), key=lambda s: s.median), verdicts))
    return out


def ratio_text(verdict, value):
    return f"{value:.2f}" if verdict.peer else figure_text(value)


def how(results):
    """Where servers and loads ran, in a sentence."""
    server, load = (", ".join(map(str, results[k])) for k in ("server_cores", "load_cores"))
    counts = {s["connections"] for s in results["samples"]}
    return (f"Servers on core {server}, loads on core {load}, {results['load_seconds']:g} s each; idle connections and deadlines: "
            f"{max(counts, default=0):,}. CPU a request is the server's whole process's, by the kernel's account. Latencies are those of "
            "clients that send again as soon as they have their answer (but busy): they tell how fair a server is, and grow with its throughput.")


# ---- Markdown ----

def markdown(results, rows):
    m = results["machine"]
    lines = [f"# thrum's servers beside their peers: {m['cpu']}, {m['cores']} cores", "",
             f"{m['kernel']}, {m['os']}, {m['memory']} · {m['date']} · {results['rounds']} rounds, interleaved, "
             f"{results['seconds']} s · `{results['command']}`", "", how(results), ""]
    if results["smoke"]:
        lines += ["**With `--smoke`: very little of everything. Not to be quoted.**", ""]
    lines += ["## What must be reached", "",
              "A ratio is the peer's figure over thrum's in the same round; the median of the rounds, the least and the most.", "",
              "| row | | thrum | peer | measured | range | must | aim | |", "| --- " * 9 + "|"]
    for row, _, verdicts in rows:
        for v in verdicts:
            must, aim = v.bounds()
            peer = f"{figure_text(v.peer.median)} {v.peer.unit}" if v.peer else "–"
            lines.append(f"| `{row.name}` | {v.what()} | {figure_text(v.ours.median)} {v.ours.unit} | {peer} | "
                         f"{ratio_text(v, v.figure)} | {ratio_text(v, v.min)} to {ratio_text(v, v.max)} | {must} | {aim} | "
                         f"{WORDS[v.name()]} |")
    lines += ["", "## All servers", "", "Medians of the rounds; latencies in µs.", "",
              "| row | server | figure | range | unit | requests/s | " + " | ".join(SHARES) + " |", "| --- " * 10 + "|"]
    for row, samples, _ in rows:
        for s in samples:
            name = f"**{s.system}**" if s.is_ours() else s.system
            told = [figure_text(q) for q in s.quantiles] if s.quantiles else ["–"] * len(SHARES)
            rps = figure_text(s.rps) if s.rps else "–"
            lines.append(f"| `{row.name}` | {name} | {figure_text(s.median)} | {figure_text(s.min)} to {figure_text(s.max)} | {s.unit} | "
                         f"{rps} | " + " | ".join(told) + " |")
    lines += [""] + [f"- {t}" for t in asides(rows)]
    lines += ["", "## What the rows are", ""]
    lines += [f"- `{row.name}`: {row.what}" + (f". *{row.note}.*" if row.note else "") for row, _, _ in rows]
    lines += ["", "## Versions and command lines", ""]
    lines += [f"- **{name}**: {s['version']}; e.g. `{s['command']}`" for name, s in results["systems"].items()]
    lines += [f"- loads: {name}: {version}" for name, version in results["tools"].items()]
    lines += [f"- **{name}**: left out: {why}" for name, why in results["absent"].items()]
    if results["missing"]:
        lines += ["", "## Missing", ""] + [f"- `{x['row']}`, {x['system']}: {x['why']}" for x in results["missing"]]
    return "\n".join(lines) + "\n"


def asides(rows):
    """What was measured beside the figures."""
    out = []
    for row, samples, _ in rows:
        for s in samples:
            if "closed_ms" in s.more:
                out.append(f"`{row.name}`, {s.system}: the last connection was closed {figure_text(statistics.median(s.more['closed_ms']))} ms "
                           "after the moment, as the client saw it")
            if "counted" in s.more:
                out.append(f"`{row.name}`, {s.system}: counted by {s.more['counted'][0]}; before that, threads went to sleep "
                           f"{figure_text(statistics.median(s.more['sleeps']))} times a second and used "
                           f"{figure_text(statistics.median(s.more['cpu_us']))} µs of CPU a second")
            if any(s.more.get("errors", ())):
                out.append(f"`{row.name}`, {s.system}: {sum(s.more['errors'])} errors in all rounds")
    return out


# ---- HTML ----

def bars(samples):
    """Draws a bar a server; thin lines from the least to the most."""
    width, left, right, high = 540, 112, 120, 20
    top = max(s.max for s in samples) or 1
    plot = width - left - right

    def at(value):
        return left + plot * value / top

    parts = []
    for i, s in enumerate(samples):
        y, weight = 4 + i * high, "bold" if s.is_ours() else "normal"
        mid = y + high / 2
        parts.append(text(left - 8, y + 14, system_name(s.system), 12, "end", weight=weight))
        parts.append(rect(left, y + 3, at(s.median) - left, high - 6, AHEAD if s.is_ours() else GREY, 'rx="2"'))
        parts.append(line(at(s.min), mid, at(s.max), mid, MARK, 1.2))
        parts += [line(at(end), mid - 3, at(end), mid + 3, MARK, 1.2) for end in (s.min, s.max)]
        parts.append(text(width, y + 14, with_unit(s), 12, "end", weight=weight))
    return svg(width, 8 + high * len(samples), parts, samples[0].row)


def tails(samples):
    """Draws a line a server, from the median of its latencies to one in a thousand, on a logarithmic axis."""
    samples = sorted((s for s in samples if s.quantiles), key=lambda s: s.quantiles[0])
    if not samples:
        return ""
    width, left, right, high = 540, 112, 24, 22
    values = [max(q, 0.1) for s in samples for q in s.quantiles]
    low, top = min(values) * 0.7, max(values) * 1.4
    height = 30 + high * len(samples)

    def at(value):
        return left + (width - left - right) * math.log(max(value, low) / low) / math.log(top / low)

    parts = []
    for tick in ticks_log(low, top):
        parts.append(line(at(tick), 20, at(tick), height))
        parts.append(text(at(tick), 13, microseconds(tick), 11, "middle", DARK))
    for i, s in enumerate(samples):
        y, colour = 34 + i * high, AHEAD if s.is_ours() else DARK
        parts.append(text(left - 8, y + 4, system_name(s.system), 12, "end", weight="bold" if s.is_ours() else "normal"))
        parts.append(line(at(s.quantiles[0]), y, at(s.quantiles[-1]), y, colour, 3))
        parts += [f'<circle cx="{at(q):.1f}" cy="{y}" r="{6.5 - 1.3 * j:.1f}" fill="{colour}" stroke="{GROUND}" stroke-width="1.2"/>'
                  for j, q in enumerate(s.quantiles)]
    return svg(width, height + 6, parts, samples[0].row + ", latencies")


def verdict_rows(rows):
    out = []
    for row, _, verdicts in rows:
        for v in verdicts:
            must, aim = v.bounds()
            colour = COLOURS[v.name()]
            peer = f"{system_name(v.peer.system)}, {with_unit(v.peer)}" if v.peer else "–"
            out.append(f"<tr><td>{TITLES[row.name]}<td style='color:{colour};font-weight:bold'>{ratio_text(v, v.figure)}"
                       f"<td>{v.ours.system}, {with_unit(v.ours)}<td>{peer}<td class=more>{ratio_text(v, v.min)} to {ratio_text(v, v.max)}<td>{must}<td>{aim}")
    return "".join(out)


def page(results, rows):
    m = results["machine"]
    names = [v.name() for _, _, verdicts in rows for v in verdicts]
    out = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
           f"<title>thrum's servers beside their peers</title><style>{STYLE}</style><main>",
           "<h1>thrum's servers beside their peers</h1>",
           f"<p class=sub>{html.escape(m['cpu'])}, {m['cores']} cores, {m['memory']} · {html.escape(m['kernel'])} · "
           f"{html.escape(m['os'])} · {m['date']}<br>{results['rounds']} interleaved rounds. {html.escape(how(results))}</p>"]
    if results["smoke"]:
        out.append("<p class=warn>With <code>--smoke</code>: very little of everything. Not to be quoted.</p>")
    out.append("<div class=tiles>")
    for name, words in (("aim", "as aimed"), ("must", "as it must be, below the aim"), ("missed", "missed")):
        out.append(f"<div class=tile style='background:{COLOURS[name]}'><b>{names.count(name)}</b>{words}</div>")
    out.append("</div><h2>What must be reached</h2><p>A ratio is the peer's figure over thrum's in the same round; the median of the "
               "rounds, the least and the most.</p><div class=wide><table><tr><th><th>measured<th>thrum<th>peer<th class=more>range<th>must"
               f"<th>aim{verdict_rows(rows)}</table></div>")
    for row, samples, _ in rows:
        note = f"<br><i>{html.escape(row.note)}</i>" if row.note else ""
        out.append(f"<h2>{TITLES[row.name]}</h2><p class=what>{html.escape(row.what[0].upper() + row.what[1:])}{note}</p><div class=grid><div class=card>"
                   f"<h3>{TITLES[row.name]}, {UNITS.get(row.unit, row.unit)}</h3>{bars(samples)}</div>")
        tail = tails(samples)
        if tail:
            out.append(f"<div class=card><h3>Latencies</h3><p class=what>50 %, 90 %, 99 % and 99.9 %, the large dot first; the axis is logarithmic</p>{tail}</div>")
        out.append("</div>")
    out.append("<h2>How it was measured</h2><ul>")
    out += [f"<li>{html.escape(t)}" for t in asides(rows)]
    out += [f"<li><b>{html.escape(n)}</b> {html.escape(s['version'])}; <code>{html.escape(s['command'])}</code>"
            for n, s in results["systems"].items()]
    out += [f"<li>{html.escape(n)}: {html.escape(v)}" for n, v in results["tools"].items()]
    out += [f"<li><b>{html.escape(n)}</b> left out: {html.escape(why)}" for n, why in results["absent"].items()]
    out += [f"<li>missing: {x['row']}, {x['system']}: {html.escape(x['why'])}" for x in results["missing"]]
    out.append(f"<li>all of it: <code>{html.escape(results['command'])}</code>, {results['seconds']} s</ul></main></html>")
    return "".join(out)


def write(results, out):
    """Writes OUT.md and OUT.html."""
    rows = rows_of(results)
    with open(out + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(results, rows))
    with open(out + ".html", "w", encoding="utf-8") as file:
        file.write(page(results, rows))
    print(f"{out}.md, .html: {len(rows)} rows")
    return 0
