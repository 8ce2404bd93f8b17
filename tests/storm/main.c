/*
 * main.c: all storms at once, in one or two schedulers, for some seconds (README.md).
 *
 *     thrum-storm [--seconds S] [--two] [--starts N] [--only NAME,...] [--seed N]
 *                 [--plant stall|hang|leak|report]
 *
 * The schedulers are as the environment says (THRUM_WORKERS, THRUM_POLICY, ...). The time is
 * divided into four parts; between them everything comes to its end, and what is held then must not
 * grow.
 */
#include <getopt.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/state/worker.h"
#include "storm.h"

const storm storms[] = {
    {"trees", round_trees, 2, false},       {"churn", round_churn, 1, false},
    {"pingpong", round_pingpong, 2, false}, {"primitives", round_primitives, 2, false},
    {"channels", round_channels, 2, false}, {"select", round_select, 1, false},
    {"scopes", round_scopes, 2, false},     {"cancels", round_cancels, 1, false},
    {"destroy", round_destroy, 1, false},   {"timers", round_timers, 1, false},
    {"blocking", round_blocking, 1, false}, {"bound", round_bound, 1, true},
    {"posts", round_posts, 1, true},        {"threads", round_threads, 1, true},
    {"forks", round_forks, 1, false},       {"graphs", round_graphs, 1, false},
    {"second", round_second, 1, true},      {"units", round_units, 1, false},
    {"runs", round_runs, 1, false},         {"serials", round_serials, 1, true},
    {"held", round_held, 1, false},
};
enum { STORMS = sizeof(storms) / sizeof(storms[0]), PARTS = 4 };

#define WORKER_BYTES 4000000L /* of a spare that takes part for the first time, at most */
#define SHORT_S 2             /* a shorter run is one part, and says nothing of memory that grows */

atomic_bool storm_over;

static struct {
    double seconds;
    int worlds;
    long starts;
    const char *only;
    uint32_t seed;
    const char *plant; /* stall, hang, leak, report: a fault of our own, which must be found */
} want = {4, 1, 0, NULL, 1, ""};

static world worlds[WORLDS];
static lane lanes[LANES];
static atomic_int lane_count;
static long totals[STORMS];

/* ---- worlds ---- */

void *world_alloc(void *ctx, size_t size) {
    world *w = ctx;
    size_t *b = malloc(size + 16);
    if (!b) {
        return NULL;
    }
    b[0] = size;
    b[1] = (size_t)w;
    atomic_fetch_add(&w->blocks, 1);
    atomic_fetch_add(&w->bytes, (long)size);
    return b + 2;
}

void world_free(void *ctx, void *ptr) {
    world *w = ctx;
    if (!ptr) {
        return;
    }
    size_t *b = (size_t *)ptr - 2;
    REQUIRE(b[1] == (size_t)w); /* it was freed twice, or is another world's */
    b[1] = 0;
    atomic_fetch_sub(&w->blocks, 1);
    atomic_fetch_sub(&w->bytes, (long)b[0]);
    free(b);
}

static void worker_starts(void *ctx, int worker) {
    world *w = ctx;
    if (worker >= 0 && (unsigned)worker >= w->regular) {
        return; /* a spare sleeps idle whatever is ready */
    }
    const int i = atomic_fetch_add(&w->tid_count, 1);
    if (i < TIDS) {
        atomic_store(&w->tids[i], (int)syscall(SYS_gettid));
    }
}

void world_config(world *w, thrum_config *config) {
    thrum_config_init(config);
    config->hook_ctx = w;
    config->alloc = world_alloc;
    config->free = world_free;
    config->worker_start = worker_starts;
}

/* ---- lanes ---- */

static int lane_main(void *arg) {
    lane *l = arg;
    mark_runs(l, 0);
    do {
        l->s->round(l);
        atomic_store(&l->beat, thrum_now());
        if (!l->s->external) {
            mark_ready(l, 0);
            thrum_yield();
            mark_runs(l, 0);
        }
    } while (!atomic_load(&storm_over));
    atomic_store(&l->beat, 0);
    return 0;
}

static void *lane_thread(void *arg) {
    lane_main(arg);
    return NULL;
}

static bool wanted(const char *name) {
    const size_t n = strlen(name);
    for (const char *p = want.only; p && *p != '\0';) {
        const size_t m = strcspn(p, ",");
        if (m == n && strncmp(p, name, n) == 0) {
            return true;
        }
        p += m + (p[m] == ',');
    }
    return want.only == NULL;
}

static void lanes_make(void) {
    int n = 0;
    for (int s = 0; s < STORMS; s++) {
        for (int w = 0; w < want.worlds && wanted(storms[s].name); w++) {
            for (int i = 0; i < storms[s].lanes; i++, n++) {
                REQUIRE(n < LANES);
                lanes[n].w = &worlds[w];
                lanes[n].s = &storms[s];
                lanes[n].seed = want.seed * 2654435761u + (uint32_t)n;
            }
        }
    }
    atomic_store(&lane_count, n);
}

static void plant(void) {
    if (strcmp(want.plant, "stall") == 0) {
        mark_ready(&lanes[0], MARKS - 1);
    }
    if (strcmp(want.plant, "hang") == 0) {
        watch_hang_at_once();
    }
    if (strcmp(want.plant, "leak") == 0) {
        (void)!world_alloc(&worlds[0], 100);
    }
    if (strcmp(want.plant, "report") == 0) {
        worlds[0].began = INT64_MAX; /* every stall is told with too long a time */
    }
}

/* Runs all lanes for a quarter of the time, to their end. */
static void part_run(bool last) {
    pthread_t threads[LANES];
    thrum_handle *handles[LANES];
    const int n = atomic_load(&lane_count);
    const thrum_time end =
        thrum_after((thrum_time)(want.seconds * 1e9 / (want.seconds < SHORT_S ? 1 : PARTS)));
    atomic_store(&storm_over, false);
    for (int i = 0; i < n; i++) {
        atomic_store(&lanes[i].beat, thrum_now());
        if (lanes[i].s->external) {
            REQUIRE_EQ(pthread_create(&threads[i], NULL, lane_thread, &lanes[i]), 0);
        } else {
            mark_ready(&lanes[i], 0);
            handles[i] = world_spawn(lanes[i].w, lane_main, &lanes[i]);
        }
    }
    while (thrum_now() < end || (last && atomic_load(&second_starts) < want.starts)) {
        (void)!thrum_sleep(20000000);
    }
    atomic_store(&storm_over, true);
    for (int i = 0; i < n; i++) {
        if (lanes[i].s->external) {
            pthread_join(threads[i], NULL);
        } else {
            world_join(handles[i]);
        }
    }
}

/* ---- memory ---- */

typedef struct held {
    long blocks, bytes, resident;
    long
        workers; /* that have taken part: spares get queues and a trace buffer when they first do */
} held;

static held held_now(void) {
    held h = {0, 0, memory_resident(), 0};
    for (int w = 0; w < want.worlds; w++) {
        h.blocks += atomic_load(&worlds[w].blocks);
        h.bytes += atomic_load(&worlds[w].bytes);
        h.workers += th_workers_end(worlds[w].sched);
    }
    return h;
}

/* The first part, and half of the second, are the warm-up: stacks are kept as they come to be used.
 */
static void held_check(const held *h, int64_t slowness) {
    const long more = (h[PARTS - 1].workers - h[1].workers) * WORKER_BYTES;
    REQUIRE(h[PARTS - 1].blocks <= h[1].blocks + h[1].blocks / 4 + 2000);
    REQUIRE(h[PARTS - 1].bytes <= h[1].bytes + h[1].bytes / 4 + 1000000 + more);
    /* Under a sanitizer resident memory says nothing, and a short run has no warm-up. */
    if (SLOWNESS == 1 && want.seconds >= 20.0 * (double)slowness) {
        REQUIRE(h[PARTS - 1].resident <= h[1].resident + h[1].resident / 4 + (8 << 20) + more);
    }
}

/* ---- */

static void options(int argc, char **argv) {
    static const struct option all[] = {{"seconds", 1, NULL, 's'}, {"two", 0, NULL, '2'},
                                        {"starts", 1, NULL, 'n'},  {"only", 1, NULL, 'o'},
                                        {"seed", 1, NULL, 'r'},    {"plant", 1, NULL, 'p'},
                                        {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", all, NULL)) != -1;) {
        if (c == 's') {
            want.seconds = atof(optarg);
        } else if (c == '2') {
            want.worlds = 2;
        } else if (c == 'n') {
            want.starts = atol(optarg);
        } else if (c == 'o') {
            want.only = optarg;
        } else if (c == 'r') {
            want.seed = (uint32_t)strtoul(optarg, NULL, 0);
        } else if (c == 'p') {
            want.plant = optarg;
        } else {
            exit(2);
        }
    }
}

int main(int argc, char **argv) {
    held held_at[PARTS] = {{0, 0, 0, 0}};
    options(argc, argv);
    const int64_t slowness = storm_slowness();
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 * 1024); /* so that resident memory follows what is held */
    mallopt(M_ARENA_MAX, 2);
#endif
    for (int w = 0; w < want.worlds; w++) {
        thrum_config config;
        worlds[w].number = (unsigned)w;
        world_config(&worlds[w], &config);
        worlds[w].regular = config.workers;
        watch_detect(&worlds[w], &config);
        REQUIRE_EQ(thrum_sched_start(&worlds[w].sched, &config), 0);
    }
    lanes_make();
    plant();
    watch_begin(worlds, want.worlds, lanes, &lane_count);
    for (int part = want.seconds < SHORT_S ? PARTS - 1 : 0; part < PARTS; part++) {
        part_run(part == PARTS - 1);
        held_at[part] = held_now();
        printf("resident %ld KiB, %ld KiB in %ld blocks\n", held_at[part].resident >> 10,
               held_at[part].bytes >> 10, held_at[part].blocks);
        fflush(stdout);
    }
    if (want.seconds >= SHORT_S * (double)slowness) {
        held_check(held_at, slowness);
    }
    watch_end();
    for (int w = 0; w < want.worlds; w++) {
        REQUIRE_EQ(thrum_sched_wait_done(worlds[w].sched, THRUM_FOREVER), 0);
        REQUIRE_EQ(thrum_sched_stop(worlds[w].sched), 0);
        REQUIRE_EQ(atomic_load(&worlds[w].blocks), 0);
    }
    for (int i = 0; i < atomic_load(&lane_count); i++) {
        totals[lanes[i].s - storms] += atomic_load(&lanes[i].ops);
    }
    for (int s = 0; s < STORMS; s++) {
        if (!wanted(storms[s].name)) {
            continue;
        }
        REQUIRE(totals[s] > 0);
        printf("%s %ld\n", storms[s].name, totals[s]);
    }
    return 0;
}
