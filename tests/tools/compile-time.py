#!/usr/bin/env python3
"""
What including thrum/thrum.hpp costs: compile-time.py COMPILER [--seconds]

Compiles, for each standard, an empty file, one with thrum/thrum.hpp, one with just the standard's headers that
thrum.hpp includes, and one with four headers of the standard's that most programs have. What the compiler builds of it is
held, which is the same on each machine and in each run: the memory that gcc takes for what it parses and instantiates,
the nodes of clang's tree. Itself it may take OWN times what the four take, and in all RATIO times: so a header that
instantiates much, or pulls in another large header of the standard's, fails here. Compilers other than gcc 12
and clang 14 build other amounts, which are printed and not held. --seconds prints the processor time of each as well, the
least of five turns (with gcc 12 thrum.hpp itself took 0.2 s where the four took 0.6 to 1.0 s).
"""
import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import tempfile

TURNS = 5
# gcc 12 took 0.30 and 1.45 with C++17, 0.22 and 1.37 with C++20; clang 14 0.38 and 1.53, and
# 0.21 and 1.45.
OWN = {"gcc": {"c++17": 0.34, "c++20": 0.27}, "clang": {"c++17": 0.44, "c++20": 0.27}}
RECORDED = {"gcc": 12, "clang": 14}
RATIO = {"gcc": {"c++17": 1.52, "c++20": 1.45}, "clang": {"c++17": 1.62, "c++20": 1.53}}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = os.path.join(ROOT, "include") + "/"


def command(compiler, standard, *more):
    return [compiler, "-std=" + standard, "-I" + OURS, *more]


def needs(compiler, standard, source):
    """The standard's headers that ours include, in their order: those entered from a file of ours."""
    text = subprocess.run(command(compiler, standard, "-E", source), capture_output=True, text=True, check=True).stdout
    found = []
    within = [""]
    for path, flags in re.findall(r'^# \d+ "([^"]*)"(.*)$', text, re.MULTILINE):
        if " 1" in flags:
            if within[-1].startswith(OURS) and not path.startswith(OURS):
                found.append(os.path.basename(path))
            within.append(path)
        elif " 2" in flags:
            within.pop()
    if len(found) < 10:
        sys.exit("the compiler's marks tell only of " + " ".join(found))
    return found


def seconds(words):
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def counted(compiler, standard, source, kind):
    """How much the compiler builds: megabytes of gcc's, thousands of clang's nodes."""
    words = ["-ftime-report"] if kind == "gcc" else ["-Xclang", "-print-stats"]
    said = subprocess.run(command(compiler, standard, "-c", source, "-o", os.devnull, *words),
                          capture_output=True, text=True, check=True).stderr
    if kind == "gcc":
        amount, unit = re.search(r"^ TOTAL .* (\d+)([kM])$", said, re.MULTILINE).groups()
        return int(amount) / (1024 if unit == "k" else 1)
    return sum(int(n) for n in re.findall(r"^\s*(\d+) (?:decls|types|stmts/exprs) total", said, re.MULTILINE)) / 1000


def major(compiler, kind):
    """The compiler's version, as the number before its first point."""
    macro = "__GNUC__" if kind == "gcc" else "__clang_major__"
    said = subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=macro, capture_output=True, text=True, check=True)
    return int(said.stdout.split()[-1])


def hold(what, value, most):
    """Prints a value beside what it may be. True if it is more."""
    print("  %s: %.2f, at most %.2f%s" % (what, value, most, "" if value <= most else ": TOO MUCH"))
    return value > most


def tell_seconds(compiler, standard, paths):
    least = dict.fromkeys(paths, 1e9)
    for _ in range(TURNS):
        for name, path in paths.items():
            least[name] = min(least[name], seconds(command(compiler, standard, "-c", path, "-o", os.devnull)))
    print("  " + ", ".join("%s %.2f" % pair for pair in least.items()) + " s")


def judge(compiler, kind, standard, folder):
    """True if the header costs too much with this standard."""
    files = {
        "empty": "",
        "thrum": "#include <thrum/thrum.hpp>\n",
        "four": "#include <chrono>\n#include <memory>\n#include <mutex>\n#include <string>\n",
    }
    paths = {name: os.path.join(folder, name + ".cpp") for name in (*files, "needs")}
    for name, text in files.items():
        with open(paths[name], "w", encoding="utf-8") as out:
            out.write(text)
    with open(paths["needs"], "w", encoding="utf-8") as out:
        out.write("".join("#include <%s>\n" % name for name in needs(compiler, standard, paths["thrum"])))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        count = dict(zip(paths, pool.map(lambda path: counted(compiler, standard, path, kind), paths.values())))
    four = count["four"] - count["empty"]
    unit = "MiB" if kind == "gcc" else "thousand nodes"
    print("%s: " % standard + ", ".join("%s %.0f" % pair for pair in count.items()) + " " + unit)
    bad = hold("built by itself, in times of the four", (count["thrum"] - count["needs"]) / four, OWN[kind][standard])
    bad |= hold("built in all, in times of the four", (count["thrum"] - count["empty"]) / four, RATIO[kind][standard])
    if major(compiler, kind) != RECORDED[kind]:
        print("  not held: the amounts are those of %s %d" % (kind, RECORDED[kind]))
        bad = False
    if "--seconds" in sys.argv:
        tell_seconds(compiler, standard, paths)
    return bad


def main():
    compiler = sys.argv[1]
    os.environ["CCACHE_DISABLE"] = "1"
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    kind = "clang" if "clang" in version else "gcc"
    with tempfile.TemporaryDirectory() as folder:
        results = [judge(compiler, kind, standard, folder) for standard in ("c++17", "c++20")]
    sys.exit(any(results))


main()
