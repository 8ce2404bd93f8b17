/*
 * thrum/mpi.h: waiting for MPI in tasks. It is not in <thrum.h>, but in a separate library,
 * libthrum-mpi. The library is built for one MPI, such as Open MPI or MPICH (pkg-config: thrum-mpi;
 * CMake: find_package(thrum COMPONENTS mpi), thrum::mpi).
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
 * A task that waits leaves its worker to others. One task of the scheduler, a poll source
 * (thrum/poll.h), polls MPI for all waits. It polls continuously while operations end, then with
 * pauses of up to 1 ms. After 16 quiet ms the pauses are a sixteenth of that time, at most 32 ms.
 * With several workers, and at FUNNELED, they are an eighth, at most 64 ms. While nobody waits, it
 * does not poll.
 *
 * **Levels.** The library keeps to the level that MPI_Init_thread has granted. MULTIPLE: each call
 * is made by its caller. SERIALIZED: one call at a time. FUNNELED: calls are handed to the thread
 * that initialized MPI. Calls of MPI by the program keep to it, too, if they are made in
 * thrum_mpi_call.
 *
 * **Results.** All calls return 0, a negative code of thrum, or a positive code of MPI
 * (MPI_Error_string describes it). MPI returns codes only if the communicator's error handler
 * allows it. In MPICH it must be that of MPI_COMM_WORLD, because its MPI_Test calls no other
 * (4.0.2). No call changes errno.
 *
 * **Deadlines and cancels.** Deadlines are absolute. Waits for requests, probes and receives end at
 * a deadline or when their task is cancelled. If the operation ends at the same moment, the call
 * returns its result. A wait that ends early leaves its requests to the caller, under way: their
 * buffers are MPI's until the requests have been waited for. A receive that ends early has been
 * cancelled in MPI, and its buffer is free. (At MULTIPLE Open MPI 4.1.4 may lose a message that
 * comes just then: docs/guide/mpi.md.) MPI cannot cancel sends and collectives. So thrum_mpi_send,
 * thrum_mpi_sendrecv and the collectives return only when they are over, even in a cancelled task.
 * To be able to give up, begin them by MPI_Isend, MPI_Ibarrier and the like, and wait with a
 * deadline.
 *
 * **Callers.** Tasks of all schedulers and plain threads may make the calls; each may suspend its
 * task or block its thread. A request belongs to one wait at a time. Collectives of one
 * communicator are begun in the same order on all ranks, so not by tasks that run at the same time.
 * After thrum_mpi_start MPI is the parent's in the child of a fork: all calls return -ESHUTDOWN
 * (-EINVAL for a wrong argument), and thrum_mpi_workers returns 1.
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
 * Has tasks of a scheduler poll MPI from now on, for the whole process.
 *
 * At MPI_THREAD_FUNNELED the caller must be on MPI's thread (MPI_Is_thread_main). If it is a task
 * of the scheduler, its worker then makes the calls of MPI. If it is a bound thread of the
 * scheduler, it makes them whenever it waits.
 *
 * Parameters:
 *   sched  the scheduler, which is not being stopped; NULL: the caller's
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     there is no scheduler
 *   -EALREADY   it was started already
 *   -EPERM      MPI is not initialized by MPI_Init or MPI_Init_thread, is finalized, or has granted
 *               less than FUNNELED; or at FUNNELED the caller is elsewhere. MPI_Session_init of MPI
 *               4 alone does not count
 *   -ENOMEM     there is no memory, or MPI refuses an attribute of MPI_COMM_SELF
 *   -EAGAIN     at FUNNELED: all keys are taken (thrum_key_create)
 *   -ESHUTDOWN  in the child of a fork
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_sched_start(&sched, NULL);
 *    err = err ? err : thrum_mpi_start(sched);
 * See also: thrum_mpi_stop, thrum_mpi_workers
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_start(thrum_sched *sched);

/*
 * Ends the polling of MPI. It comes before MPI_Finalize and before the stop of the scheduler. At
 * FUNNELED a stop that comes first lasts until this call, or past its deadline.
 *
 * MPI goes on. No other call of this header may be under way, or come before the next
 * thrum_mpi_start. At FUNNELED MPI's thread must be free for calls, or make this one.
 *
 * Returns: 0, or a negative error code; nothing is changed then.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -EBUSY      somebody waits
 *   -ESHUTDOWN  in the child of a fork
 * Context: any thread; may suspend; not cancellable.
 * Ordering: none.
 * Misuse: a call in a function under thrum_mpi_call, at FUNNELED; an MPI_Finalize while somebody
 *   waits.
 * See also: thrum_mpi_start
 */
THRUM_API int thrum_mpi_stop(void);

/*
 * Calls a function that calls MPI, as the level allows. At SERIALIZED no other call of MPI is made
 * here meanwhile; at FUNNELED it runs on MPI's thread.
 *
 * The function must not wait, neither for thrum nor for MPI: operations that it begins are waited
 * for elsewhere. If it forks the process and returns in the child, too, the call returns there if
 * it was made on the caller's thread. If MPI's thread made it for another one, the child ends by
 * _exit with the function's result.
 *
 * Parameters:
 *   fn   the function
 *   arg  its argument
 * Returns: the result of `fn`, or a negative error code.
 * Errors:
 *   -EINVAL     `fn` is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ESHUTDOWN  MPI is finalized, or in the child of a fork
 * Context: any thread; may suspend; not cancellable.
 * Ordering: the writes before the call are visible to `fn`, and the writes of `fn` are visible
 *   after it.
 * Misuse: at FUNNELED a wait of this header in `fn`, on MPI's thread.
 * Example:
 *    static int begin(void *arg) {
 *        exchange *e = arg;
 *        return MPI_Ialltoallw(e->out, e->counts, e->at, e->types, e->in, e->counts, e->at,
 *                              e->types, MPI_COMM_WORLD, &e->request);
 *    }
 *    int err = thrum_mpi_call(begin, &e);
 *    err = err ? err : thrum_mpi_wait(&e.request, MPI_STATUS_IGNORE);
 * See also: thrum_mpi_wait
 */
THRUM_API int thrum_mpi_call(int (*fn)(void *arg), void *arg);

/*
 * Returns how many workers each rank should have. Then the ranks of a machine together have no more
 * workers than it has processors, unless there are more ranks than processors.
 *
 * Each processor in the calling thread's affinity mask counts as one divided by the number of ranks
 * of this machine that have it in theirs. If a CPU quota grants fewer processors than the mask has
 * (thrum_cpus_granted), the sum is reduced in the same proportion. It is rounded down.
 *
 * All ranks of MPI_COMM_WORLD must make the call, as a collective, before thrum_mpi_start.
 *
 * Returns: the number of workers, at least 1. It is 1 if MPI, or the system of any rank of this
 *   machine, gives no answer, and before MPI_Init and after MPI_Finalize.
 * Context: the thread that initialized MPI; never suspends. It blocks the thread until all ranks
 *   have called.
 * Ordering: none.
 * Example:
 *    thrum_config config;
 *    thrum_config_init(&config);
 *    config.workers = thrum_mpi_workers();
 * See also: thrum_cpus_granted, thrum_mpi_start
 */
THRUM_API unsigned thrum_mpi_workers(void);

/* ---- waiting for requests ---- */

/*
 * Waits for a request, as MPI_Wait does. thrum_mpi_wait_until gives up at the deadline.
 *
 * The request becomes MPI_REQUEST_NULL, or inactive if it is persistent. With MPI_REQUEST_NULL the
 * call returns at once.
 *
 * Parameters:
 *   request   the request; after a negative code it is still the caller's, under way
 *   status    set to the status, or MPI_STATUS_IGNORE
 *   deadline  thrum_mpi_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0, a negative error code, or a positive code of MPI: the operation has failed, and the
 *   request is as MPI leaves it.
 * Errors:
 *   -EINVAL     `request` is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    err = MPI_Irecv(buffer, n, MPI_INT, 3, 7, MPI_COMM_WORLD, &request);
 *    err = err ? err : thrum_mpi_wait_until(&request, MPI_STATUS_IGNORE, thrum_after_s(5));
 * See also: thrum_mpi_waitall, thrum_mpi_waitany, thrum_mpi_recv
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_wait(MPI_Request *request, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_wait_until(MPI_Request *request, MPI_Status *status,
                                                   thrum_time deadline);

/*
 * Waits for one of several requests, as MPI_Waitany does. thrum_mpi_waitany_until gives up at the
 * deadline.
 *
 * Parameters:
 *   n         how many requests
 *   requests  the requests; after a negative code all are still the caller's
 *   index     set to the number of the one that is over, or to MPI_UNDEFINED if none was active
 *   status    set to its status, or MPI_STATUS_IGNORE
 *   deadline  thrum_mpi_waitany_until only: when to give up
 * Returns: 0, a negative error code, or a positive code of MPI for the operation that has failed.
 * Errors:
 *   -EINVAL     `n` is negative, or a pointer is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int which;
 *    int err = thrum_mpi_waitany(2, requests, &which, MPI_STATUS_IGNORE);
 * See also: thrum_mpi_waitsome, thrum_mpi_wait
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitany(int n, MPI_Request requests[], int *index,
                                                MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitany_until(int n, MPI_Request requests[], int *index,
                                                      MPI_Status *status, thrum_time deadline);

/*
 * Waits for at least one of several requests, as MPI_Waitsome does. thrum_mpi_waitsome_until gives
 * up at the deadline.
 *
 * Parameters:
 *   n         how many requests
 *   requests  the requests; after a negative code all are still the caller's
 *   count     set to how many are over, or to MPI_UNDEFINED if none was active
 *   indices   memory for `n` numbers: set to those of the requests that are over
 *   statuses  memory for `n` statuses: set to theirs, or MPI_STATUSES_IGNORE
 *   deadline  thrum_mpi_waitsome_until only: when to give up
 * Returns: 0, a negative error code, or a positive code of MPI, such as MPI_ERR_IN_STATUS.
 * Errors:
 *   -EINVAL     `n` is negative, or a pointer is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int count, which[8];
 *    int err = thrum_mpi_waitsome(8, requests, &count, which, MPI_STATUSES_IGNORE);
 * See also: thrum_mpi_waitany, thrum_mpi_waitall
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitsome(int n, MPI_Request requests[], int *count,
                                                 int indices[], MPI_Status *statuses);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitsome_until(int n, MPI_Request requests[], int *count,
                                                       int indices[], MPI_Status *statuses,
                                                       thrum_time deadline);

/*
 * Waits for several requests, as MPI_Waitall does. thrum_mpi_waitall_until gives up at the
 * deadline.
 *
 * After a negative code the requests that are over are MPI_REQUEST_NULL (or inactive) and have
 * their status; the others are still the caller's, under way. After MPI_ERR_IN_STATUS one has
 * failed, and the wait has not gone on. MPI_ERROR of the statuses has its code, and MPI_ERR_PENDING
 * for the requests that are under way.
 *
 * Parameters:
 *   n         how many requests
 *   requests  the requests
 *   statuses  memory for `n` statuses, or MPI_STATUSES_IGNORE
 *   deadline  thrum_mpi_waitall_until only: when to give up
 * Returns: 0 when all are over, a negative error code, or a positive code of MPI, such as
 *   MPI_ERR_IN_STATUS.
 * Errors:
 *   -EINVAL     `n` is negative, or `requests` is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_mpi_waitall_until(4, requests, MPI_STATUSES_IGNORE, thrum_after_s(5));
 * See also: thrum_mpi_wait, thrum_mpi_waitsome
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_waitall(int n, MPI_Request requests[],
                                                MPI_Status *statuses);
THRUM_API THRUM_NODISCARD int thrum_mpi_waitall_until(int n, MPI_Request requests[],
                                                      MPI_Status *statuses, thrum_time deadline);

/* ---- messages ---- */

/*
 * Sends a message, as MPI_Send does. It uses MPI_Isend, and returns when the buffer is free again.
 *
 * Parameters:
 *   buffer  the elements
 *   count   how many elements
 *   type    their type
 *   to      the rank that receives
 *   tag     the message's tag
 *   comm    the communicator
 * Returns: 0, a negative error code, and then nothing was sent, or a positive code of MPI.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -ESHUTDOWN  MPI is finalized, or in the child of a fork
 * Context: any thread; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_mpi_send(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD);
 * See also: thrum_mpi_recv, thrum_mpi_sendrecv
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_send(const void *buffer, int count, MPI_Datatype type,
                                             int to, int tag, MPI_Comm comm);

/*
 * Receives a message, as MPI_Recv does (by MPI_Irecv). thrum_mpi_recv_until gives up at the
 * deadline. A message that has begun to arrive by then is waited for, and received.
 *
 * Parameters:
 *   buffer    memory for `count` elements
 *   count     the most elements
 *   type      their type
 *   from      the rank that sends, or MPI_ANY_SOURCE
 *   tag       the message's tag, or MPI_ANY_TAG
 *   comm      the communicator
 *   status    set to the status, or MPI_STATUS_IGNORE
 *   deadline  thrum_mpi_recv_until only: when to give up
 * Returns: 0, a negative error code, and then nothing was received, or a positive code of MPI.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_mpi_recv(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
 * See also: thrum_mpi_send, thrum_mpi_mprobe
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_recv(void *buffer, int count, MPI_Datatype type, int from,
                                             int tag, MPI_Comm comm, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_recv_until(void *buffer, int count, MPI_Datatype type,
                                                   int from, int tag, MPI_Comm comm,
                                                   MPI_Status *status, thrum_time deadline);

/*
 * Sends and receives at the same time, as MPI_Sendrecv does. It returns when both are over. If one
 * fails, the other is cancelled if possible, else waited for.
 *
 * Parameters:
 *   out        the elements to send
 *   out_count  how many elements
 *   out_type   their type
 *   to         the rank that receives them
 *   out_tag    their message's tag
 *   in         memory for `in_count` elements
 *   in_count   the most elements to receive
 *   in_type    their type
 *   from       the rank that sends them, or MPI_ANY_SOURCE
 *   in_tag     their message's tag, or MPI_ANY_TAG
 *   comm       the communicator
 *   status     set to the status of the receive, or MPI_STATUS_IGNORE
 * Returns: 0, a negative error code, and then nothing was sent, or a positive code of MPI.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -ESHUTDOWN  MPI is finalized, or in the child of a fork
 * Context: any thread; may suspend; not cancellable.
 * Ordering: none.
 * Example: examples/stencil.c
 * See also: thrum_mpi_send, thrum_mpi_recv
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_sendrecv(const void *out, int out_count,
                                                 MPI_Datatype out_type, int to, int out_tag,
                                                 void *in, int in_count, MPI_Datatype in_type,
                                                 int from, int in_tag, MPI_Comm comm,
                                                 MPI_Status *status);

/*
 * Waits until a message can be received, as MPI_Probe does. thrum_mpi_probe_until gives up at the
 * deadline. Another task may receive the message first: if several tasks receive, use
 * thrum_mpi_mprobe.
 *
 * Parameters:
 *   from      the rank that sends, or MPI_ANY_SOURCE
 *   tag       the message's tag, or MPI_ANY_TAG
 *   comm      the communicator
 *   status    set to the message's status, or MPI_STATUS_IGNORE
 *   deadline  thrum_mpi_probe_until only: when to give up
 * Returns: 0, a negative error code, or a positive code of MPI.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    MPI_Status status;
 *    int err = thrum_mpi_probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
 * See also: thrum_mpi_mprobe, thrum_mpi_recv
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_probe(int from, int tag, MPI_Comm comm, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_probe_until(int from, int tag, MPI_Comm comm,
                                                    MPI_Status *status, thrum_time deadline);

/*
 * Waits until a message can be received, and takes it, as MPI_Mprobe does. It is then the caller's
 * alone, for MPI_Imrecv. thrum_mpi_mprobe_until gives up at the deadline.
 *
 * Parameters:
 *   from      the rank that sends, or MPI_ANY_SOURCE
 *   tag       the message's tag, or MPI_ANY_TAG
 *   comm      the communicator
 *   message   set to the message
 *   status    set to its status, or MPI_STATUS_IGNORE
 *   deadline  thrum_mpi_mprobe_until only: when to give up
 * Returns: 0, a negative error code, and then no message was taken, or a positive code of MPI.
 * Errors:
 *   -EINVAL     `message` is NULL
 *   -ESRCH      thrum_mpi_start was not called
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  MPI is finalized, the caller is an external thread and the scheduler stops, or in
 *               the child of a fork
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    err = thrum_mpi_mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, &status);
 *    err = err ? err : MPI_Imrecv(buffer, n, MPI_INT, &message, &request);
 *    err = err ? err : thrum_mpi_wait(&request, &status);
 * See also: thrum_mpi_probe, thrum_mpi_wait
 */
THRUM_API THRUM_NODISCARD int thrum_mpi_mprobe(int from, int tag, MPI_Comm comm,
                                               MPI_Message *message, MPI_Status *status);
THRUM_API THRUM_NODISCARD int thrum_mpi_mprobe_until(int from, int tag, MPI_Comm comm,
                                                     MPI_Message *message, MPI_Status *status,
                                                     thrum_time deadline);

/* ---- collectives ---- */

/*
 * Performs a collective, as MPI_Barrier, MPI_Bcast and the like do. It uses the nonblocking form,
 * and returns when the collective is over. For other collectives, begin the form MPI_I... in
 * thrum_mpi_call, and wait for its request.
 *
 * Parameters:
 *   buffer      thrum_mpi_bcast: the elements, on the root to send, elsewhere to receive
 *   count       how many elements
 *   type        their type
 *   from        the elements that this rank gives
 *   to          memory for the elements that this rank gets
 *   from_count  how many elements it gives, to each rank if there are several
 *   from_type   their type
 *   to_count    how many elements it gets from each rank
 *   to_type     their type
 *   op          the operation that combines elements
 *   root        the rank that has or gets all
 *   comm        the communicator
 * Returns: 0, a negative error code, and then nothing was begun, or a positive code of MPI.
 * Errors:
 *   -ESRCH      thrum_mpi_start was not called
 *   -ESHUTDOWN  MPI is finalized, or in the child of a fork
 * Context: any thread; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_mpi_allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
 * See also: thrum_mpi_call, thrum_mpi_wait
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

/* Figures since thrum_mpi_start. The caller owns it; THRUM_MPI_METRICS_INIT sets its size. */
typedef struct thrum_mpi_metrics {
    size_t size;          /* sizeof(thrum_mpi_metrics); set by THRUM_MPI_METRICS_INIT */
    uint64_t waits;       /* waits that had to be queued; others were over at once */
    uint64_t given_up;    /* queued waits that ended by a deadline or a cancel */
    uint64_t asked;       /* how often MPI was polled for all waits */
    uint64_t calls;       /* calls that were handed to MPI's thread, at FUNNELED */
    uint64_t pending;     /* waits that are queued now */
    uint64_t pending_max; /* the most waits that were queued at a time */
} thrum_mpi_metrics;

/* clang-format off */
/* The initializer of a thrum_mpi_metrics: no figures. */
#define THRUM_MPI_METRICS_INIT { sizeof(thrum_mpi_metrics), 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/*
 * Reads the figures.
 *
 * Parameters:
 *   out  set to the figures
 * Returns: 0, or a negative error code; `*out` is unchanged then.
 * Errors:
 *   -EINVAL     `out` is NULL, or its size is unknown
 *   -ESRCH      thrum_mpi_start was not called
 *   -ESHUTDOWN  in the child of a fork
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Example:
 *    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
 *    int err = thrum_mpi_metrics_read(&metrics);
 * See also: thrum_mpi_start
 */
THRUM_API int thrum_mpi_metrics_read(thrum_mpi_metrics *out);

THRUM_END_DECLS

#endif
