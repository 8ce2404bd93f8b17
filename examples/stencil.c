/*
 * stencil.c: a grid that is divided among MPI's ranks by rows; each step makes every cell the mean
 * of its four neighbours. Twice: in tasks, and in plain MPI; both must end in the very same grid.
 *
 *     mpirun -n 2 stencil [SIDE [STEPS]]     (1024, 200)
 *
 * A step needs the rows above and below a rank's own, the halos, which belong to other ranks. In
 * tasks: one sends and receives them, and then makes the two rows at the edge; meanwhile the rows
 * between are made by all workers. In plain MPI: the messages are begun, one thread makes the rows
 * between, waits, and makes the rows at the edge.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/mpi.h>

enum { ABOVE, BELOW };

static int rank, size, side, steps;
static int rows;          /* of this rank; there is one more above, and one below */
static double *old, *new; /* (rows + 2) x side each */

static double *row_of(double *grid, int row) {
    return grid + (size_t)row * (size_t)side;
}

static int neighbour(int where) {
    const int other = where == ABOVE ? rank - 1 : rank + 1;
    return other < 0 || other == size ? MPI_PROC_NULL : other;
}

/* ---- the grid ---- */

/* The same values, however many ranks there are. */
static void fill(void) {
    const long first = (long)side * rank / size;
    for (int row = 0; row < rows + 2; row++) {
        for (int column = 0; column < side; column++) {
            const uint64_t cell = (uint64_t)(first + row) * (uint64_t)side + (uint64_t)column;
            row_of(old, row)[column] = (double)(cell * 0x9e3779b97f4a7c15u >> 40);
        }
    }
    memcpy(new, old, (size_t)(rows + 2) * (size_t)side * sizeof *new);
}

static void make_row(int row) {
    const double *above = row_of(old, row - 1), *here = row_of(old, row);
    const double *below = row_of(old, row + 1);
    double *to = row_of(new, row);
    for (int i = 1; i < side - 1; i++) {
        to[i] = (above[i] + below[i] + here[i - 1] + here[i + 1]) * 0.25;
    }
}

/* The first and the last row of the whole grid stay as they are. */
static bool is_edge_of_all(int row) {
    return (row == 1 && rank == 0) || (row == rows && rank == size - 1);
}

static void make_edge(int row) {
    if (!is_edge_of_all(row)) {
        make_row(row);
    }
}

static void turn_over(void) {
    double *made = new;
    new = old;
    old = made;
}

/* A number that differs if one bit of one cell does, wherever the cell lies. */
static uint64_t sum_of(void) {
    uint64_t sum = 0, all = 0;
    for (int row = 1; row <= rows; row++) {
        for (int i = 0; i < side; i++) {
            uint64_t bits;
            memcpy(&bits, &row_of(old, row)[i], sizeof bits);
            const uint64_t cell = (uint64_t)((long)side * rank / size + row) * (uint64_t)side;
            bits = (bits ^ (cell + (uint64_t)i)) * 0xff51afd7ed558ccdu;
            sum += bits ^ bits >> 33;
        }
    }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* ---- in tasks ---- */

/* Sends the own row at this side and receives the other rank's, then makes the row between. */
static int exchange(int where) {
    double *own = row_of(old, where == ABOVE ? 1 : rows);
    double *halo = row_of(old, where == ABOVE ? 0 : rows + 1);
    const int other = neighbour(where);
    const int err = thrum_mpi_sendrecv(own, side, MPI_DOUBLE, other, where, halo, side, MPI_DOUBLE,
                                       other, !where, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (err == 0 && rows > 1) {
        make_edge(where == ABOVE ? 1 : rows);
    }
    return err;
}

static int exchange_above(void *arg) {
    (void)arg;
    return exchange(ABOVE);
}

static int exchange_below(void *arg) {
    (void)arg;
    return exchange(BELOW);
}

static void make_rows(size_t begin, size_t end, void *ctx) {
    (void)ctx;
    for (size_t row = begin; row < end; row++) {
        make_row((int)row);
    }
}

static int make_between(void *arg) {
    (void)arg;
    return rows > 2 ? thrum_parallel_for(2, (size_t)rows, 0, make_rows, NULL) : 0;
}

static int in_tasks(void *arg) {
    static const thrum_fn parts[] = {make_between, exchange_above, exchange_below};
    (void)arg;
    for (int step = 0; step < steps; step++) {
        const int err = thrum_invoke(sizeof parts / sizeof parts[0], parts, NULL);
        if (err) {
            return err;
        }
        if (rows == 1) { /* it needs both halos */
            make_edge(1);
        }
        turn_over();
    }
    return 0;
}

/* ---- in plain MPI ---- */

static void in_plain_mpi(void) {
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[4];
        for (int where = ABOVE; where <= BELOW; where++) {
            MPI_Irecv(row_of(old, where == ABOVE ? 0 : rows + 1), side, MPI_DOUBLE,
                      neighbour(where), !where, MPI_COMM_WORLD, &requests[where]);
            MPI_Isend(row_of(old, where == ABOVE ? 1 : rows), side, MPI_DOUBLE, neighbour(where),
                      where, MPI_COMM_WORLD, &requests[2 + where]);
        }
        for (int row = 2; row < rows; row++) {
            make_row(row);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        make_edge(1);
        if (rows > 1) {
            make_edge(rows);
        }
        turn_over();
    }
}

/* ---- */

static int run_in_tasks(thrum_sched *sched) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *task = NULL;
    int result = 0;
    attr.sched = sched;
    const int err = thrum_spawn_with(&task, &attr, in_tasks, NULL);
    return err ? err : thrum_join(task, &result) | result;
}

static int compare(thrum_sched *sched) {
    double seconds[2];
    uint64_t sums[2];
    for (int plain = 0; plain < 2; plain++) {
        fill();
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        if (plain) {
            in_plain_mpi();
        } else {
            const int err = run_in_tasks(sched);
            if (err) {
                fprintf(stderr, "stencil: rank %d: code %d\n", rank, err);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[plain] = MPI_Wtime() - begin;
        sums[plain] = sum_of();
    }
    if (rank == 0) {
        printf("%d x %d, %d steps, ranks %d, workers of each %u: in tasks %.3f s, in plain MPI "
               "%.3f s; "
               "%016llx, the same in both: %s\n",
               side, side, steps, size, thrum_sched_parallelism(sched), seconds[0], seconds[1],
               (unsigned long long)sums[0], sums[0] == sums[1] ? "yes" : "NO");
    }
    return sums[0] != sums[1];
}

int main(int argc, char **argv) {
    thrum_sched *sched = NULL;
    thrum_config config;
    int level, err;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    side = argc > 1 ? atoi(argv[1]) : 1024;
    steps = argc > 2 ? atoi(argv[2]) : 200;
    if (side < size || side < 3 || side > 30000 || steps < 0) {
        fprintf(stderr, "stencil: SIDE is 3 to 30000, and at least a row for each rank\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rows = (int)((long)side * (rank + 1) / size - (long)side * rank / size);
    old = malloc((size_t)(rows + 2) * (size_t)side * sizeof *old);
    new = malloc((size_t)(rows + 2) * (size_t)side * sizeof *new);
    thrum_config_init(&config);
    config.workers = getenv("THRUM_WORKERS") ? config.workers : thrum_mpi_workers();
    config.stack_size = 256 * 1024;
    err = !old || !new ? -ENOMEM : level < MPI_THREAD_MULTIPLE ? -EPERM : 0;
    err = err ? err : thrum_sched_start(&sched, &config);
    err = err ? err : thrum_mpi_start(sched);
    if (err) {
        fprintf(stderr, "stencil: it does not start: %s\n", thrum_strerror(err));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    err = compare(sched);
    err |= thrum_mpi_stop() | thrum_sched_stop(sched);
    free(old);
    free(new);
    MPI_Finalize();
    return err != 0;
}
