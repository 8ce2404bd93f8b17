/*
 * trace_page.h: words a trace in the Trace Event Format, buffer by buffer. It takes no memory and
 * no lock except for the names, so that a signal handler may do it without them (recorder.c).
 */
#ifndef TH_TRACE_PAGE_H
#define TH_TRACE_PAGE_H

#include "base/plain.h"
#include "core/inspect/code_names.h"
#include "core/record/trace_control.h"

/* The state of writing one trace. */
typedef struct th_trace_page {
    th_plain *out;
    thrum_sched *sched;
    const th_trace_copy *trace; /* its buffers are not read, except those handed over */
    /* The source of function names; NULL: `modules`, as "file+0x12". */
    th_code_names *names;
    const th_os_module *modules;
    unsigned modules_count;
    /* The rest is the page's own. */
    uint64_t ns_per_tick; /* 32.32 fixed point: one rate for all events, since in the first
                           * milliseconds of a program it is still being measured (clock.c) */
    const char *before;   /* the text between the next event and the previous one */
    unsigned buffer;      /* the number that is written as `tid` */
    uint64_t dropped;     /* events that newer ones took the place of */
} th_trace_page;

/* In this order: the beginning, each buffer, the end, which flushes `out`. */
void th_trace_page_begin(th_trace_page *page);
/*
 * The marks of a buffer: the copied ones or, if `marks` is NULL, the `count` marks in place before
 * the ring's tail, as far as they are not overwritten.
 */
void th_trace_page_buffer(th_trace_page *page, const th_trace_buffer_copy *buffer);
void th_trace_page_end(th_trace_page *page);

/* The name of an address, from `names` or `modules`: in `text`, or kept by `names`. */
const char *th_trace_page_function(th_trace_page *page, uintptr_t fn, char text[TH_CALL_TEXT]);

#endif
