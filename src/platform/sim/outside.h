/*
 * outside.h: the surroundings of the program, for the simulator's worlds: descriptors to begin
 * with, and other processes at their other ends.
 *
 * The actions of another process order nothing among the program's threads, though one of them
 * plays it: a thread that gets its bytes does not see the playing thread's writes. (Events carry
 * the writes of the program's own calls, as ever.)
 */
#ifndef TH_SIM_OUTSIDE_H
#define TH_SIM_OUTSIDE_H

#include "platform/platform.h"

typedef struct sim_file sim_file;

/* Bytes that a pipe holds, and a socket in each direction: in worlds few, so it is soon full. */
#define SIM_ROOM (TH_KIT ? 4096u : 4u)

/*
 * Descriptors of the program, by calls of its own: the lowest free numbers, from 3 on. Calls on
 * them would wait, which ends the run, unless they are set not to (th_os_io_nonblocking; sockets
 * need that for accepting alone).
 */
void sim_pipe(int fds[2]);                           /* the first reads, the second writes */
void sim_pair(th_os_kind kind, int fds[2]);          /* TH_OS_TCP or TH_OS_STREAM */
int sim_listener(th_os_kind kind, unsigned backlog); /* of four connections at most */
int sim_regular(void);                               /* a file: always ready, in no set */
int sim_dup(int fd);

/* How many numbers are taken. Wake-ups and sets have numbers, too: a set has two. */
unsigned sim_descriptors(void);

/*
 * For a world's `asleep`, and no steps: the word on which a thread sleeps that waits for the set,
 * which must be open (sim_sleeps_until); whether a wait would fetch an event.
 */
const void *sim_set_word(const th_os_pollset *set);
bool sim_set_has_event(const th_os_pollset *set);

/* ---- other processes ---- */

/* A descriptor of another process; NULL: none. */
typedef sim_file *sim_end;

/* Gives the descriptor to another process: its number is free. */
sim_end sim_outside(int fd);
/* Another process connects; NULL: it is no listener any longer, or its backlog is full. */
sim_end sim_connect(int listener);
/* As th_os_io_read and _write; they do not wait. */
int64_t sim_outside_read(sim_end end, void *to, size_t size);
int64_t sim_outside_write(sim_end end, const void *from, size_t size);
/* Waits until the end is ready for one of the bits. */
void sim_outside_wait(sim_end end, unsigned bits);
void sim_outside_shutdown(sim_end end, unsigned bits);
void sim_outside_close(sim_end end);

#endif
