/*
 * pair.c: a stand-in that poll() can wait for: a datagram socket that is connected to itself, and
 * can be read once something was sent to it.
 */
#include "platform/unix/io/polled.h"

/* Alone at its port: another program that requests the same one might get its data. */
static SOCKET own_socket(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    int size = sizeof address;
    u_long on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SOCKET s = WSASocketW(AF_INET, SOCK_DGRAM, 0, NULL, 0,
                          WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    const BOOL alone = TRUE;
    if (s != INVALID_SOCKET) {
        (void)setsockopt(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&alone, sizeof alone);
    }
    if (s != INVALID_SOCKET && (bind(s, (struct sockaddr *)&address, size) != 0 ||
                                getsockname(s, (struct sockaddr *)&address, &size) != 0 ||
                                connect(s, (struct sockaddr *)&address, size) != 0 ||
                                ioctlsocket(s, (long)FIONBIO, &on) != 0)) {
        int error = WSAGetLastError();
        closesocket(s);
        WSASetLastError(error);
        s = INVALID_SOCKET;
    }
    return s;
}

int th_poll_pair(int ends[2]) {
    int code = th_winsock_begin();
    SOCKET s = code ? INVALID_SOCKET : own_socket();
    ends[0] = ends[1] = th_fd_of_socket(s);
    return code ? code : s == INVALID_SOCKET ? th_winsock_code() : 0;
}

void th_poll_pair_close(const int ends[2]) {
    closesocket(th_socket_of(ends[0]));
}

void th_poll_send(int end) {
    (void)send(th_socket_of(end), "", 1, 0);
}

unsigned th_poll_take_all(int end) {
    char byte;
    unsigned n = 0;
    while (recv(th_socket_of(end), &byte, 1, 0) >= 0) {
        n++;
    }
    return n;
}
