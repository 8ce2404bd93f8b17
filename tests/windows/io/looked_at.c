/*
 * looked_at.c: looking at a process from outside: connections that bring no key, whose file the key
 * is in, and streams for printing.
 */
/* matrix: policy workers */
#include "support/report/observed.h"

#include "platform/platform.h"

/* The port that is in the file, and the key. */
static unsigned port_and_key(char key[64]) {
    unsigned port = 0;
    FILE *in = fopen(at, "r");
    CHECK(in != NULL);
    CHECK_EQ(fscanf(in, "%u %40s", &port, key), 2);
    fclose(in);
    return port;
}

/* Connects, and says nothing. */
static int silent(unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void is_answered(int fd) {
    ask(fd, "hello\n");
    CHECK(answer(fd));
}

TEST(a_connection_without_a_key_holds_up_nobody) {
    /* It may bring it as late as it likes, and another one is answered meanwhile. */
    rig r;
    char key[64] = "";
    set_folder();
    observed_begin(&r, "keys");
    const int late = silent(port_and_key(key));
    const int other = connected();
    is_answered(other);
    ask(late, key);
    ask(late, "\n");
    is_answered(late);
    CHECK_EQ(close(other) | close(late), 0);
    rig_stop(&r);
    remove_folder();
}

TEST(connections_without_a_key_take_no_place) {
    /* The oldest of them makes room for a new one; a wrong key ends one at once. */
    enum { MANY = 30 };
    rig r;
    char key[64] = "";
    char byte;
    int fds[MANY];
    set_folder();
    observed_begin(&r, "keys");
    const unsigned port = port_and_key(key);
    for (int i = 0; i < MANY; i++) {
        fds[i] = silent(port);
    }
    const int other = connected();
    is_answered(other);
    CHECK(recv(fds[0], &byte, 1, 0) <= 0);
    key[0] = key[0] == '0' ? '1' : '0';
    const int wrong = connect_with(port, key);
    CHECK(recv(wrong, &byte, 1, 0) <= 0);
    is_answered(other);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(close(fds[i]), 0);
    }
    CHECK_EQ(close(other) | close(wrong), 0);
    rig_stop(&r);
    remove_folder();
}

/* Whether everybody may do something with the file. */
static bool is_for_all(const char *path) {
    _Alignas(8) char descriptor[4096];
    DWORD size;
    BOOL is_there;
    BOOL is_default;
    PACL list = NULL;
    bool found = false;
    CHECK(GetFileSecurityA(path, DACL_SECURITY_INFORMATION, descriptor, sizeof descriptor, &size));
    CHECK(GetSecurityDescriptorDacl(descriptor, &is_there, &list, &is_default));
    CHECK(is_there && list);
    for (DWORD i = 0; i < list->AceCount; i++) {
        void *ace;
        CHECK(GetAce(list, i, &ace));
        const ACCESS_ALLOWED_ACE *allowed = ace;
        found = found || (allowed->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
                          IsWellKnownSid((PSID)(uintptr_t)&allowed->SidStart, WinWorldSid));
    }
    return found;
}

TEST(the_file_with_the_key_is_the_user_s_alone) {
    /* Whatever the folder hands down to what is made in it. */
    rig r;
    char other[200];
    set_folder();
    observed_begin(&r, "keys");
    snprintf(other, sizeof other, "%s/other", folder);
    FILE *out = fopen(other, "w");
    CHECK(out != NULL);
    fclose(out);
    if (!is_for_all(other)) {
        CHECK_EQ(_unlink(other), 0);
        CHECK_SKIP("what is made in %s is not for everybody anyway", folder);
    }
    CHECK(!is_for_all(at));
    CHECK_EQ(_unlink(other), 0);
    rig_stop(&r);
    remove_folder();
}
