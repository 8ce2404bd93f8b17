/*
 * fault.c: faults, for the report of a stack that overflowed, and for crash reports.
 *
 * A vectored handler sees each exception first. There is no other stack for it: the system calls it
 * on the one that overflowed, in the room that the guard has left (th_os_guard_mprotect). That is
 * not enough for a report, so the report is written on a stack of this file, in a separate context,
 * by one thread at a time; the program ends after it. Exceptions that `ask` does not know go on to
 * their handlers.
 *
 * A crash is an exception that nobody has handled: the last handler of the process
 * (UnhandledExceptionFilter's) is ours, and then the one that was there before, mostly the C
 * library's; contexts have it as well (context_x86_64_win.S). An exception for which the C library
 * calls a handler of the program's is no crash. An abort is a separate signal.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <signal.h>

#include "base/atomic.h"

#define REPORT_BYTES ((size_t)128 << 10)
#define STACK_LEFT ((ULONG)16 << 10) /* room in th_os_guard_size() for the report */

static th_os_fault_fn xask;
static th_os_crash_fn xtell;
static SRWLOCK install_lock = SRWLOCK_INIT;
static bool installed; /* protected by install_lock, like the next */
static bool crashes_installed;
static LPTOP_LEVEL_EXCEPTION_FILTER previous; /* written before the filter is installed */

/* ---- the report of an overflow ---- */

/* All of it is protected by report_lock. */
static SRWLOCK report_lock = SRWLOCK_INIT;
static char report_stack[REPORT_BYTES] __attribute__((aligned(4096)));
static th_context report_context;
static th_context asker;
static uintptr_t report_address;
static bool reported;

static void report_main(void *arg) {
    th_os_fault_fn ask = th_load_acquire(&xask); /* pairs: th_os_fault_catch; the function's data */
    (void)arg;
    reported = ask && ask(report_address);
    th_context_switch(&report_context, &asker);
}

/* The room below `report_stack` is no guard; nothing is to look for one there. */
static bool ask_elsewhere(uintptr_t address) {
    TH_HOLDS(&report_lock);
    report_address = address;
    th_context_make(&report_context, report_stack, report_stack + REPORT_BYTES, report_main, NULL);
    th_context_switch(&asker, &report_context);
    return reported;
}

/* The address of the access; or, if an overflow does not have it, the stack's lowest byte. */
static uintptr_t address_of(const EXCEPTION_RECORD *record) {
    if (record->NumberParameters >= 2) {
        return record->ExceptionInformation[1];
    }
    uintptr_t low, high;
    th_os_stack(&low, &high);
    return low;
}

static LONG CALLBACK handle(EXCEPTION_POINTERS *both) {
    const EXCEPTION_RECORD *record = both->ExceptionRecord;
    switch (record->ExceptionCode) {
    case EXCEPTION_STACK_OVERFLOW:
    case EXCEPTION_GUARD_PAGE:
    case EXCEPTION_ACCESS_VIOLATION:
        if (ask_elsewhere(address_of(record))) {
            th_os_abort();
        }
        break;
    default:
        break;
    }
    return EXCEPTION_CONTINUE_SEARCH;
}

void th_os_fault_lock(void) {
    AcquireSRWLockExclusive(&install_lock);
}

void th_os_fault_unlock(void) {
    ReleaseSRWLockExclusive(&install_lock);
}

int th_os_fault_catch(th_os_fault_fn ask) {
    int code = 0;
    th_os_fault_lock();
    th_store_release(&xask, ask); /* pairs: report_main; the function's data */
    if (!installed) {
        installed = AddVectoredExceptionHandler(1, handle) != NULL;
        code = installed ? 0 : -ENOMEM;
    }
    th_os_fault_unlock();
    return code;
}

/* The thread keeps room for the system's part of an overflow; it has no stack to give back. */
int th_os_fault_thread_enter(void **altstack) {
    ULONG bytes = STACK_LEFT;
    *altstack = NULL;
    SetThreadStackGuarantee(&bytes);
    return 0;
}

void th_os_fault_thread_leave(void *altstack) {
    (void)altstack;
}

/* ---- crashes ---- */

/* Its name on other systems, and the C library's number, or 0: there is none. */
static const char *name_of(DWORD code, int *number) {
    *number = 0;
    switch (code) {
    case EXCEPTION_ACCESS_VIOLATION:
    case EXCEPTION_STACK_OVERFLOW:
    case EXCEPTION_GUARD_PAGE:
        *number = SIGSEGV;
        return "SIGSEGV";
    case EXCEPTION_IN_PAGE_ERROR:
    case EXCEPTION_DATATYPE_MISALIGNMENT:
        return "SIGBUS";
    case EXCEPTION_ILLEGAL_INSTRUCTION:
    case EXCEPTION_PRIV_INSTRUCTION:
        *number = SIGILL;
        return "SIGILL";
    case EXCEPTION_INT_DIVIDE_BY_ZERO:
    case EXCEPTION_INT_OVERFLOW:
    case EXCEPTION_FLT_DIVIDE_BY_ZERO:
    case EXCEPTION_FLT_INVALID_OPERATION:
        *number = SIGFPE;
        return "SIGFPE";
    default:
        return NULL;
    }
}

/* Whether the program has a handler, which the C library's last handler (`previous`) calls. */
static bool is_handled(int number) {
    void (*now)(int) = number ? signal(number, SIG_DFL) : SIG_DFL;
    if (now != SIG_DFL && now != SIG_ERR) {
        (void)signal(number, now);
        return true;
    }
    return false;
}

/* Reports once in the process. */
static void tell_crash(const char *name, const uintptr_t *address) {
    static uint32_t xcrashed;
    uint32_t no = 0;
    th_os_crash_fn tell = th_load_acquire(&xtell);    /* pairs: th_os_crash_catch; its data */
    if (tell && th_cas_relaxed(&xcrashed, &no, 1u)) { /* relaxed: only which is first counts */
        tell(name, address);
    }
}

static LONG WINAPI last_handler(EXCEPTION_POINTERS *both) {
    const EXCEPTION_RECORD *record = both->ExceptionRecord;
    int number;
    const char *name = name_of(record->ExceptionCode, &number);
    uintptr_t address = record->NumberParameters >= 2 ? record->ExceptionInformation[1] : 0;
    if (name && !is_handled(number)) {
        tell_crash(name, record->NumberParameters >= 2 ? &address : NULL);
    }
    return previous ? previous(both) : EXCEPTION_CONTINUE_SEARCH;
}

static void on_abort(int number) {
    (void)number; /* abort goes on when this returns */
    tell_crash("SIGABRT", NULL);
}

void th_os_crash_catch(th_os_crash_fn tell) {
    th_os_fault_lock();
    th_store_release(&xtell, tell); /* pairs: tell_crash; the function's data */
    if (!crashes_installed) {
        crashes_installed = true;
        LPTOP_LEVEL_EXCEPTION_FILTER before = SetUnhandledExceptionFilter(last_handler);
        if (before != last_handler) {
            previous = before;
        }
        void (*of_program)(int) = signal(SIGABRT, on_abort);
        if (of_program != SIG_DFL && of_program != SIG_ERR) {
            signal(SIGABRT, of_program); /* a handler of the program's stays */
        }
    }
    th_os_fault_unlock();
}

void th_os_crash_in_child(void) {
}
