/*
 * dump_json.h: the common parts of dumps (dump.c) and other answers.
 */
#ifndef TH_DUMP_JSON_H
#define TH_DUMP_JSON_H

#include <stdio.h>

#include "core/report/words.h"

/* A text that goes to a stream; the printing caller checks the stream at its end. */
th_text th_dump_text(const thrum_sched *sched, FILE *out);

/* The metrics, or a dump, of the text's scheduler as a JSON object. */
void th_metrics_add(th_text *text);
void th_dump_add(th_text *text);

/* "{"id": "7.1", "name": "reader", ...}", without its calls. */
void th_dump_add_fiber(th_text *text, const th_seen *seen);

#endif
