#!/usr/bin/env python3
"""
Three replicas of examples/kv/replicated on real sockets: one after the other is killed and starts again, and the keys stay.

  tests/examples/replicated.py PROGRAM

Nothing waits for a fixed time: a request that has no answer is sent again, and the limit of the whole test ends what never
comes.
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
# Addresses of the loopback that no other process has.
HOSTS = ["127.%d.%d.%d" % (1 + (os.getpid() >> 14 & 127), os.getpid() >> 6 & 255, (os.getpid() & 63) * 4 + i) for i in range(3)]
PORT = 7000


class Replica:
    def __init__(self, folder, number):
        self.number = number
        self.log = os.path.join(folder, "log%d" % number)
        self.start()

    def start(self):
        hosts = ["%s:%d" % (host, PORT) for host in HOSTS]
        self.process = subprocess.Popen([PROGRAM, str(self.number + 1), self.log, *hosts], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line == "listening at tcp:%s\n" % hosts[self.number], line

    def ask(self, request):
        """The answer, or nothing if there is none."""
        try:
            with socket.create_connection((HOSTS[self.number], PORT)) as client:
                client.sendall(request.encode() + b"\nquit\n")
                with client.makefile(newline="\r\n") as answers:
                    answer = answers.readline()
                    if answer[:1] == "$" and answer[1:2] != "-":
                        answer += answers.readline()
                    return answer
        except OSError:
            return ""

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        with self.process.stdout:
            assert self.process.wait() == 0, self.process.returncode


def ask(replicas, request):
    """Asks the replicas in turn, until one has done it. Returns that one, and its answer."""
    while True:
        for replica in replicas:
            answer = replica.ask(request)
            if answer and not answer.startswith("-"):
                return replica, answer


def main():
    with tempfile.TemporaryDirectory() as folder:
        replicas = [Replica(folder, number) for number in range(3)]
        for number in range(4):
            leader, answer = ask(replicas, "set x %d" % number)
            assert answer == "+OK\r\n", answer
            leader.kill()
            others = [replica for replica in replicas if replica is not leader]
            answer = ask(others, "get x")[1]
            assert answer == "$1\r\n%d\r\n" % number, answer
            leader.start()
        for replica in replicas:
            replica.end()


if __name__ == "__main__":
    sys.exit(main())
