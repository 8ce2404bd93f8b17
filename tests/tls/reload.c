/*
 * reload.c: a config is reloaded while a connection that began before still lives. Whatever that
 * one does afterwards, the next one begins anew, as the config is then: a session is resumed only
 * under the context that verified it. In all combinations of the side, of what changes, of how far
 * the old connection is, and of the version.
 */
/* matrix: policy workers */
/* wrap: SSL_CTX_new SSL_do_handshake */
#include "support/io/tls.h"

#define EACH_CHANGE(X)                                                                             \
    X(NOTHING) /* no reload: the control */                                                        \
    X(THE_SAME)                                                                                    \
    X(CA)           /* to one that has not signed the other side's certificate */                  \
    X(VERIFICATION) /* nobody was verified, now the other side's issuer is unknown */              \
    X(OWN)          /* another certificate for the same name */                                    \
    X(PROTOCOLS)                                                                                   \
    X(HOSTS) /* the server's certificate is no longer for the host */

#define EACH_STATE(X)                                                                              \
    X(UNBEGUN) /* the handshake's first step is still to come */                                   \
    X(WITHIN)  /* its second step is */                                                            \
    X(UNREAD)  /* open, and the client has read nothing yet */                                     \
    X(READ)                                                                                        \
    X(CLOSING) /* both have ended, and the client has read nothing yet */                          \
    X(LATE)    /* as UNREAD, and the client reads only after the next connection */

#define NAME(name) name,
#define TEXT(name) #name,
enum { EACH_CHANGE(NAME) CHANGES };
enum { EACH_STATE(NAME) STATES };

static const char *const changes[] = {EACH_CHANGE(TEXT)};
static const char *const states[] = {EACH_STATE(TEXT)};

static world w;
static issued stranger, guest, second, renewed, moved;
static const char *const protocols[] = {"old", "new", NULL};

/* The combination that is being tested. */
static struct {
    bool is_server; /* whose config is reloaded */
    int version;    /* the greatest that is spoken: TLS1_2_VERSION or TLS1_3_VERSION */
    int change;
    int state;
} now;

static void expect_eq(const char *what, int64_t got, int64_t expected) {
    if (got != expected) {
        check_failed(__FILE__, __LINE__, "%s, %s, %s, TLS 1.%d: %s is %d, not %d",
                     now.is_server ? "server" : "client", changes[now.change], states[now.state],
                     now.version - TLS1_VERSION, what, (int)got, (int)expected);
    }
}

static void expect_str(const char *what, const char *got, const char *expected) {
    if (strcmp(got, expected) != 0) {
        fprintf(stderr, "%s, not %s\n", got, expected);
        expect_eq(what, 1, 0);
    }
}

/* ---- reloading at a step of a handshake ---- */

static struct {
    thrum_tls_config *config;
    thrum_tls_options options;
    int steps; /* of the old connection's side that is `now`'s, the last one being that; 0: none */
} during;

SSL_CTX *__real_SSL_CTX_new(const SSL_METHOD *method);
SSL_CTX *__wrap_SSL_CTX_new(const SSL_METHOD *method);
int __real_SSL_do_handshake(SSL *ssl);
int __wrap_SSL_do_handshake(SSL *ssl);

SSL_CTX *__wrap_SSL_CTX_new(const SSL_METHOD *method) {
    SSL_CTX *ctx = __real_SSL_CTX_new(method);
    CHECK(ctx != NULL);
    CHECK_EQ(SSL_CTX_set_max_proto_version(ctx, now.version), 1);
    return ctx;
}

int __wrap_SSL_do_handshake(SSL *ssl) {
    if ((SSL_is_server(ssl) == 1) == now.is_server && during.steps && --during.steps == 0) {
        CHECK_EQ(thrum_tls_config_reload(during.config, &during.options), 0);
    }
    return __real_SSL_do_handshake(ssl);
}

/* ---- one combination ---- */

/* The options of both sides before and after the change. */
typedef struct plan {
    thrum_tls_options server, client; /* at first */
    thrum_tls_options changed;        /* of the side that is reloaded */
} plan;

static void own_is(thrum_tls_options *options, const issued *own) {
    options->chain = own->chain_pem;
    options->key = own->key_pem;
}

static plan make_plan(void) {
    plan p = {.server = server_options(&w), .client = client_options(&w)};
    thrum_tls_options *first = now.is_server ? &p.server : &p.client;
    p.server.ca = w.ca.chain_pem;
    p.server.peer = THRUM_TLS_PEER_REQUIRED;
    p.server.protocols = p.client.protocols = protocols;
    own_is(&p.client, &guest);
    p.changed = *first;
    if (now.change == CA || now.change == VERIFICATION) {
        p.changed.ca = stranger.chain_pem;
    }
    if (now.change == VERIFICATION) {
        first->peer = THRUM_TLS_PEER_NONE;
    }
    if (now.change == OWN) {
        own_is(&p.changed, now.is_server ? &renewed : &second);
    }
    if (now.change == PROTOCOLS) {
        p.changed.protocols = protocols + 1;
    }
    if (now.change == HOSTS && now.is_server) {
        own_is(&p.changed, &moved);
    } else if (now.change == HOSTS) {
        p.server.peer = THRUM_TLS_PEER_NONE; /* its tickets outlive its own reload */
    }
    return p;
}

/* A connection after the change; accepted ones also hand the client its tickets. */
static void connects(thrum_tls_config *server, thrum_tls_config *client, bool is_resumed) {
    const bool is_refused = now.change == CA || now.change == VERIFICATION;
    const bool changes_own = now.change == OWN;
    couple c;
    couple_try(&c, server, client, "a.test");
    if (is_refused && now.is_server) {
        expect_eq("the server's code", c.server_code, -EACCES); /* the client may learn later */
    } else if (is_refused || now.change == HOSTS) {
        expect_eq("the client's code", c.client_code, -EACCES);
        expect_eq("the server's code", c.server_code, -EPROTO);
    } else {
        expect_eq("the client's code", c.client_code, 0);
        expect_eq("the server's code", c.server_code, 0);
        expect_eq("the client's resumption", thrum_tls_is_resumed(c.client), is_resumed);
        expect_eq("the server's resumption", thrum_tls_is_resumed(c.server), is_resumed);
        expect_str("the client's subject", thrum_tls_subject(c.server),
                   changes_own && !now.is_server ? "CN=second" : "CN=guest");
        expect_str("the server's subject", thrum_tls_subject(c.client),
                   changes_own && now.is_server ? "CN=renewed" : "CN=a.test");
        expect_str("the protocol", thrum_tls_protocol(c.client),
                   now.change == PROTOCOLS ? "new" : "old");
        says(c.server, c.client, "tickets come before this");
    }
    couple_close(&c);
}

/* The client reads what is there, and so gets the tickets of TLS 1.3. */
static void reads(couple *c) {
    char got[8] = "";
    if (now.state != CLOSING) {
        says(c->server, c->client, "tickets come before this");
        return;
    }
    CHECK_EQ(thrum_tls_read(c->client, got, sizeof got), 3);
    CHECK_STR(got, "end");
    CHECK_EQ(thrum_tls_read(c->client, got, sizeof got), 0);
}

static void combination(void) {
    thrum_tls_config *server, *client;
    couple old;
    plan p = make_plan();
    CHECK_EQ(thrum_tls_config_server(&server, &p.server), 0);
    CHECK_EQ(thrum_tls_config_client(&client, &p.client), 0);
    thrum_tls_config *reloaded = now.is_server ? server : client;
    during.config = reloaded;
    during.options = p.changed;
    if (now.change != NOTHING) {
        during.steps = now.state == UNBEGUN ? 1 : now.state == WITHIN ? 2 : 0;
    }
    couple_try(&old, server, client, "a.test");
    expect_eq("the old connection's code at the client", old.client_code, 0);
    expect_eq("the old connection's code at the server", old.server_code, 0);
    expect_eq("the number of steps left", during.steps, 0);
    if (now.state == READ) {
        says(old.server, old.client, "tickets come before this");
    } else if (now.state == CLOSING) {
        CHECK_EQ(thrum_tls_write(old.server, "end", 3), 3);
        CHECK_EQ(thrum_tls_shutdown(old.server, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_tls_shutdown(old.client, THRUM_FOREVER), 0);
    }
    if (now.change != NOTHING && now.state >= UNREAD) {
        CHECK_EQ(thrum_tls_config_reload(reloaded, &p.changed), 0);
    }
    if (now.state != LATE) {
        reads(&old);
    }
    if (now.change == HOSTS && !now.is_server) {
        own_is(&p.server, &moved);
        CHECK_EQ(thrum_tls_config_reload(server, &p.server), 0);
    }
    const bool is_late = now.state == LATE && now.version == TLS1_3_VERSION;
    connects(server, client, now.change == NOTHING && !is_late);
    if (now.state == LATE) {
        reads(&old);
    }
    /* With the session of the one before, if that was accepted. A client that was not reloaded has
     * the old one's ticket in its place, if that is read later: the server does not know it. */
    connects(server, client, !is_late || !now.is_server || now.change == NOTHING);
    couple_close(&old);
    thrum_tls_config_free(server);
    thrum_tls_config_free(client);
}

static int combinations(void *arg) {
    (void)arg;
    for (now.change = 0; now.change < CHANGES; now.change++) {
        for (now.state = 0; now.state < STATES; now.state++) {
            combination();
        }
    }
    return 0;
}

static void try_all(bool is_server, int version) {
    now.is_server = is_server;
    now.version = version;
    world_make(&w);
    issue(&stranger, "stranger", NULL, NULL);
    issue(&guest, "guest", NULL, &w.ca);
    issue(&second, "second", NULL, &w.ca);
    issue(&renewed, "renewed", "DNS:a.test", &w.ca);
    issue(&moved, "moved", "DNS:b.test", &w.ca);
    both(combinations);
    issued_free(&stranger);
    issued_free(&guest);
    issued_free(&second);
    issued_free(&renewed);
    issued_free(&moved);
    world_end(&w);
}

TEST(a_reloaded_client_resumes_nothing_from_before) {
    /* Neither a session that it had nor one that an old connection gets; by TLS 1.3. */
    try_all(false, TLS1_3_VERSION);
}

TEST(a_reloaded_client_resumes_nothing_from_before_in_1_2) {
    /* There the ticket comes in the handshake. */
    try_all(false, TLS1_2_VERSION);
}

TEST(a_reloaded_server_resumes_nobody_from_before) {
    /* Whatever ticket its former context has issued, if it asks for certificates; by TLS 1.3. */
    try_all(true, TLS1_3_VERSION);
}

TEST(a_reloaded_server_resumes_nobody_from_before_in_1_2) {
    /* There the ticket comes in the handshake. */
    try_all(true, TLS1_2_VERSION);
}
