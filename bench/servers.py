#!/usr/bin/env python3
"""Measures thrum's servers beside their peers, and writes a report: bench/servers.py --help

A round goes through all rows; of each it takes one sample of every server, one right after the other. A sample is a
server's process of its own, tied to one core, and a load on another one. The ratios that are told are of samples of the
same round; of those the median. README.md says how to read the report, server_rows.py what is compared.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import server_report
from compare import machine, save
from server_loads import Loads, TooLate
from server_rows import BUSY_WORKERS, ROWS
from server_systems import ROOT, Server, Systems

SMOKE = {"connections": 200, "settle": 0.3, "seconds": 0.3, "rounds": 1}
FULL = {"connections": 10000, "settle": 1.0, "seconds": 2, "rounds": 5}


def raise_files():
    """The servers inherit what is granted without asking."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def cores_of(here):
    """The server's core and the load's; the same where there is only one."""
    cores = sorted(here)
    return {cores[0]}, {cores[-1]}


def plan(args, systems, loads):
    """The samples of a round, in their order, and what is left out: ([(row, system)], {name: why}, [missing])."""
    jobs, absent, missing = [], {}, []
    for row in ROWS:
        if args.only and row.name not in args.only or row.load is None:
            continue
        why = loads.absent(row.load)
        if why:
            missing.append({"row": row.name, "system": "all", "why": why})
            continue
        for system in row.systems:
            if args.systems and system not in args.systems:
                continue
            why = systems.absent(system)
            if why:
                absent[system] = why
            else:
                jobs.append((row, system))
    return jobs, absent, missing


def add(samples, row, system, unit, connections, got):
    """Puts one sample to the others of its row and server."""
    taken = samples.setdefault((row, system), {"row": row, "system": system, "unit": unit, "connections": connections})
    for name, value in got.items():
        taken.setdefault("values" if name == "figure" else name, []).append(round(value, 4) if isinstance(value, float) else value)


def sample(args, row, system, systems, loads, cores, shown):
    """One sample of a server. Where only that it works is asked for, a load that was too short is made longer."""
    while True:
        try:
            with Server(systems, system, row.name, cores) as server:
                shown.setdefault(system, server.shown)
                return loads.sample(row, server)
        except TooLate:
            if not args.smoke:
                raise
            loads.seconds *= 2


def measure(args, jobs, systems, loads, missing):
    """Makes all rounds. A server that fails is not asked again for that row. Interrupted, it returns what there is."""
    samples, failed, shown = {}, set(), {}
    cores = {row.name: loads.server_cores if row.load != "busy" else os.sched_getaffinity(0) for row, _ in jobs}
    done = 0
    try:
        for number in range(args.rounds):
            for row, system in jobs:
                done += 1
                if sys.stderr.isatty():
                    print(f"\r\033[K{done}/{args.rounds * len(jobs)} round {number + 1}: {row.name}, {system}", end="",
                          file=sys.stderr, flush=True)
                if (row.name, system) in failed:
                    continue
                try:
                    got = sample(args, row, system, systems, loads, cores[row.name], shown)
                except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as why:
                    failed.add((row.name, system))
                    missing.append({"row": row.name, "system": system, "why": str(why)})
                    continue
                calls = got.pop("calls", None)
                add(samples, row.name, system, row.unit, loads.connections, got)
                if calls:
                    add(samples, "idle-calls", system, "a second", loads.connections, calls)
    except KeyboardInterrupt:
        print("\nservers: interrupted: the report has what was measured", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return list(samples.values()), shown


def options():
    parser = argparse.ArgumentParser(description="thrum's servers and their peers, side by side")
    parser.add_argument("--smoke", action="store_true", help="very little of everything, to see that it works: no figures to be quoted")
    parser.add_argument("--rounds", type=int, help="samples of each (5)")
    parser.add_argument("--seconds", type=float, help="how long a load lasts (2); wrk's are whole seconds")
    parser.add_argument("--connections", type=int, help="how many are idle, or end at one moment (10000)")
    parser.add_argument("--only", help="these rows, separated by commas: " + " ".join(r.name for r in ROWS if r.load))
    parser.add_argument("--systems", help="these servers, separated by commas")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "gcc-release"), help="thrum's build (build/gcc-release)")
    parser.add_argument("--out", help="results go to OUT.json, OUT.md, OUT.html (bench/results/MACHINE-servers)")
    parser.add_argument("--again", metavar="JSON", help="measure nothing: write the report of these results anew")
    args = parser.parse_args()
    for name in ("rounds", "seconds", "connections"):
        if getattr(args, name) is None:
            setattr(args, name, (SMOKE if args.smoke else FULL)[name])
    args.only = args.only.split(",") if args.only else None
    args.systems = args.systems.split(",") if args.systems else None
    unknown = set(args.only or ()) - {row.name for row in ROWS}
    if unknown:
        parser.error("no such row: " + " ".join(unknown))
    return args


def main():
    args = options()
    if args.again:
        with open(args.again, encoding="utf-8") as file:
            return server_report.write(json.load(file), args.out or args.again[:-len(".json")])
    here, begin = machine(), time.time()
    if not args.out:
        slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|processor", "", here["cpu"].lower())).strip("-")
        args.out = os.path.join(ROOT, "bench", "results", f"{slug}-{here['cores']}-servers")
    granted = raise_files() - 100
    server_cores, load_cores = cores_of(os.sched_getaffinity(0))
    loads = Loads(args.build, load_cores, args.seconds, min(args.connections, granted), (SMOKE if args.smoke else FULL)["settle"])
    loads.server_cores = server_cores
    systems = Systems(args.build, BUSY_WORKERS)
    jobs, absent, missing = plan(args, systems, loads)
    for name, why in absent.items():
        print(f"servers: {name} is left out: {why}", file=sys.stderr)
    samples, shown = measure(args, jobs, systems, loads, missing)
    for lost in missing:
        print(f"servers: {lost['row']}, {lost['system']}: {lost['why']}", file=sys.stderr)
    results = {
        "machine": here, "rounds": args.rounds, "smoke": args.smoke, "seconds": round(time.time() - begin),
        "load_seconds": args.seconds, "server_cores": sorted(server_cores), "load_cores": sorted(load_cores),
        "command": " ".join(["bench/servers.py"] + sys.argv[1:]),
        "systems": {s: {"version": systems.version(s), "command": c} for s, c in shown.items()},
        "tools": {"wrk": systems.version("wrk"), "redis-benchmark": systems.version("redis")},
        "absent": absent, "samples": samples, "missing": missing}
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    save(results, args.out + ".json")
    server_report.write(results, args.out)
    ours = [lost for lost in missing if lost["system"].startswith("thrum")]
    return 1 if ours or not samples else 0


if __name__ == "__main__":
    sys.exit(main())
