/*
 * affinity.c: on which CPUs workers run.
 */
#include "support/support.h"

#include "core/ready/waiter.h"
#include "core/basis/affinity.h"
#include "pools/jobs.h"

/* ---- what each worker gets ---- */

static th_os_cpuset set_of(uint64_t first, uint64_t second) {
    return (th_os_cpuset){{first, second}};
}

#define CHECK_PART(affinity, set, index, first, second)                                            \
    do {                                                                                           \
        th_os_cpuset part;                                                                         \
        th_affinity_of((affinity), (set), (index), "", &part);                                     \
        CHECK_EQ(part.bits[0], (first));                                                           \
        CHECK_EQ(part.bits[1], (second));                                                          \
        CHECK_EQ(th_affinity_count(&part),                                                         \
                 __builtin_popcountll(first) + __builtin_popcountll(second));                      \
    } while (0)

TEST(one_of_the_set_by_number) {
    /* A worker's CPU is its number modulo how many there are; beyond the first word too. */
    const th_os_cpuset set = set_of(0x8000000000000012u, 0x1);
    CHECK_EQ(th_affinity_count(&set), 4);
    for (unsigned round = 0; round < 3; round++) {
        CHECK_PART(THRUM_AFFINITY_ONE, &set, 4 * round, 0x2u, 0u);
        CHECK_PART(THRUM_AFFINITY_ONE, &set, 4 * round + 1, 0x10u, 0u);
        CHECK_PART(THRUM_AFFINITY_ONE, &set, 4 * round + 2, 0x8000000000000000u, 0u);
        CHECK_PART(THRUM_AFFINITY_ONE, &set, 4 * round + 3, 0u, 0x1u);
        CHECK_PART(THRUM_AFFINITY_ANY, &set, round, set.bits[0], set.bits[1]);
    }
}

/* ---- where workers run ---- */

enum { WORKERS = 5 };

typedef struct seats {
    rig r; /* comes first: it is the allocator's ctx */
    th_os_cpuset set;
    th_os_cpuset seen[WORKERS];
    th_os_cpuset blocking;
    th_os_cpuset jobs;
} seats;

static void look(void *ctx, int worker) {
    seats *s = ctx;
    CHECK_EQ(th_os_cpuset_granted(&s->seen[worker]), 0);
}

static int look_in_the_pool(void *arg) {
    seats *s = arg;
    return th_os_cpuset_granted(&s->blocking);
}

static int call_the_pool(void *arg) {
    int result = 1;
    CHECK_EQ(thrum_blocking(look_in_the_pool, arg, &result), 0);
    return result;
}

/* A call as those of files are made, which keeps the CPUs of the thread that makes it. */
typedef struct looker {
    th_job job;
    th_os_cpuset seen;
} looker;

static void look_in_a_job(th_job *job) {
    CHECK_EQ(th_os_cpuset_granted(&((looker *)(void *)job)->seen), 0);
}

static void end_nothing(th_job *job) {
    (void)job;
}

static int call_a_job(void *arg) {
    static th_jobs jobs = {.name = "jobs",
                           .on = TH_ON_FILE,
                           .run = look_in_a_job,
                           .end = end_nothing,
                           .threads_max = 1};
    static looker l;
    th_waiter me;
    th_job_init(&l.job);
    th_jobs_begin(&jobs);
    th_lock_acquire(&jobs.lock);
    const th_jobs_call call = th_jobs_put(&jobs, &l.job);
    th_jobs_join(&jobs, &l.job, &me, &l);
    th_jobs_unlock(&jobs, call);
    CHECK_EQ(th_jobs_wait(&jobs, &l.job, &me, THRUM_FOREVER), 0);
    ((seats *)arg)->jobs = l.seen;
    th_jobs_drop(&jobs, &l.job);
    return 0;
}

static void seats_begin(seats *s, unsigned affinity) {
    memset(s, 0, sizeof(*s));
    rig_init(&s->r);
    s->r.config.workers = WORKERS;
    s->r.config.affinity = affinity;
    s->r.config.worker_start = look;
}

/* Each worker has the CPUs that the policy names, the blocking pool and threads of jobs all. */
static void seats_check(seats *s) {
    rig_start(&s->r);
    CHECK_EQ(thrum_sched_parallelism(s->r.sched), WORKERS);
    CHECK_EQ(rig_run(&s->r, call_the_pool, s), 0);
    CHECK_EQ(rig_run(&s->r, call_a_job, s), 0);
    rig_stop(&s->r);
    for (unsigned i = 0; i < WORKERS; i++) {
        th_os_cpuset part = s->set;
        if (s->r.config.affinity != THRUM_AFFINITY_NONE) {
            th_affinity_of(s->r.config.affinity, &s->set, i, "", &part);
        }
        CHECK(memcmp(&part, &s->seen[i], sizeof(part)) == 0);
    }
    CHECK(memcmp(&s->set, &s->blocking, sizeof(s->set)) == 0);
    CHECK(memcmp(&s->set, &s->jobs, sizeof(s->set)) == 0);
}

TEST(workers_run_where_the_policy_says) {
    /* By default they run where the starter may, from the first hook on. */
    NOT_BY_POSIX("sets of CPUs");
    static seats s;
    for (unsigned a = THRUM_AFFINITY_NONE; a <= THRUM_AFFINITY_CACHE; a++) {
        seats_begin(&s, a);
        CHECK_EQ(th_os_cpuset_granted(&s.set), 0);
        seats_check(&s);
    }
}

TEST(workers_run_on_the_cpus_that_are_named) {
    /* Each worker runs on one CPU, whatever the policy; the array is not kept. */
    NOT_BY_POSIX("sets of CPUs");
    static seats s;
    th_os_cpuset all;
    unsigned last = TH_OS_CPUS_MAX;
    CHECK_EQ(th_os_cpuset_granted(&all), 0);
    do {
        last--;
    } while ((all.bits[last / 64] >> (last % 64) & 1) == 0);
    for (unsigned a = THRUM_AFFINITY_ONE; a <= THRUM_AFFINITY_CACHE; a++) {
        unsigned cpu = last;
        seats_begin(&s, a);
        s.set.bits[cpu / 64] = (uint64_t)1 << (cpu % 64);
        s.r.config.cpus = &cpu;
        s.r.config.cpus_count = 1;
        seats_check(&s);
        s.r.config.workers = THRUM_WORKERS_AUTO;
        rig_start(&s.r);
        cpu = 0;
        CHECK_EQ(thrum_sched_parallelism(s.r.sched), 1);
        rig_stop(&s.r);
    }
}

TEST(a_set_that_makes_no_sense_is_invalid) {
    /* It is empty, too high, or there is no affinity. */
    static seats s;
    unsigned cpus[] = {0, THRUM_CPUS_MAX};
    seats_begin(&s, THRUM_AFFINITY_ANY);
    s.r.config.cpus = cpus;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    s.r.config.cpus_count = 2;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    s.r.config.cpus_count = 1;
    s.r.config.affinity = THRUM_AFFINITY_NONE;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    s.r.config.cpus = NULL;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    s.r.config.cpus_count = 0;
    s.r.config.affinity = THRUM_AFFINITY_CACHE + 1;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    rig_check_freed(&s.r);
}

TEST(what_the_system_refuses_is_the_starts_error) {
    /*
     * A CPU that no machine has is refused, also when other workers could start. Nothing is left
     * behind.
     */
    NOT_BY_POSIX("sets of CPUs");
    static seats s;
    th_os_cpuset all;
    unsigned cpus[] = {0, THRUM_CPUS_MAX - 1};
    CHECK_EQ(th_os_cpuset_granted(&all), 0);
    while ((all.bits[cpus[0] / 64] >> (cpus[0] % 64) & 1) == 0) {
        cpus[0]++;
    }
    seats_begin(&s, THRUM_AFFINITY_ONE);
    s.r.config.cpus = cpus;
    s.r.config.cpus_count = 2;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    rig_check_freed(&s.r);
    s.r.config.cpus = &cpus[1];
    s.r.config.cpus_count = 1;
    CHECK_EQ(thrum_sched_start(&s.r.sched, &s.r.config), -EINVAL);
    rig_check_freed(&s.r);
    CHECK_EQ(thrum_run(&s.r.config, call_the_pool, &s), -EINVAL);
    rig_check_freed(&s.r);
}
