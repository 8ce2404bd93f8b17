"""A copy of the server with routes of its own: routes.c."""

from talk import BINARY, END, GET, Server, expect


def server_of_routes(**how):
    return Server(command=[BINARY + "-routes"], **how)


def test_routes_statuses():
    """Each status goes out as itself, with its reason or with none; one that is none, as 500, in the log as well."""
    with server_of_routes() as server:
        for status, line in (("201", b"201 Created"), ("202", b"202 Accepted"), ("200", b"200 OK"), ("299", b"299 "), ("418", b"418 "),
                             ("600", b"600 "), ("999", b"999 "), ("99", b"500 Internal Server Error"),
                             ("1000", b"500 Internal Server Error"), ("-201", b"500 Internal Server Error")):
            with server.client(b"GET /status?%s HTTP/1.1\r\nHost: h\r\n\r\n" % status.encode()) as client:
                while b"\r\n" not in client.come:
                    assert client.more()
                assert client.come.startswith(b"HTTP/1.1 " + line + b"\r\n"), (status, client.come)
                expect(client.answer(), int(line[:3]), b"body", Content_Length="4")
        with server.client(b"GET /status?204 HTTP/1.1\r\nHost: h\r\n\r\n" * 2) as client:
            for _ in range(2):
                status, fields = client.head()
                assert status == 204 and "Content-Length" not in fields, (status, fields)
            assert client.come == b""
    with server_of_routes(log=True) as server:
        server.get("/status?418")
        server.get("/status?1000")
        logged = [server.process.stdout.readline().split()[-2] for _ in range(2)]
        assert logged == [b"418", b"500"], logged


def test_routes_methods():
    """A route takes the methods that its line names, and no others."""
    with server_of_routes() as server:
        def ask(method, path, body=b"body"):
            return server.one(b"%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (
                method.encode(), path.encode(), len(body), body), method)

        paths = {"/mine": "GET, HEAD, POST", "/changes": "PUT, DELETE, PATCH, OPTIONS", "/rare": "PROPFIND, M-SEARCH,UNLOCK"}
        known = [method for allowed in paths.values() for method in allowed.replace(",", " ").split()]
        for path, allowed in paths.items():
            for method in known:
                if method in allowed.replace(",", " ").split():
                    expect(ask(method, path), 200, b"" if method == "HEAD" else method.encode() + b" body", Allow=None)
                else:
                    expect(ask(method, path), 405, b"" if method == "HEAD" else b"405 Method Not Allowed\n", Allow=allowed)
            for method in ("TRACE", "UNBIND", "LOCK", "SEARCH"):
                expect(ask(method, path), 501, Allow=None)
        expect(server.get("/none", method="HEAD"), 405, b"", Allow="GET")


def test_routes_that_wait():
    """Whether an answer is the last one is decided when it begins: the server may end while its route waits."""
    ask = GET.replace(b"/hello", b"/wait")
    with server_of_routes() as server, server.client(ask) as one, server.client(ask * 2) as two:
        while server.get("/waiting").body != b"2":
            pass
        server.process.send_signal(END)
        expect(one.answer(), 200, b"200 OK\n", Connection="close")
        expect(two.answer(), 200, b"200 OK\n", Connection=None)  # the second one had come
        expect(two.answer(), 200, b"200 OK\n", Connection="close")
        assert one.rest() == two.rest() == b""
