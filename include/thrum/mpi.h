/*
 * thrum/mpi.h: waiting for MPI in tasks. It is no part of <thrum.h>, and a library of its own,
 * libthrum-mpi, built for one MPI (Open MPI, MPICH; pkg-config: thrum-mpi; CMake:
 * find_package(thrum COMPONENTS mpi), thrum::mpi).
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
 *     thrum_sched_start(&sched, NULL);
 *     thrum_mpi_start(sched);
 *     ...                                       in any task:
 *     err = thrum_mpi_recv(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
 *     ...
 *     thrum_mpi_stop();
 *     thrum_sched_stop(sched);
 *     MPI_Finalize();
 *
 * A task that waits gives its worker to others. One task of the scheduler, a poll source
 * (thrum/poll.h), asks MPI for all that wait: at each turn while things happen, then with pauses of
 * up to 1 ms, of a sixteenth of the time for which nothing has happened when that is 16 ms, up to
 * 32 ms (with several workers, and at FUNNELED, an eighth, up to 64 ms), and not at all while
 * nobody waits.
 *
 * **Levels.** What MPI_Init_thread has granted is kept to. MULTIPLE: each call is made where it is.
 * SERIALIZED: one at a time. FUNNELED: on the thread that MPI was initialized by, to which calls
 * of others are handed. The program's own calls of MPI keep to it when they are made in
 * thrum_mpi_call.
 *
 * **Results.** All calls return 0, or a negative code of thrum's, or a positive one of MPI's
 * (MPI_Error_string has words for it), where the communicator's error handler lets MPI return; in
 * MPICH that of MPI_COMM_WORLD has to, whatever the communicator, since its MPI_Test calls no other
 * (4.0.2). No call changes errno.
 *
 * **What ends early.** Deadlines are absolute. Waits for requests, probes and receives end at a
 * deadline, or when their task is cancelled; if the operation ends at the same moment, that counts.
 * A wait that ends so leaves its requests with the caller, under way: their buffers are MPI's until
 * they have been waited for. A receive that ends so was cancelled in MPI, and its buffer is free
 * (at MULTIPLE Open MPI 4.1.4 may lose a message that comes just then: docs/guide/mpi.md). MPI
 * cannot take back sends and collectives, so thrum_mpi_send, thrum_mpi_sendrecv and the collectives
 * return only when they are over, also in a cancelled task: whoever wants to give up begins them by
 * MPI_Isend, MPI_Ibarrier, ..., and waits with a deadline.
 *
 * **Who may call.** Any task of any scheduler, and plain threads; each may suspend, or blocks its
 * thread. A request belongs to one wait at a time. Collectives of one communicator are begun in
 * the same order on all ranks, so not by tasks that run beside each other. In the child of a fork
 * that came after a thrum_mpi_start all calls say -ESHUTDOWN (-EINVAL to a wrong argument), and
 * thrum_mpi_workers 1: MPI is the parent's.
 */
#ifndef THRUM_MPI_H
#define THRUM_MPI_H

/* Open MPI's classes of C++, which are no part of MPI any more, are not needed. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* ---- the beginning and the end ---- */

/*
 * Has tasks of the scheduler (NULL: the caller's) ask MPI from now on, for all of the process. Any
 * thread may call it while the scheduler is not being stopped; at MPI_THREAD_FUNNELED it has to be
 * MPI's own (MPI_Is_thread_main), and the caller a task of the scheduler on a worker, where calls
 * are made from then on, or a bound thread of the scheduler's, which makes them whenever it waits
 * for something. It never suspends. Errors: -EINVAL without a scheduler; -EALREADY when it has been
 * started; -EPERM when MPI is not initialized by MPI_Init or MPI_Init_thread (MPI_Session_init of
 * MPI 4 alone does not count), is finalized, has granted less than FUNNELED, or at FUNNELED for a
 * caller elsewhere; -ENOMEM, also when MPI refuses an attribute of MPI_COMM_SELF; at
 * FUNNELED -EAGAIN when all keys are taken (thrum_key_create).
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_start(thrum_sched *sched);

/*
 * Ends that, before the scheduler's stop (at FUNNELED one that comes before lasts until this call,
 * or past its deadline) and before MPI_Finalize; MPI goes on. No other call of this header may be
 * under way or come until thrum_mpi_start has been called anew. Any thread may call it; at FUNNELED
 * the thread of MPI must be free for calls, or call it itself. It may suspend. Errors: -ESRCH when
 * it has not been started; -EBUSY, with nothing changed, while somebody waits. It must not be
 * called in a function under thrum_mpi_call.
 *
 * An MPI_Finalize while somebody waits here stops the program with a line that says so.
 */
THRUM_API int thrum_mpi_stop(void);

/*
 * Calls fn(arg), which calls MPI, in the way of the level: at SERIALIZED while nobody else here
 * calls MPI, at FUNNELED on MPI's thread. What it begins is waited for elsewhere: it must call
 * nothing that waits, neither of thrum nor of MPI (a wait of this header that MPI's thread would
 * make for another stops the program with a line). Any thread may call it. It may suspend, and is
 * not cancelled. It returns what fn does, or -EINVAL for NULL, -ESRCH when nothing has been
 * started, -ESHUTDOWN after MPI_Finalize. When fn forks the process and returns in the child, too:
 * the call returns there where it was made on the caller's thread; where MPI's thread made it for
 * another the child ends by _exit, with what fn returned.
 */
THRUM_API int thrum_mpi_call(int (*fn)(void *arg), void *arg);

/*
 * Returns how many workers each rank should have, so that the ranks of a machine together have no
 * more workers than it has processors, unless there are more ranks than processors. Each processor
 * in the calling thread's affinity mask counts as one divided by the number of ranks of this
 * machine that have it in theirs. If a CPU quota grants fewer processors than the mask has
 * (thrum_cpus_granted), the sum is reduced in the same proportion. The result is rounded down, and
 * at least 1. It is a collective call of all ranks of MPI_COMM_WORLD. The thread that initialized
 * MPI may call it, before thrum_mpi_start. It never suspends, but blocks the thread. It cannot
 * fail: the result is 1 if MPI, or the system of any rank of this machine, gives no answer, and
 * before MPI_Init and after MPI_Finalize.
 */
THRUM_API unsigned thrum_mpi_workers(void);

/* ---- waiting for requests ---- */

/*
 * Waits for a request, as MPI_Wait does; *status may be MPI_STATUS_IGNORE. The request becomes
 * MPI_REQUEST_NULL, or inactive if it is persistent. With MPI_REQUEST_NULL it returns at once. Any
 * thread may call them. They may suspend. Errors, with the request still the caller's: -EINVAL for
 * NULL, -ESRCH when nothing has been started, -ETIMEDOUT past the deadline, -ECANCELED, -ENOMEM,
 * -ESHUTDOWN for an external thread while the scheduler stops, and after MPI_Finalize. A code of
 * MPI's: the operation has failed, and the request is as MPI leaves it.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_wait(MPI_Request *request, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_wait_until(MPI_Request *request, MPI_Status *status,
                                                   thrum_time deadline);

/*
 * Waits for one of n requests, as MPI_Waitany does: *index is its number, or MPI_UNDEFINED when
 * none of them was active. Any thread may call them. They may suspend. Errors as those of
 * thrum_mpi_wait, with all requests still the caller's.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitany(int n, MPI_Request requests[], int *index,
                                                MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitany_until(int n, MPI_Request requests[], int *index,
                                                      MPI_Status *status, thrum_time deadline);

/*
 * Waits for at least one of n requests, as MPI_Waitsome does: *count of them are over, or it is
 * MPI_UNDEFINED when none was active; their numbers and statuses (MPI_STATUSES_IGNORE) stand in the
 * arrays, which have n places. Any thread may call them. They may suspend. Errors as those of
 * thrum_mpi_wait, with all requests still the caller's; and MPI_ERR_IN_STATUS.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitsome(int n, MPI_Request requests[], int *count,
                                                 int indices[], MPI_Status *statuses);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitsome_until(int n, MPI_Request requests[], int *count,
                                                       int indices[], MPI_Status *statuses,
                                                       thrum_time deadline);

/*
 * Waits for n requests, as MPI_Waitall does; MPI_STATUSES_IGNORE may stand for the statuses. Any
 * thread may call them. They may suspend. Errors as those of thrum_mpi_wait; of the requests those
 * that are over by then are MPI_REQUEST_NULL (or inactive) and have their status, the others are
 * still the caller's. MPI_ERR_IN_STATUS: one has failed, and the wait has not gone on; MPI_ERROR of
 * the statuses says which, and MPI_ERR_PENDING of those that are under way.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitall(int n, MPI_Request requests[],
                                                MPI_Status *statuses);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitall_until(int n, MPI_Request requests[],
                                                      MPI_Status *statuses, thrum_time deadline);

/* ---- messages ---- */

/*
 * Sends, as MPI_Send does (by MPI_Isend). Any thread may call it. It may suspend, and ends only
 * when the buffer is free again. Errors: -ESRCH when nothing has been started, -ESHUTDOWN after
 * MPI_Finalize, with nothing sent; MPI's.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_send(const void *buffer, int count, MPI_Datatype type,
                                             int to, int tag, MPI_Comm comm);

/*
 * Receives, as MPI_Recv does (by MPI_Irecv). Any thread may call them. They may suspend. Errors,
 * with nothing received: -ESRCH when nothing has been started, -ETIMEDOUT past the deadline,
 * -ECANCELED, -ENOMEM, -ESHUTDOWN as thrum_mpi_wait; MPI's. A message that has begun to arrive by
 * then is waited for, and received.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_recv(void *buffer, int count, MPI_Datatype type, int from,
                                             int tag, MPI_Comm comm, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_recv_until(void *buffer, int count, MPI_Datatype type,
                                                   int from, int tag, MPI_Comm comm,
                                                   MPI_Status *status, thrum_time deadline);

/*
 * Sends and receives at once, as MPI_Sendrecv does. Any thread may call it. It may suspend, and
 * ends only when both are over, or one has failed. Errors as those of thrum_mpi_send. When one
 * fails and the other can be cancelled, it is; else it is waited for.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_sendrecv(const void *out, int out_count,
                                                 MPI_Datatype out_type, int to, int out_tag,
                                                 void *in, int in_count, MPI_Datatype in_type,
                                                 int from, int in_tag, MPI_Comm comm,
                                                 MPI_Status *status);

/*
 * Waits until a message is there to be received, as MPI_Probe does. Another task may receive it
 * first: where several receive, use thrum_mpi_mprobe. Any thread may call them. They may suspend.
 * Errors: -ESRCH when nothing has been started, -ETIMEDOUT past the deadline, -ECANCELED, -ENOMEM,
 * -ESHUTDOWN as thrum_mpi_wait; MPI's.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_probe(int from, int tag, MPI_Comm comm, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_probe_until(int from, int tag, MPI_Comm comm,
                                                    MPI_Status *status, thrum_time deadline);

/*
 * Does the same and takes the message, as MPI_Mprobe does: it is the caller's alone, for
 * MPI_Imrecv. Any thread may call them. They may suspend. Errors, with no message taken: those of
 * thrum_mpi_probe, and -EINVAL for NULL.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_mprobe(int from, int tag, MPI_Comm comm,
                                               MPI_Message *message, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_mprobe_until(int from, int tag, MPI_Comm comm,
                                                     MPI_Message *message, MPI_Status *status,
                                                     thrum_time deadline);

/* ---- collectives ---- */

/*
 * What MPI_Barrier, MPI_Bcast, ... do, by their nonblocking forms. Those that are not here are
 * begun by MPI_I... in thrum_mpi_call, and waited for. Any thread may call them. They may suspend,
 * and end only when they are over. Errors: -ESRCH when nothing has been started, -ESHUTDOWN after
 * MPI_Finalize, with nothing begun; MPI's.
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_barrier(MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_bcast(void *buffer, int count, MPI_Datatype type, int root,
                                              MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_reduce(const void *from, void *to, int count,
                                               MPI_Datatype type, MPI_Op op, int root,
                                               MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_allreduce(const void *from, void *to, int count,
                                                  MPI_Datatype type, MPI_Op op, MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_gather(const void *from, int from_count,
                                               MPI_Datatype from_type, void *to, int to_count,
                                               MPI_Datatype to_type, int root, MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_scatter(const void *from, int from_count,
                                                MPI_Datatype from_type, void *to, int to_count,
                                                MPI_Datatype to_type, int root, MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_allgather(const void *from, int from_count,
                                                  MPI_Datatype from_type, void *to, int to_count,
                                                  MPI_Datatype to_type, MPI_Comm comm);
THRUM_API THRUM_NODISCARD int thrum_mpi_alltoall(const void *from, int from_count,
                                                 MPI_Datatype from_type, void *to, int to_count,
                                                 MPI_Datatype to_type, MPI_Comm comm);

/* ---- figures ---- */

/* Since thrum_mpi_start. */
typedef struct thrum_mpi_metrics {
    size_t size;          /* sizeof(thrum_mpi_metrics); set by THRUM_MPI_METRICS_INIT */
    uint64_t waits;       /* waits that had to be queued; those that were over at once are none */
    uint64_t given_up;    /* of them ended by a deadline or a cancel */
    uint64_t asked;       /* how often MPI was asked for all that wait */
    uint64_t calls;       /* handed to MPI's thread, at FUNNELED */
    uint64_t pending;     /* waits that are queued now */
    uint64_t pending_max; /* the most at a time */
} thrum_mpi_metrics;

/* clang-format off */
/* No figures, for thrum_mpi_metrics_read. */
#define THRUM_MPI_METRICS_INIT { sizeof(thrum_mpi_metrics), 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/*
 * Reads the figures. Any thread may call it. It may suspend, for a moment. Errors: -EINVAL for NULL
 * or a size that is not known, -ESRCH when nothing has been started.
 */
THRUM_API int thrum_mpi_metrics_read(thrum_mpi_metrics *out);

THRUM_END_DECLS

#endif
