#!/usr/bin/env python3
"""
The kit keeps its promises.

  tests/kit/promises/promises.py PROGRAM [OTHER] [--only NAME]

PROGRAM and OTHER are promises.c, compiled in two ways. Each function test_... is a test of its own; the output names those that
fail. planted.py shows that each of them can.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

arguments = sys.argv[1:]
only = None
if "--only" in arguments:
    at = arguments.index("--only")
    only = arguments[at + 1]
    del arguments[at:at + 2]
PROGRAM = os.path.abspath(arguments[0])
OTHER = os.path.abspath(arguments[-1])
LIMIT = 300  # seconds: a run that sleeps in earnest, or never ends


def run(name, *options, before=(), program=PROGRAM, **environment):
    """The exit status and the output of a test."""
    try:
        done = subprocess.run([*before, program, name, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={"PATH": os.environ["PATH"], **environment}, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, "it does not end"
    return done.returncode, done.stdout


def demand(condition, *what):
    if not condition:
        raise AssertionError("\n".join(str(w) for w in what))


def passes(name, *options, **more):
    status, text = run(name, *options, **more)
    demand(status == 0 and "schedules passed" in text, name, options, "exit status %s" % status, text)
    return text


def fails(name, fault, *options, **more):
    status, text = run(name, *options, **more)
    demand(status == 1 and re.search("^  %s: " % fault, text, re.M), name, options, "exit status %s, not %s" % (status, fault), text)
    return text


def digest(name, *options, **more):
    return re.search(r"digest (\w+)", passes(name, *options, **more)).group(1)


# ---- time ----

def test_sleep_is_virtual():
    # A thousand days: with a single real hour among them, the run would not end within its limit.
    passes("sleeps_a_day")


def test_each_run_begins_at_one_instant():
    passes("begins_at_one_instant")


def test_time_stands_still_while_a_task_can_go_on():
    for workers in "1", "2", "8":
        passes("time_stands_still", "--workers", workers)


# ---- schedules ----

def test_each_strategy_switches():
    for strategy in "random", "pct", "bounded":
        for policy in "any", "sharded":
            for name in "two_tasks", "two_threads":
                text = passes(name, "--strategy", strategy, "--policy", policy)
                first, second = re.search(r"orders (\d+) (\d+)", text).groups()
                demand(int(first) and int(second), name, strategy, policy, text)


def test_the_default_finds_an_order():
    for seed in range(1, 11):
        fails("bad_order", "check", "--seed", str(seed))
        fails("bad_locks", "deadlock", "--seed", str(seed))


def test_one_seed_gives_one_digest():
    for name in "two_tasks", "random_numbers", "two_threads", "time_stands_still":
        for granularity in "calls", "atomics":
            options = "--granularity", granularity, "--runs", "300"
            wanted = digest(name, *options)
            demand(digest(name, *options) == wanted, name, "another digest")
            demand(digest(name, *options, "--seed", "2") != wanted, name, "another seed has the same digest")
            # Elsewhere on the stack, and among other variables.
            other = digest(name, *options, *["--seed", "1"] * 500, LANG="C.UTF-8", MORE="x" * 50000)
            demand(other == wanted, name, "another digest in another environment")


def test_addresses_do_not_count():
    fixed = ["setarch", "-R"]
    if not shutil.which("setarch") or subprocess.run([*fixed, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("no setarch -R here: addresses are random in all runs")
        fixed = []
    for name in "two_tasks", "random_numbers", "sleeps_a_day":
        wanted = digest(name)
        for _ in range(3):
            demand(digest(name) == wanted, name, "another digest at other addresses")
        demand(digest(name, before=fixed) == wanted, name, "another digest at fixed addresses")


def test_the_compilers_options_do_not_count():
    for name in "two_tasks", "random_numbers", "sleeps_a_day", "static_data":
        demand(digest(name) == digest(name, program=OTHER), name, "another digest in the other build")


def test_a_replay_repeats_the_failure():
    for name, fault in ("bad_order", "check"), ("bad_locks", "deadlock"):
        for granularity in "calls", "atomics":
            text = fails(name, fault, "--granularity", granularity)
            own, *options = re.search(r"^  To repeat it: \S+ (.*)$", text, re.M).group(1).split()
            demand(own == name, "the program's own argument is missing", text)
            again = fails(name, fault, *options)
            for line in re.findall(r"^  \w+: .*", text, re.M):
                demand(line in again, "not repeated: " + line, again)


def test_a_replay_obeys_its_decisions():
    text = fails("bad_order", "check")
    schedule = re.search(r"--replay (\S+)$", text, re.M).group(1)
    demand(":" in schedule, "no decision was needed", text)
    status, quiet = run("bad_order", "--replay", schedule.split(":")[0])
    demand(status == 0 and "the schedule passed" in quiet, status, quiet)


def test_a_search_states_its_completeness():
    text = passes("two_tasks", "--strategy", "exhaustive", "--workers", "1", "--preemptions", "1", "--runs", "1000000")
    demand(re.search(r"\d+ schedules passed; complete at calls, up to 1 preemption, for 1 worker, policy any", text), text)
    text = passes("two_tasks", "--strategy", "exhaustive", "--workers", "1", "--preemptions", "1", "--runs", "3")
    demand("3 schedules passed; NOT complete with 1 worker (--runs); nothing is complete" in text, text)
    fails("bad_order", "check", "--strategy", "exhaustive", "--workers", "1")


# ---- data, ends ----

def test_static_data_is_as_it_was():
    passes("static_data")
    passes("static_data", "--granularity", "atomics", "--runs", "100")


def test_runs_in_one_program_do_not_meet():
    status, text = run("several")
    demand(status == 0, status, text)
    digests = re.findall(r"digest (\w+)", text)
    demand(len(digests) == 2 and digests[0] == digests[1], text)


def test_the_c_library_keeps_its_memory():
    for name in "library_keeps", "beside_a_thread", "aligned":
        passes(name, "--runs", "100")


def test_any_name_of_the_program_will_do():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "it's $(touch made);x")
        shutil.copy(PROGRAM, program)
        text = fails("bad_order", "check", program=program)
        demand("promises.c:" in text and "it'\\''s" in text, text)
        demand(os.listdir(folder) == [os.path.basename(program)], os.listdir(folder))


def test_a_report_explains_missing_lines():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "bare")
        subprocess.run(["objcopy", "--strip-debug", PROGRAM, program], check=True)
        text = fails("bad_order", "check", program=program)
        demand("Compile with -g to see the lines" in text, text)
        text = fails("bad_order", "check", PATH=folder)
        demand("Install addr2line" in text, text)
    demand("Compile with" not in fails("bad_order", "check"), "lines are not missing")


def test_a_test_runs_no_tests():
    passes("runs_within", "--runs", "20")


def test_what_is_left_is_reported():
    fails("bad_task_left", "leak")
    fails("bad_object_left", "leak")


# ---- options ----

def test_the_exit_status_tells_how_it_went():
    demand(run("two_tasks")[0] == 0)
    fails("bad_result", "result")
    demand(run("two_tasks", "--nonsense")[0] == 2)


def test_wrong_options_are_refused():
    for options in (["--nonsense"], ["more"], ["--runs", "0"], ["--runs", "x"], ["--runs", "-1"], ["--runs", "1x"], ["--runs"], ["--steps", "0"],
                    ["--seed", ""], ["--strategy", "best"], ["--policy", "lifo"], ["--workers", "9"],
                    ["--workers", "4294967298"], ["--granularity", "lines"], ["--replay", "x"], ["--replay", "2a:1"],
                    ["--replay", "9a"], ["--replay", "2a:1=256"], ["--replay", "2a:1=1x"]):
        status, text = run("two_tasks", *options)
        demand(status == 2 and text, options, "exit status %s" % status, text)
    for name, value in ("RUNS", "x"), ("RUNS", ""), ("STRATEGY", "best"), ("WORKERS", "9"), ("GRANULARITY", "lines"):
        status, text = run("two_tasks", **{"THRUM_TEST_" + name: value})
        demand(status == 2 and "THRUM_TEST_" + name in text, name, "exit status %s" % status, text)


def test_options_come_from_the_environment():
    demand(passes("two_tasks", THRUM_TEST_RUNS="5").count(" 5 schedules passed"))
    demand(passes("two_tasks", "--runs", "6", THRUM_TEST_RUNS="5").count(" 6 schedules passed"), "the command line does not win")
    demand(digest("two_tasks", THRUM_TEST_SEED="3") == digest("two_tasks", "--seed", "3"))
    demand("complete at calls, up to 1 preemption, for 1 worker" in passes("two_tasks", THRUM_TEST_STRATEGY="exhaustive", THRUM_TEST_WORKERS="1",
                                           THRUM_TEST_PREEMPTIONS="1", THRUM_TEST_RUNS="1000000"))
    fails("bad_order", "steps", THRUM_TEST_STEPS="3")
    demand(run("several", THRUM_TEST_RUNS="7")[1].count(" 7 schedules passed") == 2, "thrum_test_run ignores the environment")
    text = fails("bad_order", "check")
    fails("bad_order", "check", THRUM_TEST_REPLAY=re.search(r"--replay (\S+)$", text, re.M).group(1))


def test_a_misspelt_option_is_named():
    for word, meant in ("--run", "--runs"), ("--sed=1", "--seed"), ("--strateg", "--strategy"), ("--step", "--steps"):
        status, text = run("two_tasks", word, "5")
        demand(status == 2 and "unknown option %s: did you mean %s?" % (word.split("=")[0], meant) in text, status, text)
    text = passes("two_tasks", THRUM_TEST_RUN="5", THRUM_TEST_PURPOSE="none")
    demand("THRUM_TEST_RUN in the environment is not an option of the test kit: did you mean THRUM_TEST_RUNS?\n" in text, text)
    demand("THRUM_TEST_PURPOSE in the environment is not an option of the test kit\n" in text, text)
    demand(run("several", THRUM_TEST_RUN="5")[1].count("did you mean") == 1, "more than once")


def test_help_lists_the_options():
    status, text = run("two_tasks", "--help")
    demand(status == 0, status, text)
    for option in "runs", "seed", "strategy", "workers", "policy", "preemptions", "granularity", "steps", "replay", "trace", "output":
        demand("--" + option in text, option, text)


def main(names):
    tests = {name: call for name, call in names.items() if name.startswith("test_") and only in (None, name)}
    failed = 0
    for name, test in tests.items():
        try:
            test()
        except AssertionError as error:
            print("FAILED %s: %s" % (name, error))
            failed += 1
    print("%d tests, %d failed" % (len(tests), failed))
    return failed != 0 or not tests


if __name__ == "__main__":
    sys.exit(main(globals()))
