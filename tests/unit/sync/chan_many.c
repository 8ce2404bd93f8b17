/*
 * chan_many.c: receives of several elements at once, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/chans.h"
#include "support/times.h"

static thrum_chan *chan_new(size_t capacity) {
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(&c, sizeof(int), capacity), 0);
    return c;
}

TEST(all_that_is_there_is_received) {
    /* Oldest first, at most so many; across the end of a ring, and of segments. */
    static const size_t capacities[] = {100, THRUM_UNBOUNDED};
    for (int k = 0; k < 2; k++) {
        thrum_chan *c = chan_new(capacities[k]);
        int got[3000];
        int next = 0;
        int sent = 0;
        CHECK_EQ(thrum_chan_try_recv_many(c, got, 0), -EINVAL);
        CHECK_EQ(thrum_chan_try_recv_many(c, got, 3), -EAGAIN);
        for (int round = 0; round < 50; round++) {
            const int n = k == 0 ? 70 : 2500;
            for (int i = 0; i < n; i++, sent++) {
                CHECK_EQ(thrum_chan_send(c, &sent), 0);
            }
            CHECK_EQ(thrum_chan_recv_many(c, got, 30), 30);
            CHECK_EQ(thrum_chan_recv_many_until(c, got + 30, 2970, past()), n - 30);
            for (int i = 0; i < n; i++) {
                CHECK_EQ(got[i], next++);
            }
            CHECK_EQ(thrum_chan_len(c), 0);
        }
        CHECK_EQ(thrum_chan_recv_many_until(c, got, 3, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_chan_send(c, &sent), 0);
        CHECK_EQ(thrum_chan_close(c), 0);
        CHECK_EQ(thrum_chan_recv_many(c, got, 3), 1);
        CHECK_EQ(thrum_chan_recv_many(c, got, 3), -EPIPE);
        CHECK_EQ(thrum_chan_destroy(c), 0);
    }
}

TEST(elements_of_no_size_are_counted) {
    /* They need no memory. */
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(&c, 0, 4), 0);
    CHECK_EQ(thrum_chan_send(c, NULL), 0);
    CHECK_EQ(thrum_chan_send(c, NULL), 0);
    CHECK_EQ(thrum_chan_recv_many(c, NULL, 9), 2);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

static int send_index(void *arg) {
    actor *a = arg;
    CHECK_EQ(thrum_chan_send_until(a->arg, &a->index, a->index % 2 ? far_off() : THRUM_FOREVER), 0);
    return 0;
}

TEST(senders_that_wait_are_received_from) {
    /* With and without a buffer, with and without a deadline: each is woken, each element arrives
     * once. */
    for (size_t capacity = 0; capacity < 6; capacity += 5) {
        rig r;
        rig_begin(&r, 0);
        thrum_chan *c = chan_new(capacity);
        cast *all = cast_new(&r);
        int got[32];
        int times[20] = {0};
        cast_add_mixed(all, 16, 4, send_index, c);
        SPIN_UNTIL(CHAN_SENDERS_WAITING(c) == 20 - (int)capacity);
        CHECK_EQ(thrum_chan_recv_many(c, got, 7), 7);
        CHECK_EQ(thrum_chan_recv_many(c, got + 7, 25), 13);
        cast_join(all);
        for (int i = 0; i < 20; i++) {
            CHECK_EQ(times[got[i]]++, 0);
        }
        CHECK_EQ(thrum_chan_destroy(c), 0);
        rig_stop(&r);
    }
}

static int receive_batches(void *arg) {
    thrum_chan *c = ((actor *)arg)->arg;
    int sum = 0;
    int64_t n;
    int got[8];
    while ((n = thrum_chan_recv_many(c, got, 8)) > 0) {
        for (int64_t i = 0; i < n; i++) {
            sum += got[i];
        }
    }
    CHECK_EQ(n, -EPIPE);
    return sum == 499500 ? 0 : 1;
}

TEST(a_receiver_of_batches_waits) {
    /* A fiber, and a thread. */
    for (int fibers = 0; fibers < 2; fibers++) {
        rig r;
        rig_begin(&r, 0);
        thrum_chan *c = chan_new(fibers ? 0 : 3);
        cast *all = cast_new(&r);
        cast_add_mixed(all, fibers, 1 - fibers, receive_batches, c);
        for (int i = 0; i < 1000; i++) {
            CHECK_EQ(thrum_chan_send(c, &i), 0);
        }
        CHECK_EQ(thrum_chan_close(c), 0);
        cast_join(all);
        CHECK_EQ(thrum_chan_destroy(c), 0);
        rig_stop(&r);
    }
}
