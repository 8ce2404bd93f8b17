"""The servers that are compared: how each is started for a row, what it used, how it is ended."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.path.join(ROOT, "build", "peers")
CONF = os.path.join(ROOT, "bench", "peers", "servers", "nginx.conf")
START_SECONDS = 20

# The mode of our small servers for a row, where it is not the row's name.
MODES = {"http-16": "http", "close": "http", "idle": "http", "idle-calls": "http"}
# Debian's packages whose versions are told.
PACKAGES = {"libuv": "libuv1-dev", "asio": "libasio-dev", "go": "golang-go", "tokio": "librust-tokio-dev", "hyper": "librust-hyper-dev",
            "nginx": "nginx", "openssl": "libssl-dev", "uring": "liburing-dev", "uring-default": "liburing-dev", "redis": "redis-tools", "wrk": "wrk", "epoll": "gcc"}


class Systems:
    """Where the servers are; `build` is the folder of thrum's build."""

    def __init__(self, build, busy_workers):
        self.build, self.busy_workers = os.path.abspath(build), busy_workers

    def _program(self, system):
        """The file that has to be there, or None."""
        ours = {"thrum-httpd": "examples/httpd", "thrum-kv": "examples/kv", "thrum-on": "bench/thrum-servers",
                "thrum": "bench/thrum-servers", "thrum-plain": "bench/thrum-servers", "thrum-tls": "bench/thrum-tls-echo"}
        if system in ours:
            return os.path.join(self.build, ours[system])
        if system == "nginx":
            return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if system == "redis":  # Debian's redis-tools has the same program under another name
            return shutil.which("redis-server") or shutil.which("redis-check-rdb")
        return os.path.join(PEERS, "peer-server-" + system.removesuffix("-default"))

    def absent(self, system):
        """Why the server cannot be run; None if it can."""
        path = self._program(system)
        if path and os.access(path, os.X_OK):
            return None
        if system.startswith("thrum"):
            return "not built (make bench-servers builds it; the examples say what they need)"
        return "not there (tools/setup bench installs what it needs; bench/peers/build servers)"

    def command(self, system, row, port, folder):
        """The command line, and the name that the program is called by."""
        path = self._program(system)
        mode = MODES.get(row, row)
        if system == "thrum-httpd":
            return [path, "-q", "-a", f"tcp:127.0.0.1:{port}"]
        if system == "thrum-kv":
            return [path, f"tcp:127.0.0.1:{port}"]
        if system == "thrum" and row == "echo":
            return [os.path.join(self.build, "examples/echo"), f"tcp:127.0.0.1:{port}"]
        if row == "tls-echo":
            return [path, str(port)] + certificate(folder)
        if system == "thrum-on":
            return [path, "on", str(port)]
        if system == "nginx":
            conf = os.path.join(folder, "nginx.conf")
            with open(CONF, encoding="utf-8") as source, open(conf, "w", encoding="utf-8") as out:
                out.write(source.read().replace("@DIR@", folder).replace("@PORT@", str(port)))
            return [path, "-e", "stderr", "-p", folder, "-c", conf]
        if system == "redis":
            return [path, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        if system == "uring-default":
            return [path, mode, str(port), "default"]
        return [path, mode, str(port)] + ([str(self.busy_workers)] if mode == "busy" else [])

    def version(self, system):
        """What is said of it in the report."""
        if system.startswith("thrum"):
            done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
            return done.stdout.strip() or "unknown"
        try:
            done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", PACKAGES[system]], capture_output=True,
                                  text=True, check=False)
        except OSError:
            return "unknown"
        return done.stdout.strip() or "unknown"


def certificate(folder):
    """A certificate of its own, and its key: the files."""
    files = [os.path.join(folder, name) for name in ("chain.pem", "key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def reserved_port():
    """A socket that keeps its port from everybody but a server that says SO_REUSEADDR, or SO_REUSEPORT, as all of these do."""
    keeper = socket.socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        keeper.setsockopt(socket.SOL_SOCKET, option, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper


def on_cores(cores, nice=0):
    """What a child does before it becomes the program: it goes to these cores."""
    def prepare():
        os.sched_setaffinity(0, cores)
        if nice:
            try:
                os.setpriority(os.PRIO_PROCESS, 0, nice)
            except OSError:
                pass  # not granted; README.md says so
    return prepare


class Server:
    """A server that runs, at a port of its own."""

    def __init__(self, systems, system, row, cores):
        self.folder = tempfile.mkdtemp(prefix="thrum-servers-")
        self.keeper = reserved_port()
        self.port = self.keeper.getsockname()[1]
        command = systems.command(system, row, self.port, self.folder)
        self.shown = " ".join(command).replace(ROOT + "/", "").replace(self.folder, "DIR").replace(str(self.port), "PORT")
        self.out = open(os.path.join(self.folder, "out"), "w+b")  # pylint: disable=consider-using-with
        called = ["redis-server"] if system == "redis" else command[:1]
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            called + command[1:], executable=command[0], stdout=self.out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            cwd=self.folder, preexec_fn=on_cores(cores))
        try:
            self._wait_until_it_listens()
        except RuntimeError:
            self.end()
            raise

    def _wait_until_it_listens(self):
        begin = time.monotonic()
        while time.monotonic() - begin < START_SECONDS:
            if self.process.poll() is not None:
                raise RuntimeError("it ended: " + (self.said() or f"status {self.process.returncode}"))
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError(f"it did not listen within {START_SECONDS} s")

    def said(self):
        """The last line that it wrote."""
        self.out.flush()
        with open(self.out.name, encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().splitlines()
        return lines[-1] if lines else ""

    def pids(self):
        """The process and its children: nginx has a worker."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        try:
            with open(path, encoding="ascii") as file:
                return [self.process.pid] + [int(pid) for pid in file.read().split()]
        except OSError:
            return [self.process.pid]

    def cpu(self):
        """Seconds of CPU that it has used, by the kernel's own account, all its threads and its children together."""
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids())

    def memory(self):
        """Bytes: anonymous and swapped pages, page tables, 256 a mapping."""
        total = 0
        for pid in self.pids():
            for file, fields in (("smaps_rollup", ("Anonymous:", "Swap:")), ("status", ("VmPTE:",))):
                with open(f"/proc/{pid}/{file}", encoding="ascii") as lines:
                    total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(fields))
            with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
                total += 256 * sum(1 for _ in lines)
        return total

    def sleeps(self):
        """How often its threads have gone to sleep."""
        total = 0
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                try:
                    with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as lines:
                        total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
                except FileNotFoundError:
                    pass  # it ended meanwhile
        return total

    def end(self):
        """Ends it, and waits for that."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                for pid in self.pids()[::-1]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.process.wait()
        self.out.close()
        self.keeper.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.end()
