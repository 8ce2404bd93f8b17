/*
 * idle_spin.c: how often a thread of a pool looks on before it sleeps (src/pools/idle_spin.h).
 */
#include "pools/idle_spin.h"

#include "check.h"
#include "core/basis/affinity.h"
#include "platform/platform.h"
#include "support/times.h"

/* How many chances are let go before the next one is taken. */
static unsigned let_go(th_idle_spin *spin) {
    unsigned n = 0;
    while (!th_idle_spin_begin(spin, false)) {
        n++;
    }
    return n;
}

TEST(each_time_in_vain_halves_how_often_it_is_done) {
    /* After n times for nothing in a row 2^n - 1 chances are let go, and never more than 63. */
    th_idle_spin spin = {.taken = false};
    static const unsigned expected[] = {0, 1, 3, 7, 15, 31, 63, 63, 63};
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_EQ(let_go(&spin), expected[i]);
        th_idle_spin_end(&spin, false);
    }
}

TEST(a_time_that_has_helped_begins_anew) {
    /* A look that has found a job wipes out those for nothing before it. */
    th_idle_spin spin = {.taken = false};
    for (unsigned i = 0; i < 5; i++) {
        (void)let_go(&spin);
        th_idle_spin_end(&spin, false);
    }
    CHECK_EQ(let_go(&spin), 31);
    th_idle_spin_end(&spin, true);
    CHECK_EQ(let_go(&spin), 0);
    th_idle_spin_end(&spin, false);
    CHECK_EQ(let_go(&spin), 1);
}

TEST(one_looks_at_a_time) {
    /* While one thread looks on no other one does. */
    th_idle_spin spin = {.taken = false};
    CHECK(th_idle_spin_begin(&spin, false));
    CHECK(!th_idle_spin_begin(&spin, false));
    th_idle_spin_end(&spin, true);
    CHECK(th_idle_spin_begin(&spin, false));
}

TEST(with_one_processor_none_does) {
    /* Where there is one processor no chance is taken, however often it is asked. */
    th_idle_spin spin = {.taken = false};
    for (unsigned i = 0; i < 100; i++) {
        CHECK(!th_idle_spin_begin(&spin, true));
    }
    CHECK(th_idle_spin_begin(&spin, false));
}

TEST(a_look_ends_when_there_is_something_or_after_its_time) {
    /* It returns at once if there is a job, and else takes its time. */
    uint32_t length = 1;
    const thrum_time before = past();
    th_idle_spin_look(&length);
    length = 0;
    th_idle_spin_look(&length);
    CHECK_PASSED(before + TH_IDLE_SPIN_NS);
}

static void ask(void *arg) {
    *(bool *)arg = th_idle_spin_is_alone();
}

static bool is_alone_on(const th_os_cpuset *cpus) {
    th_os_thread thread;
    bool alone = false;
    CHECK_EQ(th_os_thread_start_on(&thread, "asks", ask, &alone, cpus), 0);
    th_os_thread_join(thread);
    return alone;
}

TEST(a_thread_with_one_processor_is_alone) {
    /* A thread that may use one processor is alone, whatever was asked before on others. */
    th_os_cpuset all;
    if (th_os_cpuset_granted(&all)) {
        CHECK_SKIP("the system does not tell which processors there are");
    }
    th_os_cpuset one = {{0}};
    for (unsigned i = 0; i < TH_OS_CPUS_MAX && !th_affinity_count(&one); i++) {
        one.bits[i / 64] = all.bits[i / 64] & (uint64_t)1 << (i % 64);
    }
    CHECK(is_alone_on(&one));
    CHECK_EQ(is_alone_on(&all), th_os_cpus() == 1);
    CHECK(is_alone_on(&one));
}
