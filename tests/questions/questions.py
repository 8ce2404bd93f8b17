#!/usr/bin/env python3
"""
The answers of docs/guide/debugging.md: each is what a program of this folder prints, run as the page says.

  tests/questions/questions.py LIBRARY [--write] [NAME...]

A block behind `<!-- answer: NAME -->` must say what the program says now, but for numbers, addresses, the order of
lines, how long waits have lasted at least, and what is told of each worker. --write puts what the program says now into the page. LIBRARY is libthrum.a.
"""
import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PAGE = os.path.join(ROOT, "docs", "guide", "debugging.md")


class Missing(Exception):
    """A tool that an answer needs is not there."""


class Program:
    """A program of this folder that runs; its lines of stdout and stderr, as they come."""

    def __init__(self, work, name, *arguments, **environment):
        self.process = subprocess.Popen([os.path.join(work, name), *arguments], cwd=work, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**clean(), **environment})

    def dump(self, settled, last):
        """What it prints at SIGQUIT, once it does what it is about to do."""
        lines = []
        reader = threading.Thread(target=self.collect, args=(lines,), daemon=True)
        reader.start()
        while reader.is_alive():
            self.process.send_signal(signal.SIGQUIT)
            reader.join(0.1)  # how long one takes is not known, and more of them do no harm
            text = "\n".join(lines)
            for one in re.findall(r"(?m)^thrum: scheduler.*(?:\n  .*)*", text):
                if all(re.search(words, one) for words in (settled, last, "worker 0 sleeps", "worker 1 sleeps")):
                    return one.split("\n")
        return lines

    def collect(self, lines):
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))

    def end(self):
        self.process.kill()
        self.process.wait()


def dumped(work, name, settled, last):
    program = Program(work, name, THRUM_DUMP="QUIT")
    # Before the start its signal would end it: the scheduler's threads are there when it is caught.
    while sum(1 for _ in os.scandir(f"/proc/{program.process.pid}/task")) < 4:
        pass
    try:
        return [f"$ THRUM_DUMP=QUIT ./{name} &", "$ kill -QUIT $!", *program.dump(settled, last)]
    finally:
        program.end()


def clean():
    """The environment, without the user's own settings."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("THRUM_")}
    return {**given, "LC_ALL": "C", "SHELL": "/bin/sh", "DEBUGINFOD_URLS": "", "THRUM_WORKERS": "2"}


def printed(work, *commands):
    """What commands of a shell print, which end by themselves."""
    lines = []
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=work, env=clean(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines += [f"$ {command}", *done.stdout.splitlines()]
    return lines


def hangs(work):
    return dumped(work, "hangs", r"2 waiting, 0 ready, 0 running", r"external thread waits")


def deadlock(work):
    # The shell says that it was aborted.
    return [line for line in printed(work, "THRUM_DEADLOCK=abort ./deadlock") if "bort" not in line or "$" in line]


def slower(work):
    keep = "awk '/^(took_ms|tasks_started|stolen|parks|futex_wakes) / {print $1, $NF}'"
    return printed(work, *(f"THRUM_WORKERS=4 ./slower {tasks} | {keep}" for tasks in (200000, 200)))


def grows(work):
    lines = []
    # The last ones may be about to wait when the dump is made.
    while not any(line.startswith("  3000 fibers wait") for line in lines):
        lines = printed(work, "./grows >grows.txt; awk '/^(requests|tasks_alive|stacks|stack_bytes) / {print $1, $NF}' grows.txt",
                        "grep -E 'fibers wait|[(]asks' grows.txt")
    return lines


def seldom(work):
    lines = []
    # On a busy machine the one that looks may be late itself, and find it already over, or not begun to sort.
    while not re.search(r"request 500.*\n.*[(]sort_slowly", "\n".join(lines)):
        lines = printed(work, "THRUM_STALL_MS=50 ./seldom")
    # Others may be late as well.
    first = next(i for i, line in enumerate(lines) if "request 500" in line)
    after = [i for i in range(first + 1, len(lines)) if lines[i].startswith("thrum: ")]
    return lines[:1] + lines[first:after[0] if after else len(lines)]


def silent(work):
    return dumped(work, "silent", r"4 waiting, 0 ready, 0 running", r"external thread waits")


def time(work):
    os.environ["PATH"] = os.path.join(ROOT, "tools", "user") + ":" + os.environ["PATH"]
    return printed(work, "./time", "thrum-timeline --functions trace.json")


def stays(work):
    return dumped(work, "stays", r"1 waiting, 0 ready, 0 running", r"waits for the scheduler")


def pool(work):
    return printed(work, "THRUM_BLOCKING_THREADS_MAX=2 ./pool | awk '/^blocking_/ {print $1, $NF}'")


def crashes(work):
    lines = printed(work, "./crashes")
    gdb = shutil.which("gdb")
    if not gdb:
        raise Missing("gdb")
    command = "gdb -batch -iex 'add-auto-load-safe-path .' -ex run -ex 'bt 2' -ex 'thrum fibers' ./crashes"
    # Somebody who stops and continues processes would be told as a stop of the program's.
    held = ["-iex", "handle SIGSTOP SIGCONT nostop noprint nopass"]
    arguments = [gdb, "-nx", *held, *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=work, env=clean(), capture_output=True, text=True)
    keep = r"^#|fiber \d|^\(More|received signal"
    return lines + [f"$ {command}"] + [line for line in done.stdout.splitlines() if re.search(keep, line)]


ANSWERS = [hangs, deadlock, slower, grows, seldom, silent, time, stays, pool, crashes]

PER_WORKER = re.compile(r"^ *(worker \d|an external thread|nothing waits behind it|behind it wait|\d+ queued in all)")


def shape(lines):
    """What must be the same each time."""
    shapes = []
    for line in lines:
        if not PER_WORKER.match(line):
            line = re.sub(r"0x[0-9a-f]+", "0x", line)
            line = re.sub(r"\d+(\.\d+)?", "N", line)
            line = re.sub(r"N (s|ms|us|ns|min)\b", "N", line).replace(", computing", "")
            line = line.replace(", for at least N", "")  # told where somebody has looked at the worker before
            shapes.append(" ".join(line.split()))
    return sorted(shapes)


def block_of(page, name):
    """Where the answer stands in the page."""
    found = re.search(rf"<!-- answer: {name} -->\n\n((?:    .*\n|\n(?=    ))*)", page)
    if not found:
        sys.exit(f"questions: the page has no answer: {name}")
    return found.start(1), found.end(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("library")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="put the answers into the page")
    asked = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    status = 0
    library = os.path.abspath(asked.library)
    with tempfile.TemporaryDirectory() as work:
        for answer in ANSWERS:
            name = answer.__name__
            if asked.names and name not in asked.names:
                continue
            subprocess.run([os.environ.get("CC", "cc"), "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-Wall", "-Wextra", "-Werror",
                            "-I", os.path.join(ROOT, "include"), name + ".c", library,
                            "-lpthread", "-o", os.path.join(work, name)], cwd=HERE, check=True)
            try:
                lines = answer(work)
            except Missing as what:
                print(f"{name}: left out, since there is no {what}")
                continue
            begin, end = block_of(page, name)
            told = [line[4:] for line in page[begin:end].splitlines()]
            if asked.write:
                page = page[:begin] + "".join(f"    {line}".rstrip() + "\n" for line in lines) + "\n" + page[end:].lstrip("\n")
            elif shape(told) != shape(lines):
                print(f"{name}: the page does not say what the program says:", *lines, sep="\n  ")
                status = 1
            else:
                print(f"{name}: ok")
    if asked.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    return status


if __name__ == "__main__":
    sys.exit(main())
