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

int th_nt_errno(DWORD error) {
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_INVALID_NAME:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NET_NAME:
        return ENOENT;
    case ERROR_DIRECTORY:
        return ENOTDIR;
    case ERROR_DIR_NOT_EMPTY:
        return ENOTEMPTY;
    case ERROR_NOT_SAME_DEVICE:
        return EXDEV;
    case ERROR_FILENAME_EXCED_RANGE:
        return ENAMETOOLONG;
    case ERROR_CANT_RESOLVE_FILENAME:
        return ELOOP;
    case ERROR_TOO_MANY_LINKS:
        return EMLINK;
    case ERROR_WRITE_PROTECT:
        return EROFS;
    case ERROR_FILE_TOO_LARGE:
        return EFBIG;
    case ERROR_CURRENT_DIRECTORY:
        return EBUSY;
    case ERROR_TOO_MANY_OPEN_FILES:
        return EMFILE;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_DELETE_PENDING:
    case ERROR_LOCK_VIOLATION:
    case ERROR_PRIVILEGE_NOT_HELD:
    case ERROR_ELEVATION_REQUIRED:
        return EACCES;
    case ERROR_INVALID_HANDLE:
        return EBADF;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES:
        return ENOMEM;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return ENOSPC;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
    case ERROR_PIPE_NOT_CONNECTED: /* as wine has it */
        return EPIPE;
    case ERROR_BAD_EXE_FORMAT:
    case ERROR_EXE_MACHINE_TYPE_MISMATCH:
        return ENOEXEC;
    case ERROR_NOT_SUPPORTED:
    case ERROR_CALL_NOT_IMPLEMENTED:
        return ENOSYS;
    case ERROR_INVALID_FUNCTION:
    case ERROR_NEGATIVE_SEEK:
    case ERROR_INVALID_PARAMETER:
    case ERROR_INVALID_ADDRESS:
        return EINVAL;
    default:
        return EIO;
    }
}

bool th_nt_wide(const char *text, wchar_t out[], int room) {
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, room) > 0;
}
