/*
 * chain.h: the words for waits in a cycle (cycle.h), in dumps and reports.
 */
#ifndef TH_CHAIN_H
#define TH_CHAIN_H

#include "core/report/cycle.h"
#include "core/report/words.h"

#define TH_CHAIN_MAX TH_LIMIT(32u, 4u) /* reported members of one cycle */

/*
 * A member as reported; false: its wait has ended since, by a cancel. With the text's backtrace if
 * `calls` (then it is number 0 there). Takes th_cancel_lock.
 */
bool th_chain_see(th_text *text, const th_edge *edge, bool calls, th_seen *out);

/* "  2 wait for each other in a cycle:", and their lines, for each cycle. NULL: there is none. */
void th_chains_add(th_text *text, const th_cycles *cycles);

/* The report of one cycle by itself. */
void th_report_cycle(th_text *text, const th_cycles *cycles, unsigned i);

#endif
