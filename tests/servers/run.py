"""Attacks the example servers of a build, one attack after the other: run.py FOLDER SECONDS [NAME...]

FOLDER has the servers, such as build/gcc-asan/examples; SECONDS is the time of each attack. A NAME is a server's or an
attack's; of those that are not named none is run. CLIENTS is how many connections there are at a time (5000), SEED the
dice (the time). The proxy's target is the echo in ECHO, or of the same folder.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import attacks
import kinds
import life
from server import Server

# The thread sanitizer knows 8128 threads and fibers at a time, and a connection of the proxy has three.
CLIENTS = {"proxy": 2000}


def attack(function, kind, binary, seconds, count, seed):
    work = tempfile.mkdtemp(prefix="servers.")
    arena = attacks.Arena(kind, binary, work, seconds, count, seed)
    began = time.monotonic()
    label = "%-6s %-8s" % (kind.name, function.__name__)
    try:
        function(arena)
        more = ["%d servers" % arena.rounds] if arena.rounds else ["%d MB" % arena.memory] if arena.memory else []
        more += ["%d %s" % (count, trouble) for trouble, count in sorted(arena.troubles.items())]
        print("%s ok %4.0f s  %7d connections, %6d honest answers, %s" % (
            label, time.monotonic() - began, arena.begun, arena.answered, ", ".join(more)), flush=True)
        shutil.rmtree(work, ignore_errors=True)
        return True
    except Exception:
        print("%s FAILED, SEED=%d, %s" % (label, seed, work), flush=True)
        traceback.print_exc()
        if arena.server:
            print(arena.server.said()[:4000], flush=True)
            arena.server.kill()
        return False


def main():
    folder, seconds, names = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    seed = int(os.environ.get("SEED") or time.time())
    chosen_kinds = [name for name in kinds.CASES if name in names] or kinds.CASES
    chosen = [a for a in attacks.ATTACKS if a.__name__ in names]
    if not chosen and "life" not in names:
        chosen = attacks.ATTACKS
    good = True
    for name in chosen_kinds:
        binary = os.path.join(folder, name)
        if not os.path.exists(binary):
            print("%-6s is left out: it was not built" % name)
            continue
        count = min(int(os.environ.get("CLIENTS") or 5000), CLIENTS.get(name, 1000000))
        work = tempfile.mkdtemp(prefix="servers.")
        target = None
        if name == "proxy":
            echo = os.environ.get("ECHO") or os.path.join(folder, "echo")
            target = Server(kinds.Echo(), echo, work)
            kind = kinds.Proxy("tcp:127.0.0.1:%d" % target.port, echo=echo)
        else:
            kind = {"echo": kinds.Echo, "httpd": kinds.Httpd, "kv": kinds.Kv}[name]()
        for function in chosen:
            if function is attacks.behind and name != "proxy":
                continue
            good = attack(function, kind, binary, seconds, count, seed) and good
        if "life" in names or not any(a.__name__ in names for a in attacks.ATTACKS):
            good = life.run(kind, binary) and good
        if target:
            target.end()
        shutil.rmtree(work, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
