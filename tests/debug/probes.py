#!/usr/bin/env python3
"""
The probes of the shared library, by the notes in its file: tests/debug/probes.py LIBRARY wanted|none

Each note says where an instruction stands that does nothing, and where the arguments are. `wanted`: all six are
there, with as many arguments as docs/profiling.md says, at places that hold a nop. `none`: built without sys/sdt.h.
"""
import os
import re
import subprocess
import sys

LIBRARY, MODE = sys.argv[1:]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NOPS = {b"\x90", b"\x1f\x20\x03\xd5", b"\x01\x00", b"\x13\x00\x00\x00"}  # x86, aarch64, riscv64: short and long


def notes():
    """Name -> list of (place, arguments)."""
    text = subprocess.run(["readelf", "-n", "--wide", LIBRARY], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = {}
    for note in re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (0x[0-9a-f]+), .*?\n\s+Arguments: ?(.*)", text):
        assert note[0] == "thrum", note
        found.setdefault(note[1], []).append((int(note[2], 16), note[3].split()))
    return found


def told():
    """Name -> the number of arguments in the documents' table."""
    text = open(os.path.join(ROOT, "docs", "profiling.md")).read()
    table = text[text.index("| probe | when | arguments |"):].split("\n\n")[0]
    return {row.split("`")[1]: row.split("|")[3].count("`arg") for row in table.split("\n")[2:]}


def bytes_at(place):
    """What stands at an address of the file's code."""
    text = subprocess.run(["readelf", "-lW", LIBRARY], stdout=subprocess.PIPE, check=True).stdout.decode()
    for part in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", text):
        offset, low, size = (int(n, 16) for n in part)
        if low <= place < low + size:
            with open(LIBRARY, "rb") as file:
                file.seek(offset + place - low)
                return file.read(4)
    raise AssertionError(f"nothing is at {place:#x}")


there = notes()
if MODE == "none":
    assert not there, there
    sys.exit(0)
assert {name: {len(arguments) for _, arguments in all} for name, all in there.items()} == \
    {name: {count} for name, count in told().items()}, (there, told())
for name, all in there.items():
    for place, _ in all:
        assert any(bytes_at(place).startswith(nop) for nop in NOPS), (name, hex(place), bytes_at(place))
