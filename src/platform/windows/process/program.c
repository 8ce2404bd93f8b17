/*
 * program.c: see program.h.
 */
#include "platform/windows/process/program.h"

#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"

#define LINE_WORDS 32767 /* the most that the system takes, with its zero */

/* UTF-16 of a text: 0, -EILSEQ, -ENOMEM. */
static int widen(const char *text, size_t size, wchar_t **out, int *words) {
    *out = th_os_alloc((size + 1) * sizeof **out); /* never more words than bytes */
    if (!*out) {
        return -ENOMEM;
    }
    *words = size > INT32_MAX ? 0
                              : MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, (int)size,
                                                    *out, (int)size + 1);
    if (*words <= 0) {
        th_os_free(*out);
        *out = NULL;
        return -EILSEQ;
    }
    return 0;
}

/* ---- arguments ---- */

/* A space ends an argument that is not quoted; the first one is read by simpler rules. */
static bool is_plain(const char *text) {
    return *text && !strpbrk(text, " \t\n\v\"");
}

/*
 * Within quotation marks one is written as \", and before one, as at the end, each backslash is
 * written twice; elsewhere backslashes are literal.
 */
static char *put_quoted(char *to, const char *text) {
    size_t backslashes = 0;
    *to++ = '"';
    for (; *text; text++) {
        if (*text == '"') {
            memset(to, '\\', backslashes + 1);
            to += backslashes + 1;
        }
        backslashes = *text == '\\' ? backslashes + 1 : 0;
        *to++ = *text;
    }
    memset(to, '\\', backslashes);
    to += backslashes;
    *to++ = '"';
    return to;
}

static char *put_argument(char *to, const char *text, bool first) {
    const size_t length = strlen(text);
    if (is_plain(text)) {
        memcpy(to, text, length);
        return to + length;
    }
    if (!first) {
        return put_quoted(to, text);
    }
    *to++ = '"';
    memcpy(to, text, length);
    to[length] = '"';
    return to + length + 1;
}

int th_program_line(const char *const *argv, wchar_t **out) {
    size_t size = 1;
    int words;
    *out = NULL;
    if (strchr(argv[0], '"')) {
        return -EINVAL;
    }
    for (const char *const *at = argv; *at; at++) {
        size += 2 * strlen(*at) + 3;
    }
    char *line = th_os_alloc(size);
    if (!line) {
        return -ENOMEM;
    }
    char *to = line;
    for (const char *const *at = argv; *at; at++) {
        to = put_argument(to, *at, at == argv);
        *to++ = ' ';
    }
    to[-1] = '\0';
    int code = widen(line, (size_t)(to - line), out, &words);
    th_os_free(line);
    if (!code && words > LINE_WORDS) {
        th_os_free(*out);
        *out = NULL;
        code = -E2BIG;
    }
    return code;
}

/* ---- the environment ---- */

static int upper(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : (unsigned char)c;
}

/* By their names, whose letters may be small; the system's own names begin with "=". */
static int compare(const void *left, const void *right) {
    const char *a = *(const char *const *)left;
    const char *b = *(const char *const *)right;
    size_t i = 0;
    while (a[i] && upper(a[i]) == upper(b[i]) && (!i || a[i] != '=')) {
        i++;
    }
    const int of_a = i && a[i] == '=' ? 0 : upper(a[i]);
    const int of_b = i && b[i] == '=' ? 0 : upper(b[i]);
    return of_a - of_b;
}

int th_program_environment(const char *const *env, wchar_t **out) {
    size_t n = 0;
    size_t size = 2;
    int words;
    *out = NULL;
    for (const char *const *at = env; *at; at++) {
        n++;
        size += strlen(*at) + 1;
    }
    const char **sorted = th_os_alloc((n + 1) * sizeof *sorted + size);
    if (!sorted) {
        return -ENOMEM;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (env[i][0] && strchr(env[i] + 1, '=')) {
            sorted[kept++] = env[i];
        }
    }
    qsort((void *)sorted, kept, sizeof *sorted, compare);
    char *block = (char *)(sorted + n + 1);
    char *to = block;
    for (size_t i = 0; i < kept; i++) {
        const size_t length = strlen(sorted[i]) + 1;
        memcpy(to, sorted[i], length);
        to += length;
    }
    *to++ = '\0';
    *to++ = '\0'; /* an empty one has two */
    int code = widen(block, (size_t)(to - block), out, &words);
    th_os_free((void *)sorted);
    return code;
}

/* ---- the contract's functions ---- */

static int count_texts(const wchar_t *block, size_t *words) {
    int n = 0;
    const wchar_t *at = block;
    for (; *at; at += wcslen(at) + 1) {
        n++;
    }
    *words = (size_t)(at - block) + 1;
    return n;
}

int th_os_environment(const char *const **env, void **memory) {
    size_t words;
    wchar_t *block = GetEnvironmentStringsW();
    *env = NULL;
    *memory = NULL;
    if (!block) {
        return -ENOMEM;
    }
    const size_t n = (size_t)count_texts(block, &words);
    const char **texts = th_os_alloc((n + 1) * sizeof *texts + 3 * words);
    if (texts) {
        char *to = (char *)(texts + n + 1);
        (void)WideCharToMultiByte(CP_UTF8, 0, block, (int)words, to, (int)(3 * words), NULL, NULL);
        for (size_t i = 0; i < n; i++) {
            texts[i] = to;
            to += strlen(to) + 1;
        }
        texts[n] = NULL;
        *env = texts;
        *memory = (void *)texts;
    }
    FreeEnvironmentStringsW(block);
    return texts ? 0 : -ENOMEM;
}

bool th_os_variables_are_same(const char *a, const char *b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] && upper(a[i]) == upper(b[i])) {
        i++;
    }
    return i == n;
}

char th_os_path_separator(void) {
    return ';';
}

static bool is_slash(char c) {
    return c == '/' || c == '\\';
}

/* With a drive and a root, or on another machine. */
bool th_os_path_is_absolute(const char *path) {
    return (is_slash(path[0]) && is_slash(path[1])) ||
           (path[0] && path[1] == ':' && is_slash(path[2]));
}

bool th_os_path_has_folder(const char *name) {
    return strpbrk(name, "/\\:");
}
