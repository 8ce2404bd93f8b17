/*
 * The platform floor on the real system: clock, futex, threads, memory, and the faults on demand.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/platform.h"
#include "support/support.h"
#include "support/times.h"

#define MS ((int64_t)1000000)

/* ---- clock ---- */

TEST(ticks_agree_with_the_clock) {
    /* A span measured both ways comes out the same within a percent or 20 us. */
    const int64_t first = th_os_now();
    const uint64_t ticks = th_os_ticks();
    const int64_t before = th_os_now();
    while (th_os_now() - before < 5 * MS) {
        th_os_relax();
    }
    /* The span by ticks lies between these two, however long each step takes. */
    const int64_t inner = th_os_now() - before;
    const int64_t by_ticks = th_os_ticks_ns(th_os_ticks() - ticks);
    const int64_t outer = th_os_now() - first;
    CHECK(by_ticks >= inner - inner / 100 - 20000);
    CHECK(by_ticks <= outer + outer / 100 + 20000);
    CHECK_EQ(th_os_ticks_ns(0), 0);
}

TEST(clock_does_not_go_back) {
    /* Later readings are not smaller. */
    int64_t last = th_os_now();
    for (int i = 0; i < 100000; i++) {
        int64_t now = th_os_now();
        CHECK(now >= last);
        last = now;
    }
}

/* ---- futex ---- */

TEST(futex_wait_returns_at_once_when_the_word_differs) {
    /* It returns -EAGAIN, with and without a deadline. */
    uint32_t word = 1;
    CHECK_EQ(th_os_futex_wait(&word, 0, TH_FOREVER), -EAGAIN);
    CHECK_EQ(th_os_futex_wait(&word, 0, far_off()), -EAGAIN);
}

TEST(futex_deadline_is_absolute) {
    /* One in the past, however far, ends at once; a later one not before its time. */
    uint32_t word = 1;
    CHECK_EQ(th_os_futex_wait(&word, 1, past()), -ETIMEDOUT);
    CHECK_EQ(th_os_futex_wait(&word, 1, 0), -ETIMEDOUT);
    CHECK_EQ(th_os_futex_wait(&word, 1, INT64_MIN), -ETIMEDOUT);
    const int64_t deadline = soon();
    CHECK_EQ(th_os_futex_wait(&word, 1, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
}

static uint32_t xdoor;
static uint32_t xpassed;

static void pass_door(void *arg) {
    (void)arg;
    while (th_load_acquire(&xdoor) == 0) { /* pairs: futex_wakes_its_sleepers */
        CHECK(th_os_futex_wait(&xdoor, 0, INT64_MAX - 1) != -ETIMEDOUT);
    }
    th_add_relaxed(&xpassed, 1); /* relaxed: read after the join */
}

TEST(futex_wakes_its_sleepers) {
    /* It wakes all of them; far deadlines do no harm. */
    th_os_thread threads[3];
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(th_os_thread_start(&threads[i], "sleeper", pass_door, NULL), 0);
    }
    th_os_thread_yield();
    th_store_release(&xdoor, 1); /* pairs: pass_door; opens it */
    th_os_futex_wake(&xdoor, INT32_MAX);
    for (int i = 0; i < 3; i++) {
        th_os_thread_join(threads[i]);
    }
    CHECK_EQ(xpassed, 3);
}

/* ---- threads ---- */

static void do_nothing(void *arg) {
    (void)arg;
}

TEST(thread_without_a_name_starts) {
    /* NULL leaves the program's name. */
    th_os_thread thread;
    CHECK_EQ(th_os_thread_start(&thread, NULL, do_nothing, NULL), 0);
    th_os_thread_join(thread);
}

static int seven;
static void *exited_self;
static void *self_meanwhile;
static int exits;

static void on_exit_remember(void *self) {
    exited_self = self;
    self_meanwhile = th_os_self_get();
    exits++;
}

static void set_self(void *arg) {
    CHECK(th_os_self_get() == NULL);
    CHECK_EQ(th_os_self_set(&seven), 0);
    CHECK(th_os_self_get() == &seven);
    if (arg) {
        CHECK_EQ(th_os_self_set(NULL), 0);
    }
}

TEST(thread_pointer_is_told_at_exit) {
    /* It is told once for a thread whose pointer is set, never for one that has cleared it. */
    th_os_thread thread;
    CHECK_EQ(th_os_self_on_exit(on_exit_remember), 0);
    CHECK_EQ(th_os_thread_start(&thread, "self", set_self, NULL), 0);
    th_os_thread_join(thread);
    CHECK_EQ(exits, 1);
    CHECK(exited_self == &seven && self_meanwhile == &seven);
    CHECK_EQ(th_os_thread_start(&thread, "self", set_self, &seven), 0);
    th_os_thread_join(thread);
    CHECK_EQ(exits, 1);
    CHECK(th_os_self_get() == NULL);
}

static void look_at_cpus(void *arg) {
    CHECK_EQ(th_os_cpuset_granted(arg), 0);
}

/* A thread that computes until it is told to read, and reads until the pipe is closed. */
typedef struct watched {
    _Atomic uint64_t number;
    atomic_bool reads;
    int pipe[2];
} watched;

static void compute_and_read(void *arg) {
    watched *w = arg;
    char c;
    atomic_store(&w->number, th_os_thread_number());
    while (!atomic_load(&w->reads)) {
    }
    CHECK_EQ(read(w->pipe[0], &c, 1), 0);
}

TEST(thread_is_watched) {
    /* The time of a thread grows while it computes. When it reads an empty pipe it waits, and its
     * time stands still: if not, the test does not end. */
    watched w = {0};
    th_os_thread thread;
    NEEDS_STATES_OF_THREADS();
    CHECK_EQ(pipe(w.pipe), 0);
    CHECK_EQ(th_os_thread_start(&thread, "watched", compute_and_read, &w), 0);
    while (atomic_load(&w.number) == 0) {
        th_os_thread_yield();
    }
    CHECK(atomic_load(&w.number) != th_os_thread_number());
    int64_t ran = th_os_thread_ran(thread);
    CHECK(ran >= 0);
    while (th_os_thread_ran(thread) < ran + 2 * MS) {
        th_os_thread_yield();
    }
    while (th_os_thread_waits(atomic_load(&w.number))) { /* an emulator stops it now and then */
        th_os_thread_yield();
    }
    atomic_store(&w.reads, true);
    do {
        ran = th_os_thread_ran(thread);
        th_os_thread_yield();
    } while (!th_os_thread_waits(atomic_load(&w.number)) || th_os_thread_ran(thread) != ran);
    CHECK(!th_os_thread_waits(UINT32_MAX)); /* there is no such thread */
    CHECK_EQ(close(w.pipe[1]), 0);
    th_os_thread_join(thread);
    CHECK_EQ(close(w.pipe[0]), 0);
}

TEST(thread_starts_on_its_cpus) {
    /* It is on them from its first instruction; what no machine has is refused, with its code. */
    NOT_BY_POSIX("sets of CPUs");
    th_os_cpuset all;
    th_os_cpuset seen;
    th_os_thread thread;
    CHECK_EQ(th_os_cpuset_granted(&all), 0);
    CHECK_EQ(th_os_thread_start(&thread, "any", look_at_cpus, &seen), 0);
    th_os_thread_join(thread);
    CHECK(memcmp(&seen, &all, sizeof all) == 0);
    for (unsigned cpu = 0; cpu < TH_OS_CPUS_MAX; cpu++) {
        th_os_cpuset one = {{0}};
        one.bits[cpu / 64] = (uint64_t)1 << (cpu % 64);
        if ((all.bits[cpu / 64] & one.bits[cpu / 64]) == 0) {
            continue;
        }
        CHECK_EQ(th_os_thread_start_on(&thread, "one", look_at_cpus, &seen, &one), 0);
        th_os_thread_join(thread);
        CHECK(memcmp(&seen, &one, sizeof one) == 0);
    }
    th_os_cpuset none = {{0}};
    CHECK_EQ(th_os_thread_start_on(&thread, "none", look_at_cpus, &seen, &none), -EINVAL);
}

/* ---- errno ---- */

TEST(errno_is_left_alone) {
    /* Calls that fail inside do not show it. */
    uint32_t word = 1;
    void *alt;
    th_os_thread thread;
    th_os_errno_set(4711);
    th_os_futex_wait(&word, 0, TH_FOREVER);
    th_os_futex_wait(&word, 1, 0);
    th_os_futex_wake((uint32_t *)8, 1);
    th_os_guard_madvise((void *)8, 1);
    th_os_guard_mprotect((void *)8, 1);
    th_os_discard((void *)8, 1);
    CHECK(th_os_map(SIZE_MAX - 0xffff) == NULL);
    if (!TH_ASAN && !TH_TSAN) { /* the sanitizers call it a mistake */
        CHECK(th_os_alloc(SIZE_MAX / 2) == NULL);
    }
    th_os_cpus_at("/nowhere", 3);
    th_os_map_count_max();
    CHECK_EQ(th_os_fault_thread_enter(&alt), 0);
    th_os_fault_thread_leave(alt);
    CHECK_EQ(th_os_thread_start(&thread, "x", do_nothing, NULL), 0);
    CHECK_EQ(th_os_errno_get(), 4711);
    th_os_thread_join(thread);
    CHECK_EQ(errno, 4711);
}

TEST(errno_is_left_alone_where_there_is_no_memory) {
    /* A question for pages that are not there fails inside. */
    NOT_BY_POSIX("question for the pages of a mapping: they are read");
    th_os_errno_set(4711);
    th_os_untouched((void *)4096, 4096);
    CHECK_EQ(th_os_errno_get(), 4711);
}

/* ---- memory ---- */

TEST(mapped_memory_is_zero_and_can_be_given_back) {
    /* It reads as zero, keeps what is written, and reads as zero again after the discard. */
    size_t page = th_os_page_size();
    char *p = th_os_map(8 * page);
    CHECK(p != NULL);
    CHECK_EQ(th_os_untouched(p, 8 * page), 8 * page);
    p[5 * page] = 1;
    CHECK_EQ(th_os_untouched(p, 8 * page), 5 * page);
    CHECK_EQ(th_os_discard(p, 8 * page), 0);
    CHECK_EQ(th_os_untouched(p, 8 * page), 8 * page);
    CHECK_EQ(p[5 * page], 0);
    p[page] = 2;
    CHECK_EQ(th_os_remap(p, 2 * page), 0);
    CHECK_EQ(p[page], 0);
    th_os_unmap(p, 8 * page);
}

TEST(untouched_counts_over_many_pages) {
    /* The memory has more pages than one call handles. */
    size_t page = th_os_page_size();
    size_t size = 1000 * page;
    char *p = th_os_map(size);
    CHECK(p != NULL);
    p[700 * page + 17] = 1;
    CHECK_EQ(th_os_untouched(p, size), 700 * page);
    CHECK_EQ(th_os_untouched(p, 700 * page), 700 * page);
    th_os_unmap(p, size);
}

TEST(system_limits_make_sense) {
    /* No limit is zero. */
    CHECK(th_os_map_count_max() >= 1000);
    CHECK(th_os_cpus() >= 1);
    CHECK(th_os_page_size() >= 4096);
}

/* ---- faults on demand ---- */

TEST(ordered_faults_come_in_their_turn) {
    /* After so many successes come so many failures, then all is well; 0 switches it off. */
    size_t page = th_os_page_size();
    th_os_fail(TH_OS_FAULT_MAP, 2, 3);
    for (int i = 0; i < 8; i++) {
        void *p = th_os_map(page);
        CHECK_EQ(p == NULL, i >= 2 && i < 5);
        if (p) {
            th_os_unmap(p, page);
        }
    }
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_MAP), 0);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 5);
    CHECK(th_os_alloc(1) == NULL);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_ALLOC), 4);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    void *p = th_os_alloc(1);
    CHECK(p != NULL);
    th_os_free(p);
    th_os_thread thread;
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1);
    CHECK_EQ(th_os_thread_start(&thread, "x", do_nothing, NULL), -EAGAIN);
}

TEST(stderr_line_is_written_whole) {
    /* What is printed before an abort arrives before the end. */
    int ends[2];
    char text[8] = {0};
    CHECK_EQ(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    th_os_stderr("line\n", 5);
    dup2(saved, STDERR_FILENO);
    CHECK_EQ(read(ends[0], text, sizeof text), 5);
    CHECK_STR(text, "line\n");
}
