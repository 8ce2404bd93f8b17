#!/usr/bin/env python3
"""Measures thrum and its peers side by side and writes a report: bench/compare.py --help

A run goes through all workloads; for each one it takes one sample of every system, one after the other
(A B C, then the next workload), and the next run does the same again. So a noisy minute hits all systems
alike, and one sample of many workloads rather than all of one. Each sample is a process of its own.
The report is written by report.py; README.md says how to read it.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import report
from figures import DEEDS
from workloads import ALLOCATING, FULL_WORKERS, SCALING, SETS, VARIANTS, WORKLOADS, YARDSTICKS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = ["go", "tokio", "boost", "onetbb", "openmp-gcc", "openmp-clang", "libuv", "pool"]
ALLOCATE = ["thrum", "tokio", "boost", "onetbb"]  # those that are measured with another malloc, too
TIMEOUT = 120  # seconds for a sample of thrum


class System:
    """A program to be measured: thrum, one of its variants, a peer, or the baseline in thrum's own program."""

    def __init__(self, name, command, env=None, thrum=False, baseline=False):
        self.name, self.command, self.env, self.thrum, self.baseline = name, command, env or {}, thrum, baseline
        self.version = ""
        self.example = ""  # a command line that was used

    def rows(self):
        """The names of the rows that it has."""
        out = subprocess.run(self.command + ["--list"], capture_output=True, text=True, check=True)
        return {line.split()[0] for line in out.stdout.splitlines() if line.strip()}

    def sample(self, names, workers, quick, patience):
        """Runs one process; returns the rows of these names, or raises with what it said. A peer may take `patience` seconds."""
        command = self.command + ["--only", ",".join(names), "--workers", str(workers)]
        if quick:
            command.append("--quick")
        env = dict(os.environ, **self.env)
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            ours = self.thrum or self.baseline
            if ours:
                command += ["--policy", self.env.get("THRUM_POLICY", "sharded")]  # an option beats the environment
                command += ["--runs", "1", "--json", out.name] + ([] if self.baseline else ["--alone"])
            shown = " ".join([f"{k}={v}" for k, v in self.env.items()] + command)
            self.example = self.example or re.sub(r" --json \S+", "", shown).replace(ROOT + "/", "")
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env,
                                  timeout=TIMEOUT if ours else patience)
            text = out.read().decode() if ours else done.stdout
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise RuntimeError(said[-1] if said else f"ended with {done.returncode}")
        result = json.loads(text)
        machine = result["machine"]
        if ours:
            self.version = f"{machine['thrum']}, {machine['compiler']}, {machine['flags']}"
        else:
            self.version = machine["version"]
        rows = [row for row in result["rows"] if row["name"] in names]
        if self.baseline:  # its counts are those of thrum
            rows = [dict(row, median=row["baseline"], context_switches=None, futex_calls=None) for row in rows]
        return rows


def machine():
    """What the report says of the machine."""
    cpu = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    osname = "unknown"
    try:
        osname = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, AttributeError, KeyError):
        pass
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "memory": f"{memory:.0f} GiB",
            "kernel": f"{platform.system()} {platform.release()} {platform.machine()}", "os": osname,
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


def mimalloc():
    """Where libmimalloc lies, or None."""
    out = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"libmimalloc\.so\S* .*=> (\S+)", out)
    return found.group(1) if found else None


def find_systems(thrum, wanted):
    """The systems that are there, and why the others are not."""
    systems, absent = [System("thrum", [thrum], thrum=True)], {}
    for name in PEERS:
        program = os.path.join(ROOT, "build", "peers", "peer-" + name)
        if wanted and name not in wanted:
            continue
        if os.access(program, os.X_OK):
            systems.append(System(name, [program]))
        else:
            absent[name] = "not built (tools/setup bench installs what it needs; bench/peers/build)"
    return systems, absent


def plan(args, systems):
    """The samples of one run, in their order: (set, workload, workers, system)."""
    has = {s.name: s.rows() for s in systems}
    jobs = []
    if args.variants:
        return plan_variants(args)

    def add(kind, work, workers, among):
        for system in among:
            names = work.rows_of(system.name)
            if any(name in has[system.name] for name in names):
                jobs.append((kind, work, workers, system))

    library = mimalloc() if args.full or args.mimalloc else None
    preloaded = [System(s.name + "+mimalloc", s.command, {"LD_PRELOAD": library}, s.thrum)
                 for s in systems if library and s.name in ALLOCATE]
    for system in preloaded:
        has[system.name] = has[system.name.split("+")[0]]
    for yard in YARDSTICKS:
        jobs.append(("yard", yard, 1, systems[0]))
    for work in WORKLOADS:
        if args.only and work.name not in args.only:
            continue
        # Rows that only thrum has are measured when they are named, or with all.
        if work.set == "study" or not (args.full or args.only) and not any(
                n in has[s.name] for s in systems[1:] for n in work.rows_of(s.name)):
            continue
        for workers in work.workers or (FULL_WORKERS if args.full else args.workers):
            add("main", work, workers, systems)
            if work.baseline:
                jobs.append(("main", work, workers, System(work.baseline, [args.thrum], baseline=True)))
            if work.name in ALLOCATING:
                add("main", work, workers, preloaded)
    if args.full or args.scaling:
        for work in WORKLOADS:
            if work.name in SCALING and (not args.only or work.name in args.only):
                for workers in (1, 2, 4, 8):
                    add("scaling", work, workers, systems)
    # One figure is measured once, also when several parts of the report show it.
    seen, once = set(), []
    for job in jobs:
        key = (job[1].name, job[2], job[3].name)
        if key not in seen:
            seen.add(key)
            once.append(job)
    return once


def plan_variants(args):
    """The samples of thrum's variants, which only the study's build has."""
    variants = [System(name, [args.study], env, thrum=True) for name, env in VARIANTS]
    thrum = System("thrum", [args.study], thrum=True)
    return [("yard", yard, 1, thrum) for yard in YARDSTICKS] + [
        ("variants", work, work.workers[0] if work.workers else 2, system)
        for work in WORKLOADS if {work.set, work.name} & set(SETS["variants"]) and (not args.only or work.name in args.only)
        for system in variants]


def measure(jobs, args):
    """Makes all runs; returns the samples, and what is missing. Interrupted, it returns what it has."""
    samples, missing, begin = {}, {}, time.time()
    try:
        take_samples(jobs, args, samples, missing)
    except KeyboardInterrupt:
        print("\ncompare: interrupted: the report has what was measured", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    lost = [{"row": k[0], "workers": k[1], "system": k[2], "why": why} for k, why in missing.items()]
    return list(samples.values()), lost, time.time() - begin


def take_samples(jobs, args, samples, missing):
    """Puts all runs into samples by (row, workers, system); a system that fails a workload is not asked again."""
    total, done = args.runs * len(jobs), 0
    for run in range(args.runs):
        for _, work, workers, system in jobs:
            done += 1
            key = (work.name, workers, system.name)
            if key in missing:
                continue
            if sys.stderr.isatty():
                print(f"\r\033[K{done}/{total} run {run + 1}: {work.name}, {workers} workers, {system.name}",
                      end="", file=sys.stderr, flush=True)
            start = time.time()
            try:
                rows = system.sample(work.rows_of(system.name), workers, args.quick, args.patience)
            except subprocess.TimeoutExpired:
                missing[key] = f"not done within {TIMEOUT if system.thrum else args.patience} s"
                continue
            except (RuntimeError, ValueError, OSError) as why:
                missing[key] = str(why)
                continue
            for row in rows:
                name = work.row_named(row["name"], system.name)
                taken = samples.setdefault((name, row["workers"], system.name), {
                    "row": name, "workers": row["workers"], "system": system.name, "unit": row["unit"],
                    "values": [], "ops": [], "context_switches": [], "futex_calls": [],
                    "seconds": [], **({name: [] for name in DEEDS} if system.thrum else {})})
                taken["values"].append(row["median"])
                for field in ("ops", "context_switches", "futex_calls", *(DEEDS if system.thrum else ())):
                    taken[field].append(row[field])
                taken["seconds"].append(round(time.time() - start, 2))  # of the process that gave it
                if "histogram" in row:
                    taken["histogram"] = added(taken.get("histogram", []), row["histogram"])


def added(histogram, more):
    """Adds up two distributions: pairs of a figure and how many had it."""
    counts = dict(histogram)
    for figure, n in more:
        counts[figure] = counts.get(figure, 0) + n
    return sorted(counts.items())


def save(results, path):
    """Writes JSON, a line a sample."""
    rest = {key: value for key, value in results.items() if key != "samples"}
    samples = ",\n  ".join(json.dumps(sample) for sample in results["samples"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(rest, indent=1)[:-2] + f',\n "samples": [\n  {samples}\n ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description="thrum and its peers, side by side")
    parser.add_argument("--full", action="store_true", help="all workloads, 1 to 8 workers")
    parser.add_argument("--scaling", action="store_true", help="1, 2, 4, 8 workers, for some workloads")
    parser.add_argument("--variants", action="store_true", help="only thrum's variants, against each other")
    parser.add_argument("--mimalloc", action="store_true", help="measure what allocates much with this malloc, too")
    parser.add_argument("--runs", type=int, default=5, help="samples of each (5)")
    parser.add_argument("--workers", default="2", help="worker counts, separated by commas (2)")
    parser.add_argument("--only", help="these workloads, separated by commas")
    parser.add_argument("--systems", help="these peers, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the work: to see that it works")
    parser.add_argument("--patience", type=int, default=60, metavar="S",
                        help="a peer that needs longer for a sample is left out of that row (60 s)")
    parser.add_argument("--thrum", default=os.path.join(ROOT, "build/gcc-release/bench/thrum-bench"))
    parser.add_argument("--study", default=os.path.join(ROOT, "build/gcc-study/bench/thrum-bench"),
                        help="thrum-bench of the study's build, for --variants")
    parser.add_argument("--out", help="results go to OUT.json, OUT.md, OUT.html (bench/results/MACHINE)")
    parser.add_argument("--again", metavar="JSON", help="measure nothing: write the report of these results anew")
    args = parser.parse_args()
    args.workers = [int(n) for n in args.workers.split(",")]
    args.only = args.only.split(",") if args.only else None
    if args.again:
        with open(args.again, encoding="utf-8") as file:
            return report.write(json.load(file), args.out or args.again[:-len(".json")])
    here = machine()
    if not args.out:
        slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|processor", "", here["cpu"].lower())).strip("-")
        args.out = os.path.join(ROOT, "bench", "results", f"{slug}-{here['cores']}" + ("-variants" if args.variants else ""))
    systems, absent = [], {}
    if not args.variants:
        systems, absent = find_systems(args.thrum, args.systems.split(",") if args.systems else None)
    if (args.full or args.mimalloc) and not mimalloc():
        absent["mimalloc"] = "not there (libmimalloc-dev)"
    for name, why in absent.items():
        print(f"compare: {name} is left out: {why}", file=sys.stderr)
    jobs = plan(args, systems)
    samples, missing, seconds = measure(jobs, args)
    for lost in missing:
        print(f"compare: {lost['row']}, {lost['workers']} workers, {lost['system']}: {lost['why']}",
              file=sys.stderr)
    used = {s.name: s for _, _, _, s in jobs}
    results = {
        "machine": here, "runs": args.runs, "quick": args.quick, "seconds": round(seconds),
        "command": " ".join(["bench/compare.py"] + sys.argv[1:]),
        "systems": {s.name: {"version": s.version, "command": s.example, "variant": s.name in dict(VARIANTS)}
                    for s in used.values()},
        "absent": absent, "samples": samples, "missing": missing}
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    save(results, args.out + ".json")
    report.write(results, args.out)
    return 1 if any(lost["system"].startswith("thrum") for lost in missing) else 0


if __name__ == "__main__":
    sys.exit(main())
