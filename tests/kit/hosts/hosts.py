#!/usr/bin/env python3
"""
The hosts of a test and their network keep their promises.

  tests/kit/hosts/hosts.py PROGRAM [--only NAME]

PROGRAM is hosts.c. Each function test_... is a test of its own; the output names those that fail. planted.txt has a fault for
each of them (promises/planted.py).
"""
import os
import re
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
ONLY = sys.argv[3] if sys.argv[2:3] == ["--only"] else None


def run(name, *options, **environment):
    try:
        done = subprocess.run([PROGRAM, name, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                              env={"PATH": os.environ["PATH"], **environment})
    except subprocess.TimeoutExpired:
        return None, "it does not end"
    return done.returncode, done.stdout


def passes(name, *options, **environment):
    status, text = run(name, *options, **environment)
    assert status == 0 and "schedules passed" in text, "%s: exit status %s\n%s" % (name, status, text)
    return re.search(r"digest (\w+)", text).group(1)


def fails(name, *texts):
    """It fails with these texts in its report, and in the same way if its schedule is repeated."""
    status, text = run(name)
    assert status == 1, "%s: exit status %s\n%s" % (name, status, text)
    for wanted in texts:
        assert wanted in text, "%s: its report has no %r\n%s" % (name, wanted, text)
    again = run(name, "--replay", text.split()[-1])
    assert again[0] == 1 and again[1].splitlines()[1:] == text.splitlines()[1:], "%s: a replay is different\n%s" % (name, again[1])


def test_each_host_has_its_own_data():
    passes("data")


def test_each_host_has_its_own_futexes():
    passes("settle")


def test_bytes_take_their_time():
    passes("tcp")


def test_a_connection_ends_behind_its_bytes():
    passes("order")


def test_a_crash_resets_connections():
    passes("crash")


def test_a_crashed_host_goes_no_further():
    passes("crashes")


def test_a_partition_stops_all():
    passes("partition")


def test_datagrams_follow_their_link():
    passes("udp")
    fails("overtakes", "check: ")
    fails("loses", "check: ")


def test_links_have_latency_and_bandwidth():
    passes("links")


def test_a_paused_host_stands_still():
    passes("pauses")


def test_clocks_differ():
    passes("clocks")


def test_names_and_limits():
    passes("names")


def test_threads_that_have_ended_do_not_count():
    passes("lookups")


def test_a_result_is_not_lost():
    fails("result", "result: the function of host a returned -5")


def test_reports_name_the_host():
    fails("deadlock", "deadlock: ", "task a waits at ", " for event never")
    fails("leak", "leak: 1 task is left at the end of host a", "task a: waits waits at ")
    fails("check", "check: hosts.c:", "    a  ")


def test_one_seed_gives_one_digest():
    assert passes("crash", "--runs", "100") == passes("crash", "--runs", "100", NOTHING=3000 * "x")


def main():
    bad = 0
    for name, test in list(globals().items()):
        if name.startswith("test_") and ONLY in (None, name):
            try:
                test()
            except AssertionError as error:
                print("FAILED %s: %s" % (name, error))
                bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
