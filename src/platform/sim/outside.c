/*
 * outside.c: descriptors for worlds, and other processes.
 */
#include "platform/sim/files.h"

/* ---- descriptors ---- */

/* The world's own are never refused; there must be numbers for them. */
static int given(sim_file *file) {
    int fd = sim_number_give(file);
    if (fd < 0) {
        sim_misused("limit", "too many descriptors");
    }
    return fd;
}

void sim_pipe(int fds[2]) {
    sim_call();
    sim_file *reader = sim_file_new(SIM_PIPE, TH_OS_PIPE);
    sim_file *writer = sim_file_new(SIM_PIPE, TH_OS_PIPE);
    writer->serial = reader->serial; /* it is one inode */
    sim_flow_new(reader, writer);
    sim_wrote(fds, 2 * sizeof fds[0]);
    fds[0] = given(reader);
    fds[1] = given(writer);
}

void sim_pair(th_os_kind kind, int fds[2]) {
    sim_call();
    sim_file *a = sim_file_new(SIM_SOCKET, kind);
    sim_file *b = sim_file_new(SIM_SOCKET, kind);
    sim_file_connect(a, b);
    sim_wrote(fds, 2 * sizeof fds[0]);
    fds[0] = given(a);
    fds[1] = given(b);
}

int sim_listener(th_os_kind kind, unsigned backlog) {
    sim_call();
    sim_file *file = sim_file_new(SIM_LISTENER, kind);
    file->waiting_max = backlog < SIM_BACKLOG ? backlog : SIM_BACKLOG;
    return given(file);
}

int sim_regular(void) {
    sim_call();
    return given(sim_file_new(SIM_REGULAR, TH_OS_OTHER));
}

static sim_file *open_file(int fd) {
    sim_file *file = sim_number_file(fd);
    if (!file) {
        sim_misused("closed", "the world uses a descriptor that is closed");
    }
    return file;
}

int sim_dup(int fd) {
    sim_call();
    return given(open_file(fd));
}

unsigned sim_descriptors(void) {
    const sim_number *numbers = sim_numbers_here();
    unsigned n = 0;
    for (unsigned i = 0; i < SIM_NUMBERS; i++) {
        n += numbers[i].file != NULL;
    }
    return n;
}

const void *sim_set_word(const th_os_pollset *set) {
    return &sim_number_file(set->set)->set->word;
}

bool sim_set_has_event(const th_os_pollset *set) {
    return sim_set_ready(sim_number_file(set->set));
}

/* ---- other processes ---- */

/* Between these two the caller is another process; steps in between give that up meanwhile. */
static void leave(void) {
    sim_point();
    sim_files_here()->outside = true;
}

static void enter(void) {
    sim_files_here()->outside = false;
}

sim_end sim_outside(int fd) {
    sim_file *file = open_file(fd);
    sim_file_hold(file);
    th_os_io_close(fd);
    return file;
}

sim_end sim_connect(int listener) {
    leave();
    sim_file *file = sim_number_file(listener);
    sim_end end = NULL;
    if (file && file->kind == SIM_LISTENER && !file->deaf && file->waiting < file->waiting_max) {
        end = sim_file_new(SIM_SOCKET, file->as);
        sim_file *other = sim_file_new(SIM_SOCKET, file->as);
        sim_file_connect(end, other);
        sim_file_hold(end);
        sim_file_hold(other);
        file->backlog[file->waiting++] = other;
        sim_trace("another process connects to %d", listener);
        sim_file_edge(file);
    }
    enter();
    return end;
}

int64_t sim_outside_read(sim_end end, void *to, size_t size) {
    leave();
    int64_t n = sim_file_read(end, to, size);
    sim_trace("another process reads: %d", (int)n);
    sim_file_tell(end);
    enter();
    return n;
}

int64_t sim_outside_write(sim_end end, const void *from, size_t size) {
    leave();
    int64_t n = sim_file_write(end, from, size);
    sim_trace("another process writes: %d", (int)n);
    sim_file_tell(end);
    enter();
    return n;
}

void sim_outside_wait(sim_end end, unsigned bits) {
    leave();
    sim_file_poll(end, bits, NULL, TH_FOREVER);
    enter();
}

void sim_outside_shutdown(sim_end end, unsigned bits) {
    leave();
    sim_file_shutdown(end, bits);
    enter();
}

void sim_outside_close(sim_end end) {
    leave();
    sim_trace("another process closes %u", (unsigned)end->serial);
    sim_file_drop(end);
    enter();
}
