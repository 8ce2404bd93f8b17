"""The tests of examples/proxy: proxy.py BINARY; examples/time/proxy.c tests its times. Nothing waits for a fixed time and
then demands something, and what never comes is ended by the limit of the whole test, before which faulthandler says where
that is."""
import faulthandler
import os
import random
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from full_pipe import full_pipe

WIDE = ("-d", "86400", "-t", "86400", "-i", "86400")  # limits that no test reaches; a test of one sets its own


def listener(backlog=256):
    """A target, as a listening socket and its address."""
    target = socket.socket()
    target.bind(("127.0.0.1", 0))
    target.listen(backlog)
    return target, "tcp:127.0.0.1:%d" % target.getsockname()[1]


class Proxy:
    def __init__(self, target, *options, files=None, stderr=subprocess.PIPE):
        def limit():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.process = subprocess.Popen([sys.argv[1], *WIDE, *options, "tcp:127.0.0.1:0", target], stdout=subprocess.PIPE,
                                        stderr=stderr, text=True, preexec_fn=limit)
        line = self.process.stdout.readline()
        assert line.startswith("listening at tcp:127.0.0.1:"), line
        self.port = int(line.rsplit(":", 1)[1])
        self.ends = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for end in self.ends:
            end.close()
        if kind:
            self.process.kill()
            self.process.wait()
        elif self.process.returncode is None:
            self.end()

    def client(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ends.append(client)
        return client

    def pair(self, target):
        """A connection through the proxy: its two ends."""
        client = self.client()
        served, _ = target.accept()
        self.ends.append(served)
        return client, served

    def expect(self, status=0, says=""):
        _, said = self.process.communicate()
        assert self.process.returncode == status, (self.process.returncode, said)
        assert says in said if says else said == "", said

    def end(self, status=0, says=""):
        self.process.terminate()
        self.expect(status, says)


def read_exactly(end, size):
    parts = []
    while size:
        part = end.recv(min(size, 1 << 20))
        assert part, "the end came too soon"
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def is_refused(proxy):
    """Whether a connection is reset, perhaps before it was there for us."""
    try:
        return is_reset(proxy.client())
    except ConnectionResetError:
        return True


def is_reset(end):
    try:
        while end.recv(65536):
            pass
    except ConnectionResetError:
        return True
    return False


def test_bytes_go_both_ways():
    target, address = listener()
    with Proxy(address) as proxy:
        client, served = proxy.pair(target)
        for data in (b"a", b"\0" * 70000):
            client.sendall(data)
            assert read_exactly(served, len(data)) == data
            served.sendall(data[::-1])
            assert read_exactly(client, len(data)) == data[::-1]
        up, down = (random.Random(i).randbytes(4 << 20) for i in range(2))
        senders = [threading.Thread(target=end.sendall, args=(data,)) for end, data in ((client, up), (served, down))]
        for sender in senders:
            sender.start()
        assert read_exactly(served, len(up)) == up and read_exactly(client, len(down)) == down
        for sender in senders:
            sender.join()


def test_the_end_of_one_side_is_passed_on():
    """Both ways round; the other side goes on as long as it likes."""
    target, address = listener()
    with Proxy(address) as proxy:
        for first in (0, 1):
            ends = proxy.pair(target)
            one, other = ends[first], ends[1 - first]
            one.sendall(b"question")
            one.shutdown(socket.SHUT_WR)
            assert read_exactly(other, 8) == b"question" and other.recv(1) == b""
            for _ in range(10):
                other.sendall(b"answer")
                assert read_exactly(one, 6) == b"answer"
            other.close()
            assert one.recv(1) == b""
            one.close()


def test_a_reset_is_passed_on():
    target, address = listener()
    with Proxy(address) as proxy:
        for first in (0, 1):
            for has_ended in (False, True):
                ends = proxy.pair(target)
                one, other = ends[first], ends[1 - first]
                one.sendall(b"x")
                assert read_exactly(other, 1) == b"x"
                if has_ended:
                    other.shutdown(socket.SHUT_WR)
                    assert one.recv(1) == b""
                    # What it has said all to can reset it only by not reading what is sent now.
                    one.sendall(b"y")
                reset(one)
                assert is_reset(other), (first, has_ended)


def test_a_slow_reader_gets_all():
    target, address = listener()
    with Proxy(address) as proxy:
        client, served = proxy.pair(target)
        data = random.Random(3).randbytes(8 << 20)
        sender = threading.Thread(target=lambda: (served.sendall(data), served.close()))
        sender.start()
        # Others are not held up by it.
        other, beside = proxy.pair(target)
        for _ in range(100):
            other.sendall(b"x")
            assert read_exactly(beside, 1) == b"x"
        assert read_exactly(client, len(data)) == data and client.recv(1) == b""
        sender.join()


def test_a_target_that_is_not_there():
    target = socket.socket()
    target.bind(("127.0.0.1", 0))  # nobody else can listen there
    address = "tcp:127.0.0.1:%d" % target.getsockname()[1]
    with Proxy(address) as proxy:
        assert is_refused(proxy)
        proxy.end(0, "proxy: %s: " % address)


def test_a_target_that_does_not_answer():
    """Its queue is full: the system drops what else asks for a connection."""
    target, address = listener(0)
    with socket.create_connection(target.getsockname()), Proxy(address, "-t", "0.05") as proxy:
        select.select([target], [], [])  # until the system has the connection in the queue
        assert is_refused(proxy)
        proxy.end(0, "proxy: %s: the deadline has passed" % address)


def test_few_descriptors_serve_many():
    target, address = listener()
    guests = set()
    with Proxy(address, files=64) as proxy:
        for i in range(100):  # some systems let no more than 128 wait
            guest = proxy.client()
            guest.sendall(b"%3d" % i)
            guests.add(guest)
        served = {}
        while guests or served:
            for each in select.select([target, *guests, *served], [], [])[0]:
                if each is target:
                    end, _ = target.accept()
                    served[end] = True
                elif each in served:
                    heard = each.recv(3)
                    if heard:
                        each.sendall(heard)
                    else:
                        del served[each]
                        each.close()
                else:
                    assert len(each.recv(3)) == 3
                    guests.remove(each)
                    each.close()


def test_unix_sockets():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "target")
        target = socket.socket(socket.AF_UNIX)
        target.bind(path)
        target.listen(8)
        with Proxy("unix:" + path) as proxy:
            client, served = proxy.pair(target)
            client.sendall(b"x")
            assert read_exactly(served, 1) == b"x"
            served.close()
            assert client.recv(1) == b""


def test_the_end_waits_for_connections():
    target, address = listener()
    with Proxy(address) as proxy:
        client, served = proxy.pair(target)
        proxy.process.terminate()
        for _ in range(10):
            client.sendall(b"x")
            assert read_exactly(served, 1) == b"x"
        client.close()
        assert served.recv(1) == b""
        served.close()
        proxy.expect()


def test_the_end_does_not_wait_for_ever():
    target, address = listener()
    with Proxy(address, "-d", "0.1") as proxy:
        client, served = proxy.pair(target)
        deaf, speaks = proxy.pair(target)
        speaks.setblocking(False)
        try:
            while True:
                speaks.send(b"x" * 65536)
        except BlockingIOError:
            pass
        proxy.end(1, "proxy: some connections were cut off")
        assert is_reset(client) and is_reset(served)


def test_complaints_that_nobody_reads():
    """They take no connection's place, and do not keep it from ending."""
    target = socket.socket()
    target.bind(("127.0.0.1", 0))  # and does not listen yet
    address = "tcp:127.0.0.1:%d" % target.getsockname()[1]
    out, into = full_pipe()
    with Proxy(address, "-c", "2", "-d", "0.1", stderr=into) as proxy:
        os.close(into)
        for _ in range(10):
            assert is_refused(proxy)
        target.listen(8)
        client, served = proxy.pair(target)
        client.sendall(b"x")
        assert read_exactly(served, 1) == b"x"
        proxy.process.terminate()
        assert proxy.process.wait() == 1
    os.close(out)


def test_wrong_command_lines():
    for words in [[], ["tcp::0"], ["a", "b", "c"], ["-c", "0", "a", "b"], ["-c", "1x", "a", "b"], ["-t", "x", "a", "b"],
                  ["-i", "-1", "a", "b"], ["-d", "nan", "a", "b"], ["-z", "a", "b"]]:
        run = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
        assert run.returncode == 2 and "usage: proxy" in run.stderr, words
    run = subprocess.run([sys.argv[1], "nowhere", "tcp:127.0.0.1:1"], capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("proxy: "), run.stderr


faulthandler.dump_traceback_later(100)
for name, test in list(globals().items()):
    if name.startswith("test_"):
        started = time.monotonic()
        test()
        print("%-50s %.2f s" % (name, time.monotonic() - started))
