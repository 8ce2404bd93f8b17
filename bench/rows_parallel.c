/*
 * rows_parallel.c: calls that fork half of their work. Each row checks its result; its baseline is
 * the same work done serially by a plain thread.
 */
#include <stdlib.h>
#include <string.h>

#include "rows_parallel.h"

/* Keeps the compiler from looking into a call. */
#define OPAQUE __attribute__((noinline))

/* ---- fib ---- */

#define FIB 35

typedef struct fib_call {
    unsigned n;
    uint64_t result;
} fib_call;

static fib_call fib_top;
static unsigned fib_n;

static OPAQUE int fib(void *arg) {
    fib_call *call = arg;
    if (call->n < 2) {
        call->result = call->n;
        return 0;
    }
    fib_call first = {call->n - 1, 0};
    fib_call second = {call->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, fib, &first);
    fib(&second);
    thrum_fork_join(&fork);
    call->result = first.result + second.result;
    return 0;
}

static OPAQUE int fib_serial(void *arg) {
    fib_call *call = arg;
    if (call->n < 2) {
        call->result = call->n;
        return 0;
    }
    fib_call first = {call->n - 1, 0};
    fib_call second = {call->n - 2, 0};
    fib_serial(&first);
    fib_serial(&second);
    call->result = first.result + second.result;
    return 0;
}

static uint64_t fib_value(unsigned n, uint64_t a, uint64_t b) {
    return n == 0 ? a : fib_value(n - 1, b, a + b);
}

static work fib_work;

static void fib_prepare(const bench_args *args) {
    fib_n = args->divide > 1 ? FIB - 6 : FIB;
    fib_work.ops = 2 * fib_value(fib_n + 1, 0, 1) - 1; /* calls of fib */
}

static void fib_parallel(void) {
    fib_top = (fib_call){fib_n, 0};
    fib(&fib_top);
}

static void fib_serially(void) {
    fib_top = (fib_call){fib_n, 0};
    fib_serial(&fib_top);
}

static void fib_check(void) {
    bench_check(fib_top.result == fib_value(fib_n, 0, 1), "fib(%u) is wrong", fib_n);
}

static work fib_work = {fib_prepare, fib_parallel, fib_serially, fib_check, 0, 1, false};

/* ---- skynet ---- */

#define SKYNET 1000000

typedef struct sky {
    uint64_t number;
    uint64_t leaves;
    uint64_t sum;
} sky;

static sky sky_top;
static uint64_t sky_leaves;

static OPAQUE int skynet(void *arg) {
    sky *s = arg;
    if (s->leaves == 1) {
        s->sum = s->number;
        return 0;
    }
    sky children[10];
    thrum_fork forks[9];
    for (unsigned i = 0; i < 10; i++) {
        children[i] = (sky){s->number + i * (s->leaves / 10), s->leaves / 10, 0};
    }
    for (unsigned i = 0; i < 9; i++) {
        thrum_fork_start(&forks[i], skynet, &children[i]);
    }
    skynet(&children[9]);
    s->sum = children[9].sum;
    for (unsigned i = 9; i-- > 0;) {
        thrum_fork_join(&forks[i]);
        s->sum += children[i].sum;
    }
    return 0;
}

static OPAQUE int skynet_serial(void *arg) {
    sky *s = arg;
    if (s->leaves == 1) {
        s->sum = s->number;
        return 0;
    }
    s->sum = 0;
    for (unsigned i = 0; i < 10; i++) {
        sky child = {s->number + i * (s->leaves / 10), s->leaves / 10, 0};
        skynet_serial(&child);
        s->sum += child.sum;
    }
    return 0;
}

static work skynet_work;

static void skynet_prepare(const bench_args *args) {
    sky_leaves = args->divide > 1 ? SKYNET / 10 : SKYNET;
    skynet_work.ops = sky_leaves;
}

static void skynet_parallel(void) {
    sky_top = (sky){0, sky_leaves, 0};
    skynet(&sky_top);
}

static void skynet_serially(void) {
    sky_top = (sky){0, sky_leaves, 0};
    skynet_serial(&sky_top);
}

static void skynet_check(void) {
    bench_check(sky_top.sum == sky_leaves * (sky_leaves - 1) / 2, "the sum is wrong");
}

static work skynet_work = {
    skynet_prepare, skynet_parallel, skynet_serially, skynet_check, 0, 2, true};

/* ---- nqueens ---- */

#define QUEENS 12

typedef struct board {
    unsigned row;
    unsigned columns;
    unsigned left;
    unsigned right;
} board;

static const int solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200};
static unsigned queens;
static int queens_found;

static board board_next(const board *b, unsigned place) {
    return (board){b->row + 1, b->columns | place, (b->left | place) << 1, (b->right | place) >> 1};
}

static unsigned board_free(const board *b) {
    return ~(b->columns | b->left | b->right) & ((1u << queens) - 1);
}

static OPAQUE int nqueens(void *arg) {
    const board *b = arg;
    if (b->row == queens) {
        return 1;
    }
    board next[QUEENS];
    thrum_fork forks[QUEENS];
    int n = 0;
    for (unsigned places = board_free(b); places != 0; places &= places - 1) {
        next[n] = board_next(b, places & -places);
        thrum_fork_start(&forks[n], nqueens, &next[n]);
        n++;
    }
    int sum = 0;
    while (n > 0) {
        sum += thrum_fork_join(&forks[--n]);
    }
    return sum;
}

static OPAQUE int nqueens_serial(void *arg) {
    const board *b = arg;
    if (b->row == queens) {
        return 1;
    }
    int sum = 0;
    for (unsigned places = board_free(b); places != 0; places &= places - 1) {
        board next = board_next(b, places & -places);
        sum += nqueens_serial(&next);
    }
    return sum;
}

static void queens_prepare(const bench_args *args) {
    queens = args->divide > 1 ? QUEENS - 2 : QUEENS;
}

static void queens_parallel(void) {
    board empty = {0, 0, 0, 0};
    queens_found = nqueens(&empty);
}

static void queens_serially(void) {
    board empty = {0, 0, 0, 0};
    queens_found = nqueens_serial(&empty);
}

static void queens_check(void) {
    bench_check(queens_found == solutions[queens], "%d solutions", queens_found);
}

static work queens_work = {
    queens_prepare, queens_parallel, queens_serially, queens_check, 1, 1, true};

/* ---- merge sort ---- */

#define SORT 10000000
#define SORT_SERIAL 32
#define MERGE_SERIAL 4096

static uint32_t *sort_numbers;
static uint32_t *sort_spare;
static size_t sort_count;
static uint64_t sort_sum;

typedef struct merge_job {
    const uint32_t *a;
    size_t a_count;
    const uint32_t *b;
    size_t b_count;
    uint32_t *out;
} merge_job;

static void merge_serially(const merge_job *m) {
    const uint32_t *a = m->a;
    const uint32_t *b = m->b;
    const uint32_t *a_end = a + m->a_count;
    const uint32_t *b_end = b + m->b_count;
    uint32_t *out = m->out;
    while (a < a_end && b < b_end) {
        bool second = *b < *a;
        *out++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

static size_t below(const uint32_t *numbers, size_t count, uint32_t pivot) {
    size_t first = 0;
    while (count > 0) {
        size_t half = count / 2;
        bool right = numbers[first + half] < pivot;
        first += right ? half + 1 : 0;
        count = right ? count - half - 1 : half;
    }
    return first;
}

static int merge(void *arg) {
    merge_job m = *(merge_job *)arg;
    if (m.a_count + m.b_count <= MERGE_SERIAL) {
        merge_serially(&m);
        return 0;
    }
    if (m.a_count < m.b_count) {
        m = (merge_job){m.b, m.b_count, m.a, m.a_count, m.out};
    }
    size_t a_cut = m.a_count / 2;
    size_t b_cut = below(m.b, m.b_count, m.a[a_cut]);
    merge_job lower = {m.a, a_cut, m.b, b_cut, m.out};
    merge_job upper = {m.a + a_cut, m.a_count - a_cut, m.b + b_cut, m.b_count - b_cut,
                       m.out + a_cut + b_cut};
    thrum_fork fork;
    thrum_fork_start(&fork, merge, &upper);
    merge(&lower);
    return thrum_fork_join(&fork);
}

typedef struct sort_job {
    uint32_t *numbers;
    uint32_t *spare;
    size_t count;
    bool into_spare;
} sort_job;

static void sort_few(const sort_job *s) {
    uint32_t *numbers = s->numbers;
    for (size_t i = 1; i < s->count; i++) {
        uint32_t moving = numbers[i];
        size_t at = i;
        for (; at > 0 && moving < numbers[at - 1]; at--) {
            numbers[at] = numbers[at - 1];
        }
        numbers[at] = moving;
    }
    if (s->into_spare) {
        memcpy(s->spare, numbers, s->count * sizeof(*numbers));
    }
}

static merge_job merge_of(const sort_job *s) {
    size_t half = s->count / 2;
    const uint32_t *from = s->into_spare ? s->numbers : s->spare;
    uint32_t *to = s->into_spare ? s->spare : s->numbers;
    return (merge_job){from, half, from + half, s->count - half, to};
}

static sort_job half_of(const sort_job *s, bool upper) {
    size_t half = s->count / 2;
    size_t at = upper ? half : 0;
    return (sort_job){s->numbers + at, s->spare + at, upper ? s->count - half : half,
                      !s->into_spare};
}

static int sort(void *arg) {
    const sort_job *s = arg;
    if (s->count <= SORT_SERIAL) {
        sort_few(s);
        return 0;
    }
    sort_job lower = half_of(s, false);
    sort_job upper = half_of(s, true);
    thrum_fork fork;
    thrum_fork_start(&fork, sort, &upper);
    sort(&lower);
    thrum_fork_join(&fork);
    merge_job m = merge_of(s);
    return merge(&m);
}

static void sort_serial(const sort_job *s) {
    if (s->count <= SORT_SERIAL) {
        sort_few(s);
        return;
    }
    sort_job lower = half_of(s, false);
    sort_job upper = half_of(s, true);
    sort_serial(&lower);
    sort_serial(&upper);
    merge_job m = merge_of(s);
    merge_serially(&m);
}

static void sort_prepare(const bench_args *args) {
    sort_count = bench_scale(args, SORT, 1000);
    sort_numbers = malloc(sort_count * sizeof(*sort_numbers));
    sort_spare = malloc(sort_count * sizeof(*sort_spare));
    bench_check(sort_numbers && sort_spare, "no memory");
    uint64_t state = 88172645463325252u;
    sort_sum = 0;
    for (size_t i = 0; i < sort_count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sort_numbers[i] = (uint32_t)state;
        sort_sum += sort_numbers[i];
    }
    memset(sort_spare, 0, sort_count * sizeof(*sort_spare)); /* touched, before the clock runs */
}

static void sort_parallel(void) {
    sort_job all = {sort_numbers, sort_spare, sort_count, false};
    sort(&all);
}

static void sort_serially(void) {
    sort_job all = {sort_numbers, sort_spare, sort_count, false};
    sort_serial(&all);
}

static void sort_check(void) {
    uint64_t sum = sort_numbers[0];
    for (size_t i = 1; i < sort_count; i++) {
        bench_check(sort_numbers[i - 1] <= sort_numbers[i], "not sorted at %zu", i);
        sum += sort_numbers[i];
    }
    bench_check(sum == sort_sum, "numbers were lost");
    free(sort_numbers);
    free(sort_spare);
}

static work sort_work = {sort_prepare, sort_parallel, sort_serially, sort_check, 1, 0, true};

/* ---- the table ---- */

ROW(fib)
ROW(skynet)
ROW(queens)
ROW(sort)

static const bench_case cases[] = {
    {.what = "fork and join: fib(35), per call",
     .rows = {{.name = "fib", .unit = "ns/op", .must = BENCH_SCALED, .limit = {6, 3.5}}},
     .count = 1,
     .workers_min = 1,
     .run = run_fib,
     .baseline = serial_fib,
     .baseline_what = "calls"},
    {.what = "a million leaves, ten-ary, over fork and join",
     .rows = {{.name = "skynet-join", .unit = "ms", .must = BENCH_SCALED, .limit = {0, 6}}},
     .count = 1,
     .workers_min = 1,
     .run = run_skynet,
     .baseline = serial_skynet,
     .baseline_what = "calls"},
    {.what = "twelve queens, a fork each",
     .rows = {{.name = "nqueens", .unit = "ms"}},
     .count = 1,
     .workers_min = 1,
     .run = run_queens,
     .baseline = serial_queens,
     .baseline_what = "calls"},
    {.what = "merge sort of 10^7 numbers",
     .rows = {{.name = "sort", .unit = "ms"}},
     .count = 1,
     .workers_min = 1,
     .run = run_sort,
     .baseline = serial_sort,
     .baseline_what = "calls"},
};

const bench_theme bench_parallel = {cases, sizeof(cases) / sizeof(cases[0])};
