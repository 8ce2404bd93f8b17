/*
 * answer.h: an answer: its status, its fields, its body.
 *
 *     answer_begin(c, 200);
 *     answer_field(c, "Content-Type", "text/plain");
 *     answer_body(c, text, size);
 *
 * It goes to the connection's output, where an error sticks: none of these returns one.
 */
#ifndef HTTPD_ANSWER_H
#define HTTPD_ANSWER_H

#include "connection.h"

/*
 * Begins an answer: its status, the date, and whether the connection goes on. Any status from 100
 * to 999 goes out as it is, with its reason if answer.c knows it, else without one. Any other
 * number goes out, and into the log, as 500.
 */
void answer_begin(struct connection *c, int status);

/* Adds a field. The value must not have an end of line in it. */
void answer_field(struct connection *c, const char *name, const char *value);

/*
 * Ends the fields with the length of the body. Returns whether it is to be sent: not for HEAD, and
 * not with 204, which has no length either.
 */
bool answer_length(struct connection *c, uint64_t length);

/* Ends the fields of an answer that has no body, and no length of one. */
void answer_end(struct connection *c);

/* Ends the fields, and sends the body. */
void answer_body(struct connection *c, const void *from, size_t size);

/* An answer with nothing but its status. */
void answer_error(struct connection *c, int status);

#endif
