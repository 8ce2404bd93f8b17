"""What the servers have in common, seen from outside, and what not: requests, answers, long and wrong things."""

import os
import re

CASES = ("echo", "httpd", "kv", "proxy")


class Echo:
    """Also the proxy's kind: there is an echo behind it."""
    name = "echo"
    says = None  # what may stand on stderr
    counts_fibers = False
    keeps_begun = False  # whether a request is known to be incomplete, and then waited for
    files_of_a_connection = 1

    def command(self, binary, address, _work):
        return [binary, address]

    def request(self, dice):
        """One that is small enough to be answered while others take all memory that there is for large ones."""
        return dice.randbytes(dice.choice((1, 10, 100, 5000)))

    def complete(self, request):
        """A function that tells how long the answer is, 0: not complete. It holds it against the request."""
        def answered(come):
            assert request.startswith(come[:len(request)]), "another's bytes"
            return len(request) if len(come) >= len(request) else 0
        return answered

    def prepare(self, client):
        """What the server must know before the attack."""
        yield from ()

    def heavy(self, dice):
        """What has a large answer."""
        return bytes(dice.choice((100000, 100000, 1000000)))

    def huge(self, dice):
        return dice.randbytes(100000)

    def wrong(self, dice):
        return dice.randbytes(dice.randrange(1, 3000))

    def check_idle(self, _server):
        pass


class Proxy(Echo):
    name = "proxy"
    says = re.compile(r"(proxy: tcp:\S+: .*\n)*")  # a target that cannot be reached
    files_of_a_connection = 2

    def __init__(self, target, options=(), echo=None):
        self.target, self.options = target, options
        self.echo = echo  # the program that its target is

    def command(self, binary, address, _work):
        return [binary, *self.options, address, self.target]


def mutate(data, dice):
    """The data with some of it lost, doubled, cut, or other."""
    data = bytearray(data)
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(data) + 1)
        to = min(len(data), at + dice.randrange(1, 10))
        what = dice.randrange(5)
        if what == 0:
            data[at:to] = dice.randbytes(to - at)
        elif what == 1:
            del data[at:to]
        elif what == 2:
            data[at:at] = data[at:to] * dice.choice((1, 2, 100))
        elif what == 3:
            data[at:at] = dice.choice((b"\r\n", b"\n", b"\0", b"-1", b"99999999999999999999", b":", b" ", b"*", b"$", b"\xff", b"%"))
        else:
            del data[at:]
    return bytes(data)


GET = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")


class Httpd(Echo):
    name = "httpd"
    says = re.compile(r"(httpd: \d+ lines of the log were lost\n)?")
    counts_fibers = True
    keeps_begun = True
    files_of_a_connection = 2  # and the one that it sends

    def command(self, binary, address, work):
        root = os.path.join(work, "root")
        os.makedirs(root, exist_ok=True)
        with open(os.path.join(root, "big"), "wb") as big:
            big.write(b"0123456789" * 100000)
        return [binary, "-a", address, root]

    def seeds(self):
        return [
            GET, b"HEAD /big HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            b"GET /big HTTP/1.1\r\nHost: h\r\nRange: bytes=10-1000\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n\r\n",
            b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789",
            b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
            b"GET /a/../%2e%2e/etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]

    def request(self, dice):
        return GET

    def complete(self, _request):
        body = b"Hello, world!\n"

        def answered(come):
            head = come.find(b"\r\n\r\n") + 4
            if head < 4:
                return 0
            size = int(LENGTH.search(come[:head])[1])
            if len(come) < head + size:
                return 0
            assert come.startswith(b"HTTP/1.1 200 ") and come[head:head + size] == body, come[:200]
            return head + size
        return answered

    def heavy(self, dice):
        return b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n" * dice.choice((1, 1, 10))

    def huge(self, dice):
        return dice.choice((
            b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"b" * 100000,
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000, b"A" * 100000, b"\r\n" * 50000,
            b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999\r\n\r\n" + b"c" * 100000,
            b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + b"c" * 100000,
            b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n" + b"d" * 100000,
            b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"e" * 100000))

    def wrong(self, dice):
        if dice.random() < 0.2:
            return super().wrong(dice)
        return b"".join(mutate(dice.choice(self.seeds()), dice) for _ in range(dice.randrange(1, 4)))

    def check_idle(self, server):
        numbers = server.metrics()
        assert numbers["httpd_connections"] == 1, "%d connections" % numbers["httpd_connections"]
        assert numbers["httpd_body_bytes"] == 0, "%d bytes of bodies" % numbers["httpd_body_bytes"]


def encode(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Kv(Echo):
    name = "kv"
    keeps_begun = True

    def command(self, binary, address, _work):
        return [binary, address]

    def prepare(self, client):
        yield from client.connect()
        yield from client.send(encode(b"SET", b"large", bytes(100000)))
        yield from client.answer(lambda come: 5 if come == b"+OK\r\n" else 0)

    def request(self, dice):
        return encode(b"ECHO", dice.randbytes(dice.choice((1, 10, 100, 5000))))

    def complete(self, request):
        wanted = request.split(b"ECHO\r\n", 1)[1]
        return Echo.complete(self, wanted)

    def heavy(self, dice):
        return encode(b"GET", b"large") * dice.choice((1, 1, 10))

    def huge(self, dice):
        return dice.choice((
            b"x" * 100000, b"*1" + b"0" * 100000, b"*1\r\n$" + b"9" * 100000, b"*1000000000\r\n", b"*1\r\n$1000000000000\r\n",
            b"*2\r\n$4\r\nECHO\r\n$100000\r\n" + b"y" * 99000, encode(b"ECHO", b"z" * 100000), b"*3\r\n" + b"$0\r\n\r\n" * 20000,
            b"*1024\r\n" + b"$100\r\n" + b"a" * 100000, encode(b"a" * 100000), b"\r\n" * 50000))

    def wrong(self, dice):
        if dice.random() < 0.2:
            return super().wrong(dice)
        key = b"%d" % dice.randrange(5)
        return b"".join(mutate(seed, dice) for seed in dice.sample([
            encode(b"SET", key, b"1" * dice.choice((1, 1000)), b"PX", b"10"), encode(b"GET", key), b"PING\r\n", encode(b"INCR", key),
            encode(b"MSET", key, b"1", b"b", b"2"), encode(b"MGET", key, b"b"), encode(b"EXPIRE", key, b"-1"), encode(b"DEL", key),
            encode(b"INFO"), encode(b"CONFIG", b"GET", b"save"), encode(b"HELLO", b"2"), encode(b"PTTL", key)], 3))
