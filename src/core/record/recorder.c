/*
 * recorder.c: see recorder.h. Code in the handler of a crash takes no lock and no memory; it is
 * below "in a handler".
 */
#include "core/record/recorder.h"

#include <inttypes.h>
#include <string.h>

#include "core/record/trace_page.h"
#include "core/basis/config.h"
#include "core/state/worker.h"
#include "platform/platform.h"

#define SLOTS 16u   /* schedulers that have a file */
#define MODULES 64u /* files with code whose names a handler knows */
#define BYTES 16384u
#define STALLS_NS ((int64_t)10 * 1000000000)
#define PATIENCE_MS 200 /* how long a line waits for stderr */

static th_lock lock = TH_LOCK_INIT; /* protects the following, except the data that handlers read */
static int64_t stalls_at[SLOTS];    /* when a stall has had the file written */
static char bytes[BYTES];           /* a file that is being written */

/*
 * The schedulers that are recorded. A handler takes them out for good, since the process ends, so
 * that nothing that it reads is freed meanwhile.
 */
static thrum_sched *xslots[SLOTS];
static char paths[SLOTS][TH_RECORDER_PATH]; /* constant while the slot is taken */
static th_os_module modules[MODULES];       /* written before the handlers are there */
static unsigned modules_count;

#define TAKEN ((thrum_sched *)1) /* in a slot: a handler has taken it */

/* ---- the file ---- */

typedef struct file {
    int fd;
    bool failed;
    char part[TH_RECORDER_PATH + 32]; /* its name while it is written */
} file;

static void to_file(void *ctx, const char *piece, size_t length) {
    file *f = ctx;
    f->failed = f->failed || !th_os_record_write(f->fd, piece, length);
}

/*
 * Writes beside the name first: the file of an earlier occasion stays until this one is whole. The
 * temporary name belongs to one process and occasion: several may write at a time.
 */
static bool file_open(file *f, const char *path, const char *occasion) {
    th_plain name = {.bytes = f->part, .room = sizeof f->part};
    th_plain_put(&name, "%s.%d.%s", path, th_os_pid(), occasion);
    f->part[name.length] = '\0';
    f->failed = false;
    f->fd = th_os_record_open(f->part);
    return f->fd >= 0;
}

static bool file_close(file *f, const char *path) {
    return th_os_record_close(f->fd, f->part, f->failed ? NULL : path) && !f->failed;
}

/* A whole line; stderr may be a pipe that nobody reads, and then it is left out. */
static void to_stderr(void *ctx, const char *piece, size_t length) {
    static uint32_t xunread; /* 1: it has waited for nothing, so it does not wait again */
    (void)ctx;
    /* relaxed: only for how long it waits */
    const bool takes = th_os_stderr_waits(th_load_relaxed(&xunread) ? 0 : PATIENCE_MS);
    th_store_relaxed(&xunread, takes ? 0u : 1u); /* relaxed: likewise */
    if (takes) {
        th_os_stderr(piece, length);
    }
}

static void say(const thrum_sched *sched, const char *path, bool written) {
    char line[256];
    th_plain out = {.take = to_stderr, .bytes = line, .room = sizeof line};
    th_plain_put(&out, "thrum: the latest of scheduler ");
    th_plain_quoted(&out, sched->name);
    th_plain_put(&out, written ? " is in %s\n" : " cannot be written to %s\n", path);
    th_plain_flush(&out);
}

/* ---- on a thread ---- */

int th_recorder_print(thrum_sched *sched, th_plain *out) {
    th_trace_copy copy;
    th_code_names names;
    int code = th_trace_read(sched, &copy);
    if (code) {
        return code;
    }
    th_code_names_begin(&names, sched);
    th_trace_page page = {.out = out, .sched = sched, .trace = &copy, .names = &names};
    th_trace_page_begin(&page);
    for (unsigned i = 0; i < copy.count; i++) {
        th_trace_page_buffer(&page, &copy.buffers[i]);
    }
    th_trace_page_end(&page);
    th_code_names_end(&names);
    th_trace_forget(sched, &copy);
    return 0;
}

/* The scheduler's slot, or SLOTS. */
static unsigned slot_of(const thrum_sched *sched) {
    unsigned i = 0;
    /*
     * relaxed: only its own thread, or a thread joined before the slot is given up, searches for
     * it
     */
    while (i < SLOTS && th_load_relaxed(&xslots[i]) != sched) {
        i++;
    }
    return i;
}

/* With the lock. */
static void write_slot(thrum_sched *sched, unsigned slot) {
    file f;
    th_plain out = {.take = to_file, .ctx = &f, .bytes = bytes, .room = sizeof bytes};
    bool written = file_open(&f, paths[slot], "part");
    if (written) {
        f.failed = th_recorder_print(sched, &out) != 0 || f.failed;
        /* relaxed: a crash meanwhile has taken the slot, and its file is the one to keep */
        f.failed = f.failed || th_load_relaxed(&xslots[slot]) != sched;
        written = file_close(&f, paths[slot]);
    }
    say(sched, paths[slot], written);
}

void th_recorder_write(thrum_sched *sched) {
    const unsigned slot = slot_of(sched);
    if (slot < SLOTS) {
        TH_LOCKED(&lock);
        write_slot(sched, slot);
    }
}

void th_recorder_write_stall(thrum_sched *sched) {
    const unsigned slot = slot_of(sched);
    if (slot == SLOTS) {
        return;
    }
    TH_LOCKED(&lock);
    const int64_t now = th_os_now();
    if (!stalls_at[slot] || now - stalls_at[slot] >= STALLS_NS) {
        stalls_at[slot] = now;
        write_slot(sched, slot);
    }
}

/* ---- in a handler ---- */

/* The marks of a worker in place: `marks` is NULL, `count` of them before the tail. */
static void in_place(const th_worker *worker, th_trace_buffer_copy *out) {
    /* pairs: th_trace_give_buffer; publishes the trace buffer */
    const th_trace_buffer *buffer = th_load_acquire(&worker->xtrace_buffer);
    *out =
        (th_trace_buffer_copy){.worker = worker->index, .bound = worker->bound, .buffer = buffer};
    if (buffer) {
        const uint64_t tail = th_trace_ring_tail(&buffer->ring);
        const uint64_t first = th_trace_first(buffer, tail);
        out->count = tail - first;
        out->dropped = first - buffer->base;
    }
}

/* The marks are read in place: other threads may go on meanwhile. */
static void print_raw(thrum_sched *sched, th_plain *out) {
    const th_trace *trace = &sched->trace;
    th_trace_copy copy = {.number = trace->number,
                          .since = trace->since,
                          .until = trace->on ? th_os_ticks() : trace->until,
                          .since_ns = trace->since_ns,
                          .untraced = trace->untraced};
    th_trace_page page = {.out = out,
                          .sched = sched,
                          .trace = &copy,
                          .modules = modules,
                          .modules_count = modules_count};
    th_trace_page_begin(&page);
    for (unsigned i = 0; i < th_trace_records(sched); i++) {
        const th_worker *worker = th_trace_record(sched, i);
        if (worker) {
            th_trace_buffer_copy buffer;
            in_place(worker, &buffer);
            th_trace_page_buffer(&page, &buffer);
        }
    }
    th_trace_page_end(&page);
}

/* "SIGSEGV at 0x10 on worker 2: fiber 7.1 "reader" (server+0x1234)" */
static TH_NO_TSAN void tell_fiber(th_plain *out) {
    const th_worker *worker = th_here();
    const th_fiber *fiber = worker ? th_running_on(worker) : NULL;
    char text[TH_CALL_TEXT];
    if (!worker) {
        th_plain_put(out, " on a thread of the program's own");
        return;
    }
    th_plain_put(out, " on %s %u", worker->bound ? "bound thread" : "worker", worker->index);
    if (!fiber) {
        th_plain_put(out, ": no task runs");
        return;
    }
    th_plain_put(out, ": fiber %u.%u", (unsigned)(fiber->run_id >> 32), (unsigned)fiber->run_id);
    if (fiber->name[0]) {
        th_plain_put(out, " ");
        th_plain_quoted(out, fiber->name);
    }
    if (th_fiber_function(fiber)) {
        th_trace_page page = {.modules = modules, .modules_count = modules_count};
        th_plain_put(out, " (%s)", th_trace_page_function(&page, th_fiber_function(fiber), text));
    }
}

static void tell_crash(const char *signal, const uintptr_t *address) {
    char line[256];
    th_plain out = {.take = to_stderr, .bytes = line, .room = sizeof line};
    th_plain_put(&out, "thrum: %s", signal);
    if (address) {
        th_plain_put(&out, " at 0x%" PRIxPTR, *address);
    }
    tell_fiber(&out);
    th_plain_put(&out, "\n");
    th_plain_flush(&out);
}

/* On whichever thread has crashed; once in a process. */
static void on_crash(const char *signal, const uintptr_t *address) {
    static char room[BYTES];
    static file f;
    bool told = false;
    for (unsigned i = 0; i < SLOTS; i++) {
        /* pairs: th_recorder_begin; the scheduler, its trace and its path */
        thrum_sched *sched = th_xchg_acquire(&xslots[i], TAKEN);
        if (!sched) {
            continue;
        }
        if (!told) {
            tell_crash(signal, address);
            told = true;
        }
        th_plain out = {.take = to_file, .ctx = &f, .bytes = room, .room = sizeof room};
        bool written = file_open(&f, paths[i], "crash");
        if (written) {
            print_raw(sched, &out);
            written = file_close(&f, paths[i]);
        }
        say(sched, paths[i], written);
    }
}

/* ---- beginning and end ---- */

static void set_path(const thrum_sched *sched, unsigned slot) {
    th_plain out = {.bytes = paths[slot],
                    .room = TH_RECORDER_PATH}; /* never full: config_check.c */
    const char *path = sched->config.trace_file;
    if (path) {
        th_plain_put(&out, "%s", path);
    } else {
        th_plain_put(&out, "thrum-%d", th_os_pid());
    }
    if (slot) {
        th_plain_put(&out, path ? ".%u" : "-%u", slot + 1);
    }
    th_plain_put(&out, "%s", path ? "" : ".trace.json");
    paths[slot][out.length] = '\0';
}

/* With the lock. */
static void take_slot(thrum_sched *sched) {
    unsigned i = slot_of(NULL);
    if (i < SLOTS) {
        set_path(sched, i);
        stalls_at[i] = 0;
        /* pairs: on_crash; the scheduler, its trace and its path */
        th_store_release(&xslots[i], sched);
    }
}

/* THRUM_TRACE is no reason to refuse to start: prints one line, and makes no recorder. */
static int do_without(thrum_sched *sched) {
    char line[256];
    th_plain out = {.take = to_stderr, .bytes = line, .room = sizeof line};
    th_plain_put(&out, "thrum: THRUM_TRACE: no memory to record scheduler ");
    th_plain_quoted(&out, sched->name);
    th_plain_put(&out, "\n");
    th_plain_flush(&out);
    sched->config.trace = false;
    sched->config.trace_file = NULL; /* belongs to the caller */
    return 0;
}

int th_recorder_begin(thrum_sched *sched) {
    if (!sched->config.trace) {
        return 0;
    }
    int code = th_trace_start(sched, TH_RECORDER_EVENTS, true);
    if (code) {
        return th_config_env_trace() ? do_without(sched) : code;
    }
    th_lock_acquire(&lock);
    if (!modules_count) {
        modules_count = th_os_modules(modules, MODULES);
    }
    take_slot(sched);
    th_lock_release(&lock);
    sched->config.trace_file = NULL; /* belongs to the caller */
    th_os_crash_catch(on_crash);
    return 0;
}

void th_recorder_end(thrum_sched *sched) {
    if (!sched->config.trace) {
        return;
    }
    uint32_t never = 0;
    th_lock_acquire(&lock);
    const unsigned slot = slot_of(sched);
    thrum_sched *present = sched;
    /* relaxed: nothing is published; handlers that see NULL do not touch the scheduler */
    bool gone = slot < SLOTS && th_cas_relaxed(&xslots[slot], &present, (thrum_sched *)NULL);
    bool crashed = !gone && slot_of(TAKEN) < SLOTS;
    th_lock_release(&lock);
    while (crashed) { /* the process is ending: nothing being printed may be freed */
        (void)th_os_futex_wait(&never, 0, TH_FOREVER);
    }
}

void th_recorder_in_child(void) {
    th_lock_init(&lock);
    for (unsigned i = 0; i < SLOTS; i++) {
        th_store_relaxed(&xslots[i], (thrum_sched *)NULL); /* relaxed: this thread is alone */
    }
    th_os_crash_in_child();
}
