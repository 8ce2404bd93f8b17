/*
 * uts.c: unbalanced tree search over MPI's ranks, with its published trees and their node counts.
 *
 *     mpirun -n 2 uts [T1 | T3 | T1L [TRACE]]
 *
 * With TRACE each rank writes its workers' activity to TRACE0.json, TRACE1.json, ...;
 * `thrum-timeline TRACE0.json TRACE1.json` makes one picture of them.
 *
 * Each node of the tree is 20 bytes: the SHA-1 of its parent's and of its number among the
 * children. They determine the number of the node's children, which is not known before, so the
 * work has to be divided as it is found. On each rank one task a worker searches, with its own
 * stack, and gives to a pool of the rank when that is empty. A rank without work asks others, in a
 * random order; a task of each rank answers. That all are done is found by rounds of an allreduce:
 * when nobody has had work in two rounds, and between them no work has moved, there is none under
 * way (Mattern's four counters).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/mpi.h>

#define CHUNK 64 /* nodes that go from one stack to another at a time, at most */
#define TURN 256 /* nodes, then others run */
#define ASKS 1   /* tags */
#define ANSWERS 2

typedef struct node {
    uint32_t state[5];
    int depth; /* -1: the root of a binomial tree */
} node;

typedef struct tree {
    const char *name;
    int binomial, depth_max, children; /* children: those of a binomial tree's inner nodes */
    double b, q;
    uint32_t seed;
    long long nodes;
} tree;

static const tree trees[] = {
    {"T1", 0, 10, 0, 4, 0, 19, 4130071},
    {"T3", 1, 0, 8, 2000, 0.124875, 42, 4112897},
    {"T1L", 0, 13, 0, 4, 0, 29, 102181082},
};

static const tree *searched = &trees[0];
static int rank, size;

/* ---- SHA-1 of 20 or 24 bytes: one block ---- */

static uint32_t turned(uint32_t x, int n) {
    return x << n | x >> (32 - n);
}

static void sha1(const uint32_t *words, int n, uint32_t out[5]) {
    uint32_t w[80] = {0};
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    memcpy(w, words, (size_t)n * 4);
    w[n] = 0x80000000;
    w[15] = (uint32_t)n * 32;
    for (int i = 16; i < 80; i++) {
        w[i] = turned(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    for (int i = 0; i < 80; i++) {
        const uint32_t f = i < 20   ? (b & c) | (~b & d)
                           : i < 40 ? b ^ c ^ d
                           : i < 60 ? (b & c) | (b & d) | (c & d)
                                    : b ^ c ^ d;
        const uint32_t k = i < 20   ? 0x5a827999
                           : i < 40 ? 0x6ed9eba1
                           : i < 60 ? 0x8f1bbcdc
                                    : 0xca62c1d6;
        const uint32_t t = turned(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = turned(b, 30);
        b = a;
        a = t;
    }
    out[0] = h[0] + a;
    out[1] = h[1] + b;
    out[2] = h[2] + c;
    out[3] = h[3] + d;
    out[4] = h[4] + e;
}

/* ---- the tree ---- */

static void make_root(node *root) {
    const uint32_t seed[5] = {0, 0, 0, 0, searched->seed};
    sha1(seed, 5, root->state);
    root->depth = searched->binomial ? -1 : 0;
}

static void make_child(const node *parent, int number, node *child) {
    uint32_t words[6];
    memcpy(words, parent->state, sizeof parent->state);
    words[5] = (uint32_t)number;
    sha1(words, 6, child->state);
    child->depth = parent->depth + 1;
}

static int children_of(const node *n) {
    const double u = (double)(n->state[4] & 0x7fffffff) / 2147483648.0;
    if (searched->binomial) {
        return n->depth < 0 ? (int)searched->b : u < searched->q ? searched->children : 0;
    }
    if (n->depth >= searched->depth_max) {
        return 0;
    }
    const double children = floor(log(1 - u) / log(1 - 1 / (1 + searched->b)));
    return children > 100 ? 100 : (int)children;
}

/* ---- stacks ---- */

typedef struct stack {
    node *nodes;
    size_t n, room;
} stack;

static void push(stack *s, const node *nodes, size_t n) {
    if (s->n + n > s->room) {
        s->room = 2 * (s->n + n);
        s->nodes = realloc(s->nodes, s->room * sizeof *s->nodes);
        if (!s->nodes) {
            fprintf(stderr, "uts: no memory\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    memcpy(s->nodes + s->n, nodes, n * sizeof *nodes);
    s->n += n;
}

/* Takes from the bottom, where the largest trees hang. */
static size_t take(stack *s, node to[CHUNK], size_t most) {
    const size_t n = s->n < most ? s->n : most;
    memcpy(to, s->nodes, n * sizeof *to);
    memmove(s->nodes, s->nodes + n, (s->n - n) * sizeof *to);
    s->n -= n;
    return n;
}

/* ---- the rank ---- */

static thrum_mutex lock = THRUM_MUTEX_INIT; /* protects the following */
static thrum_cond fed = THRUM_COND_INIT;    /* the pool has nodes, or all is over */
static stack pool;
static int searchers, hungry; /* tasks; tasks that wait for nodes */
static bool is_over;
static long long counted, given, got; /* nodes; chunks to and from other ranks */

static void feed(const node *nodes, size_t n) {
    push(&pool, nodes, n);
    thrum_cond_broadcast(&fed);
}

/* Adds the count; with nothing left waits for more. False: none is left anywhere. */
static bool refill(stack *own, long long *found) {
    node chunk[CHUNK];
    bool goes_on;
    thrum_mutex_lock(&lock);
    counted += *found;
    *found = 0;
    if (own->n > 2 && pool.n < CHUNK) {
        feed(chunk, take(own, chunk, own->n / 2 < CHUNK ? own->n / 2 : CHUNK));
    }
    hungry++;
    while (own->n == 0 && pool.n == 0 && !is_over) {
        if (thrum_cond_wait(&fed, &lock) != 0) {
            break; /* nobody cancels it */
        }
    }
    hungry--;
    if (own->n == 0) {
        push(own, chunk, take(&pool, chunk, CHUNK / 4));
    }
    goes_on = own->n > 0;
    thrum_mutex_unlock(&lock);
    return goes_on;
}

static int search(void *arg) {
    stack own = {0};
    long long found = 0;
    (void)arg;
    while (refill(&own, &found)) {
        for (int turn = 0; own.n && turn < TURN; turn++) {
            const node n = own.nodes[--own.n];
            const int children = children_of(&n);
            found++;
            for (int i = 0; i < children; i++) {
                node child;
                make_child(&n, i, &child);
                push(&own, &child, 1);
            }
        }
        thrum_yield();
    }
    free(own.nodes);
    return 0;
}

/* Answers other ranks with nodes of the pool, or none, until it is cancelled. */
static int answer(void *arg) {
    (void)arg;
    for (;;) {
        node chunk[CHUNK];
        MPI_Status status;
        int err = thrum_mpi_recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, ASKS, MPI_COMM_WORLD, &status);
        if (err) {
            return err == -ECANCELED ? 0 : err;
        }
        thrum_mutex_lock(&lock);
        const size_t n = take(&pool, chunk, CHUNK);
        given += n > 0;
        thrum_mutex_unlock(&lock);
        err = thrum_mpi_send(chunk, (int)(n * sizeof *chunk), MPI_BYTE, status.MPI_SOURCE, ANSWERS,
                             MPI_COMM_WORLD);
        if (err) {
            return err;
        }
    }
}

/* Asks one other rank. */
static int ask(unsigned *random) {
    node chunk[CHUNK];
    MPI_Status status;
    int bytes = 0;
    *random = *random * 1664525u + 1013904223u;
    const int victim = (rank + 1 + (int)((*random >> 8) % (unsigned)(size - 1))) % size;
    int err = thrum_mpi_sendrecv(NULL, 0, MPI_BYTE, victim, ASKS, chunk, sizeof chunk, MPI_BYTE,
                                 victim, ANSWERS, MPI_COMM_WORLD, &status);
    if (!err && !(err = MPI_Get_count(&status, MPI_BYTE, &bytes)) && bytes) {
        thrum_mutex_lock(&lock);
        got++;
        feed(chunk, (size_t)bytes / sizeof *chunk);
        thrum_mutex_unlock(&lock);
    }
    return err;
}

static bool is_busy(void) {
    thrum_mutex_lock(&lock);
    const bool is_busy = pool.n || hungry < searchers;
    thrum_mutex_unlock(&lock);
    return is_busy;
}

/* Finds work for the rank, and sees when there is none on any. */
static int lead(void) {
    unsigned random = (unsigned)rank * 7919u + 1;
    long long before[3] = {-1, -1, -1}, sums[3];
    for (;;) {
        int err = size > 1 && !is_busy() ? ask(&random) : 0;
        const long long busy = is_busy();
        thrum_mutex_lock(&lock);
        const long long mine[3] = {busy, given, got};
        thrum_mutex_unlock(&lock);
        err =
            err ? err : thrum_mpi_allreduce(mine, sums, 3, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (err) {
            return err;
        }
        if (!sums[0] && sums[1] == sums[2] && memcmp(sums, before, sizeof sums) == 0) {
            return 0;
        }
        memcpy(before, sums, sizeof sums);
        if (sums[0] == size) { /* nobody asks: look again in a moment */
            err = thrum_sleep(THRUM_US(200));
        }
    }
}

static int entry(void *arg) {
    thrum_handle *tasks[256], *answering;
    int result, err = thrum_spawn(&answering, answer, NULL);
    (void)arg;
    if (rank == 0) {
        node root;
        make_root(&root);
        push(&pool, &root, 1);
    }
    for (int i = 0; i < searchers && !err; i++) {
        err = thrum_spawn(&tasks[i], search, NULL);
    }
    err = err ? err : lead();
    if (err) {
        fprintf(stderr, "uts: rank %d: code %d\n", rank, err);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    thrum_mutex_lock(&lock);
    is_over = true;
    thrum_cond_broadcast(&fed);
    thrum_mutex_unlock(&lock);
    for (int i = 0; i < searchers; i++) {
        err |= thrum_join(tasks[i], &result) || result;
    }
    return err | thrum_cancel(answering) | thrum_join(answering, &result) | result;
}

/* Writes this rank's workers' activity to a file. */
static int write_trace(thrum_sched *sched, const char *prefix) {
    char name[512];
    snprintf(name, sizeof name, "%.490s%d.json", prefix, rank);
    FILE *out = fopen(name, "w");
    int err = thrum_trace_stop(sched);
    if (!out) {
        fprintf(stderr, "uts: cannot write %s\n", name);
        return 1;
    }
    err = err ? err : thrum_trace_write(sched, out);
    return fclose(out) || err;
}

int main(int argc, char **argv) {
    thrum_sched *sched = NULL;
    thrum_handle *task = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_config config;
    long long sums[2] = {0}, mine[2];
    int level, err, result = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof trees / sizeof trees[0]; i++) {
        searched = strcmp(argv[1], trees[i].name) == 0 ? &trees[i] : searched;
    }
    thrum_config_init(&config);
    config.workers = getenv("THRUM_WORKERS") ? config.workers : thrum_mpi_workers();
    config.stack_size = 256 * 1024;
    err = level < MPI_THREAD_MULTIPLE ? -EPERM : thrum_sched_start(&sched, &config);
    err = err ? err : thrum_mpi_start(sched);
    if (err) {
        fprintf(stderr, "uts: it does not start: %s\n", thrum_strerror(err));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    searchers = (int)thrum_sched_parallelism(sched);
    searchers = searchers > 256 ? 256 : searchers;
    attr.sched = sched;
    if (argc > 2 && (err = thrum_trace_start(sched, 1 << 16))) {
        fprintf(stderr, "uts: no trace: %s\n", thrum_strerror(err));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const thrum_time begin = thrum_now();
    err = thrum_spawn_with(&task, &attr, entry, NULL);
    err = err ? err : thrum_join(task, &result);
    err = err ? err : result;
    const double seconds = (double)(thrum_now() - begin) / 1e9;
    mine[0] = counted;
    mine[1] = got;
    MPI_Reduce(mine, sums, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s: %lld nodes, as published: %s; %d ranks of %d, %.2f s, %.2f million nodes a "
               "second, %lld chunks moved\n",
               searched->name, sums[0], sums[0] == searched->nodes ? "yes" : "NO", size, searchers,
               seconds, (double)sums[0] / seconds / 1e6, sums[1]);
        err |= sums[0] != searched->nodes;
    }
    err |= argc > 2 ? write_trace(sched, argv[2]) : 0;
    err |= thrum_mpi_stop() | thrum_sched_stop(sched);
    free(pool.nodes);
    MPI_Finalize();
    return err != 0;
}
