"""The life of a server: what it finds at its start, and may not have. In each case it serves and ends in order when it is
told to, or says in a line why it cannot, with status 1."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import traceback

from crowd import LIMIT, Crowd
from server import SANITIZERS, dies_with_us, until

NOBODY = 65534
LOST = r"(httpd: \d+ lines of the log were lost\n)?"


class Life:
    """A server with these circumstances; `set_up` runs in the new process, with its descriptors in place."""

    def __init__(self, kind, binary, address=None, set_up=lambda: None, environment=None, before=(), out=None):
        self.kind = kind
        self.work = tempfile.mkdtemp(prefix="servers.")
        os.chmod(self.work, 0o755)
        self.keeper = reserved_port()
        self.port = self.keeper.getsockname()[1]
        self.err = os.path.join(self.work, "err")
        first = dies_with_us(None)

        def all_set_up():
            first()
            set_up()
        command = [*before, *kind.command(binary, "tcp:0.0.0.0:%d" % self.port if address is None else address, self.work)]
        with open(os.path.join(self.work, "out"), "wb") as file, open(self.err, "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out or file, stderr=err,
                                            env={**os.environ, **SANITIZERS, **(environment or {})}, preexec_fn=all_set_up)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.keeper.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def said(self):
        with open(self.err, errors="replace") as err:
            return err.read()

    def listens(self):
        """Waits until it does. False: it has ended."""
        return until(lambda: self.process.poll() is not None or can_connect(self.port), self.said) and self.process.poll() is None

    def serves(self, count=20):
        def exchange(client):
            request = self.kind.request(client.dice)
            yield from client.connect()
            yield from client.send(request)
            yield from client.answer(self.kind.complete(request))
        crowd = Crowd(self.port, 1)
        crowd.run_once(exchange, count)

    def ends(self, *statuses, says=""):
        status = self.process.wait(LIMIT)
        said = self.said()
        assert status in statuses and re.fullmatch(says, said), "status %d: %s" % (status, said)

    def serves_and_ends(self, says=""):
        assert self.listens(), "it ended: " + self.said()
        self.serves()
        self.process.terminate()
        self.ends(0, says=says)

    def refuses(self):
        self.ends(1, says=r"%s: .*\n" % self.kind.name)


def reserved_port():
    """A socket that keeps its port from everybody but the server, which says SO_REUSEADDR."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("0.0.0.0", 0))
    return keeper


def can_connect(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


# ---- where it listens ----

def taken_port(kind, binary):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with Life(kind, binary, "tcp:127.0.0.1:%d" % other.getsockname()[1]) as life:
            life.refuses()


def bad_addresses(kind, binary):
    for address in ("nowhere", "tcp:127.0.0.1:99999", "tcp:192.0.2.1:1", "unix:/none/there", "tcp:", "", "unix:" + "a" * 200):
        with Life(kind, binary, address) as life:
            life.refuses()


# ---- what is open ----

def closed(*fds):
    def set_up():
        for fd in fds:
            os.close(fd)
    return set_up


def no_stdin(kind, binary):
    """The first descriptor that it opens is 0."""
    with Life(kind, binary, set_up=closed(0)) as life:
        life.serves_and_ends()


def no_stdout(kind, binary):
    with Life(kind, binary, set_up=closed(1)) as life:
        life.serves_and_ends()


def no_stderr(kind, binary):
    with Life(kind, binary, set_up=closed(2)) as life:
        life.serves_and_ends()


def nothing_open(kind, binary):
    with Life(kind, binary, set_up=closed(0, 1, 2)) as life:
        life.serves_and_ends()


def full_disk(kind, binary):
    with open("/dev/full", "wb") as full, Life(kind, binary, out=full) as life:
        if life.listens():
            life.serves_and_ends(says=LOST)
        else:
            life.refuses()


def stdout_that_nobody_reads(kind, binary):
    """A pipe that has no room soon, once it listens: with a log that is more than a pipe holds."""
    out, into = os.pipe()
    with Life(kind, binary, out=into) as life:
        assert life.listens(), life.said()
        for _ in range(10):
            life.serves(200)
        life.serves_and_ends(says=LOST)
    os.close(out)
    os.close(into)


def stdout_that_is_gone(kind, binary):
    """A reader that ends once the server listens: its log may not end it."""
    out, into = os.pipe()
    with Life(kind, binary, out=into) as life:
        os.close(into)
        assert os.read(out, 1000).startswith(b"listening"), life.said()
        os.close(out)
        life.serves(200)
        life.serves_and_ends(says=LOST)


# ---- what it may ----

def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def as_nobody(kind, binary):
    if os.getuid() == 0:
        with Life(kind, binary, before=["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]) as life:
            life.serves_and_ends()


def few_threads(kind, binary):
    """Root has no limit of threads, so it becomes nobody."""
    for most in (1, 2, 3, 4) if os.getuid() == 0 else ():
        def set_up(most=most):
            become_nobody()
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        with Life(kind, binary, set_up=set_up) as life:
            if life.listens():
                life.serves_and_ends(says=LOST)  # a log in a file needs a thread
            elif "Sanitizer" not in life.said():  # whose own thread was refused
                life.refuses()


def is_sanitized(binary):
    with open(binary, "rb") as file:
        data = file.read()
    return b"__asan_init" in data or b"__tsan_init" in data


def little_memory(kind, binary):
    """An address space so small that stacks, or bodies, are refused. The sanitizers need all of it."""
    for most in () if is_sanitized(binary) else (8, 16, 24, 32, 48, 64, 96, 128, 256, 1024):
        def set_up(most=most):
            resource.setrlimit(resource.RLIMIT_AS, (most << 20, most << 20))
        with Life(kind, binary, set_up=set_up) as life:
            if not life.listens():
                # Below some size not even the loader has room.
                life.ends(1, 127, says=r"(.*error while loading shared libraries.*|%s: .*)\n" % kind.name)
                continue
            clients = []
            for _ in range(500):
                one = socket.socket()
                one.settimeout(0.2)
                try:
                    one.connect(("127.0.0.1", life.port))
                    one.send(kind.heavy(Crowd(0, 1).dice)[:1000])
                except OSError:
                    pass
                clients.append(one)
            for one in clients:
                one.close()
            time.sleep(0.2)  # only so that it may get into trouble; nothing is demanded
            life.process.terminate()
            # When it ends by itself already, for want of memory, the signal ends it at once.
            life.ends(0, 1, -signal.SIGTERM, says=r"(%s: .*\n)*" % kind.name)


def under_timeout(kind, binary):
    """It is told to end by another one, while idle ones are connected."""
    with Life(kind, binary, before=["timeout", "--preserve-status", "10"]) as life:
        assert life.listens(), life.said()
        if kind.name == "proxy":  # whose idle connections are their ends' to close
            life.ends(0)
        else:
            with socket.create_connection(("127.0.0.1", life.port)):
                life.ends(0)


def workers(kind, binary):
    for count in (0, 1, 2, 8):
        with Life(kind, binary, environment={"THRUM_WORKERS": str(count)}) as life:
            life.serves_and_ends()


CASES = [taken_port, bad_addresses, no_stdin, no_stdout, no_stderr, nothing_open, full_disk, stdout_that_nobody_reads,
         stdout_that_is_gone, as_nobody, few_threads, little_memory, under_timeout, workers]


def run(kind, binary):
    good = True
    for case in CASES:
        began = time.monotonic()
        label = "%-6s %s" % (kind.name, case.__name__)
        try:
            case(kind, binary)
            print("%s ok %.1f s" % (label, time.monotonic() - began), flush=True)
        except Exception:
            print("%s FAILED" % label, flush=True)
            traceback.print_exc()
            good = False
    return good
