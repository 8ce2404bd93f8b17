#!/usr/bin/env python3
"""What waiting for MPI in tasks costs beside MPI's own calls, and a search over ranks.

    bench/mpi/compare.py [--smoke] [--pairs 5]        build/gcc-release has to be built: make bench-mpi does that

Of each MPI that is there, over shared memory and over TCP on the loopback: a round of 8 bytes by MPI_Send and MPI_Recv, by
one task, and by 64 tasks, which are medians of seven in one process, in an order that changes; and the processor time of a
receive that waits for two seconds. Then the search of uts, one rank of two workers and two ranks of one worker in turn.
Ratios are of the same run. A system that something else keeps busy makes all of it worthless.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/gcc-release"
LIMIT = 60  # seconds a run
ROWS = {"plain": "MPI_Send, MPI_Recv", "one": "one task", "many": r"\d+ tasks, a round of each",
        "turns": "MPI_Isend, MPI_Irecv, MPI_Test by turns", "lasting": "a receive that waits"}


def run(mpi, ranks, program, *args, **environment):
    """What the program says, or None where it does not end well."""
    command = [ROOT / "tests/mpi/run.sh", mpi, ranks, "multiple", program, *args]
    try:
        done = subprocess.run([str(part) for part in command], env=os.environ | environment, timeout=LIMIT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        print(f"  left out: not over within {LIMIT} s")
        return None
    if done.returncode:
        print(f"  left out: it ends with {done.returncode}: {done.stdout.strip()[:300]}")
    return None if done.returncode else done.stdout


def figures(said):
    """The figure of each row: microseconds, or per cent of a processor."""
    found = {}
    for name, words in ROWS.items():
        match = re.search(rf"^ *{words}.*? (\d+\.\d+) (us|%)", said, re.MULTILINE)
        if not match:
            raise SystemExit(f"compare.py: no row '{words}' in: {said}")
        found[name] = float(match.group(1))
    return found


def verdict(is_met):
    return "met" if is_met else "MISSED"


def messages(mpi, transport, rounds):
    print(f"{mpi}, {transport}")
    said = run(mpi, 2, BUILD / f"bench/thrum-bench-mpi-{mpi}", "--rounds", rounds, CHECK_MPI_TRANSPORT=transport)
    if said is None:
        return False
    f = figures(said)
    more = f["one"] - f["plain"]
    print(f"  plain {f['plain']:.3f} us a round")
    print(f"  one task {f['one']:.3f} us: {f['one'] / f['plain']:.2f} of plain, {more:+.3f} us (must be at most +0.2: "
          f"{verdict(more <= 0.2)}; aim +0.1)")
    print(f"  64 tasks {f['many']:.3f} us each: {f['many'] / f['plain']:.2f} of plain (must be at most 1: "
          f"{verdict(f['many'] <= f['plain'])}); MPI's calls by turns, without tasks: {f['turns']:.3f}")
    print(f"  a wait of 2 s {f['lasting']:.2f} % of a processor (must be at most 1: {verdict(f['lasting'] <= 1)})")
    return True


def search(tree, pairs):
    program = BUILD / "examples/uts"
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    mpi = "openmpi" if re.search(r"libmpi\.so", linked) else "mpich"
    print(f"uts {tree}, {mpi}, shared memory: two ranks of one worker beside one rank of two")
    ratios = []
    for pair in range(pairs):
        seconds = {}
        for ranks in ((1, 2), (2, 1))[pair % 2]:
            said = run(mpi, ranks, program, tree, THRUM_WORKERS=str(2 // ranks))
            match = said and re.search(r"as published: yes.*?(\d+\.\d+) million nodes a second", said)
            if not match:
                print("  no count that is as published")
                return False
            seconds[ranks] = float(match.group(1))
        ratios.append(seconds[2] / seconds[1])
        print(f"  {seconds[1]:.2f} and {seconds[2]:.2f} million nodes a second: {ratios[-1]:.3f}")
    middle = statistics.median(ratios)
    print(f"  median {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}; must be at least 0.9: {verdict(middle >= 0.9)})")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true", help="little of everything, to see that it works")
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    print(f"load of the machine now: {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    worked = True
    for mpi in ("openmpi", "mpich"):
        if not shutil.which(f"mpirun.{mpi}") or not (BUILD / f"bench/thrum-bench-mpi-{mpi}").exists():
            print(f"{mpi}: left out, it is not there, or the benchmark is not built")
            continue
        for transport, rounds in (("shm", 200000), ("tcp", 10000)):
            worked &= messages(mpi, transport, 200 if args.smoke else rounds)
    worked &= search("T1" if args.smoke else "T3", 1 if args.smoke else args.pairs)
    return 0 if worked else 1


if __name__ == "__main__":
    sys.exit(main())
