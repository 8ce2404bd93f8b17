/*
 * output.c: see output.h.
 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "memory.h"
#include "offload.h"
#include "system.h"

enum { BUFFER_SIZE = 64 << 10 };

static void path_append(struct output *output, const char *name, size_t size);
static void path_enter(struct output *output, const struct dir *dir);
static void path_leave(struct output *output, const struct dir *dir);
static void print_digest(struct output *output, const struct item *item);
static void print_error(struct output *output, const struct item *item);
static void put(struct output *output, const char *text, size_t size);
static void write_all(struct output *output, int fd, const char *text, size_t size);

void output_init(struct output *output, struct tree *tree, struct progress *progress) {
    *output = (struct output){
        .tree = tree,
        .progress = progress,
        .is_terminal = isatty(STDOUT_FILENO) != 0,
        .buffer = memory_new(BUFFER_SIZE),
    };
}

void output_item(struct output *output, const struct item *item) {
    switch (item->kind) {
    case ITEM_ENTER:
        path_enter(output, item->dir);
        break;
    case ITEM_LEAVE:
        path_leave(output, item->dir);
        dir_free(item->dir);
        break;
    case ITEM_DROP:
        tree_give_back(output->tree, item->listing);
        break;
    case ITEM_FILE:
        if (item->err == 0) {
            print_digest(output, item);
            break;
        } /* fall through */
    case ITEM_ERROR:
        print_error(output, item);
        break;
    }
}

void output_pause(struct output *output) {
    if (output->is_terminal) {
        output_flush(output);
    }
}

void output_end(struct output *output) {
    output_flush(output);
    free(output->buffer);
    free(output->path);
}

/* ---- the path ---- */

static void path_append(struct output *output, const char *name, size_t size) {
    if (output->path_size + size > output->path_max) {
        output->path_max = (output->path_size + size) * 2;
        output->path = memory_resize(output->path, output->path_max);
    }
    memcpy(output->path + output->path_size, name, size);
    output->path_size += size;
}

static bool brings_slash(const struct dir *dir) {
    return dir->name_size > 0 && dir->name[dir->name_size - 1] == '/';
}

static void path_enter(struct output *output, const struct dir *dir) {
    path_append(output, dir->name, dir->name_size);
    if (!brings_slash(dir)) {
        path_append(output, "/", 1);
    }
}

static void path_leave(struct output *output, const struct dir *dir) {
    output->path_size -= dir->name_size + (brings_slash(dir) ? 0 : 1);
}

/* ---- lines ---- */

/* `digest  path`, as sha256sum writes it. */
static void print_digest(struct output *output, const struct item *item) {
    static const char digits[] = "0123456789abcdef";
    char head[1 + 2 * DIGEST_SIZE + 2];
    char *at = head;
    size_t outer_size = output->path_size;
    path_append(output, item->name, strlen(item->name));
    bool escape = escape_needed(output->path, output->path_size);
    if (escape) {
        *at++ = '\\';
    }
    for (int i = 0; i < DIGEST_SIZE; i++) {
        *at++ = digits[item->digest[i] >> 4];
        *at++ = digits[item->digest[i] & 15];
    }
    *at++ = ' ';
    *at++ = ' ';
    put(output, head, (size_t)(at - head));
    if (escape) {
        char *escaped = memory_new(2 * output->path_size);
        put(output, escaped, escape_write(escaped, output->path, output->path_size));
        free(escaped);
    } else {
        put(output, output->path, output->path_size);
    }
    put(output, "\n", 1);
    output->path_size = outer_size;
}

static const char *reason_of(int err, bool follow) {
    if (err == TREE_NOT_REGULAR) {
        return "not a regular file";
    }
    if (err == ELOOP && follow) {
        return "loop of symbolic links";
    }
    return system_words(err);
}

/* `treesum: path: reason`, in one line for any path. */
static void print_error(struct output *output, const struct item *item) {
    if (tree_stopped(output->tree)) {
        return;
    }
    output->failed = true;
    size_t outer_size = output->path_size;
    if (item->name) {
        path_append(output, item->name, strlen(item->name));
    } else if (output->path_size > 1) {
        output->path_size--; /* the directory itself, without its slash */
    }
    const char *reason = reason_of(item->err, output->tree->follow);
    char *line = memory_new(2 * output->path_size + strlen(reason) + 16);
    size_t size = (size_t)sprintf(line, "treesum: ");
    size += escape_write(line + size, output->path, output->path_size);
    size += (size_t)sprintf(line + size, ": %s\n", reason);
    output->path_size = outer_size;
    write_all(output, STDERR_FILENO, line, size);
    free(line);
}

/* ---- writing ---- */

static void put(struct output *output, const char *text, size_t size) {
    while (size > 0) {
        if (output->used == BUFFER_SIZE) {
            output_flush(output);
        }
        size_t part = BUFFER_SIZE - output->used;
        if (part > size) {
            part = size;
        }
        memcpy(output->buffer + output->used, text, part);
        output->used += part;
        text += part;
        size -= part;
    }
}

void output_flush(struct output *output) {
    size_t size = output->used;
    output->used = 0;
    if (size > 0 && !tree_stopped(output->tree)) {
        write_all(output, STDOUT_FILENO, output->buffer, size);
    }
}

struct writing {
    int fd;
    const char *text;
    size_t size;
};

/* Returns 0 or an errno. Called on a thread that may block. */
static int write_text(void *arg) {
    const struct writing *writing = arg;
    return system_write(writing->fd, writing->text, writing->size);
}

static void write_all(struct output *output, int fd, const char *text, size_t size) {
    struct writing writing = {.fd = fd, .text = text, .size = size};
    int err;
    bool shown = progress_hide(output->progress, fd == STDERR_FILENO || output->is_terminal);
    if (offload(write_text, &writing, &err) != 0) {
        err = 0; /* cancelled: it is not wanted any longer */
    }
    progress_show(output->progress, shown);
    if (err != 0 && fd == STDOUT_FILENO) {
        output->failed = output->broken = true;
        tree_stop(output->tree);
        char line[128];
        int length = snprintf(line, sizeof line, "treesum: write error: %s\n", system_words(err));
        thrum_shield_begin(); /* the other children end by the stop, and cancel this one */
        write_all(output, STDERR_FILENO, line, (size_t)length);
        thrum_shield_end();
    }
}
