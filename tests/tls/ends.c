/*
 * ends.c: how connections end, and what does not: deadlines, cancels, other sides that go silent,
 * vanish, or send what is no TLS.
 */
/* matrix: policy workers */
#include "support/io/tls.h"
#include "support/times.h"

static world w;

/* ---- clean, and not ---- */

static int clean(void *arg) {
    couple c;
    char byte;
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), 1);
    CHECK_EQ(thrum_tls_shutdown(c.client, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_tls_shutdown(c.client, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), -EPIPE);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 1);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 0);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 0);
    CHECK(thrum_tls_is_readable(c.server));
    check_error(c.server, "");
    says(c.server, c.client, "the other way goes on");
    CHECK_EQ(thrum_tls_close(c.server, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), 0);
    CHECK_EQ(thrum_tls_close(c.client, THRUM_FOREVER), 0);
    return 0;
}

TEST(one_way_ends_cleanly) {
    /* By the close_notify, behind what was written; the other way goes on. */
    world_make(&w);
    both(clean);
    world_end(&w);
}

static int truncated(void *arg) {
    couple c;
    char byte;
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), 1);
    CHECK_EQ(thrum_tls_close(c.client, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 1);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), -ECONNRESET);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), -ECONNRESET);
    check_error(c.server, "without a close_notify");
    CHECK_EQ(thrum_tls_close(c.server, THRUM_FOREVER), -EPIPE);
    return 0;
}

TEST(an_end_without_a_word_is_told) {
    /* As by somebody in between who cuts the connection. */
    world_make(&w);
    both(truncated);
    world_end(&w);
}

static int halfway(void *arg) {
    couple c;
    char bytes[4000], got[1];
    int fds[2];
    thrum_tls *tls;
    (void)arg;
    /* In the middle of a record. */
    couple_open(&c, &w);
    memset(bytes, 'x', sizeof bytes);
    CHECK_EQ(thrum_tls_write(c.client, bytes, sizeof bytes), sizeof bytes);
    int taken = dup(c.fds[1]);
    char some[2000];
    CHECK_EQ(recv(taken, some, sizeof some, 0), sizeof some); /* the end of it is left */
    CHECK_EQ(thrum_tls_read(c.server, got, 1), -EPROTO);
    close(taken);
    couple_close(&c);
    /* In the handshake. */
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[1]);
    CHECK_EQ(thrum_tls_server(&tls, w.server, adopted(fds[0]), THRUM_FOREVER), -ECONNRESET);
    check_error(tls, "without a close_notify");
    thrum_tls_close(tls, THRUM_FOREVER);
    return 0;
}

TEST(an_end_in_the_middle_is_told) {
    /* Of a record of which the beginning is missing, and of the handshake. */
    world_make(&w);
    both(halfway);
    world_end(&w);
}

/* ---- deadlines and cancels ---- */

static int late(void *arg) {
    int fds[2];
    couple c;
    char byte;
    thrum_tls *tls;
    (void)arg;
    for (int is_past = 0; is_past < 2; is_past++) {
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK_EQ(thrum_tls_server(&tls, w.server, adopted(fds[0]), is_past ? 1 : soon()),
                 -ETIMEDOUT);
        check_error(tls, "took too long");
        CHECK_EQ(thrum_tls_read(tls, &byte, 1), -ETIMEDOUT);
        CHECK_EQ(thrum_tls_close(tls, THRUM_FOREVER), 0);
        CHECK_EQ(read(fds[1], &byte, 1), 0);
        close(fds[1]);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK_EQ(thrum_tls_client(&tls, w.client, adopted(fds[0]), "a.test", is_past ? 1 : soon()),
                 -ETIMEDOUT);
        CHECK(!is_past || recv(fds[1], &byte, 1, MSG_DONTWAIT) == -1); /* it has tried nothing */
        thrum_tls_close(tls, THRUM_FOREVER);
        close(fds[1]);
    }
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_read_until(c.server, &byte, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_tls_write(c.client, "xy", 2), 2);
    CHECK_EQ(thrum_tls_read_until(c.server, &byte, 1, 1), -ETIMEDOUT); /* tries nothing */
    CHECK_EQ(thrum_tls_read_until(c.server, &byte, 1, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_tls_write_until(c.server, &byte, 1, 1), -ETIMEDOUT);
    CHECK_EQ(thrum_tls_shutdown(c.server, 1), -ETIMEDOUT);
    says(c.server, c.client, "all is well");
    couple_close(&c);
    return 0;
}

TEST(deadlines_end_waits) {
    /* Of handshakes with somebody silent, and of reads, after which all goes on. */
    world_make(&w);
    both(late);
    world_end(&w);
}

typedef struct waiter {
    thrum_tls *tls;
    thrum_io io;
    atomic_int begun;
    int64_t code;
    bool shakes;
} waiter;

static int waits(void *arg) {
    waiter *it = arg;
    char byte;
    atomic_store(&it->begun, 1);
    it->code = it->shakes ? thrum_tls_server(&it->tls, w.server, it->io, THRUM_FOREVER)
                          : thrum_tls_read(it->tls, &byte, 1);
    return 0;
}

static int cancels(void *arg) {
    couple c;
    int fds[2];
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    waiter reader = {.tls = c.server};
    waiter shaker = {.shakes = true, .io = adopted(fds[0])};
    waiter *waiters[] = {&reader, &shaker};
    for (int i = 0; i < 2; i++) {
        thrum_handle *task;
        CHECK_EQ(thrum_spawn(&task, waits, waiters[i]), 0);
        YIELD_UNTIL(atomic_load(&waiters[i]->begun));
        thrum_cancel(task);
        CHECK_EQ(thrum_join(task, NULL), 0);
        CHECK_EQ(waiters[i]->code, -ECANCELED);
    }
    says(c.client, c.server, "another one reads");
    thrum_tls_close(shaker.tls, THRUM_FOREVER);
    close(fds[1]);
    couple_close(&c);
    return 0;
}

TEST(cancels_end_waits) {
    /* Of a read, after which others read on, and of a handshake. */
    world_make(&w);
    rig_do(0, cancels, NULL);
    world_end(&w);
}

static int closes(void *arg) {
    couple c;
    beside b;
    (void)arg;
    couple_open(&c, &w);
    waiter reader = {.tls = c.server};
    beside_begin(&b, waits, &reader);
    while (!atomic_load(&reader.begun))
        thrum_yield();
    CHECK_EQ(thrum_io_close(thrum_tls_io(c.server)), 0);
    beside_end(&b);
    CHECK_EQ(reader.code, -EBADF);
    CHECK_EQ(thrum_tls_write(c.server, "x", 1), -EBADF);
    CHECK_EQ(thrum_tls_close(c.server, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_tls_close(c.client, THRUM_FOREVER), -EPIPE);
    return 0;
}

TEST(closing_the_descriptor_ends_waits) {
    /* And whatever is called then. */
    world_make(&w);
    both(closes);
    world_end(&w);
}

/* ---- writes that are cut short ---- */

enum { LONG = 1 << 20 };

static char *long_text(void) {
    char *text = malloc(LONG);
    for (int i = 0; i < LONG; i++)
        text[i] = (char)('a' + (i * 7 + i / 1000) % 26);
    return text;
}

typedef struct reading {
    thrum_tls *tls;
    char *to;
    size_t size;
} reading;

static int reads_all(void *arg) {
    reading *r = arg;
    for (size_t n = 0; n < r->size;) {
        int64_t some = thrum_tls_read(r->tls, r->to + n, r->size - n);
        CHECK(some > 0);
        n += (size_t)some;
    }
    return 0;
}

/*
 * Writes while nobody reads, until several calls in a row have sent nothing by their deadlines.
 * Returns how much has gone. How much that is, and where calls are cut short, is not certain.
 */
static size_t write_in_vain(thrum_tls *tls, const char *text) {
    size_t done = 0;
    for (int late = 0; late < 4;) {
        const int64_t n = thrum_tls_write_until(tls, text + done, LONG - done, soon());
        CHECK(n > 0 || n == -ETIMEDOUT);
        late = n > 0 ? 0 : late + 1;
        done += n > 0 ? (size_t)n : 0;
        CHECK(done < LONG);
    }
    return done;
}

static int cut_short(void *arg) {
    couple c;
    beside b;
    char *text = long_text(), *got = malloc(LONG + 6);
    (void)arg;
    couple_open(&c, &w);
    /* Nobody reads: some goes, then nothing. */
    size_t done = write_in_vain(c.client, text);
    CHECK_EQ(thrum_tls_shutdown(c.client, 1), -ETIMEDOUT);
    reading r = {c.server, got, LONG + 6};
    beside_begin(&b, reads_all, &r);
    /* The rest, in pieces: of less than what is on its way, and of more. */
    while (done < LONG) {
        const size_t piece = LONG - done < 10000 ? LONG - done : done % 2 ? 10000 : 7777;
        CHECK_EQ(thrum_tls_write(c.client, text + done, piece), piece);
        done += piece;
    }
    CHECK_EQ(thrum_tls_write(c.client, "behind", 6), 6);
    beside_end(&b);
    CHECK_EQ(memcmp(got, text, LONG), 0);
    CHECK_EQ(memcmp(got + LONG, "behind", 6), 0);
    free(text);
    free(got);
    couple_close(&c);
    return 0;
}

TEST(a_write_that_is_cut_short_goes_on) {
    /* With somebody who takes nothing for a while: no byte is lost, or comes twice. */
    world_make(&w);
    both(cut_short);
    world_end(&w);
}

static int reads_to_the_word(void *arg) {
    reading *r = arg;
    for (r->size = 0; r->size < 6 || memcmp(r->to + r->size - 6, "BEHIND", 6) != 0;) {
        CHECK(r->size < LONG);
        CHECK_EQ(thrum_tls_read(r->tls, r->to + r->size, 1), 1);
        r->size++;
    }
    return 0;
}

/* Returns how much more has come than the calls had sent by what they returned. */
static size_t gives_up(void) {
    couple c;
    beside b;
    char *text = long_text(), *got = malloc(LONG);
    couple_open(&c, &w);
    const size_t done = write_in_vain(c.client, text);
    reading r = {c.server, got, 0};
    beside_begin(&b, reads_to_the_word, &r);
    CHECK_EQ(thrum_tls_write(c.client, "BEHIND", 6), 6); /* not what should follow */
    beside_end(&b);
    CHECK(r.size >= done + 6);
    CHECK_EQ(memcmp(got, text, r.size - 6), 0);
    const size_t more = r.size - 6 - done;
    free(text);
    free(got);
    couple_close(&c);
    return more;
}

static int given_up(void *arg) {
    const size_t chunk = 65536; /* what is encrypted at a time */
    size_t more;
    (void)arg;
    do {
        more = gives_up();
        CHECK(more == 0 || more == chunk);
    } while (more == 0); /* the deadlines came before anything was encrypted that could not go */
    return 0;
}

TEST(what_was_sealed_goes_before_what_is_new) {
    /* A write of other bytes after one that was cut short. */
    world_make(&w);
    both(given_up);
    world_end(&w);
}

static int half_dead(void *arg) {
    couple c;
    char *text = long_text(), byte;
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_write(c.server, "x", 1), 1);
    int64_t n;
    do {
        n = thrum_tls_write_until(c.client, text, LONG, soon());
        CHECK(n < LONG);
    } while (n > 0);
    CHECK_EQ(n, -ETIMEDOUT);
    /* On a busy machine a deadline comes before there is no room. */
    while (send(c.fds[0], text, 1, MSG_DONTWAIT) > 0) {
    }
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), 1); /* reading goes on */
    CHECK_EQ(thrum_tls_shutdown(c.client, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_tls_close(c.client, soon()), -ETIMEDOUT);
    free(text);
    thrum_tls_close(c.server, 0);
    return 0;
}

TEST(somebody_half_dead_holds_nobody_up) {
    /* It takes nothing any more: writes, the end and the close keep to their deadlines. */
    world_make(&w);
    both(half_dead);
    world_end(&w);
}

/* ---- what is no TLS ---- */

static int garbage(void *arg) {
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "\x16\x03\x01\xff\xff\x01 a record that is too long",
        "\x80\x2e\x01\x00\x02",
        "\x15\x03\x01\x00\x02\x02\x28",
        "\x17\x03\x03\x00\x05hello",
    };
    (void)arg;
    for (unsigned i = 0; i < 2 * COUNT_OF(texts); i++) {
        int fds[2];
        thrum_tls *tls;
        const char *text = texts[i / 2];
        const size_t n = i / 2 == 3 ? 7 : i / 2 == 0 ? strlen(text) : 10;
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK_EQ(write(fds[1], text, i / 2 == 2 ? 5 : n), i / 2 == 2 ? 5 : n);
        CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
        int code = i % 2
                       ? thrum_tls_client(&tls, w.client, adopted(fds[0]), "a.test", THRUM_FOREVER)
                       : thrum_tls_server(&tls, w.server, adopted(fds[0]), THRUM_FOREVER);
        CHECK(code == -EPROTO || code == -ECONNRESET);
        CHECK(i / 2 != 0 || code == -EPROTO);
        thrum_tls_close(tls, THRUM_FOREVER);
        close(fds[1]);
    }
    couple c;
    char byte;
    couple_open(&c, &w);
    CHECK_EQ(write(c.fds[0], "\x17\x03\x03\x00\x20 32 bytes that nobody has encrypted ", 38), 38);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), -EPROTO);
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), -EPROTO);
    CHECK_EQ(thrum_tls_write(c.server, &byte, 1), -EPROTO);
    check_error(c.server, "bad record mac");
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), -EPROTO); /* by an alert */
    check_error(c.client, "alert bad record mac");
    couple_close(&c);
    return 0;
}

TEST(what_is_no_tls_is_refused) {
    /* In place of a handshake, and behind it. */
    world_make(&w);
    both(garbage);
    world_end(&w);
}

/* A server that takes nothing any more once the client has said hello: the alert cannot go out. */
static int goes_deaf(SSL *ssl, void *arg) {
    (void)arg;
    CHECK_EQ(shutdown(SSL_get_fd(ssl), SHUT_RD), 0);
    return 1;
}

static void *deaf_server(void *fd) {
    raw r = {.ctx = SSL_CTX_new(TLS_method()), .fd = (int)(intptr_t)fd};
    CHECK_EQ(SSL_CTX_use_certificate(r.ctx, w.own.certificate), 1);
    CHECK_EQ(SSL_CTX_use_PrivateKey(r.ctx, w.own.key), 1);
    SSL_CTX_set_cert_cb(r.ctx, goes_deaf, NULL);
    r.ssl = SSL_new(r.ctx);
    CHECK_EQ(SSL_set_fd(r.ssl, r.fd), 1);
    CHECK(SSL_accept(r.ssl) != 1);
    SSL_free(r.ssl);
    SSL_CTX_free(r.ctx);
    close(r.fd);
    return NULL;
}

TEST(a_failure_stays_the_same_if_nobody_hears_of_it) {
    /* The descriptor's error, of the alert that cannot be sent, does not take its place. */
    int fds[2];
    char byte;
    couple c;
    pthread_t thread;
    world_make(&w);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CHECK_EQ(pthread_create(&thread, NULL, deaf_server, (void *)(intptr_t)fds[1]), 0);
    CHECK_EQ(thrum_tls_client(&c.client, w.client, adopted(fds[0]), "b.test", THRUM_FOREVER),
             -EACCES);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), -EACCES);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    (void)thrum_tls_close(c.client, 0);
    couple_open(&c, &w);
    CHECK_EQ(thrum_write(thrum_tls_io(c.server), "no TLS", 6), 6);
    (void)thrum_tls_close(c.server, 0);
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), -EPROTO);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), -EPROTO);
    (void)thrum_tls_close(c.client, 0);
    world_end(&w);
}

/* Passes bytes on from one descriptor to another one, with one of them changed. */
typedef struct relay {
    int from, to;
    long change; /* which byte */
    pthread_t thread;
} relay;

static void *relays(void *arg) {
    relay *r = arg;
    char bytes[4096];
    long at = 0;
    ssize_t n;
    while ((n = read(r->from, bytes, sizeof bytes)) > 0) {
        if (r->change >= at && r->change < at + n)
            bytes[r->change - at] ^= (char)(1 << (r->change % 8));
        at += n;
        if (send(r->to, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    }
    shutdown(r->to, SHUT_WR);
    shutdown(r->from, SHUT_RD);
    return NULL;
}

/*
 * A length that has grown has the other side wait for more: that is for deadlines to end. A
 * handshake mostly has time until then; if it has not, that is right, too.
 */
static thrum_time patience(void) {
    return thrum_after_ms(100);
}

/* What comes is what was sent, or a code, or the end. */
static void end_talks(thrum_tls *tls) {
    char byte;
    if (thrum_tls_write_until(tls, "x", 1, patience()) == 1 &&
        thrum_tls_read_until(tls, &byte, 1, patience()) == 1)
        CHECK_EQ(byte, 'x');
}

typedef struct changed {
    int fd;
    int code;
} changed;

static int changed_server(void *arg) {
    changed *c = arg;
    thrum_tls *tls;
    c->code = thrum_tls_server(&tls, w.server, adopted(c->fd), patience());
    if (c->code == 0)
        end_talks(tls);
    thrum_tls_close(tls, patience());
    return 0;
}

static int changes(void *arg) {
    const int rounds = check_scaled(150);
    (void)arg;
    for (int i = 0; i < rounds; i++) {
        int near[2], far[2];
        beside b;
        thrum_tls *tls;
        const long at = i < 300 ? i * 5 : i;
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, near), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, far), 0);
        relay there = {near[1], far[0], i % 2 ? at : -1, 0};
        relay back = {far[0], near[1], i % 2 ? -1 : at, 0};
        CHECK_EQ(pthread_create(&there.thread, NULL, relays, &there), 0);
        CHECK_EQ(pthread_create(&back.thread, NULL, relays, &back), 0);
        changed server = {.fd = far[1]};
        beside_begin(&b, changed_server, &server);
        int code = thrum_tls_client(&tls, w.client, adopted(near[0]), "a.test", patience());
        if (code == 0)
            end_talks(tls);
        thrum_tls_close(tls, patience());
        beside_end(&b);
        pthread_join(there.thread, NULL);
        pthread_join(back.thread, NULL);
        close(near[1]);
        close(far[0]);
    }
    return 0;
}

TEST(a_changed_byte_ends_the_connection) {
    /* Wherever it is, and nobody reads anything that was not sent. */
    world_make(&w);
    rig_do(0, changes, NULL);
    world_end(&w);
}
