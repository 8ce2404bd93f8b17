"""Very many connections in one thread. What a connection does is a generator, its *life*, which yields what it waits for.

A life gets a Client and is written from top to bottom: `yield from client.send(...)`. An *honest* life fails the run by
an exception, and by a wait that does not end within LIMIT; what becomes of the others is the server's affair.
"""

import collections
import errno
import heapq
import os
import random
import select
import socket
import struct
import time

LIMIT = 180  # seconds until what does not come counts as never coming; a sanitizer's server is slow
READ, WRITE = select.EPOLLIN | select.EPOLLRDHUP, select.EPOLLOUT
WAITS = (errno.EINPROGRESS, errno.EAGAIN)


class Closed(Exception):
    """The other side has ended where more was expected."""


class Client:
    def __init__(self, crowd, port, dice):
        self.crowd, self.port, self.dice = crowd, port, dice
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.come = b""  # and not used up

    def connect(self, receive_buffer=None):
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        # Addresses of this machine in turn: ports of one would not last a minute.
        address = "127.0.0.%d" % self.dice.randrange(1, 100)
        code = self.socket.connect_ex((address, self.port))
        if code in WAITS:
            yield WRITE, LIMIT
            code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data, limit=LIMIT):
        """Returns whether all was taken in time."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view):]
            except BlockingIOError:
                if not (yield WRITE, limit):
                    return False
        return True

    def receive(self, size=65536, limit=LIMIT):
        """Returns what there is, b"" at the end, None when nothing came in time."""
        while True:
            try:
                return self.socket.recv(size)
            except BlockingIOError:
                if not (yield READ, limit):
                    return None

    def answer(self, complete):
        """Receives until complete(bytes) tells how many are an answer; returns it."""
        while not (size := complete(self.come)):
            piece = yield from self.receive(1 << 20)
            if piece is None:
                raise TimeoutError("no answer")
            if piece == b"":
                raise Closed(self.come[:100])
            self.come += piece
        answer, self.come = self.come[:size], self.come[size:]
        return answer

    def drop(self, limit=LIMIT):
        """Receives until the end, or until nothing comes for a while; returns whether the end came."""
        while (yield READ, limit):  # others in between: a server may send without end
            if not self.socket.recv(1 << 20):
                return True
        return False

    def pause(self, seconds):
        yield 0, seconds

    def shut(self, how):
        self.socket.shutdown(how)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Life:
    def __init__(self, population, client):
        self.population, self.client = population, client
        self.steps = population.live(client)
        self.turn = 0  # of its waits; one that is over has another
        self.mask = self.limit = 0


class Population:
    """Lives of one kind: `count` at a time; one that has ended is followed by another."""

    def __init__(self, live, count, honest=False):
        self.live, self.count, self.honest = live, count, honest
        self.now = self.begun = 0
        self.troubles = collections.Counter()  # what ended lives that are not honest, by its kind


class Crowd:
    def __init__(self, port, seed):
        self.port, self.dice = port, random.Random(seed)
        self.epoll = select.epoll()
        self.lives = {}  # by descriptor
        self.waits = []  # when, number, life, its turn
        self.number = 0

    def run(self, populations, goes_on, each=lambda: None):
        """Keeps them up for some time, calling each() now and then; then lets the honest ones end, and closes the others."""
        while goes_on():
            each()
            for population in populations:
                self.fill(population)
            self.step(0.05)
        for life in [life for life in self.lives.values() if not life.population.honest]:
            self.bury(life)
        while self.lives:
            each()
            self.step(0.05)

    def run_once(self, live, count, each=lambda: None):
        """Lets so many honest ones live, all at once, each of them once."""
        population = Population(live, count, honest=True)
        for _ in range(count):
            self.bear(population)
        while self.lives:
            each()
            self.step(0.05)

    def fill(self, population):
        for _ in range(min(population.count - population.now, 500)):
            self.bear(population)

    def bear(self, population):
        life = Life(population, Client(self, self.port, self.dice))
        population.now += 1
        population.begun += 1
        self.lives[life.client.socket.fileno()] = life
        life.fd = life.client.socket.fileno()
        self.go_on(life, None)

    def step(self, seconds):
        if self.waits:
            seconds = min(seconds, max(0.0, self.waits[0][0] - time.monotonic()))
        for fd, _ in self.epoll.poll(seconds, 1000):
            if fd in self.lives:
                self.go_on(self.lives[fd], True)
        now = time.monotonic()
        while self.waits and self.waits[0][0] <= now:
            _, _, life, turn = heapq.heappop(self.waits)
            if life.turn == turn:
                self.go_on(life, False)

    def go_on(self, life, ready):
        life.turn += 1
        if ready is False and life.population.honest and life.limit == LIMIT:
            raise RuntimeError("an honest client waited for nothing")
        try:
            mask, limit = life.steps.send(ready)
        except StopIteration:
            self.bury(life)
            return
        except (OSError, Closed, TimeoutError) as trouble:
            if life.population.honest:
                raise RuntimeError("an honest client got %r" % trouble) from trouble
            life.population.troubles[type(trouble).__name__] += 1
            self.bury(life)
            return
        self.wait(life, mask, limit)

    def wait(self, life, mask, limit):
        if mask:
            if not life.mask:
                self.epoll.register(life.fd, mask | select.EPOLLONESHOT)
            else:
                self.epoll.modify(life.fd, mask | select.EPOLLONESHOT)
            life.mask = mask
        elif life.mask:
            self.epoll.modify(life.fd, select.EPOLLONESHOT)
        life.limit = limit
        self.number += 1
        heapq.heappush(self.waits, (time.monotonic() + limit, self.number, life, life.turn))

    def bury(self, life):
        life.turn += 1
        life.population.now -= 1
        del self.lives[life.fd]
        life.client.socket.close()
        life.steps.close()
