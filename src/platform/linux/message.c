/*
 * message.c: several messages of a socket at a call.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "platform/linux/optional.h"
#include "platform/unix/interrupted.h"

#define AT_ONCE 16u /* messages of one call of the system */

typedef struct batch {
    struct mmsghdr headers[AT_ONCE];
    struct iovec parts[AT_ONCE];
} batch;

/* The messages as the system takes them; `room`: whole addresses may be written to them. */
static void fill(batch *b, const th_os_message messages[], unsigned n, bool room) {
    for (unsigned i = 0; i < n; i++) {
        const th_os_message *m = &messages[i];
        const uint32_t size = room ? (uint32_t)sizeof m->address.words : m->address.size;
        b->parts[i] = (struct iovec){m->data, m->size};
        b->headers[i].msg_len = 0;
        b->headers[i].msg_hdr = (struct msghdr){
            .msg_name = size ? (void *)(uintptr_t)m->address.words : NULL,
            .msg_namelen = size,
            .msg_iov = &b->parts[i],
            .msg_iovlen = 1,
        };
    }
}

int th_system_send_some(int fd, const th_os_message messages[], unsigned n) {
    static uint32_t xanswer;
    batch b;
    n = n < AT_ONCE ? n : AT_ONCE;
    n = n > 1 && th_call_is_taken(&xanswer, SYS_sendmmsg) ? n : 1;
    fill(&b, messages, n, false);
    if (n == 1) {
        int64_t sent = RETRY(sendmsg(fd, &b.headers[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL));
        return sent < 0 ? (int)sent : 1;
    }
    return (int)RETRY(sendmmsg(fd, b.headers, n, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* With MSG_TRUNC the system returns the full length of a message that did not fit. */
int th_system_receive_some(int fd, th_os_message messages[], unsigned n) {
    static uint32_t xanswer;
    batch b;
    int64_t got;
    n = n < AT_ONCE ? n : AT_ONCE;
    n = n > 1 && th_call_is_taken(&xanswer, SYS_recvmmsg) ? n : 1;
    fill(&b, messages, n, true);
    if (n == 1) {
        got = RETRY(recvmsg(fd, &b.headers[0].msg_hdr, MSG_DONTWAIT | MSG_TRUNC));
        b.headers[0].msg_len = got > 0 ? (unsigned)got : 0;
        got = got < 0 ? got : 1;
    } else {
        got = RETRY(recvmmsg(fd, b.headers, n, MSG_DONTWAIT | MSG_TRUNC, NULL));
    }
    for (int64_t i = 0; i < got; i++) {
        const uint32_t size = b.headers[i].msg_hdr.msg_namelen;
        const uint32_t most = sizeof messages[i].address.words;
        messages[i].length = b.headers[i].msg_len;
        messages[i].address.zero = 0;
        messages[i].address.size = size < most ? size : most;
    }
    return (int)got;
}
