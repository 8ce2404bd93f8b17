"""Files below the root."""

import os

from talk import BIG, GET, HELLO, HUGE, ROOT, Server, WINE, WORK, expect, read


def test_files(server):
    expect(server.get("/a.txt"), 200, b"a text\n", Content_Type="text/plain; charset=utf-8",
           Accept_Ranges="bytes")
    for name, kind in (("page.html", "text/html; charset=utf-8"), ("i.PNG", "image/png"),
                       ("big", "application/octet-stream"), ("name.d/none", None)):
        if kind:
            expect(server.get("/" + name), 200, Content_Type=kind)
    expect(server.get("/big"), 200, BIG)
    expect(server.get("/big", method="HEAD"), 200, b"", Content_Length=str(len(BIG)))
    expect(server.get("/empty"), 200, b"")
    for size in (8191, 8192, 8193):
        expect(server.get(f"/size-{size}"), 200, b"s" * size)
    expect(server.get("/sub/"), 200, b"an index\n", Content_Type="text/html; charset=utf-8")
    expect(server.get("/sub?query"), 301, b"", Location="/sub/")
    for target in ("/", "/?query"):  # there is no index.html
        answer = server.get(target)
        expect(answer, 200, Content_Type="text/html; charset=utf-8")
        assert b"httpd on thrum" in answer.body and b"://" not in answer.body, "a page that needs nothing else"
    expect(server.get("/with%20space%25%c3%a9"), 200, b"odd\n")
    with Server(root=False) as bare:
        expect(bare.get("/a.txt"), 404)
        expect(bare.get("/"), 200, Content_Type="text/html; charset=utf-8")


def test_ranges(server):
    size = len(BIG)
    for field, begin, end in (("0-0", 0, 1), ("1-9", 1, 10), ("100-", 100, size), ("-7", size - 7, size),
                              (f"0-{size}", 0, size), (f"-{size + 5}", 0, size),
                              (f"{size - 1}-{'9' * 30}", size - 1, size)):
        expect(server.get("/big", "Range: bytes=" + field), 206, BIG[begin:end],
               Content_Range=f"bytes {begin}-{end - 1}/{size}", Content_Length=str(end - begin))
    for field in (f"{size}-", "9" * 30 + "-", "-0"):
        expect(server.get("/big", "Range: bytes=" + field), 416, Content_Range=f"bytes */{size}")
    expect(server.get("/empty", "Range: bytes=0-"), 416, Content_Range="bytes */0")
    for field in ("bytes=", "bytes=-", "bytes=5-4", "bytes=1-2,4-5", "bytes=a-b", "bytes=1-2x",
                  "lines=1-2", "bytes 1-2", "bytes=--1"):
        expect(server.get("/big", "Range: " + field), 200, BIG)
    expect(server.get("/a.txt", "range: BYTES=2-5"), 206, b"text")
    expect(server.get("/a.txt", "Range: bytes=2-5", method="HEAD"), 200, b"")
    with open(os.path.join(ROOT, "far"), "wb") as far:  # beyond 4 GiB
        far.seek(5 << 30)
        far.write(b"the end")
    expect(server.get("/far", "Range: bytes=-7"), 206, b"the end",
           Content_Range=f"bytes {5 << 30}-{(5 << 30) + 6}/{(5 << 30) + 7}")


def test_dates(server):
    changed = server.get("/a.txt").fields["Last-Modified"]
    assert changed == "Sun, 06 Nov 1994 08:49:37 GMT"
    for date in (changed, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                 "Mon, 07 Nov 1994 00:00:00 GMT"):
        answer = server.get("/a.txt", "If-Modified-Since: " + date, "Range: bytes=0-0")
        expect(answer, 304, b"", Last_Modified=changed, Content_Length=None)
    for date in ("Sun, 06 Nov 1994 08:49:36 GMT", "yesterday", "", "Sun, 06 Nov 1994", "9" * 100):
        expect(server.get("/a.txt", "If-Modified-Since: " + date), 200)
    ranged = "Range: bytes=0-0"
    expect(server.get("/a.txt", ranged, "If-Range: " + changed), 206, b"a")
    expect(server.get("/a.txt", ranged, "If-Range: Mon, 07 Nov 1994 00:00:00 GMT"), 200)
    expect(server.get("/a.txt", ranged, 'If-Range: "tag"'), 200)


def test_beneath(server):
    """Nothing leads out of the root, and nothing but files is there."""
    secret = server.get
    for path in ("/../secret", "/sub/../../secret", "/sub/../a.txt", "/%2e%2e/secret", "/.%2E/secret",
                 "/%2e./secret", "/..", "/.", "/./a.txt", "//secret", "//etc/passwd", "/sub//index.html",
                 "/..%2fsecret", "/%2fetc%2fpasswd", "/sub%2findex.html", "/..%5csecret", "/.hidden",
                 "/sub/.hidden", "/pipe", "/socket", "http://h/../secret"):
        expect(secret(path), 404, Connection=None)
    for path in ("/out", "/outside/secret", "/outside/", "/outside", "/loop", "/absolute", "/out/", "/sub/pointed",
                 "/near/index.html"):
        if not WINE:  # which follows all links of Linux
            expect(secret(path), 404, Connection=None)
    for path in ("/a.txt%00", "/%00", "/a.txt%00.html", "/%", "/%4", "/%zz", "/%2", "/%%", "/%-1"):
        expect(secret(path), 400)
    if os.getuid() != 0:
        expect(secret("/shut"), 403)


def test_names_of_windows(server):
    """What Windows takes for a path, a device, a stream, or another name of a file is none of a file."""
    root = ROOT.replace("/", "%5c")
    for path in ("/sub%5cindex.html", "/sub\\index.html", "/sub%5c..%5c..%5csecret", "/..%5csecret", "/..\\secret", "/%5c",
                 "/a.txt::$DATA", "/a.txt:", "/a.txt:stream", "/a.txt%3a%3a$DATA", "/sub:$I30:$INDEX_ALLOCATION/index.html",
                 "/C:", "/C:/", "/c:/windows/win.ini", "/C:%5cwindows%5cwin.ini", "/Z:" + WORK + "/secret",
                 "/Z:" + root + "%5ca.txt", "/%5c%5c%3f%5cZ:" + root + "%5ca.txt", "/%5c?%3f%5cZ:" + root + "%5ca.txt",
                 "/%5c%5c.%5cNUL", "/NUL", "/nul", "/NUL.txt", "/CON", "/con", "/CONIN$", "/CONOUT$", "/PRN", "/AUX", "/COM1",
                 "/lpt9.txt", "/COM%c2%b9", "/NUL:", "/nul%20.txt", "/a.txt.", "/a.txt%20", "/a.txt.%20", "/sub./index.html",
                 "/sub%20/index.html", "/a.tx%3c", "/a.tx%3f", "/%3e.txt", "/*", "/%22a.txt%22", "/a.txt%7c", "/a.txt%01"):
        expect(server.get(path), 404, Connection=None)
    if not WINE:
        return
    # There, some of these can be files to Linux.
    strange = ("nul", "Con.txt", "com1", "dot.", "space ", "second~1.txt", "env~~1", "a~b~1.txt",
               "\u00e4\u00f6\u00fcabc~1.\u00e4", "colon:", "back\\slash", "star*", "one\x01")
    for name in strange:
        with open(os.path.join(ROOT, name), "w", encoding="utf-8") as file:
            file.write("strange\n")
    for name in strange:
        assert read(os.path.join(ROOT, name)) == b"strange\n"
        expect(server.get("/" + "".join(f"%{byte:02x}" for byte in name.encode())), 404, Connection=None)
    for name in ("console", "nullify.txt", "com", "com10", "lpt", "not~short", "~1longer.name", "a b", "dot.dot"):
        with open(os.path.join(ROOT, name), "w", encoding="utf-8") as file:
            file.write("plain\n")
        expect(server.get("/" + name.replace(" ", "%20")), 200, b"plain\n")


def test_shrinking_file():
    """A file that becomes shorter while it is sent cannot be sent: the connection ends."""
    with Server() as server:
        path = os.path.join(ROOT, "shrinks")
        with open(path, "wb") as file:
            file.truncate(HUGE)
        with server.client(b"GET /shrinks HTTP/1.1\r\nHost: h\r\n\r\n" + GET) as client:
            status, fields = client.head()
            assert (status, fields["Content-Length"]) == (200, str(HUGE))
            os.truncate(path, 0)
            rest = client.rest()
            assert len(rest) < HUGE and HELLO not in rest
        assert server.client().lives()
