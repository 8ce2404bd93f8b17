"""Traces as thrum_trace_write would have written them, made here: of any size, always the same for a seed."""

import heapq
import json
import random

FUNCTIONS = ("accept_all", "serve_connection", "read_request", "sort_piece", "flush_log", "compress", "index_page",
             "collect", "tick", "resolve_name", "main")
OBJECTS = ("mutex", "channel to receive", "event", "task", "semaphore")


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def event(ph, tid, ns=None, **members):
    time = "" if ns is None else f',"ts":{us(ns)}'
    if "dur" in members:
        time += f',"dur":{us(members.pop("dur"))}'
    rest = json.dumps(members, separators=(",", ":"))[1:]
    return f'{{"ph":"{ph}","pid":1,"tid":{tid}{time},{rest}'


class Maker:
    """Workers that take turns with tasks: each runs the task that has been due for longest."""

    def __init__(self, runs, workers, seed):
        self.random = random.Random(seed)
        self.left = runs
        self.workers = workers
        self.now = [self.random.randrange(20000) for _ in range(workers)]
        self.lines = [[] for _ in range(workers)]
        self.due = [(0, i, None) for i in range(8 * workers)]  # when, the task's number, how it last ended
        self.runs_of = {}

    def all(self):
        while self.left:
            self.left -= 1
            worker = min(range(self.workers), key=self.now.__getitem__)
            when, task, ended = heapq.heappop(self.due)
            if when > self.now[worker]:
                self.sleep(worker, when)
            self.run(worker, task, ended)
        return self.lines

    def sleep(self, worker, until):
        lines, since = self.lines[worker], self.now[worker] + 100
        end = max(until - 300, since)
        lines.append(event("X", worker + 1, since, dur=end - since, cat="sched", name="parked"))
        other = self.random.randrange(self.workers)
        if other != worker and self.now[other] <= end:  # who is behind in time may still note the wake
            at = max(self.now[other], end - 4000)
            self.lines[other].append(event("i", other + 1, at, s="t", cat="sched", name="wake",
                                           args={"worker": worker}))
            self.now[other] = at + 50
        self.now[worker] = max(until, end + 50)

    def run(self, worker, task, ended):
        rng, tid, lines = self.random, worker + 1, self.lines[worker]
        begin = self.now[worker]
        length = int(rng.lognormvariate(8.5, 1.4)) + 40
        end = begin + length
        function = FUNCTIONS[task % len(FUNCTIONS)]
        number = f"{task + 1}.{self.runs_of.setdefault(task, 1)}"
        args = {"id": number, "function": function}
        how = rng.random()
        pause = 0
        if how < 0.15:
            args["ended"], pause = "finished", 2000
        elif how < 0.3:
            args["ended"] = "yielded"
        elif how < 0.55:
            args |= {"ended": "waits", "on": "descriptor to read", "fd": 5 + task % 60}
            pause = int(rng.lognormvariate(11, 1.5))
        elif how < 0.6:
            args |= {"ended": "waits", "on": "blocking call", "object": "0x7f0000000b70"}
            pause = int(rng.lognormvariate(12, 1))
        else:
            args |= {"ended": "waits", "on": OBJECTS[task % len(OBJECTS)], "object": hex(0x7f0000001000 + 64 * (task % 50))}
            pause = int(rng.lognormvariate(9.5, 1.6))
        name = function if task % 3 else f"{function} {task}"
        lines.append(event("X", tid, begin, dur=length, cat="run", name=name, args=args))
        if ended == "blocking call":
            lines.append(event("e", tid, begin, cat="blocking call", name="blocking call", id=number))
        if ended not in (None, "finished"):
            lines.append(event("f", tid, begin, cat="goes on", name="goes on", id=number, bp="e"))
        if args["ended"] == "finished":
            self.runs_of[task] += 1
        else:
            lines.append(event("s", tid, end - 1, cat="goes on", name="goes on", id=number))
        if args.get("on") == "descriptor to read":
            lines.append(event("b", tid, end, cat="outside", name=f"reads fd {args['fd']}", id=number))
            lines.append(event("i", tid, begin + length // 2, s="t", cat="outside", name="read",
                               args={"fd": args["fd"], "bytes": rng.randrange(4000)}))
        elif args.get("on") == "blocking call":
            lines.append(event("b", tid, end, cat="blocking call", name="blocking call", id=number))
        self.now[worker] = end + 30
        if how > 0.93:
            name, args_ = ("steal", {"worker": (worker + 1) % self.workers}) if how > 0.96 else ("poll", {"events": 2})
            lines.append(event("i", tid, end + 20, s="t", cat="sched", name=name, args=args_))
        heapq.heappush(self.due, (end + pause, task, args.get("on", args["ended"])))


def trace(runs, workers=4, seed=1):
    """A trace, as pieces of text."""
    maker = Maker(runs, workers, seed)
    yield '{"traceEvents":[\n' + event("M", 0, name="process_name", args={"name": "made"})
    for worker, lines in enumerate(maker.all()):
        yield ",\n" + event("M", worker + 1, name="thread_name", args={"name": f"worker {worker}"})
        yield ",\n" + event("M", worker + 1, name="thread_sort_index", args={"sort_index": worker + 1})
        yield from (",\n" + line for line in lines)
    yield "\n],\n" + rest(max(maker.now))


def rest(length=1000, dropped=0):
    return ('"displayTimeUnit":"ns",\n"otherData":{"sched":"made","start_ns":1,"length_us":' + us(length)
            + f',"dropped":{dropped},"untraced":0}}}}\n')


def of_events(events, length=1000000, dropped=0):
    """A small trace of given events, on one worker."""
    lines = [event("M", 0, name="process_name", args={"name": "small"}),
             event("M", 1, name="thread_name", args={"name": "worker 0"}), *events]
    return '{"traceEvents":[\n' + ",\n".join(lines) + "\n],\n" + rest(length, dropped)
