/*
 * processes.c: programs under Windows: what they are given, in the forms that the system has, how
 * they end, and the pipes to them.
 */
/* matrix: policy workers */
/* wrap: CreateProcessW */
#include "support/io/processes.h"
#include "support/times.h"

#include "thrum/file.h"

/* ---- how it ends ---- */

static int statuses_body(void *arg) {
    thrum_process_status status = {0};
    (void)arg;
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 255"), NULL)), 255);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 70000"), NULL)), 70000);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0x80000001"), NULL)), 1);
    CHECK_EQ(ended_and_closed(started(SHELL("crash"), NULL)), -SIGSEGV);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0xC0000409"), NULL)), -SIGABRT);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0xC0000374"), NULL)), -SIGABRT);
    thrum_process *process = started(SHELL("sleep 1000"), NULL);
    CHECK(thrum_process_pid(process) > 1);
    CHECK_EQ(thrum_process_kill(process, 0), 0);
    CHECK_EQ(thrum_process_kill(process, SIGINT), -ENOSYS); /* it cannot be asked */
    CHECK_EQ(thrum_process_wait(process, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
    CHECK_EQ(ended(process), -SIGKILL);
    CHECK_EQ(thrum_process_wait(process, &status, 0), 0); /* again, and past the deadline */
    CHECK_EQ(status.code, -1);
    CHECK_EQ(thrum_process_kill(process, SIGTERM), 0); /* it is still known, and does not care */
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    process = started(SHELL("sleep 1000"), NULL);
    CHECK_EQ(thrum_process_kill(process, SIGTERM), 0);
    CHECK_EQ(ended_and_closed(process), -SIGTERM);
    CHECK(!has_children());
    return 0;
}

TEST(how_a_program_ends) {
    /* By any number, by its own fault, or by force. */
    ways(statuses_body);
}

static int group_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io out;
    char text[8];
    (void)arg;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    for (unsigned flags = THRUM_PROCESS_GROUP; flags <= THRUM_PROCESS_SESSION;
         flags += THRUM_PROCESS_SESSION - THRUM_PROCESS_GROUP) {
        options.flags = flags;
        thrum_process *process =
            started(SHELL("sleep 1000 & sleep 1000 & echo a; sleep 1000"), &options);
        CHECK_EQ(thrum_read_full(out, text, 2, THRUM_FOREVER), 2);
        CHECK_EQ(thrum_process_kill_group(process, 0), 0);
        CHECK_EQ(thrum_process_kill_group(process, SIGKILL), 0);
        CHECK_EQ(ended_and_closed(process), -SIGKILL);
        CHECK_EQ(thrum_read(out, text, 1), 0); /* its children have ended, too */
        CHECK_EQ(thrum_io_close(out), 0);
    }
    return 0;
}

TEST(a_group_ends_with_all_that_it_has_started) {
    /* What it has started is in its job, although it has asked for none. */
    callers(group_body);
}

/* What the linker puts in the place of the import, which is a pointer; and the system's own. */
extern __typeof__(&CreateProcessW) __wrap___imp_CreateProcessW;
__typeof__(CreateProcessW) __real_CreateProcessW;
static bool ends_as_it_starts;

static BOOL WINAPI create_process(const wchar_t *name, wchar_t *line, SECURITY_ATTRIBUTES *process,
                                  SECURITY_ATTRIBUTES *thread, BOOL inherits, DWORD flags,
                                  void *env, const wchar_t *folder, STARTUPINFOW *info,
                                  PROCESS_INFORMATION *out) {
    flags |= ends_as_it_starts ? (DWORD)CREATE_SUSPENDED : 0;
    const BOOL done =
        __real_CreateProcessW(name, line, process, thread, inherits, flags, env, folder, info, out);
    if (ends_as_it_starts) {
        _exit(done ? 7 : 8);
    }
    return done;
}

__typeof__(&CreateProcessW) __wrap___imp_CreateProcessW = create_process;

/* A program that ends as it starts another one, with the same output and these flags. */
static void end_as_it_starts(unsigned flags) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    ends_as_it_starts = true;
    options.flags = flags;
    started(SHELL("sleep 1000"), &options);
}

static int ends_body(void *flags) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io out;
    char byte;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    options.flags = THRUM_PROCESS_GROUP | THRUM_PROCESS_ENV_ADD;
    options.env = (const char *const[]){flags, NULL};
    thrum_process *process = started(
        (const char *const[]){SHELL_PROGRAM, "a_program_ends_as_it_starts_another_one", NULL},
        &options);
    CHECK_EQ(ended(process), 7);
    const int64_t code = thrum_read_full(out, &byte, 1, far_off());
    (void)thrum_process_kill_group(process, SIGKILL); /* else it would outlive this test */
    CHECK_EQ(code, 0);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(thrum_process_close(process), 0);
    return 0;
}

TEST(a_program_ends_as_it_starts_another_one) {
    /* That one does not stand still for ever between the system's two steps, and hold our pipe. */
    const char *flags = getenv("PROCESSES_STARTS");
    if (flags) {
        end_as_it_starts((unsigned)atoi(flags));
    }
    static char none[] = "PROCESSES_STARTS=0";
    static char group[32];
    snprintf(group, sizeof group, "PROCESSES_STARTS=%d", (int)THRUM_PROCESS_GROUP);
    rig_do(0, ends_body, none);
    rig_do(0, ends_body, group);
}

static int close_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in, out;
    char byte;
    char line[2];
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    thrum_process *process = started(SHELL("read a; echo b"), &options);
    CHECK_EQ(thrum_process_close(process), 0); /* it lives on */
    CHECK_EQ(thrum_write(in, "a\n", 2), 2);
    CHECK_EQ(thrum_read(out, &byte, 1), 1);
    CHECK_EQ(byte, 'b');
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);

    options.flags = THRUM_PROCESS_GROUP | THRUM_PROCESS_KILL;
    process = started(SHELL("sleep 1000 & echo c; sleep 1000"), &options);
    /* Both have begun: of one that is killed before that wine leaves a process, with our stderr. */
    CHECK_EQ(thrum_read_full(out, line, 2, THRUM_FOREVER), 2);
    CHECK_EQ(memcmp(line, "c\n", 2), 0);
    CHECK_EQ(thrum_process_close(process), 0);
    CHECK_EQ(thrum_read(out, &byte, 1), 0);
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    SPIN_UNTIL(!has_children());
    return 0;
}

TEST(a_handle_that_is_closed_first) {
    /* The program lives on, unless it was to be killed with its group. */
    ways(close_body);
}

/* ---- what it is given ---- */

static const char *const odd[] = {
    "",         " ",         "a b",      "a\tb",      "a\nb",   "\"",     "\\",     "\\\\",
    "a\\",      "a b\\",     "a b\\\\",  "a\\b",      "\\\"",   "\\\\\"", "a\\\"b", "\"a b\"",
    "a\"b c\"", "a \\\\\"b", "\\\\x\\y", "*",         "%PATH%", "^&|<>",  "'a b'",  "-x=\"y z\"",
    "grün",     "日本 語",   "😀",        "trailing ", "\"\"",   "\"\"\"", "a\"\"b", NULL};

static int arguments_body(void *arg) {
    thrum_process_output output;
    const char *argv[4 + COUNT_OF(odd)] = {SHELL_PROGRAM, SHELL_OPTION, "args"};
    char expected[1024] = "";
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        argv[3 + i] = odd[i];
        if (odd[i]) {
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "<%s>\n",
                     odd[i]);
        }
    }
    CHECK_EQ(thrum_process_run(argv, NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_STR(output.out, expected);
    thrum_process_output_free(&output);
    return 0;
}

TEST(arguments_arrive_as_they_are) {
    /* With spaces, quotation marks and backslashes, and beyond any code page. */
    ways(arguments_body);
}

static void says(const char *script, const thrum_process_options *options, const char *expected) {
    thrum_process_output output;
    CHECK_STR(said(&output, script, options), expected);
    thrum_process_output_free(&output);
}

static int environment_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    (void)arg;
    says("env PROCESSES_OURS", NULL, "ours\n");
    const char *const env[] = {"z=1", "PROCESSES_OURS=\xE2\x82\xAC = \xC3\xBC", "b=2", "A=3", NULL};
    options.env = env;
    says("env PROCESSES_OURS; env z; env Z; env a; env b", &options,
         "\xE2\x82\xAC = \xC3\xBC\n1\n1\n3\n2\n");
    CHECK_EQ(thrum_process_run(SHELL("env PATH"), &options, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, 1); /* there is nothing else */
    thrum_process_output_free(&output);
    options.flags = THRUM_PROCESS_ENV_ADD;
    const char *const added[] = {"processes_ours=theirs", NULL};
    options.env = added;
    says("env PROCESSES_OURS; env PROCESSES_TOO", &options, "theirs\ntoo\n");
    return 0;
}

TEST(the_environment) {
    /* Ours, as it is when the program starts; another one; and one that is added to ours. */
    CHECK(SetEnvironmentVariableW(L"PROCESSES_OURS", L"ours"));
    CHECK(SetEnvironmentVariableW(L"PROCESSES_TOO", L"too"));
    callers(environment_body);
}

static int folder_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    char folder[300];
    (void)arg;
    CHECK(snprintf(folder, sizeof folder, "%s/thrum \xC3\xBC %d", getenv("TEMP"), _getpid()) > 0);
    CHECK_EQ(thrum_file_mkdir(folder, 0777, THRUM_FOREVER), 0);
    options.folder = folder;
    const char *found = said(&output, "folder", &options);
    CHECK(strstr(found, strrchr(folder, '/') + 1) != NULL);
    thrum_process_output_free(&output);
    CHECK_EQ(thrum_file_rmdir(folder, THRUM_FOREVER), 0);
    return 0;
}

TEST(where_it_works) {
    /* In a folder whose name is beyond any code page. */
    callers(folder_body);
}

static int looked_for_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    const char *const *argv = SHELL("exit 7");
    char folder[2 * MAX_PATH];
    (void)arg;
    strcpy(folder, SHELL_PROGRAM);
    char *name = strrchr(folder, '\\');
    *name++ = '\0';
    name[strlen(name) - strlen(".exe")] = '\0';
    options.program = name; /* in PATH, and without ".exe" */
    CHECK_EQ(ended_and_closed(started(argv, &options)), 7);
    char below[MAX_PATH + 8];
    snprintf(below, sizeof below, "./%s", name);
    options.program = below; /* below the folder where it works */
    options.folder = folder;
    CHECK_EQ(ended_and_closed(started(argv, &options)), 7);
    return 0;
}

TEST(where_a_program_is_looked_for) {
    /* In the folders of PATH, or where its own one says. */
    char path[3 * MAX_PATH];
    snprintf(path, sizeof path, "relative;C:\\no folder;%s", SHELL_PROGRAM);
    *strrchr(path, '\\') = '\0';
    CHECK(SetEnvironmentVariableA("Path", path));
    callers(looked_for_body);
}

/* Whether something else has the writing end of the pipe yet. */
static bool is_open(HANDLE reads) {
    DWORD left;
    return PeekNamedPipe(reads, NULL, 0, NULL, &left, NULL);
}

static int inherited_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    SECURITY_ATTRIBUTES inherit = {sizeof inherit, NULL, TRUE};
    HANDLE reads;
    HANDLE writes;
    (void)arg;
    for (int keep = 0; keep < 2; keep++) {
        options.flags = keep ? THRUM_PROCESS_KEEP_FDS : 0;
        CHECK(CreatePipe(&reads, &writes, &inherit, 0));
        CHECK(SetHandleInformation(reads, HANDLE_FLAG_INHERIT, 0));
        thrum_process *process = started(SHELL("sleep 1000"), &options);
        CloseHandle(writes);
        CHECK_EQ(is_open(reads), keep == 1);
        CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
        CHECK_EQ(ended_and_closed(process), -SIGKILL);
        CHECK(!is_open(reads));
        CloseHandle(reads);
    }
    return 0;
}

TEST(no_handle_is_inherited_by_accident) {
    /* Only the streams are, also of what can be inherited; all of that if it is asked for. */
    callers(inherited_body);
}

static int streams_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    HANDLE reads;
    HANDLE writes;
    char text[16] = "";
    DWORD got;
    thrum_io out;
    (void)arg;
    CHECK(CreatePipe(&reads, &writes, NULL, 0));
    options.streams[0].kind = THRUM_PROCESS_NULL;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_FD, (int)(uintptr_t)writes, NULL};
    options.streams[2].kind = THRUM_PROCESS_OUTPUT;
    CHECK_EQ(ended_and_closed(started(SHELL("cat; echo a; echo b >&2"), &options)), 0);
    CHECK(WriteFile(writes, "c", 1, &got, NULL)); /* it is the caller's still */
    CHECK(ReadFile(reads, text, sizeof text, &got, NULL));
    CHECK_STR(text, "a\nb\nc");
    CloseHandle(reads);
    CloseHandle(writes);
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    thrum_process *process = started(SHELL("echo d; echo e >&2"), &options);
    CHECK_EQ(thrum_read_full(out, text, sizeof text, THRUM_FOREVER), 4);
    CHECK_EQ(memcmp(text, "d\ne\n", 4), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(ended_and_closed(process), 0);
    return 0;
}

TEST(each_kind_of_stream) {
    /* The null device, a handle of ours, where the output goes, a pipe. */
    ways(streams_body);
}

static int without_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    (void)arg;
    CHECK_EQ(ended_and_closed(started(SHELL("exit 5"), NULL)), 5);
    options.flags = THRUM_PROCESS_KEEP_FDS;
    CHECK_EQ(ended_and_closed(started(SHELL("exit 6"), &options)), 6);
    options.streams[2].kind = THRUM_PROCESS_NULL;
    CHECK_EQ(ended_and_closed(started(SHELL("echo a >&2; exit 7"), &options)), 7);
    return 0;
}

TEST(a_program_without_standard_streams) {
    /* This one has none, as a service, and so that one has none either. */
    static const DWORD streams[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    for (int i = 0; i < 3; i++) {
        CHECK(SetStdHandle(streams[i], NULL));
    }
    callers(without_body);
}

/* ---- pipes ---- */

enum { MUCH = 300000, SOME = 100000 };

static int written_body(void *arg) {
    static char text[MUCH + SOME];
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in, out;
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    /* It reads nothing before somebody reads what it writes. */
    thrum_process *process = started(SHELL("head -c 300000 /dev/zero; cat"), &options);
    memset(text, 'x', SOME);
    CHECK_EQ(thrum_write(in, text, SOME), SOME);
    CHECK_EQ(thrum_io_close(in), 0);
    memset(text, 'y', sizeof text);
    CHECK_EQ(thrum_read_full(out, text, sizeof text, THRUM_FOREVER), MUCH + SOME);
    CHECK(!memchr(text, 'y', sizeof text) && !memchr(text, 'x', MUCH));
    CHECK(text[MUCH] == 'x' && text[MUCH + SOME - 1] == 'x');
    CHECK_EQ(thrum_read(out, text, 1), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(ended_and_closed(process), 0);
    return 0;
}

TEST(what_was_written_arrives_behind_a_close) {
    /* A write that is under way goes on until the program has read it. */
    callers(written_body);
}

static int pipe_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in, out;
    char text[8];
    static char much[MUCH];
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    thrum_process *process = started(SHELL("read a; zero; echo $a; sleep 1000"), &options);
    CHECK_EQ(thrum_read_until(out, text, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_write(in, "ab\n", 3), 3);
    CHECK_EQ(thrum_read(out, text, 1), 1); /* a write of nothing was no end */
    CHECK_EQ(thrum_read_full(out, text + 1, 2, THRUM_FOREVER), 2);
    CHECK_EQ(memcmp(text, "ab\n", 3), 0);
    CHECK_EQ(thrum_read(in, text, 1) < 0, 1);
    CHECK_EQ(thrum_write(out, text, 1) < 0, 1);
    /* Nobody reads it: it takes as much as there is room for, and then the deadline ends it. That
     * may have passed before the room is used up. */
    int64_t n, sum = 0;
    do {
        n = thrum_write_until(in, much, MUCH, soon());
        sum += n > 0 ? n : 0;
    } while (n > 0 || (n == -ETIMEDOUT && sum == 0));
    CHECK_EQ(n, -ETIMEDOUT);
    CHECK(sum < MUCH);
    CHECK_EQ(thrum_write_until(in, much, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
    CHECK_EQ(thrum_write(in, much, MUCH), -EPIPE);
    CHECK_EQ(thrum_read(out, text, 1), 0);
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    return 0;
}

TEST(ends_of_pipes_wait_until_a_deadline) {
    /* Both ways; and they are told when the program has gone. */
    ways(pipe_body);
}

/* ---- what is refused ---- */

static void refused(const char *const argv[], const thrum_process_options *given, int code,
                    const char *what) {
    thrum_process_options options = *given;
    thrum_process *process = NULL;
    thrum_io io = {0, 0};
    const char *failed = "";
    options.failed = &failed;
    if (!options.streams[0].kind) {
        options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &io};
    }
    CHECK_EQ(thrum_process_start(&process, argv, &options), code);
    CHECK_STR(failed, what);
    CHECK(!process && io.turn == 0);
}

/* With a file of this text and this name, beside nothing; and with what the system leaves out. */
static void refused_file(const char *name, const char *text, int code) {
    static const char *const ends[] = {"", " ", ".", " . .", "/.", "/./x/..", "\\."};
    const thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    char path[300];
    char more[320];
    snprintf(path, sizeof path, "%s/thrum-%d-%s", getenv("TEMP"), _getpid(), name);
    CHECK_EQ(thrum_file_replace(path, text, strlen(text), 0, THRUM_FOREVER), 0);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        snprintf(more, sizeof more, "%s%s", path, ends[i]);
        refused((const char *const[]){more, NULL}, &options, code, "program");
    }
    CHECK_EQ(thrum_file_unlink(path, THRUM_FOREVER), 0);
}

static int refused_body(void *arg) {
    const thrum_process_options none = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    static char large[40000];
    const int fds[] = {1};
    const thrum_process_limit limit = {0, 1, 1};
    (void)arg;
    refused((const char *const[]){"no-program-has-this-name", NULL}, &none, -ENOENT, "program");
    refused((const char *const[]){"C:/no/program", NULL}, &none, -ENOENT, "program");
    refused((const char *const[]){getenv("TEMP"), NULL}, &none, -EACCES, "program");
    refused((const char *const[]){"C:\\a\"b", NULL}, &none, -EINVAL, "program");
    refused((const char *const[]){SHELL_PROGRAM, "\xFF", NULL}, &none, -EILSEQ, "program");
    memset(large, 'a', sizeof large - 1);
    refused((const char *const[]){SHELL_PROGRAM, large, NULL}, &none, -E2BIG, "program");
    refused_file("text.exe", "echo a\n", -ENOEXEC);
    refused_file("text.Bat", "echo a\n", -ENOEXEC);
    refused_file("text.cmd", "echo a\n", -ENOEXEC);
    options.folder = "C:/no/folder";
    refused(SHELL("exit 0"), &options, -ENOENT, "folder");
    options.folder = SHELL_PROGRAM;
    refused(SHELL("exit 0"), &options, -ENOTDIR, "folder");
    options = none;
    options.limits = &limit;
    options.limits_count = 1;
    refused(SHELL("exit 0"), &options, -ENOSYS, "limit");
    options = none;
    options.fds = fds;
    options.fds_count = 1;
    refused(SHELL("exit 0"), &options, -ENOSYS, "descriptor");
    options = none;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, 0x7FFFFF0, NULL};
    refused(SHELL("exit 0"), &options, -EBADF, "descriptor");
    return 0;
}

TEST(why_a_program_cannot_be_started) {
    /* It is told what it is about, and nothing is left. */
    CHECK_EQ(refused_body(NULL), 0);
    const int before = descriptors();
    CHECK_EQ(refused_body(NULL), 0);
    CHECK_EQ(descriptors(), before);
    rig_do(0, refused_body, NULL);
    CHECK(!has_children());
}

static int faults_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in;
    (void)arg;
    options.flags = THRUM_PROCESS_GROUP;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    for (uint32_t i = 0; i < 12; i++) { /* memory, wherever it is asked for */
        thrum_process *process = NULL;
        th_os_fail(TH_OS_FAULT_ALLOC, i, 1);
        const int code = thrum_process_start(&process, SHELL("cat"), &options);
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
        CHECK(code == 0 || code == -ENOMEM);
        if (code == 0) {
            CHECK_EQ(thrum_io_close(in), 0);
            CHECK_EQ(ended_and_closed(process), 0);
        }
    }
    return 0;
}

TEST(nothing_is_left_where_memory_ends) {
    /* Each of the first allocations of a start is refused once. */
    CHECK_EQ(faults_body(NULL), 0);
    const int before = descriptors();
    CHECK_EQ(faults_body(NULL), 0);
    CHECK(descriptors() <= before);
    CHECK(!has_children());
}
