/*
 * watch.c: the watchdog. A thread with a clock of its own looks every 10 ms.
 *
 *   stall   something has been ready for a second, and at each look in it a worker slept
 *   hang    a lane has not ended a round for half a minute, and its world has meanwhile picked more
 *           than any round needs, or nothing at all
 *   report  a detector of the scheduler's has told what is not true: a deadlock, or a run that is
 *           longer than the worker has been in it
 *
 * Each prints every fiber and all counters, and aborts. A look that comes late itself (the
 * machine is busy) begins the second anew. Slow processors have more time, by what a look takes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "core/watch/stalls.h"
#include "core/policy/steal_backoff.h"
#include "core/state/worker.h"
#include "storm.h"

#define STALL_NS (INT64_C(1000000000) * SLOWNESS)
#define LOOK_NS 10000000
#define LATE_NS (20 * LOOK_NS)

/* What the looks have shown of one worker. */
typedef struct seen {
    uint64_t runs;  /* that it has begun */
    uint64_t tick;  /* after the present one had begun */
    int64_t at;     /* the time of the last look */
    int64_t before; /* the time of the last look before the present one began; 0: it was late */
} seen;

/* What the looks have shown of a world, and of the present round of a lane. */
typedef struct picked {
    uint64_t picks; /* of all workers */
    int64_t at;     /* the time of the look that saw the latest pick */
} picked;
typedef struct latest_round {
    int64_t beat;
    uint64_t picks; /* of its world at the first look after it had begun */
} latest_round;

static struct {
    world *worlds;
    int count;
    lane *lanes;
    atomic_int *lane_count;
    pthread_t thread;
    atomic_bool ends;
    int64_t idle_since[WORLDS]; /* since when a worker slept at each look; 0: none does */
    picked picked[WORLDS];
    latest_round rounds[LANES];
    int64_t hang_ns;
    uint64_t hang_picks;  /* if the machine is very busy, a round lasts longer, with fewer picks */
    int64_t slowness;     /* of the processor */
    pthread_mutex_t lock; /* protects the next */
    seen seen[WORLDS][WORKERS];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .hang_ns = INT64_C(30000000000) * (SLOWNESS > 1 ? 4 : 1),
           .hang_picks = 20000000};

void watch_hang_at_once(void) {
    watch.hang_ns = 1;
    watch.hang_picks = 0;
}

static atomic_flag failed = ATOMIC_FLAG_INIT;

void storm_fails(const char *file, int line, const char *format, ...) {
    va_list args;
    while (atomic_flag_test_and_set(&failed)) {
        pause(); /* the first one ends the process */
    }
    signal(SIGALRM, SIG_DFL);
    alarm(20); /* the dump itself may not come back */
    fprintf(stderr, "storm: %s:%d: ", file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    const int lanes = !watch.lanes ? 0 : atomic_load(watch.lane_count);
    for (int i = 0; i < lanes; i++) {
        const int64_t beat = atomic_load(&watch.lanes[i].beat);
        if (beat != 0) {
            fprintf(stderr, "storm: world %u, %s: %ld operations, round for %ld ms\n",
                    watch.lanes[i].w->number, watch.lanes[i].s->name,
                    atomic_load(&watch.lanes[i].ops), (long)((thrum_now() - beat) / 1000000));
        }
    }
    for (int i = 0; i < watch.count; i++) {
        thrum_dump(watch.worlds[i].sched, stderr, THRUM_TEXT);
        thrum_metrics_print(watch.worlds[i].sched, stderr, THRUM_TEXT);
    }
    fflush(stderr);
    abort();
}

/* Whether the thread sleeps: the letter after the name in its stat. */
static bool sleeps(int tid) {
    char path[64], text[128];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

int64_t storm_slowness(void) {
    enum { BATCHES = 10, LOOKS = 100, USUAL_NS = 10000 };
    int64_t least = INT64_MAX; /* in the others it may have been preempted */
    for (int batch = 0; batch < BATCHES; batch++) {
        const int64_t began = thrum_now();
        for (int i = 0; i < LOOKS; i++) {
            (void)!sleeps((int)getpid());
        }
        const int64_t took = thrum_now() - began;
        least = took < least ? took : least;
    }
    return 1 + least / (LOOKS * USUAL_NS);
}

/* One that no task holds up: more sleep than tasks kept asleep before the look, and after it. */
static bool some_worker_sleeps(const world *w) {
    const int before = atomic_load(&w->naps);
    int n = 0;
    for (int i = 0; i < TIDS; i++) {
        const int tid = atomic_load(&w->tids[i]);
        n += tid != 0 && sleeps(tid);
    }
    const int after = atomic_load(&w->naps);
    return n > (before > after ? before : after);
}

/* ---- what detectors tell ---- */

static void look_at_runs(const world *w) {
    pthread_mutex_lock(&watch.lock);
    for (unsigned i = 0; i < thrum_sched_workers(w->sched) && i < WORKERS; i++) {
        const th_worker *worker = &w->sched->workers[i];
        seen *s = &watch.seen[w->number][i];
        const int64_t now = thrum_now();
        th_fence_seq(); /* the time, then the runs, then the tick */
        const uint64_t runs = th_runs_begun(worker);
        th_fence_seq();
        if (runs != s->runs) {
            s->runs = runs;
            s->tick = th_load_relaxed(&worker->xtick); /* relaxed: the fence orders it */
            s->before = now - s->at > LATE_NS ? 0 : s->at;
        }
        s->at = now;
    }
    pthread_mutex_unlock(&watch.lock);
}

/*
 * The watcher calls it for the latest report. The run began after a look that saw the one before;
 * between its pick and that its thread may have waited for a processor, as in a stall.
 */
static void stall_is_told(void *ctx, const char *report) {
    const world *w = ctx;
    th_stalled latest[TH_STALLED_MAX];
    REQUIRE(th_stalls_latest(w->sched, latest) > 0);
    pthread_mutex_lock(&watch.lock);
    const seen *s = &watch.seen[w->number][latest->worker % WORKERS];
    const bool is_long = latest->tick == s->tick && latest->since < s->before - STALL_NS;
    pthread_mutex_unlock(&watch.lock);
    if (is_long || latest->since < w->began) {
        storm_fails(__FILE__, __LINE__, "a false report: %s", report);
    }
}

static void deadlock_is_told(void *ctx, const char *report) {
    (void)ctx;
    storm_fails(__FILE__, __LINE__, "a false report: %s", report);
}

void watch_detect(world *w, thrum_config *config) {
    w->began = thrum_now();
    config->on_deadlock = THRUM_DEADLOCK_REPORT;
    config->deadlock = deadlock_is_told;
    config->stall_ms = STALL_MS;
    config->stall = stall_is_told;
    config->trace = true;
}

/* ---- looking ---- */

static void probe_runs(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((world *)arg)->probe_since, 0);
}

/* The oldest mark of a world; 0: there is none. */
static int64_t oldest(const world *w, const char **what) {
    int64_t found = atomic_load(&w->probe_since);
    *what = "a probe posted by an external thread";
    const int lanes = atomic_load(watch.lane_count);
    for (int i = 0; i < lanes; i++) {
        const lane *l = &watch.lanes[i];
        for (int m = 0; l->w == w && m < MARKS; m++) {
            const int64_t since = atomic_load(&l->marks[m]);
            if (since != 0 && (found == 0 || since < found)) {
                found = since;
                *what = l->s->name;
            }
        }
    }
    return found;
}

static void look_at(world *w, int64_t now, bool late) {
    const char *what;
    const int64_t stall_ns = STALL_NS * watch.slowness;
    int64_t *idle_since = &watch.idle_since[w->number];
    const int64_t since = oldest(w, &what);
    if (since == 0 || now - since < stall_ns / 4 || late || !some_worker_sleeps(w)) {
        *idle_since = 0;
    } else if (*idle_since == 0) {
        *idle_since = now;
    } else if (now - *idle_since > stall_ns * 3 / 4 && now - since > stall_ns) {
        storm_fails(__FILE__, __LINE__, "stall: %s: ready for %ld ms while a worker sleeps", what,
                    (long)((now - since) / 1000000));
    }
    if (atomic_load(&w->probe_since) == 0) {
        atomic_store(&w->probe_since, now);
        REQUIRE_EQ(thrum_task_post(w->sched, &w->probe), 0);
    }
}

static void look_at_picks(const world *w, int64_t now) {
    picked *p = &watch.picked[w->number];
    uint64_t picks = 0;
    for (unsigned i = 0; i < thrum_sched_workers(w->sched); i++) {
        picks += th_load_relaxed(&w->sched->workers[i].xtick); /* relaxed: whether it moves */
    }
    p->at = picks != p->picks || !p->at ? now : p->at;
    p->picks = picks;
}

static bool hangs(int number, int64_t now) {
    const int64_t beat = atomic_load(&watch.lanes[number].beat);
    const picked *p = &watch.picked[watch.lanes[number].w->number];
    latest_round *round = &watch.rounds[number];
    const int64_t limit = watch.hang_ns * watch.slowness;
    if (beat != round->beat) {
        *round = (latest_round){beat, p->picks};
    }
    return beat != 0 && now - beat > limit &&
           (p->picks - round->picks >= watch.hang_picks || now - p->at > limit);
}

static void *watch_main(void *arg) {
    int64_t before = thrum_now();
    (void)arg;
    while (!atomic_load(&watch.ends)) {
        const struct timespec nap = {0, LOOK_NS};
        nanosleep(&nap, NULL);
        const int64_t now = thrum_now();
        for (int i = 0; i < watch.count; i++) {
            look_at_runs(&watch.worlds[i]);
            look_at_picks(&watch.worlds[i], now);
            look_at(&watch.worlds[i], now, now - before > LATE_NS);
        }
        before = now;
        for (int i = 0; i < atomic_load(watch.lane_count); i++) {
            if (hangs(i, now)) {
                storm_fails(__FILE__, __LINE__, "hang: a round of %s does not end",
                            watch.lanes[i].s->name);
            }
        }
    }
    return NULL;
}

void watch_begin(world *worlds, int count, lane *lanes, atomic_int *lane_count) {
    watch.worlds = worlds;
    watch.count = count;
    watch.lanes = lanes;
    watch.lane_count = lane_count;
    watch.slowness = storm_slowness();
    for (int i = 0; i < count; i++) {
        thrum_task_init(&worlds[i].probe, probe_runs, &worlds[i]);
    }
    REQUIRE_EQ(pthread_create(&watch.thread, NULL, watch_main, NULL), 0);
}

void watch_end(void) {
    atomic_store(&watch.ends, true);
    pthread_join(watch.thread, NULL);
    for (int i = 0; i < watch.count; i++) { /* waits for the last probe */
        while (atomic_load(&watch.worlds[i].probe_since) != 0) {
            sched_yield();
        }
    }
    watch.count = 0;
    watch.lanes = NULL;
}

long memory_resident(void) {
    long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2) {
        resident = 0;
    }
    if (f) {
        fclose(f);
    }
    return resident * sysconf(_SC_PAGESIZE);
}
