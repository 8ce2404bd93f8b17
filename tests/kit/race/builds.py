#!/usr/bin/env python3
"""
Programs that are compiled or linked in a wrong way for the test kit say so in one line.

  tests/kit/race/builds.py BUILD COMPILER...

For each compiler: builds.c beside this file, compiled and linked with the libraries of BUILD in right and wrong ways; for each,
the exit status, and texts of the output in their order.
"""
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "../../../include")
SOURCE = open(os.path.join(HERE, "builds.c")).read().splitlines()
PC = open(os.path.join(BUILD, "thrum-test-race.pc")).read()
WATCHED = [word for word in re.search("^Cflags:(.*)", PC, re.M).group(1).split() if word[:2] != "-I"]
RACE = ["-L" + BUILD, "-lthrum-test-race", re.search(r"-Wl,\S+", PC).group(0), "-ldl"]
PLAIN = ["-L" + BUILD, "-lthrum-test", "-ldl"]
ASAN, TSAN = ["-fsanitize=address"], ["-fsanitize=thread"]


def line_of(text):
    return "builds.c:%d" % (next(i for i, line in enumerate(SOURCE) if text in line) + 1)


CASES = [
    # flags of the compiler, of the linker, arguments, status, texts
    (WATCHED, RACE, [], 0, ["1000 schedules passed"]),
    (WATCHED, RACE, ["race"], 1, ["  race: nothing orders", "The accesses to shared:"]),
    (WATCHED, RACE, ["freed"], 1, ["use-after-free: ", "used at " + line_of("block[3] == 1"), "freed at " + line_of("free(block)"),
                                   "allocated in malloc at " + line_of("malloc(16)")]),
    (WATCHED, RACE, ["past"], 1, ["out-of-bounds: ", "used at " + line_of("block, 1, 17")]),
    ([], RACE, ["race"], 0, ["1000 schedules passed", "NOT watched for races"]),
    (WATCHED, PLAIN, [], 2, ["compiled with -fsanitize=thread: link with thrum::test_race"]),
    (WATCHED, TSAN + PLAIN, [], 2, ["compiled with -fsanitize=thread: link with thrum::test_race"]),
    (WATCHED, TSAN + RACE, [], 2, ["linked with -fsanitize=thread: thrum::test_race", "link without it"]),
    (ASAN, ASAN + PLAIN, [], 2, ["linked with -fsanitize=address, which does not work"]),
    (ASAN, ASAN + RACE, [], 2, ["linked with -fsanitize=address, which does not work"]),
]


def faults(compiler, work):
    for flags, libraries, arguments, status, texts in CASES:
        case = " ".join([compiler, *flags, "...", *libraries, *arguments])
        program = os.path.join(work, "builds")
        subprocess.run([compiler, "-g", "-w", "-I" + INCLUDE, *flags, "-c", os.path.join(HERE, "builds.c"), "-o", program + ".o"], check=True)
        linked = subprocess.run([compiler, program + ".o", "-o", program, *libraries], stderr=subprocess.PIPE, text=True)
        if linked.returncode:
            yield case, linked.stderr
            continue
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        at = 0
        for text in texts:
            at = done.stdout.find(text, at) if at >= 0 else at
        if done.returncode != status or at < 0:
            yield case, "%d:\n%s" % (done.returncode, done.stdout)
        elif status == 2 and done.stdout.count("\n") != 1:
            yield case, "more than one line:\n" + done.stdout


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        for compiler in sys.argv[2:]:
            for case, text in faults(compiler, work):
                print("%s: %s" % (case, text))
                bad += 1
    print("%d builds" % (len(CASES) * len(sys.argv[2:])))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
