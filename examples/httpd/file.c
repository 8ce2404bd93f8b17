/*
 * file.c: see file.h. Opening, looking and reading may wait for a disk, so they are done on the
 * blocking pool, in one call: a small file is read there as well, and goes out in one write with
 * the fields. A large one is handed to sendfile(2) by output.c.
 */
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "beneath.h"
#include "page.h"
#include "range.h"
#include "type.h"

enum { SMALL = 8192 };

struct file {
    int root;
    const char *path; /* begins with a slash */
    int fd;           /* -1 when it was read */
    char *bytes;      /* those of a small one; else NULL */
    uint64_t size;
    time_t changed;
    bool is_directory; /* and the path has no slash at its end */
    char index[PATH_SIZE + sizeof "index.html"];
};

/* ---- on the blocking pool ---- */

static bool ends_with_slash(const char *path) {
    return path[strlen(path) - 1] == '/';
}

/* Opens the file at the path, or its index: 0 or an error. */
static int open_what(struct file *file, struct beneath_info *info) {
    int err;
    file->fd = beneath_open(file->root, file->path + 1);
    if (file->fd < 0) {
        return file->fd;
    }
    err = beneath_look(file->fd, info);
    if (err != 0) {
        return err;
    }
    if (!info->is_directory) {
        return info->is_file ? 0 : -ENOENT;
    }
    if (!ends_with_slash(file->path)) {
        file->is_directory = true;
        return 0;
    }
    beneath_close(file->fd);
    snprintf(file->index, sizeof file->index, "%sindex.html", file->path);
    file->path = file->index;
    file->fd = beneath_open(file->root, file->path + 1);
    err = file->fd < 0 ? file->fd : beneath_look(file->fd, info);
    return err != 0 ? err : info->is_file ? 0 : -ENOENT;
}

/* Reads a small file: 0 or an error. */
static int read_small(struct file *file) {
    file->bytes = malloc(SMALL);
    if (!file->bytes) {
        return -ENOMEM;
    }
    int n = beneath_read(file->fd, file->bytes, SMALL, 0);
    file->size = n < 0 ? 0 : (uint64_t)n;
    return n < 0 ? n : 0;
}

static int open_file(void *arg) {
    struct file *file = arg;
    struct beneath_info info;
    int err = open_what(file, &info);
    if (err == 0 && !file->is_directory) {
        file->size = info.size;
        file->changed = info.changed;
        err = file->size < SMALL ? read_small(file) : 0;
    }
    if (file->fd >= 0 && (err != 0 || file->is_directory || file->bytes)) {
        beneath_close(file->fd);
        file->fd = -1;
    }
    return err;
}

static int close_file(void *arg) {
    beneath_close(*(int *)arg);
    return 0;
}

/* ---- in the connection's task ---- */

static int status_of(int err) {
    switch (-err) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO: /* a socket, or a pipe */
        return HTTP_STATUS_NOT_FOUND;
    case EACCES:
    case EPERM:
        return HTTP_STATUS_FORBIDDEN;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case ECANCELED:
        return HTTP_STATUS_SERVICE_UNAVAILABLE;
    default:
        return HTTP_STATUS_INTERNAL_SERVER_ERROR;
    }
}

/* A directory by a name without a slash: its files could not be named from there. */
static void redirect(struct connection *c) {
    struct text target = request_target(&c->request);
    const char *query = memchr(target.at, '?', target.length);
    answer_begin(c, HTTP_STATUS_MOVED_PERMANENTLY);
    output_text(&c->out, "Location: ");
    output_add(&c->out, target.at, query ? (size_t)(query - target.at) : target.length);
    output_text(&c->out, "/\r\n");
    answer_body(c, "", 0);
}

static void send_part(struct connection *c, const struct file *file, uint64_t offset,
                      uint64_t length) {
    if (!answer_length(c, length)) {
        return;
    }
    if (file->bytes) {
        output_add(&c->out, file->bytes + offset, (size_t)length);
    } else {
        output_file(&c->out, file->fd, offset, length);
    }
}

/* Whether the Range field counts: it is about the file as it is, or as it was at that date. */
static bool wants_part(const struct connection *c, const char *changed) {
    struct text date = request_field(&c->request, IF_RANGE);
    return c->request.parser.method == HTTP_GET && (date.length == 0 || text_is(date, changed));
}

static void answer_with(struct connection *c, const struct file *file) {
    char changed[DATE_SIZE], part[80];
    uint64_t offset = 0, length = file->size;
    enum ranged ranged = RANGE_WHOLE;
    date_write(file->changed, changed);
    time_t known = date_read(request_field(&c->request, IF_MODIFIED_SINCE));
    if (known != -1 && known >= file->changed) {
        answer_begin(c, HTTP_STATUS_NOT_MODIFIED);
        answer_field(c, "Last-Modified", changed);
        answer_end(c);
        return;
    }
    if (wants_part(c, changed)) {
        ranged = range_read(request_field(&c->request, RANGE), file->size, &offset, &length);
    }
    if (ranged == RANGE_NONE) {
        snprintf(part, sizeof part, "bytes */%" PRIu64, file->size);
        answer_begin(c, HTTP_STATUS_RANGE_NOT_SATISFIABLE);
        answer_field(c, "Content-Range", part);
        answer_body(c, "", 0);
        return;
    }
    answer_begin(c, ranged == RANGE_PART ? HTTP_STATUS_PARTIAL_CONTENT : HTTP_STATUS_OK);
    if (ranged == RANGE_PART) {
        snprintf(part, sizeof part, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, offset,
                 offset + length - 1, file->size);
        answer_field(c, "Content-Range", part);
    }
    answer_field(c, "Content-Type", type_of(file->path));
    answer_field(c, "Last-Modified", changed);
    answer_field(c, "Accept-Ranges", "bytes");
    send_part(c, file, offset, length);
}

void file_answer(struct connection *c) {
    struct file file = {.root = c->server->root, .path = c->path, .fd = -1};
    int opened = -ENOENT;
    int err = file.root < 0 ? 0 : thrum_blocking(open_file, &file, &opened);
    err = err != 0 ? err : opened;
    if (err == -ENOENT && strcmp(c->path, "/") == 0) {
        page_answer(c);
    } else if (err != 0) {
        answer_error(c, status_of(err));
    } else if (file.is_directory) {
        redirect(c);
    } else {
        answer_with(c, &file);
    }
    free(file.bytes);
    if (file.fd >= 0 && thrum_blocking(close_file, &file.fd, NULL) != 0) {
        beneath_close(file.fd); /* cancelled, or without a thread: here, then */
    }
}
