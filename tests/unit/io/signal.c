/*
 * signal.c: waits for signals of the process. The main thread takes them: a rig's have all blocked.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

#include <thrum/signal.h>

#include "platform/faults.h"

typedef struct scene {
    rig r;
    const int *wanted;
    unsigned n;
    thrum_time deadline;
    atomic_int got; /* waits that have ended with a signal */
    atomic_int sum; /* of their numbers */
    atomic_int code;
} scene;

static const int usr1[] = {SIGUSR1};
static const int usr2[] = {SIGUSR2};
static const int both_usr[] = {SIGUSR1, SIGUSR2};

static int wait_once(void *arg) {
    scene *s = arg;
    const int code = thrum_signal_wait(s->wanted, s->n, s->deadline);
    if (code > 0) {
        atomic_fetch_add(&s->sum, code);
        atomic_fetch_add(&s->got, 1); /* last: who sees it reads the sum */
    } else {
        atomic_store(&s->code, code);
    }
    return 0;
}

static int wait_as_actor(void *arg) {
    return wait_once(((actor *)arg)->arg);
}

static void scene_begin(scene *s, const int *wanted, unsigned n) {
    *s = (scene){.wanted = wanted, .n = n, .deadline = THRUM_FOREVER};
    rig_begin(&s->r, 0);
}

/* Starts n waits, and returns when all wait. */
static void begin_waits(scene *s, int n) {
    for (int i = 0; i < n; i++) {
        rig_go(&s->r, wait_once, s);
    }
    CHECK_EQ(thrum_sched_wait_idle(s->r.sched, THRUM_FOREVER), 0);
}

static int wait_now(int signal) {
    return thrum_signal_wait(&signal, 1, 0);
}

static bool is_default(int signal) {
    struct sigaction now;
    CHECK_EQ(sigaction(signal, NULL, &now), 0);
    return !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

/* ---- waits ---- */

TEST(a_signal_wakes_one_wait) {
    /* Of several that wait; the next one wakes the next. */
    scene s;
    scene_begin(&s, usr1, 1);
    begin_waits(&s, 5);
    for (int i = 1; i <= 5; i++) {
        CHECK_EQ(kill(getpid(), SIGUSR1), 0);
        SPIN_UNTIL(atomic_load(&s.got) >= i);
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&s.got), i);
    }
    CHECK_EQ(atomic_load(&s.sum), 5 * SIGUSR1);
    rig_stop(&s.r);
    CHECK(is_default(SIGUSR1));
}

TEST(sets_overlap) {
    /* A signal goes to a wait that wants it, whoever else waits. */
    scene one, two, any;
    scene_begin(&one, usr1, 1);
    two = (scene){.wanted = usr2, .n = 1, .deadline = THRUM_FOREVER};
    any = (scene){.wanted = both_usr, .n = 2, .deadline = THRUM_FOREVER};
    rig_go(&one.r, wait_once, &one);
    rig_go(&one.r, wait_once, &two);
    rig_go(&one.r, wait_once, &any);
    CHECK_EQ(thrum_sched_wait_idle(one.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(raise(SIGUSR2), 0);
    SPIN_UNTIL(atomic_load(&two.got) + atomic_load(&any.got) == 1);
    CHECK_EQ(raise(SIGUSR2), 0);
    if (atomic_load(&any.got)) {
        SPIN_UNTIL(atomic_load(&two.got) == 1);
    } else {
        SPIN_UNTIL(atomic_load(&any.got) == 1);
    }
    CHECK_EQ(atomic_load(&one.got), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    SPIN_UNTIL(atomic_load(&one.got) == 1);
    CHECK_EQ(atomic_load(&one.sum), SIGUSR1);
    CHECK_EQ(atomic_load(&two.sum), SIGUSR2);
    CHECK_EQ(atomic_load(&any.sum), SIGUSR2);
    rig_stop(&one.r);
}

TEST(threads_and_two_schedulers_wait) {
    /* Each of k signals ends one wait, of whatever kind. */
    scene s;
    rig other;
    enum { EACH = 4 };
    scene_begin(&s, usr1, 1);
    rig_begin(&other, 2);
    cast *c = cast_new(&s.r);
    cast_add_mixed(c, EACH, EACH, wait_as_actor, &s);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0); /* so that none is early */
    for (int i = 0; i < EACH; i++) {
        rig_go(&other, wait_once, &s);
    }
    for (int i = 1; i <= 3 * EACH; i++) {
        CHECK_EQ(raise(SIGUSR1), 0);
        SPIN_UNTIL(atomic_load(&s.got) >= i);
        CHECK_EQ(atomic_load(&s.got), i);
    }
    cast_join(c);
    rig_stop(&other);
    rig_stop(&s.r);
    CHECK_EQ(wait_now(SIGUSR1), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(is_default(SIGUSR1));
}

TEST(many_signals_are_all_counted) {
    /* While others take them: no wait is missed. */
    scene s;
    enum { ALL = 400 };
    scene_begin(&s, both_usr, 2);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    for (int i = 0; i < ALL; i++) {
        rig_go(&s.r, wait_once, &s);
        CHECK_EQ(raise(i % 4 ? SIGUSR1 : SIGUSR2), 0);
    }
    rig_wait_done(&s.r);
    CHECK_EQ(atomic_load(&s.got), ALL);
    CHECK_EQ(atomic_load(&s.sum), ALL / 4 * (3 * SIGUSR1 + SIGUSR2));
    rig_stop(&s.r);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
}

TEST(deadlines_and_cancels_end_waits) {
    /* With the action back as it was. A signal that is there is taken all the same. */
    scene s;
    thrum_handle *handle;
    int result;
    scene_begin(&s, both_usr, 2);
    const thrum_attr attr = rig_attr(&s.r);
    s.deadline = soon();
    CHECK_EQ(rig_run(&s.r, wait_once, &s), 0);
    CHECK_EQ(atomic_load(&s.code), -ETIMEDOUT);
    CHECK(is_default(SIGUSR1) && is_default(SIGUSR2));
    CHECK_EQ(thrum_signal_wait(usr1, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_wait(usr1, 1, -7), -ETIMEDOUT);
    s.deadline = THRUM_FOREVER;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_once, &s), 0);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(atomic_load(&s.code), -ECANCELED);
    CHECK(is_default(SIGUSR1) && is_default(SIGUSR2));
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    CHECK_EQ(raise(SIGUSR2), 0);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_once, &s), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(atomic_load(&s.sum), SIGUSR2);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
    rig_stop(&s.r);
}

static int errors_body(void *arg) {
    static const int bad[] = {0, -1, 65, 1000, SIGKILL, SIGSTOP};
    (void)arg;
    for (unsigned i = 0; i < COUNT_OF(bad); i++) {
        const int pair[] = {SIGUSR1, bad[i]};
        CHECK_EQ(thrum_signal_catch(bad[i]), -EINVAL);
        CHECK_EQ(thrum_signal_wait(pair, 2, THRUM_FOREVER), -EINVAL);
        CHECK(is_default(SIGUSR1));
    }
    CHECK_EQ(thrum_signal_release(65), -EINVAL);
    CHECK_EQ(thrum_signal_release(SIGUSR1), -EINVAL); /* not caught */
    CHECK_EQ(thrum_signal_wait(NULL, 1, 0), -EINVAL);
    CHECK_EQ(thrum_signal_wait(usr1, 0, 0), -EINVAL);
    return 0;
}

TEST(what_is_no_signal_is_refused) {
    /* With none of the others caught. */
    rig_do(0, errors_body, NULL);
    CHECK_EQ(errors_body(NULL), 0);
}

TEST(no_descriptor_is_left) {
    /* Catching says so, and changes nothing. */
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 2);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), -EMFILE);
    CHECK_EQ(thrum_signal_wait(usr1, 1, THRUM_FOREVER), -EMFILE);
    CHECK(is_default(SIGUSR1));
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_EVENTFD), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(wait_now(SIGUSR1), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
}

static int refused_body(void *arg) {
    (void)arg;
    th_os_fail(TH_OS_FAULT_POLLSET_ADD, 0, UINT32_MAX); /* another worker may open its set, too */
    CHECK(thrum_signal_wait(usr1, 1, THRUM_FOREVER) < 0);
    CHECK(is_default(SIGUSR1));
    th_os_fail(TH_OS_FAULT_POLLSET_ADD, 0, 0);
    CHECK_EQ(thrum_signal_wait(usr1, 1, soon()), -ETIMEDOUT);
    return 0;
}

TEST(a_wait_that_the_system_refuses) {
    /* Its scheduler cannot be told of the wake-up: a code, and the next one works. */
    rig_do(0, refused_body, NULL);
}

static int bound_wait(void *arg) {
    return kill(getpid(), *(int *)arg);
}

TEST(a_bound_thread_waits) {
    /* It runs the task that sends the signal, without workers. */
    rig r;
    int number = SIGUSR1;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    for (int i = 0; i < 50; i++) {
        rig_go(&r, bound_wait, &number);
        CHECK_EQ(thrum_signal_wait(both_usr, 2, THRUM_FOREVER), SIGUSR1);
    }
    CHECK_EQ(thrum_signal_wait(usr1, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}
