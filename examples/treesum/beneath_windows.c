/*
 * beneath_windows.c: see beneath.h. Names are opened one by one, each below the directory before
 * it, without following links; so a link is seen once it is open, and can no longer be replaced. So
 * a path may also have any length.
 */
#include "beneath.h"

#include <string.h>
#include <windows.h>
#include <winternl.h>

#include "memory.h"
#include "windows_errors.h"

enum { NAME_WORDS = 256, PATH_WORDS = 32768 };

#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static ACCESS_MASK access_of(enum beneath_how how) {
    return FILE_READ_ATTRIBUTES | SYNCHRONIZE |
           (how == BENEATH_PLACE ? FILE_TRAVERSE : FILE_READ_DATA /* or names */);
}

/* Whether it leads to another file. Wine reports a link to a directory without its kind. */
static bool is_link(HANDLE file) {
    FILE_ATTRIBUTE_TAG_INFO info;
    return GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info) &&
           info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT &&
           (info.ReparseTag == 0 || IsReparseTagNameSurrogate(info.ReparseTag));
}

/* Opens one name, or with none the directory itself once more. */
static int open_name(HANDLE at, const char *name, enum beneath_how how, bool follow) {
    wchar_t wide[NAME_WORDS];
    const int words =
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, NAME_WORDS);
    if (words == 0) {
        return GetLastError() == ERROR_INSUFFICIENT_BUFFER ? -ENAMETOOLONG : -ENOENT;
    }
    const USHORT bytes = (USHORT)((size_t)(words - 1) * sizeof *wide);
    UNICODE_STRING text = {.Length = bytes, .MaximumLength = bytes, .Buffer = wide};
    OBJECT_ATTRIBUTES what;
    InitializeObjectAttributes(&what, &text, 0, at, NULL);
    IO_STATUS_BLOCK status;
    HANDLE file;
    const NTSTATUS code =
        NtCreateFile(&file, access_of(how), &what, &status, NULL, 0, SHARED, FILE_OPEN,
                     FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT |
                         (how == BENEATH_FILE ? 0 : FILE_DIRECTORY_FILE) |
                         (follow ? 0 : FILE_OPEN_REPARSE_POINT),
                     NULL, 0);
    if (code < 0) {
        return -errno_of(RtlNtStatusToDosError(code));
    }
    if (!follow && is_link(file)) {
        CloseHandle(file);
        return -ELOOP;
    }
    return fd_of(file);
}

int beneath_open(int base, char *path, size_t length, enum beneath_how how, bool follow) {
    (void)length;
    int at = base;
    for (;;) {
        char *slash = strchr(path, '/');
        if (slash) {
            *slash = '\0';
        }
        const int fd = open_name(handle_of(at), path, slash ? BENEATH_PLACE : how, follow);
        if (at != base) {
            CloseHandle(handle_of(at));
        }
        if (!slash || fd < 0) {
            return fd;
        }
        at = fd;
        for (path = slash + 1; *path == '/'; path++) {
        }
    }
}

/* ---- arguments of the command line ---- */

/* The whole path, without the limit of 260 words unless it is a device. NULL: it is none. */
static wchar_t *path_of(const char *path) {
    static const wchar_t any_length[] = L"\\\\?\\";
    enum { HEAD = sizeof any_length / sizeof *any_length - 1 };
    wchar_t *wide = memory_new(PATH_WORDS * sizeof *wide);
    wchar_t *whole = memory_new((HEAD + PATH_WORDS) * sizeof *whole);
    DWORD n = 0;
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_WORDS) != 0) {
        n = GetFullPathNameW(wide, PATH_WORDS, whole + HEAD, NULL);
    }
    if (n == 0 || n >= PATH_WORDS) {
        free(whole);
        whole = NULL;
    } else if (whole[HEAD] == L'\\') {
        memmove(whole, whole + HEAD, (n + 1) * sizeof *whole);
    } else {
        memcpy(whole, any_length, HEAD * sizeof *whole);
    }
    free(wide);
    return whole;
}

int beneath_open_argument(char *path, size_t length, enum beneath_how how) {
    (void)length;
    wchar_t *whole = path_of(path);
    if (!whole) {
        return -ENOENT;
    }
    HANDLE file = CreateFileW(whole, access_of(how), SHARED, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS, NULL);
    const DWORD error = GetLastError();
    free(whole);
    if (file == INVALID_HANDLE_VALUE) {
        return -errno_of(error);
    }
    BY_HANDLE_FILE_INFORMATION info;
    if (how != BENEATH_FILE && (!GetFileInformationByHandle(file, &info) ||
                                !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))) {
        CloseHandle(file);
        return -ENOTDIR;
    }
    return fd_of(file);
}
