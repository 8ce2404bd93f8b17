/*
 * stats.h: the server's counters, and /metrics, which shows it with the scheduler's own counters.
 */
#ifndef HTTPD_STATS_H
#define HTTPD_STATS_H

struct connection;
struct stats;

/* Makes counters for the scheduler of the caller. NULL: there is no memory. */
struct stats *stats_create(void);
void stats_destroy(struct stats *stats);

/* Counts an answer by its status. Tasks call it. It never suspends. */
void stats_count(struct stats *stats, int status);

/* Answers with all counters, as Prometheus reads them. */
void stats_answer(struct connection *c);

#endif
