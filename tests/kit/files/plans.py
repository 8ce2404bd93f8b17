#!/usr/bin/env python3
"""
Calls of the system that fail because a test asks for it.

  tests/kit/files/plans.py PROGRAM [--only NAME]

PROGRAM is plans.c. Each function test_... is a test of its own; the output names those that fail. planted.py (../promises) shows
that each of them can.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "promises"))
from promises import demand, digest, fails, main, passes  # noqa: E402


def both_ends(name, *options):
    text = passes(name, *options)
    ends = list(map(int, re.search(r"^ends (\d+) (\d+)$", text, re.M).groups()))
    demand(ends[0] and ends[1], name, "it always ends in one way", text)
    return ends


def test_the_call_with_the_number_fails():
    passes("the_third_write")
    passes("connections")
    passes("memory")


def test_transfers_are_short():
    both_ends("short_files")
    passes("short_sockets", "--runs", "300")


def test_calls_fail_by_chance():
    failed, fine = both_ends("chances")
    demand(0.2 < failed / (failed + fine) < 0.3, failed, fine)
    demand(digest("chances") == digest("chances"))


def test_plans_end_with_the_schedule():
    passes("begins_without")


def test_wrong_plans_are_refused():
    passes("wrong_plans")


def test_a_replace_that_fails_changes_nothing():
    passes("failing_replace")
    both_ends("replace_survives_all", "--runs", "3000")


def test_a_failed_sync_loses_the_bytes():
    text = fails("bad_failed_sync", "check")
    demand("fault: sync: " in text and "lost: page" in text, text)


def test_a_report_names_the_fault():
    text = fails("bad_write", "check")
    demand(text.count("fault: write: ") == 1, "not minimised", text)


if __name__ == "__main__":
    sys.exit(main(globals()))
