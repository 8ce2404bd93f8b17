/*
 * recorder.h: the flight recorder: a trace that is always on (config: trace), and is written to a
 * file when a signal asks for a dump, when a stall is reported, and when the program crashes.
 * core/record/RECORDER.md has the argument.
 */
#ifndef TH_RECORDER_H
#define TH_RECORDER_H

#include "base/plain.h"
#include "thrum/sched.h"

#define TH_RECORDER_EVENTS TH_LIMIT(32767u, 3u) /* marks of each worker that are kept, by default */
#define TH_RECORDER_PATH 1024u                  /* bytes of a file's name */

/*
 * Begins the trace, and has the process's crashes caught, if the config asks for it. 0, -ENOMEM; if
 * THRUM_TRACE asks for it, 0 all the same, and one line reports that there is no recorder.
 */
int th_recorder_begin(thrum_sched *sched);
/*
 * From here on nothing is written. A second call does nothing; while a crash is reported, it
 * waits.
 */
void th_recorder_end(thrum_sched *sched);
/* In the child of a fork: the parent's schedulers are not recorded there. */
void th_recorder_in_child(void);

/*
 * Writes the file, if there is a recorder, and reports it on stderr. On one of the library's
 * threads.
 */
void th_recorder_write(thrum_sched *sched);
/* The same at a stall: at most once in ten seconds. */
void th_recorder_write_stall(thrum_sched *sched);

/* Prints the scheduler's trace with names. 0, or as th_trace_read. */
int th_recorder_print(thrum_sched *sched, th_plain *out);

#endif
