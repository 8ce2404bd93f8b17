"""What examples/httpd promises: run.py BINARY [TEST...]

Each test is a function. Most of them talk to one server, whose limits are wide enough for a slow
machine; those about a limit start one of their own. Nothing here sleeps: what a server does after
some time is waited for, by reading until it has happened.
"""

import shutil
import sys
import time
import traceback

import connections
import files
import limits
import refused
import requests
import seen
import tls
from root import make_root
from talk import Server, WORK


def main():
    chosen = sys.argv[2:]
    tests = {name[5:]: test for module in (requests, refused, limits, files, connections, seen, tls)
             for name, test in vars(module).items() if name.startswith("test_")}
    failed = 0
    make_root()
    with Server() as server:
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
