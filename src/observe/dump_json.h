/*
 * dump_json.h: the common parts of dumps (dump.c) and other answers.
 */
#ifndef TH_DUMP_JSON_H
#define TH_DUMP_JSON_H

#include <stdio.h>

#include "core/report/words.h"
#include "thrum/metrics.h"

/* How each format of thrum_format is made. */
#define TH_DUMP_FORMATS (THRUM_JSON + 1)
typedef void (*th_dump_adder)(th_text *text);

/* Prints to a stream in one of the formats: as thrum_dump returns. */
int th_dump_print(const thrum_sched *sched, FILE *out, thrum_format format,
                  const th_dump_adder adders[TH_DUMP_FORMATS]);

/* The metrics, or a dump, of the text's scheduler as a JSON object. */
void th_metrics_add(th_text *text);
void th_dump_add(th_text *text);

/* Without a closing brace: "{"id": "7.1", "name": "reader"", or "{"thread": 0". */
void th_dump_add_who(th_text *text, bool root, unsigned worker, uint64_t id, const char *name);

/* "{"id": "7.1", "name": "reader", ...}", without its calls. */
void th_dump_add_fiber(th_text *text, const th_seen *seen);

#endif
