/*
 * config.c: configs: making, changing and ending them; the sessions that a client keeps.
 */
#include "tls/config.h"

#include <stdlib.h>
#include <string.h>

void thrum_tls_options_init(thrum_tls_options *options) {
    *options = (thrum_tls_options)THRUM_TLS_OPTIONS_INIT;
}

static bool has(const char *file, thrum_iovec memory) {
    return file || memory.size;
}

/* Why options make no sense, or NULL. */
static const char *mistake_in(const thrum_tls_options *options, bool is_server) {
    const bool own = has(options->chain_file, options->chain);
    const bool needs_ca = is_server && th_tls_verifies(options, true);
    if (options->peer > THRUM_TLS_PEER_REQUIRED) {
        return "peer: not one of THRUM_TLS_PEER_DEFAULT, ...";
    }
    if (options->version_min != THRUM_TLS_1_2 && options->version_min != THRUM_TLS_1_3) {
        return "version_min: neither THRUM_TLS_1_2 nor THRUM_TLS_1_3";
    }
    if (own != has(options->key_file, options->key)) {
        return own ? "key_file: a certificate needs its key" : "chain_file: no certificate";
    }
    if (is_server && !own) {
        return "chain_file: a server needs a certificate";
    }
    if (needs_ca && !has(options->ca_file, options->ca)) {
        return "ca_file: a server that requests certificates needs trusted ones";
    }
    return !is_server && options->peer == THRUM_TLS_PEER_OPTIONAL
               ? "peer: THRUM_TLS_PEER_OPTIONAL is for servers"
               : NULL;
}

/* 0, with an empty text of errors, or -EINVAL. */
static int check(const thrum_tls_options *options, bool is_server) {
    if (options->size != sizeof *options) {
        return -EINVAL; /* another library's: its other fields may not exist */
    }
    if (options->error && options->error_size) {
        options->error[0] = '\0';
    }
    const char *mistake = mistake_in(options, is_server);
    return mistake ? th_tls_refused(options, -EINVAL, NULL, mistake) : 0;
}

static void settle(thrum_tls_config *config, const thrum_tls_options *options, SSL_CTX *ctx) {
    const bool verifies = th_tls_verifies(options, config->is_server);
    config->ctx = ctx;
    config->must_name = !config->is_server && verifies;
    config->asks = config->is_server && verifies;
}

static int config_make(thrum_tls_config **out, const thrum_tls_options *options, bool is_server) {
    const thrum_tls_options defaults = THRUM_TLS_OPTIONS_INIT;
    if (!out) {
        return -EINVAL;
    }
    *out = NULL;
    options = options ? options : &defaults;
    int code = check(options, is_server);
    if (code) {
        return code;
    }
    thrum_tls_config *config = calloc(1, sizeof *config);
    if (!config) {
        return th_tls_refused(options, -ENOMEM, NULL, NULL);
    }
    SSL_CTX *ctx;
    code = th_tls_context_make(&ctx, options, is_server, NULL);
    if (code) {
        free(config);
        return code;
    }
    thrum_mutex_init(&config->lock);
    config->is_server = is_server;
    config->references = 1;
    settle(config, options, ctx);
    *out = config;
    return 0;
}

int thrum_tls_config_server(thrum_tls_config **out, const thrum_tls_options *options) {
    return config_make(out, options, true);
}

int thrum_tls_config_client(thrum_tls_config **out, const thrum_tls_options *options) {
    return config_make(out, options, false);
}

/* ---- changing it ---- */

/* Takes all sessions out, under the lock. */
static void empty(thrum_tls_config *config, th_tls_kept kept[TH_TLS_SESSIONS]) {
    memcpy(kept, config->kept, sizeof config->kept);
    memset(config->kept, 0, sizeof config->kept);
}

static void give_back(th_tls_kept kept[TH_TLS_SESSIONS]) {
    for (unsigned i = 0; i < TH_TLS_SESSIONS; i++) {
        free(kept[i].host);
        th_tls_session_free(kept[i].session);
    }
}

int thrum_tls_config_reload(thrum_tls_config *config, const thrum_tls_options *options) {
    th_tls_kept kept[TH_TLS_SESSIONS];
    SSL_CTX *before = NULL, *ctx = NULL;
    int code = config && options ? check(options, config->is_server) : -EINVAL;
    if (code) {
        return code;
    }
    thrum_mutex_lock(&config->lock);
    if (!config->asks && !th_tls_verifies(options, config->is_server)) {
        SSL_CTX_up_ref(config->ctx);
        before = config->ctx; /* its tickets still hold */
    }
    thrum_mutex_unlock(&config->lock);
    code = th_tls_context_make(&ctx, options, config->is_server, before);
    th_tls_context_free(before);
    if (code) {
        return code;
    }
    thrum_mutex_lock(&config->lock);
    before = config->ctx;
    settle(config, options, ctx);
    empty(config, kept);
    thrum_mutex_unlock(&config->lock);
    th_tls_context_free(before);
    give_back(kept);
    return 0;
}

void th_tls_config_end(thrum_tls_config *config) {
    thrum_mutex_lock(&config->lock);
    const bool is_last = --config->references == 0;
    thrum_mutex_unlock(&config->lock);
    if (is_last) {
        th_tls_context_free(config->ctx);
        give_back(config->kept);
        free(config);
    }
}

void thrum_tls_config_free(thrum_tls_config *config) {
    if (config) {
        th_tls_config_end(config);
    }
}

/* ---- connections ---- */

/* The place of a host's session, or NULL. Under the lock. */
static th_tls_kept *find(thrum_tls_config *config, const char *host) {
    for (unsigned i = 0; i < TH_TLS_SESSIONS; i++) {
        if (config->kept[i].host && strcmp(config->kept[i].host, host) == 0) {
            return &config->kept[i];
        }
    }
    return NULL;
}

int th_tls_config_begin(thrum_tls_config *config, bool is_server, const char *host, SSL_CTX **ctx,
                        SSL_SESSION **session) {
    int code = -EINVAL;
    *session = NULL;
    if (config->is_server != is_server) {
        return -EINVAL;
    }
    thrum_mutex_lock(&config->lock);
    if (host || !config->must_name) {
        th_tls_kept *kept = host ? find(config, host) : NULL;
        SSL_CTX_up_ref(config->ctx);
        *ctx = config->ctx;
        if (kept && SSL_SESSION_up_ref(kept->session)) {
            *session = kept->session;
        }
        config->references++;
        code = 0;
    }
    thrum_mutex_unlock(&config->lock);
    return code;
}

void th_tls_config_keep(thrum_tls_config *config, const SSL_CTX *ctx, const char *host,
                        SSL_SESSION *session) {
    th_tls_kept old = {strdup(host), session}; /* the rest is given back */
    thrum_mutex_lock(&config->lock);
    const bool is_ours = config->ctx == ctx;
    th_tls_kept *place = is_ours ? find(config, host) : NULL;
    if (place) {
        old.session = place->session;
        place->session = session;
    } else if (is_ours && old.host) {
        const th_tls_kept made = old;
        place = &config->kept[config->next];
        config->next = (config->next + 1) % TH_TLS_SESSIONS;
        old = *place;
        *place = made;
    }
    thrum_mutex_unlock(&config->lock);
    free(old.host);
    th_tls_session_free(old.session);
}
