/*
 * parallel_sort.c: sorts the lines of a file, or of the standard input, as LC_ALL=C sort does.
 *
 *     parallel_sort [FILE]
 *
 * A merge sort on forks: the halves are sorted at the same time, and merged at the same time too,
 * where they are long: the larger run is cut in the middle, the other where that line would go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

enum { SERIAL = 64, SERIAL_MERGE = 2048, CHUNK = 1 << 16 };

typedef struct line {
    const char *text;
    size_t length;
} line;

/* Bytes as unsigned numbers; of two lines that begin alike the shorter one is first. */
static int compare(const line *a, const line *b) {
    size_t common = a->length < b->length ? a->length : b->length;
    int order = common ? memcmp(a->text, b->text, common) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* ---- merging ---- */

typedef struct merge_job {
    const line *a;
    size_t a_count;
    const line *b;
    size_t b_count;
    line *out;
} merge_job;

static void merge_serially(merge_job *m) {
    while (m->a_count && m->b_count) {
        if (compare(m->b, m->a) < 0) {
            *m->out++ = *m->b++;
            m->b_count--;
        } else {
            *m->out++ = *m->a++;
            m->a_count--;
        }
    }
    for (; m->a_count; m->a_count--) {
        *m->out++ = *m->a++;
    }
    for (; m->b_count; m->b_count--) {
        *m->out++ = *m->b++;
    }
}

/* Returns how many of the lines come before this one. */
static size_t lines_before(const line *lines, size_t count, const line *pivot) {
    size_t first = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (compare(&lines[first + half], pivot) < 0) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

static int merge(void *arg) {
    merge_job *m = arg;
    if (m->a_count + m->b_count <= SERIAL_MERGE) {
        merge_serially(m);
        return 0;
    }
    if (m->a_count < m->b_count) {
        merge_job turned = {m->b, m->b_count, m->a, m->a_count, m->out};
        *m = turned;
    }
    size_t a_cut = m->a_count / 2;
    size_t b_cut = lines_before(m->b, m->b_count, &m->a[a_cut]);
    merge_job lower = {m->a, a_cut, m->b, b_cut, m->out};
    merge_job upper = {m->a + a_cut, m->a_count - a_cut, m->b + b_cut, m->b_count - b_cut,
                       m->out + a_cut + b_cut};
    thrum_fork fork;
    thrum_fork_start(&fork, merge, &upper);
    merge(&lower);
    thrum_fork_join(&fork);
    return 0;
}

/* ---- sorting ---- */

typedef struct sort_job {
    line *lines;
    line *spare; /* as many */
    size_t count;
    int into_spare; /* where the result is wanted */
} sort_job;

static void sort_serially(const sort_job *s) {
    line *lines = s->lines;
    for (size_t i = 1; i < s->count; i++) {
        line moving = lines[i];
        size_t at = i;
        for (; at > 0 && compare(&moving, &lines[at - 1]) < 0; at--) {
            lines[at] = lines[at - 1];
        }
        lines[at] = moving;
    }
    for (size_t i = 0; s->into_spare && i < s->count; i++) {
        s->spare[i] = lines[i];
    }
}

static int sort(void *arg) {
    const sort_job *s = arg;
    if (s->count <= SERIAL) {
        sort_serially(s);
        return 0;
    }
    size_t half = s->count / 2;
    sort_job lower = {s->lines, s->spare, half, !s->into_spare};
    sort_job upper = {s->lines + half, s->spare + half, s->count - half, !s->into_spare};
    thrum_fork fork;
    thrum_fork_start(&fork, sort, &upper);
    sort(&lower);
    thrum_fork_join(&fork);
    const line *from = s->into_spare ? s->lines : s->spare;
    merge_job m = {from, half, from + half, s->count - half, s->into_spare ? s->spare : s->lines};
    return merge(&m);
}

/* ---- lines ---- */

typedef struct text {
    char *bytes;
    size_t size;
    line *lines;
    size_t count;
} text;

static int read_all(FILE *file, text *t) {
    size_t room = 0;
    size_t n = 0;
    do {
        t->size += n;
        if (room - t->size < CHUNK) {
            room = 2 * room + CHUNK;
            char *grown = realloc(t->bytes, room);
            if (!grown) {
                return -ENOMEM;
            }
            t->bytes = grown;
        }
        n = fread(t->bytes + t->size, 1, room - t->size, file);
    } while (n > 0);
    return ferror(file) ? -EIO : 0;
}

/* Finds the lines, and makes a spare place for each. The last one may have no newline. */
static int find_lines(text *t) {
    size_t count = t->size && t->bytes[t->size - 1] != '\n';
    for (size_t i = 0; i < t->size; i++) {
        count += t->bytes[i] == '\n';
    }
    t->lines = calloc(2 * count + 1, sizeof *t->lines);
    if (!t->lines) {
        return -ENOMEM;
    }
    const char *at = t->bytes;
    const char *end = at + t->size;
    while (t->count < count) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        t->lines[t->count++] = (line){at, (size_t)(stop - at)};
        at = stop + 1;
    }
    return 0;
}

static int print_lines(const text *t) {
    for (size_t i = 0; i < t->count; i++) {
        fwrite(t->lines[i].text, 1, t->lines[i].length, stdout);
        putchar('\n');
    }
    return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

static int sort_text(void *arg) {
    text *t = arg;
    sort_job all = {t->lines, t->lines + t->count, t->count, 0};
    return sort(&all);
}

int main(int argc, char **argv) {
    text t = {NULL, 0, NULL, 0};
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    int err = -ENOENT;
    if (file && !(err = read_all(file, &t)) && !(err = find_lines(&t)) &&
        !(err = thrum_run(NULL, sort_text, &t))) {
        err = print_lines(&t);
    }
    if (err) {
        fprintf(stderr, "parallel_sort: %s: %s\n", argc > 1 ? argv[1] : "-", strerror(-err));
    }
    if (file && file != stdin) {
        fclose(file);
    }
    free(t.lines);
    free(t.bytes);
    return err ? 1 : 0;
}
