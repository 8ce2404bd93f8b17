/*
 * dump_json.h: pieces of a dump as JSON (dump.c) that other answers have, too.
 */
#ifndef TH_DUMP_JSON_H
#define TH_DUMP_JSON_H

#include "core/report/words.h"

/* "{"id": "7.1", "name": "reader", ...}", without its calls. */
void th_dump_add_fiber(th_text *text, const th_seen *seen);

#endif
