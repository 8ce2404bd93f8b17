/*
 * socket.c: sockets of a test: TCP, UDP and UNIX sockets between the tasks of a test, over the
 * simulator's descriptors (src/platform/sim/files.h). There is one host, whose addresses are those
 * of the loopback; bytes and datagrams arrive at once.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "platform/file.h"
#include "platform/sim/files.h"
#include "platform/socket.h"

#define PORT_FIRST 49152u /* of those that the system chooses */
#define DATAGRAMS 64u     /* on their way, in all */
#define DATAGRAM_BYTES 8192u
#define QUEUE 16u /* of a socket */

struct sim_socket {
    th_os_family family;
    th_os_style style;
    th_os_address local; /* empty: not bound */
    th_os_address peer;  /* empty: not connected */
    int64_t options[TH_OS_OPTIONS];
    unsigned waiting; /* datagrams, oldest first */
    uint8_t queue[QUEUE];
};

typedef struct datagram {
    th_os_address from;
    size_t size;
    uint8_t bytes[DATAGRAM_BYTES];
} datagram;

/* What lies behind the system's own memory, and is not zero when a run begins. */
typedef struct rest {
    uint8_t bytes[SIM_FLOWS * SIM_ROOM];
    sim_socket sockets[SIM_FILES]; /* of the file with the same place */
    datagram datagrams[DATAGRAMS];
} rest;

_Static_assert(sizeof(sim_files) + sizeof(rest) <= (size_t)SIM_KERNEL_BYTES, "it has room");

static rest *rest_here(void) {
    return (rest *)(void *)(sim_files_here() + 1);
}

/* ---- addresses ---- */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* An IPv4 address that is written as one of IPv6 as what it is. */
static th_os_address plain(th_os_address address) {
    struct sockaddr_in6 in6;
    memcpy(&in6, address.words, sizeof in6);
    if (th_os_address_family(&address) == TH_OS_IPV6 &&
        memcmp(&in6.sin6_addr, mapped, sizeof mapped) == 0) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = in6.sin6_port};
        memcpy(&in.sin_addr, (uint8_t *)&in6.sin6_addr + sizeof mapped, sizeof in.sin_addr);
        address = (th_os_address){.size = sizeof in};
        memcpy(address.words, &in, sizeof in);
    }
    return address;
}

/* As a socket of the family has it. */
static th_os_address shown(th_os_address address, th_os_family family) {
    if (family == TH_OS_IPV6 && th_os_address_family(&address) == TH_OS_IPV4) {
        struct sockaddr_in in;
        memcpy(&in, address.words, sizeof in);
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = in.sin_port};
        memcpy(&in6.sin6_addr, mapped, sizeof mapped);
        memcpy((uint8_t *)&in6.sin6_addr + sizeof mapped, &in.sin_addr, sizeof in.sin_addr);
        address = (th_os_address){.size = sizeof in6};
        memcpy(address.words, &in6, sizeof in6);
    }
    return address;
}

/* Whether it stands for all addresses of the host. */
static bool is_any(const th_os_address *address) {
    th_os_address any;
    th_os_family family = th_os_address_family(address);
    if (family != TH_OS_IPV4 && family != TH_OS_IPV6) {
        return false;
    }
    th_os_address_any(&any, family, th_os_address_port(address));
    return th_os_address_is(&any, address);
}

/* An address of this host, at which a socket can be reached; or -EADDRNOTAVAIL. */
static int reach(th_os_address *address) {
    *address = plain(*address);
    const th_os_family family = th_os_address_family(address);
    const uint16_t port = th_os_address_port(address);
    if (is_any(address)) {
        return th_os_address_numeric(address, family == TH_OS_IPV4 ? "127.0.0.1" : "::1", port);
    }
    th_os_address one;
    struct sockaddr_in in;
    memcpy(&in, address->words, sizeof in);
    (void)th_os_address_numeric(&one, "::1", port);
    return family == TH_OS_LOCAL || th_os_address_is(&one, address) ||
                   (family == TH_OS_IPV4 && ntohl(in.sin_addr.s_addr) >> 24 == 127)
               ? 0
               : -EADDRNOTAVAIL;
}

/* Whether a socket that is bound there gets what is sent to the address. */
static bool covers(const sim_socket *bound, const th_os_address *address) {
    const th_os_address local = plain(bound->local);
    if (th_os_address_is(&local, address)) {
        return true;
    }
    const bool same = th_os_address_family(&local) == th_os_address_family(address) ||
                      (bound->family == TH_OS_IPV6 && !bound->options[TH_OS_IPV6_ONLY] &&
                       th_os_address_family(address) == TH_OS_IPV4);
    return same && is_any(&local) && th_os_address_port(&local) == th_os_address_port(address);
}

/* ---- sockets ---- */

/* The file, and NULL if it is no socket; *code becomes the error. */
static sim_file *socket_file(int fd, int *code) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    *code = !file ? -EBADF : !file->socket ? -ENOTSOCK : 0;
    return *code ? NULL : file;
}

static bool has_datagram(sim_file *file) {
    return file->socket->waiting != 0;
}

static void socket_close(sim_file *file) {
    for (unsigned i = 0; i < file->socket->waiting; i++) {
        sim_files_here()->datagrams &= ~(UINT64_C(1) << file->socket->queue[i]);
    }
}

static sim_file *socket_new(th_os_family family, th_os_style style) {
    const bool bytes = style == TH_OS_BYTES;
    sim_file *file =
        sim_file_new(bytes ? SIM_FRESH : SIM_DATAGRAMS, !bytes                  ? TH_OS_DATAGRAM
                                                        : family == TH_OS_LOCAL ? TH_OS_STREAM
                                                                                : TH_OS_TCP);
    file->socket = &rest_here()->sockets[file - sim_files_here()->files];
    *file->socket = (sim_socket){.family = family, .style = style};
    file->nonblocking = true;
    file->ready = has_datagram;
    file->close = socket_close;
    return file;
}

int th_os_socket_open(th_os_family family, th_os_style style) {
    sim_call();
    if (family == TH_OS_UNNAMED || style == TH_OS_PACKETS) {
        return -EAFNOSUPPORT;
    }
    return sim_numbers_full() ? -EMFILE : sim_number_give(socket_new(family, style));
}

int th_os_socket_what(int fd, th_os_family *family, th_os_style *style) {
    int code;
    const sim_file *file = socket_file(fd, &code);
    if (file) {
        *family = file->socket->family;
        *style = file->socket->style;
    }
    return code;
}

/* Whether another socket has it for itself. */
static bool is_taken(const sim_socket *me, const th_os_address *address) {
    const sim_files *all = sim_files_here();
    const sim_socket wanted = {.family = me->family, .local = *address};
    for (unsigned i = 0; i < SIM_FILES; i++) {
        const sim_file *file = &all->files[i];
        const sim_socket *other = file->socket;
        if (file->kind == SIM_NOTHING || file->kind == SIM_SOCKET || !other || other == me ||
            other->style != me->style || !other->local.size ||
            (other->options[TH_OS_REUSE_PORT] && me->options[TH_OS_REUSE_PORT])) {
            continue;
        }
        const th_os_address theirs = plain(other->local);
        if (covers(other, address) || covers(&wanted, &theirs)) {
            return true;
        }
    }
    return false;
}

static int bind_to(sim_socket *me, th_os_address address) {
    sim_files *all = sim_files_here();
    char name[8];
    for (unsigned tries = 0; tries < UINT16_MAX - PORT_FIRST; tries++) {
        const unsigned n = all->ports++ % (UINT16_MAX - PORT_FIRST);
        if (me->family == TH_OS_LOCAL) {
            for (unsigned i = 0; i < 5; i++) {
                name[i] = "0123456789abcdef"[n >> (16 - 4 * i) & 15];
            }
            (void)th_os_address_local(&address, name, 5, true);
        } else {
            th_os_address_set_port(&address, (uint16_t)(PORT_FIRST + n));
        }
        if (!is_taken(me, &address)) {
            me->local = address;
            return 0;
        }
    }
    return -EADDRINUSE;
}

int th_os_socket_bind(int fd, const th_os_address *address) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (!file) {
        return code;
    }
    sim_socket *me = file->socket;
    const th_os_family family = th_os_address_family(address);
    if (me->local.size || family != me->family) {
        return -EINVAL;
    }
    th_os_address own = *address;
    if (reach(&own)) {
        return -EADDRNOTAVAIL;
    }
    th_os_address unnamed;
    (void)th_os_address_local(&unnamed, "", 0, true);
    if (family == TH_OS_LOCAL ? address->size == unnamed.size : !th_os_address_port(address)) {
        return bind_to(me, *address);
    }
    own = plain(*address);
    if (is_taken(me, &own)) {
        return -EADDRINUSE;
    }
    me->local = *address;
    return 0;
}

int th_os_socket_listen(int fd, int backlog) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (!file) {
        return code;
    }
    if (file->kind != SIM_FRESH && file->kind != SIM_LISTENER) {
        return file->kind == SIM_DATAGRAMS ? -EOPNOTSUPP : -EINVAL;
    }
    if (!file->socket->local.size) {
        th_os_address any;
        th_os_address_any(&any, file->socket->family, 0);
        code = file->socket->family == TH_OS_LOCAL ? -EINVAL : bind_to(file->socket, any);
    }
    if (!code) {
        file->kind = SIM_LISTENER;
        file->waiting_max =
            backlog > 0 && backlog < (int)SIM_BACKLOG ? (unsigned)backlog : SIM_BACKLOG;
    }
    return code;
}

int th_os_socket_waits(int fd) {
    int code;
    const sim_file *file = socket_file(fd, &code);
    return !file ? code
           : file->kind == SIM_LISTENER || (file->kind == SIM_DATAGRAMS && !file->socket->peer.size)
               ? 0
               : -EOPNOTSUPP;
}

/* ---- connecting ---- */

/* The socket that gets what is sent to the address; of several that share it any. */
static sim_file *find(th_os_style style, const th_os_address *address) {
    sim_files *all = sim_files_here();
    const sim_kind kind = style == TH_OS_BYTES ? SIM_LISTENER : SIM_DATAGRAMS;
    sim_file *found[SIM_FILES];
    unsigned n = 0;
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_file *file = &all->files[i];
        if (file->kind == kind && file->socket && file->socket->local.size && !file->deaf &&
            covers(file->socket, address)) {
            found[n++] = file;
        }
    }
    return n > 1 ? found[sim_choose(SIM_EVENT, n)] : n ? found[0] : NULL;
}

/* Gives a socket an address if it has none: one at which the address can reach it. */
static int bind_near(sim_socket *me, const th_os_address *address) {
    if (me->local.size || me->family == TH_OS_LOCAL) {
        return 0;
    }
    return bind_to(me, *address);
}

static int connect_bytes(sim_file *file, const th_os_address *address) {
    sim_socket *me = file->socket;
    if (file->kind != SIM_FRESH) {
        return -EISCONN;
    }
    sim_file *listener = find(TH_OS_BYTES, address);
    if (!listener || listener->waiting == listener->waiting_max) {
        return !listener || me->family != TH_OS_LOCAL ? -ECONNREFUSED : -EAGAIN;
    }
    int code = bind_near(me, address);
    if (code) {
        return code;
    }
    sim_file *taken = socket_new(listener->socket->family, TH_OS_BYTES);
    file->kind = taken->kind = SIM_SOCKET;
    sim_file_connect(file, taken);
    me->peer = *address;
    taken->socket->local = *address;
    taken->socket->peer = me->local;
    sim_file_hold(taken); /* the listener's reference */
    listener->backlog[listener->waiting++] = taken;
    sim_release(&listener->order);
    sim_file_edge(listener);
    return me->family != TH_OS_LOCAL && sim_choose(SIM_EVENT, 2) ? -EINPROGRESS : 0;
}

int th_os_socket_connect(int fd, const th_os_address *address) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (!file) {
        return code;
    }
    th_os_address target = *address;
    if (reach(&target)) {
        return -ENETUNREACH;
    }
    if (file->kind != SIM_DATAGRAMS) {
        return connect_bytes(file, &target);
    }
    if (file->socket->family == TH_OS_LOCAL && !find(TH_OS_DATAGRAMS, &target)) {
        return -ECONNREFUSED;
    }
    file->socket->peer = target;
    return bind_near(file->socket, &target);
}

int th_os_socket_error(int fd) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (file) {
        code = -file->error;
        file->error = 0;
    }
    return code;
}

static int name_of(int fd, bool peer, th_os_address *out) {
    int code;
    const sim_file *file = socket_file(fd, &code);
    *out = (th_os_address){0};
    if (!file) {
        return code;
    }
    const sim_socket *me = file->socket;
    if (peer && !me->peer.size) {
        return -ENOTCONN;
    }
    *out = shown(peer ? me->peer : me->local, me->family);
    if (!out->size && me->family == TH_OS_LOCAL) {
        (void)th_os_address_local(out, "", 0, true);
    } else if (!out->size) {
        th_os_address_any(out, me->family, 0);
    }
    return 0;
}

int th_os_socket_local(int fd, th_os_address *out) {
    return name_of(fd, false, out);
}

int th_os_socket_peer(int fd, th_os_address *out) {
    return name_of(fd, true, out);
}

/* ---- datagrams ---- */

/* The number of a free datagram, or -1. */
static int datagram_new(void) {
    const uint64_t used = sim_files_here()->datagrams;
    return ~used ? __builtin_ctzll(~used) : -1;
}

static int send_one(sim_file *file, const th_os_message *message) {
    sim_socket *me = file->socket;
    th_os_address to = message->address.size ? message->address : me->peer;
    if (!to.size || message->size > DATAGRAM_BYTES) {
        return to.size ? -EMSGSIZE : -EDESTADDRREQ;
    }
    int code = reach(&to) ? -ENETUNREACH : bind_near(me, &to);
    if (code) {
        return code;
    }
    th_os_address from = plain(me->local);
    if (is_any(&from)) {
        const bool ipv4 = th_os_address_family(&to) == TH_OS_IPV4;
        (void)th_os_address_numeric(&from, ipv4 ? "127.0.0.1" : "::1", th_os_address_port(&from));
    }
    sim_file *other = find(TH_OS_DATAGRAMS, &to);
    if (other && other->socket->peer.size && !th_os_address_is(&other->socket->peer, &from)) {
        other = NULL;
    }
    if (!other) { /* the sender hears of it if it is connected */
        file->error = me->peer.size ? ECONNREFUSED : 0;
        return me->family == TH_OS_LOCAL ? -ECONNREFUSED : 0;
    }
    const int number = datagram_new();
    if (number < 0 || other->socket->waiting == QUEUE) {
        return me->family == TH_OS_LOCAL ? -EAGAIN : 0; /* it is lost */
    }
    datagram *d = &rest_here()->datagrams[number];
    d->from = from;
    d->size = message->size;
    memcpy(d->bytes, message->data, message->size);
    sim_files_here()->datagrams |= UINT64_C(1) << number;
    other->socket->queue[other->socket->waiting++] = (uint8_t)number;
    sim_release(&other->order);
    sim_file_edge(other);
    return 0;
}

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    int code;
    sim_file *file = socket_file(fd, &code);
    unsigned sent = 0;
    while (file && sent < n && (code = send_one(file, &messages[sent])) == 0) {
        sent++;
    }
    return sent ? (int)sent : code;
}

int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (!file) {
        return code;
    }
    sim_socket *me = file->socket;
    unsigned got = 0;
    for (; got < n && me->waiting; got++) {
        th_os_message *message = &messages[got];
        const unsigned number = me->queue[0];
        const datagram *d = &rest_here()->datagrams[number];
        message->length = d->size;
        memcpy(message->data, d->bytes, d->size < message->size ? d->size : message->size);
        message->address = d->from.size ? shown(d->from, me->family) : d->from;
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

/* ---- options, names ---- */

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    int code;
    sim_file *file = socket_file(fd, &code);
    if (file) {
        file->socket->options[option] = value;
        file->resets = file->socket->options[TH_OS_RESET] != 0;
    }
    return code;
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    int code;
    const sim_file *file = socket_file(fd, &code);
    return file ? file->socket->options[option] : code;
}

/* A UNIX socket leaves no file behind. */
int th_os_socket_mode(int fd, unsigned mode) {
    (void)fd, (void)mode;
    return 0;
}

int th_os_local_mode(const th_os_address *address, unsigned mode) {
    (void)address, (void)mode;
    return 0;
}

int th_os_local_remove(const th_os_address *address) {
    (void)address;
    return 0;
}

int th_os_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max) {
    if (strcmp(host, "localhost") != 0 || !max) {
        return -ENOENT;
    }
    return th_os_address_numeric(out, family == TH_OS_IPV6 ? "::1" : "127.0.0.1", 0) ? -ENOENT : 1;
}
