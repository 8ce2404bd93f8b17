/*
 * wait.c: waits: a few looks of one's own, then in the queue; for one, any, some and all requests.
 */
#include "mpi/engine.h"
#include "mpi/name.h"

#include <string.h>

/* ---- all waits ---- */

/* A wait that was over after a few looks. A figure: some may be lost. */
static void count_short(void) {
    if (thrum_mutex_try_lock(&th_mpi.gate) == 0) {
        th_mpi.short_waits++;
        thrum_mutex_unlock(&th_mpi.gate);
    }
}

int th_mpi_await(th_mpi_record *record, thrum_time deadline) {
    int code = th_mpi_ready();
    if (code) {
        return code;
    }
    const unsigned looks = th_mpi_looks();
    for (unsigned i = looks; i; i--) {
        record->is_last = i == 1;
        if (th_mpi_do(record->look, record)) {
            if (i < looks) {
                count_short();
            }
            return record->code;
        }
        if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
            return -ETIMEDOUT;
        }
        if (i > 1) {
            thrum_yield();
        }
    }
    thrum_event_init(&record->over, THRUM_EVENT_AUTO, false);
    record->is_over = record->is_taken = false;
    code = th_mpi_enter(record);
    if (code) {
        return code;
    }
    code = record->is_message ? thrum_event_wait_message(&record->over, record->what, record->peer,
                                                         record->tag, deadline)
                              : thrum_event_wait_outside(&record->over, record->what, deadline);
    return code && th_mpi_leave(record) ? code : record->code;
}

int th_mpi_await_end(th_mpi_record *record) {
    thrum_shield_begin();
    int code = th_mpi_await(record, THRUM_FOREVER);
    /* No memory, or a scheduler that stops: it needs neither. */
    while (code < 0 && !th_mpi_ready()) {
        if (th_mpi_do(record->look, record)) {
            code = record->code;
        } else if (thrum_sleep(THRUM_US(50)) != 0) {
            thrum_yield();
        }
    }
    thrum_shield_end();
    return code;
}

/* ---- one ---- */

static int look_one(void *arg) {
    th_mpi_record *record = arg;
    int flag = 0;
    record->code =
        MPI_Test(record->requests, &flag,
                 record->statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : record->statuses);
    return flag || record->code;
}

static void name_one(th_mpi_record *record) {
    th_mpi_name(record, "MPI request");
}

int thrum_mpi_wait_until(MPI_Request *request, MPI_Status *status, thrum_time deadline) {
    th_mpi_record record;
    if (!request) {
        return -EINVAL;
    }
    record = (th_mpi_record){.look = look_one, .name = name_one, .n = 1, .requests = request};
    record.statuses = status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status;
    record.has_rows = record.is_alone = true;
    return th_mpi_await(&record, deadline);
}

int thrum_mpi_wait(MPI_Request *request, MPI_Status *status) {
    return thrum_mpi_wait_until(request, status, THRUM_FOREVER);
}

/* ---- several ---- */

/* Names "MPI: all of 12 requests", and the like. */
static void name_several(th_mpi_record *record, const char *which) {
    th_mpi_name(record, "MPI: ");
    th_mpi_name_add(record, which);
    th_mpi_name_number(record, record->n);
    th_mpi_name_add(record, " requests");
}

static int look_any(void *arg) {
    th_mpi_record *record = arg;
    int flag = 0;
    record->code =
        MPI_Testany(record->n, record->requests, record->index, &flag,
                    record->statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : record->statuses);
    return flag || record->code;
}

static void name_any(th_mpi_record *record) {
    name_several(record, "one of ");
}

int thrum_mpi_waitany_until(int n, MPI_Request requests[], int *index, MPI_Status *status,
                            thrum_time deadline) {
    th_mpi_record record;
    if (n < 0 || (n && !requests) || !index) {
        return -EINVAL;
    }
    record = (th_mpi_record){.look = look_any, .name = name_any, .n = n, .requests = requests};
    record.statuses = status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status;
    record.index = index;
    return th_mpi_await(&record, deadline);
}

int thrum_mpi_waitany(int n, MPI_Request requests[], int *index, MPI_Status *status) {
    return thrum_mpi_waitany_until(n, requests, index, status, THRUM_FOREVER);
}

static int look_some(void *arg) {
    th_mpi_record *record = arg;
    record->code = th_mpi_code(MPI_Testsome(record->n, record->requests, record->index,
                                            record->indices, record->statuses));
    return *record->index || record->code;
}

static void name_some(th_mpi_record *record) {
    name_several(record, "some of ");
}

int thrum_mpi_waitsome_until(int n, MPI_Request requests[], int *count, int indices[],
                             MPI_Status *statuses, thrum_time deadline) {
    th_mpi_record record;
    if (n < 0 || (n && (!requests || !indices)) || !count) {
        return -EINVAL;
    }
    *count = 0;
    record = (th_mpi_record){.look = look_some, .name = name_some, .n = n, .requests = requests};
    record.statuses = statuses;
    record.index = count;
    record.indices = indices;
    return th_mpi_await(&record, deadline);
}

int thrum_mpi_waitsome(int n, MPI_Request requests[], int *count, int indices[],
                       MPI_Status *statuses) {
    return thrum_mpi_waitsome_until(n, requests, count, indices, statuses, THRUM_FOREVER);
}

static int look_all(void *arg) {
    th_mpi_record *record = arg;
    int flag = 0;
    record->code = th_mpi_code(MPI_Testall(record->n, record->requests, &flag, record->statuses));
    return flag || record->code;
}

static void name_all(th_mpi_record *record) {
    name_several(record, "all of ");
}

int thrum_mpi_waitall_until(int n, MPI_Request requests[], MPI_Status *statuses,
                            thrum_time deadline) {
    th_mpi_record record;
    if (n < 0 || (n && !requests)) {
        return -EINVAL;
    }
    record = (th_mpi_record){.look = look_all, .name = name_all, .n = n, .requests = requests};
    record.statuses = statuses;
    record.has_rows = true;
    return th_mpi_await(&record, deadline);
}

int thrum_mpi_waitall(int n, MPI_Request requests[], MPI_Status *statuses) {
    return thrum_mpi_waitall_until(n, requests, statuses, THRUM_FOREVER);
}
