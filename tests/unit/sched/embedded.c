/*
 * embedded.c: a scheduler without workers in a loop that is not its own (thrum/poll.h).
 */
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <thrum/io.h>
#include <thrum/poll.h>
#include <unistd.h>

#include "platform/platform.h"
#include "support/support.h"
#include "support/times.h"

typedef struct embedded {
    rig r;
    thrum_time next;
    thrum_time due; /* when the fiber that sleeps is to go on */
    bool joined;
    int slept; /* waits of the loop that ended by their time */
    int turns; /* waits of the loop */
} embedded;

static embedded g;

static void begin(void) {
    memset(&g, 0, sizeof(g));
    rig_init(&g.r);
    g.r.config.workers = 0;
    rig_start(&g.r);
    CHECK_EQ(thrum_sched_bind(g.r.sched), 0);
}

static void end(void) {
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&g.r);
}

static struct pollfd loops_fd(void) {
    struct pollfd fd = {.events = POLLIN};
    CHECK(thrum_poll_fd() >= 0);
    fd.fd = (__typeof__(fd.fd))thrum_poll_fd();
    return fd;
}

/* A plain loop waits until there is something to do. */
static void wait_in_loop(void) {
    struct pollfd fd = loops_fd();
    const int n = poll(&fd, 1, thrum_poll_ms(g.next));
    CHECK(n >= 0);
    g.slept += n == 0;
    g.turns++;
}

static int count(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

TEST(what_the_loop_has_posted_runs_in_the_next_turn) {
    /* And what that starts runs in the same turn. */
    atomic_int ran = 0;
    begin();
    CHECK_EQ(thrum_go(count, &ran), 0);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(atomic_load(&ran), 1);
    CHECK_EQ(g.next, THRUM_FOREVER);
    end();
}

static void *post_one(void *arg) {
    rig_go(&g.r, count, arg);
    return NULL;
}

TEST(a_post_of_another_thread_makes_the_descriptor_readable) {
    /* Before the loop waits, and while it does. */
    atomic_int ran = 0;
    begin();
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, post_one, &ran), 0);
        for (;;) {
            CHECK_EQ(thrum_poll_run(&g.next), 0);
            if (atomic_load(&ran) != i) {
                break;
            }
            wait_in_loop();
        }
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_EQ(g.slept, 0);
    end();
}

static int sleep_a_little(void *arg) {
    thrum_sem never = THRUM_SEM_INIT(0);
    g.due = soon();
    CHECK_EQ(thrum_sem_wait_until(&never, g.due), -ETIMEDOUT);
    CHECK_PASSED(g.due);
    return count(arg);
}

TEST(the_next_deadline_is_told) {
    /* The loop learns until when it may wait, and the fiber goes on then. */
    atomic_int ran = 0;
    begin();
    CHECK_EQ(thrum_go(sleep_a_little, &ran), 0);
    for (;;) {
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        if (atomic_load(&ran) == 1) {
            break;
        }
        CHECK_EQ(g.next, g.due);
        wait_in_loop();
    }
    CHECK_EQ(g.next, THRUM_FOREVER);
    end();
}

static int echo(void *arg) {
    const thrum_io *io = arg;
    char text[16];
    int64_t n;
    while ((n = thrum_read(*io, text, sizeof(text))) > 0) {
        CHECK_EQ(thrum_write(*io, text, (size_t)n), n);
    }
    CHECK_EQ(n, 0);
    return thrum_io_close(*io);
}

static void *talk(void *arg) {
    const int fd = *(int *)arg;
    char text[16];
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(write(fd, "hello", 5), 5);
        CHECK_EQ(read(fd, text, sizeof(text)), 5);
    }
    CHECK_EQ(close(fd), 0);
    return NULL;
}

static int watch(void *arg) {
    thrum_handle *handle = arg;
    int result = -1;
    CHECK_EQ(thrum_join(handle, &result), 0);
    g.joined = true;
    return result;
}

TEST(a_descriptor_that_a_task_waits_for_is_waited_for_by_the_loop) {
    /* A fiber echoes what a plain thread sends, while the loop does nothing but wait. */
    int ends[2];
    thrum_io io;
    pthread_t thread;
    thrum_handle *handle;
    begin();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[0]), 0);
    CHECK_EQ(thrum_spawn(&handle, echo, &io), 0);
    CHECK_EQ(thrum_go(watch, handle), 0);
    CHECK_EQ(pthread_create(&thread, NULL, talk, &ends[1]), 0);
    for (;;) {
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        if (g.joined) {
            break;
        }
        wait_in_loop();
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(g.slept == 0 || !th_os_pollset_shows()); /* where it does not, the loop comes by time */
    end();
}

static int poll_in_a_task(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_poll_fd(), -EDEADLK);
    CHECK_EQ(thrum_poll_run(NULL), -EDEADLK);
    return 0;
}

TEST(only_the_bound_thread_of_a_scheduler_without_workers_may_call_it) {
    /* Others get a code. */
    CHECK_EQ(thrum_poll_fd(), -ESRCH);
    CHECK_EQ(thrum_poll_run(NULL), -ESRCH);
    begin();
    CHECK_EQ(thrum_go(poll_in_a_task, NULL), 0);
    CHECK_EQ(thrum_poll_run(NULL), 0);
    end();
    rig_begin(&g.r, 1);
    CHECK_EQ(thrum_sched_bind(g.r.sched), 0);
    CHECK_EQ(thrum_poll_fd(), -EINVAL);
    CHECK_EQ(thrum_poll_run(NULL), -EINVAL);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&g.r);
}

TEST(waits_of_the_loop_itself_run_tasks_as_ever) {
    /* Between two turns the thread may wait for anything. */
    atomic_int ran = 0;
    thrum_handle *handle;
    begin();
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(thrum_spawn(&handle, sleep_a_little, &ran), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(atomic_load(&ran), 1);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(g.next, THRUM_FOREVER);
    end();
}

/* For the thread that only waits. */
static thrum_event over = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static atomic_bool bound;

static void *wait_bound(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sched_bind(g.r.sched), 0);
    atomic_store(&bound, true);
    CHECK_EQ(thrum_event_wait(&over), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

/* Another thread is bound and waits; this one has bound itself last, so it is woken first. */
static void begin_beside(pthread_t *thread) {
    memset(&g, 0, sizeof(g));
    rig_init(&g.r);
    g.r.config.workers = 0;
    rig_start(&g.r);
    CHECK_EQ(pthread_create(thread, NULL, wait_bound, NULL), 0);
    SPIN_UNTIL(atomic_load(&bound));
    CHECK_EQ(thrum_sched_bind(g.r.sched), 0);
}

static int have_one_run_elsewhere(void *arg) {
    atomic_int *ran = arg;
    pthread_t thread;
    const int before = atomic_load(ran);
    CHECK_EQ(pthread_create(&thread, NULL, post_one, ran), 0);
    SPIN_UNTIL(atomic_load(ran) != before); /* this thread runs nothing else meanwhile */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}

TEST(a_thread_that_runs_is_not_taken_for_one_in_its_loop) {
    /* Between two turns it waits, and runs a long task: a post wakes the thread that sleeps. */
    atomic_int ran = 0;
    pthread_t thread;
    begin_beside(&thread);
    for (int i = 0; i < 50; i++) {
        thrum_handle *handle;
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        CHECK_EQ(thrum_spawn(&handle, have_one_run_elsewhere, &ran), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(thrum_sched_unbind(), 0); /* nor is it taken for one when it has left */
    rig_go(&g.r, count, &ran);
    SPIN_UNTIL(atomic_load(&ran) == 51);
    thrum_event_signal(&over);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&g.r);
}

static thrum_event told = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static int wanted; /* runs; written before the fiber goes on */

static int hold_until_wanted(void *arg) {
    CHECK_EQ(thrum_event_wait(&told), 0);
    SPIN_UNTIL(atomic_load((atomic_int *)arg) == wanted); /* this thread runs nothing else */
    return 0;
}

TEST(what_it_was_told_of_runs_elsewhere_when_a_fiber_goes_on_in_its_wait) {
    /* A post finds it in its loop; then it waits, and a fiber that is ready runs long. */
    atomic_int ran = 0;
    pthread_t thread;
    begin_beside(&thread);
    for (int i = 0; i < 50; i++) {
        pthread_t poster;
        thrum_handle *handle;
        CHECK_EQ(thrum_spawn(&handle, hold_until_wanted, &ran), 0);
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        wanted = i + 1;
        CHECK_EQ(pthread_create(&poster, NULL, post_one, &ran), 0);
        CHECK_EQ(pthread_join(poster, NULL), 0);
        thrum_event_signal(&told);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    thrum_event_signal(&over);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&g.r);
}

static int await_told(void *arg) {
    CHECK_EQ(thrum_event_wait(&told), 0);
    return count(arg);
}

static void count_run(thrum_task *self, void *arg) {
    (void)self;
    (void)count(arg);
}

static int is_ready(void) {
    struct pollfd fd = loops_fd();
    return poll(&fd, 1, 0);
}

/* The descriptor is ready at once, and no more when the turn is over. */
static void is_told(const atomic_int *ran, int runs) {
    CHECK_EQ(is_ready(), 1);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(atomic_load(ran), runs);
    CHECK_EQ(is_ready(), 0);
}

TEST(what_the_loop_itself_starts_between_the_turn_and_its_wait_makes_the_descriptor_readable) {
    /* A task, one that is tied to the thread, a batch, a fiber that is woken, a deadline. */
    atomic_int ran = 0;
    thrum_attr pinned = THRUM_ATTR_INIT;
    thrum_task tasks[2];
    thrum_task *const batch[2] = {&tasks[0], &tasks[1]};
    pinned.flags = THRUM_PINNED;
    begin();
    CHECK_EQ(thrum_go(await_told, &ran), 0);
    CHECK_EQ(thrum_poll_run(NULL), 0);
    CHECK_EQ(thrum_go(count, &ran), 0);
    is_told(&ran, 1);
    CHECK_EQ(thrum_go_with(&pinned, count, &ran), 0);
    is_told(&ran, 2);
    thrum_task_init(&tasks[0], count_run, &ran);
    thrum_task_init(&tasks[1], count_run, &ran);
    CHECK_EQ(thrum_task_post_batch(g.r.sched, batch, 2), 0);
    is_told(&ran, 4);
    thrum_event_signal(&told);
    is_told(&ran, 5);
    CHECK_EQ(thrum_task_post_until(g.r.sched, &tasks[0], past()), 0);
    is_told(&ran, 6);
    end();
}

static int sleep_often(void *arg) {
    for (int i = 0; i < 10; i++) {
        nap();
    }
    return count(arg);
}

TEST(the_loop_does_not_turn_for_nothing) {
    /* One turn a sleep at most, as the time that is told is neither early nor over. */
    atomic_int ran = 0;
    begin();
    CHECK_EQ(thrum_go(sleep_often, &ran), 0);
    for (;;) {
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        if (atomic_load(&ran) == 1) {
            break;
        }
        wait_in_loop();
    }
    CHECK(g.turns <= 10); /* fewer, where a sleep is over before the loop has begun to wait */
    CHECK_EQ(g.slept, g.turns);
    CHECK_EQ(g.next, THRUM_FOREVER);
    end();
}

TEST(the_first_of_several_deadlines_is_told_and_no_later_one) {
    /* Also one that comes when the later one has been told. */
    thrum_task early;
    atomic_int ran = 0;
    begin();
    const thrum_time first = far_off();
    const thrum_time second = first + 1;
    CHECK_EQ(thrum_go(await_told, &ran), 0);
    thrum_task_init(&early, count_run, &ran);
    CHECK_EQ(thrum_task_post_until(g.r.sched, &early, second), 0);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(g.next, second);
    thrum_task sooner;
    thrum_task_init(&sooner, count_run, &ran);
    CHECK_EQ(thrum_task_post_until(g.r.sched, &sooner, first), 0);
    CHECK_EQ(is_ready(), 1);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(g.next, first);
    thrum_task_wakeup(&early);
    thrum_task_wakeup(&sooner);
    thrum_event_signal(&told);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(atomic_load(&ran), 3);
    CHECK_EQ(g.next, THRUM_FOREVER);
    end();
}

static void *signal_told(void *arg) {
    (void)arg;
    thrum_event_signal(&told);
    return NULL;
}

TEST(a_thread_that_wakes_a_fiber_wakes_the_loop) {
    /* The fiber is this thread's, and the loop waits without a deadline. */
    atomic_int ran = 0;
    begin();
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK_EQ(thrum_go(await_told, &ran), 0);
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        CHECK_EQ(g.next, THRUM_FOREVER);
        CHECK_EQ(pthread_create(&thread, NULL, signal_told, NULL), 0);
        wait_in_loop();
        CHECK_EQ(thrum_poll_run(&g.next), 0);
        CHECK_EQ(atomic_load(&ran), i + 1);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_EQ(g.turns, 100);
    end();
}

TEST(a_stop_between_two_turns_runs_what_is_left) {
    /* The thread is unbound by it, and the calls say so. */
    atomic_int slept = 0;
    atomic_int ran = 0;
    begin();
    CHECK_EQ(thrum_go(sleep_a_little, &slept), 0);
    CHECK_EQ(thrum_poll_run(&g.next), 0);
    CHECK_EQ(thrum_go(count, &ran), 0);
    CHECK_EQ(atomic_load(&ran), 0);
    rig_stop(&g.r);
    CHECK_EQ(atomic_load(&slept), 1);
    CHECK_EQ(atomic_load(&ran), 1);
    CHECK_EQ(thrum_poll_fd(), -ESRCH);
    CHECK_EQ(thrum_poll_run(NULL), -ESRCH);
}

TEST(the_descriptor_stays_the_same) {
    /* Also when descriptors are waited for, and the thread has waited itself. */
    int ends[2];
    thrum_io io;
    begin();
    const int fd = thrum_poll_fd();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[0]), 0);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
    nap();
    CHECK_EQ(thrum_poll_run(NULL), 0);
    CHECK_EQ(thrum_poll_fd(), fd);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(ends[1]), 0);
    end();
}

TEST(a_time_in_milliseconds_is_rounded_up) {
    /* Never less than what is left, nor more than one above it; and the ends of the range. */
    CHECK_EQ(thrum_poll_ms(THRUM_FOREVER), -1);
    CHECK_EQ(thrum_poll_ms(INT64_MIN), 0);
    CHECK_EQ(thrum_poll_ms(0), 0);
    CHECK_EQ(thrum_poll_ms(past()), 0);
    CHECK_EQ(thrum_poll_ms(THRUM_FOREVER - 1), INT_MAX);
    for (thrum_time ns = 1; ns < THRUM_S(1000); ns = ns * 3 + 7) {
        const thrum_time until = past() + ns;
        const thrum_time left = THRUM_MS(thrum_poll_ms(until));
        CHECK_PASSED(until - left); /* so it was no less than what was left */
        CHECK(left - ns < THRUM_MS(1));
    }
}
