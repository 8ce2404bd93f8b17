/*
 * 3-listen.c: a server that sends back the bytes that it gets: 3-listen [ADDRESS]
 */
#include <stdio.h>
#include <thrum.h>

/* One connection: this function runs as a task. */
static int talk(thrum_io io, void *arg) {
    char text[4096];
    int64_t n;
    (void)arg;
    while ((n = thrum_read(io, text, sizeof text)) > 0 && thrum_write(io, text, (size_t)n) == n) {
    }
    return 0; /* thrum_serve closes io */
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
