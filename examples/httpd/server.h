/*
 * server.h: the state shared by all connections. It is made by main.c before the first connection
 * and lives until the last one has ended.
 */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <stdatomic.h>
#include <thrum.h>

#include "options.h"

struct log;
struct secret;
struct stats;

struct server {
    const struct options *options;
    thrum_sched *sched;
    thrum_io listener;
    int root;                 /* the directory with the files; -1: none */
    unsigned connections_max; /* at a time: fewer than asked for where descriptors are few */
    thrum_event ending;       /* the server has been asked to end */
    struct secret *secret;    /* NULL: connections are not encrypted */
    struct log *log;          /* NULL: none */
    bool is_stuck;            /* the log's writer cannot be ended; at the end */
    struct stats *stats;
    atomic_uint xconnections; /* that there are */
    atomic_size_t xbodies;    /* bytes of bodies in memory */
};

#endif
