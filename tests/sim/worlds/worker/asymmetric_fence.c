/*
 * asymmetric_fence.c: places that only their worker takes from, behind the asymmetric fence
 * (src/queue/README.md): the owner takes by plain accesses, a rescuer has the system order all the
 * processors first. The LIFO slot and the batches are behind it.
 */
#include "queue/asymmetric_fence.h"

#include "items.h"
#include "platform/platform.h"
#include "queue/batch.h"

static th_afence fence;
static th_work *xslot;
static th_work *slots[4];
static th_ring ring;
static th_batch batch;
static unsigned rescue_rounds;

/* submit_next: the previous work is taken through the asymmetric fence first. */
static void fill(unsigned i) {
    th_work *old = th_afence_take(&fence, &xslot);
    /* pairs: th_afence_rescue */
    th_store_release(&xslot, item_make(i));
    if (old) {
        item_take(old);
    }
}

static void take(void) {
    th_work *work = th_afence_take(&fence, &xslot);
    if (work) {
        item_take(work);
    }
}

/* The owner: it takes its own work, if that is still there, or lets the next push it out. */
static void own(unsigned first, unsigned n) {
    for (unsigned i = first; i < n; i++) {
        fill(i);
        if (sim_pick(2)) {
            take();
        }
    }
    take();
}

static void rescuer(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < rescue_rounds; i++) {
        if (!th_load_relaxed(&xslot) || !th_afence_rescue_begin(&fence, th_fence_heavy)) {
            continue;
        }
        th_work *work = th_afence_rescue(&xslot);
        th_afence_rescue_end(&fence);
        if (work) {
            item_take(work);
        }
    }
}

static void begin(uint32_t state, unsigned rounds) {
    fence = (th_afence){.xrevoked = state};
    th_ring_init(&ring, slots, 4);
    rescue_rounds = rounds;
}

static void finish(unsigned n) {
    take();
    sim_check(!xslot && !fence.xtaking && fence.xrevoked != TH_AFENCE_REVOKED);
    items_all_taken(n);
}

/* Owner and rescuer take the same work: one fill, one take, one rescue. */
SIM_WORLD(afence_take, .exhaustive = true, .preemptions = 4, .inserts = true) {
    begin(TH_AFENCE_OPEN, 1);
    int t = sim_spawn(rescuer, NULL);
    fill(0);
    take();
    sim_join(t);
    finish(1);
}

/*
 * The owner refills between rescues: it reads OPEN and must not see work that the last rescuer
 * took, and it fills a place while a rescuer exchanges. Some barriers are refused.
 */
SIM_WORLD(afence_refill, .exhaustive = true, .refusals = 2) {
    begin(TH_AFENCE_OPEN, 3);
    int t = sim_spawn(rescuer, NULL);
    own(0, 4);
    sim_join(t);
    finish(4);
}

/*
 * Two rescuers: the second goes away or comes after the first. When its barrier is refused, an
 * owner that reads OPEN from it must still see the places that the first has emptied as empty.
 */
SIM_WORLD(afence_two_rescuers, .refusals = 2) {
    begin(TH_AFENCE_OPEN, 2);
    int a = sim_spawn(rescuer, NULL);
    int b = sim_spawn(rescuer, NULL);
    own(0, 3);
    sim_join(a);
    sim_join(b);
    finish(3);
}

/*
 * If the system cannot order processors the asymmetric fence is shut for ever: all threads
 * exchange, and rescuers do not keep each other away.
 */
SIM_WORLD(afence_shut) {
    begin(TH_AFENCE_SHUT, 2);
    int a = sim_spawn(rescuer, NULL);
    int b = sim_spawn(rescuer, NULL);
    own(0, 3);
    sim_join(a);
    sim_join(b);
    sim_check(fence.xrevoked == TH_AFENCE_SHUT);
    finish(3);
}

/* ---- batches ---- */

/* rescue_private: takes the batch, then the slot; then a thief's share of the ring. */
static void batch_rescuer(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < rescue_rounds; i++) {
        th_work *got[1 + 2 * TH_BATCH];
        uint64_t n = 0;
        if ((th_batch_seen(&batch) || th_load_relaxed(&xslot)) &&
            th_afence_rescue_begin(&fence, th_fence_heavy)) {
            n = th_batch_rescue(&batch, got);
            got[n] = th_afence_rescue(&xslot);
            n += got[n] != NULL;
            th_afence_rescue_end(&fence);
        }
        n += th_ring_steal(&ring, got + n, 1);
        while (n > 0) {
            item_take(got[--n]);
        }
    }
}

/* policy_sharded, take_own. */
static bool take_own(int *last) {
    uint64_t head = th_batch_head(&batch, &ring);
    th_work *work = th_batch_take(&batch, &fence);
    /* pushed one by one, an item's number is its position: nothing below the head is left */
    sim_check(head >= (uint64_t)(*last + 1) && head <= th_ring_tail(&ring));
    if (!work && th_ring_size(&ring)) {
        work = th_batch_fill(&batch, &ring, true);
    }
    if (work) {
        item_take_after(work, last);
    }
    return work;
}

static void own_batches(unsigned n) {
    int last = -1;
    for (unsigned i = 0; i < n; i++) {
        th_work *work = item_make(i);
        while (!th_ring_push(&ring, work)) {
            take_own(&last);
        }
    }
    while (take_own(&last)) {
    }
}

/*
 * The owner takes its batch one by one while others rescue from it; it is filled again only when
 * the owner has found all its places empty.
 */
SIM_WORLD(afence_batch, .exhaustive = true, .refusals = 1) {
    begin(TH_AFENCE_OPEN, 3);
    int t = sim_spawn(batch_rescuer, NULL);
    own_batches(7);
    sim_join(t);
    sim_check(!th_batch_any(&batch) && !th_batch_seen(&batch));
    finish(7);
}

/* Two rescuers; batch and slot are behind one fence. */
SIM_WORLD(afence_batch_and_slot, .refusals = 1) {
    begin(TH_AFENCE_OPEN, 2);
    int a = sim_spawn(batch_rescuer, NULL);
    int b = sim_spawn(batch_rescuer, NULL);
    fill(7);
    own_batches(4);
    take();
    sim_join(a);
    sim_join(b);
    finish(4);
    sim_check(items[7].taken == 1);
}

/* The same where the asymmetric fence is shut. */
SIM_WORLD(afence_batch_shut) {
    begin(TH_AFENCE_SHUT, 2);
    int a = sim_spawn(batch_rescuer, NULL);
    int b = sim_spawn(batch_rescuer, NULL);
    own_batches(6);
    sim_join(a);
    sim_join(b);
    finish(6);
}
