// openmp.cc: OpenMP's tasks; built twice, with gcc's library and with clang's. Its tasks cannot
// block.
#include <omp.h>

#include "forkjoin.hh"

#ifdef __clang__
#define SYSTEM "openmp-clang"
#define VERSION "clang " __clang_version__
#else
#define SYSTEM "openmp-gcc"
#define VERSION "gcc " __VERSION__
#endif

struct omp {
    static const unsigned fib_size = 31;
    static void start() {
        omp_set_num_threads((int)peer.workers);
    }
    static void stop() {
    }

    template <class F> static void inside(F f) {
#pragma omp parallel
#pragma omp single
        f();
    }

    template <class F, class G> static void both(F f, G g) {
#pragma omp task default(shared)
        f();
        g();
#pragma omp taskwait
    }

    template <class F> static void all(unsigned n, F f) {
        for (unsigned i = 0; i + 1 < n; i++) {
#pragma omp task default(shared) firstprivate(i)
            f(i);
        }
        f(n - 1);
#pragma omp taskwait
    }

    template <class F> static void tasks(unsigned n, F f) {
        for (unsigned i = 0; i < n; i++) {
#pragma omp task firstprivate(f, i)
            f(i);
        }
#pragma omp taskwait
    }

    // taskloop, not `parallel for`: it starts inside a task, as with the others, and balances.
    template <class F> static void range(size_t n, F f) {
        const size_t parts = 64 * peer.workers;
#pragma omp taskloop grainsize(1) default(shared)
        for (size_t i = 0; i < parts; i++) {
            f(n * i / parts, n * (i + 1) / parts);
        }
    }
};

static void spawn_many() {
    omp::start();
    omp::inside([] {
        peer_rounds("spawn_many_local", 10000, peer_scale(100, 7), forkjoin<omp>::spawn_round);
    });
}

static void fanout() {
    omp::start();
    omp::inside([] { peer_fanout(forkjoin<omp>::spawn_round); });
}

static void link(uint32_t *slots, unsigned i, unsigned n) {
    ++slots[i];
    if (i + 1 < n) {
#pragma omp task firstprivate(slots, i, n)
        link(slots, i + 1, n);
    }
}

// A group waits for what its tasks start, too.
static void chain_round(uint32_t *slots, unsigned n) {
#pragma omp taskgroup
    {
#pragma omp task firstprivate(slots, n)
        link(slots, 0, n);
    }
}

static void chained() {
    omp::start();
    omp::inside([] { peer_rounds("chained_spawn", 1000, peer_scale(1000, 20), chain_round); });
}

static void idle() {
    omp::start();
    omp::inside([] { omp::tasks(1000, [](unsigned) {}); });
    peer_idle();
}

int main(int argc, char **argv) {
    static const peer_work works[] = {FORKJOIN_WORKS(omp),
                                      {"fanout", fanout},
                                      {"spawn_many_local", spawn_many},
                                      {"chained_spawn", chained},
                                      {"idle", idle}};
    return peer_main(SYSTEM, VERSION, works, sizeof(works) / sizeof(works[0]), argc, argv);
}
