#!/usr/bin/env python3
"""
Each promise of the kit can be broken, and its test notices.

  tests/kit/promises/planted.py BUILD [--hosts] [NAME...]

For each fault of planted.txt (or these): changes its lines in a copy of the file, compiles that as BUILD does, links the kit with
it, and runs the test that must fail, of promises.py or of a script of ../files. Without a fault that test passes. A test with the
name of a kernel of tests/kit/race, as in kernel:by_mutex, is for libthrum-test-race: run.py must find the kernel's bug, and
nothing without it. With --hosts, the files of the folder hosts are used: planted.txt, hosts.py and hosts.c.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.abspath(sys.argv[1])
NAMES = [name for name in sys.argv[2:] if name != "--hosts"]
PART = "hosts" if "--hosts" in sys.argv else "promises"
HERE = os.path.join(ROOT, "tests", "kit", PART)


WATCHED = ["-fsanitize=thread", "-fno-optimize-sibling-calls", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"]


def is_kernel(test):
    return test.startswith("kernel:")


def faults():
    """(name, file, test, lines, lines in their place) of each fault."""
    parts = re.split(r"^\[(\w+)\] (\S+) ([\w:]+)\n", open(os.path.join(HERE, "planted.txt")).read(), flags=re.M)[1:]
    for name, file, test, body in zip(*[iter(parts)] * 4):
        old, new = ("\n".join(line[1:] for line in body.splitlines() if line[:1] == sign) for sign in "-+")
        yield name, file, test, old, new


SUITES = [os.path.join(HERE, PART), os.path.join(HERE, "..", "files", "files"), os.path.join(HERE, "..", "files", "plans")]


def suite_of(test):
    """The script that has the test, and the program for it, without their ends."""
    return next((suite for suite in SUITES if "def %s(" % test in open(suite + ".py").read()), SUITES[0])


def commands(races):
    """The compiler's command for each object of the kit, by source."""
    entries = json.load(open(os.path.join(BUILD, "compile_commands.json")))
    part = "/thrum_race.dir/" if races else "/thrum_kit.dir/"
    kit = {os.path.basename(e["file"]): shlex.split(e["command"]) for e in entries if part in e["command"]}
    if not kit:
        sys.exit("planted.py: no commands of the kit in %s" % BUILD)
    return kit


def output_of(command):
    return os.path.join(BUILD, command[command.index("-o") + 1])


def link_race(work, kit, program, objects):
    compiler = kit["kit.c"][0]
    mine = [os.path.join(work, "kernels_%d.o" % i) for i in range(4)]
    for source, to in zip(["main.c", "race/race.c", "race/orders.c", "race/messages.c"], mine):
        if not os.path.exists(to):
            subprocess.run([compiler, "-O1", *WATCHED, "-c", os.path.join(ROOT, "tests", "kit", source), "-I",
                            os.path.join(ROOT, "include"), "-I", os.path.join(ROOT, "tests", "kit"), "-o", to], check=True)
    wraps = re.search(r"-Wl,\S+", open(os.path.join(BUILD, "thrum-test-race.pc")).read()).group(0)
    subprocess.run([compiler, *mine, os.path.join(BUILD, "kit-race/inner.o"), *objects,
                    wraps, "-o", program], check=True)


def link(work, kit, program, suite, replaced=None, by=None):
    compiler = kit["kit.c"][0]
    objects = [by if source == replaced else output_of(command) for source, command in kit.items()]
    if "race.c" in kit:
        link_race(work, kit, program, objects)
        return
    tests = os.path.join(work, os.path.basename(suite) + ".o")
    if not os.path.exists(tests):
        subprocess.run([compiler, "-O1", "-g", "-c", suite + ".c", "-I", os.path.join(ROOT, "include"), "-o", tests], check=True)
    subprocess.run([compiler, tests, os.path.join(BUILD, "kit/inner.o"), *objects, "-o", program], check=True)


def outcome(program, test, suite):
    """Whether the test passes, and what it prints."""
    command = [suite + ".py", program, "--only", test]
    if is_kernel(test):
        command = [os.path.join(ROOT, "tests/kit/run.py"), program, os.path.join(BUILD, "tests/kit_race_real"), "300", "--only",
                   test.partition(":")[2]]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.returncode == 0, done.stdout


def plant(work, kit, file, old, new):
    paths = [os.path.join(ROOT, folder, file) for folder in ("testkit", "testkit/race", "testkit/faults", "testkit/memory")]
    path = next(path for path in paths if os.path.exists(path))
    text = open(path).read()
    if text.count(old) != 1:
        return None
    copy = os.path.join(work, os.path.basename(file))
    with open(copy, "w") as out:
        out.write(text.replace(old, new))
    command = list(kit[os.path.basename(file)])
    command[command.index("-o") + 1] = copy + ".o"
    command[command.index("-c") + 1] = copy
    subprocess.run([*command, "-w", "-Wno-error", "-I", os.path.dirname(path)], cwd=BUILD, check=True)
    return copy + ".o"


def bad_of(listed, kit):
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, PART)
        for test, suite in sorted({(fault[2], suite_of(fault[2])) for fault in listed}):
            link(work, kit, program, suite)
            well, text = outcome(program, test, suite)
            if not well:
                print("%s fails without a fault:\n%s" % (test, text))
                bad += 1
        for name, file, test, old, new in listed:
            planted = plant(work, kit, file, old, new)
            if not planted:
                print("%s: its lines are not once in %s" % (name, file))
                bad += 1
                continue
            link(work, kit, program, suite_of(test), os.path.basename(file), planted)
            well, text = outcome(program, test, suite_of(test))
            failed = "1 kernels" if is_kernel(test) else "FAILED " + test
            if well:
                print("%s: %s does not notice" % (name, test))
                bad += 1
            elif failed not in text:
                print("%s: %s does not fail, but:\n%s" % (name, test, text))
                bad += 1
    return bad


def main():
    wanted = set(NAMES)
    listed = [fault for fault in faults() if not wanted or fault[0] in wanted]
    bad = 0
    for races in (False, True):
        some = [fault for fault in listed if is_kernel(fault[2]) == races]
        bad += bad_of(some, commands(races)) if some else 0
    print("%d faults, %d not found" % (len(listed), bad))
    return bad != 0 or not listed


if __name__ == "__main__":
    sys.exit(main())
