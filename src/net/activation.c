/*
 * activation.c: sockets that a service manager has opened for the program (LISTEN_FDS): systemd,
 * and others that speak its protocol.
 *
 *     LISTEN_PID      whom they are for: a child of that process inherits the environment as well
 *     LISTEN_FDS      how many: the descriptors from 3 on
 *     LISTEN_FDNAMES  may be missing: a name each, with colons in between
 *
 * The environment is read at each call, and left as it is: to change it is safe in no program that
 * has threads. Each of them is given once: its number may be another one's afterwards.
 */
#include "net/activation.h"

#include <errno.h>
#include <string.h>

#include "core/basis/lock.h"
#include "io/record.h"

#define SCHEME "activation:"
#define FIRST 3
#define MOST 1024u
#define NAME_MAX_BYTES 255u

static th_lock lock = TH_LOCK_INIT; /* protects the following */
static uint64_t taken[MOST / 64];
static unsigned secured; /* so many of them are closed on exec */

const char *th_activation_name(const char *address) {
    const size_t length = sizeof SCHEME - 1;
    return strncmp(address, SCHEME, length) == 0 ? address + length : NULL;
}

/* ---- the environment ---- */

/* A number without a sign, blanks or zeros before it; -EBADMSG for anything else. */
static int64_t number_of(const char *text) {
    int64_t number = 0;
    if (*text < '0' || *text > '9' || (*text == '0' && text[1])) {
        return -EBADMSG;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || number > INT32_MAX) {
            return -EBADMSG;
        }
        number = number * 10 + (*text - '0');
    }
    return number <= INT32_MAX ? number : -EBADMSG;
}

/* How many descriptors this process was started with; 0: none. */
static int count_given(void) {
    const char *pid = th_os_env("LISTEN_PID");
    const char *fds = th_os_env("LISTEN_FDS");
    if (!pid || !fds) {
        return 0;
    }
    const int64_t whose = number_of(pid);
    const int64_t count = number_of(fds);
    if (whose <= 0 || count < 0 || count > MOST) {
        return -EBADMSG;
    }
    return whose == th_os_pid() ? (int)count : 0;
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return length <= NAME_MAX_BYTES;
}

/* Whether there is a name for each of them. */
static bool are_names(const char *names, int count) {
    for (int i = 0; i < count; i++) {
        const size_t length = strcspn(names, ":");
        if (!is_name(names, length) || (names[length] != 0) != (i + 1 < count)) {
            return false;
        }
        names += length + 1;
    }
    return true;
}

static bool has_name(const char *names, int index, const char *name) {
    for (; index > 0; index--) {
        names += strcspn(names, ":") + 1;
    }
    return strcspn(names, ":") == strlen(name) && strncmp(names, name, strlen(name)) == 0;
}

/* ---- taking them ---- */

/* With the lock: programs that this one starts do not get them. */
static int secure(unsigned count) {
    while (secured < count) {
        int code = th_os_io_close_on_exec(FIRST + (int)secured);
        if (code) {
            return code;
        }
        secured++;
    }
    return 0;
}

static int take(thrum_io *out, int fd, th_os_kind *kind) {
    th_os_identity identity;
    int code = th_os_socket_waits(fd);
    code = code ? code : th_os_io_kind(fd, kind, &identity);
    return code ? code : th_record_adopt(out, fd, *kind, false);
}

/* With the lock. */
static int take_named(thrum_io *out, const char *name, const char *names, int count,
                      th_os_kind *kind) {
    int code = secure((unsigned)count);
    for (unsigned i = 0; i < (unsigned)count && !code; i++) {
        const uint64_t bit = (uint64_t)1 << i % 64;
        if ((taken[i / 64] & bit) || (*name && !(names && has_name(names, (int)i, name)))) {
            continue;
        }
        code = take(out, FIRST + (int)i, kind);
        if (code != -EEXIST) { /* that one the program has taken over by itself */
            taken[i / 64] |= code ? 0 : bit;
            return code;
        }
        code = 0;
    }
    return code ? code : -ENOENT;
}

int th_activation_take(thrum_io *out, const char *name, th_os_kind *kind) {
    if (strlen(name) > NAME_MAX_BYTES) {
        return -ENAMETOOLONG;
    }
    if (strchr(name, ':') || !is_name(name, strlen(name))) {
        return -EINVAL;
    }
    const int count = count_given();
    const char *names = th_os_env("LISTEN_FDNAMES");
    if (count <= 0) {
        return count ? count : -ENOENT;
    }
    if (names && !are_names(names, count)) {
        return -EBADMSG;
    }
    TH_LOCKED(&lock);
    return take_named(out, name, names, count, kind);
}
