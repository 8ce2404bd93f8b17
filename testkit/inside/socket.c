/*
 * socket.c: sockets of a test: TCP, UDP (datagram.c) and UNIX sockets between its tasks, over the
 * simulator's descriptors (src/platform/sim/files.h). Each host has the addresses of the loopback,
 * where all arrives at once, and one in the network between the hosts (hosts/network.c): 10.0.0.1
 * for the first host, and so on.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "hosts/network.h"
#include "inside/socket.h"

#define PORT_FIRST 49152u /* of those that the system chooses */

/* ---- addresses ---- */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

th_os_address sim_socket_plain(th_os_address address) {
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

th_os_address sim_socket_shown(th_os_address address, th_os_family family) {
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

bool sim_socket_is_any(const th_os_address *address) {
    th_os_address any;
    th_os_family family = th_os_address_family(address);
    if (family != TH_OS_IPV4 && family != TH_OS_IPV6) {
        return false;
    }
    th_os_address_any(&any, family, th_os_address_port(address));
    return th_os_address_is(&any, address);
}

th_os_address sim_socket_of_host(unsigned host, uint16_t port) {
    th_os_address address;
    char text[] = "10.0.0.1";
    text[sizeof text - 2] = (char)('1' + host);
    (void)th_os_address_numeric(&address, text, port);
    return address;
}

static bool is_loopback(const th_os_address *address) {
    const th_os_family family = th_os_address_family(address);
    th_os_address one;
    struct sockaddr_in in;
    memcpy(&in, address->words, sizeof in);
    (void)th_os_address_numeric(&one, "::1", th_os_address_port(address));
    return family == TH_OS_LOCAL || th_os_address_is(&one, address) ||
           (family == TH_OS_IPV4 && ntohl(in.sin_addr.s_addr) >> 24 == 127);
}

int sim_socket_reach(th_os_address *address) {
    *address = sim_socket_plain(*address);
    const th_os_family family = th_os_address_family(address);
    const uint16_t port = th_os_address_port(address);
    if (sim_socket_is_any(address)) {
        (void)th_os_address_numeric(address, family == TH_OS_IPV4 ? "127.0.0.1" : "::1", port);
    }
    if (is_loopback(address)) {
        return (int)sim_host_here();
    }
    for (unsigned host = 0; host < hosts_count(); host++) {
        const th_os_address its = sim_socket_of_host(host, port);
        if (th_os_address_is(&its, address)) {
            return (int)host;
        }
    }
    return -EADDRNOTAVAIL;
}

th_os_address sim_socket_near(const th_os_address *address) {
    if (is_loopback(address)) {
        return *address;
    }
    return sim_socket_of_host(sim_host_here(), th_os_address_port(address));
}

/* Whether a socket that is bound there gets what is sent to the address. */
static bool covers(const sim_socket *bound, const th_os_address *address) {
    const th_os_address local = sim_socket_plain(bound->local);
    if (th_os_address_is(&local, address)) {
        return true;
    }
    const bool same = th_os_address_family(&local) == th_os_address_family(address) ||
                      (bound->family == TH_OS_IPV6 && !bound->options[TH_OS_IPV6_ONLY] &&
                       th_os_address_family(address) == TH_OS_IPV4);
    return same && sim_socket_is_any(&local) &&
           th_os_address_port(&local) == th_os_address_port(address);
}

/* ---- sockets ---- */

sim_file *sim_socket_file(int fd, int *code) {
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

sim_file *sim_socket_new(unsigned host, th_os_family family, th_os_style style) {
    const bool bytes = style == TH_OS_BYTES;
    sim_file *file =
        sim_file_new(bytes ? SIM_FRESH : SIM_DATAGRAMS, !bytes                  ? TH_OS_DATAGRAM
                                                        : family == TH_OS_LOCAL ? TH_OS_STREAM
                                                                                : TH_OS_TCP);
    file->socket = &sim_rest_here()->sockets[file - sim_files_here()->files];
    *file->socket = (sim_socket){.family = family, .style = style};
    file->host = (uint8_t)host;
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
    const int fault = sim_fault(SIM_FAULT_OPEN);
    return fault                ? fault
           : sim_numbers_full() ? -EMFILE
                                : sim_number_give(sim_socket_new(sim_host_here(), family, style));
}

int th_os_socket_what(int fd, th_os_family *family, th_os_style *style) {
    int code;
    const sim_file *file = sim_socket_file(fd, &code);
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
        if (file->host != sim_host_here() || file->kind == SIM_NOTHING ||
            file->kind == SIM_SOCKET || !other || other == me || other->style != me->style ||
            !other->local.size ||
            (other->options[TH_OS_REUSE_PORT] && me->options[TH_OS_REUSE_PORT])) {
            continue;
        }
        const th_os_address theirs = sim_socket_plain(other->local);
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
    sim_file *file = sim_socket_file(fd, &code);
    if (!file) {
        return code;
    }
    sim_socket *me = file->socket;
    const th_os_family family = th_os_address_family(address);
    if (me->local.size || family != me->family) {
        return -EINVAL;
    }
    th_os_address own = *address;
    if (sim_socket_reach(&own) != (int)sim_host_here()) {
        return -EADDRNOTAVAIL;
    }
    th_os_address unnamed;
    (void)th_os_address_local(&unnamed, "", 0, true);
    if (family == TH_OS_LOCAL ? address->size == unnamed.size : !th_os_address_port(address)) {
        return bind_to(me, *address);
    }
    own = sim_socket_plain(*address);
    if (is_taken(me, &own)) {
        return -EADDRINUSE;
    }
    me->local = *address;
    return 0;
}

int th_os_socket_listen(int fd, int backlog) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
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
    const sim_file *file = sim_socket_file(fd, &code);
    return !file ? code
           : file->kind == SIM_LISTENER || (file->kind == SIM_DATAGRAMS && !file->socket->peer.size)
               ? 0
               : -EOPNOTSUPP;
}

/* ---- connecting ---- */

sim_file *sim_socket_find(unsigned host, th_os_style style, const th_os_address *address) {
    sim_files *all = sim_files_here();
    const sim_kind kind = style == TH_OS_BYTES ? SIM_LISTENER : SIM_DATAGRAMS;
    sim_file *found[SIM_FILES];
    unsigned n = 0;
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_file *file = &all->files[i];
        if (file->host == host && file->kind == kind && file->socket && file->socket->local.size &&
            !file->deaf && covers(file->socket, address)) {
            found[n++] = file;
        }
    }
    return n > 1 ? found[sim_choose(SIM_EVENT, n)] : n ? found[0] : NULL;
}

int sim_socket_bind_near(sim_socket *me, const th_os_address *address) {
    if (me->local.size || me->family == TH_OS_LOCAL) {
        return 0;
    }
    return bind_to(me, sim_socket_near(address));
}

/* The socket gets its connection with a listener, or an error. */
int sim_socket_connect_to(sim_file *file, unsigned host, const th_os_address *address) {
    sim_socket *me = file->socket;
    sim_file *listener = sim_socket_find(host, TH_OS_BYTES, address);
    if (!listener || listener->waiting == listener->waiting_max) {
        return !listener || me->family != TH_OS_LOCAL ? -ECONNREFUSED : -EAGAIN;
    }
    sim_file *taken = sim_socket_new(host, listener->socket->family, TH_OS_BYTES);
    file->kind = taken->kind = SIM_SOCKET;
    sim_file_connect(file, taken);
    if (host != file->host) {
        file->out->far = network_flow(file->host, host);
        taken->out->far = network_flow(host, file->host);
    }
    me->peer = *address;
    taken->socket->local = *address;
    taken->socket->peer = me->local;
    sim_file_hold(taken); /* the listener's reference */
    listener->backlog[listener->waiting++] = taken;
    sim_release(&listener->order);
    sim_file_edge(listener);
    return 0;
}

static int connect_bytes(sim_file *file, unsigned host, const th_os_address *address) {
    sim_socket *me = file->socket;
    if (file->kind != SIM_FRESH || file->connecting) {
        return file->connecting ? -EALREADY : -EISCONN;
    }
    if (host != file->host) {
        const int code = sim_socket_bind_near(me, address);
        file->connecting = !code;
        if (!code) {
            network_connect(file, host, address);
        }
        return code ? code : -EINPROGRESS;
    }
    const sim_file *listener = sim_socket_find(host, TH_OS_BYTES, address);
    int code = listener ? sim_socket_bind_near(me, address) : 0;
    if (!code) {
        code = sim_socket_connect_to(file, host, address);
    }
    return code ? code : me->family != TH_OS_LOCAL && sim_choose(SIM_EVENT, 2) ? -EINPROGRESS : 0;
}

int th_os_socket_connect(int fd, const th_os_address *address) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
    if (!file) {
        return code;
    }
    th_os_address target = *address;
    code = sim_fault(SIM_FAULT_CONNECT);
    if (code) {
        return code;
    }
    const int host = sim_socket_reach(&target);
    if (host < 0) {
        return -ENETUNREACH;
    }
    if (file->kind != SIM_DATAGRAMS) {
        return connect_bytes(file, (unsigned)host, &target);
    }
    if (file->socket->family == TH_OS_LOCAL &&
        !sim_socket_find((unsigned)host, TH_OS_DATAGRAMS, &target)) {
        return -ECONNREFUSED;
    }
    file->socket->peer = target;
    return sim_socket_bind_near(file->socket, &target);
}

int th_os_socket_error(int fd) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
    if (file) {
        code = -file->error;
        file->error = 0;
    }
    return code;
}

static int name_of(int fd, bool peer, th_os_address *out) {
    int code;
    const sim_file *file = sim_socket_file(fd, &code);
    *out = (th_os_address){0};
    if (!file) {
        return code;
    }
    const sim_socket *me = file->socket;
    if (peer && !me->peer.size) {
        return -ENOTCONN;
    }
    *out = sim_socket_shown(peer ? me->peer : me->local, me->family);
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

/* ---- options, names ---- */

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    int code;
    sim_file *file = sim_socket_file(fd, &code);
    if (file) {
        file->socket->options[option] = value;
        file->resets = file->socket->options[TH_OS_RESET] != 0;
    }
    return code;
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    int code;
    const sim_file *file = sim_socket_file(fd, &code);
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
    const bool is_localhost = strcmp(host, "localhost") == 0;
    const int number = hosts_find(host);
    if (!max || (!is_localhost && (number < 0 || family == TH_OS_IPV6))) {
        return -ENOENT;
    }
    if (!is_localhost) {
        out[0] = sim_socket_of_host((unsigned)number, 0);
        return 1;
    }
    return th_os_address_numeric(out, family == TH_OS_IPV6 ? "::1" : "127.0.0.1", 0) ? -ENOENT : 1;
}
