"""The workloads that are compared: their rows, what is said of them, and with how many workers."""


class Workload:
    """Rows that one piece of work gives. `alias`: what a peer calls the row, where that is not its name."""

    def __init__(self, rows, what, group, workers=None, alias=None, note=""):
        self.rows = rows.split()
        self.name = self.rows[0]
        self.what, self.set, self.workers, self.alias, self.note = what, group, workers, alias or {}, note

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
    W("spawn", "a task starts 1000 and waits, 1000 times: a task", "spawn", note=CALLS),
    W("spawn-joined", "the same, each joined", "spawn", note="Go: a channel for each goroutine"),
    W("spawn-burst spawn-burst-cold", "a million at once: a task; cold: the first time", "spawn", note=BURST),
    W("spawn-external", "a plain thread starts a million: a task", "spawn"),
    W("post", "1000 × 1000 tasks in the caller's memory, from inside: a task", "spawn"),
    W("post-external", "a million of them from a plain thread: a task", "spawn",
      note="libuv also tells its loop of each end"),
    W("post-external-rounds", "1000 × 1000, the thread waits for each round: a task", "spawn"),
    W("fanout", "10,000 tasks while the other workers sleep: a task", "spawn", note=CALLS),
    W("yield", "1000 fibers yield 1000 times each: a yield", "turns"),
    W("pingpong", "two fibers over two semaphores: a round trip", "turns",
      note="Go and Boost over channels with room for one, as is usual there"),
    W("many-to-many", "100 fibers post to each other and wait: a step", "turns"),
    W("mutex-alone", "one fiber locks and unlocks: once", "turns"),
    W("mutex-2", "two fibers, one mutex: once", "turns"),
    W("mutex-100", "100 fibers, one mutex: once", "turns"),
    W("mutex-1000", "1000 fibers, one mutex: once", "turns"),
    W("rwlock-read-2", "two readers: once", "turns"),
    W("rwlock-read-100", "100 readers: once", "turns"),
    W("rwlock-read-1000", "1000 readers: once", "turns"),
    W("rwlock-mixed", "100 fibers, one in a hundred times to write: once", "turns"),
    W("event-chain", "512 fibers in a chain over events: a link", "turns",
      note="Go and Boost: channels with room for one"),
    W("event-baton", "two hand a baton over: once", "turns"),
    W("tickets", "512 tickets in order: one", "turns", note="Go and Boost: a channel from each to the next; Tokio: a Notify"),
    W("pool-alone", "one fiber borrows and gives back: once", "turns", note=POOL),
    W("pool-100", "100 fibers share ten objects: one borrowed", "turns", note=POOL),
    W("chan-1-1", "one sends to another, buffer of 64: an element", "chan"),
    W("chan-4-4", "four send to four, buffer of 64: an element", "chan"),
    W("chan-pingpong", "a ball over two rendezvous: a round trip", "chan"),
    W("chan-pingpong-buffered", "a ball over two buffers: a round trip", "chan"),
    W("select-8", "one selects over eight channels: an element", "chan"),
    W("skynet-chan", "a million leaves, sums over channels", "chan",
      note="Boost starts children depth first, as its own example does"),
    W("fib", "fib(35), half of each call forked: a call", "parallel", note=SHORT),
    W("skynet-join", "a million leaves, joined", "parallel"),
    W("nqueens", "twelve queens, a task a board", "parallel"),
    W("sort", "merge sort of 10 million numbers", "parallel"),
    W("for-light", "a loop over 10 million, a multiplication each", "parallel",
      note="OpenMP: taskloop in 64 parts a thread, from inside a task as with the others. " + CHUNKS),
    W("for-skewed", "the same, the first hundredth a hundred times as long", "parallel", note=CHUNKS),
    W("wake-p50 wake-p99 wake-bare-p50", "from a post to sleeping workers until it runs", "idle",
      note="the caller blocks afterwards; in Go a goroutine with a thread of its own, as Go has no external threads"),
    W("lone-task-p50 lone-task-p99 lone-task-bare-p50 lone-task-bare-p99",
      "a task starts one other and computes on for 10 ms, while a worker sleeps: until the other begins", "idle", [2],
      note="thrum's two workers and the bare futex's two threads are tied to a core each; Go and Tokio cannot say so"),
    W("cancel-queued-20k cancel-queued-20k-late cancel-queued-20k-idle",
      "a scope is cancelled whose 20,000 children wait for the blocking pool", "idle", [2]),
] + [
    W(f"stall-{how}-p50 stall-{how}-p99 stall-{how}-max stall-{how}-timer-p99", what, "stall", [2], note=STALL)
    for how, what in (
        ("sleep-1", "one task blocks its thread by nanosleep: how late others begin meanwhile"),
        ("sleep-2", "the same, two tasks"),
        ("sleep-4", "the same, four tasks"),
        ("compute-1", "the same, one task that computes"),
        ("compute-2", "the same, two that compute"),
        ("compute-4", "the same, four that compute"),
        ("read-2", "the same, two that read a pipe"),
        ("mutex-2", "the same, two that wait for a mutex which blocks the thread"))] + [
    W("file-cached", "a fiber reads 4 KiB that the system has in memory: once", "files"),
    W("file-direct", "32 fibers read 4 KiB each directly from the disk: once", "files"),
    W("file-beside-p99 file-beside-none-p99",
      "how late 16 fibers wake from sleeps of 1 ms while 64 read a cold file of 4 GB; without them", "files", [2]),
    W("idle", "CPU time while there is nothing to do, per second", "idle"),
    W("blocked-memory blocked-time", "100,000 that wait: bytes for each; time to start and block one", "idle",
      note="thrum's stacks have guard pages, Boost's not; Tokio's tasks have no stacks"),
    W("timers", "a million pending: one is cancelled and set anew, in turn", "idle", [1], note=TIMERS),
    W("timers-cold", "the same in random order", "idle", [1], note=TIMERS),
    W("sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max",
      "100,000 sleep 1 to 100 ms, 20 times: CPU time of a sleep; how late it ends", "idle",
      note="libuv's are callbacks of one thread, in whole milliseconds"),
    W("sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max",
      "the same by 14,000, which keep one of thrum's workers half busy", "idle",
      note="libuv's are callbacks of one thread, in whole milliseconds"),
    W("blocking-call", "a fiber calls what blocks the thread, 10,000 times: once", "idle",
      note="libuv: the end of each, in its loop, queues the next"),
    W("spawn_many_local", "a task starts 10,000: a task", "tokio", [4], note=CALLS),
    W("spawn_many_remote_idle", "a plain thread starts 10,000 and joins them: a task", "tokio", [4]),
    W("spawn_many_remote_busy1", "the same beside eight that yield and stall 10 µs: a task", "tokio", [4]),
    W("spawn_many_remote_busy2", "1000 beside four of 10 µs that start themselves anew: a task", "tokio", [4],
      note="Tokio 1.24 does not finish: such tasks keep their workers for ever"),
    W("spawn_many_remote_busy2y", "the same, where they also yield each time: a task", "tokio", [4]),
    W("yield_many", "200 yield 1000 times: a yield", "tokio", [4]),
    W("ping_pong", "1000 times two that exchange two values: one pair", "tokio", [4]),
    W("chained_spawn", "each of 1000 starts the next: a task", "tokio", [4]),
    W("remote_spawn", "12,800 from eight plain threads: a task", "tokio", [4]),
    W("spawn_blocking", "16 tasks × 100 × 16 blocking calls at once: a call", "tokio", [4]),
    W("chan_contended", "five send 1000 each through one channel: an element", "tokio", [4]),
] + [W(f"remote_spawn_{n}", f"12,800 from {n} plain thread{'s' if n > 1 else ''}: a task", "tokio", [4])
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

# How many workers `--full` takes; what is drawn over 1 to 8 workers; what the variants are
# compared on; what is also measured with another malloc.
FULL_WORKERS = [1, 2]
SCALING = ["spawn", "spawn-external", "yield", "mutex-100", "chan-4-4", "fib", "skynet-join", "skynet-chan", "sort"]
ALLOCATING = ["spawn", "spawn-joined", "spawn-burst", "spawn-external", "skynet-chan", "skynet-join", "fib", "ping_pong",
              "chained_spawn", "remote_spawn", "spawn_blocking", "spawn_many_remote_idle"]
SETS = {"variants": ["spawn", "turns", "chan", "parallel", "study"]}

# The variants of the sharded policy's queues in the study's build (study/README.md), and the other policies.
VARIANTS = [("default", {})] + [
    (name, {"THRUM_STUDY": words}) for name, words in (
        ("overflow half, steal one", "steal-one"),
        ("overflow one, steal half", "overflow-one"),
        ("overflow one, steal one", "overflow-one,steal-one"),
        ("mutex queue, steal half, grab batch", "mutex"),
        ("mutex queue, steal half, grab one", "mutex,grab-one"),
        ("mutex queue, steal one, grab batch", "mutex,steal-one"),
        ("mutex queue, steal one, grab one", "mutex,steal-one,grab-one"))
] + [("global policy", {"THRUM_POLICY": "global"}), ("fifo policy", {"THRUM_POLICY": "fifo"})]
