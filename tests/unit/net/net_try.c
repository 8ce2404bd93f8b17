/*
 * net_try.c: accepting, sending and receiving without waiting.
 */
/* matrix: policy workers */
#include "support/io/ios.h"
#include "support/io/nets.h"
#include "support/times.h"

static int accepts(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    thrum_io near;
    thrum_io far = {0, 0};
    (void)arg;
    CHECK_EQ(thrum_try_accept(listener, &far), -EAGAIN);
    CHECK_EQ(thrum_try_accept(listener, NULL), -EINVAL);
    CHECK_EQ(far.turn, 0);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_wait(listener, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_try_accept(listener, &far), 0);
    check_talks(near, far);
    CHECK_EQ(thrum_io_close(near) | thrum_io_close(far), 0);
    CHECK_EQ(thrum_try_accept(listener, &far), -EAGAIN);
    CHECK_EQ(thrum_accept_until(listener, &far, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(listener, &far), 0); /* it is notified all the same */
    CHECK_EQ(thrum_io_close(near) | thrum_io_close(far), 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    CHECK_EQ(thrum_try_accept(listener, &far), -EBADF);
    return 0;
}

TEST(a_connection_that_waits_is_accepted) {
    /* Without one it is -EAGAIN, and later calls that wait are not disturbed. */
    both(accepts);
}

typedef struct stage {
    thrum_io listener, far;
} stage;

static int accepts_one(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_accept(s->listener, &s->far), 0);
    return 0;
}

static int accepts_beside(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    stage s = {.listener = listen_at("tcp:127.0.0.1:0", where)};
    thrum_io near;
    thrum_io none;
    thrum_handle *other;
    (void)arg;
    CHECK_EQ(thrum_spawn(&other, accepts_one, &s), 0);
    YIELD_UNTIL(io_is_waited_for(s.listener, 0));
    CHECK_EQ(thrum_try_accept(s.listener, &none), -EAGAIN);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_join(other, NULL), 0);
    check_talks(near, s.far);
    CHECK_EQ(thrum_io_close(near) | thrum_io_close(s.far) | thrum_io_close(s.listener), 0);
    return 0;
}

TEST(it_does_not_come_before_a_caller_that_waits) {
    /* The other one gets the connection. */
    rig_do(0, accepts_beside, NULL);
}

static int messages(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    char got[16] = "";
    thrum_io server = listen_at("udp:127.0.0.1:0", where);
    thrum_io client;
    thrum_address from;
    (void)arg;
    CHECK_EQ(thrum_dial(&client, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_try_receive_from(server, got, sizeof got, &from), -EAGAIN);
    CHECK_EQ(thrum_try_send_to(client, "ping", 4, NULL), 4);
    CHECK_EQ(thrum_io_wait(server, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_try_receive_from(server, got, sizeof got, &from), 4);
    CHECK_STR(got, "ping");
    CHECK_EQ(thrum_try_receive_from(server, got, sizeof got, NULL), -EAGAIN);
    CHECK_EQ(thrum_try_send_to(server, "pong", 4, &from), 4); /* back to the client */
    CHECK_EQ(thrum_receive_from(client, got, sizeof got, NULL, THRUM_FOREVER), 4);
    CHECK_STR(got, "pong");
    CHECK_EQ(thrum_io_close(client) | thrum_io_close(server), 0);
    CHECK_EQ(thrum_try_receive_from(server, got, sizeof got, NULL), -EBADF);
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    CHECK_EQ(thrum_try_receive_from(listener, got, sizeof got, NULL), -EOPNOTSUPP);
    CHECK_EQ(thrum_try_send_to(listener, got, sizeof got, NULL), -EOPNOTSUPP);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(a_datagram_that_is_there_is_received) {
    /* With its address; without one, or without datagrams at all, there is a code. */
    both(messages);
}
