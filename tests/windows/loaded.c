/*
 * loaded.c: the library as a DLL that a program loads and gives up.
 */
#include "check.h"

#include <thrum.h>
#include <windows.h>

TEST(the_dll_stays_when_it_is_given_up) {
    /* What it leaves with the process calls into it later. */
    char path[MAX_PATH + 64];
    const DWORD length = GetModuleFileNameA(NULL, path, MAX_PATH);
    CHECK(length > 0 && length < MAX_PATH);
    snprintf(strrchr(path, '\\'), 64, "\\..\\libthrum-%d.%d.dll", THRUM_VERSION_MAJOR,
             THRUM_VERSION_MINOR);
    if (GetFileAttributesA(path) == INVALID_FILE_ATTRIBUTES) {
        CHECK_SKIP("no %s", path);
    }
    const HMODULE dll = LoadLibraryA(path);
    CHECK(dll != NULL);
    CHECK(FreeLibrary(dll));
    CHECK(GetModuleHandleA(strrchr(path, '\\') + 1) == dll);
}
