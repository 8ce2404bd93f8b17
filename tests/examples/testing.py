#!/usr/bin/env python3
"""
The sessions of docs/guide/testing.md: each is what a program of examples/testing prints.

  tests/examples/testing.py FOLDER [--write]

FOLDER/bugs has the programs, FOLDER/fixed those without the planted bugs, FOLDER/real one that is linked with the real
library, and the folder above may have kv-replicated-test. A block behind `<!-- session: NAME -->` must be what happens now, but for addresses, the number of distinct schedules,
their speed and their digest. --write puts what happens now into the page.
"""
import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "guide", "testing.md")

# The name of the session, its folder, the command, and its status.
SESSIONS = [
    ("first", "bugs", "./first", 0),
    ("help", "bugs", "./first --help", 0),
    ("cache", "bugs", "./cache", 1),
    ("cache fixed", "fixed", "./cache", 0),
    ("pool", "bugs", "./pool", 1),
    ("pool again", "bugs", "./pool --replay %s | head -n 2", 0),
    ("pool fixed", "fixed", "./pool --runs 10000", 0),
    ("pool complete", "fixed", "./pool --strategy exhaustive --preemptions 1 --runs 100000", 0),
    ("pool real", "real", "./pool-real", 0),
    ("retry", "bugs", "./retry", 1),
    ("retry fixed", "fixed", "./retry", 0),
    ("settings", "bugs", "./settings", 1),
    ("settings fixed", "fixed", "./settings", 0),
    ("register", "bugs", "./register | head -n 2", 0),
    ("register calls", "bugs", "./register | tail -n 27", 0),
    ("register fixed", "fixed", "./register", 0),
    ("save", "bugs", "./save", 1),
    ("save fixed", "fixed", "./save", 0),
    ("replicated", "..", "./kv-replicated-test --planted unsynced-vote | head -n 5", 0),
]


def happens(folder, command, status):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THRUM_")}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == status, "%s: status %d\n%s" % (command, done.returncode, done.stdout)
    return ["$ " + command, *done.stdout.splitlines()]


def shape(lines):
    """What must be the same each time."""
    text = re.sub(r"0x[0-9a-f]+", "0x…", "\n".join(lines))
    return re.sub(r"\d+ of them distinct, \d+ a second \(seed (\d+), digest \w+\)", r"seed \1", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("folder")
    parser.add_argument("--write", action="store_true", help="put the sessions into the page")
    asked = parser.parse_args()
    right = True
    schedule = ""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for name, folder, command, status in SESSIONS:
        if folder == ".." and not os.path.exists(os.path.join(asked.folder, folder, command.split()[0])):
            continue  # its libraries are missing
        lines = happens(os.path.join(asked.folder, folder), command.replace("%s", schedule), status)
        schedule = re.sub(r".*--replay ", "", lines[-1])
        found = re.search(rf"<!-- session: {name} -->\n\n((?:    .*\n|\n(?=    ))*)", page)
        if not found:
            print(f"{name}: the page does not have this session:", *lines, sep="\n  ")
            right = False
        elif asked.write:
            block = "".join(f"    {line}".rstrip() + "\n" for line in lines)
            page = page[:found.start(1)] + block + page[found.end(1):]
        elif shape(line[4:] for line in found.group(1).splitlines()) != shape(line.rstrip() for line in lines):
            print(f"{name}: the page does not say what happens:", *lines, sep="\n  ")
            right = False
    if asked.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    return not right


if __name__ == "__main__":
    sys.exit(main())
