/*
 * watch.c: what is looked at each second, and at each rest; the log; the limits.
 *
 * A latency is held to its limit plus what the system withheld: the time that threads of this
 * process waited for a processor in this second and the one before, as the kernel counts it
 * (schedstat). On a machine that does other work as well nothing else could be asked for.
 *
 * What is held is compared at rests, when every lane is between two rounds: with the most of the
 * rests in the first quarter of the run (two at least), which is the warm-up.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "soak.h"

enum { FINE = 8, BUCKETS = 48 * FINE, RESTS_MAX = 4096, THREADS_MAX = 512, HANG_S = 60 };

static const struct {
    const char *name;
    long limit_ms;
} kinds[LATE_KINDS] = {{"request", 150}, {"timer", 100},    {"post", 100},
                       {"cancel", 150},  {"blocking", 150}, {"file", 2000}};

static struct {
    FILE *log;
    int64_t began, before;
    atomic_long late[LATE_KINDS][BUCKETS];
    atomic_long worst[LATE_KINDS];
    long rounds[LANES_MAX]; /* at the last second */
    long passed;            /* limits that were passed */
    int64_t withheld[2];    /* in the last second, and the one before; ns */
    int64_t cpu;
    long all[LATE_KINDS][BUCKETS]; /* of the whole run */
} watch;

/* ---- latencies ---- */

static int bucket_of(int64_t ns) {
    if (ns < FINE) {
        return ns < 0 ? 0 : (int)ns;
    }
    const int octave = 63 - __builtin_clzll((unsigned long long)ns);
    const int index = (octave - 2) * FINE + (int)(ns >> (octave - 3) & (FINE - 1));
    return index < BUCKETS ? index : BUCKETS - 1;
}

/* The upper bound of a bucket. */
static int64_t bucket_ns(int index) {
    if (index < FINE) {
        return index;
    }
    return (int64_t)(FINE + index % FINE + 1) << (index / FINE - 1);
}

void soak_late(late_kind kind, int64_t ns) {
    atomic_fetch_add_explicit(&watch.late[kind][bucket_of(ns)], 1, memory_order_relaxed);
    long worst = atomic_load(&watch.worst[kind]);
    while (ns > worst && !atomic_compare_exchange_weak(&watch.worst[kind], &worst, (long)ns)) {
    }
}

static double part_us(const long counts[BUCKETS], long n, double part) {
    long sum = 0;
    for (int i = 0; i < BUCKETS; i++) {
        sum += counts[i];
        if (n > 0 && (double)sum >= part * (double)n) {
            return (double)bucket_ns(i) / 1000;
        }
    }
    return 0;
}

/* ---- what the system says ---- */

static int entries(const char *folder) {
    DIR *d = opendir(folder);
    int n = -2; /* . and .. */
    REQUIRE(d != NULL);
    while (readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

static int descriptors(void) {
    return entries("/proc/self/fd") - 1; /* the folder's own */
}

static long statm(int field) {
    long values[2] = {0, 0};
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%ld %ld", &values[0], &values[1]) != 2) {
            values[0] = values[1] = 0;
        }
        fclose(f);
    }
    return values[field] * sysconf(_SC_PAGESIZE);
}

typedef struct thread_seen {
    int tid;
    int64_t waited;
} thread_seen;

/* Where the thread is noted; else the place of one that has ended, or NULL. */
static thread_seen *noted(int tid) {
    static thread_seen seen[THREADS_MAX];
    thread_seen *free_place = NULL;
    for (int i = 0; i < THREADS_MAX; i++) {
        char path[64];
        if (seen[i].tid == tid) {
            return &seen[i];
        }
        snprintf(path, sizeof(path), "/proc/self/task/%d", seen[i].tid);
        if (!free_place && (seen[i].tid == 0 || access(path, F_OK) != 0)) {
            free_place = &seen[i];
        }
    }
    return free_place;
}

/*
 * How long threads of this process have waited for a processor since they were seen last: the sum
 * of the three that waited longest, in ns. What is measured passes at most three, one after the
 * other: a client's worker, the server's, a thread of the pool's.
 */
static int64_t withheld(void) {
    int64_t most[3] = {0, 0, 0};
    DIR *d = opendir("/proc/self/task");
    REQUIRE(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[320];
        long long ran, waited;
        const int tid = atoi(e->d_name);
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = tid == 0 ? NULL : fopen(path, "re");
        if (!f) {
            continue;
        }
        if (fscanf(f, "%lld %lld", &ran, &waited) == 2) {
            thread_seen *t = noted(tid);
            int64_t more = t && t->tid == tid ? waited - t->waited : waited;
            if (t) {
                *t = (thread_seen){tid, waited};
            }
            for (int i = 0; i < 3; i++) {
                if (more > most[i]) {
                    const int64_t less = most[i];
                    most[i] = more;
                    more = less;
                }
            }
        }
        fclose(f);
    }
    closedir(d);
    return most[0] + most[1] + most[2];
}

static int64_t cpu_used(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* ---- the log ---- */

static double elapsed(void) {
    return (double)(thrum_now() - watch.began) / 1e9;
}

/* What passed a limit while a line was being written gets a line of its own behind it. */
static struct {
    char text[LATE_KINDS + 8][200];
    int count;
} passing;

__attribute__((format(printf, 1, 2))) static void passes(const char *format, ...) {
    if (passing.count == LATE_KINDS + 8) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(passing.text[passing.count++], sizeof(passing.text[0]), format, args);
    va_end(args);
    watch.passed++;
}

static void passes_logged(void) {
    for (int i = 0; i < passing.count; i++) {
        fprintf(stderr, "soak: after %.0f s: %s\n", elapsed(), passing.text[i]);
        fprintf(watch.log, "{\"t\":%.2f,\"passed\":\"%s\"}\n", elapsed(), passing.text[i]);
    }
    passing.count = 0;
}

/* Takes the latencies of a kind since the last second, prints them, and holds them to the limit. */
static void log_late(int kind, int64_t allowed) {
    long counts[BUCKETS], n = 0;
    for (int i = 0; i < BUCKETS; i++) {
        counts[i] = atomic_exchange(&watch.late[kind][i], 0);
        watch.all[kind][i] += counts[i];
        n += counts[i];
    }
    const int64_t worst = atomic_exchange(&watch.worst[kind], 0);
    fprintf(watch.log, "%s\"%s\":[%ld,%.1f,%.1f,%.1f]", kind == 0 ? "" : ",", kinds[kind].name, n,
            part_us(counts, n, 0.5), part_us(counts, n, 0.99), (double)worst / 1000);
    const int64_t limit = (int64_t)((double)kinds[kind].limit_ms * 1e6 * soak_want.limit);
    if (worst > limit + allowed) {
        passes("%s late by %.1f ms; limit %.1f ms and %.1f ms withheld by the system",
               kinds[kind].name, (double)worst / 1e6, (double)limit / 1e6, (double)allowed / 1e6);
    }
}

static void log_rounds(void) {
    int at = 0;
    for (int s = 0; s < soak_loads_count; s++) {
        long n = 0;
        for (int i = 0; i < soak_loads[s].lanes; i++, at++) {
            const long rounds = atomic_load(&soak_lanes[at].rounds);
            n += rounds - watch.rounds[at];
            watch.rounds[at] = rounds;
        }
        fprintf(watch.log, "%s\"%s\":%ld", s == 0 ? "" : ",", soak_loads[s].name, n);
    }
}

static void second(void) {
    thrum_metrics m = THRUM_METRICS_INIT;
    const thrum_time now = thrum_now();
    const int64_t cpu = cpu_used();
    watch.withheld[1] = watch.withheld[0];
    watch.withheld[0] = withheld();
    double busy = 0;
    (void)!getloadavg(&busy, 1);
    const int64_t allowed = watch.withheld[0] + watch.withheld[1] + (now - watch.before) / 100;
    REQUIRE_EQ(thrum_metrics_read(soak_sched, THRUM_ALL_WORKERS, &m), 0);
    fprintf(watch.log,
            "{\"t\":%.2f,\"span\":%.3f,\"rss\":%ld,\"blocks\":%ld,\"bytes\":%ld,\"fds\":%d,"
            "\"threads\":%d,\"load\":%.2f,\"cpu_ms\":%.1f,\"withheld_ms\":%.1f,\"tasks\":%lu,"
            "\"stacks\":%lu,"
            "\"spare_activations\":%lu,\"parks\":%lu,\"stolen\":%lu,\"late_us\":{",
            elapsed(), (double)(now - watch.before) / 1e9, statm(1), atomic_load(&soak_blocks),
            atomic_load(&soak_bytes), descriptors(), entries("/proc/self/task"), busy,
            (double)(cpu - watch.cpu) / 1e6, (double)watch.withheld[0] / 1e6,
            (unsigned long)m.tasks_alive, (unsigned long)m.stacks,
            (unsigned long)m.spare_activations, (unsigned long)m.parks, (unsigned long)m.stolen);
    watch.before = now;
    watch.cpu = cpu;
    for (int k = 0; k < LATE_KINDS; k++) {
        log_late(k, allowed);
    }
    fputs("},\"rounds\":{", watch.log);
    log_rounds();
    fputs("}}\n", watch.log);
    passes_logged();
}

/* ---- rests ---- */

typedef struct held {
    long rss, blocks, bytes, tasks;
    int fds, threads;
} held;

static struct {
    held all[RESTS_MAX], warm; /* the most of each in the warm-up */
    int count, warm_count;
} rests;

static held held_now(void) {
    thrum_metrics m = THRUM_METRICS_INIT;
    REQUIRE_EQ(thrum_metrics_read(soak_sched, THRUM_ALL_WORKERS, &m), 0);
    return (held){
        statm(1),      atomic_load(&soak_blocks), atomic_load(&soak_bytes), (long)m.tasks_alive,
        descriptors(), entries("/proc/self/task")};
}

#define MOST(field) (warm->field = h->field > warm->field ? h->field : warm->field)
#define HELD_TO(field, more)                                                                       \
    (h->field <= warm->field + (more)                                                              \
         ? (void)0                                                                                 \
         : passes(#field " at rest: %ld, and in the warm-up at most %ld", (long)h->field,          \
                  (long)warm->field))

/* A rest against the warm-up. */
static void held_check(const held *h) {
    held *warm = &rests.warm;
    if (rests.count <= 2 || elapsed() < soak_want.seconds / 4) {
        MOST(rss), MOST(blocks), MOST(bytes), MOST(tasks), MOST(fds), MOST(threads);
        rests.warm_count = rests.count;
        return;
    }
    HELD_TO(rss, warm->rss / 10 + (8 << 20));
    HELD_TO(blocks, warm->blocks / 20 + 64);
    HELD_TO(bytes, warm->bytes / 20 + (256 << 10));
    HELD_TO(tasks, 0);
    HELD_TO(fds, 4);
    HELD_TO(threads, 8);
}

/* What the server's side still holds ends a moment after its clients': until it is stable. */
static void settle(void) {
    long tasks = -1;
    for (int same = 0, i = 0; same < 3 && i < 100; i++) {
        const long now = held_now().tasks;
        same = now == tasks ? same + 1 : 0;
        tasks = now;
        (void)!thrum_sleep(20000000);
    }
}

/* While somebody else wants the machine for himself (--quiet FILE) the rest goes on. */
static void rest_for_others(void) {
    const thrum_time began = thrum_now();
    bool told = false;
    while (soak_want.quiet && access(soak_want.quiet, F_OK) == 0 && elapsed() < soak_want.seconds) {
        (void)!thrum_sleep(INT64_C(200000000));
        told = true;
    }
    if (told) {
        fprintf(watch.log, "{\"t\":%.2f,\"quiet_s\":%.1f}\n", elapsed(),
                (double)(thrum_now() - began) / 1e9);
    }
    watch.before = thrum_now();
}

static void rest(void) {
    const thrum_time began = thrum_now();
    if (!soak_rest_begin(soak_much_later())) {
        soak_fails(__FILE__, __LINE__, "hang: not all lanes come to rest");
    }
    const thrum_time came = thrum_now();
    settle();
    if (rests.count < RESTS_MAX) {
        held *h = &rests.all[rests.count++];
        *h = held_now();
        fprintf(watch.log,
                "{\"t\":%.2f,\"rest\":%d,\"waited_ms\":%.1f,\"rss\":%ld,\"blocks\":%ld,"
                "\"bytes\":%ld,\"tasks\":%ld,\"fds\":%d,\"threads\":%d}\n",
                elapsed(), rests.count, (double)(came - began) / 1e6, h->rss, h->blocks, h->bytes,
                h->tasks, h->fds, h->threads);
        held_check(h);
        passes_logged();
    }
    rest_for_others();
    soak_rest_end();
}

/* What grows slowly: the least of the last quarter of the rests against that of the second. */
static void slow_growth(void) {
    const int part = rests.count / 4;
    if (part < 3) {
        return;
    }
    long blocks[2] = {LONG_MAX, LONG_MAX}, bytes[2] = {LONG_MAX, LONG_MAX}, fds[2] = {999, 999};
    for (int i = 0; i < 2 * part; i++) {
        const held *h = &rests.all[i < part ? part + i : rests.count - 1 - (i - part)];
        long *b = &blocks[i >= part], *y = &bytes[i >= part], *f = &fds[i >= part];
        *b = h->blocks < *b ? h->blocks : *b;
        *y = h->bytes < *y ? h->bytes : *y;
        *f = h->fds < *f ? h->fds : *f;
    }
    if (blocks[1] > blocks[0] + blocks[0] / 50 + part / 2) {
        passes("blocks grow slowly: %ld, then %ld", blocks[0], blocks[1]);
    }
    if (bytes[1] > bytes[0] + bytes[0] / 50 + (64 << 10)) {
        passes("bytes grow slowly: %ld, then %ld", bytes[0], bytes[1]);
    }
    if (fds[1] > fds[0]) {
        passes("descriptors grow slowly: %ld, then %ld", fds[0], fds[1]);
    }
}

/* ---- */

/* A fault of our own, once a second, which must be found (tools/run/soak). */
static void plant(void) {
    if (strcmp(soak_want.plant, "leak") == 0) {
        for (int i = 0; i < 40; i++) {
            (void)!soak_alloc(NULL, 1000);
        }
    }
    if (strcmp(soak_want.plant, "descriptor") == 0) {
        (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (strcmp(soak_want.plant, "late") == 0) {
        soak_late(LATE_POST, INT64_C(60000000000));
    }
    if (strcmp(soak_want.plant, "wrong") == 0) {
        REQUIRE_EQ(entries("/proc/self/fd"), 0);
    }
    if (strcmp(soak_want.plant, "hang") == 0) {
        atomic_store(&soak_lanes[0].since, thrum_now() - (HANG_S + 1) * INT64_C(1000000000));
    }
}

/* A second that came late itself does not count: then the machine stood still. */
static void hangs(bool late) {
    static int64_t lost; /* by seconds that came late */
    static int64_t before;
    const thrum_time now = thrum_now();
    lost += late ? now - before : 0;
    before = now;
    for (int i = 0; i < soak_lanes_count; i++) {
        const int64_t since = atomic_load(&soak_lanes[i].since);
        if (since != 0 && now - since - lost > HANG_S * INT64_C(1000000000)) {
            soak_fails(__FILE__, __LINE__, "hang: a round of %s does not end",
                       soak_lanes[i].load->name);
        }
    }
}

static void log_end(void) {
    fprintf(watch.log,
            "{\"t\":%.2f,\"end\":\"%s\",\"passed_limits\":%ld,\"rests\":%d,\"late_us\":{",
            elapsed(), watch.passed == 0 ? "no fault" : "FAILED", watch.passed, rests.count);
    printf("%-10s %12s %10s %10s %10s %10s   (us)\n", "late", "count", "p50", "p99", "p99.9",
           "most");
    for (int k = 0; k < LATE_KINDS; k++) {
        const long *c = watch.all[k];
        long n = 0;
        for (int i = 0; i < BUCKETS; i++) {
            n += c[i];
        }
        const double p[] = {part_us(c, n, 0.5), part_us(c, n, 0.99), part_us(c, n, 0.999),
                            part_us(c, n, 1)};
        fprintf(watch.log, "%s\"%s\":[%ld,%.1f,%.1f,%.1f,%.1f]", k == 0 ? "" : ",", kinds[k].name,
                n, p[0], p[1], p[2], p[3]);
        printf("%-10s %12ld %10.0f %10.0f %10.0f %10.0f\n", kinds[k].name, n, p[0], p[1], p[2],
               p[3]);
    }
    fputs("},\"rounds\":{", watch.log);
    for (int s = 0, at = 0; s < soak_loads_count; s++) {
        long n = 0;
        for (int i = 0; i < soak_loads[s].lanes; i++, at++) {
            n += atomic_load(&soak_lanes[at].rounds);
        }
        fprintf(watch.log, "%s\"%s\":%ld", s == 0 ? "" : ",", soak_loads[s].name, n);
        printf("%-10s %12ld rounds\n", soak_loads[s].name, n);
    }
    fputs("}}\n", watch.log);
    printf("%.0f s, %d rests, %ld limits passed\n", elapsed(), rests.count, watch.passed);
}

static void log_begin(void) {
    fprintf(watch.log,
            "{\"t\":0,\"begin\":\"thrum %s\",\"seconds\":%.0f,\"workers\":%u,\"limit\":%g,"
            "\"limits_ms\":{",
            thrum_version(), soak_want.seconds, thrum_sched_parallelism(soak_sched),
            soak_want.limit);
    for (int k = 0; k < LATE_KINDS; k++) {
        fprintf(watch.log, "%s\"%s\":%ld", k == 0 ? "" : ",", kinds[k].name, kinds[k].limit_ms);
    }
    fputs("}}\n", watch.log);
}

int soak_watch(void) {
    watch.log = fopen(soak_want.log, "we");
    REQUIRE(watch.log != NULL);
    setvbuf(watch.log, NULL, _IOLBF, 1 << 16);
    watch.began = watch.before = thrum_now();
    watch.cpu = cpu_used();
    log_begin();
    (void)withheld();
    for (long n = 1; elapsed() < soak_want.seconds; n++) {
        (void)!thrum_sleep_until(watch.before + INT64_C(1000000000));
        const bool late = thrum_now() - watch.before > INT64_C(3000000000);
        plant();
        second();
        hangs(late);
        if (n % (long)soak_want.rest_s == 0 ||
            (soak_want.quiet && access(soak_want.quiet, F_OK) == 0)) {
            rest();
        }
    }
    slow_growth();
    passes_logged();
    log_end();
    fclose(watch.log);
    return watch.passed != 0;
}
