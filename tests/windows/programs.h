/*
 * programs.h: a part of support/io/processes.h: what differs from system to system of programs that
 * are started, and a shell, which Windows has not: this program itself, started anew. It knows as
 * much as the tests' scripts want:
 *
 *   a ";" or "&" behind each command but the last; "&": it runs beside this shell
 *   exec COMMAND; COMMAND >&2; behind a command <&- >&- 2>&-: without the stream from there on
 *   echo WORD...; exit N; true; cat; read a, whose line is $a then; sleep SECONDS; tee /dev/stderr;
 *   head -c N /dev/zero; touch FILE
 *   and for what only Windows can be asked: args, the further arguments, each in a line between
 *   "<" and ">"; env NAME; folder, where it works; crash; zero, which writes no bytes
 */
#ifndef WINDOWS_PROGRAMS_H
#define WINDOWS_PROGRAMS_H

#include <signal.h>
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

#define SHELL_PROGRAM shell_path()
#define SHELL_OPTION "--shell"
#define PROGRAMS 500 /* a storm of them, which begin slowly here */

#define SIGKILL 9
#define NOT_BY_WINDOWS(what) CHECK_SKIP("not on Windows: %s", what)

/* This program's path, in UTF-8. */
CHECK_UNUSED static const char *shell_path(void) {
    static char path[2 * MAX_PATH];
    wchar_t wide[MAX_PATH];
    CHECK(GetModuleFileNameW(NULL, wide, MAX_PATH) > 0);
    CHECK(WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, sizeof path, NULL, NULL) > 0);
    return path;
}

/* ---- what is left of programs ---- */

CHECK_UNUSED static int descriptors(void) {
    DWORD n = 0;
    CHECK(GetProcessHandleCount(GetCurrentProcess(), &n));
    return (int)n;
}

static uint64_t begun_at(HANDLE process) {
    FILETIME begun;
    FILETIME other[3];
    CHECK(GetProcessTimes(process, &begun, &other[0], &other[1], &other[2]));
    return (uint64_t)begun.dwHighDateTime << 32 | begun.dwLowDateTime;
}

/* Whether it runs, and began after this program: the number of its parent may be another's, too. */
static bool is_child(DWORD number) {
    HANDLE process = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_INFORMATION, FALSE, number);
    const bool is = process && WaitForSingleObject(process, 0) == WAIT_TIMEOUT &&
                    begun_at(process) >= begun_at(GetCurrentProcess());
    if (process) {
        CloseHandle(process);
    }
    return is;
}

/* Whether a program runs that this one has started. */
CHECK_UNUSED static bool has_children(void) {
    PROCESSENTRY32 entry;
    memset(&entry, 0, sizeof entry);
    entry.dwSize = sizeof entry;
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    bool found = false;
    CHECK(all != INVALID_HANDLE_VALUE);
    for (BOOL more = Process32First(all, &entry); more && !found;
         more = Process32Next(all, &entry)) {
        found = entry.th32ParentProcessID == GetCurrentProcessId() && is_child(entry.th32ProcessID);
    }
    CloseHandle(all);
    return found;
}

/* ---- the shell ---- */

/* Microsoft's C library: the arguments as it takes a line apart, which is what a program gets. */
#ifdef __cplusplus
extern "C"
#endif
    int
    __wgetmainargs(int *argc, wchar_t ***argv, wchar_t ***env, int glob, int *start);

typedef struct shell_state {
    char line[256]; /* what `read` has read */
    wchar_t **more; /* the arguments behind the script */
    HANDLE out;
} shell_state;

static void shell_write(HANDLE to, const char *text, size_t size) {
    DWORD put;
    while (size > 0 && WriteFile(to, text, (DWORD)size, &put, NULL)) {
        text += put;
        size -= put;
    }
}

static void shell_say(HANDLE to, const char *text) {
    shell_write(to, text, strlen(text));
}

static void shell_say_wide(HANDLE to, const wchar_t *text) {
    char bytes[1024] = "";
    WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, sizeof bytes, NULL, NULL);
    shell_say(to, bytes);
}

/* From its input to its output, and to another one unless that is NULL. 1: it has no output. */
static int shell_copy(HANDLE also) {
    char bytes[4096];
    DWORD got;
    if (GetStdHandle(STD_OUTPUT_HANDLE) == INVALID_HANDLE_VALUE) {
        return 1;
    }
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &got, NULL) && got) {
        shell_write(GetStdHandle(STD_OUTPUT_HANDLE), bytes, got);
        if (also) {
            shell_write(also, bytes, got);
        }
    }
    return 0;
}

/* One line of the input. 1: it has ended. */
static int shell_read(shell_state *s) {
    DWORD got;
    size_t n = 0;
    char c;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), &c, 1, &got, NULL) && got && c != '\n') {
        if (n + 1 < sizeof s->line) {
            s->line[n++] = c;
        }
    }
    s->line[n] = '\0';
    return n == 0;
}

static int shell_echo(const shell_state *s, const char *words) {
    for (; *words; words++) {
        if (words[0] == '$' && words[1] == 'a') {
            shell_say(s->out, s->line);
            words++;
        } else {
            shell_write(s->out, words, 1);
        }
    }
    shell_say(s->out, "\n");
    return 0;
}

static int shell_zeros(const shell_state *s, long n) {
    static const char zeros[4096] = {0};
    for (; n > 0; n -= (long)sizeof zeros) {
        shell_write(s->out, zeros, n < (long)sizeof zeros ? (size_t)n : sizeof zeros);
    }
    return 0;
}

static int shell_args(const shell_state *s) {
    for (wchar_t **at = s->more; *at; at++) {
        shell_say(s->out, "<");
        shell_say_wide(s->out, *at);
        shell_say(s->out, ">\n");
    }
    return 0;
}

static int shell_env(const shell_state *s, const char *name) {
    wchar_t wide[64];
    wchar_t value[512];
    MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 64);
    if (!GetEnvironmentVariableW(wide, value, 512)) {
        return 1;
    }
    shell_say_wide(s->out, value);
    shell_say(s->out, "\n");
    return 0;
}

static int shell_folder(const shell_state *s) {
    wchar_t folder[MAX_PATH];
    GetCurrentDirectoryW(MAX_PATH, folder);
    shell_say_wide(s->out, folder);
    shell_say(s->out, "\n");
    return 0;
}

static int shell_is(const char *command, const char *word) {
    const size_t n = strlen(word);
    return strncmp(command, word, n) == 0 && (!command[n] || command[n] == ' ');
}

static LONG WINAPI shell_dies(EXCEPTION_POINTERS *why) {
    (void)why;
    return EXCEPTION_EXECUTE_HANDLER; /* it ends with its status, and no debugger is started */
}

/* What a command gives. */
static int shell_do(shell_state *s, const char *command) {
    const char *rest = strchr(command, ' ');
    rest = rest ? rest + 1 : "";
    if (shell_is(command, "exec")) {
        ExitProcess((UINT)shell_do(s, rest));
    } else if (shell_is(command, "exit")) {
        ExitProcess((UINT)strtoul(rest, NULL, 0));
    } else if (shell_is(command, "echo")) {
        return shell_echo(s, rest);
    } else if (shell_is(command, "cat")) {
        return shell_copy(NULL);
    } else if (shell_is(command, "tee")) {
        return shell_copy(GetStdHandle(STD_ERROR_HANDLE));
    } else if (shell_is(command, "read")) {
        return shell_read(s);
    } else if (shell_is(command, "sleep")) {
        Sleep((DWORD)(strtod(rest, NULL) * 1000));
    } else if (shell_is(command, "head")) {
        return shell_zeros(s, atol(rest + 3));
    } else if (shell_is(command, "touch")) {
        CloseHandle(CreateFileA(rest, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL));
    } else if (shell_is(command, "args")) {
        return shell_args(s);
    } else if (shell_is(command, "env")) {
        return shell_env(s, rest);
    } else if (shell_is(command, "folder")) {
        return shell_folder(s);
    } else if (shell_is(command, "crash")) {
        SetUnhandledExceptionFilter(shell_dies);
        *(volatile int *)0 = 1;
    } else if (shell_is(command, "zero")) {
        DWORD put;
        WriteFile(s->out, "", 0, &put, NULL);
    } else if (!shell_is(command, "true")) {
        return 127;
    }
    return 0;
}

/* In a shell of its own, with the same streams. */
static int shell_beside(const char *command) {
    char line[1024];
    STARTUPINFOA info;
    PROCESS_INFORMATION started;
    memset(&info, 0, sizeof info);
    info.cb = sizeof info;
    info.dwFlags = STARTF_USESTDHANDLES;
    info.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    info.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    info.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    snprintf(line, sizeof line, "sh --shell \"%s\"", command);
    if (!CreateProcessA(shell_path(), line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &started)) {
        return 126;
    }
    CloseHandle(started.hThread);
    CloseHandle(started.hProcess);
    return 0;
}

/* Whether the command ends with a stream to close, which it is rid of then, as is this shell. */
static bool shell_closes(char *command, size_t *n) {
    static const struct {
        const char *word;
        DWORD stream;
    } all[] = {
        {" <&-", STD_INPUT_HANDLE}, {" 2>&-", STD_ERROR_HANDLE}, {" >&-", STD_OUTPUT_HANDLE}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const size_t size = strlen(all[i].word);
        if (*n > size && strcmp(command + *n - size, all[i].word) == 0) {
            CloseHandle(GetStdHandle(all[i].stream));
            SetStdHandle(all[i].stream, INVALID_HANDLE_VALUE);
            *n -= size;
            command[*n] = '\0';
            return true;
        }
    }
    return false;
}

/* One command, which it changes; what it says goes where it says. */
static int shell_command(shell_state *s, char *command, bool beside) {
    size_t n = strlen(command);
    while (n > 0 && command[n - 1] == ' ') {
        command[--n] = '\0';
    }
    if (beside) {
        return shell_beside(command);
    }
    while (shell_closes(command, &n)) {
    }
    s->out = GetStdHandle(STD_OUTPUT_HANDLE);
    if (n > 4 && strcmp(command + n - 4, " >&2") == 0) {
        command[n - 4] = '\0';
        s->out = GetStdHandle(STD_ERROR_HANDLE);
    }
    return shell_do(s, command);
}

static int shell_script(shell_state *s, char *script) {
    int status = 0;
    while (*script) {
        char *end = script;
        while (*end && *end != ';' && (*end != '&' || end[-1] == '>' || end[-1] == '<')) {
            end++;
        }
        const char separator = *end;
        *end = '\0';
        while (*script == ' ') {
            script++;
        }
        status = shell_command(s, script, separator == '&');
        script = end + (separator != '\0');
    }
    return status;
}

/* Before main: whether this program was started as the shell. */
__attribute__((constructor)) static void shell_main(void) {
    int argc = 0;
    wchar_t **argv;
    wchar_t **env;
    int start = 0;
    __wgetmainargs(&argc, &argv, &env, 0, &start);
    if (argc >= 3 && wcscmp(argv[1], L"--shell") == 0) {
        char script[1024] = "";
        shell_state s;
        memset(&s, 0, sizeof s);
        s.more = argv + 3;
        WideCharToMultiByte(CP_UTF8, 0, argv[2], -1, script, sizeof script, NULL, NULL);
        ExitProcess((UINT)shell_script(&s, script));
    }
}

#endif
