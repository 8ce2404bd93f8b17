/*
 * serve.c: a replica from its start to its end.
 */
#include <stdio.h>
#include <thrum/serve.h>

#include "memory.h"
#include "replica.h"
#include "store.h"

static int serve_clients(const struct replica_options *options) {
    struct options sessions = {.value_max = REQUEST_MAX,
                               .request_max = 2 * REQUEST_MAX,
                               .idle = THRUM_S(300),
                               .patience = THRUM_S(60)};
    thrum_serve_options how = THRUM_SERVE_OPTIONS_INIT;
    char address[THRUM_ADDRESS_TEXT];
    thrum_io listener;
    snprintf(address, sizeof address, "tcp:%s", options->hosts[options->me]);
    int err = thrum_listen(&listener, address, NULL);
    if (err == 0) {
        how.stop_signals = options->stop_signals;
        how.started = options->started;
        err = thrum_serve(listener, session_run, &sessions, &how);
        thrum_io_close(listener);
    }
    return err;
}

int replica_run(void *arg) {
    const struct replica_options *options = arg;
    thrum_scope scope;
    memory_of_keys.max = memory_of_requests.max = SIZE_MAX;
    int err = store_start();
    err = err ? err : replica_open(options);
    err = err ? err : thrum_scope_open(&scope, THRUM_FOREVER);
    if (err == 0) {
        int failed = thrum_scope_go(&scope, replica_exchange, NULL);
        err = failed ? failed : serve_clients(options);
        thrum_scope_cancel(&scope);
        failed = thrum_scope_join(&scope);
        err = err == -ECANCELED ? failed : err; /* an error of the log has ended the server */
        store_end();
    }
    return err;
}
