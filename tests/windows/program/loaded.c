/*
 * loaded.c: the library as a DLL that a program loads, gives up, and exits with.
 */
#include "support/io/processes.h"
#include "support/times.h"

#include "stream/stream_state.h"

/* Of the DLL beside this program's folder; the test is skipped where there is none. */
static HMODULE load(char path[MAX_PATH + 64]) {
    const DWORD length = GetModuleFileNameA(NULL, path, MAX_PATH);
    CHECK(length > 0 && length < MAX_PATH);
    snprintf(strrchr(path, '\\'), 64, "\\..\\libthrum-%d.%d.dll", THRUM_VERSION_MAJOR,
             THRUM_VERSION_MINOR);
    if (GetFileAttributesA(path) == INVALID_FILE_ATTRIBUTES) {
        CHECK_SKIP("no %s", path);
    }
    const HMODULE dll = LoadLibraryA(path);
    CHECK(dll != NULL);
    return dll;
}

TEST(the_dll_stays_when_it_is_given_up) {
    /* What it leaves with the process calls into it later. */
    char path[MAX_PATH + 64];
    const HMODULE dll = load(path);
    CHECK(FreeLibrary(dll));
    CHECK(GetModuleHandleA(strrchr(path, '\\') + 1) == dll);
}

/* ---- what is left in stdout as the program exits ---- */

static atomic_bool has_it;
static atomic_bool exits;

static void tell_of_exit(void) {
    atomic_store(&exits, true);
}

/* Is inside the lock of stdout when the program exits, and for a while longer. */
static DWORD WINAPI is_in_lock(void *word) {
    th_or_acq_rel((uint32_t *)word, TH_WORD_LOCKED);
    atomic_store(&has_it, true);
    SPIN_UNTIL(atomic_load(&exits));
    Sleep(200); /* nothing tells that the others wait */
    th_and_acq_rel((uint32_t *)word, ~TH_WORD_LOCKED);
    return 0;
}

/* The C library by whose exit this program ends, and how that is told of what to call then. */
typedef struct c_library {
    const char *file;
    const char *list;
} c_library;

static const c_library libraries[] = {{"msvcrt.dll", "_onexit"}, {"ucrtbase.dll", "_crt_atexit"}};

static void print_by(HMODULE dll, HMODULE c, const char *list) {
    typedef void *(*list_fn)(void (*call)(void));
    const list_fn at_exit = (list_fn)(void *)GetProcAddress(c, list);

    const __typeof__(&thrum_stdout) output =
        (__typeof__(&thrum_stdout))(void *)GetProcAddress(dll, "thrum_stdout");
    const __typeof__(&thrum_stream_printf) print =
        (__typeof__(&thrum_stream_printf))(void *)GetProcAddress(dll, "thrum_stream_printf");
    CHECK(output && print && at_exit);
    CHECK_EQ(print(output(), "%s", "left"), 4);
    thrum_mutex *lock = &th_stream_of(output())->locks[TH_WRITING];
    (void)at_exit(tell_of_exit); /* called before the DLL's */
    CHECK(CreateThread(NULL, 0, is_in_lock, &lock->reserved_word, 0, NULL) != NULL);
    SPIN_UNTIL(atomic_load(&has_it));
}

static void exit_by(const c_library *library, HMODULE dll) {
    const HMODULE c = GetModuleHandleA(library->file);
    CHECK(c != NULL);
    print_by(dll, c, library->list);
    ((void (*)(int))(void *)GetProcAddress(c, "exit"))(0);
}

static void check_exit(const c_library *library, const char *test) {
    const char *const argv[] = {"loaded", test, NULL};
    char number[] = "LOADED_IN=0";
    const char *const env[] = {number, NULL};
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output = {0};
    number[sizeof number - 2] = (char)('0' + (library - libraries));
    options.program = shell_path();
    options.env = env;
    options.flags = THRUM_PROCESS_ENV_ADD;
    CHECK_EQ(thrum_process_run(argv, &options, NULL, 0, &output, far_off()), 0);
    CHECK_EQ(output.status.code, 0);
    CHECK_STR(output.out, "left");
    thrum_process_output_free(&output);
}

TEST(what_is_left_goes_out_while_the_threads_are_there) {
    /* One of them stands in a lock that is needed for it: were it ended before, as Windows does
     * when it lets go of a DLL, the program would never end. */
    char path[MAX_PATH + 64];
    const char *number = getenv("LOADED_IN");
    const c_library *library = number ? &libraries[atoi(number)] : NULL;
    if (library) {
        CHECK(LoadLibraryA(library->file) != NULL); /* as a program's own, before the DLL */
    }
    const HMODULE dll = load(path);
    if (library) {
        exit_by(library, dll);
    }
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        check_exit(&libraries[i], "what_is_left_goes_out_while_the_threads_are_there");
    }
}
