/*
 * page.h: the page at / of a folder without an index.html.
 */
#ifndef HTTPD_PAGE_H
#define HTTPD_PAGE_H

#include "connection.h"

/* What the server is, and its figures and workers as they change. */
void page_answer(struct connection *c);

#endif
