"""
Fibers in gdb, in a live process and in a core (gdb 11 or newer, x86_64, the library with -g):

    (gdb) source tools/gdb-fibers.py
    (gdb) thrum-fibers             every fiber that a task is on: its name, and what it waits for
    (gdb) thrum-fibers bt          the same, each with its backtrace
    (gdb) thrum-bt 0x7f...         the backtrace of one of them

It reads memory and calls nothing in the program, so that it works where the program does not go on.
A fiber that runs has its thread's backtrace: `thread apply all bt`.
"""
import gdb
import gdb.unwinder


IN_USE = 0x3ffffffe  # core/fiber/stack.c


# What the object of a wait is: core/state/waiter_state.h.
DESCRIPTORS = ("TH_ON_INPUT", "TH_ON_OUTPUT", "TH_ON_READINESS", "TH_ON_CLOSE")
STRINGS = ("TH_ON_DIAL", "TH_ON_NAME", "TH_ON_FILE")


class Id:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    """Lets the selected thread's innermost frame have been called from a fiber's."""

    def __init__(self):
        super().__init__("thrum-fiber")
        self.context = None

    def __call__(self, frame):
        if self.context is None or frame.level() != 0:
            return None
        sp, pc = frame.read_register("rsp"), frame.read_register("rip")
        info = frame.create_unwind_info(Id(sp, pc))
        for name, field in (("rsp", "sp"), ("rbp", "bp"), ("rip", "ip")):
            info.add_saved_register(name, self.context[field].cast(sp.type))
        return info


unwinder = Unwinder()
gdb.unwinder.register_unwinder(None, unwinder, True)


def backtrace(fiber):
    unwinder.context = fiber["context"]
    gdb.invalidate_cached_frames()
    try:
        lines = gdb.execute("bt", to_string=True).splitlines()
    finally:
        unwinder.context = None
        gdb.invalidate_cached_frames()
    first = next((i for i, line in enumerate(lines) if line.startswith("#1 ")), len(lines))
    for line in lines[first:]:
        print("    " + line)


def page_size():
    for line in gdb.execute("info auxv", to_string=True).splitlines():
        if "AT_PAGESZ" in line:
            return int(line.split()[-1])
    return 4096


def pointer(name):
    return gdb.lookup_type(name).pointer()


def schedulers():
    """The schedulers that a thread is a worker of, or bound to."""
    found = {}
    selected = gdb.selected_thread()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        worker = gdb.parse_and_eval("((th_thread *)(void *)&th_os_self_bytes)->worker")
        if worker:
            found[int(worker["sched"])] = worker["sched"]
    selected.switch()
    return found.values()


def fibers(sched):
    """The fibers, as th_snapshot_some finds them: a stack in use has its fiber's address at its top."""
    page = page_size()
    classes = sched["stacks"]["classes"]
    low, high = classes.type.range()
    for number in range(low, high + 1):
        size = (16384 << number) + page
        books = classes[number]
        for at in range(int(books["slab_count"])):
            slab = books["slabs"][at]
            for slot in range(int(slab["count"])):
                word = int(slab["xwords"][slot])
                if word >> 30 == 0 or word & IN_USE != IN_USE:
                    continue
                top = int(slab["base"]) + (slot + 1) * size
                try:
                    fiber = gdb.Value(top - 8).cast(pointer("th_fiber").pointer()).dereference()
                    if not fiber:
                        yield None  # what a core does not have may be read as 0
                    elif fiber["xblocked"] or fiber["body"]:
                        yield fiber.dereference()
                except gdb.MemoryError:
                    yield None


def waits_for(fiber):
    if not fiber["xblocked"]:
        return "runs on worker %d, or is ready" % int(fiber["worker"]["index"])
    waiter = fiber["xblocked"].dereference()
    kind = waiter["on"].cast(gdb.lookup_type("th_on"))
    said = "waits: %s 0x%x" % (kind, int(waiter["object"]))
    if str(kind) in DESCRIPTORS:
        direction = waiter["object"].cast(pointer("th_direction"))
        said += " fd %d" % int(direction["fd"])
    elif str(kind) in STRINGS:
        said += " " + waiter["object"].cast(pointer("char")).string(errors="replace", length=-1)
    return said


class Fibers(gdb.Command):
    """thrum-fibers [bt]: every fiber that a task is on, with `bt` each with its backtrace."""

    def __init__(self):
        super().__init__("thrum-fibers", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        for sched in schedulers():
            print("scheduler %s at 0x%x" % (sched["name"].string(errors="replace"), int(sched)))
            missing = 0
            for fiber in fibers(sched):
                if fiber is None:
                    missing += 1
                    continue
                name = fiber["name"].string(errors="replace") or "unnamed"
                print("  fiber 0x%x %s %s" % (int(fiber.address), name, waits_for(fiber)))
                if arg == "bt" and fiber["xblocked"]:
                    backtrace(fiber)
            if missing:
                print("  and %d stacks that cannot be read here (docs/debugging.md, cores)" % missing)


class Backtrace(gdb.Command):
    """thrum-bt ADDRESS: the backtrace of a fiber that is not running."""

    def __init__(self):
        super().__init__("thrum-bt", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        backtrace(gdb.parse_and_eval(arg).cast(pointer("th_fiber")).dereference())


Fibers()
Backtrace()
