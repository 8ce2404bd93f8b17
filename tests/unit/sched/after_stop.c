/*
 * after_stop.c: calls on a scheduler that has been stopped. They are mistakes, and reported as
 * such: -ESHUTDOWN, without a look at its memory, which here is zeroed when it is freed, and kept,
 * so that a call that reads it takes it for a scheduler at rest, and one that writes is found.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

enum { BLOCKS_MAX = 4096 };

typedef struct block {
    _Alignas(16) size_t size;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *freed[BLOCKS_MAX];
static size_t freed_count;

static void *give(void *ctx, size_t size) {
    (void)ctx;
    block *b = malloc(sizeof(*b) + size);
    if (!b) {
        return NULL;
    }
    b->size = size;
    return b + 1;
}

static void take_back(void *ctx, void *ptr) {
    (void)ctx;
    if (!ptr) {
        return;
    }
    block *b = (block *)ptr - 1;
    memset(ptr, 0, b->size);
    pthread_mutex_lock(&lock);
    CHECK(freed_count < BLOCKS_MAX);
    freed[freed_count++] = b;
    pthread_mutex_unlock(&lock);
}

static void check_untouched(void) {
    for (size_t i = 0; i < freed_count; i++) {
        const char *bytes = (const char *)(freed[i] + 1);
        for (size_t n = 0; n < freed[i]->size; n++) {
            CHECK(bytes[n] == 0);
        }
        free(freed[i]);
    }
    freed_count = 0;
}

static int must_not_run(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

static void must_not_begin(thrum_task *self, void *arg) {
    (void)self;
    must_not_run(arg);
}

static void check_posts(thrum_sched *gone) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle = NULL;
    thrum_task task = THRUM_TASK_INIT(must_not_begin, NULL);
    thrum_task *const batch[] = {&task};
    attr.sched = gone;
    CHECK_EQ(thrum_go_with(&attr, must_not_run, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, must_not_run, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post(gone, &task), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_hint(gone, &task, THRUM_HINT_NEXT), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_batch(gone, batch, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_until(gone, &task, far_off()), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_after(gone, &task, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_wait(gone, &task), -ESHUTDOWN);
}

static void check_calls(thrum_sched *gone) {
    thrum_metrics metrics = THRUM_METRICS_INIT;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_sched_wait_idle(gone, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_wait_done(gone, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_stop(gone), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_stop_until(gone, 0), -ESHUTDOWN);
    CHECK_EQ(thrum_metrics_read(gone, THRUM_ALL_WORKERS, &metrics), -ESHUTDOWN);
    CHECK_EQ(thrum_metrics_read(gone, 0, &metrics), -ESHUTDOWN);
    CHECK_EQ(thrum_metrics_print(gone, out, THRUM_TEXT), -ESHUTDOWN);
    CHECK_EQ(thrum_dump(gone, out, THRUM_TEXT), -ESHUTDOWN);
    CHECK_EQ(thrum_trace_start(gone, 0), -ESHUTDOWN);
    CHECK_EQ(thrum_trace_stop(gone), -ESHUTDOWN);
    CHECK_EQ(thrum_trace_write(gone, out), -ESHUTDOWN);
    CHECK_EQ(ftell(out), 0);
    fclose(out);
}

static thrum_sched *start_one(void) {
    thrum_config config;
    thrum_sched *sched = NULL;
    thrum_config_init(&config);
    config.alloc = give;
    config.free = take_back;
    CHECK_EQ(thrum_sched_start(&sched, &config), 0);
    return sched;
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Returns a stopped scheduler that has run a task for the caller. */
static thrum_sched *stopped(void) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = start_one();
    CHECK_EQ(thrum_spawn_with(&handle, &attr, nothing, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(thrum_sched_stop(attr.sched), 0);
    return attr.sched;
}

static void *call_all(void *gone) {
    check_posts(gone);
    CHECK_EQ(thrum_sched_bind(gone), -ESHUTDOWN);
    check_calls(gone);
    return NULL;
}

TEST(a_stopped_scheduler_refuses_the_thread_that_stopped_it) {
    /* Posts, spawns, bind, stop, waits for idleness and snapshots are refused. */
    call_all(stopped());
    check_untouched();
}

TEST(a_stopped_scheduler_refuses_a_thread_that_never_used_it) {
    /* The same holds for a thread that it has never seen. */
    thrum_sched *gone = stopped();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, call_all, gone), 0);
    pthread_join(thread, NULL);
    check_untouched();
}

static int call_in_task(void *gone) {
    check_posts(gone);
    check_calls(gone);
    return 0;
}

TEST(a_stopped_scheduler_refuses_a_task_of_another_one) {
    /* The same holds for a task. */
    rig r;
    thrum_sched *gone = stopped();
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, call_in_task, gone), 0);
    rig_stop(&r);
    check_untouched();
}
