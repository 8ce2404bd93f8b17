/*
 * message.c: sends, receives and probes. The first look begins the operation, so that it is one
 * call on MPI's thread where that is another.
 */
#include "mpi/engine.h"
#include "mpi/name.h"

#define MISSES 16u   /* so many looks at receives that had just begun found nothing: */
#define LOOK_EACH 4u /* one of so many is looked at, then */

static _Thread_local unsigned misses;

/* One message, or one each way. The record is its beginning. */
typedef struct message {
    th_mpi_record record;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const void *out;
    void *in;
    int out_count, in_count;
    MPI_Datatype out_type, in_type;
    int to, from;
    int out_tag, in_tag;
    MPI_Comm comm;
    int64_t bytes; /* for its name; -1: not known */
    bool has_time; /* a receive without a deadline */
} message;

/* ---- names ---- */

/* " from 3, tag 7" */
static void name_peer(th_mpi_record *record, const char *way, int rank, int tag) {
    th_mpi_name_add(record, way);
    if (rank == MPI_ANY_SOURCE) {
        th_mpi_name_add(record, "any rank");
    } else {
        th_mpi_name_number(record, rank);
    }
    if (tag == MPI_ANY_TAG) {
        th_mpi_name_add(record, ", any tag");
    } else {
        th_mpi_name_add(record, ", tag ");
        th_mpi_name_number(record, tag);
    }
}

static void name_bytes(message *m) {
    if (m->bytes >= 0) {
        th_mpi_name_add(&m->record, ", ");
        th_mpi_name_number(&m->record, m->bytes);
        th_mpi_name_add(&m->record, " bytes");
    }
}

static void name_send(th_mpi_record *record) {
    message *m = (message *)record;
    th_mpi_name(record, "MPI send");
    name_peer(record, " to ", m->to, m->out_tag);
    name_bytes(m);
}

static void name_recv(th_mpi_record *record) {
    message *m = (message *)record;
    th_mpi_name(record, "MPI receive");
    name_peer(record, " from ", m->from, m->in_tag);
    name_bytes(m);
}

static void name_sendrecv(th_mpi_record *record) {
    message *m = (message *)record;
    th_mpi_name(record, "MPI send");
    name_peer(record, " to ", m->to, m->out_tag);
    name_peer(record, ", and receive from ", m->from, m->in_tag);
}

static void name_probe(th_mpi_record *record) {
    message *m = (message *)record;
    th_mpi_name(record, "MPI probe");
    name_peer(record, " of ", m->from, m->in_tag);
}

static int64_t bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    return MPI_Type_size(type, &size) == MPI_SUCCESS ? (int64_t)count * size : -1;
}

/* ---- one way ---- */

static int test_begun(message *m) {
    int flag = 0;
    m->record.code = MPI_Test(&m->requests[0], &flag, &m->statuses[0]);
    return flag || m->record.code;
}

/* Tests, and records how many bytes are waited for if that is about to be reported. */
static int test_one(message *m, int count, MPI_Datatype type) {
    const int is_over = test_begun(m);
    if (!is_over && m->record.is_last) {
        m->bytes = bytes_of(count, type);
    }
    return is_over;
}

static int look_send(void *arg) {
    message *m = arg;
    if (!m->record.is_begun) {
        m->record.code =
            MPI_Isend(m->out, m->out_count, m->out_type, m->to, m->out_tag, m->comm, m->requests);
        if (m->record.code) {
            return 1;
        }
        m->record.is_begun = true;
    }
    return test_one(m, m->out_count, m->out_type);
}

/*
 * Whether a receive that has just begun is looked at before other tasks have their turn. Its
 * message may be there already; but where those of the last ones were not, that would be a call of
 * MPI's for nothing. One of several is looked at all the same, since a turn may be long. Each
 * thread counts for itself; not inlined, as call_here in calls.c.
 */
static __attribute__((noinline, no_sanitize("thread"))) bool looks_at_once(void) {
    return misses < MISSES || misses++ % LOOK_EACH == 0;
}

static __attribute__((noinline, no_sanitize("thread"))) void count_look(bool was_there) {
    misses = was_there ? 0 : misses + (misses < MISSES);
}

/* The last look is one, since a queued wait's has to be; MPI has no message from nobody. */
static int look_at_new(message *m) {
    const bool may_wait = m->has_time && !m->record.is_last && m->from != MPI_PROC_NULL;
    if (may_wait && !looks_at_once()) {
        return 0;
    }
    const int is_over = test_one(m, m->in_count, m->in_type);
    if (may_wait) {
        count_look(is_over);
    }
    return is_over;
}

static int look_recv(void *arg) {
    message *m = arg;
    if (!m->record.is_begun) {
        m->record.code =
            MPI_Irecv(m->in, m->in_count, m->in_type, m->from, m->in_tag, m->comm, m->requests);
        if (m->record.code) {
            return 1;
        }
        m->record.is_begun = true;
        return look_at_new(m);
    }
    return test_one(m, m->in_count, m->in_type);
}

static void begin(message *m, int (*look)(void *), void (*name)(th_mpi_record *), int n, int peer,
                  int tag) {
    m->record.look = look;
    m->record.name = name;
    m->record.n = n;
    m->record.requests = m->requests;
    m->record.statuses = m->statuses;
    m->record.has_rows = true;
    m->record.is_alone = n == 1;
    m->record.is_message = true;
    m->record.peer = peer == MPI_ANY_SOURCE ? -1 : peer;
    m->record.tag = tag == MPI_ANY_TAG ? -1 : tag;
    m->bytes = -1;
    m->requests[0] = m->requests[1] = MPI_REQUEST_NULL;
}

int thrum_mpi_send(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm) {
    message m = {.out = buffer, .out_count = count, .out_type = type, .to = to, .out_tag = tag};
    m.comm = comm;
    begin(&m, look_send, name_send, 1, to, tag);
    return th_mpi_await_end(&m.record);
}

static int cancel(void *arg) {
    return MPI_Cancel(arg);
}

/* Nothing is begun any longer: only the test of the request is left. */
static int look_begun(void *arg) {
    return test_begun(arg);
}

/* MPI's codes count as no: then it was received, or has failed. */
static int was_cancelled(void *arg) {
    int is = 0;
    return MPI_Test_cancelled(arg, &is) == MPI_SUCCESS && is;
}

/*
 * Takes a receive back that has not ended in time. MPI lets it end at once, unless its message has
 * begun to arrive: returns whether that was so, and it has been received.
 */
static bool take_back(message *m) {
    (void)th_mpi_do(cancel, &m->requests[0]);
    m->record.look = look_begun;
    m->record.code = 0;
    if (th_mpi_await_end(&m->record) < 0) {
        return false; /* MPI is finalized */
    }
    return !th_mpi_do(was_cancelled, &m->statuses[0]);
}

int thrum_mpi_recv_until(void *buffer, int count, MPI_Datatype type, int from, int tag,
                         MPI_Comm comm, MPI_Status *status, thrum_time deadline) {
    message m = {.in = buffer, .in_count = count, .in_type = type, .from = from, .in_tag = tag};
    m.comm = comm;
    m.has_time = deadline == THRUM_FOREVER;
    begin(&m, look_recv, name_recv, 1, from, tag);
    int code = th_mpi_await(&m.record, deadline);
    if (code < 0 && m.record.is_begun && take_back(&m)) {
        code = m.record.code;
    }
    if (code >= 0 && status != MPI_STATUS_IGNORE) {
        *status = m.statuses[0];
    }
    return code;
}

int thrum_mpi_recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                   MPI_Status *status) {
    return thrum_mpi_recv_until(buffer, count, type, from, tag, comm, status, THRUM_FOREVER);
}

/* ---- both ways ---- */

/* The receive is the first request, since it can be cancelled. */
static int look_sendrecv(void *arg) {
    message *m = arg;
    int flag = 0;
    if (!m->record.is_begun) {
        m->record.code =
            MPI_Irecv(m->in, m->in_count, m->in_type, m->from, m->in_tag, m->comm, &m->requests[0]);
        if (!m->record.code) {
            m->record.is_begun = true;
            m->record.code = MPI_Isend(m->out, m->out_count, m->out_type, m->to, m->out_tag,
                                       m->comm, &m->requests[1]);
        }
        if (m->record.code) {
            return 1;
        }
    }
    m->record.code = th_mpi_code(MPI_Testall(2, m->requests, &flag, m->statuses));
    return flag || m->record.code;
}

/* One has failed. Pending operations end before their buffers and this stack go. */
static void end_rest(message *m) {
    if (m->requests[0] != MPI_REQUEST_NULL) {
        (void)take_back(m);
    }
    if (m->requests[1] != MPI_REQUEST_NULL) {
        m->requests[0] = m->requests[1];
        m->record.look = look_begun;
        m->record.name = name_send;
        m->record.code = 0;
        (void)th_mpi_await_end(&m->record);
    }
}

static int wait_for_both(message *m) {
    int code = th_mpi_await_end(&m->record);
    if (code == MPI_ERR_IN_STATUS) {
        const int in = m->statuses[0].MPI_ERROR;
        code = in && in != MPI_ERR_PENDING ? in : m->statuses[1].MPI_ERROR;
    }
    if (code > 0) {
        m->record.n = 1;
        m->record.is_alone = true;
        end_rest(m);
    }
    return code;
}

int thrum_mpi_sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                       void *in, int in_count, MPI_Datatype in_type, int from, int in_tag,
                       MPI_Comm comm, MPI_Status *status) {
    message m = {.out = out, .in = in, .out_count = out_count, .in_count = in_count};
    m.out_type = out_type;
    m.in_type = in_type;
    m.to = to;
    m.from = from;
    m.out_tag = out_tag;
    m.in_tag = in_tag;
    m.comm = comm;
    begin(&m, look_sendrecv, name_sendrecv, 2, from, in_tag); /* the receive's */
    const int code = wait_for_both(&m);
    if (code >= 0 && status != MPI_STATUS_IGNORE) {
        *status = m.statuses[0];
    }
    return code;
}

/* ---- probes ---- */

static int look_probe(void *arg) {
    message *m = arg;
    int flag = 0;
    m->record.code =
        m->record.message
            ? MPI_Improbe(m->from, m->in_tag, m->comm, &flag, m->record.message, &m->statuses[0])
            : MPI_Iprobe(m->from, m->in_tag, m->comm, &flag, &m->statuses[0]);
    return flag || m->record.code;
}

static int probe(int from, int tag, MPI_Comm comm, MPI_Message *taken, MPI_Status *status,
                 thrum_time deadline) {
    message m = {.from = from, .in_tag = tag, .comm = comm};
    begin(&m, look_probe, name_probe, 0, from, tag);
    m.record.has_rows = false;
    m.record.message = taken;
    const int code = th_mpi_await(&m.record, deadline);
    if (!code && status != MPI_STATUS_IGNORE) {
        *status = m.statuses[0];
    }
    return code;
}

int thrum_mpi_probe_until(int from, int tag, MPI_Comm comm, MPI_Status *status,
                          thrum_time deadline) {
    return probe(from, tag, comm, NULL, status, deadline);
}

int thrum_mpi_probe(int from, int tag, MPI_Comm comm, MPI_Status *status) {
    return probe(from, tag, comm, NULL, status, THRUM_FOREVER);
}

int thrum_mpi_mprobe_until(int from, int tag, MPI_Comm comm, MPI_Message *taken, MPI_Status *status,
                           thrum_time deadline) {
    return taken ? probe(from, tag, comm, taken, status, deadline) : -EINVAL;
}

int thrum_mpi_mprobe(int from, int tag, MPI_Comm comm, MPI_Message *taken, MPI_Status *status) {
    return thrum_mpi_mprobe_until(from, tag, comm, taken, status, THRUM_FOREVER);
}
