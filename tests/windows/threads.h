/*
 * threads.h: the threads of this program, by the descriptions that Windows 10 keeps of them.
 */
#ifndef WINDOWS_THREADS_H
#define WINDOWS_THREADS_H

#include "check.h"

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#define SIZE WINDOWS_SIZE
#include <windows.h>
/* Behind what it needs. */
#include <tlhelp32.h>
#undef SIZE
#undef near
#undef far

/* A tenth of what it is elsewhere: wine takes two milliseconds and more for a thread. */
#define STARTS 1000

typedef HRESULT(WINAPI *threads_describe)(HANDLE thread, PWSTR *text);

/* The description, or "". */
CHECK_UNUSED static void thread_described(DWORD number, wchar_t to[64]) {
    threads_describe describe = (threads_describe)(void (*)(void))GetProcAddress(
        GetModuleHandleW(L"kernel32.dll"), "GetThreadDescription");
    wchar_t *text = NULL;
    HANDLE thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, number);
    CHECK(describe != NULL);
    to[0] = L'\0';
    if (thread && SUCCEEDED(describe(thread, &text)) && text) {
        wcsncpy(to, text, 63);
        to[63] = L'\0';
        LocalFree(text);
    }
    if (thread) {
        CloseHandle(thread);
    }
}

CHECK_UNUSED static void own_thread_name(char *to, int size) {
    wchar_t name[64];
    thread_described(GetCurrentThreadId(), name);
    CHECK(WideCharToMultiByte(CP_UTF8, 0, name, -1, to, size, NULL, NULL) > 0);
}

CHECK_UNUSED static int threads_named(const wchar_t *name) {
    THREADENTRY32 entry = {.dwSize = sizeof entry};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    wchar_t text[64];
    int n = 0;
    CHECK(all != INVALID_HANDLE_VALUE);
    for (BOOL more = Thread32First(all, &entry); more; more = Thread32Next(all, &entry)) {
        if (entry.th32OwnerProcessID == GetCurrentProcessId()) {
            thread_described(entry.th32ThreadID, text);
            n += wcscmp(text, name) == 0;
        }
    }
    CloseHandle(all);
    return n;
}

#endif
