/*
 * hello.h: the least of HTTP that a load needs, the same for the bare loop and for thrum: GETs
 * without a body, each answered by the same text. The input is cut at the ends of the heads;
 * nothing is checked, so this is no server for the world (examples/httpd is one).
 */
#ifndef BENCH_PEERS_SERVERS_HELLO_H
#define BENCH_PEERS_SERVERS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* As many requests as are answered by one write. */
#define HELLO_ROOM 32u

static const char hello_answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                   "Content-Length: 14\r\n\r\nHello, world!\n";

/* The bytes of one. */
#define HELLO_SIZE (sizeof hello_answer - 1)

/*
 * Looks for whole requests in text[0 .. n), at most HELLO_ROOM of them. Returns how many there are,
 * in `*used` their bytes, and in `*last` whether the connection ends after the last one.
 */
static inline unsigned hello_requests(const char *text, size_t n, size_t *used, bool *last) {
    const char *at = text, *end;
    unsigned found = 0;
    *last = false;
    while (found < HELLO_ROOM && !*last &&
           (end = memmem(at, n - (size_t)(at - text), "\r\n\r\n", 4)) != NULL) {
        *last = memmem(at, (size_t)(end - at), "Connection: close", 17) != NULL;
        at = end + 4;
        found++;
    }
    *used = (size_t)(at - text);
    return found;
}

/* HELLO_ROOM answers, one behind the other, made at the first call: of them a write takes some. */
static inline const char *hello_answers(void) {
    static char all[HELLO_ROOM * HELLO_SIZE];
    if (all[0] == '\0') {
        for (unsigned i = 0; i < HELLO_ROOM; i++) {
            memcpy(all + i * HELLO_SIZE, hello_answer, HELLO_SIZE);
        }
    }
    return all;
}

#endif
