/*
 * probe.h: the part of the platform's contract that queries the activity of a running thread, by a
 * signal to that thread. Included by platform.h.
 *
 * The thread's handler copies its position, and the contents of its stack, for the asker. It runs
 * on the thread's alternate stack and takes no lock. One question is asked at a time in the
 * process.
 */
#ifndef TH_PROBE_H
#define TH_PROBE_H

#include "base/cc.h"

/* The part copied of a stack, from the stack pointer on. */
#define TH_OS_PROBE_WORDS ((size_t)1024)

typedef struct th_os_question {
    uint64_t number; /* the system's number of the thread, which lives and admits the signal */
    uintptr_t low;   /* the stack on which it is expected to be: its lowest byte */
    uintptr_t high;  /* and the first byte above it. All of it stays mapped */
    const uint64_t *xtick; /* a word, and its value as long as the answer is wanted */
    uint64_t tick;
} th_os_question;

/* All of the thread at one moment. */
typedef struct th_os_answer {
    uintptr_t at;    /* the address of the instruction that comes next */
    uintptr_t after; /* the address to which a function returns that calls no other, or 0 */
    size_t count;    /* words in the next field */
    uintptr_t words[TH_OS_PROBE_WORDS];
} th_os_answer;

/*
 * Takes a signal for questions, for the process: this number, or, for 0, a real-time signal that
 * has its default action, that the caller does not block and that is not `but`. Returns the number,
 * or -EINVAL (no such signal, or one that cannot be caught or belongs to faults), -EBUSY (the
 * program has set an action, or uses all of them), -ENOSYS (not known how to read the registers of
 * this processor). Signals of that number from others are ignored while it is taken.
 */
int th_os_probe_open(int number, int but);
/* As before the open, when each has been closed. No thread that admits the signal may be left. */
void th_os_probe_close(int number);
/* The calling thread, one of the library's with an alternate stack, takes the signal from now on.
 */
void th_os_probe_admit(int number);

/*
 * Asks, and waits until `deadline` for the answer. 0, or -ESRCH (the word has changed, or the
 * thread is on another stack), -ETIMEDOUT (no answer came, or another question is being asked),
 * -EBUSY (the program has put another action in place by now), or the system's code.
 */
int th_os_probe(int number, const th_os_question *question, int64_t deadline, th_os_answer *out);

/* Called around a fork of the process (by th_os_at_fork), and after it in the child. */
void th_os_probe_lock(void);
void th_os_probe_unlock(void);
void th_os_probe_forked(void);

#endif
