#!/usr/bin/env python3
"""
The sessions of docs/tutorial: each is what the program of its step prints, and what its clients get.

  tests/examples/tutorial.py FOLDER [--write] [STEP...]

FOLDER has the programs of examples/tutorial. A block behind `<!-- session: STEP -->` must be what happens now, but for the
port, which is the system's choice here; in the sessions of the tools also but for numbers, spaces and the order of lines.
--write puts what happens now into the pages. No client sleeps: each awaits a line that shows what it needs.
"""
import argparse
import contextlib
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
USER = os.path.join(ROOT, "tools", "user")
PAGES = os.path.join(ROOT, "docs", "tutorial")
PORT = "7777"  # of the pages
CERTIFICATE = [
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \\",
    "      -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out chain.pem 2>/dev/null"]
S_CLIENT = [
    "openssl s_client -quiet -verify_quiet -verify_return_error -verify_hostname localhost \\",
    "      -CAfile chain.pem -servername localhost -connect 127.0.0.1:%s"]


class Terminal:
    """A terminal of the reader's: the lines that it shows, the first one being a command."""

    def __init__(self, *command):
        self.lines = ["$ " + command[0], *command[1:]]

    def shows(self, stream, words):
        """Takes lines until one has these words, which then is returned; None: until the end."""
        for line in iter(stream.readline, ""):
            self.lines.append(line.rstrip("\n"))
            if words is not None and words in line:
                return line
        assert words is None, "\n".join(["no line has '%s':" % words, *self.lines])
        return None


class Server(Terminal):
    def __init__(self, step, *arguments, shown=None):
        super().__init__(shown or "./" + step)
        environment = {**os.environ, "THRUM_OBSERVE": "1" if "OBSERVE" in self.lines[0] else "0", "THRUM_WORKERS": "2"}
        self.process = subprocess.Popen([os.path.join(FOLDER, step), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=environment)
        self.port = self.shows(self.process.stdout, "listening at").strip().split(":")[-1]
        self.lines = [line.replace(":" + self.port, ":" + PORT) for line in self.lines]

    def end(self):
        """At SIGTERM; its status is returned."""
        self.process.send_signal(signal.SIGTERM)
        self.shows(self.process.stdout, None)
        return self.process.wait()


class Client(Terminal):
    """As nc."""

    def __init__(self, server):
        super().__init__("nc 127.0.0.1 " + PORT)
        self.socket = socket.create_connection(("127.0.0.1", int(server.port)))
        self.input = self.socket.makefile("r", encoding="utf-8")

    def send(self, text):
        self.socket.sendall(text.encode() + b"\n")

    def types(self, text, words=None):
        """Sends a line, and takes lines until one has these words, or its own."""
        self.lines.append(text)
        self.send(text)
        self.gets(words or text)

    def gets(self, words):
        self.shows(self.input, words)

    def close(self):
        self.socket.shutdown(socket.SHUT_WR)
        self.shows(self.input, None)


class Encrypted(Client):
    def __init__(self, server, work):
        Terminal.__init__(self, *(line.replace("%s", PORT) for line in S_CLIENT))
        command = " ".join(S_CLIENT).replace("\\", "") % server.port
        self.process = subprocess.Popen(command.split(), cwd=work, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.input = self.process.stdout

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()


def session(*terminals):
    lines = []
    for terminal in terminals:
        lines += ["", *terminal.lines]
    return lines[1:]


def printed(step):
    terminal = Terminal("./" + step)
    done = subprocess.run([os.path.join(FOLDER, step)], text=True, check=True, capture_output=True)
    return [*terminal.lines, *done.stdout.splitlines()]


@contextlib.contextmanager
def ended(server):
    """Ends a server that its test has not ended."""
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def hello(_):
    return {"1-hello": printed("1-hello")}


def spawn(_):
    return {"2-spawn": printed("2-spawn")}


def listen(_):
    with ended(Server("3-listen", "tcp:127.0.0.1:0")) as server:
        client = Client(server)
        client.types("hello")
        client.types("is anybody here")
        return {"3-listen": session(server, client)}


def two_guests(step):
    with ended(Server(step, "tcp:127.0.0.1:0")) as server:
        ann = Client(server)
        ann.gets("joins")
        bob = Client(server)
        bob.gets("joins")
        ann.gets("joins")
        ann.types("hello", "guest 1: hello")
        bob.gets("hello")
        bob.types("hi guest 1", "guest 2: hi")
        ann.gets("guest 2: hi")
        bob.close()  # from its terminal: Ctrl-C
        ann.gets("leaves")
        return {step: session(server, ann, Bob(bob))}


class Bob(Terminal):
    """The same without the lines after the close, which may or may not come."""

    def __init__(self, client):
        last = max(i for i, line in enumerate(client.lines) if "leaves" not in line)
        self.lines = client.lines[:last + 1] + ["^C"]


def channel(_):
    return two_guests("4-channel")


def scope(_):
    return two_guests("5-scope")


def deadline(_):
    with ended(Server("6-deadline", "tcp:127.0.0.1:0", "1", shown=f"./6-deadline tcp:127.0.0.1:{PORT} 1")) as server:
        client = Client(server)
        client.shows(client.input, None)
        return {"6-deadline": session(server, client)}


def shutdown(_):
    with ended(Server("7-shutdown", "tcp:127.0.0.1:0")) as server:
        client = Client(server)
        client.gets("joins")
        client.types("hello", "guest 1: hello")
        status = server.end()
        client.shows(client.input, None)
        server.lines += ["$ echo $?", str(status)]
        other = Terminal("pkill 7-shutdown")
        return {"7-shutdown": session(server, other, client)}


def run(command, work):
    """What a command of the shell prints, with the tools of the user's."""
    environment = {**os.environ, "PATH": USER + ":" + os.environ["PATH"]}
    done = subprocess.run(["sh", "-c", command], cwd=work, text=True, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def tls(work):
    if not os.path.exists(os.path.join(FOLDER, "8-tls")):
        print("8-tls: left out, since it is not built")
        return {}
    run("\n".join(CERTIFICATE), work)
    trace = os.path.join(work, "trace.json")
    shown = f"THRUM_OBSERVE=1 ./8-tls chain.pem key.pem tcp:127.0.0.1:{PORT} 600 trace.json"
    with ended(Server("8-tls", os.path.join(work, "chain.pem"), os.path.join(work, "key.pem"), "tcp:127.0.0.1:0", "600", trace,
                      shown=shown)) as server:
        client = Encrypted(server, work)
        client.gets("joins")
        client.types("hello", "guest 1: hello")
        command = "thrum-top --once %s | grep -E '> .*(talk|_lines)'"
        waits = []
        while len(waits) != 3:  # they may be about to wait when it looks
            waits = [line.replace(":" + server.port, ":" + PORT) for line in run(command % server.process.pid + " || true", work)]
        waits = ["$ " + command % "8-tls", *waits]
        assert server.end() == 0
        client.shows(client.input, None)
    command = "thrum-timeline --functions trace.json | grep -E 'function|talk|_lines'"
    certificate = Terminal(*CERTIFICATE)
    return {"8-tls": session(certificate, server, client), "8-top": waits,
            "8-timeline": ["$ " + command, *run(command, work)]}


STEPS = {"1": hello, "2": spawn, "3": listen, "4": channel, "5": scope, "6": deadline, "7": shutdown, "8": tls}


def shape(name, lines):
    """What must be the same each time."""
    if name not in ("8-top", "8-timeline"):
        return lines
    return sorted(" ".join(re.sub(r"\d+(\.\d+)?( (s|ms|us|min)\b)?", "N", line).replace("N N", "N").split()) for line in lines)


def compare(name, lines, write):
    """Whether the page has these lines, or has them now."""
    for path in glob.glob(os.path.join(PAGES, "*.md")):
        with open(path, encoding="utf-8") as file:
            page = file.read()
        found = re.search(rf"<!-- session: {name} -->\n\n((?:    .*\n|\n(?=    ))*)", page)
        if not found:
            continue
        told = [line[4:] for line in found.group(1).splitlines()]
        if write:
            block = "".join(f"    {line}".rstrip() + "\n" for line in lines)
            with open(path, "w", encoding="utf-8") as file:
                file.write(page[:found.start(1)] + block + page[found.end(1):])
        elif shape(name, told) != shape(name, lines):
            print(f"{name}: the page does not say what happens:", *lines, sep="\n  ")
            return False
        print(f"{name}: ok")
        return True
    print(f"{name}: no page of docs/tutorial has this session:", *lines, sep="\n  ")
    return False


parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
parser.add_argument("folder")
parser.add_argument("steps", nargs="*", metavar="STEP")
parser.add_argument("--write", action="store_true", help="put the sessions into the pages")
asked = parser.parse_args()
FOLDER = os.path.abspath(asked.folder)
right = True
for number, step in STEPS.items():
    if not asked.steps or number in asked.steps:
        with tempfile.TemporaryDirectory() as folder:
            for title, happened in step(folder).items():
                right = compare(title, happened, asked.write) and right
sys.exit(0 if right else 1)
