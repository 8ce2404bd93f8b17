/*
 * hosts.h: the simulated hosts of a test. Each has threads, descriptors and a scheduler of its own,
 * and a copy of the program's static data. The test's function runs on the first host, number 0.
 */
#ifndef HOSTS_HOSTS_H
#define HOSTS_HOSTS_H

#include "hosts/network.h"
#include "kit.h"

#define HOST_NAME 32u
#define PACKETS 1024u

typedef enum { HOST_NONE, HOST_RUNS, HOST_ENDED, HOST_CRASHED } host_state;

typedef struct sim_host {
    char name[HOST_NAME];
    host_state state;
    bool asked; /* somebody has its result */
    int result;
    uint32_t xover; /* a futex: its function has returned, or it has crashed */
    thrum_fn fn;
    void *arg;
    thrum_sched *sched;
    char *image;  /* its static data while another host's is in place; of the pages that differ */
    char *locals; /* its thread-locals, likewise */
} sim_host;

typedef enum {
    PACKET_CONNECT,
    PACKET_BYTES,
    PACKET_END,
    PACKET_RESET,
    PACKET_DATAGRAM
} packet_kind;

typedef struct packet {
    packet_kind kind;
    uint8_t from, to;
    bool waits; /* for a link that is cut or held; then `at` is the time at which it is given up */
    int64_t at;
    uint64_t number; /* in the order in which they were sent */
    unsigned flow;   /* packets of one flow arrive in order */
    unsigned size;
    unsigned datagram; /* its number (inside/datagram.c) */
    sim_flow *bytes;
    sim_file *file; /* whose connection it is about, with its serial number */
    uint64_t serial;
    th_os_address address;
} packet;

/* It is not static: each host has a copy of the program's data, but there is one network. */
typedef struct hosts {
    sim_host host[SIM_HOSTS];
    unsigned count;
    unsigned placed; /* whose data is in place */
    unsigned failed; /* on which host the run ended */
    bool *differs;   /* pages of the data that differ between hosts, in any run */
    unsigned *pages; /* a list of these */
    unsigned pages_count;
    network_link links[SIM_HOSTS][SIM_HOSTS];
    unsigned flows;
    uint64_t packets_sent;
    unsigned packets_count;
    packet packets[PACKETS];
    size_t texts_size;
    char texts[65536]; /* of a traced run, one after another: the hosts of calls */
} hosts;
extern hosts *H;

/* ---- image.c ---- */
void image_fresh(unsigned number); /* as the data is when a run begins */
void image_place(unsigned number); /* its data takes the place of the present one */

/* ---- hosts.c ---- */
void hosts_session(void);                 /* before the session's first run */
void hosts_begin(void);                   /* a run begins */
void hosts_switch_off(void);              /* the test's function has returned */
void hosts_scheduler(thrum_sched *sched); /* the caller's host has it now; NULL: no longer */
const char *hosts_name(unsigned number);
/* The number of the host with that name (NULL: the caller's), or -ENOENT. */
int kit_host_named(const char *name);
/* A point of a call on these hosts, for the report; NULL stands for every host or for none. */
void hosts_point(const char *call, const char *a, const char *b, uintptr_t after);
bool hosts_is_text(const void *object);

/* ---- threads.c ---- */
void threads_drop(unsigned host); /* they end where they are */
void threads_pause(unsigned host, bool pause);

#endif
