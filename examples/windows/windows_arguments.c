/*
 * windows_arguments.c: see windows_arguments.h.
 */
#include "windows_arguments.h"

#include <stdlib.h>
#include <windows.h>

/*
 * The C library's own, which main does without. (CommandLineToArgvW would bring the whole of the
 * desktop with it.)
 */
struct startup {
    int mode;
};
int __cdecl __wgetmainargs(int *argc, wchar_t ***argv, wchar_t ***environment, int patterns,
                           struct startup *startup);

/* NULL: there is no memory. */
static char *utf8_of(const wchar_t *wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = malloc((size_t)size + 1);
    if (text) {
        text[0] = '\0';
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    }
    return text;
}

void arguments_take(int *argc, char ***argv) {
    struct startup startup = {0};
    wchar_t **wide, **environment;
    int n = 0;
    __wgetmainargs(&n, &wide, &environment, 0, &startup);
    char **texts = n > 0 ? calloc((size_t)n + 1, sizeof *texts) : NULL;
    int done = 0;
    while (texts && done < n && (texts[done] = utf8_of(wide[done]))) {
        done++;
    }
    if (texts && done == n) {
        *argc = n;
        *argv = texts;
    }
}
