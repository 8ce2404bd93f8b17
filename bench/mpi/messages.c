/*
 * messages.c: messages of 8 bytes between two ranks, to and fro: by plain MPI_Send and MPI_Recv, by
 * one task of libthrum-mpi, by many, by as many rounds under way that a loop over MPI's own calls
 * looks at by turns, and by many beside a task that computes; and the cost of a long wait.
 *
 *     mpirun -n 2 thrum-bench-mpi [--rounds N] [--fibers N] [--level multiple|serialized|funneled]
 *
 * The ratio to plain calls is of the same run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <thrum.h>
#include <thrum/mpi.h>

#define REPEATS 7
#define WAYS 4 /* plain, by turns, one task, many */

static int rank, rounds = 20000, fibers = 64, level = MPI_THREAD_MULTIPLE;
static int stops; /* atomic: the computing task's end */
static thrum_sched *sched;

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void plain(int tag, int n) {
    int64_t value = 0;
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT64_T, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT64_T, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD);
        }
    }
}

/* The work of many tasks, without tasks: the most that any library above these calls can reach. */
static void by_turns(int many, int n) {
    static MPI_Request requests[1024];
    static int64_t values[1024];
    static int left[1024];
    int under_way = many;
    for (int i = 0; i < many; i++) {
        left[i] = n;
        if (rank == 0) {
            MPI_Send(&values[i], 1, MPI_INT64_T, 1, i + 1, MPI_COMM_WORLD);
        }
        MPI_Irecv(&values[i], 1, MPI_INT64_T, 1 - rank, i + 1, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; under_way; i = (i + 1) % many) {
        int flag = 0;
        if (left[i] == 0 || MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE) || !flag) {
            continue;
        }
        left[i]--;
        under_way -= left[i] == 0;
        if (rank == 1 || left[i]) {
            MPI_Request sent;
            MPI_Isend(&values[i], 1, MPI_INT64_T, 1 - rank, i + 1, MPI_COMM_WORLD, &sent);
            MPI_Wait(&sent, MPI_STATUS_IGNORE);
        }
        if (left[i]) {
            MPI_Irecv(&values[i], 1, MPI_INT64_T, 1 - rank, i + 1, MPI_COMM_WORLD, &requests[i]);
        }
    }
}

static int in_task(void *arg) {
    int64_t value = 0;
    const int tag = (int)(intptr_t)arg & 0xffff, n = (int)((intptr_t)arg >> 16);
    int code = 0;
    for (int i = 0; i < n && !code; i++) {
        if (rank == 0) {
            code = thrum_mpi_send(&value, 1, MPI_INT64_T, 1, tag, MPI_COMM_WORLD);
        }
        code = code ? code
                    : thrum_mpi_recv(&value, 1, MPI_INT64_T, 1 - rank, tag, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
        if (rank == 1 && !code) {
            code = thrum_mpi_send(&value, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD);
        }
    }
    return code;
}

static int run_tasks(int many) {
    thrum_handle *tasks[1024];
    int failed = 0;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (int i = 0; i < many; i++) {
        failed |= thrum_spawn_with(&tasks[i], &attr, in_task,
                                   (void *)(((intptr_t)(rounds / many) << 16) | (i + 1)));
    }
    for (int i = 0; i < many; i++) {
        int result;
        failed |= thrum_join(tasks[i], &result) || result;
    }
    return failed;
}

/* Computes, and gives way every 50 us. */
static int computes(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&stops, __ATOMIC_RELAXED)) {
        const thrum_time until = thrum_now() + THRUM_US(50);
        while (thrum_now() < until) {
        }
        thrum_yield();
    }
    return 0;
}

/* Microseconds a round, the median, in an order that changes with each repeat. */
static void compare(double us[WAYS], int from) {
    double all[WAYS][REPEATS];
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (int k = 0; k < WAYS; k++) {
            const int what = (k + repeat) % WAYS;
            if (what < from) {
                continue;
            }
            MPI_Barrier(MPI_COMM_WORLD);
            const thrum_time begin = thrum_now();
            int failed = 0;
            if (what == 0) {
                plain(0, rounds);
            } else if (what == 1) {
                by_turns(fibers, rounds / fibers);
            } else {
                failed = run_tasks(what == 2 ? 1 : fibers);
            }
            if (failed) {
                fprintf(stderr, "a task has failed\n");
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            all[what][repeat] = (double)(thrum_now() - begin) / 1e3 / rounds;
        }
    }
    for (int what = from; what < WAYS; what++) {
        qsort(all[what], REPEATS, sizeof all[what][0], by_number);
        us[what] = all[what][REPEATS / 2];
    }
}

static void print_ways(const double us[WAYS]) {
    printf("  %-44s %7.3f us\n", "MPI_Send, MPI_Recv: a round of 8 bytes", us[0]);
    printf("  %-44s %7.3f us  %5.2f of plain, %+.3f us\n", "one task", us[2], us[2] / us[0],
           us[2] - us[0]);
    printf("  %2d tasks, a round of each %18s %7.3f us  %5.2f of plain\n", fibers, "", us[3],
           us[3] / us[0]);
    printf("  MPI_Isend, MPI_Irecv, MPI_Test by turns %5s %7.3f us  %5.2f of plain\n", "", us[1],
           us[1] / us[0]);
}

static double cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec * 1e6 + (double)usage.ru_utime.tv_usec +
           (double)usage.ru_stime.tv_sec * 1e6 + (double)usage.ru_stime.tv_usec;
}

/* The share of a processor that a receive costs which nothing comes for, for two seconds. */
static int lasting(void *arg) {
    int64_t value;
    const thrum_time begin = thrum_now();
    const double before = cpu_us();
    const int code = thrum_mpi_recv_until(&value, 1, MPI_INT64_T, MPI_ANY_SOURCE, 30000,
                                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, begin + THRUM_S(2));
    *(double *)arg = (cpu_us() - before) / ((double)(thrum_now() - begin) / 1e3) * 100;
    return code == -ETIMEDOUT ? 0 : 1;
}

static void options(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0) {
            rounds = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--fibers") == 0) {
            fibers = atoi(argv[i + 1]);
        } else if (strcmp(argv[i + 1], "serialized") == 0) {
            level = MPI_THREAD_SERIALIZED;
        } else if (strcmp(argv[i + 1], "funneled") == 0) {
            level = MPI_THREAD_FUNNELED;
        }
    }
    fibers = fibers < 1 ? 1 : fibers > 1024 ? 1024 : fibers;
}

int main(int argc, char **argv) {
    double us[WAYS], share = 0;
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    int provided, size, length, result = 0;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    thrum_config config;
    thrum_handle *task = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    options(argc, argv);
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &length);
    thrum_config_init(&config);
    config.workers = thrum_mpi_workers();
    config.stack_size = 256 * 1024;
    if (size != 2 || thrum_sched_start(&sched, &config) != 0 ||
        (provided == MPI_THREAD_FUNNELED && thrum_sched_bind(sched) != 0) ||
        thrum_mpi_start(sched) != 0) {
        fprintf(stderr, "two ranks, with a scheduler each, are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    version[strcspn(version, "\n,")] = '\0';
    compare(us, 0);
    if (rank == 0) {
        printf("%s, level %d, workers %u, medians of %d, %d rounds\n", version, provided,
               thrum_sched_parallelism(sched), REPEATS, rounds);
        print_ways(us);
    }
    attr.sched = sched;
    result |= thrum_spawn_with(&task, &attr, computes, NULL);
    compare(us, 3);
    __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
    result |= thrum_join(task, NULL);
    if (rank == 0) {
        printf("  %2d tasks beside one that computes %11s %7.3f us  %5.2f of plain\n", fibers, "",
               us[3], us[3] / us[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    result |= thrum_spawn_with(&task, &attr, lasting, &share) || thrum_join(task, &result);
    if (rank == 0) {
        printf("  %-44s %7.3f %% of a processor\n", "a receive that waits for 2 s", share);
    }
    if (rank == 0 && thrum_mpi_metrics_read(&metrics) == 0) {
        printf("  waits that were queued: %" PRIu64 ", times that MPI was asked: %" PRIu64 "\n",
               metrics.waits, metrics.asked);
    }
    result |= thrum_mpi_stop() || thrum_sched_stop(sched);
    MPI_Finalize();
    return result != 0;
}
