/*
 * net_options.c: options of sockets.
 */
/* matrix: policy workers */
#include "support/io/nets.h"

TEST(the_time_of_an_idle_connection_is_set_and_read) {
    /* In whole seconds, rounded up. */
    pair p;
    int64_t value = 0;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_KEEPALIVE, THRUM_MS(1500)), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_KEEPALIVE, &value), 0);
    CHECK_EQ(value, THRUM_S(2));
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_KEEPALIVE, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_KEEPALIVE, &value), 0);
    CHECK_EQ(value, THRUM_S(32767)); /* the system knows no more */
    pair_close(&p);
}

TEST(a_close_is_a_reset_when_asked) {
    /* The other side is told that it was none of the usual ends. */
    pair p;
    char text[4];
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_RESET, 1), 0);
    CHECK_EQ(thrum_io_close(p.near), 0);
    CHECK_EQ(thrum_read(p.far, text, 4), -ECONNRESET);
    CHECK_EQ(thrum_io_close(p.far), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
}

TEST(options_are_set_and_read) {
    /* Each is what it was set to; what a socket does not have is refused. */
    pair p;
    int64_t value = 0;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_NO_DELAY, &value), 0);
    CHECK(value != 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_NO_DELAY, 0), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_NO_DELAY, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_KEEPALIVE, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_KEEPALIVE, 0), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_KEEPALIVE, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_SEND_BUFFER, 50000), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_SEND_BUFFER, &value), 0);
    CHECK(value >= 50000);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_RECEIVE_BUFFER, 50000), 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_OPTIONS, 1), -EINVAL);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_NO_DELAY, -1), -EINVAL);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_OPTIONS, &value), -EINVAL);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_NO_DELAY, NULL), -EINVAL);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_RESET, &value), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_RESET, 1), 0);
    CHECK_EQ(thrum_io_get_option(p.near, THRUM_IO_RESET, &value), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(thrum_io_close(p.near), 0);
    CHECK_EQ(thrum_io_set_option(p.near, THRUM_IO_RESET, 1), -EBADF);
    CHECK_EQ(thrum_io_close(p.far), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
    char where[THRUM_ADDRESS_TEXT];
    thrum_io udp = listen_at("udp:127.0.0.1:0", where);
    CHECK_EQ(thrum_io_set_option(udp, THRUM_IO_BROADCAST, 1), 0);
    CHECK_EQ(thrum_io_get_option(udp, THRUM_IO_BROADCAST, &value), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(thrum_io_set_option(udp, THRUM_IO_NO_DELAY, 1), -ENOPROTOOPT);
    CHECK_EQ(thrum_io_close(udp), 0);
}
