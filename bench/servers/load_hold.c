/*
 * load_hold.c: connections that each made one HTTP request and send nothing else. They stay until
 * stdin ends.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

void load_hold(const load *l) {
    static const char text[] = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[4096];
    for (unsigned i = 0; i < l->connections; i++) {
        const int fd = load_connect(l->port, 0);
        must(send(fd, text, sizeof text - 1, MSG_NOSIGNAL), "send");
        must(recv(fd, answer, sizeof answer, 0) > 0 ? 0 : -1, "recv");
    }
    printf("{\"held\": %u}\n", l->connections);
    fflush(stdout);
    while (read(STDIN_FILENO, answer, sizeof answer) > 0) {
    }
}
