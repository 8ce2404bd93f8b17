/*
 * dump.c: thrum_dump: every fiber, and what it waits for, while the scheduler goes on.
 */
/* matrix: policy workers */
#include "support/report/dumped.h"
#include "support/times.h"

static void spawn_named(const rig *r, const char *name, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    attr.name = name;
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static thrum_sem sem;

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sem);
}

static void post_all(int n) {
    for (int i = 0; i < n; i++) {
        thrum_sem_post(&sem);
    }
}

/* ---- the forms ---- */

TEST(text_has_each_fiber) {
    /* A fiber has its name, what it waits for, and where; a name is printed as it can be. */
    char line[128];
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "plain", waits, NULL);
    spawn_named(&r, "od\"d\n", waits, NULL);
    spawn_named(&r, NULL, waits, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    const page p = dump(r.sched, THRUM_TEXT);
    CHECK(strncmp(p.text, "thrum: scheduler \"thrum\": 3 waiting, 0 ready, 0 running\n", 55) == 0);
    snprintf(line, sizeof(line), " waits for semaphore 0x%" PRIxPTR ", since tick ",
             (uintptr_t)&sem);
    CHECK_EQ(count_of(&p, line), 3);
    check_has(&p, " \"plain\" waits");
    check_has(&p, " \"od\\\"d?\" waits");
    CHECK_EQ(count_of(&p, "  worker "), (int)thrum_sched_parallelism(r.sched));
    free(p.text);
    post_all(3);
    rig_wait_done(&r);
    const page none = dump(r.sched, THRUM_TEXT);
    check_has(&none, ": 0 waiting, 0 ready, 0 running\n");
    CHECK_EQ(count_of(&none, "fiber "), 0);
    free(none.text);
    rig_stop(&r);
}

TEST(json_and_prometheus) {
    /* The same is in the other forms; braces and quotes match. */
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "od\"d\\", waits, NULL);
    spawn_named(&r, "b", waits, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    page p = dump(r.sched, THRUM_JSON);
    check_has(&p, "\"name\": \"od\\\"d\\\\\", ");
    CHECK_EQ(count_of(&p, "\"state\": \"blocked\", \"on\": \"semaphore\", \"object\": \"0x"), 2);
    CHECK_EQ(count_of(&p, "{"), count_of(&p, "}"));
    CHECK_EQ(count_of(&p, "["), count_of(&p, "]"));
    CHECK_EQ(count_of(&p, "\"worker\": [") + count_of(&p, "\"fiber\": ["), 2);
    check_has(&p, "}],\n \"external\": [");
    free(p.text);
    p = dump(r.sched, THRUM_PROMETHEUS);
    check_has(&p, "\nthrum_fibers{sched=\"thrum\",state=\"blocked\",on=\"semaphore\"} 2\n");
    check_has(&p, "\nthrum_fibers{sched=\"thrum\",state=\"blocked\",on=\"mutex\"} 0\n");
    check_has(&p, "\nthrum_fibers{sched=\"thrum\",state=\"running\",on=\"\"} 0\n");
    free(p.text);
    post_all(2);
    rig_stop(&r);
}

TEST(mistakes_are_codes) {
    /* They are no scheduler, no stream, no such form, and a stream that takes nothing. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_dump(NULL, stdout, THRUM_TEXT), -EINVAL);
    CHECK_EQ(thrum_dump(r.sched, NULL, THRUM_TEXT), -EINVAL);
    CHECK_EQ(thrum_dump(r.sched, stdout, (thrum_format)7), -EINVAL);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        CHECK_EQ(thrum_dump(r.sched, full, THRUM_TEXT), -EIO);
        fclose(full);
    }
    rig_stop(&r);
}

/* ---- which fiber is which ---- */

typedef struct scene {
    rig *r;
    thrum_mutex mutex;
    atomic_bool yields;
    atomic_bool out;
} scene;

static scene on_stage;

static int yields_on(void *arg) {
    (void)arg;
    atomic_store(&on_stage.yields, true);
    YIELD_UNTIL(atomic_load(&on_stage.out));
    return 0;
}

static int locks(void *arg) {
    (void)arg;
    thrum_mutex_lock(&on_stage.mutex);
    thrum_mutex_unlock(&on_stage.mutex);
    return 0;
}

static int waits_long(void *arg) {
    (void)arg;
    return thrum_sem_wait_until(&sem, far_off());
}

/* A fiber dumps its own scheduler, with others in each state. */
static int dumps(void *arg) {
    char line[128];
    (void)arg;
    thrum_mutex_lock(&on_stage.mutex);
    CHECK_EQ(thrum_set_name("director"), 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "locks";
    CHECK_EQ(thrum_go_with(&attr, locks, NULL), 0);
    attr.name = "long";
    CHECK_EQ(thrum_go_with(&attr, waits_long, NULL), 0);
    attr.name = "tied";
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, waits, NULL), 0);
    attr.flags = 0;
    attr.name = "yields";
    CHECK_EQ(thrum_go_with(&attr, yields_on, NULL), 0);
    YIELD_UNTIL(atomic_load(&on_stage.yields));
    page p;
    for (;; free(p.text), thrum_yield()) { /* until all that will wait do */
        p = dump(on_stage.r->sched, THRUM_TEXT);
        if (count_of(&p, "waits for") == 4) { /* with the external thread that joins us */
            break;
        }
    }
    check_has(&p, " \"director\" runs on worker ");
    snprintf(line, sizeof(line), " \"locks\" waits for mutex 0x%" PRIxPTR ", held by fiber ",
             (uintptr_t)&on_stage.mutex);
    check_has(&p, line);
    snprintf(line, sizeof(line), " \"long\" waits for semaphore 0x%" PRIxPTR ", due in ",
             (uintptr_t)&sem);
    check_has(&p, line);
    check_has(&p, "\"yields\" ");
    check_has(&p, ", tied to it\n");
    check_has(&p, "  an external thread waits for task 0x");
    free(p.text);
    atomic_store(&on_stage.out, true);
    thrum_mutex_unlock(&on_stage.mutex);
    post_all(2);
    return 0;
}

TEST(each_state_is_told) {
    /*
     * The states are running, ready, waiting for a held mutex or until a deadline, and tied to a
     * worker.
     */
    rig r;
    rig_begin(&r, 0);
    on_stage.r = &r;
    thrum_mutex_init(&on_stage.mutex);
    thrum_sem_init(&sem, 0);
    CHECK_EQ(rig_run(&r, dumps, NULL), 0);
    rig_stop(&r);
}

static int dumps_bound(void *arg) {
    page p = dump(arg, THRUM_TEXT);
    check_has(&p, "  bound thread ");
    check_has(&p, " waits for semaphore 0x");
    CHECK_EQ(count_of(&p, "bound thread 0 waits"), 1);
    free(p.text);
    p = dump(arg, THRUM_JSON);
    check_has(&p, "{\"thread\": 0, \"state\": \"blocked\", \"on\": \"semaphore\"");
    free(p.text);
    thrum_sem_post(&sem);
    return 0;
}

TEST(bound_threads_are_told) {
    /* Without workers the thread itself runs, or waits while its tasks run. */
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    page p = dump(r.sched, THRUM_TEXT);
    check_has(&p, "\n  bound thread 0 runs its own code\n");
    free(p.text);
    rig_go(&r, dumps_bound, r.sched);
    CHECK_EQ(thrum_sem_wait(&sem), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    p = dump(r.sched, THRUM_TEXT);
    CHECK_EQ(count_of(&p, "bound thread"), 0);
    free(p.text);
    rig_stop(&r);
}

static int dumps_awaited(void *arg) {
    page p = dump(arg, THRUM_TEXT);
    check_has(&p, "\n  bound thread 0 waits for the scheduler, or for what is tied to it\n");
    check_has(&p, "\n  1 waits for the scheduler (wait_idle, wait_done, stop)\n");
    check_has(&p, ": 1 waiting, 0 ready, 1 running\n");
    free(p.text);
    return 0;
}

TEST(a_bound_thread_that_waits_until_all_is_done_is_told) {
    /* It waits for no waker: it has a word of its own, and counts as one that waits. */
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    rig_go(&r, dumps_awaited, r.sched);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

static int locks_it(void *arg) {
    thrum_mutex *mutex = arg;
    thrum_mutex_lock(mutex);
    thrum_mutex_unlock(mutex);
    return 0;
}

TEST(a_mutex_that_a_thread_holds_is_told) {
    /* Its holder is a thread, told by its number. */
    rig r;
    thrum_mutex mutex;
    rig_begin(&r, 0);
    thrum_mutex_init(&mutex);
    thrum_mutex_lock(&mutex);
    rig_go(&r, locks_it, &mutex);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    page p = dump(r.sched, THRUM_TEXT);
    check_has(&p, ", held by thread ");
    free(p.text);
    p = dump(r.sched, THRUM_JSON);
    check_has(&p, ", \"holder\": \"thread ");
    free(p.text);
    thrum_mutex_unlock(&mutex);
    rig_stop(&r);
}

/* ---- many ---- */

TEST(all_of_many_are_in_the_form_for_programs) {
    /* As JSON each is told, also where the text has groups (dump_groups.c). */
    rig r;
    rig_init(&r);
    r.config.stack_size = 16384;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    const int n = UNDER_TSAN ? 2000 : check_scaled(10010);
    for (int i = 0; i < n; i++) {
        rig_go(&r, waits, NULL);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    page p = dump(r.sched, THRUM_JSON);
    CHECK_EQ(count_of(&p, "\"pinned\": "), n);
    free(p.text);
    post_all(n);
    rig_wait_done(&r);
    rig_stop(&r);
}

/* ---- while they come and go ---- */

typedef struct traffic {
    rig *r;
    atomic_bool over;
    thrum_sem sems[4];
    thrum_mutex mutex;
    thrum_chan *chan;
    atomic_long dumps;
} traffic;

static int passes_by(void *arg) {
    traffic *t = arg;
    int value = 0;
    thrum_mutex_lock(&t->mutex);
    thrum_yield();
    thrum_mutex_unlock(&t->mutex);
    CHECK_EQ(thrum_chan_recv(t->chan, &value), 0);
    thrum_sem *mine = &t->sems[value % 4];
    const int code = thrum_sem_wait_until(mine, thrum_after_us(value % 50));
    CHECK(code == 0 || code == -ETIMEDOUT);
    return 0;
}

static int keeps_going(void *arg) {
    traffic *t = arg;
    const int rounds = SCALED(400);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "passer-by";
    for (int round = 0; round < rounds || atomic_load(&t->dumps) < 20; round++) {
        thrum_handle *handles[8];
        for (int i = 0; i < 8; i++) {
            attr.stack_size = i % 3 == 0 ? 32768 : 0;
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, passes_by, t), 0);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(thrum_chan_send(t->chan, &(int){round + i}), 0);
            thrum_sem_post(&t->sems[i % 4]);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
    }
    atomic_store(&t->over, true);
    return 0;
}

static void *dumps_on(void *seat_arg) {
    const crew_seat *seat = seat_arg;
    traffic *t = seat->arg;
    FILE *sink = fopen("/dev/null", "w");
    CHECK(sink != NULL);
    while (!atomic_load(&t->over)) {
        CHECK_EQ(thrum_dump(t->r->sched, sink, (thrum_format)(atomic_load(&t->dumps) % 3)), 0);
        atomic_fetch_add(&t->dumps, 1);
    }
    fclose(sink);
    return NULL;
}

TEST(dumped_while_fibers_come_and_go) {
    /* Two threads dump at a time; nothing is lost, nothing is touched too late. */
    static traffic t;
    rig r;
    crew c;
    memset(&t, 0, sizeof(t));
    rig_begin(&r, 0);
    t.r = &r;
    for (int i = 0; i < 4; i++) {
        thrum_sem_init(&t.sems[i], 0);
    }
    thrum_mutex_init(&t.mutex);
    CHECK_EQ(thrum_chan_create(&t.chan, sizeof(int), 0), 0);
    crew_start(&c, 2, dumps_on, &t);
    CHECK_EQ(rig_run(&r, keeps_going, &t), 0);
    crew_join(&c);
    CHECK_EQ(thrum_chan_destroy(t.chan), 0);
    rig_stop(&r);
}
