/*
 * uv.c: an echo server on libuv's loop. Bytes that can be written at once go by uv_try_write; only
 * the rest is queued.
 *
 *     peer-server-libuv echo PORT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { ROOM = 4096 };

typedef struct connection {
    uv_tcp_t tcp; /* first: libuv's handle is the connection */
    char text[ROOM];
} connection;

typedef struct rest {
    uv_write_t request; /* first */
    char text[];
} rest;

static void ended(uv_handle_t *handle) {
    free(handle);
}

static void room(uv_handle_t *handle, size_t wished, uv_buf_t *out) {
    connection *c = (connection *)handle;
    (void)wished;
    *out = uv_buf_init(c->text, ROOM);
}

static void written(uv_write_t *request, int status) {
    (void)status; /* the next read returns the same */
    free(request);
}

static void write_rest(uv_stream_t *stream, const char *text, size_t size) {
    rest *r = malloc(sizeof *r + size);
    memcpy(r->text, text, size);
    uv_buf_t buf = uv_buf_init(r->text, (unsigned)size);
    uv_write(&r->request, stream, &buf, 1, written);
}

static void came(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    if (n < 0) {
        uv_close((uv_handle_t *)stream, ended);
    } else if (n > 0) {
        uv_buf_t out = uv_buf_init(buf->base, (unsigned)n);
        const int wrote = uv_try_write(stream, &out, 1);
        if (wrote < n) {
            const size_t done = wrote > 0 ? (size_t)wrote : 0;
            write_rest(stream, buf->base + done, (size_t)n - done);
        }
    }
}

static void connected(uv_stream_t *listener, int status) {
    connection *c = malloc(sizeof *c);
    if (status != 0 || uv_tcp_init(listener->loop, &c->tcp) != 0) {
        free(c);
    } else if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
        uv_close((uv_handle_t *)&c->tcp, ended);
    } else {
        uv_tcp_nodelay(&c->tcp, 1);
        uv_read_start((uv_stream_t *)&c->tcp, room, came);
    }
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in at;
    uv_tcp_t listener;
    if (argc != 3 || strcmp(argv[1], "echo") != 0) {
        fprintf(stderr, "usage: %s echo PORT\n", argv[0]);
        return 2;
    }
    uv_ip4_addr("127.0.0.1", atoi(argv[2]), &at);
    uv_tcp_init(loop, &listener);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&at, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 4096, connected) != 0) {
        fputs("listen failed\n", stderr);
        return 1;
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
