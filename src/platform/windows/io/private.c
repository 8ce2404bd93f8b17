/*
 * private.c: a listener for the process's own user.
 *
 * Not every Windows has UNIX sockets, and even then the peer's user is not known. So it is a port
 * of the own machine, and a file in the user's folder (%LOCALAPPDATA%\thrum\PID) that has its
 * number and a key: "PORT KEY\n". A client that can read that file, which is made for the user
 * alone, begins a connection with the key and a line's end; all others are refused.
 */
#include "platform/windows/winsock/winsock.h"

#include <ntsecapi.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define BACKLOG 8
#define REMOVE_TRIES 100
#define PATH_WORDS 512
#define KEY_BYTES 16u             /* that nobody guesses */
#define KEY_TEXT (2u * KEY_BYTES) /* in hexadecimal */
#define SID_BYTES 68u             /* the longest (SECURITY_MAX_SID_SIZE) */

/* There is one listener in a process (observe/observe.c). */
static wchar_t file[PATH_WORDS];
static char key[KEY_TEXT + 1];

/* ---- the file ---- */

/* Makes the folder, if it is not there, and the file's name. */
static int name_file(void) {
    wchar_t folder[PATH_WORDS];
    const DWORD length = GetEnvironmentVariableW(L"LOCALAPPDATA", folder, PATH_WORDS - 32);
    if (length == 0 || length >= PATH_WORDS - 32) {
        return -ENOENT;
    }
    wcscat(folder, L"\\thrum");
    if (!CreateDirectoryW(folder, NULL) && GetLastError() != ERROR_ALREADY_EXISTS) {
        return -th_nt_errno(GetLastError());
    }
    const DWORD what = GetFileAttributesW(folder);
    if (what == INVALID_FILE_ATTRIBUTES || !(what & FILE_ATTRIBUTE_DIRECTORY) ||
        (what & FILE_ATTRIBUTE_REPARSE_POINT)) {
        return -EPERM;
    }
    (void)swprintf(file, PATH_WORDS, L"%ls\\%lu", folder, (unsigned long)GetCurrentProcessId());
    return 0;
}

/* A text that nobody guesses. 0 or a code. */
static int make_text(char out[KEY_TEXT + 1]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[KEY_BYTES];
    if (!RtlGenRandom(bytes, sizeof bytes)) {
        return -EIO;
    }
    for (size_t i = 0; i < KEY_BYTES; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[KEY_TEXT] = 0;
    return 0;
}

/* The security attributes of a file that only the user may use, regardless of its folder. */
typedef struct own_user {
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR descriptor;
    _Alignas(8) unsigned char user[sizeof(TOKEN_USER) + SID_BYTES];
    _Alignas(8) unsigned char list[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SID_BYTES];
} own_user;

/* 0 or a code. */
static int own_user_begin(own_user *out) {
    HANDLE token;
    DWORD size;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        return -th_nt_errno(GetLastError());
    }
    const TOKEN_USER *user = (const void *)out->user;
    ACL *list = (ACL *)(void *)out->list;
    SECURITY_DESCRIPTOR *descriptor = &out->descriptor;
    const bool made =
        GetTokenInformation(token, TokenUser, out->user, sizeof out->user, &size) &&
        InitializeAcl(list, sizeof out->list, ACL_REVISION) &&
        AddAccessAllowedAce(list, ACL_REVISION, FILE_ALL_ACCESS, user->User.Sid) &&
        InitializeSecurityDescriptor(descriptor, SECURITY_DESCRIPTOR_REVISION) &&
        SetSecurityDescriptorDacl(descriptor, TRUE, list, FALSE) &&
        SetSecurityDescriptorControl(descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED);
    const int code = made ? 0 : -th_nt_errno(GetLastError());
    CloseHandle(token);
    out->attributes = (SECURITY_ATTRIBUTES){sizeof out->attributes, descriptor, FALSE};
    return code;
}

/* A reader that does not share the file delays this for a moment. */
static void remove_file(void) {
    for (int i = 0; i < REMOVE_TRIES && !DeleteFileW(file); i++) {
        if (GetLastError() != ERROR_SHARING_VIOLATION) {
            return;
        }
        Sleep(1);
    }
}

/* Whether the file's access list is kept: FAT, for one, has none, and everybody may read it. */
static bool is_own(HANDLE out) {
    DWORD flags;
    return GetVolumeInformationByHandleW(out, NULL, 0, NULL, NULL, &flags, NULL, 0) &&
           flags & FILE_PERSISTENT_ACLS;
}

/* A process of the same number that has ended may have left one. */
static int write_file(uint16_t port) {
    own_user own;
    char text[KEY_TEXT + 16];
    DWORD put;
    const int length = snprintf(text, sizeof text, "%u %s\n", (unsigned)port, key);
    const int code = own_user_begin(&own);
    if (code) {
        return code;
    }
    remove_file();
    HANDLE out =
        CreateFileW(file, GENERIC_WRITE, FILE_SHARE_READ, &own.attributes, CREATE_NEW, 0, NULL);
    if (out == INVALID_HANDLE_VALUE) {
        return -th_nt_errno(GetLastError());
    }
    const bool own_alone = is_own(out);
    const bool written =
        own_alone && WriteFile(out, text, (DWORD)length, &put, NULL) && put == (DWORD)length;
    CloseHandle(out);
    return written ? 0 : own_alone ? -EIO : -EPERM;
}

/* ---- the listener ---- */

static int listen_at_port(th_os_private *out) {
    int code = th_os_address_numeric(&out->address, "127.0.0.1", 0);
    out->fd = code ? code : th_os_socket_open(TH_OS_IPV4, TH_OS_BYTES);
    if (out->fd < 0) {
        return out->fd;
    }
    code = th_os_socket_bind(out->fd, &out->address);
    code = code ? code : th_os_socket_listen(out->fd, BACKLOG);
    code = code ? code : th_os_socket_local(out->fd, &out->address);
    code = code ? code : write_file(th_os_address_port(&out->address));
    if (code) {
        th_os_private_close(out);
    }
    return code;
}

int th_os_private_open(th_os_private *out) {
    TH_KEEPS_ERRNO;
    out->fd = -1;
    int code = name_file();
    code = code ? code : make_text(key);
    return code ? code : listen_at_port(out);
}

int th_os_private_accept(const th_os_private *listener) {
    return th_os_io_accept(listener->fd);
}

bool th_os_private_asks(void) {
    return true;
}

bool th_os_private_admits(const char *line) {
    unsigned differ = 0;
    if (strlen(line) != KEY_TEXT) {
        return false;
    }
    for (size_t i = 0; i < KEY_TEXT; i++) { /* in the same time, wherever it differs */
        differ |= (unsigned char)(line[i] ^ key[i]);
    }
    return differ == 0;
}

void th_os_private_close(th_os_private *listener) {
    remove_file();
    th_os_io_close(listener->fd);
    listener->fd = -1;
}
