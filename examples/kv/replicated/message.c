/*
 * message.c: see message.h.
 */
#include "message.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

static thrum_io inbox, outboxes[REPLICAS];

/* Dials a replica. Its name may be unknown until its machine has started. */
static int open_outbox(thrum_io *outbox, const char *host) {
    char address[THRUM_ADDRESS_TEXT];
    int err;
    snprintf(address, sizeof address, "udp:%s", host);
    while ((err = thrum_dial(outbox, address, THRUM_FOREVER)) == -ENOENT) {
        err = thrum_sleep(THRUM_MS(50));
        if (err != 0) {
            return err;
        }
    }
    return err;
}

int messages_open(const char *const hosts[REPLICAS], unsigned me) {
    char address[THRUM_ADDRESS_TEXT];
    snprintf(address, sizeof address, "udp:%s", hosts[me]);
    int err = thrum_listen(&inbox, address, NULL);
    for (unsigned i = 0; i < REPLICAS && err == 0; i++) {
        err = open_outbox(&outboxes[i], hosts[i]);
    }
    return err;
}

void message_send(unsigned to, const struct message *m) {
    (void)!thrum_send_to(outboxes[to], m, offsetof(struct message, request) + m->size, NULL,
                         thrum_after(THRUM_MS(1)));
}

int message_receive(struct message *m, thrum_time deadline) {
    const int64_t head = (int64_t)offsetof(struct message, request);
    const int64_t n = thrum_receive_from(inbox, m, sizeof *m, NULL, deadline);
    if (n < 0) {
        return (int)n;
    }
    const bool is_whole = n >= head && m->size <= REQUEST_MAX && n == head + m->size;
    return is_whole && m->from < REPLICAS ? 0 : -EBADMSG;
}
