/*
 * skynet.c: a million tasks over MPI's ranks. Each task has ten children, six levels deep; the
 * leaves return their numbers, and the sum of all is known: 499999500000.
 *
 *     mpirun -n 2 skynet
 *
 * The ten children of the first task, and theirs, are dealt out to the ranks: each rank answers
 * requests for the sum of a part, with a task for each, until it is asked to end.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <thrum/mpi.h>

#define CHILDREN 10
#define LEAVES 1000000
#define DEALT 10000 /* leaves of a part that goes to some rank */
#define ASKS 1      /* tags */
#define ANSWERS 2   /* the first of one for each part */

typedef struct part {
    long long first, leaves, sum;
} part;

typedef struct request {
    long long first, leaves; /* leaves 0: no part is left */
    int tag;                 /* of the answer */
} request;

static int rank, size;

/* ---- on one rank ---- */

static int add(void *arg) {
    part *self = arg;
    part parts[CHILDREN];
    thrum_fork forks[CHILDREN];
    self->sum = 0;
    if (self->leaves == 1) {
        self->sum = self->first;
        return 0;
    }
    for (int i = 0; i < CHILDREN; i++) {
        parts[i].leaves = self->leaves / CHILDREN;
        parts[i].first = self->first + i * parts[i].leaves;
        thrum_fork_start(&forks[i], add, &parts[i]);
    }
    for (int i = CHILDREN; i-- > 0;) {
        (void)thrum_fork_join(&forks[i]);
    }
    for (int i = 0; i < CHILDREN; i++) {
        self->sum += parts[i].sum;
    }
    return 0;
}

/* ---- the ranks that are asked ---- */

/* The sum of one part goes back to rank 0. */
static int answer(void *arg) {
    request asked = *(request *)arg;
    part root = {asked.first, asked.leaves, 0};
    free(arg);
    add(&root);
    return thrum_mpi_send(&root.sum, 1, MPI_LONG_LONG, 0, asked.tag, MPI_COMM_WORLD);
}

static int serve(void) {
    thrum_scope answers;
    int err = thrum_scope_open(&answers, THRUM_FOREVER);
    while (!err) {
        request *asked = malloc(sizeof *asked);
        if (!asked) {
            fprintf(stderr, "skynet: no memory\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        err = thrum_mpi_recv(asked, sizeof *asked, MPI_BYTE, 0, ASKS, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        if (err || asked->leaves == 0) {
            free(asked);
            break;
        }
        err = thrum_scope_go(&answers, answer, asked);
    }
    const int ended = thrum_scope_join(&answers);
    return err ? err : ended;
}

/* ---- the requesting rank ---- */

static long long sums[LEAVES / DEALT];

/* One part: made here, or asked for. */
static int deal(void *arg) {
    const int number = (int)(intptr_t)arg, to = number % size;
    const request ask = {(long long)number * DEALT, DEALT, ANSWERS + number};
    int err;
    if (to == 0) {
        part here = {ask.first, ask.leaves, 0};
        err = add(&here);
        sums[number] = here.sum;
        return err;
    }
    err = thrum_mpi_send(&ask, sizeof ask, MPI_BYTE, to, ASKS, MPI_COMM_WORLD);
    return err ? err
               : thrum_mpi_recv(&sums[number], 1, MPI_LONG_LONG, to, ask.tag, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE);
}

static int lead(void) {
    const request end = {0, 0, 0};
    thrum_scope dealt;
    int err = thrum_scope_open(&dealt, THRUM_FOREVER);
    for (intptr_t i = 0; i < LEAVES / DEALT && !err; i++) {
        err = thrum_scope_go(&dealt, deal, (void *)i);
    }
    const int ended = thrum_scope_join(&dealt);
    for (int other = 1; other < size && !err; other++) {
        err = thrum_mpi_send(&end, sizeof end, MPI_BYTE, other, ASKS, MPI_COMM_WORLD);
    }
    return err ? err : ended;
}

static int entry(void *arg) {
    (void)arg;
    const int err = rank == 0 ? lead() : serve();
    if (err) {
        fprintf(stderr, "skynet: rank %d: code %d\n", rank, err);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return 0;
}

int main(int argc, char **argv) {
    thrum_sched *sched = NULL;
    thrum_handle *task = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_config config;
    long long sum = 0;
    int level, err;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    thrum_config_init(&config);
    config.workers = getenv("THRUM_WORKERS") ? config.workers : thrum_mpi_workers();
    config.stack_size = 256 * 1024;
    err = level < MPI_THREAD_MULTIPLE ? -EPERM : thrum_sched_start(&sched, &config);
    err = err ? err : thrum_mpi_start(sched);
    if (err) {
        fprintf(stderr, "skynet: it does not start: %s\n", thrum_strerror(err));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    attr.sched = sched;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    err = thrum_spawn_with(&task, &attr, entry, NULL);
    err = err ? err : thrum_join(task, NULL);
    const double seconds = MPI_Wtime() - begin;
    for (int i = 0; i < LEAVES / DEALT; i++) {
        sum += sums[i];
    }
    if (rank == 0) {
        const long long must = (long long)LEAVES * (LEAVES - 1) / 2;
        printf("%lld, as it must be: %s; ranks %d, workers of each %u, %.1f ms\n", sum,
               sum == must ? "yes" : "NO", size, thrum_sched_parallelism(sched), seconds * 1e3);
        err |= sum != must;
    }
    err |= thrum_mpi_stop() | thrum_sched_stop(sched);
    MPI_Finalize();
    return err != 0;
}
