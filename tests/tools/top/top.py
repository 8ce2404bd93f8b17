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
import time

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "thrum-top")


def top(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def has_no_controls(text):
    return all(c.isprintable() or c == "\n" for c in text)


def once(pid):
    done = top("--once", "--json", "--interval", "2", pid)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.decode())  # valid UTF-8, and JSON
    (sched,) = shown["schedulers"]
    assert shown["pid"] == pid and sched["sched"] == 'b?[2J?"y', sched
    assert sched["per_second"]["tasks"] > 0 and sched["now"]["alive"] >= 8, sched
    assert len(sched["workers"]) == 2 and len(shown["dump"][0]["fiber"]) >= 7
    assert shown["metrics"][0]["all"]["tasks_alive"] >= 8
    assert len(sched["longest_waits"]) == 8 and sched["longest_waits"][0]["on"] == "semaphore", sched
    assert sched["longest_waits"][0]["waits_ns"] > sched["longest_waits"][-1].get("waits_ns", 0), sched
    assert sched["times"]["longest_run_ns"] >= sched["times"]["running_ns"] >= 0
    assert (sched["stall_ms"], sched["latest_stalls"]) == (0, [])
    spent = sched["spent"]
    whole = spent["idle"] + spent["own"] + spent["others"] + sum(f["share"] for f in spent["functions"])
    assert "computes" in [f["function"] for f in spent["functions"]], spent
    assert spent["samples"] > 0 and abs(whole - 1) < 1e-6, spent
    done = top("--once", "--interval", "0.2", pid)
    text = done.stdout.decode()
    assert has_no_controls(text) and re.search(r"^ +7 +\d+  semaphore  .*waits_for_ever", text, re.M), text
    assert re.search(r"^ +worker +tasks/s", text, re.M), text
    assert re.search(r"^ +where time goes: \d+ % asleep", text, re.M), text
    assert re.search(r"^  the longest waits\n +> *[\d.]+ m?s  w\?\]0;x\?\?: semaphore$", text, re.M), text
    assert b"house_busy" in top("nobody").stderr  # what there is instead
    for bad in (["nobody"], ["/nowhere/1"], [pid], ["--json", pid], ["--interval", "0", pid]):
        done = top(*bad)
        assert done.returncode != 0 and done.stderr and b"Traceback" not in done.stderr, (bad, done.stderr)


class Terminal:
    """thrum-top in a tmux of its own."""

    def __init__(self, folder, pid):
        self.socket = os.path.join(folder, "tmux")
        self.run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "50", TOOL, "--interval", "0.2", pid)

    def run(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, timeout=60, check=False)

    def await_text(self, pattern, there=True):
        """Until the screen has it, or has it no more; the limit is the test's failure."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            text = self.run("capture-pane", "-p").stdout.decode()
            if bool(re.search(pattern, text)) == there:
                return text
        raise AssertionError(f"{pattern} in: {text}")


def terminal(pid):
    if not shutil.which("tmux"):
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="thrum-top-") as folder:
        t = Terminal(folder, pid)
        try:
            t.await_text(r'scheduler "b\?\[2J\?"y" +[1-9]\S* tasks/s')
            t.await_text(r"\n  where time goes: .*\n +[\d.]+ %  computes")
            t.await_text(r"\n  the longest waits\n +> *[\d.]+ m?s  w\?\]0;x\?\?: semaphore")
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
            end = time.monotonic() + 60
            while t.run("has-session").returncode == 0:
                assert time.monotonic() < end, "q does not end it"
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
        assert program.wait(60) == 0
        assert not os.listdir(os.path.join(folder, "thrum"))


main()
