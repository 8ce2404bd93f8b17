"""A server that is started without stdin, stdout and stderr serves, and none of its descriptors is one of these; and one that is
started at the socket's file that it has left behind serves as well: bare.py COMMAND...

In the COMMAND, HERE stands for the address at which it is to listen."""
import os
import signal
import socket
import subprocess
import sys
import tempfile


def close_standard():
    for fd in range(3):
        os.close(fd)


def start_and_end(path):
    server = subprocess.Popen(["unix:" + path if word == "HERE" else word for word in sys.argv[1:]], preexec_fn=close_standard)
    try:
        with socket.socket(socket.AF_UNIX) as guest:
            while guest.connect_ex(path) != 0:
                assert server.poll() is None, "it ended with %d" % server.returncode
            links = [os.readlink("/proc/%d/fd/%d" % (server.pid, fd)) for fd in range(3)]
            assert links == ["/dev/null"] * 3, links
            # Connected is not accepted: only what has been accepted ends in order.
        server.send_signal(signal.SIGTERM)
        assert server.wait() in (0, -signal.SIGTERM), "it ended with %d" % server.returncode
    finally:
        server.kill()
        server.wait()


with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):
        start_and_end(os.path.join(folder, "socket"))
