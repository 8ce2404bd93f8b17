"""What the server tells: counters, its log, its command line."""

import re
import signal
import socket
import subprocess

from talk import BINARY, GET, HELLO, Server, expect

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? (\d+)')


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
            samples[name, labels] = int(value)
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
            with server.client(text) as client:
                client.socket.shutdown(socket.SHUT_WR)
                client.rest()
        lines = server.end().decode().splitlines()
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
        with server.client() as client:
            for _ in range(40):
                client.send(GET * 100)
                for _ in range(100):
                    expect(client.answer(), 200, HELLO)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()


def test_command_line():
    def run(*arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True)

    for wrong in (["--wrong"], ["-c"], ["-c", "0"], ["-c", "x"], ["--body", "-1"], ["--head", "1"],
                  ["--idle-time", "0"], ["--idle-time", "nan"], ["--idle-time", "1s"], ["a", "b"]):
        done = run(*wrong)
        assert done.returncode == 2 and done.stderr and not done.stdout, (wrong, done)
    done = run("--help")
    assert done.returncode == 0 and b"--head-time" in done.stdout
    for wrong in (["-a", "nowhere"], ["/none/there"], [BINARY]):
        done = run(*wrong)
        assert done.returncode == 1 and done.stderr.startswith(b"httpd: "), (wrong, done)
