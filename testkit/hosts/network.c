/*
 * network.c: packets between the hosts of a test, and the end of a host's connections.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "hosts/hosts.h"
#include "hosts/network.h"
#include "inside/socket.h"

#define CONNECT_GIVES_UP THRUM_S(127) /* as Linux by default: six requests have no answer */
#define BYTES_GIVE_UP THRUM_S(924)
#define LATENCIES 8u /* so many different ones of a link */

/* ---- packets ---- */

network_link *network_between(unsigned from, unsigned to) {
    return &H->links[from][to];
}

void network_begin(void) {
    H->packets_count = 0;
    H->packets_sent = 0;
    H->flows = 0;
    for (unsigned i = 0; i < SIM_HOSTS * SIM_HOSTS; i++) {
        H->links[i / SIM_HOSTS][i % SIM_HOSTS] =
            (network_link){.latency_min = THRUM_US(100), .latency_max = THRUM_MS(1)};
    }
}

static int64_t latency(const network_link *link) {
    const unsigned turn =
        link->latency_max > link->latency_min ? sim_choose(SIM_WORLD, LATENCIES) : 0;
    return link->latency_min + (link->latency_max - link->latency_min) / (LATENCIES - 1) * turn;
}

static bool is_open(const packet *p) {
    const network_link *there = network_between(p->from, p->to);
    const network_link *back = network_between(p->to, p->from);
    const bool open = !there->cut && !there->held;
    return p->kind == PACKET_CONNECT ? open && !back->cut && !back->held : open;
}

/* Packets of one connection stay in order. */
static void set_arrival(packet *p) {
    network_link *link = network_between(p->from, p->to);
    int64_t at = E->now;
    p->waits = !is_open(p);
    if (p->waits) {
        p->at = at + (p->kind == PACKET_CONNECT ? CONNECT_GIVES_UP : BYTES_GIVE_UP);
        return;
    }
    if (link->bandwidth && p->size) {
        at = link->free_at > at ? link->free_at : at;
        at += (int64_t)(p->size * UINT64_C(1000000000) / link->bandwidth);
        link->free_at = at;
    }
    at += latency(link);
    if (p->kind == PACKET_CONNECT) {
        at += latency(network_between(p->to, p->from));
    }
    for (unsigned i = 0; i < H->packets_count && p->flow; i++) {
        const packet *other = &H->packets[i];
        if (other->flow == p->flow && other->number < p->number && other->at > at) {
            at = other->at;
        }
    }
    p->at = at;
}

static void send(packet p) {
    if (H->packets_count == PACKETS) {
        fail("limit", "more than %u packets between the hosts", PACKETS);
    }
    p.number = ++H->packets_sent;
    set_arrival(&p);
    H->packets[H->packets_count++] = p;
    network_arrive(); /* if the link has no latency */
}

/* The sender of a flow, and its receiver. */
#define FLOW_FROM(far) ((far) >> 4 & 15)
#define FLOW_TO(far) ((far)&15)

unsigned network_flow(unsigned from, unsigned to) {
    return ++H->flows << 8 | from << 4 | to;
}

void network_connect(sim_file *file, unsigned host, const th_os_address *address) {
    send((packet){.kind = PACKET_CONNECT,
                  .from = file->host,
                  .to = (uint8_t)host,
                  .file = file,
                  .serial = file->serial,
                  .address = *address});
}

static packet packet_of(const sim_flow *flow, packet_kind kind) {
    return (packet){.kind = kind,
                    .from = FLOW_FROM(flow->far),
                    .to = FLOW_TO(flow->far),
                    .flow = flow->far,
                    .bytes = (sim_flow *)(uintptr_t)flow};
}

void sim_far_bytes(sim_flow *flow, unsigned n) {
    packet p = packet_of(flow, PACKET_BYTES);
    p.size = n;
    send(p);
}

void sim_far_end(sim_flow *flow) {
    if (!flow->closing) {
        flow->closing = true;
        send(packet_of(flow, PACKET_END));
    }
}

void sim_far_reset(const sim_file *from, const sim_file *peer) {
    packet p = packet_of(from->out, PACKET_RESET);
    p.file = (sim_file *)(uintptr_t)peer;
    p.serial = peer->serial;
    send(p);
}

void network_datagram(unsigned number, unsigned from, unsigned host, const th_os_address *to) {
    const network_link *link = network_between(from, host);
    const unsigned lost = link->loss * 256 / 1000 + (link->loss != 0 && link->loss < 4);
    if (link->cut || (lost && sim_choose(SIM_WORLD, 256) + lost > 255)) {
        sim_datagram_lost(number);
        return;
    }
    send((packet){.kind = PACKET_DATAGRAM,
                  .from = (uint8_t)from,
                  .to = (uint8_t)host,
                  .datagram = number,
                  .size = (unsigned)sim_rest_here()->datagrams[number].size,
                  .address = *to});
}

/* ---- arrivals ---- */

static bool is_there(const packet *p) {
    return p->file->kind != SIM_NOTHING && p->file->serial == p->serial;
}

static void connect_arrives(const packet *p) {
    if (!is_there(p) || !p->file->connecting) {
        return;
    }
    p->file->connecting = false;
    p->file->error = p->waits ? ETIMEDOUT : -sim_socket_connect_to(p->file, p->to, &p->address);
    sim_file_edge(p->file);
}

static void break_connection(sim_file *file, int error) {
    if (file->kind == SIM_SOCKET && !file->broken) {
        sim_file_reset(file, error);
        sim_file_edge(file);
    }
}

static void bytes_arrive(const packet *p) {
    sim_flow *flow = p->bytes;
    if (!flow->used || flow->far != p->flow) {
        return;
    }
    flow->flight -= p->size;
    if (p->waits) { /* the sender gives up */
        if (flow->writer) {
            break_connection(flow->writer, ETIMEDOUT);
        }
    } else if (flow->reader && !flow->reader->broken) {
        flow->count += p->size;
        sim_file_edge(flow->reader);
    } else if (flow->writer && !flow->writer->broken) { /* an answer breaks the connection */
        packet answer = packet_of(flow, PACKET_RESET);
        answer.from = p->to;
        answer.to = p->from;
        answer.flow = flow->writer->in->far;
        answer.file = flow->writer;
        answer.serial = flow->writer->serial;
        send(answer);
    }
}

static void end_arrives(const packet *p) {
    sim_flow *flow = p->bytes;
    if (flow->used && flow->far == p->flow && flow->reader && !p->waits) {
        flow->ended = true;
        sim_file_edge(flow->reader);
    }
}

static void arrive(const packet *p) {
    switch (p->kind) {
    case PACKET_CONNECT:
        connect_arrives(p);
        break;
    case PACKET_BYTES:
        bytes_arrive(p);
        break;
    case PACKET_END:
        end_arrives(p);
        break;
    case PACKET_RESET:
        if (is_there(p) && !p->waits) {
            break_connection(p->file, ECONNRESET);
        }
        break;
    case PACKET_DATAGRAM:
        if (p->waits) {
            sim_datagram_lost(p->datagram);
        } else {
            (void)sim_datagram_arrives(p->datagram, p->to, &p->address);
        }
        break;
    }
}

static packet *first_packet(void) {
    packet *first = NULL;
    for (unsigned i = 0; i < H->packets_count; i++) {
        packet *p = &H->packets[i];
        if (!first || p->at < first->at || (p->at == first->at && p->number < first->number)) {
            first = p;
        }
    }
    return first;
}

int64_t network_next(void) {
    const packet *first = first_packet();
    return first ? first->at : INT64_MAX;
}

void network_arrive(void) {
    packet *first;
    while ((first = first_packet()) && first->at <= E->now) {
        if (!first->waits && !is_open(first)) { /* a partition began while it was on its way */
            if (first->kind == PACKET_DATAGRAM && network_between(first->from, first->to)->cut) {
                first->waits = true;
            } else {
                set_arrival(first);
                continue;
            }
        }
        const packet p = *first;
        *first = H->packets[--H->packets_count];
        arrive(&p);
    }
}

void network_opened(unsigned from, unsigned to) {
    for (uint64_t number = 0;;) { /* in the order in which they were sent */
        packet *next = NULL;
        for (unsigned i = 0; i < H->packets_count; i++) {
            packet *p = &H->packets[i];
            if (p->waits && p->number > number && (!next || p->number < next->number)) {
                next = p;
            }
        }
        if (!next) {
            return;
        }
        number = next->number;
        const bool there = next->from == from && next->to == to;
        const bool back = next->from == to && next->to == from && next->kind == PACKET_CONNECT;
        if ((there || back) && is_open(next)) {
            set_arrival(next);
        }
    }
}

/* ---- ends ---- */

void network_break(unsigned a, unsigned b) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_file *file = &all->files[i];
        if (file->kind == SIM_SOCKET && file->out->far) {
            const unsigned from = FLOW_FROM(file->out->far);
            const unsigned to = FLOW_TO(file->out->far);
            if ((from == a && to == b) || (from == b && to == a)) {
                break_connection(file, ECONNRESET);
            }
        }
    }
}

static void close_all(unsigned host, bool listeners) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_file *file = &all->files[i];
        if (file->host == host && file->kind != SIM_NOTHING &&
            (!listeners || file->kind == SIM_LISTENER)) {
            file->references = 1;
            file->resets = true;
            sim_file_drop(file);
        }
    }
}

void network_host_off(unsigned host) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_POLLS; i++) {
        if (all->polls[i].file && all->polls[i].file->host == host) {
            all->polls[i].file = all->polls[i].wakeup = NULL;
        }
    }
    memset(all->numbers[host], 0, sizeof all->numbers[host]);
    close_all(host, true); /* they have references to sockets */
    close_all(host, false);
}
