/*
 * system.h: the differences between systems, beside files (beneath.h).
 */
#ifndef HTTPD_SYSTEM_H
#define HTTPD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * First call in main: stdin, stdout and stderr are there, a write that the peer does not take is an
 * error and no signal, and the arguments are in UTF-8.
 */
void system_begin(int *argc, char ***argv);

/* ---- signals ---- */

enum { SYSTEM_SIGNALS = 3 };

/*
 * Writes the signals to be caught, and returns their number: the signals that end the server; and,
 * if it can reload something, the signal for that, if the system has one.
 */
unsigned system_signals(bool reloads, int signals[SYSTEM_SIGNALS]);

bool system_is_reload(int signal);

/* ---- descriptors ---- */

/* As many as this process may have open, raised as far as it may go. */
uint64_t system_descriptors(void);

/* Whether a listener has somebody to accept. It does not wait. */
bool system_is_readable(int socket);

/* Whether bytes have come to a socket. It does not wait. */
bool system_has_come(int socket);

/* Whether stderr takes a line at once, as far as the system reports it. */
bool system_takes_stderr(void);

/*
 * Sends some of a file by itself, and does not wait for the other side, except for the disk: how
 * many bytes, 0 when the file ends there, -EAGAIN, -ENOSYS where the system cannot do that, or an
 * error.
 */
int system_send_file(int socket, int file, uint64_t offset, size_t size);

/* Whether a text is an IPv6 address, without brackets and without a zone. */
bool system_is_ipv6(const char *text);

/* ---- streams ---- */

/* A file to be written, from its beginning; the name is in UTF-8. NULL: errno has the reason. */
FILE *system_create(const char *path);

/* A text that is made by printing. */
struct system_text {
    char *data; /* for free() */
    size_t size;
};

/* NULL: it cannot be had. Both may block the thread. */
FILE *system_text_begin(struct system_text *text);
/* Ends it. False: it is not whole. */
bool system_text_end(struct system_text *text, FILE *stream);

#endif
