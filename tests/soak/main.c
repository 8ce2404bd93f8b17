/*
 * main.c: all loads at once, in one scheduler, for as long as asked (README.md).
 *
 *     thrum-soak [--seconds S] [--log FILE] [--folder DIR] [--limit FACTOR] [--rest S] [--seed N]
 *                [--quiet FILE] [--plant leak|descriptor|late|wrong|hang]
 *
 * The scheduler is as the environment says (THRUM_WORKERS, THRUM_POLICY, ...). It returns 0, or 1
 * when a limit was passed; a broken invariant aborts.
 */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "soak.h"

#include <thrum/net.h>
#include <thrum/serve.h>

const load soak_loads[] = {
    {"requests", round_requests, 24, 40000, false},  {"timers", round_timers, 40, 2000, false},
    {"deadlines", round_deadlines, 1, 50000, false}, {"forks", round_forks, 2, 20000, false},
    {"trees", round_trees, 2, 20000, false},         {"cancels", round_cancels, 2, 30000, false},
    {"stalls", round_stalls, 2, 700000, false},      {"channels", round_channels, 2, 15000, false},
    {"locks", round_locks, 2, 15000, false},         {"blocking", round_blocking, 6, 5000, false},
    {"files", round_files, 3, 30000, false},         {"posts", round_posts, 1, 1000, true},
    {"programs", round_programs, 1, 900000, false},  {"second", round_second, 1, 1000000, true},
};
const int soak_loads_count = sizeof(soak_loads) / sizeof(soak_loads[0]);

lane soak_lanes[LANES_MAX];
int soak_lanes_count;
soak_options soak_want = {20, 1, "soak.jsonl", "/tmp", "", NULL, 1, 30};
thrum_sched *soak_sched;
char soak_address[THRUM_ADDRESS_TEXT];
atomic_bool soak_over;
atomic_long soak_blocks, soak_bytes;

static thrum_event server_started, server_stops;

/* ---- what goes wrong ---- */

static atomic_flag failed = ATOMIC_FLAG_INIT;

void soak_fails(const char *file, int line, const char *format, ...) {
    va_list args;
    while (atomic_flag_test_and_set(&failed)) {
        pause(); /* the first one ends the process */
    }
    signal(SIGALRM, SIG_DFL);
    alarm(20); /* the dump itself may not come back */
    fprintf(stderr, "soak: %s:%d: ", file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    thrum_dump(soak_sched, stderr, THRUM_TEXT);
    thrum_metrics_print(soak_sched, stderr, THRUM_TEXT);
    fflush(NULL);
    abort();
}

void *soak_alloc(void *ctx, size_t size) {
    size_t *b = malloc(size + 16);
    (void)ctx;
    if (!b) {
        return NULL;
    }
    b[0] = size;
    b[1] = (size_t)&soak_blocks;
    atomic_fetch_add(&soak_blocks, 1);
    atomic_fetch_add(&soak_bytes, (long)size);
    return b + 2;
}

void soak_free(void *ctx, void *ptr) {
    (void)ctx;
    if (!ptr) {
        return;
    }
    size_t *b = (size_t *)ptr - 2;
    REQUIRE(b[1] == (size_t)&soak_blocks); /* it was freed twice, or is not ours */
    b[1] = 0;
    atomic_fetch_sub(&soak_blocks, 1);
    atomic_fetch_sub(&soak_bytes, (long)b[0]);
    free(b);
}

/* ---- rests ---- */

static atomic_bool rest_wanted;
static atomic_int resting;
static thrum_event rest_over; /* stays signaled while there is no rest */

/* A lane is here between two rounds, and waits while there is a rest. */
static void lane_gate(void) {
    if (!atomic_load(&rest_wanted)) {
        return;
    }
    atomic_fetch_add(&resting, 1);
    (void)!thrum_event_wait(&rest_over);
    atomic_fetch_sub(&resting, 1);
}

bool soak_rest_begin(int64_t deadline) {
    thrum_event_clear(&rest_over);
    atomic_store(&rest_wanted, true);
    while (atomic_load(&resting) < soak_lanes_count && thrum_now() < deadline) {
        (void)!thrum_sleep(1000000);
    }
    return atomic_load(&resting) == soak_lanes_count;
}

void soak_rest_end(void) {
    atomic_store(&rest_wanted, false);
    thrum_event_signal(&rest_over);
    while (atomic_load(&resting) != 0) {
        (void)!thrum_sleep(100000);
    }
}

/* ---- lanes ---- */

static int lane_main(void *arg) {
    lane *l = arg;
    while (!atomic_load(&soak_over)) {
        atomic_store(&l->since, thrum_now());
        l->load->round(l);
        atomic_store(&l->since, 0);
        atomic_fetch_add(&l->rounds, 1);
        lane_gate();
        /* from nothing to twice the pause, in parts of a tenth of a second: a rest comes soon */
        int64_t left = (int64_t)(soak_random(&l->seed) % (unsigned)(2 * l->load->pause_us)) * 1000;
        while (left > 0 && !atomic_load(&soak_over)) {
            const int64_t part = left < 100000000 ? left : 100000000;
            (void)!thrum_sleep(part);
            left -= part;
            lane_gate();
        }
    }
    return 0;
}

static void *lane_thread(void *arg) {
    lane_main(arg);
    return NULL;
}

static void lanes_make(void) {
    for (int s = 0; s < soak_loads_count; s++) {
        for (int i = 0; i < soak_loads[s].lanes; i++) {
            REQUIRE(soak_lanes_count < LANES_MAX);
            lane *l = &soak_lanes[soak_lanes_count];
            l->load = &soak_loads[s];
            l->number = soak_lanes_count;
            l->seed = soak_want.seed * 2654435761u + (uint32_t)soak_lanes_count * 40503u;
            soak_lanes_count++;
        }
    }
}

/* ---- the server ---- */

/* Sends back what comes, each request led by its length of two bytes. */
static int answer(thrum_io io, void *arg) {
    unsigned char text[2048];
    (void)arg;
    for (;;) {
        if (thrum_serve_idle(io, soak_much_later()) != 0 ||
            thrum_read_full(io, text, 2, soak_much_later()) != 2) {
            return 0;
        }
        const size_t size = (size_t)text[0] | (size_t)text[1] << 8;
        REQUIRE(size + 2 <= sizeof(text));
        if (thrum_read_full(io, text + 2, size, soak_much_later()) != (int64_t)size ||
            thrum_write_until(io, text, size + 2, soak_much_later()) != (int64_t)size + 2) {
            return 0;
        }
    }
}

static void server_ready(thrum_io listener, void *arg) {
    (void)arg;
    REQUIRE_EQ(thrum_io_local(listener, soak_address, sizeof(soak_address)), 0);
    thrum_event_signal(&server_started);
}

static int server(void *arg) {
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    thrum_io listener;
    (void)arg;
    options.stop = &server_stops;
    options.started = server_ready;
    REQUIRE_EQ(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL), 0);
    REQUIRE_EQ(thrum_serve(listener, answer, NULL, &options), 0);
    REQUIRE_EQ(thrum_io_close(listener), 0);
    return 0;
}

/* ---- */

static void options(int argc, char **argv) {
    static const struct option all[] = {
        {"seconds", 1, NULL, 's'}, {"log", 1, NULL, 'l'},   {"folder", 1, NULL, 'f'},
        {"limit", 1, NULL, 'm'},   {"seed", 1, NULL, 'r'},  {"plant", 1, NULL, 'p'},
        {"rest", 1, NULL, 'e'},    {"quiet", 1, NULL, 'q'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", all, NULL)) != -1;) {
        if (c == 's') {
            soak_want.seconds = atof(optarg);
        } else if (c == 'l') {
            soak_want.log = optarg;
        } else if (c == 'f') {
            soak_want.folder = optarg;
        } else if (c == 'm') {
            soak_want.limit = atof(optarg);
        } else if (c == 'r') {
            soak_want.seed = (uint32_t)strtoul(optarg, NULL, 0);
        } else if (c == 'p') {
            soak_want.plant = optarg;
        } else if (c == 'q') {
            soak_want.quiet = optarg;
        } else if (c == 'e') {
            soak_want.rest_s = (unsigned)strtoul(optarg, NULL, 0);
        } else {
            exit(2);
        }
    }
    if (soak_want.rest_s == 0) {
        exit(2);
    }
}

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle = NULL;
    attr.sched = soak_sched;
    REQUIRE_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static void join(thrum_handle *handle) {
    int result = -1;
    REQUIRE_EQ(thrum_join(handle, &result), 0);
    REQUIRE_EQ(result, 0);
}

/* Runs all lanes, and the watch on this thread, until the time is over. */
static int everything(void) {
    pthread_t threads[LANES_MAX];
    thrum_handle *handles[LANES_MAX], *serving = spawn(server, NULL);
    REQUIRE_EQ(thrum_event_wait(&server_started), 0);
    for (int i = 0; i < soak_lanes_count; i++) {
        if (soak_lanes[i].load->external) {
            REQUIRE_EQ(pthread_create(&threads[i], NULL, lane_thread, &soak_lanes[i]), 0);
        } else {
            handles[i] = spawn(lane_main, &soak_lanes[i]);
        }
    }
    const int passed = soak_watch();
    atomic_store(&soak_over, true);
    for (int i = 0; i < soak_lanes_count; i++) {
        if (soak_lanes[i].load->external) {
            pthread_join(threads[i], NULL);
        } else {
            join(handles[i]);
        }
    }
    thrum_event_signal(&server_stops);
    join(serving);
    return passed;
}

int main(int argc, char **argv) {
    options(argc, argv);
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 * 1024); /* so that resident memory follows what is held */
    mallopt(M_ARENA_MAX, 2);
#endif
    thrum_config config;
    thrum_config_init(&config);
    config.alloc = soak_alloc;
    config.free = soak_free;
    thrum_event_init(&server_started, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&server_stops, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&rest_over, THRUM_EVENT_MANUAL, true);
    REQUIRE_EQ(thrum_sched_start(&soak_sched, &config), 0);
    lanes_make();
    const int passed = everything();
    REQUIRE_EQ(thrum_sched_wait_done(soak_sched, THRUM_FOREVER), 0);
    REQUIRE_EQ(thrum_sched_stop(soak_sched), 0);
    REQUIRE_EQ(atomic_load(&soak_blocks), 0);
    for (int i = 0; i < soak_lanes_count; i++) {
        REQUIRE(atomic_load(&soak_lanes[i].rounds) > 0);
    }
    return passed != 0;
}
