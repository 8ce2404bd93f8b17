/*
 * samples.h: which functions the workers of a scheduler spend their time in, by looking at them
 * from time to time. observe/OBSERVE.md has the samplers, their times and their cost.
 *
 * Words:      a *sample* is the function in which one look found one worker or bound thread. A
 *             spare worker that sleeps yields none.
 * Invariants: the table has TH_SAMPLED_MAX entries and never grows; samples without room are
 *             counted together. Without looks nothing is counted, and no worker executes an extra
 *             instruction.
 */
#ifndef TH_SAMPLES_H
#define TH_SAMPLES_H

#include "core/report/words.h"

#define TH_SAMPLED_MAX TH_LIMIT(64u, 4u)

/* How often tasks of one function, or nodes of graphs of one name, were found running. */
typedef struct th_sampled {
    uintptr_t fn; /* 0: nodes of graphs */
    uint64_t samples;
    char name[THRUM_NAME_MAX + 1]; /* if there is no function; may be empty */
    char text[TH_CALL_TEXT];       /* the function's name; empty: it was not asked for yet */
} th_sampled;

/* All 0 to begin with. */
typedef struct th_samples {
    uint64_t samples; /* all of them: the sum of the next ones and of the table */
    uint64_t idle;    /* the worker slept */
    uint64_t own;     /* it was awake, and in no task */
    uint64_t others;  /* it was in a task that the table had no room for */
    unsigned count;
    th_sampled table[TH_SAMPLED_MAX];
} th_samples;

/* One look at all workers and bound threads. Takes the lock of bound threads for a moment. */
void th_samples_look(thrum_sched *sched, th_samples *samples);

/* Adds the findings as JSON without braces: ""samples": 9, ..., "function": [...]". */
void th_samples_add(th_text *text, th_samples *samples);

#endif
