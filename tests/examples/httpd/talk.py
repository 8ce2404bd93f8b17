"""Servers, and clients that talk to them."""

import contextlib
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from full_pipe import full_pipe

BINARY = os.path.abspath(sys.argv[1])
WINE = BINARY.endswith(".exe")
COMMAND = [os.path.join(os.path.dirname(__file__), "../../../tools/run/wine"), BINARY] if WINE else [BINARY]
# What tells it to end in order: to wine SIGINT is Control-C, and SIGTERM kills.
END = signal.SIGINT if WINE else signal.SIGTERM
WORK = tempfile.mkdtemp(prefix="httpd-test.")
ROOT = os.path.join(WORK, "root")
HELLO = b"Hello, world!\n"
BIG = random.Random(2).randbytes(300000)
GET = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"
HUGE = 64 << 20  # more than the system keeps for any connection


def end_with_us():
    """In a server: when these tests are killed, it is, too (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


# Limits that no test reaches on any machine; a test of a limit sets its own behind these.
WIDE = [word for name in ("head", "body", "write", "drain", "idle", "linger", "linger-idle")
        for word in (f"--{name}-time", "86400")]


def connections():
    """What the system knows of IPv4 connections: (own port, port of the other side, bytes that nobody has read); of a
    listener the last is how many connections wait."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [row.split() for row in file.readlines()[1:]]
    return [(int(row[1][-4:], 16), int(row[2][-4:], 16), int(row[4][9:], 16)) for row in rows]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def first_line(path):
    while not (text := read(path)).endswith(b"\n"):
        pass
    return text


class Server:
    """A server of its own; at the end of the block it is told to end, and must do so in order."""

    def __init__(self, *options, status=0, log=False, setup=end_with_us, root=True, stderr=None, out=None, err=None,
                 command=None):
        self.status, self.says = status, stderr
        quiet = [] if log else ["-q"]
        arguments = [*(command or COMMAND), "-a", "tcp:127.0.0.1:0", *WIDE, *quiet, *options] + ([ROOT] if root else [])
        # The thread sanitizer waits for a second at the end of each program.
        given = os.environ.get("TSAN_OPTIONS", "")
        self.process = subprocess.Popen(
            arguments, stdout=out or subprocess.PIPE, stderr=err or subprocess.PIPE, preexec_fn=setup,
            env={**os.environ, "TSAN_OPTIONS": given + " atexit_sleep_ms=20"})
        first = (first_line(out.name) if out else self.process.stdout.readline()).decode()
        self.port = int(re.fullmatch(r"listening at tcp:127\.0\.0\.1:(\d+)\n", first).group(1))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        self.end()

    @contextlib.contextmanager
    def held(self):
        """Stands still in the block: all that is sent there has come before the server sees any of it."""
        if WINE:  # whose programs are not stopped by a signal to one process
            yield
            return
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def client(self, text=b"", **options):
        return Client(self.port, text, **options)

    def one(self, text, method="GET"):
        """Sends one request, reads its answer, and what follows until the end."""
        with self.client() as client:
            client.send_all(text)
            answer = client.answer(method)
            rest = client.rest()
            assert rest == b"", rest
            return answer

    def get(self, path, *fields, method="GET"):
        lines = [f"{method} {path} HTTP/1.1", "Host: h", *fields, "", ""]
        return self.one("\r\n".join(lines).encode("latin-1"), method)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(END)
        out, err = self.process.communicate()
        self.said = err
        if self.process.returncode != -signal.SIGKILL:
            assert self.process.returncode == self.status, (self.process.returncode, err)
            assert not err if self.says is None else re.search(self.says, err), err
        return out


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def __repr__(self):
        return f"{self.status} {self.fields} {self.body[:60]!r}"


class Client:
    def __init__(self, port, text=b"", receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", port))
        self.come = b""
        self.send(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text)

    def send_all(self, text):
        """Sends a text and its end; if the server does not take all of it, the answer says why."""
        with contextlib.suppress(OSError):
            self.send(text)
            self.socket.shutdown(socket.SHUT_WR)

    def more(self):
        piece = self.socket.recv(1 << 20)
        self.come += piece
        return piece != b""

    def head(self):
        """Reads a status line with its fields."""
        while b"\r\n\r\n" not in self.come:
            assert self.more(), ("the end", self.come)
        head, self.come = self.come.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        assert first.startswith("HTTP/1.1 "), first
        fields = {}
        for line in lines:
            name, value = line.split(": ", 1)
            assert name not in fields, name
            fields[name] = value
        return int(first[9:12]), fields

    def send_cut(self, text, cut):
        """Sends a text in two pieces, the second once the server has read the first and wants more, or has refused it: an
        answer to a request before it goes out only then."""
        self.send(GET + text[:cut])
        expect(self.answer(), 200, HELLO)
        self.send(text[cut:])

    def answer(self, method="GET"):
        status, fields = self.head()
        if status == 100:
            assert fields == {}
            return Answer(status, fields, b"")
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", fields["Date"])
        assert status == 304 or "Content-Length" in fields
        size = 0 if method == "HEAD" else int(fields.get("Content-Length", 0))
        pieces, have = [self.come], len(self.come)
        while have < size:
            piece = self.socket.recv(1 << 20)
            assert piece, "the end in the middle of an answer"
            pieces.append(piece)
            have += len(piece)
        everything = b"".join(pieces)
        self.come = everything[size:]
        return Answer(status, fields, everything[:size])

    def rest(self):
        """Reads until the end; a reset is one, too."""
        try:
            while self.more():
                pass
        except ConnectionResetError:
            pass
        rest, self.come = self.come, b""
        return rest

    def lives(self):
        """Whether the connection goes on."""
        self.send(GET)
        return self.answer().body == HELLO


def expect(answer, status, body=None, **fields):
    assert answer.status == status, (status, answer)
    assert body is None or answer.body == body, (body, answer)
    for name, value in fields.items():
        found = answer.fields.get(name.replace("_", "-"))
        assert found == value, (name, value, answer)


def post(body, *fields, path="/echo", version="1.1"):
    lines = [f"POST {path} HTTP/{version}", "Host: h", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def sized(body):
    return post(body, f"Content-Length: {len(body)}")


def chunked(*chunks, trailer=b""):
    text = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return post(text + b"0\r\n" + trailer + b"\r\n", "Transfer-Encoding: chunked")
