"""
functions.py: the time of each function, as a table of text: how long its tasks ran, and how long they waited.
"""
from columns import count_of, ns_of

HEAD = ("function", "tasks", "runs", "ran, ms", "share", "longest, ms", "waited, ms")


# A slice of more runs than this has none longer than so many ns (core/trace/TRACE.md, "Series").
SERIES_EXACT = 32
SERIES_NS = 1000


class Task:
    """What is kept of a task; its runs come in any order, since they stand worker by worker in a trace."""

    __slots__ = ("function", "tasks", "runs", "ran", "longest", "first", "last")

    def __init__(self, function):
        self.function = function
        self.tasks = self.runs = self.ran = self.longest = 0
        self.first, self.last = None, 0


class Functions:
    """Takes the events of a trace, as Columns does."""

    def __init__(self):
        self.tasks = {}  # by their numbers, in the file that is read
        self.all_tasks = []  # those of the files before
        self.events = 0
        self.dropped = 0  # of all files: events that the traces no longer had when they were written

    def begin_file(self, label):
        """What follows is another process's, whose tasks have the same numbers."""
        self.all_tasks += self.tasks.values()
        self.tasks = {}

    def end_file(self):
        pass

    def take(self, event):
        if event.get("ph") != "X" or event.get("cat") == "sched":
            return
        args = event.get("args") or {}
        begin, length = ns_of(event, "ts"), ns_of(event, "dur")
        number = args.get("id") or id(event)  # one without a number is a task of its own
        task = self.tasks.get(number)
        if task is None:
            function = args.get("function") or event.get("name", "")
            if not isinstance(function, str):
                raise ValueError("something that is no string stands where one must")
            task = self.tasks[number] = Task(function)
        # Short runs of tasks may share a slice. Where they are many, none of them was a long one.
        count = max(1, count_of(args.get("runs", 1)))
        task.tasks = max(task.tasks, count)
        task.runs += count
        task.ran += length
        task.longest = max(task.longest, length if count <= SERIES_EXACT else min(length, SERIES_NS))
        task.first = begin if task.first is None else min(task.first, begin)
        task.last = max(task.last, begin + length)

    def take_rest(self, rest):
        if isinstance(rest, dict):
            self.dropped += count_of(rest.get("dropped"))

    def rows(self):
        """Of each function: its name and figures, the one that ran longest first."""
        functions = {}
        for task in [*self.all_tasks, *self.tasks.values()]:
            row = functions.setdefault(task.function, [0, 0, 0, 0, 0])
            row[0] += task.tasks
            row[1] += task.runs
            row[2] += task.ran
            row[3] = max(row[3], task.longest)
            row[4] += max(0, task.last - task.first - task.ran)
        return sorted(functions.items(), key=lambda item: (-item[1][2], item[0]))


def shown(name):
    """A name as it may stand in a terminal."""
    return "".join(c if c.isprintable() else "?" for c in name[:60]) or "(unknown)"


def ms(ns):
    return f"{ns / 1e6:.2f}"


def text_of(functions):
    """The table."""
    rows = functions.rows()
    total = sum(row[2] for _, row in rows) or 1
    lines = [HEAD] + [
        (shown(name), str(tasks), str(runs), ms(ran), f"{100 * ran / total:.1f} %", ms(longest), ms(waited))
        for name, (tasks, runs, ran, longest, waited) in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for line in lines:
        yield "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))) + "\n"
