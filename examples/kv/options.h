/*
 * options.h: the options of the command line.
 */
#ifndef KV_OPTIONS_H
#define KV_OPTIONS_H

#include <stddef.h>
#include <thrum.h>

struct options {
    const char *address;
    size_t memory_max;    /* bytes that keys, values and their tables may take together */
    size_t value_max;     /* the longest argument of a request */
    size_t request_max;   /* the longest request */
    size_t requests_max;  /* bytes that long requests may take together until they are answered */
    unsigned connections; /* at a time */
    thrum_time idle;      /* how long a client may be silent */
    thrum_time patience;  /* how long it may take to read an answer */
    thrum_time drain;     /* how long connections may go on at the end */
};

/*
 * Returns -1 when there is something to do, else the exit status: 0 after -h, 2 (with a line on
 * stderr) for a wrong command line.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif
