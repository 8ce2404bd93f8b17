/*
 * sweep.c: the records under way, and asking MPI about them.
 */
#include "mpi/engine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_CAPACITY 64

int th_mpi_code(int code) {
    int class = code;
    return code && MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS
               ? MPI_ERR_IN_STATUS
               : code;
}

/* ---- the table ---- */

void th_mpi_table_free(th_mpi_table *table) {
    if (table) {
        free(table->requests);
        free(table->statuses);
        free(table->indices);
        free(table->rows);
        free(table);
    }
}

/* Not inlined, for errno, as call_here in calls.c. */
static __attribute__((noinline)) th_mpi_table *table_new(size_t capacity) {
    const int before = th_mpi_errno();
    th_mpi_table *table = capacity <= INT_MAX / 2 ? calloc(1, sizeof *table) : NULL;
    if (!table) {
        th_mpi_set_errno(before);
        return NULL;
    }
    table->capacity = (int)capacity;
    table->requests = malloc(capacity * sizeof *table->requests);
    table->statuses = malloc(capacity * sizeof *table->statuses);
    table->indices = malloc(capacity * sizeof *table->indices);
    table->rows = malloc(capacity * sizeof *table->rows);
    if (!table->requests || !table->statuses || !table->indices || !table->rows) {
        th_mpi_table_free(table);
        th_mpi_set_errno(before);
        return NULL;
    }
    return table;
}

/* With the gate: has room for so many rows more, which no sweep can lack then. */
static int reserve(size_t n) {
    const size_t needed = th_mpi.reserved + n;
    if (needed > th_mpi.capacity) {
        size_t capacity = th_mpi.capacity ? 2 * th_mpi.capacity : FIRST_CAPACITY;
        capacity = capacity < needed ? needed : capacity;
        th_mpi_table *larger = table_new(capacity);
        if (!larger) {
            return -ENOMEM;
        }
        th_mpi_table_free(th_mpi.larger);
        th_mpi.larger = larger;
        th_mpi.capacity = capacity;
    }
    th_mpi.reserved = needed;
    return 0;
}

static void add_row(th_mpi_record *record, int place) {
    th_mpi_table *table = th_mpi.table;
    const int at = table->n++;
    table->requests[at] = record->requests[place];
    table->rows[at] = (th_mpi_row){record, place};
    record->left++;
}

/* Closes the gaps that rows without an owner are. */
static void compact(th_mpi_table *table) {
    int to = 0;
    for (int from = 0; from < table->n; from++) {
        if (table->rows[from].owner) {
            table->requests[to] = table->requests[from];
            table->rows[to++] = table->rows[from];
        }
    }
    table->n = to;
}

static void drop_rows(const th_mpi_record *record) {
    th_mpi_table *table = th_mpi.table;
    for (int i = 0; i < table->n; i++) {
        if (table->rows[i].owner == record) {
            table->rows[i].owner = NULL;
        }
    }
}

/* ---- coming and going ---- */

int th_mpi_enter(th_mpi_record *record) {
    record->name(record);
    if (th_mpi_is_serving()) {
        char does[TH_MPI_WHAT + sizeof "waits for "] = "waits for ";
        th_mpi_refuse(strcat(does, record->what));
    }
    int code = thrum_source_begin(th_mpi.source);
    if (code) {
        return code;
    }
    record->next = NULL;
    thrum_mutex_lock(&th_mpi.gate);
    code = record->has_rows ? reserve((size_t)record->n) : 0;
    if (!code) {
        thrum_mpi_metrics *metrics = &th_mpi.metrics;
        *th_mpi.incoming_last = record;
        th_mpi.incoming_last = &record->next;
        record->newer = NULL;
        record->older = th_mpi.waiting;
        if (record->older) {
            record->older->newer = record;
        }
        th_mpi.waiting = record;
        th_mpi.moves++;
        metrics->waits++;
        metrics->pending++;
        if (metrics->pending > metrics->pending_max) {
            metrics->pending_max = metrics->pending;
        }
    }
    thrum_mutex_unlock(&th_mpi.gate);
    if (code) {
        thrum_source_end(th_mpi.source);
    } else {
        thrum_event_signal(&th_mpi.moving);
    }
    return code;
}

/* With the gate, in the sweep: records that have come meanwhile are in the table, or looked at. */
static void take_incoming(void) {
    th_mpi_table *larger = th_mpi.larger;
    if (larger) {
        th_mpi_table *table = th_mpi.table;
        if (table) {
            larger->n = table->n;
            memcpy(larger->requests, table->requests, (size_t)table->n * sizeof *table->requests);
            memcpy(larger->rows, table->rows, (size_t)table->n * sizeof *table->rows);
            th_mpi_table_free(table);
        }
        th_mpi.table = larger;
        th_mpi.larger = NULL;
    }
    while (th_mpi.incoming) {
        th_mpi_record *record = th_mpi.incoming;
        th_mpi.incoming = record->next;
        record->is_taken = true;
        record->left = 0;
        if (record->has_rows && record->n == 1) { /* its look has found it active */
            add_row(record, 0);
        } else {
            record->next = record->has_rows ? th_mpi.fresh : th_mpi.looked;
            *(record->has_rows ? &th_mpi.fresh : &th_mpi.looked) = record;
        }
    }
    th_mpi.incoming_last = &th_mpi.incoming;
}

static void unlink_from(th_mpi_record **link, const th_mpi_record *record) {
    while (*link && *link != record) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = record->next;
    }
}

/* With the gate. */
static void count_out(const th_mpi_record *record) {
    *(record->newer ? &record->newer->older : &th_mpi.waiting) = record->older;
    if (record->older) {
        record->older->newer = record->newer;
    }
    th_mpi.moves++;
    th_mpi.metrics.pending--;
    th_mpi.reserved -= record->has_rows ? (size_t)record->n : 0;
}

bool th_mpi_leave(th_mpi_record *record) {
    thrum_mutex_lock(&th_mpi.sweeping);
    thrum_mutex_lock(&th_mpi.gate);
    const bool is_over = record->is_over;
    if (!is_over) {
        if (!record->is_taken) {
            unlink_from(&th_mpi.incoming, record);
            th_mpi.incoming_last = &th_mpi.incoming;
            while (*th_mpi.incoming_last) {
                th_mpi.incoming_last = &(*th_mpi.incoming_last)->next;
            }
        } else if (record->has_rows) {
            drop_rows(record);
            compact(th_mpi.table);
        } else {
            unlink_from(&th_mpi.looked, record);
        }
        count_out(record);
        th_mpi.metrics.given_up++;
    }
    thrum_mutex_unlock(&th_mpi.gate);
    thrum_mutex_unlock(&th_mpi.sweeping);
    if (!is_over) {
        thrum_event_signal(&th_mpi.moving);
        thrum_source_end(th_mpi.source);
    }
    return !is_over;
}

uint64_t th_mpi_waiting(char what[TH_MPI_WHAT]) {
    thrum_mutex_lock(&th_mpi.gate);
    const uint64_t pending = th_mpi.metrics.pending;
    memcpy(what, pending ? th_mpi.waiting->what : "", pending ? TH_MPI_WHAT : 1);
    thrum_mutex_unlock(&th_mpi.gate);
    return pending;
}

/* ---- asking ---- */

static void put_over(th_mpi_record *record) {
    record->next = th_mpi.over;
    th_mpi.over = record;
}

/* A request of a record is over: MPI's result goes to the caller. */
static void row_over(const th_mpi_row *row, MPI_Request request, const MPI_Status *status,
                     int error) {
    th_mpi_record *record = row->owner;
    record->requests[row->place] = request;
    if (record->statuses != MPI_STATUSES_IGNORE) {
        record->statuses[row->place] = *status;
        record->statuses[row->place].MPI_ERROR = error;
    }
    record->left--;
    if (error && !record->code) {
        record->code = record->is_alone ? error : MPI_ERR_IN_STATUS;
        th_mpi.has_failed = true;
        put_over(record);
    } else if (!record->left && !record->code) {
        put_over(record);
    }
}

static void table_row_over(int at, const MPI_Status *status, int error) {
    th_mpi_table *table = th_mpi.table;
    row_over(&table->rows[at], table->requests[at], status, error);
    table->rows[at].owner = NULL;
}

/* A failure ends a wait for several, as in MPI_Waitall: the others are still the caller's. */
static void drop_failed(th_mpi_table *table) {
    for (int i = 0; i < table->n; i++) {
        th_mpi_row *row = &table->rows[i];
        if (row->owner && row->owner->code) {
            if (row->owner->statuses != MPI_STATUSES_IGNORE) {
                row->owner->statuses[row->place].MPI_ERROR = MPI_ERR_PENDING;
            }
            row->owner = NULL;
        }
    }
    th_mpi.has_failed = false;
}

/* Each for itself: MPI has refused to look at all of them together. */
static void test_each(th_mpi_table *table) {
    for (int i = 0; i < table->n; i++) {
        int flag = 0;
        MPI_Status status;
        memset(&status, 0, sizeof status);
        const int code = MPI_Test(&table->requests[i], &flag, &status);
        if (flag || code) {
            table_row_over(i, &status, code);
        }
    }
}

static void test_rows(th_mpi_table *table) {
    int count = 0;
    const int code = th_mpi_code(
        MPI_Testsome(table->n, table->requests, &count, table->indices, table->statuses));
    if ((code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) || count == MPI_UNDEFINED) {
        test_each(table); /* none is active any longer: MPI_Test reports that for each */
        count = 1;
    } else {
        for (int i = 0; i < count; i++) {
            const MPI_Status *status = &table->statuses[i];
            table_row_over(table->indices[i], status, code ? status->MPI_ERROR : MPI_SUCCESS);
        }
    }
    const bool has_failed = th_mpi.has_failed; /* perhaps before, in make_rows */
    if (has_failed) {
        drop_failed(table);
    }
    if (count || has_failed) {
        compact(table);
    }
}

/*
 * Makes rows of the active requests of new records. MPI_Testsome would not report an inactive
 * request: MPI_Test reports that it is over.
 */
static void make_rows(void) {
    while (th_mpi.fresh) {
        th_mpi_record *record = th_mpi.fresh;
        th_mpi.fresh = record->next;
        record->left = record->n;
        for (int i = 0; i < record->n; i++) {
            int flag = 0;
            MPI_Status status;
            memset(&status, 0, sizeof status);
            const int code =
                record->code ? MPI_SUCCESS : MPI_Test(&record->requests[i], &flag, &status);
            if (flag || code) {
                const th_mpi_row row = {record, i};
                row_over(&row, record->requests[i], &status, code);
            } else {
                add_row(record, i);
                record->left--; /* counted anew by that */
            }
        }
    }
}

/* The processor time of this thread. */
static thrum_time spent(void) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (thrum_time)now.tv_sec * THRUM_S(1) + now.tv_nsec;
}

/*
 * The calls of a sweep. Their cost is this thread's processor time: elapsed time is not conclusive
 * on a busy machine.
 */
static int ask_mpi(void *arg) {
    const thrum_time begin = th_mpi.is_timed ? spent() : 0;
    (void)arg;
    make_rows();
    if (th_mpi.table && th_mpi.table->n) {
        test_rows(th_mpi.table);
    }
    th_mpi_record **link = &th_mpi.looked;
    while (*link) {
        th_mpi_record *record = *link;
        if (record->look(record)) {
            *link = record->next;
            put_over(record);
        } else {
            link = &record->next;
        }
    }
    th_mpi.took = th_mpi.is_timed ? spent() - begin : 0;
    return 0;
}

/* With `sweeping` still held, so that a leaving caller finds its record signaled. */
static unsigned wake_over(void) {
    unsigned ended = 0;
    thrum_mutex_lock(&th_mpi.gate);
    for (th_mpi_record *record = th_mpi.over; record; record = record->next) {
        record->is_over = true;
        count_out(record);
    }
    thrum_mutex_unlock(&th_mpi.gate);
    while (th_mpi.over) {
        th_mpi_record *record = th_mpi.over;
        th_mpi.over = record->next; /* with the signal it is gone */
        thrum_event_signal(&record->over);
        ended++;
    }
    return ended;
}

unsigned th_mpi_sweep(void) {
    unsigned ended = 0;
    thrum_mutex_lock(&th_mpi.sweeping);
    thrum_mutex_lock(&th_mpi.gate);
    take_incoming();
    th_mpi.metrics.asked++;
    thrum_mutex_unlock(&th_mpi.gate);
    if ((th_mpi.table && th_mpi.table->n) || th_mpi.looked || th_mpi.fresh) {
        (void)th_mpi_do(ask_mpi, NULL);
        ended = th_mpi.over ? wake_over() : 0;
    }
    thrum_mutex_unlock(&th_mpi.sweeping);
    return ended;
}
