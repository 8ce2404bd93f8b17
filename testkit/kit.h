/*
 * kit.h: the test kit over the simulator's engine: what its files share.
 */
#ifndef KIT_H
#define KIT_H

#include "engine.h"
#include "thrum.h"
#include "thrum/test.h"

/*
 * A public call as the library defines it. The call's own name is its entry, which is a point at
 * which other tasks may run (points.c).
 */
#define INNER(name) kit_inner_##name
extern __typeof__(thrum_yield) INNER(thrum_yield);
extern __typeof__(thrum_event_wait) INNER(thrum_event_wait);
extern __typeof__(thrum_event_signal) INNER(thrum_event_signal);
extern __typeof__(thrum_shield_begin) INNER(thrum_shield_begin);
extern __typeof__(thrum_shield_end) INNER(thrum_shield_end);
extern __typeof__(thrum_set_name) INNER(thrum_set_name);
extern __typeof__(thrum_metrics_read) INNER(thrum_metrics_read);
extern __typeof__(thrum_config_init) INNER(thrum_config_init);
extern __typeof__(thrum_attr_init) INNER(thrum_attr_init);
extern __typeof__(thrum_spawn_with) INNER(thrum_spawn_with);
extern __typeof__(thrum_join) INNER(thrum_join);
extern __typeof__(thrum_sched_start) INNER(thrum_sched_start);
extern __typeof__(thrum_sched_stop) INNER(thrum_sched_stop);
extern __typeof__(thrum_strerror) INNER(thrum_strerror);
extern __typeof__(thrum_dump) INNER(thrum_dump);
extern __typeof__(thrum_blocking) INNER(thrum_blocking);

typedef struct kit_test {
    int (*fn)(void *arg);
    void *arg;
    unsigned workers;
    unsigned policy;
} kit_test;

/* ---- options.c ---- */

bool kit_options_check(const thrum_test_options *options);
/* Sets the options that the environment has. False: one of them is wrong; it has printed that. */
bool kit_options_environment(thrum_test_options *options);
/* Whether an argument is an option of the kit, and whether the next one is its value. */
bool kit_is_option(const char *argument, bool *with_next);

/* ---- builds.c ---- */

bool kit_build_is_wrong(void); /* and a line says so */
/* Ends the program if it has the thread sanitizer's library, or needs thrum::test_race. */
void kit_refuse_tsan(void);

/* ---- session.c, kit.c ---- */

int kit_run(const thrum_test_options *options, thrum_fn test, void *arg, bool of_main);
const kit_test *kit_test_now(void);
const thrum_test_options *kit_options(void);
extern const thrum_policy
    kit_policies[]; /* for kit_test.policy: any (policy_any.c), sharded, fifo */
int64_t kit_first_timer(void);
uint64_t kit_tasks_begun(void);
void kit_body(void); /* a run, in its first thread */
__attribute__((noreturn)) void kit_fail_result(const char *who, const char *name, int result);
/* Runs a function on the caller's host, in a scheduler of its own; returns its result. */
int kit_run_host(thrum_fn fn, void *arg, const char *name, const kit_test *test);
/* Calls `see` for the handle of each task that has ended and was neither joined nor detached. */
void kit_handles_left(void (*see)(void *ctx, const thrum_handle *handle), void *ctx);
void kit_dump(FILE *out); /* after the run: all tasks, with their waits */

/* The name of a thread of thrum_test_thread_start. Reports add its number. */
#define PLAIN_THREAD "thread"

/* ---- points.c ---- */

/* A point at which the caller may be interrupted: its name, and the address it returns to. */
void kit_point(const char *what, uintptr_t after);
void kit_point_on(const char *what, const void *object, uintptr_t after);
extern const char *const kit_calls[]; /* the names of the public calls */
extern int kit_atomics;               /* whether each atomic operation is a point */

/* ---- places.c ---- */

typedef struct kit_place {
    char function[64];
    char where[96];  /* file:line, or empty */
    bool of_headers; /* of the library or of C++ */
} kit_place;
uintptr_t kit_load_base(void);
void kit_find_places(kit_place places[], const uintptr_t addresses[], unsigned n);
bool kit_is_of_headers(const char *function);
/* Of a name of C++: without the arguments and the anonymous namespace. */
void kit_shorten(char *name);
const char *kit_place_text(const kit_place *place);
/* If most places had no line: how to get them. */
void kit_print_lines_missing(FILE *out);
/* "cache+16" for an address of the program's data; false for others. */
bool kit_name_static(const void *object, char *text, size_t size);

/* ---- words.c ---- */

void kit_step(const char *what, const void *object, uintptr_t after);
void kit_spawns(thrum_handle *const *out); /* the last step is a spawn, which puts a handle there */
const sim_step *kit_spawn_of(const thrum_handle *handle); /* or NULL */
void kit_step_is(sim_step *step, const char *what, const void *object, uintptr_t after);
void kit_print_race(FILE *out);
void kit_print_steps(FILE *out, bool whole);
const sim_step *kit_last_step(uint64_t run); /* of the task with this number; or NULL */
void kit_name_task(const sim_step *step, char text[80]);
/* The name of a static object, or "mutex #2" for the second of its kind. False: not known. */
bool kit_name_object(const void *object, char text[80]);

/* ---- faults/callers.c ---- */

void kit_note_callers(sim_step *step); /* while the step is made */
/* After the run: each step in a function of a header gets the place of that function's caller. */
void kit_find_callers(void);
/* The place that a step has got instead of this one. */
uintptr_t kit_outward(uintptr_t after);

/* ---- lone.c, race/pthread.c ---- */

/* A mutex of the C library orders the accesses before an unlock and after the next lock. */
void kit_order_acquire(const void *mutex);
void kit_order_release(const void *mutex);

/* ---- lone.c, race.c ---- */

/* The end of a report, if no access of the program to memory was watched, although they could be.
 */
void kit_print_unwatched(void);

/* ---- report.c ---- */

/* Prints the traced run that is over: its fault, its steps, and the tasks that wait. */
void kit_print_run(FILE *out, bool whole);

/* ---- heap.c ---- */

/* Whether the caller is outside of a run: before, between or after runs, or in a real thread beside
   the simulation. */
bool kit_is_outside(void);
void kit_heap_begin(void);  /* before the first run */
void kit_heap_thread(void); /* the caller is the thread of all runs to come */
/* The memory of the heap outside of runs. */
void kit_outside_range(const char **from, const char **to);
/* The places of a freed block. */
void kit_spots_of(const arena_block *block);

/* Whether the caller is the real thread of the simulation. */
bool kit_is_real_thread(void);

/* ---- faults/beside.c ---- */

bool kit_is_foreign_signal(int signal, void *context, uintptr_t at);
void kit_wait_for_report(void); /* for ever, if a thread beside the simulation reports its crash */
bool kit_is_alone(void);        /* no real threads are beside the simulation */
bool kit_is_beside(void);       /* the caller is one, while a run goes on */
__attribute__((noreturn)) void kit_fail_beside(const char *fault, const char *what);
void kit_check_child(void); /* at the end of a run: the process ends if it is a child of fork */
void kit_check_jump(void);  /* the process ends if the test was left by longjmp */

/* ---- faults/leaks.c ---- */

/* After a run: fails it if a block of the program is left to which nothing points. */
void kit_find_leaks(void);
void kit_print_leaks(FILE *out);

/* ---- faults/thrown.c ---- */

/* An exception that nobody catches fails the run from now on; or does as before. */
void kit_terminate_begin(void);
void kit_terminate_end(void);
/* ---- faults/fault.c ---- */

void kit_faults_end(void); /* nothing fails any longer */

/* ---- ends.c ---- */

/* Fails the run if the memory that is about to be freed has a lock in use. */
void kit_check_locks_in(const char *from, size_t size, uintptr_t after);
void kit_mistake(const char *text);
void kit_check_end(void);  /* of a test: locks that are held, threads that nobody has joined */
void kit_run_ended(void);  /* outside of the run: freed memory that was written */
void kit_watch_exit(void); /* once in the process */
/* The thread-locals of the program, which each run finds as they are now. */
void kit_locals_copy(void);
void kit_locals_put_back(void);
/* Discards the program's output, or shows it again. */
void kit_mute(bool mute);

#endif
