"""Over TLS: requests, files, the end, certificates that are replaced; also by curl, where it is."""

import fcntl
import os
import shutil
import signal
import ssl
import struct
import subprocess
import termios

from talk import BIG, BINARY, Client, GET, HELLO, HUGE, Server, WORK, connections, expect, sized

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(WORK, "tls")


def at(name):
    return os.path.join(FILES, name)


def is_there():
    """Whether the server can do it, and certificates can be made."""
    if not shutil.which("openssl"):
        return False
    if not os.path.isdir(FILES):
        os.mkdir(FILES)
        subprocess.run(["sh", "-c", '. "$1"; certificates "$2"', "sh",
                        os.path.join(HERE, "..", "certificates.sh"), FILES], check=True)
    said = subprocess.run([BINARY, "--tls", at("nothing"), at("nothing")], capture_output=True)
    assert said.returncode == 1
    return b"not supported" not in said.stderr


class Encrypted(Client):
    """A client that talks TLS, and trusts the issuer of the tests."""

    def __init__(self, port, text=b"", issuer="ca", **options):
        super().__init__(port, **options)
        context = ssl.create_default_context(cafile=at(issuer + ".pem"))
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.suppress_ragged_eofs = False
        self.socket = context.wrap_socket(self.socket, server_hostname="a.test", suppress_ragged_eofs=False)
        self.send(text)

    def subject(self):
        return self.socket.getpeercert()["subject"][0][0][1]


def copy_as_served(name):
    for kind in ("pem", "key"):
        shutil.copy(at(f"{name}.{kind}"), at(f"served.{kind}.new"))
        os.replace(at(f"served.{kind}.new"), at(f"served.{kind}"))


def serve(*options, **others):
    copy_as_served("own")
    return Server("--tls", at("served.pem"), at("served.key"), *options, **others)


def test_tls_requests():
    if not is_there():
        return
    with serve() as server:
        with Encrypted(server.port) as client:
            assert client.socket.selected_alpn_protocol() == "http/1.1"
            for _ in range(3):
                assert client.lives()
            client.send(GET * 50)  # all at once: what has come already is not waited for
            for _ in range(50):
                expect(client.answer(), 200, HELLO)
            client.send(sized(b"x" * 100000))
            expect(client.answer(), 200, b"x" * 100000)
            client.send(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
            expect(client.answer(), 200, BIG)
            client.send(b"GET /huge HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            expect(client.answer(), 200, bytes(HUGE))
            assert client.rest() == b""  # which ends cleanly: a ragged end raises
        with Encrypted(server.port, b"nonsense\r\n\r\n") as client:
            expect(client.answer(), 400)
            assert client.rest() == b""


def test_tls_is_asked_for():
    """What is no TLS gets no answer, and somebody silent holds no place for long."""
    if not is_there():
        return
    with serve() as server:
        with server.client(GET) as client:
            assert HELLO not in client.rest()
        with Encrypted(server.port) as client:
            assert client.lives()
    with serve("--head-time", "0.2") as server:
        with server.client() as client:
            assert client.rest() == b""


def test_tls_ends():
    """Idle connections are told at SIGTERM, cleanly, and those that have said nothing yet end."""
    if not is_there():
        return
    with serve() as server:
        silent = server.client()
        clients = [Encrypted(server.port) for _ in range(10)]
        for client in clients:
            assert client.lives()
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            assert client.socket.recv(1) == b""
            client.socket.close()
        assert silent.rest() == b""
        silent.socket.close()
        server.process.wait()


def test_tls_ends_in_a_handshake():
    """One that has only begun is cut off after the drain time."""
    if not is_there():
        return
    with serve("--drain-time", "0.2", status=1, stderr=b"cut off") as server:
        with server.client(b"\x16\x03\x01") as slow:
            while struct.unpack("i", fcntl.ioctl(slow.socket, termios.TIOCOUTQ, b"\0" * 4))[0]:
                pass  # until it has come
            port = slow.socket.getsockname()[1]
            while (server.port, port, 0) not in connections():
                pass  # until the server has read it: it is in the handshake
            server.process.send_signal(signal.SIGTERM)
            assert slow.rest() == b""
        server.process.wait()


def test_tls_reload():
    """At SIGHUP new connections see the new certificate; the old ones go on; a bad one is not taken."""
    if not is_there():
        return
    with serve(stderr=b"stays as it was") as server:
        with Encrypted(server.port) as before:
            assert before.subject() == "own"
            copy_as_served("next")
            server.process.send_signal(signal.SIGHUP)
            while True:
                with Encrypted(server.port) as client:
                    if client.subject() == "next":
                        break
            assert before.lives()
            with open(at("served.pem"), "w") as file:
                file.write("nothing of use")
            server.process.send_signal(signal.SIGHUP)
            assert b"stays as it was" in server.process.stderr.readline()
            with Encrypted(server.port) as client:
                assert client.subject() == "next"
                assert client.lives()
            assert before.lives()
            server.says = b""


def test_tls_curl():
    if not is_there() or not shutil.which("curl"):
        return
    with serve() as server:
        url = f"https://a.test:{server.port}"
        # Neither the user's settings nor a proxy of theirs is asked.
        curl = ["curl", "-q", "-sS", "--cacert", at("ca.pem"), "--noproxy", "*", "--resolve", f"a.test:{server.port}:127.0.0.1"]
        said = subprocess.run(curl + [url + "/hello", url + "/big", url + "/a.txt"], capture_output=True)
        assert said.returncode == 0, said.stderr
        assert said.stdout == HELLO + BIG + b"a text\n"
        curl[4] = at("others.pem")
        assert subprocess.run(curl + [url + "/hello"], capture_output=True).returncode == 60


def test_tls_ciphers():
    """With 1.2 the server takes no CBC cipher, and has its own order."""
    if not is_there():
        return
    with serve() as server:
        def taken(ciphers):
            context = ssl.create_default_context(cafile=at("ca.pem"))
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(ciphers)
            with server.client() as client:
                encrypted = context.wrap_socket(client.socket, server_hostname="a.test")
                name = encrypted.cipher()[0]
                encrypted.close()
                return name

        both = ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384")
        assert taken(":".join(both)) == taken(":".join(both[::-1])) == both[1]
        for cipher in ("ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"):
            try:
                raise AssertionError("taken: " + taken(cipher))
            except ssl.SSLError:
                pass


def test_tls_refused():
    """Files that are not there, and half an option."""
    if not is_there():
        return
    said = subprocess.run([BINARY, "--tls", at("nowhere"), at("own.key")], capture_output=True)
    assert said.returncode == 1 and b"No such file" in said.stderr, said
    said = subprocess.run([BINARY, "--tls", at("own.pem"), at("odd.key")], capture_output=True)
    assert said.returncode == 1, said
    said = subprocess.run([BINARY, "--tls", at("own.pem")], capture_output=True)
    assert said.returncode == 2 and b"without a KEY" in said.stderr, said
