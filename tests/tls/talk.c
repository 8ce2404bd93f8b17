/*
 * talk.c: bytes over TLS: both ways, of all sizes, at once, through what OpenSSL does in between.
 */
/* matrix: policy workers */
#include "support/io/tls.h"
#include "support/times.h"

static world w;

/* The n-th byte of what is sent. */
static unsigned char byte_at(size_t n) {
    return (unsigned char)(n * 2654435761u >> 13);
}

static void fill(unsigned char *to, size_t from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = byte_at(from + i);
    }
}

static void check_filled(const unsigned char *at, size_t from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(at[i], byte_at(from + i));
    }
}

/* ---- a few bytes ---- */

static int talks(void *arg) {
    couple c;
    (void)arg;
    couple_open(&c, &w);
    errno = 77;
    CHECK_STR(thrum_tls_version(c.client), "TLSv1.3");
    CHECK_STR(thrum_tls_version(c.server), "TLSv1.3");
    CHECK_STR(thrum_tls_cipher(c.client), thrum_tls_cipher(c.server));
    CHECK(thrum_tls_cipher(c.client)[0] != '\0');
    CHECK_STR(thrum_tls_protocol(c.client), "");
    CHECK_STR(thrum_tls_subject(c.client), "CN=a.test");
    CHECK_STR(thrum_tls_subject(c.server), "");
    CHECK_EQ(thrum_io_fd(thrum_tls_io(c.client)), c.fds[0]);
    says(c.client, c.server, "ping");
    says(c.server, c.client, "pong");
    CHECK_EQ(thrum_tls_write(c.client, "", 0), 0);
    CHECK_EQ(thrum_tls_read(c.client, NULL, 0), 0);
    CHECK_EQ(errno, 77);
    couple_close(&c);
    return 0;
}

TEST(bytes_go_both_ways) {
    /* In tasks and in plain threads; what is known of the connection; errno stays. */
    world_make(&w);
    both(talks);
    world_end(&w);
}

static int a_byte(void *arg) {
    couple c;
    unsigned char byte;
    (void)arg;
    couple_open(&c, &w);
    for (size_t i = 0; i < 300; i++) {
        unsigned char sent = byte_at(i);
        CHECK_EQ(thrum_tls_write(c.client, &sent, 1), 1);
        CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 1);
        CHECK_EQ(byte, sent);
    }
    unsigned char many[300];
    fill(many, 7, sizeof many);
    CHECK_EQ(thrum_tls_write(c.server, many, sizeof many), sizeof many);
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), 1);
    for (size_t i = 1; i < sizeof many; i++) {
        CHECK(thrum_tls_is_readable(c.client));
        CHECK_EQ(thrum_tls_read(c.client, &byte, 1), 1);
        CHECK_EQ(byte, byte_at(7 + i));
    }
    CHECK(!thrum_tls_is_readable(c.client));
    couple_close(&c);
    return 0;
}

TEST(a_byte_at_a_time) {
    /* Written so, and read so; what has come already is known to be there. */
    world_make(&w);
    both(a_byte);
    world_end(&w);
}

/* ---- many bytes ---- */

typedef struct flow {
    thrum_tls *tls;
    size_t size;
    size_t piece;
} flow;

static int pours(void *arg) {
    const flow *f = arg;
    unsigned char *piece = malloc(f->piece);
    for (size_t done = 0; done < f->size;) {
        const size_t n = f->size - done < f->piece ? f->size - done : f->piece;
        fill(piece, done, n);
        CHECK_EQ(thrum_tls_write(f->tls, piece, n), n);
        done += n;
    }
    free(piece);
    return 0;
}

static int drinks(void *arg) {
    const flow *f = arg;
    unsigned char *piece = malloc(f->piece);
    for (size_t done = 0; done < f->size;) {
        int64_t n = thrum_tls_read(f->tls, piece, f->piece);
        CHECK(n > 0);
        check_filled(piece, done, (size_t)n);
        done += (size_t)n;
    }
    free(piece);
    return 0;
}

static int ten_megabytes(void *arg) {
    couple c;
    beside b;
    (void)arg;
    couple_open(&c, &w);
    flow out = {c.client, (size_t)SCALED(10 << 20), 1 << 20};
    flow in = {c.server, out.size, 50001};
    beside_begin(&b, pours, &out);
    drinks(&in);
    beside_end(&b);
    couple_close(&c);
    return 0;
}

TEST(ten_megabytes_come_whole) {
    /* In order, by large writes and odd reads. */
    world_make(&w);
    both(ten_megabytes);
    world_end(&w);
}

static int four_flows(void *arg) {
    couple c;
    beside b[3];
    (void)arg;
    couple_open(&c, &w);
    const size_t size = (size_t)SCALED(3 << 20);
    flow flows[4] = {{c.client, size, 70000},
                     {c.server, size, 3000},
                     {c.server, size, 9999},
                     {c.client, size, 65536}};
    beside_begin(&b[0], pours, &flows[0]);
    beside_begin(&b[1], drinks, &flows[1]);
    beside_begin(&b[2], pours, &flows[2]);
    drinks(&flows[3]);
    for (int i = 0; i < 3; i++) {
        beside_end(&b[i]);
    }
    couple_close(&c);
    return 0;
}

TEST(a_reader_and_a_writer_at_once) {
    /* On both ends, with more on its way than the system holds: neither stops the other one. */
    world_make(&w);
    both(four_flows);
    world_end(&w);
}

/* Writes of several tasks at a time: each message is of one letter, and must not be torn. */
enum { LETTERS = 4, TIMES = 3, MESSAGE = 200000 };

typedef struct letter {
    thrum_tls *tls;
    char which;
} letter;

static int writes_letters(void *arg) {
    const letter *l = arg;
    char *message = malloc(MESSAGE);
    memset(message, l->which, MESSAGE);
    for (int i = 0; i < TIMES; i++) {
        CHECK_EQ(thrum_tls_write(l->tls, message, MESSAGE), MESSAGE);
    }
    free(message);
    return 0;
}

static int writers(void *arg) {
    couple c;
    beside b[LETTERS];
    letter letters[LETTERS];
    char *got = malloc(MESSAGE);
    (void)arg;
    couple_open(&c, &w);
    for (int i = 0; i < LETTERS; i++) {
        letters[i] = (letter){c.client, (char)('a' + i)};
        beside_begin(&b[i], writes_letters, &letters[i]);
    }
    for (int i = 0; i < LETTERS * TIMES; i++) {
        for (size_t n = 0; n < MESSAGE;) {
            int64_t some = thrum_tls_read(c.server, got + n, MESSAGE - n);
            CHECK(some > 0);
            n += (size_t)some;
        }
        for (int k = 1; k < MESSAGE; k++) {
            CHECK_EQ(got[k], got[0]);
        }
    }
    for (int i = 0; i < LETTERS; i++) {
        beside_end(&b[i]);
    }
    free(got);
    couple_close(&c);
    return 0;
}

TEST(writes_are_not_torn) {
    /* Several at a time: one after the other, each as a whole. */
    world_make(&w);
    both(writers);
    world_end(&w);
}

static int one_of_many(void *arg) {
    couple c;
    (void)arg;
    couple_open(&c, &w);
    for (int i = 0; i < 5; i++) {
        says(c.client, c.server, "question");
        says(c.server, c.client, "answer");
    }
    CHECK_EQ(thrum_tls_shutdown(c.client, THRUM_FOREVER), 0);
    char byte;
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 0);
    couple_close(&c);
    return 0;
}

static int many(void *arg) {
    enum { MANY = 40 };
    beside b[MANY];
    (void)arg;
    for (int i = 0; i < MANY; i++) {
        beside_begin(&b[i], one_of_many, NULL);
    }
    for (int i = 0; i < MANY; i++) {
        beside_end(&b[i]);
    }
    return 0;
}

TEST(many_connections_at_once) {
    /* Of one config, on all workers, and in as many threads. */
    world_make(&w);
    both(many);
    world_end(&w);
}

static int pieces(void *arg) {
    couple c;
    char got[16] = "";
    thrum_iovec parts[4] = {{"one ", 4}, {NULL, 0}, {"two ", 4}, {"three", 5}};
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_writev_until(c.client, parts, 4, THRUM_FOREVER), 13);
    for (size_t n = 0; n < 13;) {
        n += (size_t)thrum_tls_read(c.server, got + n, 13 - n);
    }
    CHECK_STR(got, "one two three");
    CHECK_EQ(thrum_tls_writev_until(c.client, parts, THRUM_IOVECS_MAX + 1, THRUM_FOREVER), -EINVAL);
    couple_close(&c);
    return 0;
}

TEST(pieces_of_memory_are_written_in_order) {
    /* Empty ones among them. */
    world_make(&w);
    both(pieces);
    world_end(&w);
}

static int streams(void *arg) {
    couple c;
    thrum_stream near, far;
    char line[32];
    (void)arg;
    couple_open(&c, &w);
    CHECK_EQ(thrum_tls_stream_open(&near, c.client, NULL), 0);
    CHECK_EQ(thrum_tls_stream_open(&far, c.server, NULL), 0);
    for (int i = 0; i < 100; i++) {
        CHECK(thrum_stream_printf(&near, "line %d\n", i) > 0);
    }
    CHECK_EQ(thrum_stream_flush(&near), 0);
    for (int i = 0; i < 100; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "line %d", i);
        CHECK(thrum_stream_read_line(&far, line, sizeof line) > 0);
        CHECK_STR(line, expected);
    }
    CHECK(thrum_stream_printf(&near, "the end") > 0);
    CHECK_EQ(thrum_stream_close(&near), 0); /* with a close_notify */
    CHECK_EQ(thrum_stream_read_line(&far, line, sizeof line), 7);
    CHECK_EQ(thrum_stream_read_line(&far, line, sizeof line), -ENODATA);
    CHECK_EQ(thrum_stream_close_until(&far, 0), -ETIMEDOUT); /* nothing is sent any more */
    return 0;
}

TEST(streams_lie_over_connections) {
    /* Lines both ways, and the clean end. */
    world_make(&w);
    both(streams);
    world_end(&w);
}

/* ---- what OpenSSL does in between ---- */

static void updates(raw *r) {
    char byte;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(SSL_key_update(r->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        CHECK_EQ(SSL_write(r->ssl, "a", 1), 1);
        CHECK_EQ(SSL_read(r->ssl, &byte, 1), 1);
        CHECK_EQ(byte, 'b');
    }
    SSL_shutdown(r->ssl);
}

static int key_updates(void *arg) {
    raw r;
    char byte;
    thrum_tls *tls;
    (void)arg;
    CHECK_EQ(thrum_tls_server(&tls, w.server, adopted(raw_begin(&r, &w, false, 0, updates)),
                              THRUM_FOREVER),
             0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_tls_read(tls, &byte, 1), 1);
        CHECK_EQ(byte, 'a');
        CHECK_EQ(thrum_tls_write(tls, "b", 1), 1);
    }
    CHECK_EQ(thrum_tls_read(tls, &byte, 1), 0);
    raw_end(&r);
    thrum_tls_close(tls, THRUM_FOREVER);
    return 0;
}

TEST(key_updates_are_answered) {
    /* Each asks for one of ours; bytes go on under the new keys. */
    world_make(&w);
    both(key_updates);
    world_end(&w);
}

static void renegotiates(raw *r) {
    char byte;
    CHECK_EQ(SSL_write(r->ssl, "a", 1), 1);
    CHECK_EQ(SSL_read(r->ssl, &byte, 1), 1);
    if (SSL_renegotiate(r->ssl) == 1) {
        CHECK(SSL_do_handshake(r->ssl) != 1);
    }
}

static int no_renegotiation(void *arg) {
    raw r;
    char byte;
    thrum_tls *tls;
    (void)arg;
    CHECK_EQ(thrum_tls_server(&tls, w.server,
                              adopted(raw_begin(&r, &w, false, TLS1_2_VERSION, renegotiates)),
                              THRUM_FOREVER),
             0);
    CHECK_STR(thrum_tls_version(tls), "TLSv1.2");
    CHECK_EQ(thrum_tls_read(tls, &byte, 1), 1);
    CHECK_EQ(thrum_tls_write(tls, "b", 1), 1);
    CHECK(thrum_tls_read(tls, &byte, 1) < 0);
    raw_end(&r);
    thrum_tls_close(tls, THRUM_FOREVER);
    return 0;
}

TEST(a_handshake_is_not_repeated) {
    /* A client of TLS 1.2 asks for another one, and is refused. */
    world_make(&w);
    both(no_renegotiation);
    world_end(&w);
}

static void asks_anew(raw *r) {
    unsigned char before[64], after[64];
    char byte;
    const size_t n = SSL_get_finished(r->ssl, before, sizeof before);
    CHECK_EQ(SSL_renegotiate(r->ssl), 1);
    CHECK_EQ(SSL_do_handshake(r->ssl), 1); /* only the question */
    (void)SSL_read(r->ssl, &byte, 1);
    CHECK_EQ(SSL_get_finished(r->ssl, after, sizeof after), n);
    CHECK_EQ(memcmp(before, after, n), 0); /* of the first one still */
}

static int no_question(void *arg) {
    raw r;
    char byte;
    thrum_tls *tls;
    (void)arg;
    CHECK_EQ(thrum_tls_client(&tls, w.client,
                              adopted(raw_begin(&r, &w, true, TLS1_2_VERSION, asks_anew)), "a.test",
                              THRUM_FOREVER),
             0);
    CHECK(thrum_tls_read(tls, &byte, 1) < 0);
    raw_end(&r);
    thrum_tls_close(tls, THRUM_FOREVER);
    return 0;
}

TEST(a_server_cannot_have_it_repeated) {
    /* A server of TLS 1.2 asks for it: the client refuses, and answers that at once. */
    world_make(&w);
    both(no_question);
    world_end(&w);
}

/* ---- the queue of errors ---- */

static void plant(void) {
    ERR_raise(ERR_LIB_USER, 1);
    CHECK(ERR_peek_error() != 0);
}

#define WITH_AN_ERROR_BEFORE(call)                                                                 \
    do {                                                                                           \
        plant();                                                                                   \
        call;                                                                                      \
        CHECK_EQ(ERR_peek_error(), 0);                                                             \
    } while (0)

static int errors(void *arg) {
    couple c;
    char byte;
    thrum_tls_config *config;
    thrum_tls_options options = server_options(&w);
    (void)arg;
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_config_server(&config, &options), 0));
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_config_reload(config, &options), 0));
    WITH_AN_ERROR_BEFORE(couple_open(&c, &w));
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_write(c.client, "x", 1), 1));
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 1));
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), 1);
    CHECK_EQ(thrum_io_wait(thrum_tls_io(c.server), THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK(!thrum_tls_is_readable(c.server)); /* what has come is not taken from the system yet */
    CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 1);
    /* With bytes that OpenSSL looks at, and wants more behind them. */
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_read_until(c.client, &byte, 1, soon()), -ETIMEDOUT));
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_shutdown(c.client, THRUM_FOREVER), 0));
    WITH_AN_ERROR_BEFORE(CHECK_EQ(thrum_tls_read(c.server, &byte, 1), 0));
    WITH_AN_ERROR_BEFORE(thrum_tls_close(c.client, THRUM_FOREVER));
    WITH_AN_ERROR_BEFORE(thrum_tls_close(c.server, THRUM_FOREVER));
    couple_try(&c, w.server, w.client, "b.test"); /* one that fails */
    CHECK_EQ(c.client_code, -EACCES);
    CHECK_EQ(ERR_peek_error(), 0);
    couple_close(&c);
    WITH_AN_ERROR_BEFORE(thrum_tls_config_free(config));
    return 0;
}

TEST(the_queue_of_errors_is_empty_behind_each_call) {
    /* An error that others have left there is none of the call's. */
    world_make(&w);
    both(errors);
    world_end(&w);
}
