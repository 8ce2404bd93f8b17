#!/usr/bin/env python3
"""
The test kit finds each kernel's bug, and nothing in the corrected kernels.

  tests/kit/run.py PROGRAM REAL [RUNS] [--only KERNEL]... [--corrected]

For each kernel of PROGRAM (tests/kit/main.c): 1,000 schedules find the bug, and report it as the kernel names it; the printed
schedule repeats the same report; RUNS schedules (2,000) of the corrected kernel pass, and so do a few runs of REAL, the same
program over the real library. --corrected leaves the bugs out. The same seed gives the same digest in two environments and at two places in memory. EMULATOR in
the environment runs the programs of another processor.
"""
import os
import re
import subprocess
import sys

words = sys.argv[1:]
only = []
corrected = "--corrected" in words
words = [word for word in words if word != "--corrected"]
while "--only" in words:
    at = words.index("--only")
    only.append(words[at + 1])
    del words[at:at + 2]
PROGRAM = os.path.abspath(words[0])
REAL = os.path.abspath(words[1])
RUNS = words[2] if len(words) > 2 else "2000"
EMULATOR = os.environ.get("EMULATOR", "").split()


def run(*arguments, program=PROGRAM, **environment):
    done = subprocess.run([*EMULATOR, program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={"PATH": os.environ["PATH"], **environment})
    return done.returncode, done.stdout


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+", "0x...", text)


def faults_of_bug(kernel, fault):
    status, first = run(kernel)
    found = re.search(r"^  ([\w-]+): .*", first, re.M)
    if status != 1 or not found or found.group(1) != fault:
        yield "the bug is not found as %s, but (%d):\n%s" % (fault, status, first)
        return
    again = re.search(r"--replay (\S+)$", first, re.M)
    status, second = run(kernel, "--replay", again.group(1))
    if status != 1 or without_addresses(found.group(0)) not in without_addresses(second):
        yield "%s repeats something else (%d):\n%s" % (again.group(0), status, second)


def faults_of(kernel, fault):
    if not corrected:
        yield from faults_of_bug(kernel, fault)
    status, text = run(kernel, "fixed", "--runs", RUNS)
    digest = re.search(r"digest \w+", text)
    if status != 0 or not digest:
        yield "the corrected kernel fails (%d):\n%s" % (status, text)
        return
    other = run(kernel, "fixed", "--runs", RUNS, LANG="C.UTF-8", MORE="x" * 5000)[1]
    if digest.group(0) not in other:
        yield "%s once, %s in another environment" % (digest.group(0), other)
    status, text = run(kernel, "fixed", program=REAL)
    if status != 0:
        yield "the corrected kernel fails in real time (%d):\n%s" % (status, text)


def main():
    bad = 0
    kernels = [line.split() for line in run()[1].splitlines()]
    kernels = [kernel for kernel in kernels if not only or kernel[0] in only]
    for kernel, fault in kernels:
        for text in faults_of(kernel, fault):
            print("%s: %s" % (kernel, text))
            bad += 1
    print("%d kernels" % len(kernels))
    return bad != 0 or not kernels


if __name__ == "__main__":
    sys.exit(main())
