#!/usr/bin/env python3
"""
Files of a test, and crashes of their disk.

  tests/kit/files/files.py PROGRAM [--only NAME]

PROGRAM is files.c. Each function test_... is a test of its own; the output names those that fail. planted.py (../promises) shows
that each of them can.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "promises"))
from promises import demand, digest, fails, main, passes, run  # noqa: E402

ENDS = "all_old all_new mixed torn between shorter longer named unnamed later_only".split()


def ends(text):
    """How many schedules ended in each way."""
    return dict(zip(ENDS, map(int, re.search(r"^ends (.*)$", text, re.M).group(1).split())))


def reaches(name, *wanted, never=()):
    text = passes(name, "--runs", "4000")
    found = ends(text)
    for end in wanted:
        demand(found[end] > 0, name, "no schedule ends with " + end, text)
    for end in never:
        demand(found[end] == 0, name, "a schedule ends with " + end, text)


def test_the_calls_work():
    passes("calls")
    passes("calls", "--granularity", "atomics", "--runs", "50", "--steps", "1000000")


def test_a_run_begins_with_an_empty_disk():
    passes("begins_empty")


def test_files_may_be_used_for_days():
    passes("over_days", "--runs", "50")


def test_a_disk_may_be_full():
    passes("full_disk", "--runs", "3")


def test_a_crash_keeps_what_is_synced():
    passes("synced_stays")


def test_pages_survive_in_any_way():
    reaches("pages_survive_in_any_way", "all_old", "all_new", "mixed", "torn", "between")


def test_sizes_survive_in_any_way():
    reaches("sizes_survive_in_any_way", "all_old", "all_new", "between", "shorter", "longer")


def test_names_survive_in_any_way():
    reaches("names_survive_in_any_way", "named", "unnamed", "later_only")


def test_renames_are_whole():
    reaches("renames_are_whole", "named", "unnamed")


def test_moves_lose_no_file():
    reaches("moves_lose_no_file", "all_old", "all_new", "mixed")


def test_replace_survives_a_crash_at_any_moment():
    reaches("replace_survives", "all_old", "all_new", "mixed")
    text = passes("replace_survives", "--strategy", "exhaustive", "--preemptions", "1", "--workers", "1", "--runs", "1000000")
    demand("complete at calls, up to 1 preemption, for 1 worker" in text, text)
    # The crash comes before and after each call of the system, with each subset of the pages, the sizes and the names.
    demand(int(re.search(r"(\d+) schedules passed", text).group(1)) > 400, text)


def test_a_missing_sync_is_found():
    text = fails("bad_no_sync", "check")
    demand("lost: page" in text, text)
    text = fails("bad_no_sync_of_the_folder", "check")
    demand("lost: the name a" in text, text)
    text = fails("bad_order_of_pages", "check")
    demand("lost: page 0 of a" in text and "page 1" not in text, text)


def test_a_replay_repeats_a_crash():
    text = fails("bad_no_sync", "check")
    own, *options = re.search(r"^  To repeat it: \S+ (.*)$", text, re.M).group(1).split()
    again = fails(own, "check", *options)
    for line in re.findall(r".* lost: .*", text):
        demand(line in again, "not repeated: " + line, again)
    demand(digest("pages_survive_in_any_way") == digest("pages_survive_in_any_way"))
    status, text = run("synced_stays", "--replay", "2a")
    demand(status == 0, text)


if __name__ == "__main__":
    sys.exit(main(globals()))
