/*
 * connection.h: a connection: OpenSSL's part, its descriptor, and its two directions.
 */
#ifndef TH_TLS_CONNECTION_H
#define TH_TLS_CONNECTION_H

#include "thrum/mutex.h"
#include "thrum/sem.h"
#include "tls/config.h"
#include "tls/engine.h"

struct thrum_tls {
    thrum_io io;              /* constant */
    thrum_tls_config *config; /* constant: a reference */
    char *host;               /* constant: of a client, for its session; or NULL */
    const SSL_CTX *ctx;       /* constant: the context it began with; the engine refers to it */
    th_tls_found found;       /* constant after the handshake */

    thrum_mutex lock;     /* never held in a wait for the descriptor */
    th_tls_engine engine; /* under the lock; but engine.in's memory is filled by the reader */

    thrum_sem reading;   /* 1: no call reads */
    thrum_sem writing;   /* 1: no call writes; the following is the writer's */
    th_tls_bytes flight; /* encrypted, and being sent: it goes before engine.out */
    th_tls_bytes owed;   /* bytes that are encrypted, and that no write has counted */
    int write_code;      /* the error of the descriptor that sticks, or 0 */
};

/* By the writer: sends encrypted bytes. 0, or a code, after which the rest is still there. */
int th_tls_send(thrum_tls *tls, thrum_time deadline);

/* The same for `flight` only, without the lock. */
int th_tls_send_flight(thrum_tls *tls, thrum_time deadline);

/* By a call that is no writer: sends it unless a writer is there, as far as it goes at once. */
void th_tls_send_aside(thrum_tls *tls, thrum_time deadline);

/*
 * By the reader, or the handshake: waits for more bytes. Returns how many have come, which are not
 * in `engine.in` yet (it is empty, and they lie at its beginning), or a code.
 */
int64_t th_tls_receive(thrum_tls *tls, thrum_time deadline);

/* Keeps a session that has come, if there is one, for the next connection. */
void th_tls_keep(thrum_tls *tls);

/* Whether no call is to be tried any longer. */
static inline bool th_tls_is_past(thrum_time deadline) {
    return deadline != THRUM_FOREVER && deadline <= thrum_now();
}

/* The turn in a direction: 0 or a code. */
static inline int th_tls_enter(thrum_sem *direction, thrum_time deadline) {
    return thrum_sem_try_wait(direction) == 0 ? 0 : thrum_sem_wait_until(direction, deadline);
}

#endif
