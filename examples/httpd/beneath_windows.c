/*
 * beneath_windows.c: see beneath.h. Each name is opened below the directory before it, without
 * following links; so a link is seen once it is open, and can no longer be replaced.
 *
 * Files below a directory have more names here than the listed ones: of 8.3, of alternate streams,
 * with another slash. All of these are refused, so that a file has one name, regardless of the case
 * of its letters, and the rest of the server's conclusions from a path hold for the file. The names
 * of devices are refused, too.
 */
#include "beneath.h"

#include <limits.h>
#include <string.h>
#include <windows.h>
#include <winternl.h>

#include "windows_errors.h"

enum { NAME_WORDS = 256, PATH_WORDS = 4096 };

#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define READ (FILE_READ_ATTRIBUTES | FILE_READ_DATA /* or names */ | SYNCHRONIZE)
#define STEP (FILE_READ_ATTRIBUTES | FILE_TRAVERSE | SYNCHRONIZE)

/* ---- names ---- */

/* Whether the name, up to its first dot, is that of a device: "nul", "COM1.txt", "con ". */
static bool is_device(const char *name) {
    static const char *const devices[] = {"con", "prn", "aux", "nul", "conin$", "conout$"};
    size_t length = strcspn(name, ".");
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (strlen(devices[i]) == length && _strnicmp(name, devices[i], length) == 0) {
            return true;
        }
    }
    const bool is_port = _strnicmp(name, "com", 3) == 0 || _strnicmp(name, "lpt", 3) == 0;
    /* A digit, also a raised one: U+00B9, U+00B2, U+00B3. */
    return is_port && ((length == 4 && name[3] >= '0' && name[3] <= '9') ||
                       (length == 5 && name[3] == '\xc2'));
}

/* How many characters the bytes are. */
static size_t count_characters(const char *from, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += ((unsigned char)from[i] & 0xc0) != 0x80;
    }
    return count;
}

/*
 * Whether it may be of the form that the system gives to its second names: up to eight characters
 * that end with "~1", and three. Before that there may be a tilde of the first name's, as in
 * "ENV~~1" for ".env~".
 */
static bool is_short(const char *name) {
    const size_t length = strcspn(name, ".");
    bool is_numbered = false;
    for (size_t i = 0; i + 1 < length; i++) {
        is_numbered = is_numbered || (name[i] == '~' && name[i + 1] >= '0' && name[i + 1] <= '9');
    }
    return is_numbered && count_characters(name, length) <= 8 &&
           count_characters(name + length, strlen(name + length)) <= 4;
}

static bool is_plain(const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] < ' ' || strchr("\\/:*?\"<>|", name[i])) {
            return false;
        }
    }
    return length == 0 || (name[length - 1] != '.' && name[length - 1] != ' ' && !is_device(name) &&
                           !is_short(name));
}

/* ---- opening ---- */

/*
 * Whether it leads to another file. Wine reports a link to a directory without its kind. If the
 * file system does not report the kind at all, anything that may be a link counts as one.
 */
static bool is_link(HANDLE file) {
    FILE_ATTRIBUTE_TAG_INFO info;
    BY_HANDLE_FILE_INFORMATION known;
    if (GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info)) {
        return info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT &&
               (info.ReparseTag == 0 || IsReparseTagNameSurrogate(info.ReparseTag));
    }
    return !GetFileInformationByHandle(file, &known) ||
           known.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
}

/* Opens one name, or with none the directory itself once more. */
static int open_name(HANDLE at, const char *name, bool is_step) {
    wchar_t wide[NAME_WORDS];
    HANDLE file;
    IO_STATUS_BLOCK status;
    OBJECT_ATTRIBUTES what;
    const int words =
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, NAME_WORDS);
    if (words == 0 || !is_plain(name)) {
        return -ENOENT;
    }
    const USHORT bytes = (USHORT)((size_t)(words - 1) * sizeof *wide);
    UNICODE_STRING text = {.Length = bytes, .MaximumLength = bytes, .Buffer = wide};
    InitializeObjectAttributes(&what, &text, 0, at, NULL);
    const NTSTATUS code =
        NtCreateFile(&file, is_step ? STEP : READ, &what, &status, NULL, 0, SHARED, FILE_OPEN,
                     FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT |
                         FILE_OPEN_REPARSE_POINT | (is_step ? FILE_DIRECTORY_FILE : 0),
                     NULL, 0);
    if (code < 0) {
        return -errno_of(RtlNtStatusToDosError(code));
    }
    if (is_link(file)) {
        CloseHandle(file);
        return -ELOOP;
    }
    return fd_of(file);
}

int beneath_open(int directory, const char *path) {
    char name[NAME_WORDS * 3];
    int at = directory;
    for (;;) {
        const size_t length = strcspn(path, "/");
        const bool is_last = path[length] == '\0';
        int fd = -ENAMETOOLONG;
        if (length < sizeof name) {
            memcpy(name, path, length);
            name[length] = '\0';
            fd = open_name(handle_of(at), name, !is_last);
        }
        if (at != directory) {
            beneath_close(at);
        }
        if (fd < 0 || is_last) {
            return fd;
        }
        at = fd;
        path += length + 1;
    }
}

int beneath_root(const char *path) {
    wchar_t wide[PATH_WORDS];
    struct beneath_info info;
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_WORDS) == 0) {
        return -ENOENT;
    }
    HANDLE file =
        CreateFileW(wide, READ, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return -errno_of(GetLastError());
    }
    const int err = beneath_look(fd_of(file), &info);
    if (err != 0 || !info.is_directory) {
        CloseHandle(file);
        return err != 0 ? err : -ENOTDIR;
    }
    return fd_of(file);
}

/* ---- the opened file ---- */

/* From 1601 on, in units of 100 ns. */
static time_t time_of(FILETIME time) {
    const uint64_t units = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return (time_t)(units / 10000000) - 11644473600;
}

int beneath_look(int fd, struct beneath_info *info) {
    BY_HANDLE_FILE_INFORMATION known;
    *info = (struct beneath_info){.is_file = false};
    if (GetFileType(handle_of(fd)) != FILE_TYPE_DISK) {
        return 0;
    }
    if (!GetFileInformationByHandle(handle_of(fd), &known)) {
        return -errno_of(GetLastError());
    }
    info->is_directory = (known.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    info->is_file = !info->is_directory;
    info->size = (uint64_t)known.nFileSizeHigh << 32 | known.nFileSizeLow;
    info->changed = time_of(known.ftLastWriteTime);
    return 0;
}

int beneath_read(int fd, void *to, size_t size, uint64_t offset) {
    OVERLAPPED place = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD got;
    if (ReadFile(handle_of(fd), to, size < INT_MAX ? (DWORD)size : INT_MAX, &got, &place)) {
        return (int)got;
    }
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : -errno_of(GetLastError());
}

void beneath_close(int fd) {
    CloseHandle(handle_of(fd));
}
