"""What is asked and answered."""

import os
import socket

from talk import BIG, GET, HELLO, chunked, expect, post, sized


def test_hello(server):
    expect(server.get("/hello"), 200, HELLO, Content_Type="text/plain", Connection=None)
    expect(server.get("/hello?a=b&c"), 200, HELLO)
    expect(server.get("/%68ell%6F"), 200, HELLO)
    for host in ("example.org", "a:80", "a:", "1.2.3.4", "[::1]", "[::1]:80", "[::]", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "a:65535", "a:0", "a:00080", "a-b_c.d", "a%20b", "a,b;c"):
        expect(server.get(f"http://{host}/hello"), 200, HELLO)
        expect(server.get(f"HTTP://{host}/hello?a=/b"), 200, HELLO)
        expect(server.one(f"GET /hello HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()), 200, HELLO)
    for target in ("http://h", "http://h/", "http://h?a=/hello"):
        expect(server.get(target), 200, Content_Type="text/html; charset=utf-8")
    expect(server.get("/hello", method="HEAD"), 200, b"", Content_Length=str(len(HELLO)))
    expect(server.one(b"\r\n\r\n" + GET), 200, HELLO)
    expect(server.one(b"GET /hello HTTP/1.1\r\nhOST:h  \r\n\r\n"), 200, HELLO)


def test_keep_alive(server):
    with server.client() as client:
        for _ in range(20):
            client.send(GET)
            expect(client.answer(), 200, HELLO, Connection=None)
        client.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        expect(client.answer(), 200, HELLO, Connection="close")
        assert client.rest() == b""


def test_http_1_0(server):
    with server.client(b"GET /hello HTTP/1.0\r\n\r\n") as client:
        expect(client.answer(), 200, HELLO, Connection="close")
        assert client.rest() == b""
    with server.client(b"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") as client:
        expect(client.answer(), 200, HELLO, Connection="keep-alive")
        assert client.lives()
    with server.client(post(b"ab", "Content-Length: 2", "Expect: 100-continue", version="1.0")) as c:
        expect(c.answer(), 200, b"ab", Connection="close")


def test_pipelining(server):
    """Answers come in the order of the requests, also from those that are read on other threads."""
    kinds = [(GET, "GET", 200, HELLO), (sized(b"one"), "POST", 200, b"one"),
             (b"GET /a.txt HTTP/1.1\r\nHost: h\r\n\r\n", "GET", 200, b"a text\n"),
             (b"HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD", 200, b""),
             (b"GET /none HTTP/1.1\r\nHost: h\r\n\r\n", "GET", 404, None),
             (chunked(b"two", b"three"), "POST", 200, b"twothree"),
             (b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n", "GET", 200, BIG),
             (b"DELETE /hello HTTP/1.1\r\nHost: h\r\n\r\n", "DELETE", 405, None)]
    asked = kinds * 6
    with server.client(b"".join(kind[0] for kind in asked)) as client:
        for _, method, status, body in asked:
            expect(client.answer(method), status, body, Connection=None)
        assert client.lives()


def test_one_write(server):
    """What was asked in one segment is answered in one."""
    with server.client(GET * 16) as client:
        answers = client.socket.recv(1 << 20)
        assert answers.count(HELLO) == 16, answers


def test_byte_by_byte(server):
    with server.client() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for text, body in ((GET, HELLO), (sized(b"slow"), b"slow"), (chunked(b"sl", b"ow"), b"slow")):
            for i in range(len(text)):
                client.send(text[i:i + 1])
            expect(client.answer(), 200, body)


def test_bodies(server):
    for body in (b"", b"x", bytes(range(256)) * 16, os.urandom(1 << 20)):
        expect(server.one(sized(body)), 200, body)
        pieces = [body[i:i + 70000] for i in range(0, len(body), 70000)]
        expect(server.one(chunked(*pieces)), 200, body)
    expect(server.one(chunked(*[b"a"] * 5000)), 200, b"a" * 5000)
    expect(server.one(chunked(b"abc", trailer=b"Digest: 1\r\nA:\r\nDigest: 2\r\n")), 200, b"abc")
    extended = post(b"3;name=\"value\"\r\nabc\r\n0;last\r\n\r\n", "Transfer-Encoding: Chunked")
    expect(server.one(extended), 200, b"abc")
    expect(server.one(post(b"")), 200, b"")
    # A body that nobody asked for is dropped, and the next request follows it.
    with server.client(GET[:-2] + b"Content-Length: 5\r\n\r\nGET /" + GET) as client:
        expect(client.answer(), 200, HELLO)
        expect(client.answer(), 200, HELLO)


def test_expect(server):
    asking = ("Content-Length: 3", "Expect: 100-continue")
    with server.client(post(b"", *asking)) as client:
        expect(client.answer(), 100)
        client.send(b"abc")
        expect(client.answer(), 200, b"abc")
        client.send(post(b"", "Transfer-Encoding: chunked", "Expect: 100-Continue"))
        expect(client.answer(), 100)
        client.send(b"3\r\nabc\r\n0\r\n\r\n")
        expect(client.answer(), 200, b"abc")
        assert client.lives()
    with server.client(post(b"abc", *asking)) as client:  # it did not wait
        expect(client.answer(), 200, b"abc")
    # What is refused is not to be sent.
    with server.client(post(b"", *asking, path="/hello")) as client:
        expect(client.answer(), 405, Connection="close", Allow="GET, HEAD")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == b""
    with server.client(post(b"", "Content-Length: 99999999", asking[1])) as client:
        expect(client.answer(), 413, Connection="close")
    expect(server.get("/hello", "Expect: something"), 417)


def test_errors(server):
    for path in ("/none", "/a.txt/", "/a.txt/b", "/sub/none", "/" + "n" * 300):
        expect(server.get(path), 404, Content_Type="text/plain", Connection=None)
    expect(server.get("/none", method="HEAD"), 404, b"")
    for target in ("*", "/hello#there", "/hello?a#there", "http:/hello", "https://h/hello", "http:///hello", "http://?/hello",
                   "http://:80/hello", "http://h:port/hello", "http://u@h/hello", "http://[::1/hello", "http://h#/hello", "http://", "http://h:65536/hello", "http://h:4294967297/hello", "http://[:::]/hello", "http://%00/hello"):
        expect(server.get(target), 400)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        expect(server.get("/a.txt", method=method), 405, Allow="GET, HEAD")
    expect(server.get("/echo"), 405, Allow="POST")
    for method in ("TRACE", "PROPFIND", "LINK"):
        expect(server.get("/hello", method=method), 501)
    for version in ("0.9", "2.0"):
        expect(server.one(b"GET /hello HTTP/%s\r\nHost: h\r\n\r\n" % version.encode()), 505)
    expect(server.one(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505)
    # An upgrade is not taken up: the request is answered as any other.
    with server.client(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n") as client:
        expect(client.answer(), 200, HELLO)
        assert client.lives()
