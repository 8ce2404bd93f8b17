"""A server under attack: its start, what it holds while it is idle, its end."""

import ctypes
import os
import re
import resource
import signal
import subprocess
import time
import urllib.request

from crowd import LIMIT

SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0",
    "TSAN_OPTIONS": "halt_on_error=1:atexit_sleep_ms=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def dies_with_us(files):
    """In the new process: when this one is killed it is, too; its descriptors."""
    def set_up():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (files or hard, files or hard))
    return set_up


def until(what, why, limit=LIMIT):
    """Asks again until it is so."""
    end = time.monotonic() + limit
    while not (result := what()):
        assert time.monotonic() < end, why()
        time.sleep(0.02)
    return result


class Server:
    def __init__(self, kind, binary, work, files=None, address="tcp:0.0.0.0:0", environment=None):
        self.kind = kind
        self.out, self.err = os.path.join(work, "out"), os.path.join(work, "err")
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(kind.command(binary, address, work), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env={**os.environ, **SANITIZERS, **(environment or {})}, preexec_fn=dies_with_us(files))
        line = until(self.first_line, lambda: "it does not listen: " + self.said())
        self.port = int(re.fullmatch(r"listening at tcp:[0-9.]+:(\d+)\n", line)[1])

    def first_line(self):
        assert self.process.poll() is None, "it ended: " + self.said()
        with open(self.out, errors="replace") as out:
            line = out.readline()
        return line if line.endswith("\n") else None

    def said(self):
        with open(self.err, errors="replace") as err:
            return err.read()

    def alive(self):
        assert self.process.poll() is None, "it ended with %s: %s" % (self.process.returncode, self.said())

    # ---- what it holds ----

    def files(self):
        """Its descriptors: how many of each kind."""
        counts = {}
        folder = "/proc/%d/fd" % self.process.pid
        for name in os.listdir(folder):
            try:
                what = re.sub(r":\[\d+\]$", "", os.readlink(os.path.join(folder, name)))
            except FileNotFoundError:
                continue
            counts[what] = counts.get(what, 0) + 1
        return counts

    def memory(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) // 1024

    def metrics(self):
        """Samples by their names, workers together; httpd's only."""
        sums = {}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # not by the user's proxy
        with opener.open("http://127.0.0.1:%d/metrics" % self.port, timeout=LIMIT) as answer:
            for line in answer.read().decode().splitlines():
                if not line.startswith("#"):
                    name, value = re.fullmatch(r"(\w+)(?:\{.*\})? (\d+(?:\.\d+)?)", line).groups()
                    sums[name] = sums.get(name, 0) + float(value)
        return sums

    def fibers(self):
        """Those that wait for something, the one that counts them included."""
        if not self.kind.counts_fibers:
            return None
        numbers = self.metrics()
        return numbers["thrum_suspends_total"] - numbers["thrum_fibers_resumed_total"]

    def note_idle(self):
        """It is idle: what it holds now is what it may hold after the attack."""
        until(lambda: self.files().get("socket") == 1, lambda: "a fresh one is not idle: %s" % self.files())
        self.idle_fibers = self.fibers()
        until(lambda: self.files().get("socket") == 1, lambda: "a fresh one is not idle: %s" % self.files())
        self.idle_files = self.files()

    def check_idle(self):
        """No connection is left, no file, no fiber. Sets of descriptors come with workers that had none before, and with
        the first line on thrum_stderr a descriptor of its own."""
        until(lambda: self.alive() or self.files().get("socket") == 1, lambda: "connections are left: %s" % self.files())
        sets = ("anon_inode:[eventpoll]", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode")
        others = (*sets, self.err)
        until(lambda: {k: n for k, n in self.files().items() if k not in others} ==
              {k: n for k, n in self.idle_files.items() if k not in others},
              lambda: "descriptors are left: %s after %s" % (self.files(), self.idle_files))
        threads = len(os.listdir("/proc/%d/task" % self.process.pid))
        assert sum(n for k, n in self.files().items() if k in sets) <= 2 * threads + 2, self.files()
        assert self.files().get(self.err, 0) <= 2, self.files()
        self.kind.check_idle(self)
        until(lambda: self.fibers() == self.idle_fibers, lambda: "%s fibers wait, not %s" % (self.fibers(), self.idle_fibers))

    # ---- its end ----

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def expect(self, *statuses, says=None, limit=LIMIT):
        """It ends with one of these, and says nothing but what it may."""
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError("it does not end: %s %s" % (self.files(), self.said())) from None
        said, allowed = self.said(), says or self.kind.says
        assert status in statuses, "status %d: %s" % (status, said)
        assert re.fullmatch(allowed, said) if allowed else said == "", said
        return status

    def end(self):
        self.terminate()
        self.expect(0)
