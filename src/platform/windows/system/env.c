/*
 * env.c: environment variables, in UTF-8, texts of errors, and the end of the program.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

#define VALUE_WORDS 1024 /* a longer value is as none */
#define NAME_WORDS 64

/*
 * The texts that were returned, which callers may keep: one for each value that a variable has had.
 * There are few variables, and they seldom change.
 */
typedef struct seen {
    struct seen *next;
    char *value;
    char name[];
} seen;

static seen *texts; /* protected by texts_lock */
static SRWLOCK texts_lock = SRWLOCK_INIT;

/* With the lock. NULL: no memory. */
static const char *kept(const char *name, const char *value) {
    for (const seen *s = texts; s; s = s->next) {
        if (!strcmp(s->name, name) && !strcmp(s->value, value)) {
            return s->value;
        }
    }
    size_t name_size = strlen(name) + 1;
    size_t value_size = strlen(value) + 1;
    seen *s = malloc(sizeof *s + name_size + value_size);
    if (!s) {
        return NULL;
    }
    memcpy(s->name, name, name_size);
    s->value = s->name + name_size;
    memcpy(s->value, value, value_size);
    s->next = texts;
    texts = s;
    return s->value;
}

const char *th_os_env(const char *name) {
    wchar_t wide_name[NAME_WORDS];
    wchar_t wide[VALUE_WORDS];
    char value[3 * VALUE_WORDS];
    TH_KEEPS_ERRNO;
    const char *result = NULL;
    if (th_nt_wide(name, wide_name, NAME_WORDS)) {
        SetLastError(ERROR_SUCCESS); /* an empty value and none have the same length */
        DWORD length = GetEnvironmentVariableW(wide_name, wide, VALUE_WORDS);
        if (length < VALUE_WORDS && (length || GetLastError() == ERROR_SUCCESS) &&
            WideCharToMultiByte(CP_UTF8, 0, length ? wide : L"", -1, value, sizeof value, NULL,
                                NULL) > 0) {
            TH_HOLDS(&texts_lock);
            result = kept(name, value);
        }
    }
    return result;
}

int th_os_pid(void) {
    return (int)GetCurrentProcessId();
}

/* The C library has texts of the oldest numbers alone; these are other systems' for the rest. */
static const char *text_of_newer(int number) {
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {ESHUTDOWN, "Cannot send after transport endpoint shutdown"},
        {ECANCELED, "Operation canceled"},
        {ETIMEDOUT, "Connection timed out"},
        {EALREADY, "Operation already in progress"},
        {EOPNOTSUPP, "Operation not supported"},
        {EOWNERDEAD, "Owner died"},
        {ECONNRESET, "Connection reset by peer"},
        {ECONNREFUSED, "Connection refused"},
        {EADDRINUSE, "Address already in use"},
        {EMSGSIZE, "Message too long"},
        {ENOTSOCK, "Socket operation on non-socket"},
        {ENOTCONN, "Transport endpoint is not connected"},
        {EINPROGRESS, "Operation now in progress"},
        {EOVERFLOW, "Value too large for defined data type"},
        {EADDRNOTAVAIL, "Cannot assign requested address"},
        {EAFNOSUPPORT, "Address family not supported by protocol"},
        {EBADMSG, "Bad message"},
        {EDESTADDRREQ, "Destination address required"},
        {EHOSTUNREACH, "No route to host"},
        {ENETUNREACH, "Network is unreachable"},
        {ENOBUFS, "No buffer space available"},
        {ENOPROTOOPT, "Protocol not available"},
        {EPROTO, "Protocol error"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == number) {
            return known[i].text;
        }
    }
    return NULL;
}

const char *th_os_error_text(int number) {
    const char *text = text_of_newer(number);
    if (text || number < 0 || number >= sys_nerr) {
        return text;
    }
    text = sys_errlist[number];
    return strcmp(text, "Unknown error") ? text : NULL;
}

void th_os_exit(int status) {
    TerminateProcess(GetCurrentProcess(), (UINT)status);
    abort(); /* not reached */
}

/*
 * A function that a DLL registers by atexit is called when the process unloads the DLL, and by then
 * Windows has ended all other threads, wherever they were: a lock that one of them had is never
 * given back. So the C library's own list is used, which exit() goes through before that: those of
 * msvcrt and ucrt, as far as they are loaded, since either may be the program's. If its exit() uses
 * neither, a function registered here by atexit comes late, but comes. The call is made once.
 */
static void (*exit_call)(void);
static uint32_t xexit_called;

static void __cdecl call_once(void) {
    if (!th_xchg_relaxed(&xexit_called, 1u)) { /* relaxed: by the thread that exits, each time */
        exit_call();
    }
}

static int __cdecl on_exit_list(void) {
    call_once();
    return 0;
}

static void list_at(const wchar_t *library, const char *name) {
    typedef int(__cdecl * call_fn)(void);
    typedef void *(__cdecl * list_fn)(call_fn call);
    const HMODULE module = GetModuleHandleW(library);
    const list_fn list = (list_fn)(void *)(module ? GetProcAddress(module, name) : NULL);
    if (list) {
        (void)list(on_exit_list);
    }
}

int th_os_at_exit(void (*call)(void)) {
    exit_call = call;
    list_at(L"msvcrt.dll", "_onexit");
    list_at(L"ucrtbase.dll", "_crt_atexit"); /* of a similar signature: the result is ignored */
    return atexit(call_once) ? -ENOMEM : 0;
}
