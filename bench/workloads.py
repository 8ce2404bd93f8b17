"""The workloads that are compared: their rows, what is said of them, and with how many workers."""


class Workload:
    """Rows that one piece of work gives. `alias`: what a peer calls the row, where that is not its name.
    `baseline`: what thrum-bench measures beside it, shown as a peer."""

    def __init__(self, rows, what, group, workers=None, alias=None, note="", baseline=None):
        self.rows = rows.split()
        self.name = self.rows[0]
        self.what, self.set, self.workers, self.alias, self.note = what, group, workers, alias or {}, note
        self.baseline = baseline

    def rows_of(self, system):
        return [self.alias.get(system, {}).get(row, row) for row in self.rows]

    def row_named(self, row, system):
        """thrum-bench's name for what the system calls so."""
        for ours, theirs in self.alias.get(system, {}).items():
            if theirs == row:
                return ours
        return row


W = Workload

YARDSTICKS = [W(name, "", "yard") for name in (
    "yard-rmw", "yard-fence", "yard-cas", "yard-line", "yard-syscall")] + [
    W("yard-futex-p50 yard-futex-p99", "", "yard")]

# libgomp runs a task at once, as a call, when too many are waiting; tasks that cannot block allow it.
CALLS = "OpenMP's tasks cannot block; libgomp runs those beyond 64 a thread as plain calls"
SHORT = "Boost does fib(25), Go and Tokio fib(29), oneTBB and OpenMP fib(31): the figure is per call"
TIMERS = "thrum's wheel alone, without a scheduler; elsewhere they come due a minute later, as the clock runs there; Tokio's and libuv's in whole milliseconds; Boost's are Asio's, which also calls the handler of what is cancelled"
POOL = "Go and Boost: a channel that holds the objects; Tokio: a list under a mutex"
CHUNKS = "Go, Tokio and Boost: 64 goroutines, tasks or fibers a worker"
STALL = ("what posts is a plain thread; in Go, which has no external threads, a goroutine that sleeps by time.Sleep beside those that "
         "compute, else by nanosleep, as each is faster there; Tokio's timers are in whole milliseconds")
BURST = CALLS + "; Boost starts each depth first, as a million waiting stacks take 8 GB"

WORKLOADS = [
    W("spawn", "start 1000 tasks and wait for all, 1000 times: a task", "spawn", note=CALLS),
    W("spawn-joined", "spawn 1000 tasks and join each, 1000 times: a task", "spawn", note="Go: a channel for each goroutine"),
    W("spawn-burst spawn-burst-cold", "start a million tasks, then wait: a task", "spawn", note=BURST),
    W("spawn-external", "a plain thread starts a million tasks: a task", "spawn"),
    W("post", "post 1000 tasks that lie in an array, 1000 times: a task", "spawn"),
    W("post-external", "a plain thread posts a million tasks in an array: a task", "spawn",
      note="libuv also tells its loop of each end"),
    W("post-external-rounds", "a plain thread posts 1000 tasks and waits, 1000 times: a task", "spawn"),
    W("fanout", "start 10,000 tasks while the other workers sleep: a task", "spawn", note=CALLS),
    W("yield", "1000 fibers yield 1000 times each: a yield", "turns"),
    W("pingpong", "two fibers wake each other over two semaphores: a round trip", "turns",
      note="Go and Boost over channels with room for one, as is usual there"),
    W("many-to-many", "100 fibers post to each other's semaphores and wait: a step", "turns"),
    W("mutex-alone", "one fiber locks and unlocks a mutex", "turns"),
    W("mutex-2", "two fibers lock and unlock one mutex", "turns"),
    W("mutex-100", "100 fibers lock and unlock one mutex", "turns"),
    W("mutex-1000", "1000 fibers lock and unlock one mutex", "turns"),
    W("rwlock-read-2", "two fibers lock an rwlock to read", "turns"),
    W("rwlock-read-100", "100 fibers lock an rwlock to read", "turns"),
    W("rwlock-read-1000", "1000 fibers lock an rwlock to read", "turns"),
    W("rwlock-mixed", "100 fibers lock an rwlock, each hundredth time to write", "turns"),
    W("event-chain", "512 fibers in a chain over events: a link", "turns",
      note="Go and Boost: channels with room for one"),
    W("event-baton", "two fibers signal each other's event in turn: a signal", "turns"),
    W("tickets", "512 tasks run in the order of their tickets: a ticket", "turns", note="Go and Boost: a channel from each to the next; Tokio: a Notify"),
    W("pool-alone", "one fiber borrows an object of a pool and returns it", "turns", note=POOL),
    W("pool-100", "100 fibers borrow the ten objects of a pool: an object", "turns", note=POOL),
    W("chan-1-1", "one fiber sends to another, buffer of 64: an element", "chan"),
    W("chan-4-4", "four fibers send to four, buffer of 64: an element", "chan"),
    W("chan-pingpong", "two fibers play ball over two channels without buffers: a round trip", "chan"),
    W("chan-pingpong-buffered", "two fibers play ball over two channels with buffers: a round trip", "chan"),
    W("select-8", "one fiber selects over eight channels: an element", "chan"),
    W("skynet-chan", "tree of a million leaves, summed over channels", "chan",
      note="Boost starts children depth first, as its own example does"),
    W("fib", "recursive fib(35), one half of each call forked: a call", "parallel", note=SHORT),
    W("skynet-join", "tree of a million leaves, summed by fork and join", "parallel"),
    W("nqueens", "all solutions for twelve queens, a fork for each board", "parallel"),
    W("sort", "merge sort of 10 million numbers", "parallel"),
    W("for-light", "a loop over 10 million, a multiplication each", "parallel",
      note="OpenMP: taskloop in 64 parts a thread, from inside a task as with the others. " + CHUNKS),
    W("for-skewed", "a loop over 10 million, the first hundredth costs a hundred times as much", "parallel", note=CHUNKS),
    W("wake-p50 wake-p99 wake-bare-p50", "delay from a post until a sleeping worker runs the task", "idle",
      note="the caller blocks afterwards; in Go a goroutine with a thread of its own, as Go has no external threads"),
    W("lone-task-p50 lone-task-p99 lone-task-bare-p50 lone-task-bare-p99",
      "delay of a task whose starter computes on for 10 ms, while a worker sleeps", "idle", [2],
      note="thrum's two workers and the bare futex's two threads are tied to a core each; Go and Tokio cannot say so"),
    W("cancel-queued-20k cancel-queued-20k-late cancel-queued-20k-idle",
      "a scope is cancelled whose 20,000 children wait for the blocking pool", "idle", [2]),
] + [
    W(f"stall-{how}-p50 stall-{how}-p99 stall-{how}-max stall-{how}-timer-p99", f"delay of other tasks while {what}", "stall", [2], note=STALL)
    for how, what in (
        ("sleep-1", "one blocks its thread in nanosleep"),
        ("sleep-2", "two block their threads in nanosleep"),
        ("sleep-4", "four block their threads in nanosleep"),
        ("compute-1", "one computes"),
        ("compute-2", "two compute"),
        ("compute-4", "four compute"),
        ("read-2", "two read an empty pipe"),
        ("mutex-2", "two wait for a pthread mutex"))] + [
    W("file-cached", "a fiber reads 4 KiB of the page cache", "files"),
    W("file-direct", "32 fibers read 4 KiB each directly from the disk: a read", "files"),
    W("file-beside-p99 file-beside-none-p99",
      "how late 16 fibers wake from sleeps of 1 ms while 64 read a cold file of 4 GB; without them", "files", [2]),
    W("idle", "CPU time of idle workers, per second", "idle"),
    W("blocked-memory blocked-time", "100,000 tasks that wait: memory of each; time to start and block one", "idle",
      note="thrum's stacks have guard pages, Boost's not; Tokio's tasks have no stacks"),
    W("timers", "a million timers: each in turn is cancelled and set anew", "idle", [1], note=TIMERS),
    W("timers-cold", "a million timers: each in random order is cancelled and set anew", "idle", [1], note=TIMERS),
    W("sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max",
      "100,000 tasks sleep 1 to 100 ms, 20 times: CPU time of a sleep; how late it ends", "idle",
      note="libuv's are callbacks of one thread, in whole milliseconds"),
    W("sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max",
      "14,000 tasks sleep 1 to 100 ms, 60 times: CPU time of a sleep; how late it ends", "idle",
      note="libuv's are callbacks of one thread, in whole milliseconds"),
    W("sleeps-beside-p50 sleeps-beside-p99",
      "100 fibers sleep 1 to 100 ms beside 5,000 queued tasks that compute 0.1 ms: how late they wake", "idle", [2]),
    W("groups-memory groups-alive groups-time",
      "100,000 tasks in groups of ten wait for the last of their group: peak memory of a task; most alive", "idle", [2]),
    W("blocking-call", "a fiber makes 10,000 blocking calls, one after the other: a call", "idle",
      note="libuv: the end of each, in its loop, queues the next"),
    W("spawn_many_local", "a task starts 10,000 tasks: a task", "tokio", [4], note=CALLS),
    W("spawn_many_remote_idle", "a plain thread starts 10,000 tasks and joins them: a task", "tokio", [4]),
    W("spawn_many_remote_busy1", "a plain thread starts 10,000 tasks beside eight that yield and stall 10 µs: a task", "tokio", [4]),
    W("spawn_many_remote_busy2", "a plain thread starts 1000 tasks beside four of 10 µs that start themselves anew: a task", "tokio", [4],
      note="Tokio 1.24 does not finish: such tasks keep their workers for ever"),
    W("spawn_many_remote_busy2y", "a plain thread starts 1000 tasks beside four that also yield each time: a task", "tokio", [4]),
    W("yield_many", "200 tasks yield 1000 times: a yield", "tokio", [4]),
    W("ping_pong", "1000 pairs of tasks exchange two values: a pair", "tokio", [4]),
    W("chained_spawn", "each of 1000 tasks starts the next: a task", "tokio", [4]),
    W("remote_spawn", "eight plain threads start 12,800 tasks: a task", "tokio", [4]),
    W("spawn_blocking", "16 tasks × 100 × 16 blocking calls at once: a call", "tokio", [4]),
    W("chan_contended", "five tasks send 1000 each through one channel: an element", "tokio", [4]),
] + [W(f"remote_spawn_{n}", f"{n} plain thread{'s start' if n > 1 else ' starts'} 12,800 tasks: a task", "tokio", [4])
     for n in (1, 2, 4, 16, 32, 64)] + [
    W(f"spawn_blocking_{n}", f"{n} task{'s' if n > 1 else ''} × 100 × 16 blocking calls at once: a call", "tokio", [4])
    for n in (1, 2, 4, 8, 32, 64)] + [
    W(name, what, "marl") for name, what in (
        ("marl-empty", "a bound thread starts 262,144 that do nothing: a task"),
        ("marl-waitgroup", "the same, where each counts down a waitgroup: a task"),
        ("marl-work", "the same with some work in each: a task"),
        ("marl-fork-join", "512 with much work, joined as many at a time as there are workers: a task"),
        ("marl-blocking", "512 that make a blocking call at once: a call"))] + [
    W(name, what, "ts", [1, 2, 3, 5, 10, 50]) for name, what in (
        ("ts-nano", "nano tasks from a plain thread, one run each"),
        ("ts-nano-again", "the same, ten runs each (50 workers: five)"),
        ("ts-micro", "micro tasks from a plain thread, one run each"),
        ("ts-micro-again", "the same, ten runs each (50 workers: five)"),
        ("ts-heavy", "with deadlines, wakeups and signals, ten runs each"))] + [
    W("ready-push", "the queues of fifo alone: one thread pushes a million elements, six pop them", "ts", [1],
      baseline="a list under a mutex")] + [
    W(name, what, "study", [workers]) for name, what, workers in (
    ("study-spawner", "one fiber starts 1000 that sleep 2 ns and yield, 10 times", 4),
    ("study-spawner-spin", "the same, spinning 2 µs", 4),
    ("study-slow", "the same, one worker's sleeps 100 times as long", 4),
    ("study-slow-spin", "the same, spinning 2 µs, 200 µs on one worker", 4),
    ("study-two", "two spawners, 10,000 and 100 that sleep and yield 10 times", 8),
    ("study-two-spin", "the same, spinning 2 µs", 8),
    ("study-two-100", "100 and 10, 100 times", 8),
    ("study-two-100-spin", "the same, spinning 2 µs", 8),
    ("study-two-1000", "1000 and 100, 100 times", 8),
    ("study-two-1000-spin", "the same, spinning 2 µs", 8),
    ("study-mutex", "100 that sleep under one mutex, 20 times", 4),
    ("study-mutex-spin", "the same, spinning 2 µs", 4),
    ("study-sort", "merge sort of 1024 numbers, a fiber a half", 4),
)]

TITLES = {"spawn": "Starting tasks", "turns": "Taking turns", "chan": "Channels", "parallel": "Parallel work",
          "idle": "Waiting, waking, memory", "files": "Files", "stall": "Two workers, held up for a second",
          "tokio": "Tokio's published benchmarks (four workers)",
          "marl": "marl's set, beside no peer", "ts": "TaskScheduler's scenarios, beside no peer",
          "study": "Study of variants"}

# How many workers `--full` takes; what is drawn over 1 to 8 workers; what is also measured with another malloc;
# the sets and the workloads on which the variants are compared.
FULL_WORKERS = [1, 2]
SCALING = ["spawn", "spawn-external", "yield", "mutex-100", "chan-4-4", "fib", "skynet-join", "skynet-chan", "sort"]
ALLOCATING = ["spawn", "spawn-joined", "spawn-burst", "spawn-external", "skynet-chan", "skynet-join", "fib", "ping_pong",
              "chained_spawn", "remote_spawn", "spawn_blocking", "spawn_many_remote_idle"]
SETS = {"variants": ["spawn", "turns", "chan", "parallel", "study", "sleeps-beside-p50", "groups-memory"]}

# The variants of the sharded policy's queues in the study's build (study/README.md), and the other policies.
VARIANTS = [("default", {})] + [
    (name, {"THRUM_STUDY": words}) for name, words in (
        ("overflow half, steal one", "steal-one"),
        ("overflow one, steal half", "overflow-one"),
        ("overflow one, steal one", "overflow-one,steal-one"),
        ("mutex queue, steal half, grab batch", "mutex"),
        ("mutex queue, steal half, grab one", "mutex,grab-one"),
        ("mutex queue, steal one, grab batch", "mutex,steal-one"),
        ("mutex queue, steal one, grab one", "mutex,steal-one,grab-one"),
        ("take all", "take-all"),
        ("unbounded mutex queue, steal half, grab batch", "unbounded"),
        ("unbounded mutex queue, steal half, take all", "unbounded,take-all"),
        ("unbounded mutex queue, steal one, take all", "unbounded,steal-one,take-all"),
        ("ready fibers first at every second pick", "alternate"))
] + [("global policy", {"THRUM_POLICY": "global"}), ("fifo policy", {"THRUM_POLICY": "fifo"})]
