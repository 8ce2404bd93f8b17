/*
 * rows_files.c: reading files: the cost of a read from the page cache, and the delay of others
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
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "platform/ring.h"
#include "thrum/file.h"

#define PAGE 4096
#define PIECE (1u << 20)

/* ---- the file ---- */

static int make_file(uint64_t size) {
    static char piece[PIECE];
    const char *dir = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof(path), "%s/thrum-bench-XXXXXX", dir ? dir : "/var/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        bench_skip("no file can be made at %s", path);
    }
    unlink(path);
    memset(piece, 'x', sizeof(piece));
    for (uint64_t at = 0; at < size; at += PIECE) {
        if (pwrite(fd, piece, PIECE, (off_t)at) != PIECE) {
            bench_skip("the disk has no room for %llu MB", (unsigned long long)(size >> 20));
        }
    }
    return fd;
}

static thrum_io take_over(int fd) {
    /* By its path. A descriptor from thrum_file_adopt has the calls of files, too. */
    char path[64];
    thrum_io io;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bench_ok(thrum_file_open(&io, path, THRUM_FILE_READ, 0, THRUM_FOREVER));
    close(fd);
    return io;
}

/* ---- the page cache ---- */

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

/* ---- direct reads, many at a time ---- */

#define IN_FLIGHT 32
#define DIRECT_BYTES (64u << 20)

typedef struct direct {
    thrum_io io;
    unsigned reads;
    atomic_uint next;
    thrum_sem done;
    bench_span span;
} direct;

static direct d;

static off_t place_on_disk(unsigned i) {
    return (off_t)((i * 2654435761u) % (DIRECT_BYTES / PAGE)) * PAGE;
}

static char *pages(unsigned n) {
    char *memory = aligned_alloc(PAGE, (size_t)n * PAGE);
    bench_check(memory != NULL, "no memory");
    return memory;
}

static int reads_direct(void *arg) {
    char *page = pages(1);
    unsigned i;
    (void)arg;
    while ((i = atomic_fetch_add(&d.next, 1)) < d.reads) {
        int64_t n = thrum_file_pread(d.io, page, PAGE, place_on_disk(i), THRUM_FOREVER);
        bench_check(n == PAGE, "a read returned %d", (int)n);
    }
    free(page);
    thrum_sem_post(&d.done);
    return 0;
}

static int reads_all_direct(void *arg) {
    const int fd = *(int *)arg;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const unsigned flags = THRUM_FILE_READ | THRUM_FILE_DIRECT;
    if (thrum_file_open(&d.io, path, flags, 0, THRUM_FOREVER) != 0) {
        bench_skip("no direct reads of this file system");
    }
    bench_span_begin(&d.span, thrum_sched_current());
    for (int i = 0; i < IN_FLIGHT; i++) {
        bench_ok(thrum_go(reads_direct, NULL));
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        bench_ok(thrum_sem_wait(&d.done));
    }
    bench_span_end(&d.span);
    bench_ok(thrum_io_close(d.io));
    return 0;
}

static void run_direct(const bench_args *args, bench_sample *out) {
    int fd = make_file(DIRECT_BYTES);
    (void)fsync(fd);
    d.reads = bench_scale(args, 40000, 1000);
    atomic_store(&d.next, 0);
    thrum_sem_init(&d.done, 0);
    bench_inside(args, reads_all_direct, &fd);
    close(fd);
    out[0] = bench_span_per_op(&d.span, d.reads);
}

/* The baseline: one thread and a ring, with a call for all that it asks for at a time. */

typedef struct asked {
    uint8_t call, flags;
    uint16_t priority;
    int32_t fd;
    uint64_t offset, address;
    uint32_t size, call_flags;
    uint64_t key, reserved[3];
} asked;

enum { CALL_READ = 22, WAITS = 1 };

static void ask(th_os_ring *ring, int fd, char *page, unsigned i, uint64_t key) {
    const uint32_t tail = *ring->sq_tail;
    const uint32_t at = tail & ring->sq_mask;
    ((asked *)ring->sq_entries)[at] = (asked){.call = CALL_READ,
                                              .fd = fd,
                                              .offset = (uint64_t)place_on_disk(i),
                                              .address = (uintptr_t)page,
                                              .size = PAGE,
                                              .key = key};
    ring->sq_array[at] = at;
    __atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

static void read_by_ring(th_os_ring *ring, int fd, unsigned reads) {
    char *memory = pages(IN_FLIGHT);
    th_os_ring_end ends[IN_FLIGHT];
    unsigned begun = 0, done = 0, fresh = 0;
    for (; begun < IN_FLIGHT; begun++, fresh++) {
        ask(ring, fd, memory + begun * PAGE, begun, begun);
    }
    while (done < reads) {
        bench_check(syscall(SYS_io_uring_enter, ring->fd, fresh, 1, WAITS, NULL, 0) >= 0, "a call");
        const unsigned n = th_os_ring_take(ring, ends, IN_FLIGHT);
        fresh = 0;
        for (unsigned i = 0; i < n; i++) {
            bench_check(ends[i].result == PAGE, "a read returned %d", (int)ends[i].result);
            if (begun < reads) {
                ask(ring, fd, memory + ends[i].key * PAGE, begun++, ends[i].key);
                fresh++;
            }
        }
        done += n;
    }
    free(memory);
}

static void run_ring(const bench_args *args, bench_sample *out) {
    int fd = make_file(DIRECT_BYTES);
    char path[64];
    bench_span span;
    th_os_ring ring;
    const unsigned reads = bench_scale(args, 40000, 1000);
    (void)fsync(fd);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (file < 0 || th_os_ring_open(&ring, IN_FLIGHT) != 0) {
        bench_skip("no direct reads, or no io_uring, here");
    }
    bench_span_begin(&span, NULL);
    read_by_ring(&ring, file, reads);
    bench_span_end(&span);
    th_os_ring_close(&ring);
    close(file);
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
    for (int i = 0; i < NAPPERS; i++) {
        bench_ok(thrum_go(naps, &nappers[i]));
    }
}

static void end_naps(bench_histogram *all) {
    atomic_store(&b.stop, true);
    for (int i = 0; i < NAPPERS; i++) {
        bench_ok(thrum_sem_wait(&b.done));
    }
    for (int i = 0; i < NAPPERS; i++) {
        for (unsigned k = 0; k < BENCH_CLASSES; k++) {
            all->counts[k] += nappers[i].counts[k];
        }
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
    for (int i = 0; i < READERS; i++) {
        bench_ok(thrum_go(reads_on, NULL));
    }
    for (int i = 0; i < READERS; i++) {
        bench_ok(thrum_sem_wait(&b.done));
    }
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
     .workers_min = 1,
     .workers_same = true,
     .run = run_cached,
     .baseline = run_bare,
     .baseline_what = "pread"},
    {.what = "32 fibers read 4 KiB each, directly from the disk: once",
     .rows =
         {{.name = "file-direct", .unit = "ns", .must = BENCH_OF_BASELINE, .limit = {1.11, 1.11}}},
     .count = 1,
     .workers_min = 1,
     .run = run_direct,
     .baseline = run_ring,
     .baseline_what = "one thread, io_uring"},
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
