/*
 * nt.c: see nt.h.
 */
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "platform/platform.h"

#ifndef ERROR_ELEVATION_REQUIRED
#define ERROR_ELEVATION_REQUIRED 740
#endif

static th_nt_calls calls; /* all threads write the same; read behind `xknown` */
static uint32_t xknown;

/* Both compilers allow a cast from one function type to another through a plain one. */
static void (*find(HMODULE module, const char *name))(void) {
    return (void (*)(void))(uintptr_t)GetProcAddress(module, name);
}

static TH_COLD void look_up(void) {
    HMODULE nt = GetModuleHandleW(L"ntdll.dll");
    HMODULE base = GetModuleHandleW(L"kernelbase.dll");
    calls.wait_on_address = (void *)find(nt, "RtlWaitOnAddress");
    calls.wake_one = (void *)find(nt, "RtlWakeAddressSingle");
    calls.wake_all = (void *)find(nt, "RtlWakeAddressAll");
    calls.set_timer_resolution = (void *)find(nt, "NtSetTimerResolution");
    calls.query_file = (void *)find(nt, "NtQueryInformationFile");
    calls.create_file = (void *)find(nt, "NtCreateFile");
    calls.device_control = (void *)find(nt, "NtDeviceIoControlFile");
    calls.cancel_io = (void *)find(nt, "NtCancelIoFileEx");
    calls.take_completions = (void *)find(nt, "NtRemoveIoCompletionEx");
    calls.set_thread_name = base ? (void *)find(base, "SetThreadDescription") : NULL;
    calls.query_clock = (const uint8_t *)(uintptr_t)find(nt, "NtQueryPerformanceCounter");
    calls.is_wine = find(nt, "wine_get_version") != NULL;
    if (!calls.wait_on_address || !calls.wake_one || !calls.wake_all) {
        static const char text[] = "thrum: this Windows is older than Windows 8\n";
        DWORD n; /* th_os_stderr takes these calls */
        (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, sizeof text - 1, &n, NULL);
        abort();
    }
}

const th_nt_calls *th_nt(void) {
    if (th_unlikely(!th_load_acquire(&xknown))) { /* pairs: th_nt; the pointers */
        look_up();
        th_store_release(&xknown, 1u); /* pairs: th_nt; the pointers */
    }
    return &calls;
}

int th_nt_find(const th_nt_pair known[], size_t n, DWORD error) {
    for (size_t i = 0; i < n; i++) {
        if (known[i].theirs == error) {
            return known[i].ours;
        }
    }
    return EIO;
}

int th_nt_errno(DWORD error) {
    static const th_nt_pair known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_PATHNAME, ENOENT},
        {ERROR_BAD_NET_NAME, ENOENT},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
        {ERROR_TOO_MANY_LINKS, EMLINK},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_FILE_TOO_LARGE, EFBIG},
        {ERROR_CURRENT_DIRECTORY, EBUSY},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},
        {ERROR_DELETE_PENDING, EACCES},
        {ERROR_LOCK_VIOLATION, EACCES},
        {ERROR_PRIVILEGE_NOT_HELD, EACCES},
        {ERROR_ELEVATION_REQUIRED, EACCES},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_COMMITMENT_LIMIT, ENOMEM},
        {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_PIPE_NOT_CONNECTED, EPIPE}, /* as wine has it */
        {ERROR_BAD_EXE_FORMAT, ENOEXEC},
        {ERROR_EXE_MACHINE_TYPE_MISMATCH, ENOEXEC},
        {ERROR_NOT_SUPPORTED, ENOSYS},
        {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
        {ERROR_INVALID_FUNCTION, EINVAL},
        {ERROR_NEGATIVE_SEEK, EINVAL},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_INVALID_ADDRESS, EINVAL},
    };
    return th_nt_find(known, sizeof known / sizeof known[0], error);
}

bool th_nt_wide(const char *text, wchar_t out[], int room) {
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, room) > 0;
}
