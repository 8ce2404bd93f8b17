/*
 * options.h: the options of the command line, and every limit of the server.
 */
#ifndef HTTPD_OPTIONS_H
#define HTTPD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <thrum.h>

struct options {
    const char *address; /* as thrum_listen takes it */
    const char *root;    /* the directory with the files; NULL: none are served */
    const char *chain;   /* the file of the certificate; NULL: no TLS */
    const char *key;     /* the file of its key */
    const char *trace;   /* the file for a trace; NULL: none is made */
    bool quiet;          /* no access log */
    unsigned workers;    /* 0: one a CPU */

    size_t connections; /* at a time */
    size_t head;        /* bytes of a request line with its fields and trailers: 414 or 431 */
    size_t body;        /* bytes of a request's body: 413; its chunk sizes and extensions may take
                         * as many, and `head` more */
    size_t bodies;      /* bytes of all bodies that are in memory at a time: 503 */

    thrum_time head_time;        /* from the first byte of a request to the end of its head: 408 */
    thrum_time body_time;        /* from there to the end of its body: 408 */
    thrum_time write_time;       /* for the peer to take a piece of an answer (output.h) */
    thrum_time idle_time;        /* between two requests */
    thrum_time drain_time;       /* for requests that have begun, once the server ends */
    thrum_time linger_time;      /* to read and drop data after a refusal, in all */
    thrum_time linger_idle_time; /* the same, while nothing comes */
};

/*
 * Returns -1 when there is something to do, else the exit status: 0 after --help, 2 (with a line on
 * stderr) for a wrong command line. The texts are those of argv.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif
