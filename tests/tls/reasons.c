/*
 * reasons.c: the text that the options' `error` gets if a config cannot be made or reloaded.
 */
#include "support/io/tls.h"

static world w;
static char folder[] = "/tmp/thrum-tls-XXXXXX";
static char text[256];

static thrum_tls_options explained(thrum_tls_options options) {
    options.error = text;
    options.error_size = sizeof text;
    return options;
}

/* A file with these bytes in the folder: its path. */
static const char *write_file(const char *name, thrum_iovec bytes) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes.base, 1, bytes.size, file) == bytes.size && fclose(file) == 0);
    return path;
}

/* A config that fails with a text that has `name` before `reason`. */
static void fails(bool is_server, const thrum_tls_options *options, int code, const char *name,
                  const char *reason) {
    thrum_tls_config *config;
    strcpy(text, "left from before");
    CHECK_EQ(is_server ? thrum_tls_config_server(&config, options)
                       : thrum_tls_config_client(&config, options),
             code);
    if (strncmp(text, name, strlen(name)) != 0 || !strstr(text + strlen(name), reason)) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not \"%s: %s\"", text, name, reason);
    }
}

TEST(a_failure_names_its_file) {
    /* Which of the three is missing, is no PEM, or does not fit to the others. */
    issued other;
    CHECK(mkdtemp(folder) != NULL);
    world_make(&w);
    issue(&other, "b.test", "DNS:b.test", &w.ca);
    thrum_tls_options options = explained((thrum_tls_options)THRUM_TLS_OPTIONS_INIT);
    const char *chain = write_file("chain", w.own.chain_pem);
    const char *key = write_file("key", other.key_pem);
    const char *odd = write_file("odd", (thrum_iovec){"not PEM at all", 14});
    options.chain_file = "/nowhere/chain";
    options.key_file = key;
    fails(true, &options, -ENOENT, "/nowhere/chain: ", thrum_strerror(-ENOENT));
    options.chain_file = odd;
    fails(true, &options, -EBADMSG, odd, ": no certificate in PEM");
    options.chain_file = chain;
    fails(true, &options, -EBADMSG, key, ": not the key of the certificate");
    options.key_file = odd;
    fails(true, &options, -EBADMSG, odd, ": no private key in PEM");
    options.key_file = "/nowhere/key";
    fails(true, &options, -ENOENT, "/nowhere/key: ", "");
    options = explained((thrum_tls_options)THRUM_TLS_OPTIONS_INIT);
    options.ca_file = "/nowhere/ca";
    fails(false, &options, -ENOENT, "/nowhere/ca: ", "");
    static const char *const names[] = {"chain", "key", "odd"};
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_EQ(unlink(path), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    issued_free(&other);
    world_end(&w);
}

TEST(a_failure_names_its_field) {
    /* Bytes in memory have no name; neither has a field that makes no sense. */
    world_make(&w);
    thrum_tls_options options = explained(server_options(&w));
    options.key = w.ca.key_pem;
    fails(true, &options, -EBADMSG, "key: ", "not the key of the certificate");
    options.chain = (thrum_iovec){"-----BEGIN CERTIFICATE-----\n?\n", 30};
    fails(true, &options, -EBADMSG, "chain: ", "");
    options.chain = (thrum_iovec){NULL, 0};
    fails(true, &options, -EINVAL, "chain_file: ", "certificate");
    options.key = (thrum_iovec){NULL, 0};
    fails(true, &options, -EINVAL, "chain_file: ", "a server needs");
    options = explained(server_options(&w));
    options.key = (thrum_iovec){NULL, 0};
    fails(true, &options, -EINVAL, "key_file: ", "");
    options = explained(server_options(&w));
    options.peer = THRUM_TLS_PEER_REQUIRED;
    fails(true, &options, -EINVAL, "ca_file: ", "");
    options.peer = THRUM_TLS_PEER_REQUIRED + 1;
    fails(true, &options, -EINVAL, "peer: ", "");
    options = explained(client_options(&w));
    options.peer = THRUM_TLS_PEER_OPTIONAL;
    fails(false, &options, -EINVAL, "peer: ", "");
    options = explained(client_options(&w));
    options.version_min = 1;
    fails(false, &options, -EINVAL, "version_min: ", "");
    options = explained(client_options(&w));
    options.protocols = (const char *const[]){"", NULL};
    fails(false, &options, -EINVAL, "protocols: ", "");
    world_end(&w);
}

TEST(a_success_empties_the_text_and_a_reload_has_it_too) {
    /* A text that is too long is cut, and memory of no bytes is not written to. */
    thrum_tls_config *config;
    world_make(&w);
    thrum_tls_options options = explained(server_options(&w));
    strcpy(text, "left from before");
    CHECK_EQ(thrum_tls_config_server(&config, &options), 0);
    CHECK_STR(text, "");
    options.key = w.ca.key_pem;
    CHECK_EQ(thrum_tls_config_reload(config, &options), -EBADMSG);
    CHECK_STR(text, "key: not the key of the certificate");
    options.error_size = 9;
    CHECK_EQ(thrum_tls_config_reload(config, &options), -EBADMSG);
    CHECK_STR(text, "key: not");
    options.error_size = 0;
    text[0] = '?';
    CHECK_EQ(thrum_tls_config_reload(config, &options), -EBADMSG);
    CHECK_STR(text, "?ey: not");
    options.error_size = sizeof text;
    options.size--; /* another library's, whose `error` may be elsewhere */
    CHECK_EQ(thrum_tls_config_reload(config, &options), -EINVAL);
    CHECK_STR(text, "?ey: not");
    thrum_tls_config_free(config);
    world_end(&w);
}
