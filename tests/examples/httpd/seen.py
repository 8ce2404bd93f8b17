"""What the server tells: counters, its log, its command line."""

import fcntl
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile

from talk import BINARY, COMMAND, END, GET, HELLO, Server, WORK, end_with_us, expect, full_pipe, read

F_SETPIPE_SZ = 1031  # which fcntl has since Python 3.10
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? (\d+(?:\.\d+)?)')


def metrics(server):
    """The samples, once their text was found to be valid."""
    answer = server.get("/metrics")
    expect(answer, 200, Content_Type="text/plain; version=0.0.4; charset=utf-8")
    samples, kinds, now = {}, {}, None
    text = answer.body.decode()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            now = line.split(" ")[2]
            assert now not in kinds, line
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == now and kind in ("counter", "gauge"), line
            kinds[name] = kind
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name == now and kinds[name], line
            assert (name, labels) not in samples, line
            samples[name, labels] = float(value)
    return samples


def test_metrics():
    with Server() as server:
        before = metrics(server)
        for _ in range(10):
            server.get("/hello")
        server.get("/none")
        after = metrics(server)
        for kind, more in (("2xx", 11), ("3xx", 0), ("4xx", 1), ("5xx", 0)):
            key = ("httpd_answers_total", '{status="%s"}' % kind)
            assert after[key] - before[key] == more, (kind, before[key], after[key])
        assert after["httpd_connections", None] >= 1
        assert any(name == "thrum_tasks_started_total" for name, _ in after)


def test_log():
    with Server(log=True) as server:
        for text in (GET, b"GET /a%00\"\\ HTTP/1.1\r\nHost: h\r\n\r\n", b"HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n",
                     b"nonsense\r\n\r\n", GET + b"GET /second HTTP/1.1\r\n", b"GET /" + b"a" * 900 + b" HTTP/1.1\r\nHost: h\r\n\r\n"):
            with server.client() as client:
                client.send_all(text)
                client.rest()
        lines = [server.process.stdout.readline() for _ in range(7)]  # at its end it waits a second for those that are left
        server.process.send_signal(END)
        lines = [line.decode().rstrip("\n") for line in lines + server.process.stdout.readlines()]
    begin = r"127\.0\.0\.1:\d+ - - \[\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\] "
    wanted = [r'"GET /hello" 200 14', r'"GET /a%00\\x22\\x5c" 400 \d+', r'"HEAD /big" 200 0', r'"- " 400 \d+',
              r'"GET /hello" 200 14', r'"GET /second" 400 \d+',
              r'"GET /a{300,}" 404 \d+']
    assert len(lines) == len(wanted), lines
    for line, end in zip(lines, wanted):
        assert re.fullmatch(begin + end, line), (line, end)
        assert len(line) < 512


def test_log_that_nobody_reads():
    """A log that is stuck holds nobody up, and not the end either."""
    with Server(log=True, stderr=rb"^httpd: \d+ lines of the log were lost\n$") as server:
        fcntl.fcntl(server.process.stdout, F_SETPIPE_SZ, 4096)  # a page: a pipe may have sixteen, of 64 KiB each
        with server.client() as client:
            for _ in range(40):
                client.send(GET * 100)
                for _ in range(100):
                    expect(client.answer(), 200, HELLO)
        server.process.send_signal(END)
        server.process.wait()


def test_stderr_that_nobody_reads():
    """Nor does what is said for nothing hold up the end: here, that lines were lost."""
    out, into = full_pipe()
    with Server(log=True, err=into) as server:
        os.close(into)
        with server.client(GET * 4000) as client:
            for _ in range(4000):
                expect(client.answer(), 200, HELLO)
        server.process.send_signal(END)
        server.process.wait()
    os.close(out)


def test_log_without_room():
    """Lines that a file does not take, since it is as long as it may be, are lost; when it may be longer, they go on."""
    def limited():
        end_with_us()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))

    def ask(count):
        with server.client(GET * count) as client:
            for _ in range(count):
                expect(client.answer(), 200, HELLO)
        return count

    said = rb"^httpd: (\d+) lines of the log were lost\n$"
    with tempfile.NamedTemporaryFile() as out:
        with Server(log=True, setup=limited, stderr=said, out=out) as server:
            asked = ask(300)
            while os.path.getsize(out.name) < 1000:
                pass
            asked += ask(600)  # more than wait for the writer, so by now some are lost
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            while b"\n" not in read(out.name)[1000:]:
                asked += ask(1)
        lines = read(out.name).decode().splitlines()[1:]
    whole = [line for line in lines if re.search(r' "GET /hello" 200 14$', line)]
    assert len(lines) - len(whole) <= 1, lines  # the one that was cut
    assert len(whole) + int(re.match(said, server.said)[1]) == asked


def test_stdout_without_room():
    """It serves, and says on stderr why nobody was told where: stdout is a disk that is full."""
    for quiet in ([], ["-q"]):
        path = os.path.join(WORK, "socket")
        with open("/dev/full", "wb") as full, \
                subprocess.Popen([*COMMAND, "-a", "unix:" + path, *quiet], stdout=full, stderr=subprocess.PIPE,
                                 preexec_fn=end_with_us) as process:
            assert process.stderr.readline() == b"httpd: stdout: No space left on device\n"
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(GET)
                assert client.recv(1 << 20).endswith(HELLO)
            process.send_signal(END)
            said = process.stderr.read()
            assert process.wait() == 0
            assert said == (b"" if quiet else b"httpd: 1 lines of the log were lost\n"), said


def test_command_line():
    def run(*arguments):
        return subprocess.run([*COMMAND, *arguments], capture_output=True)

    for wrong in (["--wrong"], ["-c"], ["-c", "0"], ["-c", "x"], ["--body", "-1"], ["--head", "1"],
                  ["--idle-time", "0"], ["--idle-time", "nan"], ["--idle-time", "1s"], ["a", "b"]):
        done = run(*wrong)
        assert done.returncode == 2 and done.stderr and not done.stdout, (wrong, done)
    for wrong, words in ((["--head", "10"], b"'10': it must be from 64 to 1073741824"), (["-c", "0"], b"'0': it must be from 1 to 1000000"),
                         (["--idle-time", "0"], b"'0': it must be above 0, and at most 86400 seconds")):
        assert words in run(*wrong).stderr, wrong
    done = run("--help")
    assert done.returncode == 0 and b"--head-time" in done.stdout
    for wrong in (["-a", "nowhere"], ["/none/there"], [BINARY]):
        done = run(*wrong)
        assert done.returncode == 1 and done.stderr.startswith(b"httpd: "), (wrong, done)


def test_strict_copy():
    """Whoever compiles a copy of httpd without llhttp's strict mode is told so by the compiler, if there is one."""
    here = os.path.join(os.path.dirname(__file__), "../../..")
    check = ["-fsyntax-only", "-I" + os.path.join(here, "include"), "-isystem", "/usr/share/include/llhttp",
             os.path.join(here, "examples/httpd/request.c")]
    compiler = shutil.which("cc")
    if compiler is None or not os.path.exists("/usr/share/include/llhttp/llhttp.h"):
        return
    assert subprocess.run([compiler, "-DLLHTTP_STRICT_MODE=1", *check]).returncode == 0
    done = subprocess.run([compiler, *check], capture_output=True)
    assert done.returncode != 0 and b"define LLHTTP_STRICT_MODE=1" in done.stderr, done


def flight_of(events, fd):
    """What happened to a connection, in order: its slices, its waits, its reads and writes."""
    slices = [e for e in events if e["ph"] == "X" and e["name"].startswith(f"fd {fd} of ")]
    moved = [e for e in events if e["ph"] == "i" and e["name"] in ("read", "write") and e["args"]["fd"] == fd]
    for e in moved:  # each within a slice of the task, on the same worker
        assert any(s["tid"] == e["tid"] and s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in slices), e
    waits = [e for e in events if e["ph"] in "be" and e["name"] == f"reads fd {fd}"]
    return slices, sorted(moved, key=lambda e: e["ts"]), waits


def reads_of(flight):
    return [e["args"]["bytes"] for e in flight[1] if e["name"] == "read"]


def test_trace():
    """The way of each request is in the trace that is written at the end."""
    path = os.path.join(WORK, "trace.json")
    with Server("--trace", path) as server:
        with server.client() as client:
            for _ in range(3):
                client.send(GET)
                expect(client.answer(), 200, HELLO)
            while not any(n for (name, _), n in metrics(server).items() if name == "thrum_poll_events_total"):
                pass  # all had come already when the server looked
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    fds = {e["args"]["fd"] for e in events if e["ph"] == "i" and e["name"] == "read"}
    flights = [flight_of(events, fd) for fd in fds]
    # Those that asked for the counters have had another descriptor, perhaps one for several.
    slices, moved, waits = next(f for f in flights if reads_of(f) == [len(GET)] * 3)
    assert [e["name"] for e in moved] == ["read", "write"] * 3, moved
    ids = {s["args"]["id"] for s in slices}
    assert len(ids) == 1 and {e["id"] for e in waits} <= ids  # one task, and its waits, if there were any
    assert any(e["ph"] == "i" and e["name"] == "poll" and e["args"]["events"] >= 1 for e in events)
    # A file that cannot be made is reported before the server tries to listen.
    done = subprocess.run([*COMMAND, "-a", "nowhere", "--trace", os.path.join(WORK, "no", "trace.json")], capture_output=True)
    assert done.returncode == 1 and re.fullmatch(rb"httpd: .*trace\.json: .*\r?\n", done.stderr), done
