/*
 * asked.h: schedulers that are dumped when a signal comes, and their output.
 */
#ifndef ASKED_H
#define ASKED_H

#include "support/support.h"

/* The parts that differ between systems: printers. */
#if defined(_WIN32)
#include "windows/asked.h"
#else
#include "posix/asked.h"
#endif

/* ---- output ---- */

/* Stderr is a pipe meanwhile, whose other end is read until the expected text has come. */
typedef struct capture {
    int kept; /* stderr before */
    int out;
    size_t length;
    char text[1 << 16];
} capture;

static capture caught;
static const char *unwanted; /* text that must not occur in the output, or NULL */

static inline void capture_begin(void) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    caught.kept = dup(STDERR_FILENO);
    CHECK(caught.kept >= 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    caught.out = ends[0];
    caught.length = 0;
    caught.text[0] = '\0';
}

static inline void capture_end(void) {
    CHECK_EQ(dup2(caught.kept, STDERR_FILENO), STDERR_FILENO);
    close(caught.kept);
    close(caught.out);
}

/* Reads on until the text is there, and forgets all up to its end. */
static inline void await(const char *part) {
    char *at;
    while (!(at = strstr(caught.text, part))) {
        const unsigned room = (unsigned)(sizeof(caught.text) - 1 - caught.length);
        const ssize_t n = read(caught.out, caught.text + caught.length, room);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            capture_end();
            check_failed(__FILE__, __LINE__, "\"%s\" is not in: %.900s", part, caught.text);
        }
        caught.length += (size_t)n;
        caught.text[caught.length] = '\0';
    }
    const size_t used = (size_t)(at - caught.text) + strlen(part);
    const char *bad = unwanted ? strstr(caught.text, unwanted) : NULL;
    if (bad && (size_t)(bad - caught.text) + strlen(unwanted) <= used) {
        capture_end();
        check_failed(__FILE__, __LINE__, "\"%s\" is in: %.900s", unwanted, caught.text);
    }
    memmove(caught.text, caught.text + used, caught.length - used + 1);
    caught.length -= used;
}

static inline void await_dump(const char *name) {
    char line[128];
    snprintf(line, sizeof(line), "thrum: scheduler \"%s\": ", name);
    await(line);
}

/* ---- schedulers ---- */

static inline void begin(rig *r, const char *name, int number) {
    rig_init(r);
    r->config.name = name;
    r->config.dump_signal = number;
    rig_start(r);
}

/* A shell starts background processes with SIGQUIT ignored. */
static inline void make_default(int number) {
    const struct sigaction action = {.sa_handler = SIG_DFL};
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

static inline struct sigaction action_of(int number) {
    struct sigaction now;
    CHECK_EQ(sigaction(number, NULL, &now), 0);
    return now;
}

static inline bool is_default(int number) {
    const struct sigaction now = action_of(number);
    return !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

/* After the last stop. The system may list a thread for a moment after its join. */
static inline void no_printer_is_left(void) {
    SPIN_UNTIL(printers() == 0);
}

#endif
