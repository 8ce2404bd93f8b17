"""
Use it to look at fibers in a debugger or in a core.

Shows fibers, workers and tasks in gdb, in a running program and in a core. It needs gdb 11 or newer,
x86_64 or aarch64, and the library with -g. docs/debugging.md describes how gdb loads it by itself; or

    (gdb) source tools/user/thrum-gdb.py

`help thrum` lists the commands. They only read memory: they call nothing in the program and write
neither registers nor memory. So they also work in cores, and in programs that hang.
"""
import struct

import gdb
import gdb.unwinder


# ---- bounds: a damaged list ends here ----

LIST_MAX = 1000000  # elements of a list that are followed
CALLS_MAX = 400  # calls of one fiber
TREE_MAX = 100  # scopes in scopes
SHOWN_MAX = 20  # kinds of work that are told of one queue

# ---- what stands in the headers as a macro ----

NEXT_MASK = 0x3FFFFFFF  # core/fiber/stack.c
IN_USE = 0x3FFFFFFE
SLOT_BITS = 12
STACK_MIN = 16384
WAIT_PARKED, WAIT_OVER = 1, 6 | 8  # core/basis/waiter_state.h
NOTE_COUNT = 2
SLEEP_PARKED = 1  # core/basis/parkword.h
BODY_OTHER = 1  # core/state/fiber_state.h
SHOWN_SHIFT = 56  # core/state/thread.h
CHAN_CLOSED = 4  # sync/chan.h

# The names of what is waited for, as th_on_name has them (core/report/words.c), in its order.
NAMES = {
    "TH_ON_NOTHING": "something",
    "TH_ON_MUTEX": "mutex",
    "TH_ON_READ": "rwlock to read",
    "TH_ON_WRITE": "rwlock to write",
    "TH_ON_COND": "cond",
    "TH_ON_SEM": "semaphore",
    "TH_ON_WAITGROUP": "waitgroup",
    "TH_ON_EVENT": "event",
    "TH_ON_EVENTS": "events, the first",
    "TH_ON_ONCE": "once",
    "TH_ON_BARRIER": "barrier",
    "TH_ON_TICKET": "ticket",
    "TH_ON_POOL": "pool",
    "TH_ON_BCAST": "broadcast channel",
    "TH_ON_SEND": "channel to send",
    "TH_ON_RECEIVE": "channel to receive",
    "TH_ON_SELECT": "channels, the first",
    "TH_ON_JOIN": "task",
    "TH_ON_SCOPE": "scope",
    "TH_ON_RESULT": "result of a scope",
    "TH_ON_FORK": "fork",
    "TH_ON_DAG": "dag",
    "TH_ON_SLEEP": "sleep",
    "TH_ON_BLOCKING": "blocking call",
    "TH_ON_SCHED": "scheduler",
    "TH_ON_INPUT": "descriptor to read",
    "TH_ON_OUTPUT": "descriptor to write",
    "TH_ON_READINESS": "descriptor to be ready",
    "TH_ON_CLOSE": "descriptor to be left",
    "TH_ON_DIAL": "connection",
    "TH_ON_NAME": "name of a host",
    "TH_ON_FILE": "file",
    "TH_ON_OUTSIDE": "something outside",
    "TH_ON_SIGNAL": "signal",
    "TH_ON_AMONG": "one of several, descriptors among them",
}
DESCRIPTORS = {
    "TH_ON_INPUT": "reads",
    "TH_ON_OUTPUT": "writes",
    "TH_ON_READINESS": "waits for",
    "TH_ON_CLOSE": "closes",
}
STRINGS = {
    "TH_ON_DIAL": "dials ",
    "TH_ON_NAME": "resolves ",
    "TH_ON_FILE": "",
    "TH_ON_OUTSIDE": "waits for ",
}
# The type of the object of a wait, where the object has a list of its waiters.
TYPES = {
    "TH_ON_MUTEX": "thrum_mutex",
    "TH_ON_READ": "thrum_rwlock",
    "TH_ON_WRITE": "thrum_rwlock",
    "TH_ON_COND": "thrum_cond",
    "TH_ON_SEM": "thrum_sem",
    "TH_ON_WAITGROUP": "thrum_waitgroup",
    "TH_ON_EVENT": "thrum_event",
    "TH_ON_EVENTS": "thrum_event",
    "TH_ON_ONCE": "thrum_once",
    "TH_ON_BARRIER": "thrum_barrier",
    "TH_ON_SEND": "struct thrum_chan",
    "TH_ON_RECEIVE": "struct thrum_chan",
    "TH_ON_SELECT": "struct thrum_chan",
}
# The folders of the library's sources.
ROOMS = "base core file io net observe parallel platform process queue stream sync".split()
# The first of a list of waiters in these.
FIRSTS = ("reserved_first", "reserved_readers", "reserved_writers", "senders", "receivers")


class Damaged(Exception):
    """A list that does not end, or that leads to where nothing can be read."""


# ---- types and symbols ----


def type_of(name):
    return gdb.lookup_type(name)


def pointer(name):
    return type_of(name).pointer()


def at(address, name):
    """What lies there, as that type."""
    return gdb.Value(int(address)).cast(pointer(name)).dereference()


def numbers_at(address, form, count):
    """So many numbers that lie there, of the form that `struct` calls so."""
    form = "<%d%s" % (count, form)
    return struct.unpack(form, bytes(gdb.selected_inferior().read_memory(address, struct.calcsize(form))))


def text_of(chars):
    """A name: what is no text of UTF-8 is told as `?`, like controls."""
    text = chars.string("utf-8", errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text)


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def function_at(address):
    """The function's name, or its address."""
    try:
        block = gdb.block_for_pc(int(address))
    except (gdb.error, RuntimeError):
        block = None
    while block is not None and block.function is None:
        block = block.superblock
    if block is not None:
        return block.function.print_name
    told = gdb.execute("info symbol %d" % int(address), to_string=True)
    return hex(int(address)) if told.startswith("No symbol") else told.split()[0]


def library():
    """Refuses, in one line, where the program or the library's debug information is missing."""
    inferior = gdb.selected_inferior()
    if inferior.pid == 0 or not inferior.threads():
        raise gdb.GdbError("thrum: no program runs here, and no core is loaded")
    try:
        if type_of("th_fiber").fields() and type_of("th_worker").fields():
            return
    except gdb.error:
        pass
    raise gdb.GdbError(
        "thrum: the library is not in this program, or is there without debug information (-g)"
    )


def heads():
    """The first schedulers of the process's lists of them: one for each copy of the library."""
    for symbol in gdb.lookup_static_symbols("live"):
        if symbol.symtab.filename.endswith("core/ready/external.c"):
            yield symbol


def linked(first, follow, what):
    """The elements of a list, as pointers, the first included. `follow` tells the next one."""
    seen = set()
    element = first
    while int(element):
        if int(element) in seen or len(seen) >= LIST_MAX:
            raise Damaged("%s does not end: damaged after %d" % (what, len(seen)))
        seen.add(int(element))
        try:
            following = follow(element)
            int(following)
        except gdb.MemoryError:
            raise Damaged("%s leads to 0x%x: damaged after %d" % (what, int(element), len(seen) - 1))
        yield element
        element = following


def schedulers():
    found = []
    heads_seen = list(heads())
    if not heads_seen:
        raise gdb.GdbError("thrum: the list of schedulers is not in the debug information")
    for head in heads_seen:
        try:
            found.extend(linked(head.value(), lambda s: s["next_live"], "the list of schedulers"))
        except Damaged as damage:
            print("  %s" % damage)
    if not found:
        raise gdb.GdbError("thrum: no scheduler is there yet, or any more")
    return found


def say_scheduler(sched):
    print("scheduler %s at 0x%x" % (quoted(text_of(sched["name"])), int(sched)))


# ---- workers and their threads ----


def place():
    """The selected thread and frame, to go back to."""
    thread = gdb.selected_thread()
    try:
        level = gdb.selected_frame().level()
    except gdb.error:
        level = 0
    return thread, level


def go_back(there):
    thread, level = there
    thread.switch()
    frame = gdb.newest_frame()
    while level > 0 and frame is not None:
        level -= 1
        older = frame.older()
        frame = older if older is not None else frame
    frame.select()


def regular(sched):
    count = min(int(sched["xworkers_end"]), int(sched["workers_count"]))
    return [sched["workers"] + i for i in range(count)]


def bound(sched):
    return linked(sched["bound"], lambda w: w["bound_next"], "the list of bound threads")


def workers(sched):
    yield from regular(sched)
    try:
        yield from bound(sched)
    except Damaged as damage:
        print("  %s" % damage)


def worker_word(worker):
    return "%s %d" % ("bound thread" if worker["bound"] else "worker", int(worker["index"]))


class Threads:
    """Which thread of gdb's is which worker."""

    def __init__(self):
        self.by_number = {}
        self.by_worker = None
        for thread in gdb.selected_inferior().threads():
            self.by_number[thread.ptid[1] or thread.ptid[2]] = thread

    def of(self, worker):
        thread = self.by_number.get(int(worker["xtid"]))
        if thread is None and worker["bound"]:
            thread = self.of_bound(worker)
        return thread

    def of_bound(self, worker):
        """A bound thread's own storage tells: the library notes no number of it."""
        if self.by_worker is None:
            self.by_worker = {}
            there = place()
            for thread in self.by_number.values():
                thread.switch()
                try:
                    it = gdb.parse_and_eval("((th_thread *)(void *)&th_os_self_bytes)->worker")
                    self.by_worker[int(it)] = thread
                except gdb.error:
                    pass  # what belongs to threads cannot be read in every core
            go_back(there)
        return self.by_worker.get(int(worker))


def thread_word(thread):
    return "thread %d (%d)" % (thread.num, thread.ptid[1] or thread.ptid[2])


def queued_at(worker):
    """As th_gauges_queued_at counts it."""
    count = 1 if worker["xslot"] else 0
    for ring in (worker["ready"], worker["ring"], worker["yields"]):
        count += max(0, int(ring["xtail"]) - int(ring["xhead"]))
    for batch in (worker["batch"], worker["yields_batch"]):
        places = batch["xplace"]
        count += sum(1 for i in range(places.type.range()[1] + 1) if places[i])
    return count


# ---- fibers ----


def page_size():
    try:
        for line in gdb.execute("info auxv", to_string=True).splitlines():
            if "AT_PAGESZ" in line:
                return int(line.split()[-1])
    except gdb.error:
        pass
    return 4096


class Stacks:
    """The fibers on a scheduler's stacks, and how many stacks could not be told."""

    def __init__(self, sched):
        self.sched = sched
        self.page = page_size()
        wide = gdb.lookup_type("void").pointer().sizeof == 8
        self.guard = ((64 << 10 if wide else 0) // self.page | 1) * self.page  # th_os_guard_size
        self.unread = 0
        self.damaged = 0

    def fibers(self):
        """As th_snapshot_some finds them: a stack in use has its fiber's address at its top."""
        classes = self.sched["stacks"]["classes"]
        for number in range(classes.type.range()[1] + 1):
            size = (((STACK_MIN << number) + self.page - 1) & -self.page) + self.guard
            try:
                yield from self.of_class(classes[number], size)
            except gdb.MemoryError:
                self.damaged += 1

    def of_class(self, books, size):
        anchor = pointer("th_fiber").pointer()
        for i in range(min(int(books["slab_count"]), 1 << (30 - SLOT_BITS))):
            slab = books["slabs"][i]
            count = min(int(slab["count"]), 1 << SLOT_BITS)
            words = numbers_at(int(slab["xwords"].address), "I", count)
            base = int(slab["base"])
            for slot in range(count):
                if words[slot] >> 30 == 0 or words[slot] & NEXT_MASK != IN_USE:
                    continue
                top = base + (slot + 1) * size
                try:
                    fiber = gdb.Value(top - 8).cast(anchor).dereference()
                    if not int(fiber):
                        self.unread += 1  # what a core does not have may be read as 0
                    elif not top - size <= int(fiber) < top:
                        self.damaged += 1
                    elif fiber["xblocked"] or fiber["body"]:
                        yield fiber
                except gdb.MemoryError:
                    self.unread += 1

    def say_rest(self):
        if self.unread:
            print("  and %d stacks that cannot be read here (docs/debugging.md, Cores)" % self.unread)
        if self.damaged:
            print("  and %d stacks whose records are damaged" % self.damaged)


def fibers(sched, stacks):
    """All on which a task is; then the bound threads themselves."""
    yield from stacks.fibers()
    try:
        for worker in bound(sched):
            home = worker["home"]
            if worker["tie"]["linked"] and (home["xblocked"] or home["body"]):
                yield home.address
    except Damaged as damage:
        print("  %s" % damage)


def number_of(run):
    return "%d.%d" % (run >> 32, run & 0xFFFFFFFF)


def fiber_word(fiber):
    if fiber["root"]:
        return "bound thread %d" % int(fiber["worker"]["index"])
    word = "fiber %s" % number_of(int(fiber["run_id"]))
    name = text_of(fiber["name"])
    return word + (" " + quoted(name) if name else "")


def owner_word(run):
    if run >> 63:
        return ", held by thread %d" % (run & ((1 << 63) - 1))
    if run == (1 << 63) - 1:
        return ", whose turn a task has"
    return ", held by fiber %s" % number_of(run) if run else ""


def is_running(fiber):
    worker = fiber["worker"]
    return bool(int(worker)) and int(worker["current"]) == int(fiber)


def kind_of(waiter):
    names = list(NAMES)
    on = int(waiter["on"])
    return names[on] if on < len(names) else names[0]


def is_over(waiter):
    word = int(waiter["xword"])
    return bool(word & WAIT_OVER) or not word & WAIT_PARKED


def descriptor_word(kind, address, note):
    word = "%s fd %d" % (DESCRIPTORS[kind], int(at(address, "th_direction")["fd"]))
    if kind == "TH_ON_READINESS":
        word += " to be %s" % {1: "readable", 2: "writable"}.get(note & 3, "ready")
        if note >> NOTE_COUNT > 1:
            word += " (the first of %d)" % (note >> NOTE_COUNT)
    return word


def wait_word(waiter):
    """ "waits for mutex 0x7f..., held by fiber 8.1", as thrum_dump says it."""
    kind = kind_of(waiter)
    address = int(waiter["object"])
    if kind in DESCRIPTORS:
        return descriptor_word(kind, address, int(waiter["note"]))
    if kind in STRINGS:
        return STRINGS[kind] + text_of(waiter["object"].cast(pointer("char")))
    if kind == "TH_ON_SIGNAL":
        signals = waiter["object"].cast(pointer("int"))
        count = min(int(waiter["note"]), 64)
        return "waits for signal " + ", ".join(str(int(signals[i])) for i in range(count))
    word = "waits for %s" % NAMES[kind]
    if address:
        word += " 0x%x" % address
    if kind == "TH_ON_MUTEX":
        word += owner_word(int(at(address, "thrum_mutex")["reserved_owner"]))
    elif kind == "TH_ON_JOIN":
        name = text_of(at(address, "struct thrum_handle")["name"])
        word += " " + quoted(name) if name else ""
    return word


def state_of(fiber):
    """What it does, and what it waits for."""
    worker = fiber["worker"]
    where = worker_word(worker)
    if not fiber["xblocked"]:
        if is_running(fiber):
            return "runs its own code" if fiber["root"] else "runs on %s" % where
        return "waits for the scheduler, or for what is tied to it" if fiber["root"] else "is ready"
    waiter = fiber["xblocked"].dereference()
    word = ("is ready, has waited: " if is_over(waiter) else "") + wait_word(waiter)
    tick = int(fiber["xblocked_tick"])
    ago = max(0, int(worker["xtick"]) - tick)
    return "%s, since tick %d of %s (%d ago)" % (word, tick, where, ago)


def said_state(fiber):
    try:
        return state_of(fiber)
    except gdb.MemoryError as error:
        return "has a damaged wait: %s" % error


# ---- the calls of a fiber that does not run ----


class Id:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


def x86_64(context):
    return {"rsp": context["sp"], "rbp": context["bp"], "rip": context["ip"]}


def aarch64(context):
    """The caller of th_context_switch, from what that has saved: platform/context/context_aarch64.h."""
    sp = int(context["sp"])
    words = numbers_at(sp, "Q", 12)
    registers = {"x%d" % (19 + i): gdb.Value(words[i]) for i in range(11)}
    registers["x30"] = registers["pc"] = gdb.Value(words[11])
    registers["sp"] = gdb.Value(sp + 176)
    return registers


PROCESSORS = {"i386:x86-64": (x86_64, "rsp", "rip"), "aarch64": (aarch64, "sp", "pc")}


def processor():
    name = gdb.newest_frame().architecture().name()
    if name not in PROCESSORS:
        raise gdb.GdbError("thrum: fibers of this processor (%s) cannot be inspected" % name)
    return PROCESSORS[name]


class Unwinder(gdb.unwinder.Unwinder):
    """
    Lets the innermost frame of one thread have been called from where a fiber was left. So gdb
    reads the fiber's frames, and no register is written, which could not be done in a core.
    """

    def __init__(self):
        super().__init__("thrum-fiber")
        self.fiber = None

    def begin(self, fiber):
        """From now on the selected thread's frames are followed by the fiber's."""
        self.end()
        saved, self.sp, self.pc = processor()
        self.registers = saved(fiber["context"])
        frame = gdb.newest_frame()
        self.thread = gdb.selected_thread().ptid
        self.at = self.where(frame)
        self.level = None
        self.fiber = fiber
        gdb.invalidate_cached_frames()

    def end(self):
        if self.fiber is not None:
            self.fiber = None
            gdb.invalidate_cached_frames()

    def where(self, frame):
        return int(frame.read_register(self.sp)), int(frame.read_register(self.pc))

    def is_here(self):
        thread = gdb.selected_thread()
        return self.fiber is not None and thread is not None and thread.ptid == self.thread

    def __call__(self, frame):
        if not self.is_here() or self.where(frame) != self.at:
            return None
        sp = frame.read_register(self.sp)
        below = int(self.registers[self.sp]) - 64  # gdb wants frames to follow each other upwards
        info = frame.create_unwind_info(Id(gdb.Value(below).cast(sp.type), frame.read_register(self.pc)))
        for name, value in self.registers.items():
            info.add_saved_register(name, value.cast(frame.read_register(name).type))
        self.level = frame.level()
        return info

    def first(self):
        """The innermost frame of the fiber, or None."""
        frame = gdb.newest_frame()
        for _ in range(CALLS_MAX):
            if frame is None or self.level is not None and frame.level() > self.level:
                return frame
            frame = frame.older()
        return None


class Filter:
    """`bt` begins with the fiber's frames."""

    def __init__(self):
        self.name = "thrum-fiber"
        self.priority = 100
        gdb.frame_filters[self.name] = self

    @property
    def enabled(self):
        return unwinder.is_here()

    @enabled.setter
    def enabled(self, value):
        pass

    def filter(self, frames):
        first = unwinder.first()
        level = first.level() if first is not None else 0
        return (f for f in frames if f.inferior_frame().level() >= level)


unwinder = Unwinder()
gdb.unwinder.register_unwinder(None, unwinder, True)
the_filter = Filter()


class Guard:
    """
    Keeps the thread's registers as they are while a fiber is selected: gdb takes what the user
    assigns to a fiber's register for the thread's own, and `return` and `jump` would move the
    thread to where the fiber is.
    """

    def __init__(self):
        self.saved = {}
        self.busy = False
        self.hooked = False
        gdb.events.register_changed.connect(self.changed)

    def hook(self):
        """Not when the script is read: commands that are executed while a library is loaded end `run`."""
        if self.hooked:
            return
        self.hooked = True
        for name in ("return", "jump"):
            try:
                gdb.execute("show user hook-" + name, to_string=True)
            except gdb.error:  # the user has none
                gdb.execute("define hook-%s\nthrum only-thread %s\nend" % (name, name))

    def begin(self):
        """Notes the selected thread's registers, before a fiber is selected."""
        self.hook()
        self.saved = {}
        frame = gdb.newest_frame()
        for register in frame.architecture().registers("general"):
            try:
                self.saved[register.name] = int(frame.read_register(register.name))
            except (gdb.error, OverflowError, TypeError, ValueError):
                pass  # it is no number

    def changed(self, event):
        if self.busy or not unwinder.is_here():
            return
        self.busy = True
        fiber = unwinder.fiber
        there = place()
        try:
            unwinder.end()
            frame = gdb.newest_frame()
            frame.select()
            for name, value in self.saved.items():
                if int(gdb.newest_frame().read_register(name)) != value:
                    gdb.execute("set var $%s = %d" % (name, value))
            print("thrum: the thread's registers stay as they are while a fiber is selected (`thrum fiber 0`)")
        finally:
            unwinder.begin(fiber)
            go_back(there)
            self.busy = False


def library_root():
    """How the paths of the library's sources begin, as the debug information has them, or None."""
    for symbol in heads():
        path = symbol.symtab.filename
        return path[: path.rfind("core/")]
    return None


def is_ours(path, root):
    """Whether a path is that of a source of the library's: in one of its rooms."""
    return root is not None and path.startswith(root) and path[len(root) :].split("/")[0] in ROOMS


def frames_from(frame):
    for _ in range(CALLS_MAX):
        if frame is None:
            return
        yield frame
        try:
            frame = frame.older()
        except gdb.error:
            return


class Call:
    """One frame, told: it outlives the frame."""

    def __init__(self, frame, root):
        self.level = frame.level()
        self.pc = frame.pc()
        self.name = frame.name() or hex(self.pc)
        place = frame.find_sal()
        self.line = place.line
        self.file = place.symtab.filename if place.symtab else None
        self.ours = self.name.startswith("th_") or is_ours(self.file or "", root)

    def word(self):
        return self.name + (" at %s:%d" % (self.file, self.line) if self.file else "")


def calls_of(fiber, threads, root):
    """Its calls, the innermost first; of one that runs, those of its thread."""
    there = place()
    was = unwinder.fiber
    try:
        if is_running(fiber):
            thread = threads.of(fiber["worker"])
            if thread is None:
                return []
            thread.switch()
            return [Call(f, root) for f in frames_from(gdb.newest_frame())]
        unwinder.begin(fiber)
        return [Call(f, root) for f in frames_from(unwinder.first())]
    except gdb.error:
        return []
    finally:
        unwinder.end()
        there[0].switch()
        if was is not None:
            unwinder.begin(was)
        go_back(there)


def outermost(calls):
    """The task's function: the outermost call that is not the library's."""
    return next((call.name for call in reversed(calls) if not call.ours), "")


def function_of(fiber, threads, root):
    body = int(fiber["body"])
    return function_at(body) if body > BODY_OTHER else outermost(calls_of(fiber, threads, root))


def find_fiber(arg):
    """By its number (7 or 7.1, as dumps and lists have it), or by its address or an expression."""
    address = None
    parts = arg.split(".")
    if not (len(parts) <= 2 and all(p.isdigit() for p in parts)):
        address = int(gdb.parse_and_eval(arg).cast(type_of("long")))
    elif int(parts[0]) >= 1 << 32:
        address = int(parts[0])
    unread = 0
    for sched in schedulers():
        stacks = Stacks(sched)
        for fiber in fibers(sched, stacks):
            run = int(fiber["run_id"])
            if address is not None:
                if int(fiber) == address:
                    return fiber
            elif run >> 32 == int(parts[0]) and not fiber["root"]:
                if len(parts) == 1 or run & 0xFFFFFFFF == int(parts[1]):
                    return fiber
        unread += stacks.unread
    rest = ", but %d stacks cannot be read here" % unread if unread else ""
    raise gdb.GdbError("thrum: no task is on a fiber %s (`thrum fibers` lists them)%s" % (arg, rest))


def print_frames():
    """gdb's own backtrace, from the fiber's frames on."""
    first = unwinder.first()
    if first is None:
        print("  its frames cannot be read")
        return
    level = first.level()
    for line in gdb.execute("bt", to_string=True).splitlines():
        number = line[1:].split(" ")[0] if line.startswith("#") else ""
        if not number.isdigit() or int(number) >= level:
            print(line)


def backtrace(fiber, threads):
    if is_running(fiber):
        thread = threads.of(fiber["worker"])
        if thread is None:
            print("  it runs, and its thread is not known")
            return
        there = place()
        was = unwinder.fiber
        unwinder.end()
        thread.switch()
        gdb.execute("bt")
        there[0].switch()
        if was is not None:
            unwinder.begin(was)
        go_back(there)
        return
    there = place()
    was = unwinder.fiber
    unwinder.begin(fiber)
    try:
        print_frames()
    finally:
        unwinder.end()
        if was is not None:
            unwinder.begin(was)
        go_back(there)


# ---- work in queues ----


def work_word(work):
    """What a piece of queued work is."""
    kind = int(work["kind"])
    if kind == 2:
        return "thrum_go of %s" % function_at(work.cast(pointer("th_go"))["fn"])
    if kind == 3:
        handle = work.cast(pointer("struct thrum_handle"))
        name = text_of(handle["name"])
        return "spawn of %s%s" % (function_at(handle["fn"]), " " + quoted(name) if name else "")
    if kind in (1, 7):
        task = work.cast(pointer("thrum_task"))
        return "%s of %s" % ("task" if kind == 1 else "serial task", function_at(task["reserved_fn"]))
    if kind == 4:
        offset = next(f.bitpos // 8 for f in type_of("th_fiber").fields() if f.name == "work")
        return fiber_word(gdb.Value(int(work) - offset).cast(pointer("th_fiber")))
    if kind == 6:
        return "call of %s" % function_at(work.cast(pointer("th_call"))["fn"])
    raise Damaged("0x%x is no work (kind %d)" % (int(work), kind))


def of_chain(chain, what="its list"):
    return linked(chain["first"], lambda w: w["next"], what)


def of_stack(stack):
    """Of an mpsc stack, the oldest first."""
    newest = linked(stack["xtop"], lambda w: w["next"], "its list")
    kept = []
    try:
        for work in newest:
            kept.append(work)
    except Damaged as damage:
        yield from reversed(kept)
        raise damage
    yield from reversed(kept)


def of_inject(inject):
    yield from of_chain(inject["list"])
    yield from of_stack(inject["front"])


def of_ring(ring):
    mask = int(ring["mask"])
    head, tail = int(ring["xhead"]), int(ring["xtail"])
    if tail - head > mask + 1:
        raise Damaged("its ring holds more than it can: damaged")
    for position in range(head, tail):
        work = ring["xslots"][position & mask]
        if int(work):
            yield work


def of_batch(batch):
    places = batch["xplace"]
    return [places[i] for i in range(places.type.range()[1] + 1) if int(places[i])]


def of_one(work):
    return [work] if int(work) else []


def of_treap(treap):
    """The timers of a treap, in no order."""
    anchor = int(treap["anchor"].address)
    todo = [treap["anchor"]["left"], treap["anchor"]["right"]]
    seen = set()
    while todo:
        timer = todo.pop()
        if not int(timer) or int(timer) == anchor:
            continue
        if int(timer) in seen:
            raise Damaged("its timers lead in a cycle: damaged after %d" % len(seen))
        seen.add(int(timer))
        yield timer
        todo += [timer["left"], timer["right"]]


def of_timers(timers):
    """The tasks that wait to be due, as work; waits of fibers are told by `thrum fibers`."""
    wheel = timers["wheel"]
    offset = next(f.bitpos // 8 for f in type_of("th_timed").fields() if f.name == "timer")

    def all_timers():
        yield from of_treap(wheel["near"])
        for i in range(wheel["slots"].type.range()[1] + 1):
            ring = wheel["slots"][i]["ring"].address
            for link in linked(ring["next"], lambda l: l["next"], "its list"):
                if int(link) == int(ring):
                    break
                yield link  # the first field of a timer

    if not int(wheel["slots"][0]["ring"]["next"]):
        return  # never used
    for timer in all_timers():
        timed = at(int(timer) - offset, "th_timed")
        if int(timed["kind"]) in (1, 7):
            yield timed.address.cast(pointer("th_work"))


def say_queue(title, works):
    """The queue's length, and what is in it by kind; nothing of an empty one."""
    kinds = {}
    count = 0
    damage = None
    try:
        for work in works:
            word = work_word(work)
            kinds[word] = kinds.get(word, 0) + 1
            count += 1
    except (Damaged, gdb.MemoryError) as error:
        damage = str(error)
    if not count and not damage:
        return 0
    print("  %s: %d" % (title, count))
    for i, (word, n) in enumerate(kinds.items()):
        if i == SHOWN_MAX:
            print("    and %d other kinds" % (len(kinds) - i))
            break
        print("    " + ("%d x %s" % (n, word) if n > 1 else word))
    if damage:
        print("    and what cannot be read: %s" % damage)
    return count


def queues_of(worker):
    yield "LIFO slot", of_one(worker["xslot"])
    yield "batch in hand", of_batch(worker["batch"])
    yield "ready", of_ring(worker["ready"])
    yield "ring", of_ring(worker["ring"])
    yield "yielded, in hand", of_batch(worker["yields_batch"])
    yield "yielded", of_ring(worker["yields"])
    yield "outbox", of_batch(worker["fifo"]["outbox"])
    yield "pinned inbox", of_inject(worker["inbox"])
    yield "pinned", of_chain(worker["pinned"])
    yield "pinned, yielded", of_chain(worker["pinned_yields"])
    yield "being posted", of_chain(worker["posting"])
    yield "from the inbox", of_chain(worker["collected"])
    yield "from timers", of_chain(worker["due"])
    yield "waiting to be due", of_timers(worker["own_timers"])


def queues_of_all(sched):
    yield "shared ready fibers", of_inject(sched["ready"])
    yield "inject queue", of_inject(sched["inject"])
    for lane, of in (("fifo_ready", "ready, fifo"), ("fifo", "fifo")):
        yield "posted (%s)" % of, of_stack(sched[lane]["front"])
        yield "rest (%s)" % of, of_chain(sched[lane]["rest"])
        yield "published (%s)" % of, of_ring(sched[lane]["ready"]["ring"])
    yield "ready fibers (global)", of_chain(sched["global_ready"])
    yield "global queue", of_chain(sched["global"])
    yield "waiting for a stack (deferred)", of_chain(sched["deferred"])
    yield "waiting to be due", of_timers(sched["loose_timers"])


def say_forks(worker):
    """Calls that a task has put off, and that thieves may make."""
    forks = worker["forks"]
    count = max(0, int(forks["xtail"]) - int(forks["xhead"]))
    slot = 1 if int(forks["xslot"]) > 1 else 0
    if count or slot:
        print("  %s, forks: %d private, %d offered" % (worker_word(worker), count, slot))
    return count + slot


# ---- scopes ----


def scopes_of(fiber):
    return linked(fiber["xscopes"], lambda s: s["outer"], "its list of scopes")


def children_of(scope):
    return linked(scope["children"], lambda h: h["scope_next"], "its list of tasks")


class Scopes:
    """The scopes of a scheduler: those that fibers have opened, and those of plain threads."""

    def __init__(self, sched, stacks):
        self.stacks = stacks
        self.opened = {}  # by the fiber that opened them, the outermost first
        self.fibers = {}
        self.said = set()
        self.foreign = {}
        for fiber in fibers(sched, stacks):
            self.fibers[int(fiber)] = fiber
            opened = []
            try:
                for scope in scopes_of(fiber):
                    opened.insert(0, scope)
            except Damaged as damage:
                print("  %s: %s" % (fiber_word(fiber), damage))
            if opened:
                self.opened[int(fiber)] = opened
            handle = fiber["inherited"]["handle"]
            scope = handle["scope"] if int(handle) else None
            if scope is not None and int(scope) and not int(scope["owner"]):
                self.foreign[int(scope)] = scope

    def say(self):
        for scope in self.foreign.values():
            self.say_scope(scope, 1, "a plain thread")
        for address, opened in self.opened.items():
            for scope in opened:
                if not int(scope["parent"]):
                    self.say_scope(scope, 1, fiber_word(self.fibers[address]))
        for address, opened in self.opened.items():  # below a parent that is not reached
            for scope in opened:
                self.say_scope(scope, 1, fiber_word(self.fibers[address]))
        return len(self.said)

    def say_scope(self, scope, depth, owner):
        if int(scope) in self.said or depth > TREE_MAX:
            return
        self.said.add(int(scope))
        word = "scope 0x%x of %s: %d living" % (int(scope), owner, int(scope["living"]))
        if scope["cancelled"]:
            word += ", cancelled (%d)" % int(scope["first"])
        if int(scope["deadline"]) != (1 << 63) - 1:
            word += ", with a deadline"
        print("  " * depth + word)
        try:
            for child in children_of(scope):
                self.say_child(child, depth + 1)
        except (Damaged, gdb.MemoryError) as damage:
            print("  " * (depth + 1) + str(damage))

    def say_child(self, child, depth):
        fiber = self.fibers.get(int(child["xfiber"]))
        name = text_of(child["name"])
        word = "task 0x%x %s" % (int(child), function_at(child["fn"]) if int(child["fn"]) else "part")
        word += " " + quoted(name) if name else ""
        if fiber is None:
            on_it = ": on a stack that cannot be read here" if self.stacks.unread else ": runs"
            print("  " * depth + word + (on_it if int(child["xfiber"]) else ": is queued"))
            return
        print("  " * depth + "%s on fiber %s: %s" % (word, number_of(int(fiber["run_id"])), said_state(fiber)))
        for scope in self.opened.get(int(fiber), []):
            self.say_scope(scope, depth + 1, fiber_word(fiber))


# ---- what waits for an object ----


def target_of(arg):
    """The address that is meant, and the type that it points to, or None."""
    value = gdb.parse_and_eval(arg)
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return int(value), kind.target()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
        if value.address is None:
            raise gdb.GdbError("thrum: %s lies in no memory" % arg)
        return int(value.address), kind
    return int(value), None


def lists_in(address, kind):
    """The lists of waiters of the object: the first of each."""
    names = [kind.name] if kind is not None and kind.name else []
    for name in names:
        try:
            kind = type_of(name if not name == "thrum_chan" else "struct thrum_chan")
        except gdb.error:
            pass
    if kind is None or kind.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return
    value = gdb.Value(address).cast(kind.pointer()).dereference()
    for field in kind.strip_typedefs().fields():
        if field.name in FIRSTS:
            first = value[field.name]
            if first.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
                first = first[0]
            yield first.cast(pointer("th_waiter"))


def say_object(address, kind):
    """What else is to be known of the object, if it is one of the library's."""
    name = kind.name if kind is not None else None
    try:
        if name == "thrum_mutex":
            owner = int(at(address, name)["reserved_owner"])
            print("mutex 0x%x%s" % (address, owner_word(owner) or ", free"))
        elif name == "thrum_chan":
            chan = at(address, "struct thrum_chan")
            closed = ", closed" if int(chan["xflags"]) & CHAN_CLOSED else ""
            room = int(chan["capacity"])
            of = " of %d" % room if room < 1 << 62 else ""
            print("channel 0x%x, %d%s elements%s" % (address, int(chan["xcount"]), of, closed))
    except gdb.MemoryError:
        pass


def say_listed(waiter, seen):
    """One of an object's list. A wait on several lists stands on each with a part."""
    whole = waiter
    if waiter["part"]:
        whole = waiter["object"].cast(pointer("th_waiter"))
    fiber = whole["fiber"]
    if not int(fiber):
        print("  a plain thread waits")
        return 1
    if int(fiber) in seen:
        return 0
    seen.add(int(fiber))
    print("  %s %s" % (fiber_word(fiber), state_of(fiber)))
    return 1


def external_waits(sched):
    """Threads that are no workers, and what they wait for: kind and address."""
    records = linked(sched["externals"]["first"], lambda r: r["next_of_sched"], "the list of threads")
    names = list(NAMES)
    for record in records:
        thread = record["thread"]
        shown = int(thread["xwaits"]) if int(thread) else 0
        if shown:
            kind = shown >> SHOWN_SHIFT
            yield names[kind if kind < len(names) else 0], shown & ((1 << SHOWN_SHIFT) - 1)


def external_word(kind, address):
    if kind in DESCRIPTORS:
        return "an external thread %s" % descriptor_word(kind, address, 0)
    return "an external thread waits for %s%s" % (NAMES[kind], " 0x%x" % address if address else "")


# ---- the commands ----


class Thrum(gdb.Command):
    """Workers, fibers, tasks and scopes of the scheduler thrum.

    thrum workers           each worker: its thread, and what it does
    thrum fibers [group]    each fiber that a task is on, and what it waits for;
                            group: those in the same calls of the program together, most first
    thrum bt FIBER          the backtrace of a fiber: its number, or its address; `all`: of all
    thrum fiber FIBER       gdb's own commands look into that fiber from now on
    thrum fiber 0           ... and into the thread again; the same as thrum thread
    thrum tasks             what is queued, by queue
    thrum waits OBJECT      what waits for a mutex, a channel, an event ...: an expression
    thrum scopes            the scopes that are open, with their tasks

    They read memory only, of a program that stands still or of a core."""

    def __init__(self):
        super().__init__("thrum", gdb.COMMAND_STACK, gdb.COMPLETE_COMMAND, True)


class Command(gdb.Command):
    """What all of them do: errors become one line."""

    def __init__(self, name):
        super().__init__("thrum " + name, gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        self.dont_repeat()
        try:
            library()
            self.run(arg.strip())
        except gdb.MemoryError as error:
            raise gdb.GdbError("thrum: what is needed cannot be read: %s" % error)
        except Damaged as damage:
            raise gdb.GdbError("thrum: %s" % damage)
        except gdb.error as error:
            raise gdb.GdbError("thrum: %s" % error)


class Workers(Command):
    """thrum workers: each worker's thread, and what it does."""

    def __init__(self):
        super().__init__("workers")

    def run(self, arg):
        threads = Threads()
        root = library_root()
        for sched in schedulers():
            say_scheduler(sched)
            for worker in workers(sched):
                self.say(worker, threads, root)

    def say(self, worker, threads, root):
        thread = threads.of(worker)
        word = "  %s" % worker_word(worker)
        word += ", %s," % thread_word(thread) if thread is not None else ", no thread,"
        spare = not worker["bound"] and int(worker["index"]) >= int(worker["sched"]["workers_regular"])
        word += " a spare," if spare else ""
        print("%s %s" % (word, self.does(worker, threads, root, spare)))

    def does(self, worker, threads, root, spare):
        current = worker["current"]
        if spare and not worker["stint"]["active"]:
            word = "is idle"
        elif int(worker["xsleep"]) & SLEEP_PARKED:
            word = "sleeps"
        elif int(current) not in (0, int(worker["home"].address)) and not int(current["sched"]):
            word = "is on a stack that cannot be read here"  # a core without it is read as zeros
        elif int(current) and current["body"] and not current["root"]:
            word = "runs %s" % fiber_word(current)
            function = function_of(current, threads, root)
            word += ", %s" % function if function else ""
        elif worker["bound"] and int(current) == int(worker["home"].address):
            word = said_state(current)
        elif worker["searching"]:
            word = "searches"
        else:
            word = "is between tasks"
        word += ", tick %d" % int(worker["xtick"])
        queued = queued_at(worker)
        return word + (", %d queued there" % queued if queued else "")


class Fibers(Command):
    """thrum fibers [group]: each fiber that a task is on; `group`: by the program's calls, most first."""

    def __init__(self):
        super().__init__("fibers")

    def run(self, arg):
        if arg not in ("", "group"):
            raise gdb.GdbError("thrum: `thrum fibers` or `thrum fibers group`")
        threads = Threads()
        root = library_root()
        for sched in schedulers():
            say_scheduler(sched)
            stacks = Stacks(sched)
            if arg:
                self.say_groups(sched, stacks, threads, root)
            else:
                self.say_all(sched, stacks, threads, root)
            stacks.say_rest()

    def say_all(self, sched, stacks, threads, root):
        for fiber in fibers(sched, stacks):
            function = "" if fiber["root"] else function_of(fiber, threads, root)
            of = ", %s," % function if function else ""
            print("  %s%s %s (0x%x)" % (fiber_word(fiber), of, said_state(fiber), int(fiber)))
        try:
            for kind, address in external_waits(sched):
                print("  " + external_word(kind, address))
        except Damaged as damage:
            print("  %s" % damage)

    def say_groups(self, sched, stacks, threads, root):
        groups = {}
        for fiber in fibers(sched, stacks):
            calls = calls_of(fiber, threads, root)
            # By the program's calls: the library's own differ between those that do the same.
            theirs = tuple(call.pc for call in calls if not call.ours)
            key = theirs or function_of(fiber, threads, root)
            groups.setdefault(key, ([], calls))[0].append(fiber)
        for members, calls in sorted(groups.values(), key=lambda g: -len(g[0])):
            print("  %d %s" % (len(members), "fiber" if len(members) == 1 else "fibers"))
            for fiber in members[:3]:
                print("    %s %s" % (fiber_word(fiber), said_state(fiber)))
            if len(members) > 3:
                print("    and %d more" % (len(members) - 3))
            theirs = [call.word() for call in calls if not call.ours]
            for word in theirs or [function_of(members[0], threads, root)]:
                print("      at %s" % word)


class Bt(Command):
    """thrum bt FIBER|all: the backtrace of a fiber, by its number or address, or of all."""

    def __init__(self):
        super().__init__("bt")

    def run(self, arg):
        if not arg:
            raise gdb.GdbError("thrum: `thrum bt FIBER`: a number of `thrum fibers`, or an address")
        if arg != "all":
            self.say(find_fiber(arg))
            return
        for sched in schedulers():
            say_scheduler(sched)
            stacks = Stacks(sched)
            for fiber in fibers(sched, stacks):
                self.say(fiber)
            stacks.say_rest()

    def say(self, fiber):
        print("%s %s" % (fiber_word(fiber), said_state(fiber)))
        backtrace(fiber, Threads())


def leave_fiber():
    unwinder.end()
    gdb.newest_frame().select()
    gdb.execute("frame")


class Fiber(Command):
    """thrum fiber FIBER: gdb's own commands look into that fiber; 0: into the thread again.

    frame, up, down, bt, info locals and print work there. No register is changed: when the
    program goes on, or another thread is selected, the thread is looked at again."""

    def __init__(self):
        super().__init__("fiber")

    def run(self, arg):
        if arg == "0":
            leave_fiber()
        elif arg:
            self.enter(find_fiber(arg))
        elif unwinder.is_here():
            print("%s %s" % (fiber_word(unwinder.fiber), said_state(unwinder.fiber)))
        else:
            print("no fiber is selected")

    def enter(self, fiber):
        print("%s %s" % (fiber_word(fiber), said_state(fiber)))
        root = library_root()
        if is_running(fiber):
            unwinder.end()
            thread = Threads().of(fiber["worker"])
            if thread is None:
                raise gdb.GdbError("thrum: it runs, and its thread is not known")
            thread.switch()
            first = gdb.newest_frame()
        else:
            unwinder.end()
            guard.begin()
            unwinder.begin(fiber)
            first = unwinder.first()
            if first is None:
                unwinder.end()
                raise gdb.GdbError("thrum: its frames cannot be read")
        theirs = next((f for f in frames_from(first) if not Call(f, root).ours), first)
        theirs.select()
        gdb.execute("frame")


class Thread(Command):
    """thrum thread: gdb's own commands look into the thread again, after `thrum fiber`."""

    def __init__(self):
        super().__init__("thread")

    def run(self, arg):
        leave_fiber()


class OnlyThread(gdb.Command):
    """For the hooks of commands that would move the thread to where a fiber is."""

    def __init__(self):
        super().__init__("thrum only-thread", gdb.COMMAND_OBSCURE)

    def invoke(self, arg, from_tty):
        if unwinder.is_here():
            raise gdb.GdbError("thrum: no `%s` while a fiber is selected (`thrum fiber 0`)" % arg)


class Tasks(Command):
    """thrum tasks: what is queued, by queue, and tasks that wait to be due."""

    def __init__(self):
        super().__init__("tasks")

    def run(self, arg):
        for sched in schedulers():
            say_scheduler(sched)
            count = 0
            for worker in workers(sched):
                for title, works in queues_of(worker):
                    count += say_queue("%s, %s" % (worker_word(worker), title), works)
                count += say_forks(worker)
            for title, works in queues_of_all(sched):
                count += say_queue(title, works)
            if not count:
                print("  nothing is queued")


class Waits(Command):
    """thrum waits OBJECT: what waits for it: `thrum waits &mutex`, `thrum waits 0x5581...`."""

    def __init__(self):
        super().__init__("waits")

    def run(self, arg):
        if not arg:
            raise gdb.GdbError("thrum: `thrum waits OBJECT`: an address, or an expression like &mutex")
        address, kind = target_of(arg)
        seen = set()
        lines = []
        count = 0
        for sched in schedulers():
            stacks = Stacks(sched)
            for fiber in fibers(sched, stacks):
                waiter = fiber["xblocked"]
                if int(waiter) and int(waiter["object"]) == address:
                    seen.add(int(fiber))
                    lines.append("  %s %s" % (fiber_word(fiber), said_state(fiber)))
                    known = TYPES.get(kind_of(waiter))
                    kind = kind if kind is not None or known is None else type_of(known)
            for what, where in external_waits(sched):
                if where == address:
                    lines.append("  " + external_word(what, where))
            if stacks.unread:
                lines.append("  and %d stacks cannot be read here" % stacks.unread)
        say_object(address, kind)
        for line in lines:
            print(line)
        count = len(lines)
        try:
            for first in lists_in(address, kind):
                for waiter in linked(first, lambda w: w["next"], "its list of waiters"):
                    if int(waiter["fiber"]) or waiter["part"]:
                        count += say_listed(waiter, seen)
        except (Damaged, gdb.MemoryError) as damage:
            print("  %s" % damage)
            count += 1
        if not count:
            print("nothing waits for 0x%x" % address)


class ScopesCommand(Command):
    """thrum scopes: the scopes that are open, with their tasks, as a tree."""

    def __init__(self):
        super().__init__("scopes")

    def run(self, arg):
        for sched in schedulers():
            say_scheduler(sched)
            stacks = Stacks(sched)
            if not Scopes(sched, stacks).say():
                print("  no scope is %s" % ("found" if stacks.unread else "open"))
            stacks.say_rest()


Thrum()
for command in (Workers, Fibers, Bt, Fiber, Thread, OnlyThread, Tasks, Waits, ScopesCommand):
    command()
guard = Guard()
gdb.events.cont.connect(lambda event: unwinder.end())
gdb.events.exited.connect(lambda event: unwinder.end())
