"""Too much, and too slow."""

import contextlib

from refused import CHUNKED
from talk import END, GET, HELLO, HUGE, Server, chunked, expect, post, sized


def test_head_limit(server):
    def padded(size):
        return GET[:-2] + b"A: " + b"a" * (size - len(GET) - 5) + b"\r\n\r\n"

    expect(server.one(padded(16384)), 200, HELLO)
    expect(server.one(padded(16385)), 431, Connection="close")
    expect(server.one(padded(100000)), 431, Connection="close")
    expect(server.one(b"HEAD" + padded(16385)[3:], "HEAD"), 431, b"", Connection="close")
    with server.client(padded(16384) * 5) as client:
        for _ in range(5):
            expect(client.answer(), 200, HELLO)
    for path in (b"/" + b"a" * 20000, b"/" + b"a" * 2000):
        expect(server.one(b"GET " + path + b" HTTP/1.1\r\nHost: h\r\n\r\n"), 414)
    for path, status in ((b"/" + b"a" * 1022, 404), (b"/" + b"%61" * 1022, 404), (b"/" + b"a" * 1023, 414), (b"/" + b"%61" * 1023, 414)):
        expect(server.one(b"GET " + path + b"?" + b"q" * 5000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"), status, Connection=None)
    many = b"".join(b"Field-%d: value\r\n" % i for i in range(5000))
    expect(server.one(GET[:-2] + many + b"\r\n"), 431, Connection="close")
    expect(server.one(b"\r\n" * 10000), 431, Connection="close")


def test_trailers_limit():
    """Trailers count with the head."""
    with Server("--head", "500") as server:
        def ended(size):
            room = size - len(chunked()) + len(b"0\r\n")  # of head and trailers, without the last chunk
            return chunked(b"abc", trailer=b"A: " + b"a" * (room - 5) + b"\r\n")

        expect(server.one(ended(500)), 200, b"abc")
        expect(server.one(ended(501)), 431, Connection="close")
        expect(server.one(ended(100000)), 431, Connection="close")
        expect(server.one(chunked(trailer=b"A: b\r\n" * 10000)), 431, Connection="close")
        with server.client(ended(500) * 5) as client:
            for _ in range(5):
                expect(client.answer(), 200, b"abc")


def test_chunks_limit():
    """Chunk sizes and extensions may be as long as a body and a head together."""
    with Server("--head", "500", "--body", "1000") as server:
        def post_chunks(chunks):
            return server.one(post(chunks + b"0\r\n\r\n", "Transfer-Encoding: chunked"))

        longest = 1500 - len(b"3\r\n" b"\r\n" b"0\r\n")
        for more in (b";%s", b";a=%s", b';a="%s"'):
            room = longest - len(more % b"")
            expect(post_chunks(b"3" + more % (b"a" * room) + b"\r\nabc\r\n"), 200, b"abc")
            expect(post_chunks(b"3" + more % (b"a" * (room + 1)) + b"\r\nabc\r\n"), 413, Connection="close")
            expect(post_chunks(b"3" + more % (b"a" * 1000000)), 413, Connection="close")
        expect(post_chunks(b"0" * longest + b"3\r\nabc\r\n"), 200, b"abc")
        expect(post_chunks(b"0" * (longest + 1) + b"3\r\nabc\r\n"), 413, Connection="close")
        expect(post_chunks(b"1\r\na\r\n" * 299), 200, b"a" * 299)
        expect(post_chunks(b"1\r\na\r\n" * 300), 413, Connection="close")
        with server.client(post(b"1;" + b"a" * 1000 + b"\r\na\r\n0\r\n\r\n", "Transfer-Encoding: chunked") * 5) as client:
            for _ in range(5):
                expect(client.answer(), 200, b"a")


def test_body_limit():
    with Server("--body", "1000", "--bodies", "20000") as server:
        expect(server.one(sized(b"a" * 1000)), 200, b"a" * 1000)
        expect(server.one(sized(b"a" * 1001)), 413, Connection="close")
        expect(server.one(chunked(b"a" * 999, b"b")), 200, b"a" * 999 + b"b")
        expect(server.one(chunked(b"a" * 999, b"bc")), 413, Connection="close")
        expect(server.one(GET[:-2] + b"Content-Length: 1001\r\n\r\n" + b"a" * 1001), 413)
        # Four of those at a time have room (4096 bytes each); what they announce takes none.
        waiting = [server.client(post(b"", "Content-Length: 900", "Expect: 100-continue"))
                   for _ in range(6)]
        for client in waiting:
            expect(client.answer(), 100)
        for client in waiting[:4]:
            client.send(b"a" * 500)
        while b"\nhttpd_body_bytes 16384\n" not in server.get("/metrics").body:
            pass
        waiting[4].send(b"a" * 900)
        expect(waiting[4].answer(), 503, Connection="close", Retry_After="1")
        for client in waiting[:4]:
            client.send(b"b" * 400)
            expect(client.answer(), 200, b"a" * 500 + b"b" * 400)
        waiting[5].send(b"c" * 900)
        expect(waiting[5].answer(), 200, b"c" * 900)
        assert waiting[5].lives()
        while b"\nhttpd_body_bytes 0\n" not in server.get("/metrics").body:
            pass
        for client in waiting:
            client.socket.close()


def test_times():
    """Who is too slow is told so, or cut off; who says nothing is not answered."""
    short = "0.2"
    with Server("--head-time", short, "--body-time", short, "--idle-time", short) as server:
        with server.held():
            clients = [server.client(text) for text in
                       (GET[:-2], b"G", post(b"", "Content-Length: 5"), chunked(b"ab")[:-4])]
            silent = server.client()
            idle = server.client(GET)
        expect(idle.answer(), 200, HELLO, Connection=None)
        for client in clients:
            expect(client.answer(), 408, Connection="close")
            assert client.rest() == b""
            client.socket.close()
        assert silent.rest() == b"" and idle.rest() == b""


def test_lingering():
    """A client that is refused in the middle of sending may go on, within limits for silence and in total."""
    refused = post(b"", "Content-Length: 99999999")

    def send_for_ever(client, text):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:
                client.send(text)

    def wait_for(server, count):
        while b"\nhttpd_connections %d\n" % (count + 1) not in server.get("/metrics").body:
            pass

    with Server() as server, server.client(refused) as client:
        expect(client.answer(), 413, Connection="close")
        assert client.rest() == b""
        wait_for(server, 1)
        client.send(b"a" * HUGE)  # all of it is taken
        wait_for(server, 1)
    # The other limit is far off in each of these, so the given one ends the connection.
    with Server("--linger-idle-time", "0.1") as server, server.client(refused) as client:
        expect(client.answer(), 413, Connection="close")
        wait_for(server, 0)
    with Server("--linger-time", "0.1") as server, server.client(refused) as client:
        expect(client.answer(), 413, Connection="close")
        send_for_ever(client, b"a" * 65536)
        wait_for(server, 0)
    # A client has no need to send much that is not a body's data.
    with Server() as server:
        for begin, more in ((b"GET /hello HTTP/1.1\r\nA: ", b"a"), (b"nonsense\r\n", b"a"), (post(b"1;", CHUNKED), b"a"),
                            (post(b"0\r\n", CHUNKED), b"A: b\r\n")):
            with server.client(begin) as client:
                send_for_ever(client, more * 65536)
    # The server's end does not wait for them, and they are not counted as cut off.
    with Server("--drain-time", "1000") as server, server.client(refused) as client:
        expect(client.answer(), 413, Connection="close")
        wait_for(server, 1)
        server.process.send_signal(END)
        assert server.process.wait() == 0


def test_slow_readers():
    """Who does not read is cut off, in a file or another answer, and its bytes are dropped."""
    with Server("--write-time", "0.2", log=True) as server:
        with server.client(b"GET /huge HTTP/1.1\r\nHost: h\r\n\r\n", receive_buffer=4096) as client:
            line = server.process.stdout.readline()
            assert b'"GET /huge" 200' in line, line
            assert len(client.rest()) < HUGE
    with Server("--write-time", "0.2") as server:
        asked = 200000
        with server.client(receive_buffer=4096) as client:
            try:
                client.send(GET * asked)
            except (ConnectionResetError, BrokenPipeError):  # as expected: it is not read any more
                pass
            assert client.rest().count(HELLO) < asked
