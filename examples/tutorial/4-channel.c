/*
 * 4-channel.c: a chat: each line of a guest goes to all guests: 4-channel [ADDRESS]
 *
 * A connection has two tasks. One reads the guest's lines, and puts each into the channels of all
 * guests. The other one takes the lines from the guest's own channel, and writes them.
 */
#include <stdio.h>
#include <string.h>
#include <thrum.h>

enum { TEXT_SIZE = 200, WAITING_LINES = 64 };

typedef struct line {
    char text[TEXT_SIZE + 32];
} line;

typedef struct guest {
    thrum_io io;
    int number;
    thrum_chan *lines; /* to be written to this guest */
    struct guest *next;
} guest;

static thrum_mutex lock = THRUM_MUTEX_INIT; /* for the next two variables */
static guest *guests;
static int arrivals;

/* Ends both tasks of a guest; nobody waits for room in its channel any longer. */
static void disconnect(const guest *g) {
    thrum_chan_close(g->lines);
    thrum_io_shutdown(g->io, THRUM_IO_READ | THRUM_IO_WRITE);
}

/* A guest whose channel stays full does not read. */
static void send_to(const guest *g, const line *l, thrum_time deadline) {
    if (thrum_chan_send_until(g->lines, l, deadline) == -ETIMEDOUT) {
        disconnect(g);
    }
}

static void say_to_all(const guest *from, const char *text) {
    line l;
    snprintf(l.text, sizeof l.text, "guest %d: %s\n", from->number, text);
    thrum_mutex_lock(&lock);
    const thrum_time deadline = thrum_after_s(1); /* for all guests together */
    for (const guest *g = guests; g; g = g->next) {
        send_to(g, &l, deadline);
    }
    thrum_mutex_unlock(&lock);
}

static void enter(guest *g) {
    thrum_mutex_lock(&lock);
    g->number = ++arrivals;
    g->next = guests;
    guests = g;
    thrum_mutex_unlock(&lock);
    say_to_all(g, "(joins)");
}

static void leave(guest *g) {
    guest **at = &guests;
    thrum_mutex_lock(&lock);
    while (*at != g) {
        at = &(*at)->next;
    }
    *at = g->next;
    thrum_mutex_unlock(&lock);
    say_to_all(g, "(leaves)");
}

static int write_lines(void *arg) {
    const guest *g = arg;
    line l;
    while (thrum_chan_recv(g->lines, &l) == 0) { /* until the channel is closed and empty */
        size_t size = strlen(l.text);
        if (thrum_write(g->io, l.text, size) != (int64_t)size) {
            disconnect(g);
            break;
        }
    }
    return 0;
}

static int read_lines(void *arg) {
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    const guest *g = arg;
    thrum_stream in;
    char text[TEXT_SIZE];
    options.keep_io = true; /* the writer still uses it */
    int err = thrum_stream_open(&in, g->io, &options);
    if (err == 0) {
        while (thrum_stream_read_line(&in, text, sizeof text) >= 0) {
            say_to_all(g, text);
        }
        thrum_stream_close(&in);
    }
    return err;
}

static int talk(thrum_io io, void *arg) {
    guest g = {.io = io};
    thrum_handle *writer;
    (void)arg;
    int err = thrum_chan_create(&g.lines, sizeof(line), WAITING_LINES);
    if (err != 0) {
        return err;
    }
    err = thrum_spawn(&writer, write_lines, &g);
    if (err == 0) {
        enter(&g);
        read_lines(&g);
        leave(&g);
        thrum_chan_close(g.lines);
        thrum_shield_begin(); /* a cancelled join would return before the writer has ended */
        err = thrum_join(writer, NULL);
        thrum_shield_end();
    }
    thrum_chan_destroy(g.lines);
    return err;
}

static void print_address(thrum_io listener, void *arg) {
    char address[THRUM_ADDRESS_TEXT];
    (void)arg;
    if (thrum_io_local(listener, address, sizeof address) == 0) {
        printf("listening at %s\n", address);
        fflush(stdout);
    }
}

static int chat(void *arg) {
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    char **argv = arg;
    thrum_io listener;
    int err = thrum_listen(&listener, argv[1] ? argv[1] : "tcp:127.0.0.1:7777", NULL);
    if (err == 0) {
        options.started = print_address;
        err = thrum_serve(listener, talk, NULL, &options);
        thrum_io_close(listener);
    }
    return err;
}

int main(int argc, char **argv) {
    (void)argc;
    int err = thrum_run(NULL, chat, argv);
    if (err != 0) {
        fprintf(stderr, "chat: %s\n", thrum_strerror(err));
    }
    return err != 0;
}
