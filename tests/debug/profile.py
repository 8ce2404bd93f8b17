#!/usr/bin/env python3
"""
What thrum-profile makes of perf's samples: tests/debug/profile.py PROGRAM

First of a text that was cut out of a real `perf script`, with a trace made by hand; then, where perf may sample here, of
PROGRAM (profiled.c) itself.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "user", "thrum-profile")

BELOW = """\
	           1b34e run_spawned+0x19e (inlined)
	           1b34e th_run+0x19e (/tmp/profiled)
	           22930 th_loop+0xb0 (/tmp/profiled)
	           324b9 th_context_entry+0x9 (/tmp/profiled)

"""
WORK = "\t            55df work+0x1f (/tmp/profiled)\n\t            5613 crunch+0x13 (/tmp/profiled)\n"
SCRIPT = (
    "thrum/1  4857  3652.000100:    2004008 cpu-clock: \n" + WORK + BELOW +
    "thrum/0  4856 [000]  3652.000200:    2004008 cpu-clock:ppp: \n" + WORK + BELOW +
    "thrum/1  4857  3652.000300:    2004008 cpu-clock: \n" + WORK + BELOW +
    "a name of two 4857/4859  3652.000400:    2004008 cpu-clock: \n\t  1 main+0x1 (/tmp/profiled)\n\n" +
    "thrum/0  4856  3652.000500:    2004008 cpu-clock: \n\t  1 th_park+0x1 (/tmp/profiled)\n"
    "\t  2 th_loop+0xb0 (/tmp/profiled)\n\n"
    "thrum/0  4856  3652.000600:    2004008 cpu-clock: \n\t  7f [unknown] (/usr/lib/libx.so)\n" + BELOW)


def slice_of(tid, ts, dur, name, function, number):
    return {"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "cat": "run", "name": name,
            "args": {"id": number, "function": function, "ended": "waits"}}


TRACE = {"traceEvents": [
    slice_of(1, 150.0, 100.0, "short", "crunch", "1.1"),
    slice_of(2, 50.0, 100.0, "long \"one\"", "crunch+0x0", "2.1"),
    slice_of(2, 250.0, 100.0, "long \"one\"", "crunch+0x0", "2.1"),
    slice_of(1, 0.0, 10.0, "doze", "doze", "3.1"),
    slice_of(1, 500010.0, 10.0, "doze", "doze", "3.1"),
], "otherData": {"sched": "thrum", "start_ns": 3652 * 10**9, "length_us": 600000.0, "dropped": 0, "untraced": 0}}


def run(*arguments, text=None, status=0):
    done = subprocess.run([TOOL, *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def of_the_text(folder):
    plain = [line.split() for line in run(text=SCRIPT).split("\n")]
    assert ["crunch", "3", "50.0", "%", "6.0"] in plain, plain
    assert ["(the", "scheduler)", "1", "16.7", "%", "2.0"] in plain, plain
    assert ["(other", "threads)", "1", "16.7", "%", "2.0"] in plain, plain
    assert ["[libx.so]", "1", "16.7", "%", "2.0"] in plain, plain
    path = os.path.join(folder, "hand.json")
    with open(path, "w") as file:
        json.dump(TRACE, file)
    told = run("--trace", path, text=SCRIPT)
    lines = [line.split() for line in told.split("\n")]
    assert ["crunch", "long", '"one"', "2", "33.3", "%", "4.0", "1", "0.1"] in lines, told
    assert ["crunch", "short", "1", "16.7", "%", "2.0", "1", "0.0"] in lines, told
    assert ["doze", "0", "0.0", "%", "0.0", "1", "500.0"] in lines, told


def of_what_is_wrong(folder):
    assert run(text="", status=1).startswith("thrum-profile: no samples")
    assert run(text="nothing of perf's\n", status=1).startswith("thrum-profile: no samples")
    path = os.path.join(folder, "cut.json")
    with open(path, "w") as file:
        file.write('{"traceEvents": [')
    assert run("--trace", path, text=SCRIPT, status=1).count("\n") == 1
    assert run("--trace", path + ".not", text=SCRIPT, status=1).count("\n") == 1


def waited_in(trace, function):
    """Milliseconds between the runs of the one task of a function."""
    with open(trace) as file:
        slices = sorted((e["ts"], e["ts"] + e["dur"]) for e in json.load(file)["traceEvents"]
                        if e["ph"] == "X" and e.get("cat") == "run" and e["args"].get("function", "").split("+")[0] == function)
    assert 1 <= len(slices) <= 21, slices  # it sleeps twenty times; a deadline that has passed already suspends nobody
    return sum(after[0] - before[1] for before, after in zip(slices, slices[1:])) / 1000


def of_the_program(folder, program):
    data, trace = os.path.join(folder, "perf.data"), os.path.join(folder, "trace.json")
    record = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,4096", "-o", data]
    allowed = shutil.which("perf") and subprocess.run(record + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                      check=False).returncode == 0
    if not allowed:
        print("perf may not sample here: only the text was looked at")
        return
    script = b""
    while b" crunch+" not in script:  # perf loses samples while it is held up itself
        subprocess.run(record + [program, trace], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # In microseconds, a sample at the begin of a slice would be before it.
        script = subprocess.run(["perf", "script", "--ns", "-i", data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    told = run("--trace", trace, text=script.decode("utf-8", "replace"))
    lines = [line.split() for line in told.split("\n") if line]
    crunches = {line[1]: int(line[2]) for line in lines if line[0] == "crunch"}
    assert crunches.keys() == {"long", "short"} and sum(crunches.values()) > 0, told
    doze = [line for line in lines if line[0] == "doze"]
    assert len(doze) == 1 and abs(float(doze[0][-1]) - waited_in(trace, "doze")) < 0.1, told


with tempfile.TemporaryDirectory(prefix="thrum-profile-") as work:
    of_the_text(work)
    of_what_is_wrong(work)
    of_the_program(work, sys.argv[1])
