/*
 * workers.c: how many workers each rank should have, on a made-up machine. The system's answers are
 * the test's: which processors each rank may use, and the quota of its cgroup.
 */
/* wrap: fopen sched_getaffinity */
#include "support/ranks.h"

static ranks w;
static unsigned first, count; /* the processors that this rank may use; none: the system refuses */
static char quota[] = "max    100000\n";

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
    static char group[] = "0::/\n", mounts[] = "30 20 0:26 / /made rw - cgroup2 cgroup2 rw\n";
    char *text = strcmp(path, "/proc/self/cgroup") == 0      ? group
                 : strcmp(path, "/proc/self/mountinfo") == 0 ? mounts
                 : strcmp(path, "/made/cpu.max") == 0        ? quota
                                                             : NULL;
    return text ? fmemopen(text, strlen(text), "r") : __real_fopen(path, mode);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    (void)pid;
    CPU_ZERO_S(size, set);
    for (unsigned i = first; i < first + count; i++) {
        CPU_SET_S(i, size, set);
    }
    errno = EPERM;
    return count ? 0 : -1;
}

/* What the call returns for a rank that may use `n` processors, from `from` on. */
static unsigned workers_with(unsigned from, unsigned n) {
    NOT_BY_POSIX("sets of processors");
    first = from;
    count = n;
    errno = 4711;
    const unsigned workers = thrum_mpi_workers();
    CHECK_EQ(errno, 4711);
    return workers;
}

static unsigned rank(void) {
    ranks_init(&w);
    return (unsigned)w.rank;
}

static unsigned ranks_here(void) {
    ranks_init(&w);
    return (unsigned)w.size;
}

TEST(ranks_with_the_same_processors_divide_them) {
    /* Also if a share is no round number, and if there are fewer processors than ranks. */
    CHECK_EQ(workers_with(3, 2 * ranks_here()), 2);
    CHECK_EQ(workers_with(0, 8), 8 / ranks_here());
    CHECK_EQ(workers_with(THRUM_CPUS_MAX - 1, 1), 1);
}

TEST(ranks_with_processors_of_their_own_use_them) {
    /* All of them. */
    CHECK_EQ(workers_with(100 * rank(), 5), 5);
}

TEST(a_processor_that_two_ranks_have_is_half_of_one) {
    /* Each has four that it shares with the rank before, and four with the next one. */
    const unsigned before = rank() > 0, next = rank() + 1 < ranks_here();
    CHECK_EQ(workers_with(4 * rank(), 8), 8 - 2 * before - 2 * next);
}

TEST(ranks_on_one_processor_of_another_rank) {
    /* The others all have the same one, which the first has as well, beside three of its own. */
    CHECK_EQ(workers_with(rank() ? 3 : 0, rank() ? 1 : 4), rank() ? 1 : ranks_here() > 1 ? 3 : 4);
}

TEST(a_quota_counts_if_it_is_less) {
    /* Ranks that share their processors share the quota. */
    memcpy(quota, "350000", 6); /* in 100000: of three and a half, rounded up */
    CHECK_EQ(workers_with(100 * rank(), 8), 4);
    CHECK_EQ(workers_with(100 * rank(), 3), 3);
    CHECK_EQ(workers_with(0, 8), ranks_here() < 4 ? 4 / ranks_here() : 1);
    memcpy(quota, "050000", 6);
    CHECK_EQ(workers_with(100 * rank(), 8), 1);
    memcpy(quota, "max   ", 6);
}

TEST(one_rank_does_not_know) {
    /* Then nobody knows who has the processors. */
    CHECK_EQ(workers_with(100 * rank(), rank() + 1 == ranks_here() ? 0 : 8), 1);
}
