#!/usr/bin/env python3
"""What the simulated many-core machine says (README.md).

    report.py                            all rows, 1 to 128 processors: build/cores/report.txt, .json, .html
    report.py compare OLD NEW --rows fanout --workers 32,128
                                         two programs; each cost at half and three times as well

OLD and NEW may have options: "build/a/thrum-cores --searchers 4"."""

import argparse
import concurrent.futures
import html
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.join(ROOT, "build/gcc-cores/bench/cores/thrum-cores")
SIZES = [1, 2, 4, 8, 16, 32, 64, 128]
COSTS = ["block", "hit", "rmw", "fence", "near", "package", "far", "cold", "overlap", "fault", "heap", "clock", "ticks",
         "syscall", "sleep", "wake", "latency", "barrier", "pause"]
# The two processors on which thrum is measured: a line takes as long to come back as bench's yardstick says, and so does a wake.
REAL = ["near=170", "package=170", "far=170", "wake=15000", "latency=25000", "sleep=3000", "spread=5", "barrier=10000"]
# Rows of bench/results that are the same program.
SAME = {"spawn": "spawn", "fib": "fib", "yield": "yield", "pingpong": "pingpong", "chan-each": "chan-1-1"}
TIMEOUT = 120


def run(program, row, workers, seed, more=()):
    words = shlex.split(program) + ["--row", row, "--workers", str(workers), "--seed", str(seed), *more]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print(f"cores: {' '.join(words)}: {done.returncode}\n{done.stderr[-400:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def pool_run(jobs, processes):
    """The result of each job; None where it took too long."""
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        return list(pool.map(lambda job: run(*job), jobs))


def per_op(result):
    return result["ns"] / result["ops"]


def name_of(program):
    return shlex.split(program)[0]


def places(program, sites):
    """For each site: the function, file:line, and the source's text there."""
    addresses = [hex(int(site, 16) - 1) for site in sites]
    told = subprocess.run(["addr2line", "-e", name_of(program), "-f", "-i", "-a", *addresses], capture_output=True,
                          text=True, check=True).stdout
    found = {}
    for site, block in zip(sites, re.split(r"(?m)^0x", told)[1:]):
        lines = block.splitlines()[1:]
        functions, place = lines[0::2], lines[1].split(" ")[0]
        path, number = place.rsplit(":", 1)
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read().splitlines()[int(number) - 1].strip()
        found[site] = {"function": functions[0], "from": functions[1] if len(functions) > 1 else "",
                       "place": os.path.relpath(path, ROOT) + ":" + number, "text": text}
    return found


def field_of(place):
    """The name of the field in the source's text: the last of `a->b.xname`."""
    text = re.sub(r"/\*.*", "", place["text"])
    names = re.findall(r"(?:->|\.)(\w+)", text)
    marked = [n for n in names if n.startswith("x") or n.endswith("_word")]
    return (marked or names or [place["function"]])[-1]


def bouncing(program, results):
    """Fields by the time that accesses waited for their lines, per operation: the most first."""
    sites = sorted({site for r in results for site, *_ in r["sites"]})
    told = places(program, sites)
    fields = {}
    for r in results:
        for site, misses, stalled, queued in r["sites"]:
            place = told[site]
            entry = fields.setdefault(field_of(place), {"misses": 0, "stalled": 0, "queued": 0, "places": {}})
            entry["misses"] += misses / r["ops"] / len(results)
            entry["stalled"] += stalled / r["ops"] / len(results)
            entry["queued"] += queued / r["ops"] / len(results)
            key = f'{place["function"]} ({place["place"].rsplit("/", 1)[-1]})'
            entry["places"][key] = entry["places"].get(key, 0) + stalled
    order = sorted(fields.items(), key=lambda item: -item[1]["stalled"])[:5]
    return [{"field": name, **{k: round(e[k], 2) for k in ("misses", "stalled", "queued")},
             "places": [p for p, _ in sorted(e["places"].items(), key=lambda item: -item[1])[:2]]} for name, e in order]


# ---- two programs ----


def compare(options):
    rows, sizes = options.rows.split(","), [int(n) for n in options.workers.split(",")]
    ways = [()] + [("--scale", f"{cost}={factor}") for cost in COSTS for factor in (0.5, 3)]
    all_hold = True
    for row in rows:
        for workers in sizes:
            jobs = [(p, row, workers, seed, way) for way in ways for p in (options.old, options.new)
                    for seed in range(1, options.seeds + 1)]
            done = iter(pool_run(jobs, options.processes))
            ratios = []
            for way in ways:
                old, new = ([next(done) for _ in range(options.seeds)] for _ in range(2))
                if any(r is None for r in old + new):
                    print(f"{row} {workers}: {way} took too long")
                    continue
                ratios.append((statistics.median(map(per_op, new)) / statistics.median(map(per_op, old)), way,
                               statistics.median(map(per_op, old)), statistics.median(map(per_op, new))))
            first = ratios[0]
            least, most = min(ratios), max(ratios)
            holds = most[0] < 1 or least[0] > 1
            all_hold = all_hold and holds
            print(f"{row}, {workers} processors: {first[2]:.1f} -> {first[3]:.1f} ns ({first[0]:.2f}); with other costs "
                  f"{least[0]:.2f} ({' '.join(least[1][1:]) or 'as is'}) to {most[0]:.2f} ({' '.join(most[1][1:]) or 'as is'}): "
                  + ("the sign holds" if holds else "NO VERDICT"), flush=True)
    return 0 if all_hold else 1


# ---- all rows ----


def against_real(options, seeds):
    """One and two processors with the costs of the machine in bench/results, beside what was measured there."""
    path = os.path.join(ROOT, "bench/results/amd-epyc-2.json")
    with open(path, encoding="utf-8") as file:
        real = {(r["row"], r["workers"]): statistics.median(r["values"]) for r in json.load(file)["samples"]
                if r["system"] == "thrum" and r["values"]}
    costs = [word for cost in REAL for word in ("--set", cost)]
    out = []
    for row, name in SAME.items():
        for workers in (1, 2):
            if (name, workers) not in real or (row == "chan-each" and workers == 2) or (row == "pingpong" and workers == 2):
                continue
            done = [r for r in pool_run([(options.program, row, workers, s, costs) for s in range(1, seeds + 1)],
                                        options.processes) if r]
            out.append({"row": row, "workers": workers, "simulated": round(statistics.median(map(per_op, done)), 1),
                        "measured": round(real[(name, workers)], 1)})
    return out


def text_of(report):
    lines = ["Operations a microsecond on the simulated machine: the median of the seeds (least to most)", ""]
    lines.append(f'{"row":<16}' + "".join(f"{n:>16}" for n in report["sizes"]))
    for row in report["rows"]:
        cells = []
        for n in report["sizes"]:
            cell = row["sizes"].get(str(n))
            cells.append(f'{cell["median"]:.3g} ({cell["least"]:.3g}-{cell["most"]:.3g})' if cell else "too long")
        lines.append(f'{row["row"]:<16}' + "".join(f"{c:>16}" for c in cells))
    lines += ["", "Share of the ideal (nothing but the tasks' own work takes time)", ""]
    for row in report["rows"]:
        shares = [row["sizes"].get(str(n), {}).get("share") for n in report["sizes"]]
        if any(shares):
            lines.append(f'{row["row"]:<16}' + "".join(f'{s:>16.2f}' if s else f'{"":>16}' for s in shares))
    lines += ["", "Lines that bounce: ns an operation that accesses wait for them (of that behind others), by field", ""]
    for row in report["rows"]:
        for n, fields in row["bounce"].items():
            lines.append(f'{row["row"]}, {n} processors:')
            lines += [f'    {f["stalled"]:>9.1f} ({f["queued"]:.1f})  {f["misses"]:6.2f} misses  {f["field"]:<16} '
                      f'{", ".join(f["places"])}' for f in fields]
    lines += ["", "Against two real cores (bench/results/amd-epyc-2.md), ns an operation", ""]
    for r in report["real"]:
        lines.append(f'{r["row"]:<16} {r["workers"]} workers: simulated {r["simulated"]:>7}, measured {r["measured"]:>7}, '
                     f'{r["simulated"] / r["measured"]:.2f} of it')
    return "\n".join(lines) + "\n"


def chart(row, sizes, width=300, height=170):
    cells = [(n, row["sizes"][str(n)]) for n in sizes if str(n) in row["sizes"]]
    if not cells:
        return ""
    low = min(c["least"] for _, c in cells)
    high = max([c["most"] for _, c in cells] + [cells[0][1]["median"] * 4])
    low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
    x = lambda n: 40 + (width - 55) * math.log2(n) / 7
    y = lambda v: 24 + (height - 48) * (1 - math.log(max(v, low) / low) / math.log(high / low))
    out = [f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif">',
           f'<text x="40" y="14" font-size="12">{html.escape(row["row"])}</text>']
    v = low
    while v <= high:
        out.append(f'<line x1="40" x2="{width - 15}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#e3e6ea"/>'
                   f'<text x="36" y="{y(v) + 3:.1f}" font-size="9" text-anchor="end" fill="#6b7684">{v:g}</text>')
        v *= 10
    first = cells[0][1]["median"]
    linear = " ".join(f"{x(n):.1f},{y(min(first * n, high)):.1f}" for n in sizes if first * n <= high)
    out.append(f'<polyline points="{linear}" fill="none" stroke="#b4bcc6" stroke-dasharray="3 3"/>')
    band = [f"{x(n):.1f},{y(c['most']):.1f}" for n, c in cells] + [f"{x(n):.1f},{y(c['least']):.1f}" for n, c in cells[::-1]]
    out.append(f'<polygon points="{" ".join(band)}" fill="#0b62c4" opacity="0.18"/>')
    line = " ".join(f"{x(n):.1f},{y(c['median']):.1f}" for n, c in cells)
    out.append(f'<polyline points="{line}" fill="none" stroke="#0b62c4" stroke-width="1.6"/>')
    out += [f'<text x="{x(n):.1f}" y="{height - 8}" font-size="9" text-anchor="middle" fill="#6b7684">{n}</text>' for n in sizes]
    return "".join(out) + "</svg>"


def page(report):
    charts = "\n".join(chart(row, report["sizes"]) for row in report["rows"])
    return ('<!doctype html><meta charset="utf-8"><title>thrum on the simulated machine</title>'
            '<body style="font-family:sans-serif;max-width:1000px"><h1>thrum on the simulated many-core machine</h1>'
            '<p>Operations a microsecond by the number of processors; the band is the least and the most of the seeds, the dashed '
            'line n times one processor. These are hypotheses with error bars, not measurements: README.md says what is '
            f'modelled.</p>{charts}<pre>{html.escape(text_of(report))}</pre>')


def everything(options):
    listed = subprocess.run([*shlex.split(options.program), "--list"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    if options.rows:
        rows = [r for r in rows if r[0] in options.rows.split(",")]
    sizes = [int(n) for n in options.workers.split(",")] if options.workers else SIZES
    report = {"sizes": sizes, "seeds": options.seeds, "rows": []}
    for name, what in rows:
        entry = {"row": name, "what": what, "sizes": {}, "bounce": {}}
        for n in sizes:
            done = [r for r in pool_run([(options.program, name, n, s) for s in range(1, options.seeds + 1)],
                                        options.processes) if r]
            if not done:
                continue
            rates = sorted(1000 / per_op(r) for r in done)
            cell = {"median": statistics.median(rates), "least": rates[0], "most": rates[-1]}
            if done[0]["ideal"]:
                cell["share"] = round(statistics.median(rates) / 1000 / done[0]["ideal"], 3)
            for field in ("misses", "rmws", "wakes", "sleeps"):
                cell[field] = round(statistics.mean(r[field] / r["ops"] for r in done), 4)
            entry["sizes"][str(n)] = cell
            if n in (8, 32, 128):
                entry["bounce"][str(n)] = bouncing(options.program, done)
        report["rows"].append(entry)
        print(name, *(f'{c["median"]:.3g}' for c in entry["sizes"].values()), flush=True)
    report["real"] = against_real(options, options.seeds)
    os.makedirs(options.out, exist_ok=True)
    for end, content in (("json", json.dumps(report, indent=1) + "\n"), ("txt", text_of(report)), ("html", page(report))):
        with open(os.path.join(options.out, "report." + end), "w", encoding="utf-8") as file:
            file.write(content)
    print(f"{options.out}/report.txt, .json, .html")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--rows", default="")
    parser.add_argument("--workers", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", default=os.path.join(ROOT, "build/cores"))
    options = parser.parse_args()
    if not options.what:
        return everything(options)
    if len(options.what) != 3 or options.what[0] != "compare" or not options.rows or not options.workers:
        parser.error("compare OLD NEW --rows ... --workers ...")
    options.old, options.new = options.what[1:]
    return compare(options)


if __name__ == "__main__":
    sys.exit(main())
