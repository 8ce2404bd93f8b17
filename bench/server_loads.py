"""The loads that servers are measured under. Each gives the figures of one sample: a dict, "figure" is the row's."""

import json
import os
import re
import shutil
import subprocess
import time

from server_systems import ROOT, on_cores

LUA = os.path.join(ROOT, "bench", "servers", "wrk.lua")
HTTP_CONNECTIONS = 64
BUSY_CONNECTIONS, BUSY_RATE = 16, 2000
SHARES = ("p50", "p90", "p99", "p99.9")


class TooLate(RuntimeError):
    """The machine was too busy for so short a load."""


class Loads:
    """How long, how many, and on which cores."""

    def __init__(self, build, cores, seconds, connections, settle):
        self.program = os.path.join(os.path.abspath(build), "bench", "thrum-load")
        self.cores, self.seconds, self.connections, self.settle = cores, seconds, connections, settle

    def absent(self, load):
        """Why the load cannot be made; None if it can."""
        tool = {"wrk": "wrk", "redis": "redis-benchmark"}.get(load)
        if tool and not shutil.which(tool):
            return f"no {tool} (tools/setup bench)"
        return None if os.access(self.program, os.X_OK) else "thrum-load is not built (make bench-servers)"

    def _run(self, command, cores=None, nice=0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=self.seconds * 3 + 600, check=False,
                              preexec_fn=on_cores(cores or self.cores, nice))
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise RuntimeError(said[-1] if said else f"{command[0]} ended with {done.returncode}")
        return done.stdout

    def _own(self, kind, server, connections, seconds, last=0, **how):
        out = self._run([self.program, kind, str(server.port), str(connections), str(seconds), str(last)], **how)
        return json.loads(out.splitlines()[-1])

    def _of_cpu(self, server, run):
        """Runs a load, and says what the server's CPU had to do for each request."""
        before, begin = server.cpu(), time.monotonic()
        got = run()
        used = server.cpu() - before
        if got["requests"] == 0 and got["errors"] == 0:
            raise TooLate("no answers")
        if got["requests"] == 0 or got["errors"] > got["requests"] / 100:
            raise RuntimeError(f"{got['requests']} answers, {got['errors']} errors")
        seconds = got.get("seconds") or time.monotonic() - begin
        return {"figure": used / got["requests"] * 1e6, "rps": got["requests"] / seconds, "errors": got["errors"],
                **{share: got[share] for share in SHARES + ("max",) if share in got}}

    def sample(self, row, server):
        """One sample of a row."""
        return getattr(self, "_" + row.load)(server, **row.options)

    def _wrk(self, server, depth):
        self._own("close", server, 8, 0.1)  # warm
        command = ["wrk", "-t1", f"-c{HTTP_CONNECTIONS}", f"-d{max(1, round(self.seconds))}s", "-s", LUA,
                   f"http://127.0.0.1:{server.port}/hello", "--", str(depth)]
        got = self._of_cpu(server, lambda: json.loads(self._run(command).splitlines()[-1]))
        told = self._own("http", server, HTTP_CONNECTIONS, self.seconds / 4, depth)  # wrk's latencies are corrected, and not known
        return {**got, **{share: told[share] for share in SHARES + ("max",)}}

    def _echo(self, server):
        self._own("echo", server, 8, 0.1)
        return self._of_cpu(server, lambda: self._own("echo", server, HTTP_CONNECTIONS, self.seconds))

    def _tls(self, server):
        self._own("tls", server, 8, 0.1)
        return self._of_cpu(server, lambda: self._own("tls", server, HTTP_CONNECTIONS, self.seconds))

    def _close(self, server):
        self._own("close", server, 8, 0.1)
        return self._of_cpu(server, lambda: self._own("close", server, HTTP_CONNECTIONS, self.seconds))

    def _redis(self, server, depth):
        def run(what, n):
            out = self._run(["redis-benchmark", "-p", str(server.port), "-t", what, "-n", str(n), "-c", str(HTTP_CONNECTIONS),
                             "-P", str(depth)])
            rps = float(re.findall(r"throughput summary: ([0-9.]+)", out)[-1])
            told = [(float(a), float(b) * 1000) for a, b in re.findall(r"([0-9.]+)% <= ([0-9.]+) milliseconds \(cum", out)]
            told = told[:next((i for i in range(1, len(told)) if told[i][0] < told[i - 1][0]), len(told))]  # the first table alone
            least = {share: next(us for percent, us in told if percent >= float(share[1:])) for share in SHARES}
            return {"requests": n, "errors": 0, "seconds": n / rps, **least, "max": told[-1][1]}

        warm = run("set", 20000)  # the key is there from now on
        wanted = int(warm["requests"] / warm["seconds"] * self.seconds)
        return self._of_cpu(server, lambda: run("get", max(20000, wanted // 1000 * 1000)))

    def _busy(self, server):
        got = self._own("echo", server, BUSY_CONNECTIONS, self.seconds, BUSY_RATE, cores=os.sched_getaffinity(0), nice=-10)
        if got["requests"] == 0:
            raise TooLate("no answers")
        return {"figure": got["p99"], "rps": got["requests"] / got["seconds"], "errors": got["errors"],
                **{share: got[share] for share in SHARES + ("max",)}}

    def _idle(self, server):
        """Memory, and then the calls that are made, which `sample` gives as the row idle-calls."""
        self._own("close", server, 8, 0.1)  # what a server makes once is there
        before = server.memory()
        with subprocess.Popen([self.program, "hold", str(server.port), str(self.connections)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=on_cores(self.cores)) as holder:
            try:
                line = holder.stdout.readline()
                if not line:
                    raise RuntimeError(holder.stderr.read().strip())
                time.sleep(self.settle)
                memory = (server.memory() - before) / self.connections
                sleeps, cpu, begin = server.sleeps(), server.cpu(), time.monotonic()
                time.sleep(self.settle)
                seconds = time.monotonic() - begin
                quiet = {"sleeps": (server.sleeps() - sleeps) / seconds, "cpu_us": (server.cpu() - cpu) / seconds * 1e6}
                calls = count_calls(server, self.settle)
            finally:
                holder.stdin.close()
                holder.wait()
        return {"figure": memory, "calls": {"figure": quiet["sleeps"] if calls is None else calls, **quiet,
                                            "counted": "switches" if calls is None else "strace"}}

    def _deadlines(self, server):
        got = self._own("silent", server, self.connections, max(0.5 + self.connections / 8000, self.seconds))
        for _ in range(200):
            if server.said().startswith("{"):
                break
            time.sleep(0.01)
        if got["lead_ms"] <= 0 or not server.said().startswith("{"):
            raise TooLate("the moment came before all had been told")
        return {"figure": json.loads(server.said())["last_ms"], "closed_ms": got["last_ms"]}


def count_calls(server, seconds):
    """System calls a second by strace; None where it cannot be had. Its own beginning disturbs sleepers, and is left out."""
    begins = 0.3
    path = os.path.join(server.folder, "strace")
    command = ["strace", "-f", "-ttt", "-o", path] + [f"-p{pid}" for pid in server.pids()]
    if not shutil.which("strace"):
        return None
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
        time.sleep(begins)
        first = time.time()
        time.sleep(seconds)
        last = time.time()
        traced = tracer.poll() is None
        if traced:
            tracer.send_signal(2)
    if not traced:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        times = [float(m.group(1)) for m in (re.match(r"\d+ (\d+\.\d+) [^<]", line) for line in file) if m]
    return sum(first < at < last for at in times) / (last - first)
