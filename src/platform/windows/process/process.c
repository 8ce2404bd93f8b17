/*
 * process.c: started processes.
 *
 * A program gets exactly the handles of its standard streams, by the list that CreateProcessW has;
 * handles have no numbers that a program could expect, so there are no further ones. Its end is
 * signalled by a socket, to which a thread of the system's sends (th_poll_pair): so it is a
 * descriptor like any, and no thread waits.
 *
 * Each begins in a job. The system's own call makes a suspended process, and then resumes it: if
 * this process ended between the two, the new one would stay suspended for ever, and hold its
 * inherited handles open. So the job ends it then, as long as the start is under way. Afterwards
 * the job of a group's leader holds all that it starts, and any other job has no effect.
 *
 * The only signals are forced termination, and a check. A process that was ended so has a status
 * that names the signal.
 */
#include "platform/windows/file/file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "platform/faults.h"
#include "platform/unix/io/polled.h"
#include "platform/windows/pollset/calls.h"
#include "platform/windows/process/program.h"

#define STREAMS 3u
#define JOB_LIST 0x0002000Du /* PROC_THREAD_ATTRIBUTE_JOB_LIST, of Windows 10 and its headers */
#define ENDED_BY 0xE0540000u /* a status that only this file gives: and the signal */

typedef struct kept {
    HANDLE process;
    HANDLE job;
    PTP_WAIT wait;
    int signal[2];
} kept;

bool th_os_process_has_fd(void) {
    return true;
}

/*
 * Shared by starts that pass the handles on their lists; exclusive for starts that pass everything
 * inheritable, which would otherwise include the others' streams.
 */
static SRWLOCK starts = SRWLOCK_INIT;

/* ---- the streams ---- */

typedef struct streams {
    HANDLE own[STREAMS]; /* copies that are inherited, or NULL */
    HANDLE list[STREAMS];
    unsigned count;
} streams;

static void streams_close(streams *s) {
    for (unsigned i = 0; i < s->count; i++) {
        CloseHandle(s->list[i]);
    }
}

/* 0 or -EBADF. A standard stream that is not there is none of the program's either. */
static int streams_open(streams *s, const th_os_program *p) {
    const HANDLE self = GetCurrentProcess();
    *s = (streams){.count = 0};
    for (unsigned i = 0; i < STREAMS; i++) {
        const bool same = p->fds[i] == TH_OS_FD_SAME;
        const HANDLE from = th_nt_handle(same ? (int)i : p->fds[i]);
        DWORD flags;
        if (same && !GetHandleInformation(from, &flags)) {
            continue;
        }
        if (!DuplicateHandle(self, from, self, &s->own[i], 0, TRUE, DUPLICATE_SAME_ACCESS)) {
            streams_close(s);
            return -EBADF;
        }
        s->list[s->count++] = s->own[i];
    }
    return 0;
}

/* ---- the program ---- */

/* The constant part of the attempts in all places. */
typedef struct attempt {
    const th_os_program *program;
    bool inherits; /* some handles */
    wchar_t *line;
    wchar_t *env;
    wchar_t folder[TH_FILE_PATH_WORDS];
    STARTUPINFOEXW info;
    PROCESS_INFORMATION started;
} attempt;

static void list_free(LPPROC_THREAD_ATTRIBUTE_LIST list) {
    if (list) {
        DeleteProcThreadAttributeList(list);
        th_os_free(list);
    }
}

/* 0, or a code (a job: before Windows 10). */
static int list_put(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD_PTR what, void *of, size_t size) {
    return UpdateProcThreadAttribute(list, 0, what, of, size, NULL, NULL) ? 0 : th_nt_code();
}

/* Its attributes: a job, and handles to inherit, or NULL. Both outlive the list. */
static int list_new(LPPROC_THREAD_ATTRIBUTE_LIST *out, streams *s, kept *k) {
    SIZE_T size = 0;
    (void)InitializeProcThreadAttributeList(NULL, 2, 0, &size);
    LPPROC_THREAD_ATTRIBUTE_LIST list = th_os_alloc(size);
    if (list && !InitializeProcThreadAttributeList(list, 2, 0, &size)) {
        th_os_free(list);
        list = NULL;
    }
    *out = list;
    if (!list) {
        return -ENOMEM;
    }
    const int code = list_put(list, JOB_LIST, &k->job, sizeof k->job);
    return code || !s ? code
                      : list_put(list, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, s->list,
                                 s->count * sizeof s->list[0]);
}

static DWORD flags_of(const th_os_program *p) {
    return CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT |
           (p->group == TH_OS_GROUP_SESSION ? (DWORD)DETACHED_PROCESS : 0) |
           (p->group == TH_OS_GROUP_OWN ? (DWORD)CREATE_NEW_PROCESS_GROUP : 0);
}

/*
 * Whether it is a text for cmd.exe, which reads arguments by other rules. Its suffix decides, as
 * the system reads the path: it drops dots and spaces at the end, and a final ".".
 */
static bool is_for_cmd(const wchar_t *path) {
    wchar_t full[TH_FILE_PATH_WORDS];
    const DWORD length = GetFullPathNameW(path, TH_FILE_PATH_WORDS, full, NULL);
    if (length < 4 || length >= TH_FILE_PATH_WORDS) {
        return true; /* not known */
    }
    const wchar_t *end = full + length - 4;
    return CompareStringOrdinal(end, 4, L".bat", 4, TRUE) == CSTR_EQUAL ||
           CompareStringOrdinal(end, 4, L".cmd", 4, TRUE) == CSTR_EQUAL;
}

/* One place, with a missing suffix: 0, and the program runs, or a code. */
static int create_at(attempt *a, const char *path, const char *suffix) {
    char whole[TH_FILE_PATH_WORDS];
    wchar_t wide[TH_FILE_PATH_WORDS];
    const char *folder = a->program->folder;
    const bool below = folder && !th_os_path_is_absolute(path) && path[0] != '/';
    const int n = snprintf(whole, sizeof whole, "%s%s%s%s", below ? folder : "", below ? "/" : "",
                           path, suffix);
    if (n < 0 || (size_t)n >= sizeof whole) {
        return -ENAMETOOLONG;
    }
    const int code = th_file_path(whole, wide);
    if (code) {
        return code;
    }
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return th_nt_code();
    }
    if (attributes & FILE_ATTRIBUTE_DIRECTORY) {
        return -EACCES; /* as Windows reports it; wine takes it for a wrong handle */
    }
    if (is_for_cmd(wide)) {
        return -ENOEXEC;
    }
    return CreateProcessW(wide, a->line, NULL, NULL, a->inherits, flags_of(a->program), a->env,
                          folder ? a->folder : NULL, &a->info.StartupInfo, &a->started)
               ? 0
               : th_nt_code();
}

/* Tries the files in turn, each with ".exe" behind it, too; returns why none of them runs. */
static int create(attempt *a) {
    int refused = 0;
    int code = -ENOENT;
    const char *const *path = a->program->paths;
    for (; *path; path++) {
        code = create_at(a, *path, "");
        code = code == -ENOENT ? create_at(a, *path, ".exe") : code;
        if (code != -ENOENT && code != -ENOTDIR && code != -EACCES) {
            return code;
        }
        refused = code == -EACCES ? code : refused;
    }
    return refused ? refused : a->program->paths[1] ? -ENOENT : code;
}

/* Its working directory: 0 or a code. */
static int set_folder(attempt *a) {
    if (!a->program->folder) {
        return 0;
    }
    const int code = th_file_path(a->program->folder, a->folder);
    if (code) {
        return code;
    }
    const DWORD attributes = GetFileAttributesW(a->folder);
    return attributes == INVALID_FILE_ATTRIBUTES      ? th_nt_code()
           : !(attributes & FILE_ATTRIBUTE_DIRECTORY) ? -ENOTDIR
                                                      : 0;
}

static int prepare(attempt *a, const char **failed) {
    *failed = "folder";
    int code = set_folder(a);
    if (!code) {
        *failed = "program";
        code = th_program_line(a->program->argv, &a->line);
        code = code ? code : th_program_environment(a->program->env, &a->env);
    }
    return code;
}

static int create_with(attempt *a, streams *s, kept *k, const char **failed) {
    STARTUPINFOW *info = &a->info.StartupInfo;
    const bool listed = a->program->close_others && s->count; /* a list cannot express none */
    LPPROC_THREAD_ATTRIBUTE_LIST list = NULL;
    int code = list_new(&list, listed ? s : NULL, k);
    if (code) {
        *failed = "process";
        list_free(list);
        return code;
    }
    *info = (STARTUPINFOW){.cb = sizeof a->info,
                           .dwFlags = STARTF_USESTDHANDLES,
                           .hStdInput = s->own[0],
                           .hStdOutput = s->own[1],
                           .hStdError = s->own[2]};
    a->info.lpAttributeList = list;
    a->inherits = listed || !a->program->close_others;
    *failed = "program";
    code = create(a);
    list_free(list);
    return code;
}

/* ---- its record ---- */

static void CALLBACK on_ended(PTP_CALLBACK_INSTANCE call, void *arg, PTP_WAIT wait,
                              TP_WAIT_RESULT result) {
    const kept *k = arg;
    (void)call, (void)wait, (void)result;
    th_poll_send(k->signal[1]);
}

static void kept_free(kept *k, bool with_signal) {
    if (k->wait) { /* when the callback is over */
        SetThreadpoolWait(k->wait, NULL, NULL);
        WaitForThreadpoolWaitCallbacks(k->wait, TRUE);
        CloseThreadpoolWait(k->wait);
    }
    if (k->job) {
        CloseHandle(k->job);
    }
    if (k->process) {
        CloseHandle(k->process);
    }
    if (with_signal && k->signal[0] >= 0) { /* below 0: it was refused */
        th_poll_pair_close(k->signal);
    }
    th_os_free(k);
}

/*
 * Whether the job ends its programs with the last handle of it. If it leads no group, processes
 * that it starts are never in the job.
 */
static int job_set(const kept *k, bool ends, th_os_group group) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags = 0};
    const DWORD leaves = JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_BREAKAWAY_OK;
    limits.BasicLimitInformation.LimitFlags =
        (ends ? (DWORD)JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE : 0) |
        (group == TH_OS_GROUP_SAME ? leaves : 0);
    return SetInformationJobObject(k->job, JobObjectExtendedLimitInformation, &limits,
                                   sizeof limits)
               ? 0
               : th_nt_code();
}

/* Before the start. NULL: *code has the reason. */
static kept *kept_new(const th_os_program *p, int *code) {
    kept *k = th_os_alloc(sizeof *k);
    *code = -ENOMEM;
    if (!k) {
        return NULL;
    }
    *k = (kept){.signal = {-1, -1}};
    *code = th_poll_pair(k->signal);
    if (!*code) {
        (void)th_fd_of_fresh(th_socket_of(k->signal[0]));
    }
    if (!*code) {
        k->job = CreateJobObjectW(NULL, NULL);
        *code = k->job ? job_set(k, true, p->group) : th_nt_code();
    }
    if (!*code) {
        k->wait = CreateThreadpoolWait(on_ended, k, NULL);
        *code = k->wait ? 0 : th_nt_code();
    }
    if (*code) {
        kept_free(k, true);
        k = NULL;
    }
    return k;
}

/* With the streams. */
static int start(th_os_process *out, attempt *a, streams *s, const char **failed) {
    int code;
    kept *k = kept_new(a->program, &code);
    *failed = "process";
    if (!k) {
        return code;
    }
    code = create_with(a, s, k, failed);
    if (code) {
        kept_free(k, true);
        return code;
    }
    CloseHandle(a->started.hThread);
    k->process = a->started.hProcess;
    (void)job_set(k, false, a->program->group); /* it was set before: nothing refuses it now */
    if (a->program->group == TH_OS_GROUP_SAME) {
        CloseHandle(k->job);
        k->job = NULL;
    }
    SetThreadpoolWait(k->wait, k->process, NULL);
    *out = (th_os_process){(int)a->started.dwProcessId, k->signal[0], k};
    return 0;
}

static int start_prepared(th_os_process *out, attempt *a, const char **failed) {
    streams s;
    const bool all = !a->program->close_others;
    if (all) {
        AcquireSRWLockExclusive(&starts);
    } else {
        AcquireSRWLockShared(&starts);
    }
    *failed = "descriptor";
    int code = streams_open(&s, a->program);
    if (!code) {
        code = start(out, a, &s, failed);
        streams_close(&s);
    }
    if (all) {
        ReleaseSRWLockExclusive(&starts);
    } else {
        ReleaseSRWLockShared(&starts);
    }
    return code;
}

/* Options that cannot be expressed here. */
static int refuse(const th_os_program *p, const char **failed) {
    *failed = p->limits_count ? "limit" : "descriptor";
    return p->limits_count || p->fds_count > STREAMS ? -ENOSYS : 0;
}

int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed) {
    *failed = "process";
    *out = (th_os_process){-1, -1, NULL};
    TH_OS_MAY_FAIL(TH_OS_FAULT_PROCESS, -EAGAIN);
    TH_KEEPS_ERRNO;
    int code = refuse(program, failed);
    if (code) {
        return code;
    }
    attempt *a = th_os_alloc(sizeof *a);
    *failed = "process";
    if (!a) {
        return -ENOMEM;
    }
    *a = (attempt){.program = program};
    code = prepare(a, failed);
    code = code ? code : start_prepared(out, a, failed);
    th_os_free(a->line);
    th_os_free(a->env);
    th_os_free(a);
    return code;
}

/* ---- its end ---- */

/* The status of a program that ended by its own fault, as the signal on other systems. */
static int signal_of(DWORD status) {
    switch (status) {
    case STATUS_ACCESS_VIOLATION:
    case STATUS_STACK_OVERFLOW:
    case STATUS_IN_PAGE_ERROR:
        return SIGSEGV;
    case STATUS_ILLEGAL_INSTRUCTION:
    case STATUS_PRIVILEGED_INSTRUCTION:
        return SIGILL;
    case STATUS_INTEGER_DIVIDE_BY_ZERO:
    case STATUS_FLOAT_DIVIDE_BY_ZERO:
        return SIGFPE;
    case STATUS_HEAP_CORRUPTION:
    case STATUS_STACK_BUFFER_OVERRUN: /* also the status of the newer C library's abort */
        return SIGABRT;
    case STATUS_CONTROL_C_EXIT:
        return SIGINT;
    default:
        return (status & 0xFFFF0000u) == ENDED_BY ? (int)(status & 0xFFFFu) : 0;
    }
}

int th_os_process_ended(const th_os_process *process, th_os_ended *ended) {
    const kept *k = process->kept;
    DWORD status = 0;
    if (WaitForSingleObject(k->process, 0) != WAIT_OBJECT_0) {
        return 0;
    }
    (void)GetExitCodeProcess(k->process, &status);
    const int signal = signal_of(status);
    *ended = (th_os_ended){signal ? -1 : (int)(status & INT32_MAX), signal, false};
    return 1;
}

void th_os_process_await(const th_os_process *process) {
    const kept *k = process->kept;
    (void)WaitForSingleObject(k->process, INFINITE);
}

bool th_os_process_reap(const th_os_process *process) {
    kept *k = process->kept;
    th_os_ended ended;
    if (!th_os_process_ended(process, &ended)) {
        return false;
    }
    kept_free(k, false); /* the descriptor is closed as others are */
    return true;
}

/* ---- signals ---- */

int th_os_process_signal(const th_os_process *process, int number, bool group) {
    const kept *k = process->kept;
    const DWORD status = ENDED_BY | (DWORD)number;
    th_os_ended ended;
    if (number < 0 || number >= TH_OS_SIGNALS) {
        return -EINVAL;
    }
    if (number != 0 && number != TH_OS_SIGKILL && number != SIGTERM) {
        return -ENOSYS;
    }
    if (number && group) {
        return TerminateJobObject(k->job, status) ? 0 : th_nt_code();
    }
    if (!number || TerminateProcess(k->process, status)) {
        return 0;
    }
    const int code = th_nt_code(); /* a process that has ended, or is about to, cannot be ended */
    DWORD has;
    const bool ends = GetExitCodeProcess(k->process, &has) && has != STILL_ACTIVE;
    return ends || th_os_process_ended(process, &ended) ? 0 : code == -EACCES ? -EPERM : code;
}

/* ---- for a process to start ---- */

int th_os_null_open(void) {
    const int fault = th_os_fails_with(TH_OS_FAULT_PIPE);
    if (fault) {
        return fault;
    }
    HANDLE null = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, TH_FILE_SHARED, NULL,
                              OPEN_EXISTING, 0, NULL);
    return null == INVALID_HANDLE_VALUE ? th_nt_code() : th_fd_of_handle(null);
}
