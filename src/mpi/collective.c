/*
 * collective.c: collectives, by their nonblocking forms. None can be cancelled.
 */
#include "mpi/engine.h"
#include "mpi/name.h"

/* One collective. The record is its beginning. */
typedef struct collective {
    th_mpi_record record;
    MPI_Request request;
    int (*begin)(struct collective *c);
    const char *what;
    const void *from;
    void *to;
    int from_count, to_count;
    MPI_Datatype from_type, to_type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
} collective;

static int look(void *arg) {
    collective *c = arg;
    int flag = 0;
    if (!c->record.is_begun) {
        c->record.code = c->begin(c);
        if (c->record.code) {
            return 1;
        }
        c->record.is_begun = true;
    }
    c->record.code = MPI_Test(&c->request, &flag, MPI_STATUS_IGNORE);
    return flag || c->record.code;
}

static void name(th_mpi_record *record) {
    th_mpi_name(record, ((const collective *)record)->what);
}

static int run(collective *c, int (*begin)(collective *), const char *what) {
    c->record.look = look;
    c->record.name = name;
    c->record.n = 1;
    c->record.requests = &c->request;
    c->record.statuses = MPI_STATUSES_IGNORE;
    c->record.has_rows = c->record.is_alone = true;
    c->begin = begin;
    c->what = what;
    return th_mpi_await_end(&c->record);
}

static int barrier(collective *c) {
    return MPI_Ibarrier(c->comm, &c->request);
}

int thrum_mpi_barrier(MPI_Comm comm) {
    collective c = {.comm = comm};
    return run(&c, barrier, "MPI barrier");
}

static int bcast(collective *c) {
    return MPI_Ibcast(c->to, c->to_count, c->to_type, c->root, c->comm, &c->request);
}

int thrum_mpi_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    collective c = {.to = buffer, .to_count = count, .to_type = type, .root = root, .comm = comm};
    return run(&c, bcast, "MPI broadcast");
}

static int reduce(collective *c) {
    return MPI_Ireduce(c->from, c->to, c->to_count, c->to_type, c->op, c->root, c->comm,
                       &c->request);
}

int thrum_mpi_reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                     MPI_Comm comm) {
    collective c = {.from = from, .to = to, .to_count = count, .to_type = type, .op = op};
    c.root = root;
    c.comm = comm;
    return run(&c, reduce, "MPI reduction");
}

static int allreduce(collective *c) {
    return MPI_Iallreduce(c->from, c->to, c->to_count, c->to_type, c->op, c->comm, &c->request);
}

int thrum_mpi_allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm) {
    collective c = {.from = from, .to = to, .to_count = count, .to_type = type, .op = op};
    c.comm = comm;
    return run(&c, allreduce, "MPI reduction to all");
}

static collective exchange(const void *from, int from_count, MPI_Datatype from_type, void *to,
                           int to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {
    collective c = {.from = from, .from_count = from_count, .from_type = from_type, .to = to};
    c.to_count = to_count;
    c.to_type = to_type;
    c.root = root;
    c.comm = comm;
    return c;
}

static int gather(collective *c) {
    return MPI_Igather(c->from, c->from_count, c->from_type, c->to, c->to_count, c->to_type,
                       c->root, c->comm, &c->request);
}

int thrum_mpi_gather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                     int to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {
    collective c = exchange(from, from_count, from_type, to, to_count, to_type, root, comm);
    return run(&c, gather, "MPI gather");
}

static int scatter(collective *c) {
    return MPI_Iscatter(c->from, c->from_count, c->from_type, c->to, c->to_count, c->to_type,
                        c->root, c->comm, &c->request);
}

int thrum_mpi_scatter(const void *from, int from_count, MPI_Datatype from_type, void *to,
                      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {
    collective c = exchange(from, from_count, from_type, to, to_count, to_type, root, comm);
    return run(&c, scatter, "MPI scatter");
}

static int allgather(collective *c) {
    return MPI_Iallgather(c->from, c->from_count, c->from_type, c->to, c->to_count, c->to_type,
                          c->comm, &c->request);
}

int thrum_mpi_allgather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                        int to_count, MPI_Datatype to_type, MPI_Comm comm) {
    collective c = exchange(from, from_count, from_type, to, to_count, to_type, 0, comm);
    return run(&c, allgather, "MPI gather to all");
}

static int alltoall(collective *c) {
    return MPI_Ialltoall(c->from, c->from_count, c->from_type, c->to, c->to_count, c->to_type,
                         c->comm, &c->request);
}

int thrum_mpi_alltoall(const void *from, int from_count, MPI_Datatype from_type, void *to,
                       int to_count, MPI_Datatype to_type, MPI_Comm comm) {
    collective c = exchange(from, from_count, from_type, to, to_count, to_type, 0, comm);
    return run(&c, alltoall, "MPI exchange of all with all");
}
