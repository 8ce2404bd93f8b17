/*
 * spares.c: spare workers whose threads, memory or stacks the system refuses, and threads whose
 * processor time cannot be told.
 */
/* matrix: policy workers */
#include "support/sync/held.h"

#include "platform/faults.h"

static void hold_once(hold *h, held_way way) {
    held_begin(h, way, held_regular(h), true);
    open_by_post(h);
    held_end(h);
    held_settle(h);
}

TEST(no_spare_can_be_started) {
    /* Nobody takes over then; everything else goes on, and nothing is left behind. */
    static hold h;
    held_init_spares(&h);
    th_os_fail(TH_OS_FAULT_THREAD, h.r.config.workers, UINT32_MAX);
    held_start(&h);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    held_begin(&h, HELD_READING, held_regular(&h), true);
    held_open(&h);
    held_end(&h);
    CHECK_EQ(held_metrics(&h).workers, held_regular(&h));
    held_stop(&h);
}

TEST(the_next_spare_cannot_be_started) {
    /* The first one takes over, again and again: who else would run what opens the hold? */
    static hold h;
    held_init_spares(&h);
    th_os_fail(TH_OS_FAULT_THREAD, h.r.config.workers + 1, UINT32_MAX);
    held_start(&h);
    for (int i = 0; i < 3; i++) {
        hold_once(&h, HELD_READING);
    }
    CHECK_EQ(held_metrics(&h).workers, held_regular(&h) + 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    held_stop(&h);
}

static void refuse_first(th_os_fault kind, uint32_t after) {
    static hold h;
    held_init_spares(&h);
    h.r.config.alloc = NULL; /* the system's, which fails on demand */
    h.r.config.free = NULL;
    held_start(&h);
    held_begin(&h, HELD_READING, held_regular(&h), true);
    th_os_fail(kind, after, 1);
    open_by_post(&h);
    held_end(&h);
    th_os_fail(kind, 0, 0);
    hold_once(&h, HELD_WAITING);
    held_stop(&h);
}

TEST(a_spare_has_no_memory_at_first) {
    /* A second later it has; what waits runs then. */
    for (uint32_t after = 0; after < 5; after++) {
        refuse_first(TH_OS_FAULT_ALLOC, after);
    }
}

TEST(a_spare_has_no_stack_at_first) {
    /* A second later it has; what waits runs then. */
    refuse_first(TH_OS_FAULT_MAP, 0);
}

enum { CROWD = 300 };

static atomic_bool stacks_are_back;
static thrum_sem keeper_goes;

/* Waits, as long as stacks are short; behind that it lets the others go on. */
static int waits_or_opens(void *arg) {
    hold *h = arg;
    if (!atomic_load(&stacks_are_back)) {
        return thrum_sem_wait(&h->sem);
    }
    if (atomic_fetch_add(&h->ran, 1) == 0) {
        held_open(h);
    }
    return 0;
}

static int keeps_the_last_worker(void *arg) {
    hold *h = arg;
    CHECK_EQ(thrum_sem_wait(&keeper_goes), 0);
    atomic_fetch_add(&h->passes, 1);
    held_wait_for_cond(h);
    return 0;
}

TEST(tasks_that_wait_for_a_stack_bring_a_spare) {
    /* All workers are held up, nothing else waits, and there are stacks again. */
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    thrum_sem_init(&h.sem, 0);
    thrum_sem_init(&keeper_goes, 0);
    atomic_store(&stacks_are_back, false);
    rig_go(&h.r, keeps_the_last_worker, &h);
    CHECK_EQ(thrum_sched_wait_idle(h.r.sched, THRUM_FOREVER), 0);
    held_begin(&h, HELD_WAITING, held_regular(&h) - 1, true);
    th_os_fail(TH_OS_FAULT_MAP, 0, UINT32_MAX);
    for (int i = 0; i < CROWD; i++) {
        rig_go(&h.r, waits_or_opens, &h);
    }
    SPIN_UNTIL(th_load_relaxed(&h.r.sched->xdeferred) > 0);
    thrum_sem_post(&keeper_goes);
    SPIN_UNTIL(atomic_load(&h.passes) == 1);
    atomic_store(&stacks_are_back, true);
    th_os_fail(TH_OS_FAULT_MAP, 0, 0);
    held_end(&h);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&h.sem);
    }
    held_stop(&h);
}

static void counts(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    atomic_fetch_add(&h->ran, 1);
}

TEST(a_spare_never_has_memory) {
    /* Nobody takes over; the rig's allocator tells what is freed twice, or never. */
    static hold h;
    for (int after = 1; after < 8; after++) {
        held_init_spares(&h);
        held_start(&h);
        held_begin(&h, HELD_READING, held_regular(&h), true);
        atomic_store(&h.r.fail_at, atomic_load(&h.r.calls) + after);
        thrum_task_init(&h.openers[0], counts, &h);
        CHECK_EQ(thrum_task_post(h.r.sched, &h.openers[0]), 0);
        SPIN_UNTIL(atomic_load(&h.r.refused) > 0 || atomic_load(&h.ran) > 0);
        held_open(&h);
        held_end(&h);
        held_stop(&h);
        CHECK_EQ(atomic_load(&h.ran), 1);
    }
}

TEST(processor_times_are_not_known) {
    /* All count as computing: one spare takes over. */
    static hold h;
    held_init_spares(&h);
    th_os_fail(TH_OS_FAULT_RAN, 0, UINT32_MAX);
    held_start(&h);
    for (int way = 0; way < HELD_WAYS; way++) {
        hold_once(&h, (held_way)way);
    }
    th_os_fail(TH_OS_FAULT_RAN, 0, 0);
    held_stop(&h);
}
