"""What examples/httpd promises: run.py BINARY [TEST...]

Each test is a function. Most of them talk to one server, whose limits are wide enough for a slow
machine; those about a limit start one of their own. Nothing here sleeps: what a server does after
some time is waited for, by reading until it has happened. A BINARY for Windows (.exe) runs under wine;
without names of tests those are left out that want what it has not.
"""

import contextlib
import shutil
import subprocess
import sys
import time
import traceback

import connections
import files
import limits
import refused
import requests
import routes
import seen
import tls
from root import make_root
from talk import COMMAND, Server, WINE, WORK

# Limits of descriptors and of files, and whether a pipe is full.
WITHOUT_WINE = ("few_descriptors", "log_without_room", "stderr_that_nobody_reads", "stdout_without_room")


@contextlib.contextmanager
def wine_server():
    """Has wine's own server run, which would else begin with ours, and write to its stderr when it ends."""
    if not WINE:
        yield
        return
    with subprocess.Popen([COMMAND[0], "cmd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as idle:
        idle.stdout.read(1)
        yield
        idle.stdin.close()


def main():
    chosen = sys.argv[2:]
    tests = {name[5:]: test for module in (requests, refused, limits, files, connections, routes, seen, tls)
             for name, test in vars(module).items() if name.startswith("test_")}
    if WINE and not chosen:
        chosen = [name for name in tests if name not in WITHOUT_WINE and not name.startswith(("tls_", "routes_"))]
    failed = 0
    make_root()
    with wine_server(), Server() as server:
        for name, test in tests.items():
            if chosen and name not in chosen:
                continue
            began = time.monotonic()
            try:
                test(*([server] if test.__code__.co_argcount else []))
                print(f"ok {name} ({time.monotonic() - began:.2f} s)", flush=True)
            except Exception:
                traceback.print_exc()
                print("not ok", name, flush=True)
                failed = 1
                if server.process.poll() is not None:
                    break
    return failed


try:
    sys.exit(main())
finally:
    shutil.rmtree(WORK, ignore_errors=True)
