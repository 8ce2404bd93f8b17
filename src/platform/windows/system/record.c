/*
 * record.c: files that are written for later, also by the handler of a crash: calls of the system's
 * alone. Paths are in UTF-8.
 */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#define PATH_WORDS 1024

int th_os_record_open(const char *path) {
    wchar_t wide[PATH_WORDS];
    TH_KEEPS_ERRNO;
    if (!th_nt_wide(path, wide, PATH_WORDS)) {
        return -ENOENT;
    }
    (void)_wunlink(wide); /* left by an earlier process, or put there by somebody */
    int fd = _wopen(wide, _O_WRONLY | _O_CREAT | _O_EXCL | _O_NOINHERIT | _O_BINARY,
                    _S_IREAD | _S_IWRITE);
    return fd < 0 ? -th_os_errno_get() : fd;
}

bool th_os_record_write(int fd, const char *bytes, size_t length) {
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    DWORD n;
    while (length > 0 && WriteFile(file, bytes, (DWORD)length, &n, NULL) && n > 0) {
        bytes += n;
        length -= n;
    }
    return length == 0;
}

bool th_os_record_close(int fd, const char *path, const char *to) {
    wchar_t from_wide[PATH_WORDS];
    wchar_t to_wide[PATH_WORDS];
    TH_KEEPS_ERRNO;
    bool done = _close(fd) == 0;
    if (th_nt_wide(path, from_wide, PATH_WORDS)) {
        DWORD there = 0;
        bool fits = to && th_nt_wide(to, to_wide, PATH_WORDS);
        if (fits) {
            there = GetFileAttributesW(to_wide);
        }
        const DWORD odd = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE |
                          FILE_ATTRIBUTE_REPARSE_POINT; /* not to be replaced */
        if (!fits || (there != INVALID_FILE_ATTRIBUTES && (there & odd)) ||
            !MoveFileExW(from_wide, to_wide, MOVEFILE_REPLACE_EXISTING)) {
            DeleteFileW(from_wide);
            done = false;
        }
    }
    return done;
}
