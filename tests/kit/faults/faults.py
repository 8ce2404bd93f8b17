#!/usr/bin/env python3
"""
The test kit's reports of faults that it finds by itself, the loops that are no faults, and its counts of orders.

  tests/kit/faults/faults.py PROGRAM [PROGRAM_CPP]

PROGRAM is made of the sources beside this file. For each case: the options, the exit status, and texts of the report in their order.
"""
import os
import re
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
FOLDER = os.path.dirname(os.path.abspath(__file__))


def line_of(text, after="", file="faults.c"):
    """The line of the source that has the text, after the first line that has the other one."""
    with open(os.path.join(FOLDER, file)) as source:
        lines = source.read().splitlines()
    start = next(i for i, line in enumerate(lines) if after in line)
    return "%s:%d" % (file, next(i for i in range(start, len(lines)) if text in lines[i]) + 1)


PASSED = ["1000 schedules passed"]
BLOCK = "allocated in malloc at " + line_of("malloc(24)")
CASES = [
    # name, options, status, texts
    ("yield_loop", "", 0, PASSED),
    ("yield_loop", "--granularity atomics", 0, PASSED),
    ("yield_loop_over_time", "", 0, PASSED),
    ("yield_loop_over_time", "--granularity atomics", 0, PASSED),
    ("lock_loop", "", 0, PASSED),
    ("lock_loop", "--granularity atomics", 0, PASSED),
    ("try_loop", "", 0, PASSED),
    ("try_loop", "--granularity atomics", 0, PASSED),
    ("thread_joins", "", 0, PASSED),
    ("thread_joins", "--granularity atomics", 0, PASSED),
    ("thread_sleeps", "", 0, PASSED),
    ("thread_sleeps", "--granularity atomics", 0, PASSED),
    ("several_at_once", "", 0, PASSED),
    ("several_at_once", "--granularity atomics", 0, PASSED),
    ("thread_local_is_new", "", 0, PASSED),
    ("frees_early", "", 0, PASSED),
    ("for_ever", "", 1, ["schedule 1 of", "livelock: ", "these 2 lines", " times"]),
    ("double_free", "", 1, ["double-free: free: ", "the call of free at ", "freed at " + line_of("free(block)"), BLOCK]),
    ("foreign_free", "", 1, ["bad-free: free: not the address", line_of("free(block)", "block = (char *)&lock")]),
    ("inner_free", "", 1, ["bad-free: free: not the address", line_of("free(block)", "block += 8")]),
    ("write_after_free", "", 1, ["use-after-free: memory was written after it was freed",
                                 line_of("free(block)", "int write_after_free"), BLOCK]),
    ("freed_channel", "", 1, ["use-after-free: thrum_chan_send: ", "freed at ", "allocated in thrum_chan_create at ",
                              "thrum_chan_send (chan #1)"]),
    ("freed_channel_selected", "", 1, ["use-after-free: thrum_select: ", "freed at ", "allocated in thrum_chan_create"]),
    ("freed_mutex", "", 1, ["use-after-free: thrum_mutex_lock: ", "freed at ", "allocated in calloc at ",
                            "thrum_mutex_lock (mutex #1)"]),
    ("freed_while_held", "", 1, ["held: the freed memory contains a mutex in use", "mutex #1: its owner is task test, locked at "]),
    ("null_pointer", "", 1, ["crash: signal 11", "crashed at " + line_of("*p = 1"), "after the call of thrum_sleep at ",
                             "the address is 0: NULL"]),
    ("freed_pointer", "", 1, ["crash: signal 11", "crashed at " + line_of("**pointer = 1"), "freed memory"]),
    ("held_at_the_end", "", 1, ["held: a task ends with a mutex locked",
                                "lock: its owner is task keeps_lock, locked at " +
                                line_of("thrum_mutex_lock", "int keeps_lock")]),
    ("read_at_the_end", "", 1, ["held: a rwlock is still held", "rwlock: it has readers, locked at "]),
    ("thread_not_joined", "", 1, ["leak: a thread of thrum_test_thread_start was never joined", "started at "]),
    ("task_left", "", 1, ["leak: 1 task is left", "task sleeps_long waits at " + line_of("THRUM_S(1000)") + " for sleep"]),
    ("handle_left", "", 1, ["leak: 1 spawned task was neither joined nor detached", "Neither joined nor detached:",
                            "task sets, spawned at " + line_of("thrum_spawn", "int handle_left")]),
    ("exits", "", 1, ["exit: the test called exit(0)", "called at " + line_of("    exit(0)")]),
    ("exits_quickly", "", 1, ["exit: the test called quick_exit(0)", "called at " + line_of("    quick_exit(0)")]),
    ("exits_as_a_thread", "", 1, ["exit: the test called pthread_exit(0)", "called at " + line_of("    pthread_exit(NULL)")]),
    ("asserts", "", 1, ["check: " + line_of("assert(flag == 7)") + ": assert(flag == 7)"]),
    ("forgets_list", "", 1, ["leak: 3 blocks of the test, 96 bytes, were not freed", "Not freed:",
                             "1 block, 32 bytes, allocated by malloc at " + line_of("malloc(sizeof *n)", file="leaks.c"),
                             "and 2 blocks to which only these point"]),
    ("forgets_list", "--leaks no", 0, PASSED),
    ("forgets_cycle", "", 1, ["leak: 2 blocks of the test, 64 bytes, were not freed",
                              "1 block, 32 bytes, allocated by malloc at ", "and 1 block to which only these point"]),
    ("keeps_memory", "", 0, PASSED),
    ("writes_past_end", "", 1, ["overflow: free: memory behind the end of this block of 21 bytes was written",
                                "freed at " + line_of("free((char", file="leaks.c"),
                                "allocated in malloc at " + line_of("malloc(21)", file="leaks.c")]),
    ("writes_past_kept", "", 1, ["overflow: memory behind the end of a block of 32 bytes was written",
                                 "allocated in malloc at " + line_of("malloc(sizeof *n)", file="leaks.c")]),
    ("waits_for_duration", "", 1, ["mistake: the deadline 100000000 looks like a duration", "(fiber test, which runs root)",
                                   "in thrum_event_wait_until at " + line_of("wait_until", file="waits.c")]),
    ("waits_for_duration", "--mistakes no", 0, PASSED),
    ("sleeps_for_number", "", 0, ["1000 schedules passed"]),
    ("lock_waits", "--trace --runs 1 --workers 1 --policy fifo", 0,
     ["thrum_mutex_lock (lock): waits for the mutex\n", "thrum_mutex_unlock (lock)\n", "thrum_mutex_lock (lock): has the mutex\n",
      "thrum_rwlock_rdlock (rwlock): waits for the rwlock\n", "thrum_rwlock_rdlock (rwlock): has the rwlock\n"]),
    ("two_locks", "", 1, ["deadlock: ", "task one waits at %s for mutex first_lock+32, held by task two, which locked it at %s"
                          % (line_of("lock(&first_lock.b)", "int one"), line_of("lock(&first_lock.b)", "int two")),
                          "task two waits at %s for mutex first_lock, held by task one, which locked it at %s"
                          % (line_of("lock(&first_lock.a)", "int two"), line_of("lock(&first_lock.a)", "int one")), "--replay "]),
    ("two_threads", "", 1, ["deadlock: ", "thrum_mutex_lock (first_lock", " waits in thrum_mutex_lock (first_lock+32), at faults.c:",
                            " waits in thrum_mutex_lock (first_lock), at faults.c:"]),
    ("unlocks", "", 1, ["abort: thrum: thrum_mutex_unlock: not held by the caller (object lock, fiber test, which runs root)",
                        "in thrum_mutex_unlock at " + line_of("thrum_mutex_unlock", "int unlocks")]),
    ("crash_beside", "", 1, ["crash: a thread outside of the simulation crashed: signal 11", "crashed at " + line_of("*p = 5", file="beside.c")]),
    ("abort_beside", "", 1, ["crash: a thread outside of the simulation crashed: signal 6"]),
    ("call_beside", "", 1, ["mistake: a thread outside of the simulation: it calls thrum_mutex_lock\n"]),
    ("check_beside", "", 1, ["check: a thread outside of the simulation: beside.c:", "arg == &zero"]),
    ("child_crashes", "--runs 10", 0, ["10 schedules passed"]),
    ("child_goes_on", "--runs 1", 0, ["the child of a fork must call exec or _exit, but it has returned from the test\n",
                                      "1 schedules passed"]),
    ("child_fails", "--runs 1", 0, ["the child of a fork must call exec or _exit, but it has failed: beside.c:", "1 schedules passed"]),
    ("exec_beside", "", 1, ["exit: the test called execlp\n", "called at " + line_of('execlp("true"', file="beside.c")]),
    ("child_execs", "--runs 10", 0, ["10 schedules passed"]),
    ("jumps_beside", "", 1, ["exit: the test was left by longjmp"]),
    ("ticks_beside", "--runs 10", 0, ["10 schedules passed"]),
    ("many_tasks", "--runs 1", 1, ["steps: more than 100000 steps; ", " tasks began", "raise the limit of steps (--steps)"]),
    ("many_tasks", "--runs 3 --steps 10000000", 0, ["3 schedules passed"]),
    ("prints", "", 0, PASSED),
    ("prints", "--trace", 0, PASSED + ["the schedule passed"]),
    ("prints_and_fails", "", 1, ["a line", "FAILED", "THRUM_TEST(thrum_test_random() % 4 != 0)"]),
    ("advanced", "--trace --runs 1", 0, ["2.000000000 s", "thrum_test_advance", "5.000000000 s", "thrum_now"]),
]


def cpp(text):
    return line_of(text, file="thrown.cpp")


ODD = ["exception: odd_number: 3 is odd\n", "thrown at " + line_of("throw odd", file="thrown.cpp")]
CASES_CPP = [
    ("of_a_task", "", 1, ODD + ["after the call of thrum_yield at " + line_of("thrum_yield()", file="thrown.cpp"), "\n    task_throws "]),
    ("of_a_thread", "", 1, ["exception: no_exception\n", "thrown at " + line_of("throw no_", file="thrown.cpp")]),
    ("of_the_test", "", 1, ["exception: odd_number: 3 is odd"]),
    ("of_a_lambda", "", 1, ODD),
    ("forgets_object", "", 1, ["leak: 2 blocks of the test, ", "allocated by new at " + line_of("new odd_number", file="thrown.cpp")]),
    # The lines are those of the class, not of the headers that it calls.
    ("loses_number", "", 1, ["deadlock: ", cpp("lock_.lock()") + "  ", "thrum_mutex_lock (", cpp("lock_.unlock()") + "  ",
                             "waits in thrum_cond_wait", "at " + cpp("changed_.wait") + "\n"]),
    ("loses_number_std", "", 1, ["deadlock: ", cpp("lock_.lock()") + "  ", "pthread_mutex_lock\n", cpp("lock_.unlock()") + "  ",
                                 "waits in pthread_cond_wait, at " + cpp("changed_.wait") + "\n"]),
    ("adds_by_threads", "", 0, PASSED),
    ("terminates", "", 1, ["exit: the test called std::terminate", "called at " + line_of("std::terminate()", file="thrown.cpp")]),
]
# The orders of aabb that so many preemptions allow, counted by hand; as many for one worker as for two.
ORDERS = {0: "aabb bbaa", 1: "aabb abba baab bbaa", 2: "aabb abab abba baab baba bbaa"}
FOUR = ["%d%d%d%d" % (a, b, c, d) for a in range(1, 5) for b in range(1, 5) for c in range(1, 5) for d in range(1, 5)
        if len({a, b, c, d}) == 4]


def run(arguments, program=PROGRAM, **environment):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={"PATH": os.environ["PATH"], **environment})
    return done.returncode, done.stdout


def wrong_in_case(program, name, options, status, texts):
    found, report = run([name, *options.split()], program)
    if found != status:
        yield "status %d:\n%s" % (found, report)
        return
    at = 0
    for text in texts:
        at = report.find(text, at)
        if at < 0:
            yield "no '%s' there in:\n%s" % (text, report)
            return
        at += len(text)
    if re.search(r"0x[0-9a-f]{5}", report):
        yield "an address:\n%s" % report
    if name == "prints" and report.count("a line") != (2 if "--trace" in options else 0):
        yield "prints in each schedule:\n%s" % report
    again = re.search(r"To repeat it: \S+ (.*)", report)
    if status and not again and not name.endswith("_beside"):
        yield "nothing repeats it:\n%s" % report
    elif again:
        second = run(again.group(1).split(), program)[1]
        if report.split("\n  ", 1)[1] != second.split("\n  ", 1)[1]:
            yield "%s reports something else:\n%s\n%s" % (again.group(0), report, second)


def orders(name, candidates, *options):
    complete = run([name, "--strategy", "exhaustive", "--runs", "100000", *options], WANTED="none")
    if complete[0] or "; complete at calls" not in complete[1]:
        return complete[1]
    return " ".join(o for o in candidates
                    if run([name, "--strategy", "exhaustive", "--runs", "100000", *options], WANTED=o)[0] == 1)


def main():
    bad = 0
    for program, cases in zip(sys.argv[1:], (CASES, CASES_CPP)):
        for case in cases:
            for text in wrong_in_case(program, *case):
                print("%s %s: %s" % (case[0], case[1], text))
                bad += 1
    for workers in "12":
        for preemptions, expected in ORDERS.items():
            found = orders("order_of_two", ORDERS[2].split(), "--workers", workers, "--preemptions", str(preemptions))
            if found != expected:
                print("order_of_two: %s preemptions, %s workers: %s" % (preemptions, workers, found))
                bad += 1
    found = orders("order_of_four", FOUR, "--workers", "1", "--preemptions", "0")
    if found != " ".join(FOUR):
        print("order_of_four: %s" % found)
        bad += 1
    print("%d cases" % len(CASES))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
