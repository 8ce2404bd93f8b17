#!/usr/bin/env python3
"""
Holds what a fork of a lambda takes to what C's calls take: fork-instructions.py PROGRAM

PROGRAM is made of forks.cpp beside this. Instructions of a whole fork and join, with what is forked, as callgrind
counts them on one worker: in C++ at most MOST times those of the same in C. gcc 12 took 91.1 to 97.1, 0.94 times, and
1.003 times with -O3; clang 14 0.96 times. (gcc took 100.1 as long as the join had the library make the call, and 115.1 as
long as the result was an optional beside an exception, both emptied before the call.)
"""
import glob
import re
import subprocess
import sys
import tempfile

MOST = 1.05


def main():
    with tempfile.TemporaryDirectory() as where:
        # Valgrind does not read all that clang says for debuggers.
        subprocess.run(["strip", "-g", "-o", where + "/program", sys.argv[1]], check=True)
        run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + where + "/out", where + "/program"],
                             capture_output=True, text=True, check=False)
        rounds = re.search(r"^rounds (\d+)$", run.stdout, re.MULTILINE)
        if run.returncode or not rounds:
            sys.exit("it failed:\n" + run.stdout + run.stderr[-2000:])
        took = {}
        for path in glob.glob(where + "/out.*"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
            if name and total:
                took[name.group(1)] = int(total.group(1)) / int(rounds.group(1))
    ratio = took["c++"] / took["c"]
    print("a fork and join of a lambda: %.1f instructions, in C %.1f: %.3f times" % (took["c++"], took["c"], ratio))
    if ratio > MOST:
        sys.exit("that is more than %.2f times" % MOST)


main()
