#!/usr/bin/env python3
"""
The effects that docs/guide/ten-mistakes.md names: the wrong lines of each entry are run, and have the effect that the page names.

  tests/tools/mistakes.py LIBRARY [NUMBER...]

For each entry, PROGRAMS has the lines before and behind the entry's block. EFFECT prints words of the page if they are true. The page's
entry must have everything that the program prints. In a line of the library's own, numbers may differ. LIBRARY is libthrum.a.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "guide", "ten-mistakes.md")
BEFORE = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#define EFFECT(condition, words) puts((condition) ? (words) : "not true: " words)
static inline int run_on_one(thrum_fn entry) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1; /* by default without a spare */
    return thrum_run(&config, entry, NULL);
}
static int marked;
static inline int mark(void *arg) {
    marked = 1;
    return 0;
}
"""

PROGRAMS = {
    1: ("", """
int main(void) {
    EFFECT(wrong() == -ETIMEDOUT, "The wrong call returns `-ETIMEDOUT` at once.");
    thrum_event_signal(&answer);
    return right();
}"""),
    2: ("""
static thrum_time slept;
#define thrum_sleep(time) (slept = (time), 0)
""", """
int main(void) {
    wrong();
    EFFECT(slept == 100, "100 ns");
    right();
    EFFECT(slept == 100000000 && THRUM_S(1.5) == 1000000000, "`THRUM_S(1.5)` is one second");
    return 0;
}"""),
    3: ("""
static int errors;
static inline int counted_recv(thrum_chan *chan, void *out) {
    int err = thrum_chan_recv(chan, out);
    errors += err == -ECANCELED;
    if (errors > 1000) {
        EFFECT(true, "After a cancel, the wrong loop never ends");
        fflush(stdout);
        _Exit(0);
    }
    return err;
}
#define thrum_chan_recv counted_recv
""", """
void run_job(int job) {
}
static int entry(void *arg) {
    thrum_handle *handle;
    int code;
    int err = thrum_chan_create(&jobs, sizeof(int), 1);
    err = err != 0 ? err : thrum_spawn(&handle, right, arg);
    if (err == 0) {
        thrum_cancel(handle);
        err = thrum_join(handle, &code);
        EFFECT(err == 0 && code == -ECANCELED, "every wait returns `-ECANCELED` at once");
        err = thrum_spawn(&handle, wrong, arg);
    }
    if (err == 0) {
        thrum_cancel(handle);
        err = thrum_join(handle, &code);
    }
    return err != 0 ? err : 1;
}
int main(void) {
    return thrum_run(NULL, entry, NULL) != 0;
}"""),
    4: ("", """
int main(void) {
    thrum_sched *sched;
    if (thrum_sched_start(&sched, NULL) != 0) {
        return 1;
    }
    EFFECT(wrong(sched) == -ESRCH, "The wrong call returns `-ESRCH`, and nothing runs.");
    return thrum_sched_stop(sched);
}"""),
    5: ("", """
static int entry(void *arg) {
    int err = wrong(arg); /* the only worker is busy, so the tasks run later */
    thrum_yield();
    return err;
}
int main(void) {
    return run_on_one(entry);
}"""),
    6: ("""
static int ran;
""", """
static int counted(void *arg) {
    ran++;
    return wrong_task(arg);
}
static int entry(void *arg) {
    for (int i = 0; i < 100; i++) {
        if (thrum_go(counted, arg) != 0) {
            return 1;
        }
    }
    EFFECT(thrum_waitgroup_wait(&left) == 0 && ran == 0, "of 100 tasks, 0 had run.");
    return 0;
}
int main(void) {
    return run_on_one(entry);
}"""),
    7: ("""
#include <unistd.h>
static int of_task;
static inline unsigned of_thread(unsigned seconds) {
    if (of_task) {
        usleep(seconds);
        EFFECT(!marked, "so other tasks cannot use it");
    }
    while (!of_task && !__atomic_load_n(&marked, __ATOMIC_SEQ_CST)) {
        usleep(seconds);
    }
    return 0;
}
#define sleep of_thread
""", """
static int entry(void *arg) {
    int err = thrum_go(mark, arg);
    of_task = 1;
    err = err != 0 ? err : wrong(arg);
    of_task = 0;
    return err != 0 ? err : also_right(arg); /* returns when the other task has run */
}
int main(void) {
    return run_on_one(entry);
}"""),
    8: ("""
#include <pthread.h>
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
static inline int checked_lock(pthread_mutex_t *mutex) {
    if (pthread_mutex_lock(mutex) == EDEADLK) {
        EFFECT(true, "the second one blocks the thread that the first one needs to unlock");
        fflush(stdout);
        _Exit(0);
    }
    return 0;
}
#define pthread_mutex_lock checked_lock
static thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
#define thrum_sleep(time) thrum_event_wait(&never) /* any wait */
""", """
static int entry(void *arg) {
    int err = thrum_go(wrong, arg);
    err = err != 0 ? err : thrum_go(wrong, arg);
    return err != 0 ? err : thrum_event_wait(&never);
}
int main(void) {
    return run_on_one(entry);
}"""),
    9: ("", """
int main(void) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_sched *sched;
    attr.name = "reader";
    if (thrum_sched_start(&sched, NULL) != 0) {
        return 1;
    }
    attr.sched = sched;
    int err = thrum_go_with(&attr, wrong, NULL);
    return err != 0 ? err : thrum_sched_stop(sched);
}"""),
    10: ("""
#define main main_of_page
""", """
#undef main
int main(void) {
    EFFECT(main_of_page() == 0, "Three signals let one waiter through");
    return 0;
}"""),
}


def words(text):
    return " ".join(text.split())


def shape(line):
    """Numbers differ in a line of the library's own."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", line) if line.startswith("thrum: ") else line


def entries():
    """Each entry's text and block, by its number."""
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"^## (\d+)\. ", file.read(), flags=re.M)[1:]
    for number, text in zip(parts[::2], parts[1::2]):
        yield int(number), text, re.search(r"^```c\n(.*?)^```", text, re.M | re.S)[1]


def faults(work, library, number, text, block):
    """How the entry's program differs from the page."""
    source, program = os.path.join(work, "program.c"), os.path.join(work, "program")
    before, behind = PROGRAMS[number]
    with open(source, "w", encoding="utf-8") as file:
        file.write("#define _GNU_SOURCE\n" + BEFORE + before + block + behind + "\n")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-fno-builtin", "-fstack-clash-protection",
                    "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter", "-I", os.path.join(ROOT, "include"), source, library, "-lpthread", "-o", program], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THRUM_")}
    done = subprocess.run([program], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [words(line) for line in done.stdout.splitlines()]
    told = [shape(words(line)) for line in text.splitlines()] + [words(text)]
    if not lines:
        yield f"prints nothing, and ends with {done.returncode}"
    if done.returncode != 0 and not any(line.startswith("thrum: ") for line in lines):
        yield f"ends with {done.returncode}"
    yield from (f"prints, and the page has not: {line}" for line in lines if not any(shape(line) in one for one in told))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    library, chosen = os.path.abspath(sys.argv[1]), [int(number) for number in sys.argv[2:]]
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    status, seen = 0, []
    with tempfile.TemporaryDirectory() as work:
        for number, text, block in entries():
            seen.append(number)
            if chosen and number not in chosen:
                continue
            found = list(faults(work, library, number, text, block))
            print(f"mistake {number}: " + ("; ".join(found) or "ok"))
            status |= bool(found)
    if seen != list(PROGRAMS):
        sys.exit(f"the page has the entries {seen}")
    return status


if __name__ == "__main__":
    sys.exit(main())
