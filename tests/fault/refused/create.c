/*
 * create.c: calls that create or grow something where memory ends: channels, select, scopes, pools,
 * graphs, bindings. A code comes back, nothing is lost or leaked, and later it works.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#include "platform/faults.h"

static void no_memory(rig *r, bool on) {
    atomic_store(&r->fail_all, on);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, on ? UINT32_MAX : 0);
}

static void in_task(thrum_fn fn) {
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    rig_stop(&r);
}

/* ---- channels ---- */

TEST(a_channel_cannot_be_made) {
    /* It fails with -ENOMEM for each kind, and *out is as it was. */
    const size_t capacities[] = {0, 1, 100, THRUM_UNBOUNDED};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        thrum_chan *chan = NULL;
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
        const int result = thrum_chan_create(&chan, 24, capacities[i]);
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
        CHECK_EQ(result, -ENOMEM);
        CHECK(chan == NULL);
        CHECK_EQ(thrum_chan_create(&chan, 24, capacities[i]), 0);
        CHECK_EQ(thrum_chan_destroy(chan), 0);
    }
}

/* Sends by one of four calls; each must return the same. */
static int send_somehow(thrum_chan *chan, const long *elem, int how) {
    thrum_case one[] = {THRUM_SEND_CASE(chan, elem)};
    switch (how % 4) {
    case 0:
        return thrum_chan_send(chan, elem);
    case 1:
        return thrum_chan_send_until(chan, elem, far_off());
    case 2:
        return thrum_chan_try_send(chan, elem);
    default:
        return thrum_select(one, 1, THRUM_FOREVER);
    }
}

static int grows(void *arg) {
    rig *r = arg;
    thrum_chan *chan;
    long sent = 0, got = -1;
    CHECK_EQ(thrum_chan_create(&chan, sizeof(long), THRUM_UNBOUNDED), 0);
    for (int round = 0; round < 6; round++) {
        int result;
        no_memory(r, true);
        while ((result = send_somehow(chan, &sent, round)) == 0) {
            sent++;
            CHECK(sent < 100000);
        }
        CHECK_EQ(result, -ENOMEM);
        for (int how = 0; how < 4; how++) {
            CHECK_EQ(send_somehow(chan, &sent, how), -ENOMEM);
        }
        CHECK_EQ(thrum_chan_len(chan), (size_t)(sent - got - 1));
        no_memory(r, false);
        for (int i = 0; i < 1000; i++, sent++) {
            CHECK_EQ(send_somehow(chan, &sent, i), 0);
        }
        no_memory(r, true); /* taking out needs no memory */
        for (long next = got + 1; next < sent - round * 100; next++) {
            CHECK_EQ(thrum_chan_recv(chan, &got), 0);
            CHECK_EQ(got, next); /* the refused elements are not among them */
        }
        no_memory(r, false);
    }
    CHECK_EQ(thrum_chan_destroy(chan), 0); /* some are still inside */
    return 0;
}

TEST(an_unbounded_channel_cannot_grow) {
    /* Each way to send fails with -ENOMEM, what was sent is there in order, and later it grows. */
    in_task(grows);
}

typedef struct pair {
    thrum_chan *chan;
    long sum;
} pair;

static int takes_all(void *arg) {
    pair *p = arg;
    long got;
    while (thrum_chan_recv(p->chan, &got) == 0) {
        p->sum += got;
    }
    return 0;
}

static int hands_over(void *arg) {
    rig *r = arg;
    const size_t capacities[] = {0, 3, THRUM_UNBOUNDED};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        pair p = {NULL, 0};
        thrum_handle *handle;
        CHECK_EQ(thrum_chan_create(&p.chan, sizeof(long), capacities[i]), 0);
        CHECK_EQ(thrum_spawn(&handle, takes_all, &p), 0);
        thrum_yield();
        no_memory(r, true);
        for (long n = 1; n <= 200; n++) {
            while (thrum_chan_len(p.chan) > 2) {
                thrum_yield(); /* this lets an unbounded one get by without more */
            }
            int result;
            while ((result = thrum_chan_send(p.chan, &n)) == -ENOMEM && i == 2) {
                thrum_yield();
            }
            CHECK_EQ(result, 0);
        }
        CHECK_EQ(thrum_chan_close(p.chan), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        no_memory(r, false);
        CHECK_EQ(p.sum, 200 * 201 / 2);
        CHECK_EQ(thrum_chan_destroy(p.chan), 0);
    }
    return 0;
}

TEST(handing_over_needs_no_memory) {
    /* Tasks send and receive, waiting or not, through all kinds of channels. */
    in_task(hands_over);
}

/* ---- select ---- */

enum { MANY = THRUM_SELECT_FRAME + 6 };

static int sends_later(void *arg) {
    const long elem = 9;
    thrum_yield();
    return thrum_chan_send(arg, &elem);
}

static int selects_many(void *arg) {
    rig *r = arg;
    thrum_chan *chans[MANY];
    thrum_case cases[MANY];
    thrum_handle *handle;
    long got = 0;
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(thrum_chan_create(&chans[i], sizeof(long), 0), 0);
        cases[i] = THRUM_RECV_CASE(chans[i], &got);
    }
    no_memory(r, true);
    CHECK_EQ(thrum_select(cases, MANY, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(thrum_select(cases, THRUM_SELECT_FRAME, soon()), -ETIMEDOUT);
    no_memory(r, false);
    CHECK_EQ(got, 0);
    CHECK_EQ(thrum_spawn(&handle, sends_later, chans[MANY - 1]), 0);
    CHECK_EQ(thrum_select(cases, MANY, THRUM_FOREVER), MANY - 1);
    CHECK_EQ(got, 9);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(thrum_chan_destroy(chans[i]), 0); /* no waiter is left at it */
    }
    return 0;
}

TEST(a_select_of_many_cannot_wait) {
    /*
     * Beyond the frame's cases it fails with -ENOMEM; nothing is done and no waiter is left in a
     * queue.
     */
    in_task(selects_many);
}

/* ---- scopes ---- */

static int runs_in_scope(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    const int result = thrum_sleep(THRUM_FOREVER);
    CHECK_EQ(result, -ECANCELED);
    return 0;
}

static int goes(void *arg) {
    rig *r = arg;
    atomic_int ran = 0;
    thrum_scope scope;
    int started = 0, result;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    no_memory(r, true);
    while ((result = thrum_scope_go(&scope, runs_in_scope, &ran)) == 0) {
        started++;
        CHECK(started < 10000);
    }
    no_memory(r, false);
    CHECK_EQ(result, -ENOMEM);
    CHECK_EQ(thrum_scope_go(&scope, runs_in_scope, &ran), 0); /* it runs, and is cancelled */
    CHECK_EQ(thrum_scope_join(&scope), -ENOMEM);
    CHECK_EQ(atomic_load(&ran), started + 1);
    CHECK_EQ(thrum_scope_open(&scope, far_off()), 0); /* the timer needs no memory */
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(a_child_cannot_be_started) {
    /* It is recorded like a failure: the others are cancelled, and the join returns it. */
    in_task(goes);
}

/* ---- each allocation of all of them ---- */

static int node(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static bool is_code(int result) {
    CHECK(result == 0 || result == -ENOMEM);
    return result == 0;
}

static void use_pool(rig *r) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    thrum_pool *pool;
    void *items[3];
    config.item_size = 100;
    config.ctx = r;
    config.alloc = rig_alloc;
    config.free = rig_free;
    if (!is_code(thrum_pool_create(&pool, &config))) {
        return;
    }
    if (is_code(thrum_pool_borrow_n(pool, items, 3))) {
        for (int i = 0; i < 3; i++) {
            thrum_pool_give_back(pool, items[i]);
        }
    }
    CHECK_EQ(thrum_pool_destroy(pool), 0);
}

static void use_dag(void) {
    thrum_dag *dag;
    atomic_int ran = 0;
    int nodes = 0;
    if (!is_code(thrum_dag_create(&dag))) {
        return;
    }
    for (int i = 0; i < 40; i++) {
        const int added = thrum_dag_node(dag, node, &ran);
        CHECK(added == nodes || added == -ENOMEM);
        nodes += added >= 0;
        if (nodes > 1) {
            (void)is_code(thrum_dag_edge(dag, nodes - 2, nodes - 1));
        }
    }
    if (is_code(thrum_dag_run(dag))) {
        CHECK_EQ(atomic_load(&ran), nodes);
    } else {
        CHECK_EQ(atomic_load(&ran), 0);
    }
    CHECK_EQ(thrum_dag_run(dag), 0); /* one allocation has failed: no other does */
    CHECK_EQ(thrum_dag_destroy(dag), 0);
}

static int uses_all(void *arg) {
    atomic_int ran = 0;
    thrum_scope scope;
    use_pool(arg);
    use_dag();
    CHECK_EQ(thrum_scope_open(&scope, far_off()), 0);
    int bad = 0;
    for (int i = 0; i < 300; i++) {
        bad |= !is_code(thrum_scope_go(&scope, node, &ran));
    }
    CHECK_EQ(thrum_scope_join(&scope), bad ? -ENOMEM : 0);
    const int result = thrum_blocking(node, &ran, NULL);
    CHECK(result == 0 || result == -ENOMEM);
    return 0;
}

static void *binds(void *seat) {
    rig *r = ((crew_seat *)seat)->arg;
    thrum_handle *handle;
    atomic_int ran = 0;
    if (is_code(thrum_sched_bind(r->sched))) {
        const thrum_attr attr = {.size = sizeof(attr), .flags = THRUM_PINNED, .worker = -1};
        if (is_code(thrum_spawn_with(&handle, &attr, node, &ran))) {
            CHECK_EQ(thrum_join(handle, NULL), 0);
        }
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(each_allocation_of_all_of_them) {
    /* The Nth allocation of the scheduler's is refused once, for every N. */
    bool refused = true;
    for (long n = 1; refused && n < 2000; n++) {
        rig r;
        crew c;
        rig_begin(&r, 0);
        atomic_store(&r.fail_at, atomic_load(&r.calls) + n);
        crew_start(&c, 1, binds, &r);
        crew_join(&c);
        const thrum_attr attr = rig_attr(&r);
        thrum_handle *handle;
        if (is_code(thrum_spawn_with(&handle, &attr, uses_all, &r))) {
            CHECK_EQ(thrum_join(handle, NULL), 0);
        }
        refused = atomic_load(&r.refused) > 0;
        atomic_store(&r.fail_at, 0);
        rig_stop(&r);
    }
    CHECK(!refused); /* each allocation has failed once */
}
