"""
columns.py: what a trace has, in columns of numbers and one list of strings, as the page wants it.

Of each track there are three tables: the stretches that tasks ran ("runs"), the sleeps, and the marks (instants). The
beginnings are kept as the distance to the row before, which compresses well. What stands in the trace twice is left
out: arrows follow from the stretches of a task, and asynchronous slices from how stretches ended.
"""
from array import array

MARKS = ("steal", "rescue", "wake", "take over", "retire", "read", "write", "poll", "stall")
ENDS = ("", "finished", "yielded", "waits", "running")  # numbered so in a run's `ended`
NONE = 0  # the empty string, the number 0 of the strings
LAST_NS = 1 << 53  # numbers of JavaScript's are exact up to here
RESUMED = 1  # a run's flag: the task had run before, wherever
FROM_THREAD = (1 << 32) - 1  # a task's `fiber`, of the own code of a bound thread
FROM_TEXT = (1 << 32) - 2  # a task's `fiber`, where its number is a string of another form
APART = 1 << 20  # how far the tracks' numbers of one file are from those of the next one
FILES_MAX = 1 << 10

RUN = {"begin": "Q", "length": "Q", "name": "I", "task": "I", "on": "I", "object": "I", "ended": "B", "flags": "B"}
SLEEP = {"begin": "Q", "length": "Q", "name": "I"}
MARK = {"begin": "Q", "kind": "B", "number": "I", "bytes": "Q"}
TASK = {"fiber": "I", "run": "I", "function": "I"}


def table(kinds):
    return {name: array(kind) for name, kind in kinds.items()}


def ns_of(event, key):
    """A time of the trace's, which is in microseconds, in nanoseconds."""
    us = event.get(key)
    if type(us) not in (int, float):
        raise ValueError(f'its "{key}" is no number')
    ns = round(us * 1000) if -1 <= us <= LAST_NS else -1
    if not 0 <= ns <= LAST_NS:
        raise ValueError(f'its "{key}" is no time')
    return ns


def count_of(value):
    """A number that is not negative; others are taken for 0."""
    return min(value, LAST_NS) if type(value) is int and value >= 0 else 0


class Track:
    def __init__(self, tid, file):
        self.number = file * APART + tid - 1  # a worker's, as marks name it
        self.tid = tid
        self.file = file
        self.name = f"thread {tid}"
        self.order = tid
        self.runs = table(RUN)
        self.sleeps = table(SLEEP)
        self.marks = table(MARK)


class Columns:
    def __init__(self):
        self.tracks = {}  # those of the file that is read
        self.all_tracks = []
        self.file = -1
        self.labels = []
        self.rests = []  # what each file says at its end
        self.late = [0]  # by how many ns each file begins after the earliest
        self.strings = [""]
        self.numbers = {"": NONE}  # of the strings
        self.tasks = table(TASK)
        self.task_numbers = {}
        self.name = ""
        self.events = 0
        self.takes = {"X": self.take_slice, "i": self.take_mark, "f": self.take_arrow, "M": self.take_name}

    def begin_file(self, label):
        """What follows is another process's: its own workers and tasks, and its own beginning of time."""
        self.file += 1
        self.labels.append(label)
        self.rests.append({})
        self.tracks = {}
        self.task_numbers = {}

    def end_file(self):
        self.all_tracks += sorted(self.tracks.values(), key=lambda t: (t.order, t.tid))

    def align(self, offsets=()):
        """
        Has all times count from the earliest beginning, if there are several files; `offsets` has the ns by which each
        one's clock is behind. Call it once, at the end.
        """
        if self.file > 0:
            starts = [count_of(rest.get("start_ns")) + offset
                      for rest, offset in zip(self.rests, offsets or [0] * len(self.rests))]
            self.late = [start - min(starts) for start in starts]
            for track in self.all_tracks:
                track.name = f"{self.labels[track.file]}: {track.name}"
                for rows in (track.runs, track.sleeps, track.marks):
                    rows["begin"] = array("Q", (begin + self.late[track.file] for begin in rows["begin"]))

    def take(self, event):
        take = self.takes.get(event.get("ph"))
        if take:
            take(event)
        elif not isinstance(event.get("ph"), str):
            raise ValueError('its "ph" is no string')

    def take_rest(self, rest):
        self.rests[self.file] = rest if isinstance(rest, dict) else {}

    # ---- pieces ----

    def string(self, text):
        number = self.numbers.get(text)
        if number is None:
            if not isinstance(text, str):
                raise ValueError("something that is no string stands where one must")
            number = self.numbers[text] = len(self.strings)
            self.strings.append(text)
        return number

    def track(self, event):
        tid = event.get("tid")
        track = self.tracks.get(tid)
        if track is None:
            if type(tid) is not int or not 0 <= tid <= (APART if self.file else LAST_NS):
                raise ValueError('its "tid" is no number of a thread')
            track = self.tracks[tid] = Track(tid, self.file)
        return track

    def task(self, number, function):
        """A task by its number ("12.3", "thread 1"); those without one get one each."""
        found = self.task_numbers.get(number)
        if found is not None:
            if function and not self.tasks["function"][found]:
                self.tasks["function"][found] = self.string(function)
            return found
        found = len(self.tasks["fiber"])
        fiber, run = split_number(number)
        if fiber == FROM_TEXT:
            run = self.string(number if number is not None else "")
        if number is not None:
            self.task_numbers[number] = found
        for name, value in (("fiber", fiber), ("run", run), ("function", self.string(function))):
            self.tasks[name].append(value)
        return found

    # ---- events, by their kind ----

    def take_slice(self, event):
        track = self.track(event)
        begin, length = ns_of(event, "ts"), ns_of(event, "dur")
        args = event.get("args") or {}
        name = event.get("name", "")
        if args.get("runs") is not None:
            name = f"{count_of(args['runs'])} runs of {name}"
        name = self.string(name)
        if event.get("cat") == "sched":
            add(track.sleeps, begin, length, name)
            return
        descriptor = args.get("fd")
        thing = f"fd {count_of(descriptor)}" if descriptor is not None else args.get("object", "")
        if "tag" in args:
            thing = f"peer {args.get('peer', '?')}, tag {args['tag']}"
        ended = args.get("ended", "")
        add(track.runs, begin, length, name, self.task(args.get("id"), args.get("function", "")),
            self.string(args.get("on", "")), self.string(thing),
            ENDS.index(ended) if ended in ENDS else 0, 0)

    def take_mark(self, event):
        track = self.track(event)
        name = event.get("name", "")
        if name not in MARKS:
            return
        args = event.get("args") or {}
        number = args.get("fd", args.get("events", args.get("worker", args.get("ms"))))
        # 0 stands for none.
        number = 0 if number is None else min(count_of(number), FROM_TEXT) + 1
        if number and "worker" in args and self.file > 0:
            number = min(number, APART) + self.file * APART
        add(track.marks, ns_of(event, "ts"), MARKS.index(name), number, count_of(args.get("bytes")))

    def take_arrow(self, event):
        """The head of an arrow follows the run that it points at: that task goes on, and did not begin."""
        flags = self.track(event).runs["flags"]
        if flags:
            flags[-1] |= RESUMED

    def take_name(self, event):
        args = event.get("args") or {}
        if event.get("name") == "process_name":
            self.name = self.name or self.strings[self.string(args.get("name", ""))]
        elif event.get("name") == "thread_name":
            track = self.track(event)
            track.name = self.strings[self.string(args.get("name", ""))]
        elif event.get("name") == "thread_sort_index":
            self.track(event).order = count_of(args.get("sort_index"))


def split_number(number):
    """A task's number as two: "12.3" is (12, 3)."""
    if isinstance(number, str):
        if number.startswith("thread "):
            fiber, run = str(FROM_THREAD), number[7:]
        else:
            fiber, _, run = number.partition(".")
        if fiber.isascii() and fiber.isdecimal() and run.isascii() and run.isdecimal() and len(run) <= 10:
            if len(fiber) <= 10 and int(run) < 1 << 32 and (int(fiber) < FROM_TEXT or number[0] == "t"):
                return int(fiber), int(run)
    elif number is not None:
        raise ValueError('its "id" is no string')
    return FROM_TEXT, NONE


def add(rows, *values):
    for column, value in zip(rows.values(), values):
        column.append(value)


def in_order(rows):
    """The same rows, by their beginnings, which become distances to the row before."""
    begin = rows["begin"]
    if any(map(int.__gt__, begin, begin[1:])):
        order = sorted(range(len(begin)), key=begin.__getitem__)
        rows = {name: array(column.typecode, [column[i] for i in order]) for name, column in rows.items()}
        begin = rows["begin"]
    steps = array("Q", begin)
    for i in range(len(begin) - 1, 0, -1):
        steps[i] = begin[i] - begin[i - 1]
    return {**rows, "begin": steps}
