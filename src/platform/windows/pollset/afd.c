/*
 * afd.c: see afd.h.
 */
#include "platform/windows/pollset/afd.h"

#include <errno.h>

#ifndef SIO_BASE_HANDLE
#define SIO_BASE_HANDLE 0x48000022
#endif
#ifndef SIO_BSP_HANDLE_POLL
#define SIO_BSP_HANDLE_POLL 0x4800001d
#endif

#define IOCTL_AFD_POLL 0x12024u
#define STATUS_WAITS 0x103                  /* the answer comes later */
#define STATUS_NO_HANDLE ((LONG)0xc0000008) /* nothing has this number */
#define STATUS_NO_SOCKET ((LONG)0xc0000024) /* it is something else's */

#define FEW 16u /* that are taken by one call */

/* A completion from a port, in the system's layout. */
typedef struct th_nt_completion {
    void *key;
    void *context;
    IO_STATUS_BLOCK status;
} completion;

/* ---- beginning and end ---- */

/* Below the device any name will do. */
static HANDLE open_device(void) {
    static wchar_t name[] = L"\\Device\\Afd\\thrum";
    UNICODE_STRING text = {sizeof name - sizeof *name, sizeof name, name};
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &text};
    IO_STATUS_BLOCK status;
    HANDLE device = NULL;
    const LONG code =
        th_nt()->create_file(&device, SYNCHRONIZE, &attributes, &status, NULL, 0,
                             FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN, 0, NULL, 0);
    return code < 0 ? NULL : device;
}

/*
 * The thread that sleeps there wakes when a packet comes, regardless of the running threads: there
 * is only one.
 */
HANDLE th_afd_port(void) {
    return CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, MAXLONG);
}

int th_afd_open(th_afd *out, HANDLE port) {
    const th_nt_calls *nt = th_nt();
    const bool able = nt->device_control && nt->cancel_io && nt->take_completions;
    *out = (th_afd){.device = able ? open_device() : NULL};
    if (!out->device) {
        return -ENOSYS;
    }
    if (!CreateIoCompletionPort(out->device, port, 0, 0)) {
        const int code = -th_nt_errno(GetLastError());
        th_afd_close(out);
        return code;
    }
    out->skips = SetFileCompletionNotificationModes(
        out->device, FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE);
    return 0;
}

void th_afd_close(const th_afd *afd) {
    CloseHandle(afd->device);
}

/* ---- asking ---- */

/* A layered provider may refuse the first question, so that others stay above its own socket. */
SOCKET th_afd_base(SOCKET s) {
    SOCKET base = INVALID_SOCKET;
    DWORD got;
    if (WSAIoctl(s, SIO_BASE_HANDLE, NULL, 0, &base, sizeof base, &got, NULL, NULL) &&
        WSAIoctl(s, SIO_BSP_HANDLE_POLL, NULL, 0, &base, sizeof base, &got, NULL, NULL)) {
        return s;
    }
    return base;
}

int th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events) {
    th_afd_poll *poll = &request->poll;
    request->status = (IO_STATUS_BLOCK){.Information = 0};
    request->status.Status = STATUS_WAITS;
    *poll = (th_afd_poll){.count = 1, .socket = (HANDLE)base, .events = events};
    poll->timeout.QuadPart = INT64_MAX;
    const LONG status =
        th_nt()->device_control(afd->device, NULL, NULL, request, &request->status, IOCTL_AFD_POLL,
                                poll, sizeof *poll, poll, sizeof *poll);
    return status == STATUS_WAITS                                     ? 1
           : status >= 0                                              ? !afd->skips
           : status == STATUS_NO_HANDLE || status == STATUS_NO_SOCKET ? -EBADF
                                                                      : -ENOMEM;
}

/*
 * Under wine the thread that has asked writes the answer. If it ends meanwhile, the packet comes
 * all the same, and the request is as it was: its events are those that were asked for.
 */
ULONG th_afd_answer(const th_afd_request *request) {
    const LONG status = request->status.Status;
    return status < 0 || status == STATUS_WAITS || !request->poll.count ? 0 : request->poll.events;
}

void th_afd_cancel(const th_afd *afd, th_afd_request *request) {
    IO_STATUS_BLOCK status;
    (void)th_nt()->cancel_io(afd->device, &request->status, &status);
}

/* ---- the port ---- */

unsigned th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max, int64_t deadline) {
    completion got[FEW];
    ULONG n = 0;
    LARGE_INTEGER timeout = {.QuadPart = 0};
    if (deadline && deadline != TH_FOREVER) {
        const int64_t left = deadline - th_os_now();
        timeout.QuadPart = left > 0 ? -(left / 100 + (left % 100 != 0)) : 0; /* from now on */
    }
    const LONG status = th_nt()->take_completions(port, got, max < FEW ? max : FEW, &n,
                                                  deadline == TH_FOREVER ? NULL : &timeout, FALSE);
    if (status) { /* 0x102: it is over */
        return 0;
    }
    for (ULONG i = 0; i < n; i++) {
        requests[i] = got[i].context;
    }
    return n;
}

/* The system refuses it only when it has no memory; the sleeper would then sleep for ever. */
void th_afd_nudge(HANDLE port) {
    while (!PostQueuedCompletionStatus(port, 0, 0, NULL)) {
        Sleep(1);
    }
}
