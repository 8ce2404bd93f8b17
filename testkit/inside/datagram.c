/*
 * datagram.c: the datagrams of a test's UDP and UNIX sockets.
 */
#include <errno.h>
#include <string.h>

#include "hosts/network.h"
#include "inside/socket.h"

/* The number of a free datagram, or -1. */
static int datagram_new(void) {
    const uint64_t used = sim_files_here()->datagrams;
    return ~used ? __builtin_ctzll(~used) : -1;
}

void sim_datagram_lost(unsigned number) {
    sim_files_here()->datagrams &= ~(UINT64_C(1) << number);
}

int sim_datagram_arrives(unsigned number, unsigned host, const th_os_address *to) {
    sim_file *other = sim_socket_find(host, TH_OS_DATAGRAMS, to);
    const th_os_address *from = &sim_rest_here()->datagrams[number].from;
    if (other && other->socket->peer.size && !th_os_address_is(&other->socket->peer, from)) {
        other = NULL;
    }
    if (!other || other->socket->waiting == QUEUE) {
        sim_datagram_lost(number);
        return other ? -EAGAIN : -ECONNREFUSED;
    }
    other->socket->queue[other->socket->waiting++] = (uint8_t)number;
    sim_release(&other->order);
    sim_file_edge(other);
    return 0;
}

static int send_one(sim_file *file, const th_os_message *message) {
    sim_socket *me = file->socket;
    th_os_address to = message->address.size ? message->address : me->peer;
    if (!to.size || message->size > DATAGRAM_BYTES) {
        return to.size ? -EMSGSIZE : -EDESTADDRREQ;
    }
    const int host = sim_socket_reach(&to);
    int code = host < 0 ? -ENETUNREACH : sim_socket_bind_near(me, &to);
    if (code) {
        return code;
    }
    th_os_address from = sim_socket_plain(me->local);
    if (sim_socket_is_any(&from)) {
        const uint16_t port = th_os_address_port(&from);
        from = sim_socket_near(&to);
        th_os_address_set_port(&from, port);
    }
    const int number = datagram_new();
    if (number < 0) {
        return me->family == TH_OS_LOCAL ? -EAGAIN : 0; /* it is lost */
    }
    sim_datagram *d = &sim_rest_here()->datagrams[number];
    d->from = from;
    d->size = message->size;
    memcpy(d->bytes, message->data, message->size);
    sim_files_here()->datagrams |= UINT64_C(1) << number;
    if (host != (int)file->host) {
        network_datagram((unsigned)number, file->host, (unsigned)host, &to);
        return 0;
    }
    code = sim_datagram_arrives((unsigned)number, (unsigned)host, &to);
    if (code == -ECONNREFUSED) { /* the sender hears of it if it is connected */
        file->error = me->peer.size ? ECONNREFUSED : 0;
    }
    return me->family == TH_OS_LOCAL ? code : 0;
}

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
    unsigned sent = 0;
    const int fault = file && n ? sim_fault(SIM_FAULT_WRITE) : 0;
    if (fault < 0) {
        return fault;
    }
    while (file && sent < n && (code = send_one(file, &messages[sent])) == 0) {
        sent++;
    }
    return sent ? (int)sent : code;
}

int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
    if (!file) {
        return code;
    }
    sim_socket *me = file->socket;
    const int fault = me->waiting && n ? sim_fault(SIM_FAULT_READ) : 0;
    if (fault < 0) {
        return fault;
    }
    unsigned got = 0;
    for (; got < n && me->waiting; got++) {
        th_os_message *message = &messages[got];
        const unsigned number = me->queue[0];
        const sim_datagram *d = &sim_rest_here()->datagrams[number];
        message->length = d->size;
        memcpy(message->data, d->bytes, d->size < message->size ? d->size : message->size);
        message->address = d->from.size ? sim_socket_shown(d->from, me->family) : d->from;
        memmove(me->queue, me->queue + 1, --me->waiting);
        sim_files_here()->datagrams &= ~(UINT64_C(1) << number);
    }
    sim_acquire(&file->order);
    if (got == 0 && file->error) {
        code = -file->error;
        file->error = 0;
    }
    return got ? (int)got : code ? code : -EAGAIN;
}

/* Descriptors are not passed in a test. */
int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n) {
    (void)fds;
    return n ? -ENOSYS : th_os_io_write(fd, TH_OS_STREAM, from, size);
}

int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n) {
    (void)fds;
    *n = 0;
    return th_os_io_read(fd, TH_OS_STREAM, to, size);
}
