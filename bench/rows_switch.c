/*
 * rows_switch.c: the context switch alone, without a scheduler.
 *
 * Two contexts on two stacks go back and forth; one operation is one switch.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <ucontext.h>

#include "harness.h"
#include "platform/context/context.h"

#define STACK_SIZE (64 * 1024)

static uint64_t seen; /* switches that arrived on the other stack */

/* ---- thrum's ---- */

static th_context here;
static th_context there;

static void bounce(void *arg) {
    (void)arg;
    for (;;) {
        seen++;
        th_context_jump(&there, &here);
    }
}

static void run_switch(const bench_args *args, bench_sample *out) {
    unsigned rounds = bench_scale(args, 10000000, 500000);
    char *stack = malloc(STACK_SIZE);
    bench_check(stack != NULL, "no memory");
    th_context_make(&there, stack, stack + STACK_SIZE, bounce, NULL);
    th_context_jump(&here, &there);
    seen = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        th_context_jump(&here, &there);
    }
    bench_span_end(&span);
    bench_check(seen == rounds, "%u switches did not arrive", rounds - (unsigned)seen);
    out[0] = bench_span_per_op(&span, 2 * (uint64_t)rounds);
    free(stack);
}

/* ---- the C library's ---- */

static ucontext_t uhere;
static ucontext_t uthere;

static void ubounce(void) {
    for (;;) {
        seen++;
        swapcontext(&uthere, &uhere);
    }
}

static void run_ucontext(const bench_args *args, bench_sample *out) {
    unsigned rounds = bench_scale(args, 500000, 50000);
    char *stack = malloc(STACK_SIZE);
    bench_check(stack != NULL, "no memory");
    bench_ok(getcontext(&uthere));
    uthere.uc_stack.ss_sp = stack;
    uthere.uc_stack.ss_size = STACK_SIZE;
    uthere.uc_link = NULL;
    makecontext(&uthere, ubounce, 0);
    seen = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        swapcontext(&uhere, &uthere);
    }
    bench_span_end(&span);
    bench_check(seen == rounds, "switches did not arrive");
    out[0] = bench_span_per_op(&span, 2 * (uint64_t)rounds);
    free(stack);
}

static const bench_case cases[] = {
    {.what = "one switch between two stacks",
     .rows = {{.name = "switch", .unit = "ns/op", .must = BENCH_SCALED, .limit = {4.3, 4.3}}},
     .count = 1,
     .workers_min = 1,
     .workers_same = true,
     .run = run_switch,
     .baseline = run_ucontext,
     .baseline_what = "swapcontext"},
};

const bench_theme bench_switch = {cases, sizeof(cases) / sizeof(cases[0])};
