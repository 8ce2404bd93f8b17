/*
 * world.c: the rounds of the loads that have to do with the world: sockets, files, calls that
 * block, programs, plain threads, other schedulers.
 */
#include <fcntl.h>
#include <unistd.h>

#include "soak.h"

#include <thrum/file.h>
#include <thrum/net.h>
#include <thrum/process.h>

/* ---- requests: a connection, some requests over it; the answer is the request ---- */

enum { REQUESTS = 8, REQUEST_MAX = 1500 };

void round_requests(lane *l) {
    unsigned char ask[REQUEST_MAX + 2], told[REQUEST_MAX + 2];
    thrum_io io;
    REQUIRE_EQ(thrum_dial(&io, soak_address, soak_much_later()), 0);
    for (uint32_t n = 1 + soak_random(&l->seed) % REQUESTS; n > 0; n--) {
        const size_t size = 1 + soak_random(&l->seed) % REQUEST_MAX;
        ask[0] = (unsigned char)size;
        ask[1] = (unsigned char)(size >> 8);
        for (size_t i = 0; i < size; i++) {
            ask[i + 2] = (unsigned char)(i * 31 + n + (size_t)l->number);
        }
        const thrum_time began = thrum_now();
        REQUIRE_EQ(thrum_write_until(io, ask, size + 2, soak_much_later()), size + 2);
        REQUIRE_EQ(thrum_read_full(io, told, size + 2, soak_much_later()), size + 2);
        soak_late(LATE_REQUEST, thrum_now() - began);
        REQUIRE_EQ(memcmp(ask, told, size + 2), 0);
    }
    REQUIRE_EQ(thrum_io_close(io), 0);
}

/* ---- blocking: calls on the pool's threads ---- */

static int sleeps(void *arg) {
    const struct timespec nap = {0, 2000000};
    (void)nanosleep(&nap, NULL);
    *(thrum_time *)arg = thrum_now();
    return 77;
}

void round_blocking(lane *l) {
    thrum_time slept = 0;
    int result = 0;
    (void)l;
    const thrum_time began = thrum_now();
    REQUIRE_EQ(thrum_blocking(sleeps, &slept, &result), 0);
    REQUIRE_EQ(result, 77);
    REQUIRE(slept - began >= 2000000);
    soak_late(LATE_BLOCKING, thrum_now() - began - 2000000);
}

/* ---- files: written, read, removed ---- */

enum { FILE_BYTES = 20000 };

void round_files(lane *l) {
    char path[512];
    thrum_io io;
    const uint32_t mark = soak_random(&l->seed);
    unsigned char *bytes = malloc((size_t)2 * FILE_BYTES), *again = bytes + FILE_BYTES;
    REQUIRE(bytes != NULL);
    snprintf(path, sizeof(path), "%s/soak-%d-%d", soak_want.folder, (int)getpid(), l->number);
    for (uint32_t i = 0; i < FILE_BYTES; i++) {
        bytes[i] = (unsigned char)(i * 7 + mark);
    }
    const thrum_time began = thrum_now(), due = soak_much_later();
    REQUIRE_EQ(thrum_file_open(&io, path,
                               THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE |
                                   THRUM_FILE_TRUNCATE,
                               0600, due),
               0);
    REQUIRE_EQ(thrum_file_pwrite(io, bytes, FILE_BYTES, 0, due), FILE_BYTES);
    REQUIRE_EQ(thrum_file_pread(io, again, FILE_BYTES, 0, due), FILE_BYTES);
    REQUIRE_EQ(memcmp(bytes, again, FILE_BYTES), 0);
    REQUIRE_EQ(thrum_io_close(io), 0);
    REQUIRE_EQ(thrum_file_unlink(path, due), 0);
    soak_late(LATE_FILE, thrum_now() - began);
    free(bytes);
}

/* ---- posts: a plain thread posts a task, and waits until it has run ---- */

typedef struct post {
    thrum_task task;
    thrum_time began;
    thrum_event ran;
} post;

static void post_runs(thrum_task *self, void *arg) {
    post *p = arg;
    (void)self;
    soak_late(LATE_POST, thrum_now() - p->began);
    thrum_event_signal(&p->ran);
}

void round_posts(lane *l) {
    post p;
    (void)l;
    thrum_event_init(&p.ran, THRUM_EVENT_AUTO, false);
    thrum_task_init(&p.task, post_runs, &p);
    p.began = thrum_now();
    REQUIRE_EQ(thrum_task_post(soak_sched, &p.task), 0);
    REQUIRE_EQ(thrum_event_wait(&p.ran), 0);
    REQUIRE_EQ(thrum_event_destroy(&p.ran), 0);
}

/* ---- programs: one is fed, and its output is what it was fed ---- */

void round_programs(lane *l) {
    static const char *const argv[] = {"cat", NULL};
    const char text[] = "the same comes out again\n";
    thrum_process_output output;
    (void)l;
    REQUIRE_EQ(thrum_process_run(argv, NULL, text, strlen(text), &output, soak_much_later()), 0);
    REQUIRE_EQ(output.status.code, 0);
    REQUIRE_EQ(output.out_size, strlen(text));
    REQUIRE_EQ(memcmp(output.out, text, strlen(text)), 0);
    thrum_process_output_free(&output);
}

/* ---- second: another scheduler is started, given work, and stopped ---- */

static atomic_long second_ran;

static int second_task(void *arg) {
    (void)arg;
    (void)!thrum_sleep(1000000);
    atomic_fetch_add(&second_ran, 1);
    return 0;
}

void round_second(lane *l) {
    thrum_sched *sched;
    thrum_config config;
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)l;
    thrum_config_init(&config);
    config.workers = 2;
    REQUIRE_EQ(thrum_sched_start(&sched, &config), 0);
    attr.sched = sched;
    atomic_store(&second_ran, 0);
    for (int i = 0; i < 50; i++) {
        REQUIRE_EQ(thrum_go_with(&attr, second_task, NULL), 0);
    }
    REQUIRE_EQ(thrum_sched_stop(sched), 0);
    REQUIRE_EQ(atomic_load(&second_ran), 50);
}
