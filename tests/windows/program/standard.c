/*
 * standard.c: the standard streams of a program: it is this one, started anew with pipes or files
 * in their places.
 */
/* matrix: policy workers */
#include "support/io/processes.h"

#include <thrum/stream.h>

/* ---- the program that is started ---- */

static int echo_lines(void *arg) {
    char line[64];
    int64_t n;
    (void)arg;
    while ((n = thrum_stream_read_line(thrum_stdin(), line, sizeof line)) >= 0) {
        CHECK_EQ(thrum_stream_printf(thrum_stdout(), "<%s>\n", line), n + 3);
        CHECK(thrum_stream_printf(thrum_stderr(), "%d", (int)n) > 0);
    }
    CHECK_EQ(n, -ENODATA);
    return 0;
}

static const char *const modes[] = {"STANDARD_IN=task", "STANDARD_IN=thread"};

/* True: this is the program, and has done its work; what is left goes out when it exits. */
static bool is_started(void) {
    const char *mode = getenv("STANDARD_IN");
    if (!mode) {
        return false;
    }
    if (strcmp(mode, "task") == 0) {
        rig_do(0, echo_lines, NULL);
    } else {
        CHECK_EQ(echo_lines(NULL), 0);
    }
    return true;
}

static thrum_process *start(const char *test, const char *mode, thrum_process_options *options) {
    const char *const argv[] = {"standard", test, NULL};
    const char *const env[] = {mode, NULL};
    options->program = shell_path();
    options->env = env;
    options->flags = THRUM_PROCESS_ENV_ADD;
    return started(argv, options);
}

/* ---- pipes ---- */

TEST(pipes_are_read_and_written) {
    /* Lines go through a program; what is left comes at its end, errors at once. */
    if (is_started()) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
        thrum_io in, out, error;
        char text[64] = "";
        options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
        options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
        options.streams[2] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &error};
        thrum_process *process = start("pipes_are_read_and_written", modes[i], &options);
        CHECK_EQ(thrum_write(in, "one\nthree\n", 10), 10);
        CHECK_EQ(thrum_read_full(error, text, 2, THRUM_FOREVER), 2);
        CHECK_STR(text, "35"); /* both are done */
        CHECK_EQ(thrum_write(in, "x", 1), 1);
        CHECK_EQ(thrum_io_close(in), 0);
        CHECK_EQ(thrum_read_full(out, text, sizeof text - 1, THRUM_FOREVER), 18);
        CHECK_STR(text, "<one>\n<three>\n<x>\n");
        CHECK_EQ(ended_and_closed(process), 0);
        CHECK_EQ(thrum_io_close(out) | thrum_io_close(error), 0);
    }
}

/* ---- files ---- */

/* One of this content that is removed when it is closed; its place is `at`. */
static int file_of(const char *content, LONG at) {
    static int count;
    char path[MAX_PATH];
    const char *folder = getenv("TEMP");
    DWORD put;
    snprintf(path, sizeof path, "%s/standard-%lu-%d", folder ? folder : ".",
             (unsigned long)GetCurrentProcessId(), ++count);
    HANDLE file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE | DELETE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    CHECK(WriteFile(file, content, (DWORD)strlen(content), &put, NULL));
    CHECK_EQ(SetFilePointer(file, at, NULL, FILE_BEGIN), at);
    return (int)(unsigned)(uintptr_t)file;
}

static HANDLE handle_of(int fd) {
    return (HANDLE)(uintptr_t)(unsigned)fd;
}

TEST(files_are_read_and_written) {
    /* At the places that the program was given them with. */
    if (is_started()) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
        char text[64] = "";
        DWORD got = 0;
        const int in = file_of("skipped\none\nthree\nx", 8);
        const int out = file_of("before ", 7);
        options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, in, NULL};
        options.streams[1] = (thrum_process_stream){THRUM_PROCESS_FD, out, NULL};
        options.streams[2].kind = THRUM_PROCESS_NULL;
        CHECK_EQ(ended_and_closed(start("files_are_read_and_written", modes[i], &options)), 0);
        CHECK_EQ(SetFilePointer(handle_of(out), 0, NULL, FILE_BEGIN), 0);
        CHECK(ReadFile(handle_of(out), text, sizeof text - 1, &got, NULL));
        CHECK_STR(text, "before <one>\n<three>\n<x>\n");
        CHECK(CloseHandle(handle_of(in)) && CloseHandle(handle_of(out)));
    }
}
