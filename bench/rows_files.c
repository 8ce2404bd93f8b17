/*
 * rows_files.c: reading files: what a read of the system's memory costs, and how late others are
 * while many fibers read a file that the system has to fetch from the disk.
 *
 * The file is made in $TMPDIR, or /var/tmp, and has no name while it is used.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "thrum/file.h"

#define PAGE 4096
#define PIECE (1u << 20)

/* ---- the file ---- */

static int make_file(uint64_t size) {
    static char piece[PIECE];
    const char *dir = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof(path), "%s/thrum-bench-XXXXXX", dir != NULL ? dir : "/var/tmp");
    int fd = mkstemp(path);
    if (fd < 0)
        bench_skip("no file can be made at %s", path);
    unlink(path);
    memset(piece, 'x', sizeof(piece));
    for (uint64_t at = 0; at < size; at += PIECE) {
        if (pwrite(fd, piece, PIECE, (off_t)at) != PIECE)
            bench_skip("the disk has no room for %llu MB", (unsigned long long)(size >> 20));
    }
    return fd;
}

static thrum_io take_over(int fd) {
    /* By its path. What thrum_file_adopt takes over has the calls of files, too. */
    char path[64];
    thrum_io io;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bench_ok(thrum_file_open(&io, path, THRUM_FILE_READ, 0, THRUM_FOREVER));
    close(fd);
    return io;
}

/* ---- what the system has in memory ---- */

typedef struct cached {
    int fd;
    unsigned reads;
    bench_span span;
} cached;

static cached c;

static off_t place(unsigned i) {
    return (off_t)((i * 2654435761u) % (PIECE / PAGE)) * PAGE;
}

static int reads_cached(void *arg) {
    char page[PAGE];
    thrum_io io = take_over(c.fd);
    (void)arg;
    bench_span_begin(&c.span, thrum_sched_current());
    for (unsigned i = 0; i < c.reads; i++) {
        int64_t n = thrum_file_pread(io, page, PAGE, place(i), THRUM_FOREVER);
        bench_check(n == PAGE, "a read returned %d", (int)n);
    }
    bench_span_end(&c.span);
    bench_ok(thrum_io_close(io));
    return 0;
}

static void run_cached(const bench_args *args, bench_sample *out) {
    c = (cached){.fd = make_file(PIECE), .reads = bench_scale(args, 2000000, 1000)};
    bench_inside(args, reads_cached, NULL);
    out[0] = bench_span_per_op(&c.span, c.reads);
}

static void run_bare(const bench_args *args, bench_sample *out) {
    char page[PAGE];
    int fd = make_file(PIECE);
    const unsigned reads = bench_scale(args, 2000000, 1000);
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < reads; i++) {
        bench_check(pread(fd, page, PAGE, place(i)) == PAGE, "a read failed");
    }
    bench_span_end(&span);
    close(fd);
    out[0] = bench_span_per_op(&span, reads);
}

/* ---- others beside cold reads ---- */

#define READERS 64
#define NAPPERS 16
#define NAP_US 1000
#define ALONE_NS 1000000000

typedef struct beside {
    thrum_io io;
    uint64_t size;
    atomic_ullong next; /* the place that is read next */
    atomic_bool stop;
    thrum_sem done;
    bench_histogram alone;
    bench_histogram late;
} beside;

static beside b;

/* Each reads the next piece, until all have been read. */
static int reads_on(void *arg) {
    char *piece = malloc(PIECE);
    uint64_t at;
    (void)arg;
    bench_check(piece != NULL, "no memory");
    while ((at = atomic_fetch_add(&b.next, PIECE)) < b.size) {
        int64_t n = thrum_file_pread(b.io, piece, PIECE, (int64_t)at, THRUM_FOREVER);
        bench_check(n == PIECE, "a read returned %d", (int)n);
    }
    free(piece);
    thrum_sem_post(&b.done);
    return 0;
}

/* Sleeps again and again. There is one histogram for each, so that none is shared. */
static int naps(void *arg) {
    bench_histogram *late = arg;
    while (!atomic_load(&b.stop)) {
        thrum_time until = thrum_after_us(NAP_US);
        bench_ok(thrum_sleep_until(until));
        bench_histogram_add(late, (uint64_t)(thrum_now() - until));
    }
    thrum_sem_post(&b.done);
    return 0;
}

static bench_histogram nappers[NAPPERS];

static void begin_naps(void) {
    memset(nappers, 0, sizeof(nappers));
    atomic_store(&b.stop, false);
    for (int i = 0; i < NAPPERS; i++)
        bench_ok(thrum_go(naps, &nappers[i]));
}

static void end_naps(bench_histogram *all) {
    atomic_store(&b.stop, true);
    for (int i = 0; i < NAPPERS; i++)
        bench_ok(thrum_sem_wait(&b.done));
    for (int i = 0; i < NAPPERS; i++) {
        for (unsigned k = 0; k < BENCH_CLASSES; k++)
            all->counts[k] += nappers[i].counts[k];
    }
}

static int reads_beside(void *arg) {
    int fd = *(int *)arg;
    (void)fsync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    b.io = take_over(fd);
    begin_naps();
    bench_ok(thrum_sleep_until(thrum_after(ALONE_NS)));
    end_naps(&b.alone);
    begin_naps();
    for (int i = 0; i < READERS; i++)
        bench_ok(thrum_go(reads_on, NULL));
    for (int i = 0; i < READERS; i++)
        bench_ok(thrum_sem_wait(&b.done));
    end_naps(&b.late);
    bench_ok(thrum_io_close(b.io));
    return 0;
}

static void run_beside(const bench_args *args, bench_sample *out) {
    bench_span span;
    b.size = (uint64_t)bench_scale(args, 4096, 64) << 20;
    thrum_sem_init(&b.done, 0);
    int fd = make_file(b.size);
    bench_span_begin(&span, NULL);
    bench_inside(args, reads_beside, &fd);
    bench_span_end(&span);
    bench_keep_histogram(0, &b.late);
    bench_keep_histogram(1, &b.alone);
    out[0] = bench_span_value(&span, b.size / PIECE, bench_histogram_quantile(&b.late, 0.99));
    out[1] = bench_span_value(&span, b.size / PIECE, bench_histogram_quantile(&b.alone, 0.99));
}

/* ---- the rows ---- */

static const unsigned two[] = {2, 0};

static const bench_case cases[] = {
    {.what = "a fiber reads 4 KiB that the system has in memory: once",
     .rows =
         {{.name = "file-cached", .unit = "ns", .must = BENCH_OF_BASELINE, .limit = {1.8, 1.8}}},
     .count = 1,
     .workers_same = true,
     .run = run_cached,
     .baseline = run_bare,
     .baseline_what = "pread"},
    {.what = "64 fibers read a cold file of 4 GB; how late 16 others wake meanwhile that sleep "
             "1 ms again and again, p99. Without the readers in the same sample",
     .rows = {{.name = "file-beside-p99",
               .unit = "us",
               .must = BENCH_OF_BASELINE,
               .limit = {2, 2},
               .baseline_part = 2},
              {.name = "file-beside-none-p99", .unit = "us"}},
     .count = 2,
     .workers_min = 2,
     .workers_own = two,
     .run = run_beside,
     .baseline_what = "without readers"},
};

const bench_theme bench_files = {cases, sizeof(cases) / sizeof(cases[0])};
