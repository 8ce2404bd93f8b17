/*
 * capacity.h: how many connections there can be.
 *
 * A server that runs out of descriptors can accept nothing, and open no file. So it asks for as
 * many as it may have, and takes only so many connections that each can have a file open besides.
 */
#ifndef HTTPD_CAPACITY_H
#define HTTPD_CAPACITY_H

#include <thrum/sched.h>

/*
 * Raises the process's limit of descriptors as far as it may go, and returns how many connections
 * there can be at a time: `wanted`, or fewer, at least 1. Any thread may call it. It never
 * suspends.
 */
unsigned capacity_connections(const thrum_sched *sched, size_t wanted);

#endif
