/*
 * file.h: parts shared by the calls on files (file.c has them all).
 *
 * Files are opened without FILE_FLAG_OVERLAPPED, so that they have a position as elsewhere, and the
 * system makes one transfer of a handle at a time.
 */
#ifndef TH_WINDOWS_FILE_H
#define TH_WINDOWS_FILE_H

#include "platform/windows/winsock/winsock.h"

typedef th_os_file_request th_file_request;

/* Others may also read, write, rename and remove a file that is open here, as everywhere else. */
#define TH_FILE_SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* The code for the calling thread's last error. */
static inline int th_nt_code(void) {
    return -th_nt_errno(GetLastError());
}

/* The same for a call on an open handle: a call that it is not open for is -EBADF there. */
static inline int th_nt_code_of_open(void) {
    const DWORD error = GetLastError();
    return error == ERROR_ACCESS_DENIED ? -EBADF : -th_nt_errno(error);
}

/*
 * A path in UTF-16, a long one as "\\?\C:\...", which has no limit of 260 words. 0; -EILSEQ: it is
 * no UTF-8; -ENAMETOOLONG; -ENOENT: it is empty.
 */
#define TH_FILE_PATH_WORDS 4120
int th_file_path(const char *path, wchar_t out[TH_FILE_PATH_WORDS]);

/* Its kind; its FILE_ATTRIBUTE_..., 0 if there are none. */
th_os_file_kind th_file_kind_of(DWORD attributes, DWORD tag);
DWORD th_file_attributes(HANDLE file);

/*
 * Taken by each transfer of the handle: otherwise a transfer at an offset would leave its position
 * to another one that goes on from the handle's.
 */
SRWLOCK *th_file_position(int fd);

/* file_bytes.c, file_names.c, file_lock.c */
int64_t th_file_read(th_file_request *r);
int64_t th_file_write(th_file_request *r);
int64_t th_file_add(th_file_request *r);
int64_t th_file_copy(th_file_request *r);
int64_t th_file_rename(th_file_request *r);
int64_t th_file_unlink(th_file_request *r);
int64_t th_file_rmdir(th_file_request *r);
int64_t th_file_mkdir(th_file_request *r);
int64_t th_file_link(th_file_request *r);
int64_t th_file_list(th_file_request *r);
int64_t th_file_lock(th_file_request *r);

#endif
