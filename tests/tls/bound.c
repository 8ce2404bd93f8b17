/*
 * bound.c: TLS on a bound thread and its tasks, with workers and without.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"
#include "support/io/tls.h"

static world w;

typedef struct scene {
    int fd;
    int code;
    char got[5];
} scene;

static int answers(void *arg) {
    scene *s = arg;
    char text[4];
    thrum_tls *tls;
    CHECK_EQ(thrum_tls_server(&tls, w.server, adopted(s->fd), far_off()), 0);
    while (thrum_tls_read_until(tls, text, sizeof text, far_off()) == sizeof text) {
        CHECK_EQ(thrum_tls_write(tls, text, sizeof text), sizeof text);
    }
    return thrum_tls_close(tls, THRUM_FOREVER);
}

TEST(a_bound_thread_talks_with_a_task) {
    /* It waits in the handshake and in reads, and the task runs meanwhile, on it or on a worker. */
    rig r;
    scene s = {.code = 1};
    int fds[2];
    thrum_tls *tls;
    thrum_handle *task;
    world_make(&w);
    bound_begin(&r);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 65536; /* OpenSSL's frames are large */
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    s.fd = fds[1];
    CHECK_EQ(thrum_spawn_with(&task, &attr, answers, &s), 0);
    CHECK_EQ(thrum_tls_client(&tls, w.client, adopted(fds[0]), "a.test", THRUM_FOREVER), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_tls_write(tls, "ping", 4), 4);
        CHECK_EQ(thrum_tls_read(tls, s.got, 4), 4);
        CHECK_STR(s.got, "ping");
    }
    CHECK_EQ(thrum_tls_shutdown(tls, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_tls_read(tls, s.got, 4), 0);
    CHECK_EQ(thrum_tls_close(tls, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_join(task, &s.code), 0);
    CHECK_EQ(s.code, 0);
    bound_end(&r);
    world_end(&w);
}
