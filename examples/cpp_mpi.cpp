/*
 * cpp_mpi.cpp: several ranks of MPI in C++: each has many tasks, and each task talks to its like in
 * the neighbours, as if it had a process of its own. Run by mpirun, on one rank or more.
 */
#include <cstdio>
#include <stdexcept>
#include <thrum/mpi.h>
#include <thrum/thrum.hpp>

/* A call of libthrum-mpi: 0, or a code of its own, or one of MPI's, which is above 0. */
static void check_mpi(int code) {
    if (thrum::check(code) != 0) {
        throw std::runtime_error("MPI has failed");
    }
}

/* MPI from here to the end of the block. */
struct world {
    world(int &argc, char **&argv) {
        int level;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    world(const world &) = delete;
    world &operator=(const world &) = delete;
    ~world() {
        MPI_Finalize();
    }
    int rank = 0;
    int size = 0;
};

/* Sends the rank's number round once, from neighbour to neighbour, and adds up what comes. */
static long sum_of_ring(const world &all, int tag) {
    long sum = 0;
    int value = all.rank;
    for (int step = 0; step < all.size; step++) {
        int next = -1;
        check_mpi(thrum_mpi_sendrecv(&value, 1, MPI_INT, (all.rank + 1) % all.size, tag, &next, 1,
                                     MPI_INT, (all.rank + all.size - 1) % all.size, tag,
                                     MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        sum += value = next;
    }
    return sum;
}

static int tasks_of_rank(const world &all) {
    thrum::check(thrum_mpi_start(nullptr)); /* the scheduler of this task */
    thrum::defer stop([] { (void)thrum_mpi_stop(); });
    constexpr int tasks = 16;
    long sums[tasks] = {};
    {
        thrum::scope beside;
        for (int tag = 0; tag < tasks; tag++) {
            beside.go([&all, &sums, tag] { sums[tag] = sum_of_ring(all, tag); });
        }
        beside.join();
    }
    const long right = static_cast<long>(all.size) * (all.size - 1) / 2;
    int wrong = 0;
    for (const long sum : sums) {
        wrong += sum != right;
    }
    int all_wrong = -1;
    check_mpi(thrum_mpi_allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (all.rank == 0) {
        std::printf("%d ranks, %d tasks each: %d wrong\n", all.size, tasks, all_wrong);
    }
    return all_wrong;
}

int main(int argc, char **argv) {
    world all(argc, argv);
    thrum_config config;
    thrum_config_init(&config);
    config.workers = thrum_mpi_workers(); /* so many that the ranks of a machine share it */
    config.stack_size = 256 * 1024;       /* MPI's own calls may take more than the default */
    return thrum::run(&config, [&] { return tasks_of_rank(all); });
}
