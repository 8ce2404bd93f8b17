"""The attacks. Each is a function of an Arena, which gives it a server, a crowd, and the time that it has.

While attackers do what they do, honest clients (witnesses) go on asking, and each of them must be answered.
"""

import collections
import fcntl
import os
import random
import signal
import socket
import struct
import termios
import time

from crowd import Crowd, Population
from kinds import Echo, Proxy
from server import Server

WITNESSES = 4


class Arena:
    def __init__(self, kind, binary, work, seconds, count, seed):
        self.kind, self.binary, self.work = kind, binary, work
        self.seconds, self.count, self.seed = seconds, count, seed
        self.begun = self.answered = self.memory = self.rounds = 0
        self.troubles = collections.Counter()
        self.server = None

    def start(self, files=None):
        """A fresh server that has served, and what it holds when nobody is there."""
        self.server = Server(self.kind, self.binary, self.work, files)
        self.crowd = Crowd(self.server.port, self.seed)
        self.crowd.run_once(self.kind.prepare, 1)
        self.crowd.run_once(self.exchange, 20)
        self.server.note_idle()
        self.until = time.monotonic() + self.seconds
        return self.server

    def goes_on(self):
        self.server.alive()
        return time.monotonic() < self.until

    def ask(self, client):
        request = self.kind.request(client.dice)
        yield from client.send(request)
        yield from client.answer(self.kind.complete(request))
        self.answered += 1

    def exchange(self, client):
        """An honest life: one request, one answer."""
        yield from client.connect()
        yield from self.ask(client)

    def witness(self, client):
        yield from client.connect()
        for _ in range(5):
            yield from self.ask(client)
            yield from client.pause(0.02)

    def run(self, *lives, each=lambda: None):
        """Attackers of these kinds, in equal shares, and witnesses; then nothing of it may be left."""
        attackers = [Population(live, self.count // len(lives)) for live in lives]
        self.crowd.run([*attackers, Population(self.witness, WITNESSES, honest=True)], self.goes_on, each)
        for population in attackers:
            self.begun += population.begun
            self.troubles += population.troubles
        self.memory = self.server.memory()
        self.finish()

    def finish(self):
        """Nothing is left of the attack, honest clients are served, and the server ends in order."""
        self.server.alive()
        self.crowd.run_once(self.exchange, 20)
        self.server.check_idle()
        self.server.end()


# ---- connections ----

def churn(arena):
    """Connections that open and close as fast as they can, some with a request, some of these with an answer."""
    def live(client):
        yield from client.connect()
        what = client.dice.randrange(3)
        if what > 0:
            request = arena.kind.request(client.dice)
            yield from client.send(request)
            if what > 1:
                yield from client.answer(arena.kind.complete(request))
    arena.start()
    arena.run(live)


def slow(arena):
    """Requests that come byte by byte, and answers that are taken byte by byte."""
    def writer(client):
        yield from client.connect()
        for byte in arena.kind.request(client.dice)[:1000]:
            yield from client.send(bytes([byte]))
            yield from client.pause(client.dice.uniform(0.2, 2))
        yield from client.receive()

    def reader(client):
        yield from client.connect(receive_buffer=2048)
        yield from client.send(arena.kind.heavy(client.dice), 20)
        while (yield from client.receive(client.dice.choice((1, 10, 1000)))):
            yield from client.pause(client.dice.uniform(0.2, 2))

    arena.start()
    arena.run(writer, reader)


def resets(arena):
    """Connections that are reset in the middle: of nothing, a request, an answer, many."""
    def live(client):
        dice, kind = client.dice, arena.kind
        yield from client.connect()
        request = kind.request(dice)
        data = dice.choice((b"", request, request[:len(request) // 2], request * 20, kind.heavy(dice)))
        yield from client.send(data, 0.1)
        if dice.random() < 0.5:
            yield from client.receive(dice.choice((1, 1000, 100000)), 0.1)
        if dice.random() < 0.5:
            yield from client.pause(dice.uniform(0, 0.1))
        client.reset()
    arena.start()
    arena.run(live)


def half(arena):
    """Peers that shut down one way and go on, and peers of which nothing more is heard."""
    def says_no_more(client):
        yield from client.connect()
        request = arena.kind.request(client.dice)
        yield from client.send(request)
        client.shut(socket.SHUT_WR)
        yield from client.answer(arena.kind.complete(request))
        yield from client.drop()

    def hears_no_more(client):
        yield from client.connect()
        client.shut(socket.SHUT_RD)
        for _ in range(client.dice.randrange(100)):
            if not (yield from client.send(arena.kind.request(client.dice), 5)):
                break
            yield from client.pause(client.dice.uniform(0, 2))

    def says_no_more_and_hears_late(client):
        yield from client.connect(receive_buffer=2048)
        # Few large ones: their answers fill the system's memory for sockets, which all share.
        large = client.dice.random() < 0.05
        yield from client.send(arena.kind.heavy(client.dice) if large else arena.kind.request(client.dice), 5)
        client.shut(socket.SHUT_WR)
        yield from client.pause(client.dice.uniform(0, 15))
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        yield from client.drop(10)

    def silent(client):
        yield from client.connect()
        request = arena.kind.request(client.dice)
        yield from client.send(client.dice.choice((b"", request[:len(request) // 2], request)))
        yield from client.pause(client.dice.uniform(0, 60))

    arena.start()
    arena.run(says_no_more, hears_no_more, says_no_more_and_hears_late, silent)


# ---- what is sent ----

def sends(arena, make):
    def live(client):
        yield from client.connect()
        if (yield from client.send(make(client.dice), 10)) and client.dice.random() < 0.7:
            client.shut(socket.SHUT_WR)
        yield from client.drop(5)
    arena.start()
    arena.run(live)


def huge(arena):
    """Lines, heads, lengths and bodies of 100 kB, or said to be larger."""
    sends(arena, arena.kind.huge)


def garbage(arena):
    """Random bytes, and requests that something has happened to."""
    sends(arena, arena.kind.wrong)


# ---- what the system gives ----

def files(arena):
    """64 descriptors, and many more connections: each is served in its turn."""
    def holds(client):
        yield from client.connect()
        if client.dice.random() < 0.5:
            yield from client.send(arena.kind.request(client.dice))
        yield from client.pause(client.dice.uniform(0, 0.3))

    arena.start(files=64)
    honest = Population(arena.exchange, 300, honest=True)
    arena.crowd.run([honest, Population(holds, 300)], arena.goes_on)
    arena.begun = honest.begun
    arena.memory = arena.server.memory()
    arena.finish()


def cold(arena):
    """64 descriptors, and a hundred at once before any worker has waited for anything; again and again."""
    end = time.monotonic() + arena.seconds
    while time.monotonic() < end:
        server = arena.server = Server(arena.kind, arena.binary, arena.work, 64)
        arena.crowd = Crowd(server.port, arena.seed + arena.rounds)
        arena.crowd.run_once(arena.kind.prepare, 1)
        arena.crowd.run_once(arena.exchange, 100)
        arena.begun += 100
        arena.rounds += 1
        server.alive()
        arena.memory = server.memory()
        server.end()


def stop(arena):
    """SIGSTOP and SIGCONT, while many are being answered."""
    server, state = arena.start(), {"next": 0.0, "stopped": False}

    def live(client):
        yield from client.connect()
        for _ in range(client.dice.randrange(1, 20)):
            yield from arena.ask(client)
            yield from client.pause(client.dice.uniform(0, 0.2))

    def each():
        if time.monotonic() > state["next"]:
            state["stopped"] = not state["stopped"] and time.monotonic() < arena.until
            server.process.send_signal(signal.SIGSTOP if state["stopped"] else signal.SIGCONT)
            state["next"] = time.monotonic() + arena.crowd.dice.uniform(0, 1)

    honest = Population(live, min(1000, arena.count), honest=True)
    arena.crowd.run([honest], arena.goes_on, each)
    server.process.send_signal(signal.SIGCONT)
    arena.begun = honest.begun
    arena.memory = server.memory()
    arena.finish()


def backlog(arena):
    """More connections than the listener has places for, while the server stands still; then all are answered."""
    server = arena.start()
    while arena.goes_on():
        server.process.send_signal(signal.SIGSTOP)
        go_on = time.monotonic() + 1

        def each(go_on=go_on):
            if time.monotonic() > go_on:
                server.process.send_signal(signal.SIGCONT)

        arena.crowd.run_once(arena.exchange, arena.count, each)
        arena.begun += arena.count
    arena.memory = server.memory()
    arena.finish()


class Target:
    """What stands behind the proxy in one attack: it stands still, is killed, and comes back at the same place."""

    def __init__(self, arena):
        self.arena, self.binary, self.dice = arena, arena.kind.echo, random.Random(arena.seed)
        self.work = os.path.join(arena.work, "target")
        os.mkdir(self.work)
        self.begin("tcp:127.0.0.1:0")
        self.address = "tcp:127.0.0.1:%d" % self.server.port
        self.next = 0.0
        self.stopped = False

    def begin(self, address):
        self.server = Server(Echo(), self.binary, self.work, address=address)

    def go_on(self):
        self.server.process.send_signal(signal.SIGCONT)

    def each(self):
        if time.monotonic() > self.next:
            self.next = time.monotonic() + self.dice.uniform(0.05, 0.5)
            if not self.stopped:
                self.server.process.send_signal(signal.SIGSTOP)
            elif self.dice.random() < 0.5:
                self.go_on()
            else:
                self.server.kill()
                self.begin(self.address)
                self.arena.rounds += 1
            self.stopped = not self.stopped


def behind(arena):
    """The proxy's target stands still, is killed, and comes back, while some have said all and wait for the rest."""
    target = Target(arena)
    arena.kind = Proxy(target.address)

    def live(client):
        yield from client.connect()
        for _ in range(client.dice.randrange(1, 10)):
            large = client.dice.random() < 0.05
            yield from client.send(arena.kind.heavy(client.dice) if large else arena.kind.request(client.dice), 1)
            if client.dice.random() < 0.3:
                client.shut(socket.SHUT_WR)
                break
            yield from client.receive(1 << 20, 1)
        yield from client.drop(1)

    arena.start()
    attackers = Population(live, min(500, arena.count))
    arena.crowd.run([attackers], arena.goes_on, target.each)
    target.go_on()
    arena.begun, arena.troubles = attackers.begun, attackers.troubles
    arena.finish()
    target.server.end()


# ---- the end ----

def unacknowledged(client):
    """Bytes that were sent, and have not come to the other side as far as the system."""
    return struct.unpack("i", fcntl.ioctl(client.socket, termios.TIOCOUTQ, b"\0" * 4))[0]


class Ending:
    """One server's end: each of its clients has been served once, and has begun a request when the signal comes."""

    def __init__(self, arena, count):
        self.arena, self.count = arena, count
        self.server = arena.start()
        self.ready = self.ended = 0
        self.begun = []
        self.told = False

    def live(self, client):
        kind, dice = self.arena.kind, client.dice
        yield from client.connect()
        yield from self.arena.ask(client)
        self.ready += 1
        while self.ready < self.count:
            yield from client.pause(0.05)
        request = kind.request(dice)
        what = dice.randrange(3) if kind.keeps_begun else 2  # idle, begun, whole
        now = b"" if what == 0 else request[:dice.randrange(1, len(request))] if what == 1 else request
        yield from client.send(now)
        self.begun.append(client)
        while not self.told:
            yield from client.pause(0.02)
        if what > 0:
            yield from client.send(request[len(now):])
            yield from client.answer(kind.complete(request))
            self.arena.answered += 1
            self.arena.begun += 1
        if kind.name != "proxy":  # whose connections are their ends' to close
            assert (yield from client.drop()) and client.come == b"", "more than the end"
        self.ended += 1

    def tell(self):
        if len(self.begun) == self.count and not self.told and not any(map(unacknowledged, self.begun)):
            self.server.terminate()
            self.server.process.send_signal(signal.SIGINT)  # at once, it means the same: timeout(1) sends two
            self.told = True

    def run(self):
        def comes_and_goes(client):
            yield from client.connect()
            yield from client.send(self.arena.kind.request(client.dice))
            yield from client.pause(client.dice.uniform(0, 0.05))
        crowd = self.arena.crowd
        honest, others = Population(self.live, self.count, honest=True), Population(comes_and_goes, 50)
        for _ in range(self.count):
            crowd.bear(honest)
        crowd.run([others], lambda: self.ended < self.count and (self.told or self.server.alive() or True), self.tell)
        self.server.expect(0)
        assert self.ended == self.count


def term(arena):
    """SIGTERM in the middle, again and again: all requests that had begun are answered, by count."""
    until = time.monotonic() + arena.seconds
    while time.monotonic() < until:
        Ending(arena, min(500, arena.count)).run()
        arena.rounds += 1


def twice(arena):
    """SIGTERM, and again, with answers that nobody takes: the first is no end yet, a later one is."""
    until = time.monotonic() + arena.seconds

    def deaf(client):
        yield from client.connect(receive_buffer=2048)
        yield from client.send(arena.kind.heavy(client.dice) * 20, 0.5)
        yield from client.pause(1000)

    while time.monotonic() < until:
        server = arena.start()
        state = {"next": time.monotonic() + 1, "count": 0}

        def goes_on(server=server):
            return server.process.poll() is None

        def each(server=server, state=state):
            if time.monotonic() > state["next"]:
                server.terminate()
                state["next"] = time.monotonic() + 0.02
                state["count"] += 1

        crowd = arena.crowd
        crowd.run([Population(deaf, 50)], goes_on, each)
        server.expect(-signal.SIGTERM)
        assert state["count"] > 1, "it ended at once"
        arena.rounds += 1


ATTACKS = [churn, slow, resets, half, huge, garbage, files, cold, stop, backlog, behind, term, twice]
