/*
 * options.h: the options of the command line.
 */
#ifndef TREESUM_OPTIONS_H
#define TREESUM_OPTIONS_H

#include <stdbool.h>
#include <thrum.h>

struct options {
    bool follow, serial, stats;
    unsigned window;     /* bytes: tree.h */
    thrum_config config; /* workers and policy; the rest as thrum_config_init left it */
    char **paths;
    int path_count;
};

/*
 * Returns -1 when there is something to do, else the exit status: 0 after --help and --version, 2
 * (with a line on stderr) for a wrong command line.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif
