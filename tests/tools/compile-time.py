#!/usr/bin/env python3
"""
What including thrum/thrum.hpp costs: compile-time.py COMPILER

Compiles, for each standard, an empty file, one with thrum/thrum.hpp, one with the standard's headers that this one
names, and one with four headers of the standard's that most programs have. The first is taken from the others;
they take turns, and each ratio is the median of five turns, in processor time: so a slow or busy machine slows
all. Over the standard's headers that it names thrum.hpp may take OWN times what the four take (0.27 to 0.32 s with
C++20, gcc 12), and RATIO times in all. It took -0.15 to 0.01 times over those: nothing that shows; and in all
1.47 to 1.57 times with C++17, 1.45 to 1.52 with C++20.
"""
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

RATIO = {"c++17": 1.7, "c++20": 1.65}
OWN = 0.2
SINCE_20 = "__cplusplus >= 202002L"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def needs():
    """The standard's headers that the face names."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, "include", "thrum", "cpp", "*.hpp")):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r"^#\s*include <([a-z_]+)>$", file.read(), re.MULTILINE))
    return sorted(found)


FILES = {
    "empty": "",
    "thrum": "#include <thrum/thrum.hpp>\n",
    "needs": "".join(f"#if {SINCE_20 if name in ('coroutine', 'shared_mutex', 'stop_token') else 1}\n#include <{name}>\n#endif\n"
                     for name in needs()),
    "four": "#include <chrono>\n#include <memory>\n#include <mutex>\n#include <string>\n",
}


def seconds(command):
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(compiler, standard, folder):
    """The times of the header, the yardstick and what it needs over that of an empty file, in each of five turns."""
    turns = []
    for _ in range(5):
        times = {}
        for name in FILES:
            source = os.path.join(folder, name + ".cpp")
            times[name] = seconds([compiler, "-std=" + standard, "-I" + ROOT + "/include", "-c", source,
                                   "-o", os.path.join(folder, name + ".o")])
        turns.append([times[name] - times["empty"] for name in ("thrum", "four", "needs")])
    return turns


def main():
    compiler = sys.argv[1]
    os.environ["CCACHE_DISABLE"] = "1"
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            with open(os.path.join(folder, name + ".cpp"), "w", encoding="utf-8") as out:
                out.write(text)
        for standard, most in RATIO.items():
            turns = measure(compiler, standard, folder)
            ours, four, needed = (statistics.median(column) for column in zip(*turns))
            ratio = statistics.median(t[0] / t[1] for t in turns)
            own = statistics.median((t[0] - t[2]) / t[1] for t in turns)
            print("%s: thrum/thrum.hpp takes %.2f s, four headers of the standard's %.2f s: %.2f times; what it needs "
                  "of the standard's %.2f s, so it takes %.2f times itself" % (standard, ours, four, ratio, needed, own))
            if ratio > most or own > OWN:
                print("that is more than %.2f, or %.2f, times" % (most, OWN))
                bad = True
    sys.exit(bad)


main()
