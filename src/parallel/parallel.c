/*
 * parallel.c: thrum/parallel.h: invoke and parallel_for, on forks.
 *
 * Both divide by halves, so their frames nest only as deep as the logarithm of the work.
 */
#include "thrum/parallel.h"

#include <errno.h>

#include "core/task/fork_call.h"
#include "parallel/forking.h"
#include "platform/platform.h"

/* The fiber's worker, or NULL where forks are useless. */
static th_worker *forking_worker(void) {
    th_worker *worker = th_here();
    return worker && worker->current->body ? worker : NULL;
}

/* ---- invoke ---- */

typedef struct call_range {
    const thrum_fn *fns;
    void *const *args;
    size_t begin;
    size_t end;
} call_range;

static int call_one(const call_range *range) {
    return range->fns[range->begin](range->args ? range->args[range->begin] : NULL);
}

static int invoke_alone(call_range range) {
    int result = 0;
    for (; range.begin < range.end; range.begin++) {
        int one = call_one(&range);
        result = result ? result : one;
    }
    return result;
}

/* Any thread may run this with its half, so the worker is determined anew at each step. */
static int invoke_range(void *arg) {
    const call_range *range = arg;
    if (range->end - range->begin == 1) {
        return call_one(range);
    }
    size_t middle = range->begin + (range->end - range->begin) / 2;
    call_range lower = {range->fns, range->args, range->begin, middle};
    call_range upper = {range->fns, range->args, middle, range->end};
    th_fork fork;
    fork.fn = invoke_range;
    fork.arg = &upper;
    th_fork_push(th_here(), &fork);
    int first = invoke_range(&lower);
    int second = th_fork_pop(&fork, "thrum_fork_join") ? invoke_range(&upper) : th_fork_wait(&fork);
    return first ? first : second;
}

int thrum_invoke(size_t n, const thrum_fn fns[], void *const args[]) {
    if (!n) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!fns || !fns[i]) {
            return -EINVAL;
        }
    }
    call_range all = {fns, args, 0, n};
    return forking_worker() ? invoke_range(&all) : invoke_alone(all);
}

/* ---- parallel_for ---- */

/* The duration of a piece that automatic grain aims at; a step at most doubles the piece. */
#define PIECE_NS 5000
#define PIECES_MIN 8 /* the fewest pieces of a range, so that others can help with its end */

typedef struct loop {
    thrum_range_fn fn;
    void *ctx;
    size_t grain; /* the number of indices in a piece; 0: automatic */
} loop;

typedef struct loop_range {
    const loop *loop;
    size_t begin;
    size_t end;
    size_t piece; /* the size of a piece that automatic grain has found so far */
} loop_range;

/* The size of the next piece of a range that is not empty. */
static size_t piece_of(const loop_range *range) {
    size_t left = range->end - range->begin;
    size_t most = range->loop->grain ? left : left / PIECES_MIN + 1;
    size_t piece = range->loop->grain ? range->loop->grain : range->piece;
    return piece < most ? piece : most;
}

static void do_piece(loop_range *range, size_t piece) {
    size_t begin = range->begin;
    const loop *l = range->loop;
    if (l->grain) {
        l->fn(begin, begin + piece, l->ctx);
        return;
    }
    uint64_t at = th_os_ticks();
    l->fn(begin, begin + piece, l->ctx);
    int64_t ns = th_os_ticks_ns(th_os_ticks() - at);
    if (ns < PIECE_NS / 2 && piece == range->piece && piece <= SIZE_MAX / 2) {
        range->piece = 2 * piece;
    } else if (ns > 2 * PIECE_NS && range->piece > 1) {
        range->piece = ns > 16 * PIECE_NS ? (range->piece + 7) / 8 : range->piece / 2;
    }
}

static int loop_over(void *arg);

/* Forks the upper half of the range, since another worker is free. */
static void divide(loop_range *range) {
    size_t middle = range->begin + (range->end - range->begin) / 2;
    loop_range upper = {range->loop, middle, range->end, range->piece};
    range->end = middle;
    th_fork fork;
    fork.fn = loop_over;
    fork.arg = &upper;
    th_fork_push(th_here(), &fork);
    loop_over(range);
    if (th_fork_pop(&fork, "thrum_fork_join")) {
        loop_over(&upper);
    } else {
        (void)th_fork_wait(&fork);
    }
}

/*
 * The rest of the range is a fork while a piece is done, so it goes on when the piece suspends, and
 * can be taken away when the piece takes long.
 */
static int loop_over(void *arg) {
    loop_range *range = arg;
    for (;;) {
        size_t piece = piece_of(range);
        size_t left = range->end - range->begin;
        if (piece == left) {
            do_piece(range, piece);
            return 0;
        }
        if (th_forks_hungry()) {
            divide(range);
            return 0;
        }
        loop_range rest = {range->loop, range->begin + piece, range->end, range->piece};
        th_fork fork;
        fork.fn = loop_over;
        fork.arg = &rest;
        th_fork_push(th_here(), &fork);
        do_piece(range, piece);
        if (!th_fork_pop(&fork, "thrum_fork_join")) {
            return th_fork_wait(&fork);
        }
        range->begin += piece;
    }
}

int thrum_parallel_for(size_t begin, size_t end, size_t grain, thrum_range_fn fn, void *ctx) {
    if (!fn || end < begin) {
        return -EINVAL;
    }
    loop l = {fn, ctx, grain};
    loop_range all = {&l, begin, end, 1};
    if (begin == end) {
        return 0;
    }
    if (forking_worker()) {
        return loop_over(&all);
    }
    while (all.begin < end) {
        size_t piece = piece_of(&all);
        do_piece(&all, piece);
        all.begin += piece;
    }
    return 0;
}
