#!/usr/bin/env python3
"""
What thrum-top prints and shows: tests/tools/top/top.py once|terminal PROGRAM, of busy.c. 77: there is no tmux.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "user", "thrum-top")


def top(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, check=False, stdin=subprocess.DEVNULL)


def has_no_controls(text):
    return all(c.isprintable() or c == "\n" for c in text)


def await_output(is_wanted, *arguments):
    """Prints the program once again until the output is wanted; the test's own limit is the limit."""
    while True:
        done = top("--once", *arguments)
        if done.returncode != 0:  # a program that was held up does not answer
            assert b"no answer" in done.stderr, done.stderr
        elif is_wanted(done.stdout.decode()):  # valid UTF-8
            return done.stdout.decode()


def is_busy(output):
    """Whether the tasks of the program were all met where they wait, and those that run were met as well."""
    shown = json.loads(output)
    (sched,) = shown["schedulers"]
    return (sched["per_second"]["tasks"] > 0 and sched["now"]["alive"] >= 8 and
            len(shown["dump"][0]["fiber"]) >= 7 and shown["metrics"][0]["all"]["tasks_alive"] >= 8 and
            [wait["on"] for wait in sched["longest_waits"]] == ["semaphore"] * 7 + ["sleep"] and
            "computes" in [f["function"] for f in sched["spent"]["functions"]])


PATTERNS = (r"^ +7 +\d+  semaphore  .*waits_for_ever", r"^ +worker +tasks/s", r"^ +where time goes: \d+ % asleep",
            r"^  the longest waits\n +> *(\d+ min )?[\d.]+ m?s  w\?\]0;x\?\? \(waits_for_ever\): semaphore$")


def is_told(text):
    assert has_no_controls(text), text
    return all(re.search(pattern, text, re.M) for pattern in PATTERNS)


def once(pid):
    shown = json.loads(await_output(is_busy, "--json", "--interval", "1", pid))
    (sched,) = shown["schedulers"]
    assert shown["pid"] == pid and sched["sched"] == 'b?[2J?"y', sched
    assert len(sched["workers"]) == 2, sched
    waits = sched["longest_waits"]  # the sleep, of a millisecond, began when all the others waited
    assert waits[0]["waits_ns"] > waits[-1].get("waits_ns", 0), sched
    assert sched["times"]["longest_run_ns"] >= sched["times"]["running_ns"] >= 0
    assert (sched["stall_ms"], sched["latest_stalls"]) == (0, [])
    spent = sched["spent"]
    whole = spent["idle"] + spent["own"] + spent["others"] + sum(f["share"] for f in spent["functions"])
    assert spent["samples"] > 0 and abs(whole - 1) < 1e-6, spent
    await_output(is_told, "--interval", "0.2", pid)
    while b"house_busy" not in top("nobody").stderr:  # the ones that there are instead
        pass
    for bad in (["nobody"], ["/nowhere/1"], [pid], ["--json", pid], ["--interval", "0", pid]):
        done = top(*bad)
        assert done.returncode != 0 and done.stderr and b"Traceback" not in done.stderr, (bad, done.stderr)


class Terminal:
    """thrum-top in a tmux of its own."""

    def __init__(self, folder, pid):
        self.socket = os.path.join(folder, "tmux")
        path = os.path.join(os.environ["XDG_RUNTIME_DIR"], "thrum", pid)
        self.run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "50", TOOL, "--interval", "0.2", path)

    def run(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, check=False)

    def await_text(self, pattern, there=True):
        """Until the screen has it, or no longer has it; the test's own limit is the limit."""
        text = ""
        while True:
            captured = self.run("capture-pane", "-p")
            assert captured.returncode == 0, f"it has ended; the last that it showed: {text}"
            text = captured.stdout.decode()
            if bool(re.search(pattern, text)) == there:
                return


def terminal(pid):
    if not shutil.which("tmux"):
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="thrum-top-") as folder:
        t = Terminal(folder, pid)
        try:
            t.await_text(r'scheduler "b\?\[2J\?"y" +[1-9]\S* tasks/s')
            t.await_text(r"\n  where time goes: .*\n( +[\d.]+ %  .*\n)* +[\d.]+ %  computes")
            t.await_text(r"\n  the longest waits\n +> *(\d+ min )?[\d.]+ m?s  w\?\]0;x\?\? \(waits_for_ever\): semaphore")
            t.run("send-keys", "w")
            t.await_text(r"\n +7 +\d+  semaphore .*waits_for_ever")
            t.run("send-keys", "w")
            t.await_text("what they wait for, and in what", there=False)
            t.run("send-keys", "h")
            t.await_text("q quit")
            t.run("send-keys", "p")
            t.await_text("paused")
            t.run("resize-window", "-x", "30", "-y", "5")
            t.await_text("worker|scheduler")
            t.run("send-keys", "q")
            while t.run("has-session").returncode == 0:
                pass
        finally:
            t.run("kill-server")


def main():
    os.environ.setdefault("TERM", "screen")
    with tempfile.TemporaryDirectory(prefix="thrum-run-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        program = subprocess.Popen([sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, "THRUM_WORKERS": "2", "THRUM_WORKERS_SPARE": "0"})
        assert program.stdout.readline() == b"begun\n"
        {"once": once, "terminal": terminal}[sys.argv[1]](str(program.pid))
        program.stdin.close()
        assert program.wait() == 0
        assert not os.listdir(os.path.join(folder, "thrum"))


main()
