"""Writes what compare.py measured: OUT.md has tables; OUT.html has plots, and needs no other file."""

import html

from figures import (DEEDS, SHARES, SUMMARY, Figure, comparison, described, figure_text, groups_of, is_compared, latencies, per_op,
                     system_name, variants_parts, with_unit)
from plots import AHEAD, BEHIND, COLOUR_OF, EVEN, bars, heat, quantile_curves, quantile_rows, ratio_axis, ratio_bar, scaling
from workloads import SCALING, TITLES, WORKLOADS

# The rows that carry a distribution.
LATENCIES = [("wake-p50", "From a post to sleeping workers until the task runs"),
             ("sleeps-late-p50", "How late sleeps end, 100,000 sleeping at a time")]


# ---- Markdown ----

def markdown(results, groups, shown):
    m = results["machine"]
    lines = [f"# {name_of(groups)}: {m['cpu']}, {m['cores']} cores", "",
             f"{m['kernel']}, {m['os']}, {m['memory']} · {m['date']} · {results['runs']} runs, interleaved, "
             f"{results['seconds']} s · `{results['command']}`", ""]
    if results["quick"]:
        lines += ["**With `--quick`: a twentieth of the work. Not to be quoted.**", ""]
    if groups:
        lines += markdown_peers(groups, shown)
    for title, names, table in variants_parts(results):
        lines += ["", f"## thrum's variants: {title[0].lower()}{title[1:]}", "",
                  "Medians; in brackets over the default's.", "",
                  "| row | workers | " + " | ".join(map(title_of, names)) + " |", "| --- " * (len(names) + 2) + "|"]
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
    measured = {g.work.name for g in groups}
    notes = [(w.name, w.note) for w in WORKLOADS if w.note and w.name in measured]
    lines += ["", "## Where the work is not quite the same", ""] + [f"- `{n}`: {t}" for n, t in notes]
    return "\n".join(lines) + "\n"


def name_of(groups):
    return "thrum beside its peers" if groups else "thrum's variants"


def markdown_peers(groups, shown):
    """thrum beside its peers."""
    verdicts = [g.verdict() for g in shown]
    lines = [f"Against the best peer of each row: ahead {verdicts.count('ahead')}, "
             f"even {verdicts.count('even')}, behind {verdicts.count('behind')}. [How to read it](../README.md).",
             "", "## Behind or even", ""]
    lines += ["| | row | workers | thrum takes | thrum | best peer |", "| --- | --- | --- | --- | --- | --- |"]
    names = described(shown)
    for g in sorted(shown, key=lambda g: -g.ratio if g.ratio else 0):
        if g.verdict() in ("behind", "even"):
            name = names[g].replace("|", "\\|")
            lines.append(f"| {name} | `{g.row}` | {g.workers} | {comparison(g)} | {with_unit(g.thrum)} | "
                         f"{system_name(g.best.system)}, {with_unit(g.best)} |")
    lines += ["", "## All", "", "Medians (least to most). Context switches and futex calls are per operation.", "",
              "| row | workers | system | median | range | unit | ÷ thrum | ctxsw/op | futex/op |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for g in groups:
        for f in g.figures:
            ratio = f"{f.cost() / g.thrum.cost():.2f}" if g.thrum and g.thrum.cost() > 0 else "–"
            name = f"**{f.system}**" if f.system == "thrum" else f.system
            lines.append(f"| `{g.row}` | {g.workers} | {name} | {figure_text(f.median)} | {figure_text(f.min)} to "
                         f"{figure_text(f.max)} | {f.unit} | {ratio} | {per_op(f.switches)} | {per_op(f.futexes)} |")
    return lines + markdown_latencies(groups) + markdown_deeds(groups)


def title_of(variant):
    """The title of a variant; the default's says which of the eight it is."""
    return "overflow half, steal half (default)" if variant == "default" else variant


def markdown_latencies(groups):
    lines = []
    for row, title in LATENCIES:
        for workers, figures in latencies(groups, row).items():
            lines += ["", f"## {title}, {workers} worker{'s' if workers > 1 else ''}", "",
                      "Of all runs together, in µs.", "",
                      "| | samples | p50 | p90 | p99 | p99.9 | the latest |", "| --- " * 7 + "|"]
            for f in figures:
                cells = [figure_text(f.quantile(share)) for share in SHARES + (1,)]
                lines.append(f"| {f.label} | {sum(n for _, n in f.histogram):,} | " + " | ".join(cells) + " |")
    return lines


def deeds_of(groups):
    """The rows of thrum for whose counts there is something to say."""
    return [g for g in groups if g.thrum and g.thrum.did]


def markdown_deeds(groups):
    rows = deeds_of(groups)
    if not rows:
        return []
    lines = ["", "## What thrum did for an operation", "",
             "| row | workers | context switches | futex calls | " + " | ".join(DEEDS.values()) + " |",
             "| --- " * (4 + len(DEEDS)) + "|"]
    for g in rows:
        cells = [per_op(g.thrum.switches), per_op(g.thrum.futexes)] + [per_op(g.thrum.did.get(k)) for k in DEEDS]
        lines.append(f"| `{g.row}` | {g.workers} | " + " | ".join(cells) + " |")
    return lines


# ---- HTML ----

def variants_html(results):
    parts = variants_parts(results)
    if not parts:
        return ""
    out = ["<h2>thrum's variants against each other</h2><p>Each cell over the default (first column, with its figure): "
           "<span style='background:rgba(11,98,196,.5);padding:0 .4em'>less</span> "
           "<span style='background:rgba(209,69,27,.5);padding:0 .4em'>more</span>.</p>"]
    for title, names, table in parts:
        out.append(f"<h3>{title}</h3><div class=wide><table class=heat><tr><th>row<th>workers")
        out += [f"<th><span>{html.escape(title_of(n))}</span>" for n in names]
        for (row, workers), cells in table:
            if "default" in cells:
                out.append(variants_row(row, workers, names, cells))
        out.append("</table></div>")
    return "".join(out)


def variants_row(row, workers, names, cells):
    base = cells["default"]
    out = [f"<tr><td>{row}<td class=n>{workers}<td class=n>{figure_text(base.median)} {base.unit}"]
    for name in names[1:]:
        if name not in cells or base.cost() <= 0:
            out.append("<td class=n>–")
            continue
        ratio = cells[name].cost() / base.cost()
        out.append(f'<td class=n style="background:{heat(ratio)}">{ratio:.2f}')
    return "".join(out)


def latencies_html(groups):
    out = []
    for row, title in LATENCIES:
        by_workers = latencies(groups, row)
        if not by_workers:
            continue
        out.append(f"<div class='card scroll'><h3>{title}</h3><p class=what>Half of them took no longer than the large dot, then 90 %, "
                   f"99 % and 99.9 %; all runs together</p>{quantile_rows(by_workers)}</div><div class=grid>")
        out += [f"<div class=card><h3>{workers} worker{'s' if workers > 1 else ''}</h3>"
                f"{quantile_curves(workers, figures)}</div>" for workers, figures in by_workers.items()]
        out.append("</div>")
    return "<h2>Latencies</h2>" + "".join(out) if out else ""


def deeds_html(groups):
    rows = deeds_of(groups)
    if not rows:
        return ""
    out = ["<h2>What thrum did for an operation</h2><details><summary>Context switches, futex calls, fiber switches, steals, "
           "wakes, sleeps</summary><div class=wide><table><tr><th>row<th>workers<th>context switches<th>futex calls"]
    out += [f"<th>{name}" for name in DEEDS.values()]
    for g in rows:
        cells = [per_op(g.thrum.switches), per_op(g.thrum.futexes)] + [per_op(g.thrum.did.get(k)) for k in DEEDS]
        out.append(f"<tr><td>{g.row}<td class=n>{g.workers}" + "".join(f"<td class=n>{c}" for c in cells))
    return "".join(out) + "</table></div></details>"


def table_html(groups, name):
    """thrum and the best peer of each row; the colour is the verdict's."""
    out = ["<div class=wide><table><tr><th><th>thrum takes<th>thrum<th>best peer"]
    out += [f"<tr><td>{name(g)}<td style='color:{COLOUR_OF[g.verdict()]};font-weight:bold'>{comparison(g)}"
            f"<td>{with_unit(g.thrum)}<td>{system_name(g.best.system)}, {with_unit(g.best)}" for g in groups]
    return "".join(out) + "</table></div>"


def title_html(names, group):
    return f"{html.escape(names[group])}, {group.workers} worker{'s' if group.workers > 1 else ''}"


def summary_html(shown, names):
    """Ten rows, and then the rows that are lost, first thing on the page."""
    ten = [g for row in SUMMARY for g in shown if g.row == row and g.workers == 2]
    out = "<h2>Ten rows, with two workers</h2>" + table_html(ten, lambda g: SUMMARY[g.row]) if ten else ""
    behind = sorted((g for g in shown if g.verdict() == "behind"), key=lambda g: -g.ratio)
    if not behind:
        return out + "<p class=sub>No row is behind its best peer.</p>"
    return out + f"<h2>Behind the best peer, the worst first</h2><details open><summary>{len(behind)} rows</summary>" + table_html(
        behind, lambda g: f"{title_html(names, g)} <code>{g.row}</code>") + "</details>"


def overview_html(shown, names):
    """All rows as bars of their ratios."""
    out = [f"<div class=wide><table class=all><tr><th><th class=n>workers<th>{ratio_axis()}<th>thrum takes<th class=more>thrum : best peer"]
    for key, title in TITLES.items():
        groups = [g for g in shown if g.work.set == key]
        out.append(f"<tr><th colspan=5 class=set>{title}" if groups else "")
        for i, g in enumerate(groups):
            again = i > 0 and groups[i - 1].row == g.row
            out.append(f"<tr><td>{'' if again else html.escape(names[g])}<td class=n>{g.workers}<td>{ratio_bar(g)}"
                       f"<td style='color:{COLOUR_OF[g.verdict()]};font-weight:bold'>{comparison(g)}"
                       f"<td class=more>{with_unit(g.thrum)} : {with_unit(g.best)}, {system_name(g.best.system)}")
    return "".join(out) + "</table></div>"


STYLE = """
:root{color-scheme:light dark;--ink:#222b36;--soft:#5a6675;--page:#f3f5f7;--card:#fff;--edge:#dfe3e8;--grid:#e7eaee;--mark:#0f172a;
--bar:#b4bcc6;--code:#eef1f4;--ahead:#0b62c4;--behind:#c8401a;--even:#7d6218;--warn:#fdecc8}
@media(prefers-color-scheme:dark){:root{--ink:#e1e6ec;--soft:#9aa5b1;--page:#0d1117;--card:#161b22;--edge:#30363d;--grid:#2b323a;
--mark:#f0f3f6;--bar:#566270;--code:#262c34;--ahead:#58a6ff;--behind:#ff8a65;--even:#d9b44a;--warn:#4a3a10}}
body{font:15px/1.5 system-ui,"Liberation Sans","DejaVu Sans",sans-serif;color:var(--ink);background:var(--page);margin:0}
main{max-width:1180px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:27px;margin:0 0 4px}h2{font-size:20px;margin:42px 0 6px}h3{font-size:15px;margin:0 0 2px}
p{margin:4px 0 10px}.sub,.key{color:var(--soft);font-size:13.5px}
.card,.wide{background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:16px 20px;margin:12px 0}
.wide{overflow-x:auto;padding:12px}
.tiles{display:flex;gap:14px;margin:18px 0;flex-wrap:wrap}.tile{flex:1;min-width:150px;padding:12px 18px;border-radius:8px;color:var(--card)}
.tile b{display:block;font-size:32px;line-height:1.1}.grid{display:grid;grid-template-columns:1fr 1fr;gap:14px}
.grid3{display:grid;grid-template-columns:repeat(3,1fr);gap:14px}.grid .card,.grid3 .card{margin:0;padding:12px 14px;min-width:0}
.what{color:var(--soft);font-size:12.5px;margin:0 0 6px}.what i{color:var(--even);font-style:normal}
svg{max-width:100%;height:auto;display:block;font-family:inherit}
table{border-collapse:collapse;font-size:13px}td,th{padding:3px 9px;border-bottom:1px solid var(--grid);text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}.heat th{vertical-align:bottom}.heat th span{display:inline-block;writing-mode:vertical-rl;transform:rotate(180deg);font-weight:600}
.all td,.all th{padding-top:0;padding-bottom:0;border-bottom:0;vertical-align:middle}.all .set{font-size:14px;padding-top:14px}.all svg{width:320px;max-width:none}
.all td.n{color:var(--soft)}.all .more{white-space:nowrap;color:var(--soft);font-weight:normal;font-size:12px}
code{font-size:12px;background:var(--code);padding:0 .3em;border-radius:3px}li{margin:2px 0;font-size:13.5px;overflow-wrap:anywhere}
.warn{background:var(--warn);border:1px solid var(--even);border-radius:8px;padding:8px 14px}
summary{cursor:pointer;color:var(--soft)}.wide+h3{margin-top:20px}
.scroll{overflow-x:auto}
@media(max-width:900px){.scroll svg{min-width:760px}.grid,.grid3{grid-template-columns:1fr}.more{display:none}}
@media(max-width:500px){main{padding:16px 12px 40px}.wide,.grid .card{padding:8px}.wide table{font-size:12px}td,th{padding:3px 5px}
.tile{min-width:70px;padding:8px 10px;font-size:12px}.tile b{font-size:24px}.tiles{gap:6px}.all svg{width:230px}.all th.n{font-size:9px}td code{display:none}td:first-child{min-width:110px}}
"""


def tiles_html(verdicts):
    out = ["<div class=tiles>"]
    for name, colour, words in (("ahead", AHEAD, "ahead of the best peer"), ("even", EVEN, "even: ranges overlap"),
                                ("behind", BEHIND, "behind the best peer")):
        out.append(f"<div class=tile style='background:{colour}'><b>{verdicts.count(name)}</b>{words}</div>")
    return "".join(out) + "</div>"


def page(results, groups, shown):
    m = results["machine"]
    verdicts = [g.verdict() for g in shown]
    out = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
           f"<title>{name_of(groups)}</title><style>{STYLE}</style><main>",
           f"<h1>{name_of(groups)}</h1>",
           f"<p class=sub>{html.escape(m['cpu'])}, {m['cores']} cores, {m['memory']} · {html.escape(m['kernel'])} · "
           f"{html.escape(m['os'])} · {m['date']}<br>{results['runs']} interleaved runs, each sample a separate process. "
           "Figures are medians, thin lines go from the least to the most, and less is better.</p>"]
    if results["quick"]:
        out.append("<p class=warn>With <code>--quick</code>: a twentieth of the work. Not to be quoted.</p>")
    if groups:
        out.append(tiles_html(verdicts))
    names = described(groups)
    if shown:
        out.append(summary_html(shown, names) + "<h2>thrum over the best peer of each row</h2><p>The axis is logarithmic. A pointed bar "
                   "goes on beyond it.</p>" + overview_html(shown, names))
    for key, title in TITLES.items():
        members = [g for g in shown if g.work.set == key]
        if not members:
            continue
        out.append(f"<h2>{title}</h2><div class=grid>")
        for g in members:
            note = f"<br><i>{html.escape(g.work.note)}</i>" if g.work.note else ""
            out.append(f"<div class=card><h3>{title_html(names, g)}</h3><p class=what><code>{g.row}</code>{note}</p>{bars(g)}</div>")
        out.append("</div>")
    charts = [(row, [g for g in groups if g.row == row]) for row in SCALING]
    charts = [(row, gs, scaling(row, gs)) for row, gs in charts if len(gs) > 2]
    if any(chart for _, _, chart in charts):
        out.append(f"<h2>From one worker to eight</h2><p>This machine has {m['cores']} cores: beyond that workers are "
                   "preempted. Both axes are logarithmic.</p><div class=grid3>")
        out += [f"<div class=card><h3>{html.escape(names[gs[0]])}</h3>{chart}</div>" for row, gs, chart in charts if chart]
        out.append("</div>")
    out.append(latencies_html(groups))
    out.append(variants_html(results))
    out.append(deeds_html(groups))
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
