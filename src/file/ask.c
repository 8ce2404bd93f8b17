/*
 * ask.c: having operations made: by a ring, by a thread, or by the caller itself. See operation.h.
 */
#include <errno.h>

#include "core/state/fiber_state.h"
#include "file/pool.h"
#include "file/ring.h"
#include "io/call.h"

bool th_operation_is_late(thrum_time deadline) {
    return deadline != THRUM_FOREVER && deadline <= thrum_now();
}

/* A plain thread that would wait for ever makes the call itself. */
static bool makes_it_itself(const th_operation *operation, thrum_time deadline) {
    return !operation->asked && deadline == THRUM_FOREVER && !th_fiber_self();
}

static int by_others(th_operation *operation, thrum_time deadline) {
    int code;
    if (!operation->begins || !th_ring_ask(operation, deadline, &code)) {
        code = th_file_pool_ask(operation, deadline);
        th_call_has_waited();
    }
    return code;
}

int64_t th_operation_ask(th_operation *operation, thrum_time deadline) {
    int64_t code = 0;
    if (makes_it_itself(operation, deadline)) {
        th_operation_make(operation);
    } else if (th_operation_is_late(deadline)) {
        code = -ETIMEDOUT;
    } else {
        code = by_others(operation, deadline);
    }
    operation->had = !code;
    return code ? code : operation->result;
}

void th_operation_drop(th_operation *operation) {
    if (operation->asked) {
        th_jobs_drop(&th_file_jobs, &operation->job);
    } else {
        th_operation_free(operation);
    }
}

/* ---- short forms ---- */

static int64_t ask_and_drop(th_operation *operation, thrum_time deadline) {
    const int64_t result = th_operation_ask(operation, deadline);
    th_operation_drop(operation);
    return result;
}

int64_t th_operation_by_path(const th_os_file_request *request, thrum_time deadline) {
    th_operation *operation;
    const int code = th_operation_new(&operation, request, 0, false);
    return code ? code : ask_and_drop(operation, deadline);
}

int64_t th_operation_on(thrum_io io, const th_os_file_request *request, thrum_time deadline) {
    th_operation *operation;
    const int code = th_operation_new_on(&operation, io, request, 0, false);
    return code ? code : ask_and_drop(operation, deadline);
}
