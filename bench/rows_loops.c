/*
 * rows_loops.c: loops over ranges, and a graph. Each row checks its result; its baseline is the
 * same work done serially by a plain thread.
 */
#include <stdlib.h>
#include <string.h>

#include "rows_parallel.h"

/* ---- loops ---- */

#define ELEMENTS 10000000

static float *loop_numbers;
static size_t loop_count;

static void light(size_t begin, size_t end, void *ctx) {
    float *numbers = ctx;
    for (size_t i = begin; i < end; i++) {
        numbers[i] = numbers[i] * 0.5f + 1.0f;
    }
}

static void light_prepare(const bench_args *args) {
    loop_count = bench_scale(args, ELEMENTS, 1000);
    loop_numbers = malloc(loop_count * sizeof(*loop_numbers));
    bench_check(loop_numbers != NULL, "no memory");
    for (size_t i = 0; i < loop_count; i++) {
        loop_numbers[i] = 4.0f; /* then 3, then 2.5: exact */
    }
}

static void light_parallel(void) {
    bench_ok(thrum_parallel_for(0, loop_count, 0, light, loop_numbers));
}

static void light_serially(void) {
    light(0, loop_count, loop_numbers);
}

static void light_check(void) {
    for (size_t i = 0; i < loop_count; i++) {
        bench_check(loop_numbers[i] == 2.5f, "element %zu was not done twice", i);
    }
    free(loop_numbers);
}

static work light_work = {light_prepare, light_parallel, light_serially, light_check, 1, 1, true};

/* An element of the first hundredth takes a hundred times as long as one of the rest. */
static uint32_t *skewed_out;

static void skewed(size_t begin, size_t end, void *ctx) {
    uint32_t *out = ctx;
    for (size_t i = begin; i < end; i++) {
        uint32_t x = (uint32_t)i | 1;
        unsigned rounds = i < loop_count / 100 ? 400 : 4;
        for (unsigned j = 0; j < rounds; j++) {
            x = x * 1664525u + 1013904223u;
        }
        out[i] = x;
    }
}

static void skewed_prepare(const bench_args *args) {
    loop_count = bench_scale(args, ELEMENTS, 1000);
    skewed_out = calloc(loop_count, sizeof(*skewed_out));
    bench_check(skewed_out != NULL, "no memory");
    memset(skewed_out, 1, loop_count * sizeof(*skewed_out)); /* touched, before the clock runs */
}

static void skewed_parallel(void) {
    bench_ok(thrum_parallel_for(0, loop_count, 0, skewed, skewed_out));
}

static void skewed_serially(void) {
    skewed(0, loop_count, skewed_out);
}

static void skewed_check(void) {
    uint32_t *expected = malloc(loop_count * sizeof(*expected));
    bench_check(expected != NULL, "no memory");
    skewed(0, loop_count, expected);
    bench_check(memcmp(expected, skewed_out, loop_count * sizeof(*expected)) == 0,
                "an element is wrong");
    free(expected);
    free(skewed_out);
}

static work skewed_work = {
    skewed_prepare, skewed_parallel, skewed_serially, skewed_check, 1, 0, true};

/* ---- a graph ---- */

#define CHAIN 1000000

static thrum_dag *chain;
static int chain_nodes;
static int chain_at;
static bool chain_broken;

static int chain_node(void *arg) {
    int number = (int)(intptr_t)arg;
    chain_broken |= chain_at != number;
    chain_at = number + 1;
    return 0;
}

static work chain_work;

static void chain_prepare(const bench_args *args) {
    chain_nodes = (int)bench_scale(args, CHAIN, 1000);
    chain_work.ops = (uint64_t)chain_nodes;
    bench_ok(thrum_dag_create(&chain));
    for (int i = 0; i < chain_nodes; i++) {
        bench_check(thrum_dag_node(chain, chain_node, (void *)(intptr_t)i) == i, "no node");
        if (i > 0) {
            bench_ok(thrum_dag_edge(chain, i - 1, i));
        }
    }
}

static void chain_run(void) {
    chain_at = 0;
    bench_ok(thrum_dag_run(chain));
}

static void chain_check(void) {
    bench_check(chain_at == chain_nodes && !chain_broken, "the chain was not run in order");
    bench_ok(thrum_dag_destroy(chain));
}

static work chain_work = {chain_prepare, chain_run, chain_run, chain_check, 0, 1, false};

/* ---- the table ---- */

ROW(light)
ROW(skewed)
ROW(chain)

static const bench_case cases[] = {
    {.what = "parallel_for over 10^7 elements, a multiplication each",
     .rows = {{.name = "for-light", .unit = "ms"}},
     .count = 1,
     .workers_min = 1,
     .run = run_light,
     .baseline = serial_light,
     .baseline_what = "a loop"},
    {.what = "the same, the first hundredth a hundred times as long",
     .rows = {{.name = "for-skewed", .unit = "ms"}},
     .count = 1,
     .workers_min = 1,
     .run = run_skewed,
     .baseline = serial_skewed,
     .baseline_what = "a loop"},
    {.what = "a graph that is a chain of a million nodes, per node",
     .rows = {{.name = "dag-chain", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_chain,
     .baseline = serial_chain,
     .baseline_what = "a plain thread runs the graph"},
};

const bench_theme bench_loops = {cases, sizeof(cases) / sizeof(cases[0])};
