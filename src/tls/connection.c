/*
 * connection.c: the beginning and the end of connections, and information about them.
 */
#include "tls/connection.h"

#include <stdlib.h>
#include <string.h>

/* The longest name that can be sent to a server (TLSEXT_MAXLEN_host_name). */
#define HOST_MAX 255u

/* How long an alert, which only explains a failure, may take to go out. */
#define ALERT_NS THRUM_MS(500)

/* ---- bytes ---- */

/* Whether writing is over with this code, or may go on later. */
static bool sticks(int64_t code) {
    return code != -ETIMEDOUT && code != -ECANCELED && code != -ENOMEM && code != -EMFILE &&
           code != -ENFILE && code != -ENOSPC;
}

/* Memory that is not much stays, for the next ones. */
static void tidy(th_tls_bytes *bytes) {
    if (bytes->capacity > TH_TLS_IN) {
        th_tls_bytes_free(bytes);
    }
    bytes->head = bytes->tail = 0;
}

int th_tls_send_flight(thrum_tls *tls, thrum_time deadline) {
    th_tls_bytes *flight = &tls->flight;
    while (th_tls_bytes_length(flight)) {
        int64_t n = thrum_write_until(tls->io, flight->at + flight->head,
                                      th_tls_bytes_length(flight), deadline);
        if (n <= 0) {
            tls->write_code = sticks(n) ? (int)n : 0;
            return (int)n;
        }
        flight->head += (size_t)n;
    }
    tidy(flight);
    return 0;
}

int th_tls_send(thrum_tls *tls, thrum_time deadline) {
    int code = tls->write_code ? tls->write_code : th_tls_send_flight(tls, deadline);
    if (code) {
        return code;
    }
    thrum_mutex_lock(&tls->lock);
    const th_tls_bytes empty = tls->flight;
    tls->flight = tls->engine.out;
    tls->engine.out = empty;
    thrum_mutex_unlock(&tls->lock);
    return th_tls_send_flight(tls, deadline);
}

void th_tls_send_aside(thrum_tls *tls, thrum_time deadline) {
    const thrum_time soon = thrum_after(ALERT_NS);
    if (thrum_sem_try_wait(&tls->writing) == 0) {
        (void)th_tls_send(tls, deadline < soon ? deadline : soon);
        thrum_sem_post(&tls->writing);
    }
}

int64_t th_tls_receive(thrum_tls *tls, thrum_time deadline) {
    /* Nobody looks at its memory: it is marked as empty until the lock is held again. */
    int64_t n = thrum_read_until(tls->io, tls->engine.in.at, TH_TLS_IN, deadline);
    if (n == 0) {
        thrum_mutex_lock(&tls->lock);
        th_tls_engine_note(&tls->engine, "the bytes ended without a close_notify");
        thrum_mutex_unlock(&tls->lock);
        return -ECONNRESET;
    }
    return n;
}

void th_tls_keep(thrum_tls *tls) {
    thrum_mutex_lock(&tls->lock);
    SSL_SESSION *fresh = tls->engine.fresh;
    tls->engine.fresh = NULL;
    thrum_mutex_unlock(&tls->lock);
    if (fresh && tls->host) {
        th_tls_config_keep(tls->config, tls->ctx, tls->host, fresh);
    } else {
        th_tls_session_free(fresh);
    }
}

/* ---- the handshake ---- */

static int handshake(thrum_tls *tls, thrum_time deadline) {
    if (th_tls_is_past(deadline)) {
        return -ETIMEDOUT;
    }
    for (;;) {
        int code = th_tls_engine_handshake(&tls->engine);
        if (code && code != -EAGAIN) {
            th_tls_send_aside(tls, deadline);
            return code;
        }
        int64_t n = th_tls_send(tls, deadline);
        if (code == 0 && tls->write_code) {
            return 0; /* the peer may have sent everything and gone: that is still to be read */
        }
        if (n || code == 0) {
            return (int)n;
        }
        n = th_tls_receive(tls, deadline);
        if (n < 0) {
            return (int)n;
        }
        tls->engine.in.head = 0;
        tls->engine.in.tail = (size_t)n;
    }
}

static void destroy(thrum_tls *tls) {
    th_tls_engine_close(&tls->engine);
    th_tls_bytes_free(&tls->flight);
    th_tls_bytes_free(&tls->owed);
    th_tls_config_end(tls->config);
    free(tls->found.subject);
    free(tls->host);
    free(tls);
}

/*
 * The name as servers and certificates know it: without the dot at the end that a resolver
 * understands (RFC 6066, 3). False: it is empty or too long.
 */
static bool put_host(char out[HOST_MAX + 1], const char *host) {
    size_t length = strlen(host);
    length -= length && host[length - 1] == '.';
    if (!length || length > HOST_MAX) {
        return false;
    }
    memcpy(out, host, length);
    out[length] = '\0';
    return true;
}

/* Makes a connection that has not begun: 0 or a code. */
static int make(thrum_tls **out, thrum_tls_config *config, thrum_io io, bool is_server,
                const char *given) {
    SSL_CTX *ctx;
    SSL_SESSION *session;
    char name[HOST_MAX + 1];
    const char *host = given ? name : NULL;
    if (!config || !io.turn || (given && !put_host(name, given))) {
        return -EINVAL;
    }
    int code = th_tls_config_begin(config, is_server, host, &ctx, &session);
    if (code) {
        return code;
    }
    thrum_tls *tls = calloc(1, sizeof *tls);
    if (tls) {
        tls->io = io;
        tls->config = config;
        tls->ctx = ctx;
        tls->found.version = tls->found.cipher = "";
        thrum_mutex_init(&tls->lock);
        thrum_sem_init(&tls->reading, 1);
        thrum_sem_init(&tls->writing, 1);
        tls->host = host ? strdup(host) : NULL;
    }
    code = !tls || (host && !tls->host)
               ? -ENOMEM
               : th_tls_engine_open(&tls->engine, ctx, is_server, host, session);
    th_tls_context_free(ctx);
    th_tls_session_free(session);
    if (!code) {
        *out = tls;
    } else if (tls) {
        destroy(tls);
    } else {
        th_tls_config_end(config);
    }
    return code;
}

static const char *words_of(int code) {
    return code == -ETIMEDOUT ? "the handshake took too long" : thrum_strerror(code);
}

static int begin(thrum_tls **out, thrum_tls_config *config, thrum_io io, bool is_server,
                 const char *host, thrum_time deadline) {
    thrum_tls *tls = NULL;
    if (out) {
        *out = NULL;
    }
    int code = out ? make(&tls, config, io, is_server, host) : -EINVAL;
    if (code) {
        (void)thrum_io_close(io);
        return code;
    }
    code = handshake(tls, deadline);
    code = code ? code : th_tls_engine_found(&tls->engine, &tls->found);
    if (code) {
        th_tls_engine_fail(&tls->engine, code, words_of(code));
    } else if (tls->engine.fresh) {
        th_tls_keep(tls);
    }
    *out = tls;
    return code;
}

int thrum_tls_client(thrum_tls **out, thrum_tls_config *config, thrum_io io, const char *host,
                     thrum_time deadline) {
    return begin(out, config, io, false, host, deadline);
}

int thrum_tls_server(thrum_tls **out, thrum_tls_config *config, thrum_io io, thrum_time deadline) {
    return begin(out, config, io, true, NULL, deadline);
}

/* ---- the end ---- */

/* By the writer: pending bytes go out first, and behind them the close_notify. */
static int say_the_end(thrum_tls *tls, thrum_time deadline) {
    if (th_tls_is_past(deadline)) {
        return -ETIMEDOUT;
    }
    thrum_mutex_lock(&tls->lock);
    int code = th_tls_engine_end(&tls->engine);
    thrum_mutex_unlock(&tls->lock);
    return code ? code : th_tls_send(tls, deadline);
}

int thrum_tls_shutdown(thrum_tls *tls, thrum_time deadline) {
    if (!tls) {
        return -EINVAL;
    }
    int code = th_tls_enter(&tls->writing, deadline);
    if (!code) {
        code = say_the_end(tls, deadline);
        thrum_sem_post(&tls->writing);
    }
    return code;
}

int thrum_tls_close(thrum_tls *tls, thrum_time deadline) {
    if (!tls) {
        return 0;
    }
    int code = tls->engine.code ? 0 : say_the_end(tls, deadline);
    int closed = thrum_io_close(tls->io);
    destroy(tls);
    return code ? code : closed;
}

/* ---- information ---- */

thrum_io thrum_tls_io(const thrum_tls *tls) {
    return tls->io;
}

const char *thrum_tls_protocol(const thrum_tls *tls) {
    return tls->found.protocol;
}

const char *thrum_tls_version(const thrum_tls *tls) {
    return tls->found.version;
}

const char *thrum_tls_cipher(const thrum_tls *tls) {
    return tls->found.cipher;
}

const char *thrum_tls_subject(const thrum_tls *tls) {
    return tls->found.subject ? tls->found.subject : "";
}

bool thrum_tls_is_resumed(const thrum_tls *tls) {
    return tls->found.resumed;
}

void thrum_tls_error(thrum_tls *tls, char *text, size_t size) {
    if (!size) {
        return;
    }
    thrum_mutex_lock(&tls->lock);
    const size_t length = strlen(tls->engine.text);
    const size_t n = length < size ? length : size - 1;
    memcpy(text, tls->engine.text, n);
    text[n] = '\0';
    thrum_mutex_unlock(&tls->lock);
}
