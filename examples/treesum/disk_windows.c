/*
 * disk_windows.c: see disk.h.
 */
#include "disk.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "beneath.h"
#include "memory.h"
#include "windows_errors.h"

int disk_look(int fd, struct disk_info *info) {
    BY_HANDLE_FILE_INFORMATION known;
    *info = (struct disk_info){.regular = false};
    if (GetFileType(handle_of(fd)) != FILE_TYPE_DISK) {
        return 0;
    }
    if (!GetFileInformationByHandle(handle_of(fd), &known)) {
        return errno_of(GetLastError());
    }
    info->device = known.dwVolumeSerialNumber;
    info->inode = (uint64_t)known.nFileIndexHigh << 32 | known.nFileIndexLow;
    info->size = (int64_t)((uint64_t)known.nFileSizeHigh << 32 | known.nFileSizeLow);
    info->regular = !(known.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
    return 0;
}

int disk_keep(int fd) {
    HANDLE other;
    const HANDLE own = GetCurrentProcess();
    return DuplicateHandle(own, handle_of(fd), own, &other, 0, FALSE, DUPLICATE_SAME_ACCESS)
               ? fd_of(other)
               : -1;
}

void disk_close(int fd) {
    CloseHandle(handle_of(fd));
}

ssize_t disk_read(int fd, void *to, size_t size) {
    DWORD got;
    if (ReadFile(handle_of(fd), to, (DWORD)size, &got, NULL)) {
        return (ssize_t)got;
    }
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : -errno_of(GetLastError());
}

/* ---- names ---- */

struct names {
    int fd;
    size_t at;   /* the next entry */
    bool filled; /* there is one */
    char text[256 * 3 + 1];
    _Alignas(8) char entries[64 << 10]; /* as the system has them */
};

struct names *names_open(int fd, int *err) {
    struct names *names = memory_new(sizeof *names);
    *err = 0;
    names->fd = fd;
    names->at = 0;
    names->filled = false;
    return names;
}

static enum name_kind kind_of(const FILE_ID_BOTH_DIR_INFO *entry) {
    const DWORD tag = entry->EaSize; /* of reparse points */
    const bool links = entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT &&
                       (tag == 0 || IsReparseTagNameSurrogate(tag));
    return links                                              ? NAME_LINK
           : entry->FileAttributes & FILE_ATTRIBUTE_DIRECTORY ? NAME_DIR
                                                              : NAME_FILE;
}

int names_next(struct names *names, struct name *found) {
    if (!names->filled) {
        if (!GetFileInformationByHandleEx(handle_of(names->fd), FileIdBothDirectoryInfo,
                                          names->entries, sizeof names->entries)) {
            const DWORD error = GetLastError();
            return error == ERROR_NO_MORE_FILES ? NAMES_END : errno_of(error);
        }
        names->at = 0;
    }
    const FILE_ID_BOTH_DIR_INFO *entry = (const void *)(names->entries + names->at);
    const int size = WideCharToMultiByte(CP_UTF8, 0, entry->FileName,
                                         (int)(entry->FileNameLength / sizeof(wchar_t)),
                                         names->text, sizeof names->text - 1, NULL, NULL);
    names->text[size] = '\0';
    *found = (struct name){.text = names->text, .kind = kind_of(entry)};
    names->filled = entry->NextEntryOffset != 0;
    names->at += entry->NextEntryOffset;
    return 0;
}

/* Called only for links: the target is a directory, or it is not. */
int names_look(struct names *names, const char *name, bool follow, enum name_kind *kind) {
    char *copy = memory_copy(name);
    int fd = beneath_open(names->fd, copy, strlen(copy), BENEATH_PLACE, follow);
    *kind = fd >= 0 ? NAME_DIR : NAME_FILE;
    if (fd == -ENOTDIR) {
        fd = beneath_open(names->fd, copy, strlen(copy), BENEATH_FILE, follow);
    }
    free(copy);
    if (fd >= 0) {
        disk_close(fd);
    }
    return fd < 0 ? -fd : 0;
}

void names_close(struct names *names) {
    disk_close(names->fd);
    free(names);
}
