"""The tests of examples/kv: kv.py BINARY; examples/time/kv.c tests its times. Nothing waits for a fixed time: what takes a
while is asked for again, and what never comes is ended by the limit of the whole test, before which faulthandler says
where that is."""
import faulthandler
import random
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager, suppress


WIDE = ("-d", "86400", "-w", "86400", "-i", "86400")  # limits that no test reaches; a test of one sets its own


class Gone(Exception):
    """The server has closed the connection."""


class Wrong(str):
    """An error that the server has answered."""


def encode(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    def __init__(self, port, receive_buffer=0):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.heard = b""

    def more(self):
        try:
            got = self.socket.recv(65536)
        except ConnectionResetError:
            got = b""
        if not got:
            raise Gone
        self.heard += got

    def line(self):
        while b"\r\n" not in self.heard:
            self.more()
        line, self.heard = self.heard.split(b"\r\n", 1)
        return line

    def answer(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Wrong(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        assert kind == b"$", line
        if rest == b"-1":
            return None
        size = int(rest)
        while len(self.heard) < size + 2:
            self.more()
        text, end = self.heard[:size], self.heard[size:size + 2]
        self.heard = self.heard[size + 2:]
        assert end == b"\r\n"
        return text

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass  # the answer tells what the server thought of it

    def end_sending(self):
        with suppress(OSError):  # it may have been reset
            self.socket.shutdown(socket.SHUT_WR)

    def ask(self, *words):
        self.send(encode(*words))
        return self.answer()

    def expect_end(self):
        try:
            while True:
                self.more()
        except Gone:
            self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Server:
    def __init__(self, *options, files=None):
        def limit():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.process = subprocess.Popen([sys.argv[1], *WIDE, *options, "tcp:127.0.0.1:0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        line = self.process.stdout.readline()
        assert line.startswith("listening at tcp:127.0.0.1:"), (line, self.process.stderr.read())
        self.port = int(line.rsplit(":", 1)[1])

    def end(self, status=0, says=""):
        self.process.terminate()
        self.expect(status, says)

    def expect(self, status=0, says=""):
        _, said = self.process.communicate()
        assert self.process.returncode == status, (self.process.returncode, said)
        assert says in said if says else said == "", said


@contextmanager
def serving(*options, **how):
    server = Server(*options, **how)
    try:
        yield server
        server.end()
    finally:
        server.process.kill()
        server.process.wait()


def until(what):
    """Asks again until it is so."""
    while not what():
        pass


def info(client, name):
    for line in client.ask("INFO").decode().split("\r\n"):
        if line.startswith(name + ":"):
            return int(line.split(":")[1])
    raise KeyError(name)


class Left(int):
    """The seconds that a key has left: one that was set, with so many, since these tests began."""

    def __eq__(self, got):
        return 0 < int(got) <= int(self)


OK = "OK"
SYNTAX = Wrong("ERR syntax error")
NUMBER = Wrong("ERR value is not an integer or out of range")
GREATEST = 2**63 - 1
# Requests in this order, and their answers.
COMMANDS = [
    ("PING", "PONG"), ("ping", "PONG"), (("PING", "x"), b"x"), (("ECHO", ""), b""), (("ECHO", b"a\0\r\nb"), b"a\0\r\nb"),
    (("GET", "a"), None), (("SET", "a", "1"), OK), (("GET", "a"), b"1"), (("get", "A"), None),
    (("SET", "", ""), OK), (("GET", ""), b""), (("DEL", ""), 1),
    (("SET", b"\0\xff\r\n", b"\r\n$-1\r\n"), OK), (("GET", b"\0\xff\r\n"), b"\r\n$-1\r\n"), (("DEL", b"\0\xff\r\n"), 1),
    (("SET", "a", "2", "NX"), None), (("GET", "a"), b"1"), (("SET", "b", "2", "XX"), None), (("GET", "b"), None),
    (("SET", "b", "2", "nx"), OK), (("SET", "b", "3", "xx"), OK), (("GET", "b"), b"3"),
    (("SET", "b", "4", "GET"), b"3"), (("SET", "c", "1", "GET"), None), (("SET", "c", "2", "NX", "GET"), b"1"),
    (("GET", "c"), b"1"), (("SET", "d", "1", "XX", "GET"), None), (("EXISTS", "d"), 0),
    (("SET", "a", "1", "NX", "XX"), SYNTAX), (("SET", "a", "1", "EX"), SYNTAX), (("SET", "a", "1", "what"), SYNTAX),
    (("SET", "a", "1", "EX", "1", "PX", "1"), SYNTAX), (("SET", "a", "1", "EX", "1", "KEEPTTL"), SYNTAX),
    (("SET", "a", "1", "EX", "x"), NUMBER), (("SET", "a", "1", "EX", "0"), Wrong("ERR invalid expire time in 'set' command")),
    (("SET", "a", "1", "PX", "-5"), Wrong("ERR invalid expire time in 'set' command")),
    (("SET", "a", "1", "EX", GREATEST), Wrong("ERR invalid expire time")),
    (("SET", "a"), Wrong("ERR wrong number of arguments for 'set' command")), (("GET", "a"), b"1"),
    (("EXISTS", "a", "b", "nothing", "a"), 3), (("DEL", "b", "c", "nothing"), 2), (("DBSIZE",), 1),
    (("MSET", "x", "1", "y", "2"), OK), (("MGET", "x", "nothing", "y"), [b"1", None, b"2"]),
    (("MSET", "x", "1", "y"), Wrong("ERR wrong number of arguments for 'mset' command")),
    (("INCR", "n"), 1), (("INCR", "n"), 2), (("DECR", "n"), 1), (("INCRBY", "n", "41"), 42), (("DECRBY", "n", "2"), 40),
    (("GET", "n"), b"40"), (("INCRBY", "n", "x"), NUMBER), (("INCRBY", "n", "01"), NUMBER), (("INCRBY", "n", ""), NUMBER),
    (("INCRBY", "n", 2**63), NUMBER), (("SET", "n", GREATEST), OK),
    (("INCR", "n"), Wrong("ERR increment or decrement would overflow")), (("GET", "n"), b"%d" % GREATEST),
    (("SET", "n", -2**63), OK), (("DECR", "n"), Wrong("ERR increment or decrement would overflow")), (("INCR", "n"), 1 - 2**63),
    (("DECRBY", "n", -2**63), Wrong("ERR decrement would overflow")), (("SET", "n", "x"), OK), (("INCR", "n"), NUMBER),
    (("SET", "n", " 1"), OK), (("INCR", "n"), NUMBER), (("SET", "n", "-0"), OK), (("INCR", "n"), NUMBER),
    (("TTL", "x"), -1), (("PTTL", "nothing"), -2), (("EXPIRE", "nothing", "1"), 0), (("EXPIRE", "x", "1000"), 1),
    (("TTL", "x"), Left(1000)), (("SET", "x", "2", "KEEPTTL"), OK), (("TTL", "x"), Left(1000)), (("INCR", "x"), 3),
    (("TTL", "x"), Left(1000)),
    (("PEXPIRE", "x", "2000000"), 1), (("TTL", "x"), Left(2000)), (("PERSIST", "x"), 1), (("PERSIST", "x"), 0), (("TTL", "x"), -1),
    (("SET", "x", "2", "EX", "500"), OK), (("TTL", "x"), Left(500)), (("SET", "x", "2"), OK), (("TTL", "x"), -1),
    (("EXPIRE", "x", GREATEST), Wrong("ERR invalid expire time")), (("EXPIRE", "x", "y"), NUMBER), (("EXPIRE", "x", "-1"), 1),
    (("EXISTS", "x"), 0), (("SELECT", "0"), OK), (("SELECT", "1"), Wrong("ERR DB index is out of range")), (("SELECT", "x"), NUMBER),
    (("COMMAND",), []), (("COMMAND", "DOCS"), []), (("CONFIG", "GET", "save"), [b"save", b""]),
    (("CONFIG", "GET", "appendonly"), [b"appendonly", b"no"]), (("CONFIG", "GET", "other"), []),
    (("CONFIG", "SET", "a", "b"), Wrong("ERR unknown subcommand or wrong number of arguments")),
    (("CLIENT", "SETNAME", "me"), OK), (("CLIENT", "KILL"), Wrong("ERR unknown subcommand")),
    (("HELLO", "3"), Wrong("NOPROTO unsupported protocol version")),
    (("NONSENSE", "x"), Wrong("ERR unknown command 'NONSENSE'")), (("A\r\n+B",), Wrong("ERR unknown command 'A??+B'")),
    ((b"GET\0",), Wrong("ERR unknown command 'GET?'")), (("",), Wrong("ERR unknown command ''")),
    (("x" * 1000,), Wrong("ERR unknown command '%s'" % ("x" * 64))),
    (("GET",), Wrong("ERR wrong number of arguments for 'get' command")), (("FLUSHALL",), OK), (("DBSIZE",), 0),
    (("QUIT",), OK),
]


def words_of(request):
    return (request,) if isinstance(request, str) else request


def test_each_command_answers_as_it_should(server):
    client = Client(server.port)
    for request, answer in COMMANDS:
        got = client.ask(*words_of(request))
        kind = int if isinstance(answer, Left) else type(answer)
        assert answer == got and type(got) is kind, (request, got, answer)
    client.expect_end()
    client = Client(server.port)
    assert client.ask("HELLO", "2")[:2] == [b"server", b"kv"] and client.ask("HELLO")[-2:] == [b"proto", 2]
    assert info(client, "connected_clients") >= 1


def test_pipelined_commands_answer_the_same(server):
    client = Client(server.port)
    client.send(b"".join(encode(*words_of(request)) for request, _ in COMMANDS))
    for request, answer in COMMANDS:
        assert answer == client.answer(), request
    client.expect_end()


def test_lines_are_requests_too(server):
    client = Client(server.port)
    client.send(b"\r\n \nPING\r\nset line  a\t\nGET line\nDEL line\r\nwhat is this\r\n")
    answers = [client.answer() for _ in range(5)]
    assert answers == ["PONG", OK, b"a", 1, Wrong("ERR unknown command 'what'")], answers


def test_a_request_may_be_cut_anywhere(server):
    """The answer to a PING before the first part shows that the two parts were read apart."""
    client = Client(server.port)
    parts = encode("SET", "cut", "some text\r\n") + b"GET cut\r\n" + encode("DEL", "cut", "x")
    for at in range(len(parts) + 1):
        client.send(encode("PING") + parts[:at])
        assert client.answer() == "PONG"
        client.send(parts[at:])
        assert [client.answer() for _ in range(3)] == [OK, b"some text\r\n", 1], at
    client.send(b"".join(bytes([b]) for b in parts))
    assert [client.answer() for _ in range(3)] == [OK, b"some text\r\n", 1]


def test_garbage_is_answered_and_sent_away(server):
    for garbage, why in [
            (b"*1000000\r\n", "invalid multibulk length"), (b"*1025\r\n", "invalid multibulk length"),
            (b"*x\r\n", "invalid multibulk length"), (b"*\r\n", "invalid multibulk length"), (b"*1\n", "invalid multibulk length"),
            (b"*99999999999999999999\r\n", "invalid multibulk length"), (b"*" + b"1" * 100, "invalid multibulk length"),
            (b"*1\r\n$999999999999\r\n", "invalid bulk length"), (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$9999999999999999999999\r\n", "invalid bulk length"), (b"*1\r\n$ 1\r\n", "invalid bulk length"),
            (b"*1\r\n$%d\r\n" % (2**63 - 1), "invalid bulk length"), (b"*1\r\n+PING\r\n", "expected '$'"),
            (b"*2\r\n$3\r\nGET\r\n:1\r\n", "expected '$'"), (b"*1\r\n$3\r\nPING\r\n", "an argument is longer than announced"),
            (b"x" * 5000, "too big inline request"), (b"\0" * 100000, "too big inline request"),
            (b"a " * 1025 + b"\n", "too many arguments")]:
        client = Client(server.port)
        client.send(garbage)
        answer = client.answer()
        assert answer == Wrong("ERR Protocol error: " + why), (garbage[:40], answer)
        client.expect_end()
    client = Client(server.port)
    client.send(b"*0\r\n*-5\r\n" + encode("PING"))
    assert client.answer() == "PONG"
    client.send(b"POST / HTTP/1.1\r\nHost: here\r\n\r\nFLUSHALL\r\n")
    assert client.answer() == Wrong("ERR unknown command 'POST'")
    client.expect_end()
    assert client.heard == b""


def test_random_bytes_do_no_harm(server):
    dice = random.Random(1)
    pieces = [b"*", b"$", b"\r\n", b"1", b"3", b"GET", b"SET", b" ", b"\0", b"\n", b"-", b"99", encode("PING")]
    for _ in range(200):
        client = Client(server.port)
        data = b"".join(dice.choice(pieces) for _ in range(dice.randrange(60)))
        client.send(data if dice.random() < 0.7 else dice.randbytes(len(data)))
        client.end_sending()
        client.expect_end()
    assert Client(server.port).ask("PING") == "PONG"


def test_large_values_and_slow_readers(server):
    """One that does not read holds nobody up, and gets all of it in the end."""
    value = random.Random(2).randbytes(1 << 20)
    slow, other = Client(server.port, 4096), Client(server.port)
    assert other.ask("SET", "large", value) == OK
    slow.send(encode("GET", "large") * 4 + encode("MGET", "large", "none", "large"))
    assert other.ask("SET", "large", "small") == OK and other.ask("GET", "large") == b"small"
    assert other.ask("SET", "large", value) == OK
    for _ in range(4):
        assert slow.answer() in (value, b"small")
    assert slow.answer()[1] is None
    for size in list(range(16300, 16400)) + [4096, 65535, 65536, 65537]:
        assert other.ask("SET", "large", value[:size]) == OK and other.ask("GET", "large") == value[:size]
    other.ask("FLUSHALL")


def test_resets_leave_nothing_behind(server):
    client = Client(server.port)
    value = b"x" * 300000
    for i in range(50):
        guest = Client(server.port)
        guest.send([encode("PING"), b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$300000\r\n" + value[:100000 * (i % 3)],
                    encode("SET", "large", value) + encode("GET", "large") * 10, b"*"][i % 4])
        guest.reset()
    # The last ones may be taken only now.
    until(lambda: client.ask("FLUSHALL") == OK and info(client, "connected_clients") == 1 and
          info(client, "used_memory") == 0 and info(client, "used_memory_requests") == 0)


def test_additions_meet_nobody(server):
    clients = [Client(server.port) for _ in range(8)]
    for client in clients:
        client.send(encode("INCR", "sum") * 500)
    last = [[client.answer() for _ in range(500)][-1] for client in clients]
    assert max(last) == 4000 and clients[0].ask("DEL", "sum") == 1


def test_expired_keys_are_removed(server):
    """Nobody asks for them."""
    client = Client(server.port)
    client.send(b"".join(encode("SET", "soon%d" % i, "1", "PX", "20") for i in range(5000)))
    assert all(client.answer() == OK for i in range(5000))
    client.ask("SET", "stays", "1", "EX", "1000")
    until(lambda: client.ask("DBSIZE") == 1)
    assert client.ask("DEL", "stays") == 1
    until(lambda: info(client, "used_memory") == 0)  # what is swept is freed after it has gone from the table


def test_memory_has_a_limit():
    with serving("-m", "1m", "-v", "900k") as server:
        client = Client(server.port)
        assert client.ask("SET", "kept", "1") == OK
        for i in range(1000):
            answer = client.ask("SET", "key%d" % i, b"x" * 10000)
            if answer != OK:
                break
        assert isinstance(answer, Wrong) and answer.startswith("OOM"), answer
        assert i > 50 and client.ask("GET", "kept") == b"1" and client.ask("DBSIZE") == i + 1
        assert client.ask("MSET", "kept", "2", "other", b"x" * 20000).startswith("OOM")
        assert client.ask("FLUSHALL") == OK and info(client, "used_memory") == 0
        # Keys alone, until a table cannot grow.
        answers = []
        for some in range(0, 20000, 500):  # the answers to so few have room, however little the system keeps
            client.send(b"".join(encode("SET", "k%d" % i, "") for i in range(some, some + 500)))
            answers += [client.answer() for _ in range(500)]
        assert client.ask("DBSIZE") == answers.count(OK) < 20000 and client.ask("GET", "k0") == b""
        assert client.ask("FLUSHALL") == OK and info(client, "used_memory") == 0
        # Requests whose end does not come.
        guests = [Client(server.port) for _ in range(10)]
        for guest in guests:
            guest.send(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$900000\r\n" + b"x" * 300000)
        until(lambda: info(client, "used_memory_requests") > 0)
        refused = select.select([guest.socket for guest in guests], [], [])[0]
        assert refused
        for guest in guests:
            if guest.socket in refused:
                assert guest.answer().startswith("OOM")
            guest.socket.close()
        until(lambda: info(client, "used_memory_requests") == 0)


def test_requests_have_a_limit():
    with serving("-v", "100k") as server:
        client = Client(server.port)
        assert client.ask("ECHO", b"x" * 102400) == b"x" * 102400
        client.send(b"*2\r\n$4\r\nECHO\r\n$102401\r\n")
        assert client.answer() == Wrong("ERR Protocol error: invalid bulk length")
        client.expect_end()
        client = Client(server.port)
        client.send(encode("MSET", "a", b"x" * 100000, "b", b"x" * 100000))
        assert client.answer() == Wrong("ERR Protocol error: too big request")
        client.expect_end()


def test_few_descriptors_serve_many():
    with serving(files=64) as server:
        guests = {}
        for _ in range(100):  # some systems let no more than 128 wait
            guest = Client(server.port)
            guest.send(encode("PING"))
            guests[guest.socket] = guest
        while guests:
            for each in select.select(list(guests), [], [])[0]:
                assert guests.pop(each).answer() == "PONG"
                each.close()


def test_the_end_waits_for_what_has_begun():
    server = Server()
    idle, busy = Client(server.port), Client(server.port)
    assert idle.ask("PING") == "PONG"
    busy.send(encode("PING") + b"*2\r\n$4\r\nEC")
    assert busy.answer() == "PONG"
    server.process.terminate()
    idle.expect_end()
    busy.send(b"HO\r\n$2\r\nhi\r\n")
    assert busy.answer() == b"hi"
    busy.expect_end()
    server.expect()


def test_the_end_does_not_wait_for_ever():
    """Neither for the rest of a request nor for a client that does not read."""
    server = Server("-d", "0.1")
    deaf = Client(server.port, 4096)
    assert deaf.ask("SET", "large", b"x" * (8 << 20)) == OK
    deaf.send(encode("GET", "large") * 100)
    busy = Client(server.port)
    busy.send(encode("PING") + b"*2\r\n$4\r\nEC")
    assert busy.answer() == "PONG"
    server.end(1, "kv: some connections were cut off")


def test_wrong_command_lines():
    for words in [["-m", "x"], ["-m", "1t"], ["-m", "0"], ["-v", "1g"], ["-c", "-1"], ["-i", "99999999999"], ["-z"], ["a", "b"]]:
        run = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
        assert run.returncode == 2 and "usage: kv" in run.stderr, words
    run = subprocess.run([sys.argv[1], "nowhere"], capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("kv: "), run.stderr


def test_redis_benchmark(server):
    if not shutil.which("redis-benchmark"):
        return
    for pipeline in ("1", "16"):
        run = subprocess.run(["redis-benchmark", "-p", str(server.port), "-n", "2000", "-P", pipeline, "--csv", "-t",
                              "ping,set,get,incr,mset"], capture_output=True, text=True)
        assert run.returncode == 0 and run.stdout.count("\n") == 7 and "rror" not in run.stderr + run.stdout, run
    run = subprocess.run(["redis-cli", "-p", str(server.port), "get", "key:__rand_int__"], capture_output=True, text=True)
    assert run.returncode == 0 and len(run.stdout) == 4, run
    Client(server.port).ask("FLUSHALL")


def main():
    faulthandler.dump_traceback_later(100)
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    with serving() as server:
        for name, test in tests:
            if test.__code__.co_argcount:
                begin = time.monotonic()
                test(server)
                print("%-50s %.2f s" % (name, time.monotonic() - begin))
    for name, test in tests:
        if not test.__code__.co_argcount:
            begin = time.monotonic()
            test()
            print("%-50s %.2f s" % (name, time.monotonic() - begin))


main()
