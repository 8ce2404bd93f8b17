"""The rows that servers are compared in: the load, the servers, and what has to be reached (servers.py)."""

# A verdict: the figure of `peer` over that of `ours` has to be at least `must`, and is to be `aim`.
# Without a peer the figure of `ours` itself must not be above `must`.


class Row:
    """One row. `load` and `options` say how it is loaded (server_loads.py), `unit` what its figure is."""

    def __init__(self, name, what, unit, load, options, systems, verdicts, note=""):
        self.name, self.what, self.unit, self.load, self.options = name, what, unit, load, options
        self.systems = systems.split()
        self.verdicts = [dict(zip(("peer", "ours", "must", "aim"), v)) for v in verdicts]
        self.note = note


# Those of thrum's servers that do the work of the others, and the example that does what a server for the world does.
HTTP = "thrum thrum-httpd epoll nginx hyper go"
# What sockets by io_uring could cost: with the ring's fast flags, and with those by which other threads see what has ended.
RINGS = " uring uring-default"
CPU = "us/request"
EQUAL = ("thrum and epoll cut requests at their empty lines and send one fixed text, by the same code; thrum-httpd (the example, "
         "without its access log), nginx, hyper and Go check and take requests apart, and tell the date")
BUSY_WORKERS = 2


def against(peers, ours):
    """The same demand on each of thrum's servers that can be meant."""
    return [(peer, our, must, aim) for peer, must, aim in peers for our in ours.split()]


ROWS = [
    Row("http", "HTTP/1.1 keep-alive, 64 connections, by wrk", CPU, "wrk", {"depth": 1}, HTTP + RINGS,
        [("epoll", "thrum", 0.94, 0.97)] + against(
            [("go", 1.6, 1.9), ("hyper", 1.0, 1.08), ("nginx", 1.0, 1.08)], "thrum thrum-httpd"), EQUAL),
    Row("http-16", "HTTP/1.1 keep-alive, 64 connections, pipelined by 16, by wrk; a latency is that of 16 answers", CPU, "wrk", {"depth": 16}, HTTP + RINGS,
        against([("hyper", 1.2, 1.6), ("go", 10, 15)], "thrum thrum-httpd"),
        "hyper with pipeline_flush; the others gather answers by themselves, but Go, which has no such thing"),
    Row("echo", "64 bytes and back, 64 connections", CPU, "echo", {}, "thrum thrum-plain epoll libuv asio tokio go" + RINGS,
        against([("libuv", 1.0, 1.05), ("asio", 1.0, 1.05), ("tokio", 1.0, 1.05)], "thrum thrum-plain"),
        "thrum is the example echo, which has a deadline for each read and write, and ends by a signal; thrum-plain has neither, as the "
        "others"),
    Row("tls-echo", "64 bytes and back over TLS 1.3, 64 connections", CPU, "tls", {}, "thrum-tls openssl",
        [("openssl", "thrum-tls", 0.93, 0.97)],
        "the same OpenSSL and the cipher that it chooses, TLS_AES_256_GCM_SHA384; openssl is a bare loop in which OpenSSL reads and "
        "writes the sockets itself"),
    Row("close", "a connection a request, 64 at a time; a latency has the connect and the close in it", CPU, "close", {}, HTTP,
        against([("go", 1.2, 1.5), ("nginx", 0.95, 1.0)], "thrum thrum-httpd"), EQUAL),
    Row("redis-get", "GET, 64 connections, by redis-benchmark", CPU, "redis", {"depth": 1}, "thrum-kv redis",
        [("redis", "thrum-kv", 1.0, 1.15)]),
    Row("redis-get-16", "GET, 64 connections, pipelined by 16, by redis-benchmark; a latency is that of 16 answers", CPU, "redis", {"depth": 16},
        "thrum-kv redis", [("redis", "thrum-kv", 1.0, 1.5)]),
    Row("busy", f"p99 of an echo, 16 connections, 2000 messages a second, on {BUSY_WORKERS} workers, one of which computes "
        "for 5 ms at a time", "us", "busy", {}, "thrum go tokio",
        [(peer, "thrum", 2, 10) for peer in ("go", "tokio")],
        "the servers on all cores; the load where the system puts it, with a higher priority if that is granted; a message counts "
        "from its send, and is sent when it is due"),
    Row("idle", "memory of an idle HTTP connection that has made one request", "bytes", "idle", {}, "thrum thrum-on go",
        [("go", "thrum", 2, 10), ("go", "thrum-on", 2, 10)],
        "anonymous and swapped pages, page tables, 256 bytes a mapping; thrum has a fiber a connection, thrum-on waits by thrum_io_on"),
    Row("idle-calls", "system calls with as many idle connections", "a second", None, {}, "thrum thrum-on go",
        [(None, "thrum", 0, 0), (None, "thrum-on", 0, 0)],
        "counted by strace after its own beginning; without strace the switches by which a thread goes to sleep, of which each call "
        "that a sleeping server makes needs one"),
    Row("deadlines", "waits that end at one moment, their other sides silent: how long after it the last of them ended", "ms",
        "deadlines", {}, "thrum go tokio", [(None, "thrum", 50, 10)],
        "as the servers see it; they close the connections only then, and when the last was closed is given beside it; Tokio's timers are in whole milliseconds"),
]

# What the rows are called in the report.
TITLES = {"http": "HTTP requests", "http-16": "HTTP, 16 requests at once", "echo": "Echo", "tls-echo": "Echo over TLS",
          "close": "A connection for each request", "redis-get": "Redis GET", "redis-get-16": "Redis GET, 16 at once",
          "busy": "Echo beside tasks that compute", "idle": "Memory of an idle connection", "idle-calls": "System calls while idle",
          "deadlines": "10,000 deadlines at one moment"}
