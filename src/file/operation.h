/*
 * operation.h: a call on a file that may wait for as long as the system likes; file/README.md has
 * its states, the protocol and the argument.
 *
 * An operation is on the heap and has all that the call touches: its request, copies of its paths,
 * a buffer, uses of its descriptors. So a caller whose time is out leaves it alone. It is asked of
 * an engine, which makes the call, or has it made.
 */
#ifndef TH_OPERATION_H
#define TH_OPERATION_H

#include "pools/jobs.h"
#include "io/record.h"

typedef struct th_operation th_operation;

struct th_operation {
    th_job job; /* the first: the pool's */
    th_os_file_request request;
    int64_t result; /* the call's result */
    /* Called in place of the request's call, by a thread that may block; or NULL. */
    int64_t (*make)(th_operation *operation);
    /*
     * Called at its end, of any kind; on a thread that may block if no caller has had the result.
     * Or NULL.
     */
    void (*finish)(th_operation *operation);
    uint32_t kept;        /* for `finish` */
    bool had;             /* a caller has had the result */
    bool made;            /* the call was made */
    bool asked;           /* an engine has it */
    bool begins;          /* a transfer that the system can begin and not wait for (ring.h) */
    th_record *record[2]; /* in use until it ends */
    const char *told;     /* its name in reports, its own text */
};

/*
 * Makes an operation of a request whose paths are the caller's, with a buffer of `room` bytes,
 * which the request names then; `aligned` as a direct transfer wants it. -ENOMEM, or
 * -ENAMETOOLONG.
 */
int th_operation_new(th_operation **out, const th_os_file_request *request, size_t room,
                     bool aligned);

/* The same on a descriptor, its first; 0 or a code. */
int th_operation_new_on(th_operation **out, thrum_io io, const th_os_file_request *request,
                        size_t room, bool aligned);

/* Has the operation use a descriptor, its first or its second. 0 or a code. */
int th_operation_use(th_operation *operation, unsigned which, thrum_io io);

/*
 * Has it made: returns its result, or the code that has ended the wait. It remains the caller's
 * until th_operation_drop.
 */
int64_t th_operation_ask(th_operation *operation, thrum_time deadline);
void th_operation_drop(th_operation *operation);

/* For an engine: makes the call. Frees an operation; on any thread. */
void th_operation_make(th_operation *operation);
void th_operation_free(th_operation *operation);

/* All of it for a request without a buffer, by paths, or on one descriptor. */
int64_t th_operation_by_path(const th_os_file_request *request, thrum_time deadline);
int64_t th_operation_on(thrum_io io, const th_os_file_request *request, thrum_time deadline);

/* Whether a deadline has passed. */
bool th_operation_is_late(thrum_time deadline);

#endif
