/*
 * crew.h: the threads and fibers that play the parts of a world about waiting. A part is a function
 * that uses a primitive; one and the same play is given by plain threads, by fibers and threads in
 * any mixture, and on a whole scheduler.
 *
 * The fibers of a mixture run on two workers of a scheduler that is all ready list: the library's
 * own th_suspend, th_commit and th_ready, and nothing else, so that a run is short.
 */
#ifndef CREW_H
#define CREW_H

#include <stddef.h>

#include <thrum.h>

#include "sim.h"

#define CREW_MAX 4

typedef struct crew_play {
    void (*before)(void); /* called alone: it makes the objects */
    void (*after)(void);  /* called alone, when all parts have ended; may be NULL */
    unsigned n;
    void (*parts[CREW_MAX])(void *unused);
} crew_play;

void crew_threads(const crew_play *play);
void crew_mixed(const crew_play *play); /* a decision of the run selects the threads */
void crew_io(const crew_play *play);    /* a mixture that waits for descriptors: see below */
void crew_sched(const crew_play *play); /* tasks of a scheduler; the last part may be a thread */

/*
 * In crew_io a thread of its own waits for the descriptors of all fibers. `before` has opened the
 * set: it has joined a descriptor by the scheduler (crew_bare_sched). Descriptors that the parts
 * leave joined are taken out when `after` has been called.
 */

/* A scheduler of 2 workers that is started and stopped in the usual way. */
thrum_sched *crew_sched_start(void);

/* A scheduler that has memory and a config and nothing else, for code that needs only these. */
thrum_sched *crew_bare_sched(void);

/*
 * Timers in zeroed memory, unseen by the simulator: a wheel has so many lists that a run would do
 * little else.
 */
typedef struct th_timers th_timers;
typedef struct th_worker th_worker;
void crew_timers_init(th_timers *timers, th_worker *owner);

/*
 * Overwrites the stack below the caller's frame, where the frames of the calls before were. A
 * thread that still touches a waiter that has returned from there races with this.
 */
void crew_scrub(void);

/*
 * In mode tso a thread's own store to a frame that has gone may reach memory late and hit a value
 * that the compiler keeps there meanwhile, which the simulator does not see (processors keep that
 * order). A part that frees an object right after a wait does so by a call from below the frames of
 * the wait.
 */
#define CREW_BELOW()                                                                               \
    char below_[512];                                                                              \
    __asm__ volatile("" : : "r"(below_) : "memory")

/* Waits, a little each time, for another part's next action. It orders nothing. */
#define crew_until(cond)                                                                           \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            crew_give_way();                                                                       \
        }                                                                                          \
    } while (0)
void crew_give_way(void);

/* The two cheap performances of a play; a `.heavy` one is written where it is wanted. */
#define CREW_WORLDS(name, play, ...)                                                               \
    SIM_WORLD(name##_threads, __VA_ARGS__) {                                                       \
        crew_threads(&(play));                                                                     \
    }                                                                                              \
    SIM_WORLD(name##_mixed) {                                                                      \
        crew_mixed(&(play));                                                                       \
    }
#define CREW_WORLD_SCHED(name, play)                                                               \
    SIM_WORLD(name##_sched, .heavy = true) {                                                       \
        crew_sched(&(play));                                                                       \
    }

#endif
