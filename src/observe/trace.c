/*
 * trace.c: thrum_trace_*: turns tracing on and off, and writes traces in the Trace Event Format
 * (core/record/trace_page.h).
 */
#include "thrum/trace.h"

#include <errno.h>
#include <stdio.h>

#include "core/record/recorder.h"
#include "core/record/trace_control.h"
#include "core/ready/external.h"
#include "core/state/worker.h"

static void to_stream(void *ctx, const char *bytes, size_t length) {
    (void)fwrite(bytes, 1, length, ctx); /* thrum_trace_write checks the stream at the end */
}

/* ---- the calls ---- */

/*
 * Whether the scheduler is not stopped, and not the parent's in a forked process, where another
 * thread may have held its lock.
 */
static bool is_usable(const thrum_sched *sched) {
    return th_external_is_live(sched) && !sched->abandoned;
}

int thrum_trace_start(thrum_sched *sched, size_t events_per_worker) {
    if (!sched) {
        return -EINVAL;
    }
    if (!is_usable(sched)) {
        return -ESHUTDOWN;
    }
    return th_trace_start(sched, events_per_worker ? events_per_worker : TH_RECORDER_EVENTS, false);
}

int thrum_trace_stop(thrum_sched *sched) {
    if (!sched) {
        return -EINVAL;
    }
    return is_usable(sched) ? th_trace_stop(sched) : -ESHUTDOWN;
}

int thrum_trace_write(thrum_sched *sched, FILE *out) {
    if (!sched || !out) {
        return -EINVAL;
    }
    if (!is_usable(sched)) {
        return -ESHUTDOWN;
    }
    char bytes[512];
    th_plain text = {.take = to_stream, .ctx = out, .bytes = bytes, .room = sizeof bytes};
    int code = th_recorder_print(sched, &text);
    if (code) {
        return code;
    }
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
