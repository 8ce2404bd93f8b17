/*
 * files.h: the objects of the simulator's descriptors: byte pipes, sockets, listeners, wake-ups,
 * sets.
 *
 * A number names an open file; duplicates name the same one. A file lives as long as numbers name
 * it or calls are inside. All of it lies in the system's own memory and is empty when a run begins.
 * Files are found by their place there, not by an address; numbers are given lowest first.
 *
 * Steps. A transfer is one step; the edges that come of it are another, later one, as the kernel
 * wakes after it has left its lock. A close frees the number in one step, and leaves the sets and
 * tells the other side in the next: between them the number may be given again. All other calls are
 * one step.
 *
 * Order. A call releases what its thread did before into what it changes, and acquires from what it
 * sees: a read from each byte's write, a write from the reads that made its room, an event from all
 * that made the file ready (and from the calls that found it not ready before), a new number from
 * the close that freed it. What is told of a number is seen as by a relaxed load: a fence behind
 * it acquires what the call did that gave the number out. Nothing else is ordered: a call is no
 * fence, and a false event carries nothing but what its descriptor was added with.
 */
#ifndef TH_SIM_FILES_H
#define TH_SIM_FILES_H

#include "platform/platform.h"

#include "platform/sim/controller.h"
#include "platform/sim/outside.h"

#define SIM_NUMBER_FIRST 3
#define SIM_NUMBERS (TH_KIT ? 256u : 32u)
#define SIM_FILES (TH_KIT ? 256u : 40u)
#define SIM_FLOWS (TH_KIT ? 256u : 40u)
#define SIM_BACKLOG (TH_KIT ? 16u : 4u)
#define SIM_SLOTS (TH_KIT ? 1u : SIM_ROOM) /* the bytes of a flow have so many orders */
#define SIM_SETS (TH_KIT ? 32u : 8u)
#define SIM_ITEMS (TH_KIT ? 128u : 16u)
#define SIM_POLLS (TH_KIT ? 16u : 8u)
#define SIM_RINGS 4u
#define SIM_TRANSFERS 4u

/* A file's readiness, in the kernel's words. */
#define SIM_READY_IN 1u
#define SIM_READY_OUT 2u
#define SIM_READY_ENDED 4u  /* the other side sends nothing more */
#define SIM_READY_GONE 8u   /* nor does this one */
#define SIM_READY_ERROR 16u /* an error waits, or nobody reads any longer */

/* Bytes on their way in one direction. */
typedef struct sim_flow {
    sim_file *reader; /* NULL: closed */
    sim_file *writer;
    unsigned first, count;
    bool used;
    bool ended;         /* no byte comes after the present ones: writes are refused */
    bool closing;       /* to another host: writes are refused; its end may be on its way */
    unsigned far;       /* the number of a flow to another host of a test, or 0 */
    unsigned flight;    /* bytes behind the others that have not arrived there yet */
    bool starved;       /* a writer found no room: it is notified when there is some */
    bool fresh;         /* the reader is to be notified of bytes */
    uint8_t *bytes;     /* SIM_ROOM */
    sim_order readable; /* goes along with events for the reader */
    sim_order writable; /* for the writer */
    sim_order end;      /* with the end */
    sim_order slots[SIM_SLOTS];
} sim_flow;

typedef enum sim_kind {
    SIM_NOTHING,
    SIM_PIPE, /* one end of it */
    SIM_SOCKET,
    SIM_LISTENER,
    SIM_WAKEUP,
    SIM_ALARM,
    SIM_SET,
    SIM_RING,
    SIM_REGULAR, /* always ready */
    SIM_FRESH,   /* a socket of a test that neither listens nor is connected */
    SIM_DATAGRAMS
} sim_kind;

/* A descriptor in a set: it is known by its number and its file together. */
typedef struct sim_item {
    sim_file *file; /* NULL: a free place */
    int fd;
    uint64_t key;
    uint64_t turn; /* items that came first are reported first */
    /* reported in each wait as long as it is ready; the others only when pending */
    bool level;
    bool pending;    /* there was an edge that no wait has fetched */
    bool lies;       /* the event is false */
    sim_order added; /* goes along with each event */
} sim_item;

typedef struct sim_socket sim_socket; /* testkit/inside/socket.c */
typedef struct sim_opened sim_opened; /* testkit/disk/disk.h */

typedef struct sim_set {
    bool used;
    uint32_t word; /* its waiters sleep on this */
    uint64_t turns;
    unsigned high;   /* so many items were in use at once */
    sim_item *items; /* SIM_ITEMS */
} sim_set;

/* A transfer that the system makes by itself. Its memory is written when its end is taken. */
typedef struct sim_transfer {
    th_os_transfer asked;
    uint64_t key;
    int64_t at; /* when it ends; INT64_MAX: the place is free, or it has not begun */
    bool put;   /* it has not begun */
    int64_t result;
    bool told; /* its end has given its event */
    sim_order order;
} sim_transfer;

typedef struct sim_ring {
    bool used;
    uint32_t word; /* its waiters sleep on this */
    sim_transfer transfers[SIM_TRANSFERS];
} sim_ring;

struct sim_file {
    sim_kind kind;
    th_os_kind as;       /* as calls see it */
    uint8_t host;        /* a test's host that it belongs to */
    unsigned references; /* numbers, other processes, calls that are inside */
    bool nonblocking;
    bool broken;     /* a socket: the connection was reset */
    bool resets;     /* its close resets the connection */
    bool deaf;       /* a listener that was shut down */
    bool connecting; /* to another host of a test; there is no answer yet */
    int error;       /* the next call on the socket gets it */
    uint64_t serial; /* its inode */
    uint64_t count;  /* of a wake-up */
    int64_t at;      /* when an alarm goes off */
    sim_flow *in;
    sim_flow *out;
    sim_file *peer;
    sim_set *set;
    sim_ring *ring;
    sim_socket *socket; /* of a test; NULL in worlds */
    sim_opened *opened; /* a file of a test, likewise */
    /* of such a file: reads or writes at its position */
    int64_t (*transfer)(sim_file *file, void *bytes, size_t size, bool write);
    bool (*ready)(sim_file *file);      /* whether anything can be taken: sets, rings, ... */
    void (*seen)(const sim_file *file); /* sets: the caller has seen that it is ready */
    void (*close)(sim_file *file);      /* a ring, a test's socket */
    sim_file *backlog[SIM_BACKLOG];
    unsigned waiting, waiting_max;
    sim_order order;  /* a listener's, a wake-up's: goes along with its events */
    sim_order closed; /* the writes of threads that closed a number of it */
};

/* A thread that waits for one descriptor and a wake-up, or for one of several sets. */
typedef struct sim_poll {
    sim_file *file, *wakeup;
    uint32_t *at; /* the word that it sleeps on: `word`, or that of its own set */
    uint32_t word;
} sim_poll;

typedef struct sim_number {
    sim_file *file;
    sim_order closed; /* goes along with the number when it is given again */
    sim_order given;  /* with reports about it */
} sim_number;

typedef struct sim_files {
    sim_number numbers[SIM_HOSTS][SIM_NUMBERS];
    sim_file files[SIM_FILES];
    sim_flow flows[SIM_FLOWS];
    sim_set sets[SIM_SETS];
    sim_poll polls[SIM_POLLS];
    sim_ring rings[SIM_RINGS];
    uint64_t serials;
    uint64_t datagrams; /* a bit of each that is on its way (testkit/inside/socket.c) */
    unsigned ports;     /* how many were chosen by the system */
    bool outside;       /* the call is another process's: it orders none of the program's threads */
    /* The last field, as it is not zero when a run begins: that would take long. */
    sim_item items[SIM_SETS][SIM_ITEMS];
} sim_files;

sim_files *sim_files_here(void);

/* Adds the caller's history to the order; not if it is another process. */
void sim_release(sim_order *order);
void sim_acquire(const sim_order *order);

/* A file without a reference. The world is too large if there is no room for it. */
sim_file *sim_file_new(sim_kind kind, th_os_kind as);
sim_flow *sim_flow_new(sim_file *reader, sim_file *writer);
/* Two sockets that are connected. */
void sim_file_connect(sim_file *a, sim_file *b);
void sim_file_hold(sim_file *file);
/* Gives a reference back; the last one closes it. */
void sim_file_drop(sim_file *file);

/* The lowest number that is free now names the file; -EMFILE. */
int sim_number_give(sim_file *file);
sim_number *sim_numbers_here(void); /* those of the caller's host */
/* The file of a number, or NULL. */
sim_file *sim_number_file(int fd);
/* Whether all numbers are taken. */
bool sim_numbers_full(void);

/* The file's readiness. A file without room for a writer will report it when there is some. */
uint32_t sim_file_ready(sim_file *file);
/* The caller sees that the file is ready: it acquires the writes that made it so. */
void sim_file_seen(sim_file *file, uint32_t ready);
/* The file may be ready for more than before: its sets have an event, threads that poll it look. */
void sim_file_edge(sim_file *file);
/* The bits of an event. */
uint32_t sim_file_bits(uint32_t ready);
/*
 * After a transfer: notifies the other side of bytes, or of room if it found none before. Others
 * may take steps meanwhile; the caller holds the file.
 */
void sim_file_tell(sim_file *file);

/* Whether writes to it are refused. The end of a flow to another host is the reader's alone. */
static inline bool sim_flow_refuses(const sim_flow *flow) {
    return flow->closing || (flow->ended && !flow->far);
}
/* The connection is broken, and the file's next call gets the error. */
void sim_file_reset(sim_file *file, int error);

/* Between hosts of a test, all arrives later (testkit/hosts/network.c). */
#if TH_KIT
void sim_far_bytes(sim_flow *flow, unsigned n);
void sim_far_end(sim_flow *flow);
void sim_far_reset(const sim_file *from, const sim_file *peer);
#else
static inline void sim_far_bytes(sim_flow *flow, unsigned n) {
    (void)flow, (void)n;
}
static inline void sim_far_end(sim_flow *flow) {
    (void)flow;
}
static inline void sim_far_reset(const sim_file *from, const sim_file *peer) {
    (void)from, (void)peer;
}
#endif

/* Whether a wait on the set would fetch an event. */
bool sim_set_ready(sim_file *set);
/* When the next transfer of a ring ends that did not give its event yet; INT64_MAX: none. */
int64_t sim_ring_next(const sim_file *file);
/* Transfers that have ended by now give their events. */
void sim_ring_tell(sim_file *file);

/* The set of a call; it must be open. */
sim_file *sim_set_file(const th_os_pollset *set);

/* The calls of descriptor.c, on a file; sim_file_tell follows a transfer. */
int64_t sim_file_read(sim_file *file, void *to, size_t size);
int64_t sim_file_write(sim_file *file, const void *from, size_t size);
int sim_file_shutdown(sim_file *file, unsigned bits);
/* Waits until the file is ready for one of the bits; th_os_io_poll has the rest. */
uint32_t sim_file_poll(sim_file *file, unsigned bits, sim_file *wakeup, int64_t deadline);

#endif
