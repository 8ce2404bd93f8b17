"""Connections that end, that are many, and the end of the server."""

import contextlib
import resource
import signal
import socket
import struct
import subprocess
import time

from talk import BIG, END, GET, HELLO, HUGE, Server, WINE, end_with_us, chunked, connections, expect, post, sized


def test_half_close(server):
    with server.client(GET + sized(b"last")) as client:
        client.socket.shutdown(socket.SHUT_WR)
        expect(client.answer(), 200, HELLO)
        expect(client.answer(), 200, b"last")
        assert client.rest() == b""


def test_resets(server):
    """Connections that end by a reset, wherever they are, do no harm."""
    def reset(client):
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()

    huge = b"GET /huge HTTP/1.1\r\nHost: h\r\n\r\n"
    for text in (b"", b"GET /hel", GET, GET * 1000, post(b"abc", "Content-Length: 1000"),
                 chunked(b"abc")[:-3], huge * 3):
        for _ in range(5):
            reset(server.client(text))
    for half in (False, True):  # half closed before, the system says EPIPE, and may raise SIGPIPE
        client = server.client(huge)
        client.head()
        if half:
            client.socket.shutdown(socket.SHUT_WR)
        reset(client)
    while b"\nhttpd_connections 1\n" not in server.get("/metrics").body:  # the one that asks
        pass


def test_few_descriptors():
    """A hundred connections where 64 descriptors are: they wait, and all are served. Some systems let no more than 128 wait."""
    def few():
        end_with_us()
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with Server("-n", "2", setup=few) as server:
        clients = [server.client() for _ in range(100)]
        for i, client in enumerate(clients):
            client.send(GET if i % 2 else b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
        for i, client in enumerate(clients):
            expect(client.answer(), 200, HELLO if i % 2 else BIG)
        for client in clients:
            client.socket.close()
        assert server.client().lives()


def test_one_connection_at_a_time():
    """When others wait for its place, a connection is not kept."""
    with Server("-c", "1") as server:
        with server.client(GET + GET[:-1]) as first:
            expect(first.answer(), 200, HELLO, Connection=None)
            with server.client() as second:
                while not any(own == server.port and other == 0 and waiting for own, other, waiting in connections()):
                    pass  # until the system has the second one in the listener's queue
                first.send(GET[-1:])
                expect(first.answer(), 200, HELLO, Connection="close")
                assert second.lives()


def test_idle_connections_make_room():
    """Where places are few, who has been answered and is idle does not keep one for long."""
    with Server("-c", "4", "--idle-time", "86400") as server:
        idle = [server.client() for _ in range(4)]
        for client in idle:
            assert client.lives()
        with server.client() as client:
            assert client.lives()
        for client in idle:
            client.socket.close()


def test_end():
    """When it is told to end, idle connections end, and what has begun is answered."""
    with Server() as server:
        idle = [server.client(GET) for _ in range(10)]
        for client in idle:
            expect(client.answer(), 200, HELLO, Connection=None)
        clients = [server.client(GET + text) for text in
                   (b"GET /hel", post(b"", "Content-Length: 5"), post(b"5\r\nhe", "Transfer-Encoding: chunked"))]
        for client in clients:
            expect(client.answer(), 200, HELLO)
        huge = server.client(b"GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
        waits = server.client(post(b"", "Content-Length: 2", "Expect: 100-continue"))
        expect(waits.answer(), 100)
        server.process.send_signal(END)
        for client in idle:
            assert client.rest() == b""
        # From now on they know that it ends.
        rests = (b"lo HTTP/1.1\r\nHost: h\r\n\r\n", b"hello", b"llo\r\n0\r\n\r\n")
        for client, rest, body in zip(clients, rests, (HELLO, b"hello", b"hello")):
            client.send(rest)
            expect(client.answer(), 200, body, Connection="close")
            assert client.rest() == b""
        waits.send(b"ab" + GET)  # the second one has been sent before the first was answered
        expect(waits.answer(), 200, b"ab", Connection=None)
        expect(waits.answer(), 200, HELLO, Connection="close")
        assert len(huge.answer().body) == HUGE
        assert server.process.wait() == 0


def test_end_by_force():
    """What has begun and does not end is cut off; a second signal ends all at once."""
    with Server("--drain-time", "0.1", status=1, stderr=rb"cut off") as server:
        with server.client(GET + b"GET /") as client:
            expect(client.answer(), 200, HELLO)
            server.process.send_signal(END)
            assert client.rest() == b""
            server.process.wait()
    killed = 0 if WINE else -signal.SIGINT  # wine says nothing of it
    with Server("--head-time", "1000", "--drain-time", "1000", status=killed) as server:
        with server.client(GET) as idle, server.client(GET + b"GET /") as client:
            expect(idle.answer(), 200, HELLO)
            expect(client.answer(), 200, HELLO)
            server.process.send_signal(signal.SIGINT)
            assert idle.rest() == b""
            while server.process.poll() is None:  # not at once: see the next test
                server.process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.process.wait(0.1)  # to wine each is a thread
            assert client.rest() == b""


def test_end_told_twice():
    """A second signal within a second is none: timeout(1) sends two."""
    done = False
    while not done:  # unless this process or the server was held up for a second
        with Server() as server, server.client(GET) as idle, server.client(GET + b"GET /hello") as client:
            expect(idle.answer(), 200, HELLO)
            expect(client.answer(), 200, HELLO)
            told = time.monotonic()
            server.process.send_signal(END)
            assert idle.rest() == b""
            server.process.send_signal(signal.SIGINT)
            try:
                client.send(b" HTTP/1.1\r\nHost: h\r\n\r\n")
                expect(client.answer(), 200, HELLO, Connection="close")
                assert client.rest() == b""
                done = True
            except (AssertionError, OSError):
                if time.monotonic() - told < 1:
                    raise
                server.process.kill()
                server.status = server.process.wait()
