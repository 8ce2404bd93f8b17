/*
 * with_libpq.c: PostgreSQL's own library in fibers: with_libpq [CONNINFO]
 *
 * Connecting, sending and receiving never block: if libpq would have to wait, the fiber does. The
 * fiber waits for libpq's descriptor, which libpq may close, and open another one under the same
 * number, in any call while it connects (it tries several hosts). So it is borrowed for one wait at
 * a time, and given back before libpq is called again.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/io.h>

/* ---- libpq in fibers: from here to query() it is the same in every program ---- */

/* Waits for libpq's descriptor: the bits that are ready, or an error. */
static int wait_for(PGconn *conn, unsigned bits, thrum_time deadline) {
    thrum_io io;
    int err = thrum_io_adopt(&io, PQsocket(conn)); /* -EBADF: there is none */
    if (err) {
        return err;
    }
    int ready = thrum_io_wait(io, bits, deadline);
    return thrum_io_release(io) < 0 ? -EBADF : ready; /* it is libpq's again, as it was */
}

/* Connects. *out is NULL without memory; else it is to be finished, and has the error message. */
static int connect_to(PGconn **out, const char *conninfo, thrum_time deadline) {
    PGconn *conn = *out = PQconnectStart(conninfo);
    if (!conn) {
        return -ENOMEM;
    }
    PostgresPollingStatusType state = PGRES_POLLING_WRITING; /* as the manual has it */
    while (PQstatus(conn) != CONNECTION_BAD && state != PGRES_POLLING_OK) {
        int err = wait_for(conn, state == PGRES_POLLING_READING ? THRUM_IO_READ : THRUM_IO_WRITE,
                           deadline);
        if (err < 0) {
            return err;
        }
        if ((state = PQconnectPoll(conn)) == PGRES_POLLING_FAILED) {
            break;
        }
    }
    return state == PGRES_POLLING_OK ? PQsetnonblocking(conn, 1) : -ECONNREFUSED;
}

/* Writes the rest of a query, and takes the server's data meanwhile. */
static int flush(PGconn *conn, thrum_time deadline) {
    int left, ready;
    while ((left = PQflush(conn)) == 1) {
        if ((ready = wait_for(conn, THRUM_IO_READ | THRUM_IO_WRITE, deadline)) < 0) {
            return ready;
        }
        if (((unsigned)ready & THRUM_IO_READ) && !PQconsumeInput(conn)) {
            return -EIO;
        }
    }
    return left ? -EIO : 0;
}

/* Sends a query, and waits for its last result. At the deadline the connection is of no use. */
static int query(PGconn *conn, const char *text, const char *value, PGresult **out,
                 thrum_time deadline) {
    PGresult *next;
    *out = NULL;
    int err = PQsendQueryParams(conn, text, 1, NULL, &value, NULL, NULL, 0) ? 0 : -EIO;
    err = err ? err : flush(conn, deadline);
    while (err == 0) {
        while (err == 0 && PQisBusy(conn)) { /* else PQgetResult would block */
            int ready = wait_for(conn, THRUM_IO_READ, deadline);
            err = ready < 0 ? ready : PQconsumeInput(conn) ? 0 : -EIO;
        }
        if (err || !(next = PQgetResult(conn))) {
            break;
        }
        PQclear(*out);
        *out = next;
    }
    return err;
}

/* ---- a program: ten connections, each with queries of its own ---- */

enum { CONNECTIONS = 10, QUERIES = 20 };

static int right;

static int ask(PGconn *conn, int n) {
    char text[32];
    PGresult *result;
    snprintf(text, sizeof text, "%d", n);
    int err = query(conn, "select pg_sleep(0.001), $1::int * 2", text, &result, thrum_after_s(30));
    if (err == 0 && PQresultStatus(result) == PGRES_TUPLES_OK) {
        __atomic_fetch_add(&right, atoi(PQgetvalue(result, 0, 1)) == 2 * n, __ATOMIC_RELAXED);
    }
    PQclear(result);
    return err;
}

/* A large parameter comes back: more than fits into the socket at once, in either direction. */
static int ask_much(PGconn *conn) {
    enum { MUCH = 4 << 20 };
    PGresult *result = NULL;
    char *text = malloc(MUCH + 1);
    int err = -ENOMEM;
    if (text) {
        memset(text, 'x', MUCH);
        text[MUCH] = '\0';
        err = query(conn, "select $1::text", text, &result, thrum_after_s(30));
        err = err ? err : strcmp(PQgetvalue(result, 0, 0), text) != 0;
        PQclear(result);
        free(text);
    }
    return err;
}

/* A query that takes too long is given up. */
static int ask_in_vain(PGconn *conn) {
    PGresult *result;
    int err = query(conn, "select pg_sleep($1::int)", "1000", &result, thrum_after_ms(20));
    PQclear(result);
    return err != -ETIMEDOUT;
}

static int client(void *arg) {
    PGconn *conn;
    int err = connect_to(&conn, arg, thrum_after_s(30));
    if (err && conn) {
        fprintf(stderr, "with_libpq: %s%s\n", PQerrorMessage(conn), thrum_strerror(err));
    }
    for (int i = 0; i < QUERIES && err == 0; i++) {
        err = ask(conn, i);
    }
    err = err ? err : ask_much(conn);
    err = err ? err : ask_in_vain(conn);
    PQfinish(conn); /* which closes the descriptor: nobody has borrowed it */
    return err;
}

static int run(void *arg) {
    thrum_scope scope;
    int err = thrum_scope_open(&scope, THRUM_FOREVER);
    for (int i = 0; i < CONNECTIONS && err == 0; i++) {
        err = thrum_scope_go(&scope, client, arg);
    }
    int joined = thrum_scope_join(&scope);
    return err ? err : joined;
}

int main(int argc, char **argv) {
    char none[] = "";
    thrum_config config;
    thrum_config_init(&config);
    int err = thrum_run(&config, run, argc > 1 ? argv[1] : none);
    printf("%d of %d answers right\n", right, CONNECTIONS * QUERIES);
    return err == 0 && right == CONNECTIONS * QUERIES ? 0 : 1;
}
