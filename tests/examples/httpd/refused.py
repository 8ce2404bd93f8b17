"""What is no request."""

import random
import re
import socket

from talk import GET, expect, chunked, post, sized

CHUNKED = "Transfer-Encoding: chunked"
BODIES = b"5\r\nhello\r\n0\r\n\r\n"
REFUSED = [
    (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),  # TLS
    (400, b"\x00" * 100),
    (400, b"hello\r\n\r\n"),
    (400, b"GET\r\n\r\n"),
    (400, b"GET  HTTP/1.1\r\nHost: h\r\n\r\n"),
    (400, b"GET hello HTTP/1.1\r\nHost: h\r\n\r\n"),
    *[(400, line + b"\r\nHost: h\r\n\r\n") for line in (
        b"GET  /hello HTTP/1.1", b"GET   /hello HTTP/1.1", b"GET /hello  HTTP/1.1", b"GET\t/hello HTTP/1.1", b"GET \t/hello HTTP/1.1",
        b"GET /hello\tHTTP/1.1", b" GET /hello HTTP/1.1")],
    *[(400, b"GET /hello HTTP/1.%d\r\nHost: %s\r\n\r\n" % (minor, host)) for minor in (0, 1) for host in (
        b"", b":80", b"a:b", b"a:80:80", b"a b", b"a/b", b"u@a", b"a\tb", b"a\\b", b"\xff", b"a%2", b"[::1", b"[]", b"[::1]a", b"<x>",
        b'"x"', b"a?b", b"a#b", b"[:::::::::::]", b"[::1::]", b"[1:2:3:4:5:6:7]", b"[1:2:3:4:5:6:7:8:9]", b"[12345::]", b"[::1.2.3]", b"[::1%25eth0]",
        b"[" + b"0:" * 50 + b"]", b"%00", b"a%00b", b"h:65536", b"h:999999999999", b"h:4294967296", b"[::1]:65536", b"[::1]:x")],
    *[(400, b"%s /hello %s/1.%d\r\nHost: h\r\n\r\n" % (method, protocol, minor)) for method in (b"GET", b"OPTIONS", b"SOURCE", b"SETUP")
      for protocol in (b"RTSP", b"ICE", b"http", b"XTTP") for minor in (0, 1)],
    *[(400, method + b" /hello HTTP/1.1\r\nHost: h\r\n\r\n") for method in (b"HEADX", b"HEAD\xff", b"HEAD/", b"HEADHEAD", b"GETX", b"head")],
    (400, b"GET /hel\x00lo HTTP/1.1\r\nHost: h\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\nRange: a\r\nRange: b\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\nNo colon\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\nSpace : s\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\n: nothing\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\nA: \x00\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\n Host: h\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\nA: b\r\n folded\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\n\tContent-Length: 5\r\n\r\nhello"),
    # Ends of lines that others take for something else.
    (400, b"GET /hello HTTP/1.1\nHost: h\n\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\n\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\rA: b\r\n\r\n"),
    (400, b"GET /hello HTTP/1.1\r\nHost: h\r\r\n\r\n"),
    (400, b"POST /echo HTTP/1.1\r\nHost: h\r\nA:\rContent-Length: 3\r\n\r\nabc"),
    # Two ways to say where the body ends.
    (400, post(BODIES, "Content-Length: 5", "Transfer-Encoding: chunked")),
    (400, post(BODIES, "Transfer-Encoding: chunked", "Content-Length: 5")),
    (400, post(b"hello", "Content-Length: 5", "Content-Length: 5")),
    (400, post(b"hello", "Content-Length: 5", "Content-Length: 4")),
    (400, post(b"hello", "Content-Length: 5, 5")),
    (400, post(b"hello", "Content-Length: +5")),
    (400, post(b"hello", "Content-Length: -5")),
    (400, post(b"hello", "Content-Length: 0x5")),
    (400, post(b"hello", "Content-Length: 5 5")),
    (400, post(b"hello", "Content-Length: 5\t")),
    (400, post(b"hello", "Content-Length: five")),
    (400, post(b"hello", "Content-Length:")),
    (400, post(b"hello", "Content-Length: 99999999999999999999999")),
    (400, post(BODIES, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
    (400, post(BODIES, "Transfer-Encoding: chunked", "Transfer-Encoding: identity")),
    (400, post(BODIES, "Transfer-Encoding: chunked, gzip")),
    (400, post(BODIES, "Transfer-Encoding: identity")),
    (400, post(BODIES, "Transfer-Encoding: xchunked")),
    (400, post(BODIES, "Transfer-Encoding: chunked\t")),
    (400, post(BODIES, "Transfer-Encoding : chunked")),
    (400, post(BODIES, "Transfer-Encoding: chunked", version="1.0")),
    (501, post(BODIES, "Transfer-Encoding: gzip, chunked")),
    # Chunks.
    (400, post(b"x\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"-1\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"0x3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"3\r\nabcd\r\n0\r\n\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"3\nabc\n0\n\n", "Transfer-Encoding: chunked")),
    (400, post(b"fffffffffffffffff\r\nabc", "Transfer-Encoding: chunked")),
    (413, post(b"ffffffffffffffff\r\n" + b"a" * 2000000, "Transfer-Encoding: chunked")),
    # Behind the last chunk: trailers are read as heads are, or another request might hide there.
    *[(400, post(b"5\r\nhello\r\n0\r\n" + trailers, CHUNKED) + GET) for trailers in (
        b"\n", b"\r", b"\r\r\n", b"A: b\r\n\n", b"A: b\n\r\n", b"A: b\n\n", b"A: b\r\n c\r\n\r\n", b"A: b\r\n\tc\r\n\r\n",
        b"A:\r\n b\r\n\r\n", b" A: b\r\n\r\n", b"A: b\rc\r\n\r\n", b"A: b\0c\r\n\r\n", b"A : b\r\n\r\n", b": b\r\n\r\n",
        b"A\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n", b"Content-Length: 10\r\n\r\n", b"A: b\r\ntransfer-encoding: chunked\r\n\r\n",
        b"Host: h\r\n\r\n", b"Range: bytes=0-0\r\n\r\n", b"Connection: close\r\n\r\n", b"Content-Type: a/b\r\n\r\n")],
    # Fields that may be in heads only, by their names; llhttp would close after the first, unannounced.
    *[(400, chunked(b"hello", trailer=name + b": close\r\n") + GET) for name in (
        b"Proxy-Connection", b"Keep-Alive", b"HTTP2-Settings", b"TE", b"Trailer", b"Upgrade", b"Expect", b"Forwarded", b"Max-Forwards",
        b"Authorization", b"Cookie", b"Proxy-Authorization", b"Set-Cookie", b"Cache-Control", b"If-Match", b"If-None-Match",
        b"If-Modified-Since", b"If-Unmodified-Since", b"If-Range", b"Pragma", b"Content-Encoding", b"Content-Language",
        b"Content-Location", b"content-location")],
    # The end in the middle.
    (400, b"GET /hel"),
    (400, GET[:-2]),
    (400, post(b"abc", "Content-Length: 5")),
    (400, post(b"5\r\nabc", "Transfer-Encoding: chunked")),
    (400, post(b"3\r\nabc\r\n", "Transfer-Encoding: chunked")),
    (400, post(b"3\r\nabc\r\n0\r\n", CHUNKED)),
    (400, post(b"3\r\nabc\r\n0\r\nA: b\r\n", CHUNKED)),
]


def test_refused(server):
    """Each is refused in one answer, after which the connection ends whatever follows."""
    wrong = []
    with server.client(b"HEAD" + GET[3:] + b"nonsense\r\n\r\n") as client:
        expect(client.answer("HEAD"), 200, b"")
        expect(client.answer(), 400, b"400 Bad Request\n", Connection="close")
    for status, text in REFUSED:
        with server.client() as client:
            client.send_all(text)
            try:
                answer = client.answer()
                rest = client.rest()
            except AssertionError as error:
                wrong.append((text[:100], error))
                continue
            if (answer.status, answer.fields.get("Connection"), rest, b"\n" in answer.body) != (status, "close", b"", True):
                wrong.append((text[:100], answer, rest))
    assert not wrong, "\n".join(map(str, wrong))


def test_cuts(server):
    """However its bytes are cut, a request has the same answer, and that to HEAD never has a body."""
    smuggled = chunked(b"a", trailer=b"A: b")[:-2] + b"\n\n" + GET
    for method, status, body, text in (
            ("HEAD", 400, b"", b"HEAD hello HTTP/1.1\r\nHost: h\r\n\r\n"),
            ("HEAD", 400, b"", b"HEAD /hel\0lo HTTP/1.1\r\nHost: h\r\n\r\n"),
            ("HEAD", 400, b"", b"HEAD  /hello HTTP/1.1\r\nHost: h\r\n\r\n"),
            ("HEAD", 400, b"", b"HEAD\r\n\r\n"),
            ("HEADX", 400, b"400 Bad Request\n", b"HEADX /hello HTTP/1.1\r\nHost: h\r\n\r\n"),
            ("HEAD", 400, b"", b"HEAD /hello RTSP/1.1\r\nHost: h\r\n\r\n"),
            ("HEAD", 505, b"", b"HEAD /hello HTTP/2.0\r\n\r\n"),
            ("HEAD", 400, b"", b"HEAD http:///hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
            ("POST", 400, b"400 Bad Request\n", smuggled),
            ("POST", 200, b"abc", post(b"2;a=b\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n", CHUNKED, "Connection: close"))):
        for cut in range(1 if method == "HEADX" else len(method), len(text)):
            with server.client() as client:
                client.send_cut(text, cut)
                expect(client.answer(method), status, body, Connection="close")
                rest = client.rest()
                assert rest == b"", (text, cut, rest)


def test_random(server):
    """Requests with random damage: each ends somehow, the same in two pieces, and the server lives."""
    def ask(text, cut):
        with server.client() as client:
            client.send_cut(text, cut)
            client.socket.shutdown(socket.SHUT_WR)
            return re.sub(rb"\r\nDate: [^\r]*", b"", client.rest())

    chance = random.Random(1)
    good = [GET, sized(b"hello"), chunked(b"abc", b"defgh"), b"GET /a.txt HTTP/1.1\r\nRange: bytes=1-2\r\n"
            b"Host: h\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n", b"HEAD" + GET[3:],
            chunked(b"abc", trailer=b"A: b\r\nC: d\r\n"), b"GET http://h:80?a/b HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"]
    for _ in range(300):
        text = bytearray(b"".join(chance.choice(good) for _ in range(chance.randint(1, 3))))
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(text))
            text[at:at + chance.choice((0, 1, 1, 5))] = bytes(
                chance.choice(b"\r\n\0 :;,/%.-0fA\xff") for _ in range(chance.choice((0, 1, 1, 3))))
        answers, cut = ask(bytes(text), len(text)), chance.randint(0, len(text))
        assert answers == b"" or answers.startswith(b"HTTP/1.1 "), (text, answers)
        assert ask(bytes(text), cut) == answers, (text, cut, answers)
    assert server.client().lives()
