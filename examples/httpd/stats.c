/*
 * stats.c: see stats.h. Each worker counts in a place of its own, so that none waits for another
 * one's cache line; the reader adds them up.
 */
#include "stats.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "system.h"

enum { CLASSES = 6, LINE = 64 }; /* statuses by their first digit; bytes of a cache line */

struct place {
    _Alignas(LINE) atomic_uint_fast64_t xanswers[CLASSES];
};

struct stats {
    unsigned count;
    struct place *places; /* one for each worker, and one for all other threads */
    void *memory;         /* of the places */
};

struct stats *stats_create(void) {
    struct stats *stats = malloc(sizeof *stats);
    if (!stats) {
        return NULL;
    }
    stats->count = thrum_sched_workers(thrum_sched_current()) + 1;
    stats->memory = malloc((stats->count + 1) * sizeof *stats->places);
    if (!stats->memory) {
        free(stats);
        return NULL;
    }
    const uintptr_t line = ((uintptr_t)stats->memory + LINE - 1) / LINE * LINE;
    stats->places = (struct place *)line;
    for (unsigned i = 0; i < stats->count; i++) {
        for (unsigned k = 0; k < CLASSES; k++) {
            atomic_init(&stats->places[i].xanswers[k], 0);
        }
    }
    return stats;
}

void stats_destroy(struct stats *stats) {
    if (stats) {
        free(stats->memory);
        free(stats);
    }
}

void stats_count(struct stats *stats, int status) {
    unsigned worker = (unsigned)(thrum_worker_id() + 1);
    struct place *place = &stats->places[worker < stats->count ? worker : 0];
    atomic_fetch_add_explicit(&place->xanswers[status / 100 % CLASSES], 1, memory_order_relaxed);
}

/* ---- /metrics ---- */

/* A text that is made on the blocking pool: printing takes a while. */
struct text_made {
    const struct server *server;
    struct system_text text;
};

static void print_answers(FILE *out, const struct stats *stats) {
    fputs("# HELP httpd_answers_total Answers, by the first digit of their status.\n"
          "# TYPE httpd_answers_total counter\n",
          out);
    for (unsigned k = 1; k < CLASSES; k++) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < stats->count; i++) {
            sum += atomic_load_explicit(&stats->places[i].xanswers[k], memory_order_relaxed);
        }
        fprintf(out, "httpd_answers_total{status=\"%uxx\"} %" PRIu64 "\n", k, sum);
    }
}

static void print_gauge(FILE *out, const char *name, const char *help, size_t value) {
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %zu\n", name, help, name, name, value);
}

static int print_all(void *arg) {
    struct text_made *made = arg;
    const struct server *server = made->server;
    FILE *out = system_text_begin(&made->text);
    if (!out) {
        return -1;
    }
    print_answers(out, server->stats);
    print_gauge(out, "httpd_connections", "Connections that there are.",
                atomic_load(&server->xconnections));
    print_gauge(out, "httpd_connections_max", "Connections that there may be.",
                server->connections_max);
    print_gauge(out, "httpd_body_bytes", "Memory that bodies take.", atomic_load(&server->xbodies));
    int err = thrum_metrics_print(server->sched, out, THRUM_PROMETHEUS);
    return !system_text_end(&made->text, out) || err != 0 ? -1 : 0;
}

void stats_answer(struct connection *c) {
    struct text_made made = {.server = c->server};
    int printed = -1;
    if (thrum_blocking(print_all, &made, &printed) != 0 || printed != 0) {
        answer_error(c, HTTP_STATUS_SERVICE_UNAVAILABLE);
    } else {
        answer_begin(c, HTTP_STATUS_OK);
        answer_field(c, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        answer_body(c, made.text.data, made.text.size);
    }
    free(made.text.data);
}
