/*
 * file_names.c: names of files: paths as the system has them, changes of names, and directories.
 */
#include "platform/windows/file/file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

/* ---- information ---- */

DWORD th_file_attributes(HANDLE file) {
    FILE_BASIC_INFO info;
    return GetFileInformationByHandleEx(file, FileBasicInfo, &info, sizeof info)
               ? info.FileAttributes
               : 0;
}

th_os_file_kind th_file_kind_of(DWORD attributes, DWORD tag) {
    const bool links = tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
    return attributes & FILE_ATTRIBUTE_REPARSE_POINT && links ? TH_OS_FILE_SYMBOLIC
           : attributes & FILE_ATTRIBUTE_DIRECTORY            ? TH_OS_FILE_FOLDER
                                                              : TH_OS_FILE_REGULAR;
}

/* ---- paths ---- */

#define SHORT 248 /* words of a path that any call takes as it is: a name of 8.3 fits behind it */
#define PREFIX L"\\\\?\\"
#define PREFIX_SERVER L"\\\\?\\UNC"

static int long_path(const wchar_t *full, wchar_t out[TH_FILE_PATH_WORDS]) {
    const bool is_raw = wcsncmp(full, PREFIX, 4) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0;
    const bool is_server = !is_raw && full[0] == L'\\' && full[1] == L'\\';
    const wchar_t *prefix = is_raw ? L"" : is_server ? PREFIX_SERVER : PREFIX;
    full += is_server ? 1 : 0;
    const size_t before = wcslen(prefix);
    const size_t size = wcslen(full) + 1;
    if (before + size > TH_FILE_PATH_WORDS) {
        return -ENAMETOOLONG;
    }
    memcpy(out, prefix, before * sizeof *out);
    memcpy(out + before, full, size * sizeof *out);
    return 0;
}

int th_file_path(const char *path, wchar_t out[TH_FILE_PATH_WORDS]) {
    wchar_t full[TH_FILE_PATH_WORDS];
    if (!path[0]) {
        return -ENOENT;
    }
    if (!th_nt_wide(path, out, TH_FILE_PATH_WORDS)) {
        return GetLastError() == ERROR_INSUFFICIENT_BUFFER ? -ENAMETOOLONG : -EILSEQ;
    }
    const DWORD length = GetFullPathNameW(out, TH_FILE_PATH_WORDS, full, NULL);
    if (length >= TH_FILE_PATH_WORDS) {
        return -ENAMETOOLONG;
    }
    return length < SHORT ? 0 : long_path(full, out);
}

/* ---- names ---- */

int64_t th_file_rename(th_file_request *r) {
    wchar_t from[TH_FILE_PATH_WORDS];
    wchar_t to[TH_FILE_PATH_WORDS];
    int code = th_file_path(r->path, from);
    code = code ? code : th_file_path(r->other, to);
    if (code) {
        return code;
    }
    const DWORD how = r->flags & TH_OS_FILE_NO_REPLACE ? 0 : MOVEFILE_REPLACE_EXISTING;
    /* With two names of the same file, wine removes the first one and reports a rename. */
    if (!how && th_nt()->is_wine && GetFileAttributesW(to) != INVALID_FILE_ATTRIBUTES) {
        return -EEXIST;
    }
    return MoveFileExW(from, to, how) ? 0 : th_nt_code();
}

/* A link to a directory is one to the system, but only the link goes. */
int64_t th_file_unlink(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    const int code = th_file_path(r->path, path);
    if (code) {
        return code;
    }
    if (DeleteFileW(path)) {
        return 0;
    }
    const DWORD error = GetLastError();
    const DWORD attributes = GetFileAttributesW(path);
    const bool is_there = attributes != INVALID_FILE_ATTRIBUTES;
    if (is_there && attributes & FILE_ATTRIBUTE_DIRECTORY) {
        const bool is_link = attributes & FILE_ATTRIBUTE_REPARSE_POINT;
        return !is_link ? -EISDIR : RemoveDirectoryW(path) ? 0 : th_nt_code();
    }
    return -th_nt_errno(error);
}

int64_t th_file_rmdir(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    const int code = th_file_path(r->path, path);
    return code ? code : RemoveDirectoryW(path) ? 0 : th_nt_code();
}

int64_t th_file_mkdir(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    const int code = th_file_path(r->path, path);
    return code ? code : CreateDirectoryW(path, NULL) ? 0 : th_nt_code();
}

int64_t th_file_link(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    wchar_t name[TH_FILE_PATH_WORDS];
    int code = th_file_path(r->path, path);
    code = code ? code : th_file_path(r->other, name);
    return code ? code : CreateHardLinkW(name, path, NULL) ? 0 : th_nt_code();
}

/* ---- directories ---- */

/* How an entry is left in memory; the name follows. */
typedef struct entry {
    uint64_t inode;
    uint16_t length;
    uint16_t kind;
} entry;

/*
 * The system's entries are turned into ours, whose names may be longer: three bytes for a word of
 * two. But theirs have so much before the name that ours never have one and a half times their
 * size.
 */
static size_t put(char *to, size_t room, const FILE_ID_BOTH_DIR_INFO *theirs) {
    char *name = to + sizeof(entry);
    const int words = (int)(theirs->FileNameLength / sizeof(wchar_t));
    const int n = WideCharToMultiByte(CP_UTF8, 0, theirs->FileName, words, name,
                                      (int)(room - sizeof(entry) - 1), NULL, NULL);
    name[n] = '\0';
    const size_t size = (sizeof(entry) + (size_t)n + sizeof(entry)) & ~(sizeof(entry) - 1);
    const entry e = {(uint64_t)theirs->FileId.QuadPart, (uint16_t)size,
                     (uint16_t)th_file_kind_of(theirs->FileAttributes, theirs->EaSize)};
    memcpy(to, &e, sizeof e);
    return size;
}

int64_t th_file_list(th_file_request *r) {
    const size_t size = r->size / 2;
    char *theirs = th_os_alloc(size);
    if (!theirs) {
        return -ENOMEM;
    }
    int64_t done = 0;
    size_t at = 0;
    size_t next = 1;
    if (!GetFileInformationByHandleEx(th_nt_handle(r->fd), FileIdBothDirectoryInfo, theirs,
                                      (DWORD)size)) {
        const DWORD error = GetLastError();
        done = error == ERROR_NO_MORE_FILES ? 0 : -th_nt_errno(error);
        next = 0;
    }
    while (next) {
        const FILE_ID_BOTH_DIR_INFO *info = (const void *)(theirs + at);
        done += (int64_t)put((char *)r->bytes + done, r->size - (size_t)done, info);
        next = info->NextEntryOffset;
        at += next;
    }
    th_os_free(theirs);
    return done;
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    const char *begin = (const char *)bytes + at;
    entry e;
    memcpy(&e, begin, sizeof e);
    *out = (th_os_file_entry){.name = begin + sizeof e, .inode = e.inode, .kind = e.kind};
    return at + e.length;
}
