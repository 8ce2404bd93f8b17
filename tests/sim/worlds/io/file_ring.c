/*
 * file_ring.c: transfers of files that the system makes without a thread (src/file/README.md, F1 to
 * F4, F9): ends that come late or never, against the caller's deadline, a close, and the stop.
 */
#include <errno.h>

#include <thrum/file.h>

#include "base/atomic.h"
#include "crew.h"
#include "file/pool.h"
#include "file/ring.h"
#include "io/record.h"
#include "platform/sim/outside.h"
#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

static thrum_io io;
static unsigned descriptors;
static uint32_t xended; /* tasks */

static void check_bytes(const char bytes[2], int64_t n) {
    sim_check(n == 2);
    sim_check(bytes[0] == 'f' && bytes[1] == 'f');
}

static int reads(void *unused) {
    char bytes[2] = "--";
    (void)unused;
    const int64_t n = thrum_file_pread(io, bytes, 2, 0, THRUM_FOREVER);
    if (n != -EBADF && n != -ENOMEM && n != -EAGAIN) {
        check_bytes(bytes, n);
    }
    th_add_relaxed(&xended, 1u);
    return 0;
}

/* Memory of a caller that has gone is not touched: the stack is used for something else. */
static int reads_until_soon(void *unused) {
    char bytes[2] = "--";
    (void)unused;
    const int64_t n = thrum_file_pread(io, bytes, 2, 0, thrum_now() + SOON);
    if (n == -ETIMEDOUT) {
        sim_check(bytes[0] == '-' && bytes[1] == '-');
    } else if (n != -EBADF && n != -ENOMEM && n != -EAGAIN) {
        check_bytes(bytes, n);
    }
    crew_scrub();
    th_add_relaxed(&xended, 1u);
    return 0;
}

static int writes_until_soon(void *unused) {
    char bytes[2] = "ww";
    (void)unused;
    const int64_t n = thrum_file_pwrite(io, bytes, 2, 0, thrum_now() + SOON);
    sim_check(n == 2 || n == -ETIMEDOUT || n == -EBADF || n == -ENOMEM || n == -EAGAIN);
    bytes[0] = bytes[1] = '-';
    crew_scrub();
    th_add_relaxed(&xended, 1u);
    return 0;
}

static int closes(void *unused) {
    (void)unused;
    sim_check(thrum_io_close(io) == 0);
    th_add_relaxed(&xended, 1u);
    return 0;
}

/* Two tasks beside each other, then the stop; nothing stays, even if some were given up. */
static void play(unsigned workers, thrum_fn first, thrum_fn second) {
    const thrum_config config = whole_config(workers);
    descriptors = sim_descriptors();
    th_store_relaxed(&xended, 0u);
    sim_check(th_record_adopt_file(&io, sim_regular(), NULL, TH_FILE_TRIES) == 0);
    thrum_sched *sched = whole_start(&config);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, first, NULL) == 0);
    sim_check(thrum_go_with(&attr, second, NULL) == 0);
    whole_stop(sched);
    sim_check(th_load_relaxed(&xended) == 2);
    if (first != closes && second != closes) {
        sim_check(thrum_io_close(io) == 0);
    }
    th_jobs_figures figures;
    do { /* threads that empty rings, and end jobs, are nobody's; they linger for five seconds */
        sim_check(thrum_sleep(THRUM_S(6)) == 0);
        th_jobs_read(&th_file_jobs, &figures);
    } while (figures.threads || figures.begun || th_rings_open());
    sim_check(sim_descriptors() == descriptors);
}

SIM_WORLD(file_ring_reads, .keeps_memory = true) {
    play(2, reads, reads);
}

SIM_WORLD(file_ring_given_up, .keeps_memory = true) {
    play(2, reads_until_soon, writes_until_soon);
}

SIM_WORLD(file_ring_given_up_1, .keeps_memory = true) {
    play(1, reads_until_soon, reads);
}

SIM_WORLD(file_ring_closed, .keeps_memory = true) {
    play(2, reads_until_soon, closes);
}
