/*
 * trust.c: whom each side trusts, what both agree on, and what is kept from one connection to the
 * next.
 */
/* matrix: policy workers */
#include "support/io/tls.h"

static world w;

static thrum_tls_config *server_of(const issued *own) {
    thrum_tls_config *config;
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.chain = own->chain_pem;
    options.key = own->key_pem;
    CHECK_EQ(thrum_tls_config_server(&config, &options), 0);
    return config;
}

/* ---- the server's certificate ---- */

/* The client says so of the server, and the server hears of it. */
static void refused(thrum_tls_config *server, const char *host, const char *words) {
    couple c;
    char byte;
    couple_try(&c, server, w.client, host);
    CHECK_EQ(c.client_code, -EACCES);
    check_error(c.client, words);
    CHECK_EQ(thrum_tls_read(c.client, &byte, 1), -EACCES);
    CHECK_EQ(thrum_tls_write(c.client, "x", 1), -EACCES);
    CHECK_STR(thrum_tls_version(c.client), "");
    CHECK_EQ(c.server_code, -EPROTO);
    check_error(c.server, "alert");
    couple_close(&c);
}

static int trusts(void *arg) {
    issued expired, early, stranger_ca, stranger;
    (void)arg;
    issue_for(&expired, "a.test", "DNS:a.test", &w.ca, -3600, -60);
    issue_for(&early, "a.test", "DNS:a.test", &w.ca, 3600, 7200);
    issue(&stranger_ca, "another issuer", NULL, NULL);
    issue(&stranger, "a.test", "DNS:a.test", &stranger_ca);
    refused(w.server, "b.test", "hostname mismatch");
    refused(w.server, "a.test.b.test", "hostname mismatch");
    refused(w.server, "127.0.0.2", "IP address mismatch");
    const issued *bad[] = {&expired, &early, &stranger};
    const char *words[] = {"expired", "not yet valid", "unable to get local issuer"};
    for (int i = 0; i < 3; i++) {
        thrum_tls_config *server = server_of(bad[i]);
        refused(server, "a.test", words[i]);
        thrum_tls_config_free(server);
    }
    couple c;
    couple_try(&c, w.server, w.client, "127.0.0.1");
    CHECK_EQ(c.client_code, 0);
    CHECK_EQ(c.server_code, 0);
    says(c.client, c.server, "by its address");
    check_error(c.client, "");
    couple_close(&c);
    couple_try(&c, w.server, w.client, "a.test."); /* as the root of all names has it */
    CHECK_EQ(c.client_code, 0);
    says(c.client, c.server, "with a dot");
    couple_close(&c);
    couple_try(&c, w.server, w.client, ".");
    CHECK_EQ(c.client_code, -EINVAL);
    CHECK(c.client == NULL);
    couple_close(&c);
    issued_free(&expired);
    issued_free(&early);
    issued_free(&stranger);
    issued_free(&stranger_ca);
    return 0;
}

TEST(a_client_trusts_whom_it_should) {
    /* Not another host, nor an expired one, nor one that a stranger vouches for. */
    world_make(&w);
    both(trusts);
    world_end(&w);
}

static int verifies_by_default(void *arg) {
    couple c;
    thrum_tls_config *client;
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    (void)arg;
    CHECK_EQ(thrum_tls_config_client(&client, NULL), 0);
    couple_try(&c, w.server, client, "a.test"); /* the system knows nothing of it */
    CHECK_EQ(c.client_code, -EACCES);
    couple_close(&c);
    couple_try(&c, w.server, client, NULL);
    CHECK_EQ(c.client_code, -EINVAL);
    CHECK(c.client == NULL);
    couple_close(&c);
    thrum_tls_config_free(client);
    options.peer = THRUM_TLS_PEER_NONE;
    CHECK_EQ(thrum_tls_config_client(&client, &options), 0);
    couple_try(&c, w.server, client, NULL);
    CHECK_EQ(c.client_code, 0);
    says(c.client, c.server, "whoever you are");
    couple_close(&c);
    thrum_tls_config_free(client);
    return 0;
}

TEST(a_client_verifies_unless_it_is_told_not_to) {
    /* By the system's store; and it must say whom it wants. */
    world_make(&w);
    both(verifies_by_default);
    world_end(&w);
}

/* ---- the client's certificate ---- */

static int client_certificates(void *arg) {
    couple c;
    issued guest, stranger;
    thrum_tls_config *asks, *demands, *shows, *lies;
    char byte;
    (void)arg;
    issue(&guest, "guest", NULL, &w.ca);
    issue(&stranger, "stranger", NULL, NULL);
    thrum_tls_options options = server_options(&w);
    options.ca = w.ca.chain_pem;
    options.peer = THRUM_TLS_PEER_OPTIONAL;
    CHECK_EQ(thrum_tls_config_server(&asks, &options), 0);
    options.peer = THRUM_TLS_PEER_REQUIRED;
    CHECK_EQ(thrum_tls_config_server(&demands, &options), 0);
    options = client_options(&w);
    options.chain = guest.chain_pem;
    options.key = guest.key_pem;
    CHECK_EQ(thrum_tls_config_client(&shows, &options), 0);
    options.chain = stranger.chain_pem;
    options.key = stranger.key_pem;
    CHECK_EQ(thrum_tls_config_client(&lies, &options), 0);

    thrum_tls_config *servers[] = {asks, demands};
    thrum_tls_config *clients[] = {w.client, shows, lies};
    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < 3; k++) {
            const bool fails = k == 2 || (k == 0 && s == 1);
            couple_try(&c, servers[s], clients[k], "a.test");
            CHECK_EQ(c.server_code, fails ? -EACCES : 0);
            CHECK_EQ(c.client_code, 0); /* it learns later */
            if (fails) {
                CHECK_EQ(thrum_tls_read(c.client, &byte, 1), -EPROTO);
                check_error(c.client, "alert");
                check_error(c.server, k == 0 ? "did not return a certificate" : "self");
            } else {
                CHECK_STR(thrum_tls_subject(c.server), k == 1 ? "CN=guest" : "");
                says(c.client, c.server, "hello");
                says(c.server, c.client, "hello");
            }
            couple_close(&c);
        }
    }
    thrum_tls_config_free(asks);
    thrum_tls_config_free(demands);
    thrum_tls_config_free(shows);
    thrum_tls_config_free(lies);
    issued_free(&guest);
    issued_free(&stranger);
    return 0;
}

TEST(servers_ask_for_certificates) {
    /* Optional or required; what is shown is checked, and told. */
    world_make(&w);
    both(client_certificates);
    world_end(&w);
}

/* ---- protocols and versions ---- */

static int protocols(void *arg) {
    couple c;
    thrum_tls_config *server, *client, *other;
    const char *servers[] = {"h2", "http/1.1", NULL};
    const char *clients[] = {"spdy", "http/1.1", "h2", NULL};
    const char *others[] = {"smtp", NULL};
    const char *bad[] = {"", NULL};
    thrum_tls_options options = server_options(&w);
    (void)arg;
    options.protocols = servers;
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    options = client_options(&w);
    options.protocols = clients;
    CHECK_EQ(thrum_tls_config_client(&client, &options), 0);
    options.protocols = others;
    CHECK_EQ(thrum_tls_config_client(&other, &options), 0);
    couple_try(&c, server, client, "a.test");
    CHECK_STR(thrum_tls_protocol(c.client), "h2"); /* the server's order counts */
    CHECK_STR(thrum_tls_protocol(c.server), "h2");
    couple_close(&c);
    couple_try(&c, server, w.client, "a.test");
    CHECK_EQ(c.client_code, 0);
    CHECK_STR(thrum_tls_protocol(c.client), "");
    couple_close(&c);
    couple_try(&c, w.server, client, "a.test");
    CHECK_STR(thrum_tls_protocol(c.client), "");
    couple_close(&c);
    couple_try(&c, server, other, "a.test");
    CHECK_EQ(c.client_code, -EPROTO);
    CHECK_EQ(c.server_code, -EPROTO);
    check_error(c.client, "no application protocol");
    couple_close(&c);
    thrum_tls_config_free(server);
    thrum_tls_config_free(client);
    thrum_tls_config_free(other);
    options.protocols = bad;
    CHECK_EQ(thrum_tls_config_client(&other, &options), -EINVAL);
    return 0;
}

TEST(both_sides_agree_on_a_protocol) {
    /* By the server's order, or on none if one side names none; without a common one they part. */
    world_make(&w);
    both(protocols);
    world_end(&w);
}

static void nothing(raw *r) {
    (void)r;
}

static void *may_fail(void *arg) {
    raw *r = arg;
    r->ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(r->ctx, TLS1_2_VERSION);
    r->ssl = SSL_new(r->ctx);
    SSL_set_fd(r->ssl, r->fd);
    CHECK(SSL_connect(r->ssl) != 1);
    SSL_free(r->ssl);
    SSL_CTX_free(r->ctx);
    close(r->fd);
    return NULL;
}

TEST(old_versions_are_not_spoken) {
    /* Nor 1.2 where 1.3 is the least. */
    raw r;
    int fds[2];
    thrum_tls *tls;
    thrum_tls_config *server;
    world_make(&w);
    int fd = raw_begin(&r, &w, false, TLS1_2_VERSION, nothing);
    CHECK_EQ(thrum_tls_server(&tls, w.server, adopted(fd), THRUM_FOREVER), 0);
    CHECK_STR(thrum_tls_version(tls), "TLSv1.2");
    raw_end(&r);
    thrum_tls_close(tls, 0);
    thrum_tls_options options = server_options(&w);
    options.version_min = THRUM_TLS_1_3;
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    r = (raw){.fd = fds[1]};
    CHECK_EQ(pthread_create(&r.thread, NULL, may_fail, &r), 0);
    CHECK_EQ(thrum_tls_server(&tls, server, adopted(fds[0]), THRUM_FOREVER), -EPROTO);
    check_error(tls, "unsupported protocol");
    thrum_tls_close(tls, 0);
    raw_end(&r);
    thrum_tls_config_free(server);
    options.version_min = 0x0301;
    CHECK_EQ(thrum_tls_config_server(&server, &options), -EINVAL);
    world_end(&w);
}

/* ---- sessions ---- */

/* A connection: whether it went on with a session. */
static bool resumes(thrum_tls_config *server, thrum_tls_config *client, const char *host) {
    couple c;
    couple_try(&c, server, client, host);
    CHECK_EQ(c.client_code, 0);
    CHECK_EQ(c.server_code, 0);
    says(c.client, c.server, "question");
    says(c.server, c.client, "answer"); /* the tickets come before it */
    const bool is_resumed = thrum_tls_is_resumed(c.client);
    CHECK_EQ(thrum_tls_is_resumed(c.server), is_resumed);
    CHECK_STR(thrum_tls_subject(c.client), "CN=a.test");
    couple_close(&c);
    return is_resumed;
}

static int sessions(void *arg) {
    thrum_tls_config *server, *client, *forgets;
    thrum_tls_options servers = server_options(&w);
    thrum_tls_options clients = client_options(&w);
    (void)arg;
    CHECK_EQ(thrum_tls_config_server(&server, &servers), 0);
    CHECK_EQ(thrum_tls_config_client(&client, &clients), 0);
    clients.no_tickets = true;
    CHECK_EQ(thrum_tls_config_client(&forgets, &clients), 0);
    clients.no_tickets = false;
    CHECK(!resumes(server, client, "a.test"));
    CHECK(resumes(server, client, "a.test"));
    CHECK(resumes(server, client, "a.test"));
    CHECK(!resumes(server, client, "127.0.0.1")); /* another host */
    CHECK(!resumes(w.server, client, "a.test"));  /* another server */
    CHECK(!resumes(server, forgets, "a.test"));
    CHECK(!resumes(server, forgets, "a.test"));
    CHECK(!resumes(server, client, "a.test"));
    CHECK_EQ(thrum_tls_config_reload(server, &servers), 0);
    CHECK(resumes(server, client, "a.test")); /* tickets outlive it */
    CHECK_EQ(thrum_tls_config_reload(client, &clients), 0);
    CHECK(!resumes(server, client, "a.test"));
    servers.no_tickets = true;
    CHECK_EQ(thrum_tls_config_reload(server, &servers), 0);
    CHECK(!resumes(server, client, "a.test"));
    CHECK(!resumes(server, client, "a.test"));
    thrum_tls_config_free(server);
    thrum_tls_config_free(client);
    thrum_tls_config_free(forgets);
    return 0;
}

TEST(sessions_are_resumed) {
    /* By tickets: with the same host and server, also after the server has new certificates. */
    world_make(&w);
    both(sessions);
    world_end(&w);
}

TEST(sessions_of_many_hosts_are_kept) {
    /* Of the last 32; the oldest one is given up. */
    char names[2048] = "DNS:h0.test", host[32];
    issued own;
    world_make(&w);
    for (int i = 1; i < 40; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), ",DNS:h%d.test", i);
    }
    issue(&own, "a.test", names, &w.ca);
    thrum_tls_config *server = server_of(&own);
    for (int i = 0; i < 33; i++) {
        snprintf(host, sizeof host, "h%d.test", i);
        CHECK(!resumes(server, w.client, host));
    }
    CHECK(resumes(server, w.client, "h1.test"));
    CHECK(resumes(server, w.client, "h32.test"));
    CHECK(!resumes(server, w.client, "h0.test"));
    thrum_tls_config_free(server);
    issued_free(&own);
    world_end(&w);
}

static int guest_sessions(void *arg) {
    issued guest;
    couple c;
    thrum_tls_config *server, *client;
    (void)arg;
    issue(&guest, "guest", NULL, &w.ca);
    thrum_tls_options servers = server_options(&w);
    thrum_tls_options clients = client_options(&w);
    servers.peer = THRUM_TLS_PEER_REQUIRED;
    servers.ca = w.ca.chain_pem;
    clients.chain = guest.chain_pem;
    clients.key = guest.key_pem;
    CHECK_EQ(thrum_tls_config_server(&server, &servers), 0);
    CHECK_EQ(thrum_tls_config_client(&client, &clients), 0);
    for (int i = 0; i < 2; i++) {
        couple_try(&c, server, client, "a.test");
        CHECK_EQ(c.server_code, 0);
        CHECK_STR(thrum_tls_subject(c.server), "CN=guest"); /* of the session, too */
        says(c.server, c.client, "hello");
        CHECK_EQ(thrum_tls_is_resumed(c.server), i == 1);
        couple_close(&c);
    }
    /* From now on others are trusted: the session must not bring the guest in. */
    issued others;
    issue(&others, "others", NULL, NULL);
    servers.ca = others.chain_pem;
    CHECK_EQ(thrum_tls_config_reload(server, &servers), 0);
    couple_try(&c, server, client, "a.test");
    CHECK_EQ(c.server_code, -EACCES);
    couple_close(&c);
    thrum_tls_config_free(server);
    thrum_tls_config_free(client);
    issued_free(&guest);
    issued_free(&others);
    return 0;
}

TEST(a_session_does_not_outlive_its_trust) {
    /* A server that asks for certificates resumes nothing from before a reload. */
    world_make(&w);
    both(guest_sessions);
    world_end(&w);
}

/* ---- configs ---- */

static int reloads(void *arg) {
    couple before, after;
    issued next;
    thrum_tls_config *server;
    thrum_tls_options options = server_options(&w);
    (void)arg;
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    issue(&next, "the next", "DNS:a.test", &w.ca);
    couple_try(&before, server, w.client, "a.test");
    options.chain = next.chain_pem; /* with the key of the other one */
    CHECK_EQ(thrum_tls_config_reload(server, &options), -EBADMSG);
    CHECK_EQ(thrum_tls_config_reload(server, NULL), -EINVAL);
    CHECK_EQ(thrum_tls_config_reload(NULL, &options), -EINVAL);
    couple_try(&after, server, w.client, "a.test");
    CHECK_STR(thrum_tls_subject(after.client), "CN=a.test");
    couple_close(&after);
    options.key = next.key_pem;
    CHECK_EQ(thrum_tls_config_reload(server, &options), 0);
    thrum_tls_options fresh = client_options(&w);
    CHECK_EQ(thrum_tls_config_reload(w.client, &fresh), 0);
    couple_try(&after, server, w.client, "a.test");
    CHECK_EQ(after.client_code, 0);
    CHECK_STR(thrum_tls_subject(after.client), "CN=the next");
    CHECK_STR(thrum_tls_subject(before.client), "CN=a.test");
    thrum_tls_config_free(server); /* connections go on without it */
    says(before.client, before.server, "still here");
    says(after.server, after.client, "here");
    couple_close(&before);
    couple_close(&after);
    issued_free(&next);
    return 0;
}

TEST(certificates_are_replaced_while_connections_last) {
    /* Those that were begun keep what they have; a reload that fails changes nothing. */
    world_make(&w);
    both(reloads);
    world_end(&w);
}

static const char *write_file(const char *folder, const char *name, thrum_iovec pem) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(pem.base, 1, pem.size, file) == pem.size && fclose(file) == 0);
    return path;
}

TEST(certificates_come_from_files) {
    /* With those that vouch for them; what is wrong with a file is told. */
    char folder[] = "/tmp/thrum-tls-XXXXXX";
    couple c;
    issued between, own;
    thrum_tls_config *server, *client;
    world_make(&w);
    CHECK(mkdtemp(folder) != NULL);
    issue(&between, "between", NULL, NULL); /* one that issues, by itself */
    issue(&own, "a.test", "DNS:a.test", &between);
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.chain_file = write_file(folder, "chain", own.chain_pem);
    options.key_file = write_file(folder, "key", own.key_pem);
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    thrum_tls_options trusts_it = THRUM_TLS_OPTIONS_INIT;
    trusts_it.ca_file = write_file(folder, "ca", between.chain_pem);
    CHECK_EQ(thrum_tls_config_client(&client, &trusts_it), 0);
    couple_try(&c, server, client, "a.test");
    CHECK_EQ(c.client_code, 0);
    couple_close(&c);
    thrum_tls_config_free(server);
    thrum_tls_config_free(client);

    options.chain_file = "/nowhere/chain";
    CHECK_EQ(thrum_tls_config_server(&server, &options), -ENOENT);
    CHECK(server == NULL);
    options.chain_file = options.key_file;
    CHECK_EQ(thrum_tls_config_server(&server, &options), -EBADMSG);
    trusts_it.ca_file = write_file(folder, "odd", (thrum_iovec){"not PEM at all", 14});
    CHECK_EQ(thrum_tls_config_client(&client, &trusts_it), -EBADMSG);
    options = (thrum_tls_options)THRUM_TLS_OPTIONS_INIT;
    CHECK_EQ(thrum_tls_config_server(&server, &options), -EINVAL); /* no certificate */
    CHECK_EQ(thrum_tls_config_server(&server, NULL), -EINVAL);
    CHECK_EQ(thrum_tls_config_server(NULL, &options), -EINVAL);
    options = server_options(&w);
    options.peer = THRUM_TLS_PEER_REQUIRED; /* by whom? */
    CHECK_EQ(thrum_tls_config_server(&server, &options), -EINVAL);
    options.key = (thrum_iovec){NULL, 0};
    CHECK_EQ(thrum_tls_config_server(&server, &options), -EINVAL);
    static const char *const names[] = {"chain", "key", "ca", "odd"};
    for (int i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_EQ(unlink(path), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    issued_free(&between);
    issued_free(&own);
    world_end(&w);
}

TEST(a_chain_leads_to_whom_is_trusted) {
    /* The server sends those in between, too; without them nobody knows the issuer. */
    couple c;
    issued between, own;
    thrum_tls_config *server;
    char chain[8192];
    world_make(&w);
    issues_others = true;
    issue(&between, "between", NULL, &w.ca);
    issues_others = false;
    issue(&own, "a.test", "DNS:a.test", &between);
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.key = own.key_pem;
    options.chain = (thrum_iovec){chain, own.chain_pem.size + between.chain_pem.size};
    CHECK(options.chain.size <= sizeof chain);
    memcpy(chain, own.chain_pem.base, own.chain_pem.size);
    memcpy(chain + own.chain_pem.size, between.chain_pem.base, between.chain_pem.size);
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    couple_try(&c, server, w.client, "a.test");
    CHECK_EQ(c.client_code, 0);
    CHECK_STR(thrum_tls_subject(c.client), "CN=a.test");
    couple_close(&c);
    thrum_tls_config_free(server);
    options.chain = own.chain_pem;
    CHECK_EQ(thrum_tls_config_server(&server, &options), 0);
    refused(server, "a.test", "unable to get local issuer");
    thrum_tls_config_free(server);
    issued_free(&between);
    issued_free(&own);
    world_end(&w);
}

TEST(a_config_is_of_one_kind) {
    /* A server's cannot dial, a client's cannot answer; the descriptor is closed all the same. */
    couple c;
    char byte;
    int fds[2];
    thrum_tls *tls = (thrum_tls *)&byte;
    world_make(&w);
    couple_try(&c, w.client, w.server, "a.test");
    CHECK_EQ(c.client_code, -EINVAL);
    CHECK_EQ(c.server_code, -EINVAL);
    CHECK(!c.client && !c.server);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CHECK_EQ(thrum_tls_client(&tls, NULL, adopted(fds[0]), "a.test", THRUM_FOREVER), -EINVAL);
    CHECK(tls == NULL);
    CHECK_EQ(read(fds[1], &byte, 1), 0);
    char name[257]; /* one that no server can be told */
    memset(name, 'a', 256);
    name[256] = '\0';
    CHECK_EQ(thrum_tls_client(&tls, w.client, adopted(dup(fds[1])), name, THRUM_FOREVER), -EINVAL);
    CHECK(tls == NULL);
    close(fds[1]);
    CHECK_EQ(thrum_tls_close(NULL, THRUM_FOREVER), 0);
    thrum_tls_config_free(NULL);
    world_end(&w);
}
