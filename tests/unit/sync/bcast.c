/*
 * bcast.c: broadcast channels, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/awaits.h"
#include "support/times.h"

#define MANY 2000

static thrum_bcast *bcast_new(size_t capacity) {
    thrum_bcast *b = NULL;
    CHECK_EQ(thrum_bcast_create(&b, sizeof(int), capacity), 0);
    return b;
}

static void send_int(thrum_bcast *b, int value) {
    CHECK_EQ(thrum_bcast_send(b, &value), 0);
}

/* ---- without waiting ---- */

TEST(wrong_arguments_are_refused) {
    /* Sizes that do not fit are -EINVAL; destroying no channel is fine. */
    thrum_bcast *b = NULL;
    CHECK_EQ(thrum_bcast_create(NULL, 8, 1), -EINVAL);
    CHECK_EQ(thrum_bcast_create(&b, 8, 0), -EINVAL);
    CHECK_EQ(thrum_bcast_create(&b, SIZE_MAX / 2, 4), -EINVAL);
    CHECK_EQ(thrum_bcast_create(&b, 8, SIZE_MAX), -EINVAL);
    CHECK_EQ(thrum_bcast_create(&b, SIZE_MAX / 16, SIZE_MAX / 16), -EINVAL);
    CHECK(b == NULL);
    CHECK_EQ(thrum_bcast_destroy(NULL), 0);
}

TEST(elements_of_any_size_arrive_in_order) {
    /* Sizes that fill their words and others; each receiver gets each element, round after round.
     */
    static const size_t sizes[] = {0, 1, 4, 8, 12, 16, 301};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        thrum_bcast *b;
        thrum_bcast_receiver rx[2];
        unsigned char in[302], out[302];
        CHECK_EQ(thrum_bcast_create(&b, sizes[k], 8), 0);
        thrum_bcast_subscribe(b, &rx[0]);
        thrum_bcast_subscribe(b, &rx[1]);
        for (unsigned n = 0; n < 100; n++) {
            memset(in, (int)n, sizeof in);
            CHECK_EQ(thrum_bcast_send(b, in), 0);
            for (int i = 0; i < 2; i++) {
                memset(out, 255, sizeof out);
                CHECK_EQ(thrum_bcast_recv(&rx[i], out), 0);
                CHECK(memcmp(in, out, sizes[k]) == 0);
                CHECK_EQ(out[sizes[k]], 255); /* no byte more than that */
            }
        }
        CHECK_EQ(thrum_bcast_try_recv(&rx[0], out), -EAGAIN);
        CHECK_EQ(thrum_bcast_destroy(b), 0);
    }
}

TEST(a_receiver_gets_what_is_sent_after_it_was_made) {
    /* A copy of a receiver is a receiver at the same position. */
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver rx;
    int out = 0;
    send_int(b, 1);
    thrum_bcast_subscribe(b, &rx);
    CHECK_EQ(thrum_bcast_try_recv(&rx, &out), -EAGAIN);
    send_int(b, 2);
    thrum_bcast_receiver copy = rx;
    CHECK_EQ(thrum_bcast_try_recv(&rx, &out), 0);
    CHECK_EQ(out, 2);
    CHECK_EQ(thrum_bcast_recv_until(&copy, &out, past()), 0);
    CHECK_EQ(out, 2);
    CHECK_EQ(thrum_bcast_recv_until(&copy, &out, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

TEST(a_slow_receiver_finds_out_how_many_it_missed) {
    /* It goes on with the oldest element that is there, and misses none of the rest. */
    thrum_bcast *b = bcast_new(5); /* keeps 8 */
    thrum_bcast_receiver rx;
    int out = -1;
    thrum_bcast_subscribe(b, &rx);
    for (int i = 0; i < 30; i++) {
        send_int(b, i);
    }
    CHECK_EQ(thrum_bcast_missed(&rx), 0);
    CHECK_EQ(thrum_bcast_try_recv(&rx, &out), -EOVERFLOW);
    CHECK_EQ(thrum_bcast_missed(&rx), 22);
    for (int i = 22; i < 30; i++) {
        CHECK_EQ(thrum_bcast_recv(&rx, &out), 0);
        CHECK_EQ(out, i);
    }
    CHECK_EQ(thrum_bcast_missed(&rx), 22);
    for (int i = 0; i < 9; i++) {
        send_int(b, i);
    }
    CHECK_EQ(thrum_bcast_recv_until(&rx, &out, past()), -EOVERFLOW);
    CHECK_EQ(thrum_bcast_missed(&rx), 1);
    CHECK_EQ(thrum_bcast_recv(&rx, &out), 0);
    CHECK_EQ(out, 1);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

TEST(the_latest_element_hides_those_before_it) {
    /* It is received once; a peek finds it as often as it looks, also after a close. */
    thrum_bcast *b = bcast_new(1);
    thrum_bcast_receiver rx;
    int out = -1;
    CHECK_EQ(thrum_bcast_peek(b, &out), -EAGAIN);
    thrum_bcast_subscribe(b, &rx);
    CHECK_EQ(thrum_bcast_try_recv_latest(&rx, &out), -EAGAIN);
    CHECK_EQ(out, -1);
    for (int i = 0; i < 30; i++) {
        send_int(b, i);
    }
    CHECK_EQ(thrum_bcast_peek(b, &out), 0);
    CHECK_EQ(out, 29);
    CHECK_EQ(thrum_bcast_recv_latest(&rx, &out), 0);
    CHECK_EQ(out, 29);
    CHECK_EQ(thrum_bcast_missed(&rx), 0);
    CHECK_EQ(thrum_bcast_recv_latest_until(&rx, &out, past()), -ETIMEDOUT);
    send_int(b, 30);
    CHECK_EQ(thrum_bcast_close(b), 0);
    CHECK_EQ(thrum_bcast_recv_latest_until(&rx, &out, past()), 0);
    CHECK_EQ(out, 30);
    CHECK_EQ(thrum_bcast_recv_latest(&rx, &out), -EPIPE);
    CHECK_EQ(thrum_bcast_peek(b, &out), 0);
    CHECK_EQ(out, 30);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

TEST(a_closed_channel_still_has_its_elements) {
    /* Then -EPIPE; nothing more is sent, and a second close changes nothing. */
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver rx;
    int out = 7;
    thrum_bcast_subscribe(b, &rx);
    send_int(b, 1);
    send_int(b, 2);
    CHECK_EQ(thrum_bcast_close(b), 0);
    CHECK_EQ(thrum_bcast_close(b), -EPIPE);
    CHECK_EQ(thrum_bcast_send(b, &out), -EPIPE);
    CHECK_EQ(thrum_bcast_recv(&rx, &out), 0);
    CHECK_EQ(thrum_bcast_try_recv(&rx, &out), 0);
    CHECK_EQ(out, 2);
    CHECK_EQ(thrum_bcast_try_recv(&rx, &out), -EPIPE);
    CHECK_EQ(thrum_bcast_recv(&rx, &out), -EPIPE);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

/* ---- waiting ---- */

typedef struct stage {
    thrum_bcast *b;
    thrum_bcast_receiver receivers[20];
    int n;
    atomic_long got, missed;
} stage;

static int receive_all(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int next = 0;
    int out = 0;
    int code;
    while ((code = thrum_bcast_recv(&s->receivers[a->index], &out)) != -EPIPE) {
        if (code == -EOVERFLOW) {
            next += (int)thrum_bcast_missed(&s->receivers[a->index]);
            atomic_fetch_add(&s->missed, (long)thrum_bcast_missed(&s->receivers[a->index]));
            continue;
        }
        CHECK_EQ(code, 0);
        CHECK_EQ(out, next++);
        atomic_fetch_add(&s->got, 1);
    }
    CHECK_EQ(next, s->n);
    return 0;
}

static void all_receive(size_t capacity, int n) {
    rig_begin(&r, 0);
    stage *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->b = bcast_new(capacity);
    s->n = n;
    for (size_t i = 0; i < COUNT_OF(s->receivers); i++) {
        thrum_bcast_subscribe(s->b, &s->receivers[i]);
    }
    cast *c = cast_new(&r);
    cast_add_mixed(c, 16, 4, receive_all, s);
    SPIN_UNTIL(BCAST_WAITING(s->b) == 20);
    CHECK_EQ(thrum_bcast_destroy(s->b), -EBUSY);
    for (int i = 0; i < n; i++) {
        send_int(s->b, i);
    }
    CHECK_EQ(thrum_bcast_close(s->b), 0);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->got) + atomic_load(&s->missed), 20L * n);
    CHECK_EQ(thrum_bcast_destroy(s->b), 0);
    free(s);
    rig_stop(&r);
}

TEST(each_receiver_gets_each_element_or_counts_it) {
    /* Fibers and threads, with a channel that keeps all elements and one that keeps few. */
    all_receive(MANY, MANY);
    all_receive(4, MANY);
}

static int watch_until_last(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int last = -1;
    int out = 0;
    int code;
    while ((code = thrum_bcast_recv_latest(&s->receivers[a->index], &out)) == 0) {
        CHECK(out > last);
        last = out;
    }
    CHECK_EQ(code, -EPIPE);
    CHECK_EQ(last, s->n - 1);
    return 0;
}

TEST(each_watcher_sees_the_last_value) {
    /* Values only grow, and no watcher ends with an older one. */
    rig_begin(&r, 0);
    stage *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->b = bcast_new(1);
    s->n = MANY;
    for (size_t i = 0; i < COUNT_OF(s->receivers); i++) {
        thrum_bcast_subscribe(s->b, &s->receivers[i]);
    }
    cast *c = cast_new(&r);
    cast_add_mixed(c, 16, 4, watch_until_last, s);
    for (int i = 0; i < MANY; i++) {
        send_int(s->b, i);
    }
    CHECK_EQ(thrum_bcast_close(s->b), 0);
    cast_join(c);
    CHECK_EQ(thrum_bcast_destroy(s->b), 0);
    free(s);
    rig_stop(&r);
}

TEST(a_wait_ends_at_its_deadline) {
    /* The receiver keeps its position: the next element is not missed. */
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver rx;
    int out = 3;
    thrum_bcast_subscribe(b, &rx);
    thrum_time until = soon();
    CHECK_EQ(thrum_bcast_recv_until(&rx, &out, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    until = soon();
    CHECK_EQ(thrum_bcast_recv_latest_until(&rx, &out, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(out, 3);
    send_int(b, 4);
    CHECK_EQ(thrum_bcast_recv_until(&rx, &out, far_off()), 0);
    CHECK_EQ(out, 4);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

static int wait_cancelled(void *arg) {
    thrum_bcast_receiver *receiver = arg;
    int out;
    CHECK_EQ(thrum_bcast_recv(receiver, &out), -ECANCELED);
    CHECK_EQ(thrum_bcast_recv_until(receiver, &out, far_off()), -ECANCELED);
    return 0;
}

TEST(a_cancelled_receiver_leaves_the_list) {
    /* A wait with a deadline does as well. */
    rig_begin(&r, 0);
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver receiver;
    thrum_handle *handle;
    thrum_bcast_subscribe(b, &receiver);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_cancelled, &receiver), 0);
    SPIN_UNTIL(BCAST_WAITING(b) == 1);
    thrum_cancel(handle);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(BCAST_WAITING(b), 0);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
    rig_stop(&r);
}

/* ---- select ---- */

TEST(a_case_that_can_be_done_is_done_at_once) {
    /* An element, the loss of some, and a close; without a receiver it never happens. */
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver next, latest;
    int a = 0;
    int z = 0;
    thrum_bcast_subscribe(b, &next);
    thrum_bcast_subscribe(b, &latest);
    thrum_case one[] = {THRUM_BCAST_CASE(&next, &a)};
    thrum_case other[] = {THRUM_BCAST_CASE(NULL, &a), THRUM_BCAST_LATEST_CASE(&latest, &z)};
    CHECK_EQ(thrum_select(one, 1, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(other, 2, past()), -ETIMEDOUT);
    send_int(b, 5);
    CHECK_EQ(thrum_select(one, 1, past()), 0);
    CHECK(one[0].status == 0 && a == 5);
    for (int i = 1; i <= 6; i++) {
        send_int(b, i);
    }
    CHECK_EQ(thrum_select(one, 1, THRUM_FOREVER), 0);
    CHECK_EQ(one[0].status, -EOVERFLOW);
    CHECK_EQ(thrum_bcast_missed(&next), 2);
    CHECK_EQ(thrum_select(other, 2, past()), 1);
    CHECK(other[1].status == 0 && z == 6);
    CHECK_EQ(thrum_bcast_close(b), 0);
    CHECK_EQ(thrum_select(other, 2, past()), 1);
    CHECK_EQ(other[1].status, -EPIPE);
    one[0].kind |= 512;
    CHECK_EQ(thrum_select(one, 1, past()), -EINVAL);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}

static int select_all(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    thrum_bcast_receiver *receiver = &s->receivers[a->index];
    int next = 0;
    for (;;) {
        int out = -1;
        thrum_case cases[] = {THRUM_RECV_CASE(NULL, NULL), THRUM_EVENT_CASE(NULL),
                              THRUM_BCAST_CASE(receiver, &out)};
        CHECK_EQ(thrum_select(cases, 3, a->index % 2 ? far_off() : THRUM_FOREVER), 2);
        if (cases[2].status == -EPIPE) {
            CHECK_EQ(next, s->n);
            return 0;
        }
        if (cases[2].status == -EOVERFLOW) {
            next += (int)thrum_bcast_missed(receiver);
            continue;
        }
        CHECK_EQ(cases[2].status, 0);
        CHECK_EQ(out, next++);
    }
}

TEST(a_waiting_select_gets_each_element_or_counts_it) {
    /* Fibers and threads, with and without a deadline; the close comes to all. */
    rig_begin(&r, 0);
    stage *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->b = bcast_new(16);
    s->n = MANY;
    for (size_t i = 0; i < COUNT_OF(s->receivers); i++) {
        thrum_bcast_subscribe(s->b, &s->receivers[i]);
    }
    cast *c = cast_new(&r);
    cast_add_mixed(c, 12, 4, select_all, s);
    SPIN_UNTIL(BCAST_WAITING(s->b) == 16);
    for (int i = 0; i < MANY; i++) {
        send_int(s->b, i);
    }
    CHECK_EQ(thrum_bcast_close(s->b), 0);
    cast_join(c);
    CHECK_EQ(thrum_bcast_destroy(s->b), 0);
    free(s);
    rig_stop(&r);
}

/* ---- waits of intrusive tasks ---- */

static int on_recv(place *p) {
    return thrum_bcast_recv_on_until(p->of, &p->value, &p->await, &p->task, p->deadline);
}

static int on_latest(place *p) {
    return thrum_bcast_recv_latest_on_until(p->of, &p->value, &p->await, &p->task, p->deadline);
}

TEST(a_wait_without_a_stack_receives) {
    /* What is there at once, what is sent later, and a close. */
    thrum_bcast *b = bcast_new(4);
    thrum_bcast_receiver next, latest;
    place p[2];
    rig_begin(&r, 0);
    thrum_bcast_subscribe(b, &next);
    latest = next;
    send_int(b, 1);
    send_int(b, 2);
    CHECK_EQ(begin(&p[0], on_recv, &next, THRUM_FOREVER), 1);
    CHECK_EQ(p[0].value, 1);
    CHECK_EQ(begin(&p[0], on_recv, &next, 0), 1);
    CHECK_EQ(begin(&p[1], on_latest, &latest, THRUM_FOREVER), 1);
    CHECK_EQ(p[1].value, 2);
    CHECK_EQ(begin(&p[0], on_recv, &next, past()), -ETIMEDOUT);
    CHECK_EQ(begin(&p[0], on_recv, &next, far_off()), 0);
    CHECK_EQ(begin(&p[1], on_latest, &latest, THRUM_FOREVER), 0);
    plain = 9;
    send_int(b, 3);
    for (int i = 0; i < 2; i++) {
        await_run(&p[i]);
        CHECK(p[i].ended == 0 && p[i].value == 3 && p[i].plain == 9);
    }
    if (begin(&p[0], on_recv, &next, soon()) == 0) {
        await_run(&p[0]);
        p[0].code = p[0].ended;
    }
    CHECK_EQ(p[0].code, -ETIMEDOUT);
    CHECK_EQ(begin(&p[0], on_recv, &next, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_bcast_close(b), 0);
    await_run(&p[0]);
    CHECK_EQ(p[0].ended, -EPIPE);
    CHECK_EQ(begin(&p[0], on_recv, &next, THRUM_FOREVER), -EPIPE);
    rig_stop(&r);
    CHECK_EQ(thrum_bcast_destroy(b), 0);
}
