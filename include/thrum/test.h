/*
 * thrum/test.h: deterministic tests of concurrent code. A test is a function that runs as a task.
 * Link the program with thrum::test (-lthrum-test) in place of thrum::thrum. It runs the test many
 * times on one thread, in virtual time and in orders that it chooses, and reports the first order
 * in which the test fails. The orders depend on the seed alone. docs/guide/testing.md explains the
 * kit, and docs/testing-limits.md lists the calls that a test cannot use.
 *
 * Before each run, the static data and the thread-locals of the executable are restored. Simulated
 * threads share these thread-locals. The data of shared libraries, and memory that was allocated
 * before the first run, are not restored.
 *
 * thrum::test_race (-lthrum-test-race) also reports data races, and lets loads of the program's
 * atomics return old values as C11 allows. The program is compiled with -fsanitize=thread, and
 * linked without it.
 *
 * Tasks switch at calls of the library, and no function of thrum.h is inline. So objects that were
 * compiled for the library itself can be linked with thrum::test without compiling them again.
 *
 * If the same test is linked with thrum::test_real (-lthrum-test-real) and the library itself, it
 * runs five times in real time, on real threads.
 */
#ifndef THRUM_TEST_H
#define THRUM_TEST_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Checks a condition. If it is false, the run fails, and the report has the file, the line and the
 * condition.
 *
 * Parameters:
 *   condition  an expression
 * Context: any thread; never suspends. If the condition is false, the call does not return, and the
 *   stack is not unwound.
 * Ordering: none.
 * Example: examples/testing/first.c
 * See also: thrum_test_fail, thrum_test_main
 */
#define THRUM_TEST(condition)                                                                      \
    ((condition) ? (void)0 : thrum_test_fail(__FILE__, __LINE__, #condition))

/*
 * Fails the run, as THRUM_TEST does if its condition is false. Outside of a test, it prints the
 * text to stderr and ends the program with status 1.
 *
 * Parameters:
 *   file, line  the place of the failure; if file is NULL, the report calls it an `exception`
 *   condition   the text that is printed
 * Context: any thread; never suspends. The call does not return.
 * Ordering: none.
 * Example:
 *   if (count > limit) {
 *       thrum_test_fail(__FILE__, __LINE__, "too many");
 *   }
 * See also: THRUM_TEST
 */
THRUM_API void thrum_test_fail(const char *file, int line, const char *condition)
    __attribute__((noreturn));

/* The largest number of workers of a test. */
#define THRUM_TEST_WORKERS_MAX 8

/* The options of a test, for thrum_test_run. The caller owns the struct.
   THRUM_TEST_OPTIONS_INIT has the defaults. */
typedef struct thrum_test_options {
    size_t size; /* sizeof(thrum_test_options) as the program knows it */

    uint64_t runs; /* the number of schedules, 1 or more; 1000 by default */
    uint64_t seed; /* determines the schedules; 1 by default */

    /*
     * "random", "pct", "bounded" or "exhaustive". NULL: the first three in turn.
     * docs/guide/testing.md describes them.
     */
    const char *strategy;
    /*
     * "any": any task that is ready may run next. "sharded" or "fifo": the scheduler's policy of
     * that name chooses the next task. NULL: "any" in half of the schedules and the others in turn,
     * but always "any" in an exhaustive search.
     */
    const char *policy;
    /* Runs only this schedule, a text from the report of a failure. NULL: runs `runs` schedules. */
    const char *replay;

    /*
     * The number of workers, at most THRUM_TEST_WORKERS_MAX. 0: 2, 3 and 4 in turn. An exhaustive
     * search begins with 1 worker, and goes on with 2 and so on up to this number; 0: up to 2.
     */
    unsigned workers;
    /* The most preemptions in a schedule of an exhaustive search, which are switches away from a
       task that could go on. */
    unsigned preemptions; /* 2 by default */
    unsigned steps;       /* the most in a schedule; with more, the run fails; 100000 by default */
    bool atomics;         /* tasks also switch inside the library, at each atomic operation */
    bool trace;           /* prints each call of the failing, the replayed or the last schedule */
    bool output;       /* shows the test's output in each schedule, not only in the reported one */
    bool ignore_leaks; /* memory that the test has not freed is no failure */
    bool ignore_mistakes; /* calls that are legal but hardly ever meant are no failure */
} thrum_test_options;

/* The default options. */
#define THRUM_TEST_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(thrum_test_options), 1000, 1, NULL, NULL, NULL, 0, 2, 100000, false, false, false,  \
            false, false                                                                           \
    }

/*
 * Runs a test, for programs that have other tests as well. It prints the result to stdout. At the
 * end, the program's static data is restored. Environment variables such as THRUM_TEST_RUNS=100000
 * override the options. Their names are those of the options of thrum_test_main, in upper case.
 *
 * Parameters:
 *   options  the options; NULL: the defaults
 *   test     the test's function, as in thrum_test_main
 *   arg      its argument
 * Returns: 0 if all runs passed, 1 if one failed, or a negative error code.
 * Errors:
 *   -EINVAL   an option or a variable is wrong, test is NULL, or the kit cannot run the program,
 *             for example because it is linked with a sanitizer's library
 *   -EDEADLK  the caller is in a test
 * Context: a plain thread, outside of a test; never suspends.
 * Ordering: none.
 * Example:
 *   thrum_test_options options = THRUM_TEST_OPTIONS_INIT;
 *   options.runs = 10000;
 *   int failed = thrum_test_run(&options, test, NULL);
 * See also: thrum_test_main
 */
THRUM_API int thrum_test_run(const thrum_test_options *options, thrum_fn test, void *arg);

/*
 * Runs a test with the options of the command line and the environment, and prints the result.
 * docs/guide/testing.md explains the options, and --help lists them.
 *
 * Parameters:
 *   argc, argv  those of main
 *   test        the test's function, which runs as a task; the run fails if it returns a value
 *               other than 0
 *   arg         its argument
 * Returns: the exit status: 0 if all runs passed, 1 if one failed, 2 if an option is wrong or the
 *   kit cannot run the program; or a negative error code.
 * Errors:
 *   -EINVAL   test is NULL
 *   -EDEADLK  the caller is in a test
 * Context: a plain thread, outside of a test; never suspends.
 * Ordering: none.
 * Example: examples/testing/first.c
 * See also: thrum_test_run
 */
THRUM_API int thrum_test_main(int argc, char **argv, thrum_fn test, void *arg);

/*
 * Waits until every other task and thread of the test has ended or is blocked, for example in a
 * sleep. No time passes meanwhile. With thrum::test_real, the call sleeps for 20 ms.
 *
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: writes of the others, up to the point where they block or end, are visible after it.
 * Example: examples/testing/cache.c
 * See also: thrum_test_advance
 */
THRUM_API void thrum_test_settle(void);

/*
 * Moves the clock forward at once. When the call returns, all deadlines up to the new time have
 * passed, but the tasks that waited for them may not have run. With thrum::test_real, the call
 * sleeps for that time.
 *
 * Parameters:
 *   ns  a duration; 0 or less has no effect
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   thrum_test_advance(THRUM_S(1)); // deadlines pass before the waiting tasks run
 * See also: thrum_test_settle, thrum_sleep
 */
THRUM_API void thrum_test_advance(thrum_time ns);

/*
 * Lets other tasks and threads run at this point, for code that makes no other call of the library.
 * With thrum::test_real, the call has no effect.
 *
 * Parameters:
 *   name  a name for the report; must live as long as the program, as a literal does
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   int before = hits;
 *   thrum_test_point("between load and store");
 *   hits = before + 1;
 * See also: thrum_yield
 */
THRUM_API void thrum_test_point(const char *name);

/*
 * Chooses a random number of 32 bits. It is part of the schedule, so a replay gets the same one.
 *
 * Returns: the number.
 * Context: a task or thread of the test; never suspends.
 * Ordering: none.
 * Example: examples/testing/retry.c
 */
THRUM_API uint32_t thrum_test_random(void);

/* A plain thread of a test. The caller owns it. */
typedef struct thrum_test_thread {
    uintptr_t reserved_[2];
} thrum_test_thread;

/*
 * thrum_test_thread_start starts a plain thread. It is part of the test's schedules, unlike one
 * that pthread_create starts. thrum_test_thread_join waits until the thread has ended. Join each
 * thread once: a thread that is never joined fails the run. The join blocks the calling thread. So
 * a task should call it through thrum_blocking, or only when the thread is about to end.
 *
 * Parameters:
 *   thread  the thread; must live until it is joined
 *   fn      the function that it runs
 *   arg     its argument
 * Returns: 0, or a negative error code. After an error, there is nothing to join.
 * Errors:
 *   -EAGAIN  too many threads: a run has at most 32, including the workers
 *   -ENOMEM  no memory; only with thrum::test_real
 * Context: a task or thread of the test; never suspends.
 * Ordering: the caller's earlier writes are visible to the thread, and the thread's writes are
 *   visible after thrum_test_thread_join.
 * Example:
 *   thrum_test_thread thread;
 *   int err = thrum_test_thread_start(&thread, producer, queue);
 *   if (err == 0) {
 *       thrum_test_thread_join(&thread);
 *   }
 * See also: thrum_spawn, thrum_blocking
 */
THRUM_API THRUM_NODISCARD int thrum_test_thread_start(thrum_test_thread *thread,
                                                      void (*fn)(void *arg), void *arg);
THRUM_API void thrum_test_thread_join(thrum_test_thread *thread);

/* The largest number of hosts of a test, including the first one. */
#define THRUM_TEST_HOSTS_MAX 8

/*
 * Starts a function on a simulated host. The test's own function runs on the first host, whose name
 * is "test". Each host has its own scheduler, descriptors, disk, and copy of the program's static
 * data and thread-locals. The copy is fresh when the host starts. Hosts reach each other only by
 * the network: thrum_listen, thrum_dial and thrum_resolve take the name of a host. If the test's
 * function returns while hosts run, they are switched off as by thrum_test_host_crash.
 *
 * All hosts share one address space: a host can read and write memory that another one has
 * allocated with malloc. So arg may point to such memory, and a host may record its steps there.
 * Locks, channels and other objects work on one host only.
 *
 * Parameters:
 *   name  1 to 31 letters, digits, '-' and '_', the first a letter; not the name of another host,
 *         and not "localhost"
 *   fn    runs as a task on the host. If it returns a value other than 0, the run fails, unless
 *         thrum_test_host_wait has returned the value
 *   arg   its argument
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  fn is NULL, or name is NULL or not valid
 *   -EEXIST  there is a host with that name
 *   -EAGAIN  too many hosts (THRUM_TEST_HOSTS_MAX) or threads
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: the caller's earlier writes to allocated memory are visible to the function.
 * Example: examples/testing/register.c
 * See also: thrum_test_host_wait, thrum_test_host_crash
 */
THRUM_API THRUM_NODISCARD int thrum_test_host(const char *name, thrum_fn fn, void *arg);

/*
 * Waits until a host's function has returned or the host has crashed.
 *
 * Parameters:
 *   name  a host other than the first one and the caller's
 * Returns: the function's value, or a negative error code.
 * Errors:
 *   -EPIPE    the host has crashed
 *   -ENOENT   there is no host with that name
 *   -EINVAL   name is NULL or that of the first host
 *   -EDEADLK  name is that of the caller's host
 *   -EPERM    the caller is not in a test
 *   -ENOSYS   with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: writes of the host's function to allocated memory are visible after the call.
 * Example: examples/testing/register.c
 * See also: thrum_test_host
 */
THRUM_API int thrum_test_host_wait(const char *name);

/*
 * thrum_test_host_crash ends a host at once: its tasks stop, its static data and its connections
 * are gone, and its disk crashes as by thrum_test_disk_crash. Peers get -ECONNRESET. To simulate a
 * loss of power without this notice, partition the host first. Nothing that the host leaves is
 * reported as a leak. If a host crashes itself, the call does not return.
 *
 * thrum_test_host_restart starts the function of a host again, with fresh static data and the same
 * disk. The host must have crashed, or its function must have returned.
 *
 * thrum_test_host_pause stops all tasks of a host, or lets them go on. During a pause, time passes
 * for the other hosts, and the network accepts connections and bytes for the paused one.
 *
 * Parameters:
 *   name   a host other than the first one; for a pause, also other than the caller's
 *   pause  true: the tasks stop; false: they go on
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ENOENT    there is no host with that name
 *   -EINVAL    name is NULL or that of the first host
 *   -EALREADY  crash: the host does not run
 *   -EBUSY     restart: the host runs
 *   -EAGAIN    restart: too many threads
 *   -EDEADLK   pause: name is that of the caller's host
 *   -EPERM     the caller is not in a test
 *   -ENOSYS    with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   int err = thrum_test_host_crash("b");
 *   if (err == 0) {
 *       err = thrum_test_host_restart("b");
 *   }
 * See also: thrum_test_host
 */
THRUM_API int thrum_test_host_crash(const char *name);
THRUM_API int thrum_test_host_restart(const char *name);
THRUM_API int thrum_test_host_pause(const char *name, bool pause);

/*
 * Moves the clock of a host forward, and lets it run faster or slower from now on. The clock is the
 * one that thrum_now and deadlines use.
 *
 * Parameters:
 *   name    any host, also the first one
 *   ahead   the duration by which the clock moves at once; 0 or more
 *   faster  the nanoseconds that the clock gains in each millisecond, from -500000 to 500000; with
 *           a negative number, the clock loses time
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ENOENT  there is no host with that name
 *   -EINVAL  name is NULL, or a number is out of range
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   int err = thrum_test_host_clock("b", THRUM_S(5), 1000); // a thousandth faster
 * See also: thrum_test_host, thrum_now
 */
THRUM_API int thrum_test_host_clock(const char *name, thrum_time ahead, int64_t faster);

/* How packets go from one host to another, for thrum_test_link_set. The caller owns the struct.
   THRUM_TEST_LINK_INIT has the values that a link has at first. */
typedef struct thrum_test_link {
    size_t size; /* sizeof(thrum_test_link) as the program knows it */

    /*
     * The least and the greatest latency of a packet; the schedule chooses the latency of each one.
     * Packets of a TCP connection arrive in order. Datagrams may overtake each other.
     */
    thrum_time latency_min; /* 0.1 ms at first */
    thrum_time latency_max; /* 1 ms at first */
    uint64_t bandwidth;     /* in bytes a second; 0: no limit */
    unsigned loss;          /* of a thousand datagrams, about so many are lost */
} thrum_test_link;

/* A link as it is at first. */
#define THRUM_TEST_LINK_INIT                                                                       \
    { sizeof(thrum_test_link), 100000, 1000000, 0, 0 }

/*
 * thrum_test_link_set changes the link from one host to another, in this direction, for packets
 * that are sent from now on. thrum_test_link_hold holds back all packets in one direction, or lets
 * them go on. thrum_test_link_reset breaks all TCP connections between two hosts: the next call on
 * each side returns -ECONNRESET.
 *
 * Parameters:
 *   from, to  two hosts; NULL: every host, also one that starts later
 *   link      the new values
 *   held      true: holds the packets back; false: lets them go on
 *   a, b      two hosts, not NULL
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ENOENT  there is no host with that name
 *   -EINVAL  the two hosts are the same; set: link is NULL or has a wrong value; reset: a name is
 *            NULL
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   thrum_test_link slow = THRUM_TEST_LINK_INIT;
 *   slow.latency_min = slow.latency_max = THRUM_MS(200);
 *   int err = thrum_test_link_set("a", NULL, &slow);
 * See also: thrum_test_partition
 */
THRUM_API int thrum_test_link_set(const char *from, const char *to, const thrum_test_link *link);
THRUM_API int thrum_test_link_hold(const char *from, const char *to, bool held);
THRUM_API int thrum_test_link_reset(const char *a, const char *b);

/*
 * thrum_test_partition stops all packets between two hosts, in both directions, and
 * thrum_test_link_cut in one. thrum_test_heal ends both: packets arrive again, in both directions.
 * Datagrams that are sent or under way during a partition are lost. TCP sends its packets again, so
 * they arrive after it. If bytes of a connection do not arrive for 924 seconds, calls on it return
 * -ETIMEDOUT, as on Linux. thrum_dial returns this code after 127 seconds.
 *
 * Parameters:
 *   a, b      two hosts; NULL: every host, so that thrum_test_partition("a", NULL) isolates "a"
 *   from, to  two hosts; NULL: every host
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ENOENT  there is no host with that name
 *   -EINVAL  the two hosts are the same
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example: examples/testing/register.c
 * See also: thrum_test_link_set
 */
THRUM_API int thrum_test_partition(const char *a, const char *b);
THRUM_API int thrum_test_link_cut(const char *from, const char *to);
THRUM_API int thrum_test_heal(const char *a, const char *b);

/*
 * Crashes the disk of the caller's host, as a power failure does, and starts it again. Tasks and
 * threads go on, but all open files and directories are invalid: calls on them return -EIO, until
 * they are closed.
 *
 * The bytes and the size of a file stay after thrum_file_sync, and the names in a directory after
 * thrum_file_sync of the directory. The schedule decides the rest:
 *
 * - Each page of 4 KiB has its newest bytes, older ones, or a part of both.
 * - Each file has its newest size, an older one, or one in between.
 * - Each change of a name happened or did not, in any order. A rename within a directory happened
 *   as a whole or did not. After a rename to another directory, a file may have both names.
 *
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example: examples/testing/save.c
 * See also: thrum_file_sync, thrum_file_replace
 */
THRUM_API int thrum_test_disk_crash(void);

/* The kinds of calls that thrum_test_fault and thrum_test_fault_chance make fail. */
typedef enum thrum_test_call {
    THRUM_TEST_READ,    /* reads of files, directories and sockets, and received datagrams */
    THRUM_TEST_WRITE,   /* writes, truncations and allocations of files; datagrams that are sent */
    THRUM_TEST_OPEN,    /* files and directories that are opened, sockets that are made */
    THRUM_TEST_ACCEPT,  /* a server takes a connection */
    THRUM_TEST_CONNECT, /* a client connects */
    THRUM_TEST_SYNC,    /* files and directories that are synced */
    THRUM_TEST_NAME,    /* renames, links, removals and new directories */
    THRUM_TEST_MEMORY,  /* the library allocates memory, also for stacks */
    THRUM_TEST_THREAD   /* the library starts a thread */
} thrum_test_call;

/*
 * These calls make calls of the simulated system fail. thrum_test_fault makes one call fail, the
 * nth of its kind from now on. thrum_test_fault_chance makes one call in `one_in` fail, on average;
 * the schedule chooses which. thrum_test_fault_end removes all faults of the host. The end of the
 * test removes the faults of all hosts.
 *
 * A call counts if it would have succeeded: a read that finds no bytes yet does not count. Calls
 * that the library makes within another call count too: thrum_file_replace opens, writes and syncs
 * a file, for example. Allocations of the program itself, as by malloc, do not count.
 *
 * If the code is 0, a read or a write transfers fewer bytes than it could. If an accept fails with
 * -ECONNABORTED, that connection is lost, and thrum_accept waits for the next one. After a failed
 * sync, later ones return 0 without writing the bytes that the failed one should have written, as
 * on Linux.
 *
 * Parameters:
 *   host    the name of a host; NULL: the caller's
 *   call    the kind of call
 *   nth     1 for the next call, 2 for the one after it, and so on
 *   one_in  1 to 255; with 1, each call fails
 *   code    the negative error code that the call returns, such as -EIO; -ENOMEM for memory; 0 for
 *           a short read or write
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  a parameter is wrong
 *   -ENOENT  there is no host with that name
 *   -ENOSPC  there are already 32 faults, those of all hosts counted
 *   -EPERM   the caller is not in a test
 *   -ENOSYS  with thrum::test_real
 * Context: a task or thread of the test; never suspends.
 * Ordering: none.
 * Example:
 *   thrum_test_fault(NULL, THRUM_TEST_WRITE, 3, -EIO);          // the third write
 *   thrum_test_fault_chance(NULL, THRUM_TEST_MEMORY, 20, -ENOMEM);
 * See also: thrum_test_disk_crash
 */
THRUM_API int thrum_test_fault(const char *host, thrum_test_call call, unsigned nth, int code);
THRUM_API int thrum_test_fault_chance(const char *host, thrum_test_call call, unsigned one_in,
                                      int code);
THRUM_API int thrum_test_fault_end(const char *host);

THRUM_END_DECLS

#endif
