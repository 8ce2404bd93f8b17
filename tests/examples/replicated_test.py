#!/usr/bin/env python3
"""
The test of examples/kv/replicated finds each planted bug, and nothing else.

  tests/examples/replicated_test.py PROGRAM [RUNS]

PROGRAM is kv-replicated-test, RUNS the number of schedules without a bug.
"""
import re
import subprocess
import sys

PLANTED = ["early-answer", "local-read", "unsynced-vote", "uncut-log"]


def run(*options):
    done = subprocess.run([sys.argv[1], *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={"PATH": "/usr/bin:/bin"})
    return done.returncode, done.stdout


def main():
    wrong = 0
    for name in PLANTED:
        status, text = run("--planted", name, "--runs", "1000")
        found = re.search(r"FAILED in schedule (\d+)", text)
        print("%s: %s" % (name, "schedule " + found.group(1) if found else text), flush=True)
        if status != 1 or not found or "  check: test.c:" not in text:
            print(text)
            wrong += 1
    status, text = run("--runs", sys.argv[2] if len(sys.argv) > 2 else "2000")
    print(text)
    return wrong + (status != 0)


if __name__ == "__main__":
    sys.exit(main())
