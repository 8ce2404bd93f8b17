"""A copy of the server with routes of its own: routes.c."""

from talk import BINARY, Server, expect


def server_of_routes(*options):
    return Server(*options, command=[BINARY + "-routes"])


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
