/*
 * private.c: the identity of a UNIX socket's peer.
 */
#include "platform/unix/system.h"

#include <sys/socket.h>
#include <unistd.h>

bool th_system_is_own_peer(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}
